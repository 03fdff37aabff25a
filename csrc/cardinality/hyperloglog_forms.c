#include "cardinality/hyperloglog_forms.h"

#include <inttypes.h>
#include <string.h>

#include "base/sketch.h"

/* ---- memory ---- */

/* What the form and the fill need: all that is ever held, unless giving some back was refused. */
static uint64_t needed(const struct ps_hyperloglog *hll)
{
  return hll->dense ? ps_form_dense_size(hll) : ps_sparse_size(hll->slots);
}

static enum ps_status no_memory(uint64_t bytes, struct ps_error *error)
{
  ps_fail(error, PS_ERR_MEMORY, "not enough memory (%" PRIu64 " bytes)", bytes);
  return PS_ERR_MEMORY;
}

enum ps_status ps_form_take(struct ps_hyperloglog *hll, struct ps_error *error)
{
  const struct ps_memory *memory = hll->sketch.memory;
  uint64_t bytes = needed(hll);
  hll->sketch.payload = memory->resize(memory->context, NULL, 0, bytes);
  hll->sketch.held = hll->sketch.payload != NULL ? bytes : 0;
  return hll->sketch.payload != NULL ? PS_OK : no_memory(bytes, error);
}

void ps_form_give_back(const struct ps_hyperloglog *hll)
{
  const struct ps_memory *memory = hll->sketch.memory;
  memory->resize(memory->context, hll->sketch.payload, hll->sketch.held, 0);
}

enum ps_status ps_form_take_sparse(struct ps_hyperloglog *hll, struct ps_slots entries, uint32_t n,
                                   struct ps_error *error)
{
  hll->dense = false;
  hll->entries = n;
  hll->slots = ps_sparse_slots_for(hll->precision, n);
  enum ps_status status = ps_form_take(hll, error);
  if (status == PS_OK) {
    ps_sparse_spread(ps_form_slots(hll), 0, entries, n);
  }
  return status;
}

enum ps_status ps_form_take_dense(struct ps_hyperloglog *hll, struct ps_error *error)
{
  hll->dense = true;
  hll->slots = hll->entries = 0;
  hll->tally = ps_tally_of_none(hll->precision);
  enum ps_status status = ps_form_take(hll, error);
  if (status == PS_OK) {
    memset(hll->sketch.payload, 0, hll->sketch.held);
  }
  return status;
}

/* ---- changes of form ---- */

void ps_form_clear(struct ps_hyperloglog *hll)
{
  struct ps_sketch *sketch = &hll->sketch;
  const struct ps_memory *memory = sketch->memory;
  hll->dense = false;
  hll->slots = ps_sparse_slots_for(hll->precision, 0);
  hll->entries = 0;
  if (sketch->held != needed(hll)) {
    void *block = memory->resize(memory->context, sketch->payload, sketch->held, needed(hll));
    if (block != NULL) {
      sketch->payload = block;
      sketch->held = needed(hll);
    }
  }
  memset(sketch->payload, 0, needed(hll));
}

void ps_form_raise(struct ps_hyperloglog *dense, struct ps_slots entries)
{
  uint32_t i = 0;
  for (uint32_t entry; (entry = ps_sparse_next(entries, &i)) != 0;) {
    ps_registers_add(dense->sketch.payload, dense->precision, &dense->tally, ps_sparse_hash(entry));
  }
}

/* Takes the dense form of what a sparse sketch has. */
static enum ps_status take_dense_of(struct ps_hyperloglog *dense,
                                    const struct ps_hyperloglog *sparse, struct ps_error *error)
{
  enum ps_status status = ps_form_take_dense(dense, error);
  if (status == PS_OK) {
    ps_form_raise(dense, ps_form_slots(sparse));
    ps_form_set_hip(dense, ps_hip_of_entries(sparse->entries));
  }
  return status;
}

enum ps_status ps_form_become_dense(struct ps_hyperloglog *hll, struct ps_error *error)
{
  struct ps_hyperloglog dense = *hll;
  enum ps_status status = take_dense_of(&dense, hll, error);
  if (status == PS_OK) {
    ps_form_give_back(hll);
    *hll = dense;
  }
  return status;
}

