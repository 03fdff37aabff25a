#include "binding/options.h"

#include <math.h>
#include <string.h>

#include "binding/keys.h"
#include "kinds.h"
#include "storage/random.h"

void psl_bad_option(lua_State *L, int index, const char *name, const char *range)
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

const struct ps_kind *psl_optional_kind(lua_State *L, int index)
{
  return lua_isnoneornil(L, index) ? NULL : psl_check_kind(L, index);
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
  bool only_plan;
  int keys; /* where on the stack an option of keys goes, to be gathered when the seed is known */
};

static void read_keys(lua_State *L, int index, const struct ps_option *option,
                      const struct request *request)
{
  int type = lua_type(L, -1);
  if (request->only_plan && type != LUA_TTABLE) {
    psl_bad_option(L, index, option->name, "an array or the number of different keys");
  }
  if (type != LUA_TTABLE && type != LUA_TFUNCTION) {
    psl_bad_option(L, index, option->name, option->range);
  }
  lua_pushvalue(L, -1);
  lua_replace(L, request->keys);
}

/* The value on top of the stack for one of the options that only some kind has. */
static void read_own(lua_State *L, int index, const struct ps_option *option,
                     const struct request *request, double *value)
{
  int type = lua_type(L, -1);
  bool stands_for_keys = request->only_plan && type == LUA_TNUMBER;
  if (option->type == PS_OPTION_KEYS && !stands_for_keys) {
    read_keys(L, index, option, request);
    return;
  }
  if (type != (option->type == PS_OPTION_BOOLEAN ? LUA_TBOOLEAN : LUA_TNUMBER)) {
    psl_bad_option(L, index, option->name, option->range);
  }
  *value = type == LUA_TBOOLEAN ? lua_toboolean(L, -1) : psl_number(L, -1);
}

/* The value on top of the stack for one of the options that every kind has; false for another name.
 */
static bool read_common(lua_State *L, int index, const struct ps_kind *kind, const char *name,
                        struct request *request)
{
  if (kind->seeded && strcmp(name, "seed") == 0) {
    if (!psl_seed(L, lua_gettop(L), &request->seed, &request->flags)) {
      psl_bad_option(L, index, name, PSL_SEED_RANGE);
    }
    return true;
  }
  if (strcmp(name, "max_bytes") == 0) {
    double x = lua_type(L, -1) == LUA_TNUMBER ? psl_number(L, -1) : 0;
    if (!(x >= 1 && x <= (double)PS_COUNT_MAX) || x != floor(x)) {
      psl_bad_option(L, index, name, "an integer from 1 to 2^53");
    }
    request->max_bytes = (uint64_t)x;
    return true;
  }
  return false;
}

const char *psl_option_name(lua_State *L, int index)
{
  /* A number would be turned into a string in place, which lua_next() does not survive. */
  if (lua_type(L, -2) != LUA_TSTRING) {
    const char *got = psl_push_description(L, lua_gettop(L) - 1);
    luaL_argerror(L, index, lua_pushfstring(L, "unknown option %s", got));
  }
  return lua_tostring(L, -2);
}

int psl_unknown_option(lua_State *L, int index, const char *name)
{
  return luaL_argerror(L, index, lua_pushfstring(L, "unknown option '%s'", name));
}

/* The key is below the value on top of the stack. */
static void read_option(lua_State *L, int index, const struct ps_kind *kind,
                        struct request *request)
{
  const char *name = psl_option_name(L, index);
  for (size_t i = 0; kind->options[i].name != NULL; i++) {
    if (strcmp(kind->options[i].name, name) == 0) {
      read_own(L, index, &kind->options[i], request, &request->options.value[i]);
      request->options.given[i] = true;
      return;
    }
  }
  if (!read_common(L, index, kind, name, request)) {
    psl_unknown_option(L, index, name);
  }
}

static void read_options(lua_State *L, int index, const struct ps_kind *kind,
                         struct request *request)
{
  lua_pushnil(L);
  request->keys = lua_gettop(L);
  if (!lua_isnoneornil(L, index)) {
    luaL_checktype(L, index, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
      read_option(L, index, kind, request);
    }
  }
}

/* Pushes the keys of the request, and tells its options how many there are. */
static struct psl_key_set *push_keys(lua_State *L, int index, const struct ps_kind *kind,
                                     struct request *request)
{
  struct psl_key_set *keys = psl_push_keys(L);
  const struct ps_option *option = kind->options;
  while (option->type != PS_OPTION_KEYS) {
    option++;
  }
  /* No sketch has more keys than bytes: more than that are too many, whatever comes yet. */
  uint64_t most = (uint64_t)fmin((double)request->max_bytes, option->max);
  psl_gather_keys(L, keys, request->keys, index, request->seed, most);
  request->options.value[option - kind->options] = (double)keys->n;
  return keys;
}

static void check_limit(lua_State *L, int index, const struct ps_sketch *planned)
{
  struct ps_error error;
  if (ps_check_limit(planned, &error) != PS_OK) {
    psl_raise(L, index, &error);
  }
}

static void plan(lua_State *L, int index, const struct ps_kind *kind, const struct request *request,
                 struct ps_sketch *planned)
{
  struct ps_error error;
  if (ps_plan(planned, kind, &request->options, &error) != PS_OK) {
    psl_raise(L, index, &error);
  }
  planned->seed = request->seed;
  planned->flags = request->flags;
  planned->max_bytes = request->max_bytes;
  check_limit(L, index, planned);
}

static void arrange(lua_State *L, int index, struct psl_key_set *keys, struct ps_sketch *planned)
{
  struct ps_error error;
  void *scratch = psl_key_scratch(L, keys, planned->kind->scratch(planned));
  if (planned->kind->arrange(planned, keys->hashes, scratch, &error) != PS_OK) {
    psl_raise(L, index, &error);
  }
  check_limit(L, index, planned); /* it may have grown */
}

struct psl_key_set *psl_plan(lua_State *L, int index, const struct ps_kind *kind,
                             struct ps_sketch *planned, bool only_plan)
{
  struct request request = {.max_bytes = psl_state(L)->max_bytes, .only_plan = only_plan};
  read_options(L, index, kind, &request);
  plan(L, index, kind, &request, planned);
  if (lua_isnil(L, request.keys)) {
    return NULL;
  }
  /* Till now for no keys: other options are refused before a function is called. */
  struct psl_key_set *keys = push_keys(L, index, kind, &request);
  plan(L, index, kind, &request, planned);
  arrange(L, index, keys, planned);
  return keys;
}
