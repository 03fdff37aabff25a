-- A real nginx with its Lua module: in a directory of its own, on a socket in there, with a bounded load from curl. It
-- goes with all that belongs to it when it is stopped, when it is collected, or when this process ends.

local files = require "spec.support.files"
local process = require "spec.support.process"

local nginx = {}

-- By its path: replacing its own binary it looks in no other place.
local BINARY = "/usr/sbin/nginx"
local MODULES = "/usr/lib/nginx/modules/"
local PATIENCE = 10 -- seconds that anything may take

local function is_there(path)
  local file = io.open(path, "rb")
  return file ~= nil and file:close() ~= nil
end

local function why_not()
  if not rawget(_G, "jit") then
    return "nginx takes the module that is built for LuaJIT"
  end
  for _, path in ipairs { BINARY, MODULES .. "ndk_http_module.so", MODULES .. "ngx_http_lua_module.so" } do
    if not is_there(path) then
      return "there is no " .. path
    end
  end
  local _, status = process.shell "command -v curl"
  return status ~= 0 and "there is no curl" or nil
end

-- Why nginx cannot be run here; nil if it can.
nginx.missing = why_not()

-- busted's it(), or pending() with the reason in the name.
function nginx.it(it, pending)
  if not nginx.missing then
    return it
  end
  return function(name)
    pending(("%s (%s)"):format(name, nginx.missing))
  end
end

local TEMPLATE = [[
worker_processes @workers@;
events { worker_connections 256; }
http {
  access_log off;
  @http@
  server {
    listen 80;
    keepalive_requests 1000000;
    @server@
  }
}
]]

-- What is ours to say, whatever a configuration says of it: Debian's modules, and no file outside the directory.
local MAIN = ([[
load_module @modules@ndk_http_module.so;
load_module @modules@ngx_http_lua_module.so;
user @user@;
pid @directory@/pid;
error_log @directory@/error.log notice;
]]):gsub("@modules@", MODULES)

local HTTP = "http {" .. ("client_body proxy fastcgi uwsgi scgi"):gsub("%S+", " %0_temp_path @directory@/%0;")

local PATHS = [[ lua_package_path "@path@"; lua_package_cpath "@cpath@";]]

local function is_ours(directive)
  return MAIN:find("\n" .. directive .. " ", 1, true) or HTTP:find(" " .. directive .. " ", 1, true)
end

-- A configuration made to run here. Its first server listens where we ask.
local function adapted(text)
  text = ("\n" .. text):gsub("\n%s*([%l_]+) [^\n;]*;", function(directive)
    return is_ours(directive) and "\n" or nil
  end)
  text = text:gsub("listen [^;]+;", "listen unix:@directory@/socket;", 1)
  return MAIN .. text:gsub("http {", HTTP .. (text:find "lua_package_path" and "" or PATHS), 1)
end

-- ---- a server ----

local server = {}
server.__index = server

-- Asks until there is an answer; raises with the server's log if there is none.
function server:wait_for(what, ask)
  for _ = 1, PATIENCE * 50 do
    local answer = ask()
    if answer then
      return answer
    end
    os.execute "sleep 0.02"
  end
  error(("no %s\n%s"):format(what, self:log()), 2)
end

-- Writes the configuration: a whole one, or `pieces` of ours: workers (1), user (root), http and server. In it
-- @directory@ stands for the server's, @path@ and @cpath@ for where Lua finds the module, which is said unless it says
-- something itself. How many workers there are is said in figures.
function server:configure(pieces)
  local values = {
    directory = self.directory,
    path = package.path,
    cpath = package.cpath,
    workers = "1", user = "root", http = "", server = "",
  }
  local text = pieces
  if type(pieces) == "table" then
    text = TEMPLATE
    for name, value in pairs(pieces) do
      values[name] = tostring(value)
    end
  end
  text = adapted(text)
  for _ = 1, 2 do -- pieces have such names in them, too
    text = text:gsub("@(%l+)@", values)
  end
  self.count = tonumber(text:match "worker_processes (%d+);")
  files.write(self.directory .. "/nginx.conf", text)
end

-- Starts it, which runs init_by_lua; raises with what it says if it does not.
function server:start()
  local directory = files.quoted(self.directory)
  local output, status = process.shell(("%s -p %s -c nginx.conf </dev/null"):format(BINARY, directory))
  if status ~= 0 then
    error(("nginx: exit status %d: %s"):format(status, output), 2)
  end
  -- Closed by us or by the end of us, the pipe ends what is left.
  self.guard = assert(io.popen(([[
    read -r keep
    kill $(cat @directory@/pid)
    for i in $(seq @tries@); do test -e @directory@/pid || break; sleep 0.02; done
    test "$keep" || rm -rf @directory@]]):gsub("@%l+@", {
      ["@directory@"] = directory, ["@tries@"] = PATIENCE * 50,
    }), "w"))
  self:find_master()
