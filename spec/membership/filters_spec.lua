-- What every filter promises, held against an exact set or multiset beside it.

local ps = require "probsketch"
local files = require "spec.support.files"
local filters = require "spec.support.filters"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, hits = statistics.within, statistics.hits

-- Where the keys begin that no test adds.
local NEVER = 100000000

local function lowest(filter)
  return filter.rates[#filter.rates]
end

-- Other ways to hold the same filter.
local function through_file(sketch)
  local directory = files.directory()
  local path = directory .. "/filter"
  assert(sketch:save(path))
  local loaded = assert(ps.load(path))
  files.remove(directory)
  return loaded
end

local ways = {
  copied = function(sketch) return sketch:copy() end,
  decoded = function(sketch) return assert(ps.decode(sketch:encode())) end,
  loaded = through_file,
}

filters.describe(describe, function(filter)
  it("affirms every key that is in it, full or not, whatever it is made for", function()
    for _, capacity in ipairs(filter.capacities) do
      for _, rate in ipairs(filter.rates) do
        for _, part in ipairs { 0.3, 1 } do
          local n = math.max(1, math.floor(capacity * part))
          local sketch = filter.new(capacity, rate, statistics.keys("k", 1, n))
          local found = sketch:has_many(statistics.keys("k", 1, n))
          for i = 1, n do
            if not (found[i] and sketch:has("k" .. i)) then
              error(("key %d of %d is denied, capacity %d, rate %g"):format(i, n, capacity, rate))
            end
          end
        end
      end
    end
  end)

  it("affirms no more strangers than it says, when it is full", function()
    for _, n in ipairs { 10000, 12345 } do
      for _, rate in ipairs(filter.rates) do
        local probes = math.min(400000, math.ceil(400 / rate))
        local found = hits(filter.filled(n, rate), NEVER, NEVER + probes - 1)
        local most = probes * rate * filter.slack
        within(0, most + 4 * math.sqrt(most), found, "strangers of %d affirmed, %d keys at %g,", probes, n, rate)
      end
    end
  end)

  it("affirms few strangers when it is made for few keys, on the mean over seeds", function()
    local rate, probes, seeds = filter.rates[1], 200, 200
    for _, n in ipairs { 1, 2, 3, 10, 100 } do
      local found = 0
      for seed = 1, seeds do
        local sketch = filter.filled(n, rate, n, statistics.seed(seed))
        found = found + hits(sketch, NEVER, NEVER + probes - 1)
      end
      local most = probes * seeds * rate * filter.slack
      within(0, most + 4 * math.sqrt(most), found, "strangers of %d affirmed, %d keys,", probes * seeds, n)
    end
  end)

  it("denies everything while it is empty", function()
    for _, rate in ipairs(filter.rates) do
      local sketch = filter.new(1000, rate)
      assert.equal(0, hits(sketch, 1, 10000))
      assert.is_false(sketch:has "")
      assert.equal(0, sketch:count())
    end
  end)

  it("knows keys of every length, zeros included, and integers as their decimal strings", function()
    local keys, long = {}, ("\0x\255"):rep(100)
    for length = 0, #long do
      keys[#keys + 1] = long:sub(1, length)
    end
    for _, integer in ipairs { 0, -1, 42, 2 ^ 31, 2 ^ 53, -2 ^ 53 } do
      keys[#keys + 1] = integer
    end
    local sketch = filter.new(#keys, lowest(filter), keys)
    for i, key in ipairs(keys) do
      assert.is_true(sketch:has(key), i)
    end
    for _, text in ipairs { "0", "-1", "42", "2147483648", "9007199254740992", "-9007199254740992" } do
      assert.is_true(sketch:has(text), text)
    end
  end)

  it("answers a batch as it answers one by one", function()
    for _, capacity in ipairs { 100, 10000, 2000000 } do
      local sketch = filter.filled(math.min(capacity, 20000), lowest(filter), capacity)
      for _, n in ipairs { 0, 1, 2, 31, 32, 33, 64, 255, 257, 1000, 3000 } do
        local asked = {}
        for i = 1, n do
          asked[i] = i % 2 == 0 and i or NEVER + i
        end
        local found = sketch:has_many(asked)
        assert.equal(n, #found)
        for i = 1, n do
          if found[i] ~= sketch:has(asked[i]) then
            error(("key %d of a batch of %d"):format(i, n))
          end
        end
      end
    end
  end)

  for name, way in pairs(ways) do
    it("answers when it is " .. name .. " as it did", function()
      local sketch = filter.filled(3000, filter.rates[1])
      local other = way(sketch)
      assert.equal(3000, hits(other, 1, 3000))
      assert.equal(hits(sketch, NEVER, NEVER + 49999), hits(other, NEVER, NEVER + 49999))
      assert.equal(sketch:count(), other:count())
    end)
  end

  it("counts the keys that are in it", function()
    for _, n in ipairs { 1, 10, 1000, 20000 } do
      local count = filter.filled(n, filter.rates[2] or filter.rates[1]):count()
      if filter.exact then
        assert.equal(n, count)
      else
        within(n - 4 * math.sqrt(n) - 1, n + 4 * math.sqrt(n) + 1, count, "the count")
      end
    end
  end)

  if filter.immutable then
    return
  end

  it("says true for a key that was certainly not there, and has it from then on", function()
    -- Copies of a key are all in its two buckets: fewer go in than distinct keys.
    local sketch, model, refuted = filter.new(20000 * (filter.copies and 2 or 1), filter.rates[1]), {}, 0
    local generator = random.new(5)
    for _ = 1, 20000 do
      local key = math.floor(generator:uniform() * 15000)
      local known = sketch:has(key)
      local added = sketch:add(key)
      if filter.removes and filter.exact then
        assert.is_true(added or sketch:frequency(key) == filter.copies)
      elseif added == known then
        error(("add(%d) said %s after has() had said %s"):format(key, tostring(added), tostring(known)))
      end
      refuted = refuted + (added and model[key] and not filter.exact and 1 or 0)
      model[key] = true
      assert.is_true(sketch:has(key))
    end
    assert.equal(0, refuted) -- "certainly not there" was never said of a key that was
  end)

  it("denies everything once it is cleared, and can be filled again", function()
    local sketch = filter.filled(3000, lowest(filter))
    sketch:clear()
    assert.equal(0, hits(sketch, 1, 3000))
    assert.equal(0, sketch:count())
    statistics.add_range(sketch, NEVER, NEVER + 2999)
    assert.equal(3000, hits(sketch, NEVER, NEVER + 2999))
    assert.is_true(hits(sketch, 1, 3000) <= 3000 * lowest(filter) * filter.slack + 10)
  end)

  it("has after a merge the keys of both", function()
    local rate = lowest(filter)
    local a = statistics.add_range(filter.new(20000, rate), 1, 3000)
    local b = statistics.add_range(filter.new(20000, rate), 5001, 9000)
    for _, both in ipairs { ps.union(a, b), ps.union(b, a), a:copy():merge(b) } do
      assert.equal(3000, hits(both, 1, 3000))
      assert.equal(4000, hits(both, 5001, 9000))
      assert.is_true(hits(both, NEVER, NEVER + 99999) <= 2 * 100000 * rate * filter.slack + 10)
    end
    assert.equal(0, math.max(0, hits(a, 5001, 9000) - 10)) -- the parts are as they were
  end)

  -- Adds, removes and asks at random, of few keys so that each meets others, and holds every answer against the
  -- multiset of what is in.
  local function operate(operations)
    local keys = 5000
    local sketch = filter.new(keys * (filter.copies or 1), 0.01)
    local model, absent_asked, affirmed = {}, 0, 0
    local generator = random.new(11)
    for i = 1, operations do
      local key, choice = math.floor(generator:uniform() * keys), generator:uniform()
      local times = model[key] or 0
      if choice < 0.4 and times < (filter.copies or 3) then
        assert(sketch:add(key) ~= nil)
        model[key] = times + 1
      elseif choice < 0.8 and filter.removes and times > 0 then
        if not sketch:remove(key) then
          error(("operation %d: a key that is in %d times is not removed"):format(i, times))
        end
        model[key] = times - 1
      else
        local found = sketch:has(key)
        if times > 0 and not found then
          error(("operation %d: a key that is in %d times is denied"):format(i, times))
        end
        if filter.removes and sketch:frequency(key) < times then
          error(("operation %d: a frequency below the truth"):format(i))
        end
        absent_asked = absent_asked + (times == 0 and 1 or 0)
        affirmed = affirmed + (times == 0 and found and 1 or 0)
      end
    end
    local most = absent_asked * 0.01 * filter.slack
    within(0, most + 8 * math.sqrt(most) + 5, affirmed, "absent keys affirmed, of %d,", absent_asked)
    for key, times in pairs(model) do
      if times > 0 and not sketch:has(key) then
        error(("key %d is denied at the end"):format(key))
      end
    end
    return sketch, model
  end

  it("never denies a key that is in it, over random operations", function()
    operate(30000)
  end)

  it("never denies a key that is in it, over a million random operations #slow", function()
    local sketch, model = operate(1000000)
    if filter.removes then
      for key, times in pairs(model) do
        for _ = 1, times do
          assert.is_true(sketch:remove(key))
        end
      end
      assert.equal(0, hits(sketch, 0, 4999))
      assert.equal(0, sketch:count())
    end
  end)
end)
