-- Files that released versions wrote load for ever, answer as they did, and are what is written today.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local quantiles = require "spec.support.quantiles"

local contents = dofile "spec/fixtures/contents.lua"
local DIRECTORY = "spec/fixtures/1/"

local function filter_truth(sketch, n)
  for i = 1, n do
    assert.is_true(sketch:has(("key:%d"):format(i)))
  end
  local wrong = 0
  for i = n + 1, n + 1000 do
    wrong = wrong + (sketch:has(("key:%d"):format(i)) and 1 or 0)
  end
  assert.is_true(wrong <= (n == 0 and 0 or 150), wrong)
end

local function count_truth(sketch, n)
  local total = 0
  for i = 1, n do
    total = total + i % 7 + 1
    assert.is_true(sketch:frequency(("key:%d"):format(i)) >= i % 7 + 1)
  end
  assert.equal(total, sketch:count())
end

local function exact_truth(sketch, n)
  filter_truth(sketch, n)
  assert.equal(n, sketch:count())
end

-- All the values of a fixture, sorted; there are as many, with these extremes.
local function values_truth(sketch, fixture)
  local values = {}
  fixture.fill { add = function(_, x, weight)
    for _ = 1, weight do
      values[#values + 1] = x
    end
  end }
  table.sort(values)
  assert.equal(#values, sketch:count())
  assert.equal(values[1], sketch:min())
  assert.equal(values[#values], sketch:max())
  return values
end

-- What must be true of the answers, by the input alone.
local truths = {
  bloom = filter_truth,
  blocked_bloom = filter_truth,
  scalable_bloom = filter_truth,
  counting_bloom = filter_truth,
  cuckoo = exact_truth,
  fuse = exact_truth,
  count_min = count_truth,
  top_k = function(sketch, n)
    count_truth(sketch, n)
    assert.equal(math.min(n, sketch:info().k), #sketch:list())
    for item in sketch:each() do
      local truth = item.key:match "^key:(%d+)$" % 7 + 1
      assert.is_true(item.count - item.error <= truth and truth <= item.count)
    end
  end,
  hyperloglog = function(sketch, n)
    local slack = n <= 100 and 0 or 4 * 1.04 / math.sqrt(2 ^ sketch:info().precision) * n
    assert.is_true(math.abs(sketch:count() - n) <= slack, sketch:count())
  end,
  minhash = function(sketch, n)
    local alike, sizes = sketch:copy(), sketch:info().hashes
    for i = 1, n do
      assert.is_false(alike:add(("key:%d"):format(i)))
    end
    assert.equal(1, (sketch:jaccard(alike)))
    assert.is_true(math.abs(sketch:count() - n) <= 4 * n / math.sqrt(math.max(1, sizes - 2)), sketch:count())
  end,
  tdigest = function(sketch, _, fixture)
    local values, exact = values_truth(sketch, fixture), sketch:info().exact
    for k = 0, #values - 1, 7 do
      local x = sketch:quantile(math.min((k + 0.25) / (#values - 1), 1))
      assert.is_true(x == values[k + 1] or not exact)
      assert.is_true(math.abs(sketch:rank(x) - (k + 1) / #values) <= 0.15)
    end
  end,
  kll = function(sketch, _, fixture)
    local values, sum = values_truth(sketch, fixture), 0
    local slack = sketch:info().levels == 1 and 0 or sketch:rank_error()
    for k, x in ipairs(values) do
      local q = (k - 0.75) / (#values - 1)
      sum = sum + x
      if k % 7 == 0 and k < #values then
        local found = sketch:quantile(q)
        local below, up_to = quantiles.rank(values, found - 1e-9), quantiles.rank(values, found)
        assert.is_true(q >= below - slack - 1 / #values and q <= up_to + slack + 1 / #values)
      end
    end
    assert.equal(sum, sketch:sum())
  end,
  ddsketch = function(sketch, _, fixture)
    local values, info = values_truth(sketch, fixture), sketch:info()
    for k = 0, #values - 1, 7 do
      local truth, x = values[k + 1], sketch:quantile((k + 0.25) / (#values - 1))
      local error = math.abs(x - truth) / math.abs(truth == 0 and 1 or truth)
      assert.is_true(error <= info.relative_accuracy or (info.collapsed and math.abs(truth) < 4000))
    end
  end,
}

-- How many different keys a fixture holds: counted by filling a stand-in.
local function keys_of(fixture)
  local n = fixture.options.keys and #fixture.options.keys or 0
  fixture.fill { add = function()
    n = n + 1
  end }
  return n
end

for _, fixture in ipairs(contents) do
  describe("the frozen " .. fixture.name, function()
    local tight, paged = DIRECTORY .. fixture.name .. ".tight", DIRECTORY .. fixture.name .. ".paged"
    local today = ps[fixture.kind](fixture.options)
    fixture.fill(today)

    it("loads, and is what the same input makes today", function()
      for _, path in ipairs { tight, paged } do
        local sketch = assert(ps.load(path))
        assert.equal(sketch, ps.decode(files.read(path)))
        assert.equal(fixture.kind, sketch:kind())
        assert.equal(today, sketch)
        for option, value in pairs(fixture.options) do
          local named = option ~= "fp_rate" and type(value) ~= "table"
          assert.is_true(sketch:info()[option] == value or not named, option)
        end
        assert.same(today:info(), sketch:info())
      end
    end)

    it("is written today to the byte", function()
      expect.same_bytes(files.read(tight), today:encode())
      local directory = files.directory()
      assert(today:save(directory .. "/sketch"))
      local written = files.read(directory .. "/sketch")
      files.remove(directory)
      expect.same_bytes(files.read(paged), written)
    end)

    it("answers rightly", function()
      truths[fixture.kind](ps.load(tight), keys_of(fixture), fixture)
    end)
  end)
end

describe("the frozen files", function()
  it("are those that are described, and leave out no kind", function()
    local described, held = {}, {}
    for _, fixture in ipairs(contents) do
      described[#described + 1] = fixture.name .. ".paged"
      described[#described + 1] = fixture.name .. ".tight"
      held[fixture.kind] = true
    end
    table.sort(described)
    assert.same(described, files.list(DIRECTORY))
    for _, kind in ipairs(kinds) do
      assert.is_true(held[kind.name], kind.name)
    end
  end)
end)