end

-- Waits for the master, other than `before`, and its workers.
function server:find_master(before)
  local path = self.directory .. "/pid"
  self.pid = self:wait_for("master", function()
    local pid = is_there(path) and tonumber(files.read(path))
    return pid and pid ~= before and pid
  end)
  self:wait_for_others {}
end

-- Stops it as it is, and leaves the directory.
function server:halt()
  self.guard:write "keep\n"
  self.guard:close()
  self.guard = nil
end

function server:stop()
  if self.guard then
    self.guard:close()
    self.guard = nil
  end
  files.remove(self.directory)
end

function server:log()
  return is_there(self.directory .. "/error.log") and files.read(self.directory .. "/error.log") or ""
end

local function title_of(pid)
  local file = io.open(("/proc/%d/cmdline"):format(pid), "rb")
  local title = file and file:read "*a"
  if file then
    file:close()
  end
  return title or ""
end

-- The processes that answer, as numbers, and those that are about to end. Others look after a cache.
function server:workers()
  local pids = {}
  for pid in files.read(("/proc/%d/task/%d/children"):format(self.pid, self.pid)):gmatch "%d+" do
    pids[#pids + 1] = title_of(pid):find "worker process" and tonumber(pid) or nil
  end
  return pids
end

function server:signal(name, pid)
  os.execute(("kill -%s %d"):format(name, pid or self.pid))
end

-- Waits until there are all workers, and none of these.
function server:wait_for_others(old)
  self:wait_for("workers", function()
    local pids = self:workers()
    for _, pid in ipairs(pids) do
      for _, each in ipairs(old) do
        if pid == each then
          return false
        end
      end
    end
    return #pids == self.count
  end)
end

-- Kills a worker at once, and waits until there is another.
function server:kill_worker(pid)
  self:signal("KILL", pid)
  self:wait_for_others { pid }
end

-- Has it read its configuration and all Lua files again; waits until the workers from before are gone.
function server:reload()
  local old = self:workers()
  self:signal "HUP"
  self:wait_for_others(old)
end

-- Has it replace its binary: another master, forked and executed by this one, takes over the socket.
function server:upgrade()
  local old = self.pid
  self:signal "USR2"
  self:find_master(old)
  self:signal("QUIT", old)
end

-- ---- requests ----

local CURL = "curl -s -m %d --unix-socket %s -w '|%%{http_code} %%{num_connects}\\n' %s"

local function curl(self, path)
  return CURL:format(PATIENCE, files.quoted(self.directory .. "/socket"), files.quoted("http://localhost" .. path))
end

-- The body and status of what is at a path, 0 without an answer.
function server:get(path)
  local output = process.shell(curl(self, path))
  local body, status = output:match "^(.*)|(%d+) %d+\n$"
  return body, tonumber(status)
end

-- Begins so many clients, each of which asks for `path` over a connection that it keeps, and for one after the other of
-- what [1-100] in the path means to curl; %d in it is the number of the client. See finish().
function server:load(clients, path)
  local lines, outputs = {}, {}
  for i = 1, clients do
    outputs[i] = ("%s/client%d"):format(self.directory, i)
    lines[i] = ("%s >%s &"):format(curl(self, path:gsub("%%d", i)), files.quoted(outputs[i]))
  end
  lines[#lines + 1] = "wait"
  return { pipe = assert(io.popen(table.concat(lines, "\n"))), outputs = outputs }
end

-- Waits for the clients; gives what came of them:
-- * `answered`: requests with status 200
-- * `unanswered`: with another one, or none
-- * `again`: an upper bound of those that curl sent once more, since the connection that it kept turned out to be dead
-- * `bodies`: how many answers were like that, by body
function server.finish(_, load)
  load.pipe:read "*a"
  load.pipe:close()
  local seen = { answered = 0, unanswered = 0, again = 0, bodies = {} }
  for _, path in ipairs(load.outputs) do
    local connects = 0
    for body, status, connected in files.read(path):gmatch "(.-)|(%d+) (%d+)\n" do
      local outcome = status == "200" and "answered" or "unanswered"
      seen[outcome] = seen[outcome] + 1
      seen.bodies[body] = (seen.bodies[body] or 0) + 1
      connects = connects + tonumber(connected)
    end
    seen.again = seen.again + math.max(0, connects - 1)
  end
  return seen
end

-- ---- both ----

-- A server that runs; see configure().
function nginx.start(pieces)
  local self = setmetatable({ directory = files.directory() }, server)
  local ok, problem = pcall(function()
    self:configure(pieces)
    self:start()
  end)
  if not ok then
    self:stop()
    error(problem, 2)
  end
  return self
end

return nginx
