-- Cuckoo filters that double.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local model = require "spec.support.cuckoo_model"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, add_range, hits = statistics.within, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

-- What a filter says when it has no room.
local function is_refused(filter, key)
  local before = filter:encode()
  expect.refusal("full", filter:add(key))
  expect.same_bytes(before, filter:encode())
end

local function remove_range(filter, first, last)
  for key = first, last do
    if not filter:remove(key) then
      error(("key %d is not removed"):format(key))
    end
  end
end

describe("a growing cuckoo filter", function()
  it("doubles its buckets, and gives up a bit, when it holds what it is made for", function()
    for _, bucket_size in ipairs { 2, 4, 8 } do
      local filter = ps.cuckoo{ capacity = 100, growth = 2, bucket_size = bucket_size }
      local first = filter:info()
      local n = 0
      for doublings = 0, 6 do
        local buckets = first.buckets * 2 ^ doublings
        local room = model.room(buckets * bucket_size, bucket_size)
        while n < room do
          n = n + 1
          assert.is_true(filter:add(n))
        end
        local info = filter:info()
        assert.equal(buckets, info.buckets)
        assert.equal(doublings, info.doublings)
        assert.equal(first.fingerprint_bits - doublings, info.fingerprint_bits)
        assert.is_false(info.over_capacity)
        assert.equal(n, filter:count())
        assert.equal(n, hits(filter, 1, n))
      end
    end
  end)

  it("is of the size of the formula at first", function()
    for _, n in ipairs { 1, 10, 1000, 1e6 } do
      for _, p in ipairs { 0.5, 0.01, 1e-10 } do
        local options = { capacity = n, growth = 2, fp_rate = p }
        assert.equal(model.bytes(options), ps.plan("cuckoo", options).bytes)
      end
    end
  end)

  it("keeps the rate that was asked for, however large it grows", function()
    local filter, n = ps.cuckoo{ capacity = 1, growth = 2, fp_rate = 0.01 }, 0
    for to = 20000, 120000, 20000 do
      add_range(filter, n + 1, to)
      n = to
      local info, found = filter:info(), hits(filter, NEVER, NEVER + 199999)
      within(0, 0.01, info.fp_rate, "the rate it says")
      local expected = 200000 * info.fp_rate
      within(expected - 5 * math.sqrt(expected), expected + 5 * math.sqrt(expected), found, "hits at %d keys", n)
    end
  end)

  it("ends after its last doubling, says so, and keeps all it took", function()
    local filter = ps.cuckoo{ capacity = 1, growth = 2, bucket_size = 2, fp_rate = 0.01 }
    local n, message, code = filter:add_many((function()
      local keys = {}
      for i = 1, 300000 do
        keys[i] = i
      end
      return keys
    end)())
    assert.equal("full", code)
    assert.equal(("full (%d keys in 262144 slots)"):format(n), message)
    within(model.room(262144, 2), 262144, n, "keys that went in")
    local info = filter:info()
    assert.equal(info.doublings_max, info.doublings)
    assert.equal(n, filter:count())
    assert.equal(n, hits(filter, 1, n))
    is_refused(filter, n + 1)
    local most = 200000 * 0.01 * 1.2
    within(0, most, hits(filter, NEVER, NEVER + 199999), "hits")
  end)

  it("is the same whether its keys come one by one or in batches", function()
    local single, batches, at = ps.cuckoo{ capacity = 10, growth = 2 }, ps.cuckoo{ capacity = 10, growth = 2 }, 0
    for _, n in ipairs { 1, 5, 30, 256, 257, 1000, 5000 } do
      local keys = {}
      for i = 1, n do
        keys[i] = at + i
        single:add(at + i)
      end
      assert.equal(n, batches:add_many(keys))
      expect.same_bytes(single:encode(), batches:encode())
      at = at + n
    end
  end)

  it("holds no more memory when one key comes a hundred thousand times", function()
    local filter = ps.cuckoo{ capacity = 1000, growth = 2 }
    local bytes, added = filter:bytes(), 0
    for _ = 1, 100000 do
      added = added + (filter:add "same" and 1 or 0)
    end
    assert.equal(8, added)
    assert.equal(bytes, filter:bytes())
    -- A key that shares both its buckets with that one makes it double once.
    assert.equal(900, (filter:add_many(statistics.keys("k", 1, 900))))
    within(bytes, 2 * bytes, filter:bytes(), "bytes")
    for _, found in ipairs(filter:has_many(statistics.keys("k", 1, 900))) do
      assert.is_true(found)
    end
  end)

  it("uses what was removed again: fifty rounds take no more memory than one", function()
    local filter, bytes = ps.cuckoo{ capacity = 1000, growth = 2 }, nil
    for round = 1, 50 do
      add_range(filter, round * 10000, round * 10000 + 9999)
      assert.equal(10000, hits(filter, round * 10000, round * 10000 + 9999))
      bytes = bytes or filter:bytes()
      remove_range(filter, round * 10000, round * 10000 + 9999)
      assert.equal(0, filter:count())
      assert.equal(bytes, filter:bytes())
    end
  end)

  it("stops at its limit: what was accepted stays, and it goes on working", function()
    local limit = 2 ^ 20
    local filter = ps.cuckoo{ capacity = 1000, growth = 2, fp_rate = 1e-4, max_bytes = limit }
    local n, from = 0, 1
    repeat
      local keys = {}
      for i = 1, 5000 do
        keys[i] = from + i - 1
      end
      local added, _, code = filter:add_many(keys)
      n, from = n + added, from + 5000
      assert.is_true(filter:bytes() <= limit)
    until code == "full"
    local key = NEVER
    while filter:add(key) do
      key = key + 1
    end
    assert.equal(n + key - NEVER, filter:count())
    assert.equal(key - NEVER, hits(filter, NEVER, key - 1))
    remove_range(filter, NEVER, key - 1)
    assert.is_true(filter:bytes() <= limit)
    assert.equal(n, hits(filter, 1, n))
    local again = assert(ps.decode(filter:encode()))
    assert.equal(filter, again)
    remove_range(again, 1, n)
    assert.equal(0, again:count())
  end)

  -- A key must not be lost to the removal of another, in whatever order they came while the filter grew.
  local function operate(operations, rate)
    local filter, generator = ps.cuckoo{ capacity = 10, growth = 2, fp_rate = rate }, random.new(7)
    local keys, times, n = {}, {}, 0
    for i = 1, operations do
      local choice = generator:uniform()
      if choice < 0.45 or n == 0 then
        local key = math.floor(generator:uniform() * operations / 5)
        if (times[key] or 0) < 4 then
          assert(filter:add(key))
          n = n + 1
          keys[n], times[key] = key, (times[key] or 0) + 1
        end
      elseif choice < 0.75 then
        local at = math.floor(generator:uniform() * n) + 1
        local key = keys[at]
        keys[at], keys[n], n = keys[n], nil, n - 1
        times[key] = times[key] - 1
        if not filter:remove(key) then
          error(("operation %d: a key that is in is not removed"):format(i))
        end
      elseif not filter:has(keys[math.floor(generator:uniform() * n) + 1]) then
        error(("operation %d: a key that is in is denied"):format(i))
      end
    end
    assert.equal(n, filter:count())
    for i = 1, n do
      assert.is_true(filter:has(keys[i]))
    end
    for i = 1, n do
      assert.is_true(filter:remove(keys[i]))
    end
    assert.equal(0, filter:count())
  end

  it("never denies a key that is in it, while others come and go", function()
    operate(100000, 0.5)
    operate(50000, 0.01)
  end)

  it("never denies a key that is in it, over a million operations #slow", function()
    operate(1000000, 0.3)
  end)

  it("comes back from bytes as large as it was, is copied and cleared", function()
    local filter = ps.cuckoo{ capacity = 10, growth = 2 }
    local small = filter:bytes()
    add_range(filter, 1, 5000)
    local copy, decoded = filter:copy(), assert(ps.decode(filter:encode()))
    assert.equal(filter, copy)
    assert.equal(filter, decoded)
    assert.same(filter:info(), decoded:info())
    for _, sketch in ipairs { filter, copy, decoded } do
      add_range(sketch, 5001, 9000)
      assert.equal(9000, hits(sketch, 1, 9000))
    end
    expect.same_bytes(filter:encode(), copy:encode())
    expect.same_bytes(filter:encode(), decoded:encode())
    copy:clear()
    assert.equal(ps.cuckoo{ capacity = 10, growth = 2 }, copy)
    assert.equal(small, copy:bytes())
  end)

  it("merges with one that has grown more or less, and grows for both", function()
    local function filled(first, last)
      return add_range(ps.cuckoo{ capacity = 50, growth = 2, fp_rate = 1e-3 }, first, last)
    end
    local small, large = filled(1, 40), filled(1001, 9000)
    local empty = ps.cuckoo{ capacity = 50, growth = 2, fp_rate = 1e-3 }
    for _, both in ipairs { ps.union(small, large), ps.union(large, small), ps.union(empty, small, large) } do
      assert.equal(8040, both:count())
      assert.equal(40, hits(both, 1, 40))
      assert.equal(8000, hits(both, 1001, 9000))
      remove_range(both, 1, 40)
      remove_range(both, 1001, 9000)
      assert.equal(0, both:count())
    end
    local twice = ps.union(large, large)
    assert.equal(16000, twice:count())
    assert.equal(large:info().doublings + 1, twice:info().doublings)
    assert.equal(large, ps.union(empty, large))
  end)

  it("refuses a merge that is over its limit, and nothing is changed", function()
    local large = add_range(ps.cuckoo{ capacity = 50, growth = 2 }, 1, 5000)
    local small = add_range(ps.cuckoo{ capacity = 50, growth = 2, max_bytes = 4000 }, 1, 40)
    local empty = ps.cuckoo{ capacity = 50, growth = 2, max_bytes = 4000 }
    local before, fresh = small:encode(), empty:encode()
    expect.raise_saying("full (", small.merge, small, large)
    expect.raise_saying("full (", empty.merge, empty, large)
    expect.same_bytes(before, small:encode())
    expect.same_bytes(fresh, empty:encode())
  end)
end)
