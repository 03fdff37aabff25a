/* The state of HyperLogLog against models of its registers and of its sparse entries. */
#include <string.h>

#include "cardinality/hyperloglog_sparse.h"
#include "hyperloglogs.h"

/* A hash of a random rank, the high ones not rarer than the low: they hide faults for long. */
static uint64_t any_rank(uint64_t *state)
{
  uint64_t hash = test_random(state), index = hash & ~(UINT64_MAX >> 26);
  unsigned zeros = (unsigned)(test_random(state) % 39);
  return index | (hash & UINT64_MAX >> 26) >> zeros;
}

/* ---- registers ---- */

/* By the definition: which bit behind the first `skip` is the first to be set? */
static unsigned rank_of(uint64_t hash, unsigned skip)
{
  for (unsigned i = skip; i < 64; i++) {
    if ((hash >> (63 - i) & 1) != 0) {
      return i - skip + 1;
    }
  }
  return 65 - skip;
}

static void check_ranks(uint64_t hash)
{
  uint32_t entry = ps_sparse_entry(hash);
  CHECK_WITH(entry == ((uint32_t)(hash >> 38) << 6 | rank_of(hash, 26)), "%jx", (uintmax_t)hash);
  uint64_t twin = ps_sparse_hash(entry);
  for
    EACH_PRECISION(p)
    {
      CHECK_WITH(ps_register_rank(p, hash) == rank_of(hash, p), "%jx, p %u", (uintmax_t)hash, p);
      CHECK_WITH(ps_register_rank(p, twin) == rank_of(hash, p), "%jx, p %u", (uintmax_t)hash, p);
      CHECK_WITH(ps_register_index(p, hash) == hash >> (64 - p), "%jx, p %u", (uintmax_t)hash, p);
      CHECK_WITH(ps_register_index(p, twin) == hash >> (64 - p), "%jx, p %u", (uintmax_t)hash, p);
    }
}

static void ranks(void)
{
  check_ranks(0);
  for (unsigned j = 0; j < 64; j++) {
    check_ranks(UINT64_C(1) << j);
    check_ranks(UINT64_MAX >> j);
    check_ranks(UINT64_MAX << j);
  }
  promise("index and rank of every hash 2^j are those of the definition, from the hash and from "
          "its sparse entry");
}

struct registers {
  unsigned precision;
  unsigned char *packed, *plain; /* as they are, and one to a byte */
  struct ps_tally tally;
};

static struct registers no_registers(unsigned precision)
{
  size_t size = (size_t)ps_registers_size(precision), m = (size_t)1 << precision;
  struct registers new = {precision, test_allocate(size), test_allocate(m),
                          ps_tally_of_none(precision)};
  memset(new.packed, 0, size);
  memset(new.plain, 0, m);
  return new;
}

static void discard_registers(struct registers *registers)
{
  free(registers->packed);
  free(registers->plain);
}

static void raise(struct registers *registers, uint64_t hash)
{
  unsigned p = registers->precision, rank = rank_of(hash, p);
  unsigned char *plain = &registers->plain[hash >> (64 - p)];
  bool changed = ps_registers_add(registers->packed, p, &registers->tally, hash);
  CHECK_WITH(changed == (rank > *plain), "%jx, p %u", (uintmax_t)hash, p);
  *plain = rank > *plain ? (unsigned char)rank : *plain;
}

/* Are the bits where FORMAT.md says, and the tally the sum of its parts? */
static void check_registers(const struct registers *registers)
{
  unsigned p = registers->precision;
  struct ps_tally tally = {0, 0, 0};
  for (uint32_t i = 0; i < UINT32_C(1) << p; i++) {
    unsigned packed = 0, plain = registers->plain[i];
    for (unsigned bit = 0; bit < 6; bit++) {
      uint32_t at = i * 6 + bit;
      packed |= ((unsigned)registers->packed[at / 8] >> at % 8 & 1) << bit;
    }
    CHECK_WITH(packed == plain && ps_register_get(registers->packed, i) == plain, "%u", i);
    tally.open += plain <= 64 - p ? UINT64_C(1) << (64 - p - plain) : 0;
    tally.zeros += plain == 0;
    tally.full += plain == 65 - p;
  }
  struct ps_tally counted = ps_registers_tally(registers->packed, p);
  CHECK_WITH(memcmp(&tally, &registers->tally, sizeof tally) == 0, "p %u", p);
  CHECK_WITH(memcmp(&tally, &counted, sizeof tally) == 0, "p %u", p);
  CHECK_WITH(ps_registers_valid(registers->packed, p), "p %u", p);
}

