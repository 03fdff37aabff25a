-- The example of latencies: what it prints of known data, beside the exact order of the values.

local files = require "spec.support.files"
local process = require "spec.support.process"
local quantiles = require "spec.support.quantiles"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local floor = math.floor
local within = statistics.within

local EXAMPLE = "examples/latencies.lua"
local QUANTILES = { 0.5, 0.9, 0.99, 0.999 }
local KINDS = { "tdigest", "kll", "ddsketch" }

-- Both streams, and the status.
local function run(words)
  return process.shell(process.command(process.interpreter, EXAMPLE, (table.unpack or unpack)(words)))
end

-- The blocks of a report by their titles: { exact = { { answer, deviation }, ... }, kll = ... }. A deviation is in
-- percent, nil where there is none.
local function blocks_of(report)
  local blocks, title = {}, nil
  for line in report:gmatch "[^\n]+" do
    local source = line:match "^  (%l+) +%d"
    if source then
      local block = {}
      blocks[title][source] = block
      for i = 1, #QUANTILES do
        local column = line:sub(20 * i - 8, 20 * i + 11) -- a number of ten characters, and its deviation
        block[i] = { tonumber(column:sub(1, 10)), tonumber(column:match "([+-][%d.]+) %%") }
      end
    else
      title = line
      blocks[title] = {}
    end
  end
  return blocks
end

-- As a number is printed.
local function printed(x)
  return tonumber(("%.5g"):format(x))
end

