/* MinHash (Broder 1997, "On the resemblance and containment of documents"): how alike are two sets,
 * |A and B| / |A or B|?
 *
 * Of each of k hash functions the least value over the tokens of a set is kept. Which token has it
 * is chosen evenly among all, so that the minima of two sets are equal with the probability of a
 * token of either to be in both; the share of equal ones among k estimates it with the variance
 * J (1 - J) / k. The minimum over a union is the lesser one of both. */
#ifndef PS_SIMILARITY_MINHASH_H
#define PS_SIMILARITY_MINHASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"

#define PS_MINHASH_HASHES_MAX 65536

/* Payload: the minima, as in similarity/minima.h. */
struct ps_minhash {
  struct ps_sketch sketch;
  uint32_t hashes; /* k */
};

extern const struct ps_kind ps_minhash;

/* True: a minimum changed, so the token was certainly not there before. O(hashes). */
bool ps_minhash_add(struct ps_minhash *minhash, uint64_t hash);

/* Distinct tokens, estimated from the minima with a relative standard error of 1 / sqrt(k - 2).
 * O(hashes). */
double ps_minhash_estimate(const struct ps_minhash *minhash);

/* |A and B| / |A or B|: the share of equal minima, among the functions that have one in either. Two
 * empty sets are alike: 1. *standard_error is that of the estimate. O(hashes). */
double ps_minhash_jaccard(const struct ps_minhash *a, const struct ps_minhash *b,
                          double *standard_error);

#endif
