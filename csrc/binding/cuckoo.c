/***
The cuckoo filter: certainly not there, or probably there, and keys can be removed (Fan et al.
2014).
@classmod cuckoo
*/
#include "membership/cuckoo.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty filter.
@function probsketch.cuckoo
@within Constructor
@tparam table options
@tparam integer options.capacity keys that go in, copies counted; of a growing filter, before it
first doubles: an integer from 1 to 2^53
@tparam[opt=0.01] number options.fp_rate false-positive rate when it is full, a number from 1e-10 to
0.5
@tparam[opt=4] integer options.bucket_size fingerprints in a bucket: 2, 4 or 8
@tparam[opt=0] integer options.growth 0 (fixed) or 2 (doubles)
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the filter
@raise when an option is out of range or unknown, or one is missing
*/

/***
Adds a key, once more if it is there already. O(1), also when it is refused; a growing filter
doubles now and then, O(size).
@function cuckoo:add
@tparam string|integer key
@treturn ?bool true; or nil when there is no place for it: then nothing has changed. No filter takes
a key more than 2 bucket_size times.
@treturn ?string message
@treturn ?string code, "full"
*/
static int cuckoo_add(lua_State *L)
{
  struct ps_error error;
  struct ps_cuckoo *cuckoo = psl_self_to_change(L);
  if (ps_cuckoo_add(cuckoo, psl_hash(L, 2, &cuckoo->sketch), &error) != PS_OK) {
    return psl_fail(L, &error);
  }
  lua_pushboolean(L, true);
  return 1;
}

/***
Is the key there? O(1).
@function cuckoo:has
@tparam string|integer key
@treturn bool false: certainly not; true: yes, or with the probability `info().fp_rate` not
*/
static int cuckoo_has(lua_State *L)
{
  const struct ps_cuckoo *cuckoo = psl_self(L);
  lua_pushboolean(L, ps_cuckoo_has(cuckoo, psl_hash(L, 2, &cuckoo->sketch)));
  return 1;
}

/***
Takes a key away, once. Only what was added may be removed: a key that was not, but that `has`
affirms, takes away another, which is then missing. O(1).
@function cuckoo:remove
@tparam string|integer key
@treturn bool true; false, and nothing has changed, if it was not there
*/
static int cuckoo_remove(lua_State *L)
{
  struct ps_cuckoo *cuckoo = psl_self_to_change(L);
  lua_pushboolean(L, ps_cuckoo_remove(cuckoo, psl_hash(L, 2, &cuckoo->sketch)));
  return 1;
}

/***
How often is the key there? O(1).
@function cuckoo:frequency
@tparam string|integer key
@treturn integer from 0 to 2 bucket_size; never below the truth, above it with the probability
`info().fp_rate`
*/
static int cuckoo_frequency(lua_State *L)
{
  const struct ps_cuckoo *cuckoo = psl_self(L);
  psl_push_integer(L, ps_cuckoo_frequency(cuckoo, psl_hash(L, 2, &cuckoo->sketch)));
  return 1;
}

/***
Adds each key of an array, in order, in one call. Faster than as many calls of @{cuckoo:add}, far
faster for filters larger than the cache.
@function cuckoo:add_many
@tparam {string|integer,...} keys all checked before the first is added
@treturn integer how many were added; fewer than there are when there was no place for the next
@treturn ?string message, then
@treturn ?string code, "full"
*/

/***
Asks for each key of an array in one call.
@function cuckoo:has_many
@tparam {string|integer,...} keys
@treturn {bool,...} the answers of @{cuckoo:has}, in the same order
*/

static const luaL_Reg methods[] = {
    {"add", cuckoo_add},
    {"has", cuckoo_has},
    {"remove", cuckoo_remove},
    {"frequency", cuckoo_frequency},
    {"add_many", psl_add_many},
    {"has_many", psl_has_many},
    {NULL, NULL},
};

const struct psl_kind psl_cuckoo = {&ps_cuckoo, methods};
