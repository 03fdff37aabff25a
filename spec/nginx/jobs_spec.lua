-- The jobs of examples/nginx over hours and days, which a clock of ours makes short, and where there is nothing to work
-- with. Each of several workers has modules of its own; what is shared they share, being one process.

local ps = require "probsketch"
local files = require "spec.support.files"
local nginx = require "spec.support.nginx"

local it = nginx.it(it, pending)

local HOUR, DAY = 3600, 86400

local now, directory, path, before, logged, dictionary

local function dict()
  local values = {}
  return {
    get = function(_, name) return values[tostring(name)] end,
    safe_set = function(_, name, value)
      values[tostring(name)] = value
      return true
    end,
    safe_add = function(_, name, value)
      local is_new = values[name] == nil
      values[name] = is_new and value or values[name]
      return is_new
    end,
  }
end

-- The ngx of a worker. Its timers run when they are told to.
local function new_ngx(id, timers)
  return {
    ERR = "error",
    log = function(...) logged[#logged + 1] = table.concat { ... } end,
    time = function() return math.floor(now) end,
    timer = {
      every = function(_, work)
        timers[#timers + 1] = work
        return true
      end,
    },
    worker = { id = function() return id end, count = function() return 4 end },
    shared = { hot_urls = dictionary },
  }
end

-- A worker with one job, called as the module of the job is; tick() lets its timers go off.
local function new_worker(job, id)
  local timers = {}
  local ngx = new_ngx(id, timers)
  local function within(f, ...)
    _G.ngx = ngx
    return f(...)
  end
  for name in pairs(package.loaded) do
    if name:find "^jobs%." then
      package.loaded[name] = nil
    end
  end
  local module = within(require, "jobs." .. job)
  return setmetatable({}, {
    __index = function(_, name)
      return function(...)
        if name ~= "tick" then
          return within(module[name], ...)
        end
        for _, timer in ipairs(timers) do
          within(timer, false)
        end
      end
    end,
  })
end

before_each(function()
  now, logged, dictionary = 1e6 * HOUR, {}, dict()
  directory = files.directory()
  path, before = package.path, rawget(_G, "ngx")
  package.path = "examples/nginx/lua/?.lua;" .. package.path
end)

after_each(function()
  files.remove(directory)
  package.path, _G.ngx = path, before
end)

local function new_workers(job, options)
  local workers = {}
  for id = 0, 3 do
    workers[id + 1] = new_worker(job, id)
    workers[id + 1].init(options)
  end
  for _, worker in ipairs(workers) do
    worker.start()
  end
  return workers
end

local function tick(workers)
  for _, worker in ipairs(workers) do
    worker.tick()
  end
end

describe("cache admission", function()
  local OPTIONS = { capacity = 1e5, period = HOUR }

  it("remembers a key for half a period, and none for longer than one and a half", function()
    local workers = new_workers("admission", OPTIONS)
    local start, minute = now, 60
    for step = 0, 400 do
      now = start + step * minute
      tick(workers)
      for _, age in ipairs { 0, 10, 29, 91, 115, 130 } do
        local one, other = workers[step % 4 + 1], workers[(step + 1) % 4 + 1]
        local key = "asked again after %d minutes, at %d"
        assert.is_true(one.is_first(key:format(age, step)))
        if step >= age then
          assert.equal(age > 90, other.is_first(key:format(age, step - age)))
        end
      end
    end
  end)

  it("takes no harm from workers that are late", function()
    local workers = new_workers("admission", OPTIONS)
    local late, start = table.remove(workers), now
    for step = 0, 40 do
      now = start + step * HOUR / 8
      tick(step % 8 == 4 and workers or { late })
      assert.is_true(late.is_first("late " .. step))
      assert.is_false(step > 0 and late.is_first("late " .. step - 1))
      assert.is_true(step < 20 or late.is_first("late " .. step - 20))
    end
  end)

  it("forgets in time where no worker clears in time, and lets in what came two periods before", function()
    local workers = new_workers("admission", OPTIONS)
    for _, key in ipairs { "once more after 1.6 periods", "once more after 2.1 periods" } do
      assert.is_true(workers[1].is_first(key))
    end
    now = now + 1.6 * HOUR
    assert.is_true(workers[1].is_first "once more after 1.6 periods")
    now = now + 0.3 * HOUR
    tick(workers)
    now = now + 0.2 * HOUR
    assert.is_false(workers[1].is_first "once more after 2.1 periods")
  end)

  it("lets all in where the filters that are there are others", function()
    local workers = new_workers("admission", { capacity = 2e5, period = HOUR })
    now = now + 0.6 * HOUR
    tick(workers)
    assert.is_false(workers[1].is_first "whatever")
    assert.is_truthy(logged[1]:find "no shared sketch 'admission 0': .*mismatch")
    assert.equal(0, workers[1].figures().keys)
  end)
end)

describe("hot URLs", function()
  it("are halved once a half-life, by whichever worker comes first, and go on in the next workers", function()
    local options = { half_life = 600 }
    local workers = new_workers("hot_urls", options)
    for i = 1, 64 do
      workers[i % 4 + 1].add "/hot"
    end
    local expected, start = 64, now
    for step = 1, 24 do
      now = start + step * 200
      if step == 5 then
        workers = new_workers("hot_urls", options)
      end
      expected = step % 3 == 0 and expected / 2 or expected
      tick(workers)
      table.insert(workers, table.remove(workers, 1))
      tick(workers)
      if expected >= 4 then
        assert.same({ { url = "/hot", requests = expected } }, workers[1].figures().urls)
      end
    end
    assert.same({}, workers[1].figures().urls)
  end)
end)

describe("visitors", function()
  local function add(worker, from, to)
    for i = from, to do
      worker.add("visitor " .. i)
    end
  end

  local function near(expected, count)
    assert.is_true(math.abs(count - expected) <= 4 * ps.hll():standard_error() * expected, count)
  end

  it("have a file for each day, and a week over restarts", function()
    local workers = new_workers("visitors", directory .. "/")
    for day = 0, 9 do
      add(workers[day % 4 + 1], day * 100 + 1, day * 100 + 200)
      tick(workers)
      if day == 4 then
        workers = new_workers("visitors", directory .. "/")
      end
      local figures = workers[1].figures()
      near(200, figures.today)
      near(100 * math.min(day + 1, 7) + 100, figures.week)
      assert.equal(math.min(day + 1, 7), #figures.days)
      assert.equal(figures.today, figures.days[1].visitors)
      now = now + DAY
    end
    assert.equal(11, #files.list(directory))
  end)

  it("of the first second of a day are counted", function()
    local workers = new_workers("visitors", directory .. "/")
    now = math.floor(now / DAY + 1) * DAY
    add(workers[1], 1, 50)
    near(50, workers[2].figures().today)
  end)

  it("are let in where they cannot be counted, and are counted once they can be", function()
    local workers = new_workers("visitors", directory .. "/later/")
    add(workers[1], 1, 50)
    assert.equal(0, workers[1].figures().today)
    assert.is_truthy(logged[1]:find "No such file")
    os.execute("mkdir " .. files.quoted(directory .. "/later"))
    tick(workers)
    add(workers[1], 1, 50)
    near(50, workers[2].figures().today)
  end)
end)

describe("the block-list", function()
  local list, workers
  before_each(function()
    list = directory .. "/list"
    workers = new_workers("blocklist", list)
  end)

  local function save(...)
    local filter = ps.bloom { capacity = 10, fp_rate = 1e-6 }
    filter:add_many { ... }
    assert(filter:save(list))
    tick(workers)
  end

  it("is empty until there is one, and refuses none but those on it", function()
    assert.is_false(workers[1].refuses "192.0.2.1")
    assert.is_truthy(logged[1]:find "no new block%-list")
    assert(ps.count_min():save(list))
    tick(workers)
    assert.is_false(workers[1].refuses "192.0.2.1")
    assert.is_truthy(logged[#logged]:find "count_min")
    save "192.0.2.1"
    for _, worker in ipairs(workers) do
      assert.is_true(worker.refuses "192.0.2.1")
      assert.is_false(worker.refuses "192.0.2.2")
    end
  end)

  it("lets go of the old list at once, and opens a new one once", function()
    local function mappings()
      return select(2, files.read("/proc/self/maps"):gsub(list:gsub("%p", "%%%0") .. "[^\n]*", ""))
    end
    save "192.0.2.66"
    local opened, open = 0, ps.open
    finally(function()
      ps.open = open
      collectgarbage "restart"
    end)
    ps.open = function(file, options)
      opened = opened + (options.verify == false and 0 or 1)
      return open(file, options)
    end
    collectgarbage "stop"
    for i = 1, 3 do
      save("192.0.2." .. i)
      tick(workers)
      assert.equal(4, mappings())
      assert.equal(4 * i, opened)
    end
  end)

  it("waits for nobody where something else is in its place", function()
    save "192.0.2.66"
    for _, command in ipairs { "mkfifo ", "mkdir " } do
      assert(os.remove(list))
      os.execute(command .. files.quoted(list))
      tick(workers)
      assert.is_truthy(logged[#logged]:find "not a regular file")
      assert.is_true(workers[1].refuses "192.0.2.66")
    end
  end)

  it("complains of the same thing once", function()
    local complaints = #logged
    tick(workers)
    assert.equal(complaints, #logged)
    files.write(list, "no sketch")
    tick(workers)
    tick(workers)
    assert.equal(complaints + 4, #logged)
  end)
end)
