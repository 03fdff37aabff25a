-- Which URLs are asked for most, of late. Names from one sketch, counts from another:
--
-- * A count-min sketch that all workers share counts every URL. It cannot say which it has seen. A count is never below
--   the truth, and hardly ever above it by more than 0.01 % of all.
-- * A top_k in each worker knows the names of its most frequent ones. It cannot be shared, so that each worker puts its
--   bytes into ngx.shared once a second, and who wants the list merges them. A worker that takes the place of another
--   begins with what that one has left there.
--
-- Both are halved now and then, so that a count is roughly that of the last two half-lives.

local probsketch = require "probsketch"
local workers = require "jobs.workers"

local floor, min = math.floor, math.min

local hot_urls = {}

local LONGEST, LISTED = 200, 10

local half_life, counts, top, halvings

function hot_urls.init(options)
  half_life = options.half_life
  counts = workers.share("hot urls", probsketch.count_min { epsilon = 1e-4, seed = "random" })
end

local function age()
  local due = floor(ngx.time() / half_life)
  if due == halvings then
    return
  end
  halvings = due
  top:halve()
  -- Who is the first to write this down halves what is everybody's. Should he be killed before he does it, counts are
  -- twice as high for a while.
  if ngx.shared.hot_urls:safe_add("halved " .. due, true, 2 * half_life) then
    counts:halve()
  end
end

local function publish()
  local kept, problem = ngx.shared.hot_urls:safe_set(ngx.worker.id(), top:encode())
  if not kept then
    ngx.log(ngx.ERR, "no room for the hot URLs of a worker: ", problem)
  end
end

local function published(worker)
  local bytes = ngx.shared.hot_urls:get(worker)
  local sketch = bytes and probsketch.decode(bytes, "top_k")
  return sketch and sketch:compatible(top) and sketch
end

function hot_urls.start()
  if counts then
    top = probsketch.top_k { k = 50, seed = counts }
    top = published(ngx.worker.id()) or top
    halvings = floor(ngx.time() / half_life)
    workers.every(1, function()
      age()
      publish()
    end)
  end
end

function hot_urls.add(url)
  if top then
    if #url > LONGEST then
      url = url:sub(1, LONGEST)
    end
    counts:add(url)
    top:add(url)
  end
end

local function by_requests(one, other)
  if one.requests ~= other.requests then
    return one.requests > other.requests
  end
  return one.url < other.url
end

function hot_urls.figures()
  local figures = { half_life = half_life, error_bound = counts and counts:error_bound() or 0, urls = {} }
  if not top then
    return figures
  end
  local merged, all = top:copy():clear(), {}
  for worker = 0, ngx.worker.count() - 1 do
    local sketch = published(worker)
    if sketch then
      merged:merge(sketch)
    end
  end
  for item in merged:each() do
    all[#all + 1] = { url = item.key, requests = counts:frequency(item.key) }
  end
  table.sort(all, by_requests)
  for i = 1, min(#all, LISTED) do
    figures.urls[i] = all[i]
  end
  return figures
end

return hot_urls
