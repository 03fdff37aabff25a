/* A sketch from bytes that come in pieces, of any size and either placement. A payload is received
 * where a large sketch will have it, summed and taken into what is derived of it as it comes, so
 * that nothing is left for the end that takes long: but owners of memory, which read it then. The
 * memory that is taken grows with the bytes that came: at most twice as many. */
#ifndef PS_STORAGE_DECODER_H
#define PS_STORAGE_DECODER_H

#include "base/sketch.h"
#include "storage/pages.h"

/* Must lie at a multiple of 64. */
struct ps_decoder {
  XXH3_state_t hash;
  union ps_any_sketch
      planned; /* when the header is there; a payload that need not stay where it is */
  struct ps_header header;
  const struct ps_kind *wanted; /* NULL: any */
  uint64_t max_bytes;
  uint64_t at;           /* bytes that came */
  uint64_t derived;      /* bytes of the payload that ps_receive() knows */
  bool is_planned;       /* the header has been read */
  struct ps_pages pages; /* the payload, as far as it came */
  uint64_t room;         /* bytes of them that there is memory for */
  struct ps_error error; /* what is wrong with the bytes; PS_OK: nothing so far */
  unsigned char trailer[PS_TRAILER_SIZE];
  unsigned char first[PS_PAGE_SIZE]; /* the header, as far as it came */
};

void ps_decoder_start(struct ps_decoder *decoder, const struct ps_kind *wanted, uint64_t max_bytes);

/* Takes the next bytes. PS_ERR_MEMORY: they have not been taken. All other refusals, as of
 * ps_header_read(), ps_plan_from_header() and of the checksum, or PS_ERR_CORRUPT for bytes behind
 * the end, are final: the memory is given back, and each call has the same answer. */
enum ps_status ps_decoder_feed(struct ps_decoder *decoder, const unsigned char *bytes, size_t size,
                               struct ps_error *error);

/* Has all come, and is it right as far as one knows without the state? PS_ERR_TRUNCATED, and the
 * refusals of feeding; all are final. */
enum ps_status ps_decoder_end(struct ps_decoder *decoder, struct ps_error *error);

/* The payload, when all has come: its pages, or where there are none of them, nothing. */
const unsigned char *ps_decoder_payload(const struct ps_decoder *decoder);

/* Did it come in the form that the sketch has in memory: ps_comes_in_place()? Of others ps_decode()
 * makes that. */
bool ps_decoder_in_place(const struct ps_decoder *decoder);

/* Gives the memory back; twice is harmless. */
void ps_decoder_release(struct ps_decoder *decoder);

#endif
