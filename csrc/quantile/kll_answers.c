/* What a kll answers: from its items in ascending order, each with the weight of all up to it. */
#include <math.h>

#include "quantile/kll.h"
#include "quantile/order.h"
#include "quantile/quantile.h"
#include "quantile/sorted_view.h"

/* The sketch with all its items in the view. Of level 0 those that came since lie before the
 * others; they are sorted where they are, which changes no state. They fit twice into what is left
 * of the view. O(items) when there are any, and the sort. */
static const struct ps_kll *viewed(const struct ps_sketch *base)
{
  struct ps_kll *kll = (struct ps_kll *)base;
  const struct ps_levels *levels = &kll->levels;
  const uint32_t size = ps_levels_size(levels);
  if (kll->viewed == size) {
    return kll;
  }
  if (kll->viewed == 0) {
    for (uint32_t h = 1; h < levels->n; h++) {
      ps_view_merge(kll->view, kll->viewed, levels->items + levels->start[h],
                    ps_level_size(levels, h), UINT64_C(1) << h);
      kll->viewed += ps_level_size(levels, h);
    }
  }
  const uint32_t more = size - kll->viewed;
  uint64_t *items = levels->items + levels->start[0];
  if (!kll->sorted) {
    ps_sort(items, more, &kll->view[kll->viewed].number);
    kll->sorted = more == ps_level_size(levels, 0);
  }
  ps_view_merge(kll->view, kll->viewed, items, more, 1);
  kll->viewed = size;
  return kll;
}

/* Of n values the lower quantile, number floor(q (n - 1)) counted from 0. */
static double quantile(const struct ps_sketch *base, double q)
{
  const struct ps_kll *kll = (const struct ps_kll *)base;
  const uint64_t last = kll->count - 1;
  const uint64_t at = (uint64_t)(q * (double)last);
  if (at == 0) {
    return kll->min;
  }
  if (at >= last) {
    return kll->max;
  }
  kll = viewed(base);
  return ps_order_value(ps_view_at(kll->view, kll->viewed, at));
}

/* Between the extremes there is one value at least on either side. */
static double rank(const struct ps_sketch *base, double x)
{
  const struct ps_kll *kll = (const struct ps_kll *)base;
  if (kll->count == 0 || x < kll->min) {
    return 0;
  }
  if (x >= kll->max) {
    return 1;
  }
  kll = viewed(base);
  const uint64_t weight = ps_view_weight(kll->view, kll->viewed, ps_order_of(x + 0.0));
  const uint64_t least = weight > 1 ? weight : 1, most = kll->count - 1;
  return (double)(least < most ? least : most) / (double)kll->count;
}

static double min(const struct ps_sketch *sketch)
{
  return ((const struct ps_kll *)sketch)->min;
}

static double max(const struct ps_sketch *sketch)
{
  return ((const struct ps_kll *)sketch)->max;
}

static double sum(const struct ps_sketch *sketch)
{
  return ps_sum_value(((const struct ps_kll *)sketch)->sum);
}

static double mean(const struct ps_sketch *sketch)
{
  const struct ps_kll *kll = (const struct ps_kll *)sketch;
  return fmin(fmax(ps_sum_mean(kll->sum, kll->count), kll->min), kll->max);
}

/* Measured (spec/c/kll_test.c): the largest error of 99 quantiles and of a histogram of 50 bins, in
 * 99 of 100 streams and somewhat more. */
double ps_kll_rank_error(const struct ps_kll *kll)
{
  return 2.5 / kll->k;
}

double ps_kll_histogram_error(const struct ps_kll *kll)
{
  return 3.0 / kll->k;
}

const struct ps_quantile_kind ps_kll_quantiles = {
    .quantile = quantile,
    .rank = rank,
    .min = min,
    .max = max,
    .sum = sum,
    .mean = mean,
};
