-- Counters that all workers share. ngx.shared's incr() takes a lock that all workers wait for; a count-min sketch takes
-- none. It counts exactly unless a name meets others in all four of its rows: with a dozen names, in less than one
-- configuration of a million.

local probsketch = require "probsketch"
local workers = require "jobs.workers"

local counters = {}

local counts

function counters.init()
  counts = workers.share("counters", probsketch.count_min { width = 1024, depth = 4, counter_bits = 64 })
end

function counters.add(name)
  if counts then
    counts:add(name)
  end
end

function counters.get(name)
  return counts and counts:frequency(name) or 0
end

return counters
