/* MinHash: the minima by their definition, the code for each processor, and the statistics of what
 * is estimated from them. */
#include <math.h>
#include <string.h>

#include "similarity/minhash.h"
#include "similarity/minima.h"
#include "sketches.h"

#define STEP UINT64_C(0xf1357aea2e62a9c5)
#define MOST_FUNCTIONS 65536

/* The multiplier of each function, by docs/FORMAT.md. */
static uint64_t multiplier[MOST_FUNCTIONS];

static void make_multipliers(void)
{
  uint64_t lane[32], power = 1;
  for (unsigned j = 0; j < 32; j++) {
    power *= STEP;
    lane[j] = power >> 32 | 1;
  }
  power = 1;
  for (unsigned i = 0; i < MOST_FUNCTIONS; i++) {
    multiplier[i] = power * lane[i % 32];
    power *= i % 32 == 31 ? STEP : 1;
  }
}

static uint64_t value(unsigned function, uint64_t hash)
{
  return multiplier[function] * hash + (UINT64_C(1) << 63);
}

/* ---- the code for each processor ---- */

static bool model_add(uint64_t *minima, unsigned k, uint64_t hash)
{
  bool changed = false;
  for (unsigned i = 0; i < k; i++) {
    uint64_t x = value(i, hash);
    changed |= x < minima[i];
    minima[i] = x < minima[i] ? x : minima[i];
  }
  return changed;
}

static void check_minima(const uint64_t *model, const unsigned char *minima, unsigned k)
{
  for (unsigned i = 0; i < k; i++) {
    CHECK_WITH(ps_load64(minima + 8 * i) == model[i], "function %u", i);
  }
}

/* Batches of many sizes, and single tokens between them, some of them seen before. */
static void check_code(const struct ps_minima_code *code, unsigned k, size_t skew)
{
  static const size_t sizes[] = {0, 1, 2, 7, 100, 511, 512, 513, 1500};
  static uint64_t hashes[1500];
  uint64_t *model = test_allocate(k * sizeof *model), state = k;
  unsigned char *block = test_allocate(8 * k + skew), *minima = block + skew;
  memset(model, 0xff, 8 * k);
  memset(minima, 0xff, 8 * k);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    size_t expected = 0;
    for (size_t i = 0; i < sizes[s]; i++) {
      hashes[i] = i % 3 == 2 ? hashes[i / 2] : test_random(&state);
      expected += model_add(model, k, hashes[i]);
    }
    CHECK(code->add_many(minima, k, hashes, sizes[s]) == expected);
    check_minima(model, minima, k);
    uint64_t one = test_random(&state);
    bool changed = model_add(model, k, one);
    CHECK(code->add(minima, k, one) == changed && !code->add(minima, k, one));
    check_minima(model, minima, k);
  }
  free(block);
  free(model);
}

static void check_codes(const struct ps_minima_code *code, bool shared)
{
  static const unsigned numbers[] = {1, 2, 3, 31, 32, 33, 63, 64, 100, 127, 128, 500};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    test_about("%u functions", numbers[i]);
    check_code(code, numbers[i], 0);
    check_code(code, numbers[i], 8);
    check_code(code, numbers[i], shared ? 16 : 5);
  }
}

static void codes(void)
{
  check_codes(&ps_minima_portable, false);
  check_codes(&ps_minima_shared, true);
  promise("the code for any processor keeps the minima of docs/FORMAT.md, shared or not");
#ifdef PS_MINIMA_X86
  const char *for_avx2 = "so does that for AVX2, to the bit";
  const char *for_avx512 = "so does that for AVX-512, to the bit, and is chosen";
  if (__builtin_cpu_supports("avx2")) {
    check_codes(&ps_minima_avx2, false);
    check_codes(&ps_minima_shared_avx2, true);
    CHECK(ps_minima_code(true) == &ps_minima_shared_avx2);
    promise("%s", for_avx2);
  } else {
    test_skip(for_avx2, "this processor has no AVX2");
  }
  if (__builtin_cpu_supports("avx512dq")) {
    CHECK(ps_minima_code(false) == &ps_minima_avx512);
    check_codes(&ps_minima_avx512, false);
    promise("%s", for_avx512);
  } else {
    test_skip(for_avx512, "this processor has no AVX-512");
  }
#endif
}

