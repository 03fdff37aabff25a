/* The bytes of a ddsketch: the counts that are not 0, with their indexes. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/math.h"
#include "quantile/ddsketch.h"

#define ZEROS_AT 0
#define MIN_AT 8
#define MAX_AT 16
#define BINS_AT 24 /* how many of each sign, 4 bytes each */
#define COLLAPSED_AT 32
#define HEAD_SIZE 40

#define BIN_SIZE 12 /* index, then count */

uint64_t ps_ddsketch_encoded_size(const struct ps_sketch *base)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  uint64_t bins =
      (uint64_t)ps_bins_used(&sketch->bins[PS_NEGATIVE]) + ps_bins_used(&sketch->bins[PS_POSITIVE]);
  return HEAD_SIZE + bins * BIN_SIZE;
}

uint64_t ps_ddsketch_encoded_max(const struct ps_sketch *base)
{
  return HEAD_SIZE + (uint64_t)((const struct ps_ddsketch *)base)->max_bins * PS_SIGNS * BIN_SIZE;
}

static void store_number(unsigned char *at, double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  ps_store64(at, bits);
}

static double load_number(const unsigned char *at)
{
  uint64_t bits = ps_load64(at);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Returns what is behind them. */
static unsigned char *encode_bins(const struct ps_bins *bins, unsigned char *at)
{
  for (uint32_t i = 0, n = ps_span_length(bins->span); i < n; i++) {
    uint64_t count = ps_bins_get(bins, bins->span.low + i);
    if (count > 0) {
      ps_store32(at, bins->span.low + i);
      ps_store64(at + 4, count);
      at += BIN_SIZE;
    }
  }
  return at;
}

void ps_ddsketch_encode(const struct ps_sketch *base, unsigned char *bytes)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  unsigned char *at = bytes + HEAD_SIZE;
  uint64_t collapsed = 0;
  ps_store64(bytes + ZEROS_AT, sketch->zeros);
  store_number(bytes + MIN_AT, sketch->min);
  store_number(bytes + MAX_AT, sketch->max);
  for (size_t sign = 0; sign < PS_SIGNS; sign++) {
    const struct ps_bins *bins = &sketch->bins[sign];
    ps_store32(bytes + BINS_AT + sign * 4, ps_bins_used(bins));
    collapsed |= (uint64_t)bins->collapsed << sign;
    at = encode_bins(bins, at);
  }
  ps_store64(bytes + COLLAPSED_AT, collapsed);
}

/* ---- decoding ---- */

/* The bins of one sign, in bytes. */
struct list {
  const unsigned char *at;
  uint32_t n;
  bool collapsed;
};

static uint32_t index_in(struct list list, uint32_t i)
{
  return ps_load32(list.at + (size_t)i * BIN_SIZE);
}

static uint64_t count_in(struct list list, uint32_t i)
{
  return ps_load64(list.at + (size_t)i * BIN_SIZE + 4);
}

static struct ps_span span_of(struct list list)
{
  return list.n == 0 ? PS_SPAN_NONE
                     : (struct ps_span){index_in(list, 0), index_in(list, list.n - 1)};
}

/* Ascending indexes that numbers have, within max_bins of each other, exactly so many if some are
 * collapsed; counts that add up with *total to no more than 2^53. */
static bool is_list_valid(const struct ps_ddsketch *sketch, struct list list, uint64_t *total)
{
  const struct ps_span range = ps_ddsketch_range(sketch), span = span_of(list);
  for (uint32_t i = 0; i < list.n; i++) {
    uint64_t count = count_in(list, i);
    if (count == 0 || count > PS_COUNT_MAX - *total ||
        (i > 0 && index_in(list, i) <= index_in(list, i - 1))) {
      return false;
    }
    *total += count;
  }
  if (list.n > 0 && (span.low < range.low || span.high > range.high)) {
    return false;
  }
  return list.collapsed ? ps_span_length(span) == sketch->max_bins && span.low > range.low
                        : ps_span_length(span) <= sketch->max_bins;
}

