/* A ddsketch with a range that is shared: its payload and behind it one word more, the total of all
 * weights. That is added to first, so that the counts never come to pass 2^53; then the extremes
 * are raised, and then it is counted. Of who was killed in between there is room less, or an
 * extreme of a value that is not counted.
 *
 * Private to ddsketch. */
#ifndef PS_QUANTILE_DDSKETCH_SHARED_H
#define PS_QUANTILE_DDSKETCH_SHARED_H

#include "base/atomic.h"
#include "base/sharing.h"
#include "quantile/ddsketch.h"
#include "quantile/order.h"
#include "quantile/quantile.h"

extern const struct ps_sharing ps_ddsketch_sharing;

static inline unsigned char *ps_ddsketch_shared_total(const struct ps_ddsketch *sketch)
{
  return ps_ddsketch_word(sketch, PS_DDSKETCH_HEAD_WORDS + (size_t)sketch->max_bins * PS_SIGNS);
}

/* Takes room for so much weight: PS_ERR_FULL, and nothing has changed. */
static inline enum ps_status ps_ddsketch_shared_reserve(struct ps_ddsketch *sketch, uint64_t weight,
                                                        struct ps_error *error)
{
  unsigned char *at = ps_ddsketch_shared_total(sketch);
  uint64_t total = ps_atomic_load(at, 8);
  do {
    const uint64_t possible = total < PS_COUNT_MAX ? total : PS_COUNT_MAX;
    enum ps_status status = ps_check_total(possible, weight, error);
    if (status != PS_OK) {
      return status;
    }
  } while (!ps_atomic_replace(at, &total, total + weight, 8));
  return PS_OK;
}

/* Joins the extremes with others. -0.0 + 0.0 is 0.0. */
static inline void ps_ddsketch_shared_extend(struct ps_ddsketch *sketch, double min, double max)
{
  ps_atomic_max(ps_ddsketch_word(sketch, PS_DDSKETCH_LEAST), ~ps_order_of(min + 0.0), 8);
  ps_atomic_max(ps_ddsketch_word(sketch, PS_DDSKETCH_LARGEST), ps_order_of(max + 0.0), 8);
}

/* Counts a value that there is room for and that the extremes have been joined with. */
static inline void ps_ddsketch_shared_count(struct ps_ddsketch *sketch, double x, uint64_t weight)
{
  enum ps_sign sign;
  uint32_t index;
  unsigned char *at = ps_ddsketch_word(sketch, PS_DDSKETCH_ZEROS);
  if (!ps_ddsketch_is_zero(sketch, x, &sign, &index)) {
    const struct ps_bins bins = ps_ddsketch_fixed_bins(sketch, sign);
    at = sketch->sketch.payload + ps_bins_at(&bins, index);
  }
  ps_atomic_add(at, weight, PS_COUNT_MAX, 8);
}

/* All that for one value: false, and nothing has changed, without weight or room. A function of its
 * own, so that it takes nothing from what is done to sketches that are not shared. */
bool ps_ddsketch_shared_add(struct ps_ddsketch *sketch, double x, uint64_t weight);

#endif
