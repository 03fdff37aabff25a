/* Speed, size and error of the kinds that answer: how many distinct? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cardinality/hyperloglog.h"

#define PRECISION 14
#define KEYS 100000

/* A dense sketch that has seen many keys, one that is filling, and a sparse one. */
#define FULL 1000000
#define FILLING 10000
#define SPARSE 1000

/* Short operations are measured so many at a time. */
#define CALLS 1000

/* Error and size are those of so many sketches; overlaps of so many pairs, of so many keys each. */
#define SKETCHES 100
#define PAIRS 100
#define PAIRED 1000000

static void add(struct ps_hyperloglog *hll, uint64_t hash)
{
  struct ps_error error;
  bool changed;
  if (ps_hyperloglog_add(hll, hash, &changed, &error) != PS_OK) {
    bench_fail(error.message);
  }
}

static void add_numbers(struct ps_sketch *sketch, uint64_t first, uint64_t n)
{
  for (uint64_t i = 0; i < n; i++) {
    add((struct ps_hyperloglog *)sketch, bench_hash_of(first + i));
  }
}

static void make_one(struct bench_sketch *made, bool hip, uint64_t first, uint64_t n)
{
  const struct bench_option options[] = {{"precision", PRECISION}, {"hip", hip}, {0}};
  bench_make(made, &ps_hyperloglog, options);
  add_numbers(&made->any.sketch, first, n);
}

static void make(struct bench_sketch *made, uint64_t first, uint64_t n)
{
  make_one(made, false, first, n);
}

/* ---- one key at a time ---- */

static uint64_t add_each(struct bench_run *run)
{
  struct ps_hyperloglog *hll = (struct ps_hyperloglog *)run->sketch;
  struct ps_error error;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    bool changed = false;
    ps_hyperloglog_add(hll, bench_hash(run->keys, i), &changed, &error);
    sum += changed;
  }
  return sum;
}

/* As many sketches as the keys are for, one after the other, each grown from nothing. */
static uint64_t add_sparse(struct bench_run *run)
{
  struct bench_run one = *run;
  uint64_t sum = 0;
  one.n = SPARSE;
  for (one.from = run->from; one.from < run->from + run->n; one.from += SPARSE) {
    bench_clear(&one);
    sum += add_each(&one);
  }
  return sum;
}

static void start_filling(struct bench_run *run)
{
  bench_clear(run);
  add_numbers(run->sketch, UINT64_C(1) << 40, FILLING);
}

static void row(const char *what, const struct bench_keys *keys, double ns, double hash)
{
  char name[64];
  snprintf(name, sizeof name, "%s, %s", what, keys->name);
  bench_row(name, ns, hash, NAN);
}

static void measure_adds(enum bench_key_type type)
{
  struct bench_sketch made;
  make(&made, UINT64_C(1) << 40, FULL);
  struct bench_keys keys = bench_keys_from(type, 0, KEYS);
  uint64_t *hashes = bench_hashes_of(&keys);
  struct bench_run run = {.sketch = &made.any.sketch,
                          .keys = &keys,
                          .hashes = hashes,
                          .n = KEYS,
                          .window = BENCH_WINDOW};
  double hash = bench_least(bench_hash_alone, NULL, &run);
  row("add, dense", &keys, bench_least(add_each, NULL, &run), hash);
  row("add, dense, batches", &keys, bench_least(bench_add_batches, NULL, &run), hash);
  row("add, dense, batches of hashes", &keys, bench_least(bench_add_hashed, NULL, &run), NAN);
  row("add, sparse, growth included", &keys, bench_least(add_sparse, NULL, &run), hash);
  run.window = 0; /* the keys at the end raise fewer registers */
  row("add, filling", &keys, bench_least(add_each, start_filling, &run), hash);
  bench_free(&made);
  make_one(&made, true, 0, 0);
  row("add, filling, with hip", &keys, bench_least(add_each, start_filling, &run), hash);
  free(hashes);
  bench_keys_free(&keys);
  bench_free(&made);
}

