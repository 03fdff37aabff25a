#include "membership/bloom.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/sharing.h"
#include "base/sketch.h"
#include "membership/bloom_batch.h"

#define LN2 0.69314718055994530942

#define BITS_MIN 1024

/* Keys whose cache lines are on the way at once, in a batch that adds. */
#define AHEAD 16

enum { OPTION_CAPACITY, OPTION_FP_RATE, OPTION_BITS, OPTION_HASHES };

static const struct ps_option options[] = {
    {"capacity", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false},
    {"fp_rate", PS_OPTION_NUMBER, 1e-15, 1, "a number from 1e-15 to below 1", true},
    {"bits", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false},
    {"hashes", PS_OPTION_INTEGER, 1, PS_BLOOM_HASHES_MAX, "an integer from 1 to 64", false},
    {0},
};

static const struct ps_field fields[] = {
    {"bits", PS_FIELD_U64, offsetof(struct ps_bloom, bits), true},
    {"hashes", PS_FIELD_U32, offsetof(struct ps_bloom, hashes), true},
    {"capacity", PS_FIELD_U64, offsetof(struct ps_bloom, capacity), false},
    {"fp_rate", PS_FIELD_DOUBLE, offsetof(struct ps_bloom, fp_rate), false},
    {0},
};

/* ---- parameters ---- */

void ps_bloom_plan_for(struct ps_bloom *bloom, double n, double rate)
{
  double optimal = ceil(-n * log(rate) / (LN2 * LN2));
  double hashes = floor(optimal / n * LN2 + 0.5);
  bloom->capacity = (uint64_t)n;
  bloom->fp_rate = rate;
  bloom->bits = optimal < BITS_MIN ? BITS_MIN : (uint64_t)optimal;
  bloom->hashes = hashes < 1 ? 1 : (uint32_t)hashes;
}

/* The capacity is then the number of keys for which k hashes are best: half the bits set. */
static void plan_for_bits(struct ps_bloom *bloom, double bits, double hashes)
{
  double n = fmax(1, floor(bits * LN2 / hashes));
  bloom->capacity = (uint64_t)n;
  bloom->fp_rate = pow(-expm1(-hashes * n / bits), hashes);
  bloom->bits = (uint64_t)bits;
  bloom->hashes = (uint32_t)hashes;
}

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_bloom *bloom = (struct ps_bloom *)sketch;
  const double *value = asked->value;
  const bool *given = asked->given;
  bool by_bits = given[OPTION_BITS] || given[OPTION_HASHES];
  if (by_bits && (given[OPTION_CAPACITY] || given[OPTION_FP_RATE])) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "options 'bits' and 'hashes' exclude 'capacity' and 'fp_rate'");
  }
  if (by_bits && !(given[OPTION_BITS] && given[OPTION_HASHES])) {
    return ps_fail(error, PS_ERR_ARGUMENT, "options 'bits' and 'hashes' go together");
  }
  if (by_bits) {
    plan_for_bits(bloom, value[OPTION_BITS], value[OPTION_HASHES]);
    return PS_OK;
  }
  if (!given[OPTION_CAPACITY]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "option 'capacity' is missing (expected %s)",
                   options[OPTION_CAPACITY].range);
  }
  ps_bloom_plan_for(bloom, value[OPTION_CAPACITY],
                    given[OPTION_FP_RATE] ? value[OPTION_FP_RATE] : 0.01);
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_bloom *bloom = (const struct ps_bloom *)sketch;
  if (bloom->bits < 1 || bloom->bits > UINT64_C(1) << 62) {
    return ps_fail(error, PS_ERR_RANGE, "bits out of range (expected 1 to 2^62, got %" PRIu64 ")",
                   bloom->bits);
  }
  if (bloom->hashes < 1 || bloom->hashes > PS_BLOOM_HASHES_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "hashes out of range (expected 1 to %d, got %" PRIu32 ")",
                   PS_BLOOM_HASHES_MAX, bloom->hashes);
  }
  if (bloom->capacity < 1 || bloom->capacity > PS_COUNT_MAX) {
    return ps_fail(error, PS_ERR_RANGE,
                   "capacity out of range (expected 1 to 2^53, got %" PRIu64 ")", bloom->capacity);
  }
  if (!(bloom->fp_rate > 0 && bloom->fp_rate <= 1)) {
    return ps_fail(error, PS_ERR_RANGE, "fp_rate out of range (expected above 0 to 1, got %.14g)",
                   bloom->fp_rate);
  }
  /* A promise that the size does not keep must not come in from outside. Rounding k to a whole
   * number costs up to a tenth of the rate. */
  double k = bloom->hashes, load = k * (double)bloom->capacity / (double)bloom->bits;
  if (pow(-expm1(-load), k) > 1.15 * bloom->fp_rate) {
    return ps_fail(error, PS_ERR_RANGE,
                   "fp_rate does not fit the bits, the hashes and the capacity");
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  return ps_round_up(((const struct ps_bloom *)sketch)->bits, 64) / 8;
}

