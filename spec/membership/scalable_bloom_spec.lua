local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, near, add_range, hits = statistics.within, statistics.near, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

local function sum(list)
  local total = 0
  for i = 1, #list do
    total = total + list[i]
  end
  return total
end

-- Adds the integers from `first` on, one by one, until one is refused; returns that one, the message and the code.
local function add_until_refused(filter, first, last)
  for key = first, last do
    local added, message, code = filter:add(key)
    if added == nil then
      return key, message, code
    end
  end
  error(("all keys up to %d went in"):format(last))
end

-- What is measured is at most what is promised, and what info() says.
local function hold_to_rate(filter, rate, probes)
  local found, says = hits(filter, NEVER, NEVER + probes - 1), filter:info().fp_rate
  local most = 1.1 * rate * probes
  within(0, most + 4 * math.sqrt(most), found, "hits of %d at %g", probes, rate)
  near(says * probes, 5, math.sqrt(says * probes) + 0.02 * says * probes, found, "hits of %d", probes)
end

describe("the false-positive rate of a scalable bloom filter", function()
  it("is what was asked for, after however much growth", function()
    local filter = ps.scalable_bloom{ capacity = 100, fp_rate = 0.01 }
    add_range(filter, 1, 5000)
    hold_to_rate(filter, 0.01, 400000)
    add_range(filter, 5001, 100000)
    hold_to_rate(filter, 0.01, 400000)
  end)

  it("is what was asked for with other growth and tightening", function()
    for _, options in ipairs {
      { capacity = 500, fp_rate = 0.1, growth = 4 },
      { capacity = 500, fp_rate = 0.01, growth = 1.3, tightening = 0.9 },
      { capacity = 2000, fp_rate = 1e-3, growth = 16, tightening = 0.1 }, { capacity = 1, fp_rate = 0.05 },
      { capacity = 3000, fp_rate = 0.5, tightening = 0.8 },
    } do
      local filter = add_range(ps.scalable_bloom(options), 1, 20000)
      hold_to_rate(filter, options.fp_rate, 100000)
    end
  end)

  it("is what was asked for with keys that are strings #slow", function()
    local filter, found = ps.scalable_bloom{ capacity = 100, fp_rate = 0.01 }, 0
    filter:add_many(statistics.keys("s", 1, 100000))
    for _, affirmed in ipairs(filter:has_many(statistics.keys("z", 1, 400000))) do
      found = found + (affirmed and 1 or 0)
    end
    within(0, 4400 + 4 * math.sqrt(4400), found, "hits of 400000")
  end)

  it("is what was asked for from a thousand keys to a million #slow", function()
    for _, rate in ipairs { 0.1, 0.01, 1e-3, 1e-4 } do
      local filter, added = ps.scalable_bloom{ capacity = 1000, fp_rate = rate }, 0
      for _, keys in ipairs { 1000, 3000, 10000, 30000, 100000, 300000, 1000000 } do
        add_range(filter, added + 1, keys)
        added = keys
        hold_to_rate(filter, rate, math.min(1000000, 2000 / rate))
      end
    end
  end)

  it("is at no moment above what was asked for, by the fill of all layers", function()
    for _, options in ipairs {
      { capacity = 50, fp_rate = 0.01 }, { capacity = 1, fp_rate = 0.3, growth = 1 },
      { capacity = 20, fp_rate = 1e-4, growth = 3.7, tightening = 0.9 },
    } do
      local filter = ps.scalable_bloom(options)
      for key = 1, 1000 do
        assert(filter:add(key) ~= nil)
        within(0, options.fp_rate, filter:info().fp_rate, "the rate with %d keys", key)
      end
    end
  end)

  it("is shared out to the layers: their own rates never sum up to more", function()
    for _, tightening in ipairs { 0.1, 0.5, 0.9 } do
      local filter = ps.scalable_bloom{ capacity = 10, fp_rate = 0.01, tightening = tightening, growth = 1.2 }
      for _ = 1, 10 do
        add_range(filter, filter:count() + 1, filter:count() + 150)
        local info = filter:info()
        assert.equal(info.layers, #info.layer_fp_rates)
        within(0, 0.01 * (1 + 1e-12), sum(info.layer_fp_rates), "the sum of %d rates", info.layers)
        for i = 1, info.layers do
          near(0.01 * (1 - tightening) * tightening ^ (i - 1), 1, 1e-15, info.layer_fp_rates[i], "rate %d", i)
        end
      end
    end
  end)
end)

describe("the layers of a scalable bloom filter", function()
  it("are at most ten from a capacity of 1000 to a million keys, and more than eight are called many", function()
    local filter = ps.scalable_bloom{ capacity = 1000, fp_rate = 0.01 }
    for keys = 0, 900000, 100000 do
      add_range(filter, keys + 1, keys + 100000)
      local info = filter:info()
      assert.is_true(info.layers <= 10)
      assert.equal(info.layers > 8, info.many_layers)
    end
    assert.equal(10, filter:info().layers)
    assert.equal(1000000, hits(filter, 1, 1000000))
  end)

  it("cost an absent key at most eight times what one filter for all keys does", function()
    local layered = add_range(ps.scalable_bloom{ capacity = 1000, fp_rate = 0.01 }, 1, 1000000)
    local single = add_range(ps.bloom{ capacity = 1000000, fp_rate = 0.01 }, 1, 1000000)
    local function seconds(filter)
      local best = math.huge
      for _ = 1, 5 do
        local clock = os.clock()
        for key = NEVER, NEVER + 99999 do
          filter:has(key)
        end
        best = math.min(best, os.clock() - clock)
      end
      return best
    end
    within(0, 8, seconds(layered) / seconds(single), "the cost of a question")
  end)

  it("are made for the capacity times a power of the growth", function()
    for _, growth in ipairs { 1, 1.5, 2, 3 } do
      local info = add_range(ps.scalable_bloom{ capacity = 200, growth = growth }, 1, 5000):info()
      assert.is_true(info.layers > 3)
      local total = 0
      for i = 1, info.layers do
        near(200 * growth ^ (i - 1), 1, 1, info.layer_capacities[i], "capacity %d", i)
        total = total + info.layer_capacities[i]
        if i < info.layers then
          assert.is_true(total < 5000 * 1.02)
        end
      end
      assert.is_true(total * 1.2 > 5000)
    end
  end)

  it("have the sizes of bloom filters for their capacity, the rate of each, and some more for chance", function()
    local info = add_range(ps.scalable_bloom{ capacity = 1000, fp_rate = 0.01 }, 1, 50000):info()
    for i = 1, info.layers do
      local n = info.layer_capacities[i] + math.ceil(math.sqrt(info.layer_capacities[i]))
      local plan = ps.plan("bloom", { capacity = n, fp_rate = info.layer_fp_rates[i] })
      assert.equal(plan.bits, info.layer_bits[i])
      assert.equal(plan.hashes, info.layer_hashes[i])
    end
  end)

  it("take their capacity, and not much more", function()
    for _, n in ipairs { 500, 1000, 10000 } do -- in fewer than 1024 bits there would be room for more
      for _, rate in ipairs { 0.2, 0.01, 1e-4 } do
        local grown = 0
        for seed = 1, 50 do
          local filter = ps.scalable_bloom{ capacity = n, fp_rate = rate, seed = statistics.seed(seed) }
          grown = grown + add_range(filter, 1, n):info().layers - 1
          assert.equal(2, add_range(filter, n + 1, math.ceil(n * 1.15 / (1 - rate))):info().layers)
        end
        within(0, 2, grown, "filters of 50 that grew within %d keys at %g", n, rate)
      end
    end
  end)

  it("begin with one, planned before it is there", function()
    local plan = ps.plan("scalable_bloom", { capacity = 1000, fp_rate = 0.01 })
    local filter = ps.scalable_bloom{ capacity = 1000 }
    local info = filter:info()
    assert.equal(1, info.layers)
    assert.is_false(info.many_layers)
    assert.same({ 1000 }, plan.layer_capacities)
    assert.same(plan.layer_bits, info.layer_bits)
    assert.same(plan.layer_hashes, info.layer_hashes)
    assert.equal(0, info.fp_rate)
    assert.equal(0, info.fill)
    assert.equal(0.01, info.target_fp_rate)
  end)

  it("of one key each come to an end, where a rate would be lower than a hash can give", function()
    local filter = ps.scalable_bloom{ capacity = 1, fp_rate = 1e-4, growth = 1, tightening = 0.5 }
    local refused, message, code = add_until_refused(filter, 1, 2000)
    assert.equal("full", code)
    assert.is_truthy(message:find("full", 1, true))
    local info = filter:info()
    assert.equal(50, info.layers) -- 1e-4 / 2^51 is below 2^-64
    for i = 1, info.layers do
      within(1, 64, info.layer_hashes[i], "hashes")
      within(2 ^ -64, 1e-4, info.layer_fp_rates[i], "rate")
    end
    for name, value in pairs(info) do
      assert.is_true(value == value, name)
    end
    assert.equal(refused - 1, hits(filter, 1, refused - 1))
    local decoded = ps.decode(filter:encode())
    assert.equal(hits(filter, NEVER, NEVER + 199999), hits(decoded, NEVER, NEVER + 199999))
    within(0, 22 + 4 * math.sqrt(22), hits(filter, NEVER, NEVER + 199999), "hits of 200000 at 1e-4")
  end)

  it("may be hundreds, and are all asked", function()
    local filter = ps.scalable_bloom{ capacity = 1, fp_rate = 0.01, growth = 1, tightening = 0.9 }
    local refused = add_until_refused(filter, 1, 20000)
    local info = filter:info()
    assert.is_true(info.layers > 300)
    assert.equal(64, #info.layer_hashes)
    assert.equal(refused - 1, hits(filter, 1, refused - 1))
    hold_to_rate(filter, 0.01, 100000)
    assert.equal(filter, ps.decode(filter:encode()))
  end)
end)

describe("a scalable bloom filter", function()
  it("works at the lowest capacities and the highest rates, and after a round trip", function()
    local keys = statistics.keys("k", 1, 12)
    for n = 1, 3 do
      for _, p in ipairs { 0.5, 0.9, 0.99, 0.999999 } do
        local filter = ps.scalable_bloom{ capacity = n, fp_rate = p }
        filter:add_many(keys)
        local again = ps.decode(filter:encode())
        for _, key in ipairs(keys) do
          assert.is_true(filter:has(key) and again:has(key))
          assert.is_false(again:add(key))
        end
      end
    end
  end)

  it("adds no key again that any layer has", function()
    local filter = add_range(ps.scalable_bloom{ capacity = 100 }, 1, 10000)
    local bytes, info = filter:encode(), filter:info()
    for key = 1, 10000 do
      assert.is_false(filter:add(key))
    end
    add_range(filter, 1, 10000)
    assert.equal(bytes, filter:encode())
    assert.same(info, filter:info())
  end)

  it("is not changed by keys that it has, however often they come", function()
    local filter, keys, many = ps.scalable_bloom{ capacity = 1000 }, statistics.keys("k", 1, 10), {}
    filter:add_many(keys)
    local bytes = filter:encode()
    for i = 1, 100000 do
      many[i] = keys[i % 10 + 1]
    end
    assert.equal(0, filter:add_many(many))
    assert.equal(bytes, filter:encode())
    assert.equal(10, filter:count())
  end)

  it("has the same bytes for the same keys in the same order, in batches or one by one", function()
    local generator = random.new(3)
    for _, options in ipairs {
      { capacity = 30 }, { capacity = 600000, fp_rate = 1e-4 }, { capacity = 9, growth = 1.2 },
    } do
      local single, batched, known, fresh = ps.scalable_bloom(options), ps.scalable_bloom(options), 0, 0
      for _, size in ipairs { 0, 1, 2, 31, 255, 256, 257, 511, 513, 1000, 1025 } do
        local keys, new = {}, 0
        for i = 1, size do
          keys[i] = generator:integer(3000)
          new = new + (single:add(keys[i]) and 1 or 0)
        end
        assert.equal(new, batched:add_many(keys))
        assert.equal(single, batched)
        known, fresh = known + size - new, fresh + new
      end
      assert.equal(single:encode(), batched:encode())
      assert.is_true(known > 500 and fresh > 500)
    end
  end)

  it("counts its keys, those also that it took for known", function()
    for _, case in ipairs { { 0.01, 2, 0.002 }, { 0.1, 2, 0.005 }, { 0.5, 1.5, 0.05 }, { 1e-4, 4, 0.002 } } do
      for _, n in ipairs { 300, 3000, 60000 } do
        local counts = {}
        for seed = 1, n < 10000 and 20 or 3 do
          local options = { capacity = 300, fp_rate = case[1], growth = case[2], seed = statistics.seed(seed) }
          counts[seed] = add_range(ps.scalable_bloom(options), 1, n):count()
        end
        -- The error of linear counting is below sqrt(n) up to two thirds of the bits. At high rates, where keys have
        -- one or two bits, which keys a layer gets to see depends on those before it.
        near(n, 1, 4 * math.sqrt(n / #counts) + case[3] * n, statistics.mean(counts), "the mean count at %g", case[1])
      end
    end
  end)

  it("deletes nothing: the bits are other keys' bits too", function()
    assert.is_nil(ps.scalable_bloom{ capacity = 1000 }.remove)
  end)

  it("begins anew when it is cleared, with one layer and its memory", function()
    local filter = add_range(ps.scalable_bloom{ capacity = 100 }, 1, 10000)
    local fresh = ps.scalable_bloom{ capacity = 100 }
    filter:clear()
    assert.equal(fresh, filter)
    assert.equal(fresh:bytes(), filter:bytes())
    assert.same(fresh:info(), filter:info())
  end)
end)

describe("a scalable bloom filter at its limit", function()
  local MEBIBYTE = 2 ^ 20

  it("refuses keys, keeps those it has, and still answers, saves and merges", function()
    local filter = ps.scalable_bloom{ capacity = 1000, fp_rate = 1e-4, growth = 4, max_bytes = MEBIBYTE }
    local refused, message, code = add_until_refused(filter, 1, 10000000)
    assert.equal("full", code)
    assert.is_truthy(message:find("^full: needs %d+ bytes, limit 1048576 %(max_bytes%)$"), message)
    assert.is_true(filter:bytes() <= MEBIBYTE)
    assert.equal(refused - 1, hits(filter, 1, refused - 1))
    local bytes = filter:encode()
    for key = refused, refused + 100 do
      local added, _, again = filter:add(key)
      assert.is_true(added == false or again == "full")
    end
    assert.is_false(filter:add(1))
    assert.equal(bytes, filter:encode())
    assert.equal(filter, ps.decode(bytes))
    assert.equal(filter, filter:union(filter))
    assert.is_true(filter:clear():add(refused))
  end)

  it("takes of a batch the first keys that go in, says how many, and no others", function()
    for _, growth in ipairs { 1, 2, 4 } do
      local options = { capacity = 200, fp_rate = 1e-3, growth = growth, max_bytes = 5000 }
      local single, batched = ps.scalable_bloom(options), ps.scalable_bloom(options)
      local keys, generator = {}, random.new(growth)
      for i = 1, 20000 do
        keys[i] = generator:integer(30000)
      end
      local n, message, code = batched:add_many(keys)
      assert.equal("full", code)
      assert.is_truthy(message:find("limit 5000", 1, true))
      for i = 1, n do
        assert.is_not_nil(single:add(keys[i]))
      end
      assert.is_nil((single:add(keys[n + 1])))
      assert.equal(single, batched)
      assert.is_false(batched:has(keys[n + 1]))
    end
  end)

  it("refuses a merge that would pass it, and stays as it was", function()
    local a = add_range(ps.scalable_bloom{ capacity = 100, max_bytes = 2000 }, 1, 300)
    local b = add_range(ps.scalable_bloom{ capacity = 100 }, 1001, 2000)
    local before, b_before = a:encode(), b:encode()
    expect.raise_saying("full: needs", a.merge, a, b)
    expect.raise_saying("limit 2000", a.union, a, b)
    expect.raise_saying("full: needs", a.merge, a, a:copy(), b)
    assert.equal(before, a:encode())
    assert.equal(b_before, b:encode())
    assert.equal(1000, hits(b:union(a), 1001, 2000))
  end)

  it("is the limit of the module when it comes from bytes", function()
    local usual = ps.max_bytes()
    finally(function()
      ps.max_bytes(usual)
    end)
    local bytes = add_range(ps.scalable_bloom{ capacity = 100 }, 1, 1000):encode()
    ps.max_bytes(#bytes + 1000)
    local filter = assert(ps.decode(bytes))
    local _, _, code = add_until_refused(filter, 1001, 100000)
    assert.equal("full", code)
    ps.max_bytes(#bytes - 200)
    expect.refusal("limit", ps.decode(bytes))
  end)
end)

describe("a merge of scalable bloom filters", function()
  local function filter_of(first, last)
    return add_range(ps.scalable_bloom{ capacity = 100 }, first, last)
  end

  it("puts their layers side by side, and the rates add up", function()
    local a, b = filter_of(1, 1000), filter_of(5001, 8000)
    local a_info, b_info, info = a:info(), b:info(), a:union(b):info()
    assert.equal(a_info.layers + b_info.layers, info.layers)
    near(a_info.fp_rate + b_info.fp_rate, 1, 1e-15, info.fp_rate, "the rate of both")
    near(a:count() + b:count(), 1, 1, a:union(b):count(), "the count of both")
    for i = 1, info.layers do
      local expected = a_info.layer_bits[i] or b_info.layer_bits[i - a_info.layers]
      assert.equal(expected, info.layer_bits[i])
    end
  end)

  it("has the keys of both, affirms what either does, and nothing else", function()
    local a, b = filter_of(1, 1000), filter_of(501, 3000)
    local both = a:union(b)
    assert.equal(3000, hits(both, 1, 3000))
    for key = NEVER, NEVER + 9999 do
      assert.equal(a:has(key) or b:has(key), both:has(key))
    end
  end)

  it("grows on from the larger of both", function()
    local large, small = filter_of(1, 5000), filter_of(10001, 10010)
    for _, both in ipairs { large:union(small), small:union(large) } do
      local before = both:info()
      add_range(both, 20001, 30000)
      local info = both:info()
      assert.equal(5000 + 10 + 10000, hits(both, 1, 5000) + hits(both, 10001, 10010) + hits(both, 20001, 30000))
      assert.is_true(info.layers > before.layers)
      assert.is_true(math.max((table.unpack or unpack)(before.layer_capacities)) < info.layer_capacities[info.layers])
      within(0, 0.02, info.fp_rate, "the rate")
    end
  end)

  it("changes nothing when it comes twice, or of what the filter was before", function()
    local now = filter_of(1, 1000)
    for keys = 1000, 5000, 77 do
      local past = now:copy()
      add_range(now, keys + 1, keys + 77)
      local bytes = now:encode()
      assert.equal(bytes, now:union(past, past, now):encode())
      assert.equal(now:info().layers, past:union(now):info().layers)
      assert.equal(now:count(), past:union(now, past):count())
    end
    local other = filter_of(8001, 9000)
    assert.equal(now:union(other), now:union(other, now, other))
  end)

  it("comes back from bytes also when what is added later covers a layer of it", function()
    local covered = 0
    for seed = 1, 60 do
      local both
      for part = 1, 10 do
        local one = ps.scalable_bloom{ capacity = 100, fp_rate = 0.1, seed = statistics.seed(seed) }
        one:add(-part)
        both = both and both:merge(one) or one
      end
      add_range(both, 1, 150)
      local bytes = both:encode()
      assert.equal(both, assert(ps.decode(bytes)))
      assert.equal(bytes, ps.decode(bytes):encode())
      local twice = both:union(both:copy())
      covered = covered + both:info().layers - twice:info().layers
      assert.equal(twice, both:union(both))
      assert.equal(twice, both:copy():merge(both))
      assert.equal(160, hits(twice, 1, 150) + hits(twice, -10, -1))
    end
    assert.is_true(covered > 0)
  end)

  it("keeps of filters that went apart what they have in common once", function()
    local a = filter_of(1, 5000)
    local b = a:copy()
    add_range(a, 10001, 10200)
    add_range(b, 20001, 20200)
    local both = a:union(b)
    assert.equal(a:info().layers + 1, both:info().layers)
    assert.equal(5400, hits(both, 1, 5000) + hits(both, 10001, 10200) + hits(both, 20001, 20200))
  end)
end)
