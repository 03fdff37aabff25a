#include "base/math.h"

#include <math.h>

#include "base/bytes.h"

uint64_t ps_count_ones(const unsigned char *bytes, uint64_t size)
{
  uint64_t ones = 0;
  for (uint64_t at = 0; at < size; at += 8) {
    ones += ps_ones(ps_load64(bytes + at));
  }
  return ones;
}

void ps_unite(unsigned char *bytes, const unsigned char *others, uint64_t size)
{
  for (uint64_t at = 0; at < size; at += 8) {
    ps_store64(bytes + at, ps_load64(bytes + at) | ps_load64(others + at));
  }
}

uint64_t ps_round_count(double x)
{
  if (!(x > 0)) {
    return 0;
  }
  /* x + 0.5 would be rounded itself where it has no bits left for halves. */
  double whole = floor(x);
  return x >= (double)PS_COUNT_MAX ? PS_COUNT_MAX : (uint64_t)whole + (x - whole >= 0.5);
}
