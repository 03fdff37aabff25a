--- Which of many documents are like this one? An index of minhash signatures by locality-sensitive hashing (Indyk and
-- Motwani 1998; Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4).
--
-- A signature is cut into `bands` of `rows` minima. Documents that agree in all minima of a band become candidates for
-- each other: a pair of the Jaccard similarity J does with the probability 1 - (1 - J^rows)^bands. There are as many
-- rows as leave it at 0.95 or more at the threshold, since more rows make for fewer candidates. Then candidates are
-- compared, and those whose estimated similarity reaches the threshold are found.
-- @classmod lsh

local core = require "probsketch.core"
local container = require "probsketch.container"
local check = require "probsketch.options"

local c = core.lsh
local floor = math.floor
local format = string.format
local sort = table.sort

local RECALL = 0.95

-- ---- bands and rows

-- x^n, n being 1 or more, by products alone: machines agree in them.
local function power(x, n)
  local result = 1
  while n > 0 do
    if n % 2 == 1 then
      result = result * x
    end
    x, n = x * x, floor(n / 2)
  end
  return result
end

local function recall_of(threshold, bands, rows)
  return 1 - power(1 - power(threshold, rows), bands)
end

-- The bands, and rows, of the most rows that find a pair at the threshold surely enough; nil when no number of them
-- does. Bands find no more than the sum of what each finds, which falls with the rows.
local function bands_for(threshold, hashes)
  local bands, rows
  for n = 1, hashes do
    if hashes / n * power(threshold, n) < RECALL then
      break
    elseif recall_of(threshold, floor(hashes / n), n) >= RECALL then
      bands, rows = floor(hashes / n), n
    end
  end
  return bands, rows
end

-- ---- buckets
--
-- `buckets` has what documents have each band key: the id itself where there is one, as nearly everywhere, else
-- { size =, room =, ids = { [id] = true } }, `room` being the most there have been. A document that has a signature is
-- in the buckets of all its keys. What else is there leads nowhere, since the memory ran out or documents came and went
-- in between, and is passed over by query().
--
-- Making tables and strings may run a finaliser, and on some Luas so does each call of a function: that may insert and
-- remove documents. So between looking and changing nothing is called.

-- What is in the bucket of a key, and its type.
local function look(buckets, key)
  local bucket, kind
  repeat
    bucket = buckets[key]
    kind = type(bucket)
  until buckets[key] == bucket
  return bucket, kind
end

local function put(buckets, key, id)
  local bucket, kind = look(buckets, key)
  if kind == "nil" then
    buckets[key] = id
    return
  elseif kind == "string" then
    if bucket == id then
      return
    end
    local several = { size = 1, room = 1, ids = { [bucket] = true } }
    if buckets[key] ~= bucket then
      return put(buckets, key, id)
    end
    bucket, buckets[key] = several, several
  end
  if not bucket.ids[id] then
    bucket.ids[id] = true
    bucket.size = bucket.size + 1
    if bucket.size > bucket.room then
      bucket.room = bucket.size
    end
  end
end

-- A table keeps its room when it gets emptier, and next() goes over all of it: so now and then a smaller one is made.
local function shrink(bucket)
  bucket.ids = c.copy(bucket.ids, bucket.size)
  bucket.room = bucket.size
end

-- Takes a document out of a bucket that it is not in by its signature, which is nil for one that is removed; nothing if
-- it has another one by now.
local function take_out(self, key, id, signature)
  local buckets = self.buckets
  local bucket, kind = look(buckets, key)
  if self.signatures[id] ~= signature then
    return
  elseif bucket == id then
    buckets[key] = nil
  elseif kind == "table" and bucket.ids[id] then
    bucket.ids[id] = nil
    bucket.size = bucket.size - 1
    if bucket.size <= 1 then
      local last = next(bucket.ids)
      if bucket.size <= 1 and buckets[key] == bucket then
        buckets[key] = last
      end
    elseif bucket.size * 4 <= bucket.room then
      shrink(bucket)
    end
  end
end

local function keys_of(self, signature)
  return c.band_keys(signature, self.bands, self.rows)
end

-- The signature of a document, if it is there, and its keys: of what is there after they have been made.
local function document(self, id)
  local signature, keys
  repeat
    signature = self.signatures[id]
    keys = signature and keys_of(self, signature)
  until self.signatures[id] == signature
  return signature, keys
end

-- Whatever may run out of memory comes before what is there is taken away.
local function insert(self, id, signature)
  local keys = keys_of(self, signature)
  local changes, before, keys_before
  repeat
    changes = self.changes
    before, keys_before = document(self, id)
    for i = 1, #keys do
      put(self.buckets, keys[i], id)
    end
  until self.changes == changes
  self.changes = changes + 1
  self.signatures[id] = signature
  if not before then
    self.size = self.size + 1
    return
  end
  for i = 1, #keys do
    if keys_before[i] ~= keys[i] then
      take_out(self, keys_before[i], id, signature)
    end
  end
end

-- ---- methods

