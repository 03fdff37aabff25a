#include "storage/decoder.h"

#include <inttypes.h>
#include <string.h>

#include "kinds.h"

/* What there is memory for at first, unless the payload is smaller. */
#define ROOM_MIN 65536

/* What a kind may read behind a part of the payload. */
#define BEHIND 8

/* Bytes that are there to be taken. */
struct input {
  const unsigned char *at;
  size_t left;
};

static size_t take(struct input *input, void *to, uint64_t wanted)
{
  size_t n = input->left < wanted ? input->left : (size_t)wanted;
  memcpy(to, input->at, n);
  input->at += n;
  input->left -= n;
  return n;
}

void ps_decoder_start(struct ps_decoder *decoder, const struct ps_kind *wanted, uint64_t max_bytes)
{
  XXH3_64bits_reset(&decoder->hash);
  decoder->wanted = wanted;
  decoder->max_bytes = max_bytes;
  decoder->at = decoder->room = decoder->derived = 0;
  decoder->is_planned = false;
  decoder->pages.address = NULL;
  decoder->error.status = PS_OK;
}

/* ---- the header ---- */

static enum ps_status read_header(struct ps_decoder *decoder, uint64_t total,
                                  struct ps_error *error)
{
  enum ps_status status =
      ps_header_read(&decoder->header, decoder->first, (size_t)decoder->at, total, error);
  if (status == PS_OK) {
    status = ps_plan_from_header(&decoder->planned.sketch, &decoder->header, decoder->wanted,
                                 decoder->max_bytes, error);
  }
  decoder->is_planned = status == PS_OK;
  return status;
}

static enum ps_status take_header(struct ps_decoder *decoder, struct input *input,
                                  struct ps_error *error)
{
  size_t needed;
  while ((needed = ps_header_needs(decoder->first, (size_t)decoder->at)) > decoder->at) {
    if (input->left == 0) {
      return PS_OK;
    }
    decoder->at += take(input, decoder->first + decoder->at, needed - decoder->at);
  }
  return read_header(decoder, PS_TOTAL_UNKNOWN, error);
}

/* ---- the payload ---- */

static uint64_t payload_end(const struct ps_decoder *decoder)
{
  return decoder->header.payload_offset + decoder->header.payload_size;
}

/* Memory for so many bytes of payload: twice what there is, if that is more. Of addresses all that
 * the header claims is reserved, if the system has so many, since the payload would otherwise move:
 * that takes long. */
static enum ps_status reserve(struct ps_decoder *decoder, uint64_t bytes, struct ps_error *error)
{
  const uint64_t size = decoder->header.payload_size;
  uint64_t more = decoder->room < ROOM_MIN / 2 ? ROOM_MIN : 2 * decoder->room;
  more = more < bytes ? bytes : more;
  more = more < size ? more : size;
  if (bytes <= decoder->room) {
    return PS_OK;
  }
  if (decoder->pages.address == NULL && size <= SIZE_MAX) {
    ps_pages_reserve(&decoder->pages, (size_t)size);
  }
  if (more > SIZE_MAX || !ps_pages_extend(&decoder->pages, (size_t)more)) {
    return ps_fail(error, PS_ERR_MEMORY, "not enough memory (%" PRIu64 " bytes)", more);
  }
  decoder->room = more;
  return PS_OK;
}

static void derive(struct ps_decoder *decoder, uint64_t received)
{
  uint64_t to = received;
  if (received < decoder->header.payload_size) {
    to = received < BEHIND ? 0 : (received - BEHIND) / 8 * 8;
  }
  if (to > decoder->derived) {
    ps_receive(&decoder->planned.sketch, decoder->pages.address, decoder->derived, to);
    decoder->derived = to;
  }
}

static enum ps_status take_payload(struct ps_decoder *decoder, struct input *input,
                                   struct ps_error *error)
{
  uint64_t received = decoder->at - decoder->header.payload_offset;
  uint64_t wanted = decoder->header.payload_size - received;
  uint64_t n = input->left < wanted ? input->left : wanted;
  enum ps_status status = reserve(decoder, received + n, error);
  if (status != PS_OK || n == 0) {
    return status;
  }
  unsigned char *to = (unsigned char *)decoder->pages.address + received;
  decoder->at += take(input, to, n);
  XXH3_64bits_update(&decoder->hash, to, (size_t)n);
  derive(decoder, received + n);
  return PS_OK;
}

static enum ps_status take_trailer(struct ps_decoder *decoder, struct input *input,
                                   struct ps_error *error)
{
  uint64_t end = payload_end(decoder), there = decoder->at - end;
  decoder->at += take(input, decoder->trailer + there, PS_TRAILER_SIZE - there);
  if (input->left > 0) {
    return ps_fail(error, PS_ERR_CORRUPT, "bytes behind the end (%zu at least)", input->left);
  }
  if (there < PS_TRAILER_SIZE && decoder->at == end + PS_TRAILER_SIZE &&
      (decoder->header.flags & PS_HEADER_LIVE) == 0) {
    return ps_trailer_check(XXH3_64bits_digest(&decoder->hash), decoder->trailer, error);
  }
  return PS_OK;
}

/* ---- all of it ---- */

/* Refuses for good, unless memory may be had at another time. */
static enum ps_status conclude(struct ps_decoder *decoder, enum ps_status status,
                               const struct ps_error *error)
{
  if (status != PS_OK && status != PS_ERR_MEMORY) {
    decoder->error = *error;
    ps_decoder_release(decoder);
  }
  return status;
}

enum ps_status ps_decoder_feed(struct ps_decoder *decoder, const unsigned char *bytes, size_t size,
                               struct ps_error *error)
{
  struct input input = {bytes, size};
  const uint64_t before = decoder->at;
  const bool was_planned = decoder->is_planned;
  enum ps_status status = PS_OK;
  if (decoder->error.status != PS_OK) {
    *error = decoder->error;
    return error->status;
  }
  if (!decoder->is_planned) {
    status = take_header(decoder, &input, error);
  }
  if (status == PS_OK && decoder->is_planned && decoder->at < payload_end(decoder)) {
    status = take_payload(decoder, &input, error);
  }
  if (status == PS_OK && decoder->is_planned && decoder->at >= payload_end(decoder)) {
    status = take_trailer(decoder, &input, error);
  }
  if (status == PS_ERR_MEMORY) {
    decoder->at = before;
    decoder->is_planned = was_planned;
  }
  return conclude(decoder, status, error);
}

enum ps_status ps_decoder_end(struct ps_decoder *decoder, struct ps_error *error)
{
  enum ps_status status = PS_OK;
  if (decoder->error.status != PS_OK) {
    *error = decoder->error;
    return error->status;
  }
  if (!decoder->is_planned) {
    status = read_header(decoder, decoder->at, error);
  } else if (decoder->at < payload_end(decoder) + PS_TRAILER_SIZE) {
    status =
        ps_fail(error, PS_ERR_TRUNCATED, "truncated (expected %" PRIu64 " bytes, got %" PRIu64 ")",
                payload_end(decoder) + PS_TRAILER_SIZE, decoder->at);
  }
  return conclude(decoder, status, error);
}

const unsigned char *ps_decoder_payload(const struct ps_decoder *decoder)
{
  return decoder->pages.address != NULL ? decoder->pages.address : decoder->first;
}

bool ps_decoder_in_place(const struct ps_decoder *decoder)
{
  return ps_comes_in_place(&decoder->planned.sketch, &decoder->header);
}

void ps_decoder_release(struct ps_decoder *decoder)
{
  ps_pages_unmap(&decoder->pages);
}
