/***
The scalable Bloom filter (Almeida et al. 2007): certainly not there, or probably there, for a
number of keys that nobody knows beforehand.
@classmod scalable_bloom
*/
#include "membership/scalable_bloom.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty filter of one layer.
@function probsketch.scalable_bloom
@within Constructor
@tparam table options
@tparam integer options.capacity keys of the first layer, an integer from 1 to 2^53
@tparam[opt=0.01] number options.fp_rate false-positive rate of the whole, however many keys come, a
number from 1e-15 to below 1
@tparam[opt=2] number options.growth capacity of a layer divided by that of the one before it, a
number from 1 to 16
@tparam[opt=0.5] number options.tightening rate of a layer divided by that of the one before it, a
number from 0.1 to 0.9
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the filter
@raise when an option is out of range or unknown, or one is missing
*/

/***
Adds a key. A key that is there already is not added again. O(hashes of all layers).
@function scalable_bloom:add
@tparam string|integer key
@treturn bool true: the key was certainly not there before; false: it probably was. Or nil, message,
`full`, when the next layer would pass `max_bytes` or there is none: the key is not in then, and all
others stay
*/
static int scalable_bloom_add(lua_State *L)
{
  struct ps_scalable_bloom *filter = psl_self_to_change(L);
  struct ps_error error;
  bool fresh;
  if (ps_scalable_bloom_add(filter, psl_hash(L, 2, &filter->sketch), &fresh, &error) != PS_OK) {
    return psl_fail(L, &error);
  }
  lua_pushboolean(L, fresh);
  return 1;
}

/***
Is the key there? Asks the newest layer first. O(hashes of all layers).
@function scalable_bloom:has
@tparam string|integer key
@treturn bool false: certainly not; true: yes, or with the probability `info().fp_rate` not
*/
static int scalable_bloom_has(lua_State *L)
{
  const struct ps_scalable_bloom *filter = psl_self(L);
  lua_pushboolean(L, ps_scalable_bloom_has(filter, psl_hash(L, 2, &filter->sketch)));
  return 1;
}

/***
Adds each key of an array, in order, in one call. Faster than as many calls of
@{scalable_bloom:add}, far faster for filters larger than the cache.
@function scalable_bloom:add_many
@tparam {string|integer,...} keys all checked before the first is added
@treturn integer how many were certainly not there before. Or n, message, `full`: exactly the first
n keys of the array are in
*/

/***
Asks for each key of an array in one call.
@function scalable_bloom:has_many
@tparam {string|integer,...} keys
@treturn {bool,...} the answers of @{scalable_bloom:has}, in the same order
*/

static const luaL_Reg methods[] = {
    {"add", scalable_bloom_add},
    {"has", scalable_bloom_has},
    {"add_many", psl_add_many},
    {"has_many", psl_has_many},
    {NULL, NULL},
};

const struct psl_kind psl_scalable_bloom = {&ps_scalable_bloom, methods};
