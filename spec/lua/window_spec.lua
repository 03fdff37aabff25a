-- Windows: what they take and refuse, what their methods return, and how they count, beside the model of their time in
-- window_model_spec.lua.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local finaliser = require "spec.support.finaliser"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local measured = memory.is_measurable and it or pending
local long = tonumber(_VERSION:match "%d+%.%d+") > 5.1 and it or pending -- # of tables

-- A window over a kind, and the clock of it, which reads clock.now.
local function new(kind, options, more)
  local clock = { now = 1000 }
  local window = ps.window(kinds.options({
    sketch = function() return kinds[kind].new(options) end,
    span = 100,
    slices = 10,
    clock = function() return clock.now end,
  }, more))
  return window, clock
end

-- What the kind is asked, asked of a window: what it takes from info() is what the window says of its union.
local function answers(kind, window)
  window.info = function(self)
    return getmetatable(self).__index.info(self).merged
  end
  local result = kind.answers(window)
  window.info = nil
  return result
end

kinds.describe(describe, function(kind)
  local changing = kinds.changing(kind, it)

  changing("answers in a window as the sketch that is merged from the slices", function()
    local window, clock = new(kind.name)
    local whole = kind.new()
    for i = 1, 300 do
      clock.now = 1000 + i / 3
      window:add(kind.item(i))
    end
    window:add_many(kind.items(301, 400))
    assert.same(kind.answers(window:merged()), answers(kind, window))
    kind.fill(whole, 1, 400)
    if not kind.merges and not kind.overlaps then
      assert.equal(whole, window:merged())
    else
      assert.equal(whole:count(), window:count())
    end
    assert.equal(kind.name, window:merged():kind())
    assert.equal(0, window:clear():count())
  end)

  changing("has every method in a window: it works or says why not", function()
    local window = new(kind.name)
    for name in pairs(debug.getmetatable(kind.new()).__index) do
      assert.is_function(window[name], name)
    end
    for _, name in ipairs { "merge", "copy", "save", "chunks", "close", "remove", "halve", "decay" } do
      if kind.new()[name] then
        expect.raise_saying("a window has no " .. name .. ": ", window[name], window, kind.item(1))
      else
        assert.is_nil(window[name])
      end
    end
    assert.is_nil(window.no_such_method)
  end)

  changing("goes through bytes in a window", function()
    local window, clock = new(kind.name)
    for i = 1, 60 do
      clock.now = 1000 + i
      window:add(kind.item(i))
    end
    local bytes = window:encode()
    for _, more in ipairs { {}, { sketch = kind.new, span = 100, slices = 10 } } do
      local loaded = assert(ps.window(kinds.options(more, { bytes = bytes, clock = window.clock })))
      assert.same(answers(kind, window), answers(kind, loaded))
      expect.same_bytes(bytes, loaded:encode())
      local twin = assert(ps.window { bytes = bytes, clock = window.clock })
      for i = 61, 200 do -- until nothing is left of what was loaded
        clock.now = 1000 + i
        twin:add(kind.item(i))
        loaded:add(kind.item(i))
        if i % 3 == 0 then -- asking and encoding change nothing
          loaded:count()
          loaded:encode()
          loaded:info()
        end
      end
      expect.same_bytes(twin:encode(), loaded:encode())
      clock.now = 1060
    end
  end)
end)

