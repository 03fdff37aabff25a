-- What the constructors themselves say of their options, for documents to be held against.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"
local load_chunk = loadstring or load -- luacheck: ignore 113

local options = {}

-- A value that no option takes.
local STRANGER = io.stdout

-- All names in the option lists of the C sources, of whatever kind, and those that every kind has.
local function all_names()
  local pipe = assert(io.popen "grep -rhoE '\"[a-z_]+\", PS_OPTION_' csrc")
  local names = { seed = true, max_bytes = true }
  for line in pipe:lines() do
    names[line:match '"(.-)"'] = true
  end
  pipe:close()
  return names
end

-- The ranges of a kind's options in the words of its refusals, by the option's name.
function options.ranges(kind)
  local ranges = {}
  for name in pairs(all_names()) do
    local message = expect.raise(ps[kind.name], { [name] = STRANGER })
    if not message:find "unknown option" then
      ranges[name] = assert(message:match("option '" .. name .. "': expected (.*), got "), message)
    end
  end
  return ranges
end

-- The value of a default as documents write it, which is an expression of Lua.
function options.value(text)
  return assert(load_chunk("local ps = ...; return " .. text))(ps)
end

-- What would be built of the kind's ordinary options without the named one, or with this value of it.
function options.plan(kind, name, value)
  local given = kinds.options(kind.options)
  given[name] = value
  return ps.plan(kind.name, given)
end

return options
