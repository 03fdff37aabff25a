-- The hash is XXH3_64bits, on every machine and for ever: the published answers.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local random = require "spec.support.random"

-- The input of the reference implementation's own sanity check (xxHash, cli/xsum_sanity_check.c): the highest byte of
-- PRIME32 * PRIME64^i.
local function sanity_input(length)
  local bytes = {}
  local high, low = 0, 2654435761
  for i = 1, length do
    bytes[i] = string.char(math.floor(high / 2 ^ 24))
    high, low = random.multiply(high, low, 0x9e3779b1, 0x85ebca8d)
  end
  return table.concat(bytes)
end

describe("ps.hash", function()
  it("gives the published answers of XXH3_64bits for each class of lengths", function()
    for length, answer in pairs {
      [0] = "2d06800538d394c2",
      [1] = "c44bdff4074eecdb",
      [6] = "27b56a84cd2d7325",
      [12] = "a713daf0dfbb77e7",
      [24] = "a3fe70bf9d3510eb",
      [48] = "397da259ecba1f11",
      [80] = "bcdefbbb2c47c90a",
      [195] = "cd94217ee362ec3a",
    } do
      assert.equal(answer, ps.hash(sanity_input(length)))
    end
  end)

  it("gives the published answers for the first letters", function()
    assert.equal("e6c632b61e964e1f", ps.hash "a")
    assert.equal("a873719c24d5735c", ps.hash "ab")
    assert.equal("78af5f94892f3950", ps.hash "abc")
  end)

  it("is that of the seed 0 unless another is given", function()
    assert.equal(ps.hash("abc", 0), ps.hash "abc")
    assert.equal(ps.hash("abc", nil), ps.hash "abc")
    local seen = {}
    for _, seed in ipairs { 0, 1, 2 ^ 32 - 1, 2 ^ 32, 2 ^ 53 } do
      local hash = ps.hash("abc", seed)
      assert.is_truthy(hash:find "^%x+$" and #hash == 16 and hash == hash:lower())
      assert.is_nil(seen[hash])
      seen[hash] = true
    end
  end)

  it("refuses what is no key and what is no seed", function()
    for _, bad in ipairs { 1.5, true, {}, 0 / 0, print } do
      expect.raise(ps.hash, bad)
    end
    expect.raise(ps.hash)
    for _, bad in ipairs { -1, 0.5, 2 ^ 54, "1", "random", true, {}, io.stdout } do
      expect.raise(ps.hash, "abc", bad)
    end
  end)

  it("does not depend on where the bytes lie", function()
    local generator = random.new(5)
    local buffer = generator:bytes(400)
    for length = 0, 300, 7 do
      local wanted = ps.hash(buffer:sub(1, length))
      for offset = 1, 15 do
        local moved = ("x"):rep(offset) .. buffer:sub(1, length)
        assert.equal(wanted, ps.hash(moved:sub(offset + 1)))
      end
    end
  end)
end)

describe("the random numbers of the specs", function()
  it("are those of splitmix64, in each way that this Lua has of making them", function()
    local published = { "6457827717110365317", "3203168211198807973", "9817491932198370423", "4593380528125082431",
      "16408922859458223821" } -- for the seed 1234567
    for _, source in ipairs(random.sources) do
      local next_number = source(1234567)
      for _, digits in ipairs(published) do
        local high, low = next_number()
        -- hash of the decimal digits, since no number of every Lua holds 64 bits
        local upper, rest = math.floor(high), low
        local text = ""
        for _ = 1, 20 do
          local carried = upper % 10 * 2 ^ 32 + rest
          upper, rest = math.floor(upper / 10), math.floor(carried / 10)
          text = ("%d"):format(carried % 10) .. text
        end
        assert.equal(digits, (text:gsub("^0+", "")))
      end
    end
  end)

  it("are bytes, fractions and integers in their ranges", function()
    local generator = random.new(0)
    assert.equal(0xe2 / 256, math.floor(generator:uniform() * 256) / 256) -- e220a8397b1dcdaf comes first
    assert.equal("\175\205\029\123\057\168\032\226", random.new(0):bytes(8))
    for _ = 1, 1000 do
      local n = generator:integer(6)
      assert.is_true(n >= 1 and n <= 6 and n % 1 == 0)
    end
    local shuffled = generator:shuffled { 1, 2, 3, 4, 5 }
    table.sort(shuffled)
    assert.same({ 1, 2, 3, 4, 5 }, shuffled)
  end)
end)
