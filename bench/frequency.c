/* Speed and excess of the kinds that answer: how often? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frequency/count_min.h"

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
  struct bench_zipf zipf = bench_zipf_over(RANKS);
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

static uint64_t copy(struct bench_run *run)
{
  const struct ps_sketch *other = run->more;
  memcpy(run->sketch->payload, other->payload, other->held);
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
  double copied = bench_least(copy, NULL, &run);
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
  struct bench_zipf zipf = bench_zipf_over(RANKS);
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
  return 0;
}
