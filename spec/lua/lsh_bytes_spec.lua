-- The bytes of an index of signatures: equal indexes have equal ones, and whatever is wrong is refused.

local ps = require "probsketch"
local container = require "probsketch.container"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local memory = require "spec.support.memory"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local function range(index, first, last)
  return statistics.add_range(index:minhash(), first, last)
end

-- An index of documents i of the tokens 10 i .. 10 i + 30, put in in this order.
local function of(options, order)
  local index = ps.lsh(options)
  for _, i in ipairs(order) do
    index:insert("d" .. i, range(index, 10 * i, 10 * i + 30))
  end
  return index
end

local function numbers(n)
  local order = {}
  for i = 1, n do
    order[i] = i
  end
  return order
end

local SMALL = { threshold = 0.5, hashes = 12 }
local EMPTY = ps.minhash { hashes = 12 }:encode()

-- Some minima, each the same byte over and over.
local function minima(letter, n)
  return letter:rep(8 * (n or 12))
end

local function load(bytes, options)
  options = options or {}
  options.bytes = bytes
  return ps.lsh(options)
end

local function written(parts, threshold, more)
  return container.write("lsh", { { "threshold", threshold or 0.5 }, more }, parts)
end

describe("the bytes of an lsh", function()
  it("are the same for the same documents, in whatever order they came and went", function()
    local generator = random.new(3)
    local bytes = of(SMALL, numbers(40)):encode()
    for _ = 1, 5 do
      local index = of(SMALL, generator:shuffled(numbers(60)))
      index:insert("d7", range(index, 1, 5))
      for _, i in ipairs(generator:shuffled(numbers(60))) do
        if i > 40 then
          index:remove("d" .. i)
        end
      end
      assert.not_equal(bytes, index:encode())
      index:insert("d7", range(index, 70, 100))
      expect.same_bytes(bytes, index:encode())
    end
  end)

  it("make an equal index, which goes on as the first one does", function()
    for _, options in ipairs { SMALL, {}, { threshold = 1, hashes = 3, seed = 2 ^ 40 }, { seed = "random" } } do
      local first = of(options, numbers(30))
      local second = assert(load(first:encode()))
      expect.same_bytes(first:encode(), second:encode())
      assert.same(first:info(), second:info())
      for step = 1, 2 do
        for i = 1, 40, 3 do
          local minhash = range(first, 10 * i, 10 * i + 30)
          assert.same(first:query(minhash), second:query(minhash))
          assert.equal(first:remove("d" .. i + step), second:remove("d" .. i + step))
          first:insert("e" .. i, minhash)
          second:insert("e" .. i, minhash)
        end
        expect.same_bytes(first:encode(), second:encode())
      end
    end
    assert.equal(0, assert(load(ps.lsh():encode())):count())
  end)

  it("keep any id, and order ids by their bytes", function()
    local index = ps.lsh(SMALL)
    local minhash = range(index, 1, 10)
    for _, id in ipairs { "\255", "a", "", "Z", "a\0", 10, "a\0b", 9 } do
      index:insert(id, minhash)
    end
    local _, parts = assert(container.read(index:encode(), "lsh", { "threshold" }))
    local ids = {}
    for i = 2, #parts do
      ids[i - 1] = parts[i][1]
    end
    assert.same({ "", "10", "9", "Z", "a", "a\0", "a\0b", "\255" }, ids)
    assert.same(index:query(minhash), assert(load(index:encode())):query(minhash))
  end)

  it("do not change by asking", function()
    local index = of(SMALL, numbers(20))
    local bytes = index:encode()
    index:query(range(index, 1, 50))
    index:remove "none"
    expect.same_bytes(bytes, index:encode())
  end)

  it("have to be those of the options that are given with them", function()
    local bytes = of({ threshold = 0.5, hashes = 12, seed = 7 }, numbers(3)):encode()
    for _, options in ipairs { { threshold = 0.5 }, { hashes = 12 }, { seed = 7 }, { seed = "random" },
      { threshold = 0.5, hashes = 12, seed = ps.hll { seed = 7 } } } do
      assert.equal(3, assert(load(bytes, options)):count())
    end
    for said, options in pairs {
      ["threshold mismatch (expected 0.8, got 0.5)"] = { threshold = 0.8 },
      ["hashes mismatch (expected 128, got 12)"] = { hashes = 128 },
      ["seed mismatch"] = { seed = 8 },
    } do
      assert.is_truthy(expect.refusal("mismatch", load(bytes, options)):find(said, 1, true))
    end
  end)

  it("are refused when they are cut short or a bit of them is changed", function()
    local bytes = of(SMALL, numbers(2)):encode()
    for length = 0, #bytes - 1 do
      expect.refusal("truncated", load(bytes:sub(1, length)))
    end
    for at = 1, #bytes do
      expect.refusal(nil, load(envelope.flipped(bytes, at, at % 8)))
    end
    expect.refusal("magic", load("not an index, though it is as long as one has to be"))
    expect.refusal("kind", load(EMPTY))
    expect.refusal("kind", load(container.write("window", { { "threshold", 0.5 } }, {})))
  end)

  it("are refused when they say what no index says", function()
    local a, b = minima "a", minima "b"
    assert.equal(2, assert(load(written { { "", EMPTY }, { "a", a }, { "b", b } })):count())
    assert.equal(1, assert(load(written { { "", EMPTY }, { "", minima("\255", 11) .. minima("a", 1) } })):count())
    local full = ps.minhash { hashes = 12 }
    full:add "a"
    for name, bytes in pairs {
      ["no minhash"] = written {},
      ["no empty one"] = written { { "", full:encode() } },
      ["another kind"] = written { { "", ps.hll():encode() } },
      ["a minhash with a name"] = written { { "a", EMPTY } },
      ["a minhash that is damaged"] = written { { "", envelope.flipped(EMPTY, 50, 1) } },
      ["documents out of order"] = written { { "", EMPTY }, { "b", b }, { "a", a } },
      ["a document twice"] = written { { "", EMPTY }, { "a", a }, { "a", a } },
      ["an id twice"] = written { { "", EMPTY }, { "a", a }, { "a", b } },
      ["an empty document"] = written { { "", EMPTY }, { "a", minima "\255" } },
      ["a short document"] = written { { "", EMPTY }, { "a", minima("a", 11) } },
      ["a long document"] = written { { "", EMPTY }, { "a", minima("a", 13) } },
      ["an odd document"] = written { { "", EMPTY }, { "a", a .. "a" } },
      ["a document without minima"] = written { { "", EMPTY }, { "a", "" } },
      ["another number"] = written({ { "", EMPTY } }, 0.5, { "hashes", 12 }),
      ["no threshold"] = container.write("lsh", {}, { { "", EMPTY } }),
    } do
      local code = name == "another kind" and "kind" or name:find "damaged" and "checksum" or "corrupt"
      expect.refusal(code, load(bytes))
    end
    for _, threshold in ipairs { 0, -0.5, 1.5, 1e300, 0.1 } do -- the last is too low for 12 functions
      expect.refusal("range", load(written({ { "", EMPTY } }, threshold)))
    end
  end)

  it("are refused with the minhash in the form of a file, which is not what encode() writes", function()
    local path = os.tmpname()
    finally(function() os.remove(path) end)
    assert(ps.minhash { hashes = 12 }:save(path))
    local file = assert(io.open(path, "rb"))
    local paged = file:read "*a"
    file:close()
    expect.refusal("corrupt", load(written { { "", paged } }))
  end)

  it("respect the limit of bytes for a sketch", function()
    local bytes = ps.lsh { hashes = 1000 }:encode()
    local limit = ps.max_bytes()
    finally(function() ps.max_bytes(limit) end)
    ps.max_bytes(4000)
    expect.refusal("limit", load(bytes))
  end)

  local measured = memory.is_measurable and it or pending
  measured("are refused without memory for what is not there", function()
    local claims = written { { "", envelope.spliced(EMPTY, 33, envelope.little(4, 65536)) } }
    assert.is_true(memory.growth(function()
      for _ = 1, 1000 do
        expect.refusal(nil, load(claims))
      end
    end) < 2 ^ 18)
  end)
end)
