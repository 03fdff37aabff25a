-- A sketch in pieces is the same bytes, one pass, no second copy.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local measured = memory.is_measurable and it or pending

local KILOBYTE, MEGABYTE = 2 ^ 10, 2 ^ 20

-- The pieces in an array; all but the last must be as long as was asked for.
local function pieces(sketch, n)
  local all = {}
  for piece in sketch:chunks(n) do
    if #all > 0 then
      assert.equal(n, #all[#all])
    end
    assert.is_true(#piece >= 1 and #piece <= n)
    all[#all + 1] = piece
  end
  return all
end

kinds.describe_forms(describe, function(form, kind)
  local changing = kinds.changing(kind, it)
  it("is in pieces of any size what encode gives in one", function()
    for _, sketch in ipairs { form.filled(), form.empty() } do
      local bytes = sketch:encode()
      for _, n in ipairs { 1, 7, 31, 32, 33, KILOBYTE, #bytes - 1, #bytes, #bytes + 1, MEGABYTE + 1, 2 ^ 53 } do
        local all = pieces(sketch, n)
        expect.same_bytes(bytes, table.concat(all))
        assert.equal(math.ceil(#bytes / n), #all)
      end
    end
  end)

  it("has no more pieces after the last", function()
    local next_piece = form.filled():chunks(MEGABYTE)
    assert.equal("string", type(next_piece()))
    for _ = 1, 3 do
      assert.is_nil(next_piece())
    end
  end)

  it("is handed out by iterators that do not know of each other", function()
    local sketch = form.filled()
    local bytes = sketch:encode()
    local a, b, all_a, all_b = sketch:chunks(7), sketch:chunks(10), {}, {}
    repeat
      local piece_a, piece_b = a(), b()
      all_a[#all_a + 1] = piece_a
      all_b[#all_b + 1] = piece_b
    until piece_a == nil and piece_b == nil
    expect.same_bytes(bytes, table.concat(all_a))
    expect.same_bytes(bytes, table.concat(all_b))
  end)

  it("is kept alive by its iterator", function()
    local expected = form.filled():encode()
    local next_piece, all = form.filled():chunks(math.ceil(#expected / 30)), {}
    for piece in next_piece do
      all[#all + 1] = piece
      if #all % 10 == 1 then
        collectgarbage()
        collectgarbage()
      end
    end
    expect.same_bytes(expected, table.concat(all))
  end)

  it("may be handed out by several coroutines in turn, the first ones dead and gone", function()
    local expected, all, next_piece = form.filled():encode(), {}, nil
    coroutine.wrap(function()
      next_piece = form.filled():chunks(math.ceil(#expected / 30))
    end)()
    local left = true
    while left do
      collectgarbage()
      coroutine.wrap(function()
        for _ = 1, 3 do
          local piece = next_piece()
          left = piece ~= nil
          all[#all + 1] = piece
        end
        coroutine.yield()
      end)()
    end
    expect.same_bytes(expected, table.concat(all))
  end)

  it("may be yielded in the middle of a loop", function()
    local expected = form.filled():encode()
    local thread = coroutine.wrap(function(sketch)
      for piece in sketch:chunks(13) do
        coroutine.yield(piece)
      end
    end)
    local all, piece = {}, thread(form.filled())
    while piece do
      all[#all + 1] = piece
      piece = thread()
    end
    expect.same_bytes(expected, table.concat(all))
  end)

  changing("yields bytes that load when the sketch is changed meanwhile", function()
    local filled = form.filled()
    local changes = {
      function(sketch) kind.fill(sketch, 5000, 5500) end,
      function(sketch) sketch:add_many(kind.items(5000, 7000)) end,
      function(sketch) sketch:clear() end,
      function(sketch) sketch:merge(filled) end,
      function(sketch) return sketch.halve and sketch:halve() end,
      function(sketch) sketch:clear():add_many(kind.items(5000, 5010)) end,
    }
    for _, change in ipairs(changes) do
      for _, before in ipairs { 1, 3, 8, 20 } do
        local sketch, all = form.filled(), {}
        for piece in sketch:chunks(10) do
          all[#all + 1] = piece
          if #all == before then
            change(sketch)
          end
        end
        local back = assert(ps.decode(table.concat(all)))
        assert.is_true(back:compatible(sketch))
      end
    end
  end)

  it("raises when the sketch is closed meanwhile", function()
    local sketch = form.filled()
    local next_piece = sketch:chunks(10)
    next_piece()
    sketch:close()
    expect.raise_saying("closed", next_piece)
    expect.raise_saying("closed", next_piece)
  end)
end)

kinds.describe(describe, function(kind)
  it("refuses a size that is none", function()
    local sketch = kind.new()
    for _, bad in ipairs { 0, -1, 1.5, 2 ^ 54, 0 / 0, 1 / 0, "100", true, {} } do
      expect.raise_saying("from 1 to 2^53", sketch.chunks, sketch, bad)
    end
    expect.raise(sketch.chunks, sketch)
    expect.raise(sketch.chunks, sketch, nil)
  end)

  it("is in pieces what encode gives in one, however large", function()
    local sketch = kind.new(kind.megabytes)
    sketch = kind.immutable and sketch or kind.fill(sketch, 1, 4000)
    local bytes = sketch:encode()
    local function compare(n)
      local at = 0
      for piece in sketch:chunks(n) do
        if bytes:sub(at + 1, at + n) ~= piece then
          error(("differs in the %d bytes from %d on"):format(n, at))
        end
        at = at + #piece
      end
      assert.equal(#bytes, at)
    end
    for _, n in ipairs { KILOBYTE, MEGABYTE, MEGABYTE + 1 } do
      compare(n)
    end
  end)

  measured("costs no second copy, neither in pieces nor saved nor loaded", function()
    if kind.pages == nil then
      return
    end
    local output = process.run([[
      local ps, memory = require "probsketch", require "spec.support.memory"
      local kind, path = require "spec.support.kinds"[(...)], os.tmpname()
      local sketch = kind.new(kind.pages)
      for i = 1, 20 do -- every page is there
        local items = {}
        for j = 1, 2000 do
          items[j] = i * 100000 + j
        end
        sketch:add_many(items)
      end
      local length = 0
      for piece in sketch:chunks(2 ^ 20 + 1) do
        length = length + #piece
      end
      assert(length > 64e6)
      assert(sketch:save(path))
      sketch:close()
      assert(ps.load(path)):close()
      os.remove(path)
      print(memory.peak())
    ]], kind.name)
    assert.is_true(tonumber(output) < 100e6, output)
  end)
end)
