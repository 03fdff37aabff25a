local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, near, add_range, hits = statistics.within, statistics.near, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

-- The most that counters of each width hold.
local MOST = { [4] = 15, [8] = 255, [16] = 65535 }

describe("the size of a counting bloom filter", function()
  it("is a counter for each bit of a bloom filter, and its hashes are the same", function()
    for _, n in ipairs { 1, 106, 107, 1000, 12345, 1e6, 2 ^ 40 } do
      for _, p in ipairs { 0.9, 0.1, 0.01, 1e-6, 1e-15 } do
        local bloom = ps.plan("bloom", { capacity = n, fp_rate = p, max_bytes = 2 ^ 53 })
        for width in pairs(MOST) do
          local plan = ps.plan("counting_bloom", { capacity = n, fp_rate = p, counter_bits = width,
            max_bytes = 2 ^ 53 })
          assert.equal(bloom.bits, plan.bits)
          assert.equal(bloom.hashes, plan.hashes)
          assert.equal(math.ceil(bloom.bits * width / 64) * 8, plan.bytes)
          near(bloom.bits_per_key * width, 1, 1e-9 * plan.bits_per_key, plan.bits_per_key, "bits a key")
        end
      end
    end
  end)

  it("is for 1 % and counters of 4 bits when nothing else is said", function()
    assert.equal(ps.counting_bloom{ capacity = 1000, fp_rate = 0.01, counter_bits = 4 },
      ps.counting_bloom{ capacity = 1000 })
  end)
end)

