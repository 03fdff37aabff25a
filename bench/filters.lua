-- What filters cost from Lua, key by key and in batches, in the cache and far out of it. bench/README.md says how to
-- read it. Arguments are the filters to measure; all of them without.

local ps = require "probsketch"
local harness = require "bench.harness"

local KEYS = 1000000  -- looked up, or added, in each measurement
local CHUNK = 1000    -- keys in one call of add_many and has_many
local IN_CACHE, OUT_OF_CACHE = 100000, 30000000
local HALF_A_GIGABYTE = 2 ^ 29
local PROBES = 1000000
local WINDOW = 50000     -- keys; the figure is that of the fastest window
local ROUNDS = 3         -- filters that keys are added to

-- `part` of the keys is what the capacity of those that grow is said to be.
local filters = {
  { name = "bloom", fp_rate = 0.01, half_a_gigabyte = true },
  { name = "blocked_bloom", fp_rate = 0.01, half_a_gigabyte = true },
  { name = "scalable_bloom", fp_rate = 0.01, part = 0.01 },
  { name = "counting_bloom", fp_rate = 0.01 },
  { name = "cuckoo", fp_rate = 0.001 },
  { name = "fuse", fp_rate = 1 / 256, built_at_once = true },
}

-- ---- keys: strings of 8 bytes, and like URLs of 20 to 40; and integers to fill the rest of a filter with

local PATH = "/catalogue/summer-sale/"

local types = {
  { name = "8 bytes", key = function(i)
    return ("%08x"):format(i)
  end },
  { name = "URL", key = function(i)
    return ("%s%016x"):format(PATH:sub(1, i % 21 + 4), i)
  end },
}

local function keys_of(type, first, n)
  local keys = {}
  for i = 1, n do
    keys[i] = type.key(first + i - 1)
  end
  return keys
end

-- Calls with arrays of the integers first .. last.
local function in_chunks(first, last, call)
  local chunk = {}
  for from = first, last, CHUNK do
    local n = math.min(CHUNK, last - from + 1)
    for i = 1, CHUNK do
      chunk[i] = i <= n and from + i - 1 or nil
    end
    call(chunk)
  end
end

local function fill(sketch, n)
  in_chunks(1, n, function(chunk)
    assert(sketch:add_many(chunk) <= CHUNK)
  end)
end

-- ---- what is timed: one function a method, each compiled apart, with a loop of its own

local sink

local function add(filter, keys)
  return function(from, to)
    for i = from, to do sink = filter:add(keys[i]) end
  end
end

local function has(filter, keys)
  return function(from, to)
    for i = from, to do sink = filter:has(keys[i]) end
  end
end

local function add_many(filter, chunks)
  return function(from, to)
    for i = (from - 1) / CHUNK + 1, to / CHUNK do filter:add_many(chunks[i]) end
  end
end

local function has_many(filter, chunks)
  return function(from, to)
    for i = (from - 1) / CHUNK + 1, to / CHUNK do sink = filter:has_many(chunks[i]) end
  end
end

-- ---- tables

local function row(name, single, batch)
  print(("  %-32s%10.1f%10.1f%8.2f"):format(name, single, batch, single / batch))
  io.stdout:flush()
end

local function title(filter, where, sketch, keys)
  print(("\n%s %s, %s: %d keys, %.1f MB"):format(filter.name, where, harness.interpreter, keys, sketch:bytes() / 1e6))
  print(("  %-32s%10s%10s%8s"):format("", "one by one", "batches", "times"))
end

local function note(sketch, keys)
  local wrong = 0
  in_chunks(2 ^ 40, 2 ^ 40 + PROBES - 1, function(chunk)
    for _, found in ipairs(sketch:has_many(chunk)) do
      wrong = wrong + (found and 1 or 0)
    end
  end)
  print(("  bits per key %.2f, false positives %.4f %% of %d"):format(sketch:bytes() * 8 / keys, wrong / PROBES * 100,
    PROBES))
end

-- ---- measurements

