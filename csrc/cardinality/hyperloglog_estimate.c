#include <math.h>

#include "base/sketch.h"
#include "cardinality/hyperloglog.h"
#include "cardinality/hyperloglog_sparse.h"

#define LN2 0.69314718055994530942
#define TWO_TO_64 18446744073709551616.0

/* Ertl 2017, algorithm 6: what the registers at 0 contribute, as if their hashes had been counted
 * to ranks below 0. x is their share. */
static double sigma(double x)
{
  if (x == 1) {
    return INFINITY;
  }
  double sum = x, before, weight = 1;
  do {
    x *= x;
    before = sum;
    sum += x * weight;
    weight += weight;
  } while (sum != before);
  return sum;
}

/* The same for full registers, as if ranks went on above q + 1. x is the share of the others. */
static double tau(double x)
{
  if (x == 0 || x == 1) {
    return 0;
  }
  double sum = 1 - x, before, weight = 1;
  do {
    x = sqrt(x);
    before = sum;
    weight /= 2;
    sum -= (1 - x) * (1 - x) * weight;
  } while (sum != before);
  return sum / 3;
}

/* Ertl's estimate is m^2 / z, for a sum z that has no bias; 1/z has one of var(z) / z^2. For a full
 * sketch that is 1.079 / m, the term that is also in the alpha_m of Flajolet et al.; while
 * registers fill it goes up with their share, as measured for p = 4 to 8. From p = 10 on it hardly
 * matters. */
double ps_tally_estimate(const struct ps_tally *tally, unsigned precision)
{
  const double m = (double)(UINT64_C(1) << precision);
  const uint64_t open_register = ps_tally_weight(precision, 0);
  double zeros = m * sigma(tally->zeros / m);
  double full = m * tau(1 - tally->full / m);
  double others = (double)(tally->open - tally->zeros * open_register);
  double z = zeros + (others + full) / (double)open_register;
  double bias = 1.079 / m * (1 - tally->zeros / m);
  return fmin(m * m / (2 * LN2 * z * (1 + bias)), TWO_TO_64);
}

/* -M ln(1 - k/M) for k of M indexes, by its power series in k/M: that is below 1/1000, so five
 * terms are exact to the last bit, and unlike a logarithm the same on every machine. */
double ps_sparse_estimate(uint32_t entries)
{
  double k = entries, x = k / (double)(UINT32_C(1) << PS_SPARSE_INDEX_BITS);
  return k * (1 + x * (1. / 2 + x * (1. / 3 + x * (1. / 4 + x * (1. / 5)))));
}

bool ps_hyperloglog_counts_by_hip(const struct ps_hyperloglog *hll)
{
  return hll->hip && (!hll->dense || ps_hip_get(hll->sketch.payload, hll->precision) > 0);
}

double ps_hyperloglog_estimate(const struct ps_hyperloglog *hll)
{
  if (!hll->dense) {
    return ps_sparse_estimate(hll->entries);
  }
  ps_derive(&hll->sketch);
  return ps_hyperloglog_counts_by_hip(hll) ? ps_hip_get(hll->sketch.payload, hll->precision)
                                           : ps_tally_estimate(&hll->tally, hll->precision);
}

/* That of HIP is sqrt(ln 2 / m): Ting 2014, for base 2. */
double ps_hyperloglog_standard_error(const struct ps_hyperloglog *hll)
{
  double of_one = ps_hyperloglog_counts_by_hip(hll) ? sqrt(LN2) : 1.04;
  return of_one / sqrt((double)(UINT64_C(1) << hll->precision));
}

/* Keys that have no entry, since another has the same index, are a Poisson number: at most how many
 * are there? None, if even one is rarer than a normal number is beyond z standard errors; else its
 * quantile, which so skewed needs one term more than a normal one (Cornish and Fisher 1938). */
static double most_shared(double expected, double z)
{
  if (expected <= erfc(z / sqrt(2))) {
    return 0;
  }
  return floor(expected + z * sqrt(expected) + (z * z - 1) / 6);
}

void ps_hyperloglog_bounds(const struct ps_hyperloglog *hll, double z, double *low, double *high)
{
  double n = ps_hyperloglog_estimate(hll);
  if (hll->dense) { /* and its tally that of the estimate */
    double used = (double)((UINT32_C(1) << hll->precision) - hll->tally.zeros);
    double error = z * ps_hyperloglog_standard_error(hll);
    *low = fmax(used, n / (1 + error));
    *high = error < 1 ? fmax(used, n / (1 - error)) : TWO_TO_64;
  } else {
    double entries = hll->entries, shared = n - entries;
    *low = fmax(entries, n - z * sqrt(shared));
    *high = fmax(n, entries + most_shared(shared, z));
  }
}
