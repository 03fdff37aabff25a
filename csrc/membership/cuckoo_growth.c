#include "membership/cuckoo_growth.h"

#include <inttypes.h>
#include <string.h>

#include "membership/cuckoo_plan.h"

void ps_cuckoo_shape_after(struct ps_cuckoo *cuckoo, uint32_t doublings)
{
  cuckoo->doublings = doublings;
  cuckoo->shape = ps_cuckoo_shape(cuckoo->buckets / 2 << doublings, cuckoo->bucket_size,
                                  cuckoo->fingerprint_bits - doublings);
}

static uint64_t slots_of(const struct ps_cuckoo *cuckoo)
{
  return 2 * cuckoo->shape.half * cuckoo->bucket_size;
}

/* ---- memory ---- */

enum ps_status ps_cuckoo_take(struct ps_cuckoo *cuckoo, struct ps_error *error)
{
  const struct ps_memory *memory = cuckoo->sketch.memory;
  uint64_t bytes = ps_cuckoo_table_size(&cuckoo->shape);
  cuckoo->sketch.held = 0;
  cuckoo->sketch.payload =
      bytes <= SIZE_MAX ? memory->resize(memory->context, NULL, 0, (size_t)bytes) : NULL;
  if (cuckoo->sketch.payload == NULL) {
    return ps_fail(error, PS_ERR_MEMORY, "not enough memory (%" PRIu64 " bytes)", bytes);
  }
  cuckoo->sketch.held = bytes;
  memset(cuckoo->sketch.payload, 0, (size_t)bytes);
  return PS_OK;
}

void ps_cuckoo_give_back(struct ps_cuckoo *cuckoo)
{
  const struct ps_memory *memory = cuckoo->sketch.memory;
  if (cuckoo->sketch.payload != NULL) {
    memory->resize(memory->context, cuckoo->sketch.payload, (size_t)cuckoo->sketch.held, 0);
  }
  cuckoo->sketch.payload = NULL;
  cuckoo->sketch.held = 0;
}

enum ps_status ps_cuckoo_clone(struct ps_cuckoo *copy, const struct ps_cuckoo *source,
                               struct ps_error *error)
{
  enum ps_status status = ps_cuckoo_take(copy, error);
  if (status == PS_OK) {
    memcpy(copy->sketch.payload, source->sketch.payload, (size_t)copy->sketch.held);
  }
  return status;
}

void ps_cuckoo_shrink(struct ps_cuckoo *cuckoo)
{
  const struct ps_memory *memory = cuckoo->sketch.memory;
  if (cuckoo->doublings == 0) {
    return;
  }
  ps_cuckoo_shape_after(cuckoo, 0);
  uint64_t bytes = ps_cuckoo_table_size(&cuckoo->shape);
  void *block = memory->resize(memory->context, cuckoo->sketch.payload, (size_t)cuckoo->sketch.held,
                               (size_t)bytes);
  if (block != NULL) {
    cuckoo->sketch.payload = block;
    cuckoo->sketch.held = bytes;
  }
}

/* ---- growth ---- */

enum ps_status ps_cuckoo_full(const struct ps_cuckoo *cuckoo, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_FULL, "full (%" PRIu64 " keys in %" PRIu64 " slots)", cuckoo->count,
                 slots_of(cuckoo));
}

bool ps_cuckoo_may_be(const struct ps_cuckoo *cuckoo, const struct ps_cuckoo_shape *shape)
{
  uint64_t bytes = ps_cuckoo_table_size(shape), limit = cuckoo->sketch.max_bytes;
  return shape->half <= cuckoo->shape.half || (bytes <= limit && limit - bytes >= PS_STRUCT_MAX);
}

static bool may_double(const struct ps_cuckoo *cuckoo)
{
  struct ps_cuckoo next = *cuckoo;
  if (cuckoo->growth == 0 || cuckoo->doublings == PS_CUCKOO_DOUBLINGS_MAX) {
    return false;
  }
  ps_cuckoo_shape_after(&next, cuckoo->doublings + 1);
  return ps_cuckoo_may_be(cuckoo, &next.shape);
}

static uint64_t room_of(const struct ps_cuckoo *cuckoo)
{
  return ps_cuckoo_room(slots_of(cuckoo), cuckoo->bucket_size);
}

