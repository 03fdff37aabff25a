/* Speed and excess of the kinds that answer: how often? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frequency/count_min.h"
#include "frequency/top_k.h"

#define WIDTH 2719
#define DEPTH 5
#define CELLS ((size_t)WIDTH * DEPTH)

#define KEYS 100000

/* The stream whose excess is measured, and whose repeats the updates meet. */
#define EVENTS 200000
#define RANKS 50000

static uint64_t add_each(struct bench_run *run)
{
  struct ps_count_min *sketch = (struct ps_count_min *)run->sketch;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += ps_count_min_add(sketch, bench_hash(run->keys, i), 1);
  }
  return sum;
}

static uint64_t frequency_each(struct bench_run *run)
{
  const struct ps_count_min *sketch = (const struct ps_count_min *)run->sketch;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += ps_count_min_frequency(sketch, bench_hash(run->keys, i));
  }
  return sum;
}

static void make(struct bench_sketch *made, bool conservative)
{
  const struct bench_option options[] = {
      {"width", WIDTH}, {"depth", DEPTH}, {"conservative", conservative}, {0}};
  bench_make(made, &ps_count_min, options);
}

static const char *mode_name(bool conservative)
{
  return conservative ? "conservative" : "plain";
}

/* ---- one key at a time ---- */

struct machine {
  double hash, line;
};

static void row(const char *what, const char *of, const struct bench_run *run, double ns,
                struct machine machine)
{
  char name[64];
  snprintf(name, sizeof name, "%s, %s, %s", what, run->keys->name, of);
  bench_row(name, ns, machine.hash, machine.line);
}

static void measure_adds(struct bench_run *run, bool conservative, struct machine machine)
{
  struct machine no_hash = {NAN, machine.line};
  char what[32];
  snprintf(what, sizeof what, "add %s", mode_name(conservative));
  row(what, "one by one", run, bench_least(add_each, bench_clear, run), machine);
  row(what, "batches", run, bench_least(bench_add_batches, bench_clear, run), machine);
  row(what, "batches of hashes", run, bench_least(bench_add_hashed, bench_clear, run), no_hash);
}

/* The keys of a stream with Zipf's law in which the hot ones come again at once. */
static void measure_stream(struct bench_run run, enum bench_key_type type, bool conservative,
                           struct machine machine)
{
  struct bench_zipf zipf = bench_zipf_over(1, RANKS);
  uint64_t *numbers = bench_allocate(EVENTS * sizeof *numbers);
  for (size_t i = 0; i < EVENTS; i++) {
    numbers[i] = bench_zipf_draw(&zipf);
  }
  struct bench_keys keys = bench_keys_for(type, numbers, EVENTS);
  char what[32];
  snprintf(what, sizeof what, "add %s", mode_name(conservative));
  run.keys = &keys;
  run.n = EVENTS;
  machine.hash = bench_least(bench_hash_alone, NULL, &run);
  row(what, "Zipf stream", &run, bench_least(add_each, bench_clear, &run), machine);
  bench_keys_free(&keys);
  free(numbers);
  bench_zipf_free(&zipf);
}

static void measure_keys(enum bench_key_type type, bool conservative, double line)
{
  struct bench_sketch made;
  make(&made, conservative);
  struct bench_keys keys = bench_keys_from(type, 0, KEYS);
  uint64_t *hashes = bench_hashes_of(&keys);
  struct bench_run run = {.sketch = &made.any.sketch,
                          .keys = &keys,
                          .hashes = hashes,
                          .n = KEYS,
                          .window = BENCH_WINDOW};
  struct machine machine = {bench_least(bench_hash_alone, NULL, &run), line};
  measure_adds(&run, conservative, machine);
  measure_stream(run, type, conservative, machine);
  if (conservative) {
    row("frequency", "one by one", &run, bench_least(frequency_each, NULL, &run), machine);
  }
  free(hashes);
  bench_keys_free(&keys);
  bench_free(&made);
}

/* ---- all cells ---- */

static uint64_t merge(struct bench_run *run)
{
  struct ps_error error;
  return ps_merge(run->sketch, run->more, &error) == PS_OK;
}

static uint64_t inner_product(struct bench_run *run)
{
  struct ps_error error;
  double product = 0;
  ps_count_min_inner_product((struct ps_count_min *)run->sketch, run->more, &product, &error);
  return (uint64_t)product;
}

static uint64_t decay(struct bench_run *run)
{
  ps_count_min_decay((struct ps_count_min *)run->sketch, 0.5);
  return run->sketch->payload[0];
}

