-- The configuration of examples/nginx, as it is but for its paths and addresses, in a real nginx.

local ps = require "probsketch"
local files = require "spec.support.files"
local markup = require "spec.support.markup"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local prometheus = require "spec.support.prometheus"

local it = nginx.it(it, pending)

local WORKERS = 4
local REFUSED, OTHER = "192.0.2.66", "192.0.2.67"

local server, data, blocked, sent

-- So that nobody has to wait for seconds.
local HASTE = [[
  local every = ngx.timer.every
  ngx.timer.every = function(seconds, work) return every(seconds / 10, work) end]]

-- In our directories, on sockets of ours, in haste, and without ageing, which depends on the time of day.
local function configuration()
  local text = files.read "examples/nginx/nginx.conf"
  for from, to in pairs {
    ["$prefix/lua/?.lua"] = process.shell "pwd":match "%C+" .. "/examples/nginx/lua/?.lua;@path@",
    ["$prefix/lua/?.so"] = "@cpath@",
    ['ngx.config.prefix() .. "data/"'] = ("%q"):format(data .. "/"),
    ["127.0.0.1:8081"] = "unix:@directory@/application",
    ["set_real_ip_from 127.0.0.1"] = "set_real_ip_from unix:",
    ["allow 127.0.0.1"] = "allow unix:",
    ["half_life = 600"] = "half_life = 1e9",
    ["init_by_lua_block {"] = "init_by_lua_block {\n" .. HASTE,
  } do
    local before = text
    text = text:gsub(from:gsub("%p", "%%%0"), (to:gsub("%%", "%%%%")))
    assert(text ~= before, from)
  end
  return text
end

local function save_list(...)
  local list = ps.bloom { capacity = 10, fp_rate = 1e-6 }
  list:add_many { ... }
  assert(list:save(blocked))
end

