/* Speed, size and error of the kinds that answer: which percentile? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "quantile/ddsketch.h"
#include "quantile/kll.h"
#include "quantile/order.h"
#include "quantile/quantile.h"
#include "quantile/tdigest.h"

static const struct contender {
  const struct ps_kind *kind;
  struct bench_option options[2];
} contenders[] = {
    {&ps_tdigest, {{"compression", 100}}},
    {&ps_kll, {{"k", 200}}},
    {&ps_ddsketch, {{"relative_accuracy", 0.01}}},
};

#define VALUES 1000000

/* Sketches that are merged: so many, of so many values each. */
#define PARTS 20
#define PART (VALUES / PARTS)

/* Short operations are measured so many at a time. */
#define CALLS 1000

/* Errors are those of so many streams of VALUES. */
#define STREAMS 20

/* ---- values ---- */

static double uniform(uint64_t number)
{
  return ((double)(bench_random(number) >> 11) + 0.5) * 0x1p-53;
}

/* Latencies in ms, say: the median is 20, one in a hundred above 200. */
static double lognormal(uint64_t number)
{
  double radius = sqrt(-2 * log(uniform(2 * number)));
  return exp(3 + radius * cos(2 * 3.14159265358979 * uniform(2 * number + 1)));
}

static double ascending(uint64_t number)
{
  return (double)(number % VALUES);
}

static double descending(uint64_t number)
{
  return (double)(VALUES - number % VALUES);
}

static double identical(uint64_t number)
{
  (void)number;
  return 42;
}

static double sawtooth(uint64_t number)
{
  return (double)(number % 1000);
}

static double growing(uint64_t number)
{
  double i = (double)(number % VALUES);
  return number % 2 == 0 ? i * i : -i * i;
}

/* Values that differ in their last bits only. */
static double nearly_one(uint64_t number)
{
  return 1 + (double)(bench_random(number) >> 44) * 0x1p-52;
}

static const struct shape {
  const char *name;
  double (*value)(uint64_t number);
} shapes[] = {
    {"lognormal", lognormal}, /* the one that others are compared with */
    {"uniform", uniform},
    {"ascending", ascending},
    {"descending", descending},
    {"identical", identical},
    {"sawtooth", sawtooth},
    {"growing amplitude", growing},
    {"differing in the last bits", nearly_one},
};

#define SHAPES (sizeof shapes / sizeof *shapes)

static double *values_of(double (*value)(uint64_t number), uint64_t first, size_t n)
{
  double *values = bench_allocate(n * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    values[i] = value(first + i);
  }
  return values;
}

/* ---- sketches ---- */

static void make(struct bench_sketch *made, const struct contender *contender)
{
  bench_make(made, contender->kind, contender->options);
}

static void add(struct ps_sketch *sketch, const double *values, size_t n)
{
  struct ps_error error;
  size_t changed;
  if (sketch->kind->add_values(sketch, values, NULL, n, &changed, &error) != PS_OK) {
    bench_fail(error.message);
  }
}

static void add_all(struct ps_sketch *sketch, const double *values, size_t n)
{
  for (size_t at = 0; at < n; at += BENCH_BATCH) {
    add(sketch, values + at, n - at < BENCH_BATCH ? n - at : BENCH_BATCH);
  }
}

static void make_filled(struct bench_sketch *made, const struct contender *contender,
                        uint64_t first, size_t n)
{
  double *values = values_of(lognormal, first, n);
  make(made, contender);
  add_all(&made->any.sketch, values, n);
  free(values);
}

static double quantile(const struct ps_sketch *sketch, double q)
{
  return sketch->kind->quantiles->quantile(sketch, q);
}

/* ---- updates ---- */

/* The least that an exact answer to anything takes: minimum, maximum and sum. */
static uint64_t extremes(struct bench_run *run)
{
  const double *values = run->more;
  double min = INFINITY, max = -INFINITY, sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    min = values[i] < min ? values[i] : min;
    max = values[i] > max ? values[i] : max;
    sum += values[i];
  }
  return min + max < sum;
}

