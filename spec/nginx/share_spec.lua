-- Workers of a real nginx that share sketches, under load: nothing is lost, whatever becomes of the workers.

local ps = require "probsketch"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"

local it = nginx.it(it, pending)

local CLIENTS, EACH = 8, 250 -- enough for a hyperloglog to be dense in private, too

-- Each sketch as a region and as a file; what a request adds is its key, and the answer is the worker. It takes its
-- time, so that there are always requests half done.
local HTTP = [[
  lua_shared_dict dict 100k;
  init_by_lua_block {
    local ps = require "probsketch"
    shared = {}
    for _, place in ipairs { "", "@directory@/" } do
      shared[place .. "requests"] = assert(ps.share(place .. "requests", ps.count_min { epsilon = 0.001 }))
      shared[place .. "visitors"] = assert(ps.share(place .. "visitors", ps.hll { precision = 12 }))
      shared[place .. "seen"] = assert(ps.share(place .. "seen", ps.bloom { capacity = 1e5 }))
    end
  }
]]
local SERVER = [[
  location / {
    access_by_lua_block {
      for _, sketch in pairs(shared) do
        sketch:add(ngx.var.arg_key)
      end
    }
    content_by_lua_block {
      ngx.sleep(ngx.var.arg_ms / 1000)
      ngx.print(ngx.worker.pid())
    }
  }
  location = /state {
    content_by_lua_block { ngx.print(shared[ngx.var.arg_of]:encode()) }
  }
  location = /dict {
    content_by_lua_block {
      if ngx.var.arg_value then
        ngx.shared.dict:set("key", ngx.var.arg_value)
      end
      ngx.print(ngx.shared.dict:get "key")
    }
  }
  location = /late {
    content_by_lua_block {
      local ps = require "probsketch"
      late = late or assert(ps.share(ngx.var.arg_name, ps.count_min { epsilon = 0.01 }))
      late:add "a request"
      ngx.print(late:count())
    }
  }
]]

local server

local function start(user)
  server = nginx.start { workers = 4, user = user, http = HTTP, server = SERVER }
end

after_each(function()
  if server then
    server:stop()
    server = nil
  end
end)

-- Keys that no other load has, and that many of them, each in a request that takes so long.
local loads = 0
local function load(ms)
  loads = loads + 1
  local name = "load" .. loads
  local clients = server:load(CLIENTS, ("/?ms=%d&key=%s-%%d-[1-%d]"):format(ms or 2, name, EACH))
  return clients, function(call)
    for client = 1, CLIENTS do
      for i = 1, EACH do
        call(("%s-%d-%d"):format(name, client, i))
      end
    end
  end
end

-- The sketches as they are now, of regions or files.
local function state(place)
  local sketches = {}
  for _, name in ipairs { "requests", "visitors", "seen" } do
    sketches[name] = assert(ps.decode((server:get("/state?of=" .. place .. name))))
  end
  return sketches
end

local function places()
  return ipairs { "", server.directory .. "/" }
end

-- What one process would have that gets each key once.
local function alone(each)
  local sketches = {
    requests = ps.count_min { epsilon = 0.001 },
    visitors = ps.hll { precision = 12 },
    seen = ps.bloom { capacity = 1e5 },
  }
  each(function(key)
    for _, sketch in pairs(sketches) do
      sketch:add(key)
    end
  end)
  return sketches
end

local function workers_in(result)
  local n = 0
  for _ in pairs(result.bodies) do
    n = n + 1
  end
  return n
end

describe("four workers that share", function()
  it("count each request once, and have what one of them alone would have", function()
    start()
    local clients, each = load()
    local result = server:finish(clients)
    assert.equal(CLIENTS * EACH, result.answered)
    assert.is_true(workers_in(result) > 1)
    for _, place in places() do
      local now = state(place)
      assert.equal(result.answered, now.requests:count())
      local visitors = now.visitors:count()
      assert.is_true(math.abs(visitors / result.answered - 1) <= 3 * now.visitors:info().standard_error, visitors)
      each(function(key)
        assert.is_true(now.seen:has(key) and now.requests:frequency(key) >= 1)
      end)
      assert.same(alone(each), now)
    end
  end)

  it("count on while nginx reloads five times", function()
    start()
    local clients, each = load(12)
    for _ = 1, 5 do
      server:reload()
    end
    local result = server:finish(clients)
    assert.equal(CLIENTS * EACH, result.answered)
    local last = 0
    for _, pid in ipairs(server:workers()) do
      last = last + (result.bodies[tostring(pid)] or 0)
    end
    assert.is_true(last > 0 and workers_in(result) > 8)
    for _, place in places() do
      assert.same(alone(each), state(place))
    end
  end)

  it("lose nothing that was answered when they are killed", function()
    start()
    local clients, each = load()
    for _ = 1, 2 do
      for _, pid in ipairs(server:workers()) do
        server:kill_worker(pid)
      end
    end
    local result = server:finish(clients)
    assert.equal(CLIENTS * EACH, result.answered + result.unanswered)
    local cut = result.unanswered + result.again
    assert.is_true(cut > 0)
    for _, place in places() do
      local now = state(place)
      assert.is_true(now.requests:count() >= result.answered)
      assert.is_true(now.requests:count() <= result.answered + cut)
      local missing = 0
      each(function(key)
        missing = missing + (now.seen:has(key) and 0 or 1)
      end)
      assert.is_true(missing <= result.unanswered)
      assert.is_true(now.requests:frequency "nobody's key" <= now.requests:info().error_bound)
    end
  end)
end)

describe("what workers share", function()
  local ends = {
    ["an upgrade of the binary"] = function()
      server:upgrade()
    end,
    ["a restart"] = function()
      server:halt()
      server:start()
    end,
  }

  for name, happen in pairs(ends) do
    it(("is still there after %s, in a file and not in memory"):format(name), function()
      start()
      assert.equal("here", (server:get "/dict?value=here"))
      for i = 1, 10 do
        server:get("/?ms=0&key=" .. i)
      end
      happen()
      assert.equal("nil", (server:get "/dict"))
      assert.equal(0, state("").requests:count())
      assert.equal(10, state(server.directory .. "/").requests:count())
    end)
  end

  it("is one worker's own if that has made the region", function()
    start()
    local result = server:finish(server:load(CLIENTS, "/late?name=late&request=%d-[1-100]"))
    assert.equal(CLIENTS * 100, result.answered)
    assert.is_nil(result.bodies[tostring(result.answered)])
    assert.is_true(result.bodies["1"] > 1)
  end)

  it("is everybody's in a file, whoever has made it", function()
    start()
    local late = "/late?name=" .. server.directory .. "/late"
    local result = server:finish(server:load(CLIENTS, late .. "&request=%d-[1-100]"))
    assert.equal(CLIENTS * 100, result.answered)
    assert.equal(tostring(result.answered + 1), (server:get(late)))
  end)
end)

describe("workers without the rights of the master", function()
  local _, not_root = process.shell "test $(id -u) = 0"
  local with_root = not_root == 0 and it or pending

  with_root("work on what it has shared, and cannot open what they may not", function()
    start "nobody nogroup"
    local clients, each = load()
    server:finish(clients)
    for _, place in places() do
      assert.same(alone(each), state(place))
    end
    local _, status = server:get("/late?name=" .. server.directory .. "/late")
    assert.equal(500, status)
    assert.is_truthy(server:log():find("late: Permission denied", 1, true))
  end)
end)
