-- An exact model of a window: what it holds, thing by thing, from the definition in lua/probsketch/window.lua. Times
-- are whole numbers of units, and so is the length of a slice, so that the arithmetic is exact.

local kinds = require "spec.support.kinds"
local ps = require "probsketch"

local windows = {}

local model = {}
model.__index = model

-- Of a window whose slices are `length` units long and as many as `slices` before the current one.
function windows.model(slices, length)
  return setmetatable({ slices = slices, length = length, things = {} }, model)
end

function model:number(time)
  return math.floor(time / self.length)
end

-- Forgets for good what is too old at a time: what has been encoded then does not come back.
function model:forget(time)
  local kept = {}
  for _, thing in ipairs(self.things) do
    if self:number(thing.time) >= self:number(time) - self.slices then
      kept[#kept + 1] = thing
    end
  end
  self.things = kept
end

-- Adds at a time: what is in the future is so no more.
function model:add(item, time)
  for _, thing in ipairs(self.things) do
    thing.time = math.min(thing.time, time)
  end
  self:forget(time)
  self.things[#self.things + 1] = { item = item, time = time }
end

-- The items that are in at a time.
function model:items(time)
  local items = {}
  for _, thing in ipairs(self.things) do
    if self:number(thing.time) >= self:number(time) - self.slices then
      items[#items + 1] = thing.item
    end
  end
  return items
end

-- What windows are made over: a kind, options with which what they are asked does not depend on the order or the
-- grouping of what was added, and how to compare two sketches that hold the same.
local function bytes(sketch)
  return ps.hash(sketch:encode())
end

windows.subjects = {
  { kind = kinds.bloom, options = { capacity = 2000 }, state = bytes },
  { kind = kinds.count_min, options = { width = 40, depth = 3 }, state = bytes },
  { kind = kinds.hyperloglog, options = { precision = 6 }, state = bytes },
  { kind = kinds.ddsketch, options = { relative_accuracy = 0.05 }, state = bytes },
  { kind = kinds.top_k, options = { k = 1000, width = 50, depth = 2 }, state = function(sketch)
    local lines = {}
    for _, item in ipairs(sketch:list()) do
      lines[#lines + 1] = ("%s %.0f %.0f"):format(item.key, item.count, item.error)
    end
    return table.concat(lines, ", ")
  end },
  { kind = kinds.cuckoo, options = { capacity = 1000, growth = 2 }, state = function(sketch)
    local counts = {}
    for i = 1, 300 do
      local n = sketch:frequency(kinds.cuckoo.item(i))
      counts[#counts + 1] = n > 0 and ("%d of %d"):format(n, i) or nil
    end
    return table.concat(counts, ", ")
  end },
}

-- A jump of a clock that is random but never dull: most are small, some a slice or the span to the unit, some go back,
-- a few go very far.
function windows.jump(random, slices, length)
  local dice, span = random:integer(20), slices * length
  if dice <= 9 then
    return random:integer(length) - 1
  elseif dice <= 12 then
    return length * random:integer(slices + 2) + random:integer(3) - 2
  elseif dice <= 14 then
    return random:integer(2 * span)
  elseif dice == 15 then
    return span + length - 2 + random:integer(3)
  elseif dice <= 18 then
    return -random:integer(2 * length)
  elseif dice == 19 then
    return -random:integer(2 * span)
  end
  return (random:integer(3) - 2) * 1000 * span
end

return windows
