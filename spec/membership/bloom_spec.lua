local ps = require "probsketch"
local batches = require "spec.support.batches"
local statistics = require "spec.support.statistics"

local within, near, add_range, hits = statistics.within, statistics.near, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

local LN2 = math.log(2)

-- What theory says of n keys in a filter: the rate, and the standard error of the count (linear counting of k n bits
-- set among m, Whang et al. 1990).
local function theory(filter, n)
  local info = filter:info()
  local load = n * info.hashes / info.bits
  local rate = (1 - math.exp(-load)) ^ info.hashes
  return rate, math.sqrt(info.bits * (math.exp(load) - load - 1)) / info.hashes
end

-- A filter for n keys that is filled with them and asked for others.
local function hold_to_rate(n, rate, probes)
  local filter = add_range(ps.bloom{ capacity = n, fp_rate = rate }, 1, n)
  local fewest, most = statistics.fewest_hits(probes, (theory(filter, n))), statistics.most_hits(probes, rate)
  within(fewest, most, hits(filter, NEVER, NEVER + probes - 1), "hits among %d, with %d keys at %g,", probes, n, rate)
end

describe("the size of a bloom filter", function()
  it("is 9586 bits and 7 hashes for 1000 keys at 1 %, the rate when none is given", function()
    local plan = ps.plan("bloom", { capacity = 1000, fp_rate = 0.01 })
    assert.equal(9586, plan.bits)
    assert.equal(7, plan.hashes)
    assert.equal(1200, plan.bytes)
    assert.equal(ps.bloom{ capacity = 1000, fp_rate = 0.01 }, ps.bloom{ capacity = 1000 })
  end)

  it("follows the published formulas for any capacity and rate, from 1024 bits and one hash up", function()
    for _, n in ipairs { 1, 2, 3, 10, 106, 107, 1000, 12345, 1e6, 448100000, 2 ^ 40 } do
      for _, p in ipairs { 0.999999, 0.9, 0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-9, 1e-15 } do
        local plan = ps.plan("bloom", { capacity = n, fp_rate = p, max_bytes = 2 ^ 53 })
        local optimal = math.ceil(-n * math.log(p) / (LN2 * LN2))
        local text = ("n = %.0f, p = %g"):format(n, p)
        assert.equal(math.max(1024, optimal), plan.bits, text)
        assert.equal(math.max(1, math.floor(optimal / n * LN2 + 0.5)), plan.hashes, text)
      end
    end
  end)

  it("is what is asked for in bits and hashes; the capacity is then where half the bits are set", function()
    for _, asked in ipairs { { 1, 1 }, { 63, 2 }, { 64, 64 }, { 1023, 5 }, { 9586, 7 }, { 100003, 3 } } do
      local info = ps.bloom{ bits = asked[1], hashes = asked[2] }:info()
      assert.equal(asked[1], info.bits)
      assert.equal(asked[2], info.hashes)
      assert.equal(math.max(1, math.floor(asked[1] * LN2 / asked[2])), info.capacity)
    end
    local filter = ps.bloom{ bits = 95851, hashes = 7 }
    within(0.99 * 2 ^ -7, 1.01 * 2 ^ -7, filter:info().target_fp_rate, "the rate at half the bits")
  end)
end)

