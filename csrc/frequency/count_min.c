#include "frequency/count_min.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/sharing.h"
#include "base/sketch.h"

#define E 2.71828182845904523536

#define HEAD_SIZE 16
#define TOTAL_AT 0
#define SATURATED_AT 8

/* As for bloom filters: prefetching pays from where the counters leave the cache. */
#define PREFETCH_FROM (1u << 20)
#define AHEAD 16

enum {
  OPTION_EPSILON,
  OPTION_DELTA,
  OPTION_WIDTH,
  OPTION_DEPTH,
  OPTION_CONSERVATIVE,
  OPTION_COUNTER_BITS
};

static const struct ps_option options[] = {
    {PS_COUNT_MIN_EPSILON},
    {PS_COUNT_MIN_DELTA},
    {PS_COUNT_MIN_WIDTH},
    {PS_COUNT_MIN_DEPTH},
    {"conservative", PS_OPTION_BOOLEAN, 0, 1, "true or false", false},
    {"counter_bits", PS_OPTION_INTEGER, 8, 64, "8, 16, 32 or 64", false},
    {0},
};

static const struct ps_field fields[] = {
    {"width", PS_FIELD_U64, offsetof(struct ps_count_min, width), true},
    {"depth", PS_FIELD_U32, offsetof(struct ps_count_min, depth), true},
    {"counter_bits", PS_FIELD_U8, offsetof(struct ps_count_min, counter_bits), true},
    {"conservative", PS_FIELD_BOOLEAN, offsetof(struct ps_count_min, conservative), true},
    {"epsilon", PS_FIELD_DOUBLE, offsetof(struct ps_count_min, epsilon), false},
    {"delta", PS_FIELD_DOUBLE, offsetof(struct ps_count_min, delta), false},
    {0},
};

/* ---- parameters ---- */

static bool known_width(double bits)
{
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static enum ps_status plan(struct ps_sketch *base, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_count_min *sketch = (struct ps_count_min *)base;
  const double *value = asked->value;
  const bool *given = asked->given;
  bool by_size = given[OPTION_WIDTH] || given[OPTION_DEPTH];
  if (by_size && (given[OPTION_EPSILON] || given[OPTION_DELTA])) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "options 'width' and 'depth' exclude 'epsilon' and 'delta'");
  }
  if (by_size && !(given[OPTION_WIDTH] && given[OPTION_DEPTH])) {
    return ps_fail(error, PS_ERR_ARGUMENT, "options 'width' and 'depth' go together");
  }
  double bits = given[OPTION_COUNTER_BITS] ? value[OPTION_COUNTER_BITS] : 32;
  if (!known_width(bits)) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "option 'counter_bits' out of range (expected %s, got %g)",
                   options[OPTION_COUNTER_BITS].range, bits);
  }
  sketch->counter_bits = (uint8_t)bits;
  sketch->conservative = given[OPTION_CONSERVATIVE] && value[OPTION_CONSERVATIVE] != 0;
  if (by_size) {
    sketch->width = (uint64_t)value[OPTION_WIDTH];
    sketch->depth = (uint32_t)value[OPTION_DEPTH];
    sketch->epsilon = E / (double)sketch->width;
    sketch->delta = exp(-(double)sketch->depth);
  } else {
    sketch->epsilon = given[OPTION_EPSILON] ? value[OPTION_EPSILON] : 0.001;
    sketch->delta = given[OPTION_DELTA] ? value[OPTION_DELTA] : 0.01;
    sketch->width = (uint64_t)ceil(E / sketch->epsilon);
    sketch->depth = (uint32_t)fmax(1, ceil(-log(sketch->delta)));
  }
  return PS_OK;
}

/* A promise that the size does not keep must not come in from outside: epsilon * width >= e and
 * delta >= e^-depth, but for rounding. */
static bool promise_is_kept(const struct ps_count_min *sketch)
{
  const double slack = 1 - 1e-9;
  return sketch->epsilon * (double)sketch->width >= E * slack && sketch->epsilon <= E &&
         sketch->delta >= exp(-(double)sketch->depth) * slack && sketch->delta <= 1;
}

