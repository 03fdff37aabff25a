-- The demo does a user's job on what a web server really writes, and its figures keep the promises printed beside them.

local combined_log = dofile("examples/combined_log.lua")
local read_lines = dofile("examples/lines.lua")

local LINES = 20000

-- The interpreter that runs this spec: what comes first on the command line.
local function running_interpreter()
  local index = 0
  while arg[index - 1] do
    index = index - 1
  end
  return arg[index]
end

local LUA = running_interpreter()

local temporary = {}

local function temporary_name()
  local name = os.tmpname()
  temporary[#temporary + 1] = name
  return name
end

local function read_file(name)
  local file = assert(io.open(name, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

local function write_file(bytes)
  local name = temporary_name()
  local file = assert(io.open(name, "wb"))
  file:write(bytes)
  file:close()
  return name
end

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Runs words as a command. The shell writes the exit status into a file, since what os.execute returns differs between
-- the versions of Lua.
local function run(words, input)
  local out, err, status = temporary_name(), temporary_name(), temporary_name()
  local command = {}
  for index, word in ipairs(words) do
    command[index] = quoted(word)
  end
  os.execute(table.concat(command, " ") .. " <" .. quoted(input or "/dev/null") .. " >" .. quoted(out) .. " 2>"
    .. quoted(err) .. "; echo $? >" .. quoted(status))
  return { out = read_file(out), err = read_file(err), status = tonumber(read_file(status)) }
end

local function make_log(interpreter, lines, seed)
  return run { interpreter, "examples/make_log.lua", "--lines", tostring(lines), "--seed", tostring(seed) }
end

local function demo(arguments, input)
  local words = { LUA, "examples/access_log.lua" }
  for _, argument in ipairs(arguments) do
    words[#words + 1] = argument
  end
  return run(words, input)
end

-- The numbers in the line of a report that begins with a label.
local function figures(report, label)
  for line in report:gmatch("[^\n]+") do
    if line:sub(1, #label) == label then
      local numbers = {}
      for number in line:sub(#label + 1):gmatch("%-?%d[%d.]*") do
        numbers[#numbers + 1] = tonumber(number)
      end
      return numbers
    end
  end
  error("no line begins with " .. label .. " in:\n" .. report)
end

local function figure(report, label)
  return figures(report, label)[1]
end

-- The entries of the list of top paths, from a report with exact figures.
local function top_paths(report)
  local entries = {}
  local list = report:match("\n +hits +exact +over +path\n(.-)\n\n")
  for hits, exact, over, path in list:gmatch(" +(%d+) +(%d+) +(%-?%d+)   ([^\n]+)") do
    entries[#entries + 1] = { hits = tonumber(hits), exact = tonumber(exact), over = tonumber(over), path = path }
  end
  return entries
end

-- A report without its last line, which tells the time.
local function without_timing(report)
  return (report:gsub("[^\n]*lines/s\n$", ""))
end

local function count_newlines(bytes)
  local _, count = bytes:gsub("\n", "")
  return count
end

local LINE = '192.0.2.7 - - [01/Jan/2024:00:00:00 +0000] "GET /page?a=1 HTTP/1.1" 200 5 "-" "curl/8.5.0"'

teardown(function()
  for _, name in ipairs(temporary) do
    os.remove(name)
  end
end)

describe("the access log demo", function()
  local log_name, log, result

  setup(function()
    log = make_log(LUA, LINES, 7).out
    log_name = write_file(log)
    result = demo { "--exact", log_name }
  end)

  it("succeeds, and says nothing on standard error when that is no terminal", function()
    assert.are.equal(0, result.status)
    assert.are.equal("", result.err)
  end)

  it("reads every line, and counts or skips each", function()
    assert.are.equal(LINES, figure(result.out, "lines read"))
    local skipped = figure(result.out, "lines skipped")
    assert.are.equal(LINES, figure(result.out, "requests counted") + skipped)
    local with_reason = 0
    for _, reason in ipairs(combined_log.reasons) do
      local count = figure(result.out, "  " .. reason)
      assert.is_true(count > 0, reason)
      with_reason = with_reason + count
    end
    assert.are.equal(skipped, with_reason)
  end)

  it("keeps to the stated error for distinct visitors and paths", function()
    for _, label in ipairs { "distinct visitors", "distinct paths" } do
      local numbers = figures(result.out, label)
      local approximate, exact, standard_error = numbers[1], numbers[2], numbers[4]
      assert.is_true(exact > 1000, label)
      assert.is_true(standard_error > 0 and standard_error < 1, label)
      assert.is_true(math.abs(approximate - exact) <= 3 * standard_error / 100 * exact, label)
    end
  end)

  it("calls no request first-seen that is not, and misses as few as stated", function()
    local numbers = figures(result.out, "first-seen requests")
    local missed = numbers[2] - numbers[1]
    local rate = tonumber(result.out:match("misses a first request with probability (%S+) %%")) / 100
    local expected = rate * numbers[2]
    assert.is_true(missed >= 0)
    assert.is_true(missed <= expected + 4 * math.sqrt(expected) + 1)
  end)

  it("lists hits that are never below the truth and rarely above the stated bound", function()
    local bound = tonumber(result.out:match("above it by more than (%S+)"))
    local entries = top_paths(result.out)
    local beyond = 0
    for _, entry in ipairs(entries) do
      assert.are.equal(entry.hits - entry.exact, entry.over)
      assert.is_true(entry.over >= 0)
      beyond = beyond + (entry.over > bound and 1 or 0)
    end
    assert.are.equal(10, #entries)
    assert.is_true(beyond <= 1)
  end)

  it("misses no path with more hits than the last one listed", function()
    local exact = {}
    for line in log:gmatch("([^\n]*)\n") do
      local address, path = combined_log.parse(line)
      if address then
        exact[path] = (exact[path] or 0) + 1
      end
    end
    for _, top in ipairs { 1, 10, 200 } do
      local listed = {}
      local entries = top_paths(demo({ "--exact", "--top", tostring(top), log_name }).out)
      for _, entry in ipairs(entries) do
        listed[entry.path] = true
        assert.are.equal(exact[entry.path], entry.exact)
      end
      assert.are.equal(top, #entries)
      for path, hits in pairs(exact) do
        assert.is_true(listed[path] or hits <= entries[top].hits, path)
      end
    end
  end)

  it("states the memory of the sketches, and of the tables they stand for", function()
    assert.is_true(figure(result.out, "  sketches together") > 100)
    assert.is_true(figure(result.out, "  exact tables") > 100)
    local candidates, most = result.out:match("a list of (%d+) paths, at most (%d+)\n")
    assert.is_true(tonumber(candidates) >= 10)
    assert.is_true(tonumber(candidates) < tonumber(most))
    assert.is_nil(demo({ log_name }).out:find("exact", 1, true))
  end)

  it("ends with seconds and lines a second", function()
    assert.is_truthy(result.out:find("\n[%d.]+ s of processor time, %d+ lines/s\n$"))
  end)

  it("says the same again, also of standard input", function()
    local first = without_timing(demo({ log_name }).out)
    assert.are.equal(first, without_timing(demo({ log_name }).out))
    assert.are.equal(first, without_timing(demo({}, log_name).out))
    assert.are.equal(first, without_timing(demo({ "-" }, log_name).out))
  end)

  it("takes an empty log", function()
    local empty = demo { "--exact" }
    assert.are.equal("", empty.err)
    assert.are.equal(0, empty.status)
    assert.are.equal(0, figure(empty.out, "lines read"))
    assert.are.equal(0, figure(empty.out, "distinct visitors"))
    assert.are.equal(0, figure(empty.out, "first-seen requests"))
  end)

  it("takes a single line without a newline", function()
    local single = demo { "--exact", write_file(LINE) }
    assert.are.equal("", single.err)
    assert.are.equal(1, figure(single.out, "lines read"))
    assert.are.equal(1, figure(single.out, "requests counted"))
    assert.are.same({ { hits = 1, exact = 1, over = 0, path = "/page" } }, top_paths(single.out))
  end)

  it("takes nothing but garbage", function()
    local garbage = ("\0\1\255 [\n\n\"\" 200 \27[2J\r\n"):rep(1000)
    local refused = demo { "--exact", write_file(garbage) }
    assert.are.equal("", refused.err)
    assert.are.equal(0, refused.status)
    assert.are.equal(3000, figure(refused.out, "lines read"))
    assert.are.equal(3000, figure(refused.out, "lines skipped"))
    assert.are.equal(0, figure(refused.out, "distinct paths"))
  end)

  it("takes lines of many megabytes and goes on after them", function()
    local long_path = LINE:gsub("/page", "/" .. ("x"):rep(10000000))
    local long_agent = LINE:gsub("curl", ("x"):rep(10000000))
    local long = demo { write_file(table.concat({ LINE, long_path, long_agent, LINE }, "\n")) }
    assert.are.equal("", long.err)
    assert.are.equal(4, figure(long.out, "lines read"))
    assert.are.equal(3, figure(long.out, "requests counted"))
    assert.are.equal(1, figure(long.out, "  no whole request"))
  end)

  it("shows UTF-8 as it is and nothing that a terminal would obey", function()
    local utf8 = LINE:gsub("/page", "/caf\195\169/\240\159\140\141")
    local hostile = LINE:gsub("/page", "/\27[2J\0\194\155\224\130\155\255")
    local shown = demo { "--exact", write_file(utf8 .. "\n" .. utf8 .. "\n" .. hostile .. "\n") }
    local entries = top_paths(shown.out)
    assert.are.equal("/caf\195\169/\240\159\140\141", entries[1].path)
    assert.are.equal([[/\x1B[2J\x00\xC2\x9B\xE0\x82\x9B\xFF]], entries[2].path)
  end)

  it("refuses a file that it cannot read, in one line and with status 2", function()
    for _, name in ipairs { "no/such/file", "examples" } do
      local refused = demo { name }
      assert.are.equal(2, refused.status)
      assert.are.equal("", refused.out)
      assert.are.equal(1, count_newlines(refused.err))
      assert.is_truthy(refused.err:find(name, 1, true))
    end
  end)
end)

describe("the log reader", function()
  local function request(text)
    return '192.0.2.7 - - [01/Jan/2024:00:00:00 +0000] "' .. text .. '" 200 5 "-" "curl/8.5.0"'
  end

  local function agent(text)
    return '192.0.2.7 - - [01/Jan/2024:00:00:00 +0000] "GET /page HTTP/1.1" 200 5 "-" "' .. text .. '"'
  end

  local readable = {
    { "an ordinary line", agent "curl/8.5.0", "/page" },
    { "a line that ends in a carriage return", agent "curl/8.5.0" .. "\r", "/page" },
    { "common log format", '192.0.2.7 - - [01/Jan/2024:00:00:00 +0000] "GET /page HTTP/1.1" 200 5', "/page" },
    { "a line cut short after the status", agent("curl"):match("^.- 200 "), "/page" },
    { "a user", (agent("curl"):gsub("%- %-", "- alice", 1)), "/page" },
    { "a user with a space", (agent("curl"):gsub("%- %-", "- John Doe", 1)), "/page" },
    { "a query", request "GET /page?a=1?b=2 HTTP/1.1", "/page" },
    { "raw quotes in the user agent", agent 'a "b" c', "/page" },
    { "quotes escaped as Apache does", agent [[a \"b\" c]], "/page" },
    { "quotes escaped as nginx does", agent [[a \x22b\x22 c]], "/page" },
    { "a user agent that looks like a request", agent '" 404 5 "-" "GET /other HTTP/1.1" 200 ', "/page" },
    { "escaped quotes in the path", request [[GET /\"a\" HTTP/1.1]], [[/\"a\"]] },
    { "an escaped quote in the path that a status follows", request [[GET /a\" 404 5 HTTP/1.1]], [[/a\" 404 5]] },
    { "an escaped backslash before the closing quote", request [[GET /a\\]], [[/a\\]] },
    { "raw quotes in the path", request 'GET /"a" HTTP/1.1', '/"a"' },
    { "a space in the path", request "GET /a b HTTP/1.1", "/a b" },
    { "UTF-8 in the path", request "GET /caf\195\169 HTTP/1.1", "/caf\195\169" },
    { "a zero byte in the path", request "GET /a\0b HTTP/1.1", "/a\0b" },
    { "HTTP/2", request "GET /page HTTP/2", "/page" },
    { "no protocol", request "GET /page", "/page" },
    { "a target with a host", request "GET http://example.org/page?a HTTP/1.1", "http://example.org/page" },
    { "OPTIONS for the server", request "OPTIONS * HTTP/1.1", "*" },
    { "CONNECT", request "CONNECT example.org:443 HTTP/1.1", "example.org:443" },
  }

  for _, case in ipairs(readable) do
    local name, line, expected = case[1], case[2], case[3]
    it("reads " .. name, function()
      local address, path = combined_log.parse(line)
      assert.are.equal("192.0.2.7", address)
      assert.are.equal(expected, path)
    end)
  end

  it("reads an IPv6 address", function()
    assert.are.equal("2001:db8::7", (combined_log.parse((LINE:gsub("^%S+", "2001:db8::7")))))
  end)

  local refused = {
    { "an empty line", "", "empty" },
    { "a carriage return", "\r", "empty" },
    { "prose", "it was a dark and stormy night", "no address and time" },
    { "binary", "\0\1\2\255\254 \127", "no address and time" },
    { "a host name before the address", "www.example.org:80 " .. LINE, "no address and time" },
    { "a line cut short in the time", LINE:sub(1, 30), "no address and time" },
    { "a line cut short in the request", LINE:sub(1, 55), "no whole request" },
    { "a line cut short before the status", LINE:match('^.-HTTP/1.1"'), "no whole request" },
    { "a request that never came", request "-", "no path" },
    { "an empty request", request "", "no path" },
    { "a TLS greeting", request [[\x16\x03\x01\x02]], "no path" },
    { "nothing but a query", request "GET ?a=1 HTTP/1.1", "no path" },
    { "nothing between method and protocol", request "GET  HTTP/1.1", "no path" },
  }

  for _, case in ipairs(refused) do
    local name, line, expected = case[1], case[2], case[3]
    it("refuses " .. name, function()
      local address, reason = combined_log.parse(line)
      assert.is_nil(address)
      assert.are.equal(expected, reason)
    end)
  end

  it("takes time proportional to the line, however hostile", function()
    local head = LINE:match('^.-"')
    local start = os.clock()
    for _, piece in ipairs { " ", '"', "\\", "[", "] ", "?", ' [] "', '" 200 ', [[\" 200 ]], " HTTP/1.1", "1" } do
      local long = piece:rep(math.floor(1000000 / #piece))
      for _, line in ipairs { long, "a - " .. long, head .. long, head .. "GET " .. long, head .. "GET /" .. long
        .. [[\]], head .. "GET /" .. long .. '" 200 ' } do
        combined_log.parse(line)
      end
    end
    assert.is_true(os.clock() - start < 10)
  end)

  it("finds the same lines wherever the blocks end", function()
    local lines = {}
    for index = 1, 3000 do
      lines[index] = ("x"):rep(index * 7919 % 200)
    end
    lines[100] = ("y"):rep(200000)
    lines[101] = "\0zero\0"
    lines[3000] = "the end"
    for _, ending in ipairs { "", "\n" } do
      local file = assert(io.open(write_file(table.concat(lines, "\n") .. ending), "rb"))
      local found = {}
      for line in read_lines(file) do
        found[#found + 1] = line
      end
      file:close()
      assert.are.equal(#lines, #found)
      for index = 1, #lines do
        assert.is_true(lines[index] == found[index], index)
      end
    end
  end)
end)

describe("the log generator", function()
  it("writes as many lines as asked for", function()
    for _, lines in ipairs { 0, 1, 1234 } do
      local written = make_log(LUA, lines, 1)
      assert.are.equal("", written.err)
      assert.are.equal(lines, count_newlines(written.out))
    end
  end)

  it("writes the same for the same seed, another log for another", function()
    local log = make_log(LUA, 2000, 1).out
    assert.is_true(log == make_log(LUA, 2000, 1).out)
    assert.is_false(log == make_log(LUA, 2000, 2).out)
  end)

  it("writes the same with every Lua", function()
    local log = make_log(LUA, 2000, 5).out
    for _, interpreter in ipairs { "lua5.1", "lua5.2", "lua5.3", "lua5.4", "luajit" } do
      if run({ "sh", "-c", "command -v " .. interpreter }).status == 0 then
        assert.is_true(log == make_log(interpreter, 2000, 5).out, interpreter)
      end
    end
  end)

  it("writes the faults that real logs have", function()
    local log = make_log(LUA, LINES, 1).out
    for _, fault in ipairs { "\n\n", "%z", "\n2001:db8:", '"%-" 400 ', '"" 400 ', '\\"quoted\\"', '"raw quotes"',
      "x22quoted", "bot%.html", "/\208\191", "John Doe", "GET " .. ("[^ \n]"):rep(30) .. "[^ \n]+ HTTP/1.1\" 414" } do
      assert.is_truthy(log:find(fault), fault)
    end
  end)
end)
