-- What the jobs do alike: share a sketch among all workers, and do something now and then in each of them.

local probsketch = require "probsketch"

local workers = {}

-- The sketch of that name that all workers share, made from `sketch` if there is none; nil, and a line in the log, if
-- there cannot be one. A job does without it then: requests pass, and are not counted.
--
-- A name without a slash is a region of memory. It has to be there before the workers are forked, so call this in
-- init_by_lua. It stays as it is until nginx stops: who changes its parameters has to start nginx anew, and not to
-- reload it.
function workers.share(name, sketch)
  local shared, problem = probsketch.share(name, sketch)
  sketch:close()
  if not shared then
    ngx.log(ngx.ERR, "no shared sketch '", name, "': ", problem)
  end
  return shared
end

-- Calls `work` in this worker at once and every so many seconds. nginx logs what it raises, and calls it again.
function workers.every(seconds, work)
  local timer, problem = ngx.timer.every(seconds, function(stopping)
    if not stopping then
      work()
    end
  end)
  if not timer then
    ngx.log(ngx.ERR, "no timer: ", problem)
  end
  work()
end

return workers