static enum ps_status validate(struct ps_sketch *base, struct ps_error *error)
{
  const struct ps_count_min *sketch = (const struct ps_count_min *)base;
  if (sketch->width < 1 || sketch->width > PS_COUNT_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "width out of range (expected 1 to 2^53, got %" PRIu64 ")",
                   sketch->width);
  }
  if (sketch->depth < 1 || sketch->depth > PS_COUNT_MIN_DEPTH_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "depth out of range (expected 1 to %d, got %" PRIu32 ")",
                   PS_COUNT_MIN_DEPTH_MAX, sketch->depth);
  }
  if (!known_width(sketch->counter_bits)) {
    return ps_fail(error, PS_ERR_RANGE, "counter_bits out of range (expected %s, got %u)",
                   options[OPTION_COUNTER_BITS].range, sketch->counter_bits);
  }
  if (!promise_is_kept(sketch)) {
    return ps_fail(error, PS_ERR_RANGE, "epsilon and delta do not fit the width and the depth");
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *base)
{
  const struct ps_count_min *sketch = (const struct ps_count_min *)base;
  uint64_t cells, bytes;
  if (!ps_multiply(sketch->width, sketch->depth, &cells) ||
      !ps_multiply(cells, sketch->counter_bits / 8u, &bytes) || bytes > UINT64_MAX - HEAD_SIZE) {
    return UINT64_MAX;
  }
  return HEAD_SIZE + bytes;
}

/* ---- counters ----
 *
 * Every function over counters is written once, with the bytes of a counter as a parameter that is
 * constant where it is called: PER_WIDTH() picks the instance. */

#define PER_WIDTH(sketch, call)                                                                    \
  ((sketch)->counter_bits == 32   ? call(4)                                                        \
   : (sketch)->counter_bits == 16 ? call(2)                                                        \
   : (sketch)->counter_bits == 8  ? call(1)                                                        \
                                  : call(8))

static inline uint64_t limit_of(unsigned width)
{
  return width == 8 ? PS_COUNT_MAX : (UINT64_C(1) << 8 * width) - 1;
}

static inline uint64_t load(const unsigned char *at, unsigned width)
{
  return width == 1 ? *at : width == 2 ? ps_load16(at) : width == 4 ? ps_load32(at) : ps_load64(at);
}

static inline void store(unsigned char *at, uint64_t x, unsigned width)
{
  if (width == 1) {
    *at = (unsigned char)x;
  } else if (width == 2) {
    ps_store16(at, (uint16_t)x);
  } else if (width == 4) {
    ps_store32(at, (uint32_t)x);
  } else {
    ps_store64(at, x);
  }
}

static inline uint64_t cells(const struct ps_count_min *sketch)
{
  return sketch->width * sketch->depth;
}

static inline unsigned char *cells_start(const struct ps_count_min *sketch)
{
  return sketch->sketch.payload + HEAD_SIZE;
}

/* The same for functions over the counters of one key, which also take the depth: constant, and
 * their loops unrolled, for what a delta of 0.01 asks for. They ask counters that may be shared. */
#define PER_SHAPE(sketch, call)                                                                    \
  ((sketch)->counter_bits == 32   ? (sketch)->depth == 5 ? call(4, 5) : call(4, (sketch)->depth)   \
     : (sketch)->counter_bits == 16 ? call(2, (sketch)->depth)                                     \
   : (sketch)->counter_bits == 8  ? call(1, (sketch)->depth)                                       \
                                  : call(8, (sketch)->depth))

static void set_saturated(struct ps_count_min *sketch)
{
  ps_store64(sketch->sketch.payload + SATURATED_AT, 1);
}

/* a + b, cut off at the limit and then said so. */
static inline uint64_t add_up(struct ps_count_min *sketch, uint64_t a, uint64_t b, uint64_t limit)
{
  if (__builtin_expect(b > limit - a, 0)) {
    set_saturated(sketch);
    return limit;
  }
  return a + b;
}

/* The same with a counter, or the total, that others add to at the same time. */
static inline __attribute__((always_inline)) uint64_t add_shared_up(struct ps_count_min *sketch,
                                                                    unsigned char *at, uint64_t n,
                                                                    uint64_t limit, unsigned width)
{
  uint64_t before = ps_atomic_add(at, n, limit, width);
  if (__builtin_expect(n > limit - before, 0)) {
    ps_atomic_or(sketch->sketch.payload + SATURATED_AT, 1);
  }
  return ps_add_saturating(before, n, limit);
}

