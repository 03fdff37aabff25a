/* What every kind of quantile sketch answers: the table that ps_kind points at. */
#ifndef PS_QUANTILE_QUANTILE_H
#define PS_QUANTILE_QUANTILE_H

#include "base/kind.h"

/* All but rank() and sum() are asked only of sketches that are not empty. */
struct ps_quantile_kind {
  /* The value at the fraction q, from 0 to 1, of the sorted values: never falls as q rises, min at
   * 0 and max at 1. */
  double (*quantile)(const struct ps_sketch *sketch, double q);
  /* The fraction of the values that are <= x, which is finite; 0 when empty. */
  double (*rank)(const struct ps_sketch *sketch, double x);
  double (*min)(const struct ps_sketch *sketch);
  double (*max)(const struct ps_sketch *sketch);
  double (*sum)(const struct ps_sketch *sketch);
  double (*mean)(const struct ps_sketch *sketch);
};

#endif
