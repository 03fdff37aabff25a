-- Seeds: numbers, secret ones, and those of other sketches.

local ps = require "probsketch"
local expect = require "spec.support.expect"
local kinds = require "spec.support.kinds"

local TWO_53 = 2 ^ 53

kinds.describe(describe, function(kind)
  if kind.seedless then
    it("takes no seed and says of none", function()
      expect.raise_saying("unknown option 'seed'", kind.new, kinds.options(kind.options, { seed = 0 }))
      assert.is_nil(kind.new():info().seed)
    end)
    return
  end
  local form = kind.forms[1]

  local function seeded(seed)
    return kind.new(kinds.options(form.options, { seed = seed }))
  end

  local function filled(seed)
    return kind.fill(seeded(seed), 1, 20)
  end

  it("has the seed 0 unless it is given another", function()
    assert.equal(form.empty(), seeded(0))
    assert.equal(0, form.empty():info().seed)
  end)

  it("takes any seed from 0 to 2^53 to the letter", function()
    local encoded = {}
    for _, seed in ipairs { 0, 1, 2 ^ 31, 2 ^ 32 - 1, 2 ^ 32, TWO_53 - 1, TWO_53 } do
      local sketch = filled(seed)
      assert.equal(seed, sketch:info().seed)
      assert.equal(seed, ps.decode(sketch:encode()):info().seed)
      local bytes = sketch:encode():sub(-40) -- behind the header
      assert.is_true(kind.tosses or not encoded[bytes], "two seeds have the same effect")
      encoded[bytes] = true
    end
  end)

  it("refuses all other seeds, and names the option and its range", function()
    local bad = { -1, 0.5, TWO_53 + 2, 2 ^ 63, -2 ^ 63, 1 / 0, -1 / 0, 0 / 0, "0", "1", "0x10", "Random", "", true, {},
      print, io.stdout }
    if math.type then
      bad[#bad + 1] = math.maxinteger
      bad[#bad + 1] = math.mininteger
      bad[#bad + 1] = load "return 2^53 | 0"() + 1 -- as a float it would be rounded into range
    end
    for _, seed in ipairs(bad) do
      local message = expect.raise_saying("'seed'", seeded, seed)
      assert.is_truthy(message:find("from 0 to 2^53", 1, true), message)
    end
  end)

  it("draws a random seed anew for each sketch, and shows it to nobody", function()
    local a, b = filled "random", filled "random"
    assert.is_not_equal(a, b)
    assert.is_nil(a:info().seed)
    local fits, reason = a:compatible(b)
    if kind.tosses then
      assert.is_true(fits)
      return
    end
    assert.is_not_equal(a:encode():sub(-40), b:encode():sub(-40))
    assert.is_false(fits)
    assert.is_truthy(kind.immutable or reason:find "seed" and not reason:find "%d%d", reason)
    expect.raise_saying(reason, a.merge, a, b)
  end)

  it("shows a random seed neither when it is refused nor as text", function()
    local a, b = filled "random", filled(1)
    for _, pair in ipairs { { a, b }, { b, a } } do
      local fits, reason = pair[1]:compatible(pair[2])
      assert.is_true(fits or not reason:find "%d%d", reason)
    end
    assert.is_falsy(tostring(a):find "seed")
  end)

  it("keeps a random seed in its bytes, in copies and in unions", function()
    local a = filled "random"
    local union = kind.immutable and a or a:union(a:copy():clear())
    for _, other in ipairs { assert(ps.decode(a:encode())), a:copy(), union } do
      assert.equal(a, other)
      assert.equal(a:compatible(a), a:compatible(other))
      assert.is_nil(other:info().seed)
      assert.same(kind.answers(a), kind.answers(other))
    end
  end)

  it("takes the seed of another sketch, of any kind, and keeps it secret if it is", function()
    local secret, other = seeded "random", kinds.other(kind)
    assert.equal(kind.fill(seeded(secret), 1, 20), kind.fill(secret, 1, 20))
    local from_other = seeded(other.new(kinds.options(other.options, { seed = secret })))
    assert.is_true(kind.immutable and from_other == secret or from_other:compatible(secret))
    assert.is_nil(from_other:info().seed)
    assert.equal(77, seeded(other.new(kinds.options(other.options, { seed = 77 }))):info().seed)
  end)

  it("does not take the seed of a closed sketch", function()
    local closed = seeded(77)
    closed:close()
    expect.raise(seeded, closed)
  end)

  it("gives keys the hash that ps.hash shows for its seed", function()
    local secret = seeded "random"
    assert.equal(ps.hash("key", 77), ps.hash("key", seeded(77)))
    assert.equal(ps.hash("key", secret), ps.hash("key", secret:copy()))
    assert.is_not_equal(ps.hash("key", secret), ps.hash("key"))
  end)
end)
