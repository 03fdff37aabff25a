-- What calls cost that LuaJIT compiles, and the same calls by the C methods. bench/README.md says how to read it.

local jit = rawget(_G, "jit")
if not (jit and jit.status()) then
  return
end

local ps = require "probsketch"
local ffi = require "ffi"
local harness = require "bench.harness"

local KEYS = 20000 -- all of them, and the sketches, in cache
local WINDOW = 5000
local REPEATS = 40

local keys, values = {}, {}
for i = 1, 2 * KEYS do
  keys[i] = ("%08x%08x"):format(i * 2654435761 % 4294967296, i)
  values[i] = i % 1000 + 0.5
end

-- A function a method, with a loop of its own: what LuaJIT compiles for one is not for another.
local LOOP = [[local sketch, keys, anew = ...
  local sink
  return function(from, to)
    if anew and from == 1 then sketch:clear() end
    for i = from, to do %s end
    return sink
  end]]

local function loop(body, sketch, items, anew)
  return loadstring(LOOP:format(body))(sketch, items or keys, anew)
end

local function least(body, sketch, items)
  local ns = harness.least(loop(body, sketch, items), KEYS, WINDOW, nil, REPEATS)
  return ns
end

local function row(name, method, sketch, items)
  local fast = least("sink = sketch:" .. method .. "(keys[i])", sketch, items)
  -- An argument more than there is makes it a call of the C method.
  local slow = least("sink = sketch:" .. method .. "(keys[i], 1)", sketch, items)
  print(("  %-36s%8.1f%10.1f%8.1f"):format(name, fast, slow, slow / fast))
  io.stdout:flush()
end

local function filled(sketch)
  for i = 1, KEYS do sketch:add(keys[i]) end
  return sketch
end

ffi.cdef "size_t strlen(const char *);"

print(("\ncompiled by %s: %d strings of 16 bytes"):format(harness.interpreter, KEYS))
print(("  %-36s%8s%10s%8s"):format("", "ns a key", "C method", "times"))
print(("  %-36s%8.1f"):format("loop alone", least("sink = keys[i]")))
print(("  %-36s%8.1f"):format("ffi.C.strlen", least("sink = sketch.strlen(keys[i])", ffi.C)))
local absent = {}
for i = 1, KEYS do absent[i] = keys[KEYS + i] end

local bloom = filled(ps.bloom { capacity = KEYS, fp_rate = 0.01 })
row("bloom:has, there", "has", bloom)
row("bloom:has, not there", "has", bloom, absent)
row("bloom:add", "add", bloom)
local blocked = filled(ps.blocked_bloom { capacity = KEYS, fp_rate = 0.01 })
row("blocked_bloom:has", "has", blocked)
row("blocked_bloom:add", "add", blocked)
row("cuckoo:has", "has", filled(ps.cuckoo { capacity = 2 * KEYS }))
row("fuse:has", "has", ps.fuse { keys = keys })
row("hyperloglog:add, dense", "add", filled(ps.hyperloglog { precision = 12 }))
row("count_min:add, 5 rows", "add", filled(ps.count_min {}))
row("count_min:frequency, 5 rows", "frequency", filled(ps.count_min {}))
row("ddsketch:add", "add", ps.ddsketch {}, values)

print(("\nshared, by one process\n  %-36s%8s%10s%8s"):format("", "ns a key", "private", "times"))

-- A shared sketch in turns with a private one that is equal; `anew`: both are cleared before all keys come again.
local function beside(name, method, private, items, anew)
  local shared = assert(ps.share(name, private))
  local body = "sink = sketch:" .. method .. "(keys[i])"
  local own, of_all = harness.least(loop(body, private, items, anew), KEYS, WINDOW, loop(body, shared, items, anew),
    REPEATS)
  print(("  %-36s%8.1f%10.1f%8.2f"):format(name, of_all, own, of_all / own))
  io.stdout:flush()
end

beside("bloom:has", "has", bloom)
beside("blocked_bloom:has", "has", blocked)
beside("counting_bloom:has", "has", filled(ps.counting_bloom { capacity = KEYS }))
beside("count_min:frequency", "frequency", filled(ps.count_min {}))
beside("bloom:add, there", "add", bloom)
beside("blocked_bloom:add, there", "add", blocked)
beside("hyperloglog:add, there", "add", filled(ps.hyperloglog { precision = 12 }))
beside("minhash:add, there", "add", filled(ps.minhash {}))
beside("bloom:add, new", "add", bloom, keys, true)
beside("blocked_bloom:add, new", "add", blocked, keys, true)
beside("hyperloglog:add, new", "add", filled(ps.hyperloglog { precision = 12 }), keys, true)
beside("counting_bloom:add", "add", ps.counting_bloom { capacity = KEYS, counter_bits = 16 })
beside("count_min:add", "add", ps.count_min {})
beside("ddsketch:add", "add", ps.ddsketch { min_value = 0.1, max_value = 60000 }, values)
