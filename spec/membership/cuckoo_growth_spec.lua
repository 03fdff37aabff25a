-- Cuckoo filters that double.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local model = require "spec.support.cuckoo_model"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, add_range, hits = statistics.within, statistics.add_range, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

local BUCKET_SIZES = { 2, 4, 8 }

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
    for _, bucket_size in ipairs(BUCKET_SIZES) do
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

  it("grows whatever copies are in it: two keys that have no more room take none from the others", function()
    for seed = 30, 39 do
      local filter = ps.cuckoo{ capacity = 1000, growth = 2, seed = seed }
      for _ = 1, 8 do
        filter:add "a"
        filter:add "b"
      end
      local copies = filter:count()
      within(12, 16, copies, "copies of two keys")
      add_range(filter, 1, 100000)
      assert.equal(copies + 100000, filter:count())
      assert.equal(100000, hits(filter, 1, 100000))
      assert.equal(copies, filter:frequency "a" + filter:frequency "b")
    end
  end)

  -- A key is refused only where both its buckets are full of other keys' copies, and less than an eighth of the
  -- places are taken: so one of 64 at most.
  it("takes the keys of a stream in which few come again and again, and never asks first", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for _, exponent in ipairs { 3, 4, 5 } do
        local filter, generator = ps.cuckoo{ capacity = 1000, growth = 2, bucket_size = bucket_size }, random.new(3)
        local keys, new, refused, times = 10 ^ exponent, 0, 0, {}
        for _ = 1, 100000 do
          local key = math.floor(keys ^ generator:uniform())
          local added = filter:add(key)
          if not times[key] then
            new, refused = new + 1, refused + (added and 0 or 1)
          end
          times[key] = (times[key] or 0) + (added and 1 or 0)
        end
        within(0, new / 64, refused, "refused of %d keys out of %d", new, keys)
        local sum = 0
        for key, n in pairs(times) do
          sum = sum + n
          if filter:frequency(key) < n then
            error(("key %d is %d times there, not %d"):format(key, filter:frequency(key), n))
          end
        end
        assert.equal(sum, filter:count())
        local info = filter:info()
        local room = model.room(info.buckets * bucket_size, bucket_size)
        within(room / 16, room, sum, "keys in a filter for %d", room)
      end
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

  local function workers(n, bucket_size, keys)
    local filter = add_range(ps.cuckoo{ capacity = 1000, growth = 2, bucket_size = bucket_size }, 1, keys)
    local all = filter:copy()
    for _ = 2, n do
      all:merge(filter)
    end
    assert.equal(n * keys, all:count())
    for key = 1, keys, 97 do
      within(n, 2 * bucket_size, all:frequency(key), "the frequency of key %d", key)
    end
    local info = all:info()
    return all:count() / model.room(info.buckets * bucket_size, bucket_size)
  end

  -- They have places where no group of buckets has more keys than buckets: random graphs of less than half as many
  -- edges as vertices have none, the last doubling leaves half of that, and small groups may take one more.
  it("takes every key as often as a bucket has places, and stays an eighth full", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      local filter = ps.cuckoo{ capacity = 1000, growth = 2, bucket_size = bucket_size }
      for i = 0, 20000 * bucket_size - 1 do
        assert(filter:add(math.floor(i / bucket_size)))
        if i % 10000 == 9999 then
          local room = model.room(filter:info().buckets * bucket_size, bucket_size)
          within(1 / 8, 1, filter:count() / room, "fill after %d keys", i)
        end
      end
    end
  end)

  it("merges as many workers that saw the same keys as a bucket has places, and stays an eighth full", function()
    for _, bucket_size in ipairs(BUCKET_SIZES) do
      for n = 2, bucket_size do
        within(1 / 8, 1, workers(n, bucket_size, 1500), "fill of %d workers' by %d", n, bucket_size)
        within(1 / 8, 1, workers(n, bucket_size, 20000), "fill of %d workers' by %d", n, bucket_size)
      end
    end
  end)

  it("merges one worker more where there are few keys, in up to 64 times the room", function()
    within(1 / 64, 1, workers(3, 2, 100), "fill by 2")
    within(1 / 64, 1, workers(5, 4, 1500), "fill by 4")
    within(1 / 64, 1, workers(9, 8, 1500), "fill by 8")
  end)

  it("refuses a merge of more copies than have places, and nothing is changed", function()
    local filter = add_range(ps.cuckoo{ capacity = 1000, growth = 2 }, 1, 1500)
    local all = filter:union(filter):union(filter:union(filter))
    local before, bytes = all:encode(), all:bytes()
    expect.raise_saying("full (", all.merge, all, all:union(filter))
    expect.same_bytes(before, all:encode())
    assert.equal(bytes, all:bytes())
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
