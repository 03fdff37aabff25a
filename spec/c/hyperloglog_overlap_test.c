/* How the sets of two HyperLogLogs overlap: against the truth, against inclusion and exclusion, and
 * on registers that no sets lead to. */
#include <math.h>

#include "cardinality/hyperloglog_sparse.h"
#include "hyperloglogs.h"

/* Two sketches and what is known of their sets. */
struct pair {
  struct specimen first, second;
  double a, b, both; /* keys */
};

static void discard_pair(struct pair *pair)
{
  discard(&pair->first);
  discard(&pair->second);
}

/* Of so many keys in the first alone, the second alone, and both. */
static void make_pair(struct pair *pair, unsigned p, uint64_t seed, uint64_t a, uint64_t b,
                      uint64_t both)
{
  uint64_t state = seed << 40 ^ p;
  make_hll(&pair->first, p);
  make_hll(&pair->second, p);
  for (uint64_t i = 0; i < both; i++) {
    uint64_t hash = test_random(&state);
    add(&pair->first, hash);
    add(&pair->second, hash);
  }
  add_random(&pair->first, ~state, a);
  add_random(&pair->second, state ^ UINT64_C(0x5555) << 48, b);
  pair->a = (double)(a + both);
  pair->b = (double)(b + both);
  pair->both = (double)both;
}

/* The overlap, after a look at all that has to hold whatever the sets. */
static struct ps_overlap overlap_of(struct pair *pair)
{
  const struct ps_hyperloglog *a = hll_in(&pair->first), *b = hll_in(&pair->second);
  struct ps_overlap overlap = ps_hyperloglog_overlap(a, b), turned = ps_hyperloglog_overlap(b, a);
  double smaller = fmin(ps_hyperloglog_estimate(a), ps_hyperloglog_estimate(b));
  CHECK_WITH(overlap.intersection >= 0 && overlap.intersection <= smaller, "%g of %g",
             overlap.intersection, smaller);
  CHECK_WITH(overlap.jaccard >= 0 && overlap.jaccard <= 1, "%g", overlap.jaccard);
  CHECK_WITH(overlap.intersection_error >= 0 && overlap.intersection_error < INFINITY, "%g",
             overlap.intersection_error);
  CHECK_WITH(overlap.jaccard_error >= 0 && overlap.jaccard_error < INFINITY, "%g",
             overlap.jaccard_error);
  CHECK_WITH(memcmp(&overlap, &turned, sizeof overlap) == 0, "%.17g and turned round %.17g",
             overlap.intersection, turned.intersection);
  return overlap;
}

/* ---- the error ---- */

/* Of many pairs, square means of errors, and means of what is said of them. */
struct errors {
  double joint, excluding; /* of the intersection, and the same by inclusion and exclusion */
  double jaccard;
  double said, said_jaccard;
  double held; /* the share within two of the standard errors */
};

static struct errors measure(unsigned p, uint64_t a, uint64_t b, uint64_t both, unsigned pairs)
{
  struct errors sum = {0};
  for (unsigned seed = 1; seed <= pairs; seed++) {
    struct pair pair;
    make_pair(&pair, p, seed, a, b, both);
    test_about("p %u, %ju and %ju keys, %ju in both, seed %u", p, (uintmax_t)(a + both),
               (uintmax_t)(b + both), (uintmax_t)both, seed);
    struct ps_overlap overlap = overlap_of(&pair);
    double excluding = ps_hyperloglog_estimate(hll_in(&pair.first)) +
                       ps_hyperloglog_estimate(hll_in(&pair.second));
    CHECK(ps_merge(sketch_in(&pair.first), sketch_in(&pair.second), &refusal) == PS_OK);
    excluding -= ps_hyperloglog_estimate(hll_in(&pair.first));
    double off = overlap.intersection - pair.both;
    sum.joint += off * off / pairs;
    sum.excluding += pow(excluding - pair.both, 2) / pairs;
    sum.jaccard += pow(overlap.jaccard - pair.both / (pair.a + pair.b - pair.both), 2) / pairs;
    sum.said += overlap.intersection_error / pairs;
    sum.said_jaccard += overlap.jaccard_error / pairs;
    sum.held += (fabs(off) <= 2 * overlap.intersection_error) / (double)pairs;
    discard_pair(&pair);
  }
  sum.joint = sqrt(sum.joint);
  sum.excluding = sqrt(sum.excluding);
  sum.jaccard = sqrt(sum.jaccard);
  return sum;
}

static void better_than_exclusion(void)
{
  struct errors tenth = measure(14, 900000, 900000, 100000, 40);
  struct errors hundredth = measure(14, 990000, 990000, 10000, 40);
  CHECK_WITH(tenth.joint <= 0.7 * tenth.excluding, "%g, %g", tenth.joint, tenth.excluding);
  CHECK_WITH(hundredth.joint <= 0.6 * hundredth.excluding, "%g, %g", hundredth.joint,
             hundredth.excluding);
  promise("of 10^6 keys each, 10 %% shared, the intersection errs by %.0f, where inclusion and "
          "exclusion err by %.0f; 1 %% shared, by %.0f and %.0f",
          tenth.joint, tenth.excluding, hundredth.joint, hundredth.excluding);
}

