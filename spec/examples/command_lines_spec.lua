-- What holds of the command lines of all examples.

local files = require "spec.support.files"
local process = require "spec.support.process"

-- What comes before --help is checked, and nothing is done: so does a program say whether it takes words.
local EXAMPLES = {
  access_log = {
    takes = { { "--exact", "--top", "1", "log" }, { "-", "--top=10000" } },
    refuses = { { "one", "two" } },
    ranges = { top = { 1, 10000 } },
  },
  cache_admission = {
    takes = { {} },
    refuses = { { "x" } },
    ranges = {
      requests = { 1, 1e9 }, items = { 1, 1e6 }, capacity = { 10, 1e6 }, once = { 0, 99 }, seed = { 0, 2 ^ 53 },
    },
  },
  latencies = {
    takes = { {}, { "--histogram", "kll" }, { "one", "two", "three", "--histogram=ddsketch" } },
    refuses = { { "--histogram" }, { "--histogram", "hdr" } },
    ranges = { requests = { 100, 1e8 }, seed = { 0, 2 ^ 53 } },
  },
  make_log = {
    takes = { {} },
    refuses = { { "x" } },
    ranges = { lines = { 0, 1e9 }, seed = { 0, 1e12 } },
  },
  near_duplicates = {
    takes = { { "--threshold", ".75", "one", "two", "three" } },
    refuses = { {}, { "--threshold", "0", "one" }, { "--threshold", "0.01", "one" }, { "--threshold", "0x1", "one" },
      { "--threshold", "1.01", "one" } },
    ranges = { words = { 1, 1000 }, hashes = { 1, 65536 } },
  },
  visitors_24h = {
    takes = { { "--exact", "log" } },
    refuses = { { "one", "two" } },
    ranges = { hours = { 1, 10000 } },
  },
}

for name, expected in pairs(EXAMPLES) do
  local path = "examples/" .. name .. ".lua"
  local usage = "Usage: " .. name .. ".lua "

  -- What it prints to standard output, to standard error, and its status.
  local function run(words)
    local errors = os.tmpname()
    local printed, status = process.shell(process.command(process.interpreter, path, (table.unpack or unpack)(words))
      .. " 2>" .. errors)
    local said = files.read(errors)
    os.remove(errors)
    return printed, said, status
  end

  local function refuse(words, ...)
    local printed, said, status = run(words)
    assert.equal(2, status, said)
    assert.equal("", printed)
    assert.equal(name .. ".lua: ", said:sub(1, #name + 6))
    for _, part in ipairs { "\n" .. usage, ... } do
      assert.is_truthy(said:find(part, 1, true), said)
    end
  end

  describe(path, function()
    it("says how it is called, when asked and when called otherwise", function()
      for _, words in ipairs(expected.takes) do
        words[#words + 1] = "--help"
        local printed, said, status = run(words)
        assert.equal("", said)
        assert.equal(0, status)
        assert.equal(usage, printed:sub(1, #usage))
      end
      for _, words in ipairs(expected.refuses) do
        refuse(words)
      end
      refuse({ "--what" }, "option '--what'")
    end)

    for option, range in pairs(expected.ranges) do
      it("takes of --" .. option .. " what is in the range that it states", function()
        local least, most = ("%.0f"):format(range[1]), ("%.0f"):format(range[2])
        local stated = ("a whole number from %s to %s"):format(least, most)
        for _, value in ipairs { least, most } do
          local printed, said, status = run { "--" .. option, value, "--help" }
          assert.equal(0, status, said)
          assert.is_truthy(printed:gsub("%s+", " "):find(stated, 1, true))
        end
        for _, value in ipairs { range[1] - 1, range[2] + 2, least .. ".5", "x", "", "0x10", "nan" } do
          refuse({ ("--%s=%s"):format(option, type(value) == "number" and ("%.0f"):format(value) or value) },
            ("option '--%s' takes %s\n"):format(option, stated))
        end
        refuse({ "--" .. option }, ("option '--%s'"):format(option))
      end)
    end
  end)
end
