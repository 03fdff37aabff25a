-- The example of visitors in the last 24 hours: a line an hour, and the estimate beside what a table counts.

local files = require "spec.support.files"
local process = require "spec.support.process"
local random = require "spec.support.random"

local floor = math.floor

local EXAMPLE = "examples/visitors_24h.lua"

local directory
setup(function()
  directory = files.directory()
end)
teardown(function()
  files.remove(directory)
end)

-- Runs the example over a log; returns its rows as { time, estimate, exact }, and what it prints.
local function run(log, ...)
  local path = directory .. "/access.log"
  files.write(path, log)
  local words = { ... }
  words[#words + 1] = path
  local printed, status = process.shell(process.command(process.interpreter, EXAMPLE, (table.unpack or unpack)(words)))
  assert.equal(0, status, printed)
  local rows = {}
  for time, estimate, exact in printed:gmatch "\n(%d+%-%d+%-%d+ %d+:%d+:%d+) +(%d+) *(%d*)" do
    rows[#rows + 1] = { time, tonumber(estimate), tonumber(exact) }
  end
  return rows, printed
end

local function line(address, time)
  return ('%s - - [%s] "GET / HTTP/1.1" 200 17\n'):format(address, time)
end

describe(EXAMPLE, function()
  it("counts who came in the last 24 hours, whatever zone the log is in", function()
    local log = line("192.0.2.1", "28/Feb/2024:22:30:00 +0000")
      .. line("192.0.2.2", "29/Feb/2024:00:10:00 +0100")            -- 23:10 of the day before
      .. line("192.0.2.1", "28/Feb/2024:22:59:59 +0000")            -- late
      .. line("192.0.2.3", "28/Feb/2024:20:00:00 -0330")            -- 23:30
      .. line("192.0.2.2", "29/Feb/2024:22:00:00 +0000")
      .. line("192.0.2.4", "01/Mar/2024:00:00:00 +0000")
      .. "nonsense\n"
      .. line("192.0.2.5", "03/Mar/2024:12:34:56 +0000")
    local rows, printed = run(log, "--exact")
    local expected = { { "2024-02-28 23:00:00", 1 }, { "2024-02-29 00:00:00", 3 } }
    for hour = 1, 22 do
      expected[#expected + 1] = { ("2024-02-29 %02d:00:00"):format(hour), 3 }
    end
    -- At 23:00 sharp all after 23:00 of the day before is in, and the late line counts as when it came, 23:10.
    expected[#expected + 1] = { "2024-02-29 23:00:00", 3 }
    expected[#expected + 1] = { "2024-03-01 00:00:00", 1 }
    for hour = 1, 24 do
      expected[#expected + 1] = { ("2024-03-%02d %02d:00:00"):format(1 + floor(hour / 24), hour % 24),
        hour <= 22 and 2 or 1 }
    end
    expected[#expected + 1] = { "2024-03-02 01:00:00", 0 } -- and no more lines for nobody
    expected[#expected + 1] = { "2024-03-03 12:34:56", 1 }
    for i, row in ipairs(expected) do
      assert.same({ row[1], row[2], row[2] }, rows[i])
    end
    assert.equal(#expected, #rows)
    assert.is_truthy(printed:find("1 lines could not be read", 1, true), printed)
  end)

  it("keeps to the error of its sketches over a larger log", function()
    local numbers, lines, seen = random.new(24), {}, {}
    local start, now = 19 * 86400, 0 -- of January 2024
    for i = 1, 20000 do
      now = now + numbers:integer(20) - 1
      local at = start + now
      local address = ("10.%d.%d.1"):format(numbers:integer(60), numbers:integer(60))
      lines[i] = line(address, ("%02d/Jan/2024:%02d:%02d:%02d +0000"):format(1 + floor(at / 86400),
        floor(at % 86400 / 3600), floor(at % 3600 / 60), at % 60))
      seen[i] = { address, at }
    end
    local rows = run(table.concat(lines), "--exact")
    assert.equal(floor(now / 3600) + 1, #rows)
    for i, row in ipairs(rows) do
      local to = i < #rows and start + i * 3600 or start + now + 1
      local from = i < #rows and to - 86400 or start + (#rows - 1) * 3600 - 86400
      local distinct, n = {}, 0
      for _, visit in ipairs(seen) do
        if visit[2] >= from and visit[2] < to and not distinct[visit[1]] then
          distinct[visit[1]], n = true, n + 1
        end
      end
      assert.equal(n, row[3])
      assert.is_true(math.abs(row[2] - n) <= 1 + 4 * 0.008125 * n, ("%d for %d"):format(row[2], n))
    end
    -- Without the table: the same estimates.
    local plain = run(table.concat(lines))
    for i, row in ipairs(rows) do
      assert.same({ row[1], row[2] }, plain[i])
    end
  end)

  it("takes another span", function()
    local log = line("192.0.2.1", "28/Feb/2024:22:30:00 +0000") .. line("192.0.2.2", "29/Feb/2024:00:10:00 +0000")
    assert.same({ { "2024-02-28 23:00:00", 1 }, { "2024-02-29 00:00:00", 0 }, { "2024-02-29 00:10:00", 1 } },
      (run(log, "--hours", "1")))
  end)
end)
