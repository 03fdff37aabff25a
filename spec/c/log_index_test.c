/* Numbers to bins: every bin's value is within the accuracy of all numbers in it, indexes never
 * fall, and they are what exact arithmetic makes them. */
#include "quantile/log_index.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "test.h"

static const double accuracies[] = {1e-4, 0.0002, 1.0 / 1024, 0.005, 0.01, 0.02, 0.1, 1.0 / 3, 0.5};

#define ACCURACIES (sizeof accuracies / sizeof *accuracies)

static double from_bits(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double number(unsigned exponent, uint64_t mantissa)
{
  return from_bits((uint64_t)exponent << 52 | (mantissa & ((UINT64_C(1) << 52) - 1)));
}

static void check_value(double accuracy, uint64_t multiplier, double x)
{
  uint32_t index = ps_log_index(multiplier, x);
  double value = ps_log_value(multiplier, index);
  CHECK_WITH(fabs(value - x) <= accuracy * x, "%.17g becomes %.17g at %g", x, value, accuracy);
  CHECK_WITH(ps_log_index(multiplier, value) == index, "%.17g at %g", value, accuracy);
}

/* A thousandth of them evenly, and some by chance, at exponents from one end to the other. */
static void mantissas(void)
{
  static const unsigned exponents[] = {1, 2, 512, 1000, 1022, 1023, 1024, 1100, 2045, 2046};
  uint64_t state = 1;
  for (size_t a = 0; a < ACCURACIES; a++) {
    uint64_t multiplier = ps_log_multiplier(accuracies[a]);
    for (uint64_t i = 0; i < 1024; i++) {
      unsigned exponent = exponents[i % 10];
      check_value(accuracies[a], multiplier, number(exponent, i << 42));
      check_value(accuracies[a], multiplier, number(exponent, (i << 42) - 1));
      check_value(accuracies[a], multiplier, number(exponent, test_random(&state)));
    }
    check_value(accuracies[a], multiplier, DBL_MIN);
    check_value(accuracies[a], multiplier, DBL_MAX);
  }
  promise("the value of a bin is in it, and within the accuracy of every number that is");
}

/* The least number of an index, by bisection from outside. */
static uint64_t first_of(uint64_t multiplier, uint32_t index)
{
  uint64_t low = UINT64_C(1) << 52, high = UINT64_C(2047) << 52;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ps_log_index(multiplier, from_bits(middle)) < index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* The numbers on both sides of the edges of bins are the ones that are furthest off. */
static void edges(void)
{
  for (size_t a = 0; a < ACCURACIES; a++) {
    uint64_t multiplier = ps_log_multiplier(accuracies[a]);
    uint32_t first = ps_log_index(multiplier, DBL_MIN), last = ps_log_index(multiplier, DBL_MAX);
    for (uint32_t i = 0; i < 500; i++) {
      uint32_t index = first + 1 + (uint32_t)((uint64_t)(last - first - 1) * i / 500);
      uint64_t edge = first_of(multiplier, index);
      CHECK(ps_log_index(multiplier, from_bits(edge)) == index);
      CHECK(ps_log_index(multiplier, from_bits(edge - 1)) == index - 1);
      check_value(accuracies[a], multiplier, from_bits(edge));
      check_value(accuracies[a], multiplier, from_bits(edge - 1));
    }
  }
  promise("so it is on both sides of the edges, and no index is left out");
}

static void order(void)
{
  uint64_t state = 2;
  for (size_t a = 0; a < ACCURACIES; a++) {
    uint64_t multiplier = ps_log_multiplier(accuracies[a]);
    for (uint64_t i = 0; i < 20000; i++) {
      uint64_t bits = (UINT64_C(1) << 52) + test_random(&state) % ((UINT64_C(2046) << 52) - 1);
      uint64_t further = test_random(&state) >> (11 + test_random(&state) % 53);
      uint64_t above = bits + 1 + further < UINT64_C(2047) << 52 ? bits + 1 + further : bits;
      CHECK(ps_log_index(multiplier, from_bits(bits)) <=
            ps_log_index(multiplier, from_bits(above)));
    }
  }
  promise("indexes never fall as numbers rise");
}

/* M (e + p(s)) in long doubles. Bins are as few as the accuracy allows, but for 1 %. */
static void formula(void)
{
  uint64_t state = 3;
  for (size_t a = 0; a < ACCURACIES; a++) {
    long double gamma = (1 + (long double)accuracies[a]) / (1 - (long double)accuracies[a]);
    long double m = 0.7L / logl(gamma);
    uint64_t multiplier = ps_log_multiplier(accuracies[a]);
    for (uint64_t i = 0; i < 20000; i++) {
      unsigned exponent = 1 + (unsigned)(test_random(&state) % 2046);
      uint64_t mantissa = test_random(&state) >> 12;
      long double s = (long double)mantissa / 0x1p52L;
      long double p = s * (10 / 7.0L - s * (3 / 5.0L - s * (6 / 35.0L)));
      long double expected = m * (exponent + p), error = expected * 0x1p-29L;
      uint32_t index = ps_log_index(multiplier, number(exponent, mantissa));
      CHECK_WITH(index + 1 > expected - error && index < expected + error, "%u, expected %Lf",
                 index, expected);
    }
    double used = ps_log_index(multiplier, DBL_MAX) - ps_log_index(multiplier, DBL_MIN);
    CHECK_WITH(used <= 1.0101 * 2046 * log(2) / (double)logl(gamma) + 2, "%g bins", used);
  }
  promise("indexes are those of the formula");
}

int main(void)
{
  mantissas();
  edges();
  order();
  formula();
  return test_end();
}