static uint64_t add_each(struct bench_run *run)
{
  const double *values = run->more;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    add(run->sketch, values + i, 1);
  }
  return 0;
}

static uint64_t add_batches(struct bench_run *run)
{
  add_all(run->sketch, (const double *)run->more + run->from, run->n);
  return 0;
}

static void measure_updates(const struct contender *contender)
{
  struct bench_sketch made;
  make(&made, contender);
  double random = NAN;
  bench_title("%s, updates", contender->kind->name);
  bench_columns("ns", "extremes", "lognormal");
  for (size_t i = 0; i < SHAPES; i++) {
    double *values = values_of(shapes[i].value, 0, VALUES);
    struct bench_run run = {.sketch = &made.any.sketch, .n = VALUES, .more = values};
    /* What is sorted is cheap at one end of the stream and dear at the other. */
    double floor = bench_least(extremes, NULL, &run);
    double each = bench_least(add_each, bench_clear, &run);
    double batches = bench_least(add_batches, bench_clear, &run);
    char name[64];
    snprintf(name, sizeof name, "%s, one by one", shapes[i].name);
    bench_row(name, each, floor, NAN);
    snprintf(name, sizeof name, "%s, batches", shapes[i].name);
    bench_row(name, batches, floor, random);
    if (i == 0) {
      random = batches;
    }
    free(values);
  }
  bench_free(&made);
}

/* ---- answers, and whole sketches ---- */

static uint64_t ask_quantile(struct bench_run *run)
{
  double sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += quantile(run->sketch, (double)(i % CALLS) / CALLS);
  }
  return (uint64_t)sum;
}

static uint64_t ask_rank(struct bench_run *run)
{
  double sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += run->sketch->kind->quantiles->rank(run->sketch, (double)(i % CALLS));
  }
  return (uint64_t)sum;
}

static uint64_t add_and_ask(struct bench_run *run)
{
  double sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    add(run->sketch, (const double *)run->more + i, 1);
    sum += quantile(run->sketch, 0.99);
  }
  return (uint64_t)sum;
}

static uint64_t merge(struct bench_run *run)
{
  const struct bench_sketch *parts = run->more;
  struct ps_error error;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    if (ps_merge(run->sketch, &parts[i % PARTS].any.sketch, &error) != PS_OK) {
      bench_fail(error.message);
    }
  }
  return 0;
}

static uint64_t encode(struct bench_run *run)
{
  static struct ps_encoder encoder __attribute__((aligned(64)));
  size_t size = (size_t)ps_encoder_scratch(run->sketch);
  unsigned char *scratch = bench_allocate(size), piece[1024];
  uint64_t encoded = 0;
  for (size_t i = 0; i < run->n; i++) {
    ps_encoder_start(&encoder, run->sketch, PS_TIGHT, scratch);
    encoded = encoder.total;
    while (ps_encoder_read(&encoder, piece, sizeof piece) > 0) {
    }
  }
  free(scratch);
  return encoded;
}

static void measure_whole(const struct contender *contender)
{
  struct bench_sketch made, target, parts[PARTS];
  make_filled(&made, contender, 0, VALUES);
  make(&target, contender);
  for (uint64_t i = 0; i < PARTS; i++) {
    make_filled(&parts[i], contender, (i + 1) << 40, PART);
  }
  double *values = values_of(lognormal, VALUES, CALLS);
  struct bench_run run = {.sketch = &made.any.sketch, .n = CALLS, .window = CALLS / 20};
  bench_title("%s, %d values", contender->kind->name, VALUES);
  bench_columns("ns", NULL, NULL);
  bench_row("quantile, again", bench_least(ask_quantile, NULL, &run), NAN, NAN);
  bench_row("rank, again", bench_least(ask_rank, NULL, &run), NAN, NAN);
  bench_row("encode", bench_least(encode, NULL, &run), NAN, NAN);
  run.more = values;
  bench_row("add, then quantile", bench_least(add_and_ask, NULL, &run), NAN, NAN);
  run = (struct bench_run){
      .sketch = &target.any.sketch, .n = CALLS, .window = CALLS / 20, .more = parts};
  bench_row("merge", bench_least(merge, bench_clear, &run), NAN, NAN);
  free(values);
  for (int i = 0; i < PARTS; i++) {
    bench_free(&parts[i]);
  }
  bench_free(&target);
  bench_free(&made);
}

