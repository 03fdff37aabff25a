/* The HIP estimate of a HyperLogLog: against its definition, its statistics, what merges and folds
 * make of it, and its bytes. */
#include <math.h>
#include <string.h>

#include "cardinality/hyperloglog_sparse.h"
#include "hyperloglogs.h"

static void make_hip(struct specimen *specimen, unsigned precision)
{
  struct variant variant = {"hyperloglog", {{"precision", precision}, {"hip", 1}}};
  make(specimen, &variant, 0);
}

static double estimate_of(struct specimen *specimen)
{
  return ps_hyperloglog_estimate(hll_in(specimen));
}

static bool by_hip(struct specimen *specimen)
{
  return ps_hyperloglog_counts_by_hip(hll_in(specimen));
}

/* The estimate without HIP. */
static double plain_estimate_of(struct specimen *specimen)
{
  struct ps_hyperloglog plain = *hll_in(specimen);
  plain.hip = 0;
  return ps_hyperloglog_estimate(&plain);
}

/* ---- its definition ---- */

/* The hashes of 2^64 that change a register, from the registers. */
static double open_hashes(const unsigned char *registers, unsigned p)
{
  uint64_t open = 0;
  for (uint32_t i = 0; i < UINT32_C(1) << p; i++) {
    unsigned rank = ps_register_get(registers, i);
    open += rank <= 64 - p ? UINT64_C(1) << (64 - p - rank) : 0;
  }
  return (double)open;
}

static void definition(void)
{
  for (unsigned p = 4; p <= 9; p++) {
    struct specimen sketch, plain;
    uint64_t state = p, limit = ps_sparse_limit(p);
    double sum = 0;
    make_hip(&sketch, p);
    make_hll(&plain, p);
    test_about("p %u", p);
    for (uint64_t n = 1; n <= UINT64_C(40) << p; n++) {
      uint64_t hash = test_random(&state);
      bool was_dense = hll_in(&sketch)->dense;
      double open = was_dense ? open_hashes(sketch_in(&sketch)->payload, p) : 0;
      uint32_t entries = hll_in(&sketch)->entries;
      add(&plain, hash);
      bool changed = add(&sketch, hash);
      CHECK(hll_in(&sketch)->dense == hll_in(&plain)->dense);
      if (hll_in(&sketch)->dense && !was_dense) {
        struct specimen before; /* what was dense for a moment: without the last key */
        uint64_t again = p;
        make_dense(&before, p);
        for (uint64_t i = 1; i < n; i++) {
          add(&before, test_random(&again));
        }
        CHECK(entries == limit);
        sum = entries + pow(entries, 2) / pow(2, 27);
        open = open_hashes(sketch_in(&before)->payload, p);
        discard(&before);
      }
      if (hll_in(&sketch)->dense) {
        sum += changed ? 18446744073709551616.0 / open : 0;
        CHECK_WITH(estimate_of(&sketch) == sum, "%ju keys: %.17g and %.17g", (uintmax_t)n,
                   estimate_of(&sketch), sum);
      } else {
        CHECK(estimate_of(&sketch) == estimate_of(&plain));
      }
    }
    CHECK(memcmp(sketch_in(&sketch)->payload, sketch_in(&plain)->payload,
                 (size_t)ps_registers_size(p)) == 0);
    discard(&sketch);
    discard(&plain);
  }
  promise(
      "it grows by one over the probability of each change, from the sparse estimate on, beside "
      "the same registers");
}

static void extremes(void)
{
  for
    EACH_PRECISION(p)
    {
      struct specimen sketch;
      double before = 0;
      make_hip(&sketch, p);
      for (unsigned rank = 1; rank <= 65 - p; rank++) {
        for (uint32_t i = 0; i < UINT32_C(1) << p; i += rank % 8 == 1 || rank > 62 - p ? 1 : 5) {
          add(&sketch, ps_register_hash(p, i, rank));
        }
        CHECK_WITH(estimate_of(&sketch) > before || before == PS_HIP_MAX, "p %u, rank %u", p, rank);
        before = estimate_of(&sketch);
      }
      CHECK_WITH(before > 0 && before <= PS_HIP_MAX, "p %u: %g", p, before);
      CHECK(hll_in(&sketch)->tally.full == UINT32_C(1) << p && hll_in(&sketch)->tally.open == 0);
      struct bytes bytes = encode(sketch_in(&sketch));
      struct specimen decoded;
      CHECK(decode(&decoded, bytes, &refusal) == PS_OK);
      CHECK(estimate_of(&decoded) == before);
      discard(&decoded);
      discard(&sketch);
      free(bytes.at);
    }
  promise("it is finite and rises with every rank, to the last");
}

/* ---- its error ---- */

