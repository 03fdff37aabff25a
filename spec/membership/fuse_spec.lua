local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local memory = require "spec.support.memory"
local process = require "spec.support.process"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local measured = memory.is_measurable and it or pending

local near, within, hits = statistics.near, statistics.within, statistics.hits
local bor = math.type and load "local a, b = ...; return a | b"

-- Where the keys begin that no test adds.
local NEVER = 100000000
local MEGABYTE = 2 ^ 20
local RATES = { 1 / 256, 1 / 65536 }

local function numbers(first, last)
  local keys = {}
  for i = first, last do
    keys[#keys + 1] = i
  end
  return keys
end

-- An iterator over the array, and how often it has been called.
local function iterator(array)
  local calls = 0
  return function()
    calls = calls + 1
    return array[calls]
  end, function()
    return calls
  end
end

describe("the size of a fuse filter", function()
  it("is at most 9.1 bits a key for a million keys at 1/256, and 18.2 at 1/65536", function()
    for rate, most in pairs { [1 / 256] = 9.1, [1 / 65536] = 18.2 } do
      local fuse = ps.fuse { keys = numbers(1, 1e6), fp_rate = rate }
      local info = fuse:info()
      within(most - 1.5, most, info.bits_per_key, "bits a key")
      assert.is_true(fuse:bytes() * 8 <= most * 1e6)
      assert.is_true(#fuse:encode() * 8 <= most * 1e6)
      assert.equal(1000000, fuse:count())
      assert.equal(1000000, hits(fuse, 1, 1e6))
    end
  end)

  it("falls towards that from 13 bits a key for a hundred keys", function()
    for n, most in pairs { [100] = 14, [1000] = 11.2, [10000] = 10, [100000] = 9.1, [1e7] = 8.65 } do
      within(8.6, most, ps.plan("fuse", { keys = n }).bits_per_key, "bits a key of %d", n)
    end
  end)

  it("has a rate of 1/256 unless it is given", function()
    assert.equal(ps.fuse { keys = { "a" }, fp_rate = 1 / 256 }, ps.fuse { keys = { "a" } })
    assert.equal(1 / 256, ps.fuse { keys = { "a" } }:info().fp_rate)
  end)
end)

describe("the rate of a fuse filter", function()
  it("is what it says, no more and no less", function()
    for rate, probes in pairs { [1 / 256] = 500000, [1 / 65536] = 3000000 } do
      for _, n in ipairs { 1000, 100000 } do
        local fuse = ps.fuse { keys = numbers(1, n), fp_rate = rate, seed = 3 }
        local expected = probes * rate
        near(expected, 4, math.sqrt(expected), hits(fuse, NEVER, NEVER + probes - 1),
          "strangers affirmed by %d keys at 1/%d", n, 1 / rate)
      end
    end
  end)

  it("is so at sizes of all sorts", function()
    local sizes = { 255, 256, 257, 511, 11400, 11480, 11521, 65535, 65536, 65537, 131072, 218000, 219000, 220000 }
    for i = 1, 20 do
      sizes[#sizes + 1] = math.floor(100 * 1.45 ^ i)
    end
    for _, n in ipairs(sizes) do
      local probes, fuse = 100000, ps.fuse { keys = numbers(1, n) }
      near(probes / 256, 4.5, math.sqrt(probes / 256), hits(fuse, NEVER, NEVER + probes - 1),
        "strangers affirmed by %d keys", n)
    end
  end)

  it("is its square for two filters of other seeds together", function()
    local keys, both, probes = numbers(1, 100000), 0, 1000000
    local a, b = ps.fuse { keys = keys, seed = 1 }, ps.fuse { keys = keys, seed = 2 }
    local asked = numbers(NEVER, NEVER + probes - 1)
    local by_b = b:has_many(asked)
    for i, found in ipairs(a:has_many(asked)) do
      both = both + (found and by_b[i] and 1 or 0)
    end
    near(probes / 65536, 4, math.sqrt(probes / 65536), both, "strangers affirmed by both")
  end)

  it("is so of few keys, on the mean over seeds", function()
    for _, n in ipairs { 1, 2, 3, 5, 20, 50 } do
      local found, probes, seeds = 0, 300, 300
      for seed = 1, seeds do
        found = found + hits(ps.fuse { keys = numbers(1, n), seed = statistics.seed(seed) }, NEVER, NEVER + probes - 1)
      end
      -- One filter's probes are not independent of each other: most slots of a small one are zero.
      near(probes * seeds / 256, 6, math.sqrt(probes * seeds / 256), found, "strangers affirmed by %d keys", n)
    end
  end)

  it("is 0 of no keys", function()
    for _, rate in ipairs(RATES) do
      local fuse = ps.fuse { keys = {}, fp_rate = rate }
      assert.equal(0, fuse:info().fp_rate)
      assert.equal(0, #fuse)
      assert.equal(0, hits(fuse, 1, 100000))
      assert.is_false(fuse:has "" or fuse:has(0))
    end
  end)
end)

describe("the keys of a fuse filter", function()
  it("are all there, whatever their number", function()
    for _, rate in ipairs(RATES) do
      local retried = 0
      for n = 0, 300 do
        local fuse = ps.fuse { keys = numbers(1, n), fp_rate = rate, seed = n }
        assert.equal(n, fuse:count())
        assert.equal(n, hits(fuse, 1, n))
        retried = retried + (fuse:info().attempt > 0 and 1 or 0)
      end
      within(1, 100, retried, "filters that took more than one attempt")
    end
    for n = 11400, 11560, 16 do
      assert.equal(n, hits(ps.fuse { keys = numbers(1, n) }, 1, n))
    end
  end)

  it("are a set: neither order nor repetition tells", function()
    local generator, keys = random.new(1), statistics.keys("k", 1, 3000)
    for _, rate in ipairs(RATES) do
      local fuse = ps.fuse { keys = keys, fp_rate = rate }
      local shuffled = {}
      for i = 1, 9000 do
        shuffled[i] = keys[(i - 1) % 3000 + 1]
      end
      for i = #shuffled, 2, -1 do
        local j = generator:integer(i)
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
      end
      local other = ps.fuse { keys = shuffled, fp_rate = rate }
      assert.equal(3000, other:count())
      expect.same_bytes(fuse:encode(), other:encode())
    end
    assert.equal(1, ps.fuse { keys = { 42, "42", 42.0, "42" } }:count())
    assert.equal(ps.fuse { keys = { "x" } }, ps.fuse { keys = { "x", "x", "x" } })
    expect.raise_saying("option 'keys': array expected", ps.fuse, { keys = { x = true, y = true } })
  end)

  it("may be few keys a great many times each", function()
    local keys = {}
    for i = 1, 200000 do
      keys[i] = i % 3
    end
    local fuse = ps.fuse { keys = keys }
    assert.equal(ps.fuse { keys = { 0, 1, 2 } }, fuse)
  end)

  it("come from a function as from an array", function()
    for _, n in ipairs { 0, 1, 2, 1023, 1024, 1025, 1536, 1537, 5000 } do
      local keys = statistics.keys("k", 1, n)
      local next_key, calls = iterator(keys)
      assert.equal(ps.fuse { keys = keys }, ps.fuse { keys = next_key })
      assert.equal(n + 1, calls()) -- until it returned nil, and not once more
    end
  end)

  it("come from the lines of a file, or a coroutine", function()
    local path = os.tmpname()
    files.write(path, "a\nb\n\nc\n")
    local expected = ps.fuse { keys = { "a", "b", "", "c" } }
    assert.equal(expected, ps.fuse { keys = io.lines(path) })
    assert.equal(expected, ps.fuse { keys = coroutine.wrap(function()
      for _, key in ipairs { "a", "b", "", "c" } do
        coroutine.yield(key, "and what else it says")
      end
    end) })
    os.remove(path)
  end)

  it("are asked of a function without arguments", function()
    local arguments
    ps.fuse { keys = function(...)
      arguments = select("#", ...)
    end }
    assert.equal(0, arguments)
  end)

  it("leave the table that they are in as it was", function()
    local keys = { "b", 3, "a", 1.0, "b", x = "y" }
    local before = { "b", 3, "a", 1.0, "b", x = "y" }
    local options = { keys = keys, fp_rate = 1 / 256 }
    ps.fuse(options)
    ps.plan("fuse", options)
    assert.same(before, keys)
    assert.same({ keys = before, fp_rate = 1 / 256 }, options)
    assert.equal("number", type(keys[2]))
  end)
end)

describe("a fuse filter is not made", function()
  it("without keys, or of what has none", function()
    expect.raise_saying("'keys' is missing", ps.fuse)
    expect.raise_saying("'keys' is missing", ps.fuse, {})
    for _, stranger in ipairs { "x", 5, true, io.stdout, ps.fuse { keys = {} } } do
      local message = expect.raise_saying("'keys'", ps.fuse, { keys = stranger })
      assert.is_truthy(message:find("an array or an iterator function", 1, true), message)
    end
  end)

  it("of an element that is no key, and the message says which it is", function()
    for _, bad in ipairs { {}, true, 1.5, 0 / 0, 1 / 0, print } do
      for _, n in ipairs { 1, 2, 1024, 1025, 3000 } do
        local keys = numbers(1, 3000)
        keys[n] = bad
        for _, source in ipairs { keys, (iterator(keys)) } do
          local message = expect.raise_saying(("element %d"):format(n), ps.fuse, { keys = source })
          assert.is_truthy(message:find("'keys'", 1, true) and message:find("format", 1, true), message)
        end
        expect.raise_saying(("element %d"):format(n), ps.plan, "fuse", { keys = keys })
      end
    end
    expect.raise_saying("element 1", ps.fuse, { keys = function() return false end })
  end)

  it("with other options that are wrong, and its function is not called then", function()
    local next_key, calls = iterator { "a" }
    local all = { { fp_rate = 0.01 }, { seed = -1 }, { max_bytes = 0 }, { max_bytes = 31 }, { capacity = 5 } }
    for _, wrong in ipairs(all) do
      wrong.keys = next_key
      expect.raise(ps.fuse, wrong)
    end
    assert.equal(0, calls())
  end)

  it("when its function raises, or yields where Lua cannot", function()
    local thrown = {}
    local ok, caught = pcall(ps.fuse, { keys = function() error(thrown) end })
    assert.is_true(not ok and caught == thrown)
    expect.raise_saying("in the middle", ps.fuse, { keys = coroutine.wrap(function()
      coroutine.yield "a"
      error "in the middle"
    end) })
    local fine, message = coroutine.resume(coroutine.create(function()
      ps.fuse { keys = function() return coroutine.yield() end }
    end))
    assert.is_true(not fine and type(message) == "string")
  end)

  measured("of keys without end: it stops at its limit", function()
    for _, key in ipairs { "always the same", false } do
      local calls = 0
      local function endless()
        calls = calls + 1
        return key or calls
      end
      local growth = memory.growth(function()
        expect.raise_saying("limit 1000000", ps.fuse, { keys = endless, max_bytes = 1e6 })
        within(1e6, 1e6 + 2, calls, "calls")
        calls = 0
      end)
      assert.is_true(growth < MEGABYTE, growth)
    end
    local output = process.run [[
      local ps, memory = require "probsketch", require "spec.support.memory"
      local calls, before = 0, memory.peak()
      assert(not pcall(ps.fuse, { keys = function() calls = calls + 1; return calls end, max_bytes = 1e6 }))
      print(memory.peak() - before)
    ]]
    assert.is_true(tonumber(output) < 24e6, output) -- of 8 MB of hashes, and half of them once more
  end)

  it("of more keys than its limit allows, whatever they come from", function()
    local keys = numbers(1, 10000)
    local bytes = ps.plan("fuse", { keys = keys }).bytes
    for _, source in ipairs { keys, (iterator(keys)) } do
      expect.raise_saying(("needs %d bytes, limit %d"):format(bytes, bytes - 1), ps.fuse,
        { keys = source, max_bytes = bytes - 1 })
    end
    assert.equal(10000, ps.fuse { keys = (iterator(keys)), max_bytes = bytes }:count())
    local same = {}
    for i = 1, 1000 do
      same[i] = "x"
    end
    assert.equal(1, ps.fuse { keys = same, max_bytes = 32 }:count())
  end)

  measured("and leaks nothing then", function()
    local keys = numbers(1, 20000)
    keys[20001] = {}
    local function refuse()
      for _ = 1, 50 do
        pcall(ps.fuse, { keys = keys })
        pcall(ps.fuse, { keys = (iterator(keys)) })
        pcall(ps.fuse, { keys = numbers(1, 20000), max_bytes = 100 })
      end
    end
    refuse()
    local growth = memory.growth(refuse)
    assert.is_true(growth < MEGABYTE, growth)
  end)
end)

describe("a plan of a fuse filter", function()
  it("says what would be built of an array, attempts and all", function()
    for n = 0, 200 do
      local keys = numbers(1, n)
      keys[#keys + 1] = keys[1]
      local plan, info = ps.plan("fuse", { keys = keys }), ps.fuse { keys = keys }:info()
      assert.equal(n, plan.keys)
      plan.bytes, info.bytes, info.mapped, info.shared = nil, nil, nil, nil
      assert.same(info, plan)
    end
  end)

  it("takes a number of different keys for an array of them", function()
    local keys = numbers(1, 5000)
    assert.same(ps.plan("fuse", { keys = keys, fp_rate = 1 / 65536 }),
      ps.plan("fuse", { keys = 5000, fp_rate = 1 / 65536 }))
    assert.equal(1077248, ps.plan("fuse", { keys = 1e6 }).bytes)
    assert.is_true(ps.plan("fuse", { keys = 2 ^ 31, max_bytes = 2 ^ 53 }).bytes < 9.1 / 8 * 2 ^ 31)
    expect.raise_saying("bytes, limit", ps.plan, "fuse", { keys = 2 ^ 31, fp_rate = 1 / 65536 })
    for _, bad in ipairs { -1, 0.5, 2 ^ 31 + 1, 2 ^ 53, 1e300, 0 / 0, 1 / 0 } do
      expect.raise_saying("'keys'", ps.plan, "fuse", { keys = bad })
    end
  end)

  it("does not call a function: that it has ended then could not be undone", function()
    local next_key, calls = iterator { "a", "b" }
    expect.raise_saying("an array or the number of different keys", ps.plan, "fuse", { keys = next_key })
    assert.equal(0, calls())
  end)
end)

describe("a fuse filter never changes", function()
  it("has no add and no remove", function()
    local fuse = ps.fuse { keys = { "a" } }
    for _, name in ipairs { "add", "add_many", "remove", "frequency", "jaccard" } do
      assert.is_nil(fuse[name])
    end
  end)

  it("does not merge, not even with its twin, and says so", function()
    local a, b = ps.fuse { keys = { "a" } }, ps.fuse { keys = { "a" } }
    local before = a:encode()
    local text = "a fuse does not merge"
    for _, call in ipairs { a.merge, a.union, ps.union, bor } do
      expect.raise_saying(text, call, a, b)
      expect.raise_saying(text, call, a, a)
    end
    local fits, reason = a:compatible(b)
    assert.is_false(fits)
    assert.equal(text, reason)
    expect.same_bytes(before, a:encode())
  end)

  it("is not cleared, and says so", function()
    local fuse = ps.fuse { keys = { "a" } }
    local before = fuse:encode()
    expect.raise_saying("a fuse does not change", fuse.clear, fuse)
    expect.same_bytes(before, fuse:encode())
  end)
end)

describe("the bytes of a fuse filter", function()
  it("are equal for equal keys, rates and seeds, and for no others", function()
    local keys, seen = statistics.keys("k", 1, 1000), {}
    local variants = { {}, { seed = 1 }, { fp_rate = 1 / 65536 }, { fp_rate = 1 / 65536, seed = 1 } }
    for i = 1, 20 do
      local fewer = numbers(1, i)
      variants[#variants + 1] = { keys = fewer }
    end
    for _, options in ipairs(variants) do
      options.keys = options.keys or keys
      local bytes = ps.fuse(options):encode()
      assert.is_nil(seen[bytes])
      seen[bytes] = true
      expect.same_bytes(bytes, ps.fuse(options):encode())
    end
  end)

  it("are refused when they have fingerprints of no keys, though the checksums fit", function()
    for _, rate in ipairs(RATES) do
      local parts = envelope.open(ps.fuse { keys = {}, fp_rate = rate }:encode())
      local payload = parts.payload
      assert.equal(("\0"):rep(#payload), payload)
      for at = 1, #payload do
        parts.payload = envelope.flipped(payload, at, at % 8)
        expect.refusal("corrupt", ps.decode(envelope.seal(parts)))
      end
    end
  end)

  it("keep a filter whose keys are on pages of their own", function()
    local fuse = ps.fuse { keys = numbers(1, 2e6), fp_rate = 1 / 65536 }
    assert.is_true(fuse:bytes() > 4 * MEGABYTE)
    assert.equal(2000000, hits(fuse, 1, 2e6))
    local path = os.tmpname()
    assert(fuse:save(path))
    for _, other in ipairs { assert(ps.load(path)), fuse:copy(), assert(ps.decode(fuse:encode())) } do
      assert.equal(fuse, other)
      assert.equal(hits(fuse, 2e6 - 99999, 2e6 + 100000), hits(other, 2e6 - 99999, 2e6 + 100000))
      other:close()
    end
    os.remove(path)
  end)
end)

describe("while a fuse filter is built", function()
  it("other Lua code may do what it likes", function()
    local options, keys = {}, numbers(1, 3000)
    local secret = ps.fuse { keys = {}, seed = "random" }
    local next_key = iterator(keys)
    local expected = ps.fuse { keys = keys, seed = secret }
    options.seed = secret
    options.keys = function()
      options.keys, options.seed = nil, 5
      secret:close()
      ps.fuse { keys = { "another", "in the middle" } }
      return next_key()
    end
    local fuse = ps.fuse(options)
    assert.equal(expected, fuse)
  end)

  it("finalisers may do so too", function()
    local output = process.run [[
      local ps, finaliser = require "probsketch", require "spec.support.finaliser"
      local keys, changed, building = {}, 0, false
      local function arm()
        finaliser(function()
          if building then
            changed = changed + 1
            keys[#keys] = nil
            keys[#keys] = nil
          end
          arm()
        end)
      end
      collectgarbage("setpause", 0)
      collectgarbage("setstepmul", 1000)
      arm()
      local refused, round = 0, 0
      repeat
        round = round + 1
        -- Of another length each time, so that the collector ends its cycles in all sorts of places.
        local n = 9000 + 101 * round % 11000
        for i = 1, 20000 do keys[i] = i <= n and "k" .. i or nil end
        building = true
        local ok, problem = pcall(ps.fuse, { keys = keys })
        building = false
        assert(ok or problem:find "element", problem)
        refused = refused + (ok and 0 or 1)
        assert(not ok or problem:has "k1")
      until refused == 5 or round == 200
      io.write(changed > 0 and "changed " or "", refused > 0 and "refused " or "", "still here")
    ]]
    assert.equal("changed refused still here", output)
  end)

  measured("it takes less than 60 bytes a key, and gives them back", function()
    for _, source in ipairs { "array", "iterator" } do
      local output = process.run([[
        local ps, memory = require "probsketch", require "spec.support.memory"
        local n, source, keys, i = 1e6, ..., {}, 0
        for j = 1, source == "array" and n or 0 do keys[j] = j end
        local function next_key()
          i = i + 1
          return i <= n and i or nil
        end
        collectgarbage()
        local before = memory.resident()
        local fuse = ps.fuse { keys = source == "array" and keys or next_key }
        local peak = memory.peak()
        collectgarbage()
        collectgarbage()
        assert(#fuse == n)
        print(peak - before, memory.resident() - before)
      ]], source)
      local peak, left = output:match "(%-?%d+)%D+(%-?%d+)"
      assert.is_true(tonumber(peak) < 60e6, output)
      assert.is_true(tonumber(left) < 3e6, output)
    end
  end)

  measured("nothing piles up when many are built and nobody keeps them", function()
    local output = process.run [[
      local ps, memory = require "probsketch", require "spec.support.memory"
      local alive, keys = {}, {}
      for i = 1, 30000 do alive[i] = { i } end
      for i = 1, 20000 do keys[i] = i end
      for i = 1, 1000 do
        keys[1] = -i
        ps.fuse { keys = keys, fp_rate = 1 / 65536 } -- 48 KB each, and half a megabyte while it is built
      end
      print(memory.peak())
    ]]
    assert.is_true(tonumber(output) < 30e6, output)
  end)

  measured("it takes less than 60 bytes a key of ten million #large", function()
    local output = process.run [[
      local ps, memory = require "probsketch", require "spec.support.memory"
      local n, i = 1e7, 0
      local before = memory.resident()
      local fuse = ps.fuse { keys = function()
        i = i + 1
        return i <= n and i or nil
      end }
      print(memory.peak() - before, #fuse)
      fuse:close()
    ]]
    local peak, n = output:match "(%d+)%D+(%d+)"
    assert.equal(1e7, tonumber(n))
    assert.is_true(tonumber(peak) < 60e7, output)
  end)
end)