local lsh = {}

-- Raises in the caller of a method.
local function check_id(value)
  local id, problem = c.key(value)
  if not id then
    error(problem:gsub("^key", "id"), 3)
  end
  return id
end

local function check_minhash(self, minhash)
  local signature, problem = c.signature(self.model, minhash)
  if not signature then
    error(problem, 3)
  end
  return signature
end

-- Has a signature no minimum at all?
local function is_empty(signature)
  return c.agreement(signature, signature) == nil
end

--- An empty minhash that fits the index: of its number of functions and its seed.
-- @function lsh:minhash
-- @return the minhash
function lsh:minhash()
  return self.model:copy()
end

--- Puts a document into the index, as it now is: the minhash may change, or be cleared for the next, afterwards. A
-- document of the same id is replaced. O(hashes).
-- @function lsh:insert
-- @tparam string|integer id taken as keys are: `1` and `"1"` are one
-- @param minhash of as many functions, and the same seed, as the index has
-- @return the index
-- @raise for a minhash that does not fit, naming the field, or is empty; nothing has changed then
function lsh:insert(id, minhash)
  local key, signature = check_id(id), check_minhash(self, minhash)
  if is_empty(signature) then
    error("the minhash is empty", 2)
  end
  insert(self, key, signature)
  return self
end

--- Takes a document out of the index. O(hashes).
-- @function lsh:remove
-- @tparam string|integer id
-- @treturn bool was it there?
function lsh:remove(id)
  local key = check_id(id)
  local signature, keys = document(self, key)
  if not signature then
    return false
  end
  self.changes = self.changes + 1
  self.signatures[key] = nil
  self.size = self.size - 1
  for i = 1, #keys do
    take_out(self, keys[i], key, nil)
  end
  return true
end

local function by_similarity(one, other)
  if one.jaccard ~= other.jaccard then
    return one.jaccard > other.jaccard
  end
  return c.before(one.id, other.id)
end

