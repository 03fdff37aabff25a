-- Every block of Lua in the documents runs as it stands there, but for those marked for a later Lua than this one.

local version = tonumber(_VERSION:match "%d+%.%d+")
local load = loadstring or load -- luacheck: ignore 113

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- The blocks of a document: code, the line it starts on and the Lua it needs.
local function blocks(text)
  local found, at = {}, 1
  while true do
    local from, to, needs, code = text:find("```lua ?([^\n]*)\n(.-)```", at)
    if not from then return found end
    local _, line = text:sub(1, from):gsub("\n", "")
    found[#found + 1] = { code = code, line = line + 2, needs = tonumber(needs:match "[%d.]+") or 5.1 }
    at = to + 1
  end
end

for path, least in pairs { ["README.md"] = 3, ["docs/GUIDE.md"] = 8 } do
  describe(path, function()
    local all = blocks(read(path))

    it("has its examples", function()
      assert.is_true(#all >= least)
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
