/* The envelope and the places of keys after docs/FORMAT.md, for models of the kinds' bytes that
 * share nothing with the sketches but the hash: what one machine writes, every other reads. */
#ifndef SPEC_MODEL_H
#define SPEC_MODEL_H

#include <string.h>

#include "sketches.h"

#define SEED UINT64_C(0x0012345678abcdef)
#define STEP UINT64_C(0xf1357aea2e62a9c5)

struct model {
  unsigned kind, hash, flags;
  uint64_t seed;
  unsigned char fields[64];
  struct ps_writer writer; /* over the fields */
  struct bytes payload;
};

static inline void model_start(struct model *model, unsigned kind, unsigned flags,
                               size_t payload_size)
{
  *model = (struct model){.kind = kind, .hash = 1, .flags = flags, .seed = SEED};
  model->writer = ps_writer_over(model->fields, sizeof model->fields);
  model->payload = (struct bytes){test_allocate(payload_size), payload_size};
  memset(model->payload.at, 0, payload_size);
}

static inline void model_double(struct model *model, double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  ps_write(&model->writer, bits, 8);
}

static inline struct bytes model_bytes(const struct model *model)
{
  const size_t n = (size_t)(model->writer.at - model->fields), start = 40 + n;
  struct bytes bytes = {test_allocate(start + model->payload.size + 8),
                        start + model->payload.size + 8};
  struct ps_writer writer = ps_writer_over(bytes.at, bytes.size);
  const unsigned head[] = {0x8f, 'P', 'S', 'K', 1, model->kind, model->hash, model->flags};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
    ps_write(&writer, head[i], 1);
  }
  ps_write(&writer, start, 4);
  ps_write(&writer, n, 4);
  ps_write(&writer, model->payload.size, 8);
  ps_write(&writer, model->seed, 8);
  for (size_t i = 0; i < n; i++) {
    ps_write(&writer, model->fields[i], 1);
  }
  ps_write(&writer, ps_hash(bytes.at, 32 + n, 0), 8);
  for (size_t i = 0; i < model->payload.size; i++) {
    ps_write(&writer, model->payload.at[i], 1);
  }
  ps_write(&writer, ps_hash(model->payload.at, model->payload.size, 0), 8);
  return bytes;
}

/* Are these the bytes of the sketch, and does it come back from them? */
static inline void check_model(const struct ps_sketch *sketch, const struct model *model)
{
  struct specimen decoded;
  struct ps_error error = {PS_OK, ""};
  struct bytes bytes = model_bytes(model);
  CHECK(still(sketch, bytes));
  enum ps_status status = decode(&decoded, bytes, &error);
  CHECK_WITH(status == PS_OK, "%s", error.message);
  if (status == PS_OK) {
    CHECK(ps_equal(sketch, sketch_in(&decoded)));
    discard(&decoded);
  }
  free(bytes.at);
  free(model->payload.at);
}

/* Where step number `step` of a hash falls among n places. */
static inline uint64_t place_of(uint64_t hash, unsigned step, uint64_t n)
{
  uint64_t h = hash | 1;
  for (unsigned i = 0; i < step; i++) {
    h *= STEP;
  }
  return test_multiply_high(h, n);
}

#endif
