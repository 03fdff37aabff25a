/***
What every sketch can do.
@module probsketch
*/
#include "binding/sketch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "binding/storage.h"

/* Allocations that come to this much step the collector. */
#define DEBT_MAX 65536

/* The address is the key under which a metatable names its kind. */
static const char kind_key = 'k';

static void *align(void *address, size_t to)
{
  return (void *)(((uintptr_t)address + to - 1) / to * to);
}

/* ---- arguments ---- */

struct psl_box *psl_test(lua_State *L, int index)
{
  struct psl_box *box = lua_touserdata(L, index);
  if (box == NULL || !lua_getmetatable(L, index)) {
    return NULL;
  }
  lua_pushlightuserdata(L, (void *)&kind_key);
  lua_rawget(L, -2);
  bool is_sketch = lua_touserdata(L, -1) != NULL;
  lua_pop(L, 2);
  return is_sketch ? box : NULL;
}

void psl_check_open(lua_State *L, const struct ps_sketch *sketch)
{
  if (sketch->payload == NULL) {
    luaL_error(L, "the %s is closed", sketch->kind->name);
  }
}

static struct ps_sketch *check_argument(lua_State *L, int index, const char *expected)
{
  struct psl_box *box = psl_test(L, index);
  if (box == NULL) {
    const char *got = luaL_typename(L, index);
    luaL_argerror(L, index, lua_pushfstring(L, "%s expected, got %s", expected, got));
  }
  if (box->sketch.payload == NULL) {
    luaL_argerror(L, index, lua_pushfstring(L, "the %s is closed", box->sketch.kind->name));
  }
  return &box->sketch;
}

struct ps_sketch *psl_check(lua_State *L, int index)
{
  return check_argument(L, index, "sketch");
}

void *psl_check_same(lua_State *L, int index)
{
  const struct ps_kind *kind = lua_touserdata(L, PSL_KIND);
  struct ps_sketch *sketch = check_argument(L, index, kind->name);
  if (sketch->kind != kind) {
    luaL_argerror(
        L, index,
        lua_pushfstring(L, "kind mismatch (expected %s, got %s)", kind->name, sketch->kind->name));
  }
  return sketch;
}

/* Without an argument it is nil, as in a method that Lua code passes on: lua/probsketch/jit.lua. */
int psl_bad_self(lua_State *L)
{
  lua_settop(L, 1);
  psl_check_same(L, 1);
  return 0;
}

int psl_refuse_shared(lua_State *L, const char *what, const char *advice)
{
  const struct psl_box *box = lua_touserdata(L, 1);
  return luaL_argerror(
      L, 1, lua_pushfstring(L, "a shared %s is not %s: %s", box->sketch.kind->name, what, advice));
}

int psl_read_only(lua_State *L)
{
  const struct psl_box *box = lua_touserdata(L, 1);
  return luaL_argerror(L, 1,
                       lua_pushfstring(L,
                                       "the %s is read-only, mapped from a file; copy() it first",
                                       box->sketch.kind->name));
}

const void *psl_still(lua_State *L, int index)
{
  const struct psl_box *box = lua_touserdata(L, index);
  if ((box->sketch.flags & PS_SHARED) == 0 || box->sketch.payload == NULL) {
    return &box->sketch;
  }
  const struct ps_sketch *copy = psl_push_copy(L, &box->sketch);
  lua_replace(L, index);
  return copy;
}

/* ---- making ---- */

void psl_account(lua_State *L, uint64_t bytes)
{
  struct psl_state *state = psl_state(L);
  state->debt += bytes;
  if (state->debt >= DEBT_MAX) {
    uint64_t kilobytes = state->debt / 1024;
    state->debt = 0;
    psl_collect(L, kilobytes > INT32_MAX ? INT32_MAX : (int)kilobytes);
  }
}

static int no_memory(lua_State *L)
{
  lua_pushliteral(L, "not enough memory");
  return lua_error(L);
}

static void *new_userdata(lua_State *L, uint64_t size)
{
  if (size > SIZE_MAX / 2) {
    no_memory(L);
  }
  return lua_newuserdata(L, (size_t)size);
}

static size_t head_of(const struct ps_sketch *sketch)
{
  return offsetof(struct psl_box, sketch) + sketch->kind->struct_size;
}

