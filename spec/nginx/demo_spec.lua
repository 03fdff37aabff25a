-- What `make nginx-demo` runs.

local files = require "spec.support.files"
local markup = require "spec.support.markup"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local prometheus = require "spec.support.prometheus"

local it = nginx.it(it, pending)

local PATIENCE = 10 -- seconds

describe("examples/nginx/demo", function()
  local directory, port, log

  -- Begins it; gives its process and a function for what it has printed so far.
  local function begin(name)
    local printed = directory .. "/" .. name
    files.write(printed, "")
    local pipe = io.popen(("examples/nginx/demo %d <%s >%s 2>&1 & echo $!"):format(port, files.quoted(log),
      files.quoted(printed)))
    local pid = pipe:read "*n"
    pipe:close()
    return pid, function() return files.read(printed) end
  end

  local function wait_for(what, ask)
    for _ = 1, PATIENCE * 20 do
      if ask() then
        return
      end
      os.execute "sleep 0.05"
    end
    error("no " .. what)
  end

  local function runs(pid)
    local _, status = process.shell("kill -0 " .. pid)
    return status == 0
  end

  local function get(path, options)
    local output = process.shell(("curl -s -m %d %s -w '|%%{http_code}' http://127.0.0.1:%d%s"):format(PATIENCE,
      options or "", port, path))
    local body, status = output:match "^(.*)|(%d+)$"
    return body, tonumber(status)
  end

  it("shows what the sketches know, tells who comes second that the port is taken, and leaves nothing", function()
    directory = files.directory()
    log = directory .. "/log"
    local _, status = process.shell(process.command(process.interpreter, "examples/make_log.lua", "--lines", 400)
      .. " >" .. files.quoted(log))
    assert.equal(0, status)

    local pid, printed
    for try = 1, 5 do
      port = 20000 + (os.time() + 1009 * try) % 10000
      pid, printed = begin("try " .. try)
      wait_for("start", function() return printed():find "Ctrl%-C" or not runs(pid) end)
      if runs(pid) then
        break
      end
    end
    finally(function()
      os.execute("kill " .. pid .. " 2>/dev/null")
      wait_for("end", function() return not runs(pid) end)
      files.remove(directory)
    end)
    assert.is_truthy(printed():find(("http://127.0.0.1:%d/stats"):format(port), 1, true), printed())

    wait_for("requests", function()
      return prometheus.parse((get "/metrics"))("site_requests_total", { location = "pages" }) >= 100
    end)
    assert.is_true(#markup.parse((get "/stats")) > 100)
    assert.equal(403, select(2, get("/", "-H 'X-Forwarded-For: 192.0.2.66'")))

    local second, complaint = begin "second"
    wait_for("complaint", function() return not runs(second) end)
    assert.is_truthy(complaint():find "nginx does not start:\n.*Address already in use")

    local place = printed():match "All files are in (%S+)%."
    assert.is_true(#files.list(place) > 0)
    os.execute("kill " .. pid)
    wait_for("end", function() return not runs(pid) end)
    assert.is_nil(io.open(place))
    assert.equal(0, select(2, get "/stats"))
  end)
end)
