/* The k most frequent keys of a stream, each with a count and what it may be too high by.
 *
 * A ranking counts the keys that are in it exactly; a count-min sketch with conservative update
 * counts the rest (the filter and the sketch of Roy, Khan and Alonso 2016, "Augmented sketch").
 * A key whose estimate comes to exceed the least count of the ranking takes that one's place: it
 * enters with the estimate, and the part that was counted in the sketch is its error for as long as
 * it stays. What leaves goes to the sketch with all that was counted exactly, which is its count
 * less its error. So for every key in the ranking
 *
 *   count - error <= truth <= count
 *
 * for certain while nothing is saturated, and hot keys, which stay where they are, burden no
 * counter of the sketch: while k keys or fewer have come, every count is exact. */
#ifndef PS_FREQUENCY_TOP_K_H
#define PS_FREQUENCY_TOP_K_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/kind.h"
#include "frequency/count_min.h"
#include "frequency/ranking.h"

struct ps_top_k {
  struct ps_sketch sketch; /* the payload is that of the count-min sketch */
  uint32_t k;
  bool saturated;           /* the total or a count has been cut off at 2^53 */
  uint64_t total;           /* of all that was added */
  struct ps_count_min rest; /* 32 bits, conservative: the keys that are not in the ranking */
  struct ps_ranking ranking;
};

extern const struct ps_kind ps_top_k;

/* Adds n <= PS_COUNT_MAX to the key's count; *estimate is then what ps_top_k_frequency() says. n =
 * 0 changes nothing. O(d + log k). PS_ERR_FULL when the key would have to be kept and does not fit
 * max_bytes, PS_ERR_MEMORY. */
enum ps_status ps_top_k_add(struct ps_top_k *top_k, const struct ps_key *key, uint64_t n,
                            uint64_t *estimate, struct ps_error *error);

/* Never below the truth, unless ps_top_k_saturated(). O(d). */
uint64_t ps_top_k_frequency(const struct ps_top_k *top_k, const struct ps_key *key);

/* Has anything been cut off at its maximum, so that counts may lie below the truth? Sticks until
 * clear. O(1). */
bool ps_top_k_saturated(const struct ps_top_k *top_k);

/* What the estimate of a key that is not listed exceeds the truth by, but for a share delta of
 * them. O(1). */
double ps_top_k_error_bound(const struct ps_top_k *top_k);

/* Ages: what each key stands for, and the total, become half, rounded down. Keys that then stand
 * for nothing are no longer listed. O(w d + k log k). */
void ps_top_k_halve(struct ps_top_k *top_k);

/* ---- the list ---- */

/* As bytes, like those in an encoded sketch: an item is 8 bytes of count, 8 of error, 4 of length,
 * and the key; the largest count comes first, keys of the same count come in the order of bytes. */
uint64_t ps_top_k_list_size(const struct ps_top_k *top_k);
void ps_top_k_list(const struct ps_top_k *top_k, unsigned char *bytes);

struct ps_top_k_item {
  uint64_t count, error;
  const unsigned char *key;
  uint32_t length;
};

/* Reads the next item; false at the end and where there is no whole one. */
bool ps_top_k_next(struct ps_reader *list, struct ps_top_k_item *item);

#endif
