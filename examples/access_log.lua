-- What an access log says, in one pass and in constant memory: how many visitors, how many paths, which paths are hit
-- most, and which requests a cache should let pass because their path was never asked for before.
--
--   lua access_log.lua [--exact] [--top N] [FILE]
--
-- How a line is read: see combined_log.lua; what it needs besides probsketch: see command_line.lua.

-- Time goes into string.match, which LuaJIT does not compile; compiled around it, the loop is slower than interpreted.
if package.loaded.jit then
  package.loaded.jit.off()
end

local here = arg[0]:match("^(.*[/\\])") or ""
local combined_log = dofile(here .. "combined_log.lua")
local command_line = dofile(here .. "command_line.lua")
local read_lines = dofile(here .. "lines.lua")
local probsketch = require "probsketch"

local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
local format, rep = string.format, string.rep
local concat, sort = table.concat, table.sort

-- Counting --------------------------------------------------------------------------------------------------------

-- The probability with which an estimate of hits may be further off than stated.
local DELTA = 0.01

-- Room for a million distinct paths before the Bloom filter's rate rises above 1 %. The other three have no capacity:
-- their errors are relative to what was counted.
local function new_sketches()
  return {
    visitors = probsketch.hyperloglog { precision = 14 },
    paths = probsketch.hyperloglog { precision = 14 },
    hits = probsketch.count_min { epsilon = 0.0001, delta = DELTA },
    seen = probsketch.bloom { capacity = 1e6, fp_rate = 0.01 },
  }
end

local function by_hits(one, other)
  if one.hits ~= other.hits then
    return one.hits > other.hits
  end
  return one.path < other.path
end

