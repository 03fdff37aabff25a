-- Keys and streams that are the same on every Lua, and what measured rates and errors are held against.

local assert = require "luassert"

local random = require "spec.support.random"

local statistics = {}

-- ---- keys and streams

-- The strings of the prefix and each number from first to last.
function statistics.keys(prefix, first, last)
  local keys = {}
  for i = first, last do
    keys[#keys + 1] = ("%s%d"):format(prefix, i)
  end
  return keys
end

-- The i-th of many seeds, far apart: with keys of up to three bytes, seeds that differ only in their lowest bits give
-- the same hashes to other keys.
function statistics.seed(i)
  return i * 2654435761
end

-- n draws from 1 .. keys, each with a probability in proportion to 1 / key^s.
function statistics.zipf(seed, s, keys, n)
  local generator = random.new(seed)
  local up_to, sum = {}, 0
  for key = 1, keys do
    sum = sum + 1 / key ^ s
    up_to[key] = sum
  end
  up_to[keys] = math.huge
  -- Where the search begins, by the upper bits of the draw: a power of two, so that no rounding starts it too far on.
  local CELLS = 2 ^ 16
  local first, key = {}, 1
  for cell = 0, CELLS - 1 do
    while up_to[key] <= cell / CELLS * sum do
      key = key + 1
    end
    first[cell] = key
  end
  local stream = {}
  for i = 1, n do
    local u = generator:uniform()
    local draw = first[math.floor(u * CELLS)]
    while up_to[draw] <= u * sum do
      draw = draw + 1
    end
    stream[i] = draw
  end
  return stream
end

-- How often each key comes in a stream.
function statistics.exact(stream)
  local counts = {}
  for i = 1, #stream do
    counts[stream[i]] = (counts[stream[i]] or 0) + 1
  end
  return counts
end

local BATCH = 100000

-- Calls with arrays of the integers from first to last, in order.
local function in_batches(first, last, call)
  local batch = {}
  for from = first, last, BATCH do
    local n = math.min(BATCH, last - from + 1)
    if n < #batch then
      batch = {}
    end
    for i = 1, n do
      batch[i] = from + i - 1
    end
    call(batch)
  end
end

-- Adds the integers from first to last; returns the sketch.
function statistics.add_range(sketch, first, last)
  in_batches(first, last, function(batch)
    sketch:add_many(batch)
  end)
  return sketch
end

-- How many of the integers from first to last a filter affirms.
function statistics.hits(filter, first, last)
  local hits = 0
  in_batches(first, last, function(batch)
    local found = filter:has_many(batch)
    for i = 1, #found do
      if found[i] then
        hits = hits + 1
      end
    end
  end)
  return hits
end

-- ---- rules

-- The most hits among so many probes that still agree with a promised rate: 15 % more, and four standard errors.
function statistics.most_hits(probes, rate)
  local expected = probes * rate * 1.15
  return expected + 4 * math.sqrt(expected)
end

-- The fewest that agree with the rate of theory. A filter that is twice as good is none: its probes are not what they
-- seem.
function statistics.fewest_hits(probes, rate)
  local expected = probes * rate * 0.5
  return expected - 4 * math.sqrt(expected)
end

function statistics.mean(values)
  local sum = 0
  for i = 1, #values do
    sum = sum + values[i]
  end
  return sum / #values
end

function statistics.root_mean_square(values)
  local sum = 0
  for i = 1, #values do
    sum = sum + values[i] * values[i]
  end
  return math.sqrt(sum / #values)
end

-- Fails unless low <= x <= high, and says what x was. The rest formats the name of x.
function statistics.within(low, high, x, name, ...)
  local text = ("%s is %.10g (expected %.10g to %.10g)"):format(name:format(...), x, low, high)
  assert.is_true(x >= low and x <= high, text)
end

-- Fails unless x is within so many standard errors of the expected value.
function statistics.near(expected, errors, standard_error, x, name, ...)
  local slack = errors * standard_error
  statistics.within(expected - slack, expected + slack, x, name, ...)
end

return statistics
