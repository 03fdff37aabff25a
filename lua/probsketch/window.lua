--- What the last so many seconds saw: sketches of consecutive slices of time, asked as one.
--
-- Time is cut into slices of `span / slices` seconds, counted from 0 of the clock, and a window has a sketch for each
-- slice that something came in. Asked at a time t, it stands for what came in the slice of t and in the `slices` slices
-- before it: all of the last `span` seconds, and nothing that is older than them by a slice or more.
--
-- The time of a thing is what the clock said when it was added. When something is added after the clock was set back,
-- all that lies in the future then becomes part of the current slice. So nothing leaves early or late by the clock,
-- whichever way it jumps. Asking changes nothing.
--
-- A window has the methods of its kind. Those that add go to the current slice, those that ask go to the union of all
-- slices, which is kept until something is added or a slice ends. `union`, `compatible`, `jaccard`, `intersection`
-- and `inner_product` take windows too. These raise: `merge`, `copy`, `save`, `chunks`, `close`, `remove`, `halve`,
-- `decay`.
-- @classmod window

local core = require "probsketch.core"
local container = require "probsketch.container"
local check = require "probsketch.options"
local slices = require "probsketch.slices"

local floor, huge, max, min = math.floor, math.huge, math.max, math.min
local current, view = slices.current, slices.view

local TWO_53 = 2 ^ 53

-- ---- methods of every window

local methods = {}

--- A sketch of what the window stands for; it is independent, and later additions do not change it. O(size).
-- @function window:merged
-- @return a sketch of the window's kind
function methods:merged()
  return view(self, 2):copy()
end

--- Forgets everything: the window is as it was constructed.
-- @function window:clear
-- @return the window
function methods:clear()
  slices.clear(self)
  return self
end

