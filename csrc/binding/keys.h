/* Keys, counts and arrays of them, read from Lua the same way by every kind. */
#ifndef PSL_KEYS_H
#define PSL_KEYS_H

#include "base/hash.h"
#include "binding/compat.h"
#include "binding/sketch.h"

/* Room for the decimal form of an integer: 20 digits, as three times eight, and with them the sign.
 */
struct psl_decimal {
  unsigned char text[24];
};

/* The integer at `index` in decimal form, without its hash; false if the number is none. */
bool psl_format_number(lua_State *L, int index, struct psl_decimal *decimal, struct ps_key *key);

/* The key that is a value of this type, without its hash; false if it is none. */
static inline bool psl_key_value(lua_State *L, int index, int type, struct psl_decimal *decimal,
                                 struct ps_key *key)
{
  if (type == LUA_TSTRING) {
    key->bytes = (const unsigned char *)lua_tolstring(L, index, &key->length);
    return true;
  }
  return type == LUA_TNUMBER && psl_format_number(L, index, decimal, key);
}

/* The same, of its hash alone. */
static inline bool psl_hash_value(lua_State *L, int index, int type, uint64_t seed, uint64_t *hash)
{
  struct psl_decimal decimal;
  struct ps_key key;
  if (!psl_key_value(L, index, type, &decimal, &key)) {
    return false;
  }
  *hash = ps_hash(key.bytes, key.length, seed);
  return true;
}

/* Pushes, and raises, what is wrong with the key at `index`. */
const char *psl_push_bad_key(lua_State *L, int index);
int psl_bad_key(lua_State *L, int index);

/* The hash of the key at `index` with the seed of the sketch, or raises. */
static inline uint64_t psl_hash(lua_State *L, int index, const struct ps_sketch *sketch)
{
  uint64_t hash = 0;
  if (!psl_hash_value(L, index, lua_type(L, index), sketch->seed, &hash)) {
    psl_bad_key(L, index);
  }
  return hash;
}

/* The key itself, for as long as its value and `decimal` are there. */
static inline struct ps_key psl_key(lua_State *L, int index, const struct ps_sketch *sketch,
                                    struct psl_decimal *decimal)
{
  struct ps_key key = {NULL, 0, 0};
  if (!psl_key_value(L, index, lua_type(L, index), decimal, &key)) {
    psl_bad_key(L, index);
  }
  key.hash = ps_hash(key.bytes, key.length, sketch->seed);
  return key;
}

/* The number at `index`, an integer from `least`, 0 or 1, to 2^53; else raises, with `what` it is.
 */
uint64_t psl_whole(lua_State *L, int index, const char *what, uint64_t least);

/* The count or weight at `index`, 1 if there is none: an integer from 0 to 2^53, or raises. */
uint64_t psl_count(lua_State *L, int index);

/* The number at `index`, from 0 to 1, or raises. */
double psl_fraction(lua_State *L, int index, const char *what);

/* The number at `index` as a double that lies outside +-2^53 whenever the number does: a 64-bit
 * integer is not rounded into range. The value must be a number. */
double psl_number(lua_State *L, int index);

/* Pushes what a message calls the value at `index`: "1.5", "a table". */
const char *psl_push_description(lua_State *L, int index);

/* What keeps the table at `index` from being taken for an array; NULL if nothing does. A set, with
 * its elements as keys, would be an array of none. */
const char *psl_array_problem(lua_State *L, int index);

/* The length of the array at `index`, or raises. */
size_t psl_check_array(lua_State *L, int index);

/* add_many(array) and has_many(array), over the kind's add_hashes or add_keys, and has_hashes. */
int psl_add_many(lua_State *L);
int psl_has_many(lua_State *L);

#endif
