-- There is one list of C sources, in the Makefile. The rockspec has to repeat it; neither may miss a
-- file of the tree or name one that is gone.

local function lines(command)
  local pipe = assert(io.popen(command))
  local found = {}
  for line in pipe:lines() do
    found[#found + 1] = line
  end
  pipe:close()
  table.sort(found)
  return found
end

local function rockspec(path)
  local env = {}
  local chunk
  if setfenv then
    chunk = setfenv(assert(loadfile(path)), env)
  else
    chunk = assert(loadfile(path, "t", env))
  end
  chunk()
  return env
end

describe("the list of sources", function()
  local modules = rockspec("rockspec/probsketch-scm-1.rockspec").build.modules
  local tree = lines("find csrc -name '*.c'")

  it("in the Makefile is what lies in csrc", function()
    assert.is_true(#tree > 0)
    assert.same(tree, lines("MAKEFLAGS= make -s sources"))
  end)

  it("in the rockspec is what lies in csrc", function()
    local sources = {}
    for i, source in ipairs(modules["probsketch.core"].sources) do
      sources[i] = source
    end
    table.sort(sources)
    assert.same(tree, sources)
  end)

  it("in the rockspec has every Lua module", function()
    local named = {}
    for name, source in pairs(modules) do
      if name ~= "probsketch.core" then
        local as_file = "lua/" .. name:gsub("%.", "/")
        assert.is_true(source == as_file .. ".lua" or source == as_file .. "/init.lua", source)
        named[#named + 1] = source
      end
    end
    table.sort(named)
    assert.same(lines("find lua -name '*.lua'"), named)
  end)
end)