--- The window as a string, for the option `bytes`. Windows that hold the same at the same time give the same string.
-- O(size) of all slices.
-- @function window:encode
-- @treturn string
function methods:encode()
  local number, problem = slices.number(self, self.clock())
  if not number then
    error(problem, 2)
  end
  local newest = max(number, self.newest or number)
  local parts = { { "0", (self.held[newest] or self.empty):encode() } }
  for age = 1, self.slices do
    local sketch = self.held[newest - age]
    if sketch and sketch ~= self.empty then
      parts[#parts + 1] = { ("%d"):format(age), sketch:encode() }
    end
  end
  return container.write("window", {
    { "span", self.span }, { "slices", self.slices }, { "newest", newest },
  }, parts)
end

-- The number of sketches that there are and the memory of all of them.
local function size(self)
  local n, bytes = 0, 0
  local function add(sketch)
    n, bytes = n + 1, bytes + sketch:bytes()
  end
  for _, sketch in pairs(self.held) do
    add(sketch)
  end
  for _, sketch in pairs { self.empty, self.past_room, self.view_room } do
    add(sketch)
  end
  return n, bytes
end

--- The memory of all its sketches: one for each slice that something came in, at most `slices + 1`; an empty one; and
-- up to two more with the unions of some slices, which asking makes, and `add` where what it returns is of the window.
-- @function window:bytes
-- @treturn integer bytes
function methods:bytes()
  local _, bytes = size(self)
  return bytes
end

--- What the window is and how it stands.
-- @function window:info
-- @treturn table `kind`: "window"; `sketch`, the kind of its sketches; `span`, `slices`; `since`, a time of the clock:
-- all that came from then on is in; `sketches`, how many there are, `bytes`, the memory of them; and `merged`, the
-- `info()` of their union
function methods:info()
  local union, from = view(self, 2)
  local sketches, bytes = size(self)
  return {
    kind = "window",
    sketch = union:kind(),
    span = self.span,
    slices = self.slices,
    since = from * self.span / self.slices,
    sketches = sketches,
    bytes = bytes,
    merged = union:info(),
  }
end

--- What it is.
-- @function window:kind
-- @treturn string "window"
function methods.kind()
  return "window"
end

-- ---- methods of its kind

local BY_AGE = "what is in it leaves by its age"
local REFUSED = {
  merge = "its slices have their own times; use union, or merge what merged() returns",
  copy = "merged() gives a sketch, and encode() the bytes for another window",
  save = "save what merged() returns, or write what encode() returns",
  chunks = "use encode(), or chunks() of what merged() returns",
  close = "clear() drops its sketches",
  remove = BY_AGE,
  halve = BY_AGE,
  decay = BY_AGE,
}

local classes = {} -- metatables, by the kind of the sketches

-- The union that a window stands for; anything else as it is.
local function sketch_of(other)
  local metatable = type(other) == "table" and getmetatable(other)
  if type(metatable) == "table" and classes[metatable.sketch] == metatable then
    return (view(other, 4))
  end
  return other
end

local function sketches_of(n, first, ...)
  if n > 0 then
    return sketch_of(first), sketches_of(n - 1, ...)
  end
end

local function all(...)
  return ...
end

-- Calls are written out, one by one, and are no tail calls, so that errors name the method and number its arguments:
-- LuaJIT does not know what a tail call called.
local asking = {
  count = function(self) return (view(self, 2):count()) end,
  has = function(self, key) return (view(self, 2):has(key)) end,
  has_many = function(self, keys) return (view(self, 2):has_many(keys)) end,
  frequency = function(self, key) return (view(self, 2):frequency(key)) end,
  at_least = function(self, key, t) return (view(self, 2):at_least(key, t)) end,
  error_bound = function(self) return (view(self, 2):error_bound()) end,
  list = function(self) return (view(self, 2):list()) end,
  each = function(self) return (view(self, 2):each()) end,
  heavy_hitters = function(self, phi) return (view(self, 2):heavy_hitters(phi)) end,
  estimate = function(self) return (view(self, 2):estimate()) end,
  standard_error = function(self) return (view(self, 2):standard_error()) end,
  bounds = function(self, z) return all(view(self, 2):bounds(z)) end,
  fold = function(self, p) return (view(self, 2):fold(p)) end,
  quantile = function(self, q) return (view(self, 2):quantile(q)) end,
  quantiles = function(self, array) return (view(self, 2):quantiles(array)) end,
  rank = function(self, x) return (view(self, 2):rank(x)) end,
  min = function(self) return (view(self, 2):min()) end,
  max = function(self) return (view(self, 2):max()) end,
  sum = function(self) return (view(self, 2):sum()) end,
  mean = function(self) return (view(self, 2):mean()) end,
  trimmed_mean = function(self, low, high) return (view(self, 2):trimmed_mean(low, high)) end,
  centroids = function(self) return (view(self, 2):centroids()) end,
  rank_error = function(self) return (view(self, 2):rank_error()) end,
  union = function(self, ...) return (view(self, 2):union(sketches_of(select("#", ...), ...))) end,
  compatible = function(self, other) return all(view(self, 2):compatible(sketch_of(other))) end,
  jaccard = function(self, other) return all(view(self, 2):jaccard(sketch_of(other))) end,
  intersection = function(self, other) return all(view(self, 2):intersection(sketch_of(other))) end,
  inner_product = function(self, other) return (view(self, 2):inner_product(sketch_of(other))) end,
}

-- The sketch to add to. Written out below in what is called for each key: a call costs as much as all else in it.
local function slice_of(self)
  local reading = self.clock()
  return reading == self.added_at and self.current or current(self, reading, 3)
end

-- What was added is not in the view, also not in one that a finaliser asked for just before.
local function added(self, ...)
  self.fresh = false
  return ...
end

local adding_several = {
  add_many = function(self, array) return added(self, slice_of(self):add_many(array)) end,
  add_shingles = function(self, text, n, unit) return added(self, (slice_of(self):add_shingles(text, n, unit))) end,
}

local function add(self, key)
  local reading = self.clock()
  local slice = reading == self.added_at and self.current or current(self, reading, 2)
  return added(self, slice:add(key))
end

-- Where add() returns the sketch.
local function add_value(self, x, weight)
  local reading = self.clock()
  local slice = reading == self.added_at and self.current or current(self, reading, 2)
  slice:add(x, weight)
  self.fresh = false
  return self
end

-- Where add() promises that a key is new: in the slices before the current one it must be too.
local function add_promising(self, key, n)
  local reading = self.clock()
  if reading ~= self.added_at then
    current(self, reading, 2)
  end
  local past = self.past or slices.past(self)
  local new, message, code = self.current:add(key, n)
  self.fresh = false
  if new == nil then
    return nil, message, code
  end
  return new and not past:has(key)
end

-- Where add() gives the key's estimate: those of all slices together are one too.
local function add_estimating(self, key, n)
  local reading = self.clock()
  if reading ~= self.added_at then
    current(self, reading, 2)
  end
  local past = self.past or slices.past(self)
  local estimate, message, code = self.current:add(key, n)
  self.fresh = false
  if estimate == nil then
    return nil, message, code
  end
  return min(estimate + past:frequency(key), TWO_53)
end

--- Adds to the current slice, as the method of the window's kind does, and with the same arguments. What it returns is
-- true of the whole window for the Bloom filters (`true`: the key was certainly not there), cuckoo, the quantile
-- sketches (which return the window), and for count_min and top_k: an estimate that is never below the truth, and for
-- count_min at most what `frequency` says. For hyperloglog and minhash, and for `add_many` and `add_shingles` of all
-- kinds, it is true of the current slice. It takes one reading of the clock more than the sketch's own; for Bloom
-- filters, count_min and top_k also one question, and in the first call of a slice O(size) of all slices.
-- @function window:add
-- @param ... what the kind takes
-- @return what the kind returns
-- @raise as the kind does, and when the clock gives no finite number; nothing is changed then
local adding = {
  bloom = add_promising,
  blocked_bloom = add_promising,
  scalable_bloom = add_promising,
  counting_bloom = add_promising,
  count_min = add_estimating,
  top_k = add_estimating,
}

-- The class of windows over sketches like this one.
local function class_of(sketch)
  local kind = sketch:kind()
  if classes[kind] then
    return classes[kind]
  end
  local class = { add = adding[kind] or sketch.quantile and add_value or add }
  for name, method in pairs(methods) do
    class[name] = method
  end
  for _, group in ipairs { asking, adding_several } do
    for name, method in pairs(group) do
      class[name] = sketch[name] and method
    end
  end
  for name, reason in pairs(REFUSED) do
    class[name] = sketch[name] and function()
      error(("a window has no %s: %s"):format(name, reason), 2)
    end
  end
  classes[kind] = {
    sketch = kind,
    __index = class,
    __len = class.count,
    __name = "probsketch.window",
    __tostring = function(self)
      return ("window (%s, count %.0f, %.14g seconds in %d slices)"):format(kind, class.count(self), self.span,
        self.slices)
    end,
  }
  return classes[kind]
end

-- ---- construction

-- What options may be: a test, and the words for it.
local OPTIONS = {
  sketch = { "a function that makes sketches", function(value)
    return type(value) == "function"
  end },
  span = { "a finite number of seconds above 0", function(value)
    return type(value) == "number" and value > 0 and value < huge
  end },
  slices = { "an integer from 1 to 100000", function(value)
    return type(value) == "number" and value >= 1 and value <= 100000 and value == floor(value)
  end },
  clock = { "a function that returns seconds", function(value)
    return type(value) == "function"
  end },
  bytes = { "a string that encode() made", function(value)
    return type(value) == "string"
  end },
  max_bytes = { "an integer from 1 to 2^53", function(value)
    return type(value) == "number" and value >= 1 and value <= TWO_53 and value == floor(value)
  end },
}

-- What is wrong with the options; nil: nothing.
local function problem_of(options)
  local problem = check.problem(options, OPTIONS)
  if problem then
    return problem
  end
  for _, name in ipairs { "sketch", "span", "slices" } do
    if options[name] == nil and options.bytes == nil then
      return ("option '%s' must be given: %s"):format(name, OPTIONS[name][1])
    end
  end
end

local function cleared(sketch)
  return sketch:copy():clear()
end

-- An empty sketch like those that the factory makes; or nil and what is wrong with them.
local function sketch_like(factory)
  local first, second = factory(), factory()
  for _, sketch in ipairs { first or false, second or false } do
    if not core.kind(sketch) then
      return nil, "expected a function that makes sketches, got one that returns " .. check.described(sketch or nil)
    end
  end
  local fits, difference = first:compatible(second)
  if not fits then
    return nil, "expected sketches that merge, got " .. difference
  elseif rawequal(first, second) then
    return nil, "expected a new sketch each time, got the same"
  elseif first ~= cleared(first) or second ~= cleared(second) then
    return nil, "expected empty sketches, got one with something in it"
  end
  return first:copy()
end

-- ---- from bytes

local FIELDS = { "span", "slices", "newest" }

local function corrupt(text, ...)
  return nil, ("corrupt window (%s)"):format(text:format(...)), "corrupt"
end

-- The sketches of a container by the numbers of their slices; or nil, message, code. They fit `like`, if it is given.
-- Each may have more memory than its bytes take, such as that of bins between two values that are far apart.
local function read_sketches(parts, fields, like, max_bytes)
  local held, last, memory, empty = {}, -1, 0, nil
  for i, part in ipairs(parts) do
    local name, bytes = part[1], part[2]
    local age = name:find "^[0-9]+$" and tonumber(name) or -1
    if age <= last or age > fields.slices or ("%d"):format(age) ~= name or (i == 1) ~= (age == 0) then
      return corrupt("part %d names no slice", i)
    end
    local sketch, message, code = core.decode(bytes)
    if not sketch then
      return nil, ("slice %s: %s"):format(name, message), code
    end
    memory = memory + sketch:bytes()
    if memory > max_bytes then
      return nil, ("needs %.0f bytes for the first %d of %d slices, limit %.0f (max_bytes)"):format(memory, i, #parts,
        max_bytes), "limit"
    end
    like = like or sketch
    local fits, difference = like:compatible(sketch)
    if not fits then
      return nil, ("slice %s: %s"):format(name, difference), "mismatch"
    end
    empty = empty or cleared(sketch)
    if i > 1 and sketch == empty then
      return corrupt("slice %s is empty", name)
    end
    held[fields.newest - age], last = sketch, age
  end
  if last < 0 then
    return corrupt("no slice")
  end
  return held
end

-- Fills the window, which has options, from bytes: true; or nil, message, code.
local function load(self, bytes, max_bytes)
  local fields, parts, code = container.read(bytes, "window", FIELDS)
  if not fields then
    return nil, parts, code
  end
  local newest = fields.newest
  if not OPTIONS.span[2](fields.span) or not OPTIONS.slices[2](fields.slices)
    or newest ~= floor(newest) or newest < -2 ^ 52 or newest > 2 ^ 52 then
    return nil, "numbers out of range", "range"
  end
  for _, name in ipairs { "span", "slices" } do
    if self[name] and self[name] ~= fields[name] then
      return nil, ("%s mismatch (expected %.14g, got %.14g)"):format(name, self[name], fields[name]), "mismatch"
    end
    self[name] = fields[name]
  end
  local held, message
  held, message, code = read_sketches(parts, fields, self.empty, max_bytes)
  if not held then
    return nil, message, code
  end
  self.empty = self.empty or cleared(held[newest])
  slices.load(self, held, newest)
  return true
end

--- A window without anything in it, or one that was saved.
-- @function probsketch.window
-- @within Constructor
-- @tparam table options
-- @tparam function options.sketch makes an empty sketch: of any kind that merges, and the same kind and parameters each
-- time. It is called twice, now; to hash with a random seed let it make them from one, `seed = first`. What the whole
-- window stands for must fit such a sketch
-- @tparam number options.span of time in seconds, above 0
-- @tparam integer options.slices what the span is cut into, an integer from 1 to 100000: forgetting goes by slices
-- @tparam[opt=os.time] function options.clock returns the time in seconds, from any beginning; fractions are welcome
-- (`ngx.now`)
-- @tparam[opt] string options.bytes what `encode` returned: the window goes on where it was, older by what the clock
-- says. `sketch`, `span` and `slices` may then be left out
-- @tparam[opt=probsketch.max_bytes()] integer options.max_bytes the most memory that the sketches in `bytes` may have
-- together; where strangers can write them it keeps a few bytes from taking much
-- @return the window; or nil, message, code for bytes that are wrong, and code `mismatch` for bytes of a window of
-- another span, slices, or sketches that do not fit those of `sketch`, `limit` for more than `max_bytes`
-- @raise when an option is missing, unknown or out of range, or `sketch` makes what does not fit together
return function(options)
  local problem = problem_of(options)
  if problem then
    error(problem, 2)
  end
  local self = { span = options.span, slices = options.slices, clock = options.clock or os.time }
  if options.sketch then
    self.empty, problem = sketch_like(options.sketch)
    if not self.empty then
      error("option 'sketch': " .. problem, 2)
    end
  end
  if options.bytes then
    local loaded, message, code = load(self, options.bytes, options.max_bytes or core.max_bytes())
    if not loaded then
      return nil, message, code
    end
  else
    slices.clear(self)
  end
  local now, code
  now, problem, code = slices.number(self, self.clock())
  if code and options.bytes and not (options.span and options.slices) then
    return nil, problem, code -- what the bytes say the slices are is no fault of the caller's
  elseif not now then
    error(problem, 2)
  end
  return setmetatable(self, class_of(self.empty))
end
