local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"

local LN2 = math.log(2)

local function counters(options)
  return math.max(1024, math.ceil(-options.capacity * math.log(options.fp_rate or 0.01) / (LN2 * LN2)))
end

-- The most keys that a filter at 1 % has at most so many counters for.
local function capacity_of(n)
  return math.floor(n * LN2 * LN2 / -math.log(0.01))
end

local FREQUENCIES = 300

return {
  name = "counting_bloom",
  options = { capacity = 1000, fp_rate = 0.01 },
  key = true,
  item = shared.numbered_key,
  forms = {
    { name = "whose counters end within a word", options = { capacity = 110 }, items = 60, twice = "doubles" },
    { name = "with counters of 8 bits", options = { capacity = 1, counter_bits = 8 }, items = 200, twice = "doubles" },
    { name = "with counters of 16 bits", options = { capacity = 1, counter_bits = 16 }, items = 200,
      twice = "doubles" },
    { name = "that is saturated", options = { capacity = 1 }, items = 6000, twice = "nothing", saturated = true },
  },
  answers = function(filter)
    local answers = shared.about_keys(filter, "frequency")
    assert(#answers == FREQUENCIES)
    for _, answer in ipairs(shared.about_filter(filter)) do
      shared.append(answers, answer)
    end
    return shared.append(answers, filter:at_least(shared.numbered_key(1), 1))
  end,
  doubled = function(answers)
    local doubled = {}
    for i, answer in ipairs(answers) do
      doubled[i] = i <= FREQUENCIES and 2 * answer or answer
    end
    return doubled
  end,
  unlike = {
    bits = { { capacity = 110 }, { capacity = 111 } },
    hashes = { { capacity = 1, fp_rate = 0.01 }, { capacity = 1, fp_rate = 0.001 } },
    counter_bits = { { capacity = 110 }, { capacity = 110, counter_bits = 8 } },
    seed = { { capacity = 110, seed = 1 }, { capacity = 110, seed = 2 } },
  },
  ranges = {
    capacity = { says = "an integer from 1 to 2^53", bad = { 0, -1, 0.01, 1000.5, 2 ^ 54, 1e18, 1e30, 1e300 },
      good = { 1 }, huge = { 2 ^ 53 } },
    fp_rate = { says = "a number from 1e-15 to below 1", with = { capacity = 1000 },
      bad = { 0, -0.01, 9.9e-16, 1, 1.5, 2, 5, 1e9 }, good = { 1e-15, 0.999999 } },
    counter_bits = { says = "4, 8 or 16", with = { capacity = 1000 },
      bad = { 0, -4, 1, 2, 3, 5, 7, 12, 15, 4.5, 17, 32, 64, 1e300 }, good = { 4, 8, 16 } },
  },
  against = {
    { {}, "'capacity'" },
    { { fp_rate = 0.1, counter_bits = 8 }, "'capacity'" },
  },
  huge = { { capacity = 1e11, fp_rate = 0.01 }, { capacity = 2 ^ 53, fp_rate = 1e-15, counter_bits = 16 } },
  bytes = function(options)
    return math.ceil(counters(options) / (64 / (options.counter_bits or 4))) * 8
  end,
  megabytes = { capacity = 250000, fp_rate = 0.01 },
  page = { capacity = capacity_of(2 ^ 23), fp_rate = 0.01 },
  pages = { capacity = capacity_of(2 ^ 27), fp_rate = 0.01 },
  fields = {
    { "bits", 8, { "0000000000000000", "0000000000000001", "4000000000000001", "ffffffffffffffff" }, sizes = true },
    { "hashes", 4, { "00000000", "00000041", "80000000", "ffffffff" } },
    { "counter_bits", 1, { "00", "01", "02", "05", "0c", "11", "20", "ff" } },
    { "capacity", 8, { "0000000000000000", "0020000000000001", "ffffffffffffffff" } },
    -- 0, -0.01, 1.5, infinity, not a number
    { "fp_rate", 8, { "0000000000000000", "bf847ae147ae147b", "3ff8000000000000", "7ff0000000000000",
      "7ff8000000000000" } },
  },
  corrupt = {
    { "a count behind the last counter", "whose counters end within a word", function(payload)
      return envelope.flipped(payload, #payload, 4)
    end },
    { "the highest bit behind the last counter set", "whose counters end within a word", function(payload)
      return envelope.flipped(payload, #payload, 7)
    end },
  },
}
