-- What the jobs found, as two pages. One worker writes both once a second in a timer; a request is answered with what
-- is there, and no question to a sketch.

local admission = require "jobs.admission"
local blocklist = require "jobs.blocklist"
local hot_urls = require "jobs.hot_urls"
local latency = require "jobs.latency"
local metrics = require "report.metrics"
local page = require "report.page"
local visitors = require "jobs.visitors"
local workers = require "jobs.workers"

local report = {}

local TYPES = { metrics = "text/plain; version=0.0.4", stats = "text/html" }

-- Seconds after which a page that nobody has written anew is no longer served.
local STALE = 30

local function gather()
  return {
    time = ngx.time(),
    admission = admission.figures(),
    blocklist = blocklist.figures(),
    hot_urls = hot_urls.figures(),
    locations = latency.figures(),
    visitors = visitors.figures(),
  }
end

local function publish(name, text)
  local kept, problem = ngx.shared.reports:set(name, text, STALE)
  if not kept then
    ngx.log(ngx.ERR, "no room for /", name, ": ", problem)
  end
end

function report.start()
  if ngx.worker.id() == 0 then
    workers.every(1, function()
      local figures = gather()
      publish("metrics", metrics.render(figures))
      publish("stats", page.render(figures))
    end)
  end
end

function report.serve(name)
  local text = ngx.shared.reports:get(name)
  if not text then
    return ngx.exit(ngx.HTTP_SERVICE_UNAVAILABLE)
  end
  ngx.header.content_type = TYPES[name] .. "; charset=utf-8"
  ngx.header.cache_control = "no-store"
  ngx.header.content_security_policy = "default-src 'none'; style-src 'unsafe-inline'"
  ngx.print(text)
end

return report
