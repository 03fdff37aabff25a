/***
The blocked Bloom filter: certainly not there, or probably there, out of one cache line a key
(Putze, Sanders and Singler 2007, "Cache-, hash- and space-efficient Bloom filters").
@classmod blocked_bloom
*/
#include "membership/blocked_bloom.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty filter.
@function probsketch.blocked_bloom
@within Constructor
@tparam table options
@tparam integer options.capacity different keys that the rate is promised for, an integer from 1 to
2^53
@tparam[opt=0.01] number options.fp_rate false-positive rate at `capacity` keys, a number from 1e-5
to 0.5
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the filter
@raise when an option is out of range or unknown, or one is missing
*/

/***
Adds a key. O(1).
@function blocked_bloom:add
@tparam string|integer key
@treturn bool true: the key was certainly not there before; false: it probably was
*/
static int blocked_bloom_add(lua_State *L)
{
  struct ps_blocked_bloom *filter = psl_self_to_change(L);
  lua_pushboolean(L, ps_blocked_bloom_add(filter, psl_hash(L, 2, &filter->sketch)));
  return 1;
}

/***
Is the key there? O(1).
@function blocked_bloom:has
@tparam string|integer key
@treturn bool false: certainly not; true: yes, or with the probability `info().fp_rate` not
*/
static int blocked_bloom_has(lua_State *L)
{
  const struct ps_blocked_bloom *filter = psl_self(L);
  lua_pushboolean(L, ps_blocked_bloom_has(filter, psl_hash(L, 2, &filter->sketch)));
  return 1;
}

/***
Adds each key of an array, in order, in one call. Faster than as many calls of
@{blocked_bloom:add}, far faster for filters larger than the cache.
@function blocked_bloom:add_many
@tparam {string|integer,...} keys all checked before the first is added
@treturn integer how many were certainly not there before
*/

/***
Asks for each key of an array in one call.
@function blocked_bloom:has_many
@tparam {string|integer,...} keys
@treturn {bool,...} the answers of @{blocked_bloom:has}, in the same order
*/

static const luaL_Reg methods[] = {
    {"add", blocked_bloom_add},
    {"has", blocked_bloom_has},
    {"add_many", psl_add_many},
    {"has_many", psl_has_many},
    {NULL, NULL},
};

const struct psl_kind psl_blocked_bloom = {&ps_blocked_bloom, methods};
