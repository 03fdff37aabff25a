/* Sketches of one kind for its tests. */
#ifndef SPEC_KLLS_H
#define SPEC_KLLS_H

#include "quantile/kll.h"
#include "quantile/quantile.h"
#include "sketches.h"

static inline void make_kll(struct specimen *specimen, uint32_t k, uint64_t seed)
{
  const struct variant variant = {"kll", {{"k", k}}};
  make(specimen, &variant, seed);
}

static inline struct ps_kll *kll_in(struct specimen *specimen)
{
  return (struct ps_kll *)(void *)&specimen->any;
}

static inline void add(struct specimen *specimen, const double *values, const uint64_t *weights,
                       size_t n)
{
  struct ps_error error;
  size_t changed;
  if (ps_kll.add_values(sketch_in(specimen), values, weights, n, &changed, &error) != PS_OK) {
    bail_out(error.message);
  }
}

static inline void merge(struct specimen *target, struct specimen *source)
{
  struct ps_error error;
  if (ps_merge(sketch_in(target), sketch_in(source), &error) != PS_OK) {
    bail_out(error.message);
  }
}

#endif
