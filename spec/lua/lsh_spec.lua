-- The index of signatures, against all pairs compared.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local memory = require "spec.support.memory"
local process = require "spec.support.process"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within = statistics.within

-- A minhash of the integers first..last, that fits the index.
local function range(index, first, last)
  return statistics.add_range(index:minhash(), first, last)
end

local function recall(threshold, bands, rows)
  return 1 - (1 - threshold ^ rows) ^ bands
end

local function ids_of(found)
  local ids = {}
  for i, item in ipairs(found) do
    ids[i] = item.id
  end
  return ids
end

describe("bands and rows", function()
  it("are those with the most rows that find a pair at the threshold with a probability of 0.95", function()
    for _, hashes in ipairs { 16, 100, 128, 512 } do
      for threshold = 0.3, 1, 0.05 do
        local most
        for rows = 1, hashes do
          most = recall(threshold, math.floor(hashes / rows), rows) >= 0.95 and rows or most
        end
        local info = ps.lsh { threshold = threshold, hashes = hashes }:info()
        assert.equal(most, info.rows)
        assert.equal(math.floor(hashes / most), info.bands)
        within(recall(threshold, info.bands, most) - 1e-9, recall(threshold, info.bands, most) + 1e-9, info.recall,
          "the recall")
      end
    end
    local info = ps.lsh():info()
    assert.same({ 0.8, 128, 7, 18, 0 }, { info.threshold, info.hashes, info.rows, info.bands, info.seed })
    assert.equal("lsh", info.kind)
  end)

  -- MH-05
  it("find identical sets at a threshold of 1, and just below it, in one band", function()
    for _, threshold in ipairs { 1, 0.999999 } do
      local index = ps.lsh { threshold = threshold }
      assert.same({ 1, 128 }, { index:info().bands, index:info().rows })
      index:insert("a", range(index, 1, 100)):insert("b", range(index, 1, 101)):insert("c", range(index, 1, 100))
      assert.same({ { id = "a", jaccard = 1 }, { id = "c", jaccard = 1 } }, index:query(range(index, 1, 100)))
    end
  end)

  -- MH-05
  it("are refused for thresholds that are none, or too low for the functions", function()
    for _, threshold in ipairs { 0, -0.1, 1.1, 0 / 0, 1 / 0, -1 / 0 } do
      expect.raise_saying("option 'threshold': expected a number above 0, to 1, got ", ps.lsh,
        { threshold = threshold })
    end
    for hashes, least in pairs { [1] = 0.95, [2] = 0.776394, [128] = 0.023133 } do
      expect.raise_saying("is too low for " .. hashes, ps.lsh, { hashes = hashes, threshold = least - 1e-4 })
      local info = ps.lsh { hashes = hashes, threshold = least + 1e-4 }:info()
      assert.same({ hashes, 1 }, { info.bands, info.rows })
    end
    expect.raise_saying("threshold 1e-09 is too low for 128 hashes (the least is 0.0231)", ps.lsh, { threshold = 1e-9 })
  end)
end)

describe("the options of an lsh", function()
  it("are named when they are wrong", function()
    for said, options in pairs {
      ["options expected, got a string"] = "options",
      ["unknown option 'bands'"] = { bands = 4 },
      ["unknown option 'max_bytes'"] = { max_bytes = 4 },
      ["unknown option '1'"] = { 1 },
      ["option 'threshold': expected a number above 0, to 1, got a string"] = { threshold = "0.8" },
      ["option 'hashes'"] = { hashes = 0 },
      ["option 'hashes': expected an integer from 1 to 65536, got a string"] = { hashes = "128" },
      ["option 'seed'"] = { seed = -1 },
      ["option 'bytes': expected a string that encode() made, got 5"] = { bytes = 5 },
    } do
      expect.raise_saying(said, ps.lsh, options)
    end
  end)

  it("may give a seed, by number, from a sketch or a secret one", function()
    local index = ps.lsh { seed = 2 ^ 40 }
    assert.equal(2 ^ 40, index:info().seed)
    assert.equal(2 ^ 40, ps.lsh { seed = index:minhash() }:info().seed)
    index = ps.lsh { seed = "random" }
    assert.is_nil(index:info().seed)
    index:insert("a", range(index, 1, 50))
    assert.same({ "a" }, ids_of(index:query(range(index, 1, 50))))
    expect.raise_saying("seed mismatch", index.query, index, ps.minhash())
  end)
end)

