-- The bytes of objects that are made of several parts, such as windows: "Containers" in docs/FORMAT.md. To readers a
-- container is whole or refused; no claim in it costs more memory than its bytes take.

local hash = require "probsketch.core".hash

local byte, char, sub = string.byte, string.char, string.sub
local concat, floor = table.concat, math.floor

local MAGIC, SKETCH_MAGIC, VERSION = "\143PSP", "\143PSK", 1
local TYPE_WIDTH, NAME_WIDTH = 8, 16
local HEADER_SIZE, FIELD_SIZE, PART_HEAD_SIZE, CHECKSUM_SIZE = 32, NAME_WIDTH + 8, 12, 8
local TWO_32, TWO_52 = 2 ^ 32, 2 ^ 52

local container = {}

-- ---- numbers: by arithmetic alone, the same on every Lua and in every locale

local function word(n)
  return char(n % 256, floor(n / 256) % 256, floor(n / 65536) % 256, floor(n / 16777216) % 256)
end

local function long(n)
  return word(n % TWO_32) .. word(floor(n / TWO_32))
end

local function read_word(bytes, at)
  local a, b, c, d = byte(bytes, at, at + 3)
  return a + b * 256 + c * 65536 + d * 16777216
end

-- A float, inexact from 2^53 on: then it is longer than anything.
local function read_long(bytes, at)
  return read_word(bytes, at) + read_word(bytes, at + 4) * TWO_32
end

-- The IEEE 754 bits of a finite number.
local function double(x)
  if x == 0 then
    return long(0)
  end
  local sign, exponent = 0, 1023
  if x < 0 then
    sign, x = 2 ^ 31, -x
  end
  while x >= 2 do
    x, exponent = x / 2, exponent + 1
  end
  while x < 1 and exponent > 1 do
    x, exponent = x * 2, exponent - 1
  end
  if x < 1 then -- subnormal
    exponent = 0
  else
    x = x - 1
  end
  local mantissa = x * TWO_52
  return word(mantissa % TWO_32) .. word(floor(mantissa / TWO_32) + exponent * 2 ^ 20 + sign)
end

-- The number of such bits, an integer where it is whole and Lua has them; nil for what double() never makes.
local function read_double(bytes, at)
  local low, high = read_word(bytes, at), read_word(bytes, at + 4)
  local negative = high >= 2 ^ 31
  local exponent = floor(high / 2 ^ 20) % 2048
  local mantissa = high % 2 ^ 20 * TWO_32 + low
  if exponent == 2047 or negative and exponent == 0 and mantissa == 0 then
    return nil
  end
  local x = exponent == 0 and mantissa * 2 ^ -1074 or (TWO_52 + mantissa) * 2 ^ (exponent - 1075)
  x = negative and -x or x
  return x % 1 == 0 and x >= -2 ^ 53 and x <= 2 ^ 53 and floor(x) or x
end

-- ---- text and seal

