#include "base/envelope.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

static const unsigned char magic[4] = {0x8f, 'P', 'S', 'K'};

/* What Lua objects of several sketches begin with; 8 bytes later comes their type, lua/probsketch/
 * container.lua. They are named here so that who decodes one is told what to do. */
static const unsigned char container_magic[4] = {0x8f, 'P', 'S', 'P'};

#define CONTAINER_TYPE 8
#define CONTAINER_TYPE_SIZE 8

#define OFFSET_AT 8
#define FIXED_SIZE 32
#define CHECKSUM_SIZE 8

static enum ps_status truncated(uint64_t needed, uint64_t total, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_TRUNCATED, "truncated (expected %" PRIu64 " bytes, got %" PRIu64 ")",
                 needed, total);
}

static bool zero(const unsigned char *bytes, size_t size)
{
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0) {
      return false;
    }
  }
  return true;
}

static bool is_lower(unsigned char byte)
{
  return byte >= 'a' && byte <= 'z';
}

/* Bytes that do not begin like a sketch. */
static enum ps_status no_sketch(const unsigned char *bytes, size_t available,
                                struct ps_error *error)
{
  char type[CONTAINER_TYPE_SIZE + 1] = "";
  if (available >= CONTAINER_TYPE + CONTAINER_TYPE_SIZE &&
      memcmp(bytes, container_magic, sizeof container_magic) == 0) {
    for (size_t i = 0; i < CONTAINER_TYPE_SIZE && is_lower(bytes[CONTAINER_TYPE + i]); i++) {
      type[i] = (char)bytes[CONTAINER_TYPE + i];
    }
  }
  if (type[0] != '\0') {
    const char *article = strcmp(type, "lsh") == 0 ? "an" : "a";
    return ps_fail(error, PS_ERR_KIND,
                   "not a sketch but %s %s, loaded by probsketch.%s{ bytes = ... }", article, type,
                   type);
  }
  return ps_fail(error, PS_ERR_MAGIC, "not a sketch (no magic number at its start)");
}

/* What is shared is used where it lies. */
static bool are_flags(const struct ps_header *header)
{
  const unsigned flags = header->flags;
  bool live = (flags & PS_HEADER_LIVE) != 0, flat = (flags & PS_HEADER_FLAT) != 0;
  return (flags & ~(unsigned)(PS_HEADER_FLAT | PS_HEADER_SECRET | PS_HEADER_LIVE)) == 0 &&
         (!live || (flat && header->payload_offset == PS_PAGE_SIZE));
}

enum ps_status ps_header_read(struct ps_header *header, const unsigned char *bytes,
                              size_t available, uint64_t total, struct ps_error *error)
{
  size_t seen = available < sizeof magic ? available : sizeof magic;
  if (memcmp(bytes, magic, seen) != 0) {
    return no_sketch(bytes, available, error);
  }
  if (available < FIXED_SIZE) {
    return truncated(FIXED_SIZE, total, error);
  }
  struct ps_reader reader = ps_reader_over(bytes + sizeof magic, FIXED_SIZE - sizeof magic);
  unsigned version = (unsigned)ps_read(&reader, 1);
  if (version != PS_FORMAT_VERSION) {
    return ps_fail(error, PS_ERR_VERSION, "unknown format version (expected %d, got %u)",
                   PS_FORMAT_VERSION, version);
  }
  header->kind_id = (uint8_t)ps_read(&reader, 1);
  header->hash_id = (uint8_t)ps_read(&reader, 1);
  header->flags = (uint8_t)ps_read(&reader, 1);
  header->payload_offset = (uint32_t)ps_read(&reader, 4);
  header->fields_size = (uint32_t)ps_read(&reader, 4);
  header->payload_size = ps_read(&reader, 8);
  header->seed = ps_read(&reader, 8);

  if (header->fields_size > PS_FIELDS_SIZE) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (%" PRIu32 " bytes of fields)",
                   header->fields_size);
  }
  size_t tight = FIXED_SIZE + header->fields_size + CHECKSUM_SIZE;
  if (header->payload_offset != tight && header->payload_offset != PS_PAGE_SIZE) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (payload at %" PRIu32 ")",
                   header->payload_offset);
  }
  if (available < header->payload_offset) {
    return truncated(header->payload_offset, total, error);
  }
  size_t covered = header->payload_offset - CHECKSUM_SIZE;
  if (ps_hash(bytes, covered, 0) != ps_load64(bytes + covered)) {
    return ps_fail(error, PS_ERR_CHECKSUM, "header checksum mismatch");
  }
  size_t used = FIXED_SIZE + header->fields_size;
  if (!zero(bytes + used, covered - used) || !are_flags(header)) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (bits set that have no meaning)");
  }
  uint64_t behind = total - header->payload_offset;
  if (behind < PS_TRAILER_SIZE || behind - PS_TRAILER_SIZE < header->payload_size) {
    return ps_fail(error, PS_ERR_TRUNCATED,
                   "truncated (expected %" PRIu64 " bytes of payload, got %" PRIu64 ")",
                   header->payload_size, behind < PS_TRAILER_SIZE ? 0 : behind - PS_TRAILER_SIZE);
  }
  if (total != PS_TOTAL_UNKNOWN && behind - PS_TRAILER_SIZE > header->payload_size) {
    return ps_fail(error, PS_ERR_CORRUPT, "bytes behind the end (%" PRIu64 ")",
                   behind - PS_TRAILER_SIZE - header->payload_size);
  }
  memcpy(header->fields, bytes + FIXED_SIZE, header->fields_size);
  return PS_OK;
}

/* A payload that starts where none can is refused by reading, for which that much is enough. */
size_t ps_header_needs(const unsigned char *bytes, size_t available)
{
  if (available < FIXED_SIZE) {
    return FIXED_SIZE;
  }
  uint32_t offset = ps_load32(bytes + OFFSET_AT);
  return offset < FIXED_SIZE || offset > PS_PAGE_SIZE ? FIXED_SIZE : offset;
}

enum ps_status ps_trailer_check(uint64_t checksum, const unsigned char trailer[PS_TRAILER_SIZE],
                                struct ps_error *error)
{
  if (checksum != ps_load64(trailer)) {
    return ps_fail(error, PS_ERR_CHECKSUM, "payload checksum mismatch");
  }
  return PS_OK;
}

size_t ps_header_write(struct ps_header *header, enum ps_placement placement,
                       unsigned char bytes[PS_PAGE_SIZE])
{
  size_t used = FIXED_SIZE + header->fields_size;
  header->payload_offset = placement == PS_PAGED ? PS_PAGE_SIZE : (uint32_t)used + CHECKSUM_SIZE;
  size_t covered = header->payload_offset - CHECKSUM_SIZE;

  memset(bytes, 0, header->payload_offset);
  memcpy(bytes, magic, sizeof magic);
  struct ps_writer writer = ps_writer_over(bytes + sizeof magic, FIXED_SIZE - sizeof magic);
  ps_write(&writer, PS_FORMAT_VERSION, 1);
  ps_write(&writer, header->kind_id, 1);
  ps_write(&writer, header->hash_id, 1);
  ps_write(&writer, header->flags, 1);
  ps_write(&writer, header->payload_offset, 4);
  ps_write(&writer, header->fields_size, 4);
  ps_write(&writer, header->payload_size, 8);
  ps_write(&writer, header->seed, 8);
  memcpy(bytes + FIXED_SIZE, header->fields, header->fields_size);
  ps_store64(bytes + covered, ps_hash(bytes, covered, 0));
  return header->payload_offset;
}