static void told_errors(void)
{
  static const struct {
    unsigned p;
    uint64_t a, b, both;
  } sets[] = {
      {14, 90000, 90000, 10000}, {14, 100000, 5000, 5000}, {14, 2000, 3000, 3000},
      {12, 20000, 1000, 30000},  {10, 10000, 10000, 5000}, {10, 100, 100000, 3000},
      {8, 1000, 4000, 1000},     {6, 5000, 5000, 5000},    {14, 10000, 10000, 0},
      {12, 50000, 50000, 50},
  };
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    struct errors of = measure(sets[i].p, sets[i].a, sets[i].b, sets[i].both, 100);
    test_about("p %u, %ju of %ju and %ju", sets[i].p, (uintmax_t)sets[i].both,
               (uintmax_t)(sets[i].a + sets[i].both), (uintmax_t)(sets[i].b + sets[i].both));
    /* What is far above the error at the limit of 0 is the error of an estimate that could go below
     * it. */
    double least = sets[i].both > 1000 ? 0.8 : 0.5;
    CHECK_WITH(of.joint >= least * of.said && of.joint <= 1.25 * of.said, "%g, said %g", of.joint,
               of.said);
    CHECK_WITH(of.jaccard >= least * of.said_jaccard && of.jaccard <= 1.25 * of.said_jaccard,
               "%g, said %g", of.jaccard, of.said_jaccard);
    CHECK_WITH(of.held >= 0.9, "%g", of.held);
  }
  promise("errors are what the standard errors say, whatever the sizes and the overlap");
}

/* ---- special sets ---- */

static void same_sets(void)
{
  for
    EACH_PRECISION(p)
    {
      for (uint64_t n = 1; n <= 100000; n *= 10) {
        struct pair pair;
        make_pair(&pair, p, n, 0, 0, n);
        test_about("p %u, %ju keys", p, (uintmax_t)n);
        struct ps_overlap overlap = overlap_of(&pair);
        double estimate = ps_hyperloglog_estimate(hll_in(&pair.first));
        CHECK_WITH(overlap.intersection == estimate && overlap.jaccard == 1, "%g, %g of %g",
                   overlap.jaccard, overlap.intersection, estimate);
        double most = hll_in(&pair.first)->dense ? 1.3 * 1.04 / sqrt(1 << p) * estimate + 1 : 1;
        CHECK_WITH(overlap.intersection_error <= most, "%g", overlap.intersection_error);
        discard_pair(&pair);
      }
    }
  promise("a set has all its keys in common with itself");
}

static void empty_sets(void)
{
  for
    EACH_PRECISION(p)
    {
      for (uint64_t n = 0; n <= 10000; n += 5000) {
        for (int dense = 0; dense <= 1; dense++) {
          struct pair pair;
          make_hll(&pair.first, p);
          add_random(&pair.first, 1, n);
          if (dense) {
            make_dense(&pair.second, p);
          } else {
            make_hll(&pair.second, p);
          }
          struct ps_overlap overlap = overlap_of(&pair);
          CHECK(overlap.intersection == 0 && overlap.intersection_error == 0);
          CHECK(overlap.jaccard == (n == 0) && overlap.jaccard_error == 0);
          discard_pair(&pair);
        }
      }
    }
  promise("an empty set has nothing in common with others, and is like an empty one");
}

static void subsets(void)
{
  for (unsigned p = 8; p <= 18; p += 2) {
    for (uint64_t n = 100; n <= 10000; n *= 10) {
      struct pair pair;
      make_pair(&pair, p, n, 0, 90 * n, n);
      test_about("p %u, %ju of %ju keys", p, (uintmax_t)n, (uintmax_t)(91 * n));
      struct ps_overlap overlap = overlap_of(&pair);
      double off = fabs(overlap.intersection - pair.both);
      CHECK_WITH(off <= 4 * overlap.intersection_error + 0.5, "%g, said %g", off,
                 overlap.intersection_error);
      discard_pair(&pair);
    }
  }
  promise("a subset is in its set");
}

/* Entries are exact but for the keys that share an index: three in ten thousand at most. */
static void small_sets(void)
{
  for (unsigned p = 10; p <= 18; p += 2) {
    uint64_t limit = ps_sparse_limit(p);
    for (uint64_t seed = 1; seed <= 20; seed++) {
      for (uint64_t both = 0; both <= limit / 2; both += limit / 6) {
        struct pair pair;
        make_pair(&pair, p, seed, limit / 2, limit / 3, both);
        test_about("p %u, %ju keys in both", p, (uintmax_t)both);
        CHECK(!hll_in(&pair.first)->dense && !hll_in(&pair.second)->dense);
        struct ps_overlap overlap = overlap_of(&pair);
        double off = fabs(overlap.intersection - pair.both);
        CHECK_WITH(off <= 4 * overlap.intersection_error + 2, "%g, said %g", off,
                   overlap.intersection_error);
        CHECK(overlap.intersection_error <= 3e-4 * (double)limit);
        discard_pair(&pair);
      }
    }
  }
  promise("of small sets the intersection is counted");
}

