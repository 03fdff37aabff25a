/* The Lua module when memory runs out: whichever allocation fails, the call raises "not enough
 * memory" and has changed nothing, and neither memory nor mappings nor files are left behind. Needs
 * the binding and a Lua library to link with. */
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "test_directory.h"

int luaopen_probsketch_core(lua_State *L);

/* ---- the allocator ---- */

static struct {
  size_t live;
  unsigned long calls;   /* for more memory, since they were last counted */
  unsigned long fail_at; /* 0: none fails */
  bool keep_failing;     /* those after it too: Lua from 5.2 on collects and tries again */
} heap;

static bool heap_fails(void)
{
  unsigned long call = ++heap.calls;
  return heap.fail_at > 0 && (call == heap.fail_at || (heap.keep_failing && call > heap.fail_at));
}

/* Blocks lie at any multiple of 8, and nothing is behind them: so now and then a payload, which
 * lies at a multiple of 64 in its block, ends where the block does, and what is written behind it
 * is seen. The word before a block says how far it is from the beginning of its memory. */
static void *heap_place(size_t size)
{
  static uint64_t chance;
  const size_t before = 8 * (test_random(&chance) % 8 + 1);
  unsigned char *block = (unsigned char *)test_allocate(before + size) + before;
  memcpy(block - sizeof before, &before, sizeof before);
  return block;
}

static void heap_free(void *block)
{
  size_t before;
  if (block != NULL) {
    memcpy(&before, (unsigned char *)block - sizeof before, sizeof before);
    free((unsigned char *)block - before);
  }
}

/* Always moves, and to memory that ends where it should, so that a sanitizer sees what holds on to
 * the old place, or writes behind the new one. */
static void *heap_resize(void *context, void *block, size_t old_size, size_t new_size)
{
  (void)context;
  old_size = block == NULL ? 0 : old_size;
  if (new_size > old_size && heap_fails()) {
    return NULL;
  }
  void *moved = new_size > 0 ? heap_place(new_size) : NULL;
  if (moved != NULL && block != NULL) {
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
  }
  heap_free(block);
  heap.live += new_size - old_size;
  return moved;
}

static void heap_arm(unsigned long fail_at, bool keep_failing)
{
  heap.calls = 0;
  heap.fail_at = fail_at;
  heap.keep_failing = keep_failing;
}

/* ---- what a process must not lose ---- */

static size_t entries_in(const char *path)
{
  size_t n = 0;
  DIR *listing = opendir(path);
  while (listing != NULL && readdir(listing) != NULL) {
    n++;
  }
  if (listing != NULL) {
    closedir(listing);
  }
  return n;
}

/* Mappings as large as the payload of the large filter below; a few in a row look like one. */
#define LARGE_PAYLOAD 5990664u
#define IN_A_ROW 4

static size_t large_mappings(void)
{
  const unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
  const unsigned long size = (LARGE_PAYLOAD + page - 1) / page * page;
  char line[512], *dash;
  size_t n = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long start = strtoul(line, &dash, 16), end = strtoul(dash + 1, NULL, 16);
    unsigned long times = (end - start) / size;
    n += times <= IN_A_ROW && end - start == times * size ? times : 0;
  }
  if (maps != NULL) {
    fclose(maps);
  }
  return n;
}

struct belongings {
  size_t live, descriptors, mappings;
};

static struct belongings take_stock(void)
{
  return (struct belongings){heap.live, entries_in("/proc/self/fd"), large_mappings()};
}

/* ---- the scripts ---- */

/* Functions that exist before: LuaJIT loses count of one whose upvalues find no memory. Sketches
 * that exist before; `edge` has to grow for one key more, `brink` to become dense. */
