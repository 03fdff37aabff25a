local ps = require "probsketch"
local batches = require "spec.support.batches"
local model = require "spec.support.blocked_bloom_model"
local statistics = require "spec.support.statistics"

local within, near, add_range, hits = statistics.within, statistics.near, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

-- The slack of a measured rate: a tenth above what is promised and below what theory says, and four standard errors of
-- so many hits.
local function hold_hits(found, probes, promised, theory, text, ...)
  local low, high = 0.9 * probes * theory, 1.1 * probes * promised
  within(low - 4 * math.sqrt(low), high + 4 * math.sqrt(high), found, text, ...)
end

-- A filter for n keys that is filled with them and asked for others.
local function hold_to_rate(n, rate, probes)
  local filter = add_range(ps.blocked_bloom{ capacity = n, fp_rate = rate }, 1, n)
  local theory = model.rate(n / filter:info().lines)
  hold_hits(hits(filter, NEVER, NEVER + probes - 1), probes, rate, theory, "hits of %d keys at %g", n, rate)
  return filter
end

describe("the size of a blocked bloom filter", function()
  it("follows from the Poisson mixture for any capacity and rate, from one line up", function()
    for _, n in ipairs { 1, 2, 3, 50, 51, 1000, 12345, 1e6, 448100000, 2 ^ 40 } do
      for _, p in ipairs { 0.5, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5 } do
        local plan = ps.plan("blocked_bloom", { capacity = n, fp_rate = p, max_bytes = 2 ^ 53 })
        local text = ("n = %.0f, p = %g"):format(n, p)
        assert.equal(model.lines(n, p), plan.lines, text)
        assert.equal(plan.lines * 512, plan.bits, text)
        assert.equal(plan.lines * 64, plan.bytes, text)
        assert.is_true(model.rate(n / plan.lines) <= p * (1 + 1e-9), text)
      end
    end
  end)

  it("is little more than that of a classic filter", function()
    for rate, most in pairs { [0.01] = 1.07, [1e-3] = 1.11, [1e-4] = 1.25 } do
      local options = { capacity = 1e6, fp_rate = rate }
      local classic, blocked = ps.plan("bloom", options), ps.plan("blocked_bloom", options)
      within(1, most, blocked.bytes / classic.bytes, "the size, of that of a classic filter at %g,", rate)
    end
  end)

  it("is for 1 % when no rate is given", function()
    assert.equal(ps.blocked_bloom{ capacity = 1000, fp_rate = 0.01 }, ps.blocked_bloom{ capacity = 1000 })
  end)
end)

describe("a blocked bloom filter", function()
  it("never denies a key that was added, however full it is", function()
    for _, options in ipairs {
      { capacity = 1 }, { capacity = 100, fp_rate = 0.5 }, { capacity = 1000, fp_rate = 1e-5 }, { capacity = 10000 },
      { capacity = 3000000 },
    } do
      local filter = add_range(ps.blocked_bloom(options), 1, 10000)
      assert.equal(10000, hits(filter, 1, 10000))
    end
  end)

  it("says true for a key that is new and false for one that was there", function()
    local filter = ps.blocked_bloom{ capacity = 1000, fp_rate = 1e-5 }
    assert.is_false(filter:has "x")
    assert.is_true(filter:add "x")
    assert.is_false(filter:add "x")
    assert.is_true(filter:has "x")
    assert.equal(2, filter:add_many { "x", "y", "y", "z", "x" })
    assert.equal(0, filter:add_many { "z", "y", "x" })
    assert.same({ true, false, true, false, true }, filter:has_many { "x", "a", "y", "b", "z" })
    assert.same({}, filter:has_many {})
  end)

  it("takes a new key for a known one, while it fills, as often as its load says", function()
    local filter = ps.blocked_bloom{ capacity = 20000, fp_rate = 0.01 }
    local lines, wrong, expected, contradictions = filter:info().lines, 0, 0, 0
    for key = 1, 20000 do
      if key % 100 == 1 then
        expected = expected + 100 * model.rate((key + 49) / lines)
      end
      local known = filter:has(key)
      wrong = wrong + (known and 1 or 0)
      contradictions = contradictions + (filter:add(key) == known and 1 or 0)
    end
    assert.equal(0, contradictions)
    near(expected, 4, math.sqrt(expected), wrong, "new keys taken for known")
  end)

  it("is not changed by keys that it has", function()
    local filter, keys, many = ps.blocked_bloom{ capacity = 1000 }, statistics.keys("k", 1, 10), {}
    filter:add_many(keys)
    local bytes, before = filter:encode(), filter:info()
    for i = 1, 100000 do
      many[i] = keys[i % 10 + 1]
    end
    assert.equal(0, filter:add_many(many))
    assert.equal(bytes, filter:encode())
    assert.same(before, filter:info())
    assert.equal(10, filter:count())
  end)

  it("deletes nothing: the bits are other keys' bits too", function()
    assert.is_nil(ps.blocked_bloom{ capacity = 1000 }.remove)
  end)
end)

