-- Every block of Lua in the documents runs as it stands there, but for those marked for a later Lua than this one.
-- Those marked for nginx run in spec/nginx.

local documents = require "spec.support.documents"
local files = require "spec.support.files"

local version = tonumber(_VERSION:match "%d+%.%d+")
local load = loadstring or load -- luacheck: ignore 113

-- How many examples a document has at least; the others have none.
local LEAST = {
  ["README.md"] = 3, ["docs/COUNTING.md"] = 8, ["docs/FILTERS.md"] = 7, ["docs/GUIDE.md"] = 1, ["docs/KEEPING.md"] = 6,
  ["docs/OPENRESTY.md"] = 1, ["docs/QUANTILES.md"] = 4, ["docs/SIMILARITY.md"] = 3,
}

-- The blocks of a document: code, the line it starts on and the Lua it needs.
local function blocks(text)
  local found, at = {}, 1
  while true do
    local from, to, needs, code = text:find("```lua ?([^\n]*)\n(.-)```", at)
    if not from then return found end
    local _, line = text:sub(1, from):gsub("\n", "")
    if needs ~= "nginx" then
      found[#found + 1] = { code = code, line = line + 2, needs = tonumber(needs:match "[%d.]+") or 5.1 }
    end
    at = to + 1
  end
end

for _, path in ipairs(documents) do
  describe(path, function()
    local all = blocks(files.read(path))

    it("has its examples", function()
      local least = LEAST[path]
      assert.is_true(least and #all >= least or not least and #all == 0)
    end)

    for _, block in ipairs(all) do
      if block.needs <= version then
        it("runs the example on line " .. block.line, function()
          assert(load(block.code, "=" .. path))()
        end)
      end
    end
  end)
end
