/* The blocked Bloom filter (Putze, Sanders and Singler 2007, "Cache-, hash- and space-efficient
 * Bloom filters"): all bits of a key lie in one cache line, so that a look-up waits for memory
 * once.
 *
 * Lines fill unevenly: their numbers of keys are Poisson distributed, and the formula of the
 * classic filter promises rates that the full ones break. With n keys in l lines of 8 lanes of 64
 * bits, one bit a lane (membership/blocked_line.h), the rate is sum over j of Poisson(j; n / l) (1
 * - (1 - 1/64)^j)^8, and the filter has as many lines as keep this at or below what is asked for.
 */
#ifndef PS_MEMBERSHIP_BLOCKED_BLOOM_H
#define PS_MEMBERSHIP_BLOCKED_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"

/* Payload: the lines, one after the other, of eight words of 64 bits each. */
struct ps_blocked_bloom {
  struct ps_sketch sketch;
  uint64_t lines;
  uint64_t capacity; /* distinct keys that fp_rate is promised for */
  double fp_rate;
  uint64_t ones; /* derived: bits set */
};

extern const struct ps_kind ps_blocked_bloom;

/* True: the key was certainly not there before. O(1). */
bool ps_blocked_bloom_add(struct ps_blocked_bloom *filter, uint64_t hash);

/* False: certainly not there. True: there, or with probability ps_blocked_bloom_rate() not. O(1).
 */
bool ps_blocked_bloom_has(const struct ps_blocked_bloom *filter, uint64_t hash);

/* Distinct keys, estimated from the fill. A full filter counts as if one bit were unset. O(1). */
double ps_blocked_bloom_estimate(const struct ps_blocked_bloom *filter);

/* The false-positive rate with as many keys as it is estimated to hold, spread over the lines by
 * chance; 1 when every bit is set. O(1). */
double ps_blocked_bloom_rate(const struct ps_blocked_bloom *filter);

#endif