describe("a batch of keys for a blocked bloom filter", function()
  -- From 1 MiB up filters prefetch.
  local capacities = { 1, 1000, model.capacity(2 ^ 14 - 1, 0.01), model.capacity(2 ^ 14, 0.01), 3000000 }
  local sizes = { 0, 1, 2, 23, 24, 25, 47, 48, 49, 255, 256, 257, 300, 1000, 1023, 1024, 1025, 3000 }

  batches.specify(it, function(capacity)
    return ps.blocked_bloom{ capacity = capacity }
  end, capacities, sizes, 10000)
end)

describe("the false-positive rate of a blocked bloom filter", function()
  it("is what was asked for", function()
    for _, n in ipairs { 1000, 100000 } do
      for _, p in ipairs { 0.5, 0.05, 0.01, 1e-3 } do
        hold_to_rate(n, p, 50000)
      end
    end
  end)

  it("is what was asked for with a million keys, and what the filter says of itself #slow", function()
    for _, p in ipairs { 0.05, 0.01, 1e-3, 1e-4 } do
      local now = hold_to_rate(1000000, p, 2000000):info().fp_rate
      within(0.98 * p, 1.02 * p, now, "the filter's own rate at %g", p)
    end
  end)

  it("is what was asked for at every size in a row #slow", function()
    for n = 218000, 220000, 250 do
      hold_to_rate(n, 1e-3, 200000)
    end
    for n = 100000, 1000000, 150000 do
      hold_to_rate(n, 1e-4, 400000)
    end
  end)

  it("is what was asked for with keys that are strings #slow", function()
    local filter, wrong = ps.blocked_bloom{ capacity = 219500, fp_rate = 1e-3 }, 0
    filter:add_many(statistics.keys("a", 1, 219500))
    for _, found in ipairs(filter:has_many(statistics.keys("z", 1, 400000))) do
      wrong = wrong + (found and 1 or 0)
    end
    hold_hits(wrong, 400000, 1e-3, 1e-3, "hits")
  end)

  it("is on the mean no higher than asked for in filters of one to four lines", function()
    for _, p in ipairs { 0.3, 0.01, 1e-3 } do
      for lines = 1, 4 do
        local n, found = model.capacity(lines, p), 0
        for seed = 1, 300 do
          local filter = add_range(ps.blocked_bloom{ capacity = n, fp_rate = p, seed = statistics.seed(seed) }, 1, n)
          assert.equal(lines, filter:info().lines)
          found = found + hits(filter, NEVER, NEVER + 999)
        end
        hold_hits(found, 300000, p, 0, "hits in %d lines at %g", lines, p)
      end
    end
  end)
end)