describe("a window's add", function()
  for _, kind in ipairs { "bloom", "blocked_bloom", "scalable_bloom", "counting_bloom" } do
    it("says of a " .. kind .. " whether the key is certainly new in the window, not in the slice", function()
      local window, clock = new(kind)
      assert.is_true(window:add "a")
      assert.is_false(window:add "a")
      clock.now = 1050
      assert.is_false(window:add "a")
      assert.is_true(window:add "b")
      clock.now = 1105 -- "a" of 1000 is still in, and that of 1050
      assert.is_false(window:add "a")
      clock.now = 2000
      assert.is_true(window:add "a")
      -- Never true of what is there, whatever the fill.
      for i = 1, 3000 do
        clock.now = 2000 + i / 40
        local is_new = window:add("key " .. i % 1500) -- for the second time 37.5 seconds later
        assert.is_false(is_new and i > 1500)
        assert.is_false(window:add("key " .. i % 1500))
      end
      assert.equal(1, select("#", window:add "z"))
    end)
  end

  for kind, options in pairs { count_min = { counter_bits = 64 }, top_k = {} } do
    it("gives with " .. kind .. " an estimate of the key in the whole window", function()
      local window, clock = new(kind, kinds.options(options, { width = 8, depth = 2 }))
      local truth = {}
      for i = 1, 2000 do
        clock.now = 1000 + i / 20
        local key = "key " .. i % 37
        truth[key] = (truth[key] or 0) + i % 3
        local estimate = window:add(key, i % 3)
        assert.is_true(truth[key] <= estimate)
        assert.is_true(kind ~= "count_min" or estimate <= window:frequency(key))
      end
      clock.now = 3000
      assert.equal(7, window:add("key 1", 7))
      assert.equal(7, window:frequency "key 1")
      clock.now = 3050
      assert.equal(2 ^ 53, window:add("key 1", 2 ^ 53))
    end)
  end

  it("gives what the kind gives for other kinds, and the window instead of the sketch", function()
    local window = new("ddsketch")
    assert.equal(window, window:add(1))
    assert.equal(window, window:add(2, 3))
    assert.equal(4, window:count())
    assert.equal(2, window:add_many { 1, 2 })
    window = new("hyperloglog")
    assert.is_true(window:add "a")
    assert.is_false(window:add "a")
    assert.equal(1, window:add_many { "a", "b" })
    window = new("cuckoo", { capacity = 8 })
    for i = 1, 8 do
      assert.is_true(window:add("key " .. i))
    end
    local added, message, code
    for i = 9, 40 do
      if added == nil and code then break end
      added, message, code = window:add("key " .. i)
    end
    expect.refusal("full", added, message, code)
  end)

  it("raises what the kind raises, and nothing is added", function()
    local window, clock = new("count_min")
    window:add "a"
    clock.now = 1020
    local bytes = window:encode()
    expect.raise_saying("bad argument #1 to 'add' (key expected", window.add, window, {})
    expect.raise_saying("bad argument #2 to 'add' (count expected", window.add, window, "a", -1)
    expect.raise_saying("element 2: key expected", window.add_many, window, { "a", {} })
    expect.raise_saying("bad argument #1 to 'frequency' (key expected", function() return window:frequency(1.5) end)
    expect.same_bytes(bytes, window:encode())
  end)

  it("raises in the name of its method", function()
    local function raises(name, window, ...)
      expect.raise_saying("bad argument #1 to '" .. name .. "' (", window[name], window, ...)
    end
    local hll, minhash = new("hyperloglog"), new("minhash")
    for _, name in ipairs { "add", "add_many", "bounds", "compatible", "fold", "intersection", "jaccard", "union" } do
      raises(name, hll, false)
    end
    raises("add_shingles", minhash, 1, 2)
    raises("jaccard", minhash, hll:merged())
  end)
end)