static const char setup[] =
    "keys = {}\n"
    "for i = 1, 1000 do keys[i] = 'key' .. i end\n"
    "values = {}\n"
    "for i = 1, 200 do values[i] = i end\n"
    "some = { 'p', 'q', 'r', 4, 5 }\n"
    "sketches = {}\n"
    "local function new(kind, options, n, first)\n"
    "  local s = ps[kind](options)\n"
    "  for i = first or 1, (first or 1) + n - 1 do s:add(i) end\n"
    "  sketches[#sketches + 1] = s\n"
    "  return s\n"
    "end\n"
    "b, b2, b3 = new('bloom', { capacity = 500 }, 20), new('bloom', { capacity = 500 }, 30, 100),\n"
    "  new('bloom', { capacity = 500 }, 9, 300)\n"
    "c, c2, c3 = new('count_min', { width = 30, depth = 3 }, 20),\n"
    "  new('count_min', { width = 30, depth = 3 }, 30, 90),\n"
    "  new('count_min', { width = 30, depth = 3 }, 4)\n"
    "h, h2, h3 = new('hyperloglog', { precision = 10 }, 30),\n"
    "  new('hyperloglog', { precision = 10 }, 60, 100),\n"
    "  new('hyperloglog', { precision = 10 }, 900, 300)\n"
    "edge = new('hyperloglog', { precision = 10 }, 12)\n"
    "brink = new('hyperloglog', { precision = 4 }, 12)\n"
    "t, t2 = new('top_k', { k = 9, width = 20, depth = 2 }, 40),\n"
    "  new('top_k', { k = 9, width = 20, depth = 2 }, 7)\n"
    "m, m2 = new('minhash', { hashes = 20 }, 40), new('minhash', { hashes = 20 }, 40, 20)\n"
    "d, d2 = new('tdigest', {}, 16), new('tdigest', { compression = 100 }, 1030)\n"
    "text = ('some words '):rep(300)\n"
    "f = ps.fuse { keys = keys, seed = 5 }\n"
    "function numbers(n)\n"
    "  local i = 0\n"
    "  return function() i = i + 1; return i <= n and i or nil end\n"
    "end\n"
    "few, many = numbers(3000), numbers(1e9)\n"
    "paths = { b = directory .. '/b', h = directory .. '/h', h3 = directory .. '/h3',\n"
    "  large = directory .. '/large' }\n"
    "live = directory .. '/live'\n"
    "assert(ps.share(live, ps.ddsketch { min_value = 1, max_value = 2 }:add(1.5))):close()\n"
    "for name, path in pairs(paths) do\n"
    "  if not exists(path) then\n"
    "    assert((_G[name] or ps.bloom { capacity = 5e6 }):save(path))\n"
    "  end\n"
    "end\n"
    "bytes = { b = b:encode(), c = c:encode(), h = h:encode(), h3 = h3:encode(),\n"
    "  live = read(live) }\n"
    "bytes.cut = bytes.h:sub(1, -2)\n"
    "function snapshot()\n"
    "  local all = {}\n"
    "  for i, s in ipairs(sketches) do all[i] = s:encode() end\n"
    "  all[#all + 1] = tostring(large) .. f:encode()\n"
    "  return table.concat(all)\n"
    "end\n"
    "function go_on()\n"
    "  assert(f:has('key77') and ps.decode(f:encode()) == f and ps.fuse { keys = keys, seed = 5 } "
    "== f)\n"
    "  for i, s in ipairs(sketches) do\n"
    "    s:add_many(s.quantile and values or keys)\n"
    "    assert(ps.decode(s:encode()) == s and s:copy() == s and #s:union(s) > 0)\n"
    "    if s.has then assert(s:has('key77')) end\n"
    "    s:clear()\n"
    "    assert(#s == 0)\n"
    "    s:close()\n"
    "  end\n"
    "end\n";

/* One with pages of its own, for those scripts that want it: it takes time. */
static const char setup_large[] = "large = ps.bloom { capacity = 5e6 }\n"
                                  "large:add('x')\n";

struct script {
  const char *code;
  bool changes; /* when it succeeds */
};

