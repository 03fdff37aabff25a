#include "binding/options.h"

#include <math.h>
#include <string.h>

#include "binding/keys.h"
#include "kinds.h"
#include "storage/random.h"

/* Raises: what was expected of the option, and the value on top of the stack that was found. */
static void bad_option(lua_State *L, int index, const char *name, const char *range)
{
  const char *got = psl_push_description(L, lua_gettop(L));
  luaL_argerror(L, index, lua_pushfstring(L, "option '%s': expected %s, got %s", name, range, got));
}

const struct ps_kind *psl_check_kind(lua_State *L, int index)
{
  luaL_checktype(L, index, LUA_TSTRING);
  const char *name = lua_tostring(L, index);
  const struct ps_kind *kind = ps_kind_by_name(name);
  if (kind == NULL) {
    luaL_argerror(L, index, lua_pushfstring(L, "unknown kind '%s'", name));
  }
  return kind;
}

bool psl_seed(lua_State *L, int index, uint64_t *seed, uint32_t *flags)
{
  struct ps_error error;
  struct psl_box *box;
  double x;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER:
    x = psl_number(L, index);
    if (!(x >= 0 && x <= (double)PS_COUNT_MAX) || x != floor(x)) {
      return false;
    }
    *seed = (uint64_t)x;
    return true;
  case LUA_TSTRING:
    if (strcmp(lua_tostring(L, index), "random") != 0) {
      return false;
    }
    if (ps_random(seed, &error) != PS_OK) {
      luaL_error(L, "%s", error.message);
    }
    *flags |= PS_SEED_SECRET;
    return true;
  default:
    box = psl_test(L, index);
    if (box == NULL || !box->sketch.kind->seeded) {
      return false;
    }
    psl_check_open(L, &box->sketch);
    *seed = box->sketch.seed;
    *flags |= box->sketch.flags & PS_SEED_SECRET;
    return true;
  }
}

/* What is read of an options table, before the core has seen it. */
struct request {
  struct ps_options options;
  uint64_t seed, max_bytes;
  uint32_t flags;
};

/* The value on top of the stack for one of the options that only some kind has. */
static void read_own(lua_State *L, int index, const struct ps_option *option, double *value)
{
  if (option->type == PS_OPTION_BOOLEAN) {
    if (lua_type(L, -1) != LUA_TBOOLEAN) {
      bad_option(L, index, option->name, option->range);
    }
    *value = lua_toboolean(L, -1);
    return;
  }
  if (lua_type(L, -1) != LUA_TNUMBER) {
    bad_option(L, index, option->name, option->range);
  }
  *value = psl_number(L, -1);
}

/* The value on top of the stack for one of the options that every kind has; false for another name.
 */
static bool read_common(lua_State *L, int index, const struct ps_kind *kind, const char *name,
                        struct request *request)
{
  if (kind->seeded && strcmp(name, "seed") == 0) {
    if (!psl_seed(L, lua_gettop(L), &request->seed, &request->flags)) {
      bad_option(L, index, name, PSL_SEED_RANGE);
    }
    return true;
  }
  if (strcmp(name, "max_bytes") == 0) {
    double x = lua_type(L, -1) == LUA_TNUMBER ? psl_number(L, -1) : 0;
    if (!(x >= 1 && x <= (double)PS_COUNT_MAX) || x != floor(x)) {
      bad_option(L, index, name, "an integer from 1 to 2^53");
    }
    request->max_bytes = (uint64_t)x;
    return true;
  }
  return false;
}

/* The key is below the value on top of the stack. */
static void read_option(lua_State *L, int index, const struct ps_kind *kind,
                        struct request *request)
{
  /* A number would be turned into a string in place, which lua_next() does not survive. */
  if (lua_type(L, -2) != LUA_TSTRING) {
    const char *got = psl_push_description(L, lua_gettop(L) - 1);
    luaL_argerror(L, index, lua_pushfstring(L, "unknown option %s", got));
  }
  const char *name = lua_tostring(L, -2);
  for (size_t i = 0; kind->options[i].name != NULL; i++) {
    if (strcmp(kind->options[i].name, name) == 0) {
      read_own(L, index, &kind->options[i], &request->options.value[i]);
      request->options.given[i] = true;
      return;
    }
  }
  if (!read_common(L, index, kind, name, request)) {
    luaL_argerror(L, index, lua_pushfstring(L, "unknown option '%s'", name));
  }
}

void psl_plan(lua_State *L, int index, const struct ps_kind *kind, struct ps_sketch *planned)
{
  struct ps_error error;
  struct request request = {.max_bytes = psl_state(L)->max_bytes};
  if (!lua_isnoneornil(L, index)) {
    luaL_checktype(L, index, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
      read_option(L, index, kind, &request);
    }
  }
  if (ps_plan(planned, kind, &request.options, &error) != PS_OK) {
    psl_raise(L, index, &error);
  }
  planned->seed = request.seed;
  planned->flags = request.flags;
  planned->max_bytes = request.max_bytes;
  if (ps_check_limit(planned, &error) != PS_OK) {
    psl_raise(L, index, &error);
  }
}