static inline __attribute__((always_inline)) uint64_t
smallest(const struct ps_count_min *sketch, uint64_t hash, unsigned width, uint32_t depth)
{
  const uint64_t n = sketch->width, size_of_row = n * width;
  const unsigned char *row = cells_start(sketch);
  uint64_t h = ps_hash_first(hash), least = UINT64_MAX;
#pragma GCC unroll 5
  for (uint32_t i = 0; i < depth; i++, h = ps_hash_next(h), row += size_of_row) {
    uint64_t x = ps_atomic_load(row + ps_hash_place(h, n) * width, width);
    least = x < least ? x : least;
  }
  return least;
}

static inline __attribute__((always_inline)) uint64_t add_plain(struct ps_count_min *sketch,
                                                                uint64_t hash, uint64_t n,
                                                                bool shared, unsigned width,
                                                                uint32_t depth)
{
  const uint64_t w = sketch->width, size_of_row = w * width;
  unsigned char *row = cells_start(sketch);
  uint64_t h = ps_hash_first(hash), least = UINT64_MAX;
#pragma GCC unroll 5
  for (uint32_t i = 0; i < depth; i++, h = ps_hash_next(h), row += size_of_row) {
    unsigned char *cell = row + ps_hash_place(h, w) * width;
    uint64_t x;
    if (shared) {
      x = add_shared_up(sketch, cell, n, limit_of(width), width);
    } else {
      x = add_up(sketch, load(cell, width), n, limit_of(width));
      store(cell, x, width);
    }
    least = x < least ? x : least;
  }
  return least;
}

/* Adds unless the count would come to pass `most`, and returns what it was. */
static inline __attribute__((always_inline)) uint64_t
add_conservative(struct ps_count_min *sketch, uint64_t hash, uint64_t n, uint64_t most,
                 unsigned width, uint32_t depth)
{
  const uint64_t w = sketch->width, size_of_row = w * width;
  unsigned char *cell[PS_COUNT_MIN_DEPTH_MAX], *row = cells_start(sketch);
  uint64_t h = ps_hash_first(hash), least = UINT64_MAX;
#pragma GCC unroll 5
  for (uint32_t i = 0; i < depth; i++, h = ps_hash_next(h), row += size_of_row) {
    cell[i] = row + ps_hash_place(h, w) * width;
    uint64_t x = load(cell[i], width);
    least = x < least ? x : least;
  }
  if (least + n > most) {
    return least;
  }
  const uint64_t count = add_up(sketch, least, n, limit_of(width));
#pragma GCC unroll 5
  for (uint32_t i = 0; i < depth; i++) {
    uint64_t x = load(cell[i], width);
    store(cell[i], x < count ? count : x, width);
  }
  return least;
}

uint64_t ps_count_min_frequency(const struct ps_count_min *sketch, uint64_t hash)
{
#define SMALLEST(width, depth) smallest(sketch, hash, width, depth)
  return PER_SHAPE(sketch, SMALLEST);
}

static uint64_t add_to_shared(struct ps_count_min *sketch, uint64_t hash, uint64_t n)
{
#define ADD_SHARED(width, depth) add_plain(sketch, hash, n, true, width, depth)
  add_shared_up(sketch, sketch->sketch.payload + TOTAL_AT, n, PS_COUNT_MAX, 8);
  return PER_SHAPE(sketch, ADD_SHARED);
}

static uint64_t add_to_private(struct ps_count_min *sketch, uint64_t hash, uint64_t n)
{
#define ADD_PLAIN(width, depth) add_plain(sketch, hash, n, false, width, depth)
#define ADD_CONSERVATIVE(width, depth)                                                             \
  ps_add_saturating(add_conservative(sketch, hash, n, UINT64_MAX, width, depth), n, limit_of(width))
  unsigned char *total = sketch->sketch.payload + TOTAL_AT;
  ps_store64(total, add_up(sketch, ps_load64(total), n, PS_COUNT_MAX));
  return sketch->conservative ? PER_SHAPE(sketch, ADD_CONSERVATIVE) : PER_SHAPE(sketch, ADD_PLAIN);
}

