#include "quantile/log_index.h"

#include <float.h>
#include <stdbool.h>

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

/* Positive numbers are ordered as their bits are: those of the least that has an index, and those
 * behind the largest. */
#define LEAST_BITS (UINT64_C(1) << 52)
#define END_BITS (UINT64_C(2047) << 52)

/* Steps of Newton's method: their start is within 0.004, and each squares that. */
#define STEPS 3

/* About the bits of x with M (e + p(s)) = index: to a few units of the last place, unless rounding
 * is unkind. */
static uint64_t edge_bits(uint64_t multiplier, uint32_t index)
{
  const double m = (double)multiplier;
  const uint64_t e = (uint64_t)((double)index * 0x1p52 / m);
  const uint64_t rest = ((uint64_t)index << 52) - e * multiplier; /* modulo 2^64, as it is small */
  const double f = rest <= multiplier ? (double)rest / m : -((double)(0 - rest) / m);
  double s = f * (0.66 + 0.34 * f);
  for (int step = 0; step < STEPS; step++) {
    double p = s * (10 / 7.0 - s * (3 / 5.0 - s * (6 / 35.0)));
    s -= (p - f) / (10 / 7.0 - s * (6 / 5.0 - s * (18 / 35.0)));
  }
  return (e << 52) + (uint64_t)(int64_t)(s * 0x1p52);
}

static bool is_reached(uint64_t multiplier, uint64_t bits, uint32_t index)
{
  return ps_log_index(multiplier, number(bits)) >= index;
}

/* From a guess outwards, in steps that double, then by bisection: whatever the guess is, the edge
 * is the same. */
double ps_log_edge(uint64_t multiplier, uint32_t index)
{
  uint64_t guess = edge_bits(multiplier, index), step = 4;
  guess = guess < LEAST_BITS ? LEAST_BITS : guess > END_BITS - 1 ? END_BITS - 1 : guess;
  uint64_t low = guess, high = guess;
  for (; high < END_BITS && !is_reached(multiplier, high, index); step *= 2) {
    low = high + 1;
    high = END_BITS - high > step ? high + step : END_BITS;
  }
  for (; low > LEAST_BITS && is_reached(multiplier, low - 1, index); step *= 2) {
    high = low - 1;
    low = low - LEAST_BITS > step ? low - step : LEAST_BITS;
  }
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (is_reached(multiplier, middle, index)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < END_BITS ? number(low) : DBL_MAX;
}

/* 2 low high / (low + high), in an order that does not overflow. */
double ps_log_value(uint64_t multiplier, uint32_t index)
{
  double low = ps_log_edge(multiplier, index), high = ps_log_edge(multiplier, index + 1);
  return low * (2 / (1 + low / high));
}
