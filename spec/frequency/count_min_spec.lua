local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, near, zipf, exact = statistics.within, statistics.near, statistics.zipf, statistics.exact

local E, TWO_53 = math.exp(1), 2 ^ 53

-- The largest number that a counter of so many bits holds: no more than the total, since Lua before 5.3 has no more.
local function limit_of(bits)
  return bits == 64 and TWO_53 or 2 ^ bits - 1
end

local function for_every_width(call)
  for _, bits in ipairs { 8, 16, 32, 64 } do
    for _, conservative in ipairs { false, true } do
      call(bits, function(width, depth)
        return ps.count_min{ width = width, depth = depth, counter_bits = bits, conservative = conservative }
      end)
    end
  end
end

local function add_all(sketch, stream)
  sketch:add_many(stream)
  return sketch
end

-- The estimates of keys 1 .. n beside exact counts: the mean over-estimate, how many keys are below the truth, and how
-- many are above it by more than `bound`.
local function errors(sketch, counts, n, bound)
  local over, below, beyond = 0, 0, 0
  for key = 1, n do
    local error = sketch:frequency(key) - (counts[key] or 0)
    over = over + error
    below = below + (error < 0 and 1 or 0)
    beyond = beyond + (error > bound and 1 or 0)
  end
  return over / n, below, beyond
end

