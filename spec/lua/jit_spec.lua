-- The fast path of LuaJIT: it is there, it compiles, and nobody can tell it from the C methods but by a clock.

local ps = require "probsketch"
local core = require "probsketch.core"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local process = require "spec.support.process"

local jit = rawget(_G, "jit")

-- The fast methods, each with the kind, the table that it is in, itself, and the C method that it stands before.
local methods = {}
for i, each in ipairs(core.fast_methods()) do
  local index = each.metatable.__index
  local method = { kind = each.metatable.__name:match "[a-z_]+$", name = each.name, index = index }
  method.fast = index[each.name]
  for n = 1, debug.getinfo(method.fast, "u").nups do
    local name, value = debug.getupvalue(method.fast, n)
    method.c = name == "method" and value or method.c
  end
  methods[i] = method
end

local fast = methods[1].c and it or pending

local function each_method(run)
  for _, method in ipairs(methods) do
    run(method, ("%s:%s"):format(method.kind, method.name))
  end
end

-- What run() returns with the fast methods, and with the C methods in their places.
local function both(run)
  local by_fast = run()
  each_method(function(method) method.index[method.name] = method.c end)
  local ok, by_c = pcall(run)
  each_method(function(method) method.index[method.name] = method.fast end)
  assert(ok, by_c)
  return by_fast, by_c
end

local function show(...)
  local shown = { select("#", ...) }
  for i = 1, select("#", ...) do
    shown[i + 1] = type(select(i, ...)) == "userdata" and "userdata" or tostring((select(i, ...)))
  end
  return table.concat(shown, " ")
end

-- A sketch that the method can be asked of, and that it says more than one thing of.
local function sketch_for(method)
  if method.kind == "fuse" then
    return ps.fuse { keys = { "a", "", "b\0c", 7 } }
  end
  local sketch = kinds[method.kind].new()
  for i = 1, 40 do sketch:add(method.kind == "ddsketch" and i or "k" .. i) end
  return sketch
end

-- A shared one, if there are of its kind.
local SHARED = { bloom = { capacity = 100 }, blocked_bloom = { capacity = 100 }, counting_bloom = { capacity = 100 },
  count_min = { width = 50, depth = 5 }, hyperloglog = { precision = 6 }, minhash = { hashes = 40 },
  ddsketch = { min_value = 1, max_value = 1e4 } }
local regions = 0
local function shared_for(kind)
  regions = regions + 1
  return SHARED[kind] and assert(ps.share("jit " .. regions, ps[kind](SHARED[kind])))
end

local KEYS = { "a", "", "\0", "b\0c", "b\0d", "k1", "k2", ("x"):rep(239), ("x"):rep(241), ("long\0"):rep(30000),
  "7", 7, -7, 0, 2 ^ 53, -2 ^ 53 }
local VALUES = { 1, 2, 1.5, -3, 0, -0.0, 1e-300, 1e300, 20, 1 / 3 }

