-- A merge stands for the input of both, or is refused and changes nothing.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"

local bor = math.type and load "local a, b = ...; return a | b"

local function doubled(answers)
  local result = {}
  for i, answer in ipairs(answers) do
    result[i] = answer * 2
  end
  return result
end

kinds.describe_forms(describe, function(form, kind)
  if kind.immutable then
    return
  end
  local function with(...)
    local sketch = form.empty()
    for i = 1, select("#", ...), 2 do
      kind.fill(sketch, select(i, ...), (select(i + 1, ...)))
    end
    return sketch
  end

  it("stands after merge for the input of both", function()
    local a, b = with(1, 150), with(100, 250)
    local before = b:encode()
    assert.equal(a, a:merge(b))
    expect.same_bytes(before, b:encode())
    local both = with(1, 150, 100, 250)
    if not form.ordered then
      expect.same_bytes(both:encode(), a:encode())
      assert.same(kind.answers(both), kind.answers(a))
      assert.same(both:info(), a:info())
    elseif not (kind.overlaps or form.recounts) then
      assert.equal(both:count(), a:count())
    end
  end)

  it("returns itself from merge, and a new sketch from union", function()
    local a, b = with(1, 10), with(11, 20)
    local a_before, b_before = a:encode(), b:encode()
    local union = a:union(b)
    assert.is_false(rawequal(union, a) or rawequal(union, b))
    expect.same_bytes(a_before, a:encode())
    expect.same_bytes(b_before, b:encode())
    assert.is_true(rawequal(a, a:merge(b)))
    assert.equal(a, union)
  end)

  it("is the same by merge, by union, by ps.union and by |", function()
    local a, b, c = with(1, 10), with(8, 150), with(140, 300)
    local union = a:union(b):union(c)
    assert.equal(union, a:union(b, c))
    assert.equal(union, ps.union(a, b, c))
    assert.equal(union, a:copy():merge(b):merge(c))
    assert.equal(union, a:copy():merge(b, c))
    if bor then
      assert.equal(union, bor(bor(a, b), c))
    end
    assert.equal(a, ps.union(a))
  end)

  it("may be merged in any order and grouping", function()
    local a, b, c = with(1, 10), with(8, 150), with(140, 300)
    local left, right = a:union(b):union(c), a:union(b:union(c))
    local united = kind.united or kind.answers
    assert.same(united(left), united(right))
    assert.same(united(left), united(ps.union(c, b, a)))
    if kind.merges ~= "as a set" then
      expect.same_bytes(left:encode(), right:encode())
    end
    if not kind.merges then
      expect.same_bytes(left:encode(), ps.union(b, a, c):encode())
      expect.same_bytes(left:encode(), ps.union(c, b, a):encode())
    end
  end)

  it("is unchanged by merging with an empty sketch, and becomes what an empty one is merged with", function()
    local a, empty = form.filled(), form.empty()
    expect.same_bytes(a:encode(), a:union(empty):encode())
    expect.same_bytes(a:encode(), empty:union(a):encode())
    expect.same_bytes(empty:encode(), empty:union(form.empty()):encode())
  end)

  it("merges with itself as with a copy of itself", function()
    local a = form.filled()
    local before, answers, count = a:encode(), kind.answers(a), a:count()
    local union = a:union(a)
    expect.same_bytes(before, a:encode())
    expect.same_bytes(a:union(a:copy()):encode(), union:encode())
    assert.equal(ps.union(a, a:copy(), a:copy()), ps.union(a, a, a))
    a:merge(a)
    expect.same_bytes(union:encode(), a:encode())
    if form.twice == "doubles" then
      assert.same((kind.doubled or doubled)(answers), kind.answers(a))
    elseif form.twice == "compacts" then
      assert.equal(2 * count, a:count())
    elseif not form.saturated then
      expect.same_bytes(before, a:encode())
    end
    if kind.meet then
      kind.meet(a, a)
    end
    expect.same_bytes(union:encode(), a:encode())
  end)

  it("merges with itself among others", function()
    local a, b = with(1, 40), with(30, 60)
    local expected = a:union(a:copy()):merge(b) -- all arguments as they were before the call would be another rule
    local got = a:copy()
    got:merge(got, b)
    expect.same_bytes(expected:encode(), got:encode())
  end)

  it("goes on like any other after a merge, through bytes as well", function()
    local merged = with(1, 150):merge(with(100, 250))
    local decoded = ps.decode(merged:encode())
    assert.equal(merged, decoded)
    for _, sketch in ipairs { merged, decoded } do
      kind.fill(sketch, 251, 400)
    end
    expect.same_bytes(merged:encode(), decoded:encode())
    if not form.ordered then
      expect.same_bytes(with(1, 150, 100, 400):encode(), merged:encode())
    end
  end)

  it("has the same bytes whatever the order of the items, and however they are split", function()
    if form.ordered then
      return
    end
    local whole, backwards, parts = with(1, 400), form.empty(), {}
    for i = 400, 1, -1 do
      backwards:add(kind.item(i))
    end
    for i = 1, 3 do
      parts[i] = form.empty()
    end
    for i = 1, 400 do
      parts[i % 3 + 1]:add(kind.item(i))
    end
    expect.same_bytes(whole:encode(), backwards:encode())
    expect.same_bytes(whole:encode(), ps.union(parts[3], parts[1], parts[2]):encode())
  end)

  it("changes nothing when the last of several does not fit", function()
    local a, b, stranger = form.filled(), with(500, 600), kinds.other(kind).new()
    local seed = kind.seedless or kind.tosses or kind.new(kinds.options(form.options, { seed = 9 }))
    local before, b_before = a:encode(), b:encode()
    for _, bad in ipairs { stranger, seed, 5, "x", io.stdout, {}, true } do
      expect.raise(a.merge, a, b, b, bad)
      expect.raise(a.union, a, b, b, bad)
      expect.raise(ps.union, a, b, b, bad)
    end
    expect.raise(a.merge, a, b, nil)
    expect.raise(a.merge, a, nil, b)
    expect.same_bytes(before, a:encode())
    expect.same_bytes(b_before, b:encode())
  end)
end)

