/* HyperLogLog (Flajolet et al. 2007): how many distinct keys, in a few kilobytes.
 *
 * The highest p bits of a key's hash choose one of m = 2^p registers; the rank of the others, 1 +
 * the zeros they begin with, is kept there if it is the largest so far. The state is a function of
 * the set of keys alone: not of their order, nor of how they were split and merged.
 *
 * A sketch begins sparse, with the hashes themselves as sorted entries of 26 bits and a rank
 * (hyperloglog_sparse.h; the idea is that of Heule, Nunkesser and Hall 2013, "HyperLogLog in
 * practice"): practically exact, and small. With one entry more than its limit it becomes dense
 * (hyperloglog_registers.h) and loses nothing: the registers are those of a sketch that was dense
 * from the start. The limit counts entries, which again the set of keys decides.
 *
 * Estimates are Ertl's (2017, "New cardinality estimation algorithms for HyperLogLog sketches",
 * section 4, the improved raw estimator): no tables, no switch between formulas, no bias. With
 * `hip` the sketch counts changes as well (hyperloglog_hip.h), which is better until it is merged.
 */
#ifndef PS_CARDINALITY_HYPERLOGLOG_H
#define PS_CARDINALITY_HYPERLOGLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "cardinality/hyperloglog_hip.h"
#include "cardinality/hyperloglog_registers.h"
#include "cardinality/hyperloglog_shared.h"

#define PS_HYPERLOGLOG_PRECISION_MIN 4
#define PS_HYPERLOGLOG_PRECISION_MAX 18

/* Owns its payload: the slots of the sparse form, or the registers of the dense one. */
struct ps_hyperloglog {
  struct ps_sketch sketch;
  struct ps_tally tally; /* dense: derived, of the registers */
  uint32_t slots;        /* sparse: 4-byte slots in use of the payload */
  uint32_t entries;      /* sparse: slots that are taken */
  uint8_t precision;     /* p */
  uint8_t hip;           /* 1: the HIP estimate is kept beside the registers */
  bool dense;
};

extern const struct ps_kind ps_hyperloglog;

/* ps_hyperloglog_add() for the sparse form. PS_ERR_MEMORY. */
enum ps_status ps_hyperloglog_add_sparse(struct ps_hyperloglog *hll, uint64_t hash, bool *changed,
                                         struct ps_error *error);

/* Adds a key. *changed: a register, or an entry of the sparse form, has changed, so the key was
 * certainly not there before. Only a sparse sketch can fail: PS_ERR_MEMORY. O(1). */
static inline enum ps_status ps_hyperloglog_add(struct ps_hyperloglog *hll, uint64_t hash,
                                                bool *changed, struct ps_error *error)
{
  if (hll->sketch.flags & PS_SHARED) {
    *changed = ps_shared_registers_add(hll->sketch.payload, hll->precision, hash);
    return PS_OK;
  }
  if (hll->dense) {
    uint64_t open = hll->tally.open;
    *changed = ps_registers_add(hll->sketch.payload, hll->precision, &hll->tally, hash);
    if (*changed && hll->hip) {
      ps_hip_add(hll->sketch.payload, hll->precision, open);
    }
    return PS_OK;
  }
  return ps_hyperloglog_add_sparse(hll, hash, changed, error);
}

/* Makes `folded` a sketch of the same keys at a precision that is not higher: the state of one that
 * had it from the start, and an owner of memory like it. A HIP estimate is handed on: it is the one
 * of the higher precision, and better. PS_ERR_MEMORY, `folded` then closed. O(m). */
enum ps_status ps_hyperloglog_fold(struct ps_hyperloglog *folded,
                                   const struct ps_hyperloglog *source, unsigned precision,
                                   struct ps_error *error);

/* Is there a HIP estimate, or will there be one when the sketch is dense? */
bool ps_hyperloglog_counts_by_hip(const struct ps_hyperloglog *hll);

/* Distinct keys; 0 exactly when nothing was added, and never above the 2^64 there are. Sparse, from
 * the collisions to be expected among 2^26 indexes (linear counting: Whang et al. 1990); dense, as
 * said above, or by HIP. Never looks at the registers: O(1). */
double ps_hyperloglog_estimate(const struct ps_hyperloglog *hll);

/* The standard error of a dense sketch, relative to the truth: 1.04 / sqrt(m), by HIP 0.83 /
 * sqrt(m). A sparse one errs far less: see ps_hyperloglog_bounds(). O(1). */
double ps_hyperloglog_standard_error(const struct ps_hyperloglog *hll);

/* The counts that are no further from the estimate than z of their standard errors: from estimate /
 * (1 + z * standard_error) to estimate / (1 - z * standard_error), or to 2^64 where there is no
 * such end. Measured for z = 2 they hold the truth 95 to 99 % of the time at any precision and
 * size. Sparse, the truth is the number of entries and of the few keys that shared one: up to 2600
 * keys the bounds for z = 2 are less than 1 apart. *low is never below the number of keys that are
 * certain, one for each entry or register in use. O(1). */
void ps_hyperloglog_bounds(const struct ps_hyperloglog *hll, double z, double *low, double *high);

/* How two sketches overlap, with standard errors: of an answer at the end of its range, by what the
 * likelihood says on the one side that is left, and so too small. */
struct ps_overlap {
  double intersection, intersection_error; /* keys that are in both; at most those of the smaller */
  double jaccard, jaccard_error;           /* their share in those of the union */
};

/* Both must be compatible. In either order the same, to the bit. An empty sketch has nothing in
 * common with others, and all with another empty one. Of registers by maximum likelihood, of two
 * sparse sketches by counting entries: practically exact. O(m), or O(entries) of two sparse ones.
 */
struct ps_overlap ps_hyperloglog_overlap(const struct ps_hyperloglog *a,
                                         const struct ps_hyperloglog *b);

#endif
