-- Reads lines of an access log in the combined or the common log format.
--
--   address identity user [time] "request" status size "referrer" "user agent"
--
-- A line is read from the left and only as far as the status. What follows is never looked at, so quotes inside the
-- referrer or the user agent, escaped or raw, cannot mislead it, the common format (which has neither) reads the same,
-- and a line whose tail was lost still counts. Formats that put a host name before the address are not this format:
-- their lines are refused, not misread.
--
-- The pieces are bytes as the log has them: nothing is unescaped, decoded or lowered.

local byte, find, match, sub = string.byte, string.find, string.match, string.sub

local BACKSLASH = byte("\\")

-- In each of these patterns a repeated class excludes the character that must follow it. Matching then takes time
-- proportional to the line, whatever the line holds; with ".-" a hostile line of some MB would take hours.
local ORDINARY = '^([^ ]+) [^ ]+ [^ ]+ %[[^%]]*%] "%u+ (/[^ "]*) HTTP/[%d.]+" %d%d%d '
local PREFIX = '^([^ ]+) [^ ]+ [^ ]+ %[[^%]]*%] "()'
-- A user name may hold spaces. The "-" for the identity tells such a line from one that starts with a host name.
local PREFIX_WITH_SPACES = '^([^ ]+) %- [^%[]+ %[[^%]]*%] "()'
local CLOSING = '" %d%d%d '

local combined_log = {
  -- Why a line can be refused, in the order in which parse checks.
  reasons = { "empty", "no address and time", "no whole request", "no path" },
}

-- The position of the quote that ends the request: one that a status follows and that is not escaped itself. A quote
-- after an odd number of backslashes is escaped.
local function request_end(line, start)
  local closing = find(line, CLOSING, start)
  while closing do
    local first = closing
    while first > start and byte(line, first - 1) == BACKSLASH do
      first = first - 1
    end
    if (closing - first) % 2 == 0 then
      return closing
    end
    closing = find(line, CLOSING, closing + 1)
  end
end

-- The path of a request: its target without the query string. Nil for "-", for "" and for what is not HTTP.
local function request_path(request)
  local target = match(request, "^%u[%u%d_-]* (.+)$")
  if not target then
    return nil
  end
  -- Requests of HTTP/0.9 have no protocol behind the target.
  target = match(target, "^(.-) HTTP/[%d.]+$") or target
  return match(target, "^[^?]+")
end

-- All lines that are not of the ordinary shape: odd ones that can be read, and those that cannot.
local function parse_odd(line)
  if line == "" or line == "\r" then
    return nil, "empty"
  end
  local address, start = match(line, PREFIX)
  if not address then
    address, start = match(line, PREFIX_WITH_SPACES)
  end
  if not address then
    return nil, "no address and time"
  end
  local closing = request_end(line, start)
  if not closing then
    return nil, "no whole request"
  end
  local path = request_path(sub(line, start, closing - 1))
  if not path then
    return nil, "no path"
  end
  return address, path
end

--- Reads one line.
-- @return the address and the path, or nil and one of `combined_log.reasons`
function combined_log.parse(line)
  local address, path = match(line, ORDINARY)
  if not address then
    return parse_odd(line)
  end
  if find(path, "?", 1, true) then
    path = match(path, "^[^?]+")
  end
  return address, path
end

return combined_log