kinds.describe(describe, function(kind)
  local changing = kinds.changing(kind, it)
  local function names(field, message)
    assert.is_truthy(message:find(field .. " mismatch", 1, true), message)
  end

  changing("refuses a sketch that differs in one parameter, names it, and both stay as they were", function()
    for field, options in pairs(kind.unlike) do
      local a, b = kind.fill(kind.new(options[1]), 1, 20), kind.fill(kind.new(options[2]), 1, 20)
      local a_before, b_before = a:encode(), b:encode()
      for _, pair in ipairs { { a, b }, { b, a } } do
        local x, y = pair[1], pair[2]
        names(field, expect.raise(x.merge, x, y))
        names(field, expect.raise(x.union, x, y))
        names(field, expect.raise(ps.union, x, y))
        names(field, expect.raise(x.merge, x, x:copy(), y))
        if bor then
          names(field, expect.raise(bor, x, y))
        end
        if kind.meet then
          names(field, expect.raise(kind.meet, x, y))
        end
        local fits, reason = x:compatible(y)
        assert.is_false(fits)
        names(field, reason)
      end
      expect.same_bytes(a_before, a:encode())
      expect.same_bytes(b_before, b:encode())
    end
  end)

  kinds.hashing(kind, changing)("names first what was expected and then what was found", function()
    local a = kind.new(kinds.options(kind.options, { seed = 1 }))
    local b = kind.new(kinds.options(kind.options, { seed = 2 }))
    expect.raise_saying("seed mismatch (expected 1, got 2)", a.merge, a, b)
    expect.raise_saying("seed mismatch (expected 2, got 1)", b.merge, b, a)
  end)

  it("refuses a sketch of another kind, and names both kinds", function()
    local a, b = kind.new(), kinds.other(kind).new()
    local expected = ("kind mismatch (expected %s, got %s)"):format(a:kind(), b:kind())
    expect.raise_saying(expected, a.merge, a, b)
    expect.raise_saying(expected, a.union, a, b)
    expect.raise_saying(expected, ps.union, a, b)
    local fits, reason = a:compatible(b)
    assert.is_false(fits)
    assert.equal(expected, reason)
  end)

  changing("is compatible with one of the same parameters, whatever is in it", function()
    local a, b = kind.new(), kind.fill(kind.new(), 1, 50)
    assert.is_true(a:compatible(b) and b:compatible(a) and a:compatible(a))
    assert.equal(1, select("#", a:compatible(b)))
  end)

  it("refuses what is no sketch, and a closed one", function()
    local a, closed = kind.fill(kind.new(), 1, 50), kind.new()
    local before = a:encode()
    closed:close()
    for _, stranger in ipairs { 5, "x", true, {}, print, io.stdout, closed } do
      expect.raise(a.merge, a, stranger)
      expect.raise(a.union, a, stranger)
      expect.raise(a.compatible, a, stranger)
      expect.raise(ps.union, stranger, a)
      expect.raise(ps.union, a, stranger)
      if bor then
        expect.raise(bor, a, stranger)
        expect.raise(bor, stranger, a)
      end
    end
    expect.raise_saying("closed", a.merge, a, closed)
    expect.raise_saying("closed", a.union, a, closed)
    expect.raise(a.merge, a)
    expect.raise(a.union, a)
    expect.raise(a.compatible, a)
    for _, call in ipairs { a.merge, a.union, a.compatible } do
      expect.raise(call, a, nil)
    end
    expect.raise(ps.union)
    expect.raise(ps.union, nil)
    expect.same_bytes(before, a:encode())
  end)

  changing("merges hundreds in one call", function()
    local parts, all = {}, kind.new()
    for i = 1, 200 do
      parts[i] = kind.fill(kind.new(), i, i)
      all:merge(parts[i])
    end
    assert.equal(all, kind.new():merge((table.unpack or unpack)(parts)))
    assert.equal(all, ps.union((table.unpack or unpack)(parts)))
  end)

  changing("merges thousands in one call, as many as the stack holds", function()
    local small = kind.forms[1].empty()
    local parts = {}
    for i = 1, 7000 do
      parts[i] = small
    end
    coroutine.wrap(function()
      assert.equal(small, ps.union((table.unpack or unpack)(parts)))
      assert.equal(small, small:copy():merge((table.unpack or unpack)(parts)))
    end)()
  end)

  it("merges in pages of its own", function()
    if kind.page then
      local a, b = kind.fill(kind.new(kind.page), 1, 100), kind.fill(kind.new(kind.page), 50, 200)
      local union = a:union(b)
      assert.same(kind.answers(union), kind.answers(a:merge(b)))
      assert.equal(union, a)
    end
  end)
end)
