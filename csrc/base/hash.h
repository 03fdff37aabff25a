/* The one hash: every position, row, fingerprint and rank of a key comes from these 64 bits. */
#ifndef PS_BASE_HASH_H
#define PS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/math.h"

/* The hash id stored with every sketch. */
enum ps_hash_id { PS_HASH_NONE = 0, PS_HASH_XXH3 = 1 };

/* XXH3_64bits_withSeed of the key's bytes. */
uint64_t ps_hash(const void *key, size_t length, uint64_t seed);

/* One hash gives a sequence of positions by a multiplicative generator modulo 2^64, read from its
 * high bits: h, h*A, h*A^2 ... with the multiplier of Steele and Vigna 2021 ("Computationally easy,
 * spectrally good multipliers for congruential pseudorandom number generators", table for 64-bit
 * MCGs). An arithmetic progression ("double hashing") collapses all
 * positions of a key onto a few bits when its step is small: a floor under the false-positive rate
 * of small tables. */
#define PS_HASH_STEP UINT64_C(0xf1357aea2e62a9c5)

/* The start of a key's sequence: odd, so that the generator has its full period of 2^62. */
static inline uint64_t ps_hash_first(uint64_t hash)
{
  return hash | 1;
}

static inline uint64_t ps_hash_next(uint64_t h)
{
  return h * PS_HASH_STEP;
}

/* Where h falls among n places. */
static inline uint64_t ps_hash_place(uint64_t h, uint64_t n)
{
  return ps_multiply_high(h, n);
}

#endif