-- A bounded list of the paths with the highest estimates. A count-min sketch can say how often a path was hit, not
-- which paths it has seen, so the candidates are kept beside it.
--
-- A path becomes a candidate when its estimate exceeds `floor`. When there are `room` of them, the `keep` highest stay
-- and the lowest of those sets the new floor. Estimates never shrink and are never below the truth: a path that is not
-- listed had, at its last hit, an estimate of at most the floor, which `keep` candidates reach. So no path can be
-- missing that has more hits than the last of the `keep` listed.
local function new_candidates(keep)
  local room = 2 * keep + 100
  local candidates = { room = room, floor = 0, size = 0, estimates = {} }

  -- The candidates, most hits first, with the estimates that `estimate_of` gives.
  function candidates.sorted(estimate_of)
    local list = {}
    for path, estimate in pairs(candidates.estimates) do
      list[#list + 1] = { path = path, hits = estimate_of and estimate_of(path) or estimate }
    end
    sort(list, by_hits)
    return list
  end

  local function prune()
    local list = candidates.sorted()
    candidates.estimates = {}
    for index = 1, keep do
      candidates.estimates[list[index].path] = list[index].hits
    end
    candidates.size = keep
    candidates.floor = list[keep].hits
  end

  -- Takes the estimate that a path has after a hit.
  function candidates.offer(path, estimate)
    if not candidates.estimates[path] then
      candidates.size = candidates.size + 1
    end
    candidates.estimates[path] = estimate
    if candidates.size >= room then
      prune()
    end
  end

  return candidates
end

-- The exact answers, for comparison: two tables that grow with the log.
local function new_exact_tables()
  return { visitors = {}, hits = {} }
end

local function count_exactly(exact, visitor, path)
  exact.visitors[visitor] = true
  exact.hits[path] = (exact.hits[path] or 0) + 1
end

-- One pass over the log. `progress`, if there is one, is called every few thousand lines.
local function read_log(file, options, progress)
  local sketches, candidates = new_sketches(), new_candidates(options.top)
  local visitors, paths, hits, seen = sketches.visitors, sketches.paths, sketches.hits, sketches.seen
  local exact = options.exact and new_exact_tables()
  local lines_read, requests, first_seen, skipped = 0, 0, 0, {}
  local parse, offer = combined_log.parse, candidates.offer

  local lines, state = read_lines(file)
  for line in lines do
    lines_read = lines_read + 1
    local visitor, path = parse(line)
    if visitor then
      requests = requests + 1
      visitors:add(visitor)
      paths:add(path)
      -- True: certainly new. A cache that admits a path at its second request keeps the one-hit wonders out.
      if seen:add(path) then
        first_seen = first_seen + 1
      end
      local estimate = hits:add(path)
      if estimate > candidates.floor then
        offer(path, estimate)
      end
      if exact then
        count_exactly(exact, visitor, path)
      end
    else
      local reason = path
      skipped[reason] = (skipped[reason] or 0) + 1
    end
    if progress and lines_read % 10000 == 0 then
      progress(lines_read)
    end
  end

  return {
    lines = lines_read, requests = requests, first_seen = first_seen, skipped = skipped,
    sketches = sketches, candidates = candidates, exact = exact, problem = state.problem,
  }
end

-- Text ------------------------------------------------------------------------------------------------------------

-- What may reach the screen as it is: printing ASCII and UTF-8 from U+00A0 on (before that come control characters).
local PRINTABLE = {
  "^[\32-\126]",
  "^\194[\160-\191]",
  "^[\195-\223][\128-\191]",
  "^\224[\160-\191][\128-\191]",
  "^[\225-\239][\128-\191][\128-\191]",
  "^\240[\144-\191][\128-\191][\128-\191]",
  "^[\241-\244][\128-\191][\128-\191][\128-\191]",
}

local SHOWN = 100

local function printable_at(bytes, position)
  for _, pattern in ipairs(PRINTABLE) do
    local character = bytes:match(pattern, position)
    if character then
      return character
    end
  end
end

-- A path for the screen: its first characters, other bytes as \xHH. Whoever sends a request chooses its path, and a
-- terminal would obey control characters in it.
local function printable(path)
  local pieces, position = {}, 1
  while position <= #path and #pieces < SHOWN do
    local character = printable_at(path, position)
    pieces[#pieces + 1] = character or format("\\x%02X", path:byte(position))
    position = position + (character and #character or 1)
  end
  if position <= #path then
    pieces[#pieces + 1] = format("... (%d bytes)", #path)
  end
  return concat(pieces)
end

local function percent(fraction)
  return format("%.2g %%", 100 * fraction)
end

-- How far an approximate figure is from the exact one, relative to the latter.
local function deviation(approximate, exact)
  if exact == 0 then
    return approximate == 0 and "0.00 %" or "-"
  end
  return format("%+.2f %%", 100 * (approximate - exact) / exact)
end

-- Report ----------------------------------------------------------------------------------------------------------

local function table_size(entries)
  local size = 0
  for _ in pairs(entries) do
    size = size + 1
  end
  return size
end

local function report_lines(write, result)
  write("lines read         %9d", result.lines)
  write("lines skipped      %9d", result.lines - result.requests)
  for _, reason in ipairs(combined_log.reasons) do
    write("  %-20s %5d", reason, result.skipped[reason] or 0)
  end
  write("requests counted   %9d", result.requests)
end

-- The two columns that only --exact has.
local function exact_columns(result, exact, off)
  return result.exact and format(" %9s %9s", exact, off) or ""
end

local function report_figure(write, result, label, approximate, exact, stated)
  local columns = exact and exact_columns(result, exact, deviation(approximate, exact)) or ""
  write("%-20s %11d%s   %s", label, approximate, columns, stated)
end

local function stated_error(sketch)
  -- Two standard errors to either side: right 95 times in 100. Small sets are counted more closely than that.
  local low, high = sketch:bounds(2)
  return format("standard error at most %s; bounds (95 %%): %d to %d", percent(sketch:standard_error()), floor(low),
    ceil(high))
end

local function report_figures(write, result)
  local sketches, exact = result.sketches, result.exact
  local visitors, paths = exact and table_size(exact.visitors), exact and table_size(exact.hits)
  write("%-20s %11s%s   %s", "", "approximate", exact_columns(result, "exact", "off"), "stated error")
  report_figure(write, result, "distinct visitors", sketches.visitors:count(), visitors,
    stated_error(sketches.visitors))
  report_figure(write, result, "distinct paths", sketches.paths:count(), paths, stated_error(sketches.paths))
  -- Every path has one first request, so the exact figure is that of the paths.
  report_figure(write, result, "first-seen requests", result.first_seen, paths,
    format("never above the truth; misses a first request with probability %s", percent(sketches.seen:info().fp_rate)))
  write("")
  write("A visitor is an address, a path the target of a request without its query string.")
  write("First-seen requests were certainly new; a cache that admits the others would admit %d of %d.",
    result.requests - result.first_seen, result.requests)
end

local function report_top(write, result, top)
  local hits = result.sketches.hits
  local list = result.candidates.sorted(function(path)
    return hits:frequency(path)
  end)
  local shown = min(top, #list)
  write("top %d paths: hits are never below the truth, and above it by more than %.1f (epsilon * requests)", shown,
    hits:error_bound())
  write("with a probability of at most %g for each; no path with more hits than the last one is missing", DELTA)
  write("%9s%s   %s", "hits", exact_columns(result, "exact", "over"), "path")
  for rank = 1, shown do
    local entry = list[rank]
    local exact = result.exact and result.exact.hits[entry.path]
    write("%9d%s   %s", entry.hits, exact_columns(result, exact, exact and entry.hits - exact), printable(entry.path))
  end
end

-- What the exact tables hold, as the collector sees it: the memory in use with them less the memory in use without
-- them. Strings that the candidates share are counted for neither. Ends the exact tables.
local function exact_kilobytes(result)
  collectgarbage()
  collectgarbage()
  local before = collectgarbage("count")
  result.exact = nil
  collectgarbage()
  collectgarbage()
  return before - collectgarbage("count")
end

local function report_memory(write, result)
  local sketches, total = result.sketches, 0
  write("memory")
  for _, name in ipairs { "visitors", "paths", "hits", "seen" } do
    local sketch = sketches[name]
    total = total + sketch:bytes()
    write("  %-8s  %-11s  %9.1f KB", name, sketch:kind(), sketch:bytes() / 1024)
  end
  write("  sketches together      %9.1f KB   bounded, however long the log; beside them a list of %d paths, at most %d",
    total / 1024, result.candidates.size, result.candidates.room)
  if result.exact then
    write("  exact tables           %9.1f KB   growing with visitors and paths; freed when they were dropped",
      exact_kilobytes(result))
  end
end

local function report(result, top)
  local lines = {}
  local function write(pattern, ...)
    lines[#lines + 1] = format(pattern, ...)
  end
  report_lines(write, result)
  write("")
  report_figures(write, result)
  write("")
  report_top(write, result, top)
  write("")
  report_memory(write, result)
  write("")
  write("%.2f s of processor time, %.0f lines/s", result.seconds, result.lines / max(result.seconds, 1e-6))
  return concat(lines, "\n") .. "\n"
end

-- Command line ----------------------------------------------------------------------------------------------------

local function read_options()
  local parser = command_line.new "Reports on an access log in combined or common log format, in one pass."
  command_line.input(parser)
  parser:flag("--exact", "Count with tables as well, and show how far off the sketches are.")
  command_line.whole(parser, "--top", "How many of the paths with most hits to list", { 1, 10000, default = 10 })
  return command_line.parse(parser)
end

-- Whether someone watches standard error. Lua cannot ask, the shell can: os.execute gives its exit status in 5.1,
-- true in later versions.
local function stderr_is_terminal()
  if package.config:sub(1, 1) ~= "/" then
    return false
  end
  local status = os.execute("test -t 2")
  return status == true or status == 0
end

local function show_progress(lines_read)
  io.stderr:write(format("\r%d lines", lines_read))
end

local function print_report(text)
  local written, problem = io.write(text)
  if written then
    written, problem = io.stdout:flush()
  end
  if not written then
    command_line.complain("standard output: " .. problem)
    os.exit(1)
  end
end

local function main()
  local options = read_options()
  local file, name = command_line.open(options.file)
  local progress = stderr_is_terminal() and show_progress

  local start = os.clock()
  local result = read_log(file, options, progress)
  result.seconds = os.clock() - start
  if progress then
    io.stderr:write("\r", rep(" ", 30), "\r")
  end

  if result.problem then
    command_line.fail(name .. ": " .. result.problem)
  end
  print_report(report(result, options.top))
end

main()
