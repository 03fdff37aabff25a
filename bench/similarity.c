/* Speed and error of the kind that answers: how alike? */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "similarity/minhash.h"
#include "similarity/minima.h"
#include "similarity/shingles.h"

#define HASHES 128
#define TOKENS 100000

/* Short operations are measured so many at a time. */
#define CALLS 1000

/* Errors are those of so many pairs. */
#define PAIRS 4000

static void make(struct bench_sketch *made)
{
  const struct bench_option options[] = {{"hashes", HASHES}, {0}};
  bench_make(made, &ps_minhash, options);
}

/* ---- tokens ---- */

static uint64_t add_each(struct bench_run *run)
{
  struct ps_minhash *minhash = (struct ps_minhash *)run->sketch;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += ps_minhash_add(minhash, bench_hash(run->keys, i));
  }
  return sum;
}

static void measure_adds(enum bench_key_type type)
{
  struct bench_sketch made;
  struct bench_keys keys = bench_keys_from(type, 0, TOKENS);
  uint64_t *hashes = bench_hashes_of(&keys);
  make(&made);
  struct bench_run run = {.sketch = &made.any.sketch,
                          .keys = &keys,
                          .hashes = hashes,
                          .n = TOKENS,
                          .window = BENCH_WINDOW};
  double hash = bench_least(bench_hash_alone, NULL, &run);
  char name[64];
  snprintf(name, sizeof name, "add, %s", keys.name);
  bench_row(name, bench_least(add_each, NULL, &run), hash, NAN);
  snprintf(name, sizeof name, "add, batches, %s", keys.name);
  bench_row(name, bench_least(bench_add_batches, NULL, &run), hash, NAN);
  snprintf(name, sizeof name, "add, batches of hashes, %s", keys.name);
  bench_row(name, bench_least(bench_add_hashed, NULL, &run), NAN, NAN);
  free(hashes);
  bench_keys_free(&keys);
  bench_free(&made);
}

/* ---- sets, each from nothing, by every code there is ---- */

struct set {
  const struct ps_minima_code *code;
  size_t size;
  unsigned char minima[8 * HASHES];
};

static uint64_t fill_sets(struct bench_run *run)
{
  struct set *set = run->more;
  uint64_t sum = 0;
  for (size_t at = run->from; at < run->from + run->n; at += set->size) {
    memset(set->minima, 0xff, sizeof set->minima);
    sum += set->code->add_many(set->minima, HASHES, run->hashes + at, set->size);
  }
  return sum;
}

static void measure_sets(const char *name, const struct ps_minima_code *code)
{
  static const size_t sizes[] = {30, 300, 3000, 90000};
  static uint64_t hashes[90000];
  double ns[sizeof sizes / sizeof *sizes];
  for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
    hashes[i] = bench_hash_of(i);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct set set = {.code = code, .size = sizes[i]};
    struct bench_run run = {.hashes = hashes, .n = 90000, .more = &set};
    run.window = sizes[i] > 9000 ? 0 : 9000;
    ns[i] = bench_least(fill_sets, NULL, &run);
  }
  bench_note("%-9s %10.1f %10.1f %10.1f %10.1f", name, ns[0], ns[1], ns[2], ns[3]);
}

/* ---- texts ---- */

struct text {
  unsigned char *bytes, *scratch;
  size_t size;
  unsigned n;
  enum ps_shingle_unit unit;
};

static uint64_t add_text(struct bench_run *run)
{
  const struct text *text = run->more;
  return ps_minhash_add_shingles((struct ps_minhash *)run->sketch, text->bytes, text->size, text->n,
                                 text->unit, text->scratch);
}

static void measure_texts(void)
{
  struct bench_sketch made;
  struct text text = {.size = 0};
  text.bytes = bench_allocate(8 * TOKENS);
  text.scratch = bench_allocate(8 * TOKENS);
  while (text.size < 7 * TOKENS) { /* words of 1 to 9 letters */
    size_t length = 1 + bench_random(text.size) % 9;
    for (size_t i = 0; i < length; i++, text.size++) {
      text.bytes[text.size] = (unsigned char)('a' + bench_random(text.size) % 26);
    }
    text.bytes[text.size++] = ' ';
  }
  make(&made);
  struct bench_run run = {.sketch = &made.any.sketch, .n = text.size / 6, .more = &text};
  text.n = 5;
  bench_row("add_shingles, 5 words, a word", bench_least(add_text, NULL, &run), NAN, NAN);
  text.n = 9;
  text.unit = PS_SHINGLE_BYTE;
  run.n = text.size;
  bench_row("add_shingles, 9 bytes, a byte", bench_least(add_text, NULL, &run), NAN, NAN);
  free(text.bytes);
  free(text.scratch);
  bench_free(&made);
}