/* ---- state ---- */

static enum ps_status check(const struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_bloom *bloom = (const struct ps_bloom *)sketch;
  unsigned used = bloom->bits % 64;
  if (used != 0 && ps_load64(sketch->payload + size(sketch) - 8) >> used != 0) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (bits set behind the last one)");
  }
  return PS_OK;
}

static void attach_part(struct ps_sketch *sketch, uint64_t from, uint64_t to)
{
  struct ps_bloom *bloom = (struct ps_bloom *)sketch;
  uint64_t before = from == 0 ? 0 : bloom->ones;
  bloom->ones = before + ps_count_ones(sketch->payload + from, to - from);
}

static void attach(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ((struct ps_bloom *)sketch)->ones = ps_atomic_count_ones(sketch->payload, sketch->held);
  } else {
    attach_part(sketch, 0, size(sketch));
  }
}

static void clear(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ps_atomic_fill(sketch->payload, 0, sketch->held);
  } else {
    memset(sketch->payload, 0, size(sketch));
  }
  ((struct ps_bloom *)sketch)->ones = 0;
}

/* ---- keys ---- */

/* Always inline: gcc takes a function that does nothing but prefetch for one without effect, and
 * drops calls of it. */
static inline __attribute__((always_inline)) void prefetch(const struct ps_bloom *bloom, uint64_t h,
                                                           uint32_t n)
{
  const uint64_t bits = bloom->bits;
  for (; n > 0; n--, h = ps_hash_next(h)) {
    __builtin_prefetch(ps_bloom_word(bloom, ps_hash_place(h, bits)));
  }
}

/* Sets the bits of a key; how many were not set. */
static inline __attribute__((always_inline)) uint64_t set(const struct ps_bloom *bloom,
                                                          uint64_t hash, bool shared)
{
  const uint64_t bits = bloom->bits;
  uint64_t h = ps_hash_first(hash), fresh = 0;
  for (uint32_t left = bloom->hashes; left > 0; left--, h = ps_hash_next(h)) {
    uint64_t place = ps_hash_place(h, bits), bit = UINT64_C(1) << (place & 63);
    unsigned char *at = ps_bloom_word(bloom, place);
    uint64_t before = shared ? ps_atomic_or(at, bit) : ps_load64(at);
    if (!shared) {
      ps_store64(at, before | bit);
    }
    fresh += before < (before | bit);
  }
  return fresh;
}

bool ps_bloom_add(struct ps_bloom *bloom, uint64_t hash)
{
  if (bloom->sketch.flags & PS_SHARED) {
    return set(bloom, hash, true) != 0;
  }
  uint64_t fresh = set(bloom, hash, false);
  bloom->ones += fresh;
  return fresh != 0;
}

bool ps_bloom_has(const struct ps_bloom *bloom, uint64_t hash)
{
  uint64_t h = ps_hash_first(hash);
  uint32_t left = bloom->hashes;
  for (; left > 8; left -= 8) {
    if (!ps_bloom_all_set(bloom, &h, 8)) {
      return false;
    }
  }
  return ps_bloom_all_set(bloom, &h, left);
}

