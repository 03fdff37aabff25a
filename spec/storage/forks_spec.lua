-- Processes that were forked with a sketch, as the workers of a server are: they have it together, in memory and in a
-- file, and nothing that one of them adds is lost.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local forked = require "forked"
local kinds = require "spec.support.kinds"

local WORKERS, ADDITIONS, ITEMS = 4, 10000, 8000

local directory, path
setup(function()
  directory = files.directory()
  path = directory .. "/sketch"
end)
teardown(function()
  files.remove(directory)
end)
after_each(function()
  os.remove(path)
end)

local regions = 0
local function region()
  regions = regions + 1
  return "forked region " .. regions
end

local function is_shareable(sketch)
  return (pcall(ps.share, region(), sketch))
end

-- What a worker adds: half of it only this one, in part.
local function work(sketch, items, worker)
  for i = 1, ADDITIONS do
    sketch:add(items[(i % 2 == 0 and i or worker * 2000 + i) % ITEMS + 1])
  end
end

local shared_kinds = {}

kinds.describe_forms(describe, function(form, kind)
  if not is_shareable(form.empty()) then
    return
  end
  shared_kinds[kind.name] = true

  it("has all that processes add at the same time, to the byte", function()
    local items = kind.items(1, ITEMS)
    local whole = kind.fill_with(form.empty(), items)
    for worker = 1, WORKERS do
      work(whole, items, worker)
    end
    for _, name in ipairs { region(), path } do
      local shared = assert(ps.share(name, form.empty()))
      kind.fill_with(shared, items)
      local before = shared:encode()
      assert.equal(WORKERS, forked(WORKERS, function(worker)
        -- The one that was there, or one of its own; with what was added before the fork.
        local mine = worker % 2 == 0 and shared or assert(ps.share(name, form.empty()))
        assert(mine:count() >= ps.decode(before):count())
        work(mine, items, worker)
      end))
      expect.same_bytes(whole:encode(), shared:encode())
      assert.equal(whole:count(), shared:count())
      assert.same(kind.answers(whole), kind.answers(shared))
    end
  end)
end)

describe("the kinds", function()
  it("that are shared are so by forked processes", function()
    for _, name in ipairs { "bloom", "blocked_bloom", "counting_bloom", "count_min", "hyperloglog", "minhash",
      "ddsketch" } do
      assert.is_true(shared_kinds[name], name)
    end
  end)
end)

describe("a region", function()
  it("that is made in a process is that one's alone", function()
    local name = region()
    assert.equal(WORKERS, forked(WORKERS, function(worker)
      local own = assert(ps.share(name, ps.count_min { width = 10, depth = 1 }))
      own:add("key", worker)
      assert(own:count() == worker)
    end))
    assert.equal(0, ps.share(name, ps.count_min { width = 10, depth = 1 }):count())
  end)

  it("stays when processes close it, drop it and are killed", function()
    local name = region()
    local shared = assert(ps.share(name, ps.count_min { width = 10, depth = 3 }))
    assert.equal(WORKERS - 1, forked(WORKERS, function(worker)
      for _ = 1, 1000 do
        shared:add "key"
      end
      if worker == 1 then
        shared:close()
      elseif worker == 2 then
        shared = nil
        collectgarbage()
      elseif worker == 3 then
        os.execute "kill -9 $PPID"
      end
    end))
    assert.equal(4000, shared:frequency "key")
    assert.equal(4000, ps.share(name, shared:copy()):count())
    shared:close()
    assert.equal(4000, ps.share(name, ps.count_min { width = 10, depth = 3 }):count())
  end)
end)
