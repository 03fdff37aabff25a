local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"
local truths = require "spec.support.truths"

local within, zipf, exact = statistics.within, statistics.zipf, statistics.exact
local hold_to_form, hold_to_truth = truths.hold_to_form, truths.hold_to_truth
local by_string, recall = truths.by_string, truths.recall

local TWO_53 = 2 ^ 53

local function add_all(top_k, stream)
  top_k:add_many(stream)
  return top_k
end

describe("a top_k", function()
  it("takes the empty key in a batch as it does one by one, and lets it go again", function()
    local batch, single = ps.top_k{ k = 2 }, ps.top_k{ k = 2 }
    assert.equal(3, batch:add_many { "", "a", "" })
    for _, key in ipairs { "", "a", "" } do
      single:add(key)
    end
    expect.same_bytes(single:encode(), batch:encode())
    assert.same({ key = "", count = 2, error = 0 }, batch:list()[1])
    batch:add_many { "b", "b", "b", "c", "c", "c" }
    batch:halve()
    batch:copy():merge(single)
    batch:add_many { "" }
    batch:clear()
    assert.equal(0, batch:count())
  end)

  it("has the counters of a count_min of the same epsilon and delta, and 68 bytes for each of its k", function()
    for _, options in ipairs { {}, { epsilon = 0.01 }, { delta = 1e-6 }, { width = 100, depth = 7 } } do
      local counters = ps.plan("count_min", options)
      for _, k in ipairs { 1, 10, 1e6 } do
        options.k = k
        local plan = ps.plan("top_k", options)
        assert.equal(counters.width, plan.width)
        assert.equal(counters.depth, plan.depth)
        assert.equal(counters.bytes + 68 * k, plan.bytes)
      end
      options.k = nil
    end
    assert.equal(10, ps.plan("top_k").k)
    assert.equal(2719, ps.plan("top_k").width)
  end)

  it("is exact while no more keys have come than it lists", function()
    local top_k, generator, truth = ps.top_k{ k = 40, width = 2, depth = 1 }, random.new(1), {}
    for _ = 1, 2000 do
      local key, n = ("key %d"):format(generator:integer(40)), generator:integer(9) - 1
      truth[key] = (truth[key] or 0) + n
      assert.equal(truth[key], top_k:add(key, n))
    end
    local list = hold_to_form(top_k)
    assert.equal(40, #list)
    for _, item in ipairs(list) do
      assert.same({ key = item.key, count = truth[item.key], error = 0 }, item)
    end
    assert.equal(0, top_k:frequency "another")
    assert.equal(0, top_k:info().error_bound)
  end)

  it("keeps the truth within its bounds, and answers add with what frequency says", function()
    for seed = 1, 40 do
      local generator = random.new(seed)
      local top_k = ps.top_k{ k = generator:integer(8), width = generator:integer(20), depth = generator:integer(4),
        seed = statistics.seed(seed) }
      local truth, total = {}, 0
      for i = 1, 600 do
        local key = ("%d"):format(generator:integer(generator:integer(60)))
        local n = generator:integer(5) - 1
        local before = n == 0 and top_k:encode()
        truth[key], total = (truth[key] or 0) + n, total + n
        local answer = top_k:add(key, n)
        assert.equal(answer, top_k:frequency(key))
        assert.is_true(n > 0 or before == top_k:encode())
        if i % 50 == 0 then
          hold_to_truth(top_k, truth)
        end
      end
      assert.equal(total, top_k:count())
    end
  end)

  it("lists no key twice, however keys come, go and come again", function()
    for seed = 1, 60 do
      local generator, counts = random.new(seed), {}
      local top_k = ps.top_k{ k = 10, width = 8, depth = 7, seed = statistics.seed(seed) }
      for i = 1, 2000 do
        local key = string.char(96 + generator:integer(generator:integer(12)))
        counts[key] = (counts[key] or 0) + 1
        top_k:add(key)
        if i % 100 == 0 then
          hold_to_truth(top_k, counts)
        end
        if i % 900 == 0 then
          top_k:halve()
          for one, n in pairs(counts) do
            counts[one] = math.floor(n / 2)
          end
        end
      end
    end
  end)

  it("says of what entered late that a part of its count is only estimated", function()
    local top_k, counts = ps.top_k{ k = 3 }, {}
    for key in ("X X Y Z A B C X X A A A 1 2 3 4 5 6"):gmatch "%S" do
      counts[key] = (counts[key] or 0) + 1
      top_k:add(key)
    end
    hold_to_truth(top_k, counts)
    local list = top_k:list()
    assert.same({ key = "A", count = 4, error = 1 }, list[1])
    assert.same({ key = "X", count = 4, error = 0 }, list[2])
  end)

  it("takes weights that are integers from 0 to 2^53, and no others", function()
    local top_k = ps.top_k{ k = 2, width = 8, depth = 2 }
    add_all(top_k, { "a", "b", "c", "c" })
    local bytes = top_k:encode()
    for _, bad in ipairs { -1, 0.5, 0 / 0, 1 / 0, -1 / 0, TWO_53 + 2, "3", "3x", true, {} } do
      expect.raise_saying("an integer from 0 to 2^53", top_k.add, top_k, "a", bad)
    end
    for _, key in ipairs { "a", "b", "c", "new" } do
      assert.equal(top_k:frequency(key), top_k:add(key, 0))
    end
    expect.same_bytes(bytes, top_k:encode())
    assert.equal(2, top_k:add("a", 1.0))
  end)

  it("takes any weight in one step", function()
    local top_k = ps.top_k{ k = 1, width = 1, depth = 2 }
    assert.equal(1e6, top_k:add("a", 1e6))
    assert.equal(1e9, top_k:add("b", 1e9))
    assert.equal("b", top_k:list()[1].key)
    local start = os.clock()
    top_k:add("c", TWO_53)
    assert.is_true(os.clock() - start < 0.01)
    assert.equal("c", top_k:list()[1].key)
  end)

  it("keeps keys of any bytes and length, and integers as their digits", function()
    local keys = { "", "\0", "\0\0", "a\0b", "a\0c", ("x"):rep(1e5), ("x"):rep(1e5 - 1) .. "y", "-5", "0" }
    local top_k = ps.top_k{ k = 20 }
    for i, key in ipairs(keys) do
      top_k:add(key, i)
    end
    top_k:add(-5)
    top_k:add(0)
    top_k:add(7)
    top_k:add "7"
    local found = {}
    for _, item in ipairs(ps.decode(top_k:encode()):list()) do
      found[item.key] = item.count
    end
    for i, key in ipairs(keys) do
      assert.equal(i + (tonumber(key) and 1 or 0), found[key])
    end
    assert.equal(2, found["7"])
    assert.equal(#keys + 1, #top_k:list())
  end)

  it("holds the bytes of the keys that it lists, and no others", function()
    local top_k = ps.top_k{ k = 8 }
    for i = 1, 8 do
      top_k:add(("x"):rep(999) .. i, 10)
    end
    local full = top_k:bytes()
    within(8000, 9000, full - ps.top_k{ k = 8 }:bytes(), "bytes for 8 keys of 1000")
    top_k:add(("x"):rep(1000), 100)
    top_k:add(("y"):rep(100000))
    assert.equal(full, top_k:bytes())
    top_k:add(("y"):rep(100000), 100)
    assert.equal(full + 99000, top_k:bytes())
    assert.equal(ps.top_k{ k = 8 }:bytes(), top_k:clear():bytes())
  end)

  it("lists ties in the order of the keys' bytes", function()
    local top_k = ps.top_k{ k = 6 }
    for _, key in ipairs { "b", "a", "\200", "ab", "", "a\0" } do
      top_k:add(key, 5)
    end
    local keys = {}
    for i, item in ipairs(top_k:list()) do
      keys[i] = item.key
    end
    assert.same({ "", "a", "a\0", "ab", "b", "\200" }, keys)
  end)

  it("is the same however the stream is cut into calls", function()
    local stream = zipf(1, 1, 3000, 6000)
    for i, key in ipairs(stream) do
      stream[i] = key % 5 == 0 and ("a key of its own length" .. ("."):rep(key % 97)) .. key or key
    end
    for _, k in ipairs { 1, 10, 300 } do
      local single = ps.top_k{ k = k, width = 100, depth = 3 }
      for _, key in ipairs(stream) do
        single:add(key)
      end
      for _, size in ipairs { 1, 2, 7, 100, 1023, 1024, 1025, 6000 } do
        local cut = ps.top_k{ k = k, width = 100, depth = 3 }
        for from = 1, #stream, size do
          local part = {}
          for i = from, math.min(from + size - 1, #stream) do
            part[#part + 1] = stream[i]
          end
          assert.equal(#part, cut:add_many(part))
        end
        assert.equal(single, cut)
        expect.same_bytes(single:encode(), cut:encode())
        assert.equal(single:bytes(), cut:bytes())
      end
    end
  end)
end)

describe("what a top_k lists", function()
  local function hold_to_recall(seeds, events, keys)
    for seed = 1, seeds do
      local stream = zipf(seed, 1.1, keys, events)
      local truth = by_string(exact(stream))
      local ten = add_all(ps.top_k{ seed = statistics.seed(seed) }, stream)
      local hundred = add_all(ps.top_k{ k = 100, seed = statistics.seed(seed) }, stream)
      assert.equal(1, recall(ten, truth, 10))
      within(0.98, 1, recall(hundred, truth, 100), "recall of the top 100")
      for _, top_k in ipairs { ten, hundred } do
        assert.is_true(top_k:bytes() <= 65536)
        local k = top_k:info().k
        for _, item in ipairs(hold_to_form(top_k)) do
          local n = truth[item.key]
          assert.is_true(item.count - item.error <= n and n <= item.count)
        end
        local phi = math.max(0.01, 1 / k)
        local found = {}
        for _, item in ipairs(top_k:heavy_hitters(phi)) do
          found[item.key] = true
        end
        for key, n in pairs(truth) do
          assert.is_true(n <= phi * events or found[key], key)
        end
      end
    end
  end

  it("is what is there most often", function()
    hold_to_recall(2, 200000, 100000)
  end)

  it("is what is there most often in long streams #slow", function()
    hold_to_recall(5, 1000000, 100000)
  end)

  it("has estimates beside it that keep the bound of the counters", function()
    local stream = zipf(31, 1, 20000, 100000)
    local truth, beyond = by_string(exact(stream)), 0
    local top_k = add_all(ps.top_k{ k = 20, epsilon = 0.002, delta = 0.05 }, stream)
    local bound = top_k:info().error_bound
    within(0.3 * 0.002 * #stream, 0.8 * 0.002 * #stream, bound, "the bound, for what is not listed")
    for key, n in pairs(truth) do
      beyond = beyond + (top_k:frequency(key) - n > bound and 1 or 0)
    end
    within(0, 0.05 * 20000, beyond, "keys beyond the bound")
  end)

  it("is iterated over as it was when that began, whatever becomes of the sketch", function()
    local function fill()
      return add_all(ps.top_k{ k = 5 }, zipf(2, 1, 50, 1000))
    end
    local expected = fill():list()
    for _, change in ipairs {
      function() end,
      function(top_k) top_k:clear() end,
      function(top_k) top_k:close() end,
      function(top_k) top_k:add(("x"):rep(1000), 5000) end,
      function(top_k) top_k:halve():halve() end,
      function(top_k) top_k:merge(fill()) end,
    } do
      local top_k, got = fill(), {}
      local next_item = top_k:each()
      got[1] = next_item()
      change(top_k)
      top_k = nil -- luacheck: ignore 311
      collectgarbage()
      collectgarbage()
      local thread = coroutine.wrap(function()
        got[2] = next_item()
      end)
      thread()
      for item in next_item do
        got[#got + 1] = item
      end
      assert.same(expected, got)
      assert.is_nil(next_item())
      assert.is_nil(next_item())
    end
    assert.is_nil(ps.top_k():each()())
  end)

  it("is whole at any number of keys, and after a round trip", function()
    local top_k = ps.top_k{ k = 5 }
    for n = 0, 9 do
      for _, one in ipairs { top_k, ps.decode(top_k:encode()), top_k:copy() } do
        assert.equal(math.min(n, 5), #hold_to_form(one))
        assert.same(top_k:list(), one:list())
        assert.equal(math.min(n, 5), one:info().listed)
      end
      top_k:add(("key %d"):format(n), n + 1)
    end
    assert.same({}, top_k:clear():list())
  end)
end)

describe("the heavy hitters of a top_k", function()
  it("are those above the share of the total, and not those at it", function()
    local top_k = ps.top_k{ k = 10 }
    for key, n in pairs { a = 50, b = 25, c = 15, d = 10 } do
      top_k:add(key, n)
    end
    for phi, keys in pairs { [0.1] = "abc", [0.14] = "abc", [0.15] = "ab", [0.25] = "a", [0.5] = "", [1] = "" } do
      local got = {}
      for i, item in ipairs(top_k:heavy_hitters(phi)) do
        got[i] = item.key
        assert.same({ key = item.key, count = top_k:frequency(item.key), error = 0 }, item)
      end
      assert.equal(keys, table.concat(got), phi)
    end
    assert.same({}, ps.top_k():heavy_hitters(0.5))
  end)

  it("are asked for with a share from 1/k to 1", function()
    for _, k in ipairs { 1, 3, 7, 10, 49, 1000 } do
      local top_k = ps.top_k{ k = k, width = 10, depth = 1 }
      top_k:add "x"
      top_k:heavy_hitters(1 / k)
      for _, bad in ipairs { 1 / k * (1 - 2 ^ -52), 0, -1, 1 + 2 ^ -52, 95, 0 / 0, 1 / 0, "0.5", true, {} } do
        expect.raise_saying("phi expected, a number from 1/k, which is 1/" .. k, top_k.heavy_hitters, top_k, bad)
      end
      expect.raise_saying("phi", top_k.heavy_hitters, top_k)
    end
  end)
end)

describe("a top_k at its limits", function()
  it("counts listed keys beyond what its counters hold, up to 2^53, and says so there", function()
    local top_k = ps.top_k{ k = 2 }
    top_k:add("x", 2 ^ 32)
    assert.equal(2 ^ 40 + 2 ^ 32, top_k:add("x", 2 ^ 40))
    assert.is_false(top_k:info().saturated)
    assert.equal(TWO_53, top_k:add("x", TWO_53 - 2 ^ 40 - 2 ^ 32))
    assert.is_false(top_k:info().saturated)
    assert.equal(TWO_53, top_k:add "x")
    assert.is_true(top_k:info().saturated)
    assert.equal(TWO_53, top_k:count())
    local back = assert(ps.decode(top_k:encode()))
    assert.equal(top_k, back)
    assert.is_true(back:info().saturated)
    local union = top_k:union(back)
    assert.same({ { key = "x", count = TWO_53, error = 0 } }, union:list())
    assert.equal(union, ps.decode(union:encode()))
    assert.is_true(ps.top_k{ k = 2 }:merge(top_k):info().saturated)
    assert.is_false(top_k:clear():info().saturated)
  end)

  it("says when the total has stopped at 2^53 though no count has", function()
    local top_k = ps.top_k{ k = 3 }
    top_k:add("a", 2 ^ 52)
    top_k:add("b", 2 ^ 52)
    assert.is_false(top_k:info().saturated)
    top_k:add "c"
    assert.equal(TWO_53, top_k:count())
    assert.is_true(top_k:info().saturated)
    assert.equal(top_k, ps.decode(top_k:encode()))
  end)

  it("says when a counter has stopped", function()
    local top_k = ps.top_k{ k = 1 }
    top_k:add("a", 2 ^ 33)
    assert.equal(2 ^ 32 - 1, top_k:add("b", 2 ^ 32 - 1))
    assert.is_false(top_k:info().saturated)
    assert.equal(2 ^ 32 - 1, top_k:add "b")
    assert.is_true(top_k:info().saturated)
    assert.equal(2 ^ 32 - 1, top_k:frequency "b")
    assert.equal(top_k, ps.decode(top_k:encode()))
    top_k:add("b", 2 ^ 34)
    assert.equal(2 ^ 34 + 2 ^ 32 - 1, top_k:list()[1].count)
    assert.equal(top_k, ps.decode(top_k:encode()))
    assert.equal(top_k:union(top_k), top_k:copy():merge(top_k))
  end)

  it("refuses a key that it would have to list and has no room for, and is unchanged", function()
    local plan = ps.plan("top_k", { k = 8 }).bytes
    local top_k = ps.top_k{ k = 8, max_bytes = plan + 100 }
    for i = 1, 6 do
      top_k:add(("%010d"):format(i), 10)
    end
    local bytes, held = top_k:encode(), top_k:bytes()
    local message = expect.refusal("full", top_k:add(("x"):rep(41)))
    assert.is_truthy(message:find(("limit %d"):format(plan + 100), 1, true), message)
    expect.refusal("full", top_k:add(("x"):rep(1e6), 100))
    expect.same_bytes(bytes, top_k:encode())
    assert.equal(held, top_k:bytes())
    local n, problem, code = top_k:add_many { "a", ("x"):rep(40), "b" }
    assert.equal(1, n)
    assert.equal("string", type(problem))
    assert.equal("full", code)
    assert.equal(1, top_k:frequency "a")
    assert.equal(0, top_k:frequency "b")
    assert.equal(1, top_k:add(("x"):rep(39)))
    assert.equal(1, top_k:add(("y"):rep(1e6))) -- is not listed, so it needs no room
    bytes = top_k:encode()
    expect.refusal("full", top_k:add(("y"):rep(1e6), 2))
    expect.same_bytes(bytes, top_k:encode())
  end)

  it("refuses a union whose keys pass the limit, and is unchanged", function()
    local plan = ps.plan("top_k", { k = 8 }).bytes
    local a, b = ps.top_k{ k = 8, max_bytes = plan + 100 }, ps.top_k{ k = 8 }
    a:add(("a"):rep(60))
    b:add(("b"):rep(500))
    local bytes = a:encode()
    expect.raise_saying("full", a.merge, a, b)
    expect.same_bytes(bytes, a:encode())
    assert.equal(2, #b:union(a):list())
  end)
end)
