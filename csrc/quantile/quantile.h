/* What every kind of quantile sketch answers: the table that ps_kind points at. */
#ifndef PS_QUANTILE_QUANTILE_H
#define PS_QUANTILE_QUANTILE_H

#include "base/kind.h"
#include "base/math.h"

/* May weights of `more` be added to those of the total? PS_ERR_FULL. */
static inline enum ps_status ps_check_total(uint64_t total, uint64_t more, struct ps_error *error)
{
  if (more > PS_COUNT_MAX - total) {
    return ps_fail(error, PS_ERR_FULL, "the total of all weights would pass 2^53");
  }
  return PS_OK;
}

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