uint64_t ps_count_min_add(struct ps_count_min *sketch, uint64_t hash, uint64_t n)
{
  const bool shared = (sketch->sketch.flags & PS_SHARED) != 0;
  return shared ? add_to_shared(sketch, hash, n) : add_to_private(sketch, hash, n);
}

uint64_t ps_count_min_add_within(struct ps_count_min *sketch, uint64_t hash, uint64_t n,
                                 uint64_t most)
{
#define ADD_WITHIN(width, depth) add_conservative(sketch, hash, n, most, width, depth)
  uint64_t before = PER_SHAPE(sketch, ADD_WITHIN);
  if (before + n <= most) {
    unsigned char *total = sketch->sketch.payload + TOTAL_AT;
    ps_store64(total, add_up(sketch, ps_load64(total), n, PS_COUNT_MAX));
  }
  return before;
}

/* Always inline, or gcc takes it for a function without effect, and drops the call. */
static inline __attribute__((always_inline)) void prefetch(const struct ps_count_min *sketch,
                                                           uint64_t hash)
{
  const uint64_t n = sketch->width, size_of_row = n * sketch->counter_bits / 8;
  const unsigned char *row = cells_start(sketch);
  uint64_t h = ps_hash_first(hash);
  for (uint32_t i = 0; i < sketch->depth; i++, h = ps_hash_next(h), row += size_of_row) {
    __builtin_prefetch(row + ps_hash_place(h, n) * sketch->counter_bits / 8, 1);
  }
}

static enum ps_status add_hashes(struct ps_sketch *base, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  (void)error;
  struct ps_count_min *sketch = (struct ps_count_min *)base;
  size_t ahead = base->held < PREFETCH_FROM ? 0 : AHEAD;
  for (size_t i = 0; i < n + ahead; i++) {
    if (ahead > 0 && i < n) {
      prefetch(sketch, hashes[i]);
    }
    if (i >= ahead) {
      ps_count_min_add(sketch, hashes[i - ahead], 1);
    }
  }
  *changed = n;
  return PS_OK;
}

/* ---- the whole ---- */

uint64_t ps_count_min_total(const struct ps_count_min *sketch)
{
  return ps_atomic_load(sketch->sketch.payload + TOTAL_AT, 8);
}

bool ps_count_min_saturated(const struct ps_count_min *sketch)
{
  return ps_atomic_load(sketch->sketch.payload + SATURATED_AT, 8) != 0;
}

double ps_count_min_error_bound(const struct ps_count_min *sketch)
{
  return sketch->epsilon * (double)ps_count_min_total(sketch);
}

/* Counts fit 63 bits and a double without loss. The product never falls as the count rises, however
 * it is rounded: what was not below the truth stays so. */
static inline uint64_t decayed(uint64_t count, double factor)
{
  return (uint64_t)(int64_t)((double)(int64_t)count * factor);
}

static inline void decay_shared(unsigned char *cell, double factor, unsigned width)
{
  uint64_t x = ps_atomic_load(cell, width);
  while (!ps_atomic_replace(cell, &x, decayed(x, factor), width)) {
  }
}

static inline int decay_cells(struct ps_count_min *sketch, double factor, unsigned width)
{
  unsigned char *cell = cells_start(sketch), *end = cell + cells(sketch) * width;
  if (sketch->sketch.flags & PS_SHARED) {
    for (; cell < end; cell += width) {
      decay_shared(cell, factor, width);
    }
  }
  for (; cell < end; cell += width) {
    store(cell, decayed(load(cell, width), factor), width);
  }
  return 0;
}

void ps_count_min_decay(struct ps_count_min *sketch, double factor)
{
#define DECAY(width) decay_cells(sketch, factor, width)
  PER_WIDTH(sketch, DECAY);
  unsigned char *total = sketch->sketch.payload + TOTAL_AT;
  if (sketch->sketch.flags & PS_SHARED) {
    decay_shared(total, factor, 8);
  } else {
    ps_store64(total, decayed(ps_load64(total), factor));
  }
}