describe("a bloom filter", function()
  it("never denies a key that was added, however full it is", function()
    for _, options in ipairs {
      { capacity = 1 }, { capacity = 100, fp_rate = 0.5 }, { capacity = 1000, fp_rate = 1e-15 },
      { capacity = 10000 }, { capacity = 3000000 }, { bits = 1, hashes = 1 }, { bits = 65, hashes = 64 },
    } do
      local filter = add_range(ps.bloom(options), 1, 10000)
      assert.equal(10000, hits(filter, 1, 10000))
    end
  end)

  it("knows keys of every length", function()
    local filter, long = ps.bloom{ capacity = 1000, fp_rate = 1e-9 }, ("\0x\255"):rep(200)
    for length = 0, 600 do
      assert.is_true(filter:add(long:sub(1, length)))
    end
    for length = 0, 600 do
      assert.is_true(filter:has(long:sub(1, length)))
    end
  end)

  it("works at the lowest capacities and the highest rates, and after a round trip", function()
    local keys = statistics.keys("k", 1, 12)
    for n = 1, 3 do
      for _, p in ipairs { 0.5, 0.9, 0.99, 0.999999 } do
        local filter = ps.bloom{ capacity = n, fp_rate = p }
        filter:add_many(keys)
        local again = ps.decode(filter:encode())
        for _, key in ipairs(keys) do
          assert.is_true(filter:has(key))
          assert.is_true(again:has(key))
          assert.is_false(again:add(key))
        end
        assert.equal(filter, again)
      end
    end
  end)

  it("says true for a key that is new and false for one that was there", function()
    local filter = ps.bloom{ capacity = 1000 }
    assert.is_false(filter:has "x")
    assert.is_true(filter:add "x")
    assert.is_false(filter:add "x")
    assert.is_true(filter:has "x")
    assert.equal(2, filter:add_many { "x", "y", "y", "z", "x" })
    assert.equal(0, filter:add_many { "z", "y", "x" })
    assert.same({ true, false, true, false, true }, filter:has_many { "x", "a", "y", "b", "z" })
    assert.same({}, filter:has_many {})
  end)

  it("takes a new key for a known one, while it fills, as often as its fill says", function()
    local filter = ps.bloom{ capacity = 20000, fp_rate = 0.01 }
    local wrong, expected, contradictions = 0, 0, 0
    for key = 1, 20000 do
      expected = expected + theory(filter, key - 1)
      local known = filter:has(key)
      wrong = wrong + (known and 1 or 0)
      contradictions = contradictions + (filter:add(key) == known and 1 or 0)
    end
    assert.equal(0, contradictions)
    near(expected, 4, math.sqrt(expected), wrong, "new keys taken for known")
  end)

  it("is not changed by keys that it has", function()
    local filter, keys, many = ps.bloom{ capacity = 1000 }, statistics.keys("k", 1, 10), {}
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
    assert.is_nil(ps.bloom{ capacity = 1000 }.remove)
  end)
end)

describe("a batch of keys for a bloom filter", function()
  -- From 1 MiB up filters prefetch.
  local shapes = { { 9586, 7 }, { 8388608 - 64, 7 }, { 8388608, 7 }, { 10000000, 1 }, { 10000000, 50 } }
  local sizes = { 0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300, 1000 }

  batches.specify(it, function(shape)
    return ps.bloom{ bits = shape[1], hashes = shape[2] }
  end, shapes, sizes, 2000)
end)

