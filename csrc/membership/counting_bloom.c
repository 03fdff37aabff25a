#include "membership/counting_bloom.h"

#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/sharing.h"
#include "membership/bloom_batch.h"

/* Keys whose cache lines are on the way at once, in a batch that adds. */
#define AHEAD 16

enum { OPTION_CAPACITY, OPTION_FP_RATE, OPTION_COUNTER_BITS };

static const struct ps_option options[] = {
    {"capacity", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false},
    {"fp_rate", PS_OPTION_NUMBER, 1e-15, 1, "a number from 1e-15 to below 1", true},
    {"counter_bits", PS_OPTION_INTEGER, 4, 16, "4, 8 or 16", false},
    {0},
};

static const struct ps_field fields[] = {
    {"bits", PS_FIELD_U64, offsetof(struct ps_counting_bloom, bloom.bits), true},
    {"hashes", PS_FIELD_U32, offsetof(struct ps_counting_bloom, bloom.hashes), true},
    {"counter_bits", PS_FIELD_U8, offsetof(struct ps_counting_bloom, counter_bits), true},
    {"capacity", PS_FIELD_U64, offsetof(struct ps_counting_bloom, bloom.capacity), false},
    {"fp_rate", PS_FIELD_DOUBLE, offsetof(struct ps_counting_bloom, bloom.fp_rate), false},
    {0},
};

/* ---- parameters: those of a bloom filter, and the width of the counters ---- */

static bool known_width(double bits)
{
  return bits == 4 || bits == 8 || bits == 16;
}

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_options of_bloom = *asked;
  double width = asked->given[OPTION_COUNTER_BITS] ? asked->value[OPTION_COUNTER_BITS] : 4;
  if (!known_width(width)) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "option 'counter_bits' out of range (expected %s, got %g)",
                   options[OPTION_COUNTER_BITS].range, width);
  }
  ((struct ps_counting_bloom *)sketch)->counter_bits = (uint8_t)width;
  of_bloom.given[OPTION_COUNTER_BITS] = false;
  return ps_bloom.plan(sketch, &of_bloom, error);
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_counting_bloom *filter = (const struct ps_counting_bloom *)sketch;
  if (!known_width(filter->counter_bits)) {
    return ps_fail(error, PS_ERR_RANGE, "counter_bits out of range (expected %s, got %u)",
                   options[OPTION_COUNTER_BITS].range, filter->counter_bits);
  }
  return ps_bloom.validate(sketch, error);
}

static uint64_t size(const struct ps_sketch *sketch)
{
  const struct ps_counting_bloom *filter = (const struct ps_counting_bloom *)sketch;
  const unsigned in_word = 64u / filter->counter_bits;
  return ps_round_up(filter->bloom.bits, in_word) / in_word * 8;
}

/* ---- counters ----
 *
 * Every function over counters is written once, with the width of a counter as a parameter that is
 * constant where it is called: PER_WIDTH() picks the instance. */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define PER_WIDTH(filter, call)                                                                    \
  ((filter)->counter_bits == 4 ? call(4) : (filter)->counter_bits == 8 ? call(8) : call(16))

/* The same for functions over the counters of one key, which also take their number: constant, and
 * their loops unrolled, for what a rate of 1 % asks for. */
#define PER_SHAPE(filter, call)                                                                    \
  ((filter)->counter_bits == 4                                                                     \
       ? (filter)->bloom.hashes == 7 ? call(4, 7) : call(4, (filter)->bloom.hashes)                \
   : (filter)->counter_bits == 8 ? call(8, (filter)->bloom.hashes)                                 \
                                 : call(16, (filter)->bloom.hashes))

#define MAX(width) ((1u << (width)) - 1)

ALWAYS_INLINE unsigned char *cell_at(unsigned char *cells, uint64_t place, unsigned width)
{
  return width == 4 ? cells + place / 2 : cells + place * (width / 8);
}

/* They may be shared. */
ALWAYS_INLINE uint32_t load(unsigned char *cells, uint64_t place, unsigned width)
{
  const uint32_t x = (uint32_t)ps_atomic_load(cell_at(cells, place, width), width == 16 ? 2 : 1);
  return width == 4 ? x >> 4 * (place & 1) & 15u : x;
}

/* Adds to a shared counter, up to its maximum; what it was before. Of a byte with two of them both
 * are changed at once, one to what it is. */
ALWAYS_INLINE uint32_t add_shared_up(unsigned char *cells, uint64_t place, uint32_t n,
                                     unsigned width)
{
  unsigned char *at = cell_at(cells, place, width);
  if (width != 4) {
    return (uint32_t)ps_atomic_add(at, n, MAX(width), width / 8);
  }
  const unsigned shift = 4 * (place & 1);
  uint64_t both = ps_atomic_load(at, 1), x, next;
  do {
    x = both >> shift & 15;
    next = both + ((ps_add_saturating(x, n, 15) - x) << shift);
  } while (next != both && !ps_atomic_replace(at, &both, next, 1));
  return (uint32_t)x;
}

