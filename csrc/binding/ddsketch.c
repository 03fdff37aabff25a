/***
The DDSketch: which percentile, right within a share of the value itself.
@classmod ddsketch
*/
#include "quantile/ddsketch.h"

#include "binding/methods.h"
#include "binding/quantile.h"

/***
An empty sketch (Masson, Rim and Lee 2019).
@function probsketch.ddsketch
@within Constructor
@tparam[opt] table options
@tparam[opt=0.01] number options.relative_accuracy what a quantile may be off by, as a share of the
true one: a number from 1e-4 to 0.5
@tparam[opt=2048] integer options.max_bins bins for the positive values, and as many for the
negative ones: an integer from 1 to 1e6. When the values of one sign need more, those nearest to
zero share a bin, and their quantiles are no longer within the accuracy
@tparam number options.min_value instead of `max_bins`, together with `max_value`: a fixed range of
magnitudes, for which there are bins from the beginning, so that its size never changes and it can
be shared; a number from 2.3e-308 to 1.7e308. Smaller magnitudes count as 0
@tparam number options.max_value the end of the range, above `min_value`: a number from 2.3e-308 to
1.7e308. Larger magnitudes count in the last bin, and their quantiles are too small;
`info().clamped` says so
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the sketch
@raise when an option is out of range or unknown
*/

/***
Adds a value. Magnitudes below `min_value`, or without a range below 2.2e-308, which a double does
not hold in full precision, count as 0. O(1), amortized.
@function ddsketch:add
@tparam number x finite
@tparam[opt=1] integer weight how often, 0 to 2^53; 0 changes nothing
@return the sketch itself
@raise when the total of all weights would pass 2^53; nothing is changed
*/

/***
Adds each value of an array once, in one call: all of them, or none.
@function ddsketch:add_many
@tparam {number,...} values all checked before the first is added
@treturn integer how many there were
@raise when one is not a finite number, or the total of all weights would pass 2^53
*/

/***
The value at a fraction of the sorted values: of n values, in the order of their size and counted
from 0, number floor(q * (n - 1)). Never falls as q rises. O(bins).
@function ddsketch:quantile
@tparam number q from 0, the least value, to 1, the largest: 0.95 for the 95th percentile
@treturn ?number within `relative_accuracy` of the true one unless `info().collapsed` or it is
outside of the range; nil when empty
*/

/***
The values at several fractions. O(bins) each.
@function ddsketch:quantiles
@tparam {number,...} qs in any order
@treturn ?{number,...} in the same order; nil when empty
*/

/***
The fraction of the values that are <= x; those in the same bin as x, which differ from it by at
most twice the accuracy, are taken for that. O(bins).
@function ddsketch:rank
@tparam number x finite
@treturn number from 0, below the least value, to 1, from the largest on; 0 when empty
*/

/***
The least value, exactly. O(1), of a sketch that is shared O(bins).
@function ddsketch:min
@treturn ?number nil when empty
*/

/***
The largest value, exactly. O(1), of a sketch that is shared O(bins).
@function ddsketch:max
@treturn ?number nil when empty
*/

/***
The sum of the values, from the bins: of values of one sign within `relative_accuracy` of the true
sum unless `info().collapsed`. O(bins).
@function ddsketch:sum
@treturn number infinite when no double is so large; 0 when empty
*/

/***
The mean of the values, as near to the true one as the sum. O(bins).
@function ddsketch:mean
@treturn ?number nil when empty
*/

static const luaL_Reg methods[] = {
    PSL_QUANTILE_METHODS,
    {NULL, NULL},
};

const struct psl_kind psl_ddsketch = {&ps_ddsketch, methods};
