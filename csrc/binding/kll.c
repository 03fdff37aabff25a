/***
The KLL sketch: which percentile, its rank right within a share of the number of values.
@classmod kll
*/
#include "quantile/kll.h"

#include "binding/methods.h"
#include "binding/quantile.h"

/***
An empty sketch (Karnin, Lang and Liberty 2016). Up to `k` values it is exact.
@function probsketch.kll
@within Constructor
@tparam[opt] table options
@tparam[opt=200] integer options.k for an error of the rank of 2.5 / k: an integer from 8 to 65535
@param[opt=0] options.seed of its coins, an integer from 0 to 2^53, "random" or a sketch, for the
same seed as it; sketches of any seeds merge
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the sketch
@raise when an option is out of range or unknown
*/

/***
Adds a value. O(log k), amortized; with a weight O(k).
@function kll:add
@tparam number x finite
@tparam[opt=1] integer weight how often, 0 to 2^53; 0 changes nothing
@return the sketch itself
@raise when the total of all weights would pass 2^53; nothing is changed
*/

/***
Adds each value of an array once, in one call: all of them, or none.
@function kll:add_many
@tparam {number,...} values all checked before the first is added
@treturn integer how many there were
@raise when one is not a finite number, or the total of all weights would pass 2^53
*/

/***
The value at a fraction of the sorted values: one that was added, whose rank is right within
`rank_error`. Of n values, in the order of their size and counted from 0, it stands for number
floor(q * (n - 1)). Never falls as q rises. O(log k); the first time after an add O(k), or O(k log
k) when values were compacted meanwhile.
@function kll:quantile
@tparam number q from 0, the least value, to 1, the largest: 0.95 for the 95th percentile
@treturn ?number nil when empty
*/

/***
The values at several fractions. As quantile for the first, O(log k) for each other.
@function kll:quantiles
@tparam {number,...} qs in any order
@treturn ?{number,...} in the same order; nil when empty
*/

/***
The fraction of the values that are <= x, right within `rank_error`. As quantile.
@function kll:rank
@tparam number x finite
@treturn number from 0, below the least value, to 1, from the largest on; 0 when empty
*/

/***
The least value, exactly. O(1).
@function kll:min
@treturn ?number nil when empty
*/

/***
The largest value, exactly. O(1).
@function kll:max
@treturn ?number nil when empty
*/

/***
The sum of the values, within 2^-52 of the sum of their magnitudes: of values of one sign, exact to
the last digit or two. O(1).
@function kll:sum
@treturn number infinite when no double is so large; 0 when empty
*/

/***
The mean of the values, as near to the true one as the sum. O(1).
@function kll:mean
@treturn ?number nil when empty
*/

/***
What a rank is wrong by at most with a probability of 0.99: 2.5 / k, a single-sided figure. The
fraction between two values is the difference of two ranks; for a histogram of them `info()` says
`histogram_error`, 3 / k. Up to k values there is no error. O(1).
@function kll:rank_error
@treturn number a fraction: 0.0125 at k = 200
*/
static int kll_rank_error(lua_State *L)
{
  lua_pushnumber(L, ps_kll_rank_error(psl_self(L)));
  return 1;
}

static const luaL_Reg methods[] = {
    PSL_QUANTILE_METHODS,
    {"rank_error", kll_rank_error},
    {NULL, NULL},
};

const struct psl_kind psl_kll = {&ps_kll, methods};
