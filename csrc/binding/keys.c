#include "binding/keys.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"

/* Keys hashed before the kind sees them; enough for its prefetches to be far ahead. */
#define BATCH 1024

#define POP_EVERY 8

#define TWO_53 9007199254740992.0

double psl_number(lua_State *L, int index)
{
  int64_t x;
  if (psl_is_integer(L, index, &x) && (x > (int64_t)PS_COUNT_MAX || x < -(int64_t)PS_COUNT_MAX)) {
    return x > 0 ? 2 * TWO_53 : -2 * TWO_53;
  }
  return lua_tonumber(L, index);
}

const char *psl_push_description(lua_State *L, int index)
{
  if (lua_type(L, index) == LUA_TNUMBER) {
    lua_pushvalue(L, index); /* lua_tostring() would change the value in place */
    return lua_tostring(L, -1);
  }
  if (lua_isnoneornil(L, index)) {
    return lua_pushfstring(L, "nil");
  }
  return lua_pushfstring(L, "a %s", luaL_typename(L, index));
}

/* ---- keys ---- */

/* The eight digits of x < 10^8, the first in the lowest byte: two numbers of four digits side by
 * side, then four of two, then eight of one. The quotients by 100 and by 10 are products that are
 * exact for all that come here. */
static uint64_t eight_digits(uint32_t x)
{
  uint64_t parts = x / 10000 | (uint64_t)(x % 10000) << 32;
  uint64_t high = parts * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
  parts = high | (parts - high * 100) << 16;
  high = parts * 103 >> 10 & UINT64_C(0x000f000f000f000f);
  return high | (parts - high * 10) << 8;
}

#define ASCII_ZEROS UINT64_C(0x3030303030303030)

static unsigned zeros_in_front(uint64_t digits)
{
  return (unsigned)__builtin_ctzll(digits) / 8;
}

/* Sixteen digits go out in one store: the hash reads eight of them at a time, across two blocks,
 * and would wait for two stores to reach the cache. */
static const unsigned char *format(struct psl_decimal *decimal, uint64_t magnitude, bool negative)
{
  typedef uint64_t pair __attribute__((vector_size(16)));
  uint64_t first = 0, last = magnitude;
  unsigned char *at = decimal->text;
  if (magnitude >= UINT64_C(10000000000000000)) {
    first = eight_digits((uint32_t)(magnitude / UINT64_C(10000000000000000)));
    last = magnitude % UINT64_C(10000000000000000);
    ps_store64(at, first | ASCII_ZEROS);
  }
  uint64_t high = eight_digits((uint32_t)(last / 100000000));
  uint64_t low = eight_digits((uint32_t)(last % 100000000));
  pair both = {PS_LITTLE(64, high | ASCII_ZEROS), PS_LITTLE(64, low | ASCII_ZEROS)};
  memcpy(at + 8, &both, sizeof both);
  if (first != 0) {
    at += zeros_in_front(first);
  } else if (high != 0) {
    at += 8 + zeros_in_front(high);
  } else {
    at += 16 + zeros_in_front(low | UINT64_C(1) << 56);
  }
  if (negative) {
    *--at = '-';
  }
  return at;
}

const char *psl_push_bad_key(lua_State *L, int index)
{
  const char *got = psl_push_description(L, index);
  return lua_pushfstring(
      L, "key expected, a string or an integer, got %s; format other values first", got);
}

bool psl_format_number(lua_State *L, int index, struct psl_decimal *decimal, struct ps_key *key)
{
  int64_t x;
  if (!psl_to_integer(L, index, &x)) {
    return false;
  }
  key->bytes = format(decimal, x < 0 ? -(uint64_t)x : (uint64_t)x, x < 0);
  key->length = (size_t)(decimal->text + sizeof decimal->text - key->bytes);
  return true;
}

int psl_bad_key(lua_State *L, int index)
{
  return luaL_argerror(L, index, psl_push_bad_key(L, index));
}

/* ---- counts ---- */

uint64_t psl_whole(lua_State *L, int index, const char *what, uint64_t least)
{
  double x = lua_type(L, index) == LUA_TNUMBER ? psl_number(L, index) : -1;
  if (!(x >= (double)least && x <= TWO_53) || x != floor(x)) {
    const char *got = psl_push_description(L, index);
    luaL_argerror(L, index,
                  lua_pushfstring(L, "%s expected, an integer from %d to 2^53, got %s", what,
                                  (int)least, got));
  }
  return (uint64_t)x;
}

uint64_t psl_count(lua_State *L, int index)
{
  return lua_isnoneornil(L, index) ? 1 : psl_whole(L, index, "count", 0);
}

double psl_fraction(lua_State *L, int index, const char *what)
{
  double x = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : -1;
  if (!(x >= 0 && x <= 1)) {
    const char *got = psl_push_description(L, index);
    luaL_argerror(L, index,
                  lua_pushfstring(L, "%s expected, a number from 0 to 1, got %s", what, got));
  }
  return x;
}

/* ---- arrays ---- */

static int bad_element(lua_State *L, size_t i)
{
  const char *problem = psl_push_bad_key(L, lua_gettop(L));
  return luaL_argerror(L, 2, lua_pushfstring(L, "element %d: %s", (int)i, problem));
}

const char *psl_array_problem(lua_State *L, int index)
{
  size_t n = lua_rawlen(L, index);
  if (n == 0) {
    lua_pushnil(L);
    if (lua_next(L, index) != 0) {
      lua_pop(L, 2);
      return "array expected, got a table without element 1";
    }
  }
  return n > INT_MAX ? "too many elements" : NULL;
}

