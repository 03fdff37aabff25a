-- Sketches of consecutive slices of time: which one to add to now, and the union of those that a window covers. What
-- windows promise about time is kept here; it is described in window.lua.
--
-- The fields of a window:
--   span, slices, clock
--   empty       a sketch like those of the slices, never added to
--   held        the sketches, by the number of their slice; none is older than newest - slices
--   newest      the largest number that was added at; nil: nothing is held
--   current     held[newest]
--   loaded      the largest number whose sketch came from bytes: it does not know the factory's max_bytes
--   added_at    the reading of the clock at the last adding
-- and, of no effect on what it answers:
--   past        the union of all that is held but `current`; nil: not made yet
--   view, view_from   the union of held[view_from] to held[newest], up to date while `fresh`: who adds makes it false
--   past_room, view_room   sketches that these unions are made in

local floor, huge, max, min, type = math.floor, math.huge, math.max, math.min, type

local NEVER = {} -- no reading of any clock
local FURTHEST = 2 ^ 52

local slices = {}

-- The number of the slice that a reading of the clock falls into; or nil and what is wrong with the reading, and a
-- code where it is wrong for slices of this length only.
function slices.number(self, reading)
  if type(reading) ~= "number" then
    return nil, "a window's clock gives a finite number, got " .. (reading == nil and "nil" or "a " .. type(reading))
  elseif reading ~= reading or reading == huge or reading == -huge then
    return nil, "a window's clock gives a finite number, got " .. tostring(reading)
  end
  -- Exact for whole seconds, and it never falls while the reading rises.
  local number = floor((reading + 0.0) * self.slices / self.span)
  if number > FURTHEST or number < -FURTHEST then
    return nil, ("a window's clock is out of range (%.14g in slices of %.14g seconds)"):format(reading,
      self.span / self.slices), "range"
  end
  return number
end

-- Makes a window without anything in it.
function slices.clear(self)
  self.held, self.newest, self.current, self.loaded = {}, nil, nil, -huge
  self.added_at, self.fresh, self.past, self.view = NEVER, false, nil, nil
end

-- Gives it sketches that came from bytes, at least one of slice `newest`.
function slices.load(self, held, newest)
  slices.clear(self)
  self.held, self.newest, self.current, self.loaded = held, newest, held[newest], newest
end

-- The sketches of slices from..to, the oldest first.
local function held_between(self, from, to)
  local sketches = {}
  for number = from, to do
    sketches[#sketches + 1] = self.held[number]
  end
  return sketches
end

-- The union of sketches, made in the room of that name if there are several.
local function unite(self, sketches, room)
  if #sketches < 2 then
    return sketches[1] or self.empty
  end
  -- The room is nobody's meanwhile: merging may run a finaliser, which may ask this window.
  local union = self[room] or self.empty:copy()
  self[room] = nil
  union:clear()
  for _, sketch in ipairs(sketches) do
    union:merge(sketch)
  end
  self[room] = union
  return union
end

-- The union of what is held besides the sketch to add to. O(slices * size) in the first call of a slice, then O(1).
function slices.past(self)
  while not self.past do
    local newest = self.newest
    local sketches = held_between(self, newest - self.slices, newest - 1)
    if not self.past and self.newest == newest then
      local past = unite(self, sketches, "past_room")
      if not self.past and self.newest == newest then
        self.past = past
      end
    end
  end
  return self.past
end

-- What lies in the future of slice `number` becomes part of it: returns the sketch of that.
local function step_back(self, number)
  local newest = self.newest
  local first = max(number, newest - self.slices)
  local future = held_between(self, first, newest)
  local joined = future[1]
  if #future > 1 then
    joined = self.empty:copy()
    for _, sketch in ipairs(future) do
      joined:merge(sketch)
    end
  end
  if self.newest == newest then
    for later = first, newest do
      self.held[later] = nil
    end
  end
  return joined
end

-- Drops what leaves the window when slice `number` begins, and returns one of those sketches, cleared, if there is one.
local function step_forward(self, number)
  local spare
  for old = self.newest - self.slices, min(number - self.slices - 1, self.newest) do
    if old > self.loaded then
      spare = self.held[old] or spare
    end
    self.held[old] = nil
  end
  return spare and spare:clear()
end

-- The sketch to add to at a reading of the clock, which is self.current if that reading is self.added_at. Raises at
-- `level` what is wrong with the clock.
function slices.current(self, reading, level)
  local number, problem = slices.number(self, reading)
  if not number then
    error(problem, level + 1)
  end
  local newest = self.newest
  while number ~= newest do
    local sketch
    if newest then
      sketch = (number < newest and step_back or step_forward)(self, number)
    end
    sketch = sketch or self.empty:copy()
    if self.newest == newest then
      self.held[number], self.current, self.newest, self.past, self.fresh = sketch, sketch, number, nil, false
    end
    newest = self.newest
  end
  self.added_at = reading
  return self.current
end

-- The sketches whose union covers slices `from` to `number`; `newest` is self.newest.
local function covering(self, from, number, newest)
  if number > newest then
    return held_between(self, from, newest)
  end
  -- Also when the clock has been set back: all that is held is in, until something is added.
  local past, now = slices.past(self), self.current
  return rawequal(past, self.empty) and { now } or { past, now }
end

-- The sketch to ask now, and the number of the first slice that it covers. The sketch is for the time of a call.
function slices.view(self, level)
  local number, problem = slices.number(self, self.clock())
  if not number then
    error(problem, level + 1)
  end
  local from = number - self.slices
  if self.newest and self.fresh and self.view and self.view_from == from then
    return self.view, from
  end
  local view
  repeat -- until no finaliser has added or asked meanwhile
    local newest = self.newest
    if not newest then
      return self.empty, from
    end
    self.view, self.fresh = nil, true
    view = unite(self, covering(self, from, number, newest), "view_room")
  until self.fresh and not self.view
  self.view, self.view_from = view, from
  return view, from
end

return slices
