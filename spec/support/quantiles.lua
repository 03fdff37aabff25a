-- The sketches of quantiles as the shared specs of spec/quantile/quantiles_spec.lua see them. An entry:
--
--   name       of the constructor
--   sum        what sum() and mean() of positive values may be off by, as a share
--   off(sorted, q, x)  by how much x is no quantile at q of the sorted values; 1: as much as is allowed

local ps = require "probsketch"

-- The number of sorted values that are <= x, or < x.
local function count_to(sorted, x, below)
  local low, high = 0, #sorted
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sorted[middle + 1] < x or (sorted[middle + 1] == x and not below) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Kinds that promise a value: it may be so far from value number floor(q (n - 1)), as a share of that.
local function off_by_value(slack)
  return function(sorted, q, x)
    local truth = sorted[math.floor(q * (#sorted - 1)) + 1]
    return x == truth and 0 or math.abs(x - truth) / (slack * math.abs(truth))
  end
end

-- Kinds that promise a rank: q may be so far from the fractions of the values that are below x, and not above it. One
-- value more is what q (n - 1) is rounded by.
local function off_by_rank(slack)
  return function(sorted, q, x)
    local below, up_to = count_to(sorted, x, true) / #sorted, count_to(sorted, x) / #sorted
    return math.max(0, below - q, q - up_to) / (slack + 1 / #sorted)
  end
end

local quantiles = {
  { name = "tdigest", sum = 1e-12, off = off_by_rank(0.05) },
  { name = "kll", sum = 1e-12, off = off_by_rank(0.0125) },
  { name = "ddsketch", sum = 0.01, off = off_by_value(0.01) },
}

-- A sorted copy.
function quantiles.sorted(values)
  local copy = {}
  for i, x in ipairs(values) do
    copy[i] = x
  end
  table.sort(copy)
  return copy
end

-- The fraction of the sorted values that are <= x.
function quantiles.rank(sorted, x)
  return count_to(sorted, x) / #sorted
end

for _, entry in ipairs(quantiles) do
  function entry.new()
    return ps[entry.name]()
  end

  function entry.filled(values)
    local sketch = entry.new()
    sketch:add_many(values)
    return sketch
  end
end

-- Describes every kind of them by means of busted's describe(): f(entry) makes its specs.
function quantiles.describe(describe, f)
  for _, entry in ipairs(quantiles) do
    describe("a " .. entry.name, function()
      f(entry)
    end)
  end
end

return quantiles
