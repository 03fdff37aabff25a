local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local add_range, within = statistics.add_range, statistics.within

local function range(first, last, options)
  return add_range(ps.minhash(options), first, last)
end

describe("a minhash", function()
  it("estimates how alike two sets are, with the standard error of it", function()
    for shared = 0, 1000, 125 do
      local a, b = range(1, 1000), range(1001 - shared, 2000 - shared)
      local truth = shared / (2000 - shared)
      local jaccard, error = a:jaccard(b)
      within(truth - 4.5 * math.sqrt(truth * (1 - truth) / 128), truth + 4.5 * math.sqrt(truth * (1 - truth) / 128),
        jaccard, "the similarity of sets that share %d of 1000,", shared)
      within(0, 1e-12, math.abs(error - math.sqrt(jaccard * (1 - jaccard) / 128)), "the difference to its error")
      assert.same({ jaccard, error }, { b:jaccard(a) })
    end
  end)

  it("errs less with more functions: 0.5 / sqrt(hashes) at most", function()
    for _, hashes in ipairs { 16, 128, 4096, 65536 } do
      local options = { hashes = hashes }
      within(-4.5, 4.5, (range(1, 200, options):jaccard(range(101, 300, options)) - 1 / 3) / math.sqrt(2 / 9 / hashes),
        "standard errors off with %d functions", hashes)
      assert.equal(0.5 / math.sqrt(hashes), ps.plan("minhash", options).standard_error)
      assert.equal(8 * hashes, ps.plan("minhash", options).bytes)
    end
  end)

  -- MH-04
  it("finds two empty sets alike, and an empty one unlike any other", function()
    local a, b = ps.minhash(), ps.minhash()
    assert.same({ 1, 0 }, { a:jaccard(b) })
    b:add "a"
    assert.same({ 0, 0 }, { a:jaccard(b) })
    assert.same({ 0, 0 }, { b:jaccard(a) })
    assert.same({ 1, 0 }, { b:jaccard(b) })
  end)

  -- MH-03
  it("compares only what fits together", function()
    local a = range(1, 10)
    for named, other in pairs {
      ["hashes mismatch (expected 128, got 64)"] = ps.minhash { hashes = 64 },
      ["seed mismatch"] = ps.minhash { seed = 1 },
      ["kind mismatch (expected minhash, got bloom)"] = ps.bloom { capacity = 10 },
      ["minhash expected, got table"] = {},
    } do
      expect.raise_saying(named, a.jaccard, a, other)
    end
    expect.raise_saying("minhash expected, got no value", a.jaccard, a)
    local with_seed = { seed = 2 ^ 40 }
    assert.equal(1, (range(1, 10, with_seed):jaccard(ps.decode(range(1, 10, with_seed):encode()))))
    assert.equal(1, (range(1, 10, { seed = a }):jaccard(a)))
  end)

  -- KL-09
  it("takes any number of functions from 1 to 65536", function()
    for _, hashes in ipairs { 1, 2, 3, 127, 128, 65536 } do
      local sketch = range(1, hashes > 1000 and 300 or 10000, { hashes = hashes })
      local loaded = assert(ps.decode(sketch:encode()))
      assert.equal(sketch, loaded)
      assert.equal(sketch, sketch:copy():merge(loaded))
      assert.equal(1, (sketch:jaccard(loaded)))
    end
  end)

  -- MH-11
  it("merges to the signature of the union, to the byte", function()
    local generator = random.new(11)
    for _ = 1, 100 do
      local first, last = generator:integer(50), 50 + generator:integer(50)
      local a, b, both = range(1, last), range(first, 100), range(1, 100)
      assert.equal(both:encode(), a:union(b):encode())
      assert.equal(both:encode(), b:union(a):encode())
      assert.equal(both:encode(), both:union(a, both, ps.minhash()):encode())
    end
  end)

  it("says that a minimum has changed exactly when its bytes have", function()
    local sketch, changes = ps.minhash { hashes = 20 }, 0
    local before = sketch:encode()
    for i = 1, 500 do
      local changed = sketch:add(i % 300)
      local after = sketch:encode()
      assert.equal(before ~= after, changed)
      before, changes = after, changes + (changed and 1 or 0)
    end
    within(20, 250, changes, "changes")
  end)

  it("counts its distinct tokens, within 4 standard errors", function()
    assert.equal(0, ps.minhash():count())
    assert.equal(1, range(1, 1, { hashes = 1000 }):count())
    assert.is_true(range(1, 1, { hashes = 1 }):count() >= 1)
    for _, n in ipairs { 100, 10000 } do
      local sketch = range(1, n, { hashes = 1026 })
      within(n * (1 - 4 / 32), n * (1 + 4 / 32), sketch:count(), "the count of %d", n)
      assert.equal(math.floor(sketch:info().estimate + 0.5), sketch:count())
    end
  end)
end)

