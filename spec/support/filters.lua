-- The filters as the shared specs of spec/membership/filters_spec.lua see them. An entry:
--
--   name       of the constructor
--   rates      that it is tried with
--   slack      what the measured rate may be of the promised one, at most
--   immutable  made from its keys at once
--   removes    has remove(), and knows how often a key is in it
--   exact      count() is the number of keys in it, not an estimate
--   copies     of each of many keys that it takes for certain; nil: any number
--   counter_bits of the constructor: wide enough that none saturates
--   capacities that it is tried with; the ordinary ones unless others are given

local ps = require "probsketch"

local filters = {
  { name = "bloom", rates = { 0.1, 0.01, 1e-4 }, slack = 1.15 },
  { name = "blocked_bloom", rates = { 0.1, 0.01, 1e-4 }, slack = 1.1 },
  { name = "scalable_bloom", rates = { 0.1, 0.01, 1e-4 }, slack = 1.1 },
  { name = "counting_bloom", rates = { 0.1, 0.01, 1e-4 }, slack = 1.15, removes = true, counter_bits = 8 },
  { name = "cuckoo", rates = { 0.1, 0.01, 1e-4 }, slack = 1.2, removes = true, exact = true, copies = 2 },
  { name = "fuse", rates = { 1 / 256, 1 / 65536 }, slack = 1.05, immutable = true, exact = true },
}

for _, filter in ipairs(filters) do
  filters[filter.name] = filter
  filter.capacities = filter.capacities or { 1, 2, 3, 7, 100, 1000, 12345 }

  -- A filter for so many keys at a rate, with the keys of an array.
  function filter.new(capacity, rate, keys, seed)
    local options = { fp_rate = rate, seed = seed, counter_bits = filter.counter_bits }
    if filter.immutable then
      options.keys = keys or {}
    else
      options.capacity = capacity
    end
    local sketch = ps[filter.name](options)
    if keys and not filter.immutable then
      sketch:add_many(keys)
    end
    return sketch
  end

  -- A filter for `capacity` keys, n unless it is given, that has the integers from 1 to n.
  function filter.filled(n, rate, capacity, seed)
    local keys = {}
    for i = 1, n do
      keys[i] = i
    end
    return filter.new(capacity or n, rate, keys, seed)
  end
end

-- Describes every filter by means of busted's describe(): f(filter) makes its specs.
function filters.describe(describe, f)
  for _, filter in ipairs(filters) do
    describe("a " .. filter.name .. " filter", function()
      f(filter)
    end)
  end
end

return filters
