-- What specs say about calls that fail.

local expect = {}

local function check(condition, message)
  if not condition then
    error(message, 3)
  end
end

-- Calls f(...), which must raise an error; returns its message.
function expect.raise(f, ...)
  local ok, message = pcall(f, ...)
  check(not ok, "no error was raised")
  check(type(message) == "string", "the error is no message but a " .. type(message))
  return message
end

-- As expect.raise(), and the message contains the text.
function expect.raise_saying(text, f, ...)
  local ok, message = pcall(f, ...)
  check(not ok, ("no error was raised (expected %q)"):format(text))
  check(type(message) == "string", "the error is no message but a " .. type(message))
  check(message:find(text, 1, true), ("expected %q in the error, got %q"):format(text, message))
  return message
end

local codes = {}
for code in ("magic version kind truncated checksum corrupt range mismatch full io limit"):gmatch "%a+" do
  codes[code] = true
end

-- The results of a call that must refuse data: nil, message, code, the code being `wanted` unless that is nil.
-- Returns the message.
function expect.refusal(wanted, result, message, code)
  check(result == nil, ("expected a refusal, got %s"):format(tostring(result)))
  check(type(message) == "string" and #message > 0, "a refusal without a message")
  check(not message:find "%.$", "a full stop after the message: " .. message)
  check(codes[code], "a refusal with the code " .. tostring(code))
  check(wanted == nil or code == wanted,
    ("expected the code %s, got %s (%s)"):format(tostring(wanted), tostring(code), message))
  return message
end

-- Strings that should be equal, without dumping kilobytes when they are not.
function expect.same_bytes(expected, got)
  check(type(got) == "string", "no string but a " .. type(got))
  if expected ~= got then
    local at = 1
    while expected:byte(at) == got:byte(at) do
      at = at + 1
    end
    error(("%d bytes and %d bytes differ from byte %d on"):format(#expected, #got, at), 2)
  end
end

return expect
