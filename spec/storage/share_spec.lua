-- A sketch that processes share: what each adds all see and nothing is lost, and what cannot be shared is refused.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local finaliser = require "spec.support.finaliser"
local kinds = require "spec.support.kinds"
local process = require "spec.support.process"

local directory, path
setup(function()
  directory = files.directory()
  path = directory .. "/sketch"
end)
teardown(function()
  files.remove(directory)
end)
after_each(function()
  os.remove(path)
end)

-- Kinds that are shared, as an expression, so that other processes can make the same.
local shapes = {
  bloom = "ps.bloom{ capacity = 5000, seed = 9 }",
  blocked_bloom = "ps.blocked_bloom{ capacity = 5000 }",
  counting_bloom = "ps.counting_bloom{ capacity = 5000 }",
  minhash = "ps.minhash{ hashes = 100 }",
  count_min = "ps.count_min{ epsilon = 0.01 }",
  ["count_min of bytes"] = "ps.count_min{ width = 1009, depth = 3, counter_bits = 8 }",
  hyperloglog = "ps.hll{ precision = 10 }",
  ddsketch = "ps.ddsketch{ relative_accuracy = 0.05, min_value = 0.5, max_value = 1e4 }",
}

local function make(expression)
  return (loadstring or load)("local ps = require 'probsketch'; return " .. expression)()
end

local regions = 0
local function region()
  regions = regions + 1
  return "region " .. regions
end

-- Enough for a hyperloglog to be dense in private, too.
local KEYS = 4000

-- Key number i of a name, or a value.
local function item(sketch, name, i)
  return kinds[sketch:kind()].key and name .. i or kinds[sketch:kind()].item(name:byte() + i)
end

local function add_all(sketch, name, n)
  for i = 1, n or KEYS do
    sketch:add(item(sketch, name, i))
  end
  return sketch
end

