-- The annotated dumps of docs/FORMAT.md are what encode() returns.

local ps = require "probsketch"
local kinds = require "spec.support.kinds"
local load_chunk = loadstring or load -- luacheck: ignore 113

local function hex(bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

-- The bytes of what a line of Lua leaves in `s`, and its kind.
local function build(code)
  local s = assert(load_chunk("local ps = ...; local s; " .. code .. "; return s"))(ps)
  return s:encode(), s:kind()
end

describe("docs/FORMAT.md", function()
  local file = assert(io.open("docs/FORMAT.md", "rb"))
  local text = file:read "*a"
  file:close()
  local dumped = {}

  for code, rows in text:gmatch "```\n([^\n]*s = ps%.[^\n]+)\n(.-)```" do
    local bytes = {}
    for offset, row in rows:gmatch "(%x+)  ([^\n]+)\n" do
      local zeros = row:match "^(%d+) zeros"
      local pairs_of_digits = zeros and ("00"):rep(tonumber(zeros)) or row:sub(1, 23):gsub("%s", "")
      assert.equal(tonumber(offset, 16), #table.concat(bytes) / 2)
      bytes[#bytes + 1] = pairs_of_digits
    end
    local built, kind = build(code)
    dumped[kind] = true

    it("shows the bytes of " .. code, function()
      assert.equal(table.concat(bytes), hex(built))
    end)
  end

  it("shows a sketch of every kind, an lsh and a window", function()
    for _, kind in ipairs(kinds) do
      assert.is_true(dumped[kind.name], kind.name)
    end
    assert.is_true(dumped.lsh)
    assert.is_true(dumped.window)
  end)
end)
