local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"

local little, spliced = envelope.little, envelope.spliced

local LN2 = math.log(2)

-- Each layer of these is 8 bytes of index and 1024 bits.
local LAYER = 136
local layered = { capacity = 20, growth = 1 }

local function first_bits(options)
  local rate = (options.fp_rate or 0.01) * (1 - (options.tightening or 0.5))
  local keys = options.capacity + math.ceil(math.sqrt(options.capacity))
  return math.max(1024, math.ceil(-keys * math.log(rate) / (LN2 * LN2)))
end

return {
  name = "scalable_bloom",
  options = { capacity = 1000, fp_rate = 0.01 },
  key = true,
  item = shared.numbered_key,
  forms = {
    { name = "of one layer", options = { capacity = 50 }, items = 30, ordered = true, twice = "nothing" },
    { name = "of several layers", options = layered, items = 400, ordered = true, twice = "nothing" },
  },
  answers = shared.about_filter,
  merges = "in order",
  overlaps = true,
  grows = true,
  unlike = {
    capacity = { { capacity = 50 }, { capacity = 51 } },
    fp_rate = { { capacity = 50, fp_rate = 0.01 }, { capacity = 50, fp_rate = 0.02 } },
    growth = { { capacity = 50, growth = 2 }, { capacity = 50, growth = 2.5 } },
    tightening = { { capacity = 50, tightening = 0.5 }, { capacity = 50, tightening = 0.8 } },
    seed = { { capacity = 50, seed = 1 }, { capacity = 50, seed = 2 } },
  },
  ranges = {
    capacity = { says = "an integer from 1 to 2^53", bad = { 0, -1, 0.01, 1000.5, 2 ^ 54, 1e18, 1e30, 1e300 },
      good = { 1 }, huge = { 2 ^ 53 } },
    fp_rate = { says = "a number from 1e-15 to below 1", with = { capacity = 1000 },
      bad = { 0, -0.01, 9.9e-16, 1, 1.5, 2, 5, 1e9 }, good = { 1e-15, 0.999999 } },
    growth = { says = "a number from 1 to 16", with = { capacity = 1000 },
      bad = { 0, -2, 0.999, 16.001, 1e300 }, good = { 1, 1.5, 16 } },
    tightening = { says = "a number from 0.1 to 0.9", with = { capacity = 1000 },
      bad = { 0, -0.5, 0.0999, 0.9001, 1, 2, 1e300 }, good = { 0.1, 0.9 } },
  },
  against = {
    { {}, "'capacity'" },
    { { fp_rate = 0.01, growth = 2 }, "'capacity'" },
  },
  huge = { { capacity = 1e11, fp_rate = 0.01 }, { capacity = 2 ^ 40, fp_rate = 1e-15, tightening = 0.9 } },
  bytes = function(options)
    return 128 + math.ceil(first_bits(options) / 64) * 8 -- of the first layer: what it is, and its bits
  end,
  megabytes = { capacity = 1e6, fp_rate = 0.01 },
  fields = {
    { "capacity", 8, { "0000000000000000", "0020000000000001", "ffffffffffffffff" }, sizes = true },
    -- 0, -0.01, 1, infinity, not a number
    { "fp_rate", 8, { "0000000000000000", "bf847ae147ae147b", "3ff0000000000000", "7ff0000000000000",
      "7ff8000000000000" } },
    -- 0.5, 17, infinity, not a number
    { "growth", 8, { "3fe0000000000000", "4031000000000000", "7ff0000000000000", "7ff8000000000000" } },
    -- 0, 1, infinity, not a number
    { "tightening", 8, { "0000000000000000", "3ff0000000000000", "7ff0000000000000", "7ff8000000000000" } },
  },
  corrupt = {
    { "a layer of an index that its parameters do not have", "of one layer", function(payload)
      return spliced(payload, 1, little(8, 400))
    end },
    { "an index that no number of layers has", "of one layer", function(payload)
      return spliced(payload, 1, ("\255"):rep(8))
    end },
    { "a layer with every bit set", "of several layers", function(payload)
      return spliced(payload, LAYER + 9, ("\255"):rep(LAYER - 8))
    end },
    { "an empty layer among others", "of several layers", function(payload)
      return spliced(payload, LAYER + 9, ("\0"):rep(LAYER - 8))
    end },
    { "the second layer without the first", "of several layers", function(payload)
      return spliced(payload, 1, little(8, 1))
    end },
    { "a layer twice", "of several layers", function(payload)
      return payload:sub(1, -LAYER - 1) .. payload:sub(1, LAYER)
    end },
    { "a layer without the one before it", "of several layers", function(payload)
      return spliced(payload, 2 * LAYER + 1, little(8, 3))
    end },
  },
}
