#include "base/math.h"

#include <math.h>

#include "base/bytes.h"

/* SWAR, since __builtin_popcountll is a library call on the baseline machine that rocks are
 * built for. */
uint64_t ps_count_ones(const unsigned char *bytes, uint64_t size)
{
  uint64_t ones = 0;
  for (uint64_t at = 0; at < size; at += 8) {
    uint64_t x = ps_load64(bytes + at);
    x -= (x >> 1) & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + ((x >> 2) & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    ones += (x * UINT64_C(0x0101010101010101)) >> 56;
  }
  return ones;
}

uint64_t ps_round_count(double x)
{
  if (!(x > 0)) {
    return 0;
  }
  return x >= (double)PS_COUNT_MAX ? PS_COUNT_MAX : (uint64_t)floor(x + 0.5);
}
