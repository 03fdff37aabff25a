-- A window goes through bytes whole, and bytes that are wrong are refused.

local ps = require "probsketch"
local container = require "probsketch.container"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"

local OPTIONS = { sketch = ps.hll, span = 100, slices = 10 }
local FIELDS = { span = 100, slices = 10, newest = 105 }

local now = 1050
local function clock()
  return now
end

local function load(bytes, more)
  return ps.window(kinds.options({ bytes = bytes, clock = clock }, more))
end

local function sketch(...)
  local hll = ps.hll()
  hll:add_many { ... }
  return hll:encode()
end

-- The bytes of a window with some numbers replaced and such parts.
local function written(numbers, parts)
  local fields = {}
  for i, name in ipairs { "span", "slices", "newest" } do
    fields[i] = { name, (numbers[name] or FIELDS[name]) }
  end
  return container.write("window", fields, parts)
end

local PARTS = { { "0", sketch "a" }, { "3", sketch("b", "c") }, { "10", sketch "d" } }
local BYTES = written({}, PARTS)

describe("a window from bytes", function()
  before_each(function()
    now = 1050
  end)

  it("is what the bytes say", function()
    local window = assert(load(BYTES))
    assert.equal(4, window:count())
    expect.same_bytes(BYTES, window:encode())
    now = 1060 -- "d" came before 960
    assert.equal(3, window:count())
    now = 1130
    assert.equal(1, window:count())
    now = 1160
    assert.equal(0, window:count())
    expect.same_bytes(written({ newest = 116 }, { { "0", sketch() } }), window:encode())
  end)

  it("ages while nobody has it", function()
    for time, count in pairs { [1050] = 4, [1059] = 4, [1060] = 3, [1129] = 3, [1130] = 1, [1160] = 0, [10 ^ 9] = 0,
      [1049] = 4, [0] = 4, [-10 ^ 9] = 4 } do
      now = time
      assert.equal(count, assert(load(BYTES)):count(), time)
    end
  end)

  it("goes on where it was", function()
    local window = assert(load(BYTES))
    window:add "e"
    now = 1060
    window:add "f"
    expect.same_bytes(written({ newest = 106 }, {
      { "0", sketch "f" }, { "1", sketch("a", "e") }, { "4", sketch("b", "c") },
    }), window:encode())
  end)

  it("needs no more than its bytes, and fits what else is asked for", function()
    for _, more in ipairs { {}, OPTIONS, { span = 100 }, { slices = 10 }, { sketch = ps.hll } } do
      expect.same_bytes(BYTES, assert(load(BYTES, more)):encode())
    end
    for says, more in pairs {
      ["span mismatch (expected 50, got 100)"] = { span = 50 },
      ["slices mismatch (expected 20, got 10)"] = { slices = 20 },
      ["slice 0: precision mismatch (expected 10, got 14)"] = { sketch = function()
        return ps.hll { precision = 10 }
      end },
      ["slice 0: kind mismatch (expected ddsketch, got hyperloglog)"] = { sketch = ps.ddsketch },
      ["slice 0: seed mismatch (expected 7, got 0)"] = { sketch = function() return ps.hll { seed = 7 } end },
    } do
      assert.equal(says, expect.refusal("mismatch", load(BYTES, more)))
    end
    expect.raise_saying("option 'span'", load, BYTES, { span = -1 })
    expect.raise_saying("unknown option 'spam'", load, BYTES, { spam = 1 })
  end)

  it("keeps a random seed", function()
    local first = ps.hll { seed = "random" }
    local window = ps.window(kinds.options(OPTIONS, { clock = clock, sketch = function()
      return ps.hll { seed = first }
    end }))
    window:add "a"
    local loaded = assert(load(window:encode()))
    loaded:add "a"
    now = 1090
    loaded:add "a"
    assert.equal(1, loaded:count())
    assert.is_true(loaded:compatible(first))
    expect.refusal("mismatch", load(window:encode(), OPTIONS))
  end)

  it("is the same string for what is the same", function()
    local one = ps.window(kinds.options(OPTIONS, { clock = clock }))
    expect.same_bytes(written({}, { { "0", sketch() } }), one:encode())
    now = 1000
    one:add "a"
    now = 1020
    one:add_many {} -- a slice without anything
    now = 1050
    one:add_many {}
    now = 1000
    local two = ps.window(kinds.options(OPTIONS, { clock = clock }))
    two:add "a"
    now = 1050
    expect.same_bytes(two:encode(), one:encode())
    expect.same_bytes(written({}, { { "0", sketch() }, { "5", sketch "a" } }), one:encode())
  end)

  it("is refused when it is cut short or changed", function()
    for length = 0, #BYTES - 1 do
      expect.refusal("truncated", load(BYTES:sub(1, length)))
    end
    for at = 1, #BYTES do
      local window, message, code = load(envelope.flipped(BYTES, at, at % 8))
      expect.refusal(nil, window, message, code)
    end
  end)

  it("is refused when it is something else", function()
    expect.refusal("magic", load("something else, and long enough to be something"))
    expect.refusal("kind", load(ps.hll():encode()))
    expect.refusal("kind", load(container.write("lsh", {}, {})))
    expect.refusal("corrupt", load(container.write("window", {}, PARTS)))
    local says = "not a sketch but a window, loaded by probsketch.window{ bytes = ... }"
    assert.equal(says, expect.refusal("kind", ps.decode(BYTES)))
  end)

  it("is refused with numbers that no window has", function()
    for name, values in pairs {
      span = { 0, -1, -2 ^ -1074 },
      slices = { 0, -1, 1.5, 100001, 2 ^ 53, 1e300 },
      newest = { 0.5, 2 ^ 53, -2 ^ 53, 1e300 },
    } do
      for _, value in ipairs(values) do
        expect.refusal("range", load(written({ [name] = value }, PARTS)))
      end
    end
  end)

  it("is refused with slices that the clock is out of range for, but for those that the options name", function()
    local bytes = written({ span = 2 ^ -1074 }, PARTS)
    expect.refusal("range", load(bytes))
    expect.refusal("range", load(bytes, { span = 2 ^ -1074 }))
    for _, options in ipairs {
      { span = 2 ^ -1074, slices = 10 },
      { clock = function() return 0 / 0 end },
    } do
      assert.has_error(function() load(bytes, options) end)
    end
  end)

  it("is refused with parts that no window has", function()
    for _, parts in ipairs {
      {},
      { { "1", sketch "a" } },
      { { "", sketch "a" } },
      { { "00", sketch "a" } },
      { { " 0", sketch "a" } },
      { { "0x0", sketch "a" } },
      { { "0.0", sketch "a" } },
      { { "-0", sketch "a" } },
      { { "0", sketch "a" }, { "11", sketch "b" } },
      { { "0", sketch "a" }, { "0", sketch "b" } },
      { { "0", sketch "a" }, { "03", sketch "b" } },
      { { "0", sketch "a" }, { "1e0", sketch "b" } },
      { { "0", sketch "a" }, { ("9"):rep(400), sketch "b" } },
      { { "0", sketch "a" }, { "3", sketch "b" }, { "2", sketch "c" } },
      { { "0", sketch "a" }, { "3", sketch "b" }, { "3", sketch "c" } },
      { { "0", sketch "a" }, { "3", sketch() } },
    } do
      expect.refusal("corrupt", load(written({}, parts)))
    end
    expect.refusal("truncated", load(written({}, { { "0", "" } })))
    expect.refusal("magic", load(written({}, { { "0", sketch "a" }, { "1", "nonsense" } })))
    local message = expect.refusal("checksum", load(written({}, { { "0", sketch "a" },
      { "1", envelope.flipped(sketch "b", 45, 1) } })))
    assert.is_truthy(message:find("^slice 1: "), message)
    expect.refusal("mismatch", load(written({}, { { "0", sketch "a" }, { "1", ps.hll { precision = 5 }:encode() } })))
    expect.refusal("mismatch", load(written({}, { { "0", ps.fuse { keys = { "a" } }:encode() } })))
    expect.refusal("kind", load(written({}, { { "0", written({}, PARTS) } })))
  end)

  it("takes the limit of its sketches from those that are made, as soon as what was loaded has left", function()
    local options = kinds.options(OPTIONS, { sketch = function()
      return ps.scalable_bloom { capacity = 100, max_bytes = 2000 }
    end })
    local saved = ps.window(kinds.options(options, { clock = clock }))
    saved:add "a"
    local window = assert(load(saved:encode(), options))
    for step = 1, 30 do
      now = 1050 + 10 * step
      local i, code = 0
      repeat
        i, code = i + 1, (select(3, window:add(i)))
      until code or i == 2000
      assert.equal("full", code)
    end
  end)

  it("is refused above the limit of a sketch", function()
    local bytes = written({}, { { "0", ps.bloom { capacity = 1e5 }:encode() } })
    local limit = ps.max_bytes()
    ps.max_bytes(10000)
    finally(function() ps.max_bytes(limit) end)
    expect.refusal("limit", load(bytes))
  end)

  it("is refused above the limit of the whole, however few bytes it is", function()
    local far_apart = ps.ddsketch { relative_accuracy = 1e-4, max_bins = 50000 }
    far_apart:add(1e-300):add(1e300)
    local parts, each = {}, far_apart:bytes()
    for age = 0, 50 do
      parts[age + 1] = { ("%d"):format(age), far_apart:encode() }
    end
    local bytes = written({ slices = 50, newest = 525 }, parts)
    assert.is_true(#bytes < 10000 and 51 * each > 2e7)
    assert.equal(102, assert(load(bytes)):count())
    assert.equal(102, assert(load(bytes, { max_bytes = 51 * each })):count())
    for _, limit in ipairs { 51 * each - 1, 10 * each, each, 1 } do
      local message = expect.refusal("limit", load(bytes, { max_bytes = limit }))
      local slices = math.floor(limit / each) + 1
      assert.equal(("needs %.0f bytes for the first %d of 51 slices, limit %.0f (max_bytes)"):format(
        slices * each, slices, limit), message)
    end
    local usual = ps.max_bytes()
    finally(function() ps.max_bytes(usual) end)
    ps.max_bytes(20 * each)
    expect.refusal("limit", load(bytes))
    assert.equal(102, assert(load(bytes, { max_bytes = 51 * each })):count())
  end)
end)
