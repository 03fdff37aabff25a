/***
HyperLogLog: how many distinct keys.
@classmod hyperloglog
*/
#include "cardinality/hyperloglog.h"

#include <math.h>

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty sketch; also `probsketch.hll`.
@function probsketch.hyperloglog
@within Constructor
@tparam[opt] table options
@tparam[opt=14] integer options.precision for 2^precision registers, an integer from 4 to 18
@tparam number options.error_rate instead of `precision`: the standard error that is good enough, a
number from 0.00203125 to 0.26
@tparam[opt=false] boolean options.hip keep the HIP estimate (Cohen 2014, Ting 2014): true or false.
Its standard error is 0.83 / sqrt(2^precision), until the first merge; count and bytes depend on the
order of the keys
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the sketch
@raise when an option is out of range or unknown
*/

/***
Adds a key. O(1).
@function hyperloglog:add
@tparam string|integer key
@treturn bool true: a register changed, so the key was certainly not there before
*/
static int hyperloglog_add(lua_State *L)
{
  struct ps_hyperloglog *hll = psl_self_to_change(L);
  struct ps_error error;
  bool changed;
  if (ps_hyperloglog_add(hll, psl_hash(L, 2, &hll->sketch), &changed, &error) != PS_OK) {
    return psl_raise(L, 2, &error);
  }
  lua_pushboolean(L, changed);
  return 1;
}

/***
The estimated number of distinct keys, not rounded; `count()` is rounded. O(1).
@function hyperloglog:estimate
@treturn number
*/
static int hyperloglog_estimate(lua_State *L)
{
  lua_pushnumber(L, ps_hyperloglog_estimate(psl_self(L)));
  return 1;
}

/***
The standard error of the estimate relative to the truth: 1.04 / sqrt(2^precision), with `hip` 0.83
/ sqrt(2^precision) until a merge. Small sets err far less. O(1).
@function hyperloglog:standard_error
@treturn number a fraction: 0.008125 at precision 14
*/
static int hyperloglog_standard_error(lua_State *L)
{
  lua_pushnumber(L, ps_hyperloglog_standard_error(psl_self(L)));
  return 1;
}

/***
Where to expect the truth: `z` standard errors below and above the estimate, and never below what is
certain. O(1).
@function hyperloglog:bounds
@tparam number z 0 or more: 1 holds in two cases of three, 2 in 95 of 100, 3 in 997 of 1000 from
precision 8 up (in 98 of 100 at precision 4)
@treturn number low
@treturn number high
*/
static int hyperloglog_bounds(lua_State *L)
{
  const struct ps_hyperloglog *hll = psl_self(L);
  double low, high, z = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : -1;
  if (!(z >= 0 && z < INFINITY)) {
    const char *got = psl_push_description(L, 2);
    return luaL_argerror(L, 2,
                         lua_pushfstring(L, "standard errors expected, 0 or more, got %s", got));
  }
  ps_hyperloglog_bounds(hll, z, &low, &high);
  lua_pushnumber(L, low);
  lua_pushnumber(L, high);
  return 2;
}

/***
A new sketch of the same keys at a lower precision: equal, to the byte, to one that had it from the
start. So sketches of unlike precisions can be merged, at the lowest. With `hip` the registers are
those, and the estimate is that of the higher precision. O(2^precision).
@function hyperloglog:fold
@tparam integer precision from 4 to that of the sketch; the same gives a copy
@return the new sketch
*/
static int hyperloglog_fold(lua_State *L)
{
  const struct ps_hyperloglog *hll = psl_self(L);
  double asked = lua_type(L, 2) == LUA_TNUMBER ? psl_number(L, 2) : NAN;
  if (!(asked >= PS_HYPERLOGLOG_PRECISION_MIN && asked <= hll->precision) ||
      asked != floor(asked)) {
    const char *got = psl_push_description(L, 2);
    return luaL_argerror(L, 2,
                         lua_pushfstring(L, "precision out of range (expected %d to %d, got %s)",
                                         PS_HYPERLOGLOG_PRECISION_MIN, (int)hll->precision, got));
  }
  hll = psl_still(L, 1);
  struct ps_hyperloglog planned;
  ps_plan_copy(&planned.sketch, &hll->sketch);
  planned.precision = (uint8_t)asked;
  void *payload;
  struct ps_error error;
  void *folded = psl_push(L, &planned.sketch, &payload);
  psl_check_open(L, &hll->sketch);
  if (ps_hyperloglog_fold(folded, hll, planned.precision, &error) != PS_OK) {
    return psl_raise(L, 1, &error);
  }
  return 1;
}

/* The overlap of this sketch and argument 2. */
static struct ps_overlap overlap(lua_State *L)
{
  struct ps_error error;
  const struct ps_hyperloglog *a = psl_self(L), *b = psl_check_same(L, 2);
  if (ps_compatible(&a->sketch, &b->sketch, &error) != PS_OK) {
    psl_raise(L, 2, &error);
  }
  luaL_argcheck(L, lua_isnoneornil(L, 3), 3, "only two sketches can be compared");
  a = psl_still(L, 1);
  b = psl_still(L, 2);
  psl_check_open(L, &a->sketch);
  psl_check_open(L, &b->sketch);
  return ps_hyperloglog_overlap(a, b);
}

/***
How many distinct keys are in both sketches? By maximum likelihood on the registers (Ertl 2017),
which errs far less than count + count - count of the union; small sets are counted exactly.
O(2^precision), well below a millisecond at precision 14.
@function hyperloglog:intersection
@param other a compatible sketch
@treturn number estimate, from 0 to the smaller of both
@treturn number its standard error, in keys; at either end of that range, where the registers hardly
tell one overlap from another, it is too small
*/
static int hyperloglog_intersection(lua_State *L)
{
  struct ps_overlap both = overlap(L);
  lua_pushnumber(L, both.intersection);
  lua_pushnumber(L, both.intersection_error);
  return 2;
}

/***
How alike are the sets of keys of two sketches? As @{hyperloglog:intersection}.
@function hyperloglog:jaccard
@param other a compatible sketch
@treturn number estimate of |A and B| / |A or B|, from 0 to 1; 1 when both are empty, 0 when one is
@treturn number its standard error, with the same reservation
*/
static int hyperloglog_jaccard(lua_State *L)
{
  struct ps_overlap both = overlap(L);
  lua_pushnumber(L, both.jaccard);
  lua_pushnumber(L, both.jaccard_error);
  return 2;
}

/***
Adds each key of an array, in order, in one call.
@function hyperloglog:add_many
@tparam {string|integer,...} keys all checked before the first is added
@treturn integer how many changed a register
*/

static const luaL_Reg methods[] = {
    {"add", hyperloglog_add},
    {"add_many", psl_add_many},
    {"estimate", hyperloglog_estimate},
    {"standard_error", hyperloglog_standard_error},
    {"bounds", hyperloglog_bounds},
    {"fold", hyperloglog_fold},
    {"intersection", hyperloglog_intersection},
    {"jaccard", hyperloglog_jaccard},
    {NULL, NULL},
};

const struct psl_kind psl_hyperloglog = {&ps_hyperloglog, methods};