size_t psl_check_array(lua_State *L, int index)
{
  luaL_checktype(L, index, LUA_TTABLE);
  const char *problem = psl_array_problem(L, index);
  luaL_argcheck(L, problem == NULL, index, problem);
  return lua_rawlen(L, index);
}

/* What becomes of the value on top of the stack, element i of those that are read; false if it is
 * no key. */
typedef bool take_element(lua_State *L, int type, size_t i, void *context);

/* Reads n elements of the array in argument 2, from `from` on counted from 0; raises for one that
 * is no key. They leave the stack together, since each call of Lua counts here. */
static inline __attribute__((always_inline)) void read_elements(lua_State *L, size_t from, size_t n,
                                                                take_element *take, void *context)
{
  for (size_t i = 0; i < n; i++) {
    int type = psl_raw_get(L, 2, (int)(from + i + 1));
    if (!take(L, type, i, context)) {
      bad_element(L, from + i + 1);
    }
    if (i % POP_EVERY == POP_EVERY - 1) {
      lua_pop(L, POP_EVERY);
    }
  }
  lua_pop(L, (int)(n % POP_EVERY));
}

static bool is_key(lua_State *L, int type, size_t i, void *context)
{
  int64_t x;
  (void)i, (void)context;
  return type == LUA_TSTRING || (type == LUA_TNUMBER && psl_to_integer(L, -1, &x));
}

struct hashed {
  uint64_t seed;
  uint64_t *hashes;
};

static inline bool take_hash(lua_State *L, int type, size_t i, void *context)
{
  const struct hashed *hashed = context;
  return psl_hash_value(L, -1, type, hashed->seed, &hashed->hashes[i]);
}

static void hash_elements(lua_State *L, size_t from, size_t n, struct hashed hashed)
{
  read_elements(L, from, n, take_hash, &hashed);
}

/* Strings are kept by the array, which nobody can change before the kind has taken them. */
struct kept {
  uint64_t seed;
  struct ps_key *keys;
  struct psl_decimal *decimals;
};

static inline bool take_key(lua_State *L, int type, size_t i, void *context)
{
  const struct kept *kept = context;
  struct ps_key *key = &kept->keys[i];
  if (!psl_key_value(L, -1, type, &kept->decimals[i], key)) {
    return false;
  }
  key->hash = ps_hash(key->bytes, key->length, kept->seed);
  return true;
}

/* A sketch that may run out of memory takes all in one call, so that it can refuse all. */
static bool takes_all_at_once(const struct ps_sketch *sketch)
{
  return ps_owns(sketch) && !(sketch->kind->flat != NULL && sketch->kind->flat(sketch));
}

/* All are checked before the first is added: by hashing them, if there is room for the hashes. */
static enum ps_status add_hashed(lua_State *L, struct ps_sketch *sketch, size_t n, size_t *changed,
                                 struct ps_error *error)
{
  size_t most = BATCH, sum = 0;
  uint64_t some[BATCH], *hashes = some;
  if (n > BATCH && takes_all_at_once(sketch)) {
    hashes = psl_push_scratch(L, n * sizeof *hashes);
    most = n;
    psl_check_open(L, sketch);
  } else if (n > BATCH) {
    read_elements(L, 0, n, is_key, NULL);
  }
  for (size_t at = 0; at < n; at += most) {
    size_t these = n - at < most ? n - at : most;
    hash_elements(L, at, these, (struct hashed){sketch->seed, hashes});
    enum ps_status status = sketch->kind->add_hashes(sketch, hashes, these, changed, error);
    if (status != PS_OK) {
      *changed += at;
      return status;
    }
    sum += *changed;
  }
  *changed = sum;
  return PS_OK;
}

static enum ps_status add_kept(lua_State *L, struct ps_sketch *sketch, size_t n, size_t *changed,
                               struct ps_error *error)
{
  struct kept kept = {.seed = sketch->seed};
  kept.keys = psl_push_scratch(L, n * (sizeof *kept.keys + sizeof *kept.decimals));
  kept.decimals = (struct psl_decimal *)(kept.keys + n);
  psl_check_open(L, sketch);
  read_elements(L, 0, n, take_key, &kept);
  return sketch->kind->add_keys(sketch, kept.keys, n, changed, error);
}

int psl_add_many(lua_State *L)
{
  struct ps_sketch *sketch = psl_self_to_change(L);
  struct ps_error error;
  size_t n = psl_check_array(L, 2), changed;
  enum ps_status status = sketch->kind->add_keys != NULL
                              ? add_kept(L, sketch, n, &changed, &error)
                              : add_hashed(L, sketch, n, &changed, &error);
  if (status == PS_ERR_MEMORY) {
    return psl_raise(L, 2, &error);
  }
  psl_push_integer(L, changed);
  if (status == PS_OK) {
    return 1;
  }
  lua_pushstring(L, error.message);
  lua_pushstring(L, ps_status_code(status));
  return 3;
}

int psl_has_many(lua_State *L)
{
  const struct ps_sketch *sketch = psl_self(L);
  size_t n = psl_check_array(L, 2);
  uint64_t hashes[BATCH];
  bool found[BATCH];
  lua_createtable(L, (int)n, 0);
  psl_check_open(L, sketch);
  for (size_t at = 0; at < n; at += BATCH) {
    size_t these = n - at < BATCH ? n - at : BATCH;
    hash_elements(L, at, these, (struct hashed){sketch->seed, hashes});
    sketch->kind->has_hashes(sketch, hashes, these, found);
    for (size_t i = 0; i < these; i++) {
      lua_pushboolean(L, found[i]);
      lua_rawseti(L, -2, (int)(at + i + 1));
    }
  }
  return 1;
}