static uint64_t copy_cells(struct bench_run *run)
{
  const struct ps_sketch *other = run->more;
  memcpy(run->sketch->payload, other->payload, CELLS * sizeof(uint32_t));
  return run->sketch->payload[0];
}

static void measure_cells(void)
{
  struct bench_sketch made, other;
  make(&made, false);
  make(&other, false);
  struct bench_keys keys = bench_keys_from(BENCH_INTEGERS, 0, KEYS);
  struct bench_run run = {.sketch = &other.any.sketch, .keys = &keys, .n = KEYS};
  add_each(&run);
  run.sketch = &made.any.sketch;
  add_each(&run);
  run.more = &other.any.sketch;
  run.n = CELLS;
  bench_title("count_min %d x %d, every cell", WIDTH, DEPTH);
  bench_columns("ns a cell", "memcpy", NULL);
  double each = bench_least(inner_product, NULL, &run);
  double copied = bench_least(copy_cells, NULL, &run);
  bench_row("inner_product", each, copied, NAN);
  bench_row("merge", bench_least(merge, NULL, &run), copied, NAN);
  bench_row("decay", bench_least(decay, NULL, &run), copied, NAN);
  bench_keys_free(&keys);
  bench_free(&other);
  bench_free(&made);
}

/* ---- excess over the truth ---- */

/* Mean over the keys of the stream, as a share of all events. */
static double mean_excess(bool conservative)
{
  struct bench_sketch made;
  make(&made, conservative);
  struct ps_count_min *sketch = (struct ps_count_min *)&made.any.sketch;
  struct bench_zipf zipf = bench_zipf_over(1, RANKS);
  uint64_t *truth = bench_allocate(RANKS * sizeof *truth);
  memset(truth, 0, RANKS * sizeof *truth);
  for (uint64_t i = 0; i < EVENTS; i++) {
    uint64_t rank = bench_zipf_draw(&zipf);
    truth[rank]++;
    ps_count_min_add(sketch, bench_hash_of(rank), 1);
  }
  double excess = 0, seen = 0;
  for (uint64_t rank = 0; rank < RANKS; rank++) {
    if (truth[rank] > 0) {
      excess += (double)(ps_count_min_frequency(sketch, bench_hash_of(rank)) - truth[rank]);
      seen++;
    }
  }
  free(truth);
  bench_zipf_free(&zipf);
  bench_free(&made);
  return excess / seen / EVENTS;
}

/* ---- top_k ---- */

#define TOP_EVENTS 5000000
#define TOP_RANKS 100000

/* The stream as ranks, as keys, and what there is of each rank. */
struct stream {
  uint64_t *ranks, *truth;
  struct bench_keys keys;
};

static struct stream stream_of(enum bench_key_type type)
{
  struct bench_zipf zipf = bench_zipf_over(1.1, TOP_RANKS);
  struct stream stream = {bench_allocate(TOP_EVENTS * sizeof *stream.ranks),
                          bench_allocate(TOP_RANKS * sizeof *stream.truth),
                          {0}};
  memset(stream.truth, 0, TOP_RANKS * sizeof *stream.truth);
  for (size_t i = 0; i < TOP_EVENTS; i++) {
    stream.ranks[i] = bench_zipf_draw(&zipf);
    stream.truth[stream.ranks[i]]++;
  }
  stream.keys = bench_keys_for(type, stream.ranks, TOP_EVENTS);
  bench_zipf_free(&zipf);
  return stream;
}

static void stream_free(struct stream *stream)
{
  bench_keys_free(&stream->keys);
  free(stream->ranks);
  free(stream->truth);
}

static uint64_t add_each_key(struct bench_run *run)
{
  struct ps_top_k *top_k = (struct ps_top_k *)run->sketch;
  struct ps_error error;
  uint64_t sum = 0, estimate = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    const struct ps_key key = bench_key(run->keys, i);
    if (ps_top_k_add(top_k, &key, 1, &estimate, &error) != PS_OK) {
      bench_fail(error.message);
    }
    sum += estimate;
  }
  return sum;
}

static uint64_t add_key_batches(struct bench_run *run)
{
  struct ps_key keys[BENCH_BATCH];
  struct ps_error error;
  size_t changed;
  for (size_t at = run->from, n; at < run->from + run->n; at += n) {
    const size_t left = run->from + run->n - at;
    n = left < BENCH_BATCH ? left : BENCH_BATCH;
    for (size_t i = 0; i < n; i++) {
      keys[i] = bench_key(run->keys, at + i);
    }
    if (ps_top_k.add_keys(run->sketch, keys, n, &changed, &error) != PS_OK) {
      bench_fail(error.message);
    }
  }
  return run->n;
}

