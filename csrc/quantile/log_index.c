#include "quantile/log_index.h"

#include <float.h>

/* Makes bins narrower than they must be by so little: what rounding does to a value stays within
 * the accuracy. */
#define NARROWER (1 + 0x1p-30)

/* Of the series below, at 1/2, the rest is less than 2^-64. */
#define TERMS 30

/* ln gamma = 2 atanh(a) = 2 a (1 + a^2/3 + a^4/5 ...): of the sum and of atanh(a), 63 bits are
 * behind the point. Divisions and powers of 2 are all that is left to floating point. */
uint64_t ps_log_multiplier(double accuracy)
{
  const uint64_t one = UINT64_C(1) << 63, a = (uint64_t)(accuracy * 0x1p64);
  const uint64_t square = ps_multiply_high(a, a);
  uint64_t sum = 0;
  for (unsigned k = TERMS; k-- > 0;) {
    sum = one / (2 * k + 1) + ps_multiply_high(sum, square);
  }
  double multiplier = 0.35 * 0x1p63 / (double)ps_multiply_high(a, sum);
  return (uint64_t)(multiplier * NARROWER * 0x1p52);
}

static double number(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Positive numbers are ordered as their bits are. */
double ps_log_edge(uint64_t multiplier, uint32_t index)
{
  uint64_t low = UINT64_C(1) << 52, high = UINT64_C(2047) << 52;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ps_log_index(multiplier, number(middle)) >= index) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < UINT64_C(2047) << 52 ? number(low) : DBL_MAX;
}

/* 2 low high / (low + high), in an order that does not overflow. */
double ps_log_value(uint64_t multiplier, uint32_t index)
{
  double low = ps_log_edge(multiplier, index), high = ps_log_edge(multiplier, index + 1);
  return low * (2 / (1 + low / high));
}
