/* What lua/probsketch/lsh.lua, an index of signatures, has of C; documented here, since nobody else
 * calls it. A signature is a string, the minima of a minhash as they are in its bytes. */
#include "binding/lsh.h"

#include <limits.h>
#include <string.h>

#include "base/sharing.h"
#include "binding/keys.h"
#include "similarity/minhash.h"
#include "similarity/minima.h"

/* Bytes that the C stack has room for. */
#define SIGNATURE_USUAL 8192

static int refuse(lua_State *L, const char *problem)
{
  lua_pushnil(L);
  lua_pushstring(L, problem);
  return 2;
}

/* key(value): the string that a key is taken for; or nil and what is wrong with it. */
static int key(lua_State *L)
{
  struct psl_decimal decimal;
  struct ps_key found;
  if (!psl_key_value(L, 1, lua_type(L, 1), &decimal, &found)) {
    return refuse(L, psl_push_bad_key(L, 1));
  }
  lua_pushlstring(L, (const char *)found.bytes, found.length);
  return 1;
}

/* before(a, b): is string a before b, by their bytes? Lua's own < goes by the locale. */
static int before(lua_State *L)
{
  size_t a_length, b_length;
  const char *a = luaL_checklstring(L, 1, &a_length), *b = luaL_checklstring(L, 2, &b_length);
  int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
  lua_pushboolean(L, order < 0 || (order == 0 && a_length < b_length));
  return 1;
}

/* signature(model, minhash): that of a minhash which fits the model; or nil and what keeps it from
 * having one. O(hashes). */
static int signature(lua_State *L)
{
  struct ps_error error;
  const struct ps_sketch *model = psl_check(L, 1);
  const struct psl_box *box = psl_test(L, 2);
  if (box == NULL || box->sketch.payload == NULL) {
    const char *got = box == NULL ? psl_push_description(L, 2) : "a closed one";
    return refuse(L, lua_pushfstring(L, "minhash expected, got %s", got));
  }
  if (ps_compatible(model, &box->sketch, &error) != PS_OK) {
    return refuse(L, error.message);
  }
  /* Making the string may run a finaliser that closes the sketch. */
  const size_t size = (size_t)box->sketch.held;
  unsigned char some[SIGNATURE_USUAL];
  unsigned char *minima = size <= sizeof some ? some : psl_push_scratch(L, size);
  psl_check_open(L, &box->sketch);
  ps_gather(&box->sketch, minima);
  lua_pushlstring(L, (const char *)minima, size);
  return 1;
}

static size_t check_signature(lua_State *L, int index, const unsigned char **minima)
{
  size_t size;
  *minima = (const unsigned char *)luaL_checklstring(L, index, &size);
  luaL_argcheck(L, size % 8 == 0, index, "signature expected");
  return size / 8;
}

/* agreement(a, b): the share of functions in which two signatures have the same minimum, of those
 * in which one of them has any; nil when there is none. O(hashes). */
static int agreement(lua_State *L)
{
  const unsigned char *a, *b;
  size_t k = check_signature(L, 1, &a);
  luaL_argcheck(L, check_signature(L, 2, &b) == k, 2, "signature of another length");
  struct ps_agreement found = ps_minima_agree(a, b, k);
  if (found.of == 0) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, (lua_Number)found.equal / (lua_Number)found.of);
  }
  return 1;
}

/* band_keys(signature, bands, rows): an array of a number of 53 bits for each band of so many rows:
 * equal where all minima of the band are, and otherwise, or for another band, only by chance.
 * O(hashes). */
static int band_keys(lua_State *L)
{
  const unsigned char *minima;
  const uint64_t k = check_signature(L, 1, &minima);
  const uint64_t bands = psl_whole(L, 2, "bands", 0), rows = psl_whole(L, 3, "rows", 1);
  luaL_argcheck(L, bands <= k / rows, 2, "more bands than there are minima for");
  lua_createtable(L, (int)bands, 0);
  for (uint64_t i = 0; i < bands; i++) {
    uint64_t hash = ps_hash(minima + 8 * rows * i, (size_t)(8 * rows), i);
    psl_push_integer(L, hash >> 11);
    lua_rawseti(L, -2, (int)(i + 1));
  }
  return 1;
}

/* copy(set, size): a table of what is in another at one moment, however finalisers change that one:
 * next() may run them on some Luas, and fails then. `size` is how many there are, or were. O(size).
 */
static int copy(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  uint64_t n = psl_whole(L, 2, "size", 0), room;
  do {
    room = n;
    n = 0;
    lua_settop(L, 1);
    lua_createtable(L, 0, room > INT_MAX ? INT_MAX : (int)room);
    lua_pushnil(L);
    for (; lua_next(L, 1) != 0; n++) {
      if (n < room) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 2);
      } else {
        lua_pop(L, 1);
      }
    }
  } while (n > room);
  return 1;
}

const luaL_Reg psl_lsh_functions[] = {
    {"key", key},
    {"before", before},
    {"signature", signature},
    {"agreement", agreement},
    {"band_keys", band_keys},
    {"copy", copy},
    {NULL, NULL},
};
