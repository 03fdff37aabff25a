/* Methods that compiled Lua code may call by their addresses, without Lua's stack: what
 * lua/probsketch/jit.lua puts before those of methods.h. */
#ifndef PSL_FAST_H
#define PSL_FAST_H

#include "binding/compat.h"

/* Returns an array of them: { metatable =, name =, shape =, address = } each. */
int psl_fast_methods(lua_State *L);

#endif
