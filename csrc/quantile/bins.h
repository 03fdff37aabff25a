/* Counts of consecutive bins, at most so many; those of lower indexes are counted in the lowest.
 *
 * The bins end at the highest index ever added. So which numbers lost their own bin, and all the
 * counts, are decided by what was added, and not by its order nor by how it was split and merged.
 */
#ifndef PS_QUANTILE_BINS_H
#define PS_QUANTILE_BINS_H

#include <stdbool.h>
#include <stdint.h>

/* Indexes from low to high; low > high: none. */
struct ps_span {
  uint32_t low, high;
};

#define PS_SPAN_NONE ((struct ps_span){UINT32_MAX, 0})

static inline struct ps_span ps_span_join(struct ps_span a, struct ps_span b)
{
  return (struct ps_span){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static inline uint32_t ps_span_length(struct ps_span span)
{
  return span.low > span.high ? 0 : span.high - span.low + 1;
}

/* The memory is the caller's. */
struct ps_bins {
  uint64_t *counts;    /* of the indexes base .. base + room - 1; 0 outside of the span */
  uint32_t base, room; /* base may be anything while there are no counts */
  struct ps_span span; /* its ends are not 0 */
  uint64_t total;
  bool collapsed; /* the lowest bin has numbers of lower indexes in it */
};

static inline uint64_t ps_bins_get(const struct ps_bins *bins, uint32_t index)
{
  return bins->counts[index - bins->base];
}

/* The span when others are added, of at most `max` bins. */
struct ps_span ps_bins_window(const struct ps_bins *bins, struct ps_span others, uint32_t max);

/* Makes the bins ones in `counts`, `room` of them and not fewer than the window has, which may be
 * where they already are. What lies below the window is collapsed. */
void ps_bins_place(struct ps_bins *bins, uint64_t *counts, uint32_t room, struct ps_span window);

/* Adds to a bin of the window that they were placed for last, or below it. */
static inline void ps_bins_add(struct ps_bins *bins, uint32_t index, uint64_t count,
                               struct ps_span window)
{
  if (index < window.low) {
    index = window.low;
    bins->collapsed = true;
  }
  bins->counts[index - bins->base] += count;
  bins->total += count;
  bins->span = ps_span_join(bins->span, (struct ps_span){index, index});
}

/* Bins that are not 0. */
uint32_t ps_bins_used(const struct ps_bins *bins);

bool ps_bins_equal(const struct ps_bins *a, const struct ps_bins *b);

#endif
