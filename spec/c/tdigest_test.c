/* The t-digest against the sorted values themselves: its statistics, what it is exact for, and what
 * merging does to both. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "quantile/order.h"
#include "quantile/quantile.h"
#include "quantile/tdigest.h"
#include "sketches.h"

static struct ps_tdigest *digest_in(struct specimen *specimen)
{
  return (struct ps_tdigest *)(void *)&specimen->any;
}

static void make_digest(struct specimen *specimen, double compression)
{
  struct variant variant = {"tdigest", {{"compression", compression}}};
  make(specimen, &variant, 0);
}

static void add_all(struct specimen *specimen, const double *values, const uint64_t *weights,
                    size_t n)
{
  struct ps_error error;
  size_t changed;
  if (ps_tdigest.add_values(sketch_in(specimen), values, weights, n, &changed, &error) != PS_OK) {
    bail_out(error.message);
  }
}

static void merge_in(struct specimen *target, struct specimen *source)
{
  struct ps_error error;
  if (ps_merge(sketch_in(target), sketch_in(source), &error) != PS_OK) {
    bail_out(error.message);
  }
}

static double quantile(struct specimen *specimen, double q)
{
  return ps_tdigest_quantiles.quantile(sketch_in(specimen), q);
}

static double rank_of(struct specimen *specimen, double x)
{
  return ps_tdigest_quantiles.rank(sketch_in(specimen), x);
}

/* ---- values ---- */

static double uniform(uint64_t *state)
{
  return ((double)(test_random(state) >> 11) + 0.5) * 0x1p-53;
}

static double lognormal(uint64_t *state)
{
  double radius = sqrt(-2 * log(uniform(state)));
  return exp(radius * cos(2 * 3.14159265358979 * uniform(state)));
}

