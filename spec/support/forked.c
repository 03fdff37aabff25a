/* forked(n, f): forks n processes that all begin at once, each with f(i) for its i from 1 to n, and
 * waits for them. Returns how many f have returned. */
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Says when f has returned. Killed, it does not at its end what is for the one that was forked to
 * do: run finalisers, write out what waits to be written, look for leaks. */
__attribute__((noreturn)) static void run(lua_State *L, int i, int returned)
{
  lua_pushvalue(L, 2);
  lua_pushinteger(L, i);
  if (lua_pcall(L, 1, 0, 0) != 0) {
    fprintf(stderr, "process %d: %s\n", i, lua_tostring(L, -1));
  } else if (write(returned, "", 1) != 1) {
    perror("pipe");
  }
  for (;;) {
    kill(getpid(), SIGKILL);
  }
}

static int forked(lua_State *L)
{
  enum { MOST = 100 };
  const int n = (int)luaL_checkinteger(L, 1);
  pid_t children[MOST];
  int gate[2], returned[2], answer = 0;
  char byte;
  luaL_argcheck(L, n > 0 && n <= MOST, 1, "too many");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  if (pipe(gate) != 0 || pipe(returned) != 0) {
    return luaL_error(L, "no pipe");
  }
  fflush(NULL);
  for (int i = 0; i < n; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      close(gate[1]);
      while (read(gate[0], &byte, 1) > 0) { /* until the other end is closed */
      }
      run(L, i + 1, returned[1]);
    }
  }
  close(gate[1]);
  close(gate[0]);
  close(returned[1]);
  while (read(returned[0], &byte, 1) == 1) {
    answer++;
  }
  close(returned[0]);
  for (int i = 0; i < n; i++) {
    if (children[i] > 0) {
      waitpid(children[i], NULL, 0);
    }
  }
  lua_pushinteger(L, answer);
  return 1;
}

int luaopen_forked(lua_State *L);

__attribute__((visibility("default"))) int luaopen_forked(lua_State *L)
{
  lua_pushcfunction(L, forked);
  return 1;
}
