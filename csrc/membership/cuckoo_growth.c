#include "membership/cuckoo_growth.h"

#include <inttypes.h>
#include <string.h>

#include "membership/cuckoo_plan.h"

void ps_cuckoo_set_doublings(struct ps_cuckoo *cuckoo, uint32_t doublings)
{
  cuckoo->shape =
      ps_cuckoo_shape(cuckoo->buckets / 2, cuckoo->bucket_size, cuckoo->fingerprint_bits,
                      cuckoo->growth == 0 ? 0 : PS_CUCKOO_DOUBLINGS_MAX, doublings);
}

static uint64_t slots_of(const struct ps_cuckoo *cuckoo)
{
  return 2 * cuckoo->shape.half * cuckoo->bucket_size;
}

static uint64_t room_of(const struct ps_cuckoo *cuckoo)
{
  return ps_cuckoo_room(slots_of(cuckoo), cuckoo->bucket_size);
}

/* ---- memory ---- */

/* PS_ERR_MEMORY, for a table of the shape. */
static enum ps_status no_memory(const struct ps_cuckoo *cuckoo, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_MEMORY, "not enough memory (%" PRIu64 " bytes)",
                 ps_cuckoo_table_size(&cuckoo->shape));
}

/* Has the payload in a block of so many bytes; false, and it is where it was, if there is none. */
static bool resize(struct ps_cuckoo *cuckoo, uint64_t bytes)
{
  const struct ps_memory *memory = cuckoo->sketch.memory;
  unsigned char *block = NULL;
  if (bytes <= SIZE_MAX) {
    block = memory->resize(memory->context, cuckoo->sketch.payload, (size_t)cuckoo->sketch.held,
                           (size_t)bytes);
  }
  if (block != NULL) {
    cuckoo->sketch.payload = block;
    cuckoo->sketch.held = bytes;
  }
  return block != NULL;
}

/* A new block, without looking at the old one. */
static bool allocate(struct ps_cuckoo *cuckoo)
{
  cuckoo->sketch.payload = NULL;
  cuckoo->sketch.held = 0;
  return resize(cuckoo, ps_cuckoo_table_size(&cuckoo->shape));
}

enum ps_status ps_cuckoo_take(struct ps_cuckoo *cuckoo, struct ps_error *error)
{
  if (!allocate(cuckoo)) {
    return no_memory(cuckoo, error);
  }
  memset(cuckoo->sketch.payload, 0, (size_t)cuckoo->sketch.held);
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
  if (!allocate(copy)) {
    return no_memory(copy, error);
  }
  memcpy(copy->sketch.payload, source->sketch.payload, (size_t)copy->sketch.held);
  return PS_OK;
}

