local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"

local LN2 = math.log(2)

return {
  name = "bloom",
  options = { capacity = 1000, fp_rate = 0.01 },
  key = true,
  item = shared.numbered_key,
  forms = {
    { name = "whose bits end within a word", options = { bits = 1001, hashes = 4 }, items = 200, twice = "nothing" },
    { name = "with every bit set", options = { bits = 64, hashes = 3 }, items = 300, twice = "nothing" },
  },
  answers = shared.about_filter,
  meet = function(a, b)
    return { a:jaccard(b) }
  end,
  unlike = {
    bits = { { bits = 1001, hashes = 4 }, { bits = 1002, hashes = 4 } },
    hashes = { { bits = 1001, hashes = 4 }, { bits = 1001, hashes = 5 } },
    seed = { { bits = 1001, hashes = 4, seed = 1 }, { bits = 1001, hashes = 4, seed = 2 } },
  },
  ranges = {
    capacity = { says = "an integer from 1 to 2^53", bad = { 0, -1, 0.01, 1000.5, 2 * 2 ^ 53, 1e18, 1e30, 1e300 },
      good = { 1 }, huge = { 2 ^ 53 } },
    fp_rate = { says = "a number from 1e-15 to below 1", with = { capacity = 1000 },
      bad = { 0, -0.01, 9.9e-16, 1, 1.5, 2, 5, 1e9 }, good = { 1e-15, 0.999999 } },
    bits = { says = "an integer from 1 to 2^53", with = { hashes = 4 }, bad = { 0, -1, 0.5, 2 * 2 ^ 53, 1e30 },
      good = { 1 }, huge = { 2 ^ 53 } },
    hashes = { says = "an integer from 1 to 64", with = { bits = 1001 }, bad = { 0, -1, 1.5, 65, 2 ^ 32, 1e300 },
      good = { 1, 64 } },
  },
  against = {
    { { capacity = 1000, bits = 1001, hashes = 4 }, "'bits' and 'hashes' exclude 'capacity' and 'fp_rate'" },
    { { fp_rate = 0.1, bits = 1001, hashes = 4 }, "'bits' and 'hashes' exclude 'capacity' and 'fp_rate'" },
    { { bits = 1001 }, "'bits' and 'hashes' go together" },
    { { hashes = 4 }, "'bits' and 'hashes' go together" },
    { {}, "'capacity'" },
  },
  huge = { { capacity = 1e11, fp_rate = 0.01 }, { capacity = 2 ^ 53, fp_rate = 1e-15 },
    { bits = 2 ^ 53, hashes = 64 } },
  bytes = function(options)
    local bits = options.bits or math.ceil(-options.capacity * math.log(options.fp_rate) / (LN2 * LN2))
    return math.ceil(bits / 64) * 8
  end,
  megabytes = { capacity = 1e6, fp_rate = 0.01 },
  page = { bits = 2 ^ 25, hashes = 4 },
  pages = { bits = 2 ^ 29, hashes = 4 },
  fields = {
    { "bits", 8, { "0000000000000000", "0000000000000001", "4000000000000001", "ffffffffffffffff" },
      sizes = true },
    { "hashes", 4, { "00000000", "00000041", "80000000", "ffffffff" } },
    { "capacity", 8, { "0000000000000000", "0020000000000001", "ffffffffffffffff" } },
    -- 0, -0.01, 1.5, infinity, not a number
    { "fp_rate", 8, { "0000000000000000", "bf847ae147ae147b", "3ff8000000000000", "7ff0000000000000",
      "7ff8000000000000" } },
  },
  corrupt = {
    { "a bit set behind the last one", "whose bits end within a word", function(payload)
      return envelope.flipped(payload, #payload, 7)
    end },
    { "the bit just behind the last one set", "whose bits end within a word", function(payload)
      return envelope.flipped(payload, 126, 1) -- bit 1001
    end },
  },
}
