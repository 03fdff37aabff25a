#include "binding/keys.h"

#include <limits.h>
#include <math.h>

/* Keys hashed before the kind sees them; enough for its prefetches to be far ahead. */
#define BATCH 256

#define TWO_53 9007199254740992.0

/* Sign and 20 digits. */
#define DECIMAL_SIZE 21

struct decimal {
  char text[DECIMAL_SIZE];
  const char *start;
  size_t length;
};

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

/* The key as an integer; false for everything that is none. -0.0 is 0. */
static bool integer_key(lua_State *L, int index, uint64_t *magnitude, bool *negative)
{
  int64_t x;
  if (lua_type(L, index) != LUA_TNUMBER) {
    return false;
  }
  if (!psl_is_integer(L, index, &x)) {
    double number = lua_tonumber(L, index);
    if (!(number >= -TWO_53 && number <= TWO_53) || number != floor(number)) {
      return false;
    }
    x = (int64_t)number;
  }
  *negative = x < 0;
  *magnitude = *negative ? -(uint64_t)x : (uint64_t)x;
  return true;
}

static void format(struct decimal *decimal, uint64_t magnitude, bool negative)
{
  char *at = decimal->text + DECIMAL_SIZE;
  do {
    *--at = (char)('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude > 0);
  if (negative) {
    *--at = '-';
  }
  decimal->start = at;
  decimal->length = (size_t)(decimal->text + DECIMAL_SIZE - at);
}

static const char *push_bad_key(lua_State *L, int index)
{
  const char *got = psl_push_description(L, index);
  return lua_pushfstring(
      L, "key expected, a string or an integer, got %s; format other values first", got);
}

uint64_t psl_hash_number(lua_State *L, int index, uint64_t seed)
{
  uint64_t magnitude;
  bool negative;
  struct decimal decimal;
  if (!integer_key(L, index, &magnitude, &negative)) {
    luaL_argerror(L, index, push_bad_key(L, index));
  }
  format(&decimal, magnitude, negative);
  return ps_hash(decimal.start, decimal.length, seed);
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

/* ---- arrays ---- */

static bool is_key(lua_State *L, int index)
{
  uint64_t magnitude;
  bool negative;
  return lua_type(L, index) == LUA_TSTRING || integer_key(L, index, &magnitude, &negative);
}

/* The length of the array in argument 2, all of whose elements are keys; else raises. */
static size_t check_keys(lua_State *L)
{
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t n = lua_rawlen(L, 2);
  luaL_argcheck(L, n <= INT_MAX, 2, "too many elements");
  for (size_t i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, (int)i);
    if (!is_key(L, -1)) {
      const char *problem = push_bad_key(L, lua_gettop(L));
      luaL_argerror(L, 2, lua_pushfstring(L, "element %d: %s", (int)i, problem));
    }
    lua_pop(L, 1);
  }
  return n;
}

static void hash_elements(lua_State *L, const struct ps_sketch *sketch, size_t from, size_t n,
                          uint64_t *hashes)
{
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 2, (int)(from + i + 1));
    hashes[i] = psl_hash(L, -1, sketch);
    lua_pop(L, 1);
  }
}

int psl_add_many(lua_State *L)
{
  struct ps_sketch *sketch = psl_self(L);
  size_t n = check_keys(L), changed = 0;
  uint64_t some[BATCH];
  /* A kind that can run out of memory takes all in one call, so that it can refuse all. */
  bool at_once = sketch->kind->release != NULL && n > BATCH;
  uint64_t *hashes = at_once ? psl_push_scratch(L, n * sizeof *hashes) : some;
  size_t most = at_once ? n : BATCH;
  psl_check_open(L, sketch);
  for (size_t at = 0; at < n; at += most) {
    struct ps_error error;
    size_t these = n - at < most ? n - at : most, changed_now;
    hash_elements(L, sketch, at, these, hashes);
    enum ps_status status = sketch->kind->add_hashes(sketch, hashes, these, &changed_now, &error);
    if (status == PS_ERR_MEMORY) {
      return psl_raise(L, 2, &error);
    }
    changed += changed_now;
    if (status != PS_OK) {
      psl_push_integer(L, changed);
      lua_pushstring(L, error.message);
      lua_pushstring(L, ps_status_code(status));
      return 3;
    }
  }
  psl_push_integer(L, changed);
  return 1;
}

int psl_has_many(lua_State *L)
{
  const struct ps_sketch *sketch = psl_self(L);
  size_t n = check_keys(L);
  uint64_t hashes[BATCH];
  bool found[BATCH];
  lua_createtable(L, (int)n, 0);
  psl_check_open(L, sketch);
  for (size_t at = 0; at < n; at += BATCH) {
    size_t these = n - at < BATCH ? n - at : BATCH;
    hash_elements(L, sketch, at, these, hashes);
    sketch->kind->has_hashes(sketch, hashes, these, found);
    for (size_t i = 0; i < these; i++) {
      lua_pushboolean(L, found[i]);
      lua_rawseti(L, -2, (int)(at + i + 1));
    }
  }
  return 1;
}
