-- What a call from Lua costs. bench/README.md says how to read it.

local ps = require "probsketch"
local harness = require "bench.harness"

local KEYS = 1000000
local FILTER = 100000 -- keys that the filter is made for: 120 kB, in cache
local CHUNK = 1000    -- keys in one call of add_many and has_many
local WINDOW = 50000  -- keys; the figure is that of the fastest window of all repeats

local strings, integers = {}, {}
for i = 1, KEYS do
  local x = i * 2654435761 % 4294967296
  integers[i] = x
  strings[i] = ("%08x%08x"):format(x, i)
end

local trivial -- the method that all are compared with, once it is there

local function row(name, run, window)
  local ns, base = harness.least(run, KEYS, window or WINDOW, trivial)
  local beside = trivial and ("%10.1f%+8.1f%8.2f"):format(base, ns - base, ns / base) or ""
  print(("  %-36s%8.1f%s"):format(name, ns, beside))
  io.stdout:flush()
end

-- ---- baselines ----

local sink

local function loop(keys)
  return function(from, to)
    for i = from, to do sink = keys[i] end
  end
end

local function table_set(keys)
  return function(from, to)
    local set = {}
    for i = from, to do set[keys[i]] = true end
  end
end

local function table_get(keys)
  local set = {}
  for i = 1, KEYS do set[keys[i]] = true end
  return function(from, to)
    for i = from, to do sink = set[keys[i]] end
  end
end

local function kind(sketch)
  return function(from, to)
    for _ = from, to do sink = sketch:kind() end
  end
end

local function touch(object, keys)
  return function(from, to)
    for i = from, to do sink = object:touch(keys[i]) end
  end
end

-- ---- methods ----
-- One function a method: each is compiled apart, with a loop of its own.

local function add(sketch, keys)
  return function(from, to)
    for i = from, to do sketch:add(keys[i]) end
  end
end

local function has(sketch, keys)
  return function(from, to)
    for i = from, to do sink = sketch:has(keys[i]) end
  end
end

local function frequency(sketch, keys)
  return function(from, to)
    for i = from, to do sink = sketch:frequency(keys[i]) end
  end
end

local function add_many(sketch, chunks)
  return function(from, to)
    for i = (from - 1) / CHUNK + 1, to / CHUNK do sketch:add_many(chunks[i]) end
  end
end

local function has_many(sketch, chunks)
  return function(from, to)
    for i = (from - 1) / CHUNK + 1, to / CHUNK do sink = sketch:has_many(chunks[i]) end
  end
end

local function filter_of(keys)
  local filter = ps.bloom { capacity = FILTER, fp_rate = 0.01 }
  for i = 1, FILTER do filter:add(keys[i]) end
  return filter
end

local function filled(sketch, keys)
  for i = 1, KEYS do sketch:add(keys[i]) end
  return sketch
end

local function measure_methods(keys, what)
  local chunks = harness.chunks(keys, CHUNK)
  local hll = filled(ps.hyperloglog { precision = 14 }, keys)
  local counts = ps.count_min { epsilon = 0.001, delta = 0.01, conservative = true }
  local plain = ps.count_min { epsilon = 0.001, delta = 0.01 }
  row("bloom:add, " .. what, add(filter_of(keys), keys))
  row("bloom:has, " .. what, has(filter_of(keys), keys))
  row("bloom:add_many, " .. what, add_many(filter_of(keys), chunks))
  row("bloom:has_many, " .. what, has_many(filter_of(keys), chunks))
  row("hyperloglog:add, " .. what, add(hll, keys))
  row("hyperloglog:add_many, " .. what, add_many(hll, chunks))
  row("count_min:add, plain, " .. what, add(plain, keys))
  row("count_min:add, conservative, " .. what, add(counts, keys))
  row("count_min:add_many, " .. what, add_many(counts, chunks))
  row("count_min:frequency, " .. what, frequency(counts, keys))
end

print(("\ncalls from %s: %d strings of 16 bytes, %d integers"):format(
  harness.interpreter, KEYS, KEYS))
print(("  %-36s%8s%10s%8s%8s"):format("", "ns a key", "trivial", "more", "times"))
row("loop alone", loop(strings))
row("table set, strings, growing", table_set(strings), KEYS)
row("table get, strings", table_get(strings))
row("sketch:kind()", kind(filter_of(strings)))
local there, object = pcall(require, "trivial")
if there then
  trivial = touch(object, strings)
end
measure_methods(strings, "strings")
measure_methods(integers, "integers")
