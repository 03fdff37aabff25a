local ps = require "probsketch"
local expect = require "spec.support.expect"
local hyperloglogs = require "spec.support.hyperloglogs"
local statistics = require "spec.support.statistics"

local within, near, add_range = statistics.within, statistics.near, statistics.add_range
local new = hyperloglogs.new

describe("the overlap of hyperloglogs", function()
  local function set(first, last, precision)
    return add_range(new(precision or 14), first, last)
  end

  -- Both estimates and their errors, which must not depend on which is asked, nor change anything.
  local function overlap(a, b)
    local before_a, before_b = a:encode(), b:encode()
    local both, error = a:intersection(b)
    local share, share_error = a:jaccard(b)
    assert.same({ both, error, share, share_error }, { b:intersection(a), select(2, b:intersection(a)), b:jaccard(a) })
    expect.same_bytes(before_a, a:encode())
    expect.same_bytes(before_b, b:encode())
    within(0, math.min(a:estimate(), b:estimate()), both, "the intersection")
    within(0, 1, share, "the Jaccard index")
    assert.is_true(error >= 0 and share_error >= 0)
    return both, error, share, share_error
  end

  it("is never below nothing nor above the smaller set, and its error is told", function()
    local both, error = overlap(set(1, 10000), set(10001, 20000))
    within(0, 600, both, "the intersection of disjoint sets")
    within(both / 4, 600, error, "its standard error")
    both = overlap(set(1, 10000), set(1, 10000))
    within(9700, 10300, both, "the intersection of equal sets")
    both, error = overlap(set(1, 100), set(1, 100000))
    near(100, 4, error + 0.5, both, "the intersection with a subset")
    both, error = overlap(set(1, 200000), set(199501, 399500))
    near(500, 3, error, both, "the intersection of 500")
    within(100, 1500, error, "its standard error")
  end)

  it("is a share of the union, too", function()
    for _, precision in ipairs { 10, 12, 14 } do
      local a, b = set(1, 30000, precision), set(20001, 60000, precision)
      local _, _, share, error = overlap(a, b)
      near(1 / 6, 4, error, share, "the Jaccard index at precision %d", precision)
      within(0.2 / math.sqrt(2 ^ precision), 1 / math.sqrt(2 ^ precision), error, "its standard error")
    end
  end)

  it("is counted for small sets", function()
    for _, n in ipairs { 0, 1, 100, 700 } do
      local both, error, share = overlap(set(1, n + 300), set(301, n + 1000))
      near(n, 1, 0.01 + 4 * error, both, "the intersection")
      near(n / (n + 1000), 1, 1e-5 + 4 * error / 1000, share, "the Jaccard index")
      within(0, 0.2, error, "the standard error")
    end
  end)

  it("is that of registers when one of them is small", function()
    for _, n in ipairs { 10, 500, 2000 } do
      local both, error, share, share_error = overlap(set(1, n), set(n - n / 10 + 1, 50000))
      near(n / 10, 4, error, both, "the intersection of %d", n)
      near(n / 10 / 50000, 4, share_error, share, "the Jaccard index of %d", n)
    end
  end)

  it("is all of an equal set, nothing of an empty one, and of two empty ones all", function()
    for _, n in ipairs { 1, 40, 3000, 100000 } do
      local a = set(1, n)
      assert.same({ a:estimate(), 1 }, { a:intersection(a), (a:jaccard(a)) })
      assert.same({ a:estimate(), 1 }, { a:intersection(a:copy()), (a:jaccard(a:copy())) })
      assert.same({ 0, 0, 0, 0 }, { overlap(a, ps.hll{ seed = a }) })
    end
    assert.same({ 0, 0, 1, 0 }, { overlap(new(14), new(14)) })
  end)

  it("errs far less than inclusion and exclusion #slow", function()
    local joint, excluding, told = { {}, {} }, { {}, {} }, { {}, {} }
    for seed = 1, 40 do
      for i, shared in ipairs { 100000, 10000 } do
        local a, b = new(14, seed), new(14, seed)
        add_range(a, 1, 1000000)
        add_range(b, 1000001 - shared, 2000000 - shared)
        local both, error = a:intersection(b)
        joint[i][seed], told[i][seed] = both - shared, error
        excluding[i][seed] = a:estimate() + b:estimate() - a:union(b):estimate() - shared
      end
    end
    for i, most in ipairs { 0.7, 0.6 } do
      local error = statistics.root_mean_square(joint[i])
      within(0, most, error / statistics.root_mean_square(excluding[i]), "the error to that of inclusion and exclusion")
      within(0.75, 1.3, error / statistics.mean(told[i]), "the error to that told")
    end
  end)

  it("is that of two compatible sketches, no more and no less", function()
    local a, closed = set(1, 100), new(14)
    closed:close()
    for _, method in ipairs { "intersection", "jaccard" } do
      expect.raise_saying("precision mismatch (expected 14, got 12)", a[method], a, new(12))
      expect.raise_saying("seed mismatch", a[method], a, new(14, 7))
      expect.raise_saying("kind mismatch (expected hyperloglog, got bloom)", a[method], a, ps.bloom{ capacity = 10 })
      expect.raise_saying("hyperloglog expected", a[method], a, 7)
      expect.raise_saying("hyperloglog expected", a[method], a)
      expect.raise_saying("only two", a[method], a, a, a)
      expect.raise_saying("closed", a[method], a, closed)
      expect.raise_saying("closed", a[method], closed, a)
    end
  end)
end)