/* Makes a sparse sketch one of so many slots, that are not fewer, with the union of its own entries
 * and the others, `entries` in all. */
static enum ps_status spread(struct ps_hyperloglog *hll, uint32_t slots, struct ps_slots others,
                             uint32_t entries, struct ps_error *error)
{
  struct ps_sketch *sketch = &hll->sketch;
  const struct ps_memory *memory = sketch->memory;
  uint32_t old = hll->slots;
  uint64_t bytes = ps_sparse_size(slots);
  if (bytes > sketch->held) {
    void *block = memory->resize(memory->context, sketch->payload, sketch->held, bytes);
    if (block == NULL) {
      return no_memory(bytes, error);
    }
    sketch->payload = block;
    sketch->held = bytes;
  }
  hll->slots = slots;
  hll->entries = entries;
  ps_sparse_spread(ps_form_slots(hll), old, others, entries);
  return PS_OK;
}

enum ps_status ps_form_unite(struct ps_hyperloglog *hll, struct ps_slots others,
                             struct ps_error *error)
{
  uint32_t entries = ps_sparse_union_size(ps_form_slots(hll), others);
  if (entries <= ps_sparse_limit(hll->precision)) {
    return spread(hll, ps_sparse_slots_for(hll->precision, entries), others, entries, error);
  }
  enum ps_status status = ps_form_become_dense(hll, error);
  if (status == PS_OK) {
    ps_form_raise(hll, others);
  }
  return status;
}

/* ---- for callers of hyperloglog ---- */

/* For one entry more than the slots may hold. */
static enum ps_status grow(struct ps_hyperloglog *hll, struct ps_error *error)
{
  const struct ps_slots none = {NULL, 0};
  if (hll->entries == ps_sparse_limit(hll->precision)) {
    return ps_form_become_dense(hll, error);
  }
  return spread(hll, ps_sparse_slots_for(hll->precision, hll->entries + 1), none, hll->entries,
                error);
}

enum ps_status ps_hyperloglog_add_sparse(struct ps_hyperloglog *hll, uint64_t hash, bool *changed,
                                         struct ps_error *error)
{
  uint32_t entry = ps_sparse_entry(hash);
  uint32_t i = ps_sparse_find(ps_form_slots(hll), entry);
  uint32_t found = i < hll->slots ? ps_sparse_get(ps_form_slots(hll), i) : 0;
  if (ps_sparse_same(found, entry)) {
    *changed = entry > found;
    if (*changed) {
      ps_sparse_set(ps_form_slots(hll), i, entry);
    }
    return PS_OK;
  }
  if (hll->entries == ps_sparse_room(hll->slots)) {
    enum ps_status status = grow(hll, error);
    return status != PS_OK ? status : ps_hyperloglog_add(hll, hash, changed, error);
  }
  ps_sparse_insert(ps_form_slots(hll), i, entry);
  hll->entries++;
  *changed = true;
  return PS_OK;
}

/* The sketch is as it would be if all its keys had been added to the other: it is sparse if their
 * entries are few enough for that precision, and registers come from the registers. */
enum ps_status ps_hyperloglog_fold(struct ps_hyperloglog *folded,
                                   const struct ps_hyperloglog *source, unsigned precision,
                                   struct ps_error *error)
{
  ps_plan_copy(&folded->sketch, &source->sketch);
  folded->precision = (uint8_t)precision;
  if (!source->dense && source->entries <= ps_sparse_limit(precision)) {
    return ps_form_take_sparse(folded, ps_form_slots(source), source->entries, error);
  }
  if (!source->dense) {
    return take_dense_of(folded, source, error);
  }
  enum ps_status status = ps_form_take_dense(folded, error);
  if (status == PS_OK) {
    ps_registers_fold(folded->sketch.payload, precision, &folded->tally, source->sketch.payload,
                      source->precision);
    ps_form_set_hip(folded, ps_form_hip(source));
  }
  return status;
}
