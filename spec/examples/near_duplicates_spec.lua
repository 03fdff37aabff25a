-- The example that finds near-duplicates, on texts made for it and mutations of them.

local files = require "spec.support.files"
local process = require "spec.support.process"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within = statistics.within

local EXAMPLE = "examples/near_duplicates.lua"

local function run(...)
  return process.shell(process.command(process.interpreter, EXAMPLE, ...))
end

-- A text of n words out of 5000.
local function words(generator, n)
  local list = {}
  for i = 1, n do
    list[i] = ("word%d"):format(generator:integer(5000))
  end
  return list
end

-- The words with some of them replaced, in sentences and lines of another length.
local function mutated(generator, list, changes)
  local copy = {}
  for i, word in ipairs(list) do
    copy[i] = word
  end
  for _ = 1, changes do
    copy[generator:integer(#copy)] = "changed" .. generator:integer(100000)
  end
  for i = 1, #copy do
    copy[i] = generator:integer(12) == 1 and copy[i]:upper() .. ".\n" or copy[i]
  end
  return copy
end

-- The Jaccard similarity of their runs of three words, counted.
local function truth(a, b)
  local function runs(list)
    local set, plain = {}, {}
    for i, word in ipairs(list) do
      plain[i] = word:lower():gsub("%W", "")
    end
    for i = 1, #plain - 2 do
      set[table.concat(plain, " ", i, i + 2)] = true
    end
    return set
  end
  local of_a, both, either = runs(a), 0, 0
  local of_b = runs(b)
  for key in pairs(of_a) do
    both, either = both + (of_b[key] and 1 or 0), either + 1
  end
  for key in pairs(of_b) do
    either = either + (of_a[key] and 0 or 1)
  end
  return both / either
end

describe("the example that finds near-duplicates", function()
  local directory
  before_each(function()
    directory = files.directory()
  end)
  after_each(function()
    files.remove(directory)
  end)

  local function write(name, text)
    files.write(directory .. "/" .. name, text)
    return directory .. "/" .. name
  end

  it("lists mutations of a text with their similarity, and nothing else", function()
    local generator = random.new(5)
    local names, texts = {}, {}
    for i = 1, 40 do
      texts[i] = words(generator, 600)
      names[i] = write(("page%02d"):format(i), table.concat(texts[i], " "))
    end
    -- Of the first twenty pages mutations of 0 to 19 words.
    local expected = {}
    for i = 1, 20 do
      local changed = mutated(generator, texts[i], i - 1)
      names[40 + i] = write(("mutation%02d"):format(i), table.concat(changed, " "))
      expected[names[i] .. "  " .. names[40 + i]] = truth(texts[i], changed)
    end
    local said, status = run("--threshold", 0.75, (table.unpack or unpack)(names))
    assert.equal(0, status, said)
    local found, last = 0, 1
    for jaccard, error, pair in said:gmatch "(%d%.%d+) %+%- (%d%.%d+)  ([^\n]+)\n" do
      jaccard, error = tonumber(jaccard), tonumber(error)
      local similarity = assert(expected[pair], pair)
      within(-4.5, 4.5, (jaccard - similarity) / math.sqrt(similarity * (1 - similarity) / 128 + 1e-6),
        "standard errors off")
      within(math.sqrt(jaccard * (1 - jaccard) / 128) - 0.002, math.sqrt(jaccard * (1 - jaccard) / 128) + 0.002, error,
        "the error that is told")
      assert.is_true(jaccard <= last)
      found, last = found + 1, jaccard
    end
    local surely = 0
    for _, similarity in pairs(expected) do
      surely = surely + (similarity > 0.86 and 1 or 0)
    end
    within(surely, 20, found, "pairs")
    assert.is_true(surely >= 10)
    assert.is_truthy(said:find(("60 of 60 files compared, %d pairs at least 0.75 alike\n"):format(found), 1, true))
  end)

  it("takes no notice of case, punctuation and lines", function()
    local a = write("a", "The quick brown fox -- jumps!\n")
    local b = write("b b", "the QUICK\nbrown\tfox jumps")
    local said, status = run("--hashes", 64, "--words", "2", "--threshold", "1", a, b, write("c", "something else"))
    assert.equal(0, status)
    assert.equal(("1.000 +- 0.000  %s  %s\n3 of 3 files compared, 1 pairs at least 1 alike\n"):format(a, b), said)
  end)

  it("passes over files without words, and says which it cannot read, with a status of 2", function()
    local a, blank = write("a", "some words"), write("blank", " \n...\n")
    local said, status = run(a, blank, blank, a)
    assert.equal(0, status)
    assert.equal(("1.000 +- 0.000  %s  %s\n2 of 4 files compared, 1 pairs at least 0.8 alike\n"):format(a, a), said)
    said, status = run(a, directory .. "/none", a)
    assert.equal(2, status)
    assert.is_truthy(said:find(directory .. "/none", 1, true))
    assert.is_truthy(said:find("2 of 3 files compared, 1 pairs", 1, true))
  end)
end)