static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  (void)error;
  struct ps_bloom *bloom = (struct ps_bloom *)sketch;
  size_t ahead = sketch->held < PS_BLOOM_PREFETCH_FROM ? 0 : AHEAD;
  *changed = 0;
  for (size_t i = 0; i < n + ahead; i++) {
    if (ahead > 0 && i < n) {
      prefetch(bloom, ps_hash_first(hashes[i]), bloom->hashes);
    }
    if (i >= ahead) {
      *changed += ps_bloom_add(bloom, hashes[i - ahead]);
    }
  }
  return PS_OK;
}

static void has_hashes(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                       bool *found)
{
  const struct ps_bloom *bloom = (const struct ps_bloom *)sketch;
  if (sketch->held >= PS_BLOOM_PREFETCH_FROM) {
    ps_bloom_has_ahead(bloom, hashes, n, found, ps_bloom_all_set, prefetch);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    found[i] = ps_bloom_has(bloom, hashes[i]);
  }
}

/* ---- answers about the whole ---- */

static double estimate(const struct ps_bloom *bloom, uint64_t ones)
{
  double bits = (double)bloom->bits;
  double seen = ones == bloom->bits ? bits - 1 : (double)ones;
  /* Only a filter of one bit comes to 0 of 1 unset, and then one key is all there is to say. */
  return bloom->bits == 1 ? (double)ones : -bits / bloom->hashes * log1p(-seen / bits);
}

double ps_bloom_estimate(const struct ps_bloom *bloom)
{
  return estimate(bloom, bloom->ones);
}

/* Surely more keys than it was made for: by three standard errors of the estimate, that of linear
 * counting of k n placements in m bits (Whang et al. 1990, "A linear-time probabilistic counting
 * algorithm", section 4). */
static bool over_capacity(const struct ps_bloom *bloom)
{
  double n = ps_bloom_estimate(bloom);
  double load = n * bloom->hashes / (double)bloom->bits;
  double error = sqrt((double)bloom->bits * (expm1(load) - load)) / bloom->hashes;
  return n - 3 * error > (double)bloom->capacity;
}

double ps_bloom_rate(const struct ps_bloom *bloom)
{
  return pow((double)bloom->ones / (double)bloom->bits, bloom->hashes);
}

double ps_bloom_jaccard(const struct ps_bloom *a, const struct ps_bloom *b)
{
  ps_derive(&a->sketch);
  ps_derive(&b->sketch);
  uint64_t ones = 0;
  for (uint64_t at = 0; at < size(&a->sketch); at += 8) {
    ones += ps_ones(ps_load64(a->sketch.payload + at) | ps_load64(b->sketch.payload + at));
  }
  double either = estimate(a, ones);
  if (either == 0) {
    return 1;
  }
  double shared = ps_bloom_estimate(a) + ps_bloom_estimate(b) - either;
  return fmin(1, fmax(0, shared / either));
}

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_round_count(ps_bloom_estimate((const struct ps_bloom *)sketch));
}

static enum ps_status merge(struct ps_sketch *target, const struct ps_sketch *source,
                            struct ps_error *error)
{
  (void)error;
  ps_unite(target->payload, source->payload, size(target));
  attach(target);
  return PS_OK;
}

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_bloom *bloom = (const struct ps_bloom *)sketch;
  report->number(report, "bits_per_key", (double)bloom->bits / (double)bloom->capacity);
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_bloom *bloom = (const struct ps_bloom *)sketch;
  report->number(report, "target_fp_rate", bloom->fp_rate);
  report->number(report, "fp_rate", ps_bloom_rate(bloom));
  report->number(report, "fill", (double)bloom->ones / (double)bloom->bits);
  report->boolean(report, "over_capacity", over_capacity(bloom));
  report->boolean(report, "saturated", bloom->ones == bloom->bits);
}

static const struct ps_sharing sharing = {0};

const struct ps_kind ps_bloom = {
    .name = "bloom",
    .id = 1,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .struct_size = sizeof(struct ps_bloom),
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
