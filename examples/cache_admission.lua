-- Which keys a cache should keep: a small sketch of how often keys are asked for, in front of a least-recently-used
-- cache, against the same cache without it and against one that counts exactly.
--
--   lua cache_admission.lua [--requests N] [--items N] [--capacity N] [--once N] [--seed N]
--
-- The requests follow Zipf's law over the items; some are for keys that are asked for once and never again, which push
-- out of a plain cache what will be asked for soon. The admission is that of W-TinyLFU (Einziger, Friedman and Manes
-- 2017): newcomers go through a small window; what falls out of it is let into the main cache only if it has been asked
-- for more often, of late, than the one that would have to leave.

local here = arg[0]:match("^(.*[/\\])") or ""
local command_line = dofile(here .. "command_line.lua")
local random_numbers = dofile(here .. "random_numbers.lua")
local probsketch = require "probsketch"

local ceil, floor, max = math.ceil, math.floor, math.max
local format = string.format

-- Least recently used ---------------------------------------------------------------------------------------------

local lru = {}
lru.__index = lru

-- A doubly linked ring through a node that is no key: behind it the newest, before it the oldest.
local function new_lru(capacity)
  local ring = {}
  ring.newer, ring.older = ring, ring
  return setmetatable({ capacity = capacity, size = 0, nodes = {}, ring = ring }, lru)
end

local function link(ring, node)
  node.older, node.newer = ring.older, ring
  ring.older.newer = node
  ring.older = node
end

local function unlink(node)
  node.older.newer, node.newer.older = node.newer, node.older
end

-- True if the key is there; it is then the newest.
function lru:touch(key)
  local node = self.nodes[key]
  if node then
    unlink(node)
    link(self.ring, node)
  end
  return node ~= nil
end

function lru:oldest()
  return self.ring.newer.key
end

function lru:remove(key)
  unlink(self.nodes[key])
  self.nodes[key] = nil
  self.size = self.size - 1
end

-- Puts in a key that is not there; returns the one that had to leave for it.
function lru:insert(key)
  local victim
  if self.size == self.capacity then
    victim = self:oldest()
    self:remove(victim)
  end
  local node = { key = key }
  self.nodes[key] = node
  link(self.ring, node)
  self.size = self.size + 1
  return victim
end

-- How often of late -----------------------------------------------------------------------------------------------

-- Most keys come once: a Bloom filter takes their first time, and only those that come again reach the counters. After
-- each period of `sample` requests what is known loses half its weight, so that the cache follows what is hot now.
local function new_sketch(sample)
  local counters = probsketch.count_min { width = sample, depth = 4, counter_bits = 8, conservative = true }
  local doorkeeper = probsketch.bloom { capacity = sample, fp_rate = 0.01 }
  return {
    record = function(key)
      if not doorkeeper:add(key) then
        counters:add(key)
      end
    end,
    frequency = function(key)
      return counters:frequency(key) + (doorkeeper:has(key) and 1 or 0)
    end,
    age = function()
      counters:halve()
      doorkeeper:clear()
    end,
    bytes = function()
      return counters:bytes() + doorkeeper:bytes()
    end,
  }
end

-- The same by tables, which have no errors, and grow with the number of keys.
local function new_exact()
  local counts, seen, size, most = {}, {}, 0, 0
  return {
    record = function(key)
      if seen[key] then
        counts[key] = (counts[key] or 0) + 1
      else
        seen[key], size = true, size + 1
        most = max(most, size)
      end
    end,
    frequency = function(key)
      return (counts[key] or 0) + (seen[key] and 1 or 0)
    end,
    age = function()
      local half = {}
      for key, count in pairs(counts) do
        if count > 1 then
          half[key] = floor(count / 2)
        end
      end
      counts, seen, size = half, {}, 0
    end,
    most = function()
      return most
    end,
  }
end

-- Caches ----------------------------------------------------------------------------------------------------------

-- Each is a function that is told a key and says whether it was there.

local function plain_cache(capacity)
  local cache = new_lru(capacity)
  return function(key)
    if cache:touch(key) then
      return true
    end
    cache:insert(key)
    return false
  end
end

local function admitting_cache(capacity, history, sample)
  local size_of_window = ceil(capacity / 100)
  local window, main = new_lru(size_of_window), new_lru(capacity - size_of_window)
  local requests = 0

  local function admit(key)
    if main.size < main.capacity or history.frequency(key) > history.frequency(main:oldest()) then
      main:insert(key)
    end
  end

  return function(key)
    history.record(key)
    requests = requests + 1
    if requests % sample == 0 then
      history.age()
    end
    if window:touch(key) or main:touch(key) then
      return true
    end
    local candidate = window:insert(key)
    if candidate then
      admit(candidate)
    end
    return false
  end
end

-- Requests --------------------------------------------------------------------------------------------------------

-- Calls f with each key.
local function each_request(options, f)
  local random = random_numbers.new(options.seed)
  local zipf = random_numbers.zipf(random, options.items, 0)
  for i = 1, options.requests do
    f(random(100) <= options.once and "once:" .. i or "item:" .. zipf())
  end
end

-- Main ------------------------------------------------------------------------------------------------------------

local function read_options()
  local parser = command_line.new "Compares the hit rates of a cache without and with admission by frequency."
  command_line.whole(parser, "--requests", "How many requests", { 1, 1e9, default = 300000 })
  command_line.whole(parser, "--items", "Different keys that come again", { 1, 1e6, default = 50000 })
  command_line.whole(parser, "--capacity", "Keys that the cache holds", { 10, 1e6, default = 1000 })
  command_line.whole(parser, "--once", "Percentage of requests for keys that never come again", { 0, 99, default = 30 })
  command_line.whole(parser, "--seed", "Other requests for each", { 0, 2 ^ 53, default = 1 })
  return command_line.parse(parser)
end

local function main()
  local options = read_options()
  local sample = 10 * options.capacity
  local sketch, exact = new_sketch(sample), new_exact()
  local caches = {
    { "least recently used", plain_cache(options.capacity) },
    { "with admission by sketch", admitting_cache(options.capacity, sketch, sample) },
    { "with admission by exact counts", admitting_cache(options.capacity, exact, sample) },
  }
  local hits = { 0, 0, 0 }
  each_request(options, function(key)
    for i, cache in ipairs(caches) do
      if cache[2](key) then
        hits[i] = hits[i] + 1
      end
    end
  end)
  io.write(format("%d requests, %d %% of them for keys that never come again; a cache of %d keys\n\n",
    options.requests, options.once, options.capacity))
  for i, cache in ipairs(caches) do
    io.write(format("hit rate %-32s %6.2f %%\n", cache[1], 100 * hits[i] / options.requests))
  end
  io.write(format("\nthe sketch takes %d bytes, whatever the keys; exact counts had up to %d keys in a period\n",
    sketch.bytes(), exact.most()))
end

main()
