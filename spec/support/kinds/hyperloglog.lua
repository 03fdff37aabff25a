local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"

local little, spliced = envelope.little, envelope.spliced

-- A sparse payload, of 4-byte entries, with one entry replaced by a function of its index and rank.
local function with_entry(change)
  return function(payload)
    local entry = envelope.number(payload:sub(5, 8))
    local rank = entry % 64
    return spliced(payload, 5, little(4, change(entry - rank, rank)))
  end
end

return {
  name = "hyperloglog",
  alias = "hll",
  options = { precision = 14 },
  key = true,
  item = shared.numbered_key,
  forms = {
    { name = "that is sparse", options = { precision = 14 }, items = 40, twice = "nothing" },
    { name = "that is dense", options = { precision = 7 }, items = 2000, twice = "nothing" },
    { name = "of the lowest precision", options = { precision = 4 }, items = 2000, twice = "nothing" },
    { name = "that counts by HIP", options = { precision = 7, hip = true }, items = 2000, twice = "nothing",
      ordered = true, recounts = true },
  },
  answers = function(hll)
    return shared.append({ hll:count(), hll:estimate(), hll:standard_error() }, hll:bounds(2))
  end,
  meet = function(a, b)
    return shared.append({ a:intersection(b) }, a:jaccard(b))
  end,
  unlike = {
    precision = { { precision = 7 }, { precision = 8 } },
    hip = { { precision = 7, hip = true }, { precision = 7, hip = false } },
    seed = { { precision = 7, seed = 1 }, { precision = 7, seed = 2 } },
  },
  ranges = {
    precision = { says = "an integer from 4 to 18", bad = { 0, -4, 3, 4.5, 19, 64, 1e11, 1e300 }, good = { 4, 18 } },
    error_rate = { says = "a number from 0.00203125 to 0.26", bad = { 0, -0.01, 0.002, 0.2601, 1, 2, 1e300 },
      good = { 0.00203125, 0.26 } },
  },
  boolean = { "hip" },
  against = {
    { { precision = 14, error_rate = 0.01 }, "'precision' and 'error_rate' exclude each other" },
  },
  huge = {},
  bytes = function(options)
    return 2 ^ options.precision * 6 / 8
  end,
  megabytes = { precision = 18 },
  fields = {
    { "precision", 1, { "00", "03", "13", "40", "ff" } },
    { "hip", 1, { "02", "ff" } },
  },
  corrupt = {
    { "registers above what a hash can give", "of the lowest precision", function(payload)
      return ("\255"):rep(#payload)
    end },
    { "a HIP estimate below the registers in use", "that counts by HIP", function(payload)
      return payload:sub(1, -9) .. ("\0"):rep(5) .. "\192\095\064" -- 127.0
    end },
    { "a HIP estimate that is no number", "that counts by HIP", function(payload)
      return payload:sub(1, -9) .. ("\255"):rep(8)
    end },
    { "an entry without a rank", "that is sparse", with_entry(function(index)
      return index
    end) },
    { "an entry with a rank that no hash has", "that is sparse", with_entry(function(index)
      return index + 40
    end) },
    { "an index twice", "that is sparse", function(payload)
      return spliced(payload, 5, payload:sub(1, 4))
    end },
    { "entries out of order", "that is sparse", function(payload)
      return payload:sub(5, 8) .. payload:sub(1, 4) .. payload:sub(9)
    end },
  },
}
