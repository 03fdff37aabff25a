/* Counts of consecutive bins, at most so many; those of lower indexes are counted in the lowest.
 *
 * The bins end at the highest index ever added. So which numbers lost their own bin, and all the
 * counts, are decided by what was added, and not by its order nor by how it was split and merged.
 */
#ifndef PS_QUANTILE_BINS_H
#define PS_QUANTILE_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

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

/* The counts are in a payload of the caller's, little-endian words of 8 bytes: those of the indexes
 * base .. base + room - 1, from word `first` on, and 0 outside of the span. */
struct ps_bins {
  size_t first;
  uint32_t base, room; /* base may be anything while there are no counts */
  struct ps_span span; /* its ends are not 0 */
  uint64_t total;
  bool collapsed; /* the lowest bin has numbers of lower indexes in it */
};

/* Where the count of an index is in the payload. */
static inline size_t ps_bins_at(const struct ps_bins *bins, uint32_t index)
{
  return (bins->first + (index - bins->base)) * sizeof(uint64_t);
}

/* Of a payload that may be shared. */
static inline uint64_t ps_bins_get(const struct ps_bins *bins, const unsigned char *payload,
                                   uint32_t index)
{
  return ps_atomic_load(payload + ps_bins_at(bins, index), 8);
}

/* The span when others are added, of at most `max` bins. */
struct ps_span ps_bins_window(const struct ps_bins *bins, struct ps_span others, uint32_t max);

/* Moves the bins from one payload to another, or within one: `room` of them from word `first` on,
 * not fewer than the window has. What lies below the window is collapsed. */
void ps_bins_place(struct ps_bins *bins, unsigned char *from, unsigned char *to, size_t first,
                   uint32_t room, struct ps_span window);

/* Adds to the count of a bin that there is room for; total and span are the caller's. */
static inline void ps_bins_count(const struct ps_bins *bins, unsigned char *payload, uint32_t index,
                                 uint64_t count)
{
  unsigned char *at = payload + ps_bins_at(bins, index);
  ps_store64(at, ps_load64(at) + count);
}

/* Numbers of these indexes, at both ends some, have been counted: those below the window, which the
 * bins were placed for, in its lowest bin. */
void ps_bins_cover(struct ps_bins *bins, struct ps_span added, struct ps_span window);

/* The sum of the counts from one index to another, which are within the span. */
uint64_t ps_bins_sum(const struct ps_bins *bins, const unsigned char *payload, uint32_t low,
                     uint32_t high);

/* The index of number k < total, counted from 0 in the order of indexes; the highest if the counts
 * have come to less meanwhile, in a mapped file that somebody writes to. */
uint32_t ps_bins_find(const struct ps_bins *bins, const unsigned char *payload, uint64_t k);

/* Bins that are not 0. */
uint32_t ps_bins_used(const struct ps_bins *bins, const unsigned char *payload);

bool ps_bins_equal(const struct ps_bins *a, const unsigned char *payload_of_a,
                   const struct ps_bins *b, const unsigned char *payload_of_b);

#endif
