/* What the benchmarks share: keys, sketches, time, tables. bench/README.md says how to read them.
 */
#ifndef PS_BENCH_HARNESS_H
#define PS_BENCH_HARNESS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/sketch.h"
#include "storage/pages.h"

/* Hashes handed to add_hashes() and has_hashes() at once: as many as the Lua binding does. */
#define BENCH_BATCH 256

/* ---- numbers and keys ---- */

/* A bijection of 64 bits (splitmix64): distinct for distinct numbers, and in no order. */
uint64_t bench_random(uint64_t number);

/* The hash of the key that stands for `number`, where the key itself does not matter. */
uint64_t bench_hash_of(uint64_t number);

/* Ranks 0, 1 ... n-1 drawn with probability proportional to 1/(rank+1)^s. */
struct bench_zipf {
  double *sums;
  uint64_t n, drawn;
};

struct bench_zipf bench_zipf_over(double s, uint64_t n);
uint64_t bench_zipf_draw(struct bench_zipf *zipf);
void bench_zipf_free(struct bench_zipf *zipf);

/* Keys one behind the other, as they would be in a log that is read. */
struct bench_keys {
  const char *name;
  size_t n;
  char *bytes;
  uint32_t *starts; /* n + 1 of them; NULL when every key has 8 bytes */
};

enum bench_key_type { BENCH_INTEGERS, BENCH_URLS, BENCH_KEY_TYPES };

/* Integers of 8 bytes or URL-like strings of 20 to 40 bytes, that stand for n numbers. */
struct bench_keys bench_keys_for(enum bench_key_type type, const uint64_t *numbers, size_t n);
/* The same for the numbers first, first + 1 ... */
struct bench_keys bench_keys_from(enum bench_key_type type, uint64_t first, size_t n);
void bench_keys_free(struct bench_keys *keys);

static inline uint64_t bench_hash(const struct bench_keys *keys, size_t i)
{
  if (keys->starts == NULL) {
    return ps_hash(keys->bytes + 8 * i, 8, 0);
  }
  return ps_hash(keys->bytes + keys->starts[i], keys->starts[i + 1] - keys->starts[i], 0);
}

static inline struct ps_key bench_key(const struct bench_keys *keys, size_t i)
{
  size_t at = keys->starts == NULL ? 8 * i : keys->starts[i];
  size_t length = keys->starts == NULL ? 8 : keys->starts[i + 1] - at;
  return (struct ps_key){(unsigned char *)keys->bytes + at, length, bench_hash(keys, i)};
}

uint64_t *bench_hashes_of(const struct bench_keys *keys);

/* ---- sketches ---- */

struct bench_option {
  const char *name;
  double value;
};

/* A sketch as the Lua binding would make it; large payloads lie on huge pages there too. */
struct bench_sketch {
  union ps_any_sketch any;
  struct ps_pages pages;
};

/* Options end with a NULL name. What cannot be made ends the program. */
void bench_make(struct bench_sketch *made, const struct ps_kind *kind,
                const struct bench_option *options);
void bench_free(struct bench_sketch *made);

/* Makes a sketch of a kind that is built at once, of n hashes, which are then anything; returns CPU
 * nanoseconds a hash, all memory that it takes included. */
double bench_build(struct bench_sketch *made, const struct ps_kind *kind, double fp_rate,
                   uint64_t *hashes, size_t n);

/* Ends the program. */
void bench_fail(const char *message) __attribute__((noreturn));
/* malloc(), or the end. */
void *bench_allocate(size_t size);

/* ---- time ---- */

/* What one measurement works on: n operations from the one of number `from` on, in windows of so
 * many, 0 for all at once. */
struct bench_run {
  struct ps_sketch *sketch;
  const struct bench_keys *keys;
  const uint64_t *hashes; /* of the same keys, for bodies that leave hashing out */
  size_t from, n, window;
  void *more;
};

/* A window that is too short for another program to get in, and long enough for the clock. */
#define BENCH_WINDOW 10000

/* Does the n operations; the sum of the answers keeps the compiler from leaving any out. */
typedef uint64_t bench_body(struct bench_run *run);
typedef void bench_prepare(struct bench_run *run);

/* CPU nanoseconds an operation, in the fastest window of one run. */
double bench_once(bench_body *body, const struct bench_run *run);
/* The same of many runs, each after prepare(), which is not timed, unless it is NULL. */
double bench_least(bench_body *body, bench_prepare *prepare, struct bench_run *run);

/* Bodies for any kind with keys; those with hashing and those over run->hashes. */
uint64_t bench_hash_alone(struct bench_run *run);
uint64_t bench_add_batches(struct bench_run *run);
uint64_t bench_add_hashed(struct bench_run *run);
uint64_t bench_has_batches(struct bench_run *run);
uint64_t bench_has_hashed(struct bench_run *run);
void bench_clear(struct bench_run *run);

/* Independent reads of random cache lines out of `size` bytes, ns each. */
double bench_line(uint64_t size);

/* ---- tables ---- */

void bench_title(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Names of up to two baselines; NULL for none. */
void bench_columns(const char *unit, const char *first, const char *second);
/* A figure, each baseline and how many times the baseline the figure is; NAN where there is none.
 */
void bench_row(const char *name, double figure, double first, double second);
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