-- From the bytes of the minhash: the minima of each band.
local function bands_of(info, minhash)
  local payload, list = minhash:encode():sub(-8 - 8 * info.hashes, -9), {}
  for i = 1, info.bands do
    list[i] = payload:sub((i - 1) * info.rows * 8 + 1, i * info.rows * 8)
  end
  return list
end

local function share_a_band(info, a, b)
  local of_a, of_b = bands_of(info, a), bands_of(info, b)
  for i = 1, info.bands do
    if of_a[i] == of_b[i] then
      return true
    end
  end
  return false
end

-- What a query has to find, by comparing all.
local function found_by_hand(index, documents, minhash)
  local info, found = index:info(), {}
  for id, document in pairs(documents) do
    local jaccard = minhash:jaccard(document)
    if jaccard >= info.threshold and share_a_band(info, minhash, document) then
      found[#found + 1] = { id = id, jaccard = jaccard }
    end
  end
  table.sort(found, function(a, b)
    if a.jaccard ~= b.jaccard then
      return a.jaccard > b.jaccard
    end
    return a.id < b.id
  end)
  return found
end

describe("an lsh", function()
  it("finds what comparing all finds, after any insertions, replacements and removals", function()
    local generator = random.new(7)
    for threshold, hashes in pairs { [0.5] = 64, [0.8] = 128, [0.2] = 30 } do
      local options = { threshold = threshold, hashes = hashes }
      local index, documents, n = ps.lsh(options), {}, 0
      for step = 1, 400 do
        local id = ("d%d"):format(generator:integer(60))
        if generator:integer(3) == 1 then
          assert.equal(documents[id] ~= nil, index:remove(id))
          n = n - (documents[id] and 1 or 0)
          documents[id] = nil
        else
          local first = generator:integer(4) * 1000 + generator:integer(40)
          n = n + (documents[id] and 0 or 1)
          documents[id] = range(index, first, first + 80 + generator:integer(20))
          assert.equal(index, index:insert(id, documents[id]))
        end
        assert.equal(n, index:count())
        if step % 20 == 0 then
          local _, some = next(documents)
          assert.same(found_by_hand(index, documents, some), index:query(some))
          local other = range(index, 2000, 2090)
          assert.same(found_by_hand(index, documents, other), index:query(other))
        end
      end
      for id in pairs(documents) do
        assert.is_true(index:remove(id))
      end
      assert.equal(0, index:count())
      assert.is_nil(next(index.buckets))
    end
  end)

  it("keeps a document as it was when it was inserted", function()
    local index = ps.lsh()
    local minhash = range(index, 1, 100)
    index:insert("a", minhash)
    minhash:clear():add "other"
    index:minhash():add "another"
    assert.same({ { id = "a", jaccard = 1 } }, index:query(range(index, 1, 100)))
    assert.same({}, index:query(minhash))
    minhash:close()
    assert.same({ "a" }, ids_of(index:query(range(index, 1, 100))))
  end)

  it("takes ids as keys are taken, and gives strings", function()
    local index = ps.lsh()
    local minhash = range(index, 1, 10)
    index:insert(1, minhash):insert("1", minhash):insert(1.0, minhash):insert(-0.0, minhash)
    index:insert("", minhash):insert("a\0b", minhash):insert("a", minhash):insert("\255", minhash):insert("Z", minhash)
    assert.same({ "", "0", "1", "Z", "a", "a\0b", "\255" }, ids_of(index:query(minhash)))
    assert.equal(7, index:count())
    assert.is_true(index:remove(1))
    assert.is_false(index:remove "1")
    for _, id in ipairs { {}, true, 1.5, 2 ^ 60, 0 / 0 } do
      expect.raise_saying("id expected, a string or an integer, got", index.insert, index, id, minhash)
      expect.raise_saying("id expected, a string or an integer, got", index.remove, index, id)
    end
    expect.raise_saying("id expected", index.insert, index, nil, minhash)
    assert.equal(6, index:count())
  end)

  -- MH-03
  it("refuses a minhash that does not fit, and names what differs", function()
    local index = ps.lsh()
    index:insert("a", range(index, 1, 10))
    local before, closed = index:encode(), ps.minhash()
    closed:close()
    for said, other in pairs {
      ["hashes mismatch (expected 128, got 64)"] = ps.minhash { hashes = 64 },
      ["seed mismatch"] = ps.minhash { seed = 1 },
      ["kind mismatch (expected minhash, got hyperloglog)"] = ps.hll(),
      ["minhash expected, got a table"] = {},
      ["minhash expected, got a closed one"] = closed,
    } do
      expect.raise_saying(said, index.insert, index, "a", other)
      expect.raise_saying(said, index.query, index, other)
    end
    expect.raise_saying("minhash expected, got nil", index.insert, index, "b")
    expect.raise_saying("minhash expected, got nil", index.query, index)
    assert.equal(before, index:encode())
  end)

  -- MH-04
  it("refuses empty sets, and finds nothing that is like one", function()
    local index = ps.lsh { hashes = 32 }
    for i = 1, 1000 do
      expect.raise_saying("the minhash is empty", index.insert, index, "empty" .. i, index:minhash())
      index:insert(i, range(index, i * 100, i * 100 + 20))
    end
    assert.equal(1000, index:count())
    assert.same({}, index:query(index:minhash()))
    assert.same({ "5" }, ids_of(index:query(range(index, 500, 520))))
  end)

  -- MH-08
  it("has no ghosts of what was replaced or removed", function()
    local index = ps.lsh()
    local one, two = range(index, 1, 100), range(index, 1000, 1100)
    index:insert("a", one):insert("a", two)
    assert.equal(1, index:count())
    assert.same({}, index:query(one))
    assert.same({ "a" }, ids_of(index:query(two)))
    assert.is_true(index:remove "a")
    assert.is_false(index:remove "a")
    assert.same({}, index:query(two))
    index:insert("a", one):insert("b", one):insert("c", one)
    index:remove "b"
    assert.same({ "a", "c" }, ids_of(index:query(one)))
    index:insert("c", range(index, 1, 101)) -- as good as the same
    assert.same({ "a", "c" }, ids_of(index:query(one)))
    index:remove "a"
    index:remove "c"
    assert.is_nil(next(index.buckets))
    assert.is_nil(next(index.signatures))
  end)

  -- LU-08
  it("is as before when memory runs out in the middle of an insertion", function()
    local index = ps.lsh()
    local one, other = range(index, 1, 100), nil
    index:insert("a", one):insert("b", range(index, 1000, 1100))
    local before, left = index:encode(), nil
    setmetatable(index.buckets, { __newindex = function(buckets, key, id)
      left = left - 1
      if left < 0 then
        error "not enough memory"
      end
      rawset(buckets, key, id)
    end })
    for room = 0, index:info().bands - 1 do
      for i, id in ipairs { "a", "new" } do
        left, other = room, range(index, 10000 * i + 100 * room, 10000 * i + 100 * room + 99)
        expect.raise_saying("not enough memory", index.insert, index, id, other)
        assert.equal(2, index:count())
        expect.same_bytes(before, index:encode())
        assert.same({ "a" }, ids_of(index:query(one)))
        assert.same({}, index:query(other))
      end
    end
    setmetatable(index.buckets, nil)
    index:insert("a", other)
    assert.same({ "a" }, ids_of(index:query(other)))
    assert.same({}, index:query(one))
    assert.is_false(index:remove "new")
  end)

  -- In a process with little else in it, where the collector comes round often.
  it("stays whole when finalisers change it in the middle of a call", function()
    assert.equal("whole", process.run [[
      local ps, finaliser = require "probsketch", require "spec.support.finaliser"
      local random = require "spec.support.random"
      collectgarbage("setpause", 0)
      collectgarbage("setstepmul", 1000)
      for seed = 1, 30 do
        local index, numbers = ps.lsh { threshold = 0.5, hashes = 16 }, random.new(seed)
        local one, other = index:minhash(), index:minhash()
        one:add "same"
        other:add_many { "same", "more" }
        local function act()
          local id = numbers:integer(seed % 2 == 0 and 6 or 40)
          if numbers:integer(2) == 1 then
            index:remove(id)
          else
            index:insert(id, numbers:integer(3) == 1 and other or one)
          end
        end
        for step = 1, 150 do
          finaliser(act)
          finaliser(act)
          act()
          if step % 5 == 0 then
            index:query(one)
          end
          if step % 50 == 0 then
            assert(ps.lsh { bytes = index:encode() })
          end
        end
        collectgarbage()
        local twin = assert(ps.lsh { bytes = index:encode() })
        assert(index:count() == twin:count(), "count")
        assert(#index:query(one) == #twin:query(one) and #index:query(other) == #twin:query(other), "query")
      end
      io.write "whole"
    ]])
  end)

  it("makes room again when many alike are removed", function()
    local index = ps.lsh { hashes = 8, threshold = 0.9 }
    local minhash = range(index, 1, 10)
    for i = 1, 2000 do
      index:insert(i, minhash)
    end
    assert.equal(2000, #index:query(minhash))
    for i = 1, 1990 do
      assert.is_true(index:remove(i))
    end
    for _, bucket in pairs(index.buckets) do
      within(10, 40, bucket.room, "the room of a bucket of 10")
    end
    assert.equal(10, #index:query(minhash))
  end)

  -- LU-11
  it("finds a hundred thousand at once #slow", function()
    local index = ps.lsh { hashes = 8, threshold = 0.9 }
    local minhash = range(index, 1, 10)
    for i = 1, 100000 do
      index:insert(i, minhash)
    end
    local found = index:query(minhash)
    assert.equal(100000, #found)
    local first = ids_of { (table.unpack or unpack)(found, 1, 7) }
    assert.same({ "1", "10", "100", "1000", "10000", "100000", "10001" }, first)
  end)

  -- MH-08
  local measured = memory.is_measurable and it or pending
  measured("does not grow by insertions and removals #slow", function()
    local index = ps.lsh()
    local minhashes = {}
    for i = 1, 50 do
      minhashes[i] = range(index, i, i + 100 + i % 7)
      index:insert("stays" .. i, minhashes[i])
    end
    local function cycles()
      for i = 1, 20000 do
        index:insert(i % 300, minhashes[i % 50 + 1])
        index:remove((i * 7) % 300)
      end
      for i = 0, 299 do
        index:remove(i)
      end
    end
    cycles()
    assert.equal(50, index:count())
    within(-math.huge, 2 ^ 19, memory.growth(cycles), "bytes of growth")
  end)

  it("says what it is", function()
    local index = ps.lsh { threshold = 0.75 }
    index:insert(1, range(index, 1, 5))
    assert.equal("lsh (count 1, threshold 0.75)", tostring(index))
    assert.equal(1, index:info().count)
    assert.equal("lsh", index:kind())
    if _VERSION ~= "Lua 5.1" then
      assert.equal(1, #index)
    end
  end)
end)

describe("the recall of an lsh", function()
  -- Of sets of that similarity exactly: n tokens each, s of them shared.
  local function measure(threshold, n, s)
    local index = ps.lsh { threshold = threshold }
    local documents, PAIRS, OTHERS = {}, 1000, 8000
    local next_token = 1
    local function tokens(count)
      next_token = next_token + count
      return next_token - count, next_token - 1
    end
    for i = 1, PAIRS do
      local first, last = tokens(2 * n - s)
      documents["a" .. i] = range(index, first, first + n - 1)
      documents["b" .. i] = range(index, last - n + 1, last)
    end
    for i = 1, OTHERS do
      documents["other" .. i] = range(index, tokens(n))
    end
    for id, minhash in pairs(documents) do
      index:insert(id, minhash)
    end
    local info, candidates, found, expected, wrong = index:info(), 0, 0, 0, 0
    for i = 1, PAIRS do
      local a, b = documents["a" .. i], documents["b" .. i]
      local candidate = share_a_band(info, a, b)
      candidates = candidates + (candidate and 1 or 0)
      expected = expected + (candidate and a:jaccard(b) >= threshold and 1 or 0)
      for _, item in ipairs(index:query(a)) do
        found = found + (item.id == "b" .. i and 1 or 0)
        wrong = wrong + ((item.id == "b" .. i or item.id == "a" .. i) and 0 or 1)
      end
    end
    local error = math.sqrt(info.recall * (1 - info.recall) / PAIRS)
    within(info.recall - 0.03, 1, candidates / PAIRS, "candidates")
    within(info.recall - 4 * error, info.recall + 4 * error + 0.001, candidates / PAIRS, "candidates")
    assert.equal(expected, found)
    assert.equal(0, wrong) -- precision: all that is found was planted
    within(0.4, 0.6, found / candidates, "share of the estimates that reach the threshold")
  end

  it("is what info() says, for 1000 pairs among 10,000 documents; nothing else is found #slow", function()
    measure(0.8, 90, 80)
    measure(0.5, 90, 60)
    measure(0.9, 95, 90)
  end)
end)