describe("a counting bloom filter", function()
  it("says true for a key that is new and false for one that was there", function()
    local filter = ps.counting_bloom{ capacity = 1000 }
    assert.is_false(filter:has "x")
    assert.is_true(filter:add "x")
    assert.is_false(filter:add("x", 3))
    assert.is_true(filter:add("y", 5))
    assert.is_true(filter:has "x")
    assert.equal(4, filter:frequency "x")
    assert.equal(5, filter:frequency "y")
    assert.equal(0, filter:frequency "z")
    assert.same({ true, false, true }, filter:has_many { "x", "a", "y" })
    assert.equal(2, filter:count())
  end)

  it("forgets what is removed, and says whether it was there so often", function()
    local filter = ps.counting_bloom{ capacity = 1000 }
    filter:add("x", 5)
    assert.is_true(filter:remove "x")
    assert.equal(4, filter:frequency "x")
    assert.is_true(filter:remove("x", 3))
    local bytes = filter:encode()
    assert.is_false(filter:remove("x", 2))
    assert.is_false(filter:remove("x", 2 ^ 53))
    expect.same_bytes(bytes, filter:encode())
    assert.is_true(filter:remove "x")
    assert.is_false(filter:has "x")
    assert.is_false(filter:remove "x")
    assert.equal(ps.counting_bloom{ capacity = 1000 }, filter)
    assert.is_true(filter:add "x")
  end)

  it("is not changed by a count of 0", function()
    local filter = ps.counting_bloom{ capacity = 1000 }
    filter:add "x"
    local bytes = filter:encode()
    assert.is_true(filter:add("y", 0)) -- it is certainly not there
    assert.is_false(filter:add("x", 0))
    assert.is_true(filter:remove("x", 0))
    assert.is_true(filter:remove("y", 0))
    expect.same_bytes(bytes, filter:encode())
  end)

  it("refuses counts that are none, unchanged", function()
    local filter = ps.counting_bloom{ capacity = 1000 }
    filter:add("x", 2)
    local bytes = filter:encode()
    for _, bad in ipairs { -1, 0.5, 1.5, 2 ^ 54, 1 / 0, 0 / 0, "1", true, {} } do
      expect.raise_saying("count expected, an integer from 0 to 2^53", filter.add, filter, "x", bad)
      expect.raise_saying("count expected, an integer from 0 to 2^53", filter.remove, filter, "x", bad)
      expect.raise_saying("count expected", filter.at_least, filter, "x", bad)
    end
    expect.raise_saying("count expected", filter.at_least, filter, "x")
    for _, method in ipairs { "add", "remove", "frequency", "has", "at_least" } do
      expect.raise_saying("key expected", filter[method], filter, {}, 1)
      expect.raise_saying("key expected", filter[method], filter, 1.5, 1)
    end
    expect.same_bytes(bytes, filter:encode())
  end)

  it("counts a key once where several of its places are one", function()
    -- With 1024 counters and 7 places one key in fifty has fewer; with 2 places one in a thousand has only one.
    for _, rate in ipairs { 0.01, 0.3 } do
      for width in pairs(MOST) do
        local options, fewer = { capacity = 1, fp_rate = rate, counter_bits = width }, 0
        local filter = ps.counting_bloom(options)
        local hashes, empty = filter:info().hashes, filter:encode()
        for key = 1, 5000 do
          filter:add(key, 3)
          local set = filter:info().fill * 1024
          fewer = fewer + (set < hashes and 1 or 0)
          if filter:frequency(key) ~= 3 or not filter:remove(key, 3) or filter:info().fill ~= 0 then
            error(("key %d of %d places"):format(key, hashes))
          end
        end
        local expected = 5000 * hashes * (hashes - 1) / 2 / 1024
        near(expected, 5, math.sqrt(expected), fewer, "keys with places in common")
        expect.same_bytes(empty, filter:encode())
      end
    end
  end)

  it("has, whatever was added and removed in whatever order, the bytes of what is left", function()
    local generator = random.new(3)
    for width in pairs(MOST) do
      local options = { capacity = 300, counter_bits = width }
      local filter, left, expected = ps.counting_bloom(options), {}, ps.counting_bloom(options)
      for _ = 1, 20000 do
        local key = generator:integer(100)
        if (left[key] or 0) > 0 and generator:uniform() < 0.5 then
          assert.is_true(filter:remove(key))
          left[key] = left[key] - 1
        elseif (left[key] or 0) < 2 then
          filter:add(key)
          left[key] = (left[key] or 0) + 1
        end
      end
      assert.is_false(filter:info().saturated)
      for key = 100, 1, -1 do
        expected:add(key, left[key] or 0)
      end
      assert.equal(expected, filter)
      assert.same(expected:info(), filter:info())
    end
  end)

  it("affirms a key more often than it is there for as many keys as the rate says", function()
    local filter = add_range(ps.counting_bloom{ capacity = 20000, fp_rate = 0.05 }, 1, 20000)
    local more = 0
    for key = 1, 20000 do
      local frequency = filter:frequency(key)
      assert.is_true(frequency >= 1)
      more = more + (frequency > 1 and 1 or 0)
    end
    local expected = 20000 * filter:info().fp_rate
    near(expected, 5, math.sqrt(expected), more, "keys with a frequency above 1")
  end)
end)

describe("removing from a counting bloom filter", function()
  it("changes nothing for keys that it denies", function()
    local filter = add_range(ps.counting_bloom{ capacity = 2000, fp_rate = 0.001 }, 1, 1000)
    local bytes, denied = filter:encode(), 0
    for key = NEVER, NEVER + 4999 do
      if not filter:has(key) then
        assert.is_false(filter:remove(key))
        assert.is_false(filter:remove(key, 7))
        denied = denied + 1
      end
    end
    assert.is_true(denied > 4900)
    expect.same_bytes(bytes, filter:encode())
    assert.equal(1000, hits(filter, 1, 1000))
  end)

  it("denies nothing that is held, over random operations with the counters that are the default", function()
    local filter, held, generator = ps.counting_bloom{ capacity = 5000 }, {}, random.new(17)
    for i = 1, 60000 do
      local key = generator:integer(5000)
      if held[key] then
        if not filter:remove(key) then
          error(("operation %d: a key that is held is not removed"):format(i))
        end
        held[key] = nil
      else
        filter:add(key)
        held[key] = true
      end
      local asked = generator:integer(5000)
      if held[asked] and not filter:has(asked) then
        error(("operation %d: a key that is held is denied"):format(i))
      end
    end
    assert.is_false(filter:info().saturated)
    for key in pairs(held) do
      assert.is_true(filter:has(key))
      assert.is_true(filter:remove(key))
    end
    assert.equal(ps.counting_bloom{ capacity = 5000 }, filter)
  end)

  it("denies nothing that is held though counters saturate, over random operations", function()
    local filter, held, generator = ps.counting_bloom{ capacity = 200 }, {}, random.new(23)
    for i = 1, 100000 do
      local key, n = generator:integer(400), generator:integer(4)
      local times = held[key] or 0
      if times >= n and generator:uniform() < 0.55 then
        if not filter:remove(key, n) then
          error(("operation %d: a key that is held %d times is not removed"):format(i, times))
        end
        held[key] = times - n
      else
        filter:add(key, n)
        held[key] = times + n
      end
      if filter:frequency(key) < math.min(15, held[key]) then
        error(("operation %d: a frequency below the truth"):format(i))
      end
    end
    assert.is_true(filter:info().saturated)
    for key, times in pairs(held) do
      assert.is_true(times == 0 or filter:has(key))
    end
  end)
end)

