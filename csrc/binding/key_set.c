#include "binding/key_set.h"

#include "base/distinct.h"
#include "binding/keys.h"

/* The keys of a function that there is room for at first. */
#define ROOM_MIN 1024

/* ---- memory ---- */

static int free_keys(lua_State *L)
{
  psl_free_keys(lua_touserdata(L, 1));
  return 0;
}

struct psl_key_set *psl_push_keys(lua_State *L)
{
  struct psl_key_set *keys = lua_newuserdata(L, sizeof *keys);
  *keys = (struct psl_key_set){.memory = &psl_state(L)->memory};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, free_keys);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return keys;
}

/* The block with another size, larger than 0. */
static void *resize(lua_State *L, const struct psl_key_set *keys, void *block, size_t old_size,
                    uint64_t new_size)
{
  void *resized = NULL;
  if (new_size <= SIZE_MAX / 2) {
    resized = keys->memory->resize(keys->memory->context, block, old_size, (size_t)new_size);
  }
  if (resized == NULL) {
    psl_raise(L, 1, &(struct ps_error){.status = PS_ERR_MEMORY});
  }
  return resized;
}

static void set_room(lua_State *L, struct psl_key_set *keys, size_t room)
{
  const size_t size = sizeof *keys->hashes;
  keys->hashes = resize(L, keys, keys->hashes, keys->room * size, (uint64_t)room * size);
  keys->room = room;
  psl_account(L, 0);
}

static void free_block(const struct psl_key_set *keys, void *block, size_t size)
{
  if (block != NULL) {
    keys->memory->resize(keys->memory->context, block, size, 0);
  }
}

void *psl_key_scratch(lua_State *L, struct psl_key_set *keys, uint64_t size)
{
  free_block(keys, keys->scratch, keys->scratch_size);
  keys->scratch = NULL;
  keys->scratch = resize(L, keys, NULL, 0, size);
  keys->scratch_size = (size_t)size;
  psl_account(L, 0);
  return keys->scratch;
}

void psl_free_keys(struct psl_key_set *keys)
{
  free_block(keys, keys->hashes, keys->room * sizeof *keys->hashes);
  free_block(keys, keys->scratch, keys->scratch_size);
  *keys = (struct psl_key_set){.memory = keys->memory};
}

/* ---- gathering ---- */

/* The key on top of the stack, number n of the option, is none. */
static void bad_key(lua_State *L, int argument, size_t n)
{
  const char *problem = psl_push_bad_key(L, lua_gettop(L));
  luaL_argerror(L, argument, lua_pushfstring(L, "option 'keys': element %d: %s", (int)n, problem));
}

static void add_key(lua_State *L, struct psl_key_set *keys, int argument, int type, uint64_t seed)
{
  if (!psl_hash_value(L, -1, type, seed, &keys->hashes[keys->n])) {
    bad_key(L, argument, keys->n + 1);
  }
  keys->n++;
  lua_pop(L, 1);
}

static void gather_array(lua_State *L, struct psl_key_set *keys, int index, int argument,
                         uint64_t seed)
{
  const char *problem = psl_array_problem(L, index);
  if (problem != NULL) {
    luaL_argerror(L, argument, lua_pushfstring(L, "option 'keys': %s", problem));
  }
  size_t n = lua_rawlen(L, index);
  if (n > 0) {
    set_room(L, keys, n);
  }
  for (size_t i = 1; i <= n; i++) {
    add_key(L, keys, argument, psl_raw_get(L, index, (int)i), seed);
  }
}

/* Calls the function, and leaves what it returns. */
static int next_type(lua_State *L, int index)
{
  lua_pushvalue(L, index);
  lua_call(L, 0, 1);
  return lua_type(L, -1);
}

static void gather_calls(lua_State *L, struct psl_key_set *keys, int index, int argument,
                         uint64_t seed, uint64_t most)
{
  int type;
  while (keys->n <= most && (type = next_type(L, index)) != LUA_TNIL) {
    if (keys->n == keys->room) {
      set_room(L, keys, keys->n == 0 ? ROOM_MIN : keys->n + keys->n / 2);
    }
    add_key(L, keys, argument, type, seed);
  }
}

void psl_gather_keys(lua_State *L, struct psl_key_set *keys, int index, int argument, uint64_t seed,
                     uint64_t most)
{
  bool is_array = lua_istable(L, index);
  if (is_array) {
    gather_array(L, keys, index, argument, seed);
  } else {
    gather_calls(L, keys, index, argument, seed, most);
  }
  if (keys->n > 0 && (is_array || keys->n <= most)) {
    uint64_t *other = psl_key_scratch(L, keys, keys->n * sizeof *keys->hashes);
    keys->n = ps_sort_distinct(keys->hashes, keys->n, other);
  }
}
