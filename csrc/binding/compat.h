/* One C API out of five Luas: the only place that asks which. Under 5.2 nothing but the API of
 * PUC 5.1 is used, so that one object serves Lua 5.1, LuaJIT and nginx. */
#ifndef PSL_COMPAT_H
#define PSL_COMPAT_H

#include <stdbool.h>
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* What 5.2 and LuaJIT call it. */
#ifndef LUA_GCISRUNNING
#define LUA_GCISRUNNING 9
#endif

/* luaL_setfuncs() of 5.2, with as many upvalues as are on the stack above the table. */
static inline void psl_set_functions(lua_State *L, const luaL_Reg *functions, int upvalues)
{
  for (; functions->name != NULL; functions++) {
    for (int i = 0; i < upvalues; i++) {
      lua_pushvalue(L, -upvalues);
    }
    lua_pushcclosure(L, functions->func, upvalues);
    lua_setfield(L, -upvalues - 2, functions->name);
  }
  lua_pop(L, upvalues);
}

/* Has the collector go on as after so many more kilobytes of allocations, unless it was stopped:
 * PUC 5.1 does not tell, and says -1. */
static inline void psl_collect(lua_State *L, int kilobytes)
{
  if (lua_gc(L, LUA_GCISRUNNING, 0) != 0) {
    lua_gc(L, LUA_GCSTEP, kilobytes);
  }
}

/* An integer where Lua has them, else a float; at most 2^53, so that both are exact. */
static inline void psl_push_integer(lua_State *L, uint64_t x)
{
#if LUA_VERSION_NUM >= 503
  lua_pushinteger(L, (lua_Integer)x);
#else
  lua_pushnumber(L, (lua_Number)x);
#endif
}

/* Pushes element i of the array at `index`, and returns its type. */
static inline int psl_raw_get(lua_State *L, int index, int i)
{
#if LUA_VERSION_NUM >= 503
  return lua_rawgeti(L, index, i);
#else
  lua_rawgeti(L, index, i);
  return lua_type(L, -1);
#endif
}

/* The value as a signed 64-bit number if its type is an integer subtype: Lua 5.3 and later. */
static inline bool psl_is_integer(lua_State *L, int index, int64_t *x)
{
#if LUA_VERSION_NUM >= 503
  if (!lua_isinteger(L, index)) {
    return false;
  }
  *x = (int64_t)lua_tointegerx(L, index, NULL);
  return true;
#else
  (void)L, (void)index, (void)x;
  return false;
#endif
}

/* The number at `index` as an integer; false if it is none. Floats are integers up to 2^53, all
 * that they are exact for. */
static inline bool psl_to_integer(lua_State *L, int index, int64_t *x)
{
  const int64_t exact = INT64_C(1) << 53;
#if LUA_VERSION_NUM >= 503
  int whole;
  *x = (int64_t)lua_tointegerx(L, index, &whole);
  return whole && ((*x >= -exact && *x <= exact) || lua_isinteger(L, index));
#else
  lua_Number number = lua_tonumber(L, index);
  if (!(number >= (lua_Number)-exact && number <= (lua_Number)exact)) {
    return false;
  }
  *x = (int64_t)number;
  return (lua_Number)*x == number;
#endif
}

#endif