static void check_errors(unsigned p, unsigned seeds, size_t levels, const uint64_t *keys,
                         double most)
{
  double squares[8] = {0}, sum[8] = {0}, held[8] = {0};
  double theory = sqrt(log(2) / (1 << p));
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    struct specimen sketch;
    uint64_t state = seed << 40 ^ p, n = 0;
    make_hip(&sketch, p);
    for (size_t i = 0; i < levels; i++) {
      double low, high;
      for (; n < keys[i]; n++) {
        add(&sketch, test_random(&state));
      }
      double error = estimate_of(&sketch) / (double)n - 1;
      squares[i] += error * error / seeds;
      sum[i] += error / seeds;
      ps_hyperloglog_bounds(hll_in(&sketch), 2, &low, &high);
      held[i] += (low <= (double)n && (double)n <= high) / (double)seeds;
    }
    discard(&sketch);
  }
  for (size_t i = 0; i < levels; i++) {
    double error = sqrt(squares[i]), slack = 4 * error / sqrt(seeds) + 1e-4;
    test_about("p %u, %ju keys", p, (uintmax_t)keys[i]);
    CHECK_WITH(error <= most * theory, "%g of theory", error / theory);
    CHECK_WITH(keys[i] < UINT64_C(8) << p || error >= 0.85 * theory, "%g of theory",
               error / theory);
    CHECK_WITH(fabs(sum[i]) <= slack, "a bias of %g", sum[i]);
    CHECK_WITH(held[i] >= 0.93, "%g", held[i]);
    if (i > 0 && keys[i] == keys[i - 1] + 1) {
      CHECK_WITH(fabs(sum[i] - sum[i - 1]) <= 0.1 * theory, "a step of %g", sum[i] - sum[i - 1]);
    }
  }
}

static void errors(void)
{
  const uint64_t keys[] = {2304, 2305, 10000, 100000, 400000};
  check_errors(14, 300, 5, keys, 0.0069 / sqrt(log(2) / 16384));
  for (unsigned p = 4; p <= 12; p++) {
    uint64_t limit = ps_sparse_limit(p), m = UINT64_C(1) << p;
    const uint64_t some[] = {limit, limit + 1, m / 2, m, 3 * m, 10 * m, 50 * m, 100 * m};
    check_errors(p, 500, 8, some, p < 6 ? 1.25 : 1.1);
  }
  promise("its error is 0.83 / sqrt(m), at precision 14 below 0.69 %%, without bias or steps");
}

/* ---- merges and folds ---- */

/* Merges sketches of n and `more` keys, which have some in common. */
static void check_merge(unsigned p, size_t n, size_t more)
{
  struct specimen a, b, whole;
  make_hip(&a, p);
  make_hip(&b, p);
  make_hip(&whole, p);
  add_keys(sketch_in(&a), 0, n);
  add_keys(sketch_in(&b), n / 2, more);
  add_keys(sketch_in(&whole), 0, n);
  add_keys(sketch_in(&whole), n / 2, more);
  struct bytes before = encode(sketch_in(&b)), left = encode(sketch_in(&a));
  test_about("p %u, %zu and %zu keys", p, n, more);
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &refusal) == PS_OK);
  CHECK(still(sketch_in(&b), before));
  if (n == 0 || more == 0) {
    CHECK(still(sketch_in(&a), n == 0 ? before : left) && by_hip(&a));
  } else if (!hll_in(&a)->dense) {
    CHECK(by_hip(&a) && ps_equal(sketch_in(&a), sketch_in(&whole)));
  } else {
    CHECK(!by_hip(&a) && by_hip(&whole) && estimate_of(&a) == plain_estimate_of(&whole));
    CHECK(ps_hyperloglog_standard_error(hll_in(&a)) == 1.04 / sqrt(1 << p));
    CHECK(memcmp(sketch_in(&a)->payload, sketch_in(&whole)->payload,
                 (size_t)ps_registers_size(p)) == 0);
    add_keys(sketch_in(&a), 100000, 500); /* void for ever */
    add_keys(sketch_in(&whole), 100000, 500);
    CHECK(!by_hip(&a) && estimate_of(&a) == plain_estimate_of(&whole));
    CHECK(ps_merge(sketch_in(&b), sketch_in(&a), &refusal) == PS_OK && !by_hip(&b));
  }
  discard(&a);
  discard(&b);
  discard(&whole);
  free(before.at);
  free(left.at);
}

static void merging(void)
{
  for (unsigned p = 4; p <= 14; p += 2) {
    size_t limit = ps_sparse_limit(p);
    const size_t sizes[] = {0, 1, limit / 3 + 1, limit, limit + 1, 8 * limit};
    for (size_t i = 0; i < 36; i++) {
      check_merge(p, sizes[i / 6], sizes[i % 6]);
    }
  }
  promise("a merge voids it, unless the union is still sparse or one has nothing to add");
}

static void merging_with_itself(void)
{
  for (size_t n = 0; n < 5000; n += 700) {
    struct specimen a, copy, other;
    make_hip(&a, 8);
    add_keys(sketch_in(&a), 0, n);
    struct bytes before = encode(sketch_in(&a));
    copy_into(&copy, sketch_in(&a));
    CHECK(ps_merge(sketch_in(&a), sketch_in(&copy), &refusal) == PS_OK);
    CHECK(ps_merge(sketch_in(&a), sketch_in(&a), &refusal) == PS_OK);
    CHECK(still(sketch_in(&a), before));
    make_hip(&other, 8); /* the same keys, but another order: HIP differs */
    for (size_t i = n; i-- > 0;) {
      add_keys(sketch_in(&other), i, 1);
    }
    CHECK(ps_merge(sketch_in(&a), sketch_in(&other), &refusal) == PS_OK);
    CHECK(by_hip(&a) == (n < 100));
    discard(&a);
    discard(&copy);
    discard(&other);
    free(before.at);
  }
  promise("merging a sketch with itself or its copy changes nothing");
}