static const struct script scripts[] = {
    {"return ps.bloom { capacity = 1000 }", false},
    {"return ps.bloom { bits = 70, hashes = 3, seed = 'random' }", false},
    {"return ps.bloom { capacity = 5e6, seed = b }", false},
    {"return ps.count_min { conservative = true }", false},
    {"return ps.hyperloglog(), ps.hyperloglog { error_rate = 0.1 }", false},
    {"return ps.fuse { keys = keys }, ps.fuse { keys = {}, fp_rate = 1 / 65536 }", false},
    {"return ps.fuse { keys = few, seed = f }", false},
    {"return ps.plan('fuse', { keys = keys }), ps.plan('fuse', { keys = 10 })", false},
    {"return f:has('new'), f:has_many(keys), f:copy(), f:info(), ps.decode(f:encode())", false},
    {"pcall(ps.fuse, { keys = { 'a', {} } }); pcall(ps.fuse, { keys = many, max_bytes = 50 })",
     false},
    {"return ps.plan('count_min', { epsilon = 0.1 }), ps.hash(12, 3), ps.kind(b)", false},
    {"b:add('new')", true},
    {"b:add(123456789)", true},
    {"b:add_many(keys)", true},
    {"b:add_many(some)", true},
    {"return b:has_many(keys)", false},
    {"c:add('new', 7)", true},
    {"c:add_many(keys)", true},
    {"return c:frequency(3), c:error_bound(), c:inner_product(c2)", false},
    {"c:halve()", true},
    {"c:decay(0.9)", true},
    {"h:add('new')", true},
    {"edge:add('new')", true},
    {"brink:add('new')", true},
    {"h:add_many(some)", true},
    {"h:add_many(keys)", true},
    {"edge:add_many(some)", true},
    {"brink:add_many(keys)", true},
    {"t:add(('x'):rep(50), 5)", true},
    {"t:add(3)", true},
    {"t2:add('new')", true},
    {"t:add_many(keys)", true},
    {"t2:add_many(some)", true},
    {"t:halve()", true},
    {"t:merge(t2)", true},
    {"t2:merge(t, t2)", true},
    {"return t:list(), t:heavy_hitters(0.2), t:frequency(7), t:union(t2), ps.decode(t:encode())",
     false},
    {"for item in t:each() do assert(item.count > 0) end", false},
    {"d:add(1)", true},
    {"d:add_many(values)", true},
    {"d:merge(d2)", true},
    {"return d:quantiles{ 0.5, 0.9 }, d:centroids(), d2:centroids(), d:trimmed_mean(0.1, 0.9)",
     false},
    {"return d:union(d2), ps.decode(d:encode()), ps.decode(d2:encode()), d:info(), ps.tdigest()",
     false},
    {"m:add('new'); m:add_many(keys); m:add_many(some)", true},
    {"m:add_shingles(text, 3)", true},
    {"m:add_shingles(text, 3, 'byte')", true},
    {"return m:jaccard(m2), m:union(m2), ps.decode(m:encode()), m:info(), ps.minhash()", false},
    {"local s = ps.lsh.signature(m, m2); return ps.lsh.band_keys(s, 5, 4), ps.lsh.agreement(s, s)",
     false},
    {"return ps.lsh.key(17), ps.lsh.key({}), ps.lsh.signature(m, b), ps.lsh.before('a', 'b')",
     false},
    {"pcall(m.add_shingles, m, text, 0); pcall(m.add_shingles, m, text, 2, 'line')", false},
    {"b:merge(b2)", true},
    {"b:merge(b2, b3)", true},
    {"c:merge(c2, c3)", true},
    {"h:merge(h2)", true},
    {"h:merge(h2, edge, h3)", true},
    {"h3:merge(h, h2)", true},
    {"return b:union(b2, b3), c:union(c2), h:union(h2), h:union(h2, h3), h3:union(h)", false},
    {"return ps.union(large, large)", false},
    {"return b:copy(), c:copy(), h:copy(), h3:copy(), large:copy()", false},
    {"return b:compatible(b2), b:compatible(c), h:compatible(brink)", false},
    {"return b:jaccard(b2), h == h2, #h, b == b2", false},
    {"return b:encode(), c:encode(), h:encode(), h3:encode()", false},
    {"for piece in b:chunks(100) do assert(#piece <= 100) end", false},
    {"for piece in h:chunks(50) do assert(#piece <= 50) end", false},
    {"for piece in large:chunks(1e6) do assert(#piece <= 1e6) end", false},
    {"return assert(ps.decode(bytes.b)), assert(ps.decode(bytes.c, 'count_min'))", false},
    {"return assert(ps.decode(bytes.h)), assert(ps.decode(bytes.h3))", false},
    {"local s, message, code = ps.decode(bytes.cut); assert(not s and code == 'truncated')", false},
    {"local s, message, code = ps.decode(bytes.b, 'hll'); assert(not s and code == 'kind')", false},
    {"return assert(ps.load(paths.b)), assert(ps.load(paths.h)), assert(ps.load(paths.h3))", false},
    {"return assert(ps.load(paths.large, 'bloom'))", false},
    {"for i = 1, 9 do assert(ps.load(live)) end\n"
     "return assert(ps.open(live)), assert(ps.decode(bytes.live))",
     false},
    {"local s, message, code = ps.load(directory); assert(not s and code == 'io')", false},
    {"local s, message, code = ps.load(paths.b, 'hll'); assert(not s and code == 'kind')", false},
    {"return assert(ps.open(paths.b)), assert(ps.open(paths.h)), assert(ps.open(paths.h3))", false},
    {"local s = assert(ps.open(paths.large, { verify = false, kind = 'bloom', populate = true }))\n"
     "s:close(); return tostring(s)",
     false},
    {"local s = assert(ps.open(paths.b)); return s:copy(), s:union(b2), s:info(), #s, s == b,\n"
     "s:has_many(keys), s:encode(), pcall(s.add, s, 'new'), pcall(s.merge, s, b2)",
     false},
    {"local s, message, code = ps.open(directory); assert(not s and code == 'io')", false},
    {"pcall(ps.open, paths.b, { what = 1 }); pcall(ps.open, paths.b, { kind = 'x' })", false},
    {"b:merge(assert(ps.open(paths.b, { verify = false })))", true},
    {"for _, name in ipairs { 'b', 'c', 'h', 'h3' } do\n"
     "  local d = ps.decoder()\n"
     "  for i = 1, #bytes[name], 50 do assert(d:feed(bytes[name]:sub(i, i + 49))) end\n"
     "  assert(d:finish() and tostring(d))\n"
     "end",
     false},
    {"for i = 1, 9 do\n"
     "  local d = ps.decoder()\n"
     "  assert(d:feed(bytes.live) and d:finish():max() == 1.5)\n"
     "end",
     false},
    {"local d = ps.decoder('bloom')\n"
     "for piece in large:chunks(1e6) do assert(d:feed(piece)) end\n"
     "assert(d:finish() == large)",
     false},
    {"local d = ps.decoder(); d:feed(bytes.cut); assert(not d:finish()); pcall(d.feed, d, 'x')\n"
     "d = ps.decoder(); assert(not d:feed(bytes.b .. 'x')); d:close(); pcall(d.finish, d)",
     false},
    {"assert(b:save(paths.b)); assert(h:save(paths.h))", false},
    {"assert(not b:save(directory .. '/none/b'))", false},
    {"return b:info(), c:info(), h:info(), h3:info(), large:info()", false},
    {"return tostring(b), tostring(c), tostring(h), tostring(h3)", false},
    {"local s = h:copy(); s:close(); s:close(); return tostring(s)", false},
    {"local s = large:copy(); s:close(); s:close(); return tostring(s)", false},
    {"pcall(b.merge, b, c); pcall(b.add, b, {}); pcall(b.add_many, b, { 'a', {} })", false},
    {"pcall(ps.bloom, { capacity = 0 }); pcall(ps.bloom, { what = 1 }); pcall(b.union)", false},
    {"pcall(ps.bloom, { capacity = 1e15 }); pcall(h.merge, h, h2, brink)", false},
};

