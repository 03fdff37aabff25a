-- The bytes around every stored sketch are those of docs/FORMAT.md, and whatever is wrong with them is refused.

local ps = require "probsketch"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local random = require "spec.support.random"

local ZERO = ("\0"):rep(8)

-- What a loader does with bytes that claim to be a sketch: refuses them, or yields what they say, to the byte.
local function refused_or_faithful(bytes)
  local sketch, message, code = ps.decode(bytes)
  if sketch == nil then
    expect.refusal(nil, sketch, message, code)
    return false
  end
  local parts = envelope.open(bytes)
  if #parts.padding == 0 then
    expect.same_bytes(bytes, sketch:encode())
  end
  sketch:info()
  tostring(sketch)
  sketch:close()
  return true
end

kinds.describe_forms(describe, function(form, kind)
  local directory, tight, paged
  setup(function()
    directory = files.directory()
    local sketch = form.filled()
    assert(sketch:save(directory .. "/sketch"))
    tight, paged = sketch:encode(), files.read(directory .. "/sketch")
  end)
  teardown(function()
    files.remove(directory)
  end)

  it("is stored behind a header that says what it is and how long, and sealed twice", function()
    for _, bytes in ipairs { tight, paged } do
      local parts = envelope.open(bytes)
      assert.equal("\143PSK", parts.magic)
      assert.equal(1, parts.version)
      assert.equal(kind.key and 1 or 0, parts.hash)
      assert.equal(ZERO, parts.seed)
      assert.equal(parts.fields_size, #parts.fields)
      assert.equal(parts.payload_size, #parts.payload)
      expect.same_bytes(bytes, envelope.seal(parts))
    end
  end)

  it("is tight as a string and has its payload on a page of its own in a file", function()
    local in_string, in_file = envelope.open(tight), envelope.open(paged)
    assert.equal(32 + in_string.fields_size + 8, in_string.offset)
    assert.equal("", in_string.padding)
    assert.equal(4096, in_file.offset)
    assert.equal(("\0"):rep(4096 - 40 - in_file.fields_size), in_file.padding)
    assert.equal(#tight - in_string.offset, #paged - 4096)
    in_file.offset, in_file.padding = in_string.offset, ""
    expect.same_bytes(tight, envelope.seal(in_file))
  end)

  kinds.seeded(kind, it)("carries its seed in the header", function()
    local seeded = kind.new(kinds.options(form.options, { seed = 2 ^ 53 - 2 })):encode()
    assert.equal(2 ^ 53 - 2, envelope.number(envelope.open(seeded).seed))
  end)

  it("is refused when it is cut short anywhere", function()
    for _, bytes in ipairs { tight, paged } do
      for length = 0, #bytes - 1 do
        expect.refusal("truncated", ps.decode(bytes:sub(1, length)))
      end
    end
  end)

  -- Every bit: spec/c/hostile_test.c.
  it("is refused when a bit is changed in any byte", function()
    for _, bytes in ipairs { tight, paged } do
      for at = 1, #bytes do
        local sketch, message, code = ps.decode(envelope.flipped(bytes, at, at % 8))
        if sketch ~= nil or code == nil then
          expect.refusal(nil, sketch, message, code)
        end
      end
    end
  end)

  it("is refused when bytes follow it", function()
    for _, bytes in ipairs { tight, paged } do
      expect.refusal("corrupt", ps.decode(bytes .. "\0"))
      expect.refusal("corrupt", ps.decode(bytes .. bytes))
    end
  end)

  it("is refused with an unknown version, hash, kind or flag, though the checksums fit", function()
    for _, version in ipairs { 0, 2, 255 } do
      local message = expect.refusal("version", ps.decode(envelope.changed(tight, { version = version })))
      assert.is_truthy(message:find(("%d"):format(version), 1, true), message)
    end
    for _, hash in ipairs { kind.key and 0 or 1, 2, 255 } do
      expect.refusal("version", ps.decode(envelope.changed(tight, { hash = hash })))
    end
    for _, id in ipairs { 0, 254, 255 } do
      expect.refusal("kind", ps.decode(envelope.changed(tight, { kind = id })))
    end
    for _, flags in ipairs { 4, 128, 252 } do
      expect.refusal("corrupt", ps.decode(envelope.changed(tight, { flags = envelope.open(tight).flags + flags })))
    end
    expect.refusal("magic", ps.decode(envelope.changed(tight, { magic = "\143PSL" })))
  end)

  it("is refused as any other kind, though the checksums fit", function()
    for _, other in ipairs(kinds) do
      if other ~= kind then
        local id = envelope.open(other.new():encode()).kind
        expect.refusal(nil, ps.decode(envelope.changed(tight, { kind = id })))
      end
    end
  end)

  it("is refused with its payload elsewhere than it says, though the checksums fit", function()
    local parts = envelope.open(tight)
    for _, offset in ipairs { 0, 8, 32, parts.offset - 1, parts.offset + 1, 4096, 8192, 2 ^ 31, 2 ^ 32 - 1 } do
      expect.refusal(nil, ps.decode(envelope.changed(tight, { offset = offset })))
    end
    for _, size in ipairs { 0, parts.fields_size - 1, parts.fields_size + 1, 128, 129, 2 ^ 31, 2 ^ 32 - 1 } do
      expect.refusal(nil, ps.decode(envelope.changed(tight, { fields_size = size })))
    end
    local padded = envelope.open(paged)
    padded.padding = padded.padding:sub(2) .. "\1"
    expect.refusal("corrupt", ps.decode(envelope.seal(padded)))
    expect.refusal(nil, ps.decode(envelope.changed(tight, { padding = ZERO, offset = parts.offset + 8 })))
  end)

  it("is refused with more or fewer bytes of fields than the kind has, though the checksums fit", function()
    local parts = envelope.open(tight)
    for _, fields in ipairs { "", parts.fields .. "\0", parts.fields .. ZERO, parts.fields:sub(1, -2) } do
      expect.refusal("corrupt", ps.decode(envelope.changed(tight, {
        fields = fields, fields_size = #fields, offset = 40 + #fields,
      })))
    end
  end)

  it("is refused with a payload larger or smaller than its parameters want, though the checksums fit", function()
    local payload = envelope.open(tight).payload
    local none = #envelope.open(form.empty():encode()).payload > 0 and "" or nil -- is an empty sketch of some kinds
    for _, other in ipairs { payload .. "\0", payload .. payload, payload:sub(1, -2), payload:rep(100), none } do
      expect.refusal("corrupt", ps.decode(envelope.changed(tight, { payload = other, payload_size = #other })))
    end
  end)

  it("is refused with parameters that no constructor takes, though the checksums fit", function()
    local fields, at = envelope.open(tight).fields, 1
    for _, field in ipairs(kind.fields) do
      local name, width, hostile = field[1], field[2], field[3]
      for _, digits in ipairs(hostile) do
        local bytes = envelope.hexadecimal(digits)
        assert.equal(width, #bytes, name)
        local changed = envelope.spliced(fields, at, bytes)
        local message = expect.refusal(nil, ps.decode(envelope.changed(tight, { fields = changed })))
        assert.is_truthy(message, name)
      end
      at = at + width
    end
    assert.equal(#fields, at - 1) -- the table names them all
  end)

  it("is refused, or is what the bytes say, after any damage that the checksums were made to fit", function()
    local generator, accepted = random.new(#tight), 0
    for _ = 1, 400 do
      local parts = envelope.open(tight)
      for _ = 1, generator:integer(4) do
        local name = ({ "fields", "payload", "payload", "seed" })[generator:integer(4)]
        if #parts[name] > 0 then
          parts[name] = envelope.spliced(parts[name], generator:integer(#parts[name]), generator:bytes(1))
        end
      end
      accepted = accepted + (refused_or_faithful(envelope.seal(parts)) and 1 or 0)
    end
    assert.is_true(accepted > 0, "nothing but refusals proves little")
  end)
end)

kinds.describe(describe, function(kind)
  for _, case in ipairs(kind.corrupt) do
    local what, form_name, change = case[1], case[2], case[3]
    it("is refused with " .. what .. ", though the checksums fit", function()
      local n = 0
      for _, form in ipairs(kind.forms) do
        if form.name == form_name then
          local parts = envelope.open(form.filled():encode())
          parts.payload = change(parts.payload)
          parts.payload_size = #parts.payload
          expect.refusal("corrupt", ps.decode(envelope.seal(parts)))
          n = n + 1
        end
      end
      assert.equal(1, n)
    end)
  end
end)

describe("bytes that are no sketch", function()
  it("are refused as that, or as too short", function()
    expect.refusal("truncated", ps.decode "")
    expect.refusal("truncated", ps.decode "\143PS")
    for _, text in ipairs { "x", "PSK", "hello world", ("\0"):rep(100), "\031\139\008", ("\255"):rep(5000) } do
      expect.refusal("magic", ps.decode(text))
    end
  end)

  it("are refused whatever they are", function()
    local generator = random.new(1)
    for _ = 1, 1000 do
      local noise = generator:bytes(64)
      expect.refusal("magic", ps.decode(noise))
      expect.refusal(nil, ps.decode("\143PSK\1" .. noise))
    end
  end)

  it("must be a string", function()
    for _, bad in ipairs { 5, true, {}, print, io.stdout, kinds[1].new() } do
      expect.raise(ps.decode, bad)
    end
    expect.raise(ps.decode)
    expect.raise(ps.decode, nil)
  end)
end)
