/***
The count-min sketch: how often, never below the truth.
@classmod count_min
*/
#include "frequency/count_min.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty sketch: for an error and the probability that it is exceeded, or of so many counters.
@function probsketch.count_min
@within Constructor
@tparam[opt] table options
@tparam[opt=0.001] number options.epsilon excess of an estimate, as a share of the total: a number
from 1e-12 to below 1
@tparam[opt=0.01] number options.delta share of the keys with a larger one: a probability of failure
from 1e-15 to below 1
@tparam integer options.width instead of `epsilon` and `delta`, together with `depth`: counters in a
row, an integer from 1 to 2^53
@tparam integer options.depth rows, an integer from 1 to 64
@tparam[opt=false] boolean options.conservative raise only the counters that have to be raised: true
or false
@tparam[opt=32] integer options.counter_bits of each counter: 8, 16, 32 or 64
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the sketch
@raise when an option is out of range or unknown
*/

/***
Counts a key. O(depth).
@function count_min:add
@tparam string|integer key
@tparam[opt=1] integer n how often, 0 to 2^53; 0 changes nothing
@treturn integer the key's new estimate
*/
static int count_min_add(lua_State *L)
{
  struct ps_count_min *sketch = psl_self_to_change(L);
  uint64_t n = psl_count(L, 3);
  psl_push_integer(L, ps_count_min_add(sketch, psl_hash(L, 2, &sketch->sketch), n));
  return 1;
}

/***
How often has the key been counted? O(depth).
@function count_min:frequency
@tparam string|integer key
@treturn integer never below the truth while `info().saturated` is false; above it by more than
`error_bound()` with a probability of at most delta
*/
static int count_min_frequency(lua_State *L)
{
  const struct ps_count_min *sketch = psl_self(L);
  psl_push_integer(L, ps_count_min_frequency(sketch, psl_hash(L, 2, &sketch->sketch)));
  return 1;
}

/***
What an estimate exceeds the truth by, but for a share delta of the keys: epsilon * count(). O(1).
@function count_min:error_bound
@treturn number
*/
static int count_min_error_bound(lua_State *L)
{
  lua_pushnumber(L, ps_count_min_error_bound(psl_self(L)));
  return 1;
}

/***
Lets all counts age: each counter, and the total, becomes half of itself, rounded down. O(width *
depth).
@function count_min:halve
@return the sketch itself
*/
static int count_min_halve(lua_State *L)
{
  ps_count_min_decay(psl_self_to_change(L), 0.5);
  lua_settop(L, 1);
  return 1;
}

/***
Lets all counts age by any factor: each counter c, and the total, becomes `math.floor(c * factor)`.
No estimate comes to lie below what the truth becomes by the same step. O(width * depth).
@function count_min:decay
@tparam number factor from 0, which leaves no counts, to 1, which changes nothing
@return the sketch itself
*/
static int count_min_decay(lua_State *L)
{
  struct ps_count_min *sketch = psl_self_to_change(L);
  ps_count_min_decay(sketch, psl_fraction(L, 2, "factor"));
  lua_settop(L, 1);
  return 1;
}

/***
The sum over all keys of the product of their counts in two sketches: the size of a join. Never
below the truth while nothing is saturated, above it by more than epsilon * count() * other:count()
with a probability of at most delta. O(width * depth).
@function count_min:inner_product
@param other a compatible sketch
@treturn number
@raise for conservative sketches, whose counters do not multiply
*/
static int count_min_inner_product(lua_State *L)
{
  struct ps_error error;
  double product;
  psl_self(L);
  psl_check_same(L, 2);
  const struct ps_count_min *a = psl_still(L, 1), *b = psl_still(L, 2);
  psl_check_open(L, &a->sketch);
  psl_check_open(L, &b->sketch);
  if (ps_count_min_inner_product(a, b, &product, &error) != PS_OK) {
    return psl_raise(L, 2, &error);
  }
  lua_pushnumber(L, product);
  return 1;
}

/***
Counts each key of an array once, in order, in one call.
@function count_min:add_many
@tparam {string|integer,...} keys all checked before the first is counted
@treturn integer how many there were
*/

static const luaL_Reg methods[] = {
    {"add", count_min_add},
    {"add_many", psl_add_many},
    {"frequency", count_min_frequency},
    {"error_bound", count_min_error_bound},
    {"halve", count_min_halve},
    {"decay", count_min_decay},
    {"inner_product", count_min_inner_product},
    {NULL, NULL},
};

const struct psl_kind psl_count_min = {&ps_count_min, methods};
