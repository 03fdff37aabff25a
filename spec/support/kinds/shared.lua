-- What the entries of several kinds are made of.

local shared = {}

function shared.numbered_key(i)
  return ("key:%d"):format(i)
end

function shared.append(array, ...)
  for i = 1, select("#", ...) do
    array[#array + 1] = (select(i, ...))
  end
  return array
end

-- Answers of a method that takes a key, for keys that were added and keys that were not.
function shared.about_keys(sketch, method)
  local answers = {}
  for i = 1, 300 do
    answers[i] = sketch[method](sketch, shared.numbered_key(i))
  end
  return answers
end

-- The answers of a filter: of has, of has_many and of count.
function shared.about_filter(filter)
  local answers, asked = shared.about_keys(filter, "has"), {}
  for i = 1, 300 do
    asked[i] = shared.numbered_key(i)
  end
  for _, found in ipairs(filter:has_many(asked)) do
    shared.append(answers, found)
  end
  return shared.append(answers, filter:count())
end

return shared