describe("what a blocked bloom filter says of itself", function()
  it("is its fill, and the rate that follows from it", function()
    local filter = ps.blocked_bloom{ capacity = 20000, fp_rate = 0.01 }
    local lines = filter:info().lines
    assert.equal(0, filter:info().fill)
    assert.equal(0, filter:info().fp_rate)
    for n = 5000, 40000, 5000 do
      add_range(filter, n - 4999, n)
      local info = filter:info()
      within(0.95, 1.05, info.fp_rate / model.rate(n / lines), "fp_rate / theory, of %d keys,", n)
      within(0.99, 1.01, info.fill / (1 - math.exp(-n / (64 * lines))), "fill / theory, of %d keys,", n)
      assert.equal(0.01, info.target_fp_rate)
    end
    local rate = filter:info().fp_rate
    hold_hits(hits(filter, NEVER, NEVER + 49999), 50000, rate, rate, "hits of an over-full filter")
  end)

  it("is no rate below 0 or above 1, nor one that falls, however few or many keys it has", function()
    local filter, before = ps.blocked_bloom{ capacity = 3000, fp_rate = 1e-5 }, 0
    for n = 1, 60000 do
      filter:add(n)
      if n % 50 == 0 then
        local rate = filter:info().fp_rate
        within(before, 1, rate, "the rate of %d keys", n)
        before = rate
      end
    end
  end)

  it("is the number of keys, within 2 % at capacity", function()
    for _, n in ipairs { 10000, 100000, 500000 } do
      for _, p in ipairs { 0.1, 0.01, 1e-4 } do
        local filter = add_range(ps.blocked_bloom{ capacity = n, fp_rate = p }, 1, n)
        local error = model.count_error(filter:info().lines, n)
        near(n, 1, math.min(0.02 * n, 4 * error), filter:count(), "the count at %g", p)
      end
    end
  end)

  it("is the number of keys, on the mean, at any fill", function()
    for _, n in ipairs { 1, 10, 100, 1000, 3000 } do
      local counts, lines = {}, nil
      for seed = 1, 200 do
        local filter = add_range(ps.blocked_bloom{ capacity = 1000, seed = statistics.seed(seed) }, 1, n)
        counts[seed], lines = filter:count(), filter:info().lines
      end
      -- Four standard errors of the mean; the bias that a logarithm has; rounding.
      local error = model.count_error(lines, n) / math.sqrt(200)
      near(n, 1, 4 * error + 0.002 * n + 0.1, statistics.mean(counts), "the mean of %d keys", n)
    end
  end)

  it("is the number of keys in a union, those that are in both counted once", function()
    local a = add_range(ps.blocked_bloom{ capacity = 3000 }, 1, 1000)
    local b = add_range(ps.blocked_bloom{ capacity = 3000 }, 501, 1500)
    within(1425, 1575, ps.union(a, b):count(), "the count of the union")
  end)

  it("is that it holds more than it was made for, once it does", function()
    local early = 0
    for seed = 1, 200 do
      local filter = add_range(ps.blocked_bloom{ capacity = 1000, seed = statistics.seed(seed) }, 1, 1000)
      early = early + (filter:info().over_capacity and 1 or 0)
      add_range(filter, 1001, 1200)
      assert.is_true(filter:info().over_capacity)
    end
    within(0, 3, early, "filters called over-full at capacity, of 200,")
  end)

  it("is that its answers are worthless when it holds twenty times its capacity", function()
    local info = add_range(ps.blocked_bloom{ capacity = 5000 }, 1, 100000):info()
    within(0.99, 1, info.fill, "fill")
    within(0.9, 1, info.fp_rate, "fp_rate")
    assert.is_true(info.over_capacity)
  end)

  it("is that it is saturated when every bit is set; it then counts as if one were not", function()
    for _, n in ipairs { 1, 100 } do
      local filter = ps.blocked_bloom{ capacity = n }
      assert.is_false(filter:info().saturated)
      add_range(filter, 1, 20000)
      local info = filter:info()
      assert.is_true(info.saturated)
      assert.is_true(info.over_capacity)
      assert.equal(1, info.fill)
      assert.equal(1, info.fp_rate)
      local cells = 64 * info.lines
      assert.equal(math.floor(math.log(8 * cells) / -math.log(1 - 1 / cells) + 0.5), filter:count())
      assert.is_true(filter:has "never added")
      assert.is_false(filter:add "never added")
    end
  end)
end)

describe("the seed of a blocked bloom filter", function()
  it("makes it err independently of one with another seed", function()
    local a = add_range(ps.blocked_bloom{ capacity = 10000, fp_rate = 0.02, seed = 1 }, 1, 10000)
    local b = add_range(ps.blocked_bloom{ capacity = 10000, fp_rate = 0.02, seed = 2 }, 1, 10000)
    local probes, joint = {}, 0
    for i = 1, 100000 do
      probes[i] = NEVER + i
    end
    local in_a, in_b = a:has_many(probes), b:has_many(probes)
    for i = 1, #probes do
      joint = joint + (in_a[i] and in_b[i] and 1 or 0)
    end
    near(40, 5, math.sqrt(40), joint, "hits in both")
  end)

  it("makes keys harmless, when it is random, that were crafted to fill one line", function()
    local crafted, key = {}, 0
    local options = { capacity = 10000, fp_rate = 0.01 }
    local lines = ps.plan("blocked_bloom", options).lines
    while #crafted < 500 do -- the line is chosen by the highest bits of the hash
      key = key + 1
      if math.floor(tonumber(ps.hash(key):sub(1, 8), 16) / 2 ^ 32 * lines) == 0 then
        crafted[#crafted + 1] = key
      end
    end
    local known = ps.blocked_bloom(options)
    known:add_many(crafted)
    within(0.9 * 512, 512, known:info().fill * 512 * lines, "bits set under the known seed, all in one line,")

    options.seed = "random"
    local secret = ps.blocked_bloom(options)
    secret:add_many(crafted)
    within(480, 520, secret:count(), "the count under a secret seed")
    within(0, 1e-6, secret:info().fp_rate, "the rate under a secret seed")
  end)
end)

describe("a blocked bloom filter of more than 2^32 bits", function()
  it("uses all of them and denies no key #large", function()
    local filter = add_range(ps.blocked_bloom{ capacity = 450000000, fp_rate = 0.01 }, 1, 3000000)
    local info = filter:info()
    assert.is_true(info.bits > 2 ^ 32)
    -- Were only a part of the lines in use, or some more than others, keys would share more bits.
    local cells = info.bits / 8
    local error = model.count_error(info.lines, 3000000)
    near(cells * (1 - math.exp(-3000000 / cells)), 5, error, info.fill * cells, "bits set in a lane")
    near(3000000, 5, error, filter:count(), "the count")
    assert.equal(3000000, hits(filter, 1, 3000000))
    assert.equal(0, hits(filter, NEVER, NEVER + 999999))
    filter:close()
  end)
end)