static void registers(void)
{
  uint64_t state = 1;
  for
    EACH_PRECISION(p)
    {
      struct registers a = no_registers(p), b = no_registers(p);
      for (uint64_t n = UINT64_C(1) << (p - 2); n <= UINT64_C(4) << p; n *= 4) {
        for (uint64_t i = 0; i < n; i++) {
          raise(&a, test_random(&state));
          raise(&b, any_rank(&state));
        }
        raise(&b, (uint64_t)(n - 1) << (64 - p)); /* full */
        check_registers(&a);
        check_registers(&b);
      }
      for (size_t i = 0; i < (size_t)1 << p; i++) {
        a.plain[i] = a.plain[i] < b.plain[i] ? b.plain[i] : a.plain[i];
      }
      a.tally = ps_registers_merge(a.packed, b.packed, p);
      check_registers(&a);
      check_registers(&b);
      discard_registers(&a);
      discard_registers(&b);
    }
  promise("packed registers are those of an array of bytes, kept one by one and merged, within "
          "2^p * 6 / 8 bytes");
}

/* ---- sparse entries ---- */

enum shape { UNIFORM, HIGH_END, LOW_END, CLUSTERS, DESCENDING, ASCENDING, SHAPES };

static uint64_t shaped(enum shape shape, uint64_t i, uint64_t *state)
{
  uint64_t hash = any_rank(state), rest = hash & UINT64_MAX >> 26, r = test_random(state);
  uint64_t index = shape == HIGH_END     ? (1 << 26) - 1 - r % 9000
                   : shape == LOW_END    ? r % 9000
                   : shape == CLUSTERS   ? (r % 7 << 23) + (r >> 32) % 900
                   : shape == DESCENDING ? (1 << 26) - 1 - 3 * i
                   : shape == ASCENDING  ? 3 * i
                                         : hash >> 38;
  return index << 38 | rest;
}

static int ascending(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* The set of entries, sorted, of each index that of the highest rank; returns how many. */
static size_t normalize(uint32_t *entries, size_t n)
{
  size_t kept = 0;
  qsort(entries, n, sizeof *entries, ascending);
  for (size_t i = 0; i < n; i++) {
    kept += kept == 0 || entries[kept - 1] >> 6 != entries[i] >> 6;
    entries[kept - 1] = entries[i];
  }
  return kept;
}

/* Every slot from an entry's home to its place is taken, and one at least is free. */
static void check_slots(struct ps_slots slots, uint32_t entries)
{
  uint32_t *taken = test_allocate((slots.n + 1) * sizeof *taken); /* of the slots before */
  taken[0] = 0;
  for (uint32_t i = 0; i < slots.n; i++) {
    taken[i + 1] = taken[i] + (ps_sparse_get(slots, i) != 0);
  }
  for (uint32_t i = 0; i < slots.n; i++) {
    uint32_t entry = ps_sparse_get(slots, i);
    uint32_t home = (uint32_t)((uint64_t)(entry >> 6) * slots.n >> 26);
    uint32_t from = home < i ? home : i, to = home < i ? i : home;
    CHECK_WITH(entry == 0 || taken[to + 1] - taken[from] == to + 1 - from, "slots %u to %u of %u",
               from, to, slots.n);
  }
  CHECK(taken[slots.n] == entries && entries < slots.n);
  free(taken);
}

static void check_entries(struct specimen *specimen, const uint32_t *model, size_t n)
{
  const struct ps_hyperloglog *hll = hll_in(specimen);
  struct bytes bytes = encode(sketch_in(specimen));
  const unsigned char *payload = bytes.at + ps_load32(bytes.at + AT_OFFSET);
  CHECK(!hll->dense && hll->entries == n && ps_load64(bytes.at + AT_PAYLOAD_SIZE) == 4 * n);
  for (size_t i = 0; i < n; i++) {
    CHECK_WITH(ps_load32(payload + 4 * i) == model[i], "entry %zu of %zu", i, n);
  }
  check_slots((struct ps_slots){hll->sketch.payload, hll->slots}, hll->entries);
  free(bytes.at);
}

static void check_shape(enum shape shape, uint64_t n)
{
  struct specimen whole, left, right;
  uint64_t state = n;
  uint32_t *model = test_allocate((size_t)n * sizeof *model);
  size_t size = 0;
  make_hll(&whole, 18);
  make_hll(&left, 18);
  make_hll(&right, 18);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t hash = shaped(shape, i, &state);
    model[size++] = ps_sparse_entry(hash);
    size_t before = hll_in(&whole)->entries;
    bool changed = add(&whole, hash);
    CHECK(changed || hll_in(&whole)->entries == before);
    CHECK(!add(&whole, hash));
    add(i % 3 == 0 ? &left : &right, hash);
  }
  size = normalize(model, size);
  check_entries(&whole, model, size);
  CHECK(ps_merge(sketch_in(&left), sketch_in(&right), &refusal) == PS_OK);
  check_entries(&left, model, size);
  CHECK(ps_equal(sketch_in(&left), sketch_in(&whole)));
  discard(&whole);
  discard(&left);
  discard(&right);
  free(model);
}