static int ascending(const void *a, const void *b)
{
  double x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

enum shape { UNIFORM, LOGNORMAL, PARETO, SORTED, REVERSED, SAWTOOTH, FEW, SHAPES };

static const char *const shape_names[] = {"uniform",  "lognormal", "Pareto(1.1)",  "sorted",
                                          "reversed", "sawtooth",  "few different"};

static double draw(enum shape shape, uint64_t *state, size_t i)
{
  switch (shape) {
  case LOGNORMAL:
    return lognormal(state);
  case PARETO:
    return pow(uniform(state), -1 / 1.1);
  case SAWTOOTH:
    return (double)(i % 1000) + uniform(state);
  case FEW:
    return (double)(test_random(state) % 17);
  default:
    return uniform(state);
  }
}

/* An exact model: the values as they come, and sorted. */
struct stream {
  size_t n;
  double *values;
  uint64_t *sorted, *other; /* the same as integers of the same order */
};

static struct stream stream_of(size_t n)
{
  return (struct stream){n, test_allocate(n * sizeof(double)), test_allocate(n * sizeof(uint64_t)),
                         test_allocate(n * sizeof(uint64_t))};
}

static void free_stream(struct stream *stream)
{
  free(stream->values);
  free(stream->sorted);
  free(stream->other);
}

static void sort_stream(struct stream *stream)
{
  for (size_t i = 0; i < stream->n; i++) {
    stream->sorted[i] = ps_order_of(stream->values[i]);
  }
  ps_sort(stream->sorted, stream->n, stream->other);
}

static void fill_stream(struct stream *stream, enum shape shape, uint64_t seed)
{
  const size_t n = stream->n;
  uint64_t state = seed << 32 | (uint64_t)shape;
  for (size_t i = 0; i < n; i++) {
    stream->values[i] = draw(shape, &state, i);
  }
  sort_stream(stream);
  for (size_t i = 0; i < n && (shape == SORTED || shape == REVERSED); i++) {
    stream->values[i] = ps_order_value(stream->sorted[shape == SORTED ? i : n - 1 - i]);
  }
}

static size_t count_below(const struct stream *stream, uint64_t x)
{
  size_t low = 0, high = stream->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (stream->sorted[middle] < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* How far q is from the fractions of the values that are below x, and not above it. */
static double rank_error(const struct stream *stream, double q, double x)
{
  double n = (double)stream->n, low = (double)count_below(stream, ps_order_of(x)) / n;
  double high = (double)count_below(stream, ps_order_of(x) + 1) / n;
  return fmax(0, fmax(low - q, q - high));
}

/* ---- accuracy ---- */

#define FRACTIONS 5

static const double fractions[FRACTIONS] = {0.001, 0.01, 0.5, 0.99, 0.999};

static void check_answers(struct specimen *specimen, const struct stream *stream)
{
  double last = quantile(specimen, 0), last_rank = 0;
  CHECK(last == ps_order_value(stream->sorted[0]));
  CHECK(quantile(specimen, 1) == ps_order_value(stream->sorted[stream->n - 1]));
  for (int i = 0; i <= 10000; i++) {
    double q = i / 10000.0, x = quantile(specimen, q), rank = rank_of(specimen, x);
    CHECK_WITH(x >= last, "at %g", q);
    CHECK_WITH(rank >= last_rank && rank <= 1, "at %g", q);
    last = x;
    last_rank = rank;
  }
  CHECK(ps_tdigest_centroids(digest_in(specimen))->n <= 200);
  CHECK(sketch_in(specimen)->held == ps_tdigest.size(sketch_in(specimen)));
}

/* The mean error over streams of n values. A centroid at q has up to 0.18 q (1 - q) of a million;
 * interpolation within it is off by a fiftieth of that where the density is even, a thirtieth where
 * it falls most, and by a value or two at the ends. Bounds are about half as much again. */
static void check_accuracy(size_t n, uint64_t streams, const double most[])
{
  struct stream stream = stream_of(n);
  for (enum shape shape = 0; shape < SHAPES; shape++) {
    double errors[FRACTIONS] = {0};
    test_about("%s, %zu values", shape_names[shape], n);
    for (uint64_t seed = 1; seed <= streams; seed++) {
      struct specimen specimen;
      make_digest(&specimen, 100);
      fill_stream(&stream, shape, seed);
      add_all(&specimen, stream.values, NULL, n);
      for (int i = 0; i < FRACTIONS; i++) {
        errors[i] += rank_error(&stream, fractions[i], quantile(&specimen, fractions[i]));
      }
      check_answers(&specimen, &stream);
      discard(&specimen);
    }
    for (int i = 0; i < FRACTIONS; i++) {
      double error = errors[i] / (double)streams;
      CHECK_WITH(error <= most[i], "%g at %g", error, fractions[i]);
    }
    CHECK((shape == FEW) == (errors[2] == 0) || shape == SAWTOOTH);
  }
  free_stream(&stream);
}

static void accuracy(bool at_length)
{
  static const double of_a_million[] = {2e-5, 1e-4, 2.5e-3, 1e-4, 2e-5};
  static const double of_few[] = {2e-4, 6e-4, 4e-3, 6e-4, 2e-4};
  check_accuracy(20000, 5, of_few);
  promise("quantiles have the rank that is asked for, are monotone and within the extremes");
  if (at_length) {
    check_accuracy(1000000, 20, of_a_million);
    promise("of a million values within 0.25 %% at the median, 0.01 %% at 0.99, 0.002 %% at 0.999");
  } else {
    test_skip("of a million values within 0.25 % at the median", "long");
  }
}

/* ---- what is exact ---- */

static void check_exact(struct specimen *specimen, const struct stream *stream)
{
  const size_t n = stream->n;
  double sum = 0;
  for (size_t k = 0; k < n; k++) {
    double x = ps_order_value(stream->sorted[k]);
    size_t up_to = count_below(stream, stream->sorted[k] + 1);
    double q = n > 1 ? ((double)k + 0.25) / (double)(n - 1) : 0.5;
    CHECK_WITH(quantile(specimen, fmin(q, 1)) == x, "value %zu", k);
    CHECK_WITH(rank_of(specimen, x) == (double)up_to / (double)n, "rank of value %zu", k);
    CHECK(rank_of(specimen, nextafter(x, -(double)INFINITY)) ==
          (double)count_below(stream, stream->sorted[k]) / (double)n);
    sum += x;
  }
  CHECK(fabs(ps_tdigest_quantiles.sum(sketch_in(specimen)) - sum) <= 1e-12 * fabs(sum));
}

/* Distinct or not, in any order. */
static void check_few(size_t n, uint64_t different)
{
  struct stream stream = stream_of(n);
  struct specimen specimen;
  uint64_t state = n;
  test_about("%zu values, %ju of them different", n, (uintmax_t)different);
  for (size_t i = 0; i < n; i++) {
    stream.values[i] = 1 + (double)(test_random(&state) % different) / 8;
  }
  sort_stream(&stream);
  make_digest(&specimen, 100);
  add_all(&specimen, stream.values, NULL, n);
  check_exact(&specimen, &stream);
  discard(&specimen);
  free_stream(&stream);
}

static void exactness(void)
{
  for (size_t n = 1; n <= 200; n += n < 5 ? 1 : 13) {
    check_few(n, UINT64_C(1) << 40);
    check_few(n, 5);
  }
  check_few(1024, UINT64_C(1) << 40);
  check_few(5000, 200);
  check_few(50000, 17);
  promise("of up to 1024 values, or 200 different ones, all ranks and quantiles are exact");
}

/* Until they are more than are kept before they are joined. */
static void order(void)
{
  double values[PS_INSERT_MAX];
  struct specimen whole, parts[2], both, other;
  uint64_t state = 5;
  for (size_t i = 0; i < PS_INSERT_MAX; i++) {
    values[i] = floor(lognormal(&state) * 1000);
  }
  make_digest(&whole, 100);
  add_all(&whole, values, NULL, PS_INSERT_MAX);
  for (size_t i = 0; i < 2; i++) {
    make_digest(&parts[i], 100);
    add_all(&parts[i], values + (1 - i) * 400, NULL, i == 0 ? PS_INSERT_MAX - 400 : 400);
  }
  copy_into(&both, sketch_in(&parts[0]));
  merge_in(&both, &parts[1]);
  copy_into(&other, sketch_in(&parts[1]));
  merge_in(&other, &parts[0]);
  CHECK(ps_equal(sketch_in(&both), sketch_in(&whole)));
  CHECK(ps_equal(sketch_in(&other), sketch_in(&whole)));
  CHECK(sketch_in(&both)->held == sketch_in(&whole)->held);
  CHECK(!digest_in(&whole)->joined);
  add_all(&whole, values, NULL, 1);
  add_all(&both, values, NULL, 1);
  CHECK(digest_in(&whole)->joined && ps_equal(sketch_in(&both), sketch_in(&whole)));
  promise("up to %d values are the same digest in any order and however they are split",
          PS_INSERT_MAX);
  discard(&whole);
  discard(&both);
  discard(&other);
  discard(&parts[0]);
  discard(&parts[1]);
}

/* ---- the parts that are left of a mean ---- */

static double exact_trimmed_mean(const double *sorted, size_t n, double low, double high)
{
  double sum = 0, from = low * (double)n, to = high * (double)n;
  for (size_t i = 0; i < n; i++) {
    double part = fmin(to, (double)(i + 1)) - fmax(from, (double)i);
    sum += part > 0 ? part * sorted[i] : 0;
  }
  return sum / (to - from);
}

static void check_trimmed(size_t n, double slack)
{
  static const double cuts[][2] = {{0, 1},      {0.25, 0.75}, {0, 0.1}, {0.9, 1},
                                   {0.5, 0.51}, {0.1, 0.999}, {0, 1e-6}};
  struct specimen specimen;
  double *values = test_allocate(n * sizeof *values);
  uint64_t state = n;
  for (size_t i = 0; i < n; i++) {
    values[i] = lognormal(&state);
  }
  make_digest(&specimen, 100);
  add_all(&specimen, values, NULL, n);
  qsort(values, n, sizeof *values, ascending);
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    double low = cuts[i][0], high = cuts[i][1];
    double exact = exact_trimmed_mean(values, n, low, high);
    double mean = ps_tdigest_trimmed_mean(digest_in(&specimen), low, high);
    CHECK_WITH(fabs(mean / exact - 1) <= slack, "%g for %g, from %g to %g of %zu", mean, exact, low,
               high, n);
  }
  discard(&specimen);
  free(values);
}

static void trimmed_means(void)
{
  check_trimmed(1, 1e-15);
  check_trimmed(7, 1e-14);
  check_trimmed(1024, 1e-14);
  check_trimmed(100000, 0.02);
  promise("trimmed means are those of the values, exactly while these are known");
}

/* ---- merging ---- */

#define PARTS 1000
#define PART 1000

static void make_part(struct specimen *part, const struct stream *stream, size_t i)
{
  make_digest(part, 100);
  add_all(part, stream->values + i * PART, NULL, PART);
}

/* All of them in the order given, one after the other or in pairs, pairs of pairs and so on. */
static void merge_parts(struct specimen *whole, const struct stream *stream, const uint64_t *order,
                        size_t n, bool in_pairs)
{
  struct specimen half;
  if (n == 1) {
    make_part(whole, stream, order[0]);
    return;
  }
  size_t rest = in_pairs ? n / 2 : 1;
  merge_parts(whole, stream, order, n - rest, in_pairs);
  merge_parts(&half, stream, order + n - rest, rest, in_pairs);
  merge_in(whole, &half);
  discard(&half);
}

static void shuffle(uint64_t *order, size_t n, uint64_t *state)
{
  for (size_t i = 0; i < n; i++) {
    size_t j = (size_t)(test_random(state) % (i + 1));
    order[i] = order[j];
    order[j] = i;
  }
}

static const double merged_fractions[] = {0.01, 0.1, 0.5, 0.9, 0.99};

/* Adds the errors at each fraction; at none may one be above 1.5 %. */
static void add_errors(double errors[], struct specimen *specimen, const struct stream *stream)
{
  for (size_t i = 0; i < 5; i++) {
    double q = merged_fractions[i], error = rank_error(stream, q, quantile(specimen, q));
    CHECK_WITH(error <= 0.015, "%g at %g", error, q);
    errors[i] += error;
  }
  CHECK(digest_in(specimen)->count == stream->n);
  CHECK(quantile(specimen, 0) == ps_order_value(stream->sorted[0]));
  CHECK(quantile(specimen, 1) == ps_order_value(stream->sorted[stream->n - 1]));
}

/* Errors over the fractions are compared in units of q (1 - q), as they are allowed to grow. */
static double weigh(const double errors[])
{
  double sum = 0;
  for (size_t i = 0; i < 5; i++) {
    sum += errors[i] / (merged_fractions[i] * (1 - merged_fractions[i]));
  }
  return sum;
}

static void merging(bool at_length)
{
  const unsigned orders = at_length ? 20 : 4;
  struct stream stream = stream_of((size_t)PARTS * PART);
  double single[5] = {0}, chain[5] = {0}, tree[5] = {0};
  uint64_t order[PARTS], state = 3;
  for (unsigned i = 0; i < orders; i++) {
    struct specimen specimen;
    test_about("order %u", i);
    fill_stream(&stream, LOGNORMAL, 1000 + i);
    shuffle(order, PARTS, &state);
    make_digest(&specimen, 100);
    add_all(&specimen, stream.values, NULL, stream.n);
    add_errors(single, &specimen, &stream);
    discard(&specimen);
    merge_parts(&specimen, &stream, order, PARTS, false);
    add_errors(chain, &specimen, &stream);
    discard(&specimen);
    merge_parts(&specimen, &stream, order, PARTS, true);
    add_errors(tree, &specimen, &stream);
    discard(&specimen);
  }
  CHECK_WITH(weigh(chain) <= 1.5 * weigh(single), "%g, alone %g", weigh(chain), weigh(single));
  CHECK_WITH(weigh(tree) <= 1.5 * weigh(single), "%g, alone %g", weigh(tree), weigh(single));
  promise("a thousand digests merged, one by one or in pairs, err at most half more than one");
  free_stream(&stream);
}

/* ---- numbers at the ends of what doubles hold ---- */

static bool is_sound(struct specimen *specimen, double low, double high)
{
  const struct ps_centroids *list = ps_tdigest_centroids(digest_in(specimen));
  bool sound = true;
  for (size_t i = 0; i < list->n; i++) {
    double x = ps_centroid_value(list, i);
    sound = sound && x >= low && x <= high && (i == 0 || x >= ps_centroid_value(list, i - 1));
  }
  return sound;
}

static void check_huge(double scale, uint64_t weight)
{
  struct specimen specimen;
  uint64_t state = weight;
  make_digest(&specimen, 20);
  for (size_t i = 0; i < 20000; i++) {
    double x = (2 * uniform(&state) - 1) * scale;
    add_all(&specimen, &x, &weight, 1);
  }
  test_about("values up to %g of weight %ju", scale, (uintmax_t)weight);
  double mean = ps_tdigest_quantiles.mean(sketch_in(&specimen));
  CHECK(is_sound(&specimen, -scale, scale));
  /* Four standard errors of the mean and the median of 20,000 evenly spread values. */
  CHECK_WITH(fabs(mean / scale) <= 4 * sqrt(1 / 3.0 / 20000), "%g", mean);
  CHECK(fabs(quantile(&specimen, 0.5) / scale) <= 4 / sqrt(20000) + 0.1);
  CHECK(fabs(quantile(&specimen, 0.25) / scale + 0.5) <= 0.1);
  CHECK(fabs(rank_of(&specimen, scale / 2) - 0.75) <= 0.05);
  CHECK(fabs(ps_tdigest_trimmed_mean(digest_in(&specimen), 0.5, 1) / scale - 0.5) <= 0.05);
  discard(&specimen);
}

static void extremes(void)
{
  check_huge(1, 1);
  check_huge(DBL_MAX, 1);
  check_huge(DBL_MAX, UINT64_C(1) << 36);
  check_huge(1e-310, 1);
  promise("means and answers are sound up to the largest numbers, weighed as may be");
}

int main(int argc, char **argv)
{
  bool at_length = argc > 1 && strcmp(argv[1], "long") == 0;
  accuracy(at_length);
  exactness();
  order();
  trimmed_means();
  merging(at_length);
  extremes();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
