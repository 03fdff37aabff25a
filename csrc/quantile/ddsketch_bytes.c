/* The bytes of a ddsketch. Without a range: the counts that are not 0, with their indexes. With one
 * the live form: see the end of this file. */
#include <float.h>
#include <math.h>

#include "base/bytes.h"
#include "base/math.h"
#include "quantile/ddsketch.h"
#include "quantile/log_index.h"
#include "quantile/order.h"

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
  uint64_t bins = 0;
  for (int sign = 0; sign < PS_SIGNS; sign++) {
    bins += ps_bins_used(&sketch->bins[sign], base->payload);
  }
  return HEAD_SIZE + bins * BIN_SIZE;
}

uint64_t ps_ddsketch_encoded_max(const struct ps_sketch *base)
{
  return HEAD_SIZE + (uint64_t)((const struct ps_ddsketch *)base)->max_bins * PS_SIGNS * BIN_SIZE;
}

/* Returns what is behind them. */
static unsigned char *encode_bins(const struct ps_bins *bins, const unsigned char *payload,
                                  unsigned char *at)
{
  for (uint32_t i = 0, n = ps_span_length(bins->span); i < n; i++) {
    uint64_t count = ps_bins_get(bins, payload, bins->span.low + i);
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
  ps_store_double(bytes + MIN_AT, sketch->min);
  ps_store_double(bytes + MAX_AT, sketch->max);
  for (size_t sign = 0; sign < PS_SIGNS; sign++) {
    const struct ps_bins *bins = &sketch->bins[sign];
    ps_store32(bytes + BINS_AT + sign * 4, ps_bins_used(bins, base->payload));
    collapsed |= (uint64_t)bins->collapsed << sign;
    at = encode_bins(bins, base->payload, at);
  }
  ps_store64(bytes + COLLAPSED_AT, collapsed);
}

/* ---- what can be ---- */

/* Could an extreme of the values be x, of those of one sign the one with the highest index? */
static bool is_outermost(const struct ps_ddsketch *claimed, double x, enum ps_sign of)
{
  enum ps_sign sign;
  uint32_t index;
  return !ps_ddsketch_is_zero(claimed, x, &sign, &index) && sign == of &&
         index == claimed->bins[of].span.high;
}

/* The same of the lowest index, below which are the collapsed ones. */
static bool is_innermost(const struct ps_ddsketch *claimed, double x, enum ps_sign of)
{
  const struct ps_bins *bins = &claimed->bins[of];
  enum ps_sign sign;
  uint32_t index;
  if (ps_ddsketch_is_zero(claimed, x, &sign, &index) || sign != of) {
    return false;
  }
  return bins->collapsed ? index < bins->span.low : index == bins->span.low;
}

static bool has_bins(const struct ps_ddsketch *claimed, enum ps_sign sign)
{
  return ps_span_length(claimed->bins[sign].span) > 0;
}

/* Does x, the extreme on the side of one sign, fit the bins? */
static bool is_extreme(const struct ps_ddsketch *claimed, double x, enum ps_sign side)
{
  enum ps_sign other = side == PS_NEGATIVE ? PS_POSITIVE : PS_NEGATIVE;
  if (!isfinite(x) || (x == 0 && signbit(x))) {
    return false;
  }
  if (has_bins(claimed, side)) {
    return is_outermost(claimed, x, side);
  }
  if (claimed->zeros > 0) {
    return fabs(x) < claimed->least;
  }
  return has_bins(claimed, other) ? is_innermost(claimed, x, other) : x == 0;
}

/* Do the extremes fit the zeros and the spans of the bins, of which there are so many values? */
static bool are_extremes(const struct ps_ddsketch *claimed, uint64_t total)
{
  return is_extreme(claimed, claimed->min, PS_NEGATIVE) &&
         is_extreme(claimed, claimed->max, PS_POSITIVE) && claimed->min <= claimed->max &&
         (total > 1 || claimed->min == claimed->max);
}

static enum ps_status corrupt(const char *what, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (%s)", what);
}

/* ---- decoding without a range ---- */

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
  const struct ps_span range = sketch->range, span = span_of(list);
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

static enum ps_status fill(struct ps_ddsketch *sketch, const struct list lists[],
                           struct ps_error *error)
{
  const struct ps_span window[] = {span_of(lists[0]), span_of(lists[1])};
  enum ps_status status = ps_ddsketch_reserve(sketch, window, error);
  for (int sign = 0; sign < PS_SIGNS && status == PS_OK; sign++) {
    struct ps_bins *bins = &sketch->bins[sign];
    for (uint32_t i = 0; i < lists[sign].n; i++) {
      uint64_t count = count_in(lists[sign], i);
      ps_bins_count(bins, sketch->sketch.payload, index_in(lists[sign], i), count);
      bins->total += count;
    }
    bins->span = window[sign];
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
  sketch->min = ps_load_double(bytes + MIN_AT);
  sketch->max = ps_load_double(bytes + MAX_AT);
  struct ps_ddsketch claimed = *sketch;
  for (int sign = 0; sign < PS_SIGNS; sign++) {
    claimed.bins[sign].span = span_of(lists[sign]);
    claimed.bins[sign].collapsed = lists[sign].collapsed;
  }
  if (!are_extremes(&claimed, total)) {
    return corrupt("extremes that the bins do not have", error);
  }
  return fill(sketch, lists, error);
}

/* ---- with a range ---- */

static uint64_t word_of(const struct ps_ddsketch *sketch, size_t word)
{
  return ps_atomic_load(ps_ddsketch_word(sketch, word), 8);
}

void ps_ddsketch_store_head(struct ps_ddsketch *sketch)
{
  ps_store64(ps_ddsketch_word(sketch, PS_DDSKETCH_ZEROS), sketch->zeros);
  ps_store64(ps_ddsketch_word(sketch, PS_DDSKETCH_LEAST), ~ps_order_of(sketch->min));
  ps_store64(ps_ddsketch_word(sketch, PS_DDSKETCH_LARGEST), ps_order_of(sketch->max));
}

/* How much more may be counted, and whether there was more than that. */
struct quota {
  uint64_t left;
  bool passed;
};

/* A count, or what is left for it. */
static uint64_t take(struct quota *quota, uint64_t count)
{
  if (count > quota->left) {
    quota->passed = true;
    count = quota->left;
  }
  quota->left -= count;
  return count;
}

static struct ps_bins read_bins(const struct ps_ddsketch *sketch, enum ps_sign sign,
                                struct quota *quota)
{
  struct ps_bins bins = ps_ddsketch_fixed_bins(sketch, sign);
  for (uint32_t i = 0; i < bins.room; i++) {
    const uint32_t index = bins.base + i;
    const uint64_t count = take(quota, ps_bins_get(&bins, sketch->sketch.payload, index));
    if (count > 0) {
      bins.total += count;
      bins.span = ps_span_join(bins.span, (struct ps_span){index, index});
    }
  }
  return bins;
}

/* NaN for a word that no value has, as 0 is. */
static double extreme_of(uint64_t order)
{
  const double x = ps_order_value(order);
  return isfinite(x) && !(x == 0 && signbit(x)) ? x : NAN;
}

/* Takes all from the payload, each word once. The extremes come last: of what is added to a shared
 * sketch they come first. False if the counts come to more than 2^53, and then it takes no more
 * than that. */
static bool read_payload(struct ps_ddsketch *sketch)
{
  struct quota quota = {PS_COUNT_MAX, false};
  sketch->zeros = take(&quota, word_of(sketch, PS_DDSKETCH_ZEROS));
  sketch->bins[PS_NEGATIVE] = read_bins(sketch, PS_NEGATIVE, &quota);
  sketch->bins[PS_POSITIVE] = read_bins(sketch, PS_POSITIVE, &quota);
  sketch->min = extreme_of(~word_of(sketch, PS_DDSKETCH_LEAST));
  sketch->max = extreme_of(word_of(sketch, PS_DDSKETCH_LARGEST));
  return !quota.passed;
}

/* Whether the extremes fit the bins is not asked here: they may not in bytes that were written
 * while the sketch changed. */
enum ps_status ps_ddsketch_check(const struct ps_sketch *base, struct ps_error *error)
{
  struct ps_ddsketch claimed = *(const struct ps_ddsketch *)base;
  if (!ps_ddsketch_has_range(&claimed)) {
    return PS_OK; /* was checked while it was decoded */
  }
  if (!read_payload(&claimed)) {
    return corrupt("counts above 2^53", error);
  }
  if ((isnan(claimed.min) && word_of(&claimed, PS_DDSKETCH_LEAST) != 0) ||
      (isnan(claimed.max) && word_of(&claimed, PS_DDSKETCH_LARGEST) != 0) ||
      claimed.min > claimed.max) {
    return corrupt("extremes that are none", error);
  }
  return PS_OK;
}

/* Moves extremes that do not fit, or are not there, outwards to the edges of the bins. A single
 * value has but one. */
static void widen(struct ps_ddsketch *sketch, uint64_t total)
{
  const struct ps_bins *negative = &sketch->bins[PS_NEGATIVE],
                       *positive = &sketch->bins[PS_POSITIVE];
  const uint64_t multiplier = sketch->multiplier;
  double low = 0, high = 0;
  if (has_bins(sketch, PS_NEGATIVE)) {
    low = -ps_log_edge(multiplier, negative->span.high + 1);
    high = sketch->zeros > 0 ? 0 : -ps_log_edge(multiplier, negative->span.low);
  }
  if (has_bins(sketch, PS_POSITIVE)) {
    high = ps_log_edge(multiplier, positive->span.high + 1);
    if (!has_bins(sketch, PS_NEGATIVE) && sketch->zeros == 0) {
      low = ps_log_edge(multiplier, positive->span.low);
    }
  }
  sketch->min = fmin(sketch->min, low); /* of a number and NaN, the number */
  sketch->max = fmax(sketch->max, high);
  if (total == 1) {
    sketch->min = sketch->max;
  }
}

void ps_ddsketch_attach(struct ps_sketch *base)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  if (!ps_ddsketch_has_range(sketch)) {
    return;
  }
  read_payload(sketch);
  const uint64_t total = base->kind->count(base);
  if (total == 0) {
    sketch->min = sketch->max = 0;
  } else if (!are_extremes(sketch, total)) {
    widen(sketch, total);
  }
}
