/* Integer arithmetic that every sketch shares: checked products, wide products, bit counts. */
#ifndef PS_BASE_MATH_H
#define PS_BASE_MATH_H

#include <stdbool.h>
#include <stdint.h>

/* No a * b + c in one rounding, where a machine has that: states and answers are the same on all.
 * Of the pragma that is meant for it gcc knows nothing, and LuaRocks passes no flag. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("fp-contract=off")
#else
#pragma STDC FP_CONTRACT OFF
#endif

/* The largest whole number up to which a double counts without gaps: counts stop here, since
 * Lua before 5.3 has no other numbers. */
#define PS_COUNT_MAX (UINT64_C(1) << 53)

/* *product = a * b; false, and nothing written, when that does not fit. */
static inline bool ps_multiply(uint64_t a, uint64_t b, uint64_t *product)
{
  return !__builtin_mul_overflow(a, b, product);
}

/* a + b for counts that stop at `limit` instead of passing it; both must be <= limit. */
static inline uint64_t ps_add_saturating(uint64_t a, uint64_t b, uint64_t limit)
{
  return b > limit - a ? limit : a + b;
}

/* The upper half of the 128-bit product. For a uniform 64-bit h, ps_multiply_high(h, n) is
 * uniform over 0 .. n-1 without a division (Lemire 2019, "Fast random integer generation in an
 * interval"; the bias is below n / 2^64). */
static inline uint64_t ps_multiply_high(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
  __extension__ typedef unsigned __int128 wide;
  return (uint64_t)(((wide)a * b) >> 64);
#else
  uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  uint64_t carry = a0 * b1 + (uint32_t)middle;
  return a1 * b1 + (middle >> 32) + (carry >> 32);
#endif
}

/* Number of leading zero bits; 64 for 0. */
static inline unsigned ps_leading_zeros(uint64_t x)
{
  return x == 0 ? 64 : (unsigned)__builtin_clzll(x);
}

static inline uint64_t ps_round_up(uint64_t n, uint64_t multiple)
{
  return (n + multiple - 1) / multiple * multiple;
}

/* Bits set. SWAR, since __builtin_popcountll is a library call on the baseline machine that rocks
 * are built for. */
static inline unsigned ps_ones(uint64_t x)
{
  x -= (x >> 1) & UINT64_C(0x5555555555555555);
  x = (x & UINT64_C(0x3333333333333333)) + ((x >> 2) & UINT64_C(0x3333333333333333));
  x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (unsigned)((x * UINT64_C(0x0101010101010101)) >> 56);
}

/* Bits set in `size` bytes, a multiple of 8. */
uint64_t ps_count_ones(const unsigned char *bytes, uint64_t size);

/* Sets in `size` bytes, a multiple of 8, also the bits that are set in as many others. */
void ps_unite(unsigned char *bytes, const unsigned char *others, uint64_t size);

/* x as a count: rounded to the nearest whole number, 0 for less, PS_COUNT_MAX for more. */
uint64_t ps_round_count(double x);

#endif