/* ---- whole sketches ---- */

static uint64_t estimate(struct bench_run *run)
{
  double sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    sum += ps_hyperloglog_estimate((const struct ps_hyperloglog *)run->sketch);
  }
  return (uint64_t)sum;
}

static uint64_t merge(struct bench_run *run)
{
  struct ps_error error;
  for (size_t i = 0; i < run->n; i++) {
    ps_merge(run->sketch, run->more, &error);
  }
  return run->sketch->payload[0];
}

/* Merges into a copy, since a second merge into the same sketch would find nothing to do. */
static uint64_t copy_and_merge(struct bench_run *run)
{
  union ps_any_sketch copy;
  struct ps_error error;
  uint64_t sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    ps_copy(&copy.sketch, run->sketch, NULL, &error);
    ps_merge(&copy.sketch, run->more, &error);
    sum += copy.sketch.payload[0];
    ps_release(&copy.sketch);
  }
  return sum;
}

static uint64_t intersection(struct bench_run *run)
{
  const struct bench_sketch *other = run->more;
  double sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    sum += ps_hyperloglog_overlap((const struct ps_hyperloglog *)run->sketch,
                                  (const struct ps_hyperloglog *)&other->any.sketch)
               .intersection;
  }
  return (uint64_t)sum;
}

static uint64_t fold(struct bench_run *run)
{
  struct ps_hyperloglog folded;
  struct ps_error error;
  uint64_t sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    ps_hyperloglog_fold(&folded, (const struct ps_hyperloglog *)run->sketch, PRECISION - 2, &error);
    sum += folded.sketch.payload[0];
    ps_release(&folded.sketch);
  }
  return sum;
}

static unsigned char bytes[1 << 16], scratch[1 << 16];
static size_t encoded;

static size_t encode_once(const struct ps_sketch *sketch)
{
  static struct ps_encoder encoder __attribute__((aligned(64)));
  if (ps_encoder_scratch(sketch) > sizeof scratch) {
    bench_fail("sketch larger than the scratch");
  }
  ps_encoder_start(&encoder, sketch, PS_TIGHT, scratch);
  return encoded = ps_encoder_read(&encoder, bytes, sizeof bytes);
}

static uint64_t encode(struct bench_run *run)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    sum += encode_once(run->sketch);
  }
  return sum;
}

static void encode_first(struct bench_run *run)
{
  encode_once(run->sketch);
}

/* Decodes what encode_first() left. */
static uint64_t decode(struct bench_run *run)
{
  union ps_any_sketch decoded;
  struct ps_header header;
  struct ps_error error;
  uint64_t sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    if (ps_header_read(&header, bytes, encoded, encoded, &error) != PS_OK ||
        ps_decode_plan(&decoded.sketch, run->sketch->kind, &header, &error) != PS_OK) {
      bench_fail(error.message);
    }
    const unsigned char *from = bytes + header.payload_offset;
    if (ps_decode(&decoded.sketch, &header, from, from + header.payload_size, NULL,
                  run->sketch->memory, &error) != PS_OK) {
      bench_fail(error.message);
    }
    sum += decoded.sketch.payload[0];
    ps_release(&decoded.sketch);
  }
  return sum;
}

static uint64_t copy_payload(struct bench_run *run)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    memcpy(scratch, run->sketch->payload, run->sketch->held);
    sum += ((volatile unsigned char *)scratch)[i % run->sketch->held];
  }
  return sum;
}