for name, expression in pairs(shapes) do
  describe("a shared " .. name, function()
    it("has what two processes add at the same time, to the byte", function()
      local worker = directory .. "/worker.lua"
      files.write(worker, ([[
        local ps = require "probsketch"
        local kinds = require "spec.support.kinds"
        local path, name, n = ...
        local sketch = assert(ps.share(path, %s))
        local kind = kinds[sketch:kind()]
        for i = 1, n do sketch:add(kind.key and name .. i or kind.item(name:byte() + i)) end
      ]]):format(expression))
      local here = assert(ps.share(path, make(expression)))
      local a = process.command(process.interpreter, worker, path, "a", KEYS)
      local b = process.command(process.interpreter, worker, path, "b", KEYS)
      local output, status = process.shell(a .. " & " .. b .. " && wait $!")
      assert.equal(0, status, output)
      add_all(here, "c")
      local whole = make(expression)
      for _, who in ipairs { "a", "b", "c" } do
        add_all(whole, who)
      end
      expect.same_bytes(whole:encode(), here:encode())
      assert.equal(whole:count(), here:count())
      assert.is_true(here == whole and here:copy() == whole)
      expect.same_bytes(whole:encode(), assert(ps.load(path)):encode())
      expect.same_bytes(whole:encode(), assert(ps.open(path)):encode())
      local decoder, live = ps.decoder(), files.read(path)
      for at = 1, #live, 1000 do
        assert(decoder:feed(live:sub(at, at + 999)))
      end
      expect.same_bytes(whole:encode(), assert(decoder:finish()):encode())
    end)

    it("begins with what is in the sketch, and later sketches do not matter", function()
      for _, shared in ipairs { path, region() } do
        local first = add_all(make(expression), "x")
        local a = assert(ps.share(shared, first))
        local b = assert(ps.share(shared, add_all(make(expression), "y")))
        expect.same_bytes(first:encode(), a:encode())
        expect.same_bytes(first:encode(), b:encode())
        add_all(b, "z")
        add_all(first, "z")
        expect.same_bytes(first:encode(), a:encode())
        a:close()
        assert.equal(first:count(), b:count())
        expect.same_bytes(first:encode(), assert(ps.share(shared, b)):encode())
      end
    end)

    it("adds and asks in batches as one by one", function()
      local a = assert(ps.share(region(), make(expression)))
      local b = assert(ps.share(region(), make(expression)))
      local keys, changed = {}, 0
      for i = 1, 3000 do
        keys[i] = item(a, "key ", i % 2000)
        local new = a:add(keys[i])
        changed = changed + (new and 1 or 0)
      end
      -- add() of a counting filter says whether the key is new; each changes it all the same.
      assert.equal(name == "counting_bloom" and #keys or changed, b:add_many(keys))
      expect.same_bytes(a:encode(), b:encode())
      if a.has_many then
        assert.same(a:copy():has_many(keys), a:has_many(keys))
      end
    end)

    it("is encoded, saved, copied and merged from as it is, and stays as it was", function()
      local shared = add_all(assert(ps.share(region(), make(expression))), "x")
      local private = add_all(make(expression), "x")
      local before = shared:encode()
      local pieces = {}
      for piece in shared:chunks(1000) do
        pieces[#pieces + 1] = piece
      end
      expect.same_bytes(before, table.concat(pieces))
      assert(shared:save(path))
      assert.is_true(ps.load(path) == private)
      local other = add_all(make(expression), "y")
      local union = private:union(other):encode()
      expect.same_bytes(union, shared:union(other):encode())
      expect.same_bytes(union, other:union(shared):encode())
      expect.same_bytes(union, other:copy():merge(shared):encode())
      local info, expected = shared:info(), private:info()
      assert.is_true(info.shared and not info.mapped and not expected.shared)
      info.shared, info.bytes, expected.shared, expected.bytes = nil, nil, nil, nil
      assert.same(expected, info)
      assert.is_true(shared:bytes() < 1000)
      expect.same_bytes(before, shared:encode())
    end)

    it("is cleared for all", function()
      local shared = region()
      local a, b = assert(ps.share(shared, make(expression))), assert(ps.share(shared, make(expression)))
      add_all(a, "x")
      assert.is_true(b:count() > 0)
      assert.equal(b, b:clear())
      assert.equal(0, a:count())
    end)

    it("takes no merges, though it goes together with what a copy takes", function()
      local shared = add_all(assert(ps.share(region(), make(expression))), "x")
      local other = add_all(make(expression), "y")
      local before = shared:encode()
      local message = expect.raise(shared.merge, shared, other)
      assert.matches("a shared [%w_]+ is not merged into: merge into a copy%(%)", message)
      expect.same_bytes(before, shared:encode())
      assert.is_true(shared:compatible(other) and other:compatible(shared))
      assert.equal(shared:union(other), shared:copy():merge(other))
      local fits, difference = shared:compatible(ps.tdigest())
      assert.is_true(not fits and difference:find "^kind mismatch" ~= nil)
    end)

    it("is refused for other parameters, and for what is no shared sketch", function()
      for _, shared in ipairs { path, region() } do
        local first = add_all(assert(ps.share(shared, make(expression))), "x")
        local before, stored = first:encode(), shared == path and files.read(path)
        local seeded = name ~= "ddsketch"
        local other = seeded and expression:gsub("{", "{ seed = 1, "):gsub(", seed = 9", "")
          or expression:gsub("1e4", "2e4")
        assert.matches(seeded and "seed mismatch" or "max_value mismatch",
          expect.refusal("mismatch", ps.share(shared, make(other))))
        expect.refusal("kind", ps.share(shared, name ~= "hyperloglog" and ps.hll() or ps.bloom { capacity = 1 }))
        expect.same_bytes(before, first:encode())
        assert.is_true(not stored or stored == files.read(path))
      end
      os.remove(path)
      assert(make(expression):save(path))
      local saved = files.read(path)
      assert.matches("a saved one", expect.refusal("mismatch", ps.share(path, make(expression))))
      expect.same_bytes(saved, files.read(path))
    end)
  end)
end

describe("parameters", function()
  it("are compared, all of them", function()
    local name = region()
    assert(ps.share(name, ps.bloom { bits = 1000, hashes = 3 }))
    assert.matches("bits mismatch %(expected 1001, got 1000%)",
      expect.refusal("mismatch", ps.share(name, ps.bloom { bits = 1001, hashes = 3 })))
    name = region()
    assert(ps.share(name, ps.count_min { width = 2719, depth = 5 }))
    expect.refusal("mismatch", ps.share(name, ps.count_min { epsilon = 0.001, delta = 0.01 }))
  end)

  it("give way where a seed is secret: the first one's counts", function()
    local a = assert(ps.share(path, ps.bloom { capacity = 10, seed = "random" }))
    local b = assert(ps.share(path, ps.bloom { capacity = 10, seed = "random" }))
    a:add "key"
    assert.is_true(b:has "key" and a == b)
    assert.is_nil(b:info().seed)
    assert.matches("secret", expect.refusal("mismatch", ps.share(path, ps.bloom { capacity = 10 })))
    local public = region()
    assert(ps.share(public, ps.bloom { capacity = 10 }))
    assert.matches("secret", expect.refusal("mismatch", ps.share(public, ps.bloom { capacity = 10, seed = "random" })))
  end)
end)

describe("counts", function()
  it("age for all, and what overflows is said", function()
    local name = region()
    local a = assert(ps.share(name, ps.count_min { width = 100, depth = 3, counter_bits = 8 }))
    local b = assert(ps.share(name, ps.count_min { width = 100, depth = 3, counter_bits = 8 }))
    assert.equal(200, a:add("key", 200))
    assert.equal(250, b:add("key", 50))
    assert.is_false(a:info().saturated)
    b:halve()
    assert.equal(125, a:frequency "key")
    assert.equal(125, a:count())
    a:decay(0.2)
    assert.equal(25, b:frequency "key")
    assert.equal(255, a:add("key", 300))
    assert.is_true(b:info().saturated)
    assert.equal(325, b:count())
  end)

  it("of keys only rise", function()
    local shared = assert(ps.share(region(), ps.counting_bloom { capacity = 100 }))
    assert.is_true(shared:add("key", 3))
    assert.is_false(shared:add "key")
    assert.equal(4, shared:frequency "key")
    assert.is_true(shared:at_least("key", 4))
    expect.raise_saying("a shared counting_bloom is not removed from: remove from a copy()",
      shared.remove, shared, "key")
    assert.equal(4, shared:frequency "key")
    shared:add("key", 100)
    assert.equal(15, shared:frequency "key")
  end)

  it("are multiplied, and sets compared", function()
    local a = assert(ps.share(region(), ps.count_min()))
    a:add("key", 3)
    assert.equal(9, a:inner_product(a))
    local x, y = assert(ps.share(region(), ps.bloom { capacity = 100 })), ps.bloom { capacity = 100 }
    assert.equal(1, x:jaccard(y))
    x:add "key"
    assert.equal(0, x:jaccard(y))
    local h, private = assert(ps.share(region(), ps.hll())), ps.hll()
    add_all(h, "x")
    add_all(private, "x")
    assert.equal(private:estimate(), h:estimate())
    assert.same({ private:bounds(2) }, { h:bounds(2) })
    assert.equal(private:fold(8), h:fold(8))
    assert.equal(private:jaccard(private), h:jaccard(private))
  end)
end)

describe("quantiles", function()
  local RANGE = { min_value = 1, max_value = 1000 }
  local function two()
    local name = region()
    return assert(ps.share(name, ps.ddsketch(RANGE))), assert(ps.share(name, ps.ddsketch(RANGE)))
  end

  it("are those of what all have added", function()
    local a, b = two()
    local private = ps.ddsketch(RANGE)
    assert.is_nil(a:quantile(0.5) or a:quantiles { 0.5 } or a:min() or a:max() or a:mean())
    assert.same({ 0, 0 }, { a:sum(), a:rank(5) })
    for i = -500, 5000 do
      local x, weight = i % 7 == 0 and 0 or i / 3, i % 5
      assert.equal(a, a:add(x, weight))
      private:add(x, weight)
      b:add(x)
      private:add(x)
    end
    for _, method in ipairs { "count", "min", "max", "sum", "mean" } do
      assert.equal(private[method](private), a[method](a), method)
    end
    for i = 0, 100 do
      assert.equal(private:quantile(i / 100), b:quantile(i / 100))
      assert.equal(private:rank(i * 17 - 200), b:rank(i * 17 - 200))
    end
    assert.same(private:quantiles { 0.9, 0, 1, 0.1 }, a:quantiles { 0.9, 0, 1, 0.1 })
    assert.is_true(a:info().clamped)
    expect.raise_saying("q ", a.quantile, a, 95)
    expect.raise_saying("finite", a.rank, a, 0 / 0)
    expect.same_bytes(private:encode(), a:encode())
  end)

  it("stop at 2^53, and nothing is changed that does not fit", function()
    local a, b = two()
    a:add(7, 2 ^ 53 - 10)
    b:add(0, 5):add(-2, 3)
    local before = a:encode()
    for _, add in ipairs { function() a:add(5, 3) end, function() b:add_many { 1, 2, 3 } end,
      function() a:add(5, 2 ^ 53) end, function() a:add_many { 1, 0 / 0 } end } do
      expect.raise(add)
      expect.same_bytes(before, b:encode())
    end
    assert.equal(2, b:add_many { -0.0, 9 })
    b:add(5, 0)
    expect.raise_saying("the total of all weights would pass 2^53", a.add, a, 5)
    assert.equal(2 ^ 53, b:count())
    assert.same({ -2, 9 }, { b:min(), a:max() })
    assert.equal(7, a:clear():add(7):quantile(0.5))
    assert.equal(1, b:count())
  end)

  it("are asked of a sketch that a finaliser may close in the middle", function()
    local fine = { relative_accuracy = 0.001, min_value = 1, max_value = 1e6 }
    for _, ask in ipairs {
      function(s) return s:quantile(0.5) end, function(s) return s:quantiles({ 0, 1 })[1] end,
      function(s) return s:rank(5) end, function(s) return s:min() end, function(s) return s:sum() end,
    } do
      local shared, closed = assert(ps.share(path, ps.ddsketch(fine):add(5))), false
      finaliser(function()
        shared:close()
        closed = true
      end)
      repeat
        local ok, answer = pcall(ask, shared)
        assert.is_true(ok and (answer == 5 or answer == 1) or answer:find "closed" ~= nil, answer)
      until closed
      os.remove(path)
    end
  end)

  it("of a file that holds anything are numbers in order", function()
    assert(ps.share(path, ps.ddsketch(RANGE)))
    local bytes, payload = files.read(path), ps.plan("ddsketch", RANGE).bytes
    for _, word in ipairs { ("\255"):rep(8), ("\127"):rep(8), "\0\0\0\0\0\0\240\127", "\1\0\0\0\0\0\0\128" } do
      for from = 0, 3 do
        files.write(path, bytes:sub(1, 4096 + 8 * from) .. word:rep(payload / 8 + 1 - from) .. bytes:sub(-8))
        local shared = assert(ps.share(path, ps.ddsketch(RANGE)))
        local last = -math.huge
        for i = 0, 20 do
          local x = shared:quantile(i / 20)
          assert.is_true(x >= last and x < math.huge, x)
          last = x
        end
        assert.equal(2 ^ 53, shared:count())
        assert.is_true(shared:info().zeros <= 2 ^ 53 and shared:rank(5) <= 1 and shared:mean() <= shared:max())
        local copy = shared:copy()
        for _, same in ipairs { shared, assert(ps.load(path)), assert(ps.decode(shared:encode())) } do
          expect.same_bytes(copy:encode(), same:encode())
        end
        local merged = assert(ps.decode(ps.ddsketch(RANGE):merge(shared):encode()))
        assert.same(shared:quantiles { 0, 0.5, 1 }, merged:quantiles { 0, 0.5, 1 })
        pcall(shared.add, shared, 5)
        shared:clear():add(5)
        assert.same({ 1, 5, 5 }, { shared:count(), shared:min(), shared:max() })
      end
    end
  end)
end)

describe("sharing", function()
  it("is refused for kinds that cannot, with advice", function()
    for _, kind in ipairs(kinds) do
      local sketch = kind.new()
      if not shapes[kind.name] then
        local message = expect.raise_saying("is not shared: ", ps.share, path, sketch)
        assert.matches(kind.name == "fuse" and "open%(%) the file" or "keep one per worker and merge", message)
      end
    end
    for _, sketch in ipairs { ps.hll { hip = true }, ps.count_min { conservative = true }, ps.ddsketch() } do
      expect.raise_saying("or keep one per worker and merge", ps.share, path, sketch)
    end
    assert.is_nil(io.open(path))
  end)

  it("takes a name and a sketch", function()
    for _, name in ipairs { 1, true, "", "a\0b", {} } do
      expect.raise(ps.share, name, ps.hll())
    end
    expect.raise_saying("sketch expected", ps.share, path)
    expect.raise_saying("sketch expected", ps.share, path, {})
    local closed = ps.hll()
    closed:close()
    expect.raise_saying("closed", ps.share, path, closed)
    assert.is_nil(io.open(path))
  end)

  it("lets go of a file that is removed, and keeps what has it", function()
    local old = assert(ps.share(path, ps.bloom { capacity = 10 }))
    os.remove(path)
    old:add "key"
    local new = assert(ps.share(path, ps.bloom { capacity = 10 }))
    assert.is_true(old:has "key" and not new:has "key")
    old:close()
    expect.raise_saying("closed", old.has, old, "key")
    assert.is_false(new:has "key")
  end)
end)
