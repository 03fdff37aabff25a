-- A constructor takes what its options say it takes, and names the option and its range when it does not.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"

local measured = memory.is_measurable and it or pending

local NAN, INFINITY = 0 / 0, 1 / 0

-- What is no number at all, or looks like one only to tonumber().
local strangers = { "1000", "1e3", "0x3e8", " 1000 ", "1000x", "1%", "0.01", "", "random", {}, print, io.stdout }

local function each_range(kind, f)
  for option, range in pairs(kind.ranges) do
    f(option, range, function(value)
      return kind.new(kinds.options(range.with, { [option] = value }))
    end)
  end
end

kinds.describe(describe, function(kind)
  it("is made by a function of its name, from one table of options", function()
    local sketch = kind.new()
    assert.equal("userdata", type(sketch))
    assert.equal(kind.name, sketch:kind())
    if kind.alias then
      assert.equal(ps[kind.name], ps[kind.alias])
    end
    for _, stranger in ipairs { "x", 5, true, print, io.stdout } do
      expect.raise(ps[kind.name], stranger)
    end
  end)

  it("refuses an option that it does not know, and names it", function()
    expect.raise_saying("'capasity'", kind.new, kinds.options(kind.options, { capasity = 1000 }))
    expect.raise_saying("unknown option", kind.new, kinds.options(kind.options, { [""] = true }))
    expect.raise_saying("unknown option 1", kind.new, kinds.options(kind.options, { "x" }))
    expect.raise_saying("unknown option 2.5", kind.new, kinds.options(kind.options, { [2.5] = true }))
    expect.raise_saying("unknown option", kind.new, kinds.options(kind.options, { [kind] = true }))
  end)

  it("leaves the caller's table as it was, also when it refuses it", function()
    local options = kinds.options(kind.options, { "x", [2.5] = true, [3] = 3 })
    local before = kinds.options(options)
    expect.raise(kind.new, options)
    assert.same(before, options)
    for name in pairs(options) do
      assert.equal(type(name) == "string", tonumber(name) == nil, "a key has become another type")
    end
  end)

  it("reads the options that are in the table and asks no metamethod", function()
    local function fail()
      error "a metamethod was called"
    end
    local options = setmetatable(kinds.options(kind.options), { __index = fail, __pairs = fail, __len = fail })
    assert.equal(kind.new(), kind.new(options))
  end)

  it("refuses what is no number where it wants one, and names the option and its range", function()
    each_range(kind, function(option, range, new)
      for _, stranger in ipairs(strangers) do
        local message = expect.raise_saying("'" .. option .. "'", new, stranger)
        assert.is_truthy(message:find(range.says, 1, true), message)
      end
      expect.raise_saying("'" .. option .. "'", new, true)
      expect.raise_saying("'" .. option .. "'", new, false)
    end)
  end)

  it("refuses a number out of range, and names the option and its range", function()
    each_range(kind, function(option, range, new)
      for _, values in ipairs { range.bad, { NAN, -NAN, INFINITY, -INFINITY } } do
        for _, value in ipairs(values) do
          local message = expect.raise_saying("'" .. option .. "'", new, value)
          assert.is_truthy(message:find(range.says, 1, true), message)
        end
      end
    end)
  end)

  it("takes the numbers at the ends of each range", function()
    each_range(kind, function(_, range, new)
      for _, value in ipairs(range.good) do
        assert.equal(kind.name, new(value):kind())
      end
      for _, value in ipairs(range.huge or {}) do
        expect.raise_saying("bytes, limit", new, value)
      end
    end)
  end)

  it("takes nothing but true and false for an option that is one of them", function()
    for _, option in ipairs(kind.boolean or {}) do
      for _, value in ipairs { true, false } do
        assert.equal(value, kind.new(kinds.options(kind.options, { [option] = value })):info()[option])
      end
      for _, stranger in ipairs { "true", "false", "", 0, 1, {}, print } do
        local message = expect.raise_saying("'" .. option .. "'", kind.new,
          kinds.options(kind.options, { [option] = stranger }))
        assert.is_truthy(message:find("true or false", 1, true), message)
      end
    end
  end)

  it("refuses options that contradict each other, and names them", function()
    for _, case in ipairs(kind.against) do
      expect.raise_saying(case[2], kind.new, case[1])
    end
  end)

  it("does not begin its messages with a capital or end them with a full stop", function()
    local message = expect.raise(kind.new, kinds.options(kind.options, { capasity = 1 }))
    assert.is_truthy(message:find "%(%l" and not message:find "%.%)?$", message)
  end)

  measured("refuses at once, and touches no memory, what is larger than the limit", function()
    local growth = memory.growth(function()
      for _, options in ipairs(kind.huge) do
        local clock = os.clock()
        local needed = ("needs %.0f bytes, limit %.0f"):format(kind.bytes(options), ps.max_bytes())
        expect.raise_saying(needed, kind.new, options)
        assert.is_true(os.clock() - clock < 0.1)
      end
    end)
    assert.is_true(growth < 2 ^ 20, growth)
  end)

  it("keeps the limit in its own option max_bytes", function()
    local bytes = kind.bytes(kind.megabytes)
    local function limited(max_bytes)
      return kind.new(kinds.options(kind.megabytes, { max_bytes = max_bytes }))
    end
    assert.equal(kind.new(kind.megabytes), limited(bytes))
    expect.raise_saying(("needs %.0f bytes, limit %.0f"):format(bytes, bytes - 1), limited, bytes - 1)
    for _, bad in ipairs { 0, -1, 1.5, 2 ^ 54, NAN, INFINITY, "1000", true, {} } do
      local message = expect.raise_saying("'max_bytes'", limited, bad)
      assert.is_truthy(message:find("from 1 to 2^53", 1, true), message)
    end
  end)

  it("keeps the limit of the module where it has none of its own", function()
    local bytes = kind.bytes(kind.megabytes)
    local usual = ps.max_bytes()
    finally(function()
      ps.max_bytes(usual)
    end)
    assert.equal(bytes - 1, ps.max_bytes(bytes - 1))
    expect.raise_saying(("needs %.0f bytes, limit %.0f"):format(bytes, bytes - 1), kind.new, kind.megabytes)
    assert.equal(kind.name, kind.new(kinds.options(kind.megabytes, { max_bytes = bytes })):kind())
    ps.max_bytes(bytes)
    assert.equal(kind.name, kind.new(kind.megabytes):kind())
  end)

  it("plans what it would build, without building it", function()
    local plan = ps.plan(kind.name, kind.megabytes)
    assert.equal(kind.name, plan.kind)
    assert.equal(kind.bytes(kind.megabytes), plan.bytes)
    local info = kind.new(kind.megabytes):info()
    for name, value in pairs(kind.megabytes) do
      assert.equal(type(value) == "table" and #value or value, plan[name], name)
    end
    if kind.planned then
      assert.same(plan, ps.plan(kind.name, kind.planned))
    end
    for name, value in pairs(plan) do
      if name ~= "bytes" and name ~= "fp_rate" then -- info() has the rate of now
        assert.same(value, info[name], name)
      end
    end
    expect.raise_saying("'capasity'", ps.plan, kind.name, { capasity = 1 })
    for _, options in ipairs(kind.huge) do
      expect.raise_saying("bytes, limit", ps.plan, kind.name, options)
    end
  end)

  measured("allocates nothing for a plan", function()
    local options = kinds.options(kind.planned or kind.pages or kind.megabytes)
    local function plan()
      for _ = 1, 100 do
        ps.plan(kind.name, options)
      end
    end
    plan()
    local growth = memory.growth(plan)
    assert.is_true(growth < 2 ^ 18, growth)
  end)
end)

describe("the limit of the module", function()
  it("is 4 GiB at first, an integer where Lua has them, and refuses what is no size", function()
    assert.equal(2 ^ 32, ps.max_bytes())
    assert.equal("4294967296", ("%d"):format(ps.max_bytes()))
    for _, bad in ipairs { 0, -1, 1.5, 2 ^ 54, NAN, INFINITY, "1000", true, {} } do
      expect.raise(ps.max_bytes, bad)
    end
    assert.equal(2 ^ 32, ps.max_bytes())
  end)
end)