/* ---- sketches ---- */

static void make_minhash(struct specimen *specimen, unsigned hashes)
{
  struct variant variant = {"minhash", {{"hashes", hashes}}};
  make(specimen, &variant, 0);
}

static struct ps_minhash *minhash_in(struct specimen *specimen)
{
  return (struct ps_minhash *)sketch_in(specimen);
}

static void add_token(struct specimen *specimen, uint64_t hash)
{
  ps_minhash_add(minhash_in(specimen), hash);
}

static void clear_both(struct specimen pair[2])
{
  for (unsigned i = 0; i < 2; i++) {
    sketch_in(&pair[i])->kind->clear(sketch_in(&pair[i]));
  }
}

/* Two of 128 functions. */
static void make_pair(struct specimen pair[2])
{
  make_minhash(&pair[0], 128);
  make_minhash(&pair[1], 128);
}

static void discard_pair(struct specimen pair[2])
{
  discard(&pair[0]);
  discard(&pair[1]);
}

static double jaccard_of(struct specimen pair[2])
{
  double error, jaccard = ps_minhash_jaccard(minhash_in(&pair[0]), minhash_in(&pair[1]), &error);
  CHECK(fabs(error - sqrt(jaccard * (1 - jaccard) / 128)) < 1e-12);
  return jaccard;
}

struct moments {
  double n, sum, squares;
};

static void note(struct moments *moments, double x)
{
  moments->n++;
  moments->sum += x;
  moments->squares += x * x;
}

static double mean_of(const struct moments *moments)
{
  return moments->sum / moments->n;
}

static double variance_of(const struct moments *moments)
{
  return moments->squares / moments->n - mean_of(moments) * mean_of(moments);
}

/* Against the truth, and J (1 - J) / 128, with 4.5 standard errors of the mean, and 4.7 of the
 * variance. */
static void check_estimates(const struct moments *found, double jaccard)
{
  const double theory = jaccard * (1 - jaccard) / 128;
  const double error = mean_of(found) - jaccard, ratio = variance_of(found) / theory;
  CHECK_WITH(fabs(error) <= 0.005 && fabs(error) < 4.5 * sqrt(theory / found->n),
             "J %g: mean error %g", jaccard, error);
  CHECK_WITH(fabs(ratio - 1) <= 4.7 * sqrt(2 / found->n), "J %g: variance %g of theory", jaccard,
             ratio);
}

/* Sets of 300 keys. */
static void check_similarity(double wanted)
{
  const unsigned shared = (unsigned)(600 * wanted / (1 + wanted) + 0.5);
  struct specimen pair[2];
  struct moments found = {0, 0, 0};
  uint64_t key = (uint64_t)(wanted * 1e9);
  make_pair(pair);
  while (found.n < 2000) {
    clear_both(pair);
    for (unsigned i = 0; i < 600 - shared; i++, key++) {
      if (i < 300) {
        add_token(&pair[0], hash_of(key));
      }
      if (i >= 300 - shared) {
        add_token(&pair[1], hash_of(key));
      }
    }
    note(&found, jaccard_of(pair));
  }
  check_estimates(&found, shared / (600.0 - shared));
  discard_pair(pair);
}

static void similarities(void)
{
  check_similarity(0.1);
  check_similarity(0.3);
  check_similarity(0.5);
  check_similarity(0.7);
  check_similarity(0.9);
  promise("the similarity of sets of 300 is estimated without bias, at the variance J (1 - J) / k");
}

/* ---- minima ---- */

