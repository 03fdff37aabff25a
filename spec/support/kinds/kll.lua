local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"
local unpack = table.unpack or unpack -- luacheck: ignore 113

local little, spliced, hexadecimal = envelope.little, envelope.spliced, envelope.hexadecimal

local fractions = { 0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1 }

-- The payload has 64 bytes of head: the random number, coins that are pending and their sides, min, max, the sum in two
-- parts, its shift, and the number of levels. Then come the sizes of the levels, 4 bytes each, and the items. Replaces
-- the bytes from `at`, 0 the first.
local function with(at, bytes)
  return function(payload)
    return spliced(payload, at + 1, bytes)
  end
end

local function levels_in(payload)
  return envelope.number(payload:sub(61, 64))
end

-- Replaces the first item of the highest level, or what is `behind` it.
local function with_highest(bytes, behind)
  return function(payload)
    local n = levels_in(payload)
    local size = envelope.number(payload:sub(61 + 4 * n, 64 + 4 * n))
    return spliced(payload, #payload - 8 * (size - (behind or 0)) + 1, bytes)
  end
end

-- All capacities of 54 levels, the most there can be: k (2/3)^depth to the nearest, and 8 at least.
local function capacity(k)
  local sum = 0
  for depth = 0, 53 do
    sum = sum + math.max(8, math.floor(k * (2 / 3) ^ depth + 0.5))
  end
  return sum
end

local exact, compacted, small = "that keeps all", "that has compacted", "of the least k"
local huge, nan = hexadecimal "7ff0000000000000", hexadecimal "7ff8000000000000"

return {
  name = "kll",
  options = { k = 200 },
  tosses = true,
  item = function(i)
    return (i * 7919 % 10007 - 4000) * (i % 11 + 1) / 8
  end,
  forms = {
    { name = exact, options = { k = 1000 }, items = 60, twice = "doubles" },
    { name = compacted, options = { k = 20 }, items = 300, ordered = true, twice = "compacts" },
    { name = small, options = { k = 8 }, items = 100, ordered = true, twice = "compacts" },
  },
  answers = function(kll)
    local answers = kll:quantiles(fractions) or {}
    for _, x in ipairs { -1000, -1, 0, 3.5, 200, 1e6 } do
      answers[#answers + 1] = kll:rank(x)
    end
    return shared.append(answers, kll:rank_error(), kll:count(), kll:sum(), kll:min() or false, kll:max() or false,
      kll:mean() or false)
  end,
  -- When all values are there twice, number floor(q (n - 1)) may be the next one.
  doubled = function(answers)
    local doubled = shared.append({}, unpack(answers))
    for i = #answers - 4, #answers - 3 do -- count and sum
      doubled[i] = 2 * answers[i]
    end
    return doubled
  end,
  merges = "as a set",
  united = function(kll)
    return { kll:count(), kll:sum(), kll:mean(), kll:min(), kll:max() }
  end,
  unlike = {
    k = { { k = 100 }, { k = 101 } },
  },
  ranges = {
    k = { says = "an integer from 8 to 65535",
      bad = { 0, 1, 2, 7, -8, 8.5, 65536, 2 ^ 31, 2 ^ 32 + 200, 1e300, 0 / 0 }, good = { 8, 9, 199, 65535 } },
  },
  against = {},
  huge = {},
  bytes = function(options)
    return capacity(options.k) * (8 + 16)
  end,
  megabytes = { k = 20000 },
  fields = {
    { "k", 4, { "00000000", "00000007", "00010000", "80000000", "ffffffff" } },
  },
  corrupt = {
    { "a coin tossed where nothing was compacted", exact, with(0, little(8, 1)) },
    { "a pending coin of the highest level", exact, with(8, little(8, 1)) },
    { "a pending coin of no level", compacted, with(8, hexadecimal "8000000000000000") },
    { "a side that is not pending", compacted, function(payload)
      return spliced(payload, 9, little(8, 0) .. little(8, 1))
    end },
    { "a least value that is no number", compacted, with(24, nan) },
    { "a least value above an item", compacted, with(24, hexadecimal "40e0000000000000") },
    { "a least value that is none of all items", exact, with(24, hexadecimal "c0f0000000000000") },
    { "a largest value below an item", compacted, with(32, hexadecimal "4000000000000000") },
    { "a largest value that is none of all items", exact, with(32, hexadecimal "40f0000000000000") },
    { "an infinite largest value", compacted, with(32, huge) },
    { "a sum that is no number", compacted, with(40, nan) },
    { "a sum that values within the extremes cannot have", compacted, with(40, hexadecimal "7fe0000000000000") },
    { "a correction of the sum larger than that", compacted, with(48, hexadecimal "7fe0000000000000") },
    { "a sum that is shifted by a little", compacted, with(56, little(4, 1)) },
    { "no levels", exact, with(60, little(4, 0)) },
    { "61 levels", compacted, with(60, little(4, 61)) },
    { "255 levels", compacted, with(60, little(4, 255)) },
    { "2^32 - 1 levels", compacted, with(60, little(4, 2 ^ 32 - 1)) },
    { "another level", compacted, function(payload)
      return spliced(payload, 61, little(4, levels_in(payload) + 1))
    end },
    { "an empty highest level", exact, function(payload)
      return spliced(payload, 61, little(4, 2)):sub(1, 68) .. little(4, 0) .. payload:sub(69)
    end },
    { "an item more than there are", compacted, function(payload)
      return spliced(payload, 65, little(4, envelope.number(payload:sub(65, 68)) + 1))
    end },
    { "2^31 items", compacted, with(64, little(4, 2 ^ 31)) },
    { "more items than there may be", small, function(payload)
      return spliced(payload, 65, little(4, 1000)) .. ("\0"):rep(8 * 1000)
    end },
    { "half an item", compacted, function(payload)
      return payload:sub(1, -5)
    end },
    { "an item that is no number", compacted, with_highest(nan) },
    { "an infinite item", compacted, with_highest(huge) },
    { "an item that is -0", small, with_highest(hexadecimal "8000000000000000") },
    { "an item below the least value", compacted, with_highest(hexadecimal "fff0000000000000") },
    { "a level out of order", compacted, function(payload)
      local n = levels_in(payload)
      local size = envelope.number(payload:sub(61 + 4 * n, 64 + 4 * n))
      local at = #payload - 8 * size
      return spliced(payload, at + 1, payload:sub(at + 9, at + 16) .. payload:sub(at + 1, at + 8))
    end },
    { "level 0 out of order", exact, function(payload)
      return spliced(payload, 69, payload:sub(77, 84) .. payload:sub(69, 76))
    end },
  },
}
