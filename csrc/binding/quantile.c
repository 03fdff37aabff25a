#include "binding/quantile.h"

#include <math.h>

#include "binding/keys.h"
#include "binding/sketch.h"
#include "quantile/quantile.h"

/* ---- values ---- */

/* Pushes what is wrong with the value at `index`. */
static const char *push_bad_value(lua_State *L, int index)
{
  const char *got = psl_push_description(L, index);
  return lua_pushfstring(L, "value expected, a finite number, got %s", got);
}

/* The finite number at `index`, of this type; false if it is none. */
static bool read_value(lua_State *L, int index, int type, double *x)
{
  *x = type == LUA_TNUMBER ? lua_tonumber(L, index) : NAN;
  return isfinite(*x);
}

static double check_value(lua_State *L, int index)
{
  double x;
  if (!read_value(L, index, lua_type(L, index), &x)) {
    luaL_argerror(L, index, push_bad_value(L, index));
  }
  return x;
}

int psl_quantile_add(lua_State *L)
{
  struct ps_sketch *sketch = psl_self_to_change(L);
  struct ps_error error;
  size_t changed;
  double x = check_value(L, 2);
  uint64_t weight = lua_isnoneornil(L, 3) ? 1 : psl_whole(L, 3, "weight", 0);
  if (sketch->kind->add_values(sketch, &x, &weight, 1, &changed, &error) != PS_OK) {
    return psl_raise(L, 2, &error);
  }
  lua_settop(L, 1);
  return 1;
}

/* All in one call, so that it takes all or none. */
int psl_quantile_add_many(lua_State *L)
{
  struct ps_sketch *sketch = psl_self_to_change(L);
  struct ps_error error;
  size_t n = psl_check_array(L, 2), changed;
  double *values = psl_push_scratch(L, n * sizeof *values);
  psl_check_open(L, sketch);
  for (size_t i = 0; i < n; i++) {
    int type = psl_raw_get(L, 2, (int)(i + 1));
    if (!read_value(L, -1, type, &values[i])) {
      const char *problem = push_bad_value(L, lua_gettop(L));
      return luaL_argerror(L, 2, lua_pushfstring(L, "element %d: %s", (int)(i + 1), problem));
    }
    lua_pop(L, 1);
  }
  if (sketch->kind->add_values(sketch, values, NULL, n, &changed, &error) != PS_OK) {
    return psl_raise(L, 2, &error);
  }
  psl_push_integer(L, changed);
  return 1;
}

/* ---- answers ----
 *
 * Of a sketch that is shared all of an answer comes from one copy: it fits together, and stays
 * within bounds. */

static bool is_empty(const struct ps_sketch *sketch)
{
  return ps_count(sketch) == 0;
}

/* The number, or nil from an empty sketch, which has none. */
static int answer(lua_State *L, double (*ask)(const struct ps_sketch *), bool of_none)
{
  psl_self(L);
  const struct ps_sketch *sketch = psl_still(L, 1);
  if (is_empty(sketch) && !of_none) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, ask(sketch));
  }
  return 1;
}

static const struct ps_quantile_kind *asked(lua_State *L)
{
  return ((const struct ps_kind *)lua_touserdata(L, PSL_KIND))->quantiles;
}

int psl_quantile_quantile(lua_State *L)
{
  psl_self(L);
  double q = psl_fraction(L, 2, "q");
  const struct ps_sketch *sketch = psl_still(L, 1);
  if (is_empty(sketch)) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, asked(L)->quantile(sketch, q));
  }
  return 1;
}

/* Raises unless all elements of the array in argument 2 are fractions. */
static size_t check_fractions(lua_State *L)
{
  size_t n = psl_check_array(L, 2);
  for (size_t i = 1; i <= n; i++) {
    double q = psl_raw_get(L, 2, (int)i) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(q >= 0 && q <= 1)) {
      const char *got = psl_push_description(L, lua_gettop(L));
      luaL_argerror(
          L, 2,
          lua_pushfstring(L, "element %d: q expected, a number from 0 to 1, got %s", (int)i, got));
    }
    lua_pop(L, 1);
  }
  return n;
}

/* A finaliser may run when the table is made, and change the sketch or the array, so both are
 * looked at after it. */
int psl_quantile_quantiles(lua_State *L)
{
  psl_self(L);
  lua_settop(L, 2);
  const struct ps_sketch *sketch = psl_still(L, 1);
  lua_createtable(L, lua_istable(L, 2) ? (int)psl_check_array(L, 2) : 0, 0);
  psl_check_open(L, sketch);
  size_t n = check_fractions(L);
  if (is_empty(sketch)) {
    lua_pushnil(L);
    return 1;
  }
  for (size_t i = 1; i <= n; i++) {
    psl_raw_get(L, 2, (int)i);
    lua_pushnumber(L, asked(L)->quantile(sketch, lua_tonumber(L, -1)));
    lua_rawseti(L, 3, (int)i);
    lua_pop(L, 1);
  }
  return 1;
}

int psl_quantile_rank(lua_State *L)
{
  psl_self(L);
  double x = check_value(L, 2);
  lua_pushnumber(L, asked(L)->rank(psl_still(L, 1), x));
  return 1;
}

int psl_quantile_min(lua_State *L)
{
  return answer(L, asked(L)->min, false);
}

int psl_quantile_max(lua_State *L)
{
  return answer(L, asked(L)->max, false);
}

int psl_quantile_sum(lua_State *L)
{
  return answer(L, asked(L)->sum, true);
}

int psl_quantile_mean(lua_State *L)
{
  return answer(L, asked(L)->mean, false);
}
