-- Surgery on encoded sketches: taken apart, changed, and sealed again with checksums that fit, so that what lies behind
-- the checksums is tested too. The layout is that of docs/FORMAT.md.

local ps = require "probsketch"

local envelope = {}

-- A number from 0 to 2^53 in `width` bytes.
function envelope.little(width, number)
  local bytes = {}
  for i = 1, width do
    bytes[i] = string.char(number % 256)
    number = math.floor(number / 256)
  end
  return table.concat(bytes)
end

-- The number in at most 6 bytes, or in 8 whose value is at most 2^53.
function envelope.number(bytes)
  local number = 0
  for i = #bytes, 1, -1 do
    number = number * 256 + bytes:byte(i)
  end
  return number
end

-- The bytes of a number that is written as hexadecimal digits.
function envelope.hexadecimal(digits)
  return (digits:gsub("%x%x", function(pair)
    return string.char(tonumber(pair, 16))
  end):reverse())
end

-- The checksum of some bytes as it is stored.
function envelope.checksum(bytes)
  return envelope.hexadecimal(ps.hash(bytes))
end

-- Takes an encoded sketch apart. `seed`, `fields` and `payload` are bytes, all else is a number; nothing is verified.
function envelope.open(bytes)
  local function number(from, width)
    return envelope.number(bytes:sub(from + 1, from + width))
  end
  local offset, fields_size, payload_size = number(8, 4), number(12, 4), number(16, 8)
  return {
    magic = bytes:sub(1, 4),
    version = number(4, 1),
    kind = number(5, 1),
    hash = number(6, 1),
    flags = number(7, 1),
    offset = offset,
    fields_size = fields_size,
    payload_size = payload_size,
    seed = bytes:sub(25, 32),
    fields = bytes:sub(33, 32 + fields_size),
    padding = bytes:sub(33 + fields_size, offset - 8),
    payload = bytes:sub(offset + 1, offset + payload_size),
  }
end

-- Puts an encoded sketch together again and seals it. `fields_size`, `payload_size` and `offset` are as they were
-- unless changed, whatever has become of fields and payload; each may also be a string of bytes.
function envelope.seal(parts)
  local function bytes(value, width)
    return type(value) == "string" and value or envelope.little(width, value)
  end
  local header = table.concat {
    parts.magic, bytes(parts.version, 1), bytes(parts.kind, 1), bytes(parts.hash, 1), bytes(parts.flags, 1),
    bytes(parts.offset, 4), bytes(parts.fields_size, 4), bytes(parts.payload_size, 8), parts.seed, parts.fields,
    parts.padding,
  }
  return header .. envelope.checksum(header) .. parts.payload .. envelope.checksum(parts.payload)
end

-- The encoded sketch with some parts replaced, sealed.
function envelope.changed(bytes, changes)
  local parts = envelope.open(bytes)
  for name, value in pairs(changes) do
    assert(parts[name] ~= nil, name)
    parts[name] = value
  end
  return envelope.seal(parts)
end

-- The text with the byte at `at` (from 1) replaced by another string.
function envelope.spliced(text, at, replacement)
  return text:sub(1, at - 1) .. replacement .. text:sub(at + #replacement)
end

-- The text with bit `bit` (0 to 7) of the byte at `at` changed.
function envelope.flipped(text, at, bit)
  local byte, unit = text:byte(at), 2 ^ bit
  local set = math.floor(byte / unit) % 2 == 1
  return envelope.spliced(text, at, string.char(set and byte - unit or byte + unit))
end

return envelope
