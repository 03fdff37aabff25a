/* The bytes of a kll: docs/FORMAT.md. */
#include <float.h>
#include <math.h>

#include "base/bytes.h"
#include "base/math.h"
#include "quantile/kll.h"
#include "quantile/order.h"

#define RANDOM_AT 0
#define PENDING_AT 8
#define SIDE_AT 16
#define MIN_AT 24
#define MAX_AT 32
#define HIGH_AT 40
#define LOW_AT 48
#define SHIFT_AT 56
#define LEVELS_AT 60
#define HEAD_SIZE 64 /* then the sizes of the levels, 4 bytes each, then their items */

static uint64_t size_for(uint32_t levels, uint32_t items)
{
  return HEAD_SIZE + (uint64_t)levels * 4 + (uint64_t)items * 8;
}

uint64_t ps_kll_encoded_size(const struct ps_sketch *base)
{
  const struct ps_levels *levels = &((const struct ps_kll *)base)->levels;
  return size_for(levels->n, ps_levels_size(levels));
}

uint64_t ps_kll_encoded_max(const struct ps_sketch *base)
{
  struct ps_levels levels;
  ps_levels_init(&levels, ((const struct ps_kll *)base)->k);
  return size_for(PS_LEVELS_MAX, ps_levels_capacity(&levels, PS_LEVELS_MAX));
}

/* Level 0 is put in order first: which order its items came in is no part of the state. */
void ps_kll_encode(const struct ps_sketch *base, unsigned char *bytes)
{
  struct ps_kll *kll = (struct ps_kll *)base;
  const struct ps_levels *levels = &kll->levels;
  ps_kll_settle(kll);
  ps_store64(bytes + RANDOM_AT, levels->coins.random);
  ps_store64(bytes + PENDING_AT, levels->coins.pending);
  ps_store64(bytes + SIDE_AT, levels->coins.side);
  ps_store_double(bytes + MIN_AT, kll->min);
  ps_store_double(bytes + MAX_AT, kll->max);
  ps_store_double(bytes + HIGH_AT, kll->sum.high);
  ps_store_double(bytes + LOW_AT, kll->sum.low);
  ps_store32(bytes + SHIFT_AT, kll->sum.shift);
  ps_store32(bytes + LEVELS_AT, levels->n);
  unsigned char *at = bytes + HEAD_SIZE;
  for (uint32_t h = 0; h < levels->n; h++, at += 4) {
    ps_store32(at, ps_level_size(levels, h));
  }
  for (uint32_t i = levels->start[0]; i < levels->room; i++, at += 8) {
    ps_store_double(at, ps_order_value(levels->items[i]));
  }
}

/* ---- decoding ---- */

static enum ps_status corrupt(const char *what, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (%s)", what);
}

/* A number that values and what is made of them can be: finite, and no -0.0. */
static bool is_number(double x)
{
  return isfinite(x) && !(x == 0 && signbit(x));
}

static uint32_t level_in(const unsigned char *bytes, uint32_t h)
{
  return ps_load32(bytes + HEAD_SIZE + (size_t)h * 4);
}

/* Levels whose items are all there and within capacity, with weights that sum to at most 2^53. */
static bool read_sizes(struct ps_kll *kll, const unsigned char *bytes, uint64_t size)
{
  const uint32_t n = ps_load32(bytes + LEVELS_AT);
  uint64_t total = 0, weight = 0;
  if (n < 1 || n > PS_LEVELS_MAX || size < size_for(n, 0)) {
    return false;
  }
  for (uint32_t h = 0; h < n; h++) {
    const uint64_t level = level_in(bytes, h);
    if (level > (PS_COUNT_MAX - weight) >> h) {
      return false;
    }
    total += level;
    weight += level << h;
  }
  kll->count = weight;
  return total <= ps_levels_capacity(&kll->levels, n) && size == size_for(n, (uint32_t)total) &&
         (n == 1 || level_in(bytes, n - 1) > 0);
}