static void measure_whole(const char *name, uint64_t n, bench_body *merge_body)
{
  struct bench_sketch made, other;
  make(&made, 0, n);
  make(&other, n / 2, n);
  struct bench_run run = {
      .sketch = &made.any.sketch, .n = CALLS, .window = CALLS / 20, .more = &other.any.sketch};
  double copied = bench_least(copy_payload, NULL, &run);
  bench_title("hyperloglog p = %d, %s, %.0f keys, %.0f bytes", PRECISION, name, (double)n,
              (double)made.any.sketch.held);
  bench_columns("ns", "memcpy", NULL);
  bench_row("estimate", bench_least(estimate, NULL, &run), NAN, NAN);
  bench_row("encode", bench_least(encode, NULL, &run), copied, NAN);
  bench_row("decode", bench_least(decode, encode_first, &run), copied, NAN);
  bench_row("merge into a copy", bench_least(copy_and_merge, NULL, &run), copied, NAN);
  if (merge_body != NULL) {
    bench_row("merge", bench_least(merge_body, NULL, &run), copied, NAN);
  }
  bench_row("fold by 2", bench_least(fold, NULL, &run), copied, NAN);
  bench_row("intersection", bench_least(intersection, NULL, &run), copied, NAN);
  bench_free(&other);
  bench_free(&made);
}

/* ---- size and error ---- */

static double estimate_of(const struct bench_sketch *made)
{
  return ps_hyperloglog_estimate((const struct ps_hyperloglog *)&made->any.sketch);
}

static void measure_error(uint64_t n)
{
  double squares = 0, squares_hip = 0, size = 0, held = 0;
  for (uint64_t i = 0; i < SKETCHES; i++) {
    struct bench_sketch made, hip;
    make(&made, (i + 1) << 40, n);
    make_one(&hip, true, (i + 1) << 40, n);
    squares += pow(estimate_of(&made) / (double)n - 1, 2);
    squares_hip += pow(estimate_of(&hip) / (double)n - 1, 2);
    size += (double)encode_once(&made.any.sketch);
    held += (double)made.any.sketch.held;
    bench_free(&made);
    bench_free(&hip);
  }
  bench_note("%9.0f %15.0f %15.0f %15.4f %% %15.4f %%", (double)n, size / SKETCHES, held / SKETCHES,
             100 * sqrt(squares / SKETCHES), 100 * sqrt(squares_hip / SKETCHES));
}

static void measure_overlap(uint64_t both)
{
  double joint = 0, excluding = 0, told = 0;
  for (uint64_t i = 0; i < PAIRS; i++) {
    struct bench_sketch a, b;
    struct ps_error error;
    uint64_t first = (i + 1) << 40;
    make(&a, first, PAIRED);
    make(&b, first + PAIRED - both, PAIRED);
    struct ps_overlap overlap = ps_hyperloglog_overlap(
        (const struct ps_hyperloglog *)&a.any.sketch, (const struct ps_hyperloglog *)&b.any.sketch);
    double sum = estimate_of(&a) + estimate_of(&b);
    ps_merge(&a.any.sketch, &b.any.sketch, &error);
    joint += pow(overlap.intersection - (double)both, 2);
    excluding += pow(sum - estimate_of(&a) - (double)both, 2);
    told += overlap.intersection_error;
    bench_free(&a);
    bench_free(&b);
  }
  bench_note("%9.0f %15.0f %15.0f %15.0f %9.2f", (double)both, sqrt(joint / PAIRS), told / PAIRS,
             sqrt(excluding / PAIRS), sqrt(joint / excluding));
}

int main(void)
{
  bench_title("hyperloglog p = %d, keys", PRECISION);
  bench_columns("ns", "XXH3", NULL);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_adds(type);
  }
  measure_whole("sparse", SPARSE, NULL);
  measure_whole("dense", FULL, merge);
  bench_title("hyperloglog p = %d, size and error, %d sketches each", PRECISION, SKETCHES);
  bench_note("%9s %15s %15s %17s %17s", "keys", "bytes encoded", "bytes held", "RMS error",
             "with hip");
  for (uint64_t n = 1; n <= FULL; n *= 10) {
    measure_error(n);
  }
  bench_title("hyperloglog p = %d, intersection of %d keys each, RMS error of %d pairs", PRECISION,
              PAIRED, PAIRS);
  bench_note("%9s %15s %15s %15s %9s", "in both", "intersection", "its own word", "a + b - union",
             "ratio");
  static const uint64_t both[] = {0, 1000, 10000, 100000, 500000, 1000000};
  for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
    measure_overlap(both[i]);
  }
  return 0;
}
