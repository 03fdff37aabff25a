-- The answers of a kll: exact where all values are kept, else by their ranks.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local random = require "spec.support.random"

local TWO_53 = 2 ^ 53

local function filled(options, values)
  local sketch = ps.kll(options)
  assert.equal(#values, sketch:add_many(values))
  return sketch
end

-- first .. last, shuffled the same way each time.
local function shuffled(first, last)
  local generator, values = random.new(last), {}
  for x = first, last do
    local at = math.floor(generator:uniform() * (#values + 1)) + 1
    values[#values + 1] = values[at]
    values[at] = x
  end
  return values
end

-- The values 1 .. n are ranks: no answer about them is off by more than the share.
local function check_ranks(sketch, n, share)
  for i = 0, 100 do
    local q = i / 100
    local x = sketch:quantile(q)
    assert.is_true(math.abs(x / n - q) <= share + 1 / n, ("%g is at %g of %d"):format(x, q, n))
    assert.is_true(math.abs(sketch:rank(q * n) - q) <= share + 1 / n, ("rank of %g of %d"):format(q * n, n))
  end
  assert.equal(1, sketch:min())
  assert.equal(n, sketch:max())
end

local function answers(sketch)
  local asked = {}
  for i = 0, 100 do
    asked[#asked + 1] = i / 100
  end
  return sketch:quantiles(asked)
end

describe("kll", function()
  it("is exact up to k values, in any order and however they are split", function()
    local values = shuffled(1, 200)
    local sketch = filled({}, values)
    for k = 0, 198 do
      assert.equal(k + 1, sketch:quantile((k + 0.25) / 199))
      assert.equal((k + 1) / 200, sketch:rank(k + 1.5))
    end
    local parts = {}
    for i = 1, 3 do
      parts[i] = ps.kll { seed = i }
    end
    local backwards = ps.kll()
    for i = #values, 1, -1 do
      backwards:add(values[i])
      parts[i % 3 + 1]:add(values[i])
    end
    expect.same_bytes(sketch:encode(), backwards:encode())
    expect.same_bytes(sketch:encode(), ps.kll():merge(parts[1], parts[2], parts[3]):encode())
  end)

  it("errs by less than it says of the number of values, for any k", function()
    for _, k in ipairs { 8, 9, 50, 199, 200, 1000, 65535 } do
      local n = k < 1000 and 20000 or 100000
      local sketch = filled({ k = k }, shuffled(1, n))
      assert.equal(n, sketch:count())
      check_ranks(sketch, n, sketch:rank_error())
      assert.equal(sketch, assert(ps.decode(sketch:encode())))
    end
  end)

  it("says what ranks and histograms of any k are wrong by", function()
    for k, error in pairs { [8] = 0.3125, [200] = 0.0125, [65535] = 2.5 / 65535 } do
      local sketch = ps.kll { k = k }
      assert.equal(error, sketch:rank_error())
      assert.equal(error, sketch:info().rank_error)
      assert.equal(error * 1.2, sketch:info().histogram_error)
      assert.equal(error, ps.plan("kll", { k = k }).rank_error)
    end
  end)

  it("answers the same when it was asked and stored before, in whatever order values came", function()
    for _, values in ipairs { { 4, 3, 1, 2 }, shuffled(1, 8), shuffled(1, 9), shuffled(1, 1000) } do
      local asked, silent = ps.kll { k = 8 }, ps.kll { k = 8 }
      for _, x in ipairs(values) do
        asked:add(x)
        silent:add(x)
        asked:quantile(0.5)
        asked:rank(3)
        asked = assert(ps.decode(asked:encode()))
        asked:quantile(0.25)
      end
      assert.same(answers(silent), answers(asked))
      expect.same_bytes(silent:encode(), asked:encode())
    end
  end)

  it("takes batches as it takes values one by one, with questions in between", function()
    local values = shuffled(1, 3000)
    for _, k in ipairs { 8, 200 } do
      local batches, single, at = ps.kll { k = k }, ps.kll { k = k }, 1
      for _, size in ipairs { 1, 7, 200, 0, 600, 2192 } do
        local batch = {}
        for i = at, at + size - 1 do
          batch[#batch + 1] = values[i]
          single:add(values[i])
        end
        at = at + size
        batches:add_many(batch)
        assert.same(answers(single), answers(batches))
      end
      assert.equal(3000, batches:count())
      expect.same_bytes(single:encode(), batches:encode())
    end
  end)

  it("keeps its view of the values right while they come one by one", function()
    local asked, twin = ps.kll { k = 20 }, ps.kll { k = 20 }
    for i, x in ipairs(shuffled(1, 500)) do
      asked:add(x)
      twin:add(x)
      local fresh = assert(ps.decode(twin:encode()))
      for _, q in ipairs { 0.1, 0.5, 0.77 } do
        assert.equal(fresh:quantile(q), asked:quantile(q))
      end
      assert.equal(fresh:rank(i / 2), asked:rank(i / 2))
      if i % 40 == 0 then
        asked:add(i, 5)
        twin:add(i, 5)
      end
    end
  end)

  describe("weights", function()
    it("are values that come so often, while all are kept", function()
      local sketch = ps.kll():add(5, 3):add(-1):add(0, 2)
      local plain = filled({}, { 5, 5, 5, -1, 0, 0 })
      assert.same(answers(plain), answers(sketch))
      for _, x in ipairs { -2, -1, 0, 3, 5 } do
        assert.equal(plain:rank(x), sketch:rank(x))
      end
      assert.equal(15 - 1, sketch:sum())
      local before = sketch:encode()
      assert.equal(sketch, sketch:add(7, 0))
      expect.same_bytes(before, sketch:encode())
    end)

    it("count by their share, however large and however many", function()
      for _, k in ipairs { 8, 200 } do
        local sketch, total = ps.kll { k = k }, 0
        for i, x in ipairs(shuffled(1, 2000)) do
          local weight = i % 7 * 1021 + 1
          sketch:add(x, weight)
          total = total + weight
        end
        assert.equal(total, sketch:count())
        check_ranks(sketch, 2000, sketch:rank_error() + 0.02)
        sketch:add(3000, 3 * total)
        assert.equal(3000, sketch:quantile(0.5))
        assert.equal(4 * total, sketch:count())
      end
    end)
  end)

  describe("merge", function()
    it("keeps the weights of what it merges", function()
      local a = filled({}, shuffled(1, 100000))
      local share = a:rank_error()
      local into_empty = ps.kll { seed = 5 }:merge(a)
      assert.same(answers(a), answers(into_empty))
      check_ranks(into_empty, 100000, share)
      local into_few = filled({}, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }):merge(a)
      assert.equal(100010, into_few:count())
      check_ranks(into_few, 100000, share)
      local fifty = ps.kll()
      for _ = 1, 50 do
        fifty:merge(a)
      end
      assert.equal(5000000, fifty:count())
      check_ranks(fifty, 100000, share)
    end)

    it("takes sketches of any seed, secret ones too, and of no other k", function()
      local a = filled({ seed = 1 }, shuffled(1, 3000))
      local b = filled({ seed = "random" }, shuffled(3001, 6000))
      assert.is_true(a:compatible(b))
      check_ranks(a:union(b), 6000, a:rank_error())
      check_ranks(b:union(a), 6000, a:rank_error())
      expect.raise_saying("k mismatch (expected 200, got 100)", a.merge, a, ps.kll { k = 100 })
    end)

    it("doubles to 2^53 by copies of itself, and no farther", function()
      for _, k in ipairs { 8, 200 } do
        local sketch = filled({ k = k }, shuffled(1, 100))
        local count = 100
        while count * 2 <= TWO_53 do
          sketch:merge(sketch:copy())
          count = count * 2
          assert.equal(count, sketch:count())
        end
        check_ranks(sketch, 100, sketch:rank_error())
        local before = sketch:encode()
        expect.raise_saying("would pass 2^53", sketch.merge, sketch, sketch:copy())
        expect.raise_saying("would pass 2^53", sketch.merge, sketch, sketch)
        expect.same_bytes(before, sketch:encode())
        assert.equal(sketch, assert(ps.decode(before)))
      end
    end)

    it("goes on for a thousand rounds of small sketches", function()
      local parts = {}
      for i = 1, 90 do
        parts[i] = filled({ k = 8 }, { i, i + 90 })
      end
      local all, generator = ps.kll { k = 8 }, random.new(7)
      for _ = 1, 1000 do
        all:merge(parts[math.floor(generator:uniform() * 90) + 1])
      end
      assert.equal(2000, all:count())
      assert.is_true(math.abs(all:rank(90) - 0.5) <= all:rank_error())
    end)
  end)

  it("keeps the extremes, the sum and the mean through merges and bytes", function()
    local all, sum, generator = ps.kll(), 0, random.new(3)
    local least, largest = math.huge, -math.huge
    for part = 1, 10 do
      local sketch = ps.kll { seed = part }
      for _ = 1, 1000 do
        local x = math.exp(generator:uniform() * 10)
        sketch:add(x)
        sum, least, largest = sum + x, math.min(least, x), math.max(largest, x)
      end
      all = assert(ps.decode(all:merge(sketch):encode()))
      assert.equal(least, all:min())
      assert.equal(least, all:quantile(0))
      assert.equal(largest, all:max())
      assert.equal(largest, all:quantile(1))
      assert.is_true(math.abs(all:sum() - sum) <= 1e-12 * sum)
      assert.is_true(math.abs(all:mean() - sum / all:count()) <= 1e-12 * sum / all:count())
    end
  end)

  it("sums what plain additions lose, and numbers whose sum is out of range", function()
    local sketch = filled({}, { 1, 1e100, 1, -1e100 })
    assert.equal(2, sketch:sum())
    assert.equal(0.5, sketch:mean())
    assert.equal(7, ps.kll():add(5):merge(filled({}, { 1, 1e100, 1 })):add(-1e100):sum())
    sketch = ps.kll():add(1.5e308, TWO_53 - 2):add(1.5e308)
    assert.equal(math.huge, sketch:sum())
    assert.equal(1.5e308, sketch:mean())
    sketch = filled({}, { 1.5e308, 1.5e308, -1.5e308, 3, -1.5e308 })
    assert.equal(3, sketch:sum())
    assert.equal(3, assert(ps.decode(sketch:encode())):sum())
    local apart = filled({}, { -1.5e308, 4 }):merge(filled({}, { 1.5e308, 1.5e308 }), filled({}, { -1.5e308 }))
    assert.equal(4, apart:sum())
    local tenths = ps.kll():add(0.1, 10)
    assert.equal(1, tenths:sum())
  end)

  it("has bytes that depend on the seed once values were compacted, and answers as good with any", function()
    local values, encoded = shuffled(1, 2000), {}
    for _, seed in ipairs { 0, 1, 2, TWO_53 } do
      local sketch = filled({ seed = seed }, values)
      local payload = sketch:encode():sub(-1000)
      assert.is_nil(encoded[payload])
      encoded[payload] = true
      check_ranks(sketch, 2000, sketch:rank_error())
      expect.same_bytes(sketch:encode(), filled({ seed = seed }, values):encode())
      expect.same_bytes(ps.kll { seed = seed }:encode(), sketch:clear():encode())
    end
    local secret = filled({ seed = "random" }, values):encode():sub(-1000)
    assert.is_true(secret ~= filled({ seed = "random" }, values):encode():sub(-1000))
  end)

  it("grows with its values up to k, and hardly from then on", function()
    local sketch, before = ps.kll(), nil
    assert.is_true(sketch:bytes() < 1500)
    local values = shuffled(1, 10000)
    for round = 0, 9 do
      sketch:add_many(values)
      assert.is_true(sketch:info().retained <= 585 + 8 * (sketch:info().levels - 9))
      if round == 0 then
        before = sketch:bytes()
      end
    end
    assert.is_true(sketch:bytes() <= before + 5 * 8 * 24)
    assert.is_true(#sketch:encode() < 5200)
    sketch:add(1, TWO_53 - sketch:count())
    assert.is_true(sketch:bytes() < 24000)
  end)

  it("takes any k there is, and refuses all others when it is made", function()
    for _, k in ipairs { 8, 9, 199, 65535 } do
      local sketch = kinds.kll.fill(ps.kll { k = k }, 1, 10000)
      local decoded = assert(ps.decode(sketch:encode()))
      assert.equal(sketch, decoded)
      assert.same(answers(sketch), answers(decoded))
    end
    for _, k in ipairs { 0, 1, 2, 7, 65536, 2 ^ 31, -8, 8.5, 0 / 0 } do
      expect.raise_saying("option 'k'", ps.kll, { k = k })
    end
  end)
end)