static int ascending(const void *a, const void *b)
{
  double x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: minima of n keys are at most x with the probability 1 - (1 - x)^n. The
 * statistic is above 2.225 once in 10^4 times (Stephens 1970). */
static void check_minima_of(unsigned hashes, size_t n)
{
  struct specimen specimen;
  double *found = test_allocate(hashes * sizeof *found), largest = 0;
  make_minhash(&specimen, hashes);
  add_keys(sketch_in(&specimen), 77, n);
  for (size_t i = 0; i < hashes; i++) {
    found[i] = (double)ps_load64(sketch_in(&specimen)->payload + 8 * i) / 0x1p64;
  }
  qsort(found, hashes, sizeof *found, ascending);
  for (size_t i = 0; i < hashes; i++) {
    double expected = -expm1((double)n * log1p(-found[i]));
    largest =
        fmax(largest, fmax((double)(i + 1) / hashes - expected, expected - (double)i / hashes));
  }
  double statistic = largest * (sqrt(hashes) + 0.12 + 0.11 / sqrt(hashes));
  CHECK_WITH(statistic < 2.225, "%u functions, %zu keys: %g", hashes, n, statistic);
  free(found);
  discard(&specimen);
}

static void distributions(void)
{
  check_minima_of(128, 1);
  check_minima_of(128, 300);
  check_minima_of(128, 20000);
  check_minima_of(MOST_FUNCTIONS, 1);
  check_minima_of(MOST_FUNCTIONS, 300);
  promise("minima are distributed as those of independent functions");
}

/* ---- large sets ----
 *
 * Of a large set only the tokens matter that have a low value in some function. They are drawn by
 * those values: of n tokens a Poisson number of mean 30 is below 30 / n, and all the minima are
 * among them. One that is low in several functions is drawn for the first of them. */

#define LOW 30

static double uniform(uint64_t *state)
{
  return ((double)(test_random(state) >> 11) + 0.5) / 0x1p53;
}

static unsigned poisson(double mean, uint64_t *state)
{
  unsigned n = 0;
  for (double product = uniform(state); product > exp(-mean); product *= uniform(state)) {
    n++;
  }
  return n;
}

/* By Newton's method: each step doubles the bits that are right, from 3 on. */
static uint64_t inverse(uint64_t odd)
{
  uint64_t x = odd;
  for (unsigned i = 0; i < 5; i++) {
    x *= 2 - odd * x;
  }
  return x;
}

/* In one of the first n functions? */
static bool is_low(unsigned n, uint64_t hash, uint64_t bound)
{
  for (unsigned i = 0; i < n; i++) {
    if (value(i, hash) < bound) {
      return true;
    }
  }
  return false;
}

/* Makes two sets that have n tokens together, half of them in both. */
static void fill_large(struct specimen pair[2], double n, uint64_t *state)
{
  const double bound = LOW / n * 0x1p64;
  for (unsigned i = 0; i < 128; i++) {
    for (unsigned left = poisson(LOW, state); left > 0; left--) {
      uint64_t low = (uint64_t)(uniform(state) * bound);
      uint64_t hash = (low - (UINT64_C(1) << 63)) * inverse(multiplier[i]);
      unsigned which = (unsigned)(test_random(state) >> 62); /* a quarter, a quarter, a half */
      if (is_low(i, hash, (uint64_t)bound)) {
        continue;
      }
      if (which != 0) {
        add_token(&pair[0], hash);
      }
      if (which != 1) {
        add_token(&pair[1], hash);
      }
    }
  }
}

static void large_sets(void)
{
  static const double sizes[] = {1e5, 1e8, 1e12};
  uint64_t state = 8;
  struct specimen pair[2];
  make_pair(pair);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct moments alike = {0, 0, 0}, count = {0, 0, 0};
    while (alike.n < 800) {
      clear_both(pair);
      fill_large(pair, sizes[i], &state);
      note(&alike, jaccard_of(pair));
      note(&count, ps_minhash_estimate(minhash_in(&pair[0])) / (0.75 * sizes[i]));
    }
    test_about("%g tokens", sizes[i]);
    check_estimates(&alike, 0.5);
    CHECK_WITH(fabs(mean_of(&count) - 1) < 4.5 / sqrt(126 * count.n), "%g", mean_of(&count));
  }
  promise("sets of 10^5 to 10^12 tokens are compared and counted without bias");
  discard_pair(pair);
}

/* ---- counts ---- */

