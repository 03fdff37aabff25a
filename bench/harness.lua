-- What the benchmarks from Lua share: time. bench/README.md says how to read their tables.

local harness = {}

local REPEATS = 5

local function time(run, from, to)
  local start = os.clock()
  run(from, to)
  return (os.clock() - start) * 1e9 / (to - from + 1)
end

-- Nanoseconds a key of run(from, to), over the keys from 1 to n in windows of so many: those of the fastest window of
-- all repeats. Likewise those of the baseline, whose windows come in turns with them: what disturbs one disturbs the
-- other.
function harness.least(run, n, window, baseline, repeats)
  local best, base = math.huge, math.huge
  for _ = 1, repeats or REPEATS do
    collectgarbage()
    for from = 1, n, window do
      best = math.min(best, time(run, from, from + window - 1))
      if baseline then
        base = math.min(base, time(baseline, from, from + window - 1))
      end
    end
  end
  return best, base
end

-- The keys in arrays of so many.
function harness.chunks(keys, size)
  local chunks = {}
  for i = 1, #keys / size do
    local chunk = {}
    for j = 1, size do
      chunk[j] = keys[(i - 1) * size + j]
    end
    chunks[i] = chunk
  end
  return chunks
end

harness.interpreter = rawget(_G, "jit") and rawget(_G, "jit").version or _VERSION

return harness