/* ---- whole sketches ---- */

static uint64_t jaccard(struct bench_run *run)
{
  double sum = 0, error;
  for (size_t i = 0; i < run->n; i++) {
    sum += ps_minhash_jaccard((const struct ps_minhash *)run->sketch, run->more, &error);
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

static uint64_t estimate(struct bench_run *run)
{
  double sum = 0;
  for (size_t i = 0; i < run->n; i++) {
    sum += ps_minhash_estimate((const struct ps_minhash *)run->sketch);
  }
  return (uint64_t)sum;
}

static void add_numbers(struct bench_sketch *made, uint64_t first, uint64_t n)
{
  for (uint64_t i = first; i < first + n; i++) {
    ps_minhash_add((struct ps_minhash *)&made->any.sketch, bench_hash_of(i));
  }
}

static void measure_whole(void)
{
  struct bench_sketch made, other;
  make(&made);
  make(&other);
  add_numbers(&made, 0, 1000);
  add_numbers(&other, 500, 1000);
  struct bench_run run = {
      .sketch = &made.any.sketch, .n = CALLS, .window = CALLS / 20, .more = &other.any.sketch};
  bench_row("jaccard", bench_least(jaccard, NULL, &run), NAN, NAN);
  bench_row("merge", bench_least(merge, NULL, &run), NAN, NAN);
  bench_row("count", bench_least(estimate, NULL, &run), NAN, NAN);
  bench_free(&made);
  bench_free(&other);
}

/* ---- error ---- */

/* Of sets of 1000 tokens that share so many. */
static void measure_error(uint64_t shared)
{
  const double truth = (double)shared / (double)(2000 - shared);
  double sum = 0, squares = 0, error;
  for (uint64_t i = 1; i <= PAIRS; i++) {
    struct bench_sketch a, b;
    make(&a);
    make(&b);
    add_numbers(&a, i << 20, 1000);
    add_numbers(&b, (i << 20) + 1000 - shared, 1000);
    double off = ps_minhash_jaccard((struct ps_minhash *)&a.any.sketch,
                                    (struct ps_minhash *)&b.any.sketch, &error) -
                 truth;
    sum += off;
    squares += off * off;
    bench_free(&a);
    bench_free(&b);
  }
  double theory = sqrt(truth * (1 - truth) / HASHES);
  bench_note("%9.3f %15.5f %15.5f %15.5f %9.2f", truth, sum / PAIRS, sqrt(squares / PAIRS), theory,
             sqrt(squares / PAIRS) / theory);
}

int main(void)
{
  bench_title("minhash of %d functions, tokens", HASHES);
  bench_columns("ns", "XXH3", NULL);
  for (enum bench_key_type type = 0; type < BENCH_KEY_TYPES; type++) {
    measure_adds(type);
  }
  measure_texts();
  measure_whole();
  bench_title("minhash of %d functions, ns a token in sets that begin empty, without hashing",
              HASHES);
  bench_note("%-9s %10s %10s %10s %10s", "tokens", "30", "300", "3000", "90000");
  measure_sets("portable", &ps_minima_portable);
#ifdef PS_MINIMA_X86
  if (__builtin_cpu_supports("avx2")) {
    measure_sets("AVX2", &ps_minima_avx2);
  }
  if (__builtin_cpu_supports("avx512dq")) {
    measure_sets("AVX-512", &ps_minima_avx512);
  }
#endif
  bench_title("minhash of %d functions, error over %d pairs", HASHES, PAIRS);
  bench_note("%9s %15s %15s %15s %9s", "J", "mean", "RMS", "theory", "ratio");
  static const uint64_t shared[] = {182, 462, 667, 824, 947};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
    measure_error(shared[i]);
  }
  return 0;
}
