/* The two forms of a hyperloglog: the memory they take, and the ways from one to another. Of what
 * is taken here nothing is left behind when a call fails. Private to hyperloglog. */
#ifndef PS_CARDINALITY_HYPERLOGLOG_FORMS_H
#define PS_CARDINALITY_HYPERLOGLOG_FORMS_H

#include "cardinality/hyperloglog.h"
#include "cardinality/hyperloglog_sparse.h"

static inline struct ps_slots ps_form_slots(const struct ps_hyperloglog *hll)
{
  return (struct ps_slots){hll->sketch.payload, hll->slots};
}

/* Bytes of a dense payload. */
static inline uint64_t ps_form_dense_size(const struct ps_hyperloglog *hll)
{
  return ps_registers_size(hll->precision) + (hll->hip ? PS_HIP_SIZE : 0);
}

/* The sum of a dense sketch, and of others 0. */
static inline double ps_form_hip(const struct ps_hyperloglog *hll)
{
  return hll->hip && hll->dense ? ps_hip_get(hll->sketch.payload, hll->precision) : 0;
}

static inline void ps_form_set_hip(struct ps_hyperloglog *hll, double sum)
{
  if (hll->hip && hll->dense) {
    ps_hip_set(hll->sketch.payload, hll->precision, sum);
  }
}

/* ---- a payload for a struct that has parameters, whatever it had before ---- */

/* As large as the form and the fill that the struct says, not filled. PS_ERR_MEMORY, the payload
 * then NULL. */
enum ps_status ps_form_take(struct ps_hyperloglog *hll, struct ps_error *error);

/* The sparse form of n entries in so many slots; or of none. PS_ERR_MEMORY. */
enum ps_status ps_form_take_sparse(struct ps_hyperloglog *hll, struct ps_slots entries, uint32_t n,
                                   struct ps_error *error);

/* The dense form of no keys, its HIP estimate void. PS_ERR_MEMORY. */
enum ps_status ps_form_take_dense(struct ps_hyperloglog *hll, struct ps_error *error);

/* The payload goes; the struct still says where it was. */
void ps_form_give_back(const struct ps_hyperloglog *hll);

/* ---- changes of form ---- */

/* Back to no keys, sparse. Cannot fail, but may keep a block that is too large. */
void ps_form_clear(struct ps_hyperloglog *hll);

/* Its HIP estimate begins. PS_ERR_MEMORY. */
enum ps_status ps_form_become_dense(struct ps_hyperloglog *hll, struct ps_error *error);

/* Adds entries to a sparse sketch, which becomes dense if it has to. A HIP estimate is then one
 * that does not know of the others. PS_ERR_MEMORY. */
enum ps_status ps_form_unite(struct ps_hyperloglog *hll, struct ps_slots others,
                             struct ps_error *error);

/* Adds entries to a dense one. Its HIP estimate does not know of them. */
void ps_form_raise(struct ps_hyperloglog *dense, struct ps_slots entries);

#endif