local function padded(text, width)
  return text .. ("\0"):rep(width - #text)
end

-- The checksum as it is stored: little-endian, where hash() writes the highest digit first.
local function checksum(bytes)
  return (hash(bytes):gsub("%x%x", function(digits)
    return char(tonumber(digits, 16))
  end):reverse())
end

-- ---- the whole

-- The bytes of an object: its type (at most 8 of a-z, 0-9 and _), its numbers as an array of { name, number } with
-- names of at most 16 such characters, finite numbers, and its parts as an array of { name, bytes }, any strings. The
-- same arguments give the same bytes. O(their length), which is copied twice.
function container.write(type_name, fields, parts)
  local pieces, n = {}, 1
  local function put(piece)
    n = n + 1
    pieces[n] = piece
  end
  local size = HEADER_SIZE + FIELD_SIZE * #fields + CHECKSUM_SIZE
  for _, field in ipairs(fields) do
    put(padded(field[1], NAME_WIDTH))
    put(double(field[2]))
  end
  for _, part in ipairs(parts) do
    local name, bytes = part[1], part[2]
    size = size + PART_HEAD_SIZE + #name + #bytes
    put(word(#name))
    put(long(#bytes))
    put(name)
    put(bytes)
  end
  pieces[1] = MAGIC .. word(VERSION) .. padded(type_name, TYPE_WIDTH) .. long(size) .. word(#fields) .. word(#parts)
  local body = concat(pieces)
  return body .. checksum(body)
end

local function corrupt(text, ...)
  return nil, ("corrupt " .. text):format(...), "corrupt"
end

local function truncated(expected, got)
  return nil, ("truncated (expected %.0f bytes, got %d)"):format(expected, got), "truncated"
end

-- What is wrong outside of fields and parts: nothing, or nil, message, code.
local function check_envelope(bytes, type_name)
  local magic = sub(bytes, 1, 4)
  if magic == SKETCH_MAGIC then
    return nil, ("kind mismatch (expected %s, got a sketch, which is loaded by decode)"):format(type_name), "kind"
  elseif magic ~= sub(MAGIC, 1, #magic) then
    local article = type_name == "lsh" and "an" or "a"
    return nil, ("not %s %s (no magic number at its start)"):format(article, type_name), "magic"
  elseif #bytes < HEADER_SIZE + CHECKSUM_SIZE then
    return truncated(HEADER_SIZE + CHECKSUM_SIZE, #bytes)
  end
  local version, size = read_word(bytes, 5), read_long(bytes, 17)
  if version ~= VERSION then
    return nil, ("unknown container version (expected %d, got %.0f)"):format(VERSION, version), "version"
  elseif size > #bytes then
    return truncated(size, #bytes)
  elseif size < #bytes then
    return nil, ("bytes behind the end (%.0f)"):format(#bytes - size), "corrupt"
  elseif checksum(sub(bytes, 1, -CHECKSUM_SIZE - 1)) ~= sub(bytes, -CHECKSUM_SIZE) then
    return nil, "checksum mismatch", "checksum"
  end
  local stored = sub(bytes, 9, 8 + TYPE_WIDTH)
  if stored ~= padded(type_name, TYPE_WIDTH) then
    return nil, ("kind mismatch (expected %s, got %s)"):format(type_name, stored:match "^[a-z0-9_]*"), "kind"
  end
  return true
end

-- The numbers of the given names, by name.
local function read_fields(bytes, names)
  local count = read_word(bytes, 25)
  local fields, at = {}, HEADER_SIZE + 1
  if count ~= #names or at + FIELD_SIZE * count > #bytes - CHECKSUM_SIZE + 1 then
    return corrupt("fields (expected %d, got %.0f)", #names, count)
  end
  for _, name in ipairs(names) do
    if sub(bytes, at, at + NAME_WIDTH - 1) ~= padded(name, NAME_WIDTH) then
      return corrupt("fields (expected '%s')", name)
    end
    fields[name] = read_double(bytes, at + NAME_WIDTH)
    if not fields[name] then
      return corrupt("fields ('%s' is no number)", name)
    end
    at = at + FIELD_SIZE
  end
  return fields
end

-- The parts from byte `at` on, which have to end with the container.
local function read_parts(bytes, at)
  local parts, last = {}, #bytes - CHECKSUM_SIZE
  local count = read_word(bytes, 29)
  for i = 1, count do
    local left = last - at + 1 - PART_HEAD_SIZE
    local name_size = left >= 0 and read_word(bytes, at)
    local size = left >= 0 and read_long(bytes, at + 4)
    if left < 0 or name_size + size > left then
      return corrupt("parts (the end lies in part %d of %.0f)", i, count)
    end
    local from = at + PART_HEAD_SIZE + name_size
    at = floor(from + size)
    parts[i] = { sub(bytes, from - name_size, from - 1), sub(bytes, from, at - 1) }
  end
  if at ~= last + 1 then
    return corrupt("parts (%d bytes behind the last)", last + 1 - at)
  end
  return parts
end

-- What write() was given: the numbers as a table by name, where `names` are those that there must be, in order; and the
-- parts as an array of { name, bytes }. Or nil, message, code. O(#bytes), twice of which it takes.
function container.read(bytes, type_name, names)
  local ok, message, code = check_envelope(bytes, type_name)
  if not ok then
    return nil, message, code
  end
  local fields, parts
  fields, message, code = read_fields(bytes, names)
  if not fields then
    return nil, message, code
  end
  parts, message, code = read_parts(bytes, HEADER_SIZE + FIELD_SIZE * #names + 1)
  if not parts then
    return nil, message, code
  end
  return fields, parts
end

return container
