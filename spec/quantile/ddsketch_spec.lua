-- The answers of a ddsketch, held against the sorted values themselves.

local ps = require "probsketch"
local random = require "spec.support.random"
local unpack = table.unpack or unpack -- luacheck: ignore 113

local TWO_53 = 2 ^ 53

local function sorted(values)
  local copy = {}
  for i, x in ipairs(values) do
    copy[i] = x
  end
  table.sort(copy)
  return copy
end

-- The value at a fraction of the sorted ones: number floor(q (n - 1)), counted from 0.
local function at(in_order, q)
  return in_order[math.floor(q * (#in_order - 1)) + 1]
end

local function near(truth, x, accuracy, name)
  assert.is_true(math.abs(x - truth) <= accuracy * math.abs(truth),
    ("%s is %.17g, in truth %.17g"):format(name, x, truth))
end

-- Holds every answer against the values; `from` is the least fraction that is right.
local function check(sketch, values, accuracy, from)
  local in_order = sorted(values)
  local n, sum, least, last = #in_order, 0, in_order[1], nil
  assert.equal(n, sketch:count())
  assert.equal(least, sketch:min())
  assert.equal(in_order[n], sketch:max())
  for i = 0, 1000 do
    local q = i / 1000
    local x = sketch:quantile(q)
    assert.is_true(x >= least and x <= in_order[n] and (last == nil or x >= last), "not monotone at " .. q)
    if q >= (from or 0) then
      near(at(in_order, q), x, accuracy, "quantile " .. q)
    end
    last = x
  end
  assert.equal(least, sketch:quantile(0))
  assert.equal(in_order[n], sketch:quantile(1))
  if not from and least >= 0 then
    for _, x in ipairs(in_order) do
      sum = sum + x
    end
    near(sum, sketch:sum(), accuracy * (1 + 1e-9), "sum")
    near(sum / n, sketch:mean(), accuracy * (1 + 1e-9), "mean")
  end
end

local function filled(options, values)
  local sketch = ps.ddsketch(options)
  assert.equal(#values, sketch:add_many(values))
  return sketch
end

-- n values, each of a function of a uniform number.
local function drawn(seed, n, value)
  local generator, values = random.new(seed), {}
  for i = 1, n do
    values[i] = value(generator:uniform())
  end
  return values
end

local function log_uniform(low, high)
  return function(u)
    return low * (high / low) ^ u
  end
end

describe("ddsketch", function()
  describe("quantiles", function()
    for _, accuracy in ipairs { 0.001, 0.01, 0.05, 0.5 } do
      it(("are within %g of the values at those fractions"):format(accuracy), function()
        local options = { relative_accuracy = accuracy, max_bins = 40000 }
        for seed, value in ipairs {
          log_uniform(1e-6, 1e11),
          function(u) return u end,
          function(u) return math.exp(u * 20 - 10) end,
          function(u) return (u - 0.5) * 1000 end,
          function(u) return math.floor(u * 10) - 4 end,
          function(u) return u < 0.3 and -log_uniform(1e-3, 1e5)(u / 0.3) or u < 0.5 and 0 or u * 1e6 end,
        } do
          local values = drawn(seed, 3000, value)
          check(filled(options, values), values, accuracy)
        end
      end)
    end

    it("are within 1 % from 1e-6 to 1e11, of both signs, with the bins that there are by default", function()
      local values = drawn(7, 5000, log_uniform(1e-6, 1e11))
      for i = 1, #values, 3 do
        values[i] = -values[i]
      end
      local sketch = filled({}, values)
      assert.is_false(sketch:info().collapsed)
      check(sketch, values, 0.01)
    end)

    it("count negative values and zeros like others", function()
      local values = { -20, -2, 0, 0, 2, 20 }
      local sketch = filled({}, values)
      check(sketch, values, 0.01)
      assert.equal(0, sketch:quantile(0.4))
      assert.equal(0, sketch:quantile(0.5))
    end)

    it("count magnitudes below the least normal number as 0, and keep them as extremes", function()
      local sketch = ps.ddsketch { max_bins = 40000 }
      for _, x in ipairs { 5e-324, -5e-324, 2.3e-308, 1 } do
        sketch:add(x, 10)
      end
      for _, stage in ipairs { sketch, sketch:union(sketch:copy():clear()), sketch:copy():clear():union(sketch),
        assert(ps.decode(sketch:encode())) } do
        assert.equal(40, stage:count())
        assert.equal(20, stage:info().zeros)
        assert.equal(-5e-324, stage:quantile(0))
        assert.equal(0, stage:quantile(0.3))
        near(2.3e-308, stage:quantile(0.6), 0.01, "quantile 0.6")
        assert.equal(1, stage:quantile(1))
      end
    end)

    it("are finite up to the largest numbers", function()
      local sketch = filled({}, { -1.7976931348623157e308, 1.7976931348623157e308 }):add(1e308, TWO_53 / 4)
      near(1e308, sketch:quantile(0.5), 0.01, "median")
      near(1e308, sketch:mean(), 0.01, "mean")
      assert.equal(math.huge, sketch:sum())
    end)
  end)

  it("ranks values by the fraction that is not above them, to the width of a bin", function()
    local values = drawn(11, 4000, function(u) return (u - 0.4) * 1000 end)
    local sketch, in_order, last = filled({}, values), sorted(values), 0
    local function fraction(x)
      local n = 0
      while n < #in_order and in_order[n + 1] <= x do
        n = n + 1
      end
      return n / #in_order
    end
    for x = -401, 601, 1.5 do
      local rank, width = sketch:rank(x), math.abs(x) * 0.0203
      assert.is_true(rank >= last and rank >= fraction(x - width) and rank <= fraction(x + width), "rank of " .. x)
      last = rank
    end
    assert.equal(0, sketch:rank(sketch:min() - 1))
    assert.equal(1, sketch:rank(sketch:max() + 1))
    for q = 0, 1, 0.01 do
      assert.is_true(sketch:rank(sketch:quantile(q)) >= q - 1 / #values)
    end
  end)

  describe("bins", function()
    it("are collapsed from the smallest magnitudes on, and nothing is lost", function()
      local options = { relative_accuracy = 1 / 1024, max_bins = 2048 }
      local sketch = ps.ddsketch(options):add(1, 100):add(2 ^ 30 - 1)
      local info = sketch:info()
      assert.equal(101, sketch:count())
      assert.equal(101, info.positives + info.zeros + info.negatives)
      assert.is_true(info.collapsed)
      assert.equal(2 ^ 30 - 1, sketch:quantile(1))
      assert.equal(1, sketch:min())

      local values = drawn(5, 10000, log_uniform(1e-100, 1e100))
      sketch = filled(options, values)
      info = sketch:info()
      assert.equal(10000, info.positives)
      assert.is_true(info.positive_bins <= 2048)
      check(sketch, values, 1 / 1024, 0.996) -- of 200 decades it keeps 1.7
    end)

    it("of one sign collapse without those of the other, at both ends of the values", function()
      local values = {}
      for i = 1, 200 do
        values[i] = i <= 100 and -2 ^ (i - 50) or 2 ^ (i - 150)
      end
      local sketch = filled({ relative_accuracy = 0.1, max_bins = 64 }, values)
      local in_order = sorted(values)
      for _, q in ipairs { 0.01, 0.02, 0.04, 0.96, 0.98, 0.99 } do
        near(at(in_order, q), sketch:quantile(q), 0.1, "quantile " .. q)
      end
    end)

    it("are the same in any order and however the values are split, collapsed or not", function()
      for _, max_bins in ipairs { 1, 20, 300, 20000 } do
        local options = { max_bins = max_bins }
        local values = drawn(3, 600, function(u) return (u - 0.3) * 1e3 ^ (u * 3) end)
        local whole, backwards, single = filled(options, values), ps.ddsketch(options), ps.ddsketch(options)
        local parts = {}
        for i = 1, 4 do
          parts[i] = ps.ddsketch(options)
        end
        for i = 1, #values do
          backwards:add(values[#values + 1 - i])
          single:add(values[i])
          parts[i % 4 + 1]:add(values[i])
        end
        for _, other in ipairs { backwards, single, ps.union(unpack(parts)),
          ps.union(parts[4], parts[2], parts[3], parts[1]) } do
          assert.equal(whole, other)
          assert.equal(whole:encode(), other:encode())
          assert.equal(whole:bytes(), other:bytes())
        end
      end
    end)

    it("move with values that rise or fall for ever", function()
      for _, step in ipairs { 1.5, 1 / 1.5 } do
        local sketch, x = ps.ddsketch { max_bins = 100 }, 1
        for _ = 1, 1000 do
          sketch:add(x)
          x = x * step
        end
        assert.equal(1000, sketch:count())
        assert.is_true(sketch:bytes() < 2000)
        near(step > 1 and 1.5 ^ 998 or 1 / 1.5, sketch:quantile(998 / 999), 0.01, "the last but one")
      end
    end)
  end)

  it("merges both signs and the extremes, both ways", function()
    local negative = drawn(1, 100, function(u) return -1 - 49 * u end)
    local positive = drawn(2, 100, function(u) return 1 + 49 * u end)
    for _, pair in ipairs { { { -5, -3 }, { -10, -1 } }, { { -2 }, { 7 } }, { { 7 }, { -2 } }, { { 0 }, { 3 } },
      { {}, { -4 } }, { negative, positive } } do
      local a, b = filled({}, pair[1]), filled({}, pair[2])
      local all = {}
      for _, values in ipairs(pair) do
        for _, x in ipairs(values) do
          all[#all + 1] = x
        end
      end
      check(a:union(b), all, 0.01)
      check(b:union(a), all, 0.01)
    end
  end)

  it("takes weights for values that come so often", function()
    assert.equal(filled({}, { 5, 5, 5, -1, 0, 0 }), ps.ddsketch():add(5, 3):add(-1, 1):add(0, 2))
    near(-3, ps.ddsketch():add(-3, TWO_53 - 2):add(3):mean(), 0.01, "mean")
  end)
end)
