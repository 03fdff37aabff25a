local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"

local little = envelope.little

local function counters(name, bits, items, more)
  local form = { name = name, options = { width = 23, depth = 3, counter_bits = bits }, items = items,
    twice = "doubles" }
  for key, value in pairs(more or {}) do
    form[key] = value
  end
  return form
end

local conservative = { width = 23, depth = 3, conservative = true }

-- A filled form of the kind with the 8 bytes from `at` (0: the total, 8: the flag, 16: the first counters) replaced.
local function with_word(at, word)
  return function(payload)
    return envelope.spliced(payload, at + 1, word)
  end
end

return {
  name = "count_min",
  options = { epsilon = 0.001, delta = 0.01 },
  key = true,
  item = function(i)
    return shared.numbered_key(i % 4000)
  end,
  forms = {
    counters("with counters of 8 bits", 8, 200),
    counters("with counters of 16 bits", 16, 300),
    counters("with counters of 32 bits", 32, 300),
    counters("with counters of 64 bits", 64, 300),
    counters("that is saturated", 8, 9000, { twice = "nothing", saturated = true }),
    counters("that is conservative", 32, 300, { options = conservative, ordered = true }),
  },
  answers = function(count_min)
    return shared.append(shared.about_keys(count_min, "frequency"), count_min:count(), count_min:error_bound())
  end,
  meet = function(a, b)
    local both = a:info().conservative and b:info().conservative
    return both and {} or { a:inner_product(b) }
  end,
  unlike = {
    width = { { width = 23, depth = 3 }, { width = 24, depth = 3 } },
    depth = { { width = 23, depth = 3 }, { width = 23, depth = 4 } },
    counter_bits = { { width = 23, depth = 3, counter_bits = 8 }, { width = 23, depth = 3, counter_bits = 16 } },
    conservative = { { width = 23, depth = 3 }, conservative },
    seed = { { width = 23, depth = 3, seed = 1 }, { width = 23, depth = 3, seed = 2 } },
  },
  ranges = {
    epsilon = { says = "from 1e-12 to below 1", bad = { 0, -0.001, 9.9e-13, 1, 2, 1e300 }, good = { 0.999 },
      huge = { 1e-12 } },
    delta = { says = "from 1e-15 to below 1", bad = { 0, -0.01, 9.9e-16, 1, 1.5, 1e300 }, good = { 1e-15, 0.999 } },
    width = { says = "an integer from 1 to 2^53", with = { depth = 3 }, bad = { 0, -1, 1.5, 2 * 2 ^ 53, 1e300 },
      good = { 1 }, huge = { 2 ^ 53 } },
    depth = { says = "an integer from 1 to 64", with = { width = 23 }, bad = { 0, -1, 1.5, 65, 1e9, 1e300 },
      good = { 1, 64 } },
    counter_bits = { says = "8, 16, 32 or 64", bad = { 0, -8, 1, 4, 12, 24, 31, 32.5, 63, 65, 128, 1e300 },
      good = { 8, 16, 32, 64 } },
  },
  boolean = { "conservative" },
  against = {
    { { width = 23, depth = 3, epsilon = 0.1 }, "'width' and 'depth' exclude 'epsilon' and 'delta'" },
    { { width = 23, depth = 3, delta = 0.1 }, "'width' and 'depth' exclude 'epsilon' and 'delta'" },
    { { width = 23 }, "'width' and 'depth' go together" },
    { { depth = 3 }, "'width' and 'depth' go together" },
  },
  huge = { { width = 1e11, depth = 5 }, { epsilon = 1e-12, delta = 1e-15 }, { width = 2 ^ 42, depth = 64 } },
  bytes = function(options)
    local width = options.width or math.ceil(math.exp(1) / options.epsilon)
    local depth = options.depth or math.ceil(math.log(1 / options.delta))
    return 16 + width * depth * 4 -- after the total and the flag
  end,
  megabytes = { width = 60000, depth = 5 },
  page = { width = 2 ^ 18, depth = 4 },
  pages = { width = 2 ^ 22, depth = 4 },
  fields = {
    { "width", 8, { "0000000000000000", "0000000000000001", "0020000000000001", "ffffffffffffffff" },
      sizes = true },
    { "depth", 4, { "00000000", "00000041", "80000000", "ffffffff" } },
    { "counter_bits", 1, { "00", "07", "18", "80", "ff" } },
    { "conservative", 1, { "02", "ff" } },
    -- 0, less than the width keeps, infinity, not a number
    { "epsilon", 8, { "0000000000000000", "3f50624dd2f1a9fc", "7ff0000000000000", "7ff8000000000000" } },
    { "delta", 8, { "0000000000000000", "3f50624dd2f1a9fc", "4000000000000000", "7ff8000000000000" } },
  },
  corrupt = {
    { "a total above 2^53", "with counters of 32 bits", with_word(0, envelope.hexadecimal "0020000000000001") },
    { "a flag that is neither 0 nor 1", "with counters of 32 bits", with_word(8, little(8, 2)) },
    { "a counter above 2^53", "with counters of 64 bits", with_word(16, envelope.hexadecimal "0020000000000001") },
  },
}
