-- Lua in processes of its own: the interpreter that runs the specs, or another.

local files = require "spec.support.files"

local process = {}

-- What comes first on the command line of this process.
local function running_interpreter()
  local index = 0
  while arg[index - 1] do
    index = index - 1
  end
  return arg[index]
end

process.interpreter = running_interpreter()

-- Runs a shell command; returns what it prints, errors included, and its exit status.
function process.shell(command)
  local pipe = assert(io.popen("{ " .. command .. "\n} 2>&1; printf '\\n%d' $?"))
  local output = pipe:read "*a"
  pipe:close()
  local printed, status = output:match "^(.*)\n(%d+)$"
  return printed, tonumber(status)
end

-- The shell command that runs a file with arguments.
function process.command(interpreter, file, ...)
  local words = { interpreter, file, ... }
  for i, word in ipairs(words) do
    words[i] = files.quoted(tostring(word))
  end
  return table.concat(words, " ")
end

-- Runs Lua source with arguments, `prefix` before its command; returns what it prints and its exit status.
local function try(prefix, source, ...)
  local path = os.tmpname()
  files.write(path, source)
  local output, status = process.shell(prefix .. process.command(process.interpreter, path, ...))
  os.remove(path)
  return output, status
end

-- Runs Lua source with arguments; returns what it prints and its exit status, above 128 after a signal.
function process.try(source, ...)
  return try("", source, ...)
end

-- Runs Lua source that must succeed; returns what it prints.
function process.run(source, ...)
  local output, status = process.try(source, ...)
  if status ~= 0 then
    error(("exit status %d: %s"):format(status, output), 2)
  end
  return output
end

-- What has a command run, written before it, by somebody whom permissions bind, as they do not root; nil where that
-- cannot be had.
function process.bound()
  if process.shell "id -u" ~= "0\n" then
    return ""
  end
  local bound = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search "
  local _, status = process.shell(bound .. "true")
  return status == 0 and bound or nil
end

-- As process.try(), by that somebody.
function process.try_bound(...)
  return try(process.bound(), ...)
end

-- As process.bound(), for somebody who may mount what nobody else sees.
function process.mounting()
  local mounting = "unshare -rm "
  local _, status = process.shell(mounting .. "mount -t tmpfs none /tmp")
  return status == 0 and mounting or nil
end

-- The other Luas and this one: those that are installed and that the module has been built for beside this build, as
-- shell commands by name, and the names of those that are not.
function process.interpreters()
  local base = (os.getenv "LUA_CPATH" or ""):match "^(.-)/[^/;]+/%?%.so"
  local found, missing = {}, {}
  for name in ("lua5.1 lua5.2 lua5.3 lua5.4 luajit"):gmatch "%S+" do
    local built = base and io.open(("%s/%s/probsketch/core.so"):format(base, name), "rb")
    local _, status = process.shell(name .. " -v")
    if built and status == 0 then
      found[name] = ("LUA_PATH='lua/?.lua;lua/?/init.lua;./?.lua;;' LUA_CPATH=%s %s"):format(
        files.quoted(("%s/%s/?.so"):format(base, name)), name)
    else
      missing[#missing + 1] = name
    end
    if built then
      built:close()
    end
  end
  return found, missing
end

return process
