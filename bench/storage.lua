-- What it takes to have a filter back from a file or from pieces. bench/README.md says how to read it.

local ps = require "probsketch"
local harness = require "bench.harness"

local BITS = 960 * 2 ^ 20 -- 120 MB
local PIECE = 2 ^ 20
local REPEATS = 5

local filter = ps.bloom { bits = BITS, hashes = 7 }
for i = 1, 200 do
  local keys = {}
  for j = 1, 10000 do keys[j] = i * 10000 + j end
  filter:add_many(keys)
end
local path = os.tmpname()
assert(filter:save(path))

-- The least milliseconds of some calls; each gives what is to be closed after it.
local function least(call)
  local best = math.huge
  for _ = 1, REPEATS do
    collectgarbage()
    local start = os.clock()
    local made = call()
    best = math.min(best, os.clock() - start)
    made:close()
  end
  return best * 1e3
end

print(("\nbloom of %.0f MB, %s%20s"):format(filter:bytes() / 1e6, harness.interpreter, "ms"))

local function row(name, milliseconds)
  print(("  %-40s%10.3f"):format(name, milliseconds))
end

row("load", least(function() return assert(ps.load(path)) end))
row("open", least(function() return assert(ps.open(path)) end))
row("open, not verified", least(function() return assert(ps.open(path, { verify = false })) end))
row("open, not verified, then count", least(function()
  local file = assert(ps.open(path, { verify = false }))
  file:count()
  return file
end))
row("copy", least(function() return filter:copy() end))

local pieces = {}
for piece in filter:chunks(PIECE) do
  pieces[#pieces + 1] = piece
end
local steps, finish, all = {}, math.huge, math.huge
for _ = 1, REPEATS do
  local decoder, sum = ps.decoder(), 0
  for i, piece in ipairs(pieces) do
    local start = os.clock()
    assert(decoder:feed(piece))
    local step = os.clock() - start
    sum = sum + step
    steps[i] = math.min(steps[i] or math.huge, step)
  end
  local start = os.clock()
  local back = assert(decoder:finish())
  local step = os.clock() - start
  finish, all = math.min(finish, step), math.min(all, sum + step)
  back:close()
end
row("decoder, all", all * 1e3)
row("decoder, the longest feed of 1 MB", math.max((table.unpack or unpack)(steps)) * 1e3)
row("decoder, finish", finish * 1e3)

os.remove(path)
