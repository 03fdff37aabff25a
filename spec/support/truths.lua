-- What a top_k is held to: the exact counts of a stream, by key.

local assert = require "luassert"

local truths = {}

-- Fails unless the list is what it must be: of at most k keys, each once, the largest first and equal counts by key.
function truths.hold_to_form(top_k)
  local list, seen = top_k:list(), {}
  assert.is_true(#list <= top_k:info().k)
  for i, item in ipairs(list) do
    assert.is_nil(seen[item.key], item.key)
    seen[item.key] = true
    local before = list[i - 1]
    assert.is_true(not before or before.count > item.count or before.count == item.count and before.key < item.key)
  end
  return list
end

-- Fails unless the truth, by key as a string, is within the bounds of every listed key, and not above any estimate.
function truths.hold_to_truth(top_k, truth)
  for _, item in ipairs(truths.hold_to_form(top_k)) do
    local n = truth[item.key] or 0
    assert.is_true(item.count - item.error <= n and n <= item.count and item.error >= 0,
      ("%s: %d counted, %d +- %d listed"):format(item.key, n, item.count, item.error))
    assert.equal(item.count, top_k:frequency(item.key))
  end
  for key, n in pairs(truth) do
    assert.is_true(top_k:frequency(key) >= n, key)
  end
end

function truths.by_string(counts)
  local truth = {}
  for key, n in pairs(counts) do
    truth[("%d"):format(key)] = n
  end
  return truth
end

-- The keys of a truth, the most frequent first.
function truths.ranked(truth)
  local keys = {}
  for key in pairs(truth) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return truth[a] > truth[b] or truth[a] == truth[b] and a < b
  end)
  return keys
end

-- What share of the k most frequent keys is listed; of those that tie at rank k any will do.
function truths.recall(top_k, truth, k)
  local least, hits = truth[truths.ranked(truth)[k]], 0
  for i, item in ipairs(top_k:list()) do
    hits = hits + (i <= k and (truth[item.key] or 0) >= least and 1 or 0)
  end
  return hits / k
end

return truths
