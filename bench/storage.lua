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

-- Of steps that are taken again and again: the least of each, and the longest of all that there were.
local function clock()
  local steps = { least = {}, worst = 0 }
  function steps.time(i, call, ...)
    local start = os.clock()
    local made = call(...)
    local step = os.clock() - start
    steps.least[i] = math.min(steps.least[i] or math.huge, step)
    steps.worst = math.max(steps.worst, step)
    return made
  end
  return steps
end

local function rows(name, steps)
  local sum, longest = 0, 0
  for _, step in ipairs(steps.least) do
    sum, longest = sum + step, math.max(longest, step)
  end
  row(name .. ", all", sum * 1e3)
  row(name .. ", the longest of 1 MB", longest * 1e3)
  row(name .. ", the longest of all times", steps.worst * 1e3)
end

local pieces = {}
for piece in filter:chunks(PIECE) do
  pieces[#pieces + 1] = piece
end
local chunks, feeds, finish = clock(), clock(), clock()
for _ = 1, REPEATS do
  local next_piece, decoder = filter:chunks(PIECE), ps.decoder()
  for i, piece in ipairs(pieces) do
    assert(chunks.time(i, next_piece) == piece)
    assert(feeds.time(i, decoder.feed, decoder, piece))
  end
  finish.time(1, decoder.finish, decoder):close()
end
rows("chunks", chunks)
rows("decoder", feeds)
row("decoder, finish", finish.least[1] * 1e3)

os.remove(path)
