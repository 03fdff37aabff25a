/* The classic Bloom filter (Bloom 1970): "certainly not there" or "probably there".
 *
 * m bits, of which each key sets k; a key is there when all its k bits are set. Positions come from
 * one 64-bit hash (base/hash.h). Sizes follow the standard formulas for n keys at rate p: m = -n ln
 * p / (ln 2)^2, k = m/n ln 2; tables below 1024 bits are made 1024, since the rate of tiny ones is
 * not what the formula says (Bose et al. 2008, "On the false-positive rate of Bloom filters"). */
#ifndef PS_MEMBERSHIP_BLOOM_H
#define PS_MEMBERSHIP_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/kind.h"

/* Below this many bytes a filter stays in the cache and prefetching only costs. */
#define PS_BLOOM_PREFETCH_FROM (1u << 20)

/* A rate of 1e-15 takes 50. */
#define PS_BLOOM_HASHES_MAX 64

/* Payload: bits 0 .. m-1, bit i in byte i/8 at 1 << i%8, padded with zeros to 8 bytes. */
struct ps_bloom {
  struct ps_sketch sketch;
  uint64_t bits;
  uint64_t capacity; /* distinct keys that fp_rate is promised for */
  double fp_rate;
  uint32_t hashes;
  uint64_t ones; /* derived: bits set */
};

extern const struct ps_kind ps_bloom;

/* Sets the parameters to those that keep `rate` for n keys (Bloom 1970): m = -n ln(rate) / (ln 2)^2
 * bits, 1024 at the least, and k = m/n ln 2 hashes. */
void ps_bloom_plan_for(struct ps_bloom *bloom, double n, double rate);

/* True: the key was certainly not there before. O(k). */
bool ps_bloom_add(struct ps_bloom *bloom, uint64_t hash);

/* False: certainly not there. True: there, or with probability ps_bloom_rate() not. O(k). */
bool ps_bloom_has(const struct ps_bloom *bloom, uint64_t hash);

/* The word that a bit lies in. */
static inline unsigned char *ps_bloom_word(const struct ps_bloom *bloom, uint64_t place)
{
  return bloom->sketch.payload + (place >> 6) * 8;
}

/* The bit at the place of h, as 0 or 1: it may be shared. */
static inline uint64_t ps_bloom_bit(const struct ps_bloom *bloom, uint64_t h)
{
  uint64_t place = ps_hash_place(h, bloom->bits);
  return ps_atomic_load(ps_bloom_word(bloom, place), 8) >> (place & 63) & 1;
}

/* Are all of the next n bits of a key set, *h being its sequence? All are tested, without a branch
 * between them: one that is mispredicted costs more than six tests, and out of the cache their
 * lines are fetched together. */
static inline bool ps_bloom_all_set(const struct ps_bloom *bloom, uint64_t *h, uint32_t n)
{
  uint64_t all = 1;
  for (; n > 0; n--, *h = ps_hash_next(*h)) {
    all &= ps_bloom_bit(bloom, *h);
  }
  return all;
}

/* Distinct keys, estimated from the fill (Swamidass and Baldi 2007). A full filter counts as if one
 * bit were unset. O(1). */
double ps_bloom_estimate(const struct ps_bloom *bloom);

/* The false-positive rate at the present fill: fill^k. O(1). */
double ps_bloom_rate(const struct ps_bloom *bloom);

/* Estimated |A and B| / |A or B| of two compatible filters, from the fills of both and of their
 * union; 1 when both are empty. O(m). */
double ps_bloom_jaccard(const struct ps_bloom *a, const struct ps_bloom *b);

#endif
