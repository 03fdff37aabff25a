#include "base/sharing.h"

#include <string.h>

#include "base/atomic.h"
#include "base/sketch.h"

enum ps_status ps_check_sharable(const struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_kind *kind = sketch->kind;
  if (kind->sharing == NULL && kind->merge == NULL) {
    return ps_fail(error, PS_ERR_ARGUMENT, "a %s is not shared: save() it and open() the file",
                   kind->name);
  }
  if (kind->sharing == NULL) {
    return ps_fail(error, PS_ERR_ARGUMENT, "a %s is not shared: keep one per worker and merge",
                   kind->name);
  }
  return kind->sharing->check != NULL ? kind->sharing->check(sketch, error) : PS_OK;
}

uint64_t ps_shared_size(const struct ps_sketch *sketch)
{
  const struct ps_kind *kind = sketch->kind;
  return kind->sharing->size != NULL ? kind->sharing->size(sketch) : kind->size(sketch);
}

bool ps_has_shared_form(const struct ps_sketch *sketch)
{
  return (sketch->flags & PS_SHARED) != 0 && sketch->kind->sharing->gather != NULL;
}

uint64_t ps_founded_size(const struct ps_sketch *sketch)
{
  return PS_PAGE_SIZE + ps_shared_size(sketch) + PS_TRAILER_SIZE;
}

void ps_found(const struct ps_sketch *sketch, unsigned char *memory)
{
  struct ps_header header = {.flags = PS_HEADER_FLAT | PS_HEADER_LIVE};
  header.payload_size = ps_shared_size(sketch);
  ps_header_of(sketch, &header);
  ps_header_write(&header, PS_PAGED, memory);
  unsigned char *payload = memory + header.payload_offset;
  if (sketch->kind->sharing->spread != NULL) {
    sketch->kind->sharing->spread(sketch, payload);
  } else {
    memcpy(payload, sketch->payload, header.payload_size);
  }
}

void ps_join(struct ps_sketch *sketch, unsigned char *payload, const struct ps_memory *memory)
{
  sketch->flags |= PS_SHARED;
  if (sketch->kind->attach != NULL) {
    sketch->flags |= PS_UNDERIVED;
  }
  if (sketch->kind->adopt != NULL) {
    sketch->kind->adopt(sketch);
  }
  sketch->memory = memory;
  sketch->payload = payload;
  sketch->held = ps_shared_size(sketch);
}

void ps_gather(const struct ps_sketch *sketch, unsigned char *flat)
{
  if (sketch->kind->sharing->gather != NULL) {
    sketch->kind->sharing->gather(sketch, flat);
  } else {
    ps_atomic_copy(flat, sketch->payload, sketch->held);
  }
}

enum ps_status ps_snapshot(struct ps_sketch *copy, const struct ps_sketch *source, void *payload,
                           struct ps_error *error)
{
  ps_plan_copy(copy, source);
  if (source->kind->attach != NULL) {
    copy->flags |= PS_UNDERIVED;
  }
  if (ps_owns(copy)) {
    return source->kind->clone(copy, source, error);
  }
  copy->payload = payload;
  copy->held = copy->kind->size(copy);
  ps_gather(source, payload);
  return PS_OK;
}

enum ps_status ps_take_shared(struct ps_sketch *sketch, const unsigned char *shared,
                              struct ps_error *error)
{
  union ps_any_sketch source;
  const struct ps_kind *kind = sketch->kind;
  memcpy(&source, sketch, kind->struct_size);
  ps_join(&source.sketch, (unsigned char *)(uintptr_t)shared, sketch->memory);
  return ps_snapshot(sketch, &source.sketch, sketch->payload, error);
}
