/* Speed of the kinds that answer: is it there? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "membership/bloom.h"

#define IN_CACHE 100000
#define OUT_OF_CACHE 30000000
#define PROBES 1000000

/* Adding to the large filter is measured on so many new keys at a time. */
#define SLICE 1000000
#define ROUNDS 4

static uint64_t add_each(struct bench_run *run)
{
  struct ps_bloom *bloom = (struct ps_bloom *)run->sketch;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += ps_bloom_add(bloom, bench_hash(run->keys, i));
  }
  return sum;
}

static uint64_t has_each(struct bench_run *run)
{
  const struct ps_bloom *bloom = (const struct ps_bloom *)run->sketch;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += ps_bloom_has(bloom, bench_hash(run->keys, i));
  }
  return sum;
}

/* Ways to call. */
static const struct way {
  const char *name;
  bench_body *add, *has;
  bool hashing;
} ways[] = {
    {"one by one", add_each, has_each, true},
    {"batches", bench_add_batches, bench_has_batches, true},
    {"batches of hashes", bench_add_hashed, bench_has_hashed, false},
};

enum { WAYS = sizeof ways / sizeof *ways };

static void row(const char *what, const struct way *way, const struct bench_keys *keys, double ns,
                double hash, double line)
{
  char name[64];
  snprintf(name, sizeof name, "%s, %s, %s", what, keys->name, way->name);
  bench_row(name, ns, way->hashing ? hash : NAN, line);
}

/* Keys of which the filter has all, none, or half, in no order that could be learnt. */
enum { PRESENT, ABSENT, MIXED, SETS };
static const char *const set_names[] = {"has, there", "has, not there", "has, half there"};

static struct bench_keys keys_of_set(int set, enum bench_key_type type, uint64_t first, size_t n)
{
  uint64_t *numbers = bench_allocate(n * sizeof *numbers);
  for (size_t i = 0; i < n; i++) {
    bool absent = set == ABSENT || (set == MIXED && bench_random(first + i) & 1);
    numbers[i] = first + i + (absent ? UINT64_C(1) << 40 : 0);
  }
  struct bench_keys keys = bench_keys_for(type, numbers, n);
  free(numbers);
  return keys;
}

/* Lookups of the keys that stand for the n numbers from `first` on, which the filter has. */
static void measure_has(struct ps_sketch *sketch, enum bench_key_type type, uint64_t first,
                        size_t n, double line)
{
  for (int set = 0; set < SETS; set++) {
    struct bench_keys keys = keys_of_set(set, type, first, n);
    uint64_t *hashes = bench_hashes_of(&keys);
    struct bench_run run = {
        .sketch = sketch, .keys = &keys, .hashes = hashes, .n = n, .window = BENCH_WINDOW};
    double hash = bench_least(bench_hash_alone, NULL, &run);
    for (int i = 0; i < WAYS; i++) {
      row(set_names[set], &ways[i], &keys, bench_least(ways[i].has, NULL, &run), hash, line);
    }
    free(hashes);
    bench_keys_free(&keys);
  }
}

static void note_size_and_rate(const struct ps_sketch *sketch, double n)
{
  size_t wrong = 0;
  for (uint64_t i = 0; i < PROBES; i++) {
    wrong += ps_bloom_has((const struct ps_bloom *)sketch, bench_hash_of(i + (UINT64_C(1) << 41)));
  }
  bench_note("bits per key %.2f, false positives %.3f %% of %d", (double)sketch->held * 8 / n,
             (double)wrong * 100 / PROBES, PROBES);
}

static void measure_in_cache(struct ps_sketch *sketch, enum bench_key_type type, double line)
{
  struct bench_keys keys = bench_keys_from(type, 0, IN_CACHE);
  uint64_t *hashes = bench_hashes_of(&keys);
  struct bench_run run = {
      .sketch = sketch, .keys = &keys, .hashes = hashes, .n = IN_CACHE, .window = BENCH_WINDOW};
  double hash = bench_least(bench_hash_alone, NULL, &run);
  for (int i = 0; i < WAYS; i++) {
    row("add", &ways[i], &keys, bench_least(ways[i].add, bench_clear, &run), hash, line);
  }
  measure_has(sketch, type, 0, IN_CACHE, line);
  free(hashes);
  bench_keys_free(&keys);
}

/* Adds new keys in slices, so that each is added once, and prints each way's fastest slice.
 * Returns the number behind the last one added. */
static uint64_t measure_growth(struct ps_sketch *sketch, enum bench_key_type type, uint64_t first,
                               double line)
{
  double least[WAYS] = {INFINITY, INFINITY, INFINITY}, hash = INFINITY;
  struct bench_keys keys;
  for (int round = 0; round < ROUNDS; round++, first += (uint64_t)WAYS * SLICE) {
    keys = bench_keys_from(type, first, (size_t)WAYS * SLICE);
    uint64_t *hashes = bench_hashes_of(&keys);
    struct bench_run run = {
        .sketch = sketch, .keys = &keys, .hashes = hashes, .n = SLICE, .window = BENCH_WINDOW};
    for (size_t i = 0; i < WAYS; i++) {
      run.from = i * SLICE;
      hash = fmin(hash, bench_once(bench_hash_alone, &run));
      least[i] = fmin(least[i], bench_once(ways[i].add, &run));
    }
    free(hashes);
    bench_keys_free(&keys);
  }
  for (int i = 0; i < WAYS; i++) {
    row("add", &ways[i], &keys, least[i], hash, line);
  }
  return first;
}

static uint64_t fill(struct ps_sketch *sketch, uint64_t first, uint64_t end)
{
  for (uint64_t i = first; i < end; i++) {
    ps_bloom_add((struct ps_bloom *)sketch, bench_hash_of(i));
  }
  return end;
}

static void title(const struct ps_sketch *sketch, const char *where, int n)
{
  bench_title("bloom %s: %d keys at 1 %%, %.1f MB", where, n, (double)sketch->held / 1e6);
  bench_columns("ns", "XXH3", "line");
}

int main(void)
{
  static const struct bench_option small[] = {{"capacity", IN_CACHE}, {"fp_rate", 0.01}, {0}};
  static const struct bench_option large[] = {{"capacity", OUT_OF_CACHE}, {"fp_rate", 0.01}, {0}};
  struct bench_sketch made;
  struct ps_sketch *sketch = &made.any.sketch;

  bench_make(&made, &ps_bloom, small);
  title(sketch, "in cache", IN_CACHE);
  double line = bench_line(sketch->held);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_in_cache(sketch, type, line);
  }
  sketch->kind->clear(sketch);
  fill(sketch, 0, IN_CACHE);
  note_size_and_rate(sketch, IN_CACHE);
  bench_free(&made);

  bench_make(&made, &ps_bloom, large);
  title(sketch, "out of cache", OUT_OF_CACHE);
  line = bench_line(sketch->held);
  uint64_t grown = (uint64_t)BENCH_KEY_TYPES * ROUNDS * WAYS * SLICE;
  uint64_t end = fill(sketch, 0, OUT_OF_CACHE - grown);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    end = measure_growth(sketch, type, end, line);
    measure_has(sketch, type, end - SLICE, SLICE, line);
  }
  note_size_and_rate(sketch, OUT_OF_CACHE);
  bench_free(&made);
  return 0;
}
