-- The module: loaded as often as one likes, leaving no trace, and naming what it is.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local process = require "spec.support.process"

local NAMES = { "probsketch", "probsketch.core" }

-- Runs f with nothing loaded of the module; puts all back.
local function unloaded(f)
  local loaded = {}
  for _, name in ipairs(NAMES) do
    loaded[name] = package.loaded[name]
    package.loaded[name] = nil
  end
  local ok, problem = pcall(f)
  for _, name in ipairs(NAMES) do
    package.loaded[name] = loaded[name]
    package.preload[name] = nil
  end
  if not ok then
    error(problem, 0)
  end
end

describe("the module", function()
  it("is the same table however often it is required", function()
    assert.equal(ps, require "probsketch")
  end)

  it("sets no global", function()
    local output = process.run [[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      local ps = require "probsketch"
      local sketch = ps.bloom { capacity = 10 }
      sketch:add "a"
      ps.decode(sketch:encode())
      for name in pairs(_G) do
        if not before[name] then print(name) end
      end
    ]]
    assert.equal("", output)
  end)

  it("needs nothing but itself and what comes with Lua", function()
    local output = process.run [[
      local before = { bit = true, ffi = true }
      for name in pairs(package.loaded) do before[name] = true end
      require "probsketch"
      for name in pairs(package.loaded) do
        if not before[name] and not name:find "^probsketch" then print(name) end
      end
    ]]
    assert.equal("", output)
  end)

  it("works with sketches made before it was loaded anew", function()
    unloaded(function()
      for _, kind in ipairs(kinds) do
        local old = kind.fill(kind.new(), 1, 50)
        local fresh = require "probsketch"
        assert.is_false(rawequal(ps, fresh))
        assert.equal(kind.name, fresh.kind(old))
        local new, other = kind.fill(fresh[kind.name](kind.options), 51, 60), kind.fill(kind.new(), 51, 60)
        assert.equal(other, new)
        if not kind.immutable then
          local expected = ps.union(old, other)
          assert.equal(expected, fresh.union(old, new))
          assert.equal(ps.union(other, old), ps.union(new, old))
          assert.equal(expected, old:merge(new))
          assert.is_true(old:compatible(new))
        end
        assert.equal(old, fresh.decode(old:encode()))
        old:close()
        expect.raise_saying("closed", old.count, old)
      end
    end)
  end)

  it("keeps its limit when it is loaded anew", function()
    local usual = ps.max_bytes()
    finally(function()
      ps.max_bytes(usual)
    end)
    ps.max_bytes(12345678)
    unloaded(function()
      assert.equal(12345678, require "probsketch".max_bytes())
    end)
  end)

  it("says to restart the host process when the C module is of another age", function()
    local abi = require "probsketch.core".abi
    for _, other in ipairs { abi + 1, 0, "none" } do
      unloaded(function()
        package.preload["probsketch.core"] = function()
          return { abi = other ~= "none" and other or nil }
        end
        local message = expect.raise_saying("restart the host process", require, "probsketch")
        assert.is_truthy(message:find(other == "none" and "nil" or ("%d"):format(other), 1, true), message)
        assert.is_truthy(message:find(("%d"):format(abi), 1, true), message)
      end)
    end
  end)

  it("has a version", function()
    assert.is_truthy(ps.VERSION:find "^%d+%.%d+%.%d+")
  end)

  it("has nothing but functions and the version", function()
    for name, value in pairs(ps) do
      assert.equal(name == "VERSION" and "string" or "function", type(value), name)
    end
  end)

  it("has no kind that these shared specs leave out", function()
    local known = {}
    for _, kind in ipairs(kinds) do
      known[kind.name] = true
      known[kind.alias or kind.name] = true
    end
    local n = 0
    for name in pairs(ps) do
      local _, problem = pcall(ps.plan, name, { no_such_option = true })
      if not tostring(problem):find "unknown kind" then
        assert.is_true(known[name], name)
        n = n + 1
      end
    end
    assert.is_true(n >= #kinds)
  end)
end)

describe("ps.kind", function()
  it("names the kind of a sketch, and of nothing else", function()
    for _, kind in ipairs(kinds) do
      local sketch = kind.new()
      assert.equal(kind.name, ps.kind(sketch))
      sketch:close()
      assert.equal(kind.name, ps.kind(sketch))
    end
    for _, stranger in ipairs { 1, "bloom", true, {}, print, io.stdout, coroutine.create(function() end) } do
      assert.is_nil(ps.kind(stranger))
    end
    assert.is_nil(ps.kind(nil))
    expect.raise(ps.kind)
  end)
end)

describe("ps.plan", function()
  it("refuses an unknown kind and what is no name of one", function()
    for _, bad in ipairs { "", "blom", "Bloom", "bloom\0", 1, true, {} } do
      expect.raise(ps.plan, bad, {})
    end
    expect.raise(ps.plan)
  end)

  it("takes a kind by its other name", function()
    for _, kind in ipairs(kinds) do
      if kind.alias then
        assert.same(ps.plan(kind.name, kind.options), ps.plan(kind.alias, kind.options))
        assert.equal(kind.name, ps.plan(kind.alias, kind.options).kind)
      end
    end
  end)
end)
