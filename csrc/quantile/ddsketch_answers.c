/* What a ddsketch answers, from its bins and the two extremes. */
#include <math.h>

#include "quantile/ddsketch.h"
#include "quantile/log_index.h"
#include "quantile/quantile.h"

/* The value that stands for a bin, as near as the extremes allow. */
static double value_of(const struct ps_ddsketch *sketch, enum ps_sign sign, uint32_t index)
{
  double magnitude = ps_log_value(sketch->multiplier, index);
  double x = sign == PS_NEGATIVE ? -magnitude : magnitude;
  return fmin(fmax(x, sketch->min), sketch->max);
}

static double value_of_zeros(const struct ps_ddsketch *sketch)
{
  return fmin(fmax(0, sketch->min), sketch->max);
}

static uint64_t count_of(const struct ps_ddsketch *sketch, enum ps_sign sign, uint32_t index)
{
  return ps_bins_get(&sketch->bins[sign], sketch->sketch.payload, index);
}

static uint32_t find(const struct ps_ddsketch *sketch, enum ps_sign sign, uint64_t k)
{
  return ps_bins_find(&sketch->bins[sign], sketch->sketch.payload, k);
}

/* Value number k of all, counted from 0. */
static double value_at(const struct ps_ddsketch *sketch, uint64_t k)
{
  const uint64_t negatives = sketch->bins[PS_NEGATIVE].total;
  if (k < negatives) {
    return value_of(sketch, PS_NEGATIVE, find(sketch, PS_NEGATIVE, negatives - 1 - k));
  }
  k -= negatives;
  if (k < sketch->zeros) {
    return value_of_zeros(sketch);
  }
  return value_of(sketch, PS_POSITIVE, find(sketch, PS_POSITIVE, k - sketch->zeros));
}

static uint64_t total(const struct ps_sketch *sketch)
{
  return sketch->kind->count(sketch);
}

/* Section 2.1 of the paper: the lower quantile, value number floor(q (n - 1)). */
static double quantile(const struct ps_sketch *base, double q)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  const uint64_t last = total(base) - 1;
  const uint64_t k = (uint64_t)(q * (double)last);
  return k == 0 ? sketch->min : k >= last ? sketch->max : value_at(sketch, k);
}

/* What the bins of these indexes hold. */
static uint64_t count_within(const struct ps_ddsketch *sketch, enum ps_sign sign, uint32_t low,
                             uint32_t high)
{
  const struct ps_span span = sketch->bins[sign].span;
  low = low > span.low ? low : span.low;
  high = high < span.high ? high : span.high;
  return low > high ? 0 : ps_bins_sum(&sketch->bins[sign], sketch->sketch.payload, low, high);
}

/* Values in the bin of x are taken for <= x. */
static double rank(const struct ps_sketch *base, double x)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  enum ps_sign sign;
  uint32_t index;
  if (total(base) == 0 || x < sketch->min) {
    return 0;
  }
  if (x >= sketch->max) {
    return 1;
  }
  uint64_t n = sketch->bins[PS_NEGATIVE].total + sketch->zeros;
  if (!ps_ddsketch_is_zero(sketch, x, &sign, &index)) {
    n = sign == PS_NEGATIVE ? count_within(sketch, sign, index, UINT32_MAX)
                            : n + count_within(sketch, sign, 0, index);
  }
  return (double)n / (double)total(base);
}

static double min(const struct ps_sketch *sketch)
{
  return ((const struct ps_ddsketch *)sketch)->min;
}

static double max(const struct ps_sketch *sketch)
{
  return ((const struct ps_ddsketch *)sketch)->max;
}

/* In shares of the total, since the sum may be larger than any double. */
static double mean(const struct ps_sketch *base)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  const double n = (double)total(base);
  double sum = value_of_zeros(sketch) * ((double)sketch->zeros / n);
  for (int sign = 0; sign < PS_SIGNS; sign++) {
    const struct ps_span span = sketch->bins[sign].span;
    for (uint32_t i = 0, length = ps_span_length(span); i < length; i++) {
      uint64_t count = count_of(sketch, (enum ps_sign)sign, span.low + i);
      if (count > 0) {
        sum += value_of(sketch, (enum ps_sign)sign, span.low + i) * ((double)count / n);
      }
    }
  }
  return fmin(fmax(sum, sketch->min), sketch->max);
}

static double sum(const struct ps_sketch *base)
{
  return total(base) == 0 ? 0 : mean(base) * (double)total(base);
}

const struct ps_quantile_kind ps_ddsketch_quantiles = {
    .quantile = quantile,
    .rank = rank,
    .min = min,
    .max = max,
    .sum = sum,
    .mean = mean,
};
