-- What every sketch of quantiles promises, held against the sorted values themselves.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local quantiles = require "spec.support.quantiles"
local random = require "spec.support.random"

local TWO_53 = 2 ^ 53

-- n values, each of a function of the generator.
local function drawn(n, seed, value)
  local generator, values = random.new(seed), {}
  for i = 1, n do
    values[i] = value(generator, i)
  end
  return values
end

local function normal(generator)
  return math.sqrt(-2 * math.log(1 - generator:uniform())) * math.cos(2 * math.pi * generator:uniform())
end

local function lognormal(generator)
  return math.exp(2 * normal(generator))
end

local function repeated(pairs_of_values)
  local values = {}
  for _, pair in ipairs(pairs_of_values) do
    for _ = 1, pair[2] do
      values[#values + 1] = pair[1]
    end
  end
  return values
end

local data = {
  { name = "lognormal", values = drawn(20000, 1, lognormal), continuous = true },
  { name = "of both signs", values = drawn(20000, 2, function(g) return 1000 * normal(g) end), continuous = true },
  { name = "bimodal", values = drawn(10000, 3, function(g, i) return (i % 2 == 0 and 1 or 1000) + g:uniform() end) },
  { name = "few different", values = drawn(10000, 4, function(g) return g:integer(20) - 5 end) },
  { name = "three", values = { 3, -1, 2 } },
  { name = "two", values = { 7, 2 } },
  { name = "ascending", values = drawn(5000, 5, function(_, i) return i end), continuous = true },
  { name = "descending", values = drawn(5000, 6, function(_, i) return -i end), continuous = true },
  { name = "sawtooth", values = drawn(5000, 7, function(_, i) return i % 100 end) },
  { name = "growing in amplitude", values = drawn(5000, 8, function(_, i) return (-1) ^ i * i * i end) },
  { name = "with a heavy largest", values = repeated { { 3, 10 }, { 5, 10 }, { 8, 10 } } },
  { name = "with heavy small ones", values = repeated { { 1000, 26 }, { 3000, 11 }, { 9000, 2 } } },
}

quantiles.describe(describe, function(entry)
  local function fits(sorted, q, x)
    local off = entry.off(sorted, q, x)
    if off > 1 then
      error(("quantile %g is %.17g, %.3g times as far off as it may be"):format(q, x, off))
    end
  end

  it("has no quantiles, extremes or mean while it is empty", function()
    local sketch = entry.new()
    for _, name in ipairs { "min", "max", "mean" } do
      assert.is_nil(sketch[name](sketch))
    end
    assert.is_nil(sketch:quantile(0.5))
    assert.is_nil(sketch:quantiles { 0.5 })
    assert.equal(0, sketch:sum())
    assert.equal(0, sketch:rank(1))
    assert.equal(0, sketch:count())
  end)

  it("is exact for one value, equal values and one of weight 2", function()
    for _, x in ipairs { 123.25, -7, 0, 5e-324, 1.7e308, -1.7e308 } do
      for _, sketch in ipairs { entry.new():add(x), entry.new():add(x):add(x), entry.new():add(x, 2) } do
        for _, q in ipairs { 0, 0.1, 0.5, 0.9, 1 } do
          assert.equal(x, sketch:quantile(q))
        end
        assert.equal(x, sketch:min())
        assert.equal(x, sketch:max())
        assert.equal(0, x > -1.7e308 and sketch:rank(-1.7e308) or 0)
        assert.equal(1, sketch:rank(x))
        assert.equal(1, sketch:rank(1.75e308))
      end
    end
  end)

  for _, set in ipairs(data) do
    local sorted = quantiles.sorted(set.values)
    local n, least, largest = #sorted, sorted[1], sorted[#sorted]

    describe("of values that are " .. set.name, function()
      local sketch = entry.filled(set.values)

      it("has quantiles as near as it says, that never fall and stay within the extremes", function()
        local last = least
        for i = 0, 1000 do
          local x = sketch:quantile(i / 1000)
          assert.is_true(x >= last and x <= largest)
          fits(sorted, i / 1000, x)
          last = x
        end
        assert.equal(least, sketch:quantile(0))
        assert.equal(largest, sketch:quantile(1))
        assert.equal(least, sketch:min())
        assert.equal(largest, sketch:max())
        assert.equal(n, sketch:count())
      end)

      it("has ranks that never fall, from 0 to 1", function()
        local width, last = (largest - least + 2) / 1000, 0
        for i = 0, 1000 do
          local rank = sketch:rank(least - 1 + i * width)
          assert.is_true(rank >= last and rank <= 1)
          last = rank
        end
        assert.equal(0, sketch:rank(least - 1))
        assert.equal(1, sketch:rank(largest))
        assert.equal(1, sketch:rank(largest + 1))
      end)

      it("has at its quantiles the ranks that were asked for", function()
        for i = 1, 99 do
          local x = sketch:quantile(i / 100)
          local rank = sketch:rank(x)
          assert.is_true(rank >= i / 100 - 0.01 - 1 / n)
          if set.continuous then
            assert.is_true(rank <= i / 100 + 0.03 + 1 / n, ("rank %g of quantile %g"):format(rank, i / 100))
          end
        end
      end)

      it("has their sum and mean", function()
        local sum, magnitude = 0, 0
        for _, x in ipairs(sorted) do
          sum = sum + x
          magnitude = magnitude + math.abs(x)
        end
        assert.is_true(math.abs(sketch:sum() - sum) <= entry.sum * magnitude * 1.000001)
        assert.is_true(math.abs(sketch:mean() - sum / n) <= entry.sum * magnitude / n * 1.000001)
      end)

      it("answers as well when it is merged from parts, decoded after each", function()
        local whole = entry.new()
        for part = 1, 10 do
          local values = {}
          for i = part, n, 10 do
            values[#values + 1] = set.values[i]
          end
          whole = assert(ps.decode(whole:merge(entry.filled(values)):encode()))
        end
        for i = 0, 100 do
          fits(sorted, i / 100, whole:quantile(i / 100))
        end
        assert.equal(n, whole:count())
        assert.equal(least, whole:min())
        assert.equal(largest, whole:max())
      end)

      it("answers the same beside an empty one, either way", function()
        local before = sketch:encode()
        local both = entry.new():merge(sketch)
        sketch:merge(entry.new())
        assert.equal(before, sketch:encode())
        for i = 0, 100 do
          assert.equal(sketch:quantile(i / 100), both:quantile(i / 100))
        end
      end)

      it("answers with itself merged in as it does without", function()
        local twice, doubled = sketch:copy(), {}
        for i = 1, 2 * n do
          doubled[i] = sorted[math.ceil(i / 2)]
        end
        twice:merge(twice)
        assert.equal(2 * n, twice:count())
        for i = 0, 100 do
          fits(doubled, i / 100, twice:quantile(i / 100))
        end
      end)

      it("is by batches what it is value by value", function()
        local single, batches, at = entry.new(), entry.new(), 1
        for _, x in ipairs(set.values) do
          single:add(x)
        end
        for _, size in ipairs { 0, 1, 3, 1000, 24, 1, 1500, n } do
          local batch = {}
          for i = at, math.min(at + size - 1, n) do
            batch[#batch + 1] = set.values[i]
          end
          assert.equal(#batch, batches:add_many(batch))
          at = at + #batch
        end
        assert.equal(single, batches)
        assert.equal(single:encode(), batches:encode())
        assert.equal(single:encode(), entry.filled(set.values):encode())
      end)

      it("does not change by being asked", function()
        local asked = entry.new()
        for i, x in ipairs(set.values) do
          asked:add(x)
          if i % 7 == 0 or i < 5 then
            asked:quantile(0.3)
            asked:rank(x)
          end
          if i % 611 == 0 then
            asked:encode()
            asked:info()
            asked:sum()
          end
        end
        assert.equal(sketch, asked)
        assert.equal(sketch:encode(), asked:encode())
      end)
    end)
  end

  it("is finite up to the largest numbers", function()
    local sketch = entry.filled { -1.7976931348623157e308, 1.7976931348623157e308 }
    sketch:add(1e308, 2 ^ 40)
    fits({ 1e308 }, 0.5, sketch:quantile(0.5))
    fits({ 1e308 }, 0.5, sketch:mean())
    assert.equal(math.huge, sketch:sum())
    for i = 1, 3000 do
      sketch:add((-1) ^ i * 1e305 * (i % 1700))
    end
    for i = 0, 100 do
      assert.is_true(math.abs(sketch:quantile(i / 100)) <= 1.7976931348623157e308)
    end
  end)

  it("takes -0.0 for 0", function()
    assert.equal(entry.filled { 0 }, entry.filled { -0.0 })
    assert.equal(entry.filled { 0, 1 }:encode(), entry.filled { -0.0, 1 }:encode())
    assert.equal(math.huge, 1 / entry.filled { -0.0 }:min())
  end)

  describe("asked for a list of fractions", function()
    it("answers in the order of it, what comes twice twice", function()
      local sketch = entry.filled(data[1].values)
      local low, high = sketch:quantile(0.1), sketch:quantile(0.9)
      assert.is_true(low < high)
      assert.same({ high, low, high }, sketch:quantiles { 0.9, 0.1, 0.9 })
      assert.same({}, sketch:quantiles {})
    end)
  end)

  describe("with weights", function()
    it("has values that come so often", function()
      local values, weighted, generator = {}, entry.new(), random.new(9)
      for i = 1, 300 do
        local x, weight = 1 + 1000 * generator:uniform(), i % 30
        weighted:add(x, weight)
        for _ = 1, weight do
          values[#values + 1] = x
        end
      end
      local sorted = quantiles.sorted(values)
      assert.equal(#values, weighted:count())
      for i = 0, 100 do
        fits(sorted, i / 100, weighted:quantile(i / 100))
      end
      assert.is_true(math.abs(weighted:rank(500) - quantiles.rank(sorted, 500)) <= 0.03)
    end)

    it("is not changed by one of 0", function()
      local sketch = entry.filled { 4 }
      local before = sketch:encode()
      assert.equal(sketch, sketch:add(5, 0))
      assert.equal(before, sketch:encode())
      assert.equal(1, sketch:count())
    end)

    it("refuses what is no whole number, or too much together", function()
      local sketch = entry.new():add(5, 2)
      local before = sketch:encode()
      for _, bad in ipairs { -1, 0.5, 0 / 0, TWO_53 * 2, 2 ^ 63, math.huge, "1", {}, true } do
        expect.raise_saying("weight expected, an integer from 0 to 2^53", sketch.add, sketch, 5, bad)
      end
      expect.raise_saying("would pass 2^53", sketch.add, sketch, 1, TWO_53 - 1)
      expect.raise_saying("would pass 2^53", sketch.add, sketch, -1, TWO_53)
      assert.equal(before, sketch:encode())
    end)

    it("holds 2^53 in all, and then refuses more", function()
      local sketch, full = entry.filled { 5, 6 }, entry.new():add(-3, TWO_53 - 2)
      assert.equal(TWO_53, full:union(sketch):count())
      full:add(3)
      local before = full:encode()
      expect.raise_saying("would pass 2^53", full.merge, full, sketch)
      expect.raise_saying("would pass 2^53", full.merge, full, full)
      expect.raise_saying("would pass 2^53", full.add_many, full, { 1, 2 })
      assert.equal(before, full:encode())
      assert.equal(TWO_53 - 1, full:count())
      assert.equal(TWO_53, full:add(1):count())
    end)
  end)

  it("refuses what is no finite number, and changes nothing", function()
    local sketch = entry.filled { 1, 2, 3 }
    local before = sketch:encode()
    for _, bad in ipairs { 0 / 0, math.huge, -math.huge, "1", {}, true, io.stdout, print } do
      expect.raise_saying("value expected, a finite number", sketch.add, sketch, bad)
      expect.raise_saying("value expected, a finite number", sketch.rank, sketch, bad)
      expect.raise_saying("element 2: value expected, a finite number", sketch.add_many, sketch, { 1, bad, 3 })
    end
    expect.raise_saying("got nil", sketch.add, sketch)
    expect.raise(sketch.add_many, sketch, 5)
    expect.raise_saying("array expected", sketch.add_many, sketch, { a = 1 })
    assert.equal(before, sketch:encode())
    assert.equal(0, sketch:add_many {})
  end)

  it("refuses fractions that are percentages, or none", function()
    local empty, some = entry.new(), entry.filled { 1, 2 }
    for _, sketch in ipairs { empty, some } do
      for _, bad in ipairs { -0.001, 1.0000001, 50, 99, 0 / 0, "0.5", {}, true } do
        expect.raise_saying("q expected, a number from 0 to 1", sketch.quantile, sketch, bad)
        expect.raise_saying("element 2: q expected", sketch.quantiles, sketch, { 0.5, bad })
      end
      expect.raise_saying("got nil", sketch.quantile, sketch)
      expect.raise(sketch.quantiles, sketch, 0.5)
    end
    assert.equal(1, some:quantile(-0.0))
  end)
end)
