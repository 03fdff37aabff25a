#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/distinct.h"

/* A figure is the least of the runs that fit into this much time, but of so many at least. */
#define SECONDS 0.4
#define RUNS_MIN 5

#define LINE 64

void bench_fail(const char *message)
{
  fprintf(stderr, "bench: %s\n", message);
  exit(1);
}

void *bench_allocate(size_t size)
{
  void *block = malloc(size);
  if (block == NULL) {
    bench_fail("not enough memory");
  }
  return block;
}

/* ---- numbers and keys ---- */

uint64_t bench_random(uint64_t number)
{
  uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

uint64_t bench_hash_of(uint64_t number)
{
  uint64_t key = bench_random(number);
  return ps_hash(&key, sizeof key, 0);
}

struct bench_zipf bench_zipf_over(double s, uint64_t n)
{
  struct bench_zipf zipf = {bench_allocate(n * sizeof(double)), n, 0};
  double sum = 0;
  for (uint64_t rank = 0; rank < n; rank++) {
    sum += pow((double)(rank + 1), -s);
    zipf.sums[rank] = sum;
  }
  return zipf;
}

uint64_t bench_zipf_draw(struct bench_zipf *zipf)
{
  double x = (double)(bench_random(zipf->drawn++) >> 11) * 0x1p-53 * zipf->sums[zipf->n - 1];
  uint64_t low = 0, high = zipf->n - 1;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (zipf->sums[middle] > x) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

void bench_zipf_free(struct bench_zipf *zipf)
{
  free(zipf->sums);
}

#define URL_MIN 20
#define URL_MAX 40

/* As much of a path as the length leaves room for before 16 digits. */
static size_t write_url(char *to, uint64_t x)
{
  static const char path[] = "/catalogue/summer-sale/";
  static const char digits[] = "0123456789abcdef";
  size_t length = URL_MIN + (size_t)(x % (URL_MAX - URL_MIN + 1)), before = length - 16;
  memcpy(to, path, before);
  to[before - 1] = '/';
  for (size_t i = before; i < length; i++, x >>= 4) {
    to[i] = digits[x & 15];
  }
  return length;
}

struct bench_keys bench_keys_for(enum bench_key_type type, const uint64_t *numbers, size_t n)
{
  if (type == BENCH_INTEGERS) {
    struct bench_keys keys = {"64-bit", n, bench_allocate(n * 8), NULL};
    for (size_t i = 0; i < n; i++) {
      uint64_t x = bench_random(numbers[i]);
      memcpy(keys.bytes + 8 * i, &x, 8);
    }
    return keys;
  }
  struct bench_keys keys = {"URL", n, bench_allocate(n * URL_MAX),
                            bench_allocate((n + 1) * sizeof(uint32_t))};
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    keys.starts[i] = (uint32_t)at;
    at += write_url(keys.bytes + at, bench_random(numbers[i]));
  }
  keys.starts[n] = (uint32_t)at;
  return keys;
}

struct bench_keys bench_keys_from(enum bench_key_type type, uint64_t first, size_t n)
{
  uint64_t *numbers = bench_allocate(n * sizeof *numbers);
  for (size_t i = 0; i < n; i++) {
    numbers[i] = first + i;
  }
  struct bench_keys keys = bench_keys_for(type, numbers, n);
  free(numbers);
  return keys;
}

void bench_keys_free(struct bench_keys *keys)
{
  free(keys->bytes);
  free(keys->starts);
}

uint64_t *bench_hashes_of(const struct bench_keys *keys)
{
  uint64_t *hashes = bench_allocate(keys->n * sizeof *hashes);
  for (size_t i = 0; i < keys->n; i++) {
    hashes[i] = bench_hash(keys, i);
  }
  return hashes;
}

/* ---- sketches ---- */

static void *resize(void *context, void *block, size_t old_size, size_t new_size)
{
  (void)context, (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

static void set_option(struct ps_options *options, const struct ps_kind *kind,
                       const struct bench_option *option)
{
  for (size_t i = 0; kind->options[i].name != NULL; i++) {
    if (strcmp(kind->options[i].name, option->name) == 0) {
      options->value[i] = option->value;
      options->given[i] = true;
      return;
    }
  }
  bench_fail(option->name);
}

static void plan(struct ps_sketch *sketch, const struct ps_kind *kind,
                 const struct bench_option *options)
{
  struct ps_options asked = {0};
  struct ps_error error;
  for (; options->name != NULL; options++) {
    set_option(&asked, kind, options);
  }
  if (ps_plan(sketch, kind, &asked, &error) != PS_OK) {
    bench_fail(error.message);
  }
}

/* Makes the planned sketch an empty one. */
static void init(struct bench_sketch *made)
{
  static const struct ps_memory memory = {resize, NULL};
  struct ps_error error;
  struct ps_sketch *sketch = &made->any.sketch;
  uint64_t size = ps_payload_size(sketch);
  made->pages = (struct ps_pages){NULL, 0};
  if (size > 0 && !ps_pages_map(&made->pages, (size_t)size)) {
    bench_fail("not enough memory");
  }
  if (ps_init(sketch, made->pages.address, &memory, &error) != PS_OK) {
    bench_fail(error.message);
  }
}

void bench_make(struct bench_sketch *made, const struct ps_kind *kind,
                const struct bench_option *options)
{
  plan(&made->any.sketch, kind, options);
  init(made);
}

void bench_free(struct bench_sketch *made)
{
  ps_release(&made->any.sketch);
  ps_pages_unmap(&made->pages);
}

/* ---- time ---- */

static volatile uint64_t sink;

static double cpu_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double bench_build(struct bench_sketch *made, const struct ps_kind *kind, double fp_rate,
                   uint64_t *hashes, size_t n)
{
  struct ps_error error;
  struct ps_sketch *sketch = &made->any.sketch;
  const double start = cpu_now();
  uint64_t *other = bench_allocate(n * sizeof *other);
  const size_t distinct = ps_sort_distinct(hashes, n, other);
  free(other);
  const struct bench_option options[] = {
      {"keys", (double)distinct}, {"fp_rate", fp_rate}, {NULL, 0}};
  plan(sketch, kind, options);
  void *scratch = bench_allocate((size_t)kind->scratch(sketch));
  if (kind->arrange(sketch, hashes, scratch, &error) != PS_OK) {
    bench_fail(error.message);
  }
  init(made);
  kind->build(sketch, scratch);
  free(scratch);
  return (cpu_now() - start) / (double)n;
}

double bench_once(bench_body *body, const struct bench_run *run)
{
  struct bench_run part = *run;
  const size_t end = run->from + run->n, window = run->window == 0 ? run->n : run->window;
  double least = INFINITY;
  for (; part.from < end; part.from += part.n) {
    part.n = end - part.from < window ? end - part.from : window;
    double start = cpu_now();
    sink += body(&part);
    least = fmin(least, (cpu_now() - start) / (double)part.n);
  }
  return least;
}

double bench_least(bench_body *body, bench_prepare *prepare, struct bench_run *run)
{
  double least = INFINITY, start = cpu_now();
  for (int runs = 0; runs < RUNS_MIN || cpu_now() - start < SECONDS * 1e9; runs++) {
    if (prepare != NULL) {
      prepare(run);
    }
    least = fmin(least, bench_once(body, run));
  }
  return least;
}

uint64_t bench_hash_alone(struct bench_run *run)
{
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += bench_hash(run->keys, i);
  }
  return sum;
}

static size_t hash_some(const struct bench_run *run, size_t at, uint64_t hashes[BENCH_BATCH])
{
  size_t left = run->from + run->n - at, n = left < BENCH_BATCH ? left : BENCH_BATCH;
  for (size_t i = 0; i < n; i++) {
    hashes[i] = bench_hash(run->keys, at + i);
  }
  return n;
}

static size_t add_some(struct ps_sketch *sketch, const uint64_t *hashes, size_t n)
{
  struct ps_error error;
  size_t changed;
  if (sketch->kind->add_hashes(sketch, hashes, n, &changed, &error) != PS_OK) {
    bench_fail(error.message);
  }
  return changed;
}

static size_t has_some(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n)
{
  bool found[BENCH_BATCH];
  size_t sum = 0;
  sketch->kind->has_hashes(sketch, hashes, n, found);
  for (size_t i = 0; i < n; i++) {
    sum += found[i];
  }
  return sum;
}

uint64_t bench_add_batches(struct bench_run *run)
{
  uint64_t hashes[BENCH_BATCH], sum = 0;
  size_t n;
  for (size_t at = run->from; at < run->from + run->n; at += n) {
    n = hash_some(run, at, hashes);
    sum += add_some(run->sketch, hashes, n);
  }
  return sum;
}

uint64_t bench_has_batches(struct bench_run *run)
{
  uint64_t hashes[BENCH_BATCH], sum = 0;
  size_t n;
  for (size_t at = run->from; at < run->from + run->n; at += n) {
    n = hash_some(run, at, hashes);
    sum += has_some(run->sketch, hashes, n);
  }
  return sum;
}

uint64_t bench_add_hashed(struct bench_run *run)
{
  uint64_t sum = 0;
  size_t end = run->from + run->n;
  for (size_t at = run->from; at < end; at += BENCH_BATCH) {
    sum += add_some(run->sketch, run->hashes + at, end - at < BENCH_BATCH ? end - at : BENCH_BATCH);
  }
  return sum;
}

uint64_t bench_has_hashed(struct bench_run *run)
{
  uint64_t sum = 0;
  size_t end = run->from + run->n;
  for (size_t at = run->from; at < end; at += BENCH_BATCH) {
    sum += has_some(run->sketch, run->hashes + at, end - at < BENCH_BATCH ? end - at : BENCH_BATCH);
  }
  return sum;
}

void bench_clear(struct bench_run *run)
{
  run->sketch->kind->clear(run->sketch);
}

/* Places are there beforehand, in no pattern that hardware could learn: no read waits for anything
 * but memory, and as many are on the way as the processor can have. */
static uint64_t read_lines(struct bench_run *run)
{
  const unsigned char *bytes = run->more;
  uint64_t sum = 0;
  for (size_t i = run->from; i < run->from + run->n; i++) {
    sum += bytes[run->hashes[i] * LINE];
  }
  return sum;
}

#define LINES 1000000

double bench_line(uint64_t size)
{
  struct ps_pages pages;
  uint64_t *places = bench_allocate(LINES * sizeof *places);
  if (!ps_pages_map(&pages, size < LINE ? LINE : (size_t)size)) {
    bench_fail("not enough memory");
  }
  memset(pages.address, 1, pages.size);
  for (uint64_t i = 0; i < LINES; i++) {
    places[i] = ps_hash_place(bench_random(i), pages.size / LINE);
  }
  struct bench_run run = {
      .hashes = places, .n = LINES, .window = BENCH_WINDOW, .more = pages.address};
  double ns = bench_least(read_lines, NULL, &run);
  ps_pages_unmap(&pages);
  free(places);
  return ns;
}

/* ---- tables ---- */

#define NAME_WIDTH 44

void bench_title(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  printf("\n");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
}

void bench_columns(const char *unit, const char *first, const char *second)
{
  printf("%*s%9s", NAME_WIDTH, "", unit);
  if (first != NULL) {
    printf("%10s%8s", first, "times");
  }
  if (second != NULL) {
    printf("%10s%8s", second, "times");
  }
  printf("\n");
}

static void print_baseline(double figure, double baseline)
{
  if (isnan(baseline)) {
    printf("%10s%8s", "", "");
  } else {
    printf("%10.2f%8.2f", baseline, figure / baseline);
  }
}

void bench_row(const char *name, double figure, double first, double second)
{
  printf("  %-*s%9.2f", NAME_WIDTH - 2, name, figure);
  print_baseline(figure, first);
  print_baseline(figure, second);
  printf("\n");
  fflush(stdout);
}

void bench_note(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  printf("  ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
}
