-- Every kind of sketch as the shared specs see it, as an array and by name. A new kind adds one entry, in a file of
-- its name in spec/support/kinds/, and is held to all that every sketch promises. An entry:
--
--   name       of the constructor, of ps.kind() and of info().kind
--   alias      another name of the constructor
--   options    an ordinary sketch
--   item(i)    the i-th thing to add; different for different i up to 10,000
--   key        true when the things added are keys, strings or integers
--   seedless   true when it takes no seed
--   tosses     true when its seed is that of coins: sketches of any seeds merge, and few items do not show it
--   immutable  true when it is built at once and neither changes nor merges; then there is
--   built(s, items) a sketch with the parameters of another and these items
--   forms      sketches whose bytes differ in shape, small enough to try every bit of them:
--     name       for people
--     options    of the constructor
--     items      how many things are added to fill it; a form may be in its shape only then
--     ordered    true when the bytes depend on the order of adding
--     recounts   true when a merge changes how it counts, so that a union need not count as the whole does
--     room       how many items surely go in; nil: any number
--     twice      what merging with itself does: "nothing", "doubles" the answers, or "compacts": doubles the count
--   answers(s) what the kind's asking methods say, as an array of numbers, booleans and strings
--   doubled(a) such answers of what is there twice; each of them times 2 unless it is given
--   overlaps   true when what is in several parts of a union counts several times
--   grows      true when it has no largest size but its limit
--   merges     "in order" when the bytes of a union depend on the order of its parts, "as a set" when on their grouping
--              too, so that only its answers are those of the whole
--   united(s)  such answers as do not depend on the grouping of a union; nil: all do not
--   meet(a, b) what is asked of two compatible sketches, likewise; or nil
--   unlike     pairs of options that differ in one parameter, by the name of what must be named when they are merged
--   ranges     of options: the words for it in a refusal, values out of it, the extremes in it, and other options that
--              must be `with` it; `huge` extremes are in range and over the default limit
--   boolean    options that are true or false
--   against    combinations of options that contradict each other, and what of the refusal names them
--   huge       options that are in range and need more than the default limit
--   bytes(o)   of the payload by the published formula, for huge options and for those of `megabytes`
--   megabytes  options of a sketch with a payload of 1 to 2 MB
--   planned    options that only plan() takes, of one as large as `megabytes`; or nil
--   page       options of a sketch with a payload of 4 MiB, the least that lives in pages of its own; or nil
--   pages      options of one with a payload of 64 MiB; or nil
--   fields     what the header says of the kind, in order: name, bytes, and hostile values as hexadecimal digits; one
--              of 8 bytes that `sizes` the payload is tried with more
--   corrupt    payloads that no calls lead to: name, form, and the change to the payload

local ps = require "probsketch"

local kinds = {}

for i, name in ipairs {
  "bloom", "blocked_bloom", "scalable_bloom", "counting_bloom", "cuckoo", "fuse", "count_min", "top_k",
  "hyperloglog", "tdigest", "kll", "ddsketch", "minhash",
} do
  kinds[i] = require("spec.support.kinds." .. name)
end

for _, kind in ipairs(kinds) do
  kinds[kind.name] = kind

  -- Makes a sketch of the options, the kind's ordinary ones unless others are given.
  function kind.new(options)
    return ps[kind.name](options or kind.options)
  end

  -- Adds the items of an array to a sketch, one by one; returns it. Of an immutable kind: returns one of the same
  -- parameters that has just these.
  function kind.fill_with(sketch, items)
    if kind.immutable then
      return kind.built(sketch, items)
    end
    for _, item in ipairs(items) do
      sketch:add(item)
    end
    return sketch
  end

  -- The same of the items from..to.
  function kind.fill(sketch, from, to)
    if kind.immutable then
      return kind.built(sketch, kind.items(from, to))
    end
    for i = from, to do
      sketch:add(kind.item(i))
    end
    return sketch
  end

  -- The same items as an array.
  function kind.items(from, to)
    local items = {}
    for i = from, to do
      items[#items + 1] = kind.item(i)
    end
    return items
  end

  for _, form in ipairs(kind.forms) do
    form.kind = kind

    function form.empty()
      return kind.new(form.options)
    end

    function form.filled()
      return kind.fill(form.empty(), 1, form.items)
    end
  end
end

-- The options with others on top, in a new table.
function kinds.options(...)
  local all = {}
  for i = 1, select("#", ...) do
    for name, value in pairs((select(i, ...)) or {}) do
      all[name] = value
    end
  end
  return all
end

-- Describes every kind by means of busted's describe(): f(kind) makes its specs.
function kinds.describe(describe, f)
  for _, kind in ipairs(kinds) do
    describe(kind.name, function()
      f(kind)
    end)
  end
end

-- Describes every form of every kind likewise: f(form, kind) makes its specs.
function kinds.describe_forms(describe, f)
  for _, kind in ipairs(kinds) do
    for _, form in ipairs(kind.forms) do
      describe(kind.name .. " " .. form.name, function()
        f(form, kind)
      end)
    end
  end
end

-- it(), for what is only said of sketches that things are added to.
function kinds.changing(kind, it)
  return kind.immutable and function() end or it
end

-- The same for what is only said of sketches that take a seed.
function kinds.seeded(kind, it)
  return kind.seedless and function() end or it
end

-- The same for what is only said of sketches that hash, so that those of unlike seeds do not go together.
function kinds.hashing(kind, it)
  return (kind.seedless or kind.tosses) and function() end or it
end

-- A kind other than the given one.
function kinds.other(kind)
  return kinds[1] ~= kind and kinds[1] or kinds[2]
end

return kinds