/* Makes x of a counter that is at `before`. */
ALWAYS_INLINE void store(unsigned char *cells, uint64_t place, uint32_t before, uint32_t x,
                         unsigned width)
{
  unsigned char *at = cell_at(cells, place, width);
  if (width == 4) {
    *at = (unsigned char)(*at + ((x - before) << 4 * (place & 1)));
  } else if (width == 8) {
    *at = (unsigned char)x;
  } else {
    ps_store16(at, (uint16_t)x);
  }
}

uint64_t ps_counting_bloom_max(const struct ps_counting_bloom *filter)
{
  return MAX(filter->counter_bits);
}

/* ---- one key ---- */

/* The counters of a key, all read before one is written: so where two of its places are the same,
 * that counter counts the key once, like every other. */
struct key {
  uint64_t place[PS_BLOOM_HASHES_MAX];
  uint32_t count[PS_BLOOM_HASHES_MAX];
  uint32_t least; /* of the counts */
  uint32_t bits;  /* of all of them together: none is above it */
};

ALWAYS_INLINE void read_key(const struct ps_counting_bloom *filter, uint64_t hash, struct key *key,
                            unsigned width, uint32_t k)
{
  unsigned char *cells = filter->bloom.sketch.payload;
  const uint64_t m = filter->bloom.bits;
  uint64_t h = ps_hash_first(hash);
  uint32_t least = MAX(width), bits = 0;
#pragma GCC unroll 7
  for (uint32_t i = 0; i < k; i++, h = ps_hash_next(h)) {
    uint64_t place = ps_hash_place(h, m);
    uint32_t x = load(cells, place, width);
    key->place[i] = place;
    key->count[i] = x;
    least = x < least ? x : least;
    bits |= x;
  }
  key->least = least;
  key->bits = bits;
}

/* Adds a number, which may be negative, to each counter of the key. `sticking`: some are at the
 * maximum, or come to it, where they stay; without, all is quicker. */
ALWAYS_INLINE void write_key(struct ps_counting_bloom *filter, const struct key *key,
                             int32_t change, bool sticking, unsigned width, uint32_t k)
{
  unsigned char *cells = filter->bloom.sketch.payload;
  uint64_t ones = filter->bloom.ones, saturated = filter->saturated;
#pragma GCC unroll 7
  for (uint32_t i = 0; i < k; i++) {
    uint32_t before = load(cells, key->place[i], width), x = key->count[i] + (uint32_t)change;
    if (sticking) {
      x = key->count[i] == MAX(width) || x > MAX(width) ? MAX(width) : x;
      saturated += before != x && x == MAX(width);
    }
    store(cells, key->place[i], before, x, width);
    ones += (uint64_t)(before == 0) - (x == 0);
  }
  filter->bloom.ones = ones;
  filter->saturated = saturated;
}

/* The same as add(), below, for a filter that others add to. */
ALWAYS_INLINE bool add_shared(struct ps_counting_bloom *filter, uint64_t hash, uint32_t n,
                              bool *changed, unsigned width, uint32_t k)
{
  struct key key;
  bool fresh = false;
  read_key(filter, hash, &key, width, k);
  *changed = false;
  for (uint32_t i = 0; i < k; i++) {
    uint32_t first = 0;
    while (key.place[first] != key.place[i]) {
      first++;
    }
    if (first == i) {
      uint32_t before = add_shared_up(filter->bloom.sketch.payload, key.place[i], n, width);
      fresh |= before == 0;
      *changed |= before < MAX(width);
    }
  }
  return fresh;
}

/* Adds the key n > 0 times; true if it was not there before. */
ALWAYS_INLINE bool add(struct ps_counting_bloom *filter, uint64_t hash, uint64_t n, bool *changed,
                       unsigned width, uint32_t k)
{
  struct key key;
  const int32_t change = (int32_t)(n < MAX(width) ? n : MAX(width));
  const uint64_t ones = filter->bloom.ones;
  if (__builtin_expect((filter->bloom.sketch.flags & PS_SHARED) != 0, 0)) {
    return add_shared(filter, hash, (uint32_t)change, changed, width, k);
  }
  read_key(filter, hash, &key, width, k);
  if (key.bits + (uint32_t)change < MAX(width)) {
    *changed = true;
    write_key(filter, &key, change, false, width, k);
  } else {
    *changed = key.least < MAX(width);
    write_key(filter, &key, change, true, width, filter->bloom.hashes);
  }
  return filter->bloom.ones > ones;
}

/* False if the key is not there so often. A smallest counter at its maximum stands for any number,
 * and then nothing changes: all the others are there too. */
