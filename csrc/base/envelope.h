/* The envelope around every stored sketch (docs/FORMAT.md):
 *
 *   offset  bytes
 *        0  4      magic 8f 'P' 'S' 'K'
 *        4  1      format version
 *        5  1      kind
 *        6  1      hash
 *        7  1      flags
 *        8  4      O, where the payload starts
 *       12  4      F, bytes of the fields
 *       16  8      S, bytes of the payload
 *       24  8      seed
 *       32  F      the kind's fields
 *     32+F         zeros up to O-8
 *      O-8  8      XXH3 of all bytes before
 *        O  S      payload
 *      O+S  8      XXH3 of the payload
 *
 * O is 40+F (tight: strings) or 4096 (page: files, whose payload can then be mapped in place). */
#ifndef PS_BASE_ENVELOPE_H
#define PS_BASE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"

#define PS_FORMAT_VERSION 1

#define PS_PAGE_SIZE 4096
#define PS_TRAILER_SIZE 8

enum ps_placement { PS_TIGHT, PS_PAGED };

enum ps_header_flags {
  PS_HEADER_FLAT = 1,   /* the payload is the live form */
  PS_HEADER_SECRET = 2, /* the seed is not to be shown */
  PS_HEADER_LIVE = 4    /* shared and changing: the trailer says nothing about the payload */
};

struct ps_header {
  uint8_t kind_id, hash_id, flags;
  uint64_t seed;
  uint32_t fields_size;
  uint32_t payload_offset;
  uint64_t payload_size;
  unsigned char fields[PS_FIELDS_SIZE];
};

/* Of what is on its way nobody knows how long it is. */
#define PS_TOTAL_UNKNOWN UINT64_MAX

/* Parses and verifies the header at the start of something `total` bytes long, of which the first
 * `available` are at `bytes`; all of it, or at least ps_header_needs(). Kind, hash id, fields and
 * seed are only read: whether they make sense is for the kind to say. */
enum ps_status ps_header_read(struct ps_header *header, const unsigned char *bytes,
                              size_t available, uint64_t total, struct ps_error *error);

/* How many bytes ps_header_read() has to see, at most PS_PAGE_SIZE: as far as the first `available`
 * tell, so it is asked again when there are so many. */
size_t ps_header_needs(const unsigned char *bytes, size_t available);

/* Is this the checksum of the payload? PS_ERR_CHECKSUM. */
enum ps_status ps_trailer_check(uint64_t checksum, const unsigned char trailer[PS_TRAILER_SIZE],
                                struct ps_error *error);

/* Writes the header, sets its payload_offset and returns it: the number of bytes written, at most
 * PS_PAGE_SIZE. */
size_t ps_header_write(struct ps_header *header, enum ps_placement placement,
                       unsigned char bytes[PS_PAGE_SIZE]);

#endif
