/* Numbers to bins whose width is in proportion to the number: the logarithm, approximately, and the
 * same on every machine.
 *
 * A double is 2^e * (1 + s). For log2(1 + s) stands the cubic p(s) = s (10/7 - s (3/5 - s 6/35)),
 * which agrees with it at both ends and whose slope against ln(1 + s), (1 + s) p'(s), is least 10/7
 * (at s = 0 and s = 2/3). With index = floor(M (e + p(s))) the numbers of a bin are then within a
 * factor of exp(7 / (10 M)) of each other. M = 7 / (10 ln gamma) makes that gamma = (1 + a)/(1 -
 * a), and one value in each bin is within a of all of them (Masson, Rim and Lee 2019, "DDSketch: a
 * fast and fully-mergeable quantile sketch with relative-error guarantees", section 2). Compared
 * with true logarithms this takes 1 % more bins.
 *
 * All in integers: neither a library's logarithm nor a fused multiplication can move a number to
 * the next bin. */
#ifndef PS_QUANTILE_LOG_INDEX_H
#define PS_QUANTILE_LOG_INDEX_H

#include <stdint.h>
#include <string.h>

#include "base/math.h"

/* Half the coefficients of p, with 64 bits behind the point. */
#define PS_LOG_CUBE UINT64_C(0x15f15f15f15f15f1)   /* 3/35 */
#define PS_LOG_SQUARE UINT64_C(0x4ccccccccccccccc) /* 3/10 */
#define PS_LOG_SLOPE UINT64_C(0xb6db6db6db6db6db)  /* 5/7 */

/* M for the accuracy a, from 1e-4 to 0.5, with 52 bits behind the point. */
uint64_t ps_log_multiplier(double accuracy);

/* The index of a finite x >= 2^-1022, the least number that has its full precision. e counts from
 * -1023, so that no index is negative. */
static inline uint32_t ps_log_index(uint64_t multiplier, double x)
{
  uint64_t bits, s;
  memcpy(&bits, &x, sizeof bits);
  s = bits << 12;
  uint64_t square = PS_LOG_SQUARE - ps_multiply_high(s, PS_LOG_CUBE);
  uint64_t slope = PS_LOG_SLOPE - ps_multiply_high(s, square);
  uint64_t half = ps_multiply_high(s, slope);
  uint64_t log2 = (bits >> 52 << 53) + (half >> 10); /* 53 bits behind the point */
  return (uint32_t)(ps_multiply_high(log2, multiplier) >> 41);
}

/* The least number of this index or a higher one; DBL_MAX if there is none. */
double ps_log_edge(uint64_t multiplier, uint32_t index);

/* The value that stands for the numbers of a bin: off by the same share of the least and of the
 * largest. O(1). */
double ps_log_value(uint64_t multiplier, uint32_t index);

#endif
