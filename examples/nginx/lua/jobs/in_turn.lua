-- Two shared sketches that take turns, so that together they forget: they know the last half period for certain, and
-- nothing of more than one and a half ago. No worker waits for another, and none has to be the first or the only one.
--
--   period     |     1     |     2     |     3     |
--   add to     |AAAAAAAAAAA|BBBBBBBBBBB|AAAAAAAAAAA|
--   ask, too   |BBBBB      |AAAAA      |BBBBB      |
--   clear      |      BBB  |      AAA  |      BBB  |
--
-- In the third quarter of a period every worker clears the sketch that the next period is added to. Nobody adds to it
-- from half a period before to a quarter after, and nobody asks it any more: it does not matter how many workers clear
-- it, how often and in which order. What can go wrong:
--
-- * A worker that is a moment behind still asks what another clears. It finds less than it should.
-- * Where no worker ran in that quarter (the machine slept), the sketch comes back with what it had two periods before.
-- * Where somebody sets the clock, what is added to may be cleared.

local workers = require "jobs.workers"

local floor = math.floor

local in_turn = {}
in_turn.__index = in_turn

-- `make` makes an empty sketch; `period` is in seconds. Call it in init_by_lua.
function in_turn.new(name, period, make)
  local pair = { period = period }
  for turn = 0, 1 do
    pair[turn] = workers.share(name .. " " .. turn, make())
  end
  return setmetatable(pair, in_turn)
end

-- The sketch to add to, and in the first half of a period the one to ask besides. Nil if they could not be shared.
function in_turn:now()
  local now = ngx.time()
  local turn = floor(now / self.period) % 2
  return self[turn], now % self.period < self.period / 2 and self[1 - turn] or nil
end

-- For a timer, called four times a period or more often.
function in_turn:tend()
  local now = ngx.time()
  local turn, part = floor(now / self.period), now % self.period / self.period
  local other = self[(turn + 1) % 2]
  if other and part >= 0.5 and part < 0.75 and self.cleared ~= turn then
    other:clear()
    self.cleared = turn
  end
end

return in_turn