static void check_count(unsigned hashes, unsigned n)
{
  struct specimen specimen;
  struct moments found = {0, 0, 0};
  uint64_t state = n;
  const double theory = 1 / sqrt(hashes - 2.0), trials = 4000;
  make_minhash(&specimen, hashes);
  while (found.n < trials) {
    sketch_in(&specimen)->kind->clear(sketch_in(&specimen));
    for (unsigned i = 0; i < n; i++) {
      add_token(&specimen, test_random(&state));
    }
    note(&found, ps_minhash_estimate(minhash_in(&specimen)) / n);
  }
  CHECK_WITH(fabs(mean_of(&found) - 1) < 4.5 * theory / sqrt(trials), "%u of %u: mean %g", n,
             hashes, mean_of(&found));
  CHECK_WITH(fabs(sqrt(variance_of(&found)) / theory - 1) < 0.1, "%u of %u: spread %g", n, hashes,
             sqrt(variance_of(&found)) / theory);
  discard(&specimen);
}

static void counts(void)
{
  check_count(128, 30);
  check_count(128, 300);
  check_count(40, 300);
  promise("the estimated number of tokens has no bias, and the error 1 / sqrt(k - 2)");
}

/* ---- unions ---- */

static void check_union(size_t of_a, size_t of_b, size_t shared)
{
  struct specimen pair[2], both;
  struct ps_error error;
  test_about("%zu and %zu keys, %zu of them shared", of_a, of_b, shared);
  make_pair(pair);
  make_minhash(&both, 128);
  add_keys(sketch_in(&pair[0]), 0, of_a);
  add_keys(sketch_in(&pair[1]), of_a - shared, of_b);
  add_keys(sketch_in(&both), 0, of_a - shared + of_b);
  struct bytes whole = encode(sketch_in(&both));
  CHECK(ps_merge(sketch_in(&pair[0]), sketch_in(&pair[1]), &error) == PS_OK);
  CHECK(still(sketch_in(&pair[0]), whole));
  CHECK(ps_merge(sketch_in(&pair[0]), sketch_in(&pair[0]), &error) == PS_OK);
  CHECK(ps_merge(sketch_in(&pair[1]), sketch_in(&pair[0]), &error) == PS_OK);
  CHECK(still(sketch_in(&pair[0]), whole) && still(sketch_in(&pair[1]), whole));
  free(whole.at);
  discard_pair(pair);
  discard(&both);
}

static void unions(void)
{
  check_union(0, 0, 0);
  check_union(10, 0, 0);
  check_union(0, 10, 0);
  for (size_t i = 1; i <= 100; i++) {
    check_union(3 * i, 5 * i, i);
  }
  promise("a merged signature is that of the union");
}

/* ---- empty sets ---- */

static void empty_sets(void)
{
  struct specimen pair[2];
  double error = 1;
  make_pair(pair);
  const struct ps_minhash *a = minhash_in(&pair[0]), *b = minhash_in(&pair[1]);
  CHECK(ps_minhash_jaccard(a, b, &error) == 1 && error == 0);
  CHECK(ps_minhash_estimate(a) == 0);
  add_token(&pair[0], hash_of(1));
  CHECK(ps_minhash_jaccard(a, b, &error) == 0 && error == 0);
  CHECK(ps_minhash_jaccard(b, a, &error) == 0 && error == 0);
  add_token(&pair[1], hash_of(1));
  CHECK(ps_minhash_jaccard(a, b, &error) == 1 && error == 0);
  promise("two empty sets are alike, and an empty one is not like any other");
  /* As of bytes that were read while a sketch was cleared. */
  memset(sketch_in(&pair[0])->payload, 0xff, 8 * 64);
  CHECK(ps_minhash_jaccard(a, b, &error) == 0.5);
  memset(sketch_in(&pair[1])->payload, 0xff, 8 * 32);
  CHECK(ps_minhash_jaccard(a, b, &error) == 64.0 / 96);
  CHECK(fabs(error - sqrt(2.0 / 9 / 96)) < 1e-12);
  promise("functions that have no value in either set say nothing");
  discard_pair(pair);
}

int main(void)
{
  make_multipliers();
  codes();
  similarities();
  distributions();
  large_sets();
  counts();
  unions();
  empty_sets();
  return test_end();
}
