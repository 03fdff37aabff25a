-- Many things in one call are the same as one after the other, or nothing at all.

local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"

local measured = memory.is_measurable and it or pending

local bad_elements = { {}, true, print, 0 / 0, 1 / 0 }

kinds.describe(describe, function(kind)
  local changing = kinds.changing(kind, it)
  local function filled()
    return kind.fill(kind.new(), 1, 50)
  end

  changing("is the same after add_many as after as many calls of add", function()
    local sizes = { 0, 1, 2, 255, 256, 257, 1023, 1024, 1025, 3000 } -- around any likely size of a batch
    for _, form in ipairs(kind.forms) do
      local whole, single = form.empty(), form.empty()
      local at = 0
      for _, n in ipairs(sizes) do
        local items = kind.items(at + 1, math.min(at + n, form.room or math.huge))
        whole:add_many(items)
        for _, item in ipairs(items) do
          single:add(item)
        end
        expect.same_bytes(single:encode(), whole:encode())
        at = at + n
      end
      assert.same(kind.answers(single), kind.answers(whole))
    end
  end)

  it("is the same after add_many in pages of its own", function()
    if not kind.page then
      return
    end
    local whole, single = kind.new(kind.page), kind.new(kind.page)
    whole:add_many(kind.items(1, 1000))
    kind.fill(single, 1, 1000)
    assert.equal(single, whole)
    assert.same(kind.answers(single), kind.answers(whole))
    if whole.has_many then
      local asked = kind.items(500, 1500)
      for i, found in ipairs(whole:has_many(asked)) do
        assert.equal(whole:has(asked[i]), found)
      end
    end
  end)

  changing("says how many elements changed it", function()
    local sketch, twin = kind.new(), kind.new()
    local items, expected = kind.items(1, 300), 0
    for i = 1, 300 do
      items[300 + i] = items[i]
    end
    for _, item in ipairs(items) do
      local before = twin:encode()
      twin:add(item)
      expected = expected + (twin:encode() ~= before and 1 or 0)
    end
    assert.equal(expected, sketch:add_many(items))
    assert.equal(("%d"):format(expected), tostring(sketch:copy():clear():add_many(items))) -- an integer
    assert.equal(0, kind.new():add_many {})
  end)

  it("refuses an array with a bad element, names the element, and is unchanged", function()
    local sketch = filled()
    local before = sketch:encode()
    for _, n in ipairs { 1, 2, 256, 257, 1024, 1025, 3000 } do
      local items = kind.items(1001, 1010 + n)
      for _, bad in ipairs(bad_elements) do
        local good = items[n]
        items[n] = bad
        for _, method in ipairs { "add_many", "has_many" } do
          if sketch[method] then
            expect.raise_saying(("element %d"):format(n), sketch[method], sketch, items)
          end
        end
        items[n] = good
      end
    end
    expect.same_bytes(before, sketch:encode())
  end)

  it("refuses what is no array", function()
    local sketch = filled()
    local before = sketch:encode()
    for _, method in ipairs { "add_many", "has_many" } do
      if sketch[method] then
        for _, stranger in ipairs { "x", 5, true, print, io.stdout, sketch } do
          expect.raise(sketch[method], sketch, stranger)
        end
        expect.raise_saying("without element 1", sketch[method], sketch, { a = true, b = true }) -- a set
        expect.raise(sketch[method], sketch)
      end
    end
    expect.same_bytes(before, sketch:encode())
  end)

  it("reads the elements of an array and leaves the table as it was", function()
    local function fail()
      error "a metamethod was called"
    end
    local a, b = kind.item(1), kind.item(2)
    local items = setmetatable({ a, b, [5] = a, x = b }, { __index = fail, __len = fail, __pairs = fail })
    local sketch = kind.new()
    if kind.immutable then
      sketch = kind.built(sketch, items)
    else
      sketch:add_many(items)
    end
    assert.equal(kind.fill(kind.new(), 1, 2), sketch)
    setmetatable(items, nil)
    assert.same({ a, b, [5] = a, x = b }, items)
  end)

  it("takes a million elements, in a coroutine too", function()
    local items = {}
    for i = 1, 1e6 do
      items[i] = i
    end
    local sketch = kind.new()
    local thread = coroutine.wrap(function()
      if kind.immutable then
        sketch = kind.built(sketch, items)
        coroutine.yield(sketch:count())
      else
        coroutine.yield(sketch:add_many(items))
      end
      return sketch.has_many and sketch:has_many(items) or items
    end)
    assert.equal("number", type(thread()))
    assert.equal(#items, #thread())
    if sketch.has_many then
      assert.same({ true, true }, sketch:has_many { 1, 1000000 })
    end
  end)

  it("works, or says that the stack overflows, however deep in calls of C", function()
    local items, hundred = kind.items(1, 50), {}
    for i = 1, 100 do
      hundred[i] = kind.new()
    end
    local calls = {
      function(sketch) return kind.immutable and kind.built(sketch, items) or sketch:copy():add_many(items) end,
      function(sketch) return sketch.has_many and #sketch:has_many(items) or 50 end,
      function(sketch) return sketch:encode() end,
      function(sketch)
        return kind.immutable or sketch:union((table.unpack or unpack)(hundred)):encode()
      end,
      function(sketch) return sketch:info().kind end,
    }
    local function descend(depth, call, sketch)
      if depth == 0 then
        return call(sketch)
      end
      local result
      string.gsub("x", "x", function()
        result = descend(depth - 1, call, sketch)
      end)
      return result
    end
    local sketch, overflows = filled(), 0
    for _, call in ipairs(calls) do
      local expected = call(sketch)
      for depth = 0, 230, 5 do
        local ok, result = coroutine.wrap(function()
          return pcall(descend, depth, call, sketch)
        end)()
        assert.is_true(ok and result == expected or not ok and result:find "overflow" ~= nil, result)
        overflows = overflows + (ok and 0 or 1)
      end
    end
    assert.is_true(overflows > 0 or rawget(_G, "jit") ~= nil) -- so the limit was reached, where there is one
    assert.equal(filled(), sketch)
  end)

  measured("leaks nothing when it refuses an array", function()
    local sketch, items = filled(), { kind.item(1), {}, kind.item(2) }
    local refuses = sketch.add_many or kind.built
    local function refuse(n)
      for _ = 1, n do
        pcall(refuses, sketch, items)
      end
    end
    refuse(500)
    local before = sketch:encode()
    local growth = memory.growth(function()
      refuse(4000)
    end)
    assert.is_true(growth < 2 ^ 18, growth)
    expect.same_bytes(before, sketch:encode())
  end)
end)
