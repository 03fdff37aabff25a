local shared = require "spec.support.kinds.shared"

return {
  name = "minhash",
  options = { hashes = 128 },
  key = true,
  item = shared.numbered_key,
  forms = {
    { name = "with minima of a part of a block", options = { hashes = 5 }, items = 300, twice = "nothing" },
    { name = "with minima of a block and a half", options = { hashes = 48 }, items = 300, twice = "nothing" },
    { name = "with one minimum", options = { hashes = 1 }, items = 10, twice = "nothing" },
  },
  answers = function(minhash)
    return shared.append({ minhash:jaccard(minhash) }, minhash:count(), minhash:info().estimate)
  end,
  meet = function(a, b)
    return { a:jaccard(b) }
  end,
  unlike = {
    hashes = { { hashes = 7 }, { hashes = 8 } },
    seed = { { hashes = 7, seed = 1 }, { hashes = 7, seed = 2 } },
  },
  ranges = {
    hashes = { says = "an integer from 1 to 65536", bad = { 0, -8, 2.5, 65537, 2 ^ 31, 1e11, 1e300 },
      good = { 1, 2, 3, 127, 128, 65536 } },
  },
  boolean = {},
  against = {},
  huge = {},
  bytes = function(options)
    return 8 * options.hashes
  end,
  megabytes = { hashes = 65536 },
  fields = {
    { "hashes", 4, { "00000000", "00010001", "80000000", "ffffffff" } },
  },
  corrupt = {}, -- any minima are those of some tokens
}
