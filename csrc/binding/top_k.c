/***
The most frequent keys of a stream, each with its count and what that may be too high by.
@classmod top_k
*/
#include "frequency/top_k.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
An empty list of the k most frequent keys.
@function probsketch.top_k
@within Constructor
@tparam[opt] table options
@tparam[opt=10] integer options.k the most keys it lists, an integer from 1 to 1e6
@tparam[opt=0.001] number options.epsilon excess of an estimate, for keys that are not listed, as a
share of the total: a number from 1e-12 to below 1
@tparam[opt=0.01] number options.delta share of those keys with a larger one: a probability of
failure from 1e-15 to below 1
@tparam integer options.width instead of `epsilon` and `delta`, together with `depth`: counters in a
row, an integer from 1 to 2^53
@tparam integer options.depth rows, an integer from 1 to 64
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, those of the listed keys
included, an integer from 1 to 2^53; unless given, @{probsketch.max_bytes}
@return the sketch
@raise when an option is out of range or unknown
*/

/* Answers with nil, message, code where the key found no room. */
static int answer(lua_State *L, enum ps_status status, uint64_t estimate,
                  const struct ps_error *error)
{
  if (status != PS_OK) {
    return psl_fail(L, error);
  }
  psl_push_integer(L, estimate);
  return 1;
}

/***
Counts a key. O(depth + log k).
@function top_k:add
@tparam string|integer key of any length; a listed key is kept, and counts for `max_bytes`
@tparam[opt=1] integer n how often, 0 to 2^53; 0 changes nothing
@treturn ?integer the key's new estimate; or nil when it had to be listed and is longer than
`max_bytes` allows: then nothing has changed
@treturn ?string message
@treturn ?string code, "full"
*/
static int top_k_add(lua_State *L)
{
  struct ps_top_k *top_k = psl_self_to_change(L);
  struct psl_decimal decimal;
  struct ps_error error;
  uint64_t n = psl_count(L, 3), estimate = 0;
  const struct ps_key key = psl_key(L, 2, &top_k->sketch, &decimal);
  enum ps_status status = ps_top_k_add(top_k, &key, n, &estimate, &error);
  return answer(L, status, estimate, &error);
}

/***
Counts each key of an array once, in order, in one call.
@function top_k:add_many
@tparam {string|integer,...} keys all checked before the first is counted
@treturn integer how many were counted; fewer than there are when the next found no room
@treturn ?string message, then
@treturn ?string code, "full"
*/

/***
How often has the key been counted? O(depth).
@function top_k:frequency
@tparam string|integer key
@treturn integer never below the truth while `info().saturated` is false. Of a listed key, its
count; of others an estimate, above the truth by more than `info().error_bound` with a probability
of at most delta
*/
static int top_k_frequency(lua_State *L)
{
  const struct ps_top_k *top_k = psl_self(L);
  struct psl_decimal decimal;
  const struct ps_key key = psl_key(L, 2, &top_k->sketch, &decimal);
  psl_push_integer(L, ps_top_k_frequency(top_k, &key));
  return 1;
}

/* Pushes what keeps the list alive; it does not change with the sketch. */
static struct ps_reader push_list(lua_State *L, const struct ps_top_k *top_k)
{
  uint64_t size;
  unsigned char *bytes;
  lua_pushnil(L);
  do {
    lua_pop(L, 1);
    size = ps_top_k_list_size(top_k);
    bytes = psl_push_scratch(L, size);
    psl_check_open(L, &top_k->sketch);
  } while (ps_top_k_list_size(top_k) > size);
  ps_top_k_list(top_k, bytes);
  return ps_reader_over(bytes, (size_t)ps_top_k_list_size(top_k));
}

static void push_item(lua_State *L, const struct ps_top_k_item *item)
{
  lua_createtable(L, 0, 3);
  lua_pushlstring(L, (const char *)item->key, item->length);
  lua_setfield(L, -2, "key");
  psl_push_integer(L, item->count);
  lua_setfield(L, -2, "count");
  psl_push_integer(L, item->error);
  lua_setfield(L, -2, "error");
}

/* Pushes the array of the items whose count is above `least`. */
static void push_items(lua_State *L, struct ps_reader list, double least)
{
  struct ps_top_k_item item;
  lua_newtable(L);
  for (int i = 1; ps_top_k_next(&list, &item) && (double)item.count > least; i++) {
    push_item(L, &item);
    lua_rawseti(L, -2, i);
  }
}

/***
The listed keys, at most k: `{ key =, count =, error = }` each, the largest count first, equal
counts in the order of their keys' bytes. The truth is from count - error to count, for certain
while `info().saturated` is false. Keys that were integers are strings here. O(k log k).
@function top_k:list
@treturn {table,...} new, plain
*/
static int top_k_list(lua_State *L)
{
  push_items(L, push_list(L, psl_self(L)), -1);
  return 1;
}

/* Upvalues of the iterator: the list, and what keeps it alive. */
static int next_item(lua_State *L)
{
  struct ps_reader *list = lua_touserdata(L, lua_upvalueindex(1));
  struct ps_top_k_item item;
  if (ps_top_k_next(list, &item)) {
    push_item(L, &item);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/***
Iterates over the list as it now is, whatever becomes of the sketch meanwhile: `for item in
top_k:each() do`. O(k log k), O(1) a step.
@function top_k:each
@treturn function iterator
@see top_k:list
*/
static int top_k_each(lua_State *L)
{
  const struct ps_top_k *top_k = psl_self(L);
  struct ps_reader *list = lua_newuserdata(L, sizeof *list);
  psl_check_open(L, &top_k->sketch);
  *list = push_list(L, top_k);
  lua_pushcclosure(L, next_item, 2);
  return 1;
}

/***
The keys that were counted more than a share `phi` of the total, as in @{top_k:list}: none is
missing for a `phi` of 10 epsilon or more, but with a probability of delta; those whose count less
its error is not above it may be there for that error alone. O(k log k).
@function top_k:heavy_hitters
@tparam number phi from 1 / k, below which there may be more such keys than are listed, to 1
@treturn {table,...} new, plain
*/
static int top_k_heavy_hitters(lua_State *L)
{
  const struct ps_top_k *top_k = psl_self(L);
  double phi = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : -1;
  if (!(phi >= 1.0 / top_k->k && phi <= 1)) {
    const char *got = psl_push_description(L, 2);
    luaL_argerror(L, 2,
                  lua_pushfstring(L, "phi expected, a number from 1/k, which is 1/%d, to 1, got %s",
                                  (int)top_k->k, got));
  }
  struct ps_reader list = push_list(L, top_k);
  push_items(L, list, phi * (double)top_k->total);
  return 1;
}

/***
Lets all counts age: what each key stands for, and the total, becomes half of itself, rounded down,
and the bounds of the listed counts hold for that. A key that then stands for nothing is no longer
listed. O(width * depth + k log k).
@function top_k:halve
@return the sketch itself
*/
static int top_k_halve(lua_State *L)
{
  ps_top_k_halve(psl_self_to_change(L));
  lua_settop(L, 1);
  return 1;
}

static const luaL_Reg methods[] = {
    {"add", top_k_add},
    {"add_many", psl_add_many},
    {"frequency", top_k_frequency},
    {"list", top_k_list},
    {"each", top_k_each},
    {"heavy_hitters", top_k_heavy_hitters},
    {"halve", top_k_halve},
    {NULL, NULL},
};

const struct psl_kind psl_top_k = {&ps_top_k, methods};
