/* forked(n, f): forks n processes that all begin at once, each with f(i) for its i from 1 to n, and
 * waits for them. Returns how many f have returned. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends without what an interpreter does at its end: that is left to the one that was forked. */
__attribute__((noreturn)) static void run(lua_State *L, int i)
{
  lua_pushvalue(L, 2);
  lua_pushinteger(L, i);
  const int status = lua_pcall(L, 1, 0, 0);
  if (status != 0) {
    fprintf(stderr, "process %d: %s\n", i, lua_tostring(L, -1));
  }
  _exit(status == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int forked(lua_State *L)
{
  enum { MOST = 100 };
  const int n = (int)luaL_checkinteger(L, 1);
  pid_t children[MOST];
  int gate[2], returned = 0, status;
  char none;
  luaL_argcheck(L, n > 0 && n <= MOST, 1, "too many");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  if (pipe(gate) != 0) {
    return luaL_error(L, "no pipe");
  }
  fflush(NULL);
  for (int i = 0; i < n; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      close(gate[1]);
      if (read(gate[0], &none, 1) == 0) { /* until the other end is closed */
        run(L, i + 1);
      }
      _exit(EXIT_FAILURE);
    }
  }
  close(gate[1]);
  close(gate[0]);
  for (int i = 0; i < n; i++) {
    returned += children[i] > 0 && waitpid(children[i], &status, 0) == children[i] &&
                WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
  }
  lua_pushinteger(L, returned);
  return 1;
}

int luaopen_forked(lua_State *L);

__attribute__((visibility("default"))) int luaopen_forked(lua_State *L)
{
  lua_pushcfunction(L, forked);
  return 1;
}
