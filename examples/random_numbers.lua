-- Random numbers that are the same with every Lua and on every machine, given the same seed.

local floor = math.floor

local random_numbers = {}

-- L'Ecuyer's combined generator of 1988. Every product stays below 2^53, so that floats and integers agree.
function random_numbers.new(seed)
  local first = seed % 2147483562 + 1
  local second = floor(seed / 2147483562) % 2147483398 + 1

  local function draw()
    first = first * 40014 % 2147483563
    second = second * 40692 % 2147483399
    return (first - second) % 2147483562
  end

  -- An integer from 1 to n, each as likely: what is left over behind the last whole n is drawn again.
  local function random(n)
    local number
    repeat
      number = draw()
    until number < 2147483562 - 2147483562 % n
    return number % n + 1
  end

  for _ = 1, 20 do
    random(1)
  end
  return random
end

-- Draws ranks from 1 to size, rank r with a weight of 1 / (r + shift). Cumulative integer weights and a binary search:
-- slower than a power function, but that one may differ in its last bit from one machine to the next.
function random_numbers.zipf(random, size, shift)
  local cumulative, total = {}, 0
  for rank = 1, size do
    total = total + floor(134217728 / (rank + shift))
    cumulative[rank] = total
  end
  return function()
    local weight = random(total)
    local low, high = 1, size
    while low < high do
      local middle = floor((low + high) / 2)
      if cumulative[middle] < weight then
        low = middle + 1
      else
        high = middle
      end
    end
    return low
  end
end

return random_numbers
