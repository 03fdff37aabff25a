/* Keys, counts and arrays of them, read from Lua the same way by every kind. */
#ifndef PSL_KEYS_H
#define PSL_KEYS_H

#include "base/hash.h"
#include "binding/compat.h"
#include "binding/sketch.h"

/* The hash of a key that is not a string: an integer's decimal form. Raises for all else. */
uint64_t psl_hash_number(lua_State *L, int index, uint64_t seed);

/* The hash of the key at `index` with the seed of the sketch. */
static inline uint64_t psl_hash(lua_State *L, int index, const struct ps_sketch *sketch)
{
  if (lua_type(L, index) == LUA_TSTRING) {
    size_t length;
    const char *key = lua_tolstring(L, index, &length);
    return ps_hash(key, length, sketch->seed);
  }
  return psl_hash_number(L, index, sketch->seed);
}

/* The number at `index`, an integer from `least`, 0 or 1, to 2^53; else raises, with `what` it is.
 */
uint64_t psl_whole(lua_State *L, int index, const char *what, uint64_t least);

/* The count or weight at `index`, 1 if there is none: an integer from 0 to 2^53, or raises. */
uint64_t psl_count(lua_State *L, int index);

/* The number at `index` as a double that lies outside +-2^53 whenever the number does: a 64-bit
 * integer is not rounded into range. The value must be a number. */
double psl_number(lua_State *L, int index);

/* Pushes what a message calls the value at `index`: "1.5", "a table". */
const char *psl_push_description(lua_State *L, int index);

/* add_many(array) and has_many(array), over the kind's add_hashes and has_hashes. */
int psl_add_many(lua_State *L);
int psl_has_many(lua_State *L);

#endif
