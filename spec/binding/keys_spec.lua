-- What is a key, and which keys are one.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local random = require "spec.support.random"

local TWO_53 = 2 ^ 53

-- Lua 5.3 and later have integers beyond 2^53.
local function integer(text)
  return math.type and load("return " .. text)()
end

local not_keys = {
  1.5, -0.5, 1e-300, TWO_53 + 2, -TWO_53 - 2, 2 ^ 63, -2 ^ 63, 1e300, 0 / 0, 1 / 0, -1 / 0,
  true, false, {}, print, io.stdout, coroutine.create(function() end),
}
if rawget(_G, "jit") then
  local ffi = require "ffi"
  not_keys[#not_keys + 1] = ffi.new("int64_t", 42)
  not_keys[#not_keys + 1] = ffi.new("char[4]")
end

-- Different strings that a careless binding takes for one another.
local strings = { "", "\0", "\0\0", "a", "a\0", "a\0b", "a\0c", "A", "\n", "\r\n", "\r", " ", "1", "1.0", " 1", "01",
  "+1", "-1", "1e0", "0x1", "0", "-0", "0.0", "true", "nil", "\255", "\195\164", ("x"):rep(1000),
  ("x"):rep(1000) .. "\0" }

kinds.describe(describe, function(kind)
  if not kind.key then
    return
  end

  -- Sketches of one key each are equal exactly when the keys are one, but for a chance of one in millions.
  local function with(key)
    return kind.fill_with(kind.new(), { key })
  end

  it("takes a key as bytes, zeros included", function()
    local seen = {}
    for _, key in ipairs(strings) do
      local bytes = with(key):encode()
      assert.is_nil(seen[bytes], ("%q is taken for %q"):format(key, tostring(seen[bytes])))
      seen[bytes] = key
    end
  end)

  it("tells all keys of one byte apart, and all of two that differ in a zero", function()
    local seen, n = {}, 0
    for i = 0, 255 do
      for _, key in ipairs { string.char(i), string.char(i, 0), string.char(0, 0, i) } do
        local bytes = with(key):encode()
        n = n + (seen[bytes] and 0 or 1)
        seen[bytes] = true
      end
    end
    assert.equal(3 * 256, n)
  end)

  it("takes 42, 42.0 and \"42\" for one key", function()
    for _, case in ipairs { { 42, "42" }, { 42.0, "42" }, { -42, "-42" }, { 0, "0" }, { -0.0, "0" }, { 1e3, "1000" },
      { 1e15, "1000000000000000" }, { -2 ^ 31, "-2147483648" }, { 2 ^ 32, "4294967296" } } do
      assert.equal(with(case[2]), with(case[1]))
    end
    assert.is_not_equal(with "42", with "42.0")
  end)

  it("takes integers up to 2^53 to the last digit, on every Lua", function()
    for _, case in ipairs { { TWO_53, "9007199254740992" }, { TWO_53 - 1, "9007199254740991" },
      { -TWO_53, "-9007199254740992" }, { -TWO_53 + 1, "-9007199254740991" } } do
      assert.equal(with(case[2]), with(case[1]))
    end
  end)

  it("takes integers of 64 bits in full where Lua has them", function()
    if not math.type then
      return
    end
    for _, digits in ipairs { "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775807",
      "4611686018427387905" } do
      assert.equal(with(digits), with(integer(digits)))
    end
    assert.equal(with "-9223372036854775808", with(math.mininteger))
  end)

  it("gives an integer and its decimal string the same hash, whatever the integer", function()
    local function check(number)
      local digits = number == 0 and "0" or ("%.0f"):format(number)
      if ps.hash(digits) ~= ps.hash(number) then
        error("not the hash of " .. digits)
      end
    end
    for number = 0, 20000 do
      check(number)
      check(-number)
    end
    for digits = 1, 15 do
      for near = -2, 2 do
        check(10 ^ digits + near)
        check(-10 ^ digits + near)
      end
    end
    local generator = random.new(3)
    for i = 1, 5000 do
      check(math.floor(generator:uniform() * 2 ^ (i % 53 + 1)) * (i % 2 * 2 - 1))
      check(math.floor(generator:uniform() * 10 ^ (i % 16)))
    end
  end)

  it("gives an integer of 64 bits and its decimal string the same hash", function()
    if math.type then
      local generator = random.new(4)
      local from_halves = load "local high, low = ...; return high << 32 | low"
      for i = 1, 5000 do
        local high, low = generator.next()
        local number = load "local number, bits = ...; return number >> bits"(from_halves(high, low), i % 64)
        for _, signed in ipairs { number, -number } do
          assert.equal(ps.hash(("%d"):format(signed)), ps.hash(signed))
        end
      end
      for digits = 15, 18 do
        for near = -1, 1 do
          local number = math.tointeger(10 ^ digits) + near
          assert.equal(ps.hash(("%d"):format(number)), ps.hash(number))
        end
      end
    end
  end)

  it("refuses all else, says to format it first, and is unchanged", function()
    local sketch = kind.fill(kind.new(), 1, 20)
    local before = sketch:encode()
    for _, method in ipairs { "add", "has", "frequency" } do
      local call = sketch[method]
      if call then
        for _, value in ipairs(not_keys) do
          expect.raise_saying("format", call, sketch, value)
        end
        expect.raise_saying("format", call, sketch, nil)
        expect.raise_saying("format", call, sketch)
      end
    end
    expect.same_bytes(before, sketch:encode())
  end)

  it("does not change a number that it is given", function()
    local t = { 42, -0.0 }
    with(t[1])
    ps.hash(t[1])
    assert.equal("number", type(t[1]))
    for key in pairs(t) do
      with(key) -- a key that became a string would end the traversal with an error
      kind.fill_with(kind.new(), t)
    end
    assert.same({ 42, 0 }, t)
  end)
end)
