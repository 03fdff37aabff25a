-- Which of many text files say nearly the same? Each is kept as a signature of 1 KB, whatever its size, and is compared
-- with those only that an index finds likely: the time grows with the number of files, not with that of their pairs.
--
--   lua near_duplicates.lua [--threshold N] [--words N] [--hashes N] FILE...
--
-- Two files are as alike as the runs of N words that they have. Case, punctuation and line breaks do not count.

local here = arg[0]:match("^(.*[/\\])") or ""
local command_line = dofile(here .. "command_line.lua")
local probsketch = require "probsketch"

local format, sort, sqrt = string.format, table.sort, math.sqrt

local function read_options()
  local parser = command_line.new("Lists the pairs of files that are alike, the most similar first: the estimated "
    .. "Jaccard similarity of their runs of words, its standard error, and both names. The exit status is 2 when a "
    .. "file cannot be read; the others are then compared all the same.")
  parser:argument("files", "Texts."):argname "FILE":args "+"
  command_line.decimal(parser, "--threshold", "How alike, above 0", { 0, 1, default = 0.8 })
  command_line.whole(parser, "--words", "Words in a run", { 1, 1000, default = 3 })
  command_line.whole(parser, "--hashes", "Accuracy; the standard error is at most 0.5 / sqrt(N)",
    { 1, 65536, default = 128 })
  return command_line.parse(parser), parser
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

local function main()
  local options, parser = read_options()
  local files, hashes, words = options.files, options.hashes, options.words
  local made, index = pcall(probsketch.lsh, { threshold = options.threshold, hashes = hashes })
  if not made then
    command_line.misused(parser, index)
  end

  local pairs_found, unreadable = {}, 0
  for number, name in ipairs(files) do
    local text, problem = read_file(name)
    local minhash = index:minhash()
    if not text then
      command_line.complain(problem)
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
    options.threshold))
  os.exit(unreadable == 0 and 0 or 2)
end

main()
