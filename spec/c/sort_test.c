/* Sorting of pairs, and doubles as integers: ps_sort() itself is held to by the sets of hashes in
 * fuse_test.c. */
#include <float.h>
#include <math.h>

#include "base/sort.h"
#include "quantile/order.h"
#include "test.h"

/* The number, and among equal ones where it was. */
static int compare(const void *a, const void *b)
{
  const struct ps_pair *x = a, *y = b;
  int by_number = (x->number > y->number) - (x->number < y->number);
  return by_number != 0 ? by_number : (x->weight > y->weight) - (x->weight < y->weight);
}

static void check_pairs(struct ps_pair *pairs, size_t n)
{
  struct ps_pair *other = test_allocate(n * sizeof *other);
  struct ps_pair *model = test_allocate(n * sizeof *model);
  for (size_t i = 0; i < n; i++) {
    pairs[i].weight = i;
  }
  memcpy(model, pairs, n * sizeof *model);
  qsort(model, n, sizeof *model, compare);
  ps_sort_pairs(pairs, n, other);
  CHECK_WITH(memcmp(pairs, model, n * sizeof *model) == 0, "of %zu", n);
  free(other);
  free(model);
}

static void pairs(void)
{
  uint64_t state = 1;
  for (size_t n = 1; n < 3000; n = n * 5 / 4 + 1) {
    for (unsigned bits = 64; bits > 0; bits /= 2) {
      struct ps_pair *upper = test_allocate(n * sizeof *upper);
      struct ps_pair *lower = test_allocate(n * sizeof *lower);
      for (size_t i = 0; i < n; i++) {
        lower[i].number = test_random(&state) >> (64 - bits);
        upper[i].number = lower[i].number << (64 - bits);
      }
      test_about("%u bits", bits);
      check_pairs(upper, n);
      check_pairs(lower, n);
      free(upper);
      free(lower);
    }
  }
  promise("pairs are sorted by their numbers, equal ones as they were");
}

static void order(void)
{
  static const double ascending[] = {-DBL_MAX,   -1e10, -1.5, -1,     -DBL_MIN,
                                     -5e-324,    -0.0,  0,    5e-324, DBL_MIN,
                                     0.99999999, 1,     1.5,  1e10,   DBL_MAX};
  for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
    double back = ps_order_value(ps_order_of(ascending[i]));
    CHECK_WITH(memcmp(&back, &ascending[i], sizeof back) == 0, "%g", back);
    CHECK_WITH(i == 0 || ps_order_of(ascending[i - 1]) < ps_order_of(ascending[i]), "%g", back);
  }
  uint64_t state = 2;
  for (int i = 0; i < 100000; i++) {
    double x, y;
    uint64_t bits[2] = {test_random(&state), test_random(&state)};
    memcpy(&x, &bits[0], sizeof x);
    memcpy(&y, &bits[1], sizeof y);
    if (isfinite(x) && isfinite(y)) {
      CHECK_WITH((x < y) == (ps_order_of(x) < ps_order_of(y)), "%g, %g", x, y);
    }
  }
  promise("doubles as integers have the order of the doubles, and come back");
}

int main(void)
{
  pairs();
  order();
  return test_end();
}