/* Each level ascending, of numbers. */
static bool read_items(struct ps_kll *kll, const unsigned char *bytes)
{
  struct ps_levels *levels = &kll->levels;
  const unsigned char *at = bytes + size_for(ps_load32(bytes + LEVELS_AT), 0);
  ps_levels_raise(levels, ps_load32(bytes + LEVELS_AT));
  for (uint32_t h = levels->n; h-- > 0;) {
    levels->start[h] = levels->start[h + 1] - level_in(bytes, h);
  }
  for (uint32_t h = 0; h < levels->n; h++) {
    for (uint32_t i = levels->start[h]; i < levels->start[h + 1]; i++, at += 8) {
      const double x = ps_load_double(at);
      levels->items[i] = ps_order_of(x);
      if (!is_number(x) || (i > levels->start[h] && levels->items[i] < levels->items[i - 1])) {
        return false;
      }
    }
  }
  return true;
}

/* Extremes that no item is beyond, and that are items where all are kept. */
static bool read_extremes(struct ps_kll *kll, const unsigned char *bytes)
{
  const struct ps_levels *levels = &kll->levels;
  const double min = ps_load_double(bytes + MIN_AT), max = ps_load_double(bytes + MAX_AT);
  kll->min = min;
  kll->max = max;
  if (!is_number(min) || !is_number(max)) {
    return false;
  }
  if (kll->count == 0) {
    return min == 0 && max == 0;
  }
  for (uint32_t h = 0; h < levels->n; h++) {
    if (ps_level_size(levels, h) > 0 &&
        (levels->items[levels->start[h]] < ps_order_of(min) ||
         levels->items[levels->start[h + 1] - 1] > ps_order_of(max))) {
      return false;
    }
  }
  return levels->n > 1 || (levels->items[levels->start[0]] == ps_order_of(min) &&
                           levels->items[levels->room - 1] == ps_order_of(max));
}

/* A sum that so many values within the extremes can have, with all that rounding may do. */
static bool read_sum(struct ps_kll *kll, const unsigned char *bytes)
{
  const struct ps_sum sum = {ps_load_double(bytes + HIGH_AT), ps_load_double(bytes + LOW_AT),
                             ps_load32(bytes + SHIFT_AT)};
  const double largest = fmax(fabs(kll->min), fabs(kll->max));
  const double most = 4 * ldexp(largest, -PS_SUM_SHIFT) * (double)kll->count + DBL_MIN;
  const int power = (int)sum.shift - PS_SUM_SHIFT;
  kll->sum = sum;
  if (!is_number(sum.high) || !is_number(sum.low) ||
      (sum.shift != 0 && sum.shift != PS_SUM_SHIFT)) {
    return false;
  }
  if (kll->count == 0) {
    return sum.high == 0 && sum.low == 0 && sum.shift == 0;
  }
  return fabs(ldexp(sum.high, power)) <= most && fabs(ldexp(sum.low, power)) <= most;
}

/* Coins that compactions to the levels there are can have left. */
static bool read_coins(struct ps_kll *kll, const unsigned char *bytes)
{
  const struct ps_coins coins = {ps_load64(bytes + RANDOM_AT), ps_load64(bytes + PENDING_AT),
                                 ps_load64(bytes + SIDE_AT)};
  const uint32_t highest = kll->levels.n - 1;
  kll->levels.coins = coins;
  return coins.pending >> highest == 0 && (coins.side & ~coins.pending) == 0 &&
         (highest > 0 || coins.random == 0);
}

enum ps_status ps_kll_read(struct ps_kll *kll, const unsigned char *bytes, uint64_t size,
                           struct ps_error *error)
{
  if (size < HEAD_SIZE) {
    return corrupt("no head", error);
  }
  if (!read_sizes(kll, bytes, size)) {
    return corrupt("levels that there cannot be", error);
  }
  enum ps_status status = ps_kll_reserve(kll, ps_load32(bytes + LEVELS_AT), kll->count, error);
  if (status != PS_OK) {
    return status;
  }
  if (!read_items(kll, bytes)) {
    return corrupt("no ascending levels of numbers", error);
  }
  if (!read_extremes(kll, bytes)) {
    return corrupt("extremes that the items do not have", error);
  }
  if (!read_sum(kll, bytes)) {
    return corrupt("a sum that the values cannot have", error);
  }
  return read_coins(kll, bytes) ? PS_OK : corrupt("coins that cannot have been tossed", error);
}
