local ps = require "probsketch"
local expect = require "spec.support.expect"
local model = require "spec.support.cuckoo_model"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, add_range, hits = statistics.within, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

local BUCKET_SIZES = { 2, 4, 8 }

local function integers(first, last)
  local keys = {}
  for i = first, last do
    keys[#keys + 1] = i
  end
  return keys
end

-- Adds keys from `first` on until one is refused; returns that key.
local function fill_up(filter, first)
  local key = first
  while filter:add(key) do
    key = key + 1
  end
  return key
end

local function remove_range(filter, first, last)
  for key = first, last do
    if not filter:remove(key) then
      error(("key %d is not removed"):format(key))
    end
  end
end

describe("the size of a cuckoo filter", function()
  it("is that of the formulas, for any capacity, rate and bucket size", function()
    for _, n in ipairs { 1, 4, 5, 8, 9, 50, 227, 1000, 12345, 1e6, 448100000, 2 ^ 40 } do
      for _, p in ipairs { 0.5, 0.03, 0.01, 1e-3, 1e-6, 1e-10 } do
        for _, bucket_size in ipairs(BUCKET_SIZES) do
          local options = { capacity = n, fp_rate = p, bucket_size = bucket_size, max_bytes = 2 ^ 53 }
          local plan, text = ps.plan("cuckoo", options), ("%.0f keys at %g by %d"):format(n, p, bucket_size)
          local buckets = model.buckets(n, bucket_size)
          assert.equal(buckets, plan.buckets, text)
          assert.equal(model.bits(n, buckets, bucket_size, p), plan.fingerprint_bits, text)
          assert.equal(model.bytes(options), plan.bytes, text)
        end
      end
    end
  end)

  it("is at most 14 bits a key at 1/1000, from 10,000 keys up", function()
    for _, n in ipairs { 10000, 12345, 65536, 1e5, 2013265, 3e7, 1e9 } do
      local plan = ps.plan("cuckoo", { capacity = n, fp_rate = 1e-3 })
      within(0, 14, plan.bytes * 8 / n, "bits a key of %d", n)
      within(plan.bits_per_key, plan.bits_per_key + 128 / n, plan.bytes * 8 / n, "bits a key of %d", n)
    end
  end)
end)

describe("the capacity of a cuckoo filter", function()
  local function hold(n, seeds, bucket_size)
    local keys = integers(1, n)
    for seed = 1, seeds do
      local filter = ps.cuckoo{ capacity = n, bucket_size = bucket_size, seed = statistics.seed(seed) }
      local added, message = filter:add_many(keys)
      assert.equal(n, added, message)
    end
  end

  it("goes in, whatever the seed, when it is small", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for _, n in ipairs { 1, 2, 3, 5, 7, 8, 9, 10, 16, 17, 20, 33, 50, 70, 100 } do
        hold(n, 1000, bucket_size)
      end
    end
  end)

  it("goes in, whatever the seed, when it is large", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      hold(227, 300, bucket_size)
      hold(500, 200, bucket_size)
      hold(1000, 100, bucket_size)
      hold(15728, 4, bucket_size)
    end
    hold(62914, 20, 4)
  end)

  it("goes in, whatever the seed, when it is two million #slow", function()
    hold(2013265, 20, 4)
  end)
end)

describe("a cuckoo filter that is full", function()
  it("keeps every key that it took, and is not changed by those that it refuses", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      local filter = ps.cuckoo{ capacity = 10000, bucket_size = bucket_size }
      local n, more, refused = fill_up(filter, 0), {}, 0
      assert.is_true(n >= 10000)
      for key = NEVER, NEVER + 999 do
        local before = refused % 50 == 0 and filter:encode()
        local added, message, code = filter:add(key)
        if added then
          more[#more + 1] = key
        else
          refused = refused + 1
          expect.refusal("full", added, message, code)
          if before then
            expect.same_bytes(before, filter:encode())
          end
        end
      end
      within(300, 1000, refused, "refusals of 1000")
      assert.equal(n + #more, filter:count())
      assert.equal(n, hits(filter, 0, n - 1))
      for _, key in ipairs(more) do
        assert.is_true(filter:has(key))
      end
      assert.is_true(filter:info().over_capacity)
    end
  end)

  it("says in a batch how many went in, and those are exactly the first", function()
    local keys = integers(1, 3000)
    local filter, single = ps.cuckoo{ capacity = 1000 }, ps.cuckoo{ capacity = 1000 }
    local added, message, code = filter:add_many(keys)
    within(1000, 1100, added, "keys that went in")
    assert.equal("full", code)
    assert.equal(("full (%d keys in 1080 slots)"):format(added), message)
    for i = 1, added do
      assert.is_true(single:add(keys[i]))
    end
    assert.equal(single, filter)
    expect.refusal("full", filter:add(keys[added + 1]))
    assert.same({ 0, message, "full" }, { filter:add_many { keys[added + 1], keys[added + 2] } })
    expect.same_bytes(single:encode(), filter:encode())
  end)

  it("has room again for what is removed", function()
    local filter = ps.cuckoo{ capacity = 5000 }
    local n = fill_up(filter, 0)
    remove_range(filter, 0, 999)
    add_range(filter, NEVER, NEVER + 899)
    assert.equal(900, hits(filter, NEVER, NEVER + 899))
    assert.equal(n - 1000, hits(filter, 1000, n - 1))
    assert.equal(n - 100, filter:count())
  end)
end)

describe("a key that is added to a cuckoo filter again and again", function()
  it("is in it up to twice the bucket size, then refused, and room for others is left", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for _, options in ipairs { { capacity = 1 }, { capacity = 1000 }, { capacity = 1000, growth = 2 } } do
        options.bucket_size = bucket_size
        local filter = ps.cuckoo(options)
        local bytes = filter:bytes()
        for i = 1, 2 * bucket_size do
          assert.is_true(filter:add "same")
          assert.equal(i, filter:frequency "same")
        end
        local before = filter:encode()
        for _ = 1, 1000 do
          local message = expect.refusal("full", filter:add "same")
          assert.is_truthy(message:find(("there %d times"):format(2 * bucket_size), 1, true), message)
        end
        assert.equal(0, (filter:add_many { "same", "same" }))
        expect.same_bytes(before, filter:encode())
        assert.equal(bytes, filter:bytes())
        local others = statistics.keys("other ", 1, options.capacity > 1 and 900 or 0)
        assert.equal(#others, (filter:add_many(others)))
        for i = 2 * bucket_size - 1, 0, -1 do
          assert.is_true(filter:remove "same")
          within(i, i + 1, filter:frequency "same", "the frequency after removing")
        end
      end
    end
  end)
end)

describe("removing from a cuckoo filter", function()
  it("takes nothing away for a key that is denied", function()
    local filter, denied = add_range(ps.cuckoo{ capacity = 2000 }, 1, 1500), 0
    local before = filter:encode()
    for key = NEVER, NEVER + 4999 do
      if not filter:has(key) then
        assert.is_false(filter:remove(key))
        assert.equal(0, filter:frequency(key))
        denied = denied + 1
      end
    end
    expect.same_bytes(before, filter:encode())
    within(4800, 5000, denied, "keys denied")
  end)

  it("leaves an empty filter when all are removed, at any size, and it fills again", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for _, n in ipairs { 1, 2, 3, 5, 6, 7, 1000, 12345 } do
        local filter = ps.cuckoo{ capacity = n, bucket_size = bucket_size }
        local empty = filter:encode()
        for round = 0, 1 do
          add_range(filter, round * NEVER + 1, round * NEVER + n)
          assert.equal(n, filter:count())
          assert.equal(n, hits(filter, round * NEVER + 1, round * NEVER + n))
          remove_range(filter, round * NEVER + 1, round * NEVER + n)
          assert.equal(0, filter:count())
          assert.equal(0, hits(filter, 0, 10000))
          expect.same_bytes(empty, filter:encode())
        end
      end
    end
  end)

  it("leaves an empty filter when all of a hundred thousand are removed #slow", function()
    local filter = add_range(ps.cuckoo{ capacity = 99991 }, 1, 99991)
    remove_range(filter, 1, 99991)
    assert.equal(ps.cuckoo{ capacity = 99991 }, filter)
  end)
end)

describe("the false-positive rate of a cuckoo filter", function()
  local function hold_to_rate(n, rate, bucket_size, probes)
    local filter = add_range(ps.cuckoo{ capacity = n, fp_rate = rate, bucket_size = bucket_size }, 1, n)
    local info = filter:info()
    local expected = probes * info.fp_rate
    local text = ("hits among %d, %d keys at %g by %d,"):format(probes, n, rate, bucket_size)
    within(0, rate, info.fp_rate, "the rate it says")
    within(expected - 5 * math.sqrt(expected), expected + 5 * math.sqrt(expected),
      hits(filter, NEVER, NEVER + probes - 1), text)
    local most = probes * rate * 1.2
    within(0, most + 4 * math.sqrt(most), hits(filter, NEVER, NEVER + probes - 1), text)
  end

  it("is no more than was asked for when it is full, and what it says", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for _, rate in ipairs { 0.5, 0.03, 0.01, 0.001, 1e-4 } do
        hold_to_rate(20000, rate, bucket_size, 100000)
      end
    end
  end)

  it("is no more than was asked for with a million keys #slow", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for _, rate in ipairs { 0.03, 0.01, 0.001, 1e-4 } do
        hold_to_rate(1000000, rate, bucket_size, 1000000)
      end
    end
  end)

  it("is how often a new key is taken for a known one at four fifths of the capacity", function()
    for _, rate in ipairs { 0.03, 0.001 } do
      local filter = add_range(ps.cuckoo{ capacity = 50000, fp_rate = rate }, 1, 40000)
      local most = 10000 * rate * 1.2
      local wrong = 0
      for key = NEVER, NEVER + 9999 do
        if filter:has(key) then
          wrong = wrong + 1
        else
          assert.is_true(filter:add(key))
        end
      end
      within(0, most + 4 * math.sqrt(most), wrong, "new keys taken for known")
    end
  end)

  it("is as low as one in ten thousand millions where that is asked for", function()
    local filter = add_range(ps.cuckoo{ capacity = 20000, fp_rate = 1e-10 }, 1, 20000)
    assert.equal(0, hits(filter, NEVER, NEVER + 999999))
    within(0, 1e-10, filter:info().fp_rate, "the rate it says")
  end)
end)

describe("merging cuckoo filters", function()
  it("makes the multiset sum, copies included", function()
    local a = add_range(ps.cuckoo{ capacity = 5000, fp_rate = 1e-4 }, 1, 1500)
    local b = add_range(ps.cuckoo{ capacity = 5000, fp_rate = 1e-4 }, 1001, 2500)
    local both = ps.union(a, b)
    assert.equal(3000, both:count())
    remove_range(both, 1, 1500)
    assert.equal(1500, hits(both, 1001, 2500))
    remove_range(both, 1001, 2500)
    assert.equal(ps.cuckoo{ capacity = 5000, fp_rate = 1e-4 }, both)
  end)

  it("raises when they do not fit, and changes nothing", function()
    local function part(from)
      return add_range(ps.cuckoo{ capacity = 1000 }, from, from + 699)
    end
    local a, b, c = part(1), part(1001), ps.cuckoo{ capacity = 1000 }:merge(part(2001))
    local before, b_before = a:encode(), b:encode()
    expect.raise_saying("full (", a.merge, a, b)
    expect.raise_saying("full (", a.merge, a, ps.cuckoo{ capacity = 1000 }, b)
    expect.raise_saying("full (", a.union, a, b)
    expect.raise_saying("full (", ps.union, b, c)
    expect.raise_saying("full (", a.merge, a, a)
    expect.same_bytes(before, a:encode())
    expect.same_bytes(b_before, b:encode())
    assert.equal(700, a:count())
    assert.equal(700, hits(a, 1, 700))
  end)
end)

describe("what a cuckoo filter says of itself", function()
  it("is what it is made of, and how full it is", function()
    local filter = add_range(ps.cuckoo{ capacity = 1000, fp_rate = 0.001, bucket_size = 8 }, 1, 500)
    local info = filter:info()
    assert.equal(1000, info.capacity)
    assert.equal(8, info.bucket_size)
    assert.equal(0, info.growth)
    assert.equal(130, info.buckets)
    assert.equal(14, info.fingerprint_bits)
    assert.equal(500, info.count)
    assert.equal(0.001, info.target_fp_rate)
    assert.equal(500 / 1040, info.fill)
    assert.is_false(info.over_capacity)
    within(0.999, 1, info.fp_rate / model.rate(500, 130, 14), "the rate by the bound on it")
    assert.is_true(add_range(filter, 501, 1010):info().over_capacity)
  end)

  it("is exact whatever was added, refused and removed", function()
    local filter, generator, held = ps.cuckoo{ capacity = 300, fp_rate = 1e-4 }, random.new(3), {}
    local n = 0
    for _ = 1, 20000 do
      local key = math.floor(generator:uniform() * 500)
      if generator:uniform() < 0.55 then
        if (held[key] or 0) < 8 and filter:add(key) then
          held[key], n = (held[key] or 0) + 1, n + 1
        end
      elseif (held[key] or 0) > 0 then
        assert.is_true(filter:remove(key))
        held[key], n = held[key] - 1, n - 1
      end
      assert.equal(n, filter:count())
    end
    for key, times in pairs(held) do
      assert.is_true(filter:frequency(key) >= times)
    end
  end)
end)
