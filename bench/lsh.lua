-- What an index of signatures costs. bench/README.md says how to read it.

local ps = require "probsketch"
local harness = require "bench.harness"

local DOCUMENTS = 100000
local TOKENS = 90        -- of a document; 80 of them are those of its near-duplicate, if it has one
local EVERY = 100        -- one document in so many has one
local WINDOW = 500       -- calls; the figure is that of the fastest window of all repeats

local index = ps.lsh { threshold = 0.8, hashes = 128 }
local info = index:info()
print(("%s: lsh of %d documents, threshold %g, %d hashes: %d bands of %d rows, recall %.3f"):format(
  harness.interpreter, DOCUMENTS, info.threshold, info.hashes, info.bands, info.rows, info.recall))

local function document(i)
  local tokens = {}
  for j = 1, TOKENS do
    tokens[j] = i * 1000 + j
  end
  if i % EVERY == 0 then -- near-duplicate of the document before it
    for j = 1, 80 do
      tokens[j] = (i - 1) * 1000 + j
    end
  end
  local minhash = index:minhash()
  minhash:add_many(tokens)
  return minhash
end

local function row(name, ns)
  print(("  %-44s %10.2f us"):format(name, ns / 1000))
  io.stdout:flush()
end

local function memory()
  collectgarbage()
  collectgarbage()
  return collectgarbage "count" * 1024
end

-- Signatures as they come, outside of the time that is taken.
local total, least, before = 0, math.huge, memory()
for from = 1, DOCUMENTS, WINDOW do
  local some = {}
  for i = from, from + WINDOW - 1 do
    some[i] = document(i)
  end
  local start = os.clock()
  for i = from, from + WINDOW - 1 do
    index:insert(i, some[i])
  end
  local taken = (os.clock() - start) * 1e9
  total, least = total + taken, math.min(least, taken / WINDOW)
end
local held = memory() - before
row("insert, mean of all", total / DOCUMENTS)
row("insert, fastest window", least)
print(("  %-44s %10.0f bytes"):format("memory of a document", held / DOCUMENTS))

local absent, present, found = {}, {}, 0
for i = 1, WINDOW do
  absent[i] = document(DOCUMENTS + i * EVERY + 1)
  present[i] = document(i * EVERY)
end
local function query(minhashes)
  return function(from, to)
    for i = from, to do
      found = found + #index:query(minhashes[i])
    end
  end
end
row("query, nothing is like it", (harness.least(query(absent), WINDOW, WINDOW)))
row("query, a near-duplicate and itself are there", (harness.least(query(present), WINDOW, WINDOW)))
row("remove and insert again", (harness.least(function(from, to)
  for i = from, to do
    index:remove(i * EVERY)
    index:insert(i * EVERY, present[i])
  end
end, WINDOW, WINDOW)))

local start = os.clock()
local bytes = index:encode()
row("encode, a document", (os.clock() - start) * 1e9 / DOCUMENTS)
index = nil
collectgarbage()
start = os.clock()
assert(ps.lsh { bytes = bytes })
row("load, a document", (os.clock() - start) * 1e9 / DOCUMENTS)
print(("  %-44s %10.0f bytes"):format("encoded, a document", #bytes / DOCUMENTS))
