-- How many different clients came, each day (UTC) and in the last seven: a HyperLogLog sketch of 16 KB for each day,
-- within 0.8 % (one standard error), in a file of its own that all workers add to. It survives restarts.
--
-- The workers make the files, so that the directory has to be theirs to write to.

local probsketch = require "probsketch"
local workers = require "jobs.workers"

local floor = math.floor

local visitors = {}

local DAY, KEPT = 86400, 7

local directory
local days = {} -- by their number since 1970

local function today()
  return floor(ngx.time() / DAY)
end

local function date(day)
  return os.date("!%Y-%m-%d", day * DAY)
end

local function file(day)
  return directory .. "visitors-" .. date(day)
end

-- The sketches of all days have one seed, that of the first one, so that they merge. It is drawn at random, so that
-- nobody can choose addresses that go uncounted.
local function new_day(day)
  for before = day - 1, day - KEPT, -1 do
    if days[before] then
      return probsketch.hll { seed = days[before] }
    end
  end
  return probsketch.hll { seed = "random" }
end

-- Tomorrow's file is there today already: nobody has to wait for it at midnight.
local function refresh()
  local day = today()
  for past = day - KEPT + 1, day - 1 do
    days[past] = days[past] or probsketch.load(file(past), "hyperloglog")
  end
  for each = day, day + 1 do
    days[each] = days[each] or workers.share(file(each), new_day(each))
  end
  if days[day - KEPT] then
    days[day - KEPT]:close()
    days[day - KEPT] = nil
  end
end

function visitors.init(where)
  directory = where
end

function visitors.start()
  workers.every(60, refresh)
end

function visitors.add(client)
  local sketch = days[today()]
  if sketch then
    sketch:add(client)
  end
end

function visitors.figures()
  local day = today()
  local figures, merged = { days = {} }, nil
  for each = day, day - KEPT + 1, -1 do
    local sketch = days[each]
    if sketch then
      figures.days[#figures.days + 1] = { date = date(each), visitors = sketch:count() }
      merged = merged or sketch:copy()
      if merged:compatible(sketch) then
        merged:merge(sketch)
      end
    end
  end
  figures.today = days[day] and days[day]:count() or 0
  figures.week = merged and merged:count() or 0
  figures.standard_error = merged and merged:standard_error() or 0
  return figures
end

return visitors
