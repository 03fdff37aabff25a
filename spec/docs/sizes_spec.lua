-- The table of sizes in docs/OPENRESTY.md says what ps.plan() says.

local ps = require "probsketch"
local files = require "spec.support.files"

local load = loadstring or load -- luacheck: ignore 113
local UNITS = { KB = 1e3, MB = 1e6 }

describe("docs/OPENRESTY.md", function()
  local rows = 0
  for kind, options, size, unit in files.read "docs/OPENRESTY.md":gmatch "| `([%l_]+)({[^`]+})` | ([%d.]+) ([KM]B)" do
    rows = rows + 1
    it(("knows the size of %s%s"):format(kind, options), function()
      local bytes = ps.plan(kind, load("return " .. options)()).bytes
      assert.equal(tonumber(size), tonumber((size:find ".%." and "%.1f" or "%.0f"):format(bytes / UNITS[unit])))
    end)
  end

  it("has a table of sizes", function()
    assert.is_true(rows >= 6)
  end)
end)
