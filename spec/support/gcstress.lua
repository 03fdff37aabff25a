-- A busted helper: the collector never rests. A pause of 0 starts a cycle as soon as one ends, and
-- steps as small and as eager as they get make every allocation collect, so that what the binding
-- fails to anchor is gone by the time it is used.

collectgarbage("restart")
collectgarbage("setpause", 0)
collectgarbage("setstepmul", 1000)
if _VERSION == "Lua 5.4" then
  collectgarbage("incremental", 0, 1000, 1)
end
