/* The counting Bloom filter (Fan, Cao, Almeida and Broder 2000, "Summary Cache"): a Bloom filter
 * that forgets, since each of its bits is a counter of the keys that have set it.
 *
 * As many counters as a Bloom filter for the same promise has bits (membership/bloom.h), and each
 * key at the same places. A counter stops at its maximum and stays there: how many keys it stands
 * for is no longer known, so it is never decremented, and no key is ever lost. Four bits are enough
 * for keys that are added once: at capacity a counter is at 15 with a probability of 2e-15. */
#ifndef PS_MEMBERSHIP_COUNTING_BLOOM_H
#define PS_MEMBERSHIP_COUNTING_BLOOM_H

#include "membership/bloom.h"

/* Payload: counters 0 .. m-1 of b bits, counter i at bit b i of the bytes taken as one
 * little-endian number, padded with zeros to 8 bytes. */
struct ps_counting_bloom {
  struct ps_bloom bloom; /* what it is when counters are taken for bits: m, k, those that are set */
  uint8_t counter_bits;  /* 4, 8 or 16 */
  uint64_t saturated;    /* derived: counters at their maximum */
};

extern const struct ps_kind ps_counting_bloom;

/* Adds the key n <= PS_COUNT_MAX times; 0 changes nothing. True: the key was certainly not there
 * before. O(k). */
bool ps_counting_bloom_add(struct ps_counting_bloom *filter, uint64_t hash, uint64_t n);

/* False: certainly not there. True: there, or with probability ps_bloom_rate() not. O(k). */
bool ps_counting_bloom_has(const struct ps_counting_bloom *filter, uint64_t hash);

/* Takes the key out n times; false, and nothing is changed, if it is certainly not there that
 * often. A frequency at the maximum stands for any. O(k). */
bool ps_counting_bloom_remove(struct ps_counting_bloom *filter, uint64_t hash, uint64_t n);

/* The key's smallest counter: never below the truth, except that it stops at the maximum. O(k). */
uint64_t ps_counting_bloom_frequency(const struct ps_counting_bloom *filter, uint64_t hash);

/* What a counter can hold: 15, 255 or 65535. */
uint64_t ps_counting_bloom_max(const struct ps_counting_bloom *filter);

#endif
