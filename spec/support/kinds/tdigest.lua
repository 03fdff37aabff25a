local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"
local unpack = table.unpack or unpack -- luacheck: ignore 113

local little, spliced = envelope.little, envelope.spliced

-- Fractions whose quantiles are asked for: of what is in the forms the same when all of it is there twice.
local fractions = { 0, 0.05, 0.25, 0.5, 1 }

local few, joined = "of few values", "that was joined"

-- The payload has 8 bytes of head: n entries, how many values were added, whether they were joined. Then come n
-- numbers of 8 bytes, and n weights of any length: each twice the weight, plus 1 if it is a mean. Replaces the bytes
-- from `at`, 0 the first.
local function with(at, bytes)
  return function(payload)
    return spliced(payload, at + 1, bytes)
  end
end

-- Of number i, 1 the first.
local function with_number(i, digits)
  return with(8 * i, envelope.hexadecimal(digits))
end

-- Replaces the weight of the first entry, which is one byte in a payload of few values.
local function with_first_weight(bytes)
  return function(payload)
    local at = 8 + 8 * envelope.number(payload:sub(1, 4))
    return payload:sub(1, at) .. bytes .. payload:sub(at + 2)
  end
end

return {
  name = "tdigest",
  options = { compression = 100 },
  seedless = true,
  item = function(i)
    return (i * 7919 % 10007 - 4000) * (i % 11 + 1) / 8
  end,
  forms = {
    { name = few, options = { compression = 100 }, items = 60, twice = "doubles" },
    { name = joined, options = { compression = 20 }, items = 1100, ordered = true,
      twice = "compacts" },
  },
  answers = function(tdigest)
    local answers = tdigest:quantiles(fractions) or {}
    for _, x in ipairs { -1000, -1, 0, 3.5, 200, 1e6 } do
      answers[#answers + 1] = tdigest:rank(x)
    end
    return shared.append(answers, tdigest:count(), tdigest:sum(), tdigest:min() or false, tdigest:max() or false,
      tdigest:mean() or false)
  end,
  doubled = function(answers)
    local doubled = shared.append({}, unpack(answers))
    for i = #answers - 4, #answers - 3 do -- count and sum
      doubled[i] = 2 * answers[i]
    end
    return doubled
  end,
  -- When values are joined, and with which, depends on what came before.
  merges = "as a set",
  united = function(tdigest)
    return { tdigest:count(), tdigest:min() or false, tdigest:max() or false }
  end,
  unlike = {
    compression = { { compression = 100 }, { compression = 101 } },
  },
  ranges = {
    compression = { says = "an integer from 20 to 10000",
      bad = { 0, -1, 1, 2, 5, 10, 19, 20.5, 10001, 1e5, 1e9, 2 ^ 32 + 100, 2 ^ 63, 1e300 }, good = { 20, 10000 } },
  },
  against = {},
  huge = {},
  bytes = function(options)
    return 56 + (4 * (options.compression or 100) + 1024) * 16
  end,
  megabytes = { compression = 10000 },
  fields = {
    { "compression", 4, { "00000000", "00000001", "00000013", "00002711", "80000000", "ffffffff" } },
  },
  corrupt = {
    { "more entries than bytes", few, with(0, little(4, 61)) },
    { "entries that are not there", few, with(0, little(4, 59)) },
    { "entries beyond all memory", few, with(0, little(4, 2 ^ 32 - 1)) },
    { "more values added than it takes before they are joined", few, with(4, little(2, 1025)) },
    { "more entries than it was joined to", joined, with(4, little(2, 0)) },
    { "more values added than weigh something", few, with(4, little(2, 61)) },
    { "fewer values than it was joined for", few, with(6, little(2, 1)) },
    { "means although it was never joined", joined, with(6, little(2, 0)) },
    { "a mark that there is not", few, with(6, little(2, 2)) },
    { "a number that is none", few, with_number(2, "7ff8000000000000") },
    { "an infinite number", few, with_number(60, "7ff0000000000000") },
    { "a zero with a sign", few, with_number(1, "8000000000000000") },
    { "numbers out of order", few, function(payload)
      return spliced(payload, 9, payload:sub(17, 24) .. payload:sub(9, 16))
    end },
    { "a number twice", few, function(payload)
      return spliced(payload, 17, payload:sub(9, 16))
    end },
    { "a weight of 0", few, with_first_weight "\0" },
    { "a mean for the least value", few, with_first_weight "\5" },
    { "a mean for the largest value", few, function(payload)
      return payload:sub(1, -2) .. "\5"
    end },
    { "a mean of one value", few, function(payload)
      return payload:sub(1, -3) .. "\3\2"
    end },
    { "a weight that is longer than it need be", few, with_first_weight "\130\0" },
    { "weights above 2^53 together", few, with_first_weight "\128\128\128\128\128\128\128\32" },
    { "a weight that is cut off", few, function(payload)
      return payload:sub(1, -2) .. "\130"
    end },
    { "a weight without an end", few, with_first_weight(("\255"):rep(9) .. "\1") },
    { "a weight too many", few, function(payload)
      return payload .. "\2"
    end },
    { "half a head", few, function(payload)
      return payload:sub(1, 6)
    end },
  },
}
