/* Bytes of sketches whose payloads are changed and then sealed with right checksums. */
#ifndef SPEC_SEALED_H
#define SPEC_SEALED_H

#include "sketches.h"

/* The bytes of a sketch, and its payload and trailer within them. */
struct sealed {
  struct bytes bytes;
  unsigned char *payload;
  size_t size;
};

static inline struct sealed seal(struct specimen *specimen)
{
  struct sealed sealed = {.bytes = encode(sketch_in(specimen))};
  size_t start = ps_load32(sealed.bytes.at + AT_OFFSET);
  sealed.payload = sealed.bytes.at + start;
  sealed.size = sealed.bytes.size - start - 8;
  discard(specimen);
  return sealed;
}

static inline struct sealed seal_of(struct variant variant, size_t keys)
{
  struct specimen specimen;
  about_variant(&variant, keys);
  make_with(&specimen, &variant, keys);
  return seal(&specimen);
}

/* What comes of the bytes as they now are. */
static inline enum ps_status outcome(struct sealed sealed)
{
  struct specimen decoded;
  struct ps_error error;
  size_t live = test_memory.live;
  reseal(sealed.bytes);
  enum ps_status status = decode(&decoded, sealed.bytes, &error);
  if (status == PS_OK) {
    CHECK(still(sketch_in(&decoded), sealed.bytes));
    add_keys(sketch_in(&decoded), 0, 100);
    discard(&decoded);
  }
  CHECK(test_memory.live == live);
  return status;
}

#endif
