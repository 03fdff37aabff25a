-- How long requests take at each location, of late, by two DDSketches that take turns (in_turn.lua). A percentile is
-- within 1 % of the true value. nginx measures whole milliseconds, until the client has all of the answer; what took
-- less counts as 0.
--
-- The names of the locations come from the configuration, not from clients: there is memory for each.

local probsketch = require "probsketch"
local counters = require "jobs.counters"
local in_turn = require "jobs.in_turn"
local workers = require "jobs.workers"

local latency = {}

local PERCENTILES = { 0.5, 0.9, 0.99, 0.999 }

local names
local turns = {} -- by name

local function new_sketch()
  return probsketch.ddsketch { relative_accuracy = 0.01, min_value = 0.001, max_value = 600 }
end

-- locations: names; period: in seconds.
function latency.init(options)
  names = options.locations
  for _, name in ipairs(names) do
    turns[name] = in_turn.new("latency " .. name, options.period, new_sketch)
  end
end

function latency.start()
  workers.every(1, function()
    for _, name in ipairs(names) do
      turns[name]:tend()
    end
  end)
end

function latency.add(name, seconds)
  if turns[name] then
    counters.add("requests of " .. name)
    local current = turns[name]:now()
    if current then
      current:add(seconds)
    end
  end
end

-- Of one location, as { q =, seconds = } from the least to the largest; empty where nothing has come of late.
local function percentiles(turn)
  local current, previous = turn:now()
  local sketch = previous and current:union(previous) or current
  local found = {}
  for i, seconds in ipairs(sketch and sketch:quantiles(PERCENTILES) or {}) do
    found[i] = { q = PERCENTILES[i], seconds = seconds }
  end
  return found
end

function latency.figures()
  local figures = {}
  for i, name in ipairs(names) do
    figures[i] = {
      name = name,
      period = turns[name].period,
      requests = counters.get("requests of " .. name),
      percentiles = percentiles(turns[name]),
    }
  end
  return figures
end

return latency
