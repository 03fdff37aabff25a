-- Reads a page of HTML that is well-formed XML, too: every element closed, every attribute quoted, nothing that is
-- taken for markup without being meant so.

local markup = {}

local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"', ["#39"] = "'" }

local function unescaped(text)
  assert(not text:find "[<>\"']" and not text:gsub("&#?%w+;", ""):find "&", "not escaped: " .. text)
  return (text:gsub("&(#?%w+);", function(name)
    return assert(ENTITIES[name], "not an entity: " .. name)
  end))
end

-- The elements of a page in order, each { name =, attributes =, text = what is in it and in no element within }.
function markup.parse(page)
  local elements, open, at = {}, {}, select(2, page:find "^<!DOCTYPE html>%s*") + 1
  while at <= #page do
    local closing, name, attributes, alone, stop = page:match('^<(/?)(%l%w*)([^<>]-)(/?)>()', at)
    if not name then
      local text
      text, stop = page:match("^([^<]+)()", at)
      assert(text, "neither text nor an element: " .. page:sub(at, at + 60))
      assert(open[1] or not text:find "%S", "text outside of all elements")
      if open[1] then
        local inner = open[#open]
        inner.text = inner.text .. (inner.name == "style" and text or unescaped(text))
      end
    elseif closing == "/" then
      assert(attributes == "" and #open > 0 and table.remove(open).name == name, "closes what is not open: " .. name)
    else
      local element = { name = name, attributes = {}, text = "" }
      local rest = attributes:gsub('%s+([%w-]+)="([^"]*)"', function(attribute, value)
        assert(not element.attributes[attribute], "twice: " .. attribute)
        element.attributes[attribute] = unescaped(value)
        return ""
      end)
      assert(not rest:find "%S", "not an attribute: " .. rest)
      elements[#elements + 1] = element
      if alone == "" then
        open[#open + 1] = element
      end
    end
    at = stop
  end
  assert(#open == 0, "not closed")
  return elements
end

return markup
