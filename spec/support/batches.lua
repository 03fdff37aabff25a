-- What a batch of keys is held to, by filters of several shapes and around the sizes at which their loops change.

local assert = require "luassert"
local random = require "spec.support.random"

local batches = {}

-- Makes the specs of batches by means of busted's it(). make(shape) gives an empty filter of one of the shapes; keys
-- are integers up to `most`, so that some come again.
function batches.specify(it, make, shapes, sizes, most)
  local function with_shapes_and_batches(call)
    for i, shape in ipairs(shapes) do
      local filter, generator = make(shape), random.new(i)
      for _, size in ipairs(sizes) do
        local keys = {}
        for j = 1, size do
          keys[j] = generator:integer(most)
        end
        call(filter, keys)
      end
    end
  end

  it("changes it as the same keys do one by one, and as many of them are new", function()
    with_shapes_and_batches(function(filter, keys)
      local single, new = filter:copy(), 0
      for i = 1, #keys do
        new = new + (single:add(keys[i]) and 1 or 0)
      end
      assert.equal(new, filter:add_many(keys))
      assert.equal(single, filter)
      assert.same(single:info(), filter:info())
    end)
  end)

  it("is answered in its order", function()
    local known, unknown = 0, 0
    with_shapes_and_batches(function(filter, keys)
      local expected = {}
      for i = 1, #keys do
        if i % 3 == 0 then
          filter:add(keys[i])
        end
      end
      for i = 1, #keys do
        expected[i] = filter:has(keys[i])
        known = known + (expected[i] and 1 or 0)
        unknown = unknown + (expected[i] and 0 or 1)
      end
      assert.same(expected, filter:has_many(keys))
    end)
    assert.is_true(known > 2000 and unknown > 2000)
  end)
end

return batches
