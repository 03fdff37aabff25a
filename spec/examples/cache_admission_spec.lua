-- The example of cache admission: a sketch keeps what comes once out of a cache as well as exact counts do.

local ps = require "probsketch"
local process = require "spec.support.process"
local statistics = require "spec.support.statistics"

local within = statistics.within

local EXAMPLE = "examples/cache_admission.lua"

local function run(interpreter, ...)
  return process.shell(process.command(interpreter, EXAMPLE, ...))
end

-- The hit rates that are reported, in percent: without admission, by the sketch, by exact counts.
local function hit_rates(options)
  local words = {}
  for name, value in pairs(options) do
    words[#words + 1] = "--" .. name
    words[#words + 1] = value
  end
  local report, status = run(process.interpreter, (table.unpack or unpack)(words))
  assert.equal(0, status, report)
  local rates = {}
  for rate in report:gmatch "hit rate [^\n]- +([%d.]+) %%" do
    rates[#rates + 1] = tonumber(rate)
  end
  assert.equal(3, #rates, report)
  return rates[1], rates[2], rates[3], report
end

-- The shares of the requests that are for each item, by Zipf's law.
local function shares(options)
  local harmonic, result = 0, {}
  for i = 1, options.items do
    harmonic = harmonic + 1 / i
  end
  for i = 1, options.items do
    result[i] = (1 - options.once / 100) / i / harmonic
  end
  return result
end

-- The hit rate of a least-recently-used cache by the approximation of Che, Tung and Wang (2002): a key stays for a time
-- T unless it is asked for, the same for all, in which as many different keys come as the cache holds.
local function expected_lru(options)
  local share, low, high = shares(options), 0, options.requests
  local function filled(time)
    local keys, hits = options.once / 100 * time, 0
    for _, p in ipairs(share) do
      keys, hits = keys + 1 - math.exp(-p * time), hits + p * (1 - math.exp(-p * time))
    end
    return keys, hits
  end
  for _ = 1, 60 do
    local middle = (low + high) / 2
    if filled(middle) < options.capacity then
      low = middle
    else
      high = middle
    end
  end
  return 100 * select(2, filled(low))
end

-- No cache does better than one that always holds the most frequent items.
local function best(options)
  local sum, share = 0, shares(options)
  for i = 1, options.capacity do
    sum = sum + share[i]
  end
  return 100 * sum
end

describe("the example of cache admission", function()
  local function hold(options, least_gain)
    local plain, sketch, exact = hit_rates(options)
    -- The cache is empty at first.
    local cold = 100 * options.capacity / options.requests
    within(expected_lru(options) - cold - 0.5, expected_lru(options) + 0.5, plain, "the hit rate without admission")
    within(plain + least_gain, best(options) + 0.5, sketch, "the hit rate with the sketch")
    within(exact - 0.5, exact + 0.5, sketch, "the hit rate with the sketch, beside exact counts,")
  end

  it("raises the hit rate as much as exact counts would #slow", function()
    hold({ requests = 100000, items = 20000, capacity = 500, once = 30 }, 3)
    hold({ requests = 100000, items = 20000, capacity = 100, once = 60 }, 5)
    hold({ requests = 100000, items = 20000, capacity = 500, once = 0 }, 2)
  end)

  it("says what the sketch takes: the bytes of its counters and of its filter", function()
    local _, _, _, report = hit_rates { requests = 1000, items = 100, capacity = 200 }
    local counters = ps.plan("count_min", { width = 2000, depth = 4, counter_bits = 8, conservative = true }).bytes
    local filter = ps.plan("bloom", { capacity = 2000, fp_rate = 0.01 }).bytes
    local bytes = tonumber(report:match "takes (%d+) bytes")
    within(counters + filter, counters + filter + 1000, bytes, "bytes")
  end)

  it("prints the same with every Lua", function()
    local options = { "--requests", 20000, "--items", 1000, "--capacity", 50, "--seed", 9 }
    local report, status = run(process.interpreter, (table.unpack or unpack)(options))
    assert.equal(0, status, report)
    for name, interpreter in pairs((process.interpreters())) do
      local words = {}
      for i, word in ipairs(options) do
        words[i] = tostring(word)
      end
      local other = process.shell(interpreter .. " " .. EXAMPLE .. " " .. table.concat(words, " "))
      assert.equal(report, other, name)
    end
  end)
end)
