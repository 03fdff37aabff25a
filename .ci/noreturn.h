/* For clang-tidy: these do not come back, which Lua's own headers keep to themselves. */
#include <lua.h>

#include <lauxlib.h>

int lua_error(lua_State *L) __attribute__((noreturn));
int luaL_error(lua_State *L, const char *format, ...) __attribute__((noreturn));
int luaL_argerror(lua_State *L, int index, const char *message) __attribute__((noreturn));