describe("the false-positive rate of a bloom filter", function()
  it("is what was asked for", function()
    for _, n in ipairs { 1000, 10000 } do
      for _, p in ipairs { 0.1, 0.01, 1e-3 } do
        hold_to_rate(n, p, 50000)
      end
    end
  end)

  it("is what was asked for, from a thousand keys to a million and from 0.1 to 1e-6 #slow", function()
    for _, n in ipairs { 1000, 100000, 1000000 } do
      for _, p in ipairs { 0.1, 0.01, 1e-3, 1e-4, 1e-6 } do
        hold_to_rate(n, p, 1000000)
      end
    end
  end)

  it("is what was asked for at every size in a row #slow", function()
    for n = 218000, 220000, 100 do
      hold_to_rate(n, 1e-4, 400000)
    end
    for n = 100000, 1000000, 50000 do
      hold_to_rate(n, 1e-3, 400000)
    end
    for _, p in ipairs { 0.9, 0.5, 0.4, 0.393, 0.3 } do
      hold_to_rate(100000, p, 400000)
    end
  end)

  it("is what was asked for with keys that are strings #slow", function()
    local filter, wrong = ps.bloom{ capacity = 219500, fp_rate = 1e-4 }, 0
    filter:add_many(statistics.keys("a", 1, 219500))
    for _, found in ipairs(filter:has_many(statistics.keys("z", 1, 400000))) do
      wrong = wrong + (found and 1 or 0)
    end
    within(statistics.fewest_hits(400000, 1e-4), statistics.most_hits(400000, 1e-4), wrong, "hits")
  end)

  it("is on the mean no higher than asked for in filters for a handful of keys #slow", function()
    for _, n in ipairs { 1, 2, 5, 10, 100 } do
      for _, p in ipairs { 0.1, 0.01, 1e-3 } do
        local found = 0
        for seed = 1, 200 do
          local filter = add_range(ps.bloom{ capacity = n, fp_rate = p, seed = statistics.seed(seed) }, 1, n)
          found = found + hits(filter, NEVER, NEVER + 9999)
        end
        within(0, 1.15 * p, found / 2e6, "the mean rate of %d keys at %g", n, p)
      end
    end
  end)

  it("has no floor under it when few keys want a low one #slow", function()
    for _, case in ipairs {
      { 1, 1e-9 }, { 1, 1e-7 }, { 2, 1e-7 }, { 5, 1e-7 }, { 10, 1e-7 }, { 50, 1e-7 }, { 100, 1e-7 }, { 500, 1e-7 },
    } do
      local filter = add_range(ps.bloom{ capacity = case[1], fp_rate = case[2] }, 1, case[1])
      within(0, 2, hits(filter, NEVER, NEVER + 1999999), "hits of %d keys at %g", case[1], case[2])
    end
  end)

  it("is that of independent positions in small tables too, whatever the number of hashes", function()
    for _, shape in ipairs { { 100, 8 }, { 512, 23 }, { 1024, 64 }, { 4096, 23 } } do
      local bits, hashes = shape[1], shape[2]
      -- As many keys as leave a rate of 1 %.
      local n = math.floor(-bits / hashes * math.log(1 - 0.01 ^ (1 / hashes)))
      local found, expected = 0, 0
      for seed = 1, 200 do
        local filter = add_range(ps.bloom{ bits = bits, hashes = hashes, seed = statistics.seed(seed) }, 1, n)
        found = found + hits(filter, NEVER, NEVER + 499)
        expected = expected + 500 * filter:info().fp_rate
      end
      local slack = 0.15 * expected + 4 * math.sqrt(expected)
      within(expected - slack, expected + slack, found, "hits of %d keys in %d bits by %d hashes", n, bits, hashes)
    end
  end)
end)