describe("the counters of a counting bloom filter", function()
  it("are exact to their maximum, and at_least() to its ends", function()
    for added = 0, 20 do
      local filter = ps.counting_bloom{ capacity = 1000 }
      for _ = 1, added do
        filter:add "x"
      end
      for t = 0, 15 do
        assert.equal(t <= math.min(added, 15), filter:at_least("x", t))
      end
      for _, t in ipairs { 16, 17, 255, 2 ^ 53 } do
        local message = expect.raise_saying("an integer from 0 to 15", filter.at_least, filter, "x", t)
        assert.is_truthy(message:find("count expected", 1, true))
      end
      assert.equal(math.min(added, 15), filter:frequency "x")
      assert.equal(added >= 15, filter:info().saturated)
      assert.is_true(filter:at_least("never added", 0))
      assert.is_false(filter:at_least("never added", 1))
    end
  end)

  it("are as wide as is asked for", function()
    for width, most in pairs(MOST) do
      for _, n in ipairs { most - 1, most, most + 1, 2 ^ 32, 2 ^ 53 } do
        local filter = ps.counting_bloom{ capacity = 1000, counter_bits = width }
        assert.is_true(filter:add("x", n))
        assert.equal(math.min(n, most), filter:frequency "x")
        assert.equal(n >= most and 7 or 0, filter:info().saturated_cells)
        assert.is_true(filter:at_least("x", most - 1))
        assert.equal(n >= most, filter:at_least("x", most))
        expect.raise_saying(("from 0 to %d"):format(most), filter.at_least, filter, "x", most + 1)
        filter:add("x", n)
        assert.equal(most, filter:frequency "x")
      end
    end
  end)

  it("stick at their maximum: nothing that was added is lost when a key is removed", function()
    local filter = ps.counting_bloom{ capacity = 600 }
    for _ = 1, 20 do
      filter:add "hot"
    end
    add_range(filter, 1, 500)
    local function hold()
      assert.is_true(filter:has "hot")
      assert.equal(500, hits(filter, 1, 500))
      assert.equal(15, filter:frequency "hot")
      assert.equal(7, filter:info().saturated_cells)
    end
    local bytes = filter:encode()
    for _ = 1, 26 do
      assert.is_true(filter:remove "hot")
      hold()
    end
    assert.is_true(filter:remove("hot", 20)) -- it stands for any number
    expect.same_bytes(bytes, filter:encode())
  end)

  it("stick one by one: those of the same key that are not saturated are still decremented", function()
    local options = { capacity = 1, fp_rate = 0.3 } -- two places a key
    local filter = ps.counting_bloom(options)
    filter:add("x", 14)
    local other, fill = 0, filter:info().fill
    repeat -- a key that shares one place with it
      other = other + 1
      local trial = filter:copy()
      trial:add(other)
      local grown = (trial:info().fill - fill) * 1024
    until grown == 1
    filter:add(other) -- now one counter is at 15, and one at 14
    assert.equal(1, filter:info().saturated_cells)
    assert.is_true(filter:remove("x", 14))
    assert.equal(0, filter:frequency "x")
    assert.equal(1, filter:frequency(other))
    assert.is_true(filter:remove(other))
    assert.equal(1, filter:info().saturated_cells)
    assert.equal(1 / 1024, filter:info().fill)
  end)

  it("are few of them at 15 when each key is added once, up to the capacity", function()
    assert.equal(0, add_range(ps.counting_bloom{ capacity = 100000 }, 1, 100000):info().saturated_cells)
  end)

  it("count in a batch only what changes them", function()
    local filter = ps.counting_bloom{ capacity = 1000 }
    filter:add("x", 14)
    assert.equal(3, filter:add_many { "x", "x", "y", "x", "y" })
    assert.equal(15, filter:frequency "x")
    assert.equal(2, filter:frequency "y")
  end)
end)

