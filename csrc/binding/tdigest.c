/***
The t-digest: which percentile, at the right rank, and most exactly at both ends.
@classmod tdigest
*/
#include "quantile/tdigest.h"

#include "binding/keys.h"
#include "binding/methods.h"
#include "binding/quantile.h"

/***
An empty digest (Dunning and Ertl 2019). It is exact while it has up to 1024 values, or up to twice
as many different ones as its compression.
@function probsketch.tdigest
@within Constructor
@tparam[opt] table options
@tparam[opt=100] integer options.compression half the most centroids that it keeps, an integer from
20 to 10000: errors are as the inverse of it, at most
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the digest
@raise when an option is out of range or unknown
*/

/***
Adds a value. O(log compression), amortized, for compressions up to 1000.
@function tdigest:add
@tparam number x finite
@tparam[opt=1] integer weight how often, 0 to 2^53; 0 changes nothing
@return the digest itself
@raise when the total of all weights would pass 2^53; nothing is changed
*/

/***
Adds each value of an array once, in one call: all of them, or none.
@function tdigest:add_many
@tparam {number,...} values all checked before the first is added
@treturn integer how many there were
@raise when one is not a finite number, or the total of all weights would pass 2^53
*/

/***
The value at a fraction of the sorted values: of n values, in the order of their size and counted
from 0, number floor(q * (n - 1)), exactly where the values are known, else interpolated. Never
falls as q rises, and is never outside of the least and the largest value. O(log compression), and
O(list) when the digest has been changed.
@function tdigest:quantile
@tparam number q from 0, the least value, to 1, the largest: 0.95 for the 95th percentile
@treturn ?number nil when empty
*/

/***
The values at several fractions. O(log compression) each.
@function tdigest:quantiles
@tparam {number,...} qs in any order
@treturn ?{number,...} in the same order; nil when empty
*/

/***
The fraction of the values that are <= x. O(log compression), and O(list) when the digest has been
changed.
@function tdigest:rank
@tparam number x finite
@treturn number from 0, below the least value, to 1, from the largest on; 0 when empty
*/

/***
The least value, exactly.
@function tdigest:min
@treturn ?number nil when empty
*/

/***
The largest value, exactly.
@function tdigest:max
@treturn ?number nil when empty
*/

/***
The sum of the values, but for rounding. O(list).
@function tdigest:sum
@treturn number infinite when no double is so large; 0 when empty
*/

/***
The mean of the values, but for rounding. O(list).
@function tdigest:mean
@treturn ?number nil when empty
*/

/***
The mean of the values between two fractions of the sorted values: `trimmed_mean(0.05, 0.95)` leaves
out the twentieth at either end. Values and centroids that a fraction falls into count for the part.
O(compression).
@function tdigest:trimmed_mean
@tparam number low from 0
@tparam number high above low, to 1
@treturn ?number nil when empty
*/
static int trimmed_mean(lua_State *L)
{
  const struct ps_tdigest *sketch = psl_self(L);
  double low = psl_fraction(L, 2, "low"), high = psl_fraction(L, 3, "high");
  if (!(low < high)) {
    const char *got = psl_push_description(L, 3);
    return luaL_argerror(L, 3, lua_pushfstring(L, "high expected above low, got %s", got));
  }
  if (sketch->count == 0) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, ps_tdigest_trimmed_mean(sketch, low, high));
  }
  return 1;
}

/* One as Lua is given it. */
struct centroid {
  double mean;
  uint64_t weight;
};

/* Making tables may run finalisers, which may change the digest: first all are copied. */
static size_t push_centroids(lua_State *L, const struct ps_tdigest *sketch,
                             struct centroid **copies)
{
  *copies = psl_push_scratch(L, 2 * (uint64_t)sketch->compression * sizeof **copies);
  psl_check_open(L, &sketch->sketch);
  const struct ps_centroids *list = ps_tdigest_centroids(sketch);
  for (size_t i = 0; i < list->n; i++) {
    (*copies)[i] = (struct centroid){ps_centroid_value(list, i), ps_centroid_weight(list, i)};
  }
  return list->n;
}

/***
The digest in short: centroids `{ mean =, weight = }`, the least mean first, at most twice the
compression. O(compression), and O(list) when the digest has been changed.
@function tdigest:centroids
@treturn {table,...} new, plain
*/
static int centroids(lua_State *L)
{
  struct centroid *copies;
  size_t n = push_centroids(L, psl_self(L), &copies);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 2);
    lua_pushnumber(L, copies[i].mean);
    lua_setfield(L, -2, "mean");
    psl_push_integer(L, copies[i].weight);
    lua_setfield(L, -2, "weight");
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

static const luaL_Reg methods[] = {
    PSL_QUANTILE_METHODS,
    {"trimmed_mean", trimmed_mean},
    {"centroids", centroids},
    {NULL, NULL},
};

const struct psl_kind psl_tdigest = {&ps_tdigest, methods};
