/***
The binary fuse filter: built once of all its keys, then certainly not there, or probably there.
Graf and Lemire 2022, "Binary Fuse Filters: Fast and Smaller Than Xor Filters".
@classmod fuse
*/
#include "membership/fuse.h"

#include "binding/keys.h"
#include "binding/methods.h"

/***
A filter of these keys, which never changes. O(keys).
@function probsketch.fuse
@within Constructor
@tparam table options
@param options.keys all the keys, each once or several times: an array or an iterator function, of
at most 2^31 keys
@tparam[opt=1/256] number options.fp_rate false-positive rate: 1/256 or 1/65536
@param[opt=0] options.seed an integer from 0 to 2^53, "random" or a sketch, for the same seed as it
@tparam[opt] integer options.max_bytes the most bytes it may have, an integer from 1 to 2^53; unless
given, @{probsketch.max_bytes}
@return the filter
@raise when an option is out of range or unknown, or one is missing
*/

/***
Is the key there? O(1).
@function fuse:has
@tparam string|integer key
@treturn bool false: certainly not; true: yes, or with the probability `info().fp_rate` not
*/
static int fuse_has(lua_State *L)
{
  const struct ps_fuse *fuse = psl_self(L);
  lua_pushboolean(L, ps_fuse_has(fuse, psl_hash(L, 2, &fuse->sketch)));
  return 1;
}

/***
Asks for each key of an array in one call. Faster than as many calls of @{fuse:has}, far faster for
filters larger than the cache.
@function fuse:has_many
@tparam {string|integer,...} keys
@treturn {bool,...} the answers of @{fuse:has}, in the same order
*/

static const luaL_Reg methods[] = {
    {"has", fuse_has},
    {"has_many", psl_has_many},
    {NULL, NULL},
};

const struct psl_kind psl_fuse = {&ps_fuse, methods};