/* A closed sketch, with so many bytes behind its struct. */
static struct psl_box *push_box(lua_State *L, const struct ps_sketch *planned, uint64_t behind)
{
  struct psl_box *box = new_userdata(L, head_of(planned) + behind);
  box->pages.address = NULL;
  memcpy(&box->sketch, planned, planned->kind->struct_size);
  box->sketch.payload = NULL;
  box->sketch.held = 0;
  lua_pushlightuserdata(L, (void *)planned->kind);
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  return box;
}

struct psl_box *psl_push_box(lua_State *L, const struct ps_sketch *planned)
{
  psl_account(L, head_of(planned));
  return push_box(L, planned, 0);
}

struct ps_sketch *psl_push(lua_State *L, const struct ps_sketch *planned, void **payload)
{
  const size_t head = head_of(planned);
  const uint64_t size = ps_payload_size(planned);
  const bool apart = size >= PSL_PAGES_FROM;
  psl_account(L, head + size);
  struct psl_box *box = push_box(L, planned, apart || size == 0 ? 0 : 63 + size);
  if (!apart) {
    *payload = align((char *)box + head, 64);
    memset(*payload, 0, (size_t)size);
  } else if (size > SIZE_MAX || !ps_pages_map(&box->pages, (size_t)size)) {
    no_memory(L);
  } else {
    *payload = box->pages.address;
  }
  return &box->sketch;
}

struct ps_sketch *psl_push_copy(lua_State *L, const struct ps_sketch *source)
{
  void *payload;
  struct ps_error error;
  union ps_any_sketch planned;
  ps_plan_copy(&planned.sketch, source);
  struct ps_sketch *copy = psl_push(L, &planned.sketch, &payload);
  psl_check_open(L, source);
  if (ps_copy(copy, source, payload, &error) != PS_OK) {
    psl_raise(L, 1, &error);
  }
  return copy;
}

void *psl_push_scratch(lua_State *L, uint64_t size)
{
  psl_account(L, size);
  return align(new_userdata(L, size + 63), 64);
}

/* ---- results ---- */

int psl_raise(lua_State *L, int argument, const struct ps_error *error)
{
  if (error->status == PS_ERR_MEMORY) {
    return no_memory(L);
  }
  return luaL_argerror(L, argument, error->message);
}

int psl_fail(lua_State *L, const struct ps_error *error)
{
  if (error->status == PS_ERR_MEMORY) {
    return no_memory(L);
  }
  lua_pushnil(L);
  lua_pushstring(L, error->message);
  lua_pushstring(L, ps_status_code(error->status));
  return 3;
}

/* Of a mapped or shared sketch the payload is the system's. */
static uint64_t bytes_of(const struct psl_box *box)
{
  return head_of(&box->sketch) +
         (box->sketch.flags & (PS_MAPPED | PS_SHARED) ? 0 : box->sketch.held);
}

/* ---- methods ---- */

/***
Methods of every sketch
@section sketch
*/

/***
The number of items the sketch stands for; also `#sketch`. Estimated distinct keys for
the bloom kinds and hyperloglog, the distinct keys themselves for fuse, the keys that are in for
cuckoo, the total of all counts for count_min and top_k, of all weights for tdigest, kll and
ddsketch; estimated distinct tokens for minhash. O(1), O(hashes) for minhash,
O(size) for the first time that a file of @{probsketch.open} is asked, and each time for a bloom
kind, hyperloglog or ddsketch of @{probsketch.share}.
@function sketch:count
@treturn integer at most 2^53
*/
static int sketch_count(lua_State *L)
{
  const struct ps_sketch *sketch = psl_self(L);
  psl_push_integer(L, ps_count(sketch));
  return 1;
}

/* Refuses before anything is changed if one of the sketches from argument 2 on does not fit the
 * first. */
static int check_mergeable(lua_State *L, const struct ps_sketch *sketch)
{
  int n = lua_gettop(L);
  for (int i = 2; i <= n; i++) {
    psl_check(L, i);
    psl_still(L, i);
  }
  psl_check_open(L, sketch);
  for (int i = 2; i <= n; i++) {
    struct ps_error error;
    if (ps_compatible(sketch, psl_check(L, i), &error) != PS_OK) {
      psl_raise(L, i, &error);
    }
  }
  return n;
}

static void merge_all(lua_State *L, struct ps_sketch *target, int n)
{
  for (int i = 2; i <= n; i++) {
    struct ps_error error;
    if (ps_merge(target, psl_check(L, i), &error) != PS_OK) {
      psl_raise(L, i, &error);
    }
  }
}

