-- The table of options in docs/GUIDE.md says what the constructors do.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local options = require "spec.support.options"

-- The rows of the table by kind and option: { default =, range = }; those of all kinds are every kind's.
local rows = {}
for _, kind in ipairs(kinds) do
  rows[kind.name] = {}
end
local text = files.read "docs/GUIDE.md"
local _, heading = text:find("| sketch | option | default | range |", 1, true)
for line in text:sub(heading):match("\n|[-|]+\n(.-\n)\n"):gmatch "[^\n]+" do
  local name, option, default, range = line:match "^| ([%w_]+) | `([%w_]+)` | (.-) | (.-) | .+ |$"
  for _, kind in ipairs(name == "all" and kinds or { (assert(kinds[name], line)) }) do
    if not (option == "seed" and kind.seedless) then
      assert(not rows[kind.name][option], line)
      rows[kind.name][option] = { default = default, range = range }
    end
  end
end

-- Some value of an option that is no kind's ordinary one, with what has to come with it.
local function with(kind, option)
  local range = kind.ranges[option]
  return kinds.options(kind.options, range.with, { [option] = range.good[1] })
end

kinds.describe(describe, function(kind)
  it("has every option with its range", function()
    local ranges = {}
    for option, row in pairs(rows[kind.name]) do
      ranges[option] = row.range
    end
    assert.same(options.ranges(kind), ranges)
  end)

  for option, row in pairs(rows[kind.name]) do
    local default, instead = row.default:match "^`(.*)`$", row.default:match "^instead of `(.*)`$"
    local together = row.default:match "^with `(.*)`$"

    it(("says of '%s' what it is unless it is given: %s"):format(option, row.default), function()
      if default then
        assert.same(options.plan(kind, option, nil), options.plan(kind, option, options.value(default)))
      elseif instead then
        expect.raise_saying("exclude", ps.plan, kind.name, with(kind, option))
      elseif together then
        expect.raise_saying(("'%s' and '%s' go together"):format(together, option), ps.plan, kind.name,
          { [option] = kind.ranges[option].good[1] })
      else
        assert.equal("must be given", row.default)
        expect.raise_saying(("'%s'"):format(option), options.plan, kind, option, nil)
      end
    end)
  end
end)
