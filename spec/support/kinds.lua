-- Every kind of sketch as the shared specs see it, as an array and by name. A new kind adds one entry and is held to
-- all that every sketch promises. An entry:
--
--   name       of the constructor, of ps.kind() and of info().kind
--   alias      another name of the constructor
--   options    an ordinary sketch
--   item(i)    the i-th thing to add; different for different i up to 10,000
--   key        true when the things added are keys, strings or integers
--   forms      sketches whose bytes differ in shape, small enough to try every bit of them:
--     name       for people
--     options    of the constructor
--     items      how many things are added to fill it; a form may be in its shape only then
--     ordered    true when the bytes depend on the order of adding
--     twice      what merging with itself does: "nothing" or "doubles" every answer
--   answers(s) what the kind's asking methods say, as an array of numbers, booleans and strings
--   meet(a, b) what is asked of two compatible sketches, likewise; or nil
--   unlike     pairs of options that differ in one parameter, by the name of what must be named when they are merged
--   ranges     of options: the words for it in a refusal, values out of it, the extremes in it, and other options that
--              must be `with` it; `huge` extremes are in range and over the default limit
--   boolean    options that are true or false
--   against    combinations of options that contradict each other, and what of the refusal names them
--   huge       options that are in range and need more than the default limit
--   bytes(o)   of the payload by the published formula, for huge options and for those of `megabytes`
--   megabytes  options of a sketch with a payload of 1 to 2 MB
--   page       options of a sketch with a payload of 4 MiB, the least that lives in pages of its own; or nil
--   pages      options of one with a payload of 64 MiB; or nil
--   fields     what the header says of the kind, in order: name, bytes, and hostile values as hexadecimal digits; one
--              of 8 bytes that `sizes` the payload is tried with more
--   corrupt    payloads that no calls lead to: name, form, and the change to the payload

local ps = require "probsketch"

local envelope = require "spec.support.envelope"

local little, spliced = envelope.little, envelope.spliced

local kinds = {}

local function numbered_key(i)
  return ("key:%d"):format(i)
end

-- Answers of methods that take a key, for keys that were added and keys that were not.
local function about_keys(sketch, method)
  local answers = {}
  for i = 1, 300 do
    answers[i] = sketch[method](sketch, numbered_key(i))
  end
  return answers
end

