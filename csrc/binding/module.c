/***
Probabilistic sketches: the C module behind `require "probsketch"`.
@module probsketch
*/
#include <inttypes.h>
#include <stdio.h>

#include "base/version.h"
#include "binding/fast.h"
#include "binding/keys.h"
#include "binding/lsh.h"
#include "binding/methods.h"
#include "binding/options.h"
#include "binding/storage.h"
#include "storage/library.h"

#define DEFAULT_MAX_BYTES (UINT64_C(4) << 30)

static const struct psl_kind *const kinds[] = {
    &psl_bloom,
    &psl_blocked_bloom,
    &psl_scalable_bloom,
    &psl_counting_bloom,
    &psl_cuckoo,
    &psl_fuse,
    &psl_count_min,
    &psl_top_k,
    &psl_hyperloglog,
    &psl_tdigest,
    &psl_kll,
    &psl_ddsketch,
    &psl_minhash,
    NULL,
};

/* ---- one Lua state ---- */

/* The address is the state's key in the registry. */
static const char state_key = 's';

static void *resize(void *context, void *block, size_t old_size, size_t new_size)
{
  struct psl_state *state = context;
  void *resized = state->allocate(state->allocate_context, block, old_size, new_size);
  if (resized != NULL && new_size > old_size) {
    state->debt += new_size - old_size;
  }
  return resized;
}

/* Leaves the state's userdata on the stack: the same one however often the module is loaded. */
static void push_state(lua_State *L)
{
  lua_pushlightuserdata(L, (void *)&state_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (!lua_isnil(L, -1)) {
    return;
  }
  lua_pop(L, 1);
  struct psl_state *state = lua_newuserdata(L, sizeof *state);
  *state = (struct psl_state){.memory = {resize, state}, .max_bytes = DEFAULT_MAX_BYTES};
  state->allocate = lua_getallocf(L, &state->allocate_context);
  lua_pushlightuserdata(L, (void *)&state_key);
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

/* ---- functions of the module ---- */

/* The constructor of a kind. */
static int construct(lua_State *L)
{
  void *payload;
  struct ps_error error;
  union ps_any_sketch planned;
  struct psl_key_set *keys = psl_plan(L, 1, lua_touserdata(L, PSL_KIND), &planned.sketch, false);
  struct ps_sketch *sketch = psl_push(L, &planned.sketch, &payload);
  if (ps_init(sketch, payload, &psl_state(L)->memory, &error) != PS_OK) {
    return psl_raise(L, 1, &error);
  }
  if (keys != NULL) {
    sketch->kind->build(sketch, keys->scratch);
    psl_free_keys(keys);
  }
  return 1;
}

/***
What a constructor would build from the same options; nothing is left allocated. For fuse, `keys`
may be the number of different keys; of an array the keys are looked at, and a function is refused,
since it could be called only once.
@function plan
@tparam string kind
@tparam[opt] table options
@treturn table `kind`, `bytes` and the parameters
*/
static int plan(lua_State *L)
{
  union ps_any_sketch planned;
  struct psl_key_set *keys = psl_plan(L, 2, psl_check_kind(L, 1), &planned.sketch, true);
  if (keys != NULL) {
    psl_free_keys(keys);
  }
  psl_push_report(L, &planned.sketch, planned.sketch.kind->size(&planned.sketch));
  return 1;
}

/***
The most bytes that one sketch may have, unless its option `max_bytes` says otherwise.
@function max_bytes
@tparam[opt] integer n the new limit, 1 to 2^53
@treturn integer the limit, 4 GiB at first
*/
static int max_bytes(lua_State *L)
{
  struct psl_state *state = psl_state(L);
  if (!lua_isnoneornil(L, 1)) {
    state->max_bytes = psl_whole(L, 1, "bytes", 1);
  }
  psl_push_integer(L, state->max_bytes);
  return 1;
}

/***
Is the value a sketch, and of which kind?
@function kind
@param value anything
@treturn ?string the name of the kind, or nil
*/
static int kind_of(lua_State *L)
{
  luaL_checkany(L, 1);
  struct psl_box *box = psl_test(L, 1);
  if (box == NULL) {
    lua_pushnil(L);
  } else {
    lua_pushstring(L, box->sketch.kind->name);
  }
  return 1;
}

/***
The hash that sketches of the seed see of a key: XXH3_64bits.
@function hash
@tparam string|integer key
@param[opt=0] seed an integer from 0 to 2^53, or a sketch for the same seed
@treturn string 16 hexadecimal digits
*/
static int hash(lua_State *L)
{
  char text[17];
  struct ps_sketch seeded = {0};
  if (!lua_isnoneornil(L, 2) &&
      (lua_type(L, 2) == LUA_TSTRING || !psl_seed(L, 2, &seeded.seed, &seeded.flags))) {
    luaL_argerror(L, 2, "seed expected, an integer from 0 to 2^53 or a sketch");
  }
  snprintf(text, sizeof text, "%016" PRIx64, psl_hash(L, 1, &seeded));
  lua_pushstring(L, text);
  return 1;
}

/***
A new sketch that stands for all of these together, as @{sketch:union} makes it.
@function union
@param sketch the first
@param ... more of the same kind, parameters and seed
@return the union
@raise when one of them does not fit, naming the field
*/

static const luaL_Reg functions[] = {
    {"decode", psl_decode}, {"load", psl_load}, {"union", psl_union},     {"kind", kind_of},
    {"hash", hash},         {"plan", plan},     {"max_bytes", max_bytes}, {"open", psl_open},
    {"share", psl_share},   {NULL, NULL},
};

__attribute__((visibility("default"))) int luaopen_probsketch_core(lua_State *L);

int luaopen_probsketch_core(lua_State *L)
{
  /* When a state is closed, Lua 5.1 and LuaJIT unload their libraries as one of the finalisers, and
   * others, which may call us, come later or are still running. */
  ps_library_keep(&state_key);

  push_state(L);
  const int state = lua_gettop(L);
  lua_newtable(L);
  const int module = lua_gettop(L);

  lua_pushvalue(L, state);
  lua_pushnil(L);
  lua_pushnil(L);
  psl_set_functions(L, functions, PSL_UPVALUES);

  for (const struct psl_kind *const *kind = kinds; *kind != NULL; kind++) {
    lua_pushvalue(L, state);
    psl_push_metatable(L, *kind, state);
    lua_pushlightuserdata(L, (void *)(*kind)->kind);
    lua_pushcclosure(L, construct, PSL_UPVALUES);
    lua_setfield(L, module, (*kind)->kind->name);
  }
  lua_newtable(L);
  lua_pushvalue(L, state);
  lua_pushnil(L);
  lua_pushnil(L);
  psl_set_functions(L, psl_lsh_functions, PSL_UPVALUES);
  lua_setfield(L, module, "lsh");
  lua_pushcfunction(L, psl_fast_methods);
  lua_setfield(L, module, "fast_methods");
  psl_push_decoder_constructor(L, state);
  lua_setfield(L, module, "decoder");
  lua_pushliteral(L, PS_VERSION);
  lua_setfield(L, module, "VERSION");
  psl_push_integer(L, PS_ABI);
  lua_setfield(L, module, "abi");
  return 1;
}