describe("what a bloom filter says of itself", function()
  it("is its fill, and the rate that follows from it", function()
    local filter = ps.bloom{ capacity = 20000, fp_rate = 0.01 }
    assert.equal(0, filter:info().fill)
    assert.equal(0, filter:info().fp_rate)
    for n = 5000, 40000, 5000 do
      add_range(filter, n - 4999, n)
      local info = filter:info()
      within(1 - 1e-9, 1 + 1e-9, info.fill ^ info.hashes / info.fp_rate, "fill^hashes / fp_rate")
      within(0.99, 1.01, info.fill / (1 - math.exp(-n * info.hashes / info.bits)), "fill / theory, of %d keys,", n)
      assert.equal(0.01, info.target_fp_rate)
    end
    local expected = 50000 * filter:info().fp_rate
    near(expected, 4, math.sqrt(expected), hits(filter, NEVER, NEVER + 49999), "hits of an over-full filter")
  end)

  it("is the number of keys, within 2 % at capacity", function()
    for _, n in ipairs { 10000, 100000, 500000 } do
      for _, p in ipairs { 0.1, 0.01, 1e-4 } do
        local filter = add_range(ps.bloom{ capacity = n, fp_rate = p }, 1, n)
        local _, error = theory(filter, n)
        near(n, 1, math.min(0.02 * n, 4 * error), filter:count(), "the count at %g", p)
      end
    end
  end)

  it("is the number of keys, on the mean, at any fill", function()
    for _, n in ipairs { 1, 10, 100, 1000, 3000 } do
      local counts, error = {}, nil
      for seed = 1, 200 do
        local filter = add_range(ps.bloom{ capacity = 1000, seed = statistics.seed(seed) }, 1, n)
        counts[seed] = filter:count()
        error = select(2, theory(filter, n))
      end
      -- Four standard errors of the mean; the bias that a logarithm has; rounding.
      near(n, 1, 4 * error / math.sqrt(200) + 0.002 * n + 0.1, statistics.mean(counts), "the mean of %d keys", n)
    end
  end)

  it("is the number of keys in a union, those that are in both counted once", function()
    local a = add_range(ps.bloom{ capacity = 3000 }, 1, 1000)
    local b = add_range(ps.bloom{ capacity = 3000 }, 501, 1500)
    within(1425, 1575, ps.union(a, b):count(), "the count of the union")
  end)

  it("is that it holds more than it was made for, once it does", function()
    local early = 0
    for seed = 1, 200 do
      local filter = add_range(ps.bloom{ capacity = 1000, seed = statistics.seed(seed) }, 1, 1000)
      early = early + (filter:info().over_capacity and 1 or 0)
      add_range(filter, 1001, 1200)
      assert.is_true(filter:info().over_capacity)
    end
    within(0, 3, early, "filters called over-full at capacity, of 200,")
  end)

  it("is that its answers are worthless when it holds twenty times its capacity", function()
    local info = add_range(ps.bloom{ capacity = 5000 }, 1, 100000):info()
    within(0.99, 1, info.fill, "fill")
    within(0.9, 1, info.fp_rate, "fp_rate")
    assert.is_true(info.over_capacity)
  end)

  it("is that it is saturated when every bit is set; it then counts as if one were not", function()
    for _, shape in ipairs { { 2, 1 }, { 64, 1 }, { 100, 3 }, { 1024, 7 } } do
      local filter = ps.bloom{ bits = shape[1], hashes = shape[2] }
      assert.is_false(filter:info().saturated)
      add_range(filter, 1, 20000)
      local info = filter:info()
      assert.is_true(info.saturated)
      assert.equal(1, info.fill)
      assert.equal(1, info.fp_rate)
      assert.equal(math.floor(shape[1] / shape[2] * math.log(shape[1]) + 0.5), filter:count())
      assert.is_true(filter:has "never added")
      assert.is_false(filter:add "never added")
    end
  end)
end)

describe("the jaccard estimate of two bloom filters", function()
  local function pair(options, last_of_a, first_of_b, last_of_b)
    return add_range(ps.bloom(options), 1, last_of_a), add_range(ps.bloom(options), first_of_b, last_of_b)
  end

  it("is near the exact value", function()
    for _, p in ipairs { 0.1, 0.01, 1e-4 } do
      for _, range in ipairs { { 5001, 15000 }, { 9001, 19000 }, { 10001, 20000 }, { 1001, 10000 } } do
        local first, last = range[1], range[2]
        local a, b = pair({ capacity = 15000, fp_rate = p }, 10000, first, last)
        local exact = (10000 - first + 1) / last
        -- Three standard errors of each of the three counts, as if all pulled one way.
        local _, error_of_a = theory(a, 10000)
        local _, error_of_b = theory(b, last - first + 1)
        local _, error_of_union = theory(a, last)
        local error = (error_of_a + error_of_b + (1 + exact) * error_of_union) / last
        near(exact, 3, error, a:jaccard(b), "jaccard at %g", p)
        assert.equal(a:jaccard(b), b:jaccard(a))
      end
    end
  end)

  it("is 1 for equal sets, empty ones too, and 0 when one set is empty", function()
    local options = { capacity = 1000 }
    for _, case in ipairs { { 1, 500, 1, 500 }, { 1, 0, 1, 0 }, { 0, 0, 1, 500 }, { 0, 500, 1, 0 } } do
      local a, b = pair(options, case[2], case[3], case[4])
      assert.equal(case[1], a:jaccard(b))
    end
    local filter = add_range(ps.bloom(options), 1, 500)
    assert.equal(1, filter:jaccard(filter))
  end)
end)