-- Of a sketch of one row: a key for each of its counters.
local function key_of_each_counter(width)
  local probe, keys, key = ps.count_min{ width = width, depth = 1 }, {}, 0
  while #keys < width do
    key = key + 1
    if probe:frequency(key) == 0 then
      probe:add(key)
      keys[#keys + 1] = key
    end
  end
  return keys
end

describe("the size of a count_min sketch", function()
  it("is 2719 counters in 5 rows for an epsilon of 0.001 and a delta of 0.01, also when none is given", function()
    local plan = ps.plan("count_min", { epsilon = 0.001, delta = 0.01 })
    assert.equal(2719, plan.width)
    assert.equal(5, plan.depth)
    assert.equal(ps.count_min{ epsilon = 0.001, delta = 0.01, counter_bits = 32, conservative = false }, ps.count_min())
  end)

  it("follows the published formulas; delta is the probability of failure", function()
    for _, epsilon in ipairs { 0.9, 0.5, 0.1, 0.01, 0.003, 1e-4, 1e-6 } do
      for _, delta in ipairs { 0.99, 0.5, 0.1, 0.05, 0.01, 0.001, 1e-6, 1e-15 } do
        local text = ("epsilon = %g, delta = %g"):format(epsilon, delta)
        local plan = ps.plan("count_min", { epsilon = epsilon, delta = delta })
        assert.equal(math.ceil(E / epsilon), plan.width, text)
        assert.equal(math.max(1, math.ceil(math.log(1 / delta))), plan.depth, text)
      end
    end
    expect.raise_saying("a probability of failure", ps.count_min, { delta = 1 })
  end)

  it("is what is asked for in width and depth; epsilon and delta are then what those keep", function()
    for _, asked in ipairs { { 1, 1, 8 }, { 100, 7, 16 }, { 2719, 5, 32 }, { 333, 64, 64 } } do
      local width, depth, bits = asked[1], asked[2], asked[3]
      local plan = ps.plan("count_min", { width = width, depth = depth, counter_bits = bits })
      assert.equal(width, plan.width)
      assert.equal(depth, plan.depth)
      assert.equal(16 + width * depth * bits / 8, plan.bytes)
      within(1 - 1e-12, 1 + 1e-12, plan.epsilon * width / E, "epsilon * width / e")
      within(1 - 1e-12, 1 + 1e-12, math.log(plan.delta) / -depth, "-log(delta) / depth")
    end
  end)
end)

describe("a count_min sketch", function()
  it("answers add with the new estimate, which is never below the truth", function()
    for_every_width(function(bits, new)
      local sketch, generator, counts, total = new(16, 4), random.new(bits), {}, 0
      for _ = 1, 2000 do
        local key, n = generator:integer(200), generator:integer(10) - 1
        local before = n == 0 and sketch:encode()
        local answer = sketch:add(key, n)
        counts[key], total = (counts[key] or 0) + n, total + n
        assert.equal(sketch:frequency(key), answer)
        assert.is_true(answer >= math.min(counts[key], limit_of(bits)))
        assert.is_true(n > 0 or before == sketch:encode())
      end
      assert.equal(total, sketch:count())
    end)
  end)

  it("is exact while no two keys share a counter in every row", function()
    local sketch = ps.count_min{ width = 100000, depth = 8 }
    for key = 1, 1000 do
      sketch:add(key, key)
    end
    for key = 1, 1000 do
      assert.equal(key, sketch:frequency(key))
      assert.equal(0, sketch:frequency(-key))
    end
  end)

  it("takes weights that are integers from 0 to 2^53, and no others", function()
    local sketch = ps.count_min{ width = 8, depth = 2, counter_bits = 64 }
    for key = 1, 50 do
      sketch:add(key, 10)
    end
    local bytes = sketch:encode()
    for _, bad in ipairs { -1, -5, -11, 0.5, 0 / 0, 1 / 0, -1 / 0, TWO_53 + 2, "3", "3x", true, {} } do
      expect.raise_saying("an integer from 0 to 2^53", sketch.add, sketch, 1, bad)
    end
    local n = sketch:frequency(1)
    assert.equal(n, sketch:add(1, 0))
    expect.same_bytes(bytes, sketch:encode())
    assert.equal(n + 1, sketch:add(1, 1.0))
    assert.equal(n + 2, sketch:add(1))
    assert.equal(n + 3, sketch:add(1, nil))
    assert.equal(TWO_53, ps.count_min{ counter_bits = 64 }:add("x", TWO_53))
  end)

  it("says what bound its estimates keep: epsilon times all that was added", function()
    local sketch = ps.count_min{ epsilon = 0.003 }
    assert.equal(0, sketch:error_bound())
    sketch:add("x", 12345)
    assert.equal(0.003 * 12345, sketch:error_bound())
    assert.equal(0.003 * 12345, sketch:info().error_bound)
  end)

  it("adds a batch as the same keys one by one, in and out of the size where it prefetches", function()
    local generator = random.new(1)
    for _, width in ipairs { 100, 52425, 60000 } do -- 1 MiB less 60 bytes, and more
      for _, conservative in ipairs { false, true } do
        local whole = ps.count_min{ width = width, depth = 5, conservative = conservative }
        local single = whole:copy()
        for _, size in ipairs { 0, 1, 15, 16, 17, 31, 33, 255, 256, 257, 1000 } do
          local keys = {}
          for i = 1, size do
            keys[i] = generator:integer(400)
            single:add(keys[i])
          end
          assert.equal(size, whole:add_many(keys))
          assert.equal(single, whole)
        end
      end
    end
  end)
end)

describe("the error of a count_min sketch", function()
  local KEYS, EVENTS = 50000, 200000
  local stream, counts

  setup(function()
    stream = zipf(1, 1, KEYS, EVENTS)
    counts = exact(stream)
  end)

  it("passes epsilon times the total for a share delta of the keys at most; conservative almost halves it", function()
    local mean = {}
    for _, conservative in ipairs { false, true } do
      local sketch = add_all(ps.count_min{ epsilon = 0.001, delta = 0.01, conservative = conservative }, stream)
      local over, below, beyond = errors(sketch, counts, KEYS, 0.001 * EVENTS)
      mean[conservative] = over
      assert.equal(0, below)
      within(0, 0.01 * KEYS, beyond, "keys beyond the bound, conservative %s,", tostring(conservative))
    end
    within(1, EVENTS / 2719, mean[false], "the mean over-estimate")
    within(0.2, 0.65, mean[true] / mean[false], "the mean over-estimate of conservative to that of plain")
  end)

  it("is in one row what theory says: all other events, spread evenly", function()
    local mean = {}
    for seed = 1, 5 do
      local sketch = add_all(ps.count_min{ width = 500, depth = 1, seed = statistics.seed(seed) }, stream)
      mean[seed] = errors(sketch, counts, KEYS, 0)
    end
    local expected = EVENTS * (1 - 1 / KEYS) / 500
    near(expected, 1, 0.04 * expected, statistics.mean(mean), "the mean over-estimate of one row")
  end)

  it("falls with every row, since rows err independently", function()
    local share = {}
    for depth = 1, 3 do
      share[depth] = 0
      for seed = 1, 4 do
        local sketch = add_all(ps.count_min{ width = 500, depth = depth, seed = statistics.seed(seed) }, stream)
        local _, _, beyond = errors(sketch, counts, KEYS, 500)
        share[depth] = share[depth] + beyond / KEYS / 4
      end
      local expected = share[1] ^ depth
      within(0.6 * expected, 1.7 * expected, share[depth], "the share of keys far off with %d rows", depth)
    end
    within(0.05, 0.5, share[1], "the share of keys far off with one row")
  end)

  it("keeps its bound in a long stream, for other epsilons and deltas #slow", function()
    local long = zipf(2, 1.05, 200000, 1000000)
    local truth = exact(long)
    for _, promise in ipairs { { 0.001, 0.01 }, { 0.01, 0.001 }, { 0.01, 0.99 } } do
      local epsilon, delta = promise[1], promise[2]
      local sketch = add_all(ps.count_min{ epsilon = epsilon, delta = delta }, long)
      local over, below, beyond = errors(sketch, truth, 200000, epsilon * 1000000)
      assert.equal(0, below)
      within(0, delta, beyond / 200000, "the share of keys beyond epsilon %g, delta %g,", epsilon, delta)
      within(1, 1.1 * 1000000 / sketch:info().width, over, "the mean over-estimate")
    end
  end)
end)

describe("the counters of a count_min sketch", function()
  it("stop at their maximum and say so, in one step or by ones", function()
    for_every_width(function(bits, new)
      local limit, sketch = limit_of(bits), new(50, 3)
      assert.equal(limit, sketch:add("x", limit))
      assert.is_false(sketch:info().saturated)
      assert.equal(limit, sketch:add("x", 1000))
      assert.is_true(sketch:info().saturated)
      assert.equal(limit, sketch:add("x", 1))
      assert.equal(limit, sketch:frequency "x")
      assert.equal(math.min(limit + 1001, TWO_53), sketch:count())
      assert.is_false(sketch:clear():info().saturated)

      sketch:add("x", limit - 2)
      for over = -1, 3 do
        assert.equal(math.min(limit + over, limit), sketch:add "x")
        assert.equal(math.min(limit + over, limit), sketch:frequency "x")
        assert.equal(over > 0, sketch:info().saturated)
      end
    end)
  end)

  it("leave their neighbours alone when they stop", function()
    local keys = key_of_each_counter(64)
    for_every_width(function(bits, new)
      local sketch = new(64, 1)
      for i = 1, 64, 2 do
        sketch:add(keys[i], limit_of(bits))
        sketch:add(keys[i], 5)
      end
      for i = 1, 64 do
        assert.equal(i % 2 * limit_of(bits), sketch:frequency(keys[i]))
      end
    end)
  end)

  it("may be full while the total goes on, exact up to 2^53, where it stops and says so", function()
    local sketch = ps.count_min{ width = 10, depth = 2, counter_bits = 8 }
    sketch:add("a", 2 ^ 40 + 1)
    assert.equal(2 ^ 40 + 1, sketch:count())
    sketch:add("b", TWO_53 - 2 ^ 40 - 1)
    assert.equal(TWO_53, sketch:count())

    sketch = ps.count_min{ width = 100000, depth = 1, counter_bits = 64 }
    sketch:add("a", 2 ^ 52)
    sketch:add("b", 2 ^ 52)
    assert.equal(TWO_53, sketch:count())
    assert.is_false(sketch:info().saturated)
    assert.equal(1, sketch:add "c")
    assert.equal(TWO_53, sketch:count())
    assert.is_true(sketch:info().saturated)
  end)
end)

describe("halving a count_min sketch", function()
  it("leaves half of each counter and of the total, rounded down", function()
    local keys, generator = key_of_each_counter(64), random.new(1)
    local patterns = {
      function(i, limit) return i % 2 * limit end,
      function(_, limit) return limit end,
      function(i) return i % 4 end,
      function(i, limit) return limit - i % 4 end,
      function(_, limit) return generator:integer(limit) end,
    }
    for_every_width(function(bits, new)
      -- No more than make a total of 2^53.
      local limit = math.min(limit_of(bits), TWO_53 / 64)
      for _, pattern in ipairs(patterns) do
        local sketch, total = new(64, 1), 0
        local values = {}
        for i = 1, 64 do
          values[i] = pattern(i, limit)
          total = total + values[i]
          sketch:add(keys[i], values[i])
        end
        assert.equal(sketch, sketch:halve())
        for i = 1, 64 do
          assert.equal(math.floor(values[i] / 2), sketch:frequency(keys[i]))
        end
        assert.equal(math.floor(total / 2), sketch:count())
      end
    end)
  end)

  it("is exact in a single counter, up to its maximum", function()
    for_every_width(function(bits, new)
      for _, n in ipairs { 1, 2, 3, limit_of(bits) - 1, limit_of(bits) } do
        local sketch = new(1, 1)
        sketch:add("x", n)
        sketch:halve()
        assert.equal(math.floor(n / 2), sketch:frequency "x")
        assert.equal(math.floor(n / 2), sketch:count())
      end
    end)
  end)

  it("leaves nothing in the end: the bytes of a new sketch", function()
    for_every_width(function(bits, new)
      local sketch, times = new(20, 3), 0
      sketch:add("x", limit_of(bits))
      repeat
        sketch:halve()
        times = times + 1
      until sketch:count() == 0
      assert.equal(bits == 64 and 54 or bits, times)
      expect.same_bytes(new(20, 3):encode(), sketch:encode())
    end)
  end)

  it("leaves no estimate below half the truth", function()
    local stream = zipf(3, 1, 500, 20000)
    local counts = exact(stream)
    for _, conservative in ipairs { false, true } do
      local sketch = add_all(ps.count_min{ width = 100, depth = 3, conservative = conservative }, stream):halve()
      for key, n in pairs(counts) do
        assert.is_true(sketch:frequency(key) >= math.floor(n / 2))
      end
    end
  end)
end)

describe("decaying a count_min sketch", function()
  it("multiplies each counter and the total by the factor, rounded down", function()
    local generator = random.new(2)
    for_every_width(function(bits, new)
      for _, factor in ipairs { 0, 1e-300, 0.1, 0.25, 1 / 3, 0.7, 0.9, 1 - 2 ^ -53, 1 } do
        local limit = limit_of(bits)
        for _, n in ipairs { 0, 1, 2, 3, 10, 99, limit - 1, limit, generator:integer(limit) } do
          local sketch = new(1, 1)
          sketch:add("x", n)
          assert.equal(sketch, sketch:decay(factor))
          assert.equal(math.floor(n * factor), sketch:frequency "x")
          assert.equal(math.floor(n * factor), sketch:count())
        end
      end
    end)
  end)

  it("is halving for one half, nothing for 1, and forgetting for 0", function()
    local stream = zipf(9, 1, 500, 5000)
    for_every_width(function(_, new)
      local sketch = add_all(new(2000, 3), stream)
      expect.same_bytes(sketch:encode(), sketch:copy():decay(1):encode())
      expect.same_bytes(sketch:copy():halve():encode(), sketch:copy():decay(0.5):encode())
      if not sketch:info().saturated then
        expect.same_bytes(new(2000, 3):encode(), sketch:copy():decay(0):encode())
      end
    end)
  end)

  it("leaves no estimate below what the truth becomes", function()
    local stream = zipf(3, 1, 500, 20000)
    for _, conservative in ipairs { false, true } do
      local sketch, counts = ps.count_min{ width = 100, depth = 3, conservative = conservative }, {}
      for _, factor in ipairs { 0.9, 0.3, 0.99 } do
        add_all(sketch, stream):decay(factor)
        for key, n in pairs(exact(stream)) do
          counts[key] = math.floor(((counts[key] or 0) + n) * factor)
          assert.is_true(sketch:frequency(key) >= counts[key])
        end
      end
    end
  end)

  it("keeps what says that a counter has stopped", function()
    local sketch = ps.count_min{ width = 2, depth = 1, counter_bits = 8 }
    sketch:add("x", 256)
    assert.is_true(sketch:decay(0):info().saturated)
  end)

  it("takes factors from 0 to 1 and no others", function()
    local sketch = ps.count_min{ width = 8, depth = 2 }
    sketch:add("x", 1000)
    local bytes = sketch:encode()
    for _, bad in ipairs { -1e-300, -1, 1 + 2 ^ -52, 2, 50, 1 / 0, -1 / 0, 0 / 0, "0.5", true, {}, print } do
      expect.raise_saying("factor expected, a number from 0 to 1", sketch.decay, sketch, bad)
    end
    expect.raise_saying("factor expected", sketch.decay, sketch)
    expect.same_bytes(bytes, sketch:encode())
  end)
end)

describe("the inner product of two count_min sketches", function()
  local EVENTS, OTHERS = 5000, 7000
  local stream, others, truth

  setup(function()
    stream, others, truth = zipf(4, 1, 1000, EVENTS), zipf(5, 0.8, 1000, OTHERS), 0
    local counts = exact(others)
    for key, n in pairs(exact(stream)) do
      truth = truth + n * (counts[key] or 0)
    end
  end)

  local function product(options)
    local a, b = add_all(ps.count_min(options), stream), add_all(ps.count_min(options), others)
    assert.equal(a:inner_product(b), b:inner_product(a))
    return a:inner_product(b)
  end

  it("is never below the truth, and above it by more than the bound for a share delta of seeds at most", function()
    local below, beyond = 0, 0
    for seed = 1, 200 do
      local excess = product { epsilon = 0.02, delta = 0.05, seed = statistics.seed(seed) } - truth
      below = below + (excess < 0 and 1 or 0)
      beyond = beyond + (excess > 0.02 * EVENTS * OTHERS and 1 or 0)
    end
    assert.equal(0, below)
    within(0, 0.05 * 200, beyond, "seeds beyond the bound")
  end)

  it("is in one row above the truth by what theory says: all other pairs, spread evenly", function()
    local sum = 0
    for seed = 1, 200 do
      sum = sum + product { width = 137, depth = 1, seed = statistics.seed(seed) } - truth
    end
    local expected = (EVENTS * OTHERS - truth) / 137
    near(expected, 1, 0.1 * expected, sum / 200, "the mean excess")
  end)

  it("is exact when no two keys share a counter", function()
    assert.equal(truth, product { width = 1000003, depth = 3 })
    assert.equal(0, ps.count_min():inner_product(ps.count_min()))
  end)

  it("is refused for conservative sketches", function()
    local sketch = ps.count_min{ conservative = true }
    expect.raise_saying("conservative", sketch.inner_product, sketch, sketch)
  end)
end)

describe("a merge of count_min sketches", function()
  it("is the sketch of one run over everything, to the byte", function()
    local stream = zipf(6, 1, 5000, 30000)
    for _, bits in ipairs { 16, 32, 64 } do
      local function new()
        return ps.count_min{ width = 500, depth = 4, counter_bits = bits }
      end
      local whole, parts = add_all(new(), stream), { new(), new(), new() }
      for i = 1, #stream do
        parts[i % 3 + 1]:add(stream[i])
      end
      expect.same_bytes(whole:encode(), ps.union(parts[3], parts[1], parts[2]):encode())
    end
  end)

  it("stops counters at their maximum, and then says so for good", function()
    for_every_width(function(bits, new)
      local limit, a, b = limit_of(bits), new(50, 3), new(50, 3)
      a:add("x", limit - 10)
      b:add("x", 10)
      local union = ps.union(a, b)
      assert.equal(limit, union:frequency "x")
      assert.is_false(union:info().saturated)
      b:add "x"
      union = ps.union(a, b)
      assert.equal(limit, union:frequency "x")
      assert.equal(math.min(limit + 1, TWO_53), union:count())
      assert.is_true(union:info().saturated)
      assert.is_true(ps.union(new(50, 3), union):info().saturated)
    end)
  end)

  local function hold_conservative(keys, stream)
    local counts, a, b = exact(stream), ps.count_min{ conservative = true }, ps.count_min{ conservative = true }
    for i = 1, #stream do
      (stream[i] % 2 == 0 and a or b):add(stream[i])
    end
    a:merge(b)
    local over, below, beyond = errors(a, counts, keys, a:error_bound())
    assert.equal(#stream, a:count())
    assert.equal(0, below)
    within(0, 0.01 * keys, beyond, "keys beyond the bound")
    within(0.01, #stream / 2719, over, "the mean over-estimate")
  end

  it("keeps the guarantees of conservative sketches", function()
    hold_conservative(20000, zipf(7, 1.1, 20000, 100000))
  end)

  it("keeps the guarantees of conservative sketches of long streams #slow", function()
    hold_conservative(200000, zipf(8, 1.1, 200000, 1000000))
  end)
end)

describe("a random seed of a count_min sketch", function()
  it("makes keys harmless that were crafted to share another key's counter", function()
    local known, crafted, key = ps.count_min{ width = 256, depth = 1 }, {}, 0
    known:add "victim"
    while #crafted < 2000 do
      key = key + 1
      if known:frequency(key) > 0 then
        crafted[#crafted + 1] = key
      end
    end
    assert.equal(2001, add_all(known, crafted):frequency "victim")
    local secret = ps.count_min{ width = 256, depth = 1, seed = "random" }
    secret:add "victim"
    within(1, 50, add_all(secret, crafted):frequency "victim", "the estimate under a secret seed, 9 expected,")
  end)
end)