describe("methods that LuaJIT compiles", function()
  fast("answer and change what the C methods do, whatever the key", function()
    each_method(function(method, name)
      local items = method.kind == "ddsketch" and VALUES or KEYS
      local by_fast, by_c = both(function()
        local sketch, said = sketch_for(method), {}
        for i = 1, 300 do
          said[i] = show(sketch[method.name](sketch, items[i % #items + 1]))
        end
        for i = 1, 300 do
          said[#said + 1] = show(sketch[method.name](sketch, items[i % #items + 1], i % 3, "more"))
        end
        said[#said + 1] = sketch:encode()
        return said
      end)
      assert.same(by_c, by_fast, name)
    end)
  end)

  fast("raise what the C methods raise, word for word", function()
    local ffi = require "ffi"
    local self_made = setmetatable({}, debug.getmetatable(ps.bloom { capacity = 10 }))
    each_method(function(method, name)
      local by_fast, by_c = both(function()
        local closed, open = sketch_for(method), sketch_for(method)
        closed:close()
        local selves = { open, closed, ps.tdigest(), ps.bloom { capacity = 10 }, ps.count_min(), self_made, {}, "k", 5,
          true, io.stdout, newproxy(true), ffi.new "int[4]", false }
        local items = { "k", 1.5, 0 / 0, 1 / 0, 2 ^ 60, {}, true, print, open, ffi.new("int64_t", 5), false }
        local counts = { 1, -1, 1.5, "1", {}, 2 ^ 60, false }
        local said = {}
        local function say(...) said[#said + 1] = show(...) end
        local f = open[method.name]
        for _ = 1, 3 do
          for _, self in ipairs(selves) do
            for _, item in ipairs(items) do
              say(pcall(function() local x = f(self or nil, item or nil) return x end))
            end
            say(pcall(f, self or nil))
          end
          for _, count in ipairs(counts) do
            say(pcall(function() local x = open[method.name](open, "k", count) return x end))
            say(pcall(function() return f(open, 5, count or nil) end))
          end
          say(pcall(f))
          say(pcall(function() return open[method.name]() end))
          say(pcall(function() local x = closed.add(closed) return x end))
          say(pcall(function() closed:add("k") end))
          say(coroutine.resume(coroutine.create(f), open, print))
        end
        return said
      end)
      assert.is_true(#by_c > 500)
      assert.same(by_c, by_fast, name)
    end)
  end)

  fast("name the method and the line of the caller, also out of a hot loop", function()
    local source = [[local sketch, keys = ...
      for i = 1, #keys do
        sketch:add(keys[i])
      end]]
    local keys = {}
    for i = 1, 1000 do keys[i] = "k" .. i end
    keys[900] = true
    local run = loadstring(source, "=caller")
    local by_fast, by_c = both(function()
      return { pcall(run, ps.bloom { capacity = 1000 }, keys) }
    end)
    assert.same(by_c, by_fast)
    assert.equal("caller:3: bad argument #1 to 'add' (key expected, a string or an integer, got a boolean; "
      .. "format other values first)", by_fast[2])
  end)

  fast("keep foreign objects out, also where a sketch has been a thousand times", function()
    local sketch, ffi = ps.bloom { capacity = 1000 }, require "ffi"
    local strangers = { io.stdout, newproxy(true), ps.blocked_bloom { capacity = 5 }, ps.hyperloglog(), {},
      setmetatable({}, debug.getmetatable(sketch)), ffi.new "char[1]", ffi.cast("void *", 0), "", 0, print }
    for _, stranger in ipairs(strangers) do
      local selves = {}
      for i = 1, 1000 do selves[i] = sketch end
      selves[800] = stranger
      local has, n = sketch.has, 0
      local ok, message = pcall(function()
        for i = 1, #selves do
          has(selves[i], "k")
          n = i
        end
      end)
      assert.is_false(ok)
      assert.is_truthy(message:find("bloom", 1, true), message)
      assert.equal(799, n)
    end
  end)

  fast("see that a sketch is closed in the middle of a hot loop", function()
    each_method(function(method, name)
      local sketch, n = sketch_for(method), 0
      local item = method.kind == "ddsketch" and 5 or "k1"
      local ok, message = pcall(function()
        for i = 1, 2000 do
          if i == 1500 then sketch:close() end
          sketch[method.name](sketch, item)
          if method.name == "add" and sketch.remove then sketch:remove(item) end
          n = i
        end
      end)
      assert.is_false(ok, name)
      assert.is_truthy(message:find(("the %s is closed"):format(method.kind), 1, true), message)
      assert.equal(1499, n, name)
    end)
  end)

  fast("take sketches of several kinds and sizes in one loop", function()
    local function fill()
      local sketches = { ps.bloom { capacity = 100 }, ps.hyperloglog { precision = 6 }, ps.count_min(),
        ps.bloom { capacity = 5e6 }, ps.minhash { hashes = 4 }, ps.blocked_bloom { capacity = 1000, seed = "random" },
        ps.counting_bloom { capacity = 1000 }, ps.scalable_bloom { capacity = 10 }, ps.top_k { k = 5 },
        ps.cuckoo { capacity = 10, growth = 2 } }
      local said = {}
      for i = 1, 3000 do
        local sketch = sketches[i * 7 % #sketches + 1]
        local answer = sketch:add("key" .. i)
        -- Where a secret seed decides it differs.
        said[i] = sketch ~= sketches[6] and answer or "any"
      end
      for i = 1, #sketches do
        said[#said + 1] = i == 6 or sketches[i]:encode()
      end
      return said
    end
    local by_fast, by_c = both(fill)
    assert.same(by_c, by_fast)
  end)

  fast("leave to the C methods what grows, is full or is read-only", function()
    local directory = files.directory()
    finally(function() files.remove(directory) end)
    local path = directory .. "/filter"
    local by_fast, by_c = both(function()
      local said = {}
      local function say(...) said[#said + 1] = show(...) end
      local full = ps.cuckoo { capacity = 50 }
      for i = 1, 300 do say(full:add("k" .. i)) end
      say(full:encode())
      local hip = ps.hyperloglog { precision = 10, hip = true }
      for i = 1, 5000 do say(hip:add("k" .. i)) end
      say(hip:encode())
      local wide = ps.ddsketch { max_bins = 100 }
      for i = 1, 500 do say(wide:add(i * i)) say(wide:add(-i)) end
      say(wide:add(1, 2 ^ 53 - 2000))
      for _ = 1, 1500 do say(pcall(wide.add, wide, 7)) end
      say(wide:encode())
      local range = ps.ddsketch { min_value = 1, max_value = 10 }
      for _, x in ipairs { 5, 1e300, -1e300, 1 / 0, -1 / 0, 0 / 0, 7 } do say(pcall(range.add, range, x)) end
      say(range:encode())
      local shared = shared_for "ddsketch":add(5, 2 ^ 53 - 20)
      for i = 1, 30 do say(pcall(shared.add, shared, i)) end
      say(shared:encode())
      local counts = ps.count_min { width = 10, depth = 2, counter_bits = 8 }
      for _ = 1, 300 do say(counts:add "k") end
      say(counts:encode())
      local filter = ps.bloom { capacity = 1000 }
      filter:add "k"
      assert(filter:save(path))
      local mapped = assert(ps.open(path))
      for i = 1, 200 do say(mapped:has(i % 2 == 0 and "k" or "no")) end
      say(pcall(function() local x = mapped:add "k" return x end))
      mapped:close()
      return said
    end)
    assert.same(by_c, by_fast)
  end)

  fast("take shared sketches, but for what is not done to them", function()
    local ffi = require "ffi"
    for i, each in ipairs(core.fast_methods()) do
      local method = methods[i]
      local shared = shared_for(method.kind)
      if shared then
        local item = method.kind == "ddsketch" and 5 or "k5"
        local before = shared:encode()
        local answer = each.shape == "value" and ffi.cast("int (*)(void *, double)", each.address)(shared, item)
          or ffi.cast(each.shape == "flag" and "int (*)(void *, const char *, size_t)"
            or "double (*)(void *, const char *, size_t)", each.address)(shared, item, #item)
        if method.name == "remove" then
          assert.is_true(answer < 0)
          expect.same_bytes(before, shared:encode())
        else
          assert.is_true(answer >= 0, method.kind .. ":" .. method.name)
        end
      end
    end
    each_method(function(method, name)
      local items = method.kind == "ddsketch" and VALUES or KEYS
      local by_fast, by_c = both(function()
        local sketch, said = shared_for(method.kind), {}
        for i = 1, sketch and 300 or 0 do
          said[i] = show(pcall(function()
            local answer = sketch[method.name](sketch, items[i % #items + 1], i % 7 == 0 and 3 or nil)
            return answer
          end))
        end
        said[#said + 1] = sketch and sketch:encode()
        return said
      end)
      assert.same(by_c, by_fast, name)
    end)
  end)

  fast("allocate nothing: where that may have to be, they have changed nothing and say so", function()
    local ffi = require "ffi"
    for _, each in ipairs(core.fast_methods()) do
      local kind = each.metatable.__name:match "[a-z_]+$"
      if each.name == "add" and (kind == "hyperloglog" or kind == "cuckoo") then
        local call = ffi.cast("int (*)(void *, const char *, size_t)", each.address)
        local sketch = ps[kind] { growth = kind == "cuckoo" and 2 or nil, capacity = kind == "cuckoo" and 4 or nil }
        local memory = sketch:info().bytes
        for i = 1, 100 do
          local key, before = "k" .. i, sketch:encode()
          local answer = call(sketch, key, #key)
          assert.equal(memory, sketch:info().bytes)
          if answer < 0 then
            expect.same_bytes(before, sketch:encode())
            break
          end
          assert.is_true(i < 100, kind)
        end
      end
    end
  end)

  fast("are part of a trace, which the C methods end", function()
    local util, errors = require "jit.util", require("jit.vmdef").traceerr
    -- How traces end that begin in the loop or in a fast method, and not in what runs the specs.
    local links, own
    local function traced(what, trace, f, _, code)
      if what == "start" then
        local source = util.funcinfo(f).source
        own = source == "=loop" or source == "=probsketch"
      elseif own and (what == "stop" or what == "abort") then
        links[what == "stop" and util.traceinfo(trace).linktype or errors[code] or code] = true
      end
    end
    each_method(function(method, name)
      if method.name == "remove" or method.kind == "cuckoo" and method.name == "add" then
        return -- they cannot go on for long
      end
      local item = method.kind == "ddsketch" and "5" or '"k1"'
      -- So long that a recording may be given up several times: each time the next one waits twice as long.
      local source = ("local sketch = ... for _ = 1, 20000 do sketch:%s(%s) end"):format(method.name, item)
      local by_fast, by_c = both(function()
        local sketch = sketch_for(method)
        links = {}
        jit.flush()
        jit.attach(traced, "trace")
        local ok, message = pcall(loadstring(source, "=loop"), sketch)
        jit.attach(traced)
        assert(ok, message)
        return links
      end)
      local function ends(what, wanted, unwanted)
        local seen = {}
        for link in pairs(what) do seen[#seen + 1] = tostring(link) end
        assert.is_true(what[wanted] and not what[unwanted], name .. ": " .. table.concat(seen, ", "))
      end
      ends(by_fast, "loop", "stitch")
      ends(by_c, "stitch")
    end)
  end)

  fast("are there once, however often the module is loaded", function()
    require "probsketch.jit".install(core)
    each_method(function(method, name)
      assert.equal(method.fast, method.index[method.name], name)
    end)
  end)

  fast("can be kept off", function()
    local source = [[ps = require "probsketch"
      print(debug.getinfo(ps.bloom { capacity = 1 }.has, "S").what)]]
    assert.equal("Lua\n", process.run(source))
    assert.equal("C\n", process.run("jit.off() " .. source))
    assert.equal("C\n", process.run("function os.getenv(name) return name == 'PROBSKETCH_JIT' and 'off' end "
      .. source))
    assert.equal("C\n", process.run("package.preload.ffi = error package.loaded.ffi = nil " .. source))
    assert.equal("C\n", process.run("local debug = debug _G.debug.getmetatable = nil " .. source))
  end)
end)

describe("every other Lua", function()
  it("has C methods only", function()
    if not jit then
      each_method(function(method, name)
        assert.equal("C", debug.getinfo(method.fast, "S").what, name)
      end)
    end
    expect.raise_saying("expected, got nil", ps.bloom { capacity = 1 }.has)
  end)
end)
