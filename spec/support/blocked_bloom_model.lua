-- What a blocked Bloom filter has to be: its rate and its size, from their definitions.

local model = {}

-- The false-positive rate with `load` keys a line on the mean: each line has a Poisson number j of them, and then each
-- of its eight lanes the right bit with the probability 1 - (1 - 1/64)^j.
function model.rate(load)
  local sum, log_probability = 0, -load
  for j = 0, math.ceil(load + 12 * math.sqrt(load) + 60) do
    sum = sum + math.exp(log_probability) * (1 - (63 / 64) ^ j) ^ 8
    log_probability = log_probability + math.log(load / (j + 1))
  end
  return sum
end

local STEP = 1 / 65536

-- The largest load, in whole steps, that keeps the rate.
local function load_for(rate)
  local kept, broken = 1, 160 / STEP
  while broken - kept > 1 do
    local middle = math.floor((kept + broken) / 2)
    if model.rate(middle * STEP) <= rate then
      kept = middle
    else
      broken = middle
    end
  end
  return kept * STEP
end

local loads = {}

-- How many lines hold so many keys at that rate.
function model.lines(capacity, rate)
  loads[rate] = loads[rate] or load_for(rate)
  return math.ceil(capacity / loads[rate])
end

-- The most keys that so many lines hold at that rate.
function model.capacity(lines, rate)
  local _ = model.lines(1, rate)
  return math.floor(lines * loads[rate])
end

-- The standard error of the count of n keys: linear counting in eight lanes (Whang et al. 1990), whose numbers of unset
-- bits vary together with the number of keys that a line has.
function model.count_error(lines, n)
  local load = n / (64 * lines)
  return math.sqrt(64 * lines * ((math.exp(load) - 1 - load) / 8 + load * load / 128))
end

return model
