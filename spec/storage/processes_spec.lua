-- Several processes: each builds its part, and a file that they share is whole whenever it is read.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local forked = require "forked"
local kinds = require "spec.support.kinds"
local process = require "spec.support.process"

local quoted = files.quoted

local directory
before_each(function()
  directory = files.directory()
end)
after_each(function()
  files.remove(directory)
end)

-- Writes the source to a file and returns the command that runs it with arguments.
local function script(name, source)
  local path = directory .. "/" .. name .. ".lua"
  files.write(path, source)
  return function(...)
    return process.command(process.interpreter, path, ...)
  end
end

-- Runs commands at the same time, and waits for all; all must succeed.
local function together(commands)
  local lines = {}
  for i, command in ipairs(commands) do
    lines[i] = command .. " & pids=\"$pids $!\""
  end
  lines[#lines + 1] = "status=0; for pid in $pids; do wait $pid || status=1; done; exit $status"
  local output, status = process.shell("(" .. table.concat(lines, "\n") .. ")")
  assert.equal(0, status, output)
  return output
end

-- Every shape that a merge of parts promises the same bytes for, empty, by name.
local shapes = [[
  local kinds = require "spec.support.kinds"
  local function shapes()
    local all = {}
    for _, kind in ipairs(kinds) do
      if kind.key and not kind.immutable and not kind.merges then
        all[kind.name] = kind.new
        for _, form in ipairs(kind.forms) do
          all[kind.name .. " " .. form.name] = not form.ordered and form.empty or nil
        end
      end
    end
    return all
  end
]]

describe("four processes", function()
  it("that add a quarter each give, merged, the bytes of one that adds all", function()
    local part = script("part", shapes .. [[
      local directory, from, to = ...
      for name, new in pairs(shapes()) do
        local sketch = new()
        for i = from, to do
          sketch:add(("k%d"):format(i))
        end
        assert(sketch:save(("%s/%s %d"):format(directory, name, from)))
      end
    ]])
    local commands = {}
    for i = 0, 3 do
      commands[i + 1] = part(directory, i * 5000 + 1, (i + 1) * 5000)
    end
    together(commands)
    local names = (loadstring or load)(shapes .. "return shapes()")()
    for name, new in pairs(names) do
      local function saved(from)
        return (assert(ps.load(("%s/%s %d"):format(directory, name, from))))
      end
      local all = new()
      for i = 1, 20000 do
        all:add(("k%d"):format(i))
      end
      expect.same_bytes(all:encode(), ps.union(saved(15001), saved(1), saved(10001), saved(5001)):encode())
    end
    assert.is_not_nil(names[kinds[1].name])
  end)
end)

describe("two processes", function()
  it("that add the same in opposite order have the same bytes", function()
    local build = script("build", [[
      local kinds, files = require "spec.support.kinds", require "spec.support.files"
      local path, backwards = ...
      local all = {}
      for _, kind in ipairs(kinds) do
        for _, form in ipairs(kind.forms) do
          local items = {}
          for i = 1, form.items do
            local turned = backwards == "backwards" and not form.ordered
            items[turned and form.items + 1 - i or i] = kind.item(i)
          end
          all[#all + 1] = kind.fill_with(form.empty(), items):encode()
        end
      end
      files.write(path, table.concat(all))
    ]])
    together { build(directory .. "/a", "forwards"), build(directory .. "/b", "backwards") }
    assert.is_true(#files.read(directory .. "/a") > 1000)
    expect.same_bytes(files.read(directory .. "/a"), files.read(directory .. "/b"))
  end)

  it("that save to one path, and are killed at it, show a reader nothing but whole sketches", function()
    local path = directory .. "/shared"
    local writer = script("writer", [[
      local ps, path, mark, done = require "probsketch", ...
      local sketch = ps.bloom { capacity = 20000, seed = tonumber(mark) }
      for i = 1, 20000 do sketch:add(mark .. i) end
      assert(sketch:save(path))
      io.open(path .. ".saved" .. mark, "w"):close()
      local deadline = os.time() + 2
      local function other_has_saved()
        local file = io.open(path .. ".saved2")
        return file and file:close()
      end
      repeat assert(sketch:save(path)) until os.time() >= deadline and other_has_saved()
      if done then io.open(done, "w"):close() end
    ]])
    local reader = script("reader", [[
      local ps, path, done = require "probsketch", ...
      local whole = {}
      for mark = 1, 2 do
        whole[mark] = ps.bloom { capacity = 20000, seed = mark }
        for i = 1, 20000 do whole[mark]:add(mark .. i) end
      end
      local seen, reads = { 0, 0 }, 0
      local finished
      repeat
        finished = io.open(done)
        local sketch = assert(ps.load(path))
        local mark = sketch == whole[1] and 1 or sketch == whole[2] and 2 or error "a mixture"
        seen[mark], reads = seen[mark] + 1, reads + 1
      until finished
      print(seen[1], seen[2])
    ]])
    local first = ps.bloom { capacity = 20000, seed = 1 }
    for i = 1, 20000 do
      first:add("1" .. i)
    end
    assert(first:save(path))
    -- Killed half a second after its first save, however long that takes to come.
    local killed = "{ %s & for i in $(seq 300); do test -e " .. quoted(path .. ".saved2")
      .. " && break; sleep 0.1; done; sleep 0.5; kill -9 $!; wait; true; }"
    local output = together {
      writer(path, 1, directory .. "/done"), killed:format(writer(path, 2)), killed:format(writer(path, 2)),
      reader(path, directory .. "/done"),
    }
    local seen_1, seen_2 = output:match "(%d+)\t(%d+)"
    assert.is_true(tonumber(seen_1) > 0 and tonumber(seen_2) > 0, output)
    assert.is_truthy(process.shell("ls " .. quoted(directory)):find "shared")
  end)
end)

describe("two generations of processes", function()
  it("that save what they have to a file each, the older killed, keep all that was saved", function()
    local function file(worker)
      return ("%s/part %d"):format(directory, worker)
    end
    local function union()
      local all = ps.bloom { capacity = 1e5, fp_rate = 1e-6 }
      for worker = 1, 8 do
        local part, message, code = ps.load(file(worker), "bloom")
        assert(part or code == "io", message)
        all = part and all:union(part) or all
      end
      return all
    end
    -- How many keys each had saved.
    local saved = assert(ps.share("saved keys", ps.count_min { width = 1000, depth = 5 }))
    local KILLER, READER, SAVES = 9, 10, 60
    assert.equal(10 - 4, forked(10, function(worker)
      if worker == KILLER then
        for victim = 1, 4 do
          repeat os.execute "sleep 0.01" until saved:frequency(victim) >= 5 * victim
          os.execute("kill -9 " .. files.read(file(victim) .. " process"))
        end
      elseif worker == READER then
        local count = 0
        repeat
          local now = union():count()
          assert(now >= count)
          count = now
        until saved:frequency(8) >= SAVES
      else
        local stat = files.read "/proc/self/stat"
        files.write(file(worker) .. " process", stat:match "^%d+")
        local mine = ps.bloom { capacity = 1e5, fp_rate = 1e-6 }
        for key = 1, worker <= 4 and math.huge or SAVES do
          mine:add(("%d of %d"):format(key, worker))
          assert(mine:save(file(worker)))
          saved:add(worker)
        end
      end
    end))
    local all, keys = union(), 0
    for worker = 1, 8 do
      for key = 1, saved:frequency(worker) do
        assert.is_true(all:has(("%d of %d"):format(key, worker)))
        keys = keys + 1
      end
    end
    assert.is_true(keys >= 4 * SAVES + 50)
  end)
end)
