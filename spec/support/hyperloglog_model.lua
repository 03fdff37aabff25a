-- What a hyperloglog of some keys has to be: its entries, its registers and its estimate, from their definitions.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"

local model = {}

-- The highest `bits` bits of a key's hash, and the rank of the others: 1 + the zeros that they begin with.
function model.split(key, bits)
  local digits = ps.hash(key)
  local high, low = tonumber(digits:sub(1, 8), 16), tonumber(digits:sub(9), 16)
  local unit = 2 ^ (32 - bits)
  local rest, rank, half = high % unit * 2 ^ 32 + low, 1, 2 ^ (63 - bits)
  while rank <= 64 - bits and rest < half do
    rank, half = rank + 1, half / 2
  end
  return math.floor(high / unit), rank
end

-- Raises the rank of the key's index: in registers with bits = precision, in sparse entries with 26.
function model.raise(ranks, key, bits)
  local index, rank = model.split(key, bits)
  ranks[index] = math.max(ranks[index] or 0, rank)
end

-- Registers of six bits, four in three bytes.
function model.pack_registers(ranks, precision)
  local bytes = {}
  for i = 0, 2 ^ precision - 1, 4 do
    local word = 0
    for j = 3, 0, -1 do
      word = word * 64 + (ranks[i + j] or 0)
    end
    bytes[#bytes + 1] = envelope.little(3, word)
  end
  return table.concat(bytes)
end

-- Entries of 26 bits of index above 6 of rank, ascending.
function model.pack_entries(ranks)
  local entries = {}
  for index, rank in pairs(ranks) do
    entries[#entries + 1] = index * 64 + rank
  end
  table.sort(entries)
  for i = 1, #entries do
    entries[i] = envelope.little(4, entries[i])
  end
  return table.concat(entries)
end

-- The estimate of Ertl 2017, algorithm 4; below, its sigma and tau, algorithms 5 and 6.
local function sum_up(x, z, step)
  local y = 1
  repeat
    local before = z
    x, y, z = step(x, y, z)
  until z == before
  return z
end

function model.estimate(ranks, precision)
  local m, q, counts = 2 ^ precision, 64 - precision, {}
  for rank = 0, q + 1 do
    counts[rank] = 0
  end
  for i = 0, m - 1 do
    counts[ranks[i] or 0] = counts[ranks[i] or 0] + 1
  end
  local zeros, others = counts[0] / m, 1 - counts[q + 1] / m
  local z = others == 0 and 0 or m / 3 * sum_up(others, 1 - others, function(x, y, sum)
    return math.sqrt(x), y / 2, sum - (1 - math.sqrt(x)) ^ 2 * y / 2
  end)
  for rank = q, 1, -1 do
    z = (z + counts[rank]) / 2
  end
  z = z + m * sum_up(zeros, zeros, function(x, y, sum)
    return x * x, y + y, sum + x * x * y
  end)
  return m * m / (2 * math.log(2)) / z
end

return model
