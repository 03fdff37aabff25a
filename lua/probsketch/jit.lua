-- The fast path of LuaJIT: methods that its compiler sees through. A call of a C function ends a trace, and costs 35 to
-- 55 ns; a call by address through the FFI is a part of it.
--
-- Such a method takes what is common in hot loops, an open sketch of its kind and a string once, and leaves all else to
-- the C method that it stands before, by a tail call: LuaJIT gives that the caller's place and name for it, so that
-- errors are the same to the byte.

local fast = {}

-- How a function in C is called, by its shape there (csrc/binding/fast.c). Below 0, and then it has done nothing, it
-- wants the C method called.
local SHAPES = {
  flag = {
    type = "int (*)(void *, const char *, size_t)",
    ["$given"] = 'type(x) == "string"',
    ["$call"] = "call(self, x, #x)",
    ["$answer"] = "if answer == 1 then return true elseif answer == 0 then return false end",
  },
  count = {
    type = "double (*)(void *, const char *, size_t)",
    ["$given"] = 'type(x) == "string"',
    ["$call"] = "call(self, x, #x)",
    ["$answer"] = "if answer >= 0 then return answer end",
  },
  value = {
    type = "int (*)(void *, double)",
    ["$given"] = 'type(x) == "number"',
    ["$call"] = "call(self, x)",
    ["$answer"] = "if answer == 1 then return self end",
  },
}

-- Each method has code of its own: of closures that share theirs LuaJIT takes the upvalues for variables, which costs 5
-- ns a call in loops that call several of them. The metatable is compared as the C method does it, whatever its
-- `__metatable` says, and after the type, since a table can have it too.
local SOURCE = [[
local call, method, metatable, getmetatable, type = ...
return function(self, x, n)
  if n == nil and $given and type(self) == "userdata" and getmetatable(self) == metatable then
    local answer = $call
    $answer
  end
  return method(self, x, n)
end
]]

-- Is there a compiler, is it on, and does nobody object?
local function wanted()
  local off = os and os.getenv and os.getenv "PROBSKETCH_JIT" == "off"
  return not off and type(jit) == "table" and jit.status() and debug and debug.getmetatable and debug.getinfo
end

-- Puts the methods of core.fast_methods() before those that are there; once, however often the module is loaded.
function fast.install(core)
  local there, ffi = false, nil
  if wanted() then
    there, ffi = pcall(require, "ffi")
  end
  if not there then
    return
  end
  for _, each in ipairs(core.fast_methods()) do
    local methods, shape = each.metatable.__index, SHAPES[each.shape]
    local method = methods[each.name]
    if debug.getinfo(method, "S").what == "C" then
      local make = loadstring(SOURCE:gsub("%$%l+", shape), "=probsketch")
      methods[each.name] = make(ffi.cast(shape.type, each.address), method, each.metatable, debug.getmetatable, type)
    end
  end
end

return fast
