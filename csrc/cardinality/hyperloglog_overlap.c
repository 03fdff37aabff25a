#include <math.h>

#include "cardinality/hyperloglog_forms.h"
#include "cardinality/hyperloglog_joint.h"

/* ---- registers ---- */

/* Reads registers in ascending order, those of a sparse sketch out of its entries. */
struct reader {
  const struct ps_hyperloglog *hll;
  uint32_t i;     /* sparse: the slot behind the next entry */
  uint32_t entry; /* sparse: the next entry */
};

static struct reader reader_of(const struct ps_hyperloglog *hll)
{
  struct reader reader = {hll, 0, 0};
  if (!hll->dense) {
    reader.entry = ps_sparse_next(ps_form_slots(hll), &reader.i);
  }
  return reader;
}

static inline unsigned read_register(struct reader *reader, uint32_t index)
{
  const struct ps_hyperloglog *hll = reader->hll;
  unsigned value = 0;
  if (hll->dense) {
    return ps_register_get(hll->sketch.payload, index);
  }
  while (reader->entry != 0) {
    uint64_t hash = ps_sparse_hash(reader->entry);
    if (ps_register_index(hll->precision, hash) != index) {
      break;
    }
    unsigned rank = ps_register_rank(hll->precision, hash);
    value = rank > value ? rank : value;
    reader->entry = ps_sparse_next(ps_form_slots(hll), &reader->i);
  }
  return value;
}

/* The errors of functions of the sizes: to first order, by their derivatives. */
static double error_of(const struct ps_joint_sizes *sizes, const double derivative[3])
{
  double variance = 0;
  for (unsigned i = 0; i < 3; i++) {
    for (unsigned j = 0; j < 3; j++) {
      variance += derivative[i] * derivative[j] * sizes->covariance[i][j];
    }
  }
  return sqrt(fmax(variance, 0));
}

static struct ps_overlap overlap_of_registers(const struct ps_hyperloglog *a,
                                              const struct ps_hyperloglog *b)
{
  struct ps_joint joint = {.precision = a->precision};
  struct reader first = reader_of(a), second = reader_of(b);
  for (uint32_t i = 0; i < UINT32_C(1) << a->precision; i++) {
    unsigned x = read_register(&first, i);
    ps_joint_add(&joint, x, read_register(&second, i));
  }
  const struct ps_joint_sizes sizes = ps_joint_estimate(&joint);
  double both = sizes.keys[PS_JOINT_BOTH], all = sizes.keys[0] + sizes.keys[1] + both;
  double share = both / all;
  return (struct ps_overlap){
      both,
      error_of(&sizes, (double[]){0, 0, 1}),
      share,
      error_of(&sizes, (double[]){-share / all, -share / all, (1 - share) / all}),
  };
}

/* ---- entries ---- */

/* Inclusion and exclusion, which errs only by keys that share their index with another: a Poisson
 * number. Those of one set alone do not count, as they are missing from the set and the union. */
static struct ps_overlap overlap_of_entries(const struct ps_hyperloglog *a,
                                            const struct ps_hyperloglog *b)
{
  double x = ps_sparse_estimate(a->entries), y = ps_sparse_estimate(b->entries);
  double all = ps_sparse_estimate(ps_sparse_union_size(ps_form_slots(a), ps_form_slots(b)));
  double both = fmax(x + y - all, 0);
  double shared = ((x - both) * (y - both) + both * both / 2) / (1 << PS_SPARSE_INDEX_BITS);
  double error = sqrt(fmax(shared, 0));
  return (struct ps_overlap){both, error, both / all, error / all};
}

/* Sets that are the same as far as one can see have what each has, and not what another method
 * makes of it. */
struct ps_overlap ps_hyperloglog_overlap(const struct ps_hyperloglog *a,
                                         const struct ps_hyperloglog *b)
{
  double x = ps_hyperloglog_estimate(a), y = ps_hyperloglog_estimate(b), smaller = fmin(x, y);
  if (smaller == 0) {
    return (struct ps_overlap){0, 0, x == y, 0};
  }
  struct ps_overlap overlap =
      a->dense || b->dense ? overlap_of_registers(a, b) : overlap_of_entries(a, b);
  if (overlap.jaccard >= 1 || overlap.intersection > smaller) {
    overlap.intersection = smaller;
  }
  overlap.jaccard = fmin(overlap.jaccard, 1);
  return overlap;
}