static void shapes(void)
{
  for (enum shape shape = 0; shape < SHAPES; shape++) {
    for (uint64_t n = 1; n < 9000; n = n < 100 ? n + 1 : n * 3 / 2) {
      check_shape(shape, n);
    }
  }
  promise("sparse entries are the sorted set of those added, wherever the indexes crowd");
}

/* ---- from sparse to dense ---- */

static bool same_registers(struct specimen *a, struct specimen *b)
{
  return hll_in(a)->dense && ps_equal(sketch_in(a), sketch_in(b)) &&
         memcmp(&hll_in(a)->tally, &hll_in(b)->tally, sizeof(struct ps_tally)) == 0;
}

/* Number n of a sequence of hashes that all have another index. */
static uint64_t distinct(uint64_t n, uint64_t *state)
{
  uint64_t index = n * 0x9e3779b1 & 0x3ffffff;
  return index << 38 | (any_rank(state) & UINT64_MAX >> 26);
}

static void check_conversion(struct specimen *sketch, struct specimen *twin)
{
  struct specimen converted;
  unsigned precision = hll_in(sketch)->precision;
  make_dense(&converted, precision);
  CHECK(ps_merge(sketch_in(&converted), sketch_in(sketch), &refusal) == PS_OK);
  CHECK_WITH(same_registers(&converted, twin), "p %u, %u entries", precision,
             hll_in(sketch)->entries);
  discard(&converted);
}

static void switching(void)
{
  for
    EACH_PRECISION(p)
    {
      struct specimen sketch, twin;
      uint64_t state = p;
      uint32_t limit = ps_sparse_limit(p);
      make_hll(&sketch, p);
      make_dense(&twin, p);
      for (uint32_t n = 1; n < limit + 20; n++) {
        uint64_t hash = distinct(n, &state);
        CHECK(add(&sketch, hash) || n > limit);
        add(&twin, hash);
        CHECK_WITH(hll_in(&sketch)->dense == (n > limit), "p %u, %u entries", p, n);
        if (n < 20 || n + 20 > limit) {
          check_conversion(&sketch, &twin);
        }
      }
      CHECK_WITH(same_registers(&sketch, &twin), "p %u", p);
      discard(&sketch);
      discard(&twin);
    }
  promise("one entry above the limit makes it dense, with the registers of one dense from the "
          "start, which conversion gives at any size");
}

/* The keys cut into four, which overlap, and merged in several orders. */
static void check_split(unsigned p, size_t n)
{
  static const size_t orders[][4] = {{0, 1, 2, 3}, {3, 1, 0, 2}, {2, 3, 1, 0}};
  struct specimen part[4], whole;
  make_hll(&whole, p);
  for (size_t i = n; i-- > 0;) {
    add_keys(sketch_in(&whole), i, 1);
  }
  struct bytes bytes = encode(sketch_in(&whole));
  for (size_t k = 0; k < 4; k++) {
    make_hll(&part[k], p);
    add_keys(sketch_in(&part[k]), n * k / 8, n * (k + 1) / 4 - n * k / 8);
  }
  for (size_t k = 0; k < 3; k++) {
    struct specimen sum;
    copy_into(&sum, sketch_in(&part[orders[k][0]]));
    for (size_t j = 1; j < 4; j++) {
      const struct ps_sketch *next = sketch_in(&part[orders[k][j]]);
      CHECK(ps_merge(sketch_in(&sum), next, &refusal) == PS_OK);
    }
    CHECK_WITH(still(sketch_in(&sum), bytes), "p %u, %zu keys", p, n);
    CHECK_WITH(ps_hyperloglog_estimate(hll_in(&sum)) == ps_hyperloglog_estimate(hll_in(&whole)),
               "p %u, %zu keys", p, n);
    CHECK_WITH(sketch_in(&sum)->held == sketch_in(&whole)->held, "p %u, %zu keys", p, n);
    discard(&sum);
  }
  for (size_t k = 0; k < 4; k++) {
    discard(&part[k]);
  }
  discard(&whole);
  free(bytes.at);
}

