/* The KLL sketch (Karnin, Lang and Liberty 2016, "Optimal quantile approximation in streams"):
 * quantiles whose rank is right within a share of n that k alone decides, whatever the values are.
 *
 * A sample of the values is kept on levels (kll_levels.h), and values come to the lowest of them.
 * When there is no room left it is sorted, and every 2^s-th of its items goes at once to the lowest
 * level that has room for them: sampling a run of values by a stride takes the place of s
 * compactions in a row, and errs as they do. The least value, the largest and the sum are kept
 * beside them.
 *
 * The state depends on the order of the values and on how they were split and merged, once there
 * have been more than k; on chance it never depends. */
#ifndef PS_QUANTILE_KLL_H
#define PS_QUANTILE_KLL_H

#include "base/kind.h"
#include "base/sort.h"
#include "quantile/kll_levels.h"
#include "quantile/sum.h"

/* Owns its payload: room for the items of the levels, then for as many pairs of the view. */
struct ps_kll {
  struct ps_sketch sketch;
  uint32_t k;
  bool sorted; /* derived: level 0 is ascending, which makes no other difference to the state */
  uint64_t count;
  uint64_t enough; /* derived: the count up to which there is room without more levels */
  double min, max; /* 0 while it is empty */
  struct ps_sum sum;
  struct ps_levels levels;
  struct ps_pair *view; /* derived: sorted_view.h; of the items, without those that came last */
  uint32_t viewed;      /* items that are in it, 0 when it has to be made anew */
};

extern const struct ps_kind ps_kll;

/* What the rank of a quantile, or the fraction of a rank, is wrong by at most with a probability of
 * 0.99; and the fractions of any intervals, as in a histogram. */
double ps_kll_rank_error(const struct ps_kll *kll);
double ps_kll_histogram_error(const struct ps_kll *kll);

/* ---- private to kll ---- */

/* Puts level 0 into ascending order. */
void ps_kll_settle(struct ps_kll *kll);

/* Makes the room that n levels take, or as many as it comes to, when the count is so much: nothing
 * that adds up to this fails from then on. What is held depends on that alone. PS_ERR_MEMORY, and
 * then nothing has changed. */
enum ps_status ps_kll_reserve(struct ps_kll *kll, uint32_t n, uint64_t count,
                              struct ps_error *error);

/* The form in bytes: docs/FORMAT.md. Decoding expects an empty sketch. */
uint64_t ps_kll_encoded_size(const struct ps_sketch *base);
uint64_t ps_kll_encoded_max(const struct ps_sketch *base);
void ps_kll_encode(const struct ps_sketch *base, unsigned char *bytes);
enum ps_status ps_kll_read(struct ps_kll *kll, const unsigned char *bytes, uint64_t size,
                           struct ps_error *error);

/* What it answers. */
extern const struct ps_quantile_kind ps_kll_quantiles;

#endif