/* ---- running them ---- */

static int exists(lua_State *L)
{
  lua_pushboolean(L, access(lua_tostring(L, 1), F_OK) == 0);
  return 1;
}

/* All of a file of at most this size. */
#define FILE_MAX 16384

static int read_file(lua_State *L)
{
  static char bytes[FILE_MAX];
  FILE *file = fopen(lua_tostring(L, 1), "rb");
  lua_pushlstring(L, bytes, file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0);
  if (file != NULL) {
    fclose(file);
  }
  return 1;
}

static int load_module(lua_State *L)
{
  lua_pushcfunction(L, luaopen_probsketch_core);
  lua_call(L, 0, 1);
  lua_setglobal(L, "ps");
  return 0;
}

static void open_library(lua_State *L, lua_CFunction open, const char *name)
{
  lua_pushcfunction(L, open);
  lua_pushstring(L, name);
  lua_call(L, 1, 0);
}

/* A state with the libraries; from 5.2 on they are to be put into globals by hand. */
static int open_libraries(lua_State *L)
{
#if LUA_VERSION_NUM >= 502
  luaL_requiref(L, "_G", luaopen_base, 1);
  luaL_requiref(L, "string", luaopen_string, 1);
  luaL_requiref(L, "table", luaopen_table, 1);
  (void)open_library;
#else
  open_library(L, luaopen_base, "");
  open_library(L, luaopen_string, "string");
  open_library(L, luaopen_table, "table");
#endif
  lua_settop(L, 0);
  lua_pushcfunction(L, exists);
  lua_setglobal(L, "exists");
  lua_pushcfunction(L, read_file);
  lua_setglobal(L, "read");
  lua_pushstring(L, directory);
  lua_setglobal(L, "directory");
  return 0;
}