describe("what a counting bloom filter says of itself", function()
  it("tells a saturated counter from too many keys", function()
    local over = ps.counting_bloom{ capacity = 75, counter_bits = 8 }
    local generator, keys = random.new(1), {}
    for i = 1, 10000 do
      keys[i] = generator:bytes(16)
    end
    over:add_many(keys)
    local info = over:info()
    assert.is_true(info.over_capacity)
    assert.equal(0, info.saturated_cells)
    assert.is_false(info.saturated)
    assert.equal(0.01, info.target_fp_rate)
    within(0.99, 1, info.fp_rate, "the rate now")

    local hot = ps.counting_bloom{ capacity = 75, counter_bits = 8 }
    hot:add("hot", 1000)
    info = hot:info()
    assert.is_false(info.over_capacity)
    assert.equal(7, info.saturated_cells)
    assert.is_true(info.saturated)
    assert.equal(1, hot:count())
  end)

  it("follows what is added and removed", function()
    local options = { capacity = 2000 }
    local filter, bloom = ps.counting_bloom(options), ps.bloom(options)
    add_range(filter, 1, 3000)
    for key = 2001, 3000 do
      filter:remove(key)
    end
    add_range(bloom, 1, 2000)
    local got, expected = filter:info(), bloom:info()
    for _, name in ipairs { "fill", "fp_rate", "over_capacity", "target_fp_rate", "capacity", "bits", "hashes" } do
      assert.equal(expected[name], got[name], name)
    end
    assert.equal(bloom:count(), filter:count())
    local found, in_bloom = hits(filter, NEVER, NEVER + 99999), hits(bloom, NEVER, NEVER + 99999)
    assert.equal(in_bloom, found) -- the same places, so the same mistakes
  end)
end)

describe("the union of counting bloom filters", function()
  it("has each key as often as both together, and lets it be removed as often", function()
    for width in pairs(MOST) do
      local options = { capacity = 1000, counter_bits = width }
      local a, b, whole = ps.counting_bloom(options), ps.counting_bloom(options), ps.counting_bloom(options)
      for key = 1, 100 do
        a:add(key, key % 3)
        b:add(key, key % 4)
        whole:add(key, key % 3 + key % 4)
      end
      local union = ps.union(a, b)
      assert.equal(whole, union)
      assert.same(whole:info(), union:info())
      for key = 1, 100 do
        assert.is_true(union:remove(key, key % 3 + key % 4))
      end
      assert.equal(ps.counting_bloom(options), union)
    end
  end)

  it("stops at the counters' maximum, in whatever order they come", function()
    for width, most in pairs(MOST) do
      local options = { capacity = 1000, counter_bits = width }
      local parts = {}
      for i, n in ipairs { most - 3, 2, 1, most, 0 } do
        parts[i] = ps.counting_bloom(options)
        parts[i]:add("x", n)
        parts[i]:add(i)
      end
      assert.equal(most - 1, ps.union(parts[1], parts[2]):frequency "x")
      assert.is_false(ps.union(parts[1], parts[2]):info().saturated)
      for _, union in ipairs { ps.union(parts[1], parts[2], parts[3]), ps.union(parts[4], parts[1]) } do
        assert.equal(most, union:frequency "x")
        assert.equal(7, union:info().saturated_cells)
      end
      assert.equal(ps.union(parts[1], parts[2], parts[3], parts[4], parts[5]),
        ps.union(parts[5], parts[4], parts[3], parts[2], parts[1]))
    end
  end)
end)
