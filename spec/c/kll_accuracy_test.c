/* How far the ranks and histograms of a kll are off, for any shape of stream, any k and any order
 * of merging. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "klls.h"

/* ---- streams ---- */

#define VALUES 100000

static uint64_t chance = 1;

static double uniform(void)
{
  return ((double)(test_random(&chance) >> 11) + 0.5) * 0x1p-53;
}

static int ascending(const void *a, const void *b)
{
  double x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* All values in ascending order, and then in that of the stream. */
static double sorted[VALUES], stream[VALUES];

static void shuffle(void)
{
  for (size_t i = 0; i < VALUES; i++) {
    size_t at = test_random(&chance) % (i + 1);
    stream[i] = stream[at];
    stream[at] = sorted[i];
  }
}

static void sort_lognormal(void)
{
  for (size_t i = 0; i < VALUES; i++) {
    sorted[i] = exp(sqrt(-2 * log(uniform())) * cos(2 * 3.14159265358979 * uniform()));
  }
  qsort(sorted, VALUES, sizeof *sorted, ascending);
}

static void sort_uniform(void)
{
  for (size_t i = 0; i < VALUES; i++) {
    sorted[i] = (double)i;
  }
}

static void in_order(void)
{
  memcpy(stream, sorted, sizeof stream);
}

static void sawtooth(void)
{
  for (size_t i = 0; i < VALUES; i++) {
    stream[i] = sorted[i % 1000 * (VALUES / 1000) + i / 1000];
  }
}

static const struct shape {
  const char *name;
  void (*sort)(void), (*arrange)(void);
} shapes[] = {
    {"uniform", sort_uniform, shuffle},
    {"lognormal", sort_lognormal, shuffle},
    {"sorted", sort_uniform, in_order},
    {"sawtooth", sort_uniform, sawtooth},
};

/* ---- errors ---- */

/* The fraction of the values that are <= x. */
static double fraction(double x)
{
  size_t low = 0, high = VALUES;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sorted[middle] <= x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return (double)low / VALUES;
}

static double quantile_error(struct specimen *specimen, double q)
{
  return fraction(ps_kll_quantiles.quantile(sketch_in(specimen), q)) - q;
}

static double rank_error_at(struct specimen *specimen, double x)
{
  return ps_kll_quantiles.rank(sketch_in(specimen), x) - fraction(x);
}

static double largest_rank_error(struct specimen *specimen)
{
  double largest = 0;
  for (int i = 1; i < 100; i++) {
    largest = fmax(largest, fabs(quantile_error(specimen, i / 100.0)));
    largest = fmax(largest, fabs(rank_error_at(specimen, sorted[VALUES / 100 * i])));
  }
  return largest;
}

/* Of 50 bins. */
static double largest_bin_error(struct specimen *specimen)
{
  double largest = 0, last = 0;
  for (int i = 1; i <= 50; i++) {
    double error = i < 50 ? rank_error_at(specimen, sorted[VALUES / 50 * i]) : 0;
    largest = fmax(largest, fabs(error - last));
    last = error;
  }
  return largest;
}

struct errors {
  int streams, ranks_off, bins_off; /* of which so many are off by more than is promised */
  double squares, sum;              /* of errors at the median */
};

static struct errors errors_of(const struct shape *shape, uint32_t k, int streams)
{
  struct errors errors = {.streams = streams};
  shape->sort();
  for (int i = 0; i < streams; i++) {
    struct specimen specimen;
    make_kll(&specimen, k, (uint64_t)i);
    shape->arrange();
    add(&specimen, stream, NULL, VALUES);
    errors.ranks_off += largest_rank_error(&specimen) > ps_kll_rank_error(kll_in(&specimen));
    errors.bins_off += largest_bin_error(&specimen) > ps_kll_histogram_error(kll_in(&specimen));
    double error = rank_error_at(&specimen, sorted[VALUES / 2]);
    errors.squares += error * error;
    errors.sum += error;
    discard(&specimen);
  }
  return errors;
}

static void streams(int n)
{
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    test_about("%s", shapes[i].name);
    struct errors errors = errors_of(&shapes[i], 200, n);
    double rms = sqrt(errors.squares / errors.streams);
    CHECK_WITH(errors.ranks_off <= (n + 49) / 50, "%d", errors.ranks_off);
    CHECK_WITH(errors.bins_off <= (n + 49) / 50, "%d", errors.bins_off);
    CHECK_WITH(rms <= 0.0035, "%g", rms);
    CHECK_WITH(rms >= 0.0005, "%g", rms);
    CHECK_WITH(fabs(errors.sum / errors.streams) <= 4 * rms / sqrt(errors.streams), "%g",
               errors.sum / errors.streams);
  }
  promise("k = 200: ranks are within 1.25 %% and histograms within 1.5 %% in 98 of 100 streams");
}