/* Runs what is on the stack; with an error, which must not be one, says so. */
static bool run(lua_State *L, int results)
{
  bool done = lua_pcall(L, 0, results, 0) == 0;
  CHECK_WITH(done, "%s", lua_tostring(L, -1));
  return done;
}

static bool run_function(lua_State *L, lua_CFunction function)
{
  lua_pushcfunction(L, function);
  return run(L, 0);
}

static bool run_code(lua_State *L, const char *code)
{
  CHECK_WITH(luaL_loadstring(L, code) == 0, "%s", lua_tostring(L, -1));
  return run(L, 0);
}

/* Leaves the bytes of all sketches on the stack. */
static const char *snapshot(lua_State *L)
{
  lua_getglobal(L, "snapshot");
  return run(L, 1) ? lua_tostring(L, -1) : NULL;
}

/* Is the error on top the one for want of memory? */
static bool is_memory_error(lua_State *L)
{
  const char *message = lua_tostring(L, -1);
  return message != NULL && strstr(message, "not enough memory") != NULL;
}

/* Runs the script on the stack with its i-th allocation failing; false if there are fewer. *done:
 * it came to its end. */
static bool run_failing(lua_State *L, unsigned long i, bool keep_failing, bool *done)
{
  heap_arm(i, keep_failing);
  *done = lua_pcall(L, 0, 0, 0) == 0;
  bool failed = heap.calls >= i;
  heap_arm(0, false);
  CHECK_WITH(*done || (failed && is_memory_error(L)), "%s", lua_tostring(L, -1));
  lua_pop(L, *done ? 0 : 1);
  return failed;
}

/* A script in a state that is set up. */
static bool check_script_in(lua_State *L, const struct script *script, unsigned long i,
                            bool keep_failing)
{
  bool done;
  size_t files = entries_in(directory);
  if (snapshot(L) == NULL || luaL_loadstring(L, script->code) != 0) {
    CHECK_WITH(false, "%s", lua_tostring(L, -1));
    return false;
  }
  bool failed = run_failing(L, i, keep_failing, &done);
  if (!(done && script->changes) && snapshot(L) != NULL) {
    CHECK_WITH(lua_rawequal(L, -1, -2) == 1, "the bytes have changed");
  }
  CHECK_WITH(entries_in(directory) == files, "a temporary file is left");
  lua_settop(L, 0);
  run_code(L, "go_on()");
  return failed;
}

static bool check_script(const struct script *script, unsigned long i, bool keep_failing)
{
  const struct belongings before = take_stock();
  test_about("%s, allocation %lu", script->code, i);
  lua_State *L = lua_newstate(heap_resize, NULL);
  run_function(L, open_libraries);
  run_function(L, load_module);
  bool wants_large = strstr(script->code, "large") != NULL;
  bool ready = run_code(L, setup) && (!wants_large || run_code(L, setup_large));
  bool failed = ready && check_script_in(L, script, i, keep_failing);
  lua_close(L);
  const struct belongings after = take_stock();
  CHECK_WITH(after.live == before.live, "%zu bytes leaked", after.live - before.live);
  CHECK_WITH(after.descriptors == before.descriptors, "a descriptor leaked");
  CHECK_WITH(after.mappings == before.mappings, "a mapping leaked");
  return failed;
}

/* A state, and the module in it, with the i-th allocation failing. */
static bool check_loading(unsigned long i, bool keep_failing)
{
  const struct belongings before = take_stock();
  bool done;
  test_about("loading the module, allocation %lu", i);
  lua_State *L = lua_newstate(heap_resize, NULL);
  run_function(L, open_libraries);
  lua_pushcfunction(L, load_module);
  bool failed = run_failing(L, i, keep_failing, &done);
  run_function(L, load_module);
  run_code(L, setup);
  run_code(L, "go_on()");
  lua_close(L);
  CHECK(take_stock().live == before.live);
  return failed;
}

static void check_all(bool keep_failing)
{
  for (size_t n = 0; n < sizeof scripts / sizeof *scripts; n++) {
    for (unsigned long i = 1; check_script(&scripts[n], i, keep_failing); i++) {
    }
  }
}

int main(void)
{
  make_directory("/tmp");
  for (unsigned long i = 1; check_loading(i, true); i++) {
  }
  for (unsigned long i = 1; check_loading(i, false); i++) {
  }
  promise("the module loads completely or not at all, and then again");
  check_all(true);
  promise("without memory a call raises, changes nothing and leaves nothing behind");
  check_all(false);
  promise("an allocation that fails once, and works after a collection, does no harm");
  return test_end();
}
