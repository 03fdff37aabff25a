/* HyperLogLogs for tests, sparse as they come and dense from the start. */
#ifndef SPEC_HYPERLOGLOGS_H
#define SPEC_HYPERLOGLOGS_H

#include "cardinality/hyperloglog.h"
#include "sketches.h"

#define EACH_PRECISION(p) (unsigned p = 4; p <= 18; p++)

static struct ps_error refusal;

static inline void make_hll(struct specimen *specimen, unsigned precision)
{
  struct variant variant = {"hyperloglog", {{"precision", precision}}};
  make(specimen, &variant, 0);
}

static inline struct ps_hyperloglog *hll_in(struct specimen *specimen)
{
  return (struct ps_hyperloglog *)sketch_in(specimen);
}

/* Adds where there is memory enough; did it change the sketch? */
static inline bool add(struct specimen *specimen, uint64_t hash)
{
  bool changed = false;
  if (ps_hyperloglog_add(hll_in(specimen), hash, &changed, &refusal) != PS_OK) {
    bail_out(refusal.message);
  }
  return changed;
}

static inline void add_random(struct specimen *specimen, uint64_t seed, uint64_t n)
{
  while (n-- > 0) {
    add(specimen, test_random(&seed));
  }
}

/* An empty sketch that is dense: only bytes can say so. */
static inline void make_dense(struct specimen *specimen, unsigned precision)
{
  struct specimen model;
  make_hll(&model, precision);
  add_random(&model, 5, UINT64_C(1) << precision);
  struct bytes bytes = encode(sketch_in(&model));
  memset(bytes.at + ps_load32(bytes.at + AT_OFFSET), 0, (size_t)ps_registers_size(precision));
  reseal(bytes);
  memset(specimen, 0, sizeof *specimen);
  if (decode(specimen, bytes, &refusal) != PS_OK) {
    bail_out("an empty dense sketch was refused");
  }
  discard(&model);
  free(bytes.at);
}

#endif
