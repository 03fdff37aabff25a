/* The count-min sketch (Cormode and Muthukrishnan 2005): how often, never below the truth.
 *
 * d rows of w counters; a key adds to one counter of each row, and the smallest of them is its
 * count. With w = ceil(e / epsilon) and d = ceil(ln(1 / delta)) the answer is above the truth by
 * more than epsilon * total with probability at most delta. Conservative update (Estan and Varghese
 * 2002) raises only the counters that stand below the new count: about half the excess, but the
 * counters then depend on order, and cannot be subtracted, multiplied or shared. */
#ifndef PS_FREQUENCY_COUNT_MIN_H
#define PS_FREQUENCY_COUNT_MIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/math.h"

/* e^-64 is a failure nobody will see; and a batch keeps a key's places on the stack. */
#define PS_COUNT_MIN_DEPTH_MAX 64

/* The first of its options, that set its width and depth: the same for whatever has a count-min
 * sketch in it. */
#define PS_COUNT_MIN_SHAPE_OPTIONS 4
#define PS_COUNT_MIN_EPSILON                                                                       \
  "epsilon", PS_OPTION_NUMBER, 1e-12, 1, "a number from 1e-12 to below 1", true
#define PS_COUNT_MIN_DELTA                                                                         \
  "delta", PS_OPTION_NUMBER, 1e-15, 1, "a probability of failure from 1e-15 to below 1", true
#define PS_COUNT_MIN_WIDTH                                                                         \
  "width", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false
#define PS_COUNT_MIN_DEPTH                                                                         \
  "depth", PS_OPTION_INTEGER, 1, PS_COUNT_MIN_DEPTH_MAX, "an integer from 1 to 64", false

/* Payload: 8 bytes of total; 8 bytes, 1 once a counter or the total has been cut off at its maximum
 * and 0 before; then the counters, row by row, counter_bits each. Counters of 64 bits stop at 2^53,
 * like the total. */
struct ps_count_min {
  struct ps_sketch sketch;
  uint64_t width;
  uint32_t depth;
  uint8_t counter_bits;
  uint8_t conservative;
  double epsilon, delta; /* promised; the width and the depth may keep a little more */
};

extern const struct ps_kind ps_count_min;

/* Adds n <= PS_COUNT_MAX to the key's count and returns the new estimate. n = 0 changes nothing.
 * O(d). */
uint64_t ps_count_min_add(struct ps_count_min *sketch, uint64_t hash, uint64_t n);

/* Never below the truth, unless ps_count_min_saturated(). O(d). */
uint64_t ps_count_min_frequency(const struct ps_count_min *sketch, uint64_t hash);

/* Of a conservative sketch: adds n unless the key's estimate would come to pass `most`, and returns
 * what it was before. O(d). */
uint64_t ps_count_min_add_within(struct ps_count_min *sketch, uint64_t hash, uint64_t n,
                                 uint64_t most);

/* All that was added. O(1). */
uint64_t ps_count_min_total(const struct ps_count_min *sketch);

/* Has a counter or the total been cut off at its maximum, so that estimates may lie below the
 * truth? Sticks until clear. O(1). */
bool ps_count_min_saturated(const struct ps_count_min *sketch);

/* epsilon * total: what an estimate exceeds the truth by, but for a share delta of the keys. O(1).
 */
double ps_count_min_error_bound(const struct ps_count_min *sketch);

/* Ages: every counter and the total are multiplied by a factor from 0 to 1, as doubles, and rounded
 * down. What was saturated stays so. O(w d). */
void ps_count_min_decay(struct ps_count_min *sketch, double factor);

/* Sum over all keys of the product of their two counts: never below the truth while nothing is
 * saturated, above it by more than epsilon * total * total with probability at most delta (the
 * smallest of the rows' scalar products). Refuses what does not merge, and conservative sketches,
 * whose cells can be smaller than the sum of their keys. O(w d). */
enum ps_status ps_count_min_inner_product(const struct ps_count_min *a,
                                          const struct ps_count_min *b, double *product,
                                          struct ps_error *error);

#endif