--- The documents that are like this one: those whose estimated similarity is at least the threshold, and, if it is in
-- the index itself, this one too. A pair whose true similarity is the threshold is looked at with the probability
-- `info().recall`; its estimate, with a standard error of sqrt(J (1 - J) / hashes), is then as likely above as below.
-- An empty minhash is like none. O(hashes) and O(hashes) more for each candidate.
-- @function lsh:query
-- @param minhash of as many functions, and the same seed, as the index has
-- @treturn {table,...} `{ id =, jaccard = }` each, the most similar first, equal ones in the order of their ids' bytes.
-- Ids that were integers are strings here
-- @raise for a minhash that does not fit, naming the field
function lsh:query(minhash)
  local signature = check_minhash(self, minhash)
  local found, candidates = {}, {}
  if is_empty(signature) then
    return found
  end
  local buckets, keys = self.buckets, keys_of(self, signature)
  for i = 1, #keys do
    local bucket = buckets[keys[i]]
    if type(bucket) == "string" then
      candidates[bucket] = true
    elseif bucket then
      for id in pairs(c.copy(bucket.ids, bucket.size)) do
        candidates[id] = true
      end
    end
  end
  for id in pairs(candidates) do
    local other = self.signatures[id]
    local jaccard = other and c.agreement(signature, other)
    if jaccard and jaccard >= self.threshold then
      found[#found + 1] = { id = id, jaccard = jaccard }
    end
  end
  sort(found, by_similarity)
  return found
end

--- How many documents are there? Also `#index`, with Lua 5.2 and later. O(1).
-- @function lsh:count
-- @treturn integer
function lsh:count()
  return self.size
end

--- What the index is and how it stands.
-- @function lsh:info
-- @treturn table `kind`: "lsh"; `threshold`, `hashes`, `seed` (unless it is secret), `bands`, `rows`; `recall`, the
-- probability with which a pair at the threshold becomes candidates; `count`
function lsh:info()
  local model = self.model:info()
  return {
    kind = "lsh",
    threshold = self.threshold,
    hashes = model.hashes,
    seed = model.seed,
    bands = self.bands,
    rows = self.rows,
    recall = recall_of(self.threshold, self.bands, self.rows),
    count = self.size,
  }
end

--- What it is.
-- @function lsh:kind
-- @treturn string "lsh"
function lsh.kind()
  return "lsh"
end

--- The index as a string, for the option `bytes`. Indexes of the same documents give the same string. O(size) and a
-- sort of the ids.
-- @function lsh:encode
-- @treturn string
function lsh:encode()
  local ids, parts = {}, { { "", self.model:encode() } }
  local signatures = c.copy(self.signatures, self.size)
  for id in pairs(signatures) do
    ids[#ids + 1] = id
  end
  sort(ids, c.before)
  for i = 1, #ids do
    parts[i + 1] = { ids[i], signatures[ids[i]] }
  end
  return container.write("lsh", { { "threshold", self.threshold } }, parts)
end

local metatable = {
  __index = lsh,
  __len = lsh.count,
  __name = "probsketch.lsh",
  __tostring = function(self)
    return format("lsh (count %.0f, threshold %.14g)", self.size, self.threshold)
  end,
}

-- ---- construction

local function is_threshold(value)
  return type(value) == "number" and value > 0 and value <= 1
end

local function anything()
  return true
end

-- What options may be; those of the signatures are checked by minhash.
local OPTIONS = {
  threshold = { "a number above 0, to 1", is_threshold },
  hashes = { "an integer", anything },
  seed = { "a seed", anything },
  bytes = { "a string that encode() made", function(value)
    return type(value) == "string"
  end },
}

-- An empty minhash by the options; or nil and what is wrong with them.
local function model_for(options)
  local problem = check.problem(options, OPTIONS)
  if problem then
    return nil, problem
  end
  local made, model = pcall(core.minhash, { hashes = options.hashes, seed = options.seed })
  if not made then
    return nil, (tostring(model):gsub("^bad argument #1 to '[^']*' %((.*)%)$", "%1"))
  end
  return model
end

-- An empty index, or nil and why there is none for the threshold.
local function new(threshold, model)
  local hashes = model:info().hashes
  local bands, rows = bands_for(threshold, hashes)
  if not bands then
    return nil, format("threshold %.14g is too low for %d hashes (the least is %.3g)", threshold, hashes,
      1 - (1 - RECALL) ^ (1 / hashes))
  end
  return setmetatable({
    threshold = threshold, model = model, bands = bands, rows = rows,
    size = 0,        -- documents
    changes = 0,     -- how often one came or went
    signatures = {}, -- by id
    buckets = {},    -- by band key
  }, metatable)
end

-- ---- from bytes

local function corrupt(text, ...)
  return nil, format("corrupt lsh (%s)", format(text, ...)), "corrupt"
end

-- The empty minhash in the first part; or nil, message, code.
local function read_model(parts)
  local part = parts[1]
  if not part or part[1] ~= "" then
    return corrupt("no minhash in front of the documents")
  end
  local model, message, code = core.decode(part[2], "minhash")
  if not model then
    return nil, message, code
  elseif model:count() ~= 0 or model:encode() ~= part[2] then
    return corrupt("the minhash is not an empty one as encode() writes it")
  end
  return model
end

local function read_documents(self, parts)
  local size = self.model:info().hashes * 8
  for i = 2, #parts do
    local id, signature = parts[i][1], parts[i][2]
    if i > 2 and not c.before(parts[i - 1][1], id) then
      return corrupt("the id of document %d does not come after that before it", i - 1)
    elseif #signature ~= size then
      return corrupt("document %d has %d bytes of minima, not %d", i - 1, #signature, size)
    elseif is_empty(signature) then
      return corrupt("document %d is empty", i - 1)
    end
    insert(self, id, signature)
  end
  return self
end

-- How an index differs from what the options ask for; nil: in nothing.
local function difference_to(self, options)
  local threshold, seed = options.threshold, options.seed
  if threshold and threshold ~= self.threshold then
    return format("threshold mismatch (expected %.14g, got %.14g)", threshold, self.threshold)
  end
  local asked = core.minhash {
    hashes = options.hashes or self.model:info().hashes,
    seed = seed ~= "random" and seed or self.model,
  }
  return select(2, asked:compatible(self.model))
end

local function load(options)
  local fields, parts, code = container.read(options.bytes, "lsh", { "threshold" })
  if not fields then
    return nil, parts, code
  elseif not is_threshold(fields.threshold) then
    return nil, format("threshold out of range (got %.14g)", fields.threshold), "range"
  end
  local model, message
  model, message, code = read_model(parts)
  if not model then
    return nil, message, code
  end
  local self
  self, message = new(fields.threshold, model)
  if not self then
    return nil, message, "range"
  end
  message = difference_to(self, options)
  if message then
    return nil, message, "mismatch"
  end
  return read_documents(self, parts)
end

--- An empty index, or one that was saved.
-- @function probsketch.lsh
-- @within Constructor
-- @tparam[opt] table options
-- @tparam[opt=0.8] number options.threshold the least Jaccard similarity to be found, a number above 0, to 1
-- @tparam[opt=128] integer options.hashes functions of the signatures, an integer from 1 to 65536. The lower the
-- threshold the more it takes: 128 for 0.024 and more
-- @param[opt=0] options.seed of the signatures, as for @{minhash}
-- @tparam[opt] string options.bytes what `encode` returned. The other options may then be left out; those that are
-- given have to be those of the saved index, but for a seed of "random", which is any
-- @return the index; or nil, message, code for bytes that are wrong, and code `mismatch` for an index of other options
-- @raise when an option is unknown or out of range, and for a threshold that is too low for so many hashes
return function(options)
  options = options == nil and {} or options
  local model, problem = model_for(options)
  if not model then
    error(problem, 2)
  end
  if options.bytes then
    return load(options)
  end
  local self
  self, problem = new(options.threshold or 0.8, model)
  if not self then
    error(problem, 2)
  end
  return self
end