/* A sparse sketch against a dense one is as its own registers against them, but for its count,
 * which limits the intersection. */
static void mixed_forms(void)
{
  for (unsigned p = 4; p <= 18; p += 2) {
    struct pair pair, dense;
    uint64_t limit = ps_sparse_limit(p);
    make_pair(&pair, p, 1, 0, 8 * limit, limit / 2);
    make_pair(&dense, p, 1, 0, 8 * limit, limit / 2);
    test_about("p %u", p);
    discard(&dense.first);
    make_dense(&dense.first, p);
    CHECK(!hll_in(&pair.first)->dense && hll_in(&pair.second)->dense);
    CHECK(ps_merge(sketch_in(&dense.first), sketch_in(&pair.first), &refusal) == PS_OK);
    struct ps_overlap mixed = overlap_of(&pair), other = overlap_of(&dense);
    double most = fmin(ps_hyperloglog_estimate(hll_in(&pair.first)),
                       ps_hyperloglog_estimate(hll_in(&dense.first)));
    CHECK_WITH(fmin(mixed.intersection, most) == fmin(other.intersection, most), "%.17g and %.17g",
               mixed.intersection, other.intersection);
    CHECK(mixed.jaccard == other.jaccard && mixed.jaccard_error == other.jaccard_error);
    discard_pair(&pair);
    discard_pair(&dense);
  }
  promise("a sparse sketch meets a dense one as the registers of its entries");
}

/* ---- any registers ---- */

/* The registers that `keys` keys give, or a Poisson number of that mean: P(rank <= k) is
 * exp(-keys / (m 2^k)). */
static void add_many_keys(struct specimen *specimen, struct specimen *other, double keys,
                          uint64_t *state)
{
  unsigned p = hll_in(specimen)->precision;
  for (uint32_t i = 0; i < UINT32_C(1) << p; i++) {
    double u = ((double)(test_random(state) >> 11) + 0.5) / 9007199254740992.0;
    double rank = ceil(log2(-keys / ldexp(log(u), (int)p)));
    if (rank >= 1) {
      uint64_t hash = ps_register_hash(p, i, (unsigned)fmin(rank, 65 - p));
      add(specimen, hash);
      if (other != NULL) {
        add(other, hash);
      }
    }
  }
}

static void large_sets(void)
{
  uint64_t state = 1;
  for (unsigned p = 4; p <= 18; p += 2) {
    for (double n = 1e7; n < 1e18; n *= 10) {
      for (double share = 0; share <= 1; share += 0.25) {
        struct pair pair;
        make_dense(&pair.first, p);
        make_dense(&pair.second, p);
        add_many_keys(&pair.first, &pair.second, n * share, &state);
        add_many_keys(&pair.first, NULL, n * (1 - share), &state);
        add_many_keys(&pair.second, NULL, n * (1 - share), &state);
        test_about("p %u, %g keys, %g of them in both", p, n, share);
        struct ps_overlap overlap = overlap_of(&pair);
        double off = fabs(overlap.intersection - n * share), error = overlap.intersection_error;
        double slack = p < 8 ? 8 : 5;
        CHECK_WITH(off <= slack * error, "%g, said %g", off, error);
        CHECK_WITH(error <= 3 * 1.04 / sqrt(1 << p) * n, "%g", error);
        discard_pair(&pair);
      }
    }
  }
  promise("large sets, to 10^17 keys, overlap as they should");
}

static void any_registers(void)
{
  uint64_t state = 1;
  for (unsigned round = 0; round < 3000; round++) {
    struct pair pair;
    unsigned p = 4 + round % 9, top = 65 - p;
    unsigned low[2], high[2];
    struct specimen *side[2] = {&pair.first, &pair.second};
    for (unsigned s = 0; s < 2; s++) {
      make_dense(side[s], p);
      low[s] = (unsigned)(test_random(&state) % (top + 1));
      high[s] = low[s] + (unsigned)(test_random(&state) % (top + 1 - low[s]));
      for (uint32_t i = 0; i < UINT32_C(1) << p; i++) {
        unsigned rank = low[s] + (unsigned)(test_random(&state) % (high[s] - low[s] + 1));
        if (rank > 0) {
          add(side[s], ps_register_hash(p, i, rank));
        }
      }
    }
    test_about("p %u, registers of %u to %u and %u to %u", p, low[0], high[0], low[1], high[1]);
    overlap_of(&pair);
    discard_pair(&pair);
  }
  promise("whatever the registers, the answers are numbers in their range, the same both ways");
}

int main(void)
{
  better_than_exclusion();
  told_errors();
  same_sets();
  empty_sets();
  subsets();
  small_sets();
  mixed_forms();
  large_sets();
  any_registers();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
