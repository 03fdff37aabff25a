local count_min = require "spec.support.kinds.count_min"
local envelope = require "spec.support.envelope"
local shared = require "spec.support.kinds.shared"

local little, spliced = envelope.little, envelope.spliced

local COUNTERS = 16 + 16 + 23 * 3 * 4 -- where the list begins in the forms' payloads

-- A filled form of the kind with the bytes from `at`, counted from 0, replaced.
local function with(at, bytes)
  return function(payload)
    return spliced(payload, at + 1, bytes)
  end
end

-- The first of the listed items, of 20 bytes and its key, and what is before and behind it.
local function with_first(change)
  return function(payload)
    local size = 20 + envelope.number(payload:sub(COUNTERS + 17, COUNTERS + 20))
    local list = payload:sub(COUNTERS + 1)
    return payload:sub(1, COUNTERS) .. change(list:sub(1, size), list:sub(size + 1))
  end
end

local function form(name, k, items, more)
  local made = { name = name, options = { k = k, width = 23, depth = 3 }, items = items, twice = "doubles" }
  for key, value in pairs(more or {}) do
    made[key] = value
  end
  return made
end

local function range_of(option)
  return count_min.ranges[option]
end

local huge = "0020000000000001"

return {
  name = "top_k",
  options = { k = 10, epsilon = 0.001, delta = 0.01 },
  key = true,
  grows = true,
  item = function(i)
    return shared.numbered_key(i % 4000)
  end,
  forms = {
    form("that is full", 8, 300, { ordered = true }),
    form("with room in its list", 500, 300),
    form("of one key", 1, 300, { ordered = true }),
  },
  answers = function(top_k)
    local answers = shared.about_keys(top_k, "frequency")
    for _, item in ipairs(top_k:list()) do
      shared.append(answers, item.count, item.error)
    end
    return shared.append(answers, top_k:count(), top_k:info().error_bound)
  end,
  -- What a list has no room for depends on what it is merged with first.
  merges = "as a set",
  united = function(top_k)
    return { top_k:count(), #top_k:list() }
  end,
  unlike = {
    k = { { k = 9, width = 23, depth = 3 }, { k = 10, width = 23, depth = 3 } },
    width = { { width = 23, depth = 3 }, { width = 24, depth = 3 } },
    depth = { { width = 23, depth = 3 }, { width = 23, depth = 4 } },
    seed = { { width = 23, depth = 3, seed = 1 }, { width = 23, depth = 3, seed = 2 } },
  },
  ranges = {
    k = { says = "an integer from 1 to 1e6", bad = { 0, -1, 1.5, 1e6 + 1, 2 ^ 32, 2 ^ 32 + 1, 2 ^ 63, 1e300 },
      good = { 1, 1e6 } },
    epsilon = range_of "epsilon",
    delta = range_of "delta",
    width = range_of "width",
    depth = range_of "depth",
  },
  against = count_min.against,
  huge = count_min.huge,
  bytes = function(options)
    return count_min.bytes(options) + (options.k or 10) * 68
  end,
  megabytes = { width = 60000, depth = 5 },
  fields = {
    { "k", 4, { "00000000", "000f4241", "80000000", "ffffffff" } },
    count_min.fields[1],
    count_min.fields[2],
    count_min.fields[5],
    count_min.fields[6],
  },
  corrupt = {
    { "a total above 2^53", "that is full", with(0, envelope.hexadecimal(huge)) },
    { "a flag that is neither 0 nor 1", "that is full", with(8, little(8, 2)) },
    { "a total of the counters above 2^53", "that is full", with(16, envelope.hexadecimal(huge)) },
    { "a mark of the counters that is neither 0 nor 1", "that is full", with(24, little(8, 2)) },
    { "more counts than the total", "that is full", with(0, little(8, 299)) },
    { "more counts than the total, all of them listed", "with room in its list", with(0, little(8, 299)) },
    { "a count of 0", "of one key", with(COUNTERS, little(8, 0) .. little(8, 0)) },
    { "a count above 2^53", "of one key", with(COUNTERS, envelope.hexadecimal(huge)) },
    { "an error above its count", "with room in its list", with(COUNTERS + 8, little(8, 2)) },
    { "an error that the counters do not have", "with room in its list", with(COUNTERS + 8, little(8, 1)) },
    { "a key that is longer than the rest", "of one key", with(COUNTERS + 16, little(4, 1000)) },
    { "a key of 4 GiB", "with room in its list", with(COUNTERS + 16, little(4, 2 ^ 32 - 1)) },
    { "an item that is cut off", "of one key", function(payload)
      return payload:sub(1, COUNTERS + 19)
    end },
    { "no counters", "of one key", function(payload)
      return payload:sub(1, COUNTERS - 1)
    end },
    { "more items than k", "of one key", function(payload)
      return payload .. little(8, 1) .. little(8, 0) .. little(4, 1) .. "x"
    end },
    { "the same key twice", "with room in its list", with_first(function(first, rest)
      return first .. first .. rest
    end) },
    { "the same key twice, with another count", "with room in its list", with_first(function(first, rest)
      return first .. rest .. little(8, 1) .. little(8, 1) .. first:sub(17)
    end) },
    { "items out of order", "with room in its list", with_first(function(first, rest)
      return rest .. first
    end) },
  },
}