ALWAYS_INLINE bool take(struct ps_counting_bloom *filter, uint64_t hash, uint64_t n, unsigned width,
                        uint32_t k)
{
  struct key key;
  read_key(filter, hash, &key, width, k);
  if (n > key.least) {
    return key.least == MAX(width);
  }
  if (key.bits < MAX(width)) {
    write_key(filter, &key, -(int32_t)n, false, width, k);
  } else {
    write_key(filter, &key, -(int32_t)n, true, width, filter->bloom.hashes);
  }
  return true;
}

ALWAYS_INLINE uint32_t smallest(const struct ps_counting_bloom *filter, uint64_t hash,
                                unsigned width, uint32_t k)
{
  const uint64_t m = filter->bloom.bits;
  uint64_t h = ps_hash_first(hash);
  uint32_t least = MAX(width);
#pragma GCC unroll 7
  for (uint32_t i = 0; i < k; i++, h = ps_hash_next(h)) {
    uint32_t x = load(filter->bloom.sketch.payload, ps_hash_place(h, m), width);
    least = x < least ? x : least;
  }
  return least;
}

/* Are the next n counters of a key above 0? All are tested, without a branch between them. */
ALWAYS_INLINE bool all_set(const struct ps_bloom *bloom, uint64_t *h, uint32_t n, unsigned width)
{
  unsigned char *cells = bloom->sketch.payload;
  const uint64_t m = bloom->bits;
  bool all = true;
#pragma GCC unroll 7
  for (; n > 0; n--, *h = ps_hash_next(*h)) {
    all &= load(cells, ps_hash_place(*h, m), width) != 0;
  }
  return all;
}

ALWAYS_INLINE bool has(const struct ps_counting_bloom *filter, uint64_t hash, unsigned width,
                       uint32_t k)
{
  uint64_t h = ps_hash_first(hash);
  for (; k > 8; k -= 8) {
    if (!all_set(&filter->bloom, &h, 8, width)) {
      return false;
    }
  }
  return all_set(&filter->bloom, &h, k, width);
}

bool ps_counting_bloom_add(struct ps_counting_bloom *filter, uint64_t hash, uint64_t n)
{
#define ADD(width, k) add(filter, hash, n, &changed, width, k)
  bool changed;
  return n > 0 ? PER_SHAPE(filter, ADD) : !ps_counting_bloom_has(filter, hash);
}

bool ps_counting_bloom_remove(struct ps_counting_bloom *filter, uint64_t hash, uint64_t n)
{
#define TAKE(width, k) take(filter, hash, n, width, k)
  return PER_SHAPE(filter, TAKE);
}

uint64_t ps_counting_bloom_frequency(const struct ps_counting_bloom *filter, uint64_t hash)
{
#define SMALLEST(width, k) smallest(filter, hash, width, k)
  return PER_SHAPE(filter, SMALLEST);
}

bool ps_counting_bloom_has(const struct ps_counting_bloom *filter, uint64_t hash)
{
#define HAS(width, k) has(filter, hash, width, k)
  return PER_SHAPE(filter, HAS);
}

/* ---- batches ---- */

ALWAYS_INLINE void prefetch(const struct ps_bloom *bloom, uint64_t h, uint32_t n, unsigned width)
{
  unsigned char *cells = bloom->sketch.payload;
  const uint64_t m = bloom->bits;
  for (; n > 0; n--, h = ps_hash_next(h)) {
    __builtin_prefetch(cell_at(cells, ps_hash_place(h, m), width));
  }
}

/* Of each width a function that can be handed on. */
#define FOR_WIDTH(width)                                                                           \
  ALWAYS_INLINE bool all_set_##width(const struct ps_bloom *bloom, uint64_t *h, uint32_t n)        \
  {                                                                                                \
    return all_set(bloom, h, n, width);                                                            \
  }                                                                                                \
  ALWAYS_INLINE void prefetch_##width(const struct ps_bloom *bloom, uint64_t h, uint32_t n)        \
  {                                                                                                \
    prefetch(bloom, h, n, width);                                                                  \
  }

FOR_WIDTH(4)
FOR_WIDTH(8)
FOR_WIDTH(16)

ALWAYS_INLINE size_t add_each(struct ps_counting_bloom *filter, const uint64_t *hashes, size_t n,
                              unsigned width, uint32_t k)
{
  const size_t ahead = filter->bloom.sketch.held < PS_BLOOM_PREFETCH_FROM ? 0 : AHEAD;
  size_t changed = 0;
  for (size_t i = 0; i < n + ahead; i++) {
    if (ahead > 0 && i < n) {
      prefetch(&filter->bloom, ps_hash_first(hashes[i]), k, width);
    }
    if (i >= ahead) {
      bool changed_by_key;
      add(filter, hashes[i - ahead], 1, &changed_by_key, width, k);
      changed += changed_by_key;
    }
  }
  return changed;
}