void ps_cuckoo_trim(struct ps_cuckoo *cuckoo)
{
  uint64_t bytes = ps_cuckoo_table_size(&cuckoo->shape);
  if (cuckoo->sketch.held > bytes) {
    resize(cuckoo, bytes);
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

/* Makes `next` what the filter is after one more doubling, but for its table; false if it may not
 * double. */
static bool next_of(struct ps_cuckoo *next, const struct ps_cuckoo *cuckoo)
{
  if (cuckoo->shape.spare == 0) {
    return false;
  }
  *next = *cuckoo;
  ps_cuckoo_set_doublings(next, cuckoo->shape.doublings + 1);
  return ps_cuckoo_may_be(cuckoo, &next->shape);
}

uint64_t ps_cuckoo_left(const struct ps_cuckoo *cuckoo)
{
  struct ps_cuckoo next;
  if (cuckoo->growth == 0) {
    return UINT64_MAX;
  }
  uint64_t room = room_of(cuckoo);
  return cuckoo->count < room ? room - cuckoo->count : next_of(&next, cuckoo) ? 0 : UINT64_MAX;
}

/* Memory for the filter with the shape of `largest`. */
static enum ps_status hold(struct ps_cuckoo *cuckoo, const struct ps_cuckoo *largest,
                           struct ps_error *error)
{
  uint64_t bytes = ps_cuckoo_table_size(&largest->shape);
  return bytes <= cuckoo->sketch.held || resize(cuckoo, bytes) ? PS_OK : no_memory(largest, error);
}

enum ps_status ps_cuckoo_reserve(struct ps_cuckoo *cuckoo, uint64_t keys, struct ps_error *error)
{
  struct ps_cuckoo next, largest = *cuckoo;
  while (keys > ps_cuckoo_left(&largest) && next_of(&next, &largest)) {
    largest = next;
  }
  return hold(cuckoo, &largest, error);
}

enum ps_status ps_cuckoo_grow(struct ps_cuckoo *cuckoo, unsigned doublings, struct ps_error *error)
{
  struct ps_cuckoo next, largest = *cuckoo;
  for (unsigned i = 0; i < doublings; i++) {
    if (!next_of(&next, &largest)) {
      return ps_cuckoo_full(cuckoo, error);
    }
    largest = next;
  }
  enum ps_status status = hold(cuckoo, &largest, error);
  if (status != PS_OK) {
    return status;
  }
  size_t present = (size_t)ps_cuckoo_table_size(&cuckoo->shape);
  size_t then = (size_t)ps_cuckoo_table_size(&largest.shape);
  memset(cuckoo->sketch.payload + present, 0, then - present);
  for (unsigned i = 0; i < doublings; i++) {
    ps_cuckoo_table_double(&cuckoo->shape, cuckoo->sketch.payload);
  }
  return PS_OK;
}

/* ---- keys ---- */

static bool insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry)
{
  bool inserted = ps_cuckoo_table_insert(&cuckoo->shape, cuckoo->sketch.payload, entry);
  cuckoo->count += inserted;
  return inserted;
}

static bool fits(const struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry, unsigned doublings)
{
  return ps_cuckoo_table_fits(&cuckoo->shape, cuckoo->sketch.payload, entry, doublings);
}

/* After how many doublings, that it may make, there is a place for the entry; 0 if after none. */
static unsigned doublings_for(const struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                              uint64_t sparsest)
{
  struct ps_cuckoo next, last = *cuckoo;
  for (unsigned n = 1; cuckoo->count >= room_of(&last) / sparsest && next_of(&next, &last); n++) {
    if (fits(cuckoo, entry, n)) {
      return n;
    }
    last = next;
  }
  return 0;
}

/* The entry fits then: the same search finds its place. */
static enum ps_status grow_and_insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                                      unsigned doublings, struct ps_error *error)
{
  entry = ps_cuckoo_entry_in_larger(&cuckoo->shape, entry, doublings);
  enum ps_status status = ps_cuckoo_grow(cuckoo, doublings, error);
  if (status == PS_OK) {
    insert(cuckoo, entry);
  }
  return status;
}

/* Both buckets are full of this key, and would be in a larger table. */
static bool is_crowd(const struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry)
{
  return ps_cuckoo_table_frequency(&cuckoo->shape, cuckoo->sketch.payload, entry) ==
         2u * cuckoo->bucket_size;
}

/* One that is full doubles for the next key that fits then. Below that, where keys are crowded,
 * beside many copies of one, there may be no place either: then it doubles until there is. */
enum ps_status ps_cuckoo_insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                                uint64_t sparsest, struct ps_error *error)
{
  if (ps_cuckoo_left(cuckoo) == 0 && fits(cuckoo, entry, 1)) {
    return grow_and_insert(cuckoo, entry, 1, error);
  }
  if (insert(cuckoo, entry)) {
    return PS_OK;
  }
  if (is_crowd(cuckoo, entry)) {
    return ps_fail(error, PS_ERR_FULL, "full (the key is there %u times, the most there can be)",
                   2u * cuckoo->bucket_size);
  }
  unsigned doublings = doublings_for(cuckoo, entry, sparsest);
  return doublings == 0 ? ps_cuckoo_full(cuckoo, error)
                        : grow_and_insert(cuckoo, entry, doublings, error);
}
