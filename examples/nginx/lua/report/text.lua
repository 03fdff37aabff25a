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

function text.percent(share)
  if share == 0 then
    return "0 %"
  end
  return share < 0.001 and "< 0.1 %" or ("%.1f %%"):format(100 * share)
end

function text.seconds(seconds)
  if seconds >= 7200 then
    return ("%.3g h"):format(seconds / 3600)
  elseif seconds >= 120 then
    return ("%.3g min"):format(seconds / 60)
  elseif seconds >= 10 then
    return ("%.0f s"):format(seconds)
  elseif seconds >= 1 then
    return ("%.1f s"):format(seconds)
  end
  return seconds < 0.001 and "< 1 ms" or ("%.0f ms"):format(1000 * seconds)
end

return text
