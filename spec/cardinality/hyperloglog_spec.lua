local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local hyperloglogs = require "spec.support.hyperloglogs"
local memory = require "spec.support.memory"
local model = require "spec.support.hyperloglog_model"
local process = require "spec.support.process"
local random = require "spec.support.random"
local statistics = require "spec.support.statistics"

local within, near, add_range = statistics.within, statistics.near, statistics.add_range
local new, sparse_limit, standard_error = hyperloglogs.new, hyperloglogs.sparse_limit, hyperloglogs.standard_error

-- The sketch may divide out the bias of the formula, which is below 1.08 / m, and stops at the 2^64 keys there are.
local function hold_to_formula(ranks, precision, estimate)
  local ratio = estimate / math.min(model.estimate(ranks, precision), 2 ^ 64)
  within(1 - 1.08 / 2 ^ precision, 1 + 1e-9, ratio, "the estimate / the formula, at precision %d,", precision)
end

describe("the size of a hyperloglog", function()
  it("is 2^precision registers of 6 bits: 12,288 bytes at precision 14, the default", function()
    assert.equal(12288, ps.plan("hyperloglog").bytes)
    assert.equal(14, ps.plan("hyperloglog").precision)
    for precision = 4, 18 do
      assert.equal(2 ^ precision * 6 / 8, ps.plan("hyperloglog", { precision = precision }).bytes)
    end
  end)

  it("follows an error rate: the least whose standard error, 1.04 / sqrt(m), is no larger", function()
    for precision = 4, 18 do
      local error = new(precision):standard_error()
      near(standard_error(precision), 1, 1e-15, error, "the standard error at precision %d", precision)
      assert.equal(precision, ps.plan("hyperloglog", { error_rate = error }).precision)
      if precision < 18 then
        assert.equal(precision + 1, ps.plan("hyperloglog", { error_rate = error * 0.999 }).precision)
      end
    end
  end)

  it("is small for small sets when it is stored: 54 bytes for one key, 70 for five", function()
    for n, most in pairs { [0] = 80, [1] = 80, [5] = 109, [1000] = 4096 } do
      within(4 * n, most, #add_range(ps.hyperloglog(), 1, n):encode(), "bytes of %d keys", n)
    end
    within(12288, 12400, #add_range(ps.hyperloglog(), 1, 100000):encode(), "bytes of a dense one")
  end)

  it("is small for small sets while it lives, and never larger than the registers", function()
    for precision = 4, 18 do
      local most = ps.plan("hyperloglog", { precision = precision }).bytes
      local sketch = ps.hyperloglog{ precision = precision, max_bytes = most }
      local besides = sketch:bytes() - math.min(most, 64) -- what any sketch takes
      within(64, 300, add_range(sketch, 1, 10):bytes(), "bytes of ten keys")
      for n = 1000, 50000, 7000 do
        within(64, most + besides, add_range(sketch, 1, n):bytes(), "bytes of %d keys at precision %d", n, precision)
      end
    end
  end)

  local measured = memory.is_measurable and it or pending
  measured("is at most 300 bytes, all told, for each of a hundred thousand sketches of ten keys #slow", function()
    -- In a process of its own: this one has memory to spare that it would use first.
    local each = process.run [[
      local ps, memory = require "probsketch", require "spec.support.memory"
      local sketches, n = {}, 100000
      for i = 1, n do
        sketches[i] = false -- the table is not what is measured
      end
      local before = memory.resident()
      for i = 1, n do
        local sketch = ps.hyperloglog()
        for key = 1, 10 do
          sketch:add(key * n + i)
        end
        sketches[i] = sketch
      end
      print((memory.resident() - before) / n)
    ]]
    within(add_range(ps.hyperloglog(), 1, 10):bytes(), 300, tonumber(each), "resident bytes of ten keys")
  end)
end)

describe("a hyperloglog", function()
  it("counts a small set exactly, and of a large one the rounded estimate", function()
    local sketch = ps.hyperloglog()
    assert.equal(0, sketch:estimate())
    for n = 1, 1000 do
      assert.is_true(sketch:add(n))
      assert.equal(n, sketch:count())
      within(n, 1.005 * n, sketch:estimate(), "the estimate")
    end
    add_range(sketch, 1001, 50000)
    assert.equal(math.floor(sketch:estimate() + 0.5), sketch:count())
    assert.not_equal(sketch:count(), sketch:estimate())
    assert.is_true(math.type == nil or math.type(ps.hyperloglog():estimate()) == "float")
  end)

  it("counts up to 100 keys exactly under 999 of 1000 seeds, and 1000 keys within 0.5 % #slow", function()
    local wrong, off = 0, 0
    for seed = 1, 1000 do
      local sketch, exact = new(14, seed), true
      for n = 1, 100 do
        sketch:add(n)
        exact = exact and sketch:count() == n
      end
      wrong = wrong + (exact and 0 or 1)
      off = off + (math.abs(add_range(sketch, 101, 1000):count() - 1000) > 5 and 1 or 0)
    end
    within(0, 1, wrong, "seeds that err in up to 100 keys")
    assert.equal(0, off)
  end)

  it("says that a key is new exactly when the key changes its bytes", function()
    for _, precision in ipairs { 4, 6, 8, 10 } do
      local sketch, changes = new(precision), 0
      local before = sketch:encode()
      for i = 1, 2000 do
        local changed = sketch:add(i % 1500)
        local after = sketch:encode()
        assert.equal(before ~= after, changed)
        before, changes = after, changes + (changed and 1 or 0)
      end
      assert.is_true(changes > sparse_limit(precision) and changes < 1500)
    end
  end)

  it("counts in a batch the keys that change it, through the change to dense", function()
    for _, precision in ipairs { 4, 8, 14 } do
      local whole, single, generator = new(precision), new(precision), random.new(precision)
      for _, size in ipairs { 0, 1, 10, 255, 256, 257, 2000, 3000, 5000 } do
        local keys, changed = {}, 0
        for i = 1, size do
          keys[i] = generator:integer(6000)
          changed = changed + (single:add(keys[i]) and 1 or 0)
        end
        assert.equal(changed, whole:add_many(keys))
        assert.equal(single, whole)
        assert.equal(single:estimate(), whole:estimate())
      end
    end
  end)

  it("has the same bytes for the same keys in any order, batch, split and merge", function()
    for _, precision in ipairs { 4, 10, 14 } do
      local limit = sparse_limit(precision)
      for _, n in ipairs { 1, limit - 1, limit, limit + 1, 2 * limit, 30000 } do
        local whole, backwards, parts = add_range(new(precision), 1, n), new(precision), {}
        for part = 0, 6 do
          parts[part] = new(precision)
        end
        for key = n, 1, -1 do
          backwards:add(key)
          parts[key % 7]:add(key)
          parts[key % 5]:add(key)
        end
        local union = ps.union(parts[3], parts[1], parts[6], parts[2], parts[5], parts[4], parts[0])
        for _, same in ipairs { backwards, union, add_range(add_range(new(precision), n, n), 1, n) } do
          expect.same_bytes(whole:encode(), same:encode())
          assert.equal(whole:estimate(), same:estimate())
        end
      end
    end
  end)

  it("does not count twice what small sets share, however often they are merged", function()
    local function set(first, last)
      return add_range(ps.hyperloglog(), first, last)
    end
    local union, backwards, sets = set(1, 300):merge(set(151, 450)), set(151, 450), {}
    assert.equal(450, union:count())
    for i = 1, 50 do
      sets[i] = set(i, i + 200)
      union:merge(sets[i])
    end
    assert.equal(450, union:count())
    assert.is_false(union:info().dense)
    for i = 50, 1, -1 do
      backwards:merge(sets[i])
    end
    expect.same_bytes(union:encode(), backwards:merge(set(1, 300)):encode())
  end)

  it("loses nothing in merges of sketches that were stored", function()
    local direct, reloaded, whole = ps.hyperloglog(), ps.hyperloglog(), ps.hyperloglog()
    local generator, seen, distinct = random.new(1), {}, 0
    for _ = 1, 1000 do
      local sketch = ps.hyperloglog()
      for _ = 1, generator:integer(101) - 1 do
        local key = generator:integer(100000)
        sketch:add(key)
        whole:add(key)
        distinct, seen[key] = distinct + (seen[key] and 0 or 1), true
      end
      local stored = ps.decode(sketch:encode())
      direct:merge(sketch)
      reloaded:merge(stored)
    end
    expect.same_bytes(whole:encode(), direct:encode())
    expect.same_bytes(whole:encode(), reloaded:encode())
    assert.equal(whole:count(), reloaded:count())
    near(distinct, 4, standard_error(14) * distinct, reloaded:count(), "the count")
  end)

  it("never answers from before a change: it agrees with a twin that was not asked", function()
    local steps = {
      function(sketch) sketch:add(77) end,
      function(sketch) add_range(sketch, 1, 150) end,
      function(sketch) sketch:merge(add_range(new(10), 100, 180)) end,
      function(sketch) add_range(sketch, 1000, 5000) end,
      function(sketch) sketch:merge(add_range(new(10), 4000, 9000)) end,
      function(sketch) sketch:clear() end,
    }
    local function ask(sketch)
      return { sketch:count(), sketch:estimate(), sketch:info(), sketch:bounds(2) }
    end
    for i = 0, 6 ^ 3 - 1 do -- all sequences of three
      local asked, twin = new(10), new(10)
      for place = 0, 2 do
        local step = steps[math.floor(i / 6 ^ place) % 6 + 1]
        ask(asked)
        step(asked)
        step(twin)
      end
      assert.same(ask(twin), ask(asked))
    end
  end)
end)

describe("the state of a hyperloglog", function()
  it("is what its definition makes of the hashes: sparse, dense, and around the change", function()
    for _, precision in ipairs { 4, 8, 10, 12 } do
      local limit, last = sparse_limit(precision), math.min(6 * 2 ^ precision, 8000)
      local sketch, entries, registers, used, power = new(precision), {}, {}, 0, 1
      for n = 1, last do
        used = used + (entries[model.split(n, 26)] and 0 or 1)
        model.raise(entries, n, 26)
        model.raise(registers, n, precision)
        sketch:add(n)
        local close = math.abs(used - limit)
        if close <= 1 or close <= 200 and n % 7 == 0 or n == power or n == last then
          power = n == power and 2 * power or power
          local bytes = sketch:encode()
          local payload, again = envelope.open(bytes).payload, ps.decode(bytes)
          assert.equal(used > limit, again:info().dense)
          assert.equal(sketch:estimate(), again:estimate())
          if used > limit then
            expect.same_bytes(model.pack_registers(registers, precision), payload)
            hold_to_formula(registers, precision, sketch:estimate())
          else
            expect.same_bytes(model.pack_entries(entries), payload)
          end
        end
      end
      assert.is_true(sketch:info().dense)
    end
  end)

  it("keeps of two keys with the same index the higher rank, whichever comes first", function()
    local holder, pairs_found = {}, 0
    for key = 1, 40000 do
      local index, rank = model.split(key, 26)
      local other = holder[index]
      if other and select(2, model.split(other, 26)) ~= rank then
        local a, b, ranks = new(14), new(14), {}
        model.raise(ranks, other, 26)
        assert.is_true(a:add(other) and b:add(key))
        local union = ps.union(a, b)
        assert.equal(ranks[index] < rank, a:add(key))
        assert.equal(ranks[index] > rank, b:add(other))
        model.raise(ranks, key, 26)
        local payload = model.pack_entries(ranks)
        for _, sketch in ipairs { a, b, union, b:union(a) } do
          expect.same_bytes(payload, envelope.open(sketch:encode()).payload)
          assert.equal(1, sketch:count())
        end
        pairs_found = pairs_found + 1
      end
      holder[index] = key
    end
    within(3, 20, pairs_found, "pairs of keys with the same index")
  end)

  it("is estimated by the published formula, whatever the registers", function()
    for _, precision in ipairs { 4, 7, 12 } do
      local dense, generator = add_range(new(precision), 1, 20000):encode(), random.new(precision)
      for round = 0, 59 do -- from the highest rank down; all ranks up to it, or the four highest alone
        local ranks, top = {}, 65 - precision - round % (64 - precision)
        local low = round % 3 == 0 and math.max(top - 3, 0) or 0
        for i = 0, 2 ^ precision - 1 do
          ranks[i] = low - 1 + generator:integer(top - low + 1)
        end
        local sketch = ps.decode(envelope.changed(dense, { payload = model.pack_registers(ranks, precision) }))
        hold_to_formula(ranks, precision, sketch:estimate())
      end
    end
  end)

  it("is estimated by a finite number that rises with every register, to the highest rank", function()
    for _, precision in ipairs { 4, 8, 14 } do
      local dense, top, m = add_range(new(precision), 1, 50000):encode(), 65 - precision, 2 ^ precision
      local function with_last(rank, others)
        local block = model.pack_registers({ [0] = others, others, others, others }, 2)
        local payload = block:rep(m / 4 - 1) .. model.pack_registers({ [0] = others, others, others, rank }, 2)
        return ps.decode(envelope.changed(dense, { payload = payload }))
      end
      for _, others in ipairs { 0, 5 } do
        local last = 0
        for rank = math.max(1, others), top do
          local estimate = with_last(rank, others):estimate()
          assert.is_true(estimate > 0)
          within(last, 2 * m * 2 ^ others, estimate, "the estimate with one register at %d", rank)
          last = estimate
        end
      end
      local last = with_last(1, 1):estimate()
      for rank = 2, top - 1 do
        local estimate = with_last(rank, rank):estimate()
        near(2 * last, 1, 1e-9 * last, estimate, "the estimate with all registers at %d", rank)
        last = estimate
      end
      local one_full, all_full = with_last(top, top - 1):estimate(), with_last(top, top):estimate()
      assert.is_true(last < one_full and one_full < all_full and all_full <= 2 ^ 64)
      assert.equal(2 ^ 53, with_last(top, top):count())
      expect.refusal("corrupt", with_last(top + 1, 5))
    end
  end)
end)

describe("hyperloglog:fold", function()
  it("gives the sketch that has the lower precision from the start, to the byte", function()
    for _, n in ipairs { 0, 1, 40, 700, 2304, 2305, 20000 } do
      local source = add_range(new(14), 1, n)
      local before = source:encode()
      for precision = 4, 14 do
        local built, folded = add_range(new(precision), 1, n), source:fold(precision)
        expect.same_bytes(built:encode(), folded:encode())
        assert.equal(built:estimate(), folded:estimate())
        assert.same(built:info(), folded:info())
        add_range(folded, n, n + 500)
        assert.equal(add_range(built, n, n + 500), folded)
      end
      expect.same_bytes(before, source:encode())
    end
  end)

  it("gives a copy at the same precision, and what else its maker chose", function()
    local source = add_range(ps.hll{ precision = 9, seed = "random" }, 1, 3000)
    local same, lower = source:fold(9), source:fold(8)
    assert.is_false(rawequal(source, same))
    assert.equal(source, same)
    assert.is_true(lower:compatible(ps.hll{ precision = 8, seed = source }))
    source:clear()
    assert.is_true(same:count() > 2000 and lower:count() > 2000)
  end)

  it("makes sketches of unlike precisions merge, in any order", function()
    for _, sizes in ipairs { { 300, 300, 300 }, { 8000, 300, 20 }, { 20, 300, 8000 } } do
      local whole, parts, first = new(10), {}, 1
      for i, precision in ipairs { 10, 12, 14 } do
        local last = first + sizes[i]
        parts[i] = add_range(new(precision), first, last)
        add_range(whole, first, last)
        first = last - 10
      end
      expect.raise_saying("precision mismatch (expected 14, got 12)", ps.union, parts[3], parts[2])
      for _, order in ipairs { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } } do
        local union = parts[order[1]]:fold(10)
        for i = 2, 3 do
          union:merge(parts[order[i]]:fold(10))
        end
        expect.same_bytes(whole:encode(), union:encode())
      end
      -- Two steps lead to the same as one, and folding before a merge to the same as after it.
      expect.same_bytes(parts[3]:fold(10):encode(), parts[3]:fold(12):fold(10):encode())
      expect.same_bytes(parts[3]:fold(12):union(parts[2]):fold(10):encode(),
        parts[3]:fold(10):union(parts[2]:fold(10)):encode())
    end
  end)

  it("refuses a higher precision, and what is none", function()
    local sketch = add_range(new(9), 1, 2000)
    local before = sketch:encode()
    for _, bad in ipairs { 10, 18, 3, 0, -4, 8.5, 0 / 0, 1 / 0, 2 ^ 53, "8", true, {} } do
      expect.raise_saying("precision out of range (expected 4 to 9, got ", sketch.fold, sketch, bad)
    end
    expect.raise_saying("precision out of range", sketch.fold, sketch)
    expect.same_bytes(before, sketch:encode())
    sketch:close()
    expect.raise_saying("closed", sketch.fold, sketch, 8)
  end)
end)
