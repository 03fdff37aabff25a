-- The options of constructors that are written in Lua, checked as those of the sketches are.

local options = {}

-- What a message calls a value.
function options.described(value)
  if type(value) == "number" then
    return ("%.14g"):format(value)
  end
  return value == nil and "nil" or "a " .. type(value)
end

-- What is wrong with the options that are given, where `known` has of each name the words for its range and a test;
-- nil: nothing.
function options.problem(given, known)
  if type(given) ~= "table" then
    return "options expected, got " .. options.described(given)
  end
  for name, value in pairs(given) do
    local option = known[name]
    if not option then
      return ("unknown option '%s'"):format(tostring(name))
    elseif not option[2](value) then
      return ("option '%s': expected %s, got %s"):format(name, option[1], options.described(value))
    end
  end
end

return options