/* Gives `sketch` the state of `copy`, a copy of it that has changed. */
static void take_over(struct ps_sketch *sketch, struct ps_sketch *copy)
{
  unsigned char swapped[PS_STRUCT_MAX];
  const size_t size = sketch->kind->struct_size;
  if (!ps_owns(sketch)) {
    memcpy(sketch->payload, copy->payload, sketch->held);
    copy->payload = sketch->payload;
    memcpy(sketch, copy, size);
    copy->payload = NULL;
  } else {
    memcpy(swapped, sketch, size);
    memcpy(sketch, copy, size);
    memcpy(copy, swapped, size);
  }
}

/***
Adds other sketches to this one, as if their input had been added to it. They are unchanged. O(size)
each.
@function sketch:merge
@param other a sketch of the same kind, parameters and seed
@param ... more of them
@return the sketch itself
@raise when one of them does not fit, naming the field; then nothing is changed. On a sketch that is
shared
*/
static int sketch_merge(lua_State *L)
{
  struct ps_sketch *sketch = psl_self_to_change(L);
  if (sketch->flags & PS_SHARED) {
    psl_refuse_shared(L, "merged into", "merge into a copy()");
  }
  psl_check(L, 2);
  int n = check_mergeable(L, sketch);
  if (n > 2 && sketch->kind->may_refuse) {
    struct ps_sketch *copy = psl_push_copy(L, sketch);
    merge_all(L, copy, n);
    take_over(sketch, copy);
  } else {
    merge_all(L, sketch, n);
  }
  lua_settop(L, 1);
  return 1;
}

int psl_union(lua_State *L)
{
  struct ps_sketch *first = psl_check(L, 1);
  int n = check_mergeable(L, first);
  merge_all(L, psl_push_copy(L, first), n);
  return 1;
}

/***
A new sketch that stands for this one and others together; also `a | b` on Lua 5.3 and later, and
`probsketch.union(a, b, ...)`. Linear in the sizes of all of them.
@function sketch:union
@param other a sketch of the same kind, parameters and seed
@param ... more of them
@return the union
@raise when one of them does not fit, naming the field
*/
static int sketch_union(lua_State *L)
{
  psl_self(L);
  psl_check(L, 2);
  return psl_union(L);
}

/***
Do the two go together? Then `union` takes them, and `merge` takes the other one, into this sketch
or, where it is shared or read-only, into a copy of it. The same whichever of them is asked.
@function sketch:compatible
@param other a sketch
@treturn bool
@treturn ?string what differs
*/
static int sketch_compatible(lua_State *L)
{
  struct ps_error error;
  bool fits = ps_compatible(psl_self(L), psl_check(L, 2), &error) == PS_OK;
  lua_pushboolean(L, fits);
  if (fits) {
    return 1;
  }
  lua_pushstring(L, error.message);
  return 2;
}

/***
An independent copy in private memory. O(size).
@function sketch:copy
@return the copy
*/
static int sketch_copy(lua_State *L)
{
  psl_push_copy(L, psl_self(L));
  return 1;
}

/***
Forgets everything: the sketch is as it was constructed. O(size).
@function sketch:clear
@return the sketch itself
@raise for kinds that never change
*/
static int sketch_clear(lua_State *L)
{
  struct ps_sketch *sketch = psl_self_to_change(L);
  if (sketch->kind->clear == NULL) {
    luaL_error(L, "a %s does not change", sketch->kind->name);
  }
  sketch->kind->clear(sketch);
  lua_settop(L, 1);
  return 1;
}

/***
What the sketch is and how it stands: its kind, parameters, `bytes` held, whether it is `mapped`
or `shared`, and the error it has now.
@function sketch:info
@treturn table new, plain; the fields of each kind are in the guide
*/
static int sketch_info(lua_State *L)
{
  const struct ps_sketch *sketch = psl_self(L);
  const bool mapped = (sketch->flags & PS_MAPPED) != 0, shared = (sketch->flags & PS_SHARED) != 0;
  psl_push_report(L, sketch, bytes_of(lua_touserdata(L, 1)));
  lua_pushboolean(L, mapped);
  lua_setfield(L, -2, "mapped");
  lua_pushboolean(L, shared);
  lua_setfield(L, -2, "shared");
  return 1;
}

/***
The memory that the sketch holds; of a mapped or shared one that is not the file or the region,
which is the system's and there once for all processes. O(1).
@function sketch:bytes
@treturn integer bytes
*/
static int sketch_bytes(lua_State *L)
{
  psl_self(L);
  psl_push_integer(L, bytes_of(lua_touserdata(L, 1)));
  return 1;
}