describe("a window", function()
  -- Making a sketch for a new slice, or a union, may run finalisers.
  it("keeps what a finaliser adds to it in the middle of another call", function()
    local large = { width = 20000, depth = 2 }
    for _ = 1, 10 do
      local window, clock = new("count_min", large)
      local counts = { here = 0, finaliser = 0 }
      for slice = 1, 9 do
        clock.now = 1000 + 10 * slice
        for _ = 1, 3 do
          finaliser(function()
            window:add "finaliser"
            counts.finaliser = counts.finaliser + 1
          end)
          window:add "here"
          counts.here = counts.here + 1
        end
      end
      collectgarbage() -- all of them, while their window is there
      assert.same(counts, { here = window:frequency "here", finaliser = window:frequency "finaliser" })
    end
  end)

  -- In a process with little else in it, where the collector comes round often.
  it("answers with all that came, also when a finaliser has asked in the middle of the answer before", function()
    assert.equal("all", process.run [[
      local ps, finaliser = require "probsketch", require "spec.support.finaliser"
      local random = require "spec.support.random"
      collectgarbage("setpause", 0)
      collectgarbage("setstepmul", 1000)
      for seed = 1, 30 do
        local numbers, now, slices, over = random.new(seed), 0, {}, false
        local window = ps.window {
          sketch = function() return ps.count_min { epsilon = 0.1 } end,
          span = 60, slices = 6, clock = function() return now end,
        }
        local function add(key)
          window:add(key)
          local slice = math.floor(now / 10)
          slices[slice] = (slices[slice] or 0) + 1
        end
        local function act()
          if over then
            return
          end
          add("a finaliser's")
          if numbers:integer(4) == 1 then
            window:count()
          end
        end
        for step = 1, 300 do
          finaliser(act)
          finaliser(act)
          add "ours"
          now = now + numbers:integer(8)
          if step % 3 == 0 then
            window:count()
          end
        end
        collectgarbage()
        over = true
        local expected, current = 0, math.floor(now / 10)
        for slice = current - 6, current do
          expected = expected + (slices[slice] or 0)
        end
        assert(window:count() == expected, window:count() .. " of " .. expected)
      end
      io.write "all"
    ]])
  end)

  it("covers the current slice and as many as it has before it", function()
    for _, kind in ipairs { "hyperloglog", "bloom", "count_min", "top_k" } do
      local window, clock = new(kind)
      clock.now = 1009.75
      window:add "a"
      clock.now = 1109.875
      assert.equal(1, window:count())
      clock.now = 1110
      assert.equal(0, window:count())
    end
  end)

  it("asks its clock for fractions, for times before 0 and for edges of slices", function()
    local window, clock = new("hyperloglog", nil, { span = 0.5, slices = 5 })
    for i = -200, 200 do
      clock.now = i / 10 -- the edges, as exactly as a clock can give them
      assert.is_true(window:add(i))
      local count = window:count()
      assert.is_true(count == math.min(i + 201, 6), ("%d at %g"):format(count, clock.now))
      clock.now = clock.now + 0.05
      window:add(i)
      assert.equal(count, window:count())
    end
  end)

  it("loses nothing while the clock is behind, and forgets in time what came before it was set back", function()
    local window, clock = new("hyperloglog")
    window:add "long ago"
    clock.now = 10 ^ 15
    window:add "far ahead"
    clock.now = 1000
    assert.equal(1, window:count())
    window:add "now"
    assert.equal(2, window:count())
    clock.now = 1109
    assert.equal(2, window:count())
    clock.now = 1110
    assert.equal(0, window:count())
  end)

  it("does not forget for a question at a wrong time", function()
    local window, clock = new("hyperloglog")
    window:add "a"
    clock.now = 10 ^ 9
    assert.equal(0, window:count())
    clock.now = 1050
    assert.equal(1, window:count())
  end)

  it("wants a finite number from its clock", function()
    local window, clock = new("hyperloglog")
    window:add "a"
    local bytes = window:encode()
    for _, bad in ipairs { 0 / 0, 1 / 0, -1 / 0, "12", {}, true, 1e300, false } do
      clock.now = bad
      for _, call in ipairs { "add", "count", "merged", "encode", "info", "add_many" } do
        local message = expect.raise(window[call], window, call == "add_many" and { "b" } or "b")
        assert.is_truthy(message:find("a window's clock", 1, true), message)
      end
      expect.raise_saying("a window's clock", new, "hyperloglog", nil, { clock = function() return bad end })
    end
    clock.now = nil
    expect.raise_saying("a window's clock gives a finite number, got nil", window.add, window, "b")
    expect.raise_saying("got nil", function() return new("hyperloglog", nil, { clock = function() end }) end)
    clock.now = 1000
    expect.same_bytes(bytes, window:encode())
  end)

  it("leaves an error of its clock as it is", function()
    local window = new("hyperloglog")
    window.clock = function() error({ "mine" }) end
    local ok, problem = pcall(window.add, window, "a")
    assert.is_false(ok)
    assert.same({ "mine" }, problem)
  end)

  it("takes the time of the system unless it is given a clock", function()
    local window = ps.window { sketch = ps.hll, span = 3600, slices = 6 }
    window:add "a"
    assert.equal(1, window:count())
    local since = window:info().since
    assert.is_true(since <= os.time() - 3600 and since > os.time() - 4200 - 5)
  end)

  it("gives merged sketches that later additions do not change", function()
    local window = new("hyperloglog")
    window:add "a"
    local merged = window:merged()
    window:add "b"
    assert.equal(1, merged:count())
    assert.equal(2, window:count())
    merged:add "c"
    merged:close()
    assert.equal(2, window:count())
    window:clear()
    assert.equal(0, window:merged():count())
  end)

  it("stands where its methods take another sketch", function()
    local one, two = new("hyperloglog"), (new("hyperloglog"))
    one:add_many { "a", "b" }
    two:add_many { "b", "c" }
    assert.equal(3, one:union(two):count())
    assert.equal(3, one:union(two:merged()):count())
    assert.equal(3, one:union(two, one, two:merged()):count())
    assert.equal(1, math.floor(one:intersection(two) + 0.5))
    assert.equal(1 / 3, math.floor((one:jaccard(two)) * 3000 + 0.5) / 3000)
    assert.is_true(one:compatible(two))
    local fits, difference = one:compatible(new("hyperloglog", { precision = 4 }))
    assert.is_false(fits)
    assert.equal("precision mismatch (expected 14, got 4)", difference)
    expect.raise_saying("'union'", one.union, one, 17)
    local stranger = setmetatable({}, { sketch = "hyperloglog" })
    expect.raise_saying("hyperloglog expected, got table", one.jaccard, one, stranger)
    assert.equal(2, one:count())
  end)

  long("has a length on Lua 5.2 and later", function()
    local window = new("ddsketch")
    window:add_many { 1, 2, 3 }
    assert.equal(3, #window)
  end)

  it("has a name", function()
    local window = new("hyperloglog")
    window:add "a"
    assert.equal("window (hyperloglog, count 1, 100 seconds in 10 slices)", tostring(window))
    assert.equal("window", window:kind())
    assert.is_nil(ps.kind(window))
  end)

  it("says what it has", function()
    local window, clock = new("bloom")
    local one = kinds.bloom.new():bytes()
    local info = window:info()
    assert.equal("window", info.kind)
    assert.equal("bloom", info.sketch)
    assert.same({ 100, 10, 900 }, { info.span, info.slices, info.since })
    assert.same({ 1, one }, { info.sketches, info.bytes })
    for i = 0, 40 do
      clock.now = 1000 + 10 * i
      window:add("key " .. i)
      window:count()
    end
    info = window:info()
    assert.same({ 11 + 3, 14 * one, 1300 }, { info.sketches, info.bytes, info.since })
    assert.equal(info.bytes, window:bytes())
    assert.equal(info.merged.fp_rate, window:merged():info().fp_rate)
    window:clear()
    assert.equal(3, window:info().sketches)
  end)

  measured("uses the sketches of slices that are over again", function()
    local window, clock = new("bloom", { capacity = 2e5 })
    local function lap()
      for _ = 1, 60 do
        clock.now = clock.now + 10
        window:add "a"
        window:count()
      end
    end
    lap()
    assert.is_true(memory.growth(lap) < 2 ^ 20)
    local held = {}
    for _, sketch in pairs(window.held) do
      held[sketch] = true
    end
    lap()
    for _, sketch in pairs(window.held) do
      assert.is_true(held[sketch])
    end
  end)

  it("does not grow by gaps", function()
    local window, clock = new("hyperloglog", nil, { slices = 100000, span = 100000 })
    for i = 1, 50 do
      clock.now = clock.now + 977 * i
      window:add(i)
    end
    assert.equal(3, window:count()) -- 977 * (49 + 50) < 100000 < 977 * (48 + 49 + 50)
    assert.equal(3 + 3, window:info().sketches)
  end)
end)

describe("the options of a window", function()
  local good = { sketch = ps.hll, span = 10, slices = 2 }
  local function raises(says, options)
    return expect.raise_saying(says, ps.window, kinds.options(good, options))
  end

  it("are refused when they are wrong", function()
    expect.raise_saying("options expected, got nil", ps.window)
    expect.raise_saying("options expected, got 12", ps.window, 12)
    for name in pairs(good) do
      local options = kinds.options(good)
      options[name] = nil
      expect.raise_saying(("option '%s' must be given"):format(name), ps.window, options)
    end
    raises("unknown option 'slice'", { slice = 2 })
    raises("unknown option '1'", { [1] = 2 })
    for _, bad in ipairs { 0, -1, 1 / 0, 0 / 0, "10", {}, true } do
      raises("option 'span': expected a finite number of seconds above 0, got ", { span = bad })
    end
    for _, bad in ipairs { 0, -1, 1.5, 100001, 1 / 0, 0 / 0, "2", {} } do
      raises("option 'slices': expected an integer from 1 to 100000, got ", { slices = bad })
    end
    for _, bad in ipairs { 1, "os.time", {} } do
      raises("option 'clock': expected a function that returns seconds", { clock = bad })
      raises("option 'sketch': expected a function that makes sketches", { sketch = bad })
    end
    raises("option 'sketch'", { sketch = ps.hll() })
    raises("option 'bytes': expected a string", { bytes = 12 })
    raises("a window's clock is out of range", { span = 1e-300 })
    local message = raises("option 'span'", { span = -1 })
    assert.is_truthy(message:find("expect.lua", 1, true) or message:find("^option"), message) -- the caller's line
  end)

  it("want a function that makes empty sketches which fit together", function()
    local shared = ps.hll()
    local first = true
    local function varied(a, b)
      return function()
        first = not first
        return (first and a or b)()
      end
    end
    raises("seed mismatch (at least one is secret)", { sketch = function() return ps.hll { seed = "random" } end })
    raises("precision mismatch", { sketch = varied(ps.hll, function() return ps.hll { precision = 5 } end) })
    raises("kind mismatch", { sketch = varied(ps.hll, ps.ddsketch) })
    raises("a fuse does not merge", { sketch = function() return ps.fuse { keys = { "a" } } end })
    raises("got one that returns nil", { sketch = function() end })
    raises("got one that returns a table", { sketch = function() return {} end })
    raises("got one that returns nil", { sketch = varied(ps.hll, function() end) })
    raises("expected a new sketch each time", { sketch = function() return shared end })
    raises("expected empty sketches", { sketch = function() return ps.hll():merge(shared, (function()
      local h = ps.hll()
      h:add "a"
      return h
    end)()) end })
    raises("closed", { sketch = function()
      local h = ps.hll()
      h:close()
      return h
    end })
    local ok, problem = pcall(ps.window, kinds.options(good, { sketch = function() error({ "mine" }) end }))
    assert.is_false(ok)
    assert.same({ "mine" }, problem)
  end)

  it("may make sketches of a random seed from one", function()
    local seed = ps.hll { seed = "random" }
    local window = ps.window { sketch = function() return ps.hll { seed = seed } end, span = 10, slices = 2 }
    window:add "a"
    assert.is_true(window:compatible(seed))
    assert.is_nil(window:info().merged.seed)
  end)
end)
