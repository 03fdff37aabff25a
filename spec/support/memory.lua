-- Resident memory of this process, where the system tells it and no tool inflates it.

local memory = {}

local function read(path)
  local file = io.open(path, "r")
  if file == nil then
    return ""
  end
  local text = file:read "*a"
  file:close()
  return text
end

-- Sanitizers and valgrind keep what was freed.
local maps = read "/proc/self/maps"
memory.is_measurable = read("/proc/self/status"):find "VmRSS" ~= nil
  and not maps:find "libasan" and not maps:find "vgpreload"

local function field(name)
  return tonumber(read("/proc/self/status"):match(name .. ":%s*(%d+) kB")) * 1024
end

-- Bytes resident now.
function memory.resident()
  return field "VmRSS"
end

-- The most bytes that were resident at once.
function memory.peak()
  return field "VmHWM"
end

-- Bytes by which f() leaves the resident memory larger, garbage aside: the least of three times, since a leak is there
-- each time and the noise of allocators is not.
function memory.growth(f)
  local least = math.huge
  for _ = 1, 3 do
    collectgarbage()
    collectgarbage()
    local before = memory.resident()
    f()
    collectgarbage()
    collectgarbage()
    least = math.min(least, memory.resident() - before)
  end
  return least
end

return memory
