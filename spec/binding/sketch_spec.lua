-- What every sketch is: copied, cleared, compared and described without surprises.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"

-- Asks everything there is to ask, of the sketch and of it together with another.
local function ask_all(form, sketch, other)
  local kind = form.kind
  kind.answers(sketch)
  if kind.meet then
    kind.meet(sketch, other)
    kind.meet(other, sketch)
  end
  local _ = { sketch:count(), #sketch, sketch:info(), sketch:bytes(), sketch:kind(), tostring(sketch), ps.kind(sketch),
    sketch == other, sketch:compatible(other), other:compatible(sketch), sketch:copy(), sketch:encode(),
    kind.new(kinds.options(form.options, { seed = not kind.seedless and sketch or nil })) }
  if not kind.immutable then
    _ = { sketch:union(other), other:union(sketch), ps.union(other, sketch), other:copy():merge(sketch) }
  end
  for piece in sketch:chunks(10) do
    assert(#piece <= 10)
  end
  pcall(sketch.add, sketch, {})
  pcall(sketch.add_many, sketch, { kind.item(1), {} })
  pcall(sketch.merge, sketch, kinds.other(kind).new())
  pcall(sketch.chunks, sketch, 0)
end

kinds.describe_forms(describe, function(form, kind)
  local changing = kinds.changing(kind, it)
  it("is never changed by questions or refused calls: it stays the twin of one that was never asked", function()
    local asked, twin, other = form.empty(), form.empty(), kind.fill(form.empty(), 5000, 5040)
    ask_all(form, asked, other)
    for from = 1, form.items, 50 do
      local to = math.min(from + 49, form.items)
      asked, twin = kind.fill(asked, from, to), kind.fill(twin, from, to)
      ask_all(form, asked, other)
    end
    expect.same_bytes(twin:encode(), asked:encode())
    assert.same(kind.answers(twin), kind.answers(asked))
  end)

  it("has the same bytes after the same calls", function()
    expect.same_bytes(form.filled():encode(), form.filled():encode())
  end)

  it("counts nothing while it is empty and something when it is filled", function()
    assert.equal(0, form.empty():count())
    assert.is_true(form.filled():count() > 0)
    assert.equal(form.filled():count(), #form.filled())
  end)

  it("is copied into an independent sketch", function()
    local original = form.filled()
    local before, copy = original:encode(), original:copy()
    assert.equal(original, copy)
    expect.same_bytes(before, copy:encode())
    assert.same(kind.answers(original), kind.answers(copy))
    copy = kind.fill(copy, 6001, 6200)
    expect.same_bytes(before, original:encode())
    local changed = copy:encode()
    if not kind.immutable then
      original:clear()
    end
    original:close()
    expect.same_bytes(changed, copy:encode())
    assert.equal(kind.fill(form.filled(), 6001, 6200), copy)
  end)

  changing("is after clear what it was when it was made", function()
    local sketch = form.filled()
    assert.equal(sketch, sketch:clear())
    expect.same_bytes(form.empty():encode(), sketch:encode())
    assert.same(kind.answers(form.empty()), kind.answers(sketch))
    assert.same(form.empty():info(), sketch:info())
    assert.equal(0, sketch:count())
    expect.same_bytes(form.filled():encode(), kind.fill(sketch, 1, form.items):encode())
    sketch:clear():clear()
    assert.equal(form.empty(), sketch)
  end)

  it("describes itself in a plain table of its own", function()
    local sketch = form.filled()
    local info = sketch:info()
    assert.is_nil(getmetatable(info))
    for name, value in pairs(info) do
      assert.equal("string", type(name))
      for _, one in ipairs(type(value) == "table" and value or { value }) do
        local plain = type(one) == "number" or type(one) == "boolean" or name == "kind"
        assert.is_true(plain, name)
        assert.is_true(one == one, name .. " is not a number")
      end
    end
    assert.equal(kind.name, info.kind)
    assert.equal(sketch:bytes(), info.bytes)
    for option, value in pairs(form.options) do
      assert.is_true(value == info[option] or type(value) == "table", option)
    end
    info.kind, info.bytes = nil, nil
    assert.equal(kind.name, sketch:info().kind)
  end)

  it("is described by one line of text", function()
    local text = tostring(form.filled())
    assert.is_truthy(text:find(kind.name, 1, true), text)
    assert.is_falsy(text:find "[\n%z]")
    assert.is_truthy(text:find(("%d"):format(form.filled():count()), 1, true), text)
  end)
end)

kinds.describe(describe, function(kind)
  local function filled()
    return kind.fill(kind.new(), 1, 50)
  end

  it("is equal to a sketch of the same parameters and state, and to no other", function()
    local a = filled()
    local one_more = kind.fill(filled(), 51, 51)
    local other_seed = kind.seedless or kind.fill(kind.new(kinds.options(kind.options, { seed = 1 })), 1, 50)
    local other_kind = kinds.other(kind).fill(kinds.other(kind).new(), 1, 50)
    assert.is_true(a == filled() and filled() == a and a == a)
    for _, different in ipairs { one_more, kind.new(), other_seed, other_kind } do
      assert.is_false(a == different or different == a)
      assert.is_true(a ~= different)
    end
    for _, pair in pairs(kind.unlike) do
      assert.is_false(kind.new(pair[1]) == kind.new(pair[2]))
    end
    assert.is_true(kind.new(kind.page) == kind.new(kind.page))
  end)

  it("is compared with anything without an error", function()
    local sketch, closed, closed_too = filled(), filled(), filled()
    closed:close()
    closed_too:close()
    for _, stranger in ipairs { 1, "x", true, {}, print, io.stdout, closed, coroutine.create(function() end) } do
      assert.is_false(sketch == stranger)
      assert.is_false(stranger == sketch)
    end
    assert.is_false(closed == closed_too)
    assert.is_true(closed == closed)
    local equal = debug.getmetatable(sketch).__eq
    for _, stranger in ipairs { 1, "x", true, {}, print, io.stdout, closed } do
      assert.is_false(equal(sketch, stranger))
      assert.is_false(equal(stranger, sketch))
      assert.is_false(equal(stranger, stranger))
    end
    assert.is_false(equal())
    assert.is_false(equal(sketch))
  end)

  it("keeps its metamethods out of its methods, and its metatable to itself", function()
    local sketch = filled()
    local metatable = debug.getmetatable(sketch)
    for _, name in ipairs { "__len", "__bor", "__eq", "__tostring", "__name", "__gc", "__close", "__index" } do
      assert.is_not_nil(metatable[name], name)
      assert.is_nil(sketch[name], name)
    end
    assert.is_not_equal(metatable, metatable.__index)
    assert.is_not_equal("table", type(getmetatable(sketch)))
    expect.raise(setmetatable, sketch, {})
    assert.is_nil(sketch.no_such_method)
    expect.raise(function()
      sketch.field = 1
    end)
  end)

  it("has the methods that every sketch has", function()
    for name in ("count merge union compatible copy clear encode save chunks info bytes kind close"):gmatch "%a+" do
      assert.equal("function", type(kind.new()[name]), name)
    end
  end)

  it("does not run a method on what is no sketch of its kind", function()
    local sketch, other = filled(), kinds.other(kind).new()
    local before = other:encode()
    for name, method in pairs(debug.getmetatable(sketch).__index) do
      for _, stranger in ipairs { io.stdout, {}, "x", 42, true, print } do
        expect.raise(method, stranger, stranger)
        expect.raise(method, stranger, sketch)
      end
      expect.raise(method)
      if name ~= "close" then -- closes any sketch
        local message = expect.raise(method, other, sketch)
        assert.is_truthy(message:find(kind.name, 1, true), message)
      end
    end
    expect.same_bytes(before, other:encode())
  end)

  it("counts in integers where Lua has them", function()
    if math.type then
      assert.equal("integer", math.type(filled():count()))
      assert.equal("integer", math.type(#filled()))
      assert.equal("integer", math.type(filled():bytes()))
    end
  end)

  it("holds as much memory as it says, a little more than its payload", function()
    local payload = kind.bytes(kind.megabytes)
    local bytes = kind.new(kind.megabytes):bytes()
    assert.is_true(bytes <= payload + 1024, bytes)
    assert.is_true(bytes > 0)
  end)
end)
