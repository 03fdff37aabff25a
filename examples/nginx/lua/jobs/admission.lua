-- What the cache keeps: only what is asked for again within the hour. Many URLs are asked for once and never again, and
-- would push out what is asked for often.
--
-- Two shared filters take turns (in_turn.lua): a key is remembered for half a period to one and a half. No error does
-- harm. A false positive, at most one new key in a hundred, has the cache keep what is asked for once; so have a filter
-- with more keys than its capacity and one that was not cleared. One that was cleared too early has it wait for one
-- request more.

local probsketch = require "probsketch"
local counters = require "jobs.counters"
local in_turn = require "jobs.in_turn"
local workers = require "jobs.workers"

local admission = {}

local filters

-- capacity: different keys in a period; period: in seconds.
function admission.init(options)
  filters = in_turn.new("admission", options.period, function()
    -- Strangers choose the keys: with a seed that they do not know they cannot choose ones that collide.
    return probsketch.blocked_bloom { capacity = options.capacity, fp_rate = 0.01, seed = "random" }
  end)
end

function admission.start()
  workers.every(1, function() filters:tend() end)
end

-- Is the key asked for the first time? Remembers that it was.
function admission.is_first(key)
  local current, previous = filters:now()
  if not current or not current:add(key) or previous and previous:has(key) then
    return false
  end
  counters.add("kept out")
  return true
end

-- How the cache has answered: what nginx says in $upstream_cache_status; nil where no cache is.
function admission.answered(status)
  if status then
    counters.add("cacheable")
    if status == "HIT" then
      counters.add("hits")
    end
  end
end

function admission.figures()
  local current = filters:now()
  return {
    keys = current and current:count() or 0,
    fp_rate = current and current:info().fp_rate or 0,
    cacheable = counters.get "cacheable",
    hits = counters.get "hits",
    kept_out = counters.get "kept out",
  }
end

return admission
