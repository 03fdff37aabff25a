-- Which latency do 99 of 100 requests to several servers stay below? The mean of the servers' percentiles is not the
-- percentile of all; that of their sketches, merged, is. Three kinds of sketches side by side, beside the exact answer.
--
--   lua latencies.lua [--requests N] [--seed N] [--histogram KIND] [FILE...]
--
-- A file holds the latencies of a server, a number a line. Without files three servers are made up. The sketches need
-- some KB a server; only the exact answers need every number in memory. What it needs besides probsketch: see
-- command_line.lua.

local here = arg[0]:match("^(.*[/\\])") or ""
local command_line = dofile(here .. "command_line.lua")
local random_numbers = dofile(here .. "random_numbers.lua")
local read_lines = dofile(here .. "lines.lua")
local probsketch = require "probsketch"

local floor, max, sqrt = math.floor, math.max, math.sqrt
local format, rep = string.format, string.rep
local concat, sort = table.concat, table.sort

local KINDS = { "tdigest", "kll", "ddsketch" }
local QUANTILES = { 0.5, 0.9, 0.99, 0.999 }

-- Latencies -------------------------------------------------------------------------------------------------------

-- The servers that are made up: their share of the requests in percent, and a latency in milliseconds. Arithmetic that
-- is exact, or rounded alike everywhere, so that all machines make the same.
local MADE = {
  { name = "fast and busy", share = 90, latency = function(random)
    return 1 + (random(1000) + random(1000) + random(1000)) / 1000
  end },
  { name = "slow", share = 6, latency = function(random)
    return 30 + (random(10000) + random(10000)) / 1000
  end },
  { name = "with a long tail", share = 4, latency = function(random)
    return 2 / sqrt(random(1000000) / 1000000) -- Pareto's law
  end },
}

local function make_values(made, requests, random)
  local values = {}
  for i = 1, floor(requests * made.share / 100) do
    values[i] = made.latency(random)
  end
  return values
end