static int by_size(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* The share of the k largest counts that belong to listed keys. */
static double recall(const struct ps_top_k *top_k, const struct stream *stream)
{
  uint64_t *sorted = bench_allocate(TOP_RANKS * sizeof *sorted);
  memcpy(sorted, stream->truth, TOP_RANKS * sizeof *sorted);
  qsort(sorted, TOP_RANKS, sizeof *sorted, by_size);
  const uint64_t least = sorted[top_k->k - 1];
  free(sorted);
  size_t found = 0;
  bool *asked = bench_allocate(TOP_RANKS);
  memset(asked, 0, TOP_RANKS);
  for (size_t i = 0; i < TOP_EVENTS; i++) {
    const uint64_t rank = stream->ranks[i];
    if (!asked[rank] && stream->truth[rank] >= least) {
      const struct ps_key key = bench_key(&stream->keys, i);
      found += ps_ranking_find(&top_k->ranking, &key) != NULL;
    }
    asked[rank] = true;
  }
  free(asked);
  return fmin(1, (double)found / top_k->k);
}

static void make_top_k(struct bench_sketch *made, uint32_t k)
{
  const struct bench_option options[] = {{"k", k}, {"width", WIDTH}, {"depth", DEPTH}, {0}};
  bench_make(made, &ps_top_k, options);
}

static void measure_top_k(uint32_t k, const struct stream *stream, struct bench_run run,
                          struct machine baseline)
{
  struct bench_sketch made;
  char name[32];
  make_top_k(&made, k);
  run.sketch = &made.any.sketch;
  snprintf(name, sizeof name, "add, k = %u", k);
  row(name, "batches", &run, bench_least(add_key_batches, bench_clear, &run), baseline);
  row(name, "one by one", &run, bench_least(add_each_key, bench_clear, &run), baseline);
  bench_clear(&run);
  add_each_key(&run);
  const struct ps_top_k *top_k = (const struct ps_top_k *)run.sketch;
  bench_note("recall of the top %u is %.3f, in %.1f kB", k, recall(top_k, stream),
             (double)run.sketch->held * 1e-3);
  bench_free(&made);
}

static void measure_top_ks(enum bench_key_type type)
{
  struct bench_sketch made;
  struct stream stream = stream_of(type);
  struct bench_run run = {.keys = &stream.keys, .n = TOP_EVENTS, .window = BENCH_WINDOW};
  make(&made, true);
  run.sketch = &made.any.sketch;
  const struct machine baseline = {bench_least(bench_hash_alone, NULL, &run),
                                   bench_least(add_each, bench_clear, &run)};
  bench_free(&made);
  measure_top_k(10, &stream, run, baseline);
  measure_top_k(100, &stream, run, baseline);
  stream_free(&stream);
}

static void measure_top_k_merge(void)
{
  struct bench_sketch made, other;
  make_top_k(&made, 100);
  make_top_k(&other, 100);
  struct bench_keys keys = bench_keys_from(BENCH_INTEGERS, 0, KEYS);
  struct bench_run run = {.sketch = &other.any.sketch, .keys = &keys, .n = KEYS};
  add_each_key(&run);
  run.sketch = &made.any.sketch;
  add_each_key(&run);
  run.more = &other.any.sketch;
  run.n = CELLS;
  bench_title("top_k, k = 100, every cell");
  bench_columns("ns a cell", "memcpy", NULL);
  double each = bench_least(merge, NULL, &run);
  bench_row("merge", each, bench_least(copy_cells, NULL, &run), NAN);
  bench_keys_free(&keys);
  bench_free(&other);
  bench_free(&made);
}

int main(void)
{
  double line = bench_line(CELLS * sizeof(uint32_t));
  bench_title("count_min %d x %d, 32 bits: %.1f kB", WIDTH, DEPTH, (double)CELLS * 4e-3);
  bench_columns("ns", "XXH3", "line");
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_keys(type, false, line);
    measure_keys(type, true, line);
  }
  measure_cells();
  double plain = mean_excess(false), conservative = mean_excess(true);
  bench_title("count_min, mean excess over the truth, Zipf(1), %d events, %d keys", EVENTS, RANKS);
  bench_note("plain %.2e of all events, conservative %.2e: %.2f times", plain, conservative,
             conservative / plain);
  bench_title("top_k, Zipf(1.1), %d events, %d keys", TOP_EVENTS, TOP_RANKS);
  bench_columns("ns", "XXH3", "count_min");
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_top_ks(type);
  }
  measure_top_k_merge();
  return 0;
}