static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
#define ADD_EACH(width, k) add_each(filter, hashes, n, width, k)
  (void)error;
  struct ps_counting_bloom *filter = (struct ps_counting_bloom *)sketch;
  *changed = PER_SHAPE(filter, ADD_EACH);
  return PS_OK;
}

static void has_hashes(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                       bool *found)
{
#define HAS_AHEAD(width)                                                                           \
  ps_bloom_has_ahead(&filter->bloom, hashes, n, found, all_set_##width, prefetch_##width)
  const struct ps_counting_bloom *filter = (const struct ps_counting_bloom *)sketch;
  if (sketch->held >= PS_BLOOM_PREFETCH_FROM) {
    PER_WIDTH(filter, HAS_AHEAD);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    found[i] = ps_counting_bloom_has(filter, hashes[i]);
  }
}

/* ---- the whole, a word at a time ---- */

static void attach_part(struct ps_sketch *sketch, uint64_t from, uint64_t to)
{
  struct ps_counting_bloom *filter = (struct ps_counting_bloom *)sketch;
  const unsigned width = filter->counter_bits;
  const uint64_t lowest = UINT64_MAX / MAX(width);
  if (from == 0) {
    filter->bloom.ones = filter->saturated = 0;
  }
  for (uint64_t at = from; at < to; at += 8) {
    /* In the lowest bit of each counter gathers what all its bits say. */
    uint64_t any = ps_atomic_load(sketch->payload + at, 8), all = any;
    for (unsigned shift = width / 2; shift > 0; shift /= 2) {
      any |= any >> shift;
      all &= all >> shift;
    }
    filter->bloom.ones += ps_ones(any & lowest);
    filter->saturated += ps_ones(all & lowest);
  }
}

static void attach(struct ps_sketch *sketch)
{
  attach_part(sketch, 0, size(sketch));
}

static enum ps_status check(const struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_counting_bloom *filter = (const struct ps_counting_bloom *)sketch;
  uint64_t used = filter->bloom.bits % (64u / filter->counter_bits) * filter->counter_bits;
  if (used != 0 && ps_load64(sketch->payload + size(sketch) - 8) >> used != 0) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (counts behind the last counter)");
  }
  return PS_OK;
}

static void clear(struct ps_sketch *sketch)
{
  struct ps_counting_bloom *filter = (struct ps_counting_bloom *)sketch;
  if (sketch->flags & PS_SHARED) {
    ps_atomic_fill(sketch->payload, 0, sketch->held);
  } else {
    memset(sketch->payload, 0, size(sketch));
  }
  filter->bloom.ones = filter->saturated = 0;
}

/* The counters of two words added one by one, each up to its maximum. */
ALWAYS_INLINE uint64_t add_words(uint64_t a, uint64_t b, unsigned width)
{
  uint64_t sum = 0;
  for (unsigned shift = 0; shift < 64; shift += width) {
    uint64_t x = a >> shift & MAX(width), y = b >> shift & MAX(width);
    sum |= ps_add_saturating(x, y, MAX(width)) << shift;
  }
  return sum;
}

ALWAYS_INLINE int add_cells(unsigned char *to, const unsigned char *from, uint64_t bytes,
                            unsigned width)
{
  for (uint64_t at = 0; at < bytes; at += 8) {
    ps_store64(to + at, add_words(ps_load64(to + at), ps_load64(from + at), width));
  }
  return 0;
}

static enum ps_status merge(struct ps_sketch *target, const struct ps_sketch *source,
                            struct ps_error *error)
{
#define ADD_CELLS(width) add_cells(target->payload, source->payload, size(target), width)
  (void)error;
  PER_WIDTH((const struct ps_counting_bloom *)target, ADD_CELLS);
  attach(target);
  return PS_OK;
}

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_bloom.count(sketch);
}

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_counting_bloom *filter = (const struct ps_counting_bloom *)sketch;
  double bits = (double)filter->bloom.bits * filter->counter_bits;
  report->number(report, "bits_per_key", bits / (double)filter->bloom.capacity);
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_counting_bloom *filter = (const struct ps_counting_bloom *)sketch;
  ps_bloom.inspect(sketch, report);
  report->integer(report, "saturated_cells", filter->saturated);
  report->boolean(report, "saturated", filter->saturated > 0);
}

static const struct ps_sharing sharing = {0};

const struct ps_kind ps_counting_bloom = {
    .name = "counting_bloom",
    .id = 4,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .struct_size = sizeof(struct ps_counting_bloom),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .check = check,
    .attach = attach,
    .attach_part = attach_part,
    .clear = clear,
    .count = count,
    .merge = merge,
    .describe = describe,
    .inspect = inspect,
    .add_hashes = add_hashes,
    .has_hashes = has_hashes,
    .sharing = &sharing,
};