describe("the seed of a bloom filter", function()
  local function joint_hits(n, rate, probes)
    local a = add_range(ps.bloom{ capacity = n, fp_rate = rate, seed = 1 }, 1, n)
    local b = add_range(ps.bloom{ capacity = n, fp_rate = rate, seed = 2 }, 1, n)
    local joint, batch = 0, {}
    for from = NEVER, NEVER + probes - 1, 100000 do
      for i = 1, 100000 do
        batch[i] = from + i - 1
      end
      local in_a, in_b = a:has_many(batch), b:has_many(batch)
      for i = 1, 100000 do
        joint = joint + (in_a[i] and in_b[i] and 1 or 0)
      end
    end
    return joint
  end

  it("makes it err independently of one with another seed", function()
    near(40, 5, math.sqrt(40), joint_hits(10000, 0.02, 100000), "hits in both")
  end)

  it("makes of two filters of 1/1000 one of a millionth #slow", function()
    within(0, 12, joint_hits(100000, 1e-3, 4000000), "hits in both, 4 expected,")
  end)

  it("makes keys harmless, when it is random, that were crafted to fill the bits", function()
    local known, crafted, key = ps.bloom{ capacity = 1000 }, {}, 0
    while #crafted < 500 do -- each sets seven bits that were not set
      key = key + 1
      local trial, before = known:copy(), known:info().fill
      trial:add(key)
      if math.floor((trial:info().fill - before) * 9586 + 0.5) == 7 then
        known, crafted[#crafted + 1] = trial, key
      end
    end
    near(3500, 1, 0.5, known:info().fill * 9586, "bits set under the known seed")

    local secret = ps.bloom{ capacity = 1000, seed = "random" }
    secret:add_many(crafted)
    local load = 3500 / 9586
    local error = math.sqrt(9586 * math.exp(-load) * (1 - (1 + load) * math.exp(-load)))
    near(9586 * (1 - math.exp(-load)), 7, error, secret:info().fill * 9586, "bits set under a secret seed")
  end)

  it("makes keys harmless, when it is random, that are known to be taken for others", function()
    local known = add_range(ps.bloom{ capacity = 1000 }, 1, 1000)
    local secret = add_range(ps.bloom{ capacity = 1000, seed = "random" }, 1, 1000)
    local crafted = {}
    for key = NEVER, NEVER + 99999 do
      if known:has(key) then
        crafted[#crafted + 1] = key
      end
    end
    within(800, 1200, #crafted, "hits under the known seed")
    local found = 0
    for _, affirmed in ipairs(secret:has_many(crafted)) do
      found = found + (affirmed and 1 or 0)
    end
    within(0, 60, found, "hits of the same keys under a secret seed, 10 expected,")
  end)
end)

describe("a bloom filter around 2^32 bits", function()
  it("uses all of them and denies no key #large", function()
    for _, options in ipairs {
      { bits = 3 * 2 ^ 31, hashes = 7 }, { capacity = 448100000, fp_rate = 0.01 }, { bits = 3 * 2 ^ 29, hashes = 7 },
    } do
      local filter = add_range(ps.bloom(options), 1, 3000000)
      local info = filter:info()
      local load = 7 * 3000000 / info.bits
      local ones = info.bits * (1 - math.exp(-load))
      -- Were only a part of the bits in use, or some more than others, keys would share more of them.
      local error = math.sqrt(info.bits * math.exp(-load) * (1 - (1 + load) * math.exp(-load)))
      assert.equal(7, info.hashes)
      near(ones, 5, error, info.fill * info.bits, "bits set of %.0f", info.bits)
      within(2999000, 3001000, filter:count(), "the count")
      assert.equal(3000000, hits(filter, 1, 3000000))
      assert.equal(0, hits(filter, NEVER, NEVER + 999999))
      filter:close()
    end
  end)
end)
