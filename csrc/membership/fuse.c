#include "membership/fuse.h"

#include <inttypes.h>
#include <string.h>

#include "membership/fuse_build.h"

#define SEGMENT_BITS_MIN 3
#define SEGMENT_BITS_MAX 18

/* Attempts that are made with as many slots; those after them get a 32nd more, and so on. */
#define ATTEMPTS_ALIKE 4
#define GROWTH 32

/* Below this many bytes a filter stays in the cache and prefetching only costs. */
#define PREFETCH_FROM (1u << 20)

/* Keys whose cache lines are on the way at once. */
#define AHEAD 16

enum { OPTION_KEYS, OPTION_FP_RATE };

static const struct ps_option options[] = {
    {"keys", PS_OPTION_KEYS, 0, (double)PS_FUSE_KEYS_MAX,
     "an array or an iterator function, of at most 2^31 keys", false},
    {"fp_rate", PS_OPTION_NUMBER, 1.0 / 65536, 1.0 / 256, "1/256 or 1/65536", false},
    {0},
};

static const struct ps_field fields[] = {
    {"keys", PS_FIELD_U64, offsetof(struct ps_fuse, keys), true},
    {"fingerprint_bits", PS_FIELD_U8, offsetof(struct ps_fuse, fingerprint_bits), true},
    {"attempt", PS_FIELD_U8, offsetof(struct ps_fuse, attempt), true},
    {0},
};

/* ---- parameters ---- */

/* A number in units of 2^-16. */
#define UNIT (UINT64_C(1) << 16)

/* The binary logarithm of n >= 2, in units, linear between powers of two. */
static uint64_t logarithm(uint64_t n)
{
  unsigned whole = 63 - ps_leading_zeros(n);
  uint64_t mantissa = (n << (63 - whole)) >> 47;
  return whole * UNIT + (mantissa - UNIT);
}

/* The paper's length: 2 to the power of the whole part of log n / log 2.91 - 1/2. */
static uint64_t segment_length(uint64_t log)
{
  const uint64_t per_log = 42527; /* log 2 / log 2.91, in units */
  uint64_t bits = (log * per_log / UNIT - UNIT / 2) / UNIT;
  bits = bits < SEGMENT_BITS_MIN ? SEGMENT_BITS_MIN : bits;
  return UINT64_C(1) << (bits > SEGMENT_BITS_MAX ? SEGMENT_BITS_MAX : bits);
}

/* The paper's slots a key, in units: 0.77 + 0.305 log 600000 / log n, and no less than 1.075. */
static uint64_t slots_per_key(uint64_t log)
{
  const uint64_t constant = 50463, falling = 383672, least = 70451;
  uint64_t slots = constant + falling * UNIT / log;
  return slots < least ? least : slots;
}

void ps_fuse_derive(struct ps_fuse *fuse)
{
  const uint64_t n = fuse->keys < 2 ? 2 : fuse->keys, log = logarithm(n);
  const uint64_t length = segment_length(log);
  uint64_t slots = n * slots_per_key(log) / UNIT;
  uint64_t segments = ps_round_up(slots, length) / length;
  segments = segments < PS_FUSE_SLOTS ? PS_FUSE_SLOTS : segments;
  segments += fuse->attempt / ATTEMPTS_ALIKE * (segments / GROWTH + 1);
  fuse->segment_length = (uint32_t)length;
  fuse->starts = (segments - (PS_FUSE_SLOTS - 1)) * length;
  fuse->multiplier = 1;
  for (unsigned i = 0; i < fuse->attempt; i++) {
    fuse->multiplier = ps_fuse_rehash(fuse->multiplier);
  }
}

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_fuse *fuse = (struct ps_fuse *)sketch;
  if (!asked->given[OPTION_KEYS]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "option 'keys' is missing (expected %s)",
                   options[OPTION_KEYS].range);
  }
  double rate = asked->given[OPTION_FP_RATE] ? asked->value[OPTION_FP_RATE] : 1.0 / 256;
  if (rate != 1.0 / 256 && rate != 1.0 / 65536) {
    return ps_fail(error, PS_ERR_ARGUMENT, "option 'fp_rate' out of range (expected %s, got %.14g)",
                   options[OPTION_FP_RATE].range, rate);
  }
  fuse->keys = (uint64_t)asked->value[OPTION_KEYS];
  fuse->fingerprint_bits = rate == 1.0 / 256 ? 8 : 16;
  ps_fuse_derive(fuse);
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  struct ps_fuse *fuse = (struct ps_fuse *)sketch;
  if (fuse->keys > PS_FUSE_KEYS_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "keys out of range (expected 0 to 2^31, got %" PRIu64 ")",
                   fuse->keys);
  }
  if (fuse->fingerprint_bits != 8 && fuse->fingerprint_bits != 16) {
    return ps_fail(error, PS_ERR_RANGE, "fingerprint_bits out of range (expected 8 or 16, got %u)",
                   fuse->fingerprint_bits);
  }
  /* One key is never in the way of another. */
  unsigned last = fuse->keys < 2 ? 0 : PS_FUSE_ATTEMPTS - 1;
  if (fuse->attempt > last) {
    return ps_fail(error, PS_ERR_RANGE, "attempt out of range (expected 0 to %u, got %u)", last,
                   fuse->attempt);
  }
  ps_fuse_derive(fuse);
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  const struct ps_fuse *fuse = (const struct ps_fuse *)sketch;
  return ps_fuse_slot_count(fuse) * (fuse->fingerprint_bits / 8);
}

