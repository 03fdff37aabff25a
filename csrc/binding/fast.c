/* The same methods as in the files of their kinds, for the case that matters in a hot loop: an open
 * sketch, a key that is a string, one time. They see no lua_State, so they can neither raise nor
 * allocate nor run a finaliser; where one of these might come to be, they have changed nothing and
 * return NOT_HERE, and the caller calls the method proper.
 *
 * The caller vouches for the metatable of the sketch, as psl_self() looks at it, and for nothing
 * else. */
#include "binding/fast.h"

#include <math.h>

#include "base/hash.h"
#include "binding/methods.h"
#include "cardinality/hyperloglog.h"
#include "cardinality/hyperloglog_sparse.h"
#include "frequency/count_min.h"
#include "membership/blocked_bloom.h"
#include "membership/bloom.h"
#include "membership/counting_bloom.h"
#include "membership/cuckoo.h"
#include "membership/fuse.h"
#include "membership/scalable_bloom.h"
#include "quantile/ddsketch.h"
#include "similarity/minhash.h"

#define NOT_HERE (-1)

/* ---- may it be done here? ----
 *
 * Of flags that are not named nothing is known: the method proper decides. */

static inline bool is_open_with(const struct ps_sketch *sketch, uint32_t known)
{
  return sketch->payload != NULL && (sketch->flags & ~known) == 0;
}

static inline bool is_open(const struct ps_sketch *sketch)
{
  return is_open_with(sketch, PS_SEED_SECRET | PS_MAPPED | PS_SHARED | PS_UNDERIVED);
}

/* What is derived of a shared sketch is of no account to what changes it. */
static inline bool is_changeable(const struct ps_sketch *sketch)
{
  return is_open_with(sketch, PS_SEED_SECRET | PS_SHARED | PS_UNDERIVED);
}

/* ... also in ways that a shared sketch may not be. */
static inline bool is_private(const struct ps_sketch *sketch)
{
  return is_open_with(sketch, PS_SEED_SECRET);
}

/* ... and has room for one more entry, so that it takes no memory. */
static inline bool has_room(const struct ps_hyperloglog *hll)
{
  return is_changeable(&hll->sketch) && (hll->dense || hll->entries < ps_sparse_room(hll->slots));
}

static inline bool is_fixed(const struct ps_cuckoo *cuckoo)
{
  return is_changeable(&cuckoo->sketch) && cuckoo->growth == 0;
}

/* ---- keys ---- */

/* A function of a sketch of this kind, `it`, and of the `hash` of a key. */
#define METHOD(result, name, kind, may, call)                                                      \
  static result name(struct psl_box *box, const unsigned char *key, size_t length)                 \
  {                                                                                                \
    struct kind *it = (struct kind *)(void *)&box->sketch;                                         \
    if (!(may)) {                                                                                  \
      return NOT_HERE;                                                                             \
    }                                                                                              \
    const uint64_t hash = ps_hash(key, length, box->sketch.seed);                                  \
    return (result)(call);                                                                         \
  }
#define ASK(result, name, kind, call) METHOD(result, name, kind, is_open(&box->sketch), call)
#define CHANGE(result, name, kind, call)                                                           \
  METHOD(result, name, kind, is_changeable(&box->sketch), call)

static inline bool add_to_hyperloglog(struct ps_hyperloglog *hll, uint64_t hash)
{
  struct ps_error error;
  bool changed = false;
  ps_hyperloglog_add(hll, hash, &changed, &error);
  return changed;
}

/* A filter that is full says so by the method proper. */
static inline int add_to_cuckoo(struct ps_cuckoo *cuckoo, uint64_t hash)
{
  struct ps_error error;
  return ps_cuckoo_add(cuckoo, hash, &error) == PS_OK ? 1 : NOT_HERE;
}

CHANGE(int, bloom_add, ps_bloom, ps_bloom_add(it, hash))
ASK(int, bloom_has, ps_bloom, ps_bloom_has(it, hash))
CHANGE(int, blocked_bloom_add, ps_blocked_bloom, ps_blocked_bloom_add(it, hash))
ASK(int, blocked_bloom_has, ps_blocked_bloom, ps_blocked_bloom_has(it, hash))
ASK(int, scalable_bloom_has, ps_scalable_bloom, ps_scalable_bloom_has(it, hash))
CHANGE(int, counting_bloom_add, ps_counting_bloom, ps_counting_bloom_add(it, hash, 1))
METHOD(int, counting_bloom_remove, ps_counting_bloom, is_private(&box->sketch),
       ps_counting_bloom_remove(it, hash, 1))
