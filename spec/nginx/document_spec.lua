-- The configuration in docs/OPENRESTY.md, and the modules it requires, do what is said of them there.

local ps = require "probsketch"
local files = require "spec.support.files"
local nginx = require "spec.support.nginx"

local it = nginx.it(it, pending)

local text = files.read "docs/OPENRESTY.md"

-- The files that the document shows, by the name on their first line.
local shown = {}
for block in text:gmatch "\n```[%l ]*nginx\n(.-)```" do
  shown[block:match "^%S+ ([%w.]+)"] = block
end

-- What stands there, with some pieces replaced; each has to be there.
local function changed(name, changes)
  local result = shown[name]
  for from, to in pairs(changes) do
    local before = result
    result = result:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))
    assert(result ~= before, from)
  end
  return result
end

local server, directory

local function save_list(...)
  local list = ps.bloom { capacity = 10, fp_rate = 1e-6 }
  list:add_many { ... }
  assert(list:save(directory .. "/blocked"))
end

-- A request says which address it comes from, and nobody waits for 5 seconds.
local function start()
  directory = files.directory()
  os.execute("mkdir " .. directory .. "/html")
  files.write(directory .. "/html/index.html", "welcome")
  files.write(directory .. "/guard.lua", changed("guard.lua", {
    ["/var/lib/guard/"] = directory .. "/",
    ["ngx.var.remote_addr"] = "ngx.var.arg_from",
    ["every(5,"] = "every(0.1,",
  }))
  files.write(directory .. "/hot.lua", shown["hot.lua"])
  server = nginx.start(changed("nginx.conf", {
    ["worker_processes auto"] = "worker_processes 4",
    ["/etc/nginx/lua/?.lua;;"] = directory .. "/?.lua;@path@\"; lua_package_cpath \"@cpath@",
    ["/usr/share/nginx/html"] = directory .. "/html",
    ["allow 127.0.0.1"] = "allow unix:",
  }))
end

after_each(function()
  if server then
    server:stop()
    files.remove(directory)
    server = nil
  end
end)

-- Where the list that a worker looks at is mapped from, for each of them.
local function mappings()
  local found = {}
  for _, pid in ipairs(server:workers()) do
    for file in files.read(("/proc/%d/maps"):format(pid)):gmatch(directory .. "/(blocked[^\n]*)") do
      found[#found + 1] = file
    end
  end
  return found
end

describe("docs/OPENRESTY.md", function()
  it("refuses who is on the list, also a new one, and keeps no old one", function()
    start()
    assert.equal("welcome", (server:get "/?from=192.0.2.1"))
    assert.is_truthy(server:log():find("blocked: No such file", 1, true))
    save_list "192.0.2.1"
    server:wait_for("list", function() return #mappings() == 4 end)
    for _ = 1, 3 do
      local requests = server:load(4, "/?from=192.0.2.3&request=%d-[1-100]")
      save_list("192.0.2.1", "192.0.2.2")
      server:wait_for("end of the old list", function()
        return not table.concat(mappings()):find "deleted"
      end)
      local result = server:finish(requests)
      assert.equal(400, result.answered)
    end
    assert.same({ "blocked", "blocked", "blocked", "blocked" }, mappings())
    for address, status in pairs { ["192.0.2.1"] = 403, ["192.0.2.2"] = 403, ["192.0.2.3"] = 200 } do
      assert.equal(status, select(2, server:get("/?from=" .. address)))
    end
  end)

  it("counts the visitors of a day, over a restart", function()
    start()
    local result = server:finish(server:load(4, "/?from=192.0.%d.[1-250]"))
    assert.equal(1000, result.answered)
    local report = server:get "/visitors"
    local day, visitors = report:match "^(%d+%-%d+%-%d+): (%d+) visitors, within 0%.8 %%\n$"
    assert.is_true(math.abs(visitors / 1000 - 1) <= 0.024, report)
    assert.equal(tonumber(visitors), assert(ps.load(directory .. "/visitors-" .. day)):count())
    server:halt()
    server:start()
    assert.equal(report, (server:get "/visitors"))
  end)

  it("lists what is asked for most, over reloads, and misses no request", function()
    start()
    local requests = server:load(4, "/?request=%d-[1-300]&from=192.0.2.1")
    for _ = 1, 3 do
      server:reload()
    end
    local result = server:finish(requests)
    assert.equal(1200, result.answered)
    server:reload()
    assert.equal("1200 /index.html", server:get "/hot":match "^[^\n]*")
  end)
end)
