-- Reads the text format of Prometheus, version 0.0.4, and is content with nothing less.

local prometheus = {}

local KINDS = { counter = true, gauge = true, histogram = true, summary = true, untyped = true }
local ESCAPES = { ["\\\\"] = "\\", ['\\"'] = '"', ["\\n"] = "\n" }
local SPECIAL = { NaN = 0 / 0, ["+Inf"] = math.huge, ["-Inf"] = -math.huge }

local function number_of(word)
  local number = word:find "^[-+]?%d+%.?%d*[eE]?[-+]?%d*$" and tonumber(word) or SPECIAL[word]
  return assert(number, "not a number: " .. word)
end

-- The value that begins at `at`, behind a quote, and where the text goes on behind the other.
local function quoted(line, at)
  local stop = at
  while line:sub(stop, stop) ~= '"' do
    assert(stop <= #line, "a quote is missing: " .. line)
    stop = stop + (line:sub(stop, stop) == "\\" and 2 or 1)
  end
  local value = line:sub(at, stop - 1):gsub("\\.?", function(escape)
    return assert(ESCAPES[escape], "not an escape: " .. escape)
  end)
  return value, stop + 1
end

-- A sample: its name, its labels by name, its value.
local function sample_of(line)
  local name, at = line:match "^([%a_:][%w_:]*)()"
  assert(name, "no name: " .. line)
  local labels = {}
  if line:sub(at, at) == "{" then
    repeat
      local label, start = line:match('^[{,]([%a_][%w_]*)="()', at)
      assert(label and label:sub(1, 2) ~= "__" and not labels[label], "not a new label: " .. line:sub(at))
      labels[label], at = quoted(line, start)
    until line:sub(at, at) ~= ","
    assert(line:sub(at, at) == "}", "no end of the labels: " .. line)
    at = at + 1
  end
  return name, labels, number_of(line:match("^ (%S+)$", at) or line)
end

-- What a sample is found by: its name and labels.
local function key(name, labels)
  local words = {}
  for label, value in pairs(labels or {}) do
    words[#words + 1] = ("%s=%q"):format(label, value)
  end
  table.sort(words)
  return name .. " " .. table.concat(words, " ")
end

-- The values of a text as a function of name and labels; raises where the text is not what it should be. All lines of a
-- name stand together, HELP and TYPE before the samples.
function prometheus.parse(text)
  assert(text:sub(-1) == "\n", "no newline at the end")
  local values, seen, family, kind = {}, {}, nil, nil
  for line in text:gmatch "([^\n]*)\n" do
    if line:sub(1, 1) == "#" then
      local name, help = line:match "^# HELP ([%a_:][%w_:]*) (.+)$"
      if name then
        assert(not seen[name], "twice: " .. line)
        assert(not help:gsub("\\[\\n]", ""):find "\\", "not an escape: " .. line)
        seen[name], family, kind = true, name, nil
      else
        name, kind = line:match "^# TYPE (%S+) (%l+)$"
        assert(name == family and KINDS[kind], "no TYPE behind HELP: " .. line)
        assert((kind == "counter") == (name:find "_total$" ~= nil), "counters end in _total: " .. line)
      end
    else
      local name, labels, value = sample_of(line)
      assert(name == family and kind, "not with others of its name: " .. line)
      assert(values[key(name, labels)] == nil, "twice: " .. line)
      assert(kind ~= "counter" or value >= 0, "a counter below 0: " .. line)
      values[key(name, labels)] = value
    end
  end
  return function(name, labels)
    return values[key(name, labels)]
  end
end

return prometheus
