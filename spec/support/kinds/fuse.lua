local ps = require "probsketch"
local shared = require "spec.support.kinds.shared"

local function numbers(n)
  local keys = {}
  for i = 1, n do
    keys[i] = i
  end
  return keys
end

local BITS = { [1 / 256] = 8, [1 / 65536] = 16 }

-- Slots for n different keys, by docs/FORMAT.md.
local function slots(n)
  n = math.max(n, 2)
  local whole = 0
  while 2 ^ (whole + 1) <= n do
    whole = whole + 1
  end
  local log = whole * 65536 + math.floor(n / 2 ^ whole * 65536) - 65536
  local bits = math.floor((math.floor(log * 42527 / 65536) - 32768) / 65536)
  local length = 2 ^ math.min(18, math.max(3, bits))
  local a_key = math.max(70451, 50463 + math.floor(383672 * 65536 / log))
  return math.max(4, math.ceil(math.floor(n * a_key / 65536) / length)) * length
end

local fuse = {
  name = "fuse",
  options = { keys = {}, fp_rate = 1 / 65536 },
  key = true,
  immutable = true,
  item = shared.numbered_key,
  built = function(sketch, items)
    return ps.fuse { keys = items, fp_rate = 2 ^ -sketch:info().fingerprint_bits, seed = sketch }
  end,
  forms = {
    { name = "of 8 bits", options = { keys = {}, fp_rate = 1 / 256 }, items = 200 },
    { name = "of 16 bits", options = { keys = {}, fp_rate = 1 / 65536 }, items = 100 },
    { name = "of one key", options = { keys = {} }, items = 1 },
  },
  answers = shared.about_filter,
  unlike = {
    fingerprint_bits = { { keys = {}, fp_rate = 1 / 256 }, { keys = {}, fp_rate = 1 / 65536 } },
    seed = { { keys = {}, seed = 1 }, { keys = {}, seed = 2 } },
  },
  ranges = {
    fp_rate = { says = "1/256 or 1/65536", with = { keys = {} },
      bad = { 0, -1 / 256, 0.01, 0.004, 1 / 255, 1 / 257, 1 / 1024, 1 / 65535, 1 / 65537, 2 ^ -32, 1, 256, 1e300 },
      good = { 1 / 256, 1 / 65536 } },
  },
  against = {
    { {}, "'keys'" },
    { { fp_rate = 1 / 256 }, "'keys'" },
  },
  huge = {},
  bytes = function(options)
    return slots(#options.keys) * BITS[options.fp_rate or 1 / 256] / 8
  end,
  planned = { keys = 500000, fp_rate = 1 / 65536 },
  fields = {
    { "keys", 8, { "0000000080000001", "0000000100000000", "7fffffffffffffff", "ffffffffffffffff" }, sizes = true },
    { "fingerprint_bits", 1, { "00", "01", "07", "09", "0c", "20", "ff" } },
    { "attempt", 1, { "20", "80", "ff" } },
  },
  corrupt = {},
}

-- Half a million keys are made when they are asked for: while they are alive the collector takes long for a cycle.
return setmetatable(fuse, { __index = function(_, name)
  if name == "megabytes" then
    fuse.megabytes = { keys = numbers(500000), fp_rate = 1 / 65536 }
    return fuse.megabytes
  end
end })
