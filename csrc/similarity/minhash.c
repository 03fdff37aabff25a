#include "similarity/minhash.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/sharing.h"
#include "similarity/minima.h"

#define HASHES_DEFAULT 128

enum { OPTION_HASHES };

static const struct ps_option options[] = {
    {"hashes", PS_OPTION_INTEGER, 1, PS_MINHASH_HASHES_MAX, "an integer from 1 to 65536", false},
    {0},
};

static const struct ps_field fields[] = {
    {"hashes", PS_FIELD_U32, offsetof(struct ps_minhash, hashes), true},
    {0},
};

/* ---- parameters ---- */

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  (void)error;
  bool given = asked->given[OPTION_HASHES];
  ((struct ps_minhash *)sketch)->hashes =
      given ? (uint32_t)asked->value[OPTION_HASHES] : HASHES_DEFAULT;
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_minhash *minhash = (const struct ps_minhash *)sketch;
  if (minhash->hashes < 1 || minhash->hashes > PS_MINHASH_HASHES_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "hashes out of range (expected 1 to %d, got %" PRIu32 ")",
                   PS_MINHASH_HASHES_MAX, minhash->hashes);
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  return (uint64_t)((const struct ps_minhash *)sketch)->hashes * 8;
}

/* ---- state ----
 *
 * Nothing is checked of a payload: any minima may come from some tokens, and functions without one
 * beside others with come from bytes that were read while a sketch was cleared. */

static void clear(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ps_atomic_fill(sketch->payload, 0xff, sketch->held);
    return;
  }
  memset(sketch->payload, 0xff, size(sketch)); /* PS_NO_MINIMUM in each word */
}

static enum ps_status init(struct ps_sketch *sketch, struct ps_error *error)
{
  (void)error;
  clear(sketch);
  return PS_OK;
}

static enum ps_status merge(struct ps_sketch *target, const struct ps_sketch *source,
                            struct ps_error *error)
{
  (void)error;
  for (uint64_t at = 0; at < size(target); at += 8) {
    uint64_t a = ps_load64(target->payload + at), b = ps_load64(source->payload + at);
    ps_store64(target->payload + at, a < b ? a : b);
  }
  return PS_OK;
}

/* ---- tokens ---- */

static inline const struct ps_minima_code *code_for(const struct ps_sketch *sketch)
{
  return ps_minima_code((sketch->flags & PS_SHARED) != 0);
}

bool ps_minhash_add(struct ps_minhash *minhash, uint64_t hash)
{
  return code_for(&minhash->sketch)->add(minhash->sketch.payload, minhash->hashes, hash);
}

static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  (void)error;
  const struct ps_minhash *minhash = (const struct ps_minhash *)sketch;
  *changed = code_for(sketch)->add_many(sketch->payload, minhash->hashes, hashes, n);
  return PS_OK;
}

/* ---- answers ---- */

/* The minimum of n values that are uniform in 0 .. 1 is u when -ln(1 - u) is exponentially
 * distributed at the rate n. The sum S of k such numbers is gamma distributed, and the mean of (k -
 * 1) / S is n. */
double ps_minhash_estimate(const struct ps_minhash *minhash)
{
  double sum = 0, k = 0;
  for (size_t i = 0; i < minhash->hashes; i++) {
    uint64_t minimum = ps_atomic_load(minhash->sketch.payload + 8 * i, 8);
    if (minimum != PS_NO_MINIMUM) {
      sum -= log1p(-((double)(minimum >> 11) + 0.5) / 0x1p53);
      k++;
    }
  }
  return k == 0 ? 0 : fmax(1, fmax(1, k - 1) / sum);
}

double ps_minhash_jaccard(const struct ps_minhash *a, const struct ps_minhash *b,
                          double *standard_error)
{
  struct ps_agreement found = ps_minima_agree(a->sketch.payload, b->sketch.payload, a->hashes);
  double jaccard = found.of == 0 ? 1 : (double)found.equal / (double)found.of;
  *standard_error = found.of == 0 ? 0 : sqrt(jaccard * (1 - jaccard) / (double)found.of);
  return jaccard;
}

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_round_count(ps_minhash_estimate((const struct ps_minhash *)sketch));
}

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_minhash *minhash = (const struct ps_minhash *)sketch;
  report->number(report, "standard_error", 0.5 / sqrt(minhash->hashes));
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  report->number(report, "estimate", ps_minhash_estimate((const struct ps_minhash *)sketch));
}

static const struct ps_sharing sharing = {0};

const struct ps_kind ps_minhash = {
    .name = "minhash",
    .id = 64,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .struct_size = sizeof(struct ps_minhash),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .init = init,
    .clear = clear,
    .count = count,
    .merge = merge,
    .describe = describe,
    .inspect = inspect,
    .add_hashes = add_hashes,
    .sharing = &sharing,
};
