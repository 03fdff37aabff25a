--- Probabilistic sketches: approximate answers with a stated error, in little memory.
--
-- Each kind of sketch is a class of its own here, with its constructor, its options and its methods. What every sketch
-- can do is on this page.
--
-- LuaJIT compiles calls of the methods add, has, frequency and remove of most kinds, unless its compiler is off
-- (`jit.off()`) when the module is first loaded, or the environment says `PROBSKETCH_JIT=off`.
-- @module probsketch

local core = require "probsketch.core"

-- Counterpart of PS_ABI in the C module. A host that reloads its Lua files (nginx on HUP) keeps the C module
-- it has, also when the file has been replaced.
local ABI = 1

if core.abi ~= ABI then
  error(("probsketch: the C module has ABI %s, the Lua files need %d; "
    .. "restart the host process: a reload keeps the old C module"):format(tostring(core.abi), ABI), 0)
end

require "probsketch.jit".install(core)

local ps = {
  --- Of the library, by semantic versioning: "1.2.3".
  -- @field VERSION
  VERSION = core.VERSION,

  bloom = core.bloom,
  blocked_bloom = core.blocked_bloom,
  scalable_bloom = core.scalable_bloom,
  counting_bloom = core.counting_bloom,
  cuckoo = core.cuckoo,
  fuse = core.fuse,
  count_min = core.count_min,
  top_k = core.top_k,
  hyperloglog = core.hyperloglog,
  hll = core.hyperloglog,
  tdigest = core.tdigest,
  kll = core.kll,
  ddsketch = core.ddsketch,
  minhash = core.minhash,

  plan = core.plan,
  max_bytes = core.max_bytes,
  union = core.union,
  decode = core.decode,
  decoder = core.decoder,
  load = core.load,
  open = core.open,
  share = core.share,
  kind = core.kind,
  hash = core.hash,

  lsh = require "probsketch.lsh",
  window = require "probsketch.window",
}

return ps
