/***
The counting Bloom filter: certainly not there, or probably there, and keys can be taken out again
(Fan, Cao, Almeida and Broder 2000, "Summary Cache").

A counter stops at its maximum, 15 for counters of 4 bits, and is never decremented again: nothing
that is in the filter is ever denied, but what saturated counters stand for is never forgotten.
`info().saturated_cells` says how many there are.
@classmod counting_bloom
*/
#include "membership/counting_bloom.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty filter.
@function probsketch.counting_bloom
@within Constructor
@tparam table options
@tparam integer options.capacity different keys that the rate is promised for, an integer from 1 to
2^53
@tparam[opt=0.01] number options.fp_rate false-positive rate at `capacity` keys, a number from 1e-15
to below 1
@tparam[opt=4] integer options.counter_bits of each counter: 4, 8 or 16
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the filter
@raise when an option is out of range or unknown, or one is missing
*/

/***
Adds a key, once or several times. O(hashes).
@function counting_bloom:add
@tparam string|integer key
@tparam[opt=1] integer n how often, 0 to 2^53; 0 changes nothing
@treturn bool true: the key was certainly not there before; false: it probably was
*/
static int counting_bloom_add(lua_State *L)
{
  struct ps_counting_bloom *filter = psl_self_to_change(L);
  uint64_t n = psl_count(L, 3);
  uint64_t hash = psl_hash(L, 2, &filter->bloom.sketch);
  lua_pushboolean(L, ps_counting_bloom_add(filter, hash, n));
  return 1;
}

/***
Is the key there? O(hashes).
@function counting_bloom:has
@tparam string|integer key
@treturn bool false: certainly not; true: yes, or with the probability `info().fp_rate` not
*/
static int counting_bloom_has(lua_State *L)
{
  const struct ps_counting_bloom *filter = psl_self(L);
  lua_pushboolean(L, ps_counting_bloom_has(filter, psl_hash(L, 2, &filter->bloom.sketch)));
  return 1;
}

/***
Takes a key out that was added before. Removing a key that was never added, but that `has` affirms
by mistake, takes counts away from other keys, which may then be denied: remove only what is known
to be in. A frequency at the counter's maximum stands for any number. O(hashes).
@function counting_bloom:remove
@tparam string|integer key
@tparam[opt=1] integer n how often, 0 to 2^53; 0 changes nothing
@treturn bool true; or false, and nothing is changed, if the key is certainly not there that often
@raise for a filter that is shared
*/
static int counting_bloom_remove(lua_State *L)
{
  struct ps_counting_bloom *filter = psl_self_to_change(L);
  if (filter->bloom.sketch.flags & PS_SHARED) {
    psl_refuse_shared(L, "removed from", "remove from a copy(), or clear() it");
  }
  uint64_t n = psl_count(L, 3);
  uint64_t hash = psl_hash(L, 2, &filter->bloom.sketch);
  lua_pushboolean(L, ps_counting_bloom_remove(filter, hash, n));
  return 1;
}

/***
How often is the key there? Its smallest counter. O(hashes).
@function counting_bloom:frequency
@tparam string|integer key
@treturn integer never below the truth, except that it stops at the counter's maximum; above it with
the probability `info().fp_rate`
*/
static int counting_bloom_frequency(lua_State *L)
{
  const struct ps_counting_bloom *filter = psl_self(L);
  uint64_t hash = psl_hash(L, 2, &filter->bloom.sketch);
  psl_push_integer(L, ps_counting_bloom_frequency(filter, hash));
  return 1;
}

/***
Is the key there t times or more? O(hashes).
@function counting_bloom:at_least
@tparam string|integer key
@tparam integer t from 0 to the counter's maximum: 15, 255 or 65535
@treturn bool false: certainly fewer times; true: probably t times or more
@raise when t is more than a counter can hold
*/
static int counting_bloom_at_least(lua_State *L)
{
  const struct ps_counting_bloom *filter = psl_self(L);
  uint64_t t = psl_whole(L, 3, "count", 0), most = ps_counting_bloom_max(filter);
  uint64_t hash = psl_hash(L, 2, &filter->bloom.sketch);
  if (t > most) {
    const char *got = psl_push_description(L, 3);
    luaL_argerror(
        L, 3,
        lua_pushfstring(L, "count expected, an integer from 0 to %d, which counters hold, got %s",
                        (int)most, got));
  }
  lua_pushboolean(L, ps_counting_bloom_frequency(filter, hash) >= t);
  return 1;
}

/***
Adds each key of an array once, in order, in one call. Faster than as many calls of
@{counting_bloom:add}, far faster for filters larger than the cache.
@function counting_bloom:add_many
@tparam {string|integer,...} keys all checked before the first is added
@treturn integer how many changed the filter: all but those whose counters are all saturated
*/

/***
Asks for each key of an array in one call.
@function counting_bloom:has_many
@tparam {string|integer,...} keys
@treturn {bool,...} the answers of @{counting_bloom:has}, in the same order
*/

static const luaL_Reg methods[] = {
    {"add", counting_bloom_add},
    {"has", counting_bloom_has},
    {"remove", counting_bloom_remove},
    {"frequency", counting_bloom_frequency},
    {"at_least", counting_bloom_at_least},
    {"add_many", psl_add_many},
    {"has_many", psl_has_many},
    {NULL, NULL},
};

const struct psl_kind psl_counting_bloom = {&ps_counting_bloom, methods};
