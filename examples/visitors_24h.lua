-- How many different visitors an access log shows in the last 24 hours: a line for each hour of the log, in constant
-- memory, from a window of HyperLogLog sketches.
--
--   lua visitors_24h.lua [--exact] [--hours N] [FILE]
--
-- The clock of the window is the log's own: the time of the latest line. How a line is read: see combined_log.lua; what
-- it needs besides probsketch: see command_line.lua.

local here = arg[0]:match("^(.*[/\\])") or ""
local combined_log = dofile(here .. "combined_log.lua")
local command_line = dofile(here .. "command_line.lua")
local read_lines = dofile(here .. "lines.lua")
local probsketch = require "probsketch"

local floor, max = math.floor, math.max
local format = string.format

local HOUR = 3600

-- Time ------------------------------------------------------------------------------------------------------------

local MONTHS = { Jan = 1, Feb = 2, Mar = 3, Apr = 4, May = 5, Jun = 6, Jul = 7, Aug = 8, Sep = 9, Oct = 10, Nov = 11,
  Dec = 12 }

-- Days from 1 January 1970. Years are counted from March on, so that the leap day is the last of its year.
local function days(year, month, day)
  if month <= 2 then
    year, month = year - 1, month + 12
  end
  return 365 * year + floor(year / 4) - floor(year / 100) + floor(year / 400) + floor((153 * month - 457) / 5) + day
    - 719469
end

-- The time of a line in seconds, by the zone that it names; nil if it has none.
local function time_of(line)
  local day, month, year, hour, minute, second, sign, zone_hours, zone_minutes =
    line:match("%[(%d%d)/(%a%a%a)/(%d%d%d%d):(%d%d):(%d%d):(%d%d) ([+-])(%d%d)(%d%d)%]")
  month = MONTHS[month]
  if not month then
    return nil
  end
  local zone = (zone_hours * 60 + zone_minutes) * 60 * (sign == "+" and 1 or -1)
  return days(tonumber(year), month, tonumber(day)) * 24 * HOUR + hour * HOUR + minute * 60 + second - zone
end

-- Counting --------------------------------------------------------------------------------------------------------

-- A count of visitors over so many hours, in slices of one. On the full hour it is exactly that of the last hours; in
-- between, that of these and of the hour that has begun.
local function new_count(hours, exact)
  local count = { now = nil }
  local window = probsketch.window {
    sketch = function() return probsketch.hll { precision = 14 } end,
    span = hours * HOUR,
    slices = hours,
    clock = function() return count.now or 0 end,
  }
  local last_seen = exact and {}

  function count.add(address)
    window:add(address)
    if exact then
      last_seen[address] = count.now
    end
  end

  -- The estimate at count.now and, on request, the exact number.
  function count.visitors()
    local visitors
    if exact then
      local since = window:info().since
      visitors = 0
      for address, time in pairs(last_seen) do
        if time >= since then
          visitors = visitors + 1
        else
          last_seen[address] = nil
        end
      end
    end
    return window:count(), visitors
  end

  return count
end

-- Calls report(time, estimate, exact) for every full hour between lines, and for the last line. Hours in which nothing
-- is left are passed over, but for the first of them. Returns how many lines could not be read, and a problem.
local function read_log(file, count, report)
  local refused, next_hour = 0, nil
  local lines, state = read_lines(file)
  for line in lines do
    local address, time = combined_log.parse(line), time_of(line)
    if address and time then
      time = max(time, count.now or time) -- servers write a line when its request is done, so one may be late
      next_hour = next_hour or (floor(time / HOUR) + 1) * HOUR
      while next_hour <= time do
        count.now = next_hour
        local estimate, exact = count.visitors()
        report(next_hour, estimate, exact)
        next_hour = estimate > 0 and next_hour + HOUR or (floor(time / HOUR) + 1) * HOUR
      end
      count.now = time
      count.add(address)
    else
      refused = refused + 1
    end
  end
  if count.now then
    report(count.now, count.visitors())
  end
  return refused, state.problem
end

-- Command line ----------------------------------------------------------------------------------------------------

local function read_options()
  local parser = command_line.new("Counts the different visitors of the last hours in an access log in combined or "
    .. "common log format, for each hour of it.")
  command_line.input(parser)
  parser:flag("--exact", "Count with a table as well, and show both.")
  command_line.whole(parser, "--hours", "How many hours", { 1, 10000, default = 24 })
  return command_line.parse(parser)
end

local function main()
  local options = read_options()
  local file, name = command_line.open(options.file)

  io.write(format("%-20s %10s", "UTC", "visitors"), options.exact and format(" %10s", "exactly") or "", "\n")
  local refused, problem = read_log(file, new_count(options.hours, options.exact), function(time, estimate, exact)
    io.write(os.date("!%Y-%m-%d %H:%M:%S ", time), format(" %10d", estimate), exact and format(" %10d", exact) or "",
      "\n")
  end)
  if refused > 0 then
    command_line.complain(refused .. " lines could not be read")
  end
  if problem then
    command_line.fail(name .. ": " .. problem)
  end
end

main()