local function order_statistics(sorted)
  local result = {}
  for i, q in ipairs(QUANTILES) do
    result[i] = sorted[floor(q * (#sorted - 1)) + 1]
  end
  return result
end

-- Fails unless the deviations that are printed are those of the answers, but for their digits.
local function hold_to_deviations(row, truth)
  for i, column in ipairs(row) do
    local off = 100 * (column[1] - truth[i]) / truth[i]
    within(off - 0.051 - math.abs(off) / 1e4, off + 0.051 + math.abs(off) / 1e4, assert(column[2]), "the deviation")
  end
end

-- Fails unless a block has the truth, and answers of each kind that are as good as it promises.
local function hold_to_promises(block, sorted)
  local truth = order_statistics(sorted)
  for i, x in ipairs(truth) do
    assert.same({ printed(x) }, block.exact[i])
  end
  for _, entry in ipairs(quantiles) do
    local row = block[entry.name]
    assert.equal(#QUANTILES, #row)
    for i, q in ipairs(QUANTILES) do
      local x = row[i][1]
      -- The answer has been rounded.
      local off = math.min(entry.off(sorted, q, x), entry.off(sorted, q, 0.99995 * x),
        entry.off(sorted, q, 1.00005 * x))
      within(0, 1, off, ("%s at %g: %g for %g"):format(entry.name, q, x, truth[i]))
    end
    hold_to_deviations(row, truth)
  end
end

local directory
setup(function()
  directory = files.directory()
end)
teardown(function()
  files.remove(directory)
end)

local function write(name, text)
  files.write(directory .. "/" .. name, text)
  return directory .. "/" .. name
end

-- Latencies of many sizes: a normal bulk, evenly spread magnitudes, and few values with one that is far out.
local function servers()
  local generator = random.new(31)
  local makers = {
    { "bulk", 12000, function() return 3 + generator:uniform() + generator:uniform() + generator:uniform() end },
    { "spread", 3000, function() return 10 ^ (generator:uniform() * 5 - 1) end },
    { "few", 500, function(i) return i == 77 and 123456 or 40 + generator:integer(20) end },
  }
  local names, all = {}, {}
  for s, maker in ipairs(makers) do
    local lines, values = {}, {}
    for i = 1, maker[2] do
      lines[i] = ("%.6g"):format(maker[3](i))
      values[i] = tonumber(lines[i])
      all[#all + 1] = values[i]
    end
    names[s] = write(maker[1], table.concat(lines, "\n") .. "\n")
    makers[names[s]] = quantiles.sorted(values)
  end
  return names, makers, quantiles.sorted(all)
end

describe(EXAMPLE, function()
  it("gives each server's percentiles and those of all, as exactly as each kind promises", function()
    local names, values, all = servers()
    local report, status = run(names)
    assert.equal(0, status, report)
    local blocks = blocks_of(report)
    for _, name in ipairs(names) do
      hold_to_promises(assert(blocks[("%s: %d values"):format(name, #values[name])], report), values[name])
    end
    hold_to_promises(assert(blocks["all 15500 values, from the merged sketches: right"], report), all)
  end)

  it("gives the means of the servers' percentiles, and how wrong they are", function()
    local names, values, all = servers()
    local blocks = blocks_of((run(names)))
    local means = blocks["the mean of the servers' percentiles: wrong"]
    for i in ipairs(QUANTILES) do
      local sum = 0
      for _, name in ipairs(names) do
        sum = sum + order_statistics(values[name])[i]
      end
      assert.equal(printed(sum / 3), means.exact[i][1])
      for _, kind in ipairs(KINDS) do
        sum = 0
        for _, name in ipairs(names) do
          sum = sum + blocks[("%s: %d values"):format(name, #values[name])][kind][i][1]
        end
        within(sum / 3 * 0.9999, sum / 3 * 1.0001, means[kind][i][1], "the mean of " .. kind)
      end
    end
    for _, source in ipairs { "exact", "tdigest", "kll", "ddsketch" } do
      hold_to_deviations(means[source], order_statistics(all))
    end
  end)

  it("shows that the mean of percentiles is wrong, and the merged sketches are not", function()
    local report, status = run { "--requests", "20000" }
    assert.equal(0, status)
    local blocks = blocks_of(report)
    for _, kind in ipairs(KINDS) do
      within(-100, -20, blocks["the mean of the servers' percentiles: wrong"][kind][3][2], "p99 by the mean")
      within(-5, 5, blocks["all 20000 values, from the merged sketches: right"][kind][3][2], "p99 of the merged sketch")
    end
  end)

  it("draws a histogram of the shares between edges that are 4/3 or 3/2 apart", function()
    local names, _, all = servers()
    -- Shares are differences of two ranks; those of ddsketch take in what is in the bin of an edge, 2 % of its value.
    local error_of = { tdigest = 0.02, kll = 0.015, ddsketch = 0.03 }
    for _, kind in ipairs(KINDS) do
      local report, status = run { "--histogram", kind, names[1], names[2], names[3] }
      assert.equal(0, status)
      local histogram = assert(report:match("\n +up to +" .. kind .. " +exact\n(.*)$"), report)
      local total, below, longest, last = 0, 0, 0, nil
      for edge, share, exact, bar in histogram:gmatch " *([%d.e+-]+) +([%d.]+) %% +([%d.]+) %% *(#*)\n" do
        edge, share, exact = tonumber(edge), tonumber(share) / 100, tonumber(exact) / 100
        if last then
          within(1.3333, 1.5001, edge / last, "an edge by the one before")
        end
        within(quantiles.rank(all, edge) - below - 6e-6, quantiles.rank(all, edge) - below + 6e-6, exact, "the share")
        within(exact - error_of[kind], exact + error_of[kind], share, "the share by " .. kind)
        total, below, last, longest = total + share, quantiles.rank(all, edge), edge, math.max(longest, #bar)
      end
      assert.equal(1, below)
      within(0.9999, 1.0001, total, "all shares")
      assert.equal(40, longest)
    end
  end)

  it("counts the lines that are not latencies, and goes on", function()
    local some = write("some", "1\n2.5\r\n  3e0 \nnan\n-1\n\n0x10\n1e999\ninf\n12 ms\n4")
    local none = write("none", "hello\n")
    local report, status = run { none, some }
    assert.equal(0, status)
    assert.is_truthy(report:find(some .. ": 7 lines are not latencies", 1, true), report)
    assert.is_truthy(report:find(none .. ": 1 lines are not latencies", 1, true), report)
    hold_to_promises(blocks_of(report)[some .. ": 4 values"], { 1, 2.5, 3, 4 })
    assert.is_nil(blocks_of(report)[none .. ": 0 values"])
  end)

  it("takes any latencies that there are", function()
    for _, text in ipairs { "0", "0\n0\n0", "5", "1e300", "1e-310", "0\n1e-310\n1e300", "7\n7\n7" } do
      local report, status = run { write("any", text) }
      assert.equal(0, status, report)
      assert.is_truthy(report:find "all %d values")
    end
  end)

  it("refuses what cannot be read, and files without any latency, with a status of 2", function()
    for _, name in ipairs { directory .. "/missing", directory, write("none", ""), write("words", "one\ntwo\n") } do
      local said, status = run { name }
      assert.equal(2, status, said)
      assert.is_truthy(said:find("latencies.lua: ", 1, true))
    end
  end)

  it("prints the same with every Lua", function()
    local report, status = run { "--requests", "3000", "--seed", "9" }
    assert.equal(0, status, report)
    for name, interpreter in pairs((process.interpreters())) do
      assert.equal(report, (process.shell(interpreter .. " " .. EXAMPLE .. " --requests 3000 --seed 9")), name)
    end
  end)
end)
