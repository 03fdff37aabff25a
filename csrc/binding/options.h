/* The options table of a constructor, read the same way for every kind. */
#ifndef PSL_OPTIONS_H
#define PSL_OPTIONS_H

#include "binding/key_set.h"
#include "binding/sketch.h"

/* Plans a sketch of `kind` from the options at `index`, a table or nothing; seed and limit
 * included. Raises an error that names the option and its range. For a kind that is built at once
 * it pushes the keys, arranged in their scratch, and returns them: to be freed. With `only_plan` a
 * number stands for as many keys, and what can be read but once is refused. */
struct psl_key_set *psl_plan(lua_State *L, int index, const struct ps_kind *kind,
                             struct ps_sketch *planned, bool only_plan);

/* ---- an options table at `index` that is gone through by lua_next(): a name, and its value on top
 * of the stack ---- */

/* The name, or raises. */
const char *psl_option_name(lua_State *L, int index);

/* Raise: what was expected of the option instead of its value; that there is no such option. */
void psl_bad_option(lua_State *L, int index, const char *name, const char *range);
int psl_unknown_option(lua_State *L, int index, const char *name);

/* ---- kinds and seeds ---- */

/* The kind whose name is at `index`, or raises. */
const struct ps_kind *psl_check_kind(lua_State *L, int index);

/* The same, or NULL for any if there is none. */
const struct ps_kind *psl_optional_kind(lua_State *L, int index);

/* The seed at `index`: an integer from 0 to 2^53, "random", or a sketch for the same one; sets
 * PS_SEED_SECRET in *flags when nobody may see it. False when it is none of these. */
bool psl_seed(lua_State *L, int index, uint64_t *seed, uint32_t *flags);

#define PSL_SEED_RANGE "an integer from 0 to 2^53, \"random\" or a sketch"

#endif