/***
The name of the sketch's kind.
@function sketch:kind
@treturn string "bloom", "count_min" ...
*/
static int sketch_kind(lua_State *L)
{
  const struct ps_sketch *sketch = psl_self(L);
  lua_pushstring(L, sketch->kind->name);
  return 1;
}

/***
Gives the memory back now and not when the collector comes. A closed sketch raises "closed" whatever
it is asked, but for `tostring`; closing it again is harmless. Also what a `<close>` variable does
on Lua 5.4.
@function sketch:close
*/
static int sketch_close(lua_State *L)
{
  struct psl_box *box = psl_test(L, 1);
  luaL_argcheck(L, box != NULL, 1, "sketch expected");
  ps_release(&box->sketch);
  ps_pages_unmap(&box->pages);
  return 0;
}

/* ---- metamethods ---- */

static int sketch_equal(lua_State *L)
{
  bool both = psl_test(L, 1) != NULL && psl_test(L, 2) != NULL;
  if (both) {
    psl_still(L, 1);
    psl_still(L, 2);
    const struct psl_box *a = lua_touserdata(L, 1), *b = lua_touserdata(L, 2);
    both = ps_equal(&a->sketch, &b->sketch);
  }
  lua_pushboolean(L, both);
  return 1;
}

static int sketch_tostring(lua_State *L)
{
  struct psl_box *box = psl_test(L, 1);
  char text[128];
  luaL_argcheck(L, box != NULL, 1, "sketch expected");
  const struct ps_sketch *sketch = &box->sketch;
  if (sketch->payload == NULL) {
    lua_pushfstring(L, "%s (closed)", sketch->kind->name);
    return 1;
  }
  snprintf(text, sizeof text, "%s (count %" PRIu64 ", %" PRIu64 " bytes)", sketch->kind->name,
           ps_count(sketch), bytes_of(box));
  lua_pushstring(L, text);
  return 1;
}

const luaL_Reg psl_sketch_methods[] = {
    {"count", sketch_count}, {"merge", sketch_merge},
    {"union", sketch_union}, {"compatible", sketch_compatible},
    {"copy", sketch_copy},   {"clear", sketch_clear},
    {"encode", psl_encode},  {"chunks", psl_chunks},
    {"save", psl_save},      {"info", sketch_info},
    {"bytes", sketch_bytes}, {"kind", sketch_kind},
    {"close", sketch_close}, {NULL, NULL},
};

const luaL_Reg psl_sketch_metamethods[] = {
    {"__len", sketch_count},
    {"__bor", psl_union},
    {"__eq", sketch_equal},
    {"__tostring", sketch_tostring},
    {"__gc", sketch_close},
    {"__close", sketch_close},
    {NULL, NULL},
};

/* Registers functions in the table on top, with the upvalues of the kind's methods. */
static void set_functions(lua_State *L, const luaL_Reg *functions, const struct ps_kind *kind,
                          int state, int metatable)
{
  lua_pushvalue(L, state);
  lua_pushvalue(L, metatable);
  lua_pushlightuserdata(L, (void *)kind);
  psl_set_functions(L, functions, PSL_UPVALUES);
}

void psl_name_metatable(lua_State *L, int metatable, const char *name)
{
  lua_pushfstring(L, "probsketch.%s", name);
  lua_pushvalue(L, -1);
  lua_setfield(L, metatable, "__name");
  lua_setfield(L, metatable, "__metatable");
}

void psl_push_metatable(lua_State *L, const struct psl_kind *kind, int state)
{
  void *key = (void *)kind->kind;
  lua_pushlightuserdata(L, key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_istable(L, -1)) {
    return;
  }
  lua_pop(L, 1);
  lua_newtable(L);
  int metatable = lua_gettop(L);
  set_functions(L, psl_sketch_metamethods, kind->kind, state, metatable);
  psl_name_metatable(L, metatable, kind->kind->name);
  lua_pushlightuserdata(L, (void *)&kind_key);
  lua_pushlightuserdata(L, key);
  lua_rawset(L, metatable);

  lua_newtable(L);
  set_functions(L, psl_sketch_methods, kind->kind, state, metatable);
  set_functions(L, kind->methods, kind->kind, state, metatable);
  lua_setfield(L, metatable, "__index");

  lua_pushlightuserdata(L, key);
  lua_pushvalue(L, metatable);
  lua_rawset(L, LUA_REGISTRYINDEX);
}