/* ---- size and error ---- */

static const double fractions[] = {0.01, 0.5, 0.9, 0.99, 0.999};

#define FRACTIONS (sizeof fractions / sizeof *fractions)

/* How many of the sorted values are below x. */
static size_t below(const uint64_t *sorted, size_t n, uint64_t x)
{
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sorted[middle] < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* How far q is from the fractions of the values that are below x, and not above it. */
static double rank_error(const uint64_t *sorted, size_t n, double q, double x)
{
  double low = (double)below(sorted, n, ps_order_of(x)) / (double)n;
  double high = (double)below(sorted, n, ps_order_of(x) + 1) / (double)n;
  return fmax(0, fmax(low - q, q - high));
}

static void measure_error(const struct contender *contender, const struct shape *shape)
{
  double squares[FRACTIONS] = {0}, relative = 0, held = 0, encoded = 0;
  uint64_t *sorted = bench_allocate(VALUES * sizeof *sorted);
  uint64_t *other = bench_allocate(VALUES * sizeof *other);
  for (uint64_t stream = 0; stream < STREAMS; stream++) {
    struct bench_sketch made;
    double *values = values_of(shape->value, (stream + 1) << 40, VALUES);
    make(&made, contender);
    add_all(&made.any.sketch, values, VALUES);
    for (size_t i = 0; i < VALUES; i++) {
      sorted[i] = ps_order_of(values[i]);
    }
    ps_sort(sorted, VALUES, other);
    for (size_t i = 0; i < FRACTIONS; i++) {
      double x = quantile(&made.any.sketch, fractions[i]);
      double truth = ps_order_value(sorted[(size_t)(fractions[i] * (VALUES - 1))]);
      squares[i] += pow(rank_error(sorted, VALUES, fractions[i], x), 2);
      relative = fmax(relative, fabs(x / truth - 1));
    }
    struct bench_run once = {.sketch = &made.any.sketch, .n = 1};
    encoded += (double)encode(&once);
    held += (double)made.any.sketch.held;
    bench_free(&made);
    free(values);
  }
  char errors[FRACTIONS * 12] = "";
  for (size_t i = 0; i < FRACTIONS; i++) {
    snprintf(errors + strlen(errors), sizeof errors - strlen(errors), " %9.4f",
             100 * sqrt(squares[i] / STREAMS));
  }
  bench_note("%-10s %-10s%s %9.3f %9.0f %9.0f", contender->kind->name, shape->name, errors,
             100 * relative, encoded / STREAMS, held / STREAMS);
  free(sorted);
  free(other);
}

/* Every kind, or those that are named. */
int main(int argc, char **argv)
{
  const size_t n = sizeof contenders / sizeof *contenders;
  bool wanted[sizeof contenders / sizeof *contenders];
  for (size_t i = 0; i < n; i++) {
    wanted[i] = argc < 2;
    for (int j = 1; j < argc; j++) {
      wanted[i] = wanted[i] || strcmp(argv[j], contenders[i].kind->name) == 0;
    }
    if (wanted[i]) {
      measure_updates(&contenders[i]);
      measure_whole(&contenders[i]);
    }
  }
  bench_title("RMS error of the rank in %%, %d streams of %d values", STREAMS, VALUES);
  bench_note("%-20s  %9s %9s %9s %9s %9s %9s %9s %9s", "", "at 0.01", "0.5", "0.9", "0.99", "0.999",
             "value", "bytes", "held");
  for (size_t shape = 0; shape < 2; shape++) {
    for (size_t i = 0; i < n; i++) {
      if (wanted[i]) {
        measure_error(&contenders[i], &shapes[shape]);
      }
    }
  }
  return 0;
}