static inline double smallest_product(const struct ps_count_min *a, const struct ps_count_min *b,
                                      unsigned width)
{
  const unsigned char *x = cells_start(a), *y = cells_start(b);
  double least = INFINITY;
  for (uint32_t row = 0; row < a->depth; row++) {
    double sum = 0;
    for (uint64_t i = 0; i < a->width; i++, x += width, y += width) {
      sum += (double)load(x, width) * (double)load(y, width);
    }
    least = fmin(least, sum);
  }
  return least;
}

enum ps_status ps_count_min_inner_product(const struct ps_count_min *a,
                                          const struct ps_count_min *b, double *product,
                                          struct ps_error *error)
{
#define PRODUCT(width) smallest_product(a, b, width)
  enum ps_status status = ps_compatible(&a->sketch, &b->sketch, error);
  if (status != PS_OK) {
    return status;
  }
  if (a->conservative) {
    return ps_fail(error, PS_ERR_ARGUMENT, "inner product of conservative sketches has no bound");
  }
  *product = PER_WIDTH(a, PRODUCT);
  return PS_OK;
}

static inline int add_cells(struct ps_count_min *target, const struct ps_count_min *source,
                            unsigned width)
{
  const unsigned char *from = cells_start(source);
  unsigned char *cell = cells_start(target), *end = cell + cells(target) * width;
  for (; cell < end; cell += width, from += width) {
    store(cell, add_up(target, load(cell, width), load(from, width), limit_of(width)), width);
  }
  return 0;
}

static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
#define ADD_CELLS(width) add_cells(target, source, width)
  (void)error;
  struct ps_count_min *target = (struct ps_count_min *)into;
  const struct ps_count_min *source = (const struct ps_count_min *)from;
  uint64_t total =
      add_up(target, ps_count_min_total(target), ps_count_min_total(source), PS_COUNT_MAX);
  if (ps_count_min_saturated(source)) {
    set_saturated(target);
  }
  PER_WIDTH(target, ADD_CELLS);
  ps_store64(into->payload + TOTAL_AT, total);
  return PS_OK;
}

/* Only counters of 64 bits can hold more than they may. */
static bool cells_within_limit(const struct ps_count_min *sketch)
{
  const unsigned char *cell = cells_start(sketch), *end = cell + cells(sketch) * 8;
  for (; cell < end; cell += 8) {
    if (ps_load64(cell) > PS_COUNT_MAX) {
      return false;
    }
  }
  return true;
}

/* That no row adds up to more than the total is not asked: bytes that were read while counts went
 * on, piece by piece or by another process, need not say so. */
static enum ps_status check(const struct ps_sketch *base, struct ps_error *error)
{
  const struct ps_count_min *sketch = (const struct ps_count_min *)base;
  if (ps_count_min_total(sketch) > PS_COUNT_MAX || ps_load64(base->payload + SATURATED_AT) > 1 ||
      (sketch->counter_bits == 64 && !cells_within_limit(sketch))) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (a count above 2^53)");
  }
  return PS_OK;
}

static void clear(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ps_atomic_fill(sketch->payload, 0, sketch->held);
  } else {
    memset(sketch->payload, 0, size(sketch));
  }
}

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_count_min_total((const struct ps_count_min *)sketch);
}

static void inspect(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_count_min *sketch = (const struct ps_count_min *)base;
  report->number(report, "error_bound", ps_count_min_error_bound(sketch));
  report->boolean(report, "saturated", ps_count_min_saturated(sketch));
}

/* Between looking for the smallest counters and raising them, others would be lost. */
static enum ps_status check_sharable(const struct ps_sketch *base, struct ps_error *error)
{
  if (((const struct ps_count_min *)base)->conservative) {
    return ps_fail(
        error, PS_ERR_ARGUMENT,
        "a conservative count_min is not shared, it would lose counts: make it plain, or "
        "keep one per worker and merge");
  }
  return PS_OK;
}

static const struct ps_sharing sharing = {.check = check_sharable};

const struct ps_kind ps_count_min = {
    .name = "count_min",
    .id = 16,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .struct_size = sizeof(struct ps_count_min),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .check = check,
    .clear = clear,
    .count = count,
    .merge = merge,
    .inspect = inspect,
    .add_hashes = add_hashes,
    .sharing = &sharing,
};
