-- How numbers and what clients sent are written down.

local text = {}

-- A URL in printable ASCII, other bytes and "%" as %XX: two that differ look different, and none has bytes that are no
-- UTF-8 or that turn the direction of writing.
function text.url(bytes)
  return (bytes:gsub("[^\33-\36\38-\126]", function(byte)
    return ("%%%02X"):format(byte:byte())
  end))
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

-- For an element or a quoted attribute of HTML.
function text.html(words)
  return (words:gsub("[&<>\"']", ENTITIES))
end

-- 1234567.8 as 1,234,568.
function text.integer(number)
  local digits = ("%.0f"):format(number)
  return (digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

-- With a space that no line is broken at.
local function quantity(number, unit)
  return number .. "\194\160" .. unit
end

function text.percent(share)
  if share > 0 and share < 0.001 then
    return quantity("< 0.1", "%")
  end
  return quantity(("%.1f"):format(100 * share), "%")
end

function text.seconds(seconds)
  if seconds < 0.001 then
    return quantity("< 1", "ms")
  elseif seconds < 1 then
    return quantity(("%.0f"):format(1000 * seconds), "ms")
  elseif seconds < 120 then
    return quantity(("%.3g"):format(seconds), "s")
  elseif seconds < 7200 then
    return quantity(("%.3g"):format(seconds / 60), "min")
  end
  return quantity(("%.3g"):format(seconds / 3600), "h")
end

return text