/* Could an extreme of the values be x, of those of one sign the one with the highest index? */
static bool is_outermost(const struct ps_ddsketch *sketch, double x, enum ps_sign of,
                         struct list list)
{
  enum ps_sign sign;
  uint32_t index;
  return !ps_ddsketch_is_zero(sketch, x, &sign, &index) && sign == of &&
         index == span_of(list).high;
}

/* The same of the lowest index, below which are the collapsed ones. */
static bool is_innermost(const struct ps_ddsketch *sketch, double x, enum ps_sign of,
                         struct list list)
{
  enum ps_sign sign;
  uint32_t index;
  if (ps_ddsketch_is_zero(sketch, x, &sign, &index) || sign != of) {
    return false;
  }
  return list.collapsed ? index < span_of(list).low : index == span_of(list).low;
}

/* Does x, the extreme on the side of one sign, fit the bins? */
static bool is_extreme(const struct ps_ddsketch *sketch, double x, enum ps_sign side,
                       const struct list lists[])
{
  enum ps_sign other = side == PS_NEGATIVE ? PS_POSITIVE : PS_NEGATIVE;
  if (!isfinite(x) || (x == 0 && signbit(x))) {
    return false;
  }
  if (lists[side].n > 0) {
    return is_outermost(sketch, x, side, lists[side]);
  }
  if (sketch->zeros > 0) {
    return fabs(x) < DBL_MIN;
  }
  return lists[other].n > 0 ? is_innermost(sketch, x, other, lists[other]) : x == 0;
}

static bool are_extremes(const struct ps_ddsketch *sketch, const struct list lists[],
                         uint64_t total)
{
  return is_extreme(sketch, sketch->min, PS_NEGATIVE, lists) &&
         is_extreme(sketch, sketch->max, PS_POSITIVE, lists) && sketch->min <= sketch->max &&
         (total > 1 || sketch->min == sketch->max);
}

static enum ps_status corrupt(const char *what, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (%s)", what);
}

static enum ps_status fill(struct ps_ddsketch *sketch, const struct list lists[],
                           struct ps_error *error)
{
  const struct ps_span window[] = {span_of(lists[0]), span_of(lists[1])};
  enum ps_status status = ps_ddsketch_reserve(sketch, window, error);
  for (int sign = 0; sign < PS_SIGNS && status == PS_OK; sign++) {
    struct ps_bins *bins = &sketch->bins[sign];
    for (uint32_t i = 0; i < lists[sign].n; i++) {
      ps_bins_add(bins, index_in(lists[sign], i), count_in(lists[sign], i), window[sign]);
    }
    bins->collapsed = lists[sign].collapsed;
  }
  return status;
}

enum ps_status ps_ddsketch_read(struct ps_ddsketch *sketch, const unsigned char *bytes,
                                uint64_t size, struct ps_error *error)
{
  if (size < HEAD_SIZE) {
    return corrupt("no head", error);
  }
  const uint64_t collapsed = ps_load64(bytes + COLLAPSED_AT);
  const uint32_t n[] = {ps_load32(bytes + BINS_AT), ps_load32(bytes + BINS_AT + 4)};
  if (size != HEAD_SIZE + ((uint64_t)n[0] + n[1]) * BIN_SIZE) {
    return corrupt("another number of bins than it says", error);
  }
  const unsigned char *at = bytes + HEAD_SIZE;
  const struct list lists[] = {{at, n[0], (collapsed & 1) != 0},
                               {at + (size_t)n[0] * BIN_SIZE, n[1], (collapsed & 2) != 0}};
  uint64_t total = ps_load64(bytes + ZEROS_AT);
  if (collapsed > 3 || total > PS_COUNT_MAX || !is_list_valid(sketch, lists[0], &total) ||
      !is_list_valid(sketch, lists[1], &total)) {
    return corrupt("no ascending list of bins", error);
  }
  sketch->zeros = ps_load64(bytes + ZEROS_AT);
  sketch->min = load_number(bytes + MIN_AT);
  sketch->max = load_number(bytes + MAX_AT);
  if (!are_extremes(sketch, lists, total)) {
    return corrupt("extremes that the bins do not have", error);
  }
  return fill(sketch, lists, error);
}