describe("add_shingles", function()
  local TEXT = "The quick brown  fox\njumps over\tthe lazy dog"

  -- A sketch of these tokens.
  local function of(...)
    local sketch = ps.minhash()
    sketch:add_many { ... }
    return sketch
  end

  local function shingled(...)
    local sketch = ps.minhash()
    return sketch, sketch:add_shingles(...)
  end

  it("adds the runs of n words, with one space between two", function()
    local sketch, n = shingled("a b\n\nc  d ", 3)
    assert.equal(2, n)
    assert.equal(of("a b c", "b c d"), sketch)
    assert.equal(of("The", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"), (shingled(TEXT, 1)))
    assert.equal(shingled(TEXT, 4), (shingled(TEXT:gsub("%s+", "\r\n"), 4, "word")))
  end)

  it("adds the runs of n bytes, whatever they are", function()
    local sketch, n = shingled("a\0b ", 3, "byte")
    assert.equal(2, n)
    assert.equal(of("a\0b", "\0b "), sketch)
    assert.equal(of("\195\164", "\164\195", "\195\182"), (shingled("\195\164\195\182", 2, "byte")))
  end)

  it("keeps words of UTF-8 and of any bytes whole", function()
    assert.equal(of("\195\164\194\160b", "\0"), (shingled("\195\164\194\160b \0", 1)))
  end)

  it("takes a shorter text as one shingle, and an empty one as none", function()
    for _, unit in ipairs { "word", "byte" } do
      local sketch, n = shingled("a b", 5, unit)
      assert.equal(1, n)
      assert.equal(of "a b", sketch)
      sketch, n = shingled("", 5, unit)
      assert.equal(0, n)
      assert.equal(ps.minhash(), sketch)
    end
    assert.equal(0, select(2, shingled(" \n ", 1)))
    assert.equal(1, select(2, shingled("   ", 3, "byte")))
  end)

  it("counts repeated shingles too, and takes a long text", function()
    local sketch, n = shingled(("one two "):rep(5000), 2)
    assert.equal(9999, n)
    assert.equal(of("one two", "two one"), sketch)
    assert.equal(1, select(2, shingled(("w "):rep(1000), 1000)))
    assert.equal(1, select(2, shingled(("w "):rep(999), 1000)))
  end)

  it("uses the seed", function()
    local sketch, expected = ps.minhash { seed = 5 }, ps.minhash { seed = 5 }
    sketch:add_shingles(TEXT, 9)
    expected:add "The quick brown fox jumps over the lazy dog"
    assert.equal(expected, sketch)
  end)

  it("refuses other arguments, and changes nothing", function()
    local sketch = of("a", "b")
    local before = sketch:encode()
    for said, arguments in pairs {
      ["text expected, a string, got nil"] = {},
      ["text expected, a string, got a table"] = { {}, 3 },
      ["text expected, a string, got 12"] = { 12, 3 },
      ["length expected, an integer from 1 to 1000, got nil"] = { "a" },
      ["length expected, an integer from 1 to 1000, got 0"] = { "a", 0 },
      ["length expected, an integer from 1 to 1000, got -1"] = { "a", -1 },
      ["length expected, an integer from 1 to 1000, got 1001"] = { "a", 1001 },
      ["length expected, an integer from 1 to 1000, got 2.5"] = { "a", 2.5 },
      ["length expected, an integer from 1 to 1000, got a string"] = { "a", "3" },
      ["unit expected, \"word\" or \"byte\", got \"line\""] = { "a", 3, "line" },
      ["unit expected, \"word\" or \"byte\", got a table"] = { "a", 3, {} },
    } do
      expect.raise_saying(said, sketch.add_shingles, sketch, arguments[1], arguments[2], arguments[3])
    end
    expect.raise_saying("length expected", sketch.add_shingles, sketch, "a", 0 / 0)
    assert.equal(before, sketch:encode())
    sketch:close()
    expect.raise_saying("closed", sketch.add_shingles, sketch, "a", 1)
  end)

  it("makes texts as alike as their shingles are", function()
    local words = {}
    for i = 1, 1000 do
      words[i] = "word" .. i
    end
    local before = shingled(table.concat(words, " "), 5)
    for i = 25, 1000, 50 do
      words[i] = "another" .. i
    end
    local truth = (996 - 100) / (996 + 100) -- each change is in 5 of the 996 shingles
    within(-4.5, 4.5, (before:jaccard((shingled(table.concat(words, "\n"), 5))) - truth)
      / math.sqrt(truth * (1 - truth) / 128), "standard errors off")
  end)
end)
