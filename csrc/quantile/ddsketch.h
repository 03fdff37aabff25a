/* DDSketch (Masson, Rim and Lee 2019, "DDSketch: a fast and fully-mergeable quantile sketch with
 * relative-error guarantees"): quantiles whose value is right within a share of itself.
 *
 * Values are counted in bins whose width is in proportion to the value (log_index.h): one sequence
 * of bins for the positive values, one for the magnitudes of the negative ones, and a count of
 * zeros, which magnitudes below 2^-1022 are counted with. Beyond max_bins of a sign the smallest
 * magnitudes share a bin (the collapsing of section 2.2 of the paper; bins.h). The least and the
 * largest value are kept beside them.
 *
 * With min_value and max_value there are bins for magnitudes of just this range, all of them from
 * the beginning: smaller ones are counted with the zeros, larger ones in the last bin. Such a
 * sketch is flat, and nothing in it ever moves or collapses.
 *
 * The state is a function of what was added, whatever its order and however it was split and
 * merged. */
#ifndef PS_QUANTILE_DDSKETCH_H
#define PS_QUANTILE_DDSKETCH_H

#include <math.h>

#include "base/kind.h"
#include "quantile/bins.h"
#include "quantile/log_index.h"

/* The positive values of a sketch, or the magnitudes of its negative ones. */
enum ps_sign { PS_NEGATIVE, PS_POSITIVE, PS_SIGNS };

/* Without a range it owns its payload, the counts of both signs one behind the other, and all else
 * is here. With a range all is in the payload (docs/FORMAT.md), and what is here is derived. */
struct ps_ddsketch {
  struct ps_sketch sketch;
  double relative_accuracy;
  uint32_t max_bins;           /* of each sign; with a range: all it takes */
  double min_value, max_value; /* 0: no range */
  /* derived from these */
  uint64_t multiplier;  /* see log_index.h */
  double least;         /* smaller magnitudes count as 0 */
  struct ps_span range; /* of all indexes that there may be */

  struct ps_bins bins[PS_SIGNS];
  uint64_t zeros;
  double min, max; /* 0 while it is empty */
};

extern const struct ps_kind ps_ddsketch;

/* Counts a finite value that needs no bin outside of those that there are: nothing is allocated.
 * False, and nothing has changed: it does, or is special in another way. O(1). */
bool ps_ddsketch_add_within(struct ps_ddsketch *sketch, double x, uint64_t weight);

/* ---- private to ddsketch ---- */

static inline bool ps_ddsketch_has_range(const struct ps_ddsketch *sketch)
{
  return sketch->max_value > 0;
}

static inline uint64_t ps_ddsketch_total(const struct ps_ddsketch *sketch)
{
  return sketch->zeros + sketch->bins[PS_NEGATIVE].total + sketch->bins[PS_POSITIVE].total;
}

/* Of a magnitude that does not count as 0. */
static inline uint32_t ps_ddsketch_index(const struct ps_ddsketch *sketch, double magnitude)
{
  const uint32_t index = ps_log_index(sketch->multiplier, magnitude);
  return index < sketch->range.high ? index : sketch->range.high;
}

/* Does a value count as 0? If not, *sign and *index are those of its bin. */
static inline bool ps_ddsketch_is_zero(const struct ps_ddsketch *sketch, double x,
                                       enum ps_sign *sign, uint32_t *index)
{
  double magnitude = fabs(x);
  if (magnitude < sketch->least) {
    return true;
  }
  *sign = x < 0 ? PS_NEGATIVE : PS_POSITIVE;
  *index = ps_ddsketch_index(sketch, magnitude);
  return false;
}

enum ps_status ps_ddsketch_add_values(struct ps_sketch *base, const double *values,
                                      const uint64_t *weights, size_t n, size_t *changed,
                                      struct ps_error *error);
enum ps_status ps_ddsketch_merge(struct ps_sketch *into, const struct ps_sketch *from,
                                 struct ps_error *error);

/* Makes room for the windows of both signs, and collapses what lies below them. PS_ERR_MEMORY, and
 * then nothing has changed. */
enum ps_status ps_ddsketch_reserve(struct ps_ddsketch *sketch, const struct ps_span window[],
                                   struct ps_error *error);

/* The form in bytes without a range: docs/FORMAT.md. Decoding expects an empty sketch. */
uint64_t ps_ddsketch_encoded_size(const struct ps_sketch *base);
uint64_t ps_ddsketch_encoded_max(const struct ps_sketch *base);
void ps_ddsketch_encode(const struct ps_sketch *base, unsigned char *bytes);
enum ps_status ps_ddsketch_read(struct ps_ddsketch *sketch, const unsigned char *bytes,
                                uint64_t size, struct ps_error *error);

/* The payload with a range: words that are only added to or raised, and 0 while nothing was added.
 * First a head: zeros, the complement of the least value, the largest value, as words in the order
 * of the numbers. Then the counts of both signs. */
enum {
  PS_DDSKETCH_ZEROS,
  PS_DDSKETCH_LEAST,
  PS_DDSKETCH_LARGEST,
  PS_DDSKETCH_HEAD_WORDS,
};

static inline unsigned char *ps_ddsketch_word(const struct ps_ddsketch *sketch, size_t word)
{
  return sketch->sketch.payload + word * sizeof(uint64_t);
}

/* Where the bins of a sign are in it; empty ones. */
static inline struct ps_bins ps_ddsketch_fixed_bins(const struct ps_ddsketch *sketch,
                                                    enum ps_sign sign)
{
  return (struct ps_bins){.first = PS_DDSKETCH_HEAD_WORDS + (size_t)sign * sketch->max_bins,
                          .base = sketch->range.low,
                          .room = sketch->max_bins,
                          .span = PS_SPAN_NONE};
}

/* How its head is brought up to date, and how all that is derived from it is read: from any bytes,
 * also such as others change meanwhile. */
void ps_ddsketch_store_head(struct ps_ddsketch *sketch);
enum ps_status ps_ddsketch_check(const struct ps_sketch *base, struct ps_error *error);
void ps_ddsketch_attach(struct ps_sketch *base);

/* What it answers. */
extern const struct ps_quantile_kind ps_ddsketch_quantiles;

#endif
