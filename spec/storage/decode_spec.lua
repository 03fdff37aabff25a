-- What comes back from bytes and files is the sketch that went in, and costs no more than it is.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local measured = memory.is_measurable and it or pending

local MEGABYTE = 2 ^ 20

local directory, path
setup(function()
  directory = files.directory()
  path = directory .. "/sketch"
end)
teardown(function()
  files.remove(directory)
end)

-- Every way back, of either placement.
local function through_bytes(sketch)
  return ps.decode(sketch:encode())
end

local function through_file(sketch)
  assert.is_true(sketch:save(path))
  return ps.load(path)
end

local function tight_file(sketch)
  files.write(path, sketch:encode())
  return ps.load(path)
end

local function paged_bytes(sketch)
  assert.is_true(sketch:save(path))
  return ps.decode(files.read(path))
end

local ways = { through_bytes, through_file, tight_file, paged_bytes }

kinds.describe_forms(describe, function(form, kind)
  local changing = kinds.changing(kind, it)
  it("comes back from bytes and from a file as it was", function()
    local sketch = form.filled()
    local before, info, answers = sketch:encode(), sketch:info(), kind.answers(sketch)
    for _, way in ipairs(ways) do
      local back = assert(way(sketch))
      assert.equal(sketch, back)
      expect.same_bytes(before, back:encode())
      assert.same(info, back:info())
      assert.same(answers, kind.answers(back))
      assert.equal((sketch:compatible(sketch)), (sketch:compatible(back)))
    end
    expect.same_bytes(before, sketch:encode())
  end)

  it("comes back empty when it was", function()
    for _, way in ipairs(ways) do
      local back = assert(way(form.empty()))
      assert.equal(form.empty(), back)
      assert.equal(0, back:count())
    end
  end)

  changing("goes on after coming back like one that never went", function()
    for _, way in ipairs(ways) do
      local control = kind.fill(form.filled(), 3000, 4000)
      local back = way(form.filled())
      back:add_many(kind.items(3000, 4000))
      expect.same_bytes(control:encode(), back:encode())
      assert.same(kind.answers(control), kind.answers(back))
      assert.same(control:info(), back:info())
      expect.same_bytes(form.empty():encode(), back:clear():encode())
      expect.same_bytes(form.filled():encode(), kind.fill(back, 1, form.items):encode())
    end
  end)

  it("goes on in another process like one that never went", function()
    local sketch = form.filled()
    assert(sketch:save(path))
    local output = process.run([[
      local ps, path, kind = require "probsketch", ..., require "spec.support.kinds"[select(2, ...)]
      local sketch = assert(ps.load(path))
      for _, answer in ipairs(kind.answers(sketch)) do print(answer) end
      if not kind.immutable then
        sketch:add_many(kind.items(3000, 4000))
      end
      assert(sketch:save(path))
    ]], path, kind.name)
    local answers = {}
    for _, answer in ipairs(kind.answers(sketch)) do
      answers[#answers + 1] = tostring(answer) .. "\n"
    end
    assert.equal(table.concat(answers), output)
    assert.equal(kind.immutable and sketch or kind.fill(sketch, 3000, 4000), ps.load(path))
  end)

  it("comes back as the kind that is asked for, and as no other", function()
    local sketch = form.filled()
    local bytes = sketch:encode()
    assert(sketch:save(path))
    assert.equal(sketch, ps.decode(bytes, kind.name))
    assert.equal(sketch, ps.load(path, kind.name))
    assert.equal(sketch, ps.decode(bytes, nil))
    if kind.alias then
      assert.equal(sketch, ps.decode(bytes, kind.alias))
      assert.equal(sketch, ps.load(path, kind.alias))
    end
    for _, other in ipairs(kinds) do
      if other ~= kind then
        local expected = ("kind mismatch (expected %s, got %s)"):format(other.name, kind.name)
        assert.equal(expected, expect.refusal("kind", ps.decode(bytes, other.name)))
        assert.equal(path .. ": " .. expected, expect.refusal("kind", ps.load(path, other.name)))
      end
    end
    for _, bad in ipairs { "", "blom", 5, true, {} } do
      expect.raise(ps.decode, bytes, bad)
      expect.raise(ps.load, path, bad)
    end
  end)

  measured("claims no memory that its bytes do not justify", function()
    local sketch = form.filled()
    local bytes = sketch:encode()
    local claims = { "0000000000100000", "0000000080000000", "0000000100000000", "0000010000000000",
      "0020000000000000", "4000000000000000", "7fffffffffffffff", "8000000000000000", "ffffffffffffffff" }
    local function try(hostile)
      expect.refusal(nil, ps.decode(hostile))
      files.write(path, hostile)
      expect.refusal(nil, ps.load(path))
    end
    local growth = memory.growth(function()
      for _, claim in ipairs(claims) do
        try(envelope.changed(bytes, { payload_size = envelope.hexadecimal(claim) }))
        local fields, at = envelope.open(bytes).fields, 1
        for _, field in ipairs(kind.fields) do
          if field.sizes then
            local changed = envelope.spliced(fields, at, envelope.hexadecimal(claim))
            try(envelope.changed(bytes, { fields = changed }))
            try(envelope.changed(bytes, { fields = changed, payload_size = envelope.hexadecimal(claim) }))
          end
          at = at + field[2]
        end
      end
    end)
    assert.is_true(growth < MEGABYTE, growth)
  end)

  measured("leaks nothing when it is encoded or when its bytes are refused", function()
    local sketch = form.filled()
    local bytes = sketch:encode()
    local short, damaged = bytes:sub(1, -2), envelope.flipped(bytes, #bytes - 8, 3)
    local unsound = envelope.changed(bytes, { payload = ("\255"):rep(#envelope.open(bytes).payload) })
    local function round(n)
      for i = 1, n do
        sketch:encode()
        ps.decode(short)
        ps.decode(damaged)
        ps.decode(unsound)
        ps.decode(bytes)
        if i % 500 == 0 then
          collectgarbage()
        end
      end
    end
    round(500)
    local growth = memory.growth(function()
      round(1000)
    end)
    assert.is_true(growth < MEGABYTE / 4, growth)
  end)
end)

kinds.describe(describe, function(kind)
  it("is refused above the limit of the module, before it costs any memory", function()
    local sketch = kind.new(kind.megabytes)
    kind.fill(sketch, 1, 50)
    local bytes, needed = sketch:encode(), kind.bytes(kind.megabytes)
    assert(sketch:save(path))
    local usual = ps.max_bytes()
    finally(function()
      ps.max_bytes(usual)
    end)
    ps.max_bytes(needed - 1)
    local message = ("needs %.0f bytes, limit %.0f (max_bytes)"):format(needed, needed - 1)
    assert.equal(message, expect.refusal("limit", ps.decode(bytes)))
    assert.equal(path .. ": " .. message, expect.refusal("limit", ps.load(path)))
    ps.max_bytes(needed)
    assert.equal(sketch, ps.decode(bytes))
    assert.equal(sketch, ps.load(path))
  end)

  it("comes back from pages of its own", function()
    if kind.page then
      local sketch, pieces = kind.fill(kind.new(kind.page), 1, 1000), {}
      assert.equal(sketch, through_file(sketch))
      for piece in sketch:chunks(MEGABYTE + 1) do
        pieces[#pieces + 1] = piece
      end
      assert.equal(sketch, ps.decode(table.concat(pieces)))
    end
  end)

  kinds.seeded(kind, it)("keeps a random seed through a file", function()
    local sketch = kind.fill(kind.new(kinds.options(kind.options, { seed = "random" })), 1, 50)
    for _, way in ipairs(ways) do
      local back = way(sketch)
      assert.equal(sketch, back)
      assert.is_nil(back:info().seed)
      assert.same(kind.answers(sketch), kind.answers(back))
    end
  end)

  measured("is refused unread when the file is longer than any sketch of its parameters or limit", function()
    local output = process.run([[
      local ps, envelope, memory = require "probsketch", require "spec.support.envelope", require "spec.support.memory"
      local path, kind = ..., require "spec.support.kinds"[select(2, ...)]
      local size = 2 ^ 29
      if kind.grows then
        ps.max_bytes(size - 1)
      end
      for _, form in ipairs(kind.forms) do
        -- A file of half a gigabyte with nothing on disk behind its header.
        local bytes = envelope.changed(form.filled():encode(), { payload_size = size })
        local file = assert(io.open(path, "wb"))
        file:write(bytes:sub(1, envelope.open(bytes).offset))
        file:seek("set", envelope.open(bytes).offset + size + 7)
        file:write "\0"
        file:close()
        local sketch, message, code = ps.load(path)
        assert(sketch == nil and (code == "corrupt" or code == "limit"), message)
      end
      print(memory.peak())
    ]], path, kind.name)
    assert.is_true(tonumber(output) < 64 * MEGABYTE, output)
  end)
end)