local function measure_has(sketch, what, keys)
  local chunks = harness.chunks(keys, CHUNK)
  row(what, (harness.least(has(sketch, keys), #keys, WINDOW)), (harness.least(has_many(sketch, chunks), #keys, WINDOW)))
end

-- The fastest of a few additions of the keys to filters that have room for them.
local function least_add(new, body, keys)
  local least = math.huge
  for _ = 1, ROUNDS do
    local sketch = new()
    least = math.min(least, (harness.least(body(sketch), #keys, WINDOW, nil, 1)))
    sketch:close()
  end
  return least
end

local function measure_add(new, what, keys)
  local chunks = harness.chunks(keys, CHUNK)
  row(what, least_add(new, function(sketch) return add(sketch, keys) end, keys),
    least_add(new, function(sketch) return add_many(sketch, chunks) end, keys))
end

local function measure(filter, where, capacity)
  local n = math.min(KEYS, capacity)
  local function with_room()
    local sketch = ps[filter.name] { capacity = capacity * (filter.part or 1), fp_rate = filter.fp_rate }
    fill(sketch, capacity - n)
    return sketch
  end
  for i, type in ipairs(types) do
    local sketch, keys = with_room(), keys_of(type, 1, n)
    if i == 1 then
      title(filter, where, sketch, capacity)
    end
    sketch:add_many(keys)
    measure_add(with_room, "add, " .. type.name, keys)
    measure_has(sketch, "has, there, " .. type.name, keys)
    measure_has(sketch, "has, not there, " .. type.name, keys_of(type, 2 ^ 31, n))
    if i == #types then
      note(sketch, capacity)
    end
    sketch:close()
  end
end

local function measure_built(filter, where, capacity)
  local n = math.min(KEYS, capacity)
  for i, type in ipairs(types) do
    local keys, at = keys_of(type, 1, n), 0
    local function next_key()
      at = at + 1
      return keys[at] or at <= capacity and at or nil
    end
    local start = os.clock()
    local sketch = ps[filter.name] { keys = next_key, fp_rate = filter.fp_rate }
    local ns = (os.clock() - start) * 1e9 / capacity
    if i == 1 then
      title(filter, where, sketch, capacity)
    end
    print(("  %-32s%10.1f"):format("build, from a function", ns))
    measure_has(sketch, "has, there, " .. type.name, keys)
    measure_has(sketch, "has, not there, " .. type.name, keys_of(type, 2 ^ 31, n))
    if i == #types then
      note(sketch, capacity)
    end
    sketch:close()
  end
end

-- A filter of 512 MB, in which every key is a line that no cache has.
local function measure_half_a_gigabyte(filter)
  local plan = ps.plan(filter.name, { capacity = 2 ^ 20, fp_rate = filter.fp_rate })
  local sketch = ps[filter.name] {
    capacity = math.floor(HALF_A_GIGABYTE / plan.bytes * 2 ^ 20), fp_rate = filter.fp_rate,
  }
  fill(sketch, OUT_OF_CACHE)
  title(filter, "of half a gigabyte", sketch, OUT_OF_CACHE)
  local keys = keys_of(types[1], 1, KEYS)
  measure_has(sketch, "has, not there, 8 bytes", keys)
  local chunks = harness.chunks(keys, CHUNK)
  row("add, 8 bytes", (harness.least(add(sketch, keys), KEYS, WINDOW)),
    (harness.least(add_many(sketch, chunks), KEYS, WINDOW)))
  measure_has(sketch, "has, there, 8 bytes", keys)
  sketch:close()
end

local wanted = {}
for _, name in ipairs(arg) do
  wanted[name] = true
end

for _, filter in ipairs(filters) do
  if #arg == 0 or wanted[filter.name] then
    local by = filter.built_at_once and measure_built or measure
    by(filter, "in cache", IN_CACHE)
    by(filter, "out of cache", OUT_OF_CACHE)
    if filter.half_a_gigabyte then
      measure_half_a_gigabyte(filter)
    end
  end
end
