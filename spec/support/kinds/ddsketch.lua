local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"
local unpack = table.unpack or unpack -- luacheck: ignore 113

local little, spliced = envelope.little, envelope.spliced

-- Fractions whose quantiles are asked for: of what is in the forms the same when all of it is there twice.
local fractions = { 0, 0.1, 0.25, 0.5, 1 }

-- The payload has 40 bytes of head: zeros, min, max, bins of either sign, what is collapsed. Each bin has 12: index and
-- count. Replaces the bytes from `at`, 0 the first.
local function with(at, bytes)
  return function(payload)
    return spliced(payload, at + 1, bytes)
  end
end

local plain, collapsed, ranged = "of both signs", "that is collapsed", "of a range"

-- With a range the payload has 24 bytes of head: zeros, the complement of the least value, the largest value; then
-- the counts.
local RANGE = { relative_accuracy = 0.2, min_value = 0.5, max_value = 500 }

-- What is no number from 2.3e-308 to 1.7e308: -1, infinity, not a number, -0, 1e-310.
local no_values = { "bff0000000000000", "7ff0000000000000", "7ff8000000000000", "8000000000000000",
  "000012688b70e62b" }

return {
  name = "ddsketch",
  options = { relative_accuracy = 0.001, max_bins = 20000 },
  seedless = true,
  item = function(i)
    return (i * 7919 % 10007 - 4000) * (i % 11 + 1) / 8
  end,
  forms = {
    { name = plain, options = { relative_accuracy = 0.2 }, items = 60, twice = "doubles" },
    { name = collapsed, options = { relative_accuracy = 0.1, max_bins = 10 }, items = 100, twice = "doubles" },
    { name = ranged, options = RANGE, items = 60, twice = "doubles" },
    { name = "of a range of one bin", options = { relative_accuracy = 0.5, min_value = 1.5, max_value = 1.6 },
      items = 30, twice = "doubles" },
    { name = "of one bin", options = { max_bins = 1 }, items = 30, twice = "doubles" },
  },
  answers = function(ddsketch)
    local answers = ddsketch:quantiles(fractions) or {}
    for _, x in ipairs { -1000, -1, 0, 3.5, 200, 1e6 } do
      answers[#answers + 1] = ddsketch:rank(x)
    end
    return shared.append(answers, ddsketch:count(), ddsketch:sum(), ddsketch:min() or false, ddsketch:max() or false,
      ddsketch:mean() or false)
  end,
  doubled = function(answers)
    local doubled = shared.append({}, unpack(answers))
    for i = #answers - 4, #answers - 3 do -- count and sum
      doubled[i] = 2 * answers[i]
    end
    return doubled
  end,
  unlike = {
    relative_accuracy = { { relative_accuracy = 0.01 }, { relative_accuracy = 0.02 } },
    max_bins = { { max_bins = 100 }, { max_bins = 101 } },
    min_value = { { min_value = 1, max_value = 100 }, { min_value = 1.0001, max_value = 100 } },
    max_value = { { min_value = 1, max_value = 100 }, { min_value = 1, max_value = 101 } },
  },
  ranges = {
    relative_accuracy = { says = "a number from 1e-4 to 0.5",
      bad = { 0, -0.01, 1e-17, 1e-9, 9.9e-5, 0.5001, 0.999, 1, 1.5, 1e300 }, good = { 1e-4, 0.5 } },
    max_bins = { says = "an integer from 1 to 1e6", bad = { 0, -1, 1.5, 1000001, 1e9, 1e300 }, good = { 1, 1e6 } },
    min_value = { says = "a number from 2.3e-308 to 1.7e308", with = { max_value = 1.7e308 },
      bad = { 0, -1, 2.2e-308, 5e-324, 1.79e308 }, good = { 2.3e-308, 1e308 } },
    max_value = { says = "a number from 2.3e-308 to 1.7e308", with = { min_value = 2.3e-308 },
      bad = { 0, -1, 2.2e-308, 5e-324, 1.79e308 }, good = { 2.4e-308, 1.7e308 } },
  },
  against = {
    { { min_value = 1 }, "'min_value' and 'max_value' go together" },
    { { max_value = 1 }, "'min_value' and 'max_value' go together" },
    { { min_value = 1, max_value = 2, max_bins = 10 }, "'max_bins' and 'min_value' exclude each other" },
    { { max_value = 2, max_bins = 10 }, "'min_value' and 'max_value' go together" },
    { { min_value = 2, max_value = 1 }, "'max_value' out of range (expected more than min_value, 2, got 1)" },
    { { min_value = 2, max_value = 2 }, "'max_value'" },
  },
  huge = {},
  bytes = function(options)
    return options.max_bins * 2 * 8
  end,
  megabytes = { relative_accuracy = 1e-4, max_bins = 1e5 },
  fields = {
    -- 0, -0.01, 9.9e-5, 1, infinity, not a number
    { "relative_accuracy", 8, { "0000000000000000", "bf847ae147ae147b", "3f19f3c70c996b76", "3ff0000000000000",
      "7ff0000000000000", "7ff8000000000000" } },
    { "min_value", 8, no_values },
    { "max_value", 8, no_values },
    { "max_bins", 4, { "00000000", "000f4241", "80000000", "ffffffff" } },
  },
  corrupt = {
    { "a count of zeros above 2^53", plain, with(0, envelope.hexadecimal "0020000000000001") },
    { "a least value that is no number", plain, with(8, envelope.hexadecimal "7ff8000000000000") },
    { "a least value that no bin has", plain, with(8, envelope.hexadecimal "fff0000000000000") },
    { "a least value that is above the largest", plain, function(payload)
      return spliced(payload, 9, payload:sub(17, 24) .. payload:sub(9, 16))
    end },
    { "a largest value that no bin has", plain, with(16, envelope.hexadecimal "3ff0000000000000") },
    { "more bins than it has", plain, with(24, little(4, 1000)) },
    { "bins of the other sign", plain, function(payload)
      return spliced(payload, 25, payload:sub(29, 32) .. payload:sub(25, 28))
    end },
    { "a collapse that cannot have been", plain, with(32, little(8, 1)) },
    { "a mark that there is not", plain, with(32, little(8, 4)) },
    { "a collapse undone", collapsed, with(32, little(8, 4)) },
    { "an index twice", plain, function(payload)
      return spliced(payload, 53, payload:sub(41, 44))
    end },
    { "an index that no number has", plain, with(40, little(4, 0)) },
    { "a count of 0", plain, with(44, little(8, 0)) },
    { "counts above 2^53 together", plain, with(44, envelope.hexadecimal "0020000000000000") },
    { "half a bin", plain, function(payload)
      return payload:sub(1, -7)
    end },
    { "a count of zeros above 2^53", ranged, with(0, envelope.hexadecimal "0020000000000001") },
    { "a count above 2^53", ranged, with(24, envelope.hexadecimal "0020000000000001") },
    { "counts above 2^53 together", ranged, function(payload)
      local half = envelope.hexadecimal "0010000000000001"
      return spliced(spliced(payload, 25, half), 33, half)
    end },
    { "extremes that are no numbers", ranged, with(8, ("\255"):rep(16)) },
    { "a least value above the largest", ranged, with(16, envelope.hexadecimal "01c81bc377ff8a63") }, -- -1e300
    { "a largest value of -0", ranged, function(payload)
      return ("\1"):rep(1) .. ("\0"):rep(7) .. envelope.hexadecimal "8000000000000000"
        .. envelope.hexadecimal "7fffffffffffffff" .. ("\0"):rep(#payload - 24)
    end },
  },
}
