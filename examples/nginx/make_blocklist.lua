-- Makes a block-list for lua/jobs/blocklist.lua of the clients on standard input, one a line. The file is replaced
-- whole, by a rename.
--
--   lua make_blocklist.lua /srv/site/data/blocked.psk < clients.txt

local probsketch = require "probsketch"

local path = arg[1] or error("say which file to write", 0)

local clients = {}
for line in io.lines() do
  local client = line:match "^%s*(%S+)"
  if client then
    clients[#clients + 1] = client
  end
end

-- One in a million of those who are not listed is refused, too.
local list = probsketch.bloom { capacity = math.max(#clients, 1), fp_rate = 1e-6 }
list:add_many(clients)
assert(list:save(path))
