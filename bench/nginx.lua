-- What a check in the access phase of nginx costs: processor time of the worker. bench/README.md says how to read it.

local harness = require "bench.harness"
local files = require "spec.support.files"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local KEYS = 1000000
local WINDOW = 1000 -- requests, at least; the figure is that of the fastest window of all rounds
local ROUNDS = 15
local CONNECTIONS = 32

-- In the order of the table: what it is called, and what the access phase does with a request. Who is found in the list
-- gets a 204: no error to wrk. A function is compiled by LuaJIT, a block in the configuration is not.
local VARIANTS = {
  { "no access phase" },
  { "an empty handler", "" },
  { "an empty function", "", "" },
  { "reading the key", "", "return ngx.var.arg_key" },
  { "bloom:has, opened", "", "if opened:has(ngx.var.arg_key) then return ngx.exit(204) end" },
  { "bloom:has, shared", "", "if shared:has(ngx.var.arg_key) then return ngx.exit(204) end" },
  { "lua_shared_dict, get", "", "if dict:get(ngx.var.arg_key) then return ngx.exit(204) end" },
  { "hyperloglog:add and count_min:add, shared", "",
    "local key = ngx.var.arg_key visitors:add(key) requests:add(key)" },
  { "bloom:has, opened; not in a function", "if opened:has(ngx.var.arg_key) then return ngx.exit(204) end" },
}
local EMPTY, DICT = 2, 7

local HTTP = [[
  lua_shared_dict dict 256m;
  init_by_lua_block {
    local ps = require "probsketch"
    local list = ps.bloom { capacity = @keys@, fp_rate = 0.001 }
    local dict = ngx.shared.dict
    for i = 1, @keys@ do
      local key = ("listed%d"):format(i)
      list:add(key)
      assert(dict:safe_set(key, true))
    end
    assert(list:save "@directory@/list")
    opened = assert(ps.open "@directory@/list")
    local ngx, opened = ngx, opened
    local shared = assert(ps.share("list", list))
    local visitors = assert(ps.share("visitors", ps.hll()))
    local requests = assert(ps.share("requests", ps.count_min()))
    handlers = { @handlers@ }
  }

  # Of windows of requests, the least time that the worker had the processor for each of one.
  init_worker_by_lua_block {
    local ffi = require "ffi"
    ffi.cdef "extern unsigned long *ngx_stat_requests;"
    local least, requests, time
    local function begin()
      requests, time = tonumber(ffi.C.ngx_stat_requests[0]), os.clock()
    end
    ngx.timer.every(0.02, function()
      local n = tonumber(ffi.C.ngx_stat_requests[0]) - requests
      if n >= @window@ then
        least = math.min(least, (os.clock() - time) / n)
        begin()
      end
    end)
    function restart()
      local before = least
      least = math.huge
      begin()
      return before
    end
    restart()
  }
]]

-- A free port is one that nginx can have.
local function start()
  local handlers, locations = {}, {}
  for i, variant in ipairs(VARIANTS) do
    local block, body = variant[2], variant[3]
    handlers[i] = ("function() %s end"):format(body or "")
    locations[i] = ("location = /%d { %s empty_gif; }"):format(i,
      block and ("access_by_lua_block { %s }"):format(body and ("handlers[%d]()"):format(i) or block) or "")
  end
  for port = 18080, 18180 do
    local ok, server = pcall(nginx.start, {
      http = HTTP, keys = KEYS, window = WINDOW, handlers = table.concat(handlers, ", "),
      server = ("listen 127.0.0.1:%d; %s location = /least { content_by_lua_block { ngx.print(restart()) } }"):format(
        port, table.concat(locations, "\n")),
    })
    if ok then
      return server, port
    elseif not tostring(server):find("Address already in use", 1, true) then
      error(server, 0)
    end
  end
  error "no free port"
end

-- Keys that are in no list, and other ones each time.
local SCRIPT = [[
local format, random = string.format, math.random
function init() math.randomseed(os.time()) end
function request()
  return format("GET %s?key=absent%09d HTTP/1.1\r\nHost: localhost\r\n\r\n", wrk.path, random(999999999))
end
]]

-- Microseconds of the worker for a request, as wrk sends them for a second.
local function measure(server, url, script)
  server:get "/least"
  local output, status = process.shell(process.command("wrk", "-t1", "-c" .. CONNECTIONS, "-d1s", "-s", script, url))
  local least = tonumber((server:get "/least"))
  if status ~= 0 or output:find "Non%-2xx" or output:find "Socket errors" or not least then
    error(output, 0)
  end
  return least * 1e6
end

local function least_of(server, port)
  local script, best = server.directory .. "/keys.lua", {}
  files.write(script, SCRIPT)
  for round = 0, ROUNDS do -- the first is for the compiler
    for i = 1, #VARIANTS do
      local least = measure(server, ("http://127.0.0.1:%d/%d"):format(port, i), script)
      best[i] = round > 0 and math.min(best[i] or least, least) or nil
    end
  end
  return best
end

if nginx.missing then
  error(nginx.missing, 0)
end
local server, port = start()
-- Where it may, it goes before what else there is to do, which would take its place in the caches.
process.shell("renice -n -15 -p " .. server:workers()[1])
local ok, best = pcall(least_of, server, port)
server:stop()
assert(ok, best)

print(("\nnginx, access phase, %s: %d keys%18s"):format(harness.interpreter, KEYS, "µs a request"))
print(("  %-44s%8s%8s%8s"):format("", "", "more", "of dict"))
for i, variant in ipairs(VARIANTS) do
  local more = best[i] - best[EMPTY]
  print(("  %-44s%8.2f%+8.2f%8.2f"):format(variant[1], best[i], more, more / (best[DICT] - best[EMPTY])))
end