uint64_t ps_cuckoo_left(const struct ps_cuckoo *cuckoo)
{
  if (cuckoo->growth == 0) {
    return UINT64_MAX;
  }
  uint64_t room = room_of(cuckoo);
  return cuckoo->count < room ? room - cuckoo->count : may_double(cuckoo) ? 0 : UINT64_MAX;
}

/* Makes `next` a copy of the filter with twice the buckets. */
static enum ps_status make_double(struct ps_cuckoo *next, const struct ps_cuckoo *cuckoo,
                                  struct ps_error *error)
{
  const unsigned char *table = cuckoo->sketch.payload;
  struct ps_cuckoo_entry entry;
  *next = *cuckoo;
  if (!may_double(cuckoo)) {
    return ps_cuckoo_full(cuckoo, error);
  }
  ps_cuckoo_shape_after(next, cuckoo->doublings + 1);
  enum ps_status status = ps_cuckoo_take(next, error);
  if (status != PS_OK) {
    return status;
  }
  for (uint64_t slot = 0; ps_cuckoo_table_next(&cuckoo->shape, table, &slot, &entry);) {
    entry = ps_cuckoo_entry_in_larger(&cuckoo->shape, entry, 1);
    if (!ps_cuckoo_table_insert(&next->shape, next->sketch.payload, entry)) {
      ps_cuckoo_give_back(next);
      return ps_cuckoo_full(cuckoo, error);
    }
  }
  return PS_OK;
}

static void replace(struct ps_cuckoo *cuckoo, const struct ps_cuckoo *next)
{
  ps_cuckoo_give_back(cuckoo);
  *cuckoo = *next;
}

enum ps_status ps_cuckoo_grow(struct ps_cuckoo *cuckoo, struct ps_error *error)
{
  struct ps_cuckoo next;
  enum ps_status status = make_double(&next, cuckoo, error);
  if (status == PS_OK) {
    replace(cuckoo, &next);
  }
  return status;
}

/* ---- keys ---- */

static bool insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry)
{
  bool inserted = ps_cuckoo_table_insert(&cuckoo->shape, cuckoo->sketch.payload, entry);
  cuckoo->count += inserted;
  return inserted;
}

static enum ps_status grow_and_insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                                      struct ps_error *error)
{
  struct ps_cuckoo next;
  enum ps_status status = make_double(&next, cuckoo, error);
  if (status != PS_OK) {
    return status;
  }
  if (!insert(&next, ps_cuckoo_entry_in_larger(&cuckoo->shape, entry, 1))) {
    ps_cuckoo_give_back(&next);
    return ps_cuckoo_full(cuckoo, error);
  }
  replace(cuckoo, &next);
  return PS_OK;
}

/* Both buckets are full of this key, and would be in a larger table. */
static bool is_crowd(const struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry)
{
  return ps_cuckoo_table_frequency(&cuckoo->shape, cuckoo->sketch.payload, entry) ==
         2u * cuckoo->bucket_size;
}

/* A table that is not yet full may have no room where keys are crowded, beside many copies of one,
 * and doubling helps. Where keys were chosen to crowd it would go on for ever: so not below an
 * eighth of what the table is made for. */
static bool may_help(const struct ps_cuckoo *cuckoo)
{
  return cuckoo->growth != 0 && cuckoo->count >= room_of(cuckoo) / 8;
}

enum ps_status ps_cuckoo_insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                                struct ps_error *error)
{
  if (ps_cuckoo_left(cuckoo) == 0 && !is_crowd(cuckoo, entry)) {
    enum ps_status status = grow_and_insert(cuckoo, entry, error);
    if (status != PS_ERR_FULL) {
      return status;
    }
  }
  if (insert(cuckoo, entry)) {
    return PS_OK;
  }
  if (is_crowd(cuckoo, entry)) {
    return ps_fail(error, PS_ERR_FULL, "full (the key is there %u times, the most there can be)",
                   2u * cuckoo->bucket_size);
  }
  return may_help(cuckoo) ? grow_and_insert(cuckoo, entry, error) : ps_cuckoo_full(cuckoo, error);
}
