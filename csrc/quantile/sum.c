#include "quantile/sum.h"

#include "base/math.h"

static void shift(struct ps_sum *sum)
{
  sum->high = ldexp(sum->high, -PS_SUM_SHIFT);
  sum->low = ldexp(sum->low, -PS_SUM_SHIFT);
  sum->shift = PS_SUM_SHIFT;
}

static void add_shifted(struct ps_sum *sum, double x, int power)
{
  if (sum->shift == 0 && !isfinite(sum->high + ldexp(x, power))) {
    shift(sum);
  }
  ps_sum_add_term(sum, ldexp(x, power - (int)sum->shift));
}

/* Bit by bit, so that each term is exact. */
void ps_sum_add_weighted(struct ps_sum *sum, double x, uint64_t weight)
{
  for (; weight > 0; weight &= weight - 1) {
    add_shifted(sum, x, __builtin_ctzll(weight));
  }
}

void ps_sum_join(struct ps_sum *sum, struct ps_sum other)
{
  if (sum->shift < other.shift) {
    shift(sum);
  }
  add_shifted(sum, other.high, (int)other.shift);
  sum->low += ldexp(other.low, (int)other.shift - (int)sum->shift);
}

double ps_sum_value(struct ps_sum sum)
{
  return ldexp(sum.high + sum.low, (int)sum.shift);
}

double ps_sum_mean(struct ps_sum sum, uint64_t count)
{
  return ldexp((sum.high + sum.low) / (double)count, (int)sum.shift);
}
