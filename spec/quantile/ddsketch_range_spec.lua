-- A ddsketch with a range: all its bins are there from the beginning, and it answers as one without does.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local random = require "spec.support.random"
local unpack = table.unpack or unpack -- luacheck: ignore 113

local FLAT = 1 -- of the flags in the header

local function drawn(seed, n, low, high)
  local generator, values = random.new(seed), {}
  for i = 1, n do
    values[i] = low * (high / low) ^ generator:uniform() * (generator:integer(3) == 1 and -1 or 1)
  end
  return values
end

local function filled(options, values)
  local sketch = ps.ddsketch(options)
  sketch:add_many(values)
  return sketch
end

local function answers(sketch)
  local list = { sketch:count(), sketch:min(), sketch:max(), sketch:sum(), sketch:mean() }
  for i = 0, 200 do
    list[#list + 1] = sketch:quantile(i / 200)
    list[#list + 1] = sketch:rank(sketch:min() * (1 - i / 200) + sketch:max() * (i / 200))
  end
  return list
end

describe("a ddsketch with a range", function()
  it("answers as one without, of values in the range", function()
    for seed, options in ipairs {
      { relative_accuracy = 0.01, min_value = 1e-3, max_value = 1e6 },
      { relative_accuracy = 0.3, min_value = 0.7, max_value = 7e7 },
      { relative_accuracy = 1e-3, min_value = 2.3e-308, max_value = 2.3e-300 },
      { relative_accuracy = 0.01, min_value = 1e300, max_value = 1.7e308 },
    } do
      local values = drawn(seed, 3000, options.min_value, options.max_value)
      for _, x in ipairs { 0, options.min_value, options.max_value, -options.min_value, -options.max_value } do
        values[#values + 1] = x
      end
      local ranged = filled(options, values)
      local plain = filled({ relative_accuracy = options.relative_accuracy, max_bins = 40000 }, values)
      assert.same(answers(plain), answers(ranged))
      local a, b = plain:info(), ranged:info()
      for _, name in ipairs { "negative_bins", "positive_bins", "negatives", "zeros", "positives" } do
        assert.equal(a[name], b[name], name)
      end
      assert.is_false(b.clamped)
      assert.is_false(b.collapsed)
      assert.is_nil(a.clamped)
    end
  end)

  it("has a size that follows from accuracy and range, whatever is added", function()
    for _, case in ipairs { { 0.01, 1e-3, 1e6 }, { 0.1, 1, 2 }, { 1e-3, 1e-9, 1e9 }, { 0.5, 2.3e-308, 1.7e308 } } do
      local options = { relative_accuracy = case[1], min_value = case[2], max_value = case[3] }
      local plan = ps.plan("ddsketch", options)
      -- As many as the range has powers of gamma, 1 % more for the approximate logarithm, and a part at either end.
      local powers = math.log(case[3] / case[2]) / math.log((1 + case[1]) / (1 - case[1]))
      if case[3] / case[2] == math.huge then
        powers = (math.log(case[3]) - math.log(case[2])) / math.log((1 + case[1]) / (1 - case[1]))
      end
      assert.is_true(plan.max_bins >= powers and plan.max_bins <= powers * 1.011 + 2, plan.max_bins)
      assert.equal((3 + 2 * plan.max_bins) * 8, plan.bytes)
      local sketch = ps.ddsketch(options)
      local bytes, size = sketch:bytes(), #sketch:encode()
      assert.is_true(bytes >= plan.bytes and bytes < plan.bytes + 1000)
      for _, x in ipairs { 1, -1, 0, 1e-300, 1e300, -1e300 } do
        sketch:add(x, 1000)
      end
      assert.equal(bytes, sketch:bytes())
      assert.equal(size, #sketch:encode())
      assert.equal(FLAT, envelope.open(sketch:encode()).flags)
      assert.equal(plan.bytes, envelope.open(sketch:encode()).payload_size)
    end
    assert.equal(0, envelope.open(ps.ddsketch():encode()).flags)
    expect.raise_saying("bytes, limit 1000", ps.ddsketch, { min_value = 1, max_value = 1e6, max_bytes = 1000 })
  end)

  it("counts magnitudes below it with the zeros, and larger ones in its last bin, and says so", function()
    local options = { relative_accuracy = 0.01, min_value = 1, max_value = 1000 }
    local sketch = ps.ddsketch(options)
    sketch:add(0.999999):add(-0.5):add(0):add(1)
    local info = sketch:info()
    assert.same({ 3, 0, 1, false }, { info.zeros, info.negatives, info.positives, info.clamped })
    assert.same({ -0.5, 1 }, { sketch:min(), sketch:max() })
    assert.equal(0, sketch:quantile(0.34))

    sketch:add(1000)
    assert.is_false(sketch:info().clamped)
    sketch:add(1000.0001, 2) -- in the same bin
    assert.is_false(sketch:info().clamped)
    for _, large in ipairs { 1100, 1e9, -1e9 } do
      local clamped = sketch:copy():add(large, 100)
      assert.is_true(clamped:info().clamped)
      assert.equal(sketch:count() + 100, clamped:count())
      assert.equal(large, large > 0 and clamped:max() or clamped:min())
      local median = clamped:quantile(0.5)
      assert.is_true(math.abs(median) > 980 and math.abs(median) <= 1020, median)
      assert.equal(large > 0 and sketch:info().positives + 100 or 100,
        large > 0 and clamped:info().positives or clamped:info().negatives)
      assert.equal(1, clamped:rank(large > 0 and large or 2000))
      assert.equal(clamped, assert(ps.decode(clamped:encode())))
      assert.is_true(assert(ps.decode(clamped:encode())):info().clamped)
    end
  end)

  it("merges to the byte, in any order, values outside of the range included", function()
    local options = { relative_accuracy = 0.05, min_value = 0.1, max_value = 100 }
    local values = drawn(5, 900, 1e-3, 1e4)
    local whole, parts = filled(options, values), {}
    for i = 1, 3 do
      parts[i] = ps.ddsketch(options)
    end
    for i = #values, 1, -1 do
      parts[i % 3 + 1]:add(values[i])
    end
    for _, union in ipairs { ps.union(unpack(parts)), ps.union(parts[3], parts[1], parts[2]),
      ps.ddsketch(options):merge(unpack(parts)), parts[2]:copy():merge(parts[3], parts[1]) } do
      expect.same_bytes(whole:encode(), union:encode())
      assert.equal(whole, union)
      assert.same(answers(whole), answers(union))
    end
    local copy = whole:copy()
    copy:add(1):clear()
    expect.same_bytes(ps.ddsketch(options):encode(), copy:encode())
    assert.equal(900, whole:count())
  end)

  it("does not merge with one without, or of another range", function()
    local ranged = ps.ddsketch { min_value = 1, max_value = 100 }
    for says, options in pairs {
      ["min_value mismatch (expected 1, got 0)"] = {},
      ["min_value mismatch (expected 1, got 2)"] = { min_value = 2, max_value = 100 },
      ["max_value mismatch (expected 100, got 101)"] = { min_value = 1, max_value = 101 },
      ["relative_accuracy mismatch (expected 0.01, got 0.02)"] = { min_value = 1, max_value = 100,
        relative_accuracy = 0.02 },
    } do
      local fits, difference = ranged:compatible(ps.ddsketch(options))
      assert.is_false(fits)
      assert.equal(says, difference)
    end
  end)

  it("refuses weights beyond 2^53 and changes nothing", function()
    local sketch = ps.ddsketch { min_value = 1, max_value = 100 }
    sketch:add(5, 2 ^ 53 - 1)
    local bytes = sketch:encode()
    expect.raise_saying("2^53", sketch.add, sketch, 7, 2)
    expect.raise_saying("2^53", sketch.add_many, sketch, { 7, 0 })
    expect.raise_saying("2^53", sketch.merge, sketch, sketch:copy())
    expect.same_bytes(bytes, sketch:encode())
    assert.equal(5, sketch:quantile(0.5))
  end)

  it("has the words that docs/FORMAT.md describes", function()
    local options = { relative_accuracy = 0.25, min_value = 0.5, max_value = 50 }
    local sketch = ps.ddsketch(options)
    local generator = random.new(17)
    local function words()
      local payload, list = envelope.open(sketch:encode()).payload, {}
      for at = 1, #payload, 8 do
        list[#list + 1] = payload:sub(at, at + 7)
      end
      return list
    end
    local bins = ps.plan("ddsketch", options).max_bins
    -- Values of one bin have one word, in the order of their magnitudes: negative ones first.
    local last = 0
    for _, sign in ipairs { -1, 1 } do
      local x = 0.5
      while x <= 50 do
        sketch:clear():add(sign * x, 3)
        local found
        for at, word in ipairs(words()) do
          if at > 3 and word ~= ("\0"):rep(8) then
            assert.is_nil(found)
            found = at - 3
            assert.equal(3, envelope.number(word))
          end
        end
        assert.is_true(found == last or found == last + 1, found)
        last = found
        x = x * (1 + 0.1 * generator:uniform())
      end
      assert.equal(sign < 0 and bins or 2 * bins, last)
    end
    -- The head: extremes as words in the order of the numbers.
    sketch:clear():add(0, 7):add(-1.5):add(2.5)
    assert.equal(envelope.hexadecimal "0000000000000007", words()[1])
    assert.equal(envelope.hexadecimal "bff8000000000000", words()[2]) -- the bits of -1.5, the complement taken twice
    assert.equal(envelope.hexadecimal "c004000000000000", words()[3]) -- of 2.5 with the sign turned
    sketch:clear():add(2.5)
    assert.equal(envelope.hexadecimal "3ffbffffffffffff", words()[2])
    for _, word in ipairs(({ sketch:clear(), words() })[2]) do
      assert.equal(("\0"):rep(8), word)
    end
  end)

  it("loads from bytes that were written while it changed, and gives what the bins say", function()
    local options = { relative_accuracy = 0.01, min_value = 1, max_value = 1000 }
    local values = drawn(9, 400, 1, 1000)
    local whole = filled(options, values)
    local bytes = whole:encode()
    local payload = envelope.open(bytes).payload
    local none, least, largest = ("\0"):rep(8), payload:sub(9, 16), payload:sub(17, 24)
    for _, head in ipairs { none .. none, least .. none, none .. largest,
      envelope.hexadecimal "bff8000000000000" .. envelope.hexadecimal "bff8000000000000" } do -- -1.5 and 1.5
      local torn = envelope.changed(bytes, { payload = payload:sub(1, 8) .. head .. payload:sub(25) })
      local sketch = assert(ps.decode(torn))
      expect.same_bytes(torn, sketch:encode())
      assert.is_true(sketch:min() <= whole:min() and sketch:min() >= whole:min() * 1.021)
      assert.is_true(sketch:max() >= whole:max() and sketch:max() <= whole:max() * 1.021)
      for i = 1, 99 do
        assert.equal(whole:quantile(i / 100), sketch:quantile(i / 100))
      end
      sketch:add(-2e6):add(3e6)
      assert.same({ -2e6, 3e6, 402 }, { sketch:min(), sketch:max(), sketch:count() })
      assert.equal(whole:add(-2e6):add(3e6), sketch)
      whole = filled(options, values)
    end
    payload = payload:sub(1, 24) .. none:rep(#payload / 8 - 3)
    -- A single value with two extremes.
    local one = ps.ddsketch(options):add(2)
    local single = envelope.open(one:encode()).payload
    single = assert(ps.decode(envelope.changed(bytes, { payload = single:sub(1, 8) .. least .. single:sub(17) })))
    assert.equal(single:min(), single:max())
    assert.equal(single:max(), single:quantile(1))
    assert.is_true(math.abs(single:quantile(0) - 2) < 0.05)
    local nothing = assert(ps.decode(envelope.changed(bytes, { payload = payload })))
    assert.same({ 0, 0 }, { nothing:count(), nothing:sum() })
    assert.is_nil(nothing:min())
    assert.is_nil(nothing:quantile(0.5))
    nothing:add(7)
    assert.same({ 7, 7 }, { nothing:min(), nothing:max() })
    assert.equal(ps.ddsketch(options):add(7), nothing)
  end)

  it("goes into a window", function()
    local now = 0
    local window = ps.window { span = 10, slices = 2, clock = function() return now end,
      sketch = function() return ps.ddsketch(kinds.options({ min_value = 1, max_value = 1e6 })) end }
    for i = 1, 40 do
      now = i
      window:add(i)
    end
    assert.equal(40, window:max())
    assert.equal(30, window:min())
    assert.is_false(window:info().merged.clamped)
  end)
end)
