-- Clients that are refused: a Bloom filter in a file, which all workers map. It takes as much memory as the file, once,
-- and a request 0.1 µs.
--
-- Replace the file by a rename, as sketch:save() and mv do; make_blocklist.lua makes one. Each worker notices within a
-- second. A file that is written over in place kills the workers (SIGBUS).
--
-- A filter errs to one side: whoever is on the list is refused, and of all others as many as its fp_rate says, always
-- the same. Make it 1e-6 or less.

local probsketch = require "probsketch"
local counters = require "jobs.counters"
local workers = require "jobs.workers"

local blocklist = {}

local path, list, listed, complaint

-- What tells one list from another: the header of the file and, in its last eight bytes, the checksum of the rest.
local function fingerprint()
  local file = io.open(path, "rb")
  if not file then
    return nil
  end
  local header = file:read(4096)
  local checksum = file:seek("end", -8) and file:read(8)
  file:close()
  return header and checksum and header .. checksum
end

-- Whatever is wrong with the new file, or if there is none: the old list goes on.
local function refresh()
  -- Opened before it is read, since open() refuses what is no regular file; reading a fifo would wait for a writer.
  local opened, problem = probsketch.open(path, { kind = "bloom", verify = false })
  if opened then
    opened:close()
    -- Looked at before the file is opened for good: what is renamed in between is opened once more, and not missed.
    local found = fingerprint()
    if found and found == listed then
      return
    end
    -- Reads all of the file, to compare the checksum: 0.1 ms a MB. Of a large one leave that out: verify = false.
    opened, problem = probsketch.open(path, { kind = "bloom" })
    if opened then
      if list then
        list:close() -- the collector would do it some day
      end
      list, listed, complaint = opened, found, nil
      return
    end
  end
  if problem ~= complaint then
    complaint = problem
    ngx.log(ngx.ERR, "no new block-list: ", problem)
  end
end

function blocklist.init(file)
  path = file
end

-- Each worker opens the list, before its first request: one that is opened in init_by_lua the master would keep, also
-- when it is replaced.
function blocklist.start()
  workers.every(1, refresh)
end

-- Is the client to be refused? Without a list nobody is.
function blocklist.refuses(client)
  if list and list:has(client) then
    counters.add("refused")
    return true
  end
  return false
end

function blocklist.figures()
  return { entries = list and list:count() or 0, refused = counters.get "refused" }
end

return blocklist