static void splitting(void)
{
  for
    EACH_PRECISION(p)
    {
      size_t limit = ps_sparse_limit(p);
      for (size_t n = 1; n < 100000; n *= 7) {
        check_split(p, n);
      }
      check_split(p, limit);
      check_split(p, limit + 1);
    }
  promise("the same keys in any order, batch or split give the same bytes, estimate and memory");
}

/* ---- from one precision to a lower one ---- */

/* Folds what n keys give at precision p to all lower ones, and holds it against what they give
 * there. */
static void check_fold(unsigned p, size_t n)
{
  struct specimen source;
  make_hll(&source, p);
  add_keys(sketch_in(&source), 0, n);
  struct bytes before = encode(sketch_in(&source));
  for (unsigned lower = 4; lower <= p; lower++) {
    struct specimen built, folded = {.block = NULL};
    make_hll(&built, lower);
    add_keys(sketch_in(&built), 0, n);
    struct bytes bytes = encode(sketch_in(&built));
    CHECK(ps_hyperloglog_fold(hll_in(&folded), hll_in(&source), lower, &refusal) == PS_OK);
    CHECK_WITH(still(sketch_in(&folded), bytes), "p %u to %u, %zu keys", p, lower, n);
    CHECK_WITH(hll_in(&folded)->dense ? same_registers(&folded, &built)
                                      : hll_in(&folded)->slots == hll_in(&built)->slots,
               "p %u to %u, %zu keys", p, lower, n);
    CHECK(sketch_in(&folded)->held == sketch_in(&built)->held);
    add_keys(sketch_in(&folded), 1000000, 200);
    add_keys(sketch_in(&built), 1000000, 200);
    CHECK_WITH(ps_equal(sketch_in(&folded), sketch_in(&built)), "p %u to %u, %zu keys", p, lower,
               n);
    discard(&built);
    discard(&folded);
    free(bytes.at);
  }
  CHECK(still(sketch_in(&source), before));
  discard(&source);
  free(before.at);
}

static void check_fold_of_ranks(unsigned p)
{
  struct specimen source;
  uint64_t state = p;
  make_dense(&source, p);
  for (unsigned lower = 4; lower <= p; lower++) {
    struct specimen built, folded = {.block = NULL};
    make_dense(&built, lower);
    for (unsigned rank = 0; rank <= 64; rank++) {
      uint64_t index = test_random(&state) & ~(UINT64_MAX >> p);
      uint64_t hash = rank < 64 ? UINT64_C(1) << rank : index;
      add(&source, hash);
    }
    for (uint32_t i = 0; i < UINT32_C(1) << p; i++) {
      unsigned rank = ps_register_get(sketch_in(&source)->payload, i);
      uint64_t hash = rank > 64 - p ? 0 : UINT64_C(1) << (64 - p - rank);
      if (rank > 0) {
        add(&built, (uint64_t)i << (64 - p) | hash);
      }
    }
    CHECK(ps_hyperloglog_fold(hll_in(&folded), hll_in(&source), lower, &refusal) == PS_OK);
    CHECK_WITH(same_registers(&folded, &built), "p %u to %u", p, lower);
    discard(&built);
    discard(&folded);
  }
  discard(&source);
}

static void folding(void)
{
  for
    EACH_PRECISION(p)
    {
      size_t limit = ps_sparse_limit(p);
      for (size_t n = 0; n < 10000; n = n * 5 + 1) {
        check_fold(p, n);
      }
      check_fold(p, limit);
      check_fold(p, limit + 1);
      check_fold_of_ranks(p);
    }
  promise("folded to a lower precision it has the bytes and memory of one built there");
}

int main(void)
{
  ranks();
  registers();
  shapes();
  switching();
  splitting();
  folding();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