static void unlike_sketches(void)
{
  struct specimen with, without;
  make_hip(&with, 8);
  make_hll(&without, 8);
  CHECK(ps_merge(sketch_in(&with), sketch_in(&without), &refusal) == PS_ERR_MISMATCH);
  CHECK(strstr(refusal.message, "hip") != NULL);
  CHECK(ps_merge(sketch_in(&without), sketch_in(&with), &refusal) == PS_ERR_MISMATCH);
  discard(&with);
  discard(&without);
  promise("sketches with and without it do not merge");
}

static void folding(void)
{
  for (size_t n = 0; n < 100000; n = n * 3 + 40) {
    struct specimen source;
    make_hip(&source, 12);
    add_keys(sketch_in(&source), 0, n);
    for (unsigned p = 4; p <= 12; p++) {
      struct specimen built, folded = {.block = NULL};
      make_hip(&built, p);
      add_keys(sketch_in(&built), 0, n);
      test_about("p 12 to %u, %zu keys", p, n);
      CHECK(ps_hyperloglog_fold(hll_in(&folded), hll_in(&source), p, &refusal) == PS_OK);
      double slack = hll_in(&source)->dense ? 0 : 0.01; /* entries, counted more simply */
      CHECK(fabs(estimate_of(&folded) - estimate_of(&source)) <= slack && by_hip(&folded));
      CHECK(hll_in(&folded)->dense == hll_in(&built)->dense);
      CHECK(sketch_in(&folded)->held == sketch_in(&built)->held);
      CHECK(plain_estimate_of(&folded) == plain_estimate_of(&built));
      struct bytes bytes = encode(sketch_in(&folded));
      struct specimen decoded;
      CHECK(decode(&decoded, bytes, &refusal) == PS_OK);
      CHECK(estimate_of(&decoded) == estimate_of(&folded));
      double before = estimate_of(&folded);
      add_keys(sketch_in(&folded), 1000000, 100000);
      CHECK_WITH(fabs(estimate_of(&folded) - before - 100000) <= 4e5 / sqrt(1 << p), "%g after %g",
                 estimate_of(&folded), before);
      discard(&built);
      discard(&folded);
      discard(&decoded);
      free(bytes.at);
    }
    discard(&source);
  }
  promise("a folded sketch has the estimate of the higher precision and goes on from there");
}

/* ---- its bytes ---- */

static enum ps_status decode_with(struct bytes bytes, double sum)
{
  struct specimen decoded;
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  ps_store64(bytes.at + bytes.size - 16, bits);
  reseal(bytes);
  enum ps_status status = decode(&decoded, bytes, &refusal);
  if (status == PS_OK) {
    CHECK(by_hip(&decoded) == (sum > 0) && (sum == 0 || estimate_of(&decoded) == sum));
    CHECK(still(sketch_in(&decoded), bytes));
    discard(&decoded);
  }
  return status;
}

static void hostile_sums(void)
{
  for (unsigned p = 4; p <= 10; p++) {
    for (unsigned n = 0; n < 2; n++) {
      struct specimen sketch;
      make_hip(&sketch, p);
      double limit = ps_sparse_limit(p);
      if (n == 0) { /* the fewest registers: the limit decides */
        for (uint64_t i = 0; i <= ps_sparse_limit(p); i++) {
          add(&sketch, i << 38);
        }
      } else {
        add_random(&sketch, p, UINT64_C(8) << p);
      }
      double used = (double)((UINT64_C(1) << p) - hll_in(&sketch)->tally.zeros);
      double least = fmax(limit, used);
      struct bytes bytes = encode(sketch_in(&sketch));
      test_about("p %u, %g of %g", p, used, limit);
      CHECK(hll_in(&sketch)->dense);
      CHECK(estimate_of(&sketch) >= least);
      CHECK(decode_with(bytes, estimate_of(&sketch)) == PS_OK);
      CHECK(decode_with(bytes, 0) == PS_OK);
      CHECK(decode_with(bytes, least) == PS_OK);
      CHECK(decode_with(bytes, PS_HIP_MAX) == PS_OK);
      const double bad[] = {-0.0,
                            nextafter(least, 0),
                            1,
                            5e-324,
                            -1,
                            -least,
                            nextafter(PS_HIP_MAX, INFINITY),
                            1e300,
                            INFINITY,
                            -INFINITY,
                            NAN};
      for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_WITH(decode_with(bytes, bad[i]) == PS_ERR_CORRUPT, "%g", bad[i]);
      }
      discard(&sketch);
      free(bytes.at);
    }
  }
  promise("sums that no keys lead to are refused");
}

int main(void)
{
  definition();
  extremes();
  errors();
  merging();
  merging_with_itself();
  unlike_sketches();
  folding();
  hostile_sums();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