/* What a filter of some keys holds is nowhere redundant. */
static enum ps_status check(const struct ps_sketch *sketch, struct ps_error *error)
{
  if (((const struct ps_fuse *)sketch)->keys == 0 &&
      ps_count_ones(sketch->payload, size(sketch)) != 0) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (fingerprints of no keys)");
  }
  return PS_OK;
}

/* ---- keys ---- */

static inline bool has(const struct ps_fuse *fuse, uint64_t hash, unsigned width)
{
  const uint64_t h = hash * fuse->multiplier, mask = width == 1 ? UINT8_MAX : UINT16_MAX;
  uint64_t slots[PS_FUSE_SLOTS];
  ps_fuse_slots(fuse, h, slots);
  return ((ps_fuse_fingerprint(h) ^ ps_fuse_exclusive_or(fuse->sketch.payload, slots, width)) &
          mask) == 0;
}

bool ps_fuse_has(const struct ps_fuse *fuse, uint64_t hash)
{
  if (fuse->keys == 0) {
    return false;
  }
  return fuse->fingerprint_bits == 8 ? has(fuse, hash, 1) : has(fuse, hash, 2);
}

/* Always inline: gcc takes a function that does nothing but prefetch for one without effect, and
 * drops calls of it. */
static inline __attribute__((always_inline)) void prefetch(const struct ps_fuse *fuse,
                                                           uint64_t hash, unsigned width)
{
  uint64_t slots[PS_FUSE_SLOTS];
  ps_fuse_slots(fuse, hash * fuse->multiplier, slots);
  for (unsigned j = 0; j < PS_FUSE_SLOTS; j++) {
    __builtin_prefetch(fuse->sketch.payload + slots[j] * width);
  }
}

static inline void has_many(const struct ps_fuse *fuse, const uint64_t *hashes, size_t n,
                            unsigned width, bool *found)
{
  const size_t ahead = fuse->sketch.held < PREFETCH_FROM ? 0 : AHEAD;
  for (size_t i = 0; i < n + ahead; i++) {
    if (ahead > 0 && i < n) {
      prefetch(fuse, hashes[i], width);
    }
    if (i >= ahead) {
      found[i - ahead] = has(fuse, hashes[i - ahead], width);
    }
  }
}

static void has_hashes(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                       bool *found)
{
  const struct ps_fuse *fuse = (const struct ps_fuse *)sketch;
  if (fuse->keys == 0) {
    memset(found, 0, n * sizeof *found);
  } else if (fuse->fingerprint_bits == 8) {
    has_many(fuse, hashes, n, 1, found);
  } else {
    has_many(fuse, hashes, n, 2, found);
  }
}

/* ---- answers about the whole ---- */

static uint64_t count(const struct ps_sketch *sketch)
{
  return ((const struct ps_fuse *)sketch)->keys;
}

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_fuse *fuse = (const struct ps_fuse *)sketch;
  double keys = (double)(fuse->keys > 0 ? fuse->keys : 1);
  double rate = fuse->fingerprint_bits == 8 ? 1.0 / 256 : 1.0 / 65536;
  report->number(report, "fp_rate", fuse->keys > 0 ? rate : 0);
  report->integer(report, "segment_length", fuse->segment_length);
  report->integer(report, "segments", ps_fuse_slot_count(fuse) / fuse->segment_length);
  report->number(report, "bits_per_key", 8 * (double)size(sketch) / keys);
}

const struct ps_kind ps_fuse = {
    .name = "fuse",
    .id = 6,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .struct_size = sizeof(struct ps_fuse),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .scratch = ps_fuse_scratch,
    .arrange = ps_fuse_arrange,
    .build = ps_fuse_build,
    .check = check,
    .count = count,
    .describe = describe,
    .has_hashes = has_hashes,
};
