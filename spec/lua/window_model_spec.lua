-- A window stands for exactly what its definition says, however the clock jumps.

local ps = require "probsketch"
local random = require "spec.support.random"
local windows = require "spec.support.windows"

local SHAPES = { { slices = 1, length = 8 }, { slices = 4, length = 3 }, { slices = 24, length = 5 } }
local UNIT = 1 / 8 -- seconds: exact in binary

-- A window whose clock reads `time` units, and the model of it.
local function new_pair(subject, shape, seed)
  local pair = { time = (seed - 3) * 1000, model = windows.model(shape.slices, shape.length) }
  pair.window = ps.window {
    sketch = function() return subject.kind.new(subject.options) end,
    span = shape.slices * shape.length * UNIT,
    slices = shape.slices,
    clock = function() return pair.time * UNIT end,
  }

  function pair.jump(random_numbers)
    pair.time = pair.time + windows.jump(random_numbers, shape.slices, shape.length)
  end

  function pair.add(item)
    pair.window:add(item)
    pair.model:add(item, pair.time)
  end

  function pair.check(what)
    local expected = subject.kind.fill_with(subject.kind.new(subject.options), pair.model:items(pair.time))
    assert.equal(subject.state(expected), subject.state(pair.window:merged()), what)
  end
  return pair
end

for _, subject in ipairs(windows.subjects) do
  describe("a window over " .. subject.kind.name, function()
    local function random_item(numbers)
      return subject.kind.item(numbers:integer(300))
    end

    it("holds what the model holds, over random jumps of the clock", function()
      for s, shape in ipairs(SHAPES) do
        for seed = 1, 6 do
          local pair, numbers = new_pair(subject, shape, seed), random.new(100 * s + seed)
          for step = 1, 120 do
            pair.jump(numbers)
            local what = numbers:integer(10) -- some additions are asked about, some questions come on their own
            if what <= 7 then
              pair.add(random_item(numbers))
            end
            if what >= 6 then
              pair.check(("shape %d, seed %d, step %d"):format(s, seed, step))
            end
          end
        end
      end
    end)

    it("holds the same after going through bytes, and goes on as one that did not", function()
      for seed = 1, 6 do
        local pair, numbers = new_pair(subject, SHAPES[2], seed), random.new(1000 + seed)
        for step = 1, 60 do
          pair.jump(numbers)
          pair.add(random_item(numbers))
          pair.jump(numbers)
          if numbers:integer(3) == 1 then
            local bytes = pair.window:encode()
            pair.window = assert(ps.window { bytes = bytes, clock = pair.window.clock })
            pair.model:forget(pair.time)
            assert.equal(ps.hash(bytes), ps.hash(pair.window:encode()))
          end
          pair.check(("seed %d, step %d"):format(seed, step))
        end
      end
    end)
  end)
end

describe("a window", function()
  it("holds the last span, and nothing older by a slice", function()
    -- From the promise alone: slices are not numbered here.
    for s, shape in ipairs(SHAPES) do
      local span, length = shape.slices * shape.length, shape.length
      for seed = 1, 10 do
        local time, added, numbers = 0, {}, random.new(10 * s + seed)
        local window = ps.window {
          sketch = ps.hll, -- up to 2304 keys are counted exactly
          span = span,
          slices = shape.slices,
          clock = function() return time end,
        }
        for i = 1, 200 do
          time = time + math.max(0, windows.jump(numbers, shape.slices, length))
          added[i] = time
          window:add(i)
          local young, not_old = 0, 0
          for _, then_ in ipairs(added) do
            young = young + (time - then_ <= span and 1 or 0)
            not_old = not_old + (time - then_ < span + length and 1 or 0)
          end
          local count = window:count()
          assert.is_true(young <= count and count <= not_old, ("%d <= %d <= %d"):format(young, count, not_old))
        end
      end
    end
  end)
end)