-- Sends requests, each a path or { path, client = address }, so many at a time; gives for each of them its status and
-- how the cache answered, in the order in which they ended. Counts those that the server has to count.
local function send(requests, at_once)
  local lines, seen = {}, {}
  for i, request in ipairs(requests) do
    local path, client = request[1] or request, request.client
    lines[i] = ('url = "http://localhost%s"\nunix-socket = "%s/socket"\noutput = /dev/null\n'
      .. 'write-out = "%%{http_code} %%header{x-cache}\\n"\n'):format(path, server.directory)
      .. (client and ('header = "X-Forwarded-For: %s"\n'):format(client) or "")
  end
  local config = server.directory .. "/requests"
  files.write(config, table.concat(lines, "next\n"))
  local printed = process.shell(("curl -s --globoff --parallel --parallel-max %d --config %s 2>/dev/null"):format(
    at_once or 1, files.quoted(config)))
  for status, cache in printed:gmatch "(%d%d%d) (%u*)\n" do
    seen[#seen + 1] = { status = tonumber(status), cache = cache }
    sent = sent + (status == "200" and 1 or 0)
  end
  assert.equal(#requests, #seen, printed)
  return seen
end

local function status_of(...)
  return send({ ... })[1].status
end

local function repeated(request, times)
  local requests = {}
  for i = 1, times do
    requests[i] = request
  end
  return requests
end

-- Waits until the metrics, which are written anew once a second, satisfy; gives them.
local function metrics_when(what, satisfy)
  return server:wait_for(what, function()
    local text, status = server:get "/metrics"
    local value = status == 200 and prometheus.parse(text)
    return value and satisfy(value) and value
  end)
end

local function requests_of(value, location)
  return value("site_requests_total", { location = location })
end

-- The metrics as they are after all that was sent, and after the workers have told of these URLs.
local function metrics(...)
  local urls = { ... }
  return metrics_when(("%d requests, %s"):format(sent, table.concat(urls, " ")), function(value)
    for _, url in ipairs(urls) do
      if not value("site_url_requests", { url = url }) then
        return false
      end
    end
    return requests_of(value, "pages") + requests_of(value, "api") == sent
  end)
end

-- The mappings of the block-list that there are in all of them.
local function mappings()
  local found = {}
  for _, pid in ipairs(server:workers()) do
    for file in files.read(("/proc/%d/maps"):format(pid)):gmatch "(/[^\n]*)\n" do
      found[#found + 1] = file:sub(1, #blocked) == blocked and file or nil
    end
  end
  return found
end

describe("examples/nginx", function()
  setup(function()
    if nginx.missing then
      return
    end
    data = files.directory()
    blocked = data .. "/blocked.psk"
    save_list(REFUSED)
    server, sent = nginx.start(configuration()), 0
  end)

  teardown(function()
    if server then
      server:stop()
      files.remove(data)
    end
  end)

  it("passes requests on", function()
    local body, status = server:get "/?ms=0"
    assert.equal("Here would be your page.\n", body)
    assert.equal(200, status)
    sent = sent + 1
    assert.equal(1, requests_of(metrics(), "pages"))
  end)

  describe("refuses", function()
    it("who is on the list, and counts it as no request", function()
      assert.equal(403, status_of { "/?ms=0", client = REFUSED })
      assert.equal(200, status_of { "/?ms=0", client = OTHER })
      assert.equal(403, status_of { "/api/?ms=0", client = REFUSED })
      local value = metrics_when("refusals", function(now) return now "site_refused_total" == 2 end)
      assert.equal(1, value "site_blocklist_entries")
    end)

    it("by a new list that replaces it in every worker, and no request fails", function()
      local clients, each = 4, 100
      local load = server:load(clients, ("/load?ms=10&n=[1-%d]"):format(each))
      save_list(OTHER, "2001:db8::1")
      metrics_when("new list", function(now) return now "site_blocklist_entries" == 2 end)
      server:wait_for("end of the old list", function()
        return not table.concat(mappings()):find "deleted"
      end)
      local result = server:finish(load)
      assert.equal(0, result.unanswered)
      assert.equal(clients * each, result.answered)
      sent = sent + result.answered
      assert.equal(WORKERS, #mappings())
      for _, answer in ipairs(send(repeated({ "/?ms=1", client = OTHER }, 20), 20)) do
        assert.equal(403, answer.status)
      end
      assert.equal(200, status_of { "/?ms=0", client = REFUSED })
    end)

    it("by the old list when the new one is none, and when it is gone", function()
      local function wait_for_complaints(what)
        server:wait_for("complaints", function()
          return select(2, server:log():gsub("no new block%-list: [^\n]*" .. what, "")) >= WORKERS
        end)
        assert.equal(403, status_of { "/?ms=0", client = OTHER })
      end
      files.write(blocked .. ".new", "no sketch")
      assert(os.rename(blocked .. ".new", blocked))
      wait_for_complaints "not a sketch"
      assert(os.remove(blocked))
      wait_for_complaints "No such file"
    end)
  end)

  it("keeps in the cache what is asked for a second time", function()
    local before = metrics()
    local once, twice = {}, {}
    for i = 1, 100 do
      once[i] = ("/once/%d?ms=0"):format(i)
      twice[i] = ("/twice/%d?ms=0"):format(i)
    end
    local function caches(requests)
      local counts = { MISS = 0, HIT = 0 }
      for _, answer in ipairs(send(requests, 8)) do
        counts[answer.cache] = counts[answer.cache] + 1
      end
      return counts
    end
    assert.same({ MISS = 100, HIT = 0 }, caches(once))
    for _, hits in ipairs { 0, 0, 100 } do
      assert.same({ MISS = 100 - hits, HIT = hits }, caches(twice))
    end
    local after = metrics()
    assert.equal(200, after "site_cache_kept_out_total" - before "site_cache_kept_out_total")
    assert.equal(100, after "site_cache_hits_total" - before "site_cache_hits_total")
    assert.equal(400, after "site_cacheable_total" - before "site_cacheable_total")
    local stored = process.shell(("find %s/cache -type f | xargs grep -al '^KEY: .*/once/' | wc -l"):format(
      files.quoted(server.directory)))
    assert.equal("0", stored:match "%d+")
  end)

  it("counts visitors, over a reload, in a file for each day", function()
    local before = metrics() "site_visitors_week"
    local requests, clients = {}, 400
    for i = 1, clients do
      requests[i] = { "/?ms=0", client = ("2001:db8:5::%x"):format(i) }
      requests[clients + i] = requests[i]
    end
    send(requests, 8)
    local visitors = metrics() "site_visitors_week"
    assert.is_true(math.abs(visitors - before - clients) <= 4 * ps.hll():standard_error() * clients, visitors)

    server:reload()
    send { { "/?ms=0", client = "2001:db8:5::1" } }
    local value, shown = metrics(), 0
    assert.equal(visitors, value "site_visitors_week")
    for _, name in ipairs(files.list(data)) do
      local day = name:match "^visitors%-(.+)$"
      local count = day and value("site_visitors", { day = day })
      if count then
        shown = shown + 1
        assert.equal(count, ps.load(data .. "/" .. name, "hyperloglog"):count())
      end
    end
    assert.is_true(shown >= 1)
  end)

  it("lists hot URLs with the counts of all workers, also of those that are killed", function()
    send(repeated("/api/hottest?ms=5", 300), 16)
    send(repeated("/api/second?ms=5", 200), 16)
    for more = 0, 1 do
      local value = metrics("/api/hottest", "/api/second")
      assert.equal(300, value("site_url_requests", { url = "/api/hottest" }))
      assert.equal(200 + more, value("site_url_requests", { url = "/api/second" }))
      local old = server:workers()
      for _, pid in ipairs(old) do
        server:signal("KILL", pid)
      end
      server:wait_for_others(old)
      send { "/api/second?ms=0" }
    end
  end)

  it("measures what requests take at each location", function()
    send(repeated("/api/slow?ms=50", 40), 20)
    local value = metrics()
    local last = 0
    for _, quantile in ipairs { "0.5", "0.9", "0.99", "0.999" } do
      local seconds = value("site_latency_seconds", { location = "api", quantile = quantile })
      assert.is_true(seconds >= last)
      last = seconds
    end
    assert.is_true(last >= 0.0495 and last < 10, last)
    assert.is_true(value("site_latency_seconds", { location = "pages", quantile = "0.5" }) < 0.0495)
  end)

  it("shows what clients sent as it was, and as nothing else", function()
    local url = [[/<script>alert(1)</script>"'&amp;\{}/%FF%E2%80%AE%0A%25]]
    send(repeated("/%3Cscript%3Ealert(1)%3C/script%3E%22%27&amp;%5C%7B%7D/%ff%e2%80%ae%0a%25?ms=0", 350), 16)
    assert.equal(350, metrics(url)("site_url_requests", { url = url }))
    local page = markup.parse((server:get "/stats"))
    local found = 0
    for _, element in ipairs(page) do
      assert.is_true(element.name ~= "script")
      found = found + (element.text == url and 1 or 0)
    end
    assert.equal(1, found)
  end)

  it("shows its pages to this machine only", function()
    for _, path in ipairs { "/metrics", "/stats" } do
      assert.equal(403, status_of { path, client = "203.0.113.9" })
    end
  end)

  it("complains of nothing, whatever comes", function()
    local long = ("a"):rep(20000)
    server:get("/" .. long)
    process.shell(("curl -s -X 'NO METHOD' --unix-socket %s/socket http://localhost/"):format(server.directory))
    for line in server:log():gmatch "[^\n]+" do
      local expected = false
      for _, words in ipairs { "[notice]", "no new block-list", "exited on signal 9", "access forbidden by rule" } do
        expected = expected or line:find(words, 1, true)
      end
      assert.is_truthy(expected, line)
    end
  end)
end)