static void other_k(int n)
{
  static const uint32_t ks[] = {8, 9, 16, 50, 1000};
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
    test_about("k = %u", ks[i]);
    struct errors errors = errors_of(&shapes[0], ks[i], n);
    CHECK_WITH(errors.ranks_off <= (n + 49) / 50, "%d", errors.ranks_off);
    CHECK_WITH(errors.bins_off <= (n + 49) / 50, "%d", errors.bins_off);
  }
  promise("any k: ranks are within 2.5 / k and histograms within 3 / k in 98 of 100 streams");
}

/* ---- merging ---- */

#define PARTS 1000
#define PART (VALUES / PARTS * 10) /* each value comes ten times */

static void fill_parts(struct specimen parts[], uint64_t seed)
{
  for (size_t i = 0; i < PARTS; i++) {
    if (i % (PARTS / 10) == 0) {
      shuffle();
    }
    make_kll(&parts[i], 200, seed);
    add(&parts[i], stream + i % (PARTS / 10) * PART, NULL, PART);
  }
}

/* In place, so that parts[0] has all of them. */
static void merge_chain(struct specimen parts[])
{
  for (size_t i = 1; i < PARTS; i++) {
    merge(&parts[0], &parts[i]);
  }
}

static void merge_tree(struct specimen parts[])
{
  for (size_t step = 1; step < PARTS; step *= 2) {
    for (size_t i = 0; i + step < PARTS; i += 2 * step) {
      merge(&parts[i], &parts[i + step]);
    }
  }
}

static void check_orders(void (*merge_all)(struct specimen parts[]))
{
  static struct specimen parts[PARTS], merged[PARTS];
  static const double fractions[] = {0.01, 0.1, 0.5, 0.9, 0.99};
  fill_parts(parts, 0);
  for (int order = 0; order < 20; order++) {
    for (size_t i = 0; i < PARTS; i++) {
      size_t at = test_random(&chance) % (i + 1);
      struct specimen moved = parts[i];
      parts[i] = parts[at];
      parts[at] = moved;
    }
    for (size_t i = 0; i < PARTS; i++) {
      copy_into(&merged[i], sketch_in(&parts[i]));
    }
    merge_all(merged);
    CHECK(ps_kll.count(sketch_in(&merged[0])) == (uint64_t)PARTS * PART);
    CHECK(ps_kll_quantiles.min(sketch_in(&merged[0])) == sorted[0]);
    CHECK(ps_kll_quantiles.max(sketch_in(&merged[0])) == sorted[VALUES - 1]);
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
      double error = fabs(quantile_error(&merged[0], fractions[i]));
      CHECK_WITH(error <= ps_kll_rank_error(kll_in(&merged[0])), "%g at %g", error, fractions[i]);
    }
    for (size_t i = 0; i < PARTS; i++) {
      discard(&merged[i]);
    }
  }
  for (size_t i = 0; i < PARTS; i++) {
    discard(&parts[i]);
  }
}

static void orders(void)
{
  sort_lognormal();
  test_about("a chain");
  check_orders(merge_chain);
  test_about("a tree");
  check_orders(merge_tree);
  promise("1000 sketches may be merged in any order");
}

/* The RMS error at the median of sketches merged from `n`, all of one seed or each of another. */
static double merged_error(bool one_seed, int rounds, int n)
{
  double squares = 0;
  for (int round = 0; round < rounds; round++) {
    struct specimen all;
    make_kll(&all, 200, 0);
    for (int i = 0; i < n; i++) {
      struct specimen part;
      make_kll(&part, 200, one_seed ? 0 : test_random(&chance));
      shuffle();
      add(&part, stream, NULL, VALUES);
      merge(&all, &part);
      discard(&part);
    }
    double error = rank_error_at(&all, sorted[VALUES / 2]);
    squares += error * error;
    discard(&all);
  }
  return sqrt(squares / rounds);
}

/* The error of one part is 0.25 %. If it had the same sign in all, the merged ones would have it,
 * and that of their merging. */
static void seeds(bool at_length)
{
  static const char promised[] = "sketches of one seed, merged, err like those of different ones";
  if (!at_length) {
    test_skip(promised, "takes 6 s: give \"long\"");
    return;
  }
  sort_uniform();
  double same = merged_error(true, 100, 16), unlike = merged_error(false, 100, 16);
  test_about("one seed %g, different ones %g", same, unlike);
  CHECK(same <= 1.3 * unlike && unlike <= 1.3 * same);
  promise("%s", promised);
}

int main(int argc, char **argv)
{
  const bool at_length = argc > 1 && strcmp(argv[1], "long") == 0;
  streams(at_length ? 500 : 50);
  other_k(at_length ? 200 : 50);
  orders();
  seeds(at_length);
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
