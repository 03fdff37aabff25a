/* A running sum of doubles that keeps what rounding takes from it.
 *
 * `low` sums the exact errors of the additions to `high` (Neumaier 1974, "Rundungsfehleranalyse
 * einiger Verfahren zur Summation endlicher Summen"; the error by the six additions of Knuth, which
 * ask no question). With u = 2^-53, what is told of n <= 2^53 values is within 2u of the sum itself
 * and 2u of the sum of their magnitudes. Additions and scaling by powers of 2 are all there is: a
 * fused multiplication has nothing to change. */
#ifndef PS_QUANTILE_SUM_H
#define PS_QUANTILE_SUM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* From where on no total of 2^53 finite numbers overflows. */
#define PS_SUM_SHIFT 64

/* Zeros are the sum of nothing. */
struct ps_sum {
  double high, low;
  uint32_t shift; /* both are multiplied by 2^-shift: PS_SUM_SHIFT once they came to overflow, or 0
                   */
};

/* Adds finite numbers: x, `weight` times. O(log weight). */
void ps_sum_add_weighted(struct ps_sum *sum, double x, uint64_t weight);

/* To the sum of nothing: makes it the same. */
void ps_sum_join(struct ps_sum *sum, struct ps_sum other);

/* Infinite when no double is so large. */
double ps_sum_value(struct ps_sum sum);

/* Of so many values. */
double ps_sum_mean(struct ps_sum sum, uint64_t count);

/* Adds a term as it is after the shift. */
static inline void ps_sum_add_term(struct ps_sum *sum, double term)
{
  double high = sum->high + term, added = high - sum->high;
  sum->low += (sum->high - (high - added)) + (term - added);
  sum->high = high;
}

static inline void ps_sum_add(struct ps_sum *sum, double x)
{
  if (sum->shift == 0 && isfinite(sum->high + x)) {
    ps_sum_add_term(sum, x);
  } else {
    ps_sum_add_weighted(sum, x, 1);
  }
}

#endif
