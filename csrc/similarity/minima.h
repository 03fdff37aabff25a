/* The minima of a MinHash: of each of k hash functions the least value over all tokens, as k words
 * of 64 bits. A word of all ones is no value: no token has come.
 *
 * Function 32 b + j takes the hash h of a token to h * S^b * c_j + 2^63 modulo 2^64, where S is
 * PS_HASH_STEP and c_j the upper half of S^(j + 1), made odd. Each is a permutation of the 64-bit
 * numbers, so that minima are equal when they come from the same token. Hashes are uniform already
 * and need no more mixing than this to make two functions choose their tokens independently: the
 * pairs of values (f(h), g(h)) form a lattice, and no two of the first 128 functions have vectors
 * shorter than 2^23 in theirs, of at best 2^32. The multipliers have 32 bits since processors with
 * vectors multiply by those in half the time, and 2^63 is there since they compare numbers as
 * signed. */
#ifndef PS_SIMILARITY_MINIMA_H
#define PS_SIMILARITY_MINIMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_NO_MINIMUM UINT64_MAX

/* The lanes of a block have one power of S. */
#define PS_BLOCK_LANES 32

/* What is done to k minima, once for any processor and once for those that handle four or eight at
 * a time: to the bit the same. */
struct ps_minima_code {
  /* Has the token changed a minimum? */
  bool (*add)(unsigned char *minima, size_t k, uint64_t hash);
  /* How many of the tokens, added in order, have. */
  size_t (*add_many)(unsigned char *minima, size_t k, const uint64_t *hashes, size_t n);
};

extern const struct ps_minima_code ps_minima_portable;

/* For minima that others lower at the same time, at a multiple of 8, on any processor. */
extern const struct ps_minima_code ps_minima_shared;

#if defined(__x86_64__) && defined(__GNUC__)
#define PS_MINIMA_X86 1
extern const struct ps_minima_code ps_minima_avx2;
extern const struct ps_minima_code ps_minima_avx512;
extern const struct ps_minima_code ps_minima_shared_avx2;
#endif

/* The best that this processor can do, for minima that are shared or not; asked at each call, as in
 * membership/blocked_line.h. */
static inline const struct ps_minima_code *ps_minima_code(bool shared)
{
#ifdef PS_MINIMA_X86
  if (__builtin_cpu_supports("avx512dq") && !shared) {
    return &ps_minima_avx512;
  }
  if (__builtin_cpu_supports("avx2")) {
    return shared ? &ps_minima_shared_avx2 : &ps_minima_avx2;
  }
#endif
  return shared ? &ps_minima_shared : &ps_minima_portable;
}

/* Of k functions, those that have a value in a or in b, and those that have the same one. */
struct ps_agreement {
  size_t equal, of;
};

struct ps_agreement ps_minima_agree(const unsigned char *a, const unsigned char *b, size_t k);

#endif
