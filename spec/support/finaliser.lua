-- finaliser(f): makes garbage that calls f when it is collected, on every Lua.
return function(f)
  if rawget(_G, "newproxy") then
    getmetatable(newproxy(true)).__gc = f
  else
    setmetatable({}, { __gc = f })
  end
end
