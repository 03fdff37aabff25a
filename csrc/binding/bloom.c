/***
The classic Bloom filter: certainly not there, or probably there.
@classmod bloom
*/
#include "membership/bloom.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty filter: for a number of keys and a rate, or of so many bits and hashes.
@function probsketch.bloom
@within Constructor
@tparam table options
@tparam integer options.capacity different keys that the rate is promised for, an integer from 1 to
2^53
@tparam[opt=0.01] number options.fp_rate false-positive rate at `capacity` keys, a number from 1e-15
to below 1
@tparam integer options.bits instead of `capacity` and `fp_rate`, together with `hashes`: an integer
from 1 to 2^53
@tparam integer options.hashes bits a key, an integer from 1 to 64
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the filter
@raise when an option is out of range or unknown, or one is missing
*/

/***
Adds a key. O(hashes).
@function bloom:add
@tparam string|integer key
@treturn bool true: the key was certainly not there before; false: it probably was
*/
static int bloom_add(lua_State *L)
{
  struct ps_bloom *bloom = psl_self_to_change(L);
  lua_pushboolean(L, ps_bloom_add(bloom, psl_hash(L, 2, &bloom->sketch)));
  return 1;
}

/***
Is the key there? O(hashes).
@function bloom:has
@tparam string|integer key
@treturn bool false: certainly not; true: yes, or with the probability `info().fp_rate` not
*/
static int bloom_has(lua_State *L)
{
  const struct ps_bloom *bloom = psl_self(L);
  lua_pushboolean(L, ps_bloom_has(bloom, psl_hash(L, 2, &bloom->sketch)));
  return 1;
}

/***
How alike are the sets of keys of two filters? Estimated from the bits of both and of their union;
good for filters that are neither nearly empty nor nearly full. O(bits).
@function bloom:jaccard
@param other a compatible filter
@treturn number estimate of |A and B| / |A or B|, from 0 to 1; 1 when both are empty
*/
static int bloom_jaccard(lua_State *L)
{
  struct ps_error error;
  const struct ps_bloom *a = psl_self(L), *b = psl_check_same(L, 2);
  if (ps_compatible(&a->sketch, &b->sketch, &error) != PS_OK) {
    return psl_raise(L, 2, &error);
  }
  a = psl_still(L, 1);
  b = psl_still(L, 2);
  psl_check_open(L, &a->sketch);
  psl_check_open(L, &b->sketch);
  lua_pushnumber(L, ps_bloom_jaccard(a, b));
  return 1;
}

/***
Adds each key of an array, in order, in one call. Faster than as many calls of @{bloom:add}, far
faster for filters larger than the cache.
@function bloom:add_many
@tparam {string|integer,...} keys all checked before the first is added
@treturn integer how many were certainly not there before
*/

/***
Asks for each key of an array in one call.
@function bloom:has_many
@tparam {string|integer,...} keys
@treturn {bool,...} the answers of @{bloom:has}, in the same order
*/

static const luaL_Reg methods[] = {
    {"add", bloom_add},         {"has", bloom_has},         {"jaccard", bloom_jaccard},
    {"add_many", psl_add_many}, {"has_many", psl_has_many}, {NULL, NULL},
};

const struct psl_kind psl_bloom = {&ps_bloom, methods};
