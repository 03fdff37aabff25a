-- The requests of an access log, as a configuration of curl that sends them again: each in the name of the client that
-- it came from, as a balancer would pass it on.
--
--   lua replay.lua http://127.0.0.1:8080 < access.log | curl --parallel --config -
--
-- How a line is read: see ../combined_log.lua.

local here = arg[0]:match("^(.*[/\\])") or ""
local combined_log = dofile(here .. "../combined_log.lua")
local read_lines = dofile(here .. "../lines.lua")

local server = arg[1] or error("say which server", 0)

-- In a configuration of curl, quotes and backslashes in a quoted word are escaped. A request line has no other bytes
-- than these.
local function quoted(word)
  return '"' .. word:gsub('[\\"]', "\\%0") .. '"'
end

local between = ""
for line in read_lines(io.stdin) do
  local address, path = combined_log.parse(line)
  if address and #path < 2000 then
    local url = path:gsub("[^\33-\126]", function(byte) return ("%%%02X"):format(byte:byte()) end)
    io.write(between, "url = ", quoted(server .. url), "\nheader = ", quoted("X-Forwarded-For: " .. address),
      "\noutput = /dev/null\nglobbing = false\n")
    between = "next\n"
  end
end
