-- A new version in the place of the one that nginx runs: a reload reads its Lua files, and keeps the C module it has.

local files = require "spec.support.files"
local nginx = require "spec.support.nginx"

local it = nginx.it(it, pending)

local installed, server

after_each(function()
  if server then
    server:stop()
    files.remove(installed)
    server = nil
  end
end)

local function install(path, bytes)
  files.write(path .. ".new", bytes)
  assert(os.rename(path .. ".new", path))
end

describe("a reload after an upgrade", function()
  it("says to restart, and leaves the workers that there are at work", function()
    installed = files.directory()
    local core = files.read(package.searchpath("probsketch.core", package.cpath))
    os.execute(("cp -r lua/probsketch %s"):format(files.quoted(installed)))
    install(installed .. "/probsketch/core.so", core)
    server = nginx.start {
      path = installed .. "/?.lua;" .. installed .. "/?/init.lua;;",
      cpath = installed .. "/?.so",
      http = 'init_by_lua_block { seen = require "probsketch".bloom { capacity = 10 } }',
      server = "location / { content_by_lua_block { ngx.print(seen:count()) } }",
    }
    local workers = server:workers()

    local main = installed .. "/probsketch/init.lua"
    local lua = files.read(main)
    local newer, n = lua:gsub("\nlocal ABI = (%d+)\n", function(abi)
      return ("\nlocal ABI = %d\n"):format(abi + 1)
    end)
    assert.equal(1, n)
    install(installed .. "/probsketch/core.so", core)
    install(main, newer)
    server:signal "HUP"
    server:wait_for("error", function()
      return server:log():find("restart the host process: a reload keeps the old C module", 1, true)
    end)
    assert.equal("0", (server:get "/"))
    assert.same(workers, server:workers())

    install(main, lua)
    server:reload()
    assert.equal("0", (server:get "/"))
  end)
end)
