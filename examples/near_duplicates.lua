-- Which of many text files say nearly the same? Each is kept as a signature of 1 KB, whatever its size, and is compared
-- with those only that an index finds likely: the time grows with the number of files, not with that of their pairs.
--
--   lua near_duplicates.lua [--threshold T] [--words N] [--hashes N] FILE...
--
-- Two files are as alike as the runs of N words that they have. Case, punctuation and line breaks do not count.

local probsketch = require "probsketch"

local format, sort, sqrt = string.format, table.sort, math.sqrt

local USAGE = [[
usage: near_duplicates.lua [--threshold T] [--words N] [--hashes N] FILE...

Lists the pairs of files that are alike, the most similar first: the estimated Jaccard similarity of their runs of N
words, its standard error, and both names.

  --threshold T   how alike, above 0, to 1 (default 0.8)
  --words N       words in a run, 1 to 1000 (default 3)
  --hashes N      accuracy, 1 to 65536 (default 128): the standard error is at most 0.5 / sqrt(N)
  --help          show this text

The exit status is 0, also when nothing is found, and 2 for a wrong option or when a file cannot be read; the other
files are then compared all the same.
]]

local function complain(message)
  io.stderr:write("near_duplicates.lua: ", message, "\n")
end

local function misused(message)
  complain(message)
  io.stderr:write(USAGE)
  os.exit(2)
end

-- Options: a pattern, the least and the most.
local NUMBERS = {
  ["--threshold"] = { "^%d*%.?%d+$", 0, 1 },
  ["--words"] = { "^%d+$", 1, 1000 },
  ["--hashes"] = { "^%d+$", 1, 65536 },
}

local function read_options(arguments)
  local options, files, index = { ["--threshold"] = 0.8, ["--words"] = 3, ["--hashes"] = 128 }, {}, 1
  while arguments[index] do
    local argument = arguments[index]
    local limits = NUMBERS[argument]
    if argument == "--help" then
      io.write(USAGE)
      os.exit(0)
    elseif limits then
      index = index + 1
      local text = arguments[index] or ""
      local value = text:match(limits[1]) and tonumber(text)
      if not value or value < limits[2] or value > limits[3] then
        misused(format("%s takes a number from %d to %d", argument, limits[2], limits[3]))
      end
      options[argument] = value
    elseif argument:find "^%-" then
      misused("unknown option " .. argument)
    else
      files[#files + 1] = argument
    end
    index = index + 1
  end
  if #files == 0 then
    misused("no files")
  end
  return options, files
end

local function read_file(name)
  local file, problem = io.open(name, "rb")
  if not file then
    return nil, problem
  end
  local text
  text, problem = file:read "*a"
  file:close()
  return text, not text and name .. ": " .. tostring(problem)
end

-- What counts of a text: its words, in lower case and without ASCII punctuation.
local function normalized(text)
  return (text:lower():gsub("%p+", " "))
end

local function by_similarity(one, other)
  if one.jaccard ~= other.jaccard then
    return one.jaccard > other.jaccard
  elseif one.first ~= other.first then
    return one.first < other.first
  end
  return one.second < other.second
end

local function main(arguments)
  local options, files = read_options(arguments)
  local hashes, words = options["--hashes"], options["--words"]
  local made, index = pcall(probsketch.lsh, { threshold = options["--threshold"], hashes = hashes })
  if not made then
    misused((index:gsub("^.-: ", "")))
  end

  local pairs_found, unreadable = {}, 0
  for number, name in ipairs(files) do
    local text, problem = read_file(name)
    local minhash = index:minhash()
    if not text then
      complain(problem)
      unreadable = unreadable + 1
    elseif minhash:add_shingles(normalized(text), words) > 0 then -- a file without words is like no other
      for _, found in ipairs(index:query(minhash)) do
        pairs_found[#pairs_found + 1] = { jaccard = found.jaccard, first = tonumber(found.id), second = number }
      end
      index:insert(number, minhash)
    end
  end

  sort(pairs_found, by_similarity)
  for _, pair in ipairs(pairs_found) do
    local jaccard = pair.jaccard
    io.write(format("%.3f +- %.3f  %s  %s\n", jaccard, sqrt(jaccard * (1 - jaccard) / hashes), files[pair.first],
      files[pair.second]))
  end
  io.write(format("%d of %d files compared, %d pairs at least %g alike\n", index:count(), #files, #pairs_found,
    options["--threshold"]))
  os.exit(unreadable == 0 and 0 or 2)
end

main(arg)
