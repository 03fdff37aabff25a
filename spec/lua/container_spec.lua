-- The bytes of objects of several parts: what goes in comes back, and whatever is wrong is refused.

local ps = require "probsketch"
local container = require "probsketch.container"
local envelope = require "spec.support.envelope"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local memory = require "spec.support.memory"

local measured = memory.is_measurable and it or pending
local little, spliced = envelope.little, envelope.spliced

local NAMES = { "span", "slices" }
local FIELDS = { { "span", 86400.5 }, { "slices", 24 } }
local PARTS = { { "0", "abc" }, { "", "" }, { "a\0b", ("\0\255"):rep(40) } }
local BYTES = container.write("window", FIELDS, PARTS)
local PARTS_FROM = 33 + 24 * #FIELDS

-- The container with bytes replaced from `at` (1 the first) on, and a checksum that fits.
local function sealed(bytes, at, replacement)
  local body = spliced(bytes:sub(1, -9), at, replacement)
  return body .. envelope.checksum(body)
end

local function read(bytes)
  return container.read(bytes, "window", NAMES)
end

-- IEEE 754 as hexadecimal digits, the highest first.
local doubles = {
  { 0, "0000000000000000" },
  { 1, "3ff0000000000000" },
  { -1, "bff0000000000000" },
  { 1.5, "3ff8000000000000" },
  { 0.1, "3fb999999999999a" },
  { -0.1, "bfb999999999999a" },
  { 1 / 3, "3fd5555555555555" },
  { 86400, "40f5180000000000" },
  { 2 ^ 53, "4340000000000000" },
  { 2 ^ 53 - 1, "433fffffffffffff" },
  { 1 - 2 ^ -53, "3fefffffffffffff" },
  { 2 ^ -1022, "0010000000000000" },
  { 2 ^ -1022 - 2 ^ -1074, "000fffffffffffff" },
  { 2 ^ -1074, "0000000000000001" },
  { (2 - 2 ^ -52) * 2 ^ 1023, "7fefffffffffffff" },
  { -(2 - 2 ^ -52) * 2 ^ 1023, "ffefffffffffffff" },
}

