-- The reference has every function of the module, every option of every constructor and every method of every kind,
-- and nothing that there is not.

local ps = require "probsketch"
local files = require "spec.support.files"
local kinds = require "spec.support.kinds"
local options = require "spec.support.options"
local process = require "spec.support.process"

local source = process.shell "cat csrc/binding/*.c lua/probsketch/*.lua"

-- The function that an alias stands for is the one that has to be there.
local aliases = {}
for _, kind in ipairs(kinds) do
  aliases[kind.alias or ""] = true
end

-- Classes that are no kinds, and what their objects have of their own; windows have more from their sketches.
local classes = {
  decoder = { "feed", "finish", "close" },
  lsh = { "minhash", "insert", "remove", "query", "count", "info", "kind", "encode" },
  window = { "add", "merged", "clear", "encode", "bytes", "info", "kind" },
}

-- What users can call, as the reference names it: "plan", "probsketch.bloom", "sketch:merge", "bloom:add".
local function callable()
  local names, shared = {}, {}
  for name, value in pairs(ps) do
    if type(value) == "function" and not aliases[name] then
      names[(kinds[name] or classes[name]) and "probsketch." .. name or name] = true
    end
  end
  for i, kind in ipairs(kinds) do
    for name in pairs(debug.getmetatable(kind.new()).__index) do
      shared[name] = (shared[name] or 0) + 1
      names[kind.name .. ":" .. name] = i
    end
  end
  for class, methods in pairs(classes) do
    for _, name in ipairs(methods) do
      names[class .. ":" .. name] = true
    end
  end
  -- What every sketch can do is described once.
  for name, of in pairs(shared) do
    if of == #kinds then
      names["sketch:" .. name] = true
      for _, kind in ipairs(kinds) do
        names[kind.name .. ":" .. name] = nil
      end
    end
  end
  return names
end

local function sorted(names)
  local list = {}
  for name in pairs(names) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

describe("the comments of the reference", function()
  it("describe what there is to call, each once", function()
    local described = {}
    for name in source:gmatch "@function ([%w_.:]+)" do
      assert.is_nil(described[name], name)
      described[name] = true
    end
    assert.same(sorted(callable()), sorted(described))
  end)

  kinds.describe(describe, function(kind)
    -- Of the constructor's comment: what is said of each option, and its default.
    local comment = source:match("@function probsketch%." .. kind.name .. "\n(.-)%*/") or ""
    local said, defaults = {}, {}
    for tag in (comment .. "@"):gmatch "param(.-)%f[@]" do
      local modifier, name, text = tag:gsub("%s+", " "):match "^(.-) [^@]-options%.([%w_]+) (.*)$"
      if name then
        said[name] = text
        defaults[name] = modifier:match "%[opt=(.*)%]"
      end
    end

    it("have every option with its range", function()
      local ranges = options.ranges(kind)
      assert.same(sorted(ranges), sorted(said))
      for name, range in pairs(ranges) do
        assert.is_truthy(said[name]:find(range, 1, true), ("%s: %q is not in %q"):format(name, range, said[name]))
      end
    end)

    it("have the defaults", function()
      for name, default in pairs(defaults) do
        assert.same(options.plan(kind, name, nil), options.plan(kind, name, options.value(default)), name)
      end
    end)
  end)
end)

describe("make doc", function()
  local _, missing = process.shell "command -v ldoc"
  local with_ldoc = missing == 0 and it or pending

  with_ldoc("makes a reference of all that", function()
    local directory = files.directory()
    finally(function()
      files.remove(directory)
    end)
    local said, status = process.shell("MAKEFLAGS= make -s doc B=" .. files.quoted(directory))
    assert.equal("", said)
    assert.equal(0, status)
    local pages = process.shell("cat " .. files.quoted(directory) .. "/doc/*/*.html")
    local made = {}
    for name in pages:gmatch '<a name = "(%l[%w_.:]*)"' do
      made[name] = true
    end
    assert.same(sorted(callable()), sorted(made))
  end)
end)
