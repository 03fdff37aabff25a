local envelope = require "spec.support.envelope"
local model = require "spec.support.cuckoo_model"
local shared = require "spec.support.kinds.shared"

local function form(name, options, items, room)
  return { name = name, options = options, items = items, ordered = true, twice = "doubles", room = room }
end

return {
  name = "cuckoo",
  options = { capacity = 100, growth = 2 }, -- which takes all the items of any spec
  key = true,
  item = shared.numbered_key,
  forms = {
    form("that is fixed", { capacity = 1400 }, 200, 1400),
    form("with buckets of more than a word", { capacity = 1400, bucket_size = 8 }, 150, 1400),
    form("that grows", { capacity = 10, growth = 2 }, 8),
    form("that has grown", { capacity = 10, growth = 2, bucket_size = 8 }, 150),
  },
  answers = function(cuckoo)
    return shared.append(shared.about_keys(cuckoo, "frequency"), cuckoo:count())
  end,
  merges = "as a set",
  unlike = {
    buckets = { { capacity = 1000 }, { capacity = 1100 } },
    bucket_size = { { capacity = 1, bucket_size = 2 }, { capacity = 1, bucket_size = 4 } },
    fingerprint_bits = { { capacity = 1000, fp_rate = 0.01 }, { capacity = 1000, fp_rate = 0.001 } },
    seed = { { capacity = 1000, seed = 1 }, { capacity = 1000, seed = 2 } },
  },
  ranges = {
    capacity = { says = "an integer from 1 to 2^53", bad = { 0, -1, 0.01, 1000.5, 2 * 2 ^ 53, 1e18, 1e30, 1e300 },
      good = { 1 }, huge = { 2 ^ 53 } },
    fp_rate = { says = "a number from 1e-10 to 0.5", with = { capacity = 1000 },
      bad = { 0, -0.01, 9.9e-11, 0.51, 1, 2, 5, 1e9 }, good = { 1e-10, 0.5 } },
    bucket_size = { says = "2, 4 or 8", with = { capacity = 1000 },
      bad = { 0, -1, 1, 3, 2.5, 5, 6, 7, 9, 16, 256, 2 ^ 25, 2 ^ 32 + 4, 1e300 }, good = { 2, 4, 8 } },
    growth = { says = "0 (fixed) or 2 (doubles)", with = { capacity = 1000 },
      bad = { -1, 1, 0.5, 1.5, 3, 256, 2 ^ 32 + 2, 1e300 }, good = { 0, 2 } },
  },
  against = {
    { {}, "'capacity'" },
    { { fp_rate = 0.1 }, "'capacity'" },
  },
  huge = { { capacity = 1e11, fp_rate = 0.01 }, { capacity = 1e15, fp_rate = 1e-10, bucket_size = 8 },
    { capacity = 1e14, growth = 2 } },
  bytes = model.bytes,
  megabytes = { capacity = 1e6 },
  page = { capacity = model.capacity(2 ^ 22, 0.01) },
  pages = { capacity = model.capacity(2 ^ 26, 0.01) },
  fields = {
    { "buckets", 8, { "0000000000000000", "0000000000000001", "0000000000000003", "0020000000000000",
      "0100000000000002", "ffffffffffffffff" }, sizes = true },
    { "bucket_size", 1, { "00", "01", "03", "05", "10", "80", "ff" } },
    { "fingerprint_bits", 1, { "00", "01", "05", "39", "40", "80", "ff" } },
    { "growth", 1, { "01", "03", "80", "ff" } },
    { "capacity", 8, { "0000000000000000", "0020000000000001", "ffffffffffffffff" } },
    -- 0, less than the bits keep, 0.51, infinity, not a number
    { "fp_rate", 8, { "0000000000000000", "3ee2dfd694ccab3f", "3fe051eb851eb852", "7ff0000000000000",
      "7ff8000000000000" } },
  },
  corrupt = {
    { "a bit set behind the last slot", "that is fixed", function(payload)
      return envelope.flipped(payload, #payload, 7)
    end },
    { "a size between two doublings", "that has grown", function(payload)
      return payload .. ("\0"):rep(8)
    end },
    { "a bit set behind the last slot after growth", "that has grown", function(payload)
      return envelope.flipped(payload, #payload, 0)
    end },
    { "a fingerprint of zeros in the bits that all sizes have", "that has grown", function(payload)
      return "\0\128" .. payload:sub(3)
    end },
  },
}
