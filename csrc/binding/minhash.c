/***
MinHash: how alike are two sets, by their Jaccard similarity |A and B| / |A or B| (Broder 1997, "On
the resemblance and containment of documents").
@classmod minhash
*/
#include "similarity/minhash.h"

#include <string.h>

#include "binding/keys.h"
#include "binding/methods.h"
#include "similarity/shingles.h"

/***
An empty signature.
@function probsketch.minhash
@within Constructor
@tparam[opt] table options
@tparam[opt=128] integer options.hashes hash functions, an integer from 1 to 65536, at 8 bytes each:
the standard error of @{minhash:jaccard} is at most 0.5 / sqrt(hashes)
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the sketch
@raise when an option is out of range or unknown
*/

/***
Adds a token. O(hashes).
@function minhash:add
@tparam string|integer token
@treturn bool true: a minimum changed, so the token was certainly not there before
*/
static int minhash_add(lua_State *L)
{
  struct ps_minhash *minhash = psl_self_to_change(L);
  lua_pushboolean(L, ps_minhash_add(minhash, psl_hash(L, 2, &minhash->sketch)));
  return 1;
}

/***
Adds each token of an array, in order, in one call. Two to four times faster than as many calls of
@{minhash:add}.
@function minhash:add_many
@tparam {string|integer,...} tokens all checked before the first is added
@treturn integer how many changed a minimum
*/

static enum ps_shingle_unit check_unit(lua_State *L, int index)
{
  if (lua_isnoneornil(L, index)) {
    return PS_SHINGLE_WORD;
  }
  const char *unit = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : "";
  if (strcmp(unit, "word") != 0 && strcmp(unit, "byte") != 0) {
    const char *got = lua_type(L, index) == LUA_TSTRING ? lua_pushfstring(L, "\"%s\"", unit)
                                                        : psl_push_description(L, index);
    luaL_argerror(L, index, lua_pushfstring(L, "unit expected, \"word\" or \"byte\", got %s", got));
  }
  return unit[0] == 'w' ? PS_SHINGLE_WORD : PS_SHINGLE_BYTE;
}

/***
Adds the shingles of a text: each run of `n` words, or bytes, that it has. Words are runs of bytes
that are not ASCII white space; a shingle is the token of its words with one space between two, so
that texts are as alike as their words whatever the lines are broken like. A text of fewer than `n`
words is one shingle, one without any has none. Nothing is made of case, punctuation or characters:
what shall not count is taken away before. O(length + shingles * (n + hashes)).
@function minhash:add_shingles
@tparam string text
@tparam integer n length of the shingles, 1 to 1000
@tparam[opt="word"] string unit what `n` counts, "word" or "byte"
@treturn integer how many shingles there are, repeated ones too
*/
static int minhash_add_shingles(lua_State *L)
{
  struct ps_minhash *minhash = psl_self_to_change(L);
  size_t length;
  if (lua_type(L, 2) != LUA_TSTRING) {
    const char *got = psl_push_description(L, 2);
    luaL_argerror(L, 2, lua_pushfstring(L, "text expected, a string, got %s", got));
  }
  const char *text = lua_tolstring(L, 2, &length);
  double n = lua_type(L, 3) == LUA_TNUMBER ? psl_number(L, 3) : 0;
  if (!(n >= 1 && n <= PS_SHINGLE_MAX) || n != (unsigned)n) {
    const char *got = psl_push_description(L, 3);
    luaL_argerror(L, 3,
                  lua_pushfstring(L, "length expected, an integer from 1 to %d, got %s",
                                  PS_SHINGLE_MAX, got));
  }
  enum ps_shingle_unit unit = check_unit(L, 4);
  unsigned char *scratch = unit == PS_SHINGLE_WORD ? psl_push_scratch(L, length) : NULL;
  psl_check_open(L, &minhash->sketch);
  psl_push_integer(L, ps_minhash_add_shingles(minhash, (const unsigned char *)text, length,
                                              (unsigned)n, unit, scratch));
  return 1;
}

/***
How alike are the sets of tokens of two sketches? The share of minima that are equal. O(hashes).
@function minhash:jaccard
@param other a compatible sketch
@treturn number estimate of |A and B| / |A or B|, from 0 to 1; 1 when both are empty, 0 when one is
@treturn number its standard error, sqrt(J (1 - J) / hashes): too small where the estimate is 0 or 1
@raise when the sketches do not fit together, naming the field
*/
static int minhash_jaccard(lua_State *L)
{
  struct ps_error error;
  const struct ps_minhash *a = psl_self(L), *b = psl_check_same(L, 2);
  if (ps_compatible(&a->sketch, &b->sketch, &error) != PS_OK) {
    return psl_raise(L, 2, &error);
  }
  a = psl_still(L, 1);
  b = psl_still(L, 2);
  psl_check_open(L, &a->sketch);
  psl_check_open(L, &b->sketch);
  double standard_error, jaccard = ps_minhash_jaccard(a, b, &standard_error);
  lua_pushnumber(L, jaccard);
  lua_pushnumber(L, standard_error);
  return 2;
}

static const luaL_Reg methods[] = {
    {"add", minhash_add},
    {"add_many", psl_add_many},
    {"add_shingles", minhash_add_shingles},
    {"jaccard", minhash_jaccard},
    {NULL, NULL},
};

const struct psl_kind psl_minhash = {&ps_minhash, methods};