local function append(array, ...)
  for i = 1, select("#", ...) do
    array[#array + 1] = (select(i, ...))
  end
  return array
end

local E, LN2, TWO_53 = math.exp(1), math.log(2), 2 ^ 53

-- ---- bloom

kinds[#kinds + 1] = {
  name = "bloom",
  options = { capacity = 1000, fp_rate = 0.01 },
  key = true,
  item = numbered_key,
  forms = {
    { name = "whose bits end within a word", options = { bits = 1001, hashes = 4 }, items = 200, twice = "nothing" },
    { name = "with every bit set", options = { bits = 64, hashes = 3 }, items = 300, twice = "nothing" },
  },
  answers = function(bloom)
    local answers = about_keys(bloom, "has")
    local asked = {}
    for i = 1, 300 do
      asked[i] = numbered_key(i)
    end
    for _, found in ipairs(bloom:has_many(asked)) do
      append(answers, found)
    end
    return append(answers, bloom:count())
  end,
  meet = function(a, b)
    return { a:jaccard(b) }
  end,
  unlike = {
    bits = { { bits = 1001, hashes = 4 }, { bits = 1002, hashes = 4 } },
    hashes = { { bits = 1001, hashes = 4 }, { bits = 1001, hashes = 5 } },
    seed = { { bits = 1001, hashes = 4, seed = 1 }, { bits = 1001, hashes = 4, seed = 2 } },
  },
  ranges = {
    capacity = { says = "an integer from 1 to 2^53", bad = { 0, -1, 0.01, 1000.5, 2 * TWO_53, 1e18, 1e30, 1e300 },
      good = { 1 }, huge = { TWO_53 } },
    fp_rate = { says = "a number from 1e-15 to below 1", with = { capacity = 1000 },
      bad = { 0, -0.01, 9.9e-16, 1, 1.5, 2, 5, 1e9 }, good = { 1e-15, 0.999999 } },
    bits = { says = "an integer from 1 to 2^53", with = { hashes = 4 }, bad = { 0, -1, 0.5, 2 * TWO_53, 1e30 },
      good = { 1 }, huge = { TWO_53 } },
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
  huge = { { capacity = 1e11, fp_rate = 0.01 }, { capacity = TWO_53, fp_rate = 1e-15 },
    { bits = TWO_53, hashes = 64 } },
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

-- ---- count_min

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
    return spliced(payload, at + 1, word)
  end
end

kinds[#kinds + 1] = {
  name = "count_min",
  options = { epsilon = 0.001, delta = 0.01 },
  key = true,
  item = function(i)
    return numbered_key(i % 4000)
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
    return append(about_keys(count_min, "frequency"), count_min:count(), count_min:error_bound())
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
    width = { says = "an integer from 1 to 2^53", with = { depth = 3 }, bad = { 0, -1, 1.5, 2 * TWO_53, 1e300 },
      good = { 1 }, huge = { TWO_53 } },
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
    local width = options.width or math.ceil(E / options.epsilon)
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

-- ---- hyperloglog

-- A sparse payload, of 4-byte entries, with one entry replaced by a function of its index and rank.
local function with_entry(change)
  return function(payload)
    local entry = envelope.number(payload:sub(5, 8))
    local rank = entry % 64
    return spliced(payload, 5, little(4, change(entry - rank, rank)))
  end
end

kinds[#kinds + 1] = {
  name = "hyperloglog",
  alias = "hll",
  options = { precision = 14 },
  key = true,
  item = numbered_key,
  forms = {
    { name = "that is sparse", options = { precision = 14 }, items = 40, twice = "nothing" },
    { name = "that is dense", options = { precision = 7 }, items = 2000, twice = "nothing" },
    { name = "of the lowest precision", options = { precision = 4 }, items = 2000, twice = "nothing" },
  },
  answers = function(hll)
    return append({ hll:count(), hll:estimate(), hll:standard_error() }, hll:bounds(2))
  end,
  unlike = {
    precision = { { precision = 7 }, { precision = 8 } },
    seed = { { precision = 7, seed = 1 }, { precision = 7, seed = 2 } },
  },
  ranges = {
    precision = { says = "an integer from 4 to 18", bad = { 0, -4, 3, 4.5, 19, 64, 1e11, 1e300 }, good = { 4, 18 } },
    error_rate = { says = "a number from 0.00203125 to 0.26", bad = { 0, -0.01, 0.002, 0.2601, 1, 2, 1e300 },
      good = { 0.00203125, 0.26 } },
  },
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

-- ---- what specs do with them

for _, kind in ipairs(kinds) do
  kinds[kind.name] = kind

  -- Makes a sketch of the options, the kind's ordinary ones unless others are given.
  function kind.new(options)
    return ps[kind.name](options or kind.options)
  end

  -- Adds the items from..to to a sketch, one by one; returns it.
  function kind.fill(sketch, from, to)
    for i = from, to do
      sketch:add(kind.item(i))
    end
    return sketch
  end

  -- The same items as an array.
  function kind.items(from, to)
    local items = {}
    for i = from, to do
      items[#items + 1] = kind.item(i)
    end
    return items
  end

  for _, form in ipairs(kind.forms) do
    form.kind = kind

    function form.empty()
      return kind.new(form.options)
    end

    function form.filled()
      return kind.fill(form.empty(), 1, form.items)
    end
  end
end

-- The options with others on top, in a new table.
function kinds.options(...)
  local all = {}
  for i = 1, select("#", ...) do
    for name, value in pairs((select(i, ...)) or {}) do
      all[name] = value
    end
  end
  return all
end

-- Describes every kind by means of busted's describe(): f(kind) makes its specs.
function kinds.describe(describe, f)
  for _, kind in ipairs(kinds) do
    describe(kind.name, function()
      f(kind)
    end)
  end
end

-- Describes every form of every kind likewise: f(form, kind) makes its specs.
function kinds.describe_forms(describe, f)
  for _, kind in ipairs(kinds) do
    for _, form in ipairs(kind.forms) do
      describe(kind.name .. " " .. form.name, function()
        f(form, kind)
      end)
    end
  end
end

-- A kind other than the given one.
function kinds.other(kind)
  return kinds[1] ~= kind and kinds[1] or kinds[2]
end

return kinds
