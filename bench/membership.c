/* Speed of the kinds that answer: is it there? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"
#include "membership/blocked_bloom.h"
#include "membership/bloom.h"
#include "membership/counting_bloom.h"
#include "membership/cuckoo.h"
#include "membership/fuse.h"
#include "membership/scalable_bloom.h"

#define IN_CACHE 100000
#define OUT_OF_CACHE 30000000
#define PROBES 1000000

/* Keys that a filter is built of at once, in all: of a small one several times. */
#define BUILT 3000000

/* Adding to the large filter is measured on so many new keys at a time. */
#define SLICE 1000000
#define ROUNDS 4

/* ---- one key a call: of each kind a loop with its own functions in it ---- */

typedef bool add_one(struct ps_sketch *sketch, uint64_t hash);
typedef bool has_one(const struct ps_sketch *sketch, uint64_t hash);

static inline __attribute__((always_inline)) uint64_t add_each(struct bench_run *run, add_one *add)
{
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += add(run->sketch, bench_hash(run->keys, i));
  }
  return sum;
}

static inline __attribute__((always_inline)) uint64_t has_each(struct bench_run *run, has_one *has)
{
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += has(run->sketch, bench_hash(run->keys, i));
  }
  return sum;
}

#define HAS_EACH(kind)                                                                             \
  static inline bool kind##_has(const struct ps_sketch *sketch, uint64_t hash)                     \
  {                                                                                                \
    return ps_##kind##_has((const struct ps_##kind *)sketch, hash);                                \
  }                                                                                                \
  static uint64_t kind##_has_each(struct bench_run *run)                                           \
  {                                                                                                \
    return has_each(run, kind##_has);                                                              \
  }

#define ADD_EACH(kind)                                                                             \
  static uint64_t kind##_add_each(struct bench_run *run)                                           \
  {                                                                                                \
    return add_each(run, kind##_add);                                                              \
  }

static inline bool bloom_add(struct ps_sketch *sketch, uint64_t hash)
{
  return ps_bloom_add((struct ps_bloom *)sketch, hash);
}

static inline bool blocked_bloom_add(struct ps_sketch *sketch, uint64_t hash)
{
  return ps_blocked_bloom_add((struct ps_blocked_bloom *)sketch, hash);
}

static inline bool scalable_bloom_add(struct ps_sketch *sketch, uint64_t hash)
{
  struct ps_error error;
  bool fresh;
  ps_scalable_bloom_add((struct ps_scalable_bloom *)sketch, hash, &fresh, &error);
  return fresh;
}

static inline bool counting_bloom_add(struct ps_sketch *sketch, uint64_t hash)
{
  return ps_counting_bloom_add((struct ps_counting_bloom *)sketch, hash, 1);
}

static inline bool cuckoo_add(struct ps_sketch *sketch, uint64_t hash)
{
  struct ps_error error;
  return ps_cuckoo_add((struct ps_cuckoo *)sketch, hash, &error) == PS_OK;
}

ADD_EACH(bloom)
HAS_EACH(bloom)
ADD_EACH(blocked_bloom)
HAS_EACH(blocked_bloom)
ADD_EACH(scalable_bloom)
HAS_EACH(scalable_bloom)
ADD_EACH(counting_bloom)
HAS_EACH(counting_bloom)
ADD_EACH(cuckoo)
HAS_EACH(cuckoo)
HAS_EACH(fuse)

/* ---- what is measured ---- */

static const struct filter {
  const struct ps_kind *kind;
  double fp_rate;
  double part;                     /* of the keys, that its capacity is said to be */
  bench_body *add_each, *has_each; /* add_each NULL: built at once */
} filters[] = {
    {&ps_bloom, 0.01, 1, bloom_add_each, bloom_has_each},
    {&ps_blocked_bloom, 0.01, 1, blocked_bloom_add_each, blocked_bloom_has_each},
    {&ps_scalable_bloom, 0.01, 0.01, scalable_bloom_add_each, scalable_bloom_has_each},
    {&ps_counting_bloom, 0.01, 1, counting_bloom_add_each, counting_bloom_has_each},
    {&ps_cuckoo, 0.001, 1, cuckoo_add_each, cuckoo_has_each},
    {&ps_fuse, 1.0 / 256, 1, NULL, fuse_has_each},
    {&ps_fuse, 1.0 / 65536, 1, NULL, fuse_has_each},
};

/* Ways to call. */
enum { ONE_BY_ONE, BATCHES, BATCHES_OF_HASHES, WAYS };

static const struct way {
  const char *name;
  bench_body *add, *has; /* NULL: the kind's own loop */
  bool hashing;
} ways[WAYS] = {
    {"one by one", NULL, NULL, true},
    {"batches", bench_add_batches, bench_has_batches, true},
    {"batches of hashes", bench_add_hashed, bench_has_hashed, false},
};

static bench_body *body_to_add(const struct filter *filter, int way)
{
  return ways[way].add != NULL ? ways[way].add : filter->add_each;
}

static bench_body *body_to_ask(const struct filter *filter, int way)
{
  return ways[way].has != NULL ? ways[way].has : filter->has_each;
}

static void row(const char *what, int way, const struct bench_keys *keys, double ns, double hash,
                double line)
{
  char name[64];
  snprintf(name, sizeof name, "%s, %s, %s", what, keys->name, ways[way].name);
  bench_row(name, ns, ways[way].hashing ? hash : NAN, line);
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
static void measure_has(const struct filter *filter, struct ps_sketch *sketch,
                        enum bench_key_type type, uint64_t first, size_t n, double line)
{
  for (int set = 0; set < SETS; set++) {
    struct bench_keys keys = keys_of_set(set, type, first, n);
    uint64_t *hashes = bench_hashes_of(&keys);
    struct bench_run run = {
        .sketch = sketch, .keys = &keys, .hashes = hashes, .n = n, .window = BENCH_WINDOW};
    double hash = bench_least(bench_hash_alone, NULL, &run);
    for (int way = 0; way < WAYS; way++) {
      double ns = bench_least(body_to_ask(filter, way), NULL, &run);
      row(set_names[set], way, &keys, ns, hash, line);
    }
    free(hashes);
    bench_keys_free(&keys);
  }
}

static void note_size_and_rate(const struct ps_sketch *sketch, double n)
{
  size_t wrong = 0;
  bool found;
  for (uint64_t i = 0; i < PROBES; i++) {
    sketch->kind->has_hashes(sketch, &(uint64_t){bench_hash_of(i + (UINT64_C(1) << 41))}, 1,
                             &found);
    wrong += found;
  }
  bench_note("bits per key %.2f, false positives %.4f %% of %d", (double)sketch->held * 8 / n,
             (double)wrong * 100 / PROBES, PROBES);
}

static void title(const struct filter *filter, const struct ps_sketch *sketch, const char *where,
                  int n)
{
  bench_title("%s %s: %d keys at %.3g %%, %.1f MB", filter->kind->name, where, n,
              filter->fp_rate * 100, (double)sketch->held / 1e6);
  bench_columns("ns", "XXH3", "line");
}

static void make(struct bench_sketch *made, const struct filter *filter, int n)
{
  const struct bench_option options[] = {
      {"capacity", n * filter->part}, {"fp_rate", filter->fp_rate}, {NULL, 0}};
  bench_make(made, filter->kind, options);
}

/* Adds the keys of numbers first .. end-1, those that the integers of bench_keys_from() are. */
static uint64_t fill(struct ps_sketch *sketch, uint64_t first, uint64_t end)
{
  uint64_t hashes[BENCH_BATCH];
  struct ps_error error;
  size_t changed;
  for (uint64_t i = first; i < end;) {
    size_t n = 0;
    for (; n < BENCH_BATCH && i < end; n++, i++) {
      hashes[n] = bench_hash_of(i);
    }
    if (sketch->kind->add_hashes(sketch, hashes, n, &changed, &error) != PS_OK) {
      bench_fail(error.message);
    }
  }
  return end;
}

/* ---- built at once ---- */

/* Of the keys of numbers 0 .. n-1, a few times. Hashing the keys is not part of the time. */
static void build(struct bench_sketch *made, const struct filter *filter, size_t n)
{
  uint64_t *hashes = bench_allocate(n * sizeof *hashes);
  double ns = INFINITY;
  for (size_t done = 0; done < BUILT; done += n) {
    if (done > 0) {
      bench_free(made);
    }
    for (size_t i = 0; i < n; i++) {
      hashes[i] = bench_hash_of(i);
    }
    ns = fmin(ns, bench_build(made, filter->kind, filter->fp_rate, hashes, n));
  }
  free(hashes);
  title(filter, &made->any.sketch, n <= IN_CACHE ? "in cache" : "out of cache", (int)n);
  bench_row("build", ns, NAN, NAN);
}

static void built_at_once(const struct filter *filter, size_t n)
{
  struct bench_sketch made;
  build(&made, filter, n);
  const size_t asked = n < SLICE ? n : SLICE;
  double line = bench_line(made.any.sketch.held);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_has(filter, &made.any.sketch, type, 0, asked, line);
  }
  note_size_and_rate(&made.any.sketch, (double)n);
  bench_free(&made);
}

/* ---- in cache ---- */

static void measure_in_cache(const struct filter *filter, struct ps_sketch *sketch,
                             enum bench_key_type type, double line)
{
  struct bench_keys keys = bench_keys_from(type, 0, IN_CACHE);
  uint64_t *hashes = bench_hashes_of(&keys);
  struct bench_run run = {
      .sketch = sketch, .keys = &keys, .hashes = hashes, .n = IN_CACHE, .window = BENCH_WINDOW};
  double hash = bench_least(bench_hash_alone, NULL, &run);
  for (int way = 0; way < WAYS; way++) {
    double ns = bench_least(body_to_add(filter, way), bench_clear, &run);
    row("add", way, &keys, ns, hash, line);
  }
  measure_has(filter, sketch, type, 0, IN_CACHE, line);
  free(hashes);
  bench_keys_free(&keys);
}

static void in_cache(const struct filter *filter)
{
  struct bench_sketch made;
  struct ps_sketch *sketch = &made.any.sketch;
  make(&made, filter, IN_CACHE);
  fill(sketch, 0, IN_CACHE);
  title(filter, sketch, "in cache", IN_CACHE);
  double line = bench_line(sketch->held);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_in_cache(filter, sketch, type, line);
  }
  sketch->kind->clear(sketch);
  fill(sketch, 0, IN_CACHE);
  note_size_and_rate(sketch, IN_CACHE);
  bench_free(&made);
}

/* ---- out of cache ---- */

/* Adds new keys in slices, so that each is added once, and prints each way's fastest slice.
 * Returns the number behind the last one added. */
static uint64_t measure_growth(const struct filter *filter, struct ps_sketch *sketch,
                               enum bench_key_type type, uint64_t first, double line)
{
  double least[WAYS] = {INFINITY, INFINITY, INFINITY}, hash = INFINITY;
  struct bench_keys keys;
  for (int round = 0; round < ROUNDS; round++, first += (uint64_t)WAYS * SLICE) {
    keys = bench_keys_from(type, first, (size_t)WAYS * SLICE);
    uint64_t *hashes = bench_hashes_of(&keys);
    struct bench_run run = {
        .sketch = sketch, .keys = &keys, .hashes = hashes, .n = SLICE, .window = BENCH_WINDOW};
    for (int way = 0; way < WAYS; way++) {
      run.from = (size_t)way * SLICE;
      hash = fmin(hash, bench_once(bench_hash_alone, &run));
      least[way] = fmin(least[way], bench_once(body_to_add(filter, way), &run));
    }
    free(hashes);
    bench_keys_free(&keys);
  }
  for (int way = 0; way < WAYS; way++) {
    row("add", way, &keys, least[way], hash, line);
  }
  return first;
}

static void out_of_cache(const struct filter *filter)
{
  struct bench_sketch made;
  struct ps_sketch *sketch = &made.any.sketch;
  make(&made, filter, OUT_OF_CACHE);
  uint64_t grown = (uint64_t)BENCH_KEY_TYPES * ROUNDS * WAYS * SLICE;
  uint64_t end = fill(sketch, 0, OUT_OF_CACHE - grown);
  title(filter, sketch, "out of cache", OUT_OF_CACHE);
  double line = bench_line(sketch->held);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    end = measure_growth(filter, sketch, type, end, line);
    measure_has(filter, sketch, type, end - SLICE, SLICE, line);
  }
  note_size_and_rate(sketch, OUT_OF_CACHE);
  bench_free(&made);
}

/* Every filter, or those that are named. */
int main(int argc, char **argv)
{
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
    bool wanted = argc < 2;
    for (int j = 1; j < argc; j++) {
      wanted = wanted || strcmp(argv[j], filters[i].kind->name) == 0;
    }
    if (wanted && filters[i].add_each == NULL) {
      built_at_once(&filters[i], IN_CACHE);
      built_at_once(&filters[i], OUT_OF_CACHE);
    } else if (wanted) {
      in_cache(&filters[i]);
      out_of_cache(&filters[i]);
    }
  }
  return 0;
}
