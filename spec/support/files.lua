-- Files and directories that a spec makes and takes away again.

local files = {}

local made = {}

function files.quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- A new, empty directory.
function files.directory()
  local name = os.tmpname()
  assert(os.remove(name))
  os.execute("mkdir -m 700 " .. files.quoted(name))
  made[name] = true
  return name
end

-- Removes a directory that files.directory() made, and all in it.
function files.remove(directory)
  assert(made[directory], "not a directory made here")
  made[directory] = nil
  os.execute("rm -rf " .. files.quoted(directory))
end

function files.read(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read "*a"
  file:close()
  return bytes
end

function files.write(path, bytes)
  local file = assert(io.open(path, "wb"))
  assert(file:write(bytes))
  assert(file:close())
end

-- The names in a directory, sorted.
function files.list(directory)
  local names = {}
  local pipe = assert(io.popen("ls -A " .. files.quoted(directory)))
  for name in pipe:lines() do
    names[#names + 1] = name
  end
  pipe:close()
  table.sort(names)
  return names
end

return files
