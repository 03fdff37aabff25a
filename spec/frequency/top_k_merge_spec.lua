local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"
local truths = require "spec.support.truths"

local within, zipf, exact = statistics.within, statistics.zipf, statistics.exact
local hold_to_form, hold_to_truth = truths.hold_to_form, truths.hold_to_truth
local by_string, recall = truths.by_string, truths.recall

describe("a merge of top_k sketches", function()
  local KEYS, EVENTS = 100000, 200000
  local stream, truth

  setup(function()
    stream = zipf(5, 1.1, KEYS, EVENTS)
    truth = by_string(exact(stream))
  end)

  -- Parts of the stream by a function of the place and the key.
  local function split(choose, options)
    local parts = {}
    for i = 1, 8 do
      parts[i] = ps.top_k(options)
    end
    for i, key in ipairs(stream) do
      parts[choose(i, key)]:add(key)
    end
    return parts
  end

  local function hold_merged(parts, k)
    local generator = random.new(k)
    for _ = 1, 20 do
      local all = ps.union((table.unpack or unpack)(generator:shuffled(parts)))
      assert.equal(EVENTS, all:count())
      assert.equal(1, recall(all, truth, 10))
      for _, item in ipairs(hold_to_form(all)) do
        local n, sum = truth[item.key], 0
        assert.is_true(item.count - item.error <= n and n <= item.count, item.key)
        for _, part in ipairs(parts) do
          sum = sum + part:frequency(item.key)
        end
        -- The least of sums may be more than the sum of the least.
        within(1, sum + all:info().error_bound, item.count, "the count of %s", item.key)
      end
    end
    hold_to_truth(ps.union((table.unpack or unpack)(parts)), truth)
  end

  it("lists what is most frequent in all of them, in whatever order they are merged #slow", function()
    local generator = random.new(77)
    for _, k in ipairs { 10, 100 } do
      local options = { k = k, width = 5437, depth = 5 }
      hold_merged(split(function()
        return generator:integer(8)
      end, options), k)
      hold_merged(split(function(_, key)
        return math.ceil(key / KEYS * 8)
      end, options), k)
      hold_merged(split(function(_, key)
        return key % 8 + 1
      end, options), k)
    end
  end)

  it("adds counts and errors of what both list, and what the other's counters say of the rest", function()
    local a, b = ps.top_k{ k = 2 }, ps.top_k{ k = 2 }
    for key, n in pairs { both = 10, a = 5 } do
      a:add(key, n)
    end
    for key, n in pairs { both = 7, b = 20 } do
      b:add(key, n)
    end
    b:add("a", 3) -- is in its counters
    local union = a:union(b)
    assert.same({ { key = "b", count = 20, error = 0 }, { key = "both", count = 17, error = 0 } }, union:list())
    assert.equal(8, union:frequency "a")
    union:add("a", 100)
    assert.same({ key = "a", count = 108, error = 8 }, union:list()[1])
    b:add("a", 30)
    assert.same({ key = "a", count = 33, error = 3 }, b:list()[1])
    assert.same({ key = "a", count = 38, error = 3 }, a:union(b):list()[1])
  end)

  it("is exact while all keys find room", function()
    local parts, whole = {}, ps.top_k{ k = 50, width = 3, depth = 1 }
    for i = 1, 4 do
      parts[i] = ps.top_k{ k = 50, width = 3, depth = 1 }
    end
    for i = 1, 900 do
      whole:add(i * i % 47)
      parts[i % 4 + 1]:add(i * i % 47)
    end
    expect.same_bytes(whole:encode(), ps.union(parts[2], parts[1], parts[4], parts[3]):encode())
  end)
end)

describe("halving a top_k", function()
  -- A truth that is halved as often.
  local function halved(counts)
    local half = {}
    for key, n in pairs(counts) do
      half[key] = math.floor(n / 2)
    end
    return half
  end

  it("leaves half of what each key stands for, and the bounds hold for that", function()
    for seed = 1, 30 do
      local generator, truth, total = random.new(seed), {}, 0
      local top_k = ps.top_k{ k = 5, width = 12, depth = 2, seed = statistics.seed(seed) }
      for _ = 1, 12 do
        for _ = 1, 80 do
          local key, n = ("%d"):format(generator:integer(generator:integer(40))), generator:integer(4)
          truth[key], total = (truth[key] or 0) + n, total + n
          top_k:add(key, n)
        end
        truth, total = halved(truth), math.floor(total / 2)
        assert.equal(top_k, top_k:halve())
        assert.equal(total, top_k:count())
        hold_to_truth(top_k, truth)
        assert.equal(top_k, ps.decode(top_k:encode()))
      end
    end
  end)

  it("takes a key that comes no more off the list after the logarithm of its count and one time", function()
    for _, n in ipairs { 1, 2, 3, 4, 7, 8, 1000, 1023, 1024, 2 ^ 40 - 1, 2 ^ 40 } do
      local top_k, times = ps.top_k{ k = 3 }, 0
      top_k:add("hot", n)
      repeat
        assert.equal("hot", top_k:list()[1].key)
        top_k:halve()
        times = times + 1
      until #top_k:list() == 0
      local log = 0
      while 2 ^ (log + 1) <= n do
        log = log + 1
      end
      assert.equal(log + 1, times)
      assert.equal(0, top_k:frequency "hot")
      expect.same_bytes(ps.top_k{ k = 3 }:encode(), top_k:encode())
    end
  end)

  it("lets what is hot now overtake what was", function()
    local top_k = ps.top_k{ k = 1 }
    top_k:add("old", 100)
    for _ = 1, 3 do
      top_k:halve()
      top_k:add("new", 10)
    end
    assert.equal("new", top_k:list()[1].key)
    assert.is_true(top_k:frequency "old" >= 12)
  end)
end)
