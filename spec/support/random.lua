-- splitmix64 (Steele, Lea and Flood 2014), the same numbers on every Lua: integers where there are 64-bit ones, pairs
-- of 32-bit halves in doubles elsewhere.

local random = {}

-- Each makes a function that returns the next 64 bits as two halves, the upper first.
local integer_source = [[
  local state = ...
  return function()
    state = state + 0x9e3779b97f4a7c15
    local z = (state ~ (state >> 30)) * 0xbf58476d1ce4e5b9
    z = (z ~ (z >> 27)) * 0x94d049bb133111eb
    z = z ~ (z >> 31)
    return z >> 32, z & 0xffffffff
  end
]]

local TWO_16, TWO_32 = 2 ^ 16, 2 ^ 32

-- Lua 5.1 has no operations on bits at all: bytes are looked up.
local function xor_by_table()
  local rows = {}
  for a = 0, 255 do
    local row = {}
    for b = 0, 255 do
      local x, y, sum, bit = a, b, 0, 1
      for _ = 1, 8 do
        sum = sum + (x + y) % 2 * bit
        x, y, bit = math.floor(x / 2), math.floor(y / 2), bit * 2
      end
      row[b] = sum
    end
    rows[a] = row
  end
  return function(x, y)
    local result, place = 0, 1
    for _ = 1, 4 do
      local a, b = x % 256, y % 256
      result = result + rows[a][b] * place
      x, y, place = (x - a) / 256, (y - b) / 256, place * 256
    end
    return result
  end
end

local function xor_by_library()
  local found, library = pcall(require, "bit") -- LuaJIT; its results are signed
  if not found then
    library = rawget(_G, "bit32")
  end
  return library and function(x, y)
    return library.bxor(x, y) % TWO_32
  end
end

local function multiply_low(x, y) -- modulo 2^32
  local x0, y0 = x % TWO_16, y % TWO_16
  local middle = (x - x0) / TWO_16 * y0 + x0 * ((y - y0) / TWO_16)
  return (middle % TWO_16 * TWO_16 + x0 * y0) % TWO_32
end

-- The product of two 64-bit numbers, modulo 2^64.
function random.multiply(a_high, a_low, b_high, b_low)
  local a0, b0 = a_low % TWO_16, b_low % TWO_16
  local a1, b1 = (a_low - a0) / TWO_16, (b_low - b0) / TWO_16
  local middle = a1 * b0 + a0 * b1
  local low = a0 * b0 + middle % TWO_16 * TWO_16
  local high = multiply_low(a_high, b_low) + multiply_low(a_low, b_high) + a1 * b1
    + math.floor(middle / TWO_16) + math.floor(low / TWO_32)
  return high % TWO_32, low % TWO_32
end

local function double_source(xor)
  local function xor_shifted(high, low, bits)
    local unit = 2 ^ bits
    local shifted_low = high % unit * (TWO_32 / unit) + math.floor(low / unit)
    return xor(high, math.floor(high / unit)), xor(low, shifted_low)
  end
  return function(seed)
    local high, low = math.floor(seed / TWO_32), seed % TWO_32
    return function()
      low = low + 0x7f4a7c15
      high = (high + 0x9e3779b9 + math.floor(low / TWO_32)) % TWO_32
      low = low % TWO_32
      local h, l = xor_shifted(high, low, 30)
      h, l = random.multiply(h, l, 0xbf58476d, 0x1ce4e5b9)
      h, l = xor_shifted(h, l, 27)
      h, l = random.multiply(h, l, 0x94d049bb, 0x133111eb)
      return xor_shifted(h, l, 31)
    end
  end
end

-- Every way that this Lua has, for the spec that holds them against each other.
random.sources = {}
if math.type then
  random.sources[#random.sources + 1] = load(integer_source)
end
local by_library = xor_by_library()
if by_library then
  random.sources[#random.sources + 1] = double_source(by_library)
end
if #random.sources == 0 then
  random.sources[1] = double_source(xor_by_table())
end

local generator = {}
generator.__index = generator

-- A generator; the seed is an integer from 0 to 2^53.
function random.new(seed)
  return setmetatable({ next = random.sources[1](seed) }, generator)
end

-- A number in [0, 1): the upper 53 bits.
function generator:uniform()
  local high, low = self.next()
  return (high * 2 ^ 21 + math.floor(low / 2 ^ 11)) / 2 ^ 53
end

-- An integer from 1 to n.
function generator:integer(n)
  return math.floor(self:uniform() * n) + 1
end

-- A string of `length` bytes: the numbers one after the other, little-endian.
function generator:bytes(length)
  local words = {}
  for i = 1, math.ceil(length / 8) do
    local high, low = self.next()
    local bytes = {}
    for j = 1, 4 do
      bytes[j], bytes[j + 4] = low % 256, high % 256
      low, high = math.floor(low / 256), math.floor(high / 256)
    end
    words[i] = string.char(bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8])
  end
  return table.concat(words):sub(1, length)
end

-- The array in another order, each as likely; a new one.
function generator:shuffled(array)
  local result = {}
  for i = 1, #array do
    local j = self:integer(i)
    result[i] = result[j]
    result[j] = array[i]
  end
  return result
end

return random
