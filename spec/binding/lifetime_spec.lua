-- Memory comes back: at once when a sketch is closed, soon when it is dropped, and never while it is used.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local memory = require "spec.support.memory"
local process = require "spec.support.process"

local measured = memory.is_measurable and it or pending
local with_close = _VERSION == "Lua 5.4" and it or pending

local MEGABYTE = 2 ^ 20

kinds.describe(describe, function(kind)
  local paged = kind.pages and measured or function() end
  local function filled()
    return kind.fill(kind.new(), 1, 50)
  end

  it("may be closed twice, and is then closed to all that is asked", function()
    local sketch = filled()
    assert.equal(0, select("#", sketch:close()))
    sketch:close()
    local other = filled()
    for name, method in pairs(debug.getmetatable(sketch).__index) do
      if name ~= "close" then
        expect.raise_saying("closed", method, sketch, other, other)
      end
    end
    expect.raise_saying("closed", function()
      return #sketch
    end)
    expect.raise_saying("closed", ps.union, sketch)
    sketch:close()
  end)

  it("says as text that it is closed", function()
    local sketch = filled()
    sketch:close()
    assert.is_truthy(tostring(sketch):find(kind.name, 1, true))
    assert.is_truthy(tostring(sketch):find("closed", 1, true))
  end)

  it("survives its finaliser, however often that is called", function()
    for _, options in ipairs { kind.options, kind.page or kind.megabytes } do
      local sketch = kind.fill(kind.new(options), 1, 50)
      local finalise = debug.getmetatable(sketch).__gc
      finalise(sketch)
      finalise(sketch)
      sketch:close()
      expect.raise_saying("closed", sketch.count, sketch)
      expect.raise(finalise, io.stdout)
      expect.raise(finalise, {})
      expect.raise(finalise)
    end
    collectgarbage()
    collectgarbage()
  end)

  with_close("is closed at the end of a <close> variable's block", function()
    local sketch, failed = filled(), filled()
    local block = load "local sketch <close> = ...; return sketch:count()"
    assert.equal(filled():count(), block(sketch))
    expect.raise_saying("closed", sketch.count, sketch)
    expect.raise_saying("in the block", load "local sketch <close> = ...; error 'in the block'", failed)
    expect.raise_saying("closed", failed.count, failed)
    block = load "local sketch <close> = ...; sketch:close()"
    block(filled())
  end)

  it("is left whole by others that are closed: copies, unions, sources", function()
    local a, b = filled(), filled()
    local copy, union, decoded = a:copy(), kind.immutable and b:copy() or a:union(b), ps.decode(a:encode())
    local bytes = { copy:encode(), union:encode(), decoded:encode() }
    a:close()
    b:close()
    collectgarbage()
    expect.same_bytes(bytes[1], copy:encode())
    expect.same_bytes(bytes[2], union:encode())
    expect.same_bytes(bytes[3], decoded:encode())
  end)

  -- Somebody who owns the sketch may be collected, and close it or go on with it, in the middle of a call: every
  -- allocation may run finalisers. Each method is called until that has happened a few times, or never does. A crash is
  -- seen from outside; a method that went on must have done its work right.
  for _, act in ipairs { "close", not kind.immutable and "add_many" or nil } do
    it("is not pulled away from under a method by a finaliser that calls " .. act, function()
      local output = process.run([[
        local ps, finaliser = require "probsketch", require "spec.support.finaliser"
        local kind, act = require "spec.support.kinds"[(...)], select(2, ...)
        local first, more, path = {}, {}, os.tmpname()
        for i = 1, 2000 do
          first[i], more[i], more[2000 + i] = i, 2000 + i, 4000 + i
        end

        -- At the end of every cycle of the collector something happens to the victim, once.
        local victim, met
        local function arm()
          finaliser(function()
            local sketch = victim
            victim = nil
            if sketch then
              met = true
              assert(pcall(sketch[act], sketch, more))
            end
            arm()
          end)
        end

        local function joined(next_piece)
          local pieces = {}
          for piece in next_piece do
            pieces[#pieces + 1] = piece
          end
          return table.concat(pieces)
        end
        local calls = {
          add_many = function(sketch) sketch:add_many(more) end,
          has_many = function(sketch) return sketch.has_many and sketch:has_many(more) end,
          chunks = function(sketch) return assert(ps.decode(joined(sketch:chunks(500)))) end,
          encode = function(sketch) return assert(ps.decode(sketch:encode())) end,
          save = function(sketch) return sketch:save(path) and assert(ps.load(path)) end,
          copy = function(sketch) return sketch:copy():encode() end,
          union = function(sketch, other) return sketch:union(other):encode() end,
          union_of_other = function(sketch, other) return other:union(sketch, sketch):encode() end,
          merge = function(sketch, other) return sketch:merge(other, other):encode() end,
          fold = function(sketch) return sketch.fold and assert(ps.decode(sketch:fold(6):encode())) end,
          info = function(sketch) return sketch:info() end,
          tostring = tostring,
          answers = kind.answers,
        }
        if kind.immutable then
          calls.add_many, calls.union, calls.union_of_other, calls.merge = nil, nil, nil, nil
        end

        -- Building at once takes its time, so one that is built is copied.
        local built = {}
        local function filled(options, keys)
          if kind.immutable then
            local empty = #options.keys == 0
            built[options] = built[options] or empty and kind.built(kind.new(), keys) or kind.new(options)
            return built[options]:copy()
          end
          local sketch = kind.new(options)
          sketch:add_many(keys)
          return sketch
        end
        collectgarbage("setpause", 0)
        collectgarbage("setstepmul", 1000)
        arm()
        local tries = { { kind.options, 2, 30 }, { kind.megabytes, 1, 3 }, kind.page and { kind.page, 1, 1 } }
        for _, try in ipairs(tries) do
          local options, most_meetings, most_attempts = try[1], try[2], try[3]
          for name, call in pairs(calls) do
            local meetings, attempts = 0, 0
            repeat
              local sketch, other = filled(options, first), filled(options, more)
              met, victim, attempts = false, sketch, attempts + 1
              local ok, problem = pcall(call, sketch, other)
              victim = nil
              meetings = meetings + (met and 1 or 0)
              assert(ok or problem:find "closed", problem)
            until meetings == most_meetings or attempts == most_attempts
            if meetings > 0 then
              io.write(name, " ")
            end
          end
        end
        os.remove(path)
        io.write "still here"
      ]], kind.name, act)
      assert.is_truthy(output:find "still here$", output)
      for _, name in ipairs { "encode", "save", "copy", "chunks", not kind.immutable and "union" or nil } do
        assert.is_truthy(output:find(name), name .. " was never met in the middle")
      end
    end)
  end

  it("may be revived by another finaliser and asked then", function()
    local output = process.run([[
      local finaliser = require "spec.support.finaliser"
      local kind = require "spec.support.kinds"[(...)]
      local revived, last = {}, {}
      local function revive(sketch)
        finaliser(function() revived[#revived + 1] = sketch end)
        return sketch
      end
      for _ = 1, 50 do
        revive(kind.fill(kind.new(), 1, 50))
      end
      collectgarbage()
      collectgarbage()
      for _, sketch in ipairs(revived) do
        local ok, problem = pcall(sketch.count, sketch)
        assert(ok or problem:find "closed", problem)
        tostring(sketch)
      end
      io.write(#revived)
      for i = 1, 50 do -- left for the end of the state
        last[i] = revive(kind.fill(kind.new(), 1, 50))
      end
      _G.last = last
    ]], kind.name)
    assert.equal("50", output)
  end)

  -- What nobody keeps would come to more than the limit. A kind that grows is large only when filled, so not as new.
  local ways = { "copy", "decode", "load" }
  if not kind.immutable then
    ways[#ways + 1] = "union"
    ways[#ways + 1] = kind.new(kind.megabytes):bytes() > MEGABYTE / 10 and "constructor" or nil
  end
  for _, made_by in ipairs(ways) do
    measured("keeps a hundred megabytes of sketches from piling up that nobody kept, made by " .. made_by, function()
      local output = process.run([[
        local ps, memory = require "probsketch", require "spec.support.memory"
        local kind, made_by = require "spec.support.kinds"[(...)], select(2, ...)
        local alive = {}
        for i = 1, 30000 do alive[i] = { i } end
        local sketch = kind.new(kind.megabytes)
        if sketch:bytes() < 1e5 then kind.fill(sketch, 1, 100000) end
        local path = os.tmpname()
        assert(sketch:save(path))
        local bytes = sketch:encode()
        local make = {
          constructor = function() return kind.new(kind.megabytes) end,
          copy = function() return sketch:copy() end,
          decode = function() return ps.decode(bytes) end,
          load = function() return ps.load(path) end,
          union = function() return sketch:union(sketch) end,
        }
        for _ = 1, math.ceil(110e6 / sketch:bytes()) do
          make[made_by]()
        end
        os.remove(path)
        print(memory.peak())
      ]], kind.name, made_by)
      assert.is_true(tonumber(output) < 100e6, output)
    end)
  end

  paged("gives 64 MB back at once when it is closed", function()
    assert.is_true(kind.bytes(kind.pages) >= 64e6)
    local sketch = kind.new(kind.pages)
    kind.fill(sketch, 1, 4000)
    for i = 1, 20 do -- keys enough to touch every page
      local items = {}
      for j = 1, 2000 do
        items[j] = i * 100000 + j
      end
      sketch:add_many(items)
    end
    local before = memory.resident()
    assert.is_true(before > 60e6, before)
    sketch:close()
    local freed = before - memory.resident()
    assert.is_true(freed > 60e6, freed)
    assert.is_true(sketch ~= nil) -- not collected meanwhile
  end)

  paged("touches no memory before it has to", function()
    local growth = memory.growth(function()
      kind.new(kind.pages):close()
    end)
    assert.is_true(growth < MEGABYTE, growth)
  end)
end)

describe("a collector that was stopped", function()
  -- Nobody can ask Lua 5.1 whether its is.
  local asked = pcall(collectgarbage, "isrunning") and it or pending

  asked("stays so", function()
    finally(function()
      collectgarbage "restart"
    end)
    local dropped = setmetatable({ {} }, { __mode = "v" })
    collectgarbage "stop"
    for _ = 1, 40 do
      ps.bloom { bits = 2 ^ 23, hashes = 3 }
    end
    assert.is_table(dropped[1])
  end)
end)