describe("a container", function()
  it("gives back what went in", function()
    local fields, parts = assert(read(BYTES))
    assert.same({ span = 86400.5, slices = 24 }, fields)
    assert.same(PARTS, parts)
    fields, parts = assert(container.read(container.write("lsh", {}, {}), "lsh", {}))
    assert.same({}, fields)
    assert.same({}, parts)
  end)

  it("has the same bytes for the same, and others for anything else", function()
    local seen = { [BYTES] = true }
    expect.same_bytes(BYTES, container.write("window", FIELDS, PARTS))
    for _, other in ipairs {
      container.write("lsh", FIELDS, PARTS),
      container.write("window", { { "span", 86400.5 } }, PARTS),
      container.write("window", FIELDS, { PARTS[1], PARTS[2] }),
      container.write("window", FIELDS, { PARTS[2], PARTS[1], PARTS[3] }),
      container.write("window", FIELDS, { { "0a", "bc" }, PARTS[2], PARTS[3] }),
    } do
      assert.is_nil(seen[other])
      seen[other] = true
    end
  end)

  it("keeps numbers exactly, as IEEE 754", function()
    for _, row in ipairs(doubles) do
      local bytes = container.write("window", { { "x", row[1] } }, {})
      assert.equal(row[2], (bytes:sub(49, 56):reverse():gsub(".", function(b) return ("%02x"):format(b:byte()) end)))
      local x = assert(container.read(bytes, "window", { "x" })).x
      assert.equal(row[1], x)
      if math.type then -- luacheck: ignore 143
        local whole = x % 1 == 0 and math.abs(x) <= 2 ^ 53
        assert.equal(whole and "integer" or "float", math.type(x)) -- luacheck: ignore 143
      end
    end
    expect.same_bytes(container.write("window", { { "x", 0 } }, {}), container.write("window", { { "x", -0.0 } }, {}))
  end)

  it("is refused when it is cut short anywhere", function()
    for length = 0, #BYTES - 1 do
      expect.refusal("truncated", read(BYTES:sub(1, length)))
    end
  end)

  it("is refused when a single bit is changed anywhere", function()
    for at = 1, #BYTES do
      for bit = 0, 7 do
        local fields, message, code = read(envelope.flipped(BYTES, at, bit))
        expect.refusal(at <= 4 and "magic" or at <= 8 and "version" or nil, fields, message, code)
        assert.is_true(code ~= "checksum" or at > 8)
        assert.is_true(at <= 24 or code == "checksum")
      end
    end
  end)

  it("is refused when bytes follow it", function()
    expect.refusal("corrupt", read(BYTES .. "\0"))
    expect.refusal("corrupt", read(BYTES .. BYTES))
  end)

  it("is refused when it is something else", function()
    expect.refusal("magic", read("not a window, though it is long enough to be one"))
    assert.equal("kind mismatch (expected window, got lsh)",
      expect.refusal("kind", read(container.write("lsh", FIELDS, PARTS))))
    assert.equal("kind mismatch (expected window, got a sketch, which is loaded by decode)",
      expect.refusal("kind", read(ps.hll():encode())))
    expect.refusal("kind", read(sealed(BYTES, 9, "window\0x")))
    expect.refusal("version", read(sealed(BYTES, 5, little(4, 2))))
    expect.refusal("version", read(sealed(BYTES, 5, little(4, 0))))
  end)

  it("is refused with lengths and numbers that do not fit, though the checksum does", function()
    local past = { 2 ^ 20, 2 ^ 31, 2 ^ 32 - 1 }
    for _, n in ipairs { 0, 1, 3, past[1], past[2], past[3] } do
      expect.refusal("corrupt", read(sealed(BYTES, 25, little(4, n)))) -- fields
    end
    for _, n in ipairs { 0, 1, 2, 4, past[1], past[2], past[3] } do
      expect.refusal("corrupt", read(sealed(BYTES, 29, little(4, n)))) -- parts
    end
    for _, n in ipairs { 0, 2, past[1], past[2], past[3] } do
      expect.refusal("corrupt", read(sealed(BYTES, PARTS_FROM, little(4, n)))) -- name of the first part
    end
    for _, n in ipairs { 2, 4, past[1], past[3], 2 ^ 53 } do
      expect.refusal("corrupt", read(sealed(BYTES, PARTS_FROM + 4, little(8, n)))) -- its bytes
    end
    expect.refusal("corrupt", read(sealed(BYTES, PARTS_FROM + 4, ("\255"):rep(8))))
    for _, n in ipairs { 0, #BYTES - 1, 2 ^ 53 } do
      local _, _, code = read(sealed(BYTES, 17, little(8, n)))
      assert.equal(n < #BYTES and "corrupt" or "truncated", code)
    end
    expect.refusal("truncated", read(sealed(BYTES, 17, ("\255"):rep(8))))
    for _, name in ipairs { "Span", "spa\0", "span\0\0\0\0\0\0\0\0\0\0\0x" } do
      expect.refusal("corrupt", read(sealed(BYTES, 33, name)))
    end
    for _, digits in ipairs { "7ff0000000000000", "fff0000000000000", "7ff8000000000000", "8000000000000000" } do
      expect.refusal("corrupt", read(sealed(BYTES, 49, envelope.hexadecimal(digits))))
    end
  end)

  it("is refused at every length of a part but the right one", function()
    for n = 0, #BYTES do
      local fields, message, code = read(sealed(BYTES, PARTS_FROM + 4, little(8, n)))
      if n ~= #PARTS[1][2] then
        expect.refusal("corrupt", fields, message, code)
      end
    end
  end)

  measured("is refused without memory for what it only claims", function()
    local claims = sealed(BYTES, 29, little(4, 2 ^ 32 - 1))
    local before = memory.peak()
    expect.refusal("corrupt", read(claims))
    assert.is_true(memory.peak() - before < 2 ^ 20)
  end)

  it("is called by its name where a sketch is expected", function()
    local path = files.directory() .. "/window"
    finally(function() files.remove(path:match "^(.*)/") end)
    files.write(path, BYTES)
    local says = "not a sketch but a window, loaded by probsketch.window{ bytes = ... }"
    assert.equal(says, expect.refusal("kind", ps.decode(BYTES)))
    assert.equal(says, expect.refusal("kind", ps.decode(BYTES, "hll")))
    assert.equal((says:gsub("a window", "an lsh"):gsub("window", "lsh")),
      expect.refusal("kind", ps.decode(ps.lsh():encode())))
    assert.equal("not an lsh (no magic number at its start)", expect.refusal("magic", ps.lsh { bytes = "no" }))
    assert.equal(path .. ": " .. says, expect.refusal("kind", ps.load(path)))
    for length = 1, 15 do
      local _, _, code = ps.decode(BYTES:sub(1, length))
      assert.equal(length < 4 and "truncated" or "magic", code)
    end
    expect.refusal("magic", ps.decode(sealed(BYTES, 9, "\255\0\0\0\0\0\0\0")))
    expect.refusal("kind", ps.decode(sealed(BYTES, 9, "abcdefgh")))
  end)
end)
