local model = require "spec.support.blocked_bloom_model"
local shared = require "spec.support.kinds.shared"

return {
  name = "blocked_bloom",
  options = { capacity = 1000, fp_rate = 0.01 },
  key = true,
  item = shared.numbered_key,
  forms = {
    { name = "of a few lines", options = { capacity = 150 }, items = 150, twice = "nothing" },
    { name = "with every bit set", options = { capacity = 1 }, items = 2500, twice = "nothing" },
  },
  answers = shared.about_filter,
  unlike = {
    lines = { { capacity = 1000 }, { capacity = 1100 } },
    seed = { { capacity = 1000, seed = 1 }, { capacity = 1000, seed = 2 } },
  },
  ranges = {
    capacity = { says = "an integer from 1 to 2^53", bad = { 0, -1, 0.01, 1000.5, 2 * 2 ^ 53, 1e18, 1e30, 1e300 },
      good = { 1 }, huge = { 2 ^ 53 } },
    fp_rate = { says = "a number from 1e-5 to 0.5", with = { capacity = 1000 },
      bad = { 0, -0.01, 9.9e-6, 0.51, 1, 2, 5, 1e9 }, good = { 1e-5, 0.5 } },
  },
  against = {
    { {}, "'capacity'" },
    { { fp_rate = 0.1 }, "'capacity'" },
  },
  huge = { { capacity = 1e11, fp_rate = 0.01 }, { capacity = 2 ^ 53, fp_rate = 1e-5 } },
  bytes = function(options)
    return 64 * model.lines(options.capacity, options.fp_rate)
  end,
  megabytes = { capacity = 1e6, fp_rate = 0.01 },
  page = { capacity = model.capacity(2 ^ 16, 0.01), fp_rate = 0.01 },
  pages = { capacity = model.capacity(2 ^ 20, 0.01), fp_rate = 0.01 },
  fields = {
    { "lines", 8, { "0000000000000000", "0000000000000002", "0020000000000001", "ffffffffffffffff" },
      sizes = true },
    { "capacity", 8, { "0000000000000000", "0020000000000001", "ffffffffffffffff" } },
    -- 0, 9e-6, 0.51, infinity, not a number
    { "fp_rate", 8, { "0000000000000000", "3ee2dfd694ccab3f", "3fe051eb851eb852", "7ff0000000000000",
      "7ff8000000000000" } },
  },
  corrupt = {},
}