-- The numbers in a file, and how many lines are none. Above 10^300 nothing is taken for a latency.
local function read_values(name)
  local file = command_line.open(name)
  local values, refused = {}, 0
  local lines, state = read_lines(file)
  for line in lines do
    local number = tonumber(line:match "^%s*([%d.eE+-]+)%s*$")
    if number and number >= 0 and number <= 1e300 then
      values[#values + 1] = number
    else
      refused = refused + 1
    end
  end
  if state.problem then
    command_line.fail(name .. ": " .. state.problem)
  end
  file:close()
  return values, refused
end

-- Sketches --------------------------------------------------------------------------------------------------------

-- A sketch of each kind and the exact order of the values, which are sorted for it.
local function new_server(name, values)
  local server = { name = name, sketches = {}, sorted = values }
  for _, kind in ipairs(KINDS) do
    server.sketches[kind] = probsketch[kind]()
    server.sketches[kind]:add_many(values)
  end
  sort(values)
  return server
end

-- All servers as one: their sketches merged, their values sorted together.
local function merge(servers)
  local values = {}
  for _, server in ipairs(servers) do
    for _, value in ipairs(server.sorted) do
      values[#values + 1] = value
    end
  end
  sort(values)
  local whole = { sketches = {}, sorted = values }
  for _, kind in ipairs(KINDS) do
    whole.sketches[kind] = probsketch[kind]()
    for _, server in ipairs(servers) do
      whole.sketches[kind]:merge(server.sketches[kind])
    end
  end
  return whole
end

-- What each kind says the quantiles are, and what they are.
local function answers_of(server)
  local answers = { exact = {} }
  for i, q in ipairs(QUANTILES) do
    answers.exact[i] = server.sorted[floor(q * (#server.sorted - 1)) + 1]
  end
  for _, kind in ipairs(KINDS) do
    answers[kind] = server.sketches[kind]:quantiles(QUANTILES)
  end
  return answers
end

-- What must not be done: the means of the servers' answers.
local function mean_of(all_answers)
  local means = {}
  for source in pairs(all_answers[1]) do
    means[source] = {}
    for i in ipairs(QUANTILES) do
      local sum = 0
      for _, answers in ipairs(all_answers) do
        sum = sum + answers[source][i]
      end
      means[source][i] = sum / #all_answers
    end
  end
  return means
end

-- How many of the sorted values are <= x.
local function count_to(sorted, x)
  local low, high = 0, #sorted
  while low < high do
    local middle = floor((low + high) / 2)
    if sorted[middle + 1] <= x then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- Report ----------------------------------------------------------------------------------------------------------

local function write(pattern, ...)
  io.write(format(pattern, ...), "\n")
end

local function deviation(answer, truth)
  if truth == 0 then
    return answer == 0 and "+0.0 %" or "-"
  end
  return format("%+.1f %%", 100 * (answer - truth) / truth)
end

-- A line of answers, each with how far it is off the truth, unless that is what they are.
local function report_line(source, answers, truth)
  local columns = {}
  for i, answer in ipairs(answers) do
    columns[i] = format("%10.5g %-9s", answer, answers == truth and "" or deviation(answer, truth[i]))
  end
  write("  %-9s%s", source, (concat(columns):gsub(" +$", "")))
end

local function report_answers(title, answers, truth)
  write("%s", title)
  report_line("exact", answers.exact, truth)
  for _, kind in ipairs(KINDS) do
    report_line(kind, answers[kind], truth)
  end
end

local function report_promises(whole)
  local sketches = whole.sketches
  write("%-11s%6.1f KB  the rank is right, most of all at both ends", "tdigest", sketches.tdigest:bytes() / 1024)
  write("%-11s%6.1f KB  the rank is within %.2f %% of the number of values, 99 times in 100", "kll",
    sketches.kll:bytes() / 1024, 100 * sketches.kll:rank_error())
  write("%-11s%6.1f KB  the value is within %g %%", "ddsketch", sketches.ddsketch:bytes() / 1024,
    100 * sketches.ddsketch:info().relative_accuracy)
end

-- 1, 1.5, 2, 3, 4, 6, 8, 12 and so on, as far as nearly all values go, but not below a millionth of the largest.
local function edges_around(sorted)
  local most = sorted[#sorted]
  local least = max(sorted[floor((#sorted - 1) / 1000) + 1], most / 1e6, 1e-300)
  local power = 1.0 -- integers would wrap
  while power > least do
    power = power / 2
  end
  while power * 2 <= least do
    power = power * 2
  end
  local edges = { power, 1.5 * power }
  while edges[#edges] < most do
    edges[#edges + 1] = 2 * edges[#edges - 1]
  end
  return edges
end

local WIDTH = 40

-- The shares of the values between edges: differences of ranks.
local function report_histogram(whole, kind)
  local sorted, sketch = whole.sorted, whole.sketches[kind]
  local rows, largest = {}, 0
  local below, exactly_below = 0, 0
  for i, edge in ipairs(edges_around(sorted)) do
    local rank, exact_rank = sketch:rank(edge), count_to(sorted, edge) / #sorted
    rows[i] = { edge = edge, share = rank - below, exact = exact_rank - exactly_below }
    below, exactly_below = rank, exact_rank
    largest = max(largest, rows[i].share)
  end
  write("%10s  %9s  %9s", "up to", kind, "exact")
  for _, row in ipairs(rows) do
    local bar = rep("#", floor(WIDTH * row.share / largest + 0.5))
    write("%10.5g  %7.3f %%  %7.3f %%%s", row.edge, 100 * row.share, 100 * row.exact, bar == "" and "" or "  " .. bar)
  end
end

local function report(servers, kind)
  local whole, all_answers = merge(servers), {}
  write("%-11s%10s%20s%20s%20s", "", "p50", "p90", "p99", "p99.9")
  for i, server in ipairs(servers) do
    all_answers[i] = answers_of(server)
    report_answers(format("%s: %d values", server.name, #server.sorted), all_answers[i], all_answers[i].exact)
  end
  local answers = answers_of(whole)
  write("")
  report_answers("the mean of the servers' percentiles: wrong", mean_of(all_answers), answers.exact)
  report_answers(format("all %d values, from the merged sketches: right", #whole.sorted), answers, answers.exact)
  write("")
  report_promises(whole)
  if whole.sorted[#whole.sorted] > 0 then
    write("")
    report_histogram(whole, kind)
  end
end

-- Command line ----------------------------------------------------------------------------------------------------

local function read_options()
  local parser = command_line.new("Percentiles of the latencies of several servers: of each, their means, which are "
    .. "wrong, and those of the merged sketches; beside each answer what it is off. Then a histogram of all.")
  parser:argument("files", "The latencies of a server each, a number a line. None: three servers are made up."
    ):argname "FILE":args "*"
  command_line.whole(parser, "--requests", "To the servers that are made up", { 100, 1e8, default = 100000 })
  command_line.whole(parser, "--seed", "Other requests for each", { 0, 2 ^ 53, default = 1 })
  parser:option("--histogram", "The kind of sketch that the histogram is of.", KINDS[1]):argname "KIND":choices(KINDS)
  return command_line.parse(parser)
end

local function servers_of(options)
  local servers = {}
  for _, name in ipairs(options.files) do
    local values, refused = read_values(name)
    if refused > 0 then
      command_line.complain(format("%s: %d lines are not latencies", name, refused))
    end
    if #values > 0 then
      servers[#servers + 1] = new_server(name, values)
    end
  end
  if #options.files == 0 then
    local random = random_numbers.new(options.seed)
    for i, made in ipairs(MADE) do
      servers[i] = new_server(made.name, make_values(made, options.requests, random))
    end
  elseif #servers == 0 then
    command_line.fail "no latencies"
  end
  return servers
end

local function main()
  local options = read_options()
  report(servers_of(options), options.histogram)
end

main()