ASK(int, counting_bloom_has, ps_counting_bloom, ps_counting_bloom_has(it, hash))
ASK(double, counting_bloom_frequency, ps_counting_bloom, ps_counting_bloom_frequency(it, hash))
METHOD(int, cuckoo_add, ps_cuckoo, is_fixed(it), add_to_cuckoo(it, hash))
METHOD(int, cuckoo_remove, ps_cuckoo, is_fixed(it), ps_cuckoo_remove(it, hash))
ASK(int, cuckoo_has, ps_cuckoo, ps_cuckoo_has(it, hash))
ASK(double, cuckoo_frequency, ps_cuckoo, ps_cuckoo_frequency(it, hash))
ASK(int, fuse_has, ps_fuse, ps_fuse_has(it, hash))
CHANGE(double, count_min_add, ps_count_min, ps_count_min_add(it, hash, 1))
ASK(double, count_min_frequency, ps_count_min, ps_count_min_frequency(it, hash))
METHOD(int, hyperloglog_add, ps_hyperloglog, has_room(it), add_to_hyperloglog(it, hash))
CHANGE(int, minhash_add, ps_minhash, ps_minhash_add(it, hash))

/* ---- values ---- */

static int ddsketch_add(struct psl_box *box, double x)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)(void *)&box->sketch;
  const bool here = is_changeable(&box->sketch) && isfinite(x);
  return here && ps_ddsketch_add_within(sketch, x, 1) ? 1 : NOT_HERE;
}

/* ---- what Lua is told ---- */

/* What goes in and what comes out: jit.lua has the same names. */
#define FLAG "flag"   /* (sketch, key, length): true or false */
#define COUNT "count" /* (sketch, key, length): a count */
#define VALUE "value" /* (sketch, number): the sketch itself */

struct fast_method {
  const struct psl_kind *kind;
  const char *name, *shape;
  uintptr_t address;
};

int psl_fast_methods(lua_State *L)
{
  const struct fast_method methods[] = {
      {&psl_bloom, "add", FLAG, (uintptr_t)bloom_add},
      {&psl_bloom, "has", FLAG, (uintptr_t)bloom_has},
      {&psl_blocked_bloom, "add", FLAG, (uintptr_t)blocked_bloom_add},
      {&psl_blocked_bloom, "has", FLAG, (uintptr_t)blocked_bloom_has},
      {&psl_scalable_bloom, "has", FLAG, (uintptr_t)scalable_bloom_has},
      {&psl_counting_bloom, "add", FLAG, (uintptr_t)counting_bloom_add},
      {&psl_counting_bloom, "remove", FLAG, (uintptr_t)counting_bloom_remove},
      {&psl_counting_bloom, "has", FLAG, (uintptr_t)counting_bloom_has},
      {&psl_counting_bloom, "frequency", COUNT, (uintptr_t)counting_bloom_frequency},
      {&psl_cuckoo, "add", FLAG, (uintptr_t)cuckoo_add},
      {&psl_cuckoo, "remove", FLAG, (uintptr_t)cuckoo_remove},
      {&psl_cuckoo, "has", FLAG, (uintptr_t)cuckoo_has},
      {&psl_cuckoo, "frequency", COUNT, (uintptr_t)cuckoo_frequency},
      {&psl_fuse, "has", FLAG, (uintptr_t)fuse_has},
      {&psl_count_min, "add", COUNT, (uintptr_t)count_min_add},
      {&psl_count_min, "frequency", COUNT, (uintptr_t)count_min_frequency},
      {&psl_hyperloglog, "add", FLAG, (uintptr_t)hyperloglog_add},
      {&psl_minhash, "add", FLAG, (uintptr_t)minhash_add},
      {&psl_ddsketch, "add", VALUE, (uintptr_t)ddsketch_add},
  };
  lua_newtable(L);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    lua_createtable(L, 0, 4);
    lua_pushlightuserdata(L, (void *)methods[i].kind->kind);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_setfield(L, -2, "metatable");
    lua_pushstring(L, methods[i].name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, methods[i].shape);
    lua_setfield(L, -2, "shape");
    lua_pushlightuserdata(L, (void *)methods[i].address);
    lua_setfield(L, -2, "address");
    lua_rawseti(L, -2, (int)(i + 1));
  }
  return 1;
}
