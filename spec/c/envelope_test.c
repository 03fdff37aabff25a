/* base/envelope: what is around every stored sketch, checked against the table in docs/FORMAT.md.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/envelope.h"
#include "base/hash.h"
#include "sketches.h"

#define PAYLOAD_SIZE 24
#define TIGHT_SIZE(fields) (AT_FIELDS + (fields) + 8u)

static const enum ps_placement placements[] = {PS_TIGHT, PS_PAGED};
static const char *const placement_names[] = {[PS_TIGHT] = "tight", [PS_PAGED] = "paged"};

static struct ps_header sample(uint32_t fields_size)
{
  struct ps_header header = {
      .kind_id = 200,
      .hash_id = 7,
      .flags = PS_HEADER_FLAT | PS_HEADER_SECRET,
      .seed = UINT64_C(0x1122334455667788),
      .fields_size = fields_size,
      .payload_size = PAYLOAD_SIZE,
  };
  for (uint32_t i = 0; i < fields_size; i++) {
    header.fields[i] = (unsigned char)(i + 1);
  }
  return header;
}

/* A whole envelope in memory of exactly its size. */
static struct bytes sealed(enum ps_placement placement, uint32_t fields_size)
{
  unsigned char page[PS_PAGE_SIZE];
  struct ps_header header = sample(fields_size);
  size_t start = ps_header_write(&header, placement, page);
  struct bytes bytes = {test_allocate(start + PAYLOAD_SIZE + 8), start + PAYLOAD_SIZE + 8};
  memset(bytes.at, 0x5a, bytes.size);
  memcpy(bytes.at, page, start);
  reseal(bytes);
  return bytes;
}

static enum ps_status read_header(struct bytes bytes, struct ps_header *header)
{
  struct ps_error error;
  return ps_header_read(header, bytes.at, bytes.size, bytes.size, &error);
}

/* ---- what is written ---- */

static void check_layout(enum ps_placement placement, uint32_t fields_size)
{
  const char *name = placement_names[placement];
  struct bytes bytes = sealed(placement, fields_size);
  const unsigned char *at = bytes.at;
  size_t start = placement == PS_PAGED ? 4096 : TIGHT_SIZE(fields_size);
  CHECK_WITH(bytes.size == start + PAYLOAD_SIZE + 8, "%s", name);
  CHECK_WITH(memcmp(at, "\x8fPSK\x01\xc8\x07\x03", 8) == 0, "%s", name);
  CHECK_WITH(ps_load32(at + 8) == start && ps_load32(at + 12) == fields_size, "%s", name);
  CHECK_WITH(memcmp(at + 16, "\x18\0\0\0\0\0\0\0", 8) == 0, "%s", name);
  CHECK_WITH(memcmp(at + 24, "\x88\x77\x66\x55\x44\x33\x22\x11", 8) == 0, "%s", name);
  for (size_t i = 0; i < start - 8 - AT_FIELDS; i++) {
    CHECK_WITH(at[AT_FIELDS + i] == (i < fields_size ? i + 1 : 0), "%s, byte %zu", name, i);
  }
  CHECK_WITH(ps_load64(at + start - 8) == ps_hash(at, start - 8, 0), "%s", name);
  free(bytes.at);
}

static void layout(void)
{
  static const uint32_t sizes[] = {0, 1, 9, 28, PS_FIELDS_SIZE};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_layout(PS_TIGHT, sizes[i]);
    check_layout(PS_PAGED, sizes[i]);
  }
  promise("a header lies as docs/FORMAT.md says, tight and on a page");
}

static void check_round_trip(enum ps_placement placement, uint32_t fields_size)
{
  struct bytes bytes = sealed(placement, fields_size);
  struct ps_header expected = sample(fields_size), header;
  CHECK(read_header(bytes, &header) == PS_OK);
  CHECK(header.kind_id == expected.kind_id && header.hash_id == expected.hash_id);
  CHECK(header.flags == expected.flags && header.seed == expected.seed);
  CHECK(header.payload_size == PAYLOAD_SIZE && header.fields_size == fields_size);
  CHECK(header.payload_offset == bytes.size - PAYLOAD_SIZE - 8);
  CHECK(memcmp(header.fields, expected.fields, fields_size) == 0);
  free(bytes.at);
}

static void round_trip(void)
{
  for (uint32_t fields_size = 0; fields_size <= PS_FIELDS_SIZE; fields_size++) {
    check_round_trip(PS_TIGHT, fields_size);
    check_round_trip(PS_PAGED, fields_size);
  }
  promise("a header is read back as it was written");
}

/* What a reader of a file has: the first page, and the size of the whole. */
static void first_page(void)
{
  for (size_t i = 0; i < 2; i++) {
    struct ps_error error;
    struct ps_header header = sample(28);
    unsigned char *page = test_allocate(PS_PAGE_SIZE);
    memset(page, 0, PS_PAGE_SIZE);
    header.payload_size = UINT64_C(1) << 40;
    size_t start = ps_header_write(&header, placements[i], page);
    uint64_t total = start + header.payload_size + 8;
    CHECK(ps_header_read(&header, page, PS_PAGE_SIZE, total, &error) == PS_OK);
    CHECK(ps_header_read(&header, page, PS_PAGE_SIZE, total - 1, &error) == PS_ERR_TRUNCATED);
    CHECK(ps_header_read(&header, page, PS_PAGE_SIZE, total + 1, &error) == PS_ERR_CORRUPT);
    free(page);
  }
  promise("the first page suffices to read a header, of whatever size the whole is");
}

/* ---- what is refused ---- */

static void truncations(enum ps_placement placement)
{
  struct bytes whole = sealed(placement, 28);
  for (size_t size = 0; size < whole.size; size++) {
    struct ps_header header;
    struct bytes cut = {test_allocate(size), size};
    memcpy(cut.at, whole.at, size);
    CHECK_WITH(read_header(cut, &header) == PS_ERR_TRUNCATED, "%zu bytes", size);
    free(cut.at);
  }
  promise("every truncation is refused as truncated, %s", placement_names[placement]);
  free(whole.at);
}

static enum ps_status expected_of_flip(size_t at, size_t start)
{
  return at < AT_VERSION    ? PS_ERR_MAGIC
         : at == AT_VERSION ? PS_ERR_VERSION
         : at < start       ? PS_ERR_CHECKSUM
                            : PS_OK;
}

/* A flipped size may be refused before the checksum is looked at. */
static bool flip_is_told(enum ps_status status, size_t at, size_t start)
{
  bool sizes = at >= AT_OFFSET && at < AT_PAYLOAD_SIZE;
  return status == expected_of_flip(at, start) ||
         (sizes && (status == PS_ERR_CORRUPT || status == PS_ERR_TRUNCATED));
}

static void flips(enum ps_placement placement)
{
  struct bytes bytes = sealed(placement, 28);
  size_t start = bytes.size - PAYLOAD_SIZE - 8;
  for (size_t at = 0; at < bytes.size; at++) {
    for (unsigned bit = 0; bit < 8; bit++) {
      struct ps_header header;
      bytes.at[at] ^= (unsigned char)(1u << bit);
      enum ps_status status = read_header(bytes, &header);
      CHECK_WITH(flip_is_told(status, at, start), "bit %u of byte %zu: %s", bit, at,
                 ps_status_code(status));
      bytes.at[at] ^= (unsigned char)(1u << bit);
    }
  }
  promise("every single-bit flip of a header is refused, %s", placement_names[placement]);
  free(bytes.at);
}

/* The envelope with `width` bytes at `at` set to x and both checksums made to fit. */
static enum ps_status read_edited(struct bytes bytes, size_t at, unsigned width, uint64_t x,
                                  struct ps_header *header)
{
  struct bytes edited = {test_allocate(bytes.size), bytes.size};
  memcpy(edited.at, bytes.at, bytes.size);
  struct ps_writer writer = ps_writer_over(edited.at + at, width);
  ps_write(&writer, x, width);
  reseal(edited);
  enum ps_status status = read_header(edited, header);
  free(edited.at);
  return status;
}

static void hostile_sizes(enum ps_placement placement)
{
  struct bytes bytes = sealed(placement, 28);
  size_t start = bytes.size - PAYLOAD_SIZE - 8;
  struct ps_header header;
  for (uint64_t x = 0; x < 256; x++) {
    uint64_t value = x % 4 == 0   ? UINT64_C(1) << x / 4
                     : x % 4 == 1 ? (UINT64_C(1) << x / 4) - 1
                     : x % 4 == 2 ? (UINT64_C(1) << x / 4) + 1
                                  : UINT64_MAX - (UINT64_C(1) << x / 4);
    if (value != PAYLOAD_SIZE) {
      enum ps_status expected = value < PAYLOAD_SIZE ? PS_ERR_CORRUPT : PS_ERR_TRUNCATED;
      CHECK_WITH(read_edited(bytes, AT_PAYLOAD_SIZE, 8, value, &header) == expected,
                 "%ju bytes of payload", (uintmax_t)value);
    }
    uint32_t narrow = (uint32_t)value;
    if (narrow != start) {
      enum ps_status status = read_edited(bytes, AT_OFFSET, 4, narrow, &header);
      CHECK_WITH(status == PS_ERR_CORRUPT || status == PS_ERR_TRUNCATED, "payload at %ju",
                 (uintmax_t)narrow);
    }
    if (narrow > PS_FIELDS_SIZE) {
      CHECK_WITH(read_edited(bytes, AT_FIELDS_SIZE, 4, narrow, &header) == PS_ERR_CORRUPT,
                 "%ju bytes of fields", (uintmax_t)narrow);
    }
  }
  promise("sizes that do not add up are refused in spite of right checksums, %s",
          placement_names[placement]);
  free(bytes.at);
}

static void fields_sizes(void)
{
  struct bytes tight = sealed(PS_TIGHT, 28), paged = sealed(PS_PAGED, 28);
  struct ps_header header;
  for (uint32_t size = 0; size < 28; size++) {
    CHECK_WITH(read_edited(tight, AT_FIELDS_SIZE, 4, size, &header) == PS_ERR_CORRUPT, "%u", size);
    CHECK_WITH(read_edited(paged, AT_FIELDS_SIZE, 4, size, &header) == PS_ERR_CORRUPT, "%u", size);
  }
  promise("fields that are longer than the header says are refused, tight and on a page");
  free(tight.at);
  free(paged.at);
}

/* Everything agrees but that the payload starts at none of the two places. */
static void other_places(void)
{
  static const size_t starts[] = {69, 75, 76, 128, 4088, 4095, 4097, 4104, 8192};
  struct bytes tight = sealed(PS_TIGHT, 28);
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    const size_t start = starts[i];
    struct ps_header header;
    struct bytes moved = {test_allocate(start + PAYLOAD_SIZE + 8), start + PAYLOAD_SIZE + 8};
    memset(moved.at, 0, moved.size);
    memcpy(moved.at, tight.at, AT_FIELDS + 28);
    ps_store32(moved.at + AT_OFFSET, (uint32_t)start);
    reseal(moved);
    CHECK_WITH(read_header(moved, &header) == PS_ERR_CORRUPT, "payload at %zu", start);
    free(moved.at);
  }
  promise("a payload starts right behind the header or at 4096, and nowhere else");
  free(tight.at);
}

static void padding(void)
{
  struct bytes bytes = sealed(PS_PAGED, 28);
  struct ps_header header;
  for (size_t at = AT_FIELDS + 28; at < PS_PAGE_SIZE - 8; at++) {
    CHECK_WITH(read_edited(bytes, at, 1, 1, &header) == PS_ERR_CORRUPT, "byte %zu", at);
  }
  promise("between the fields and the checksum of a page there is nothing but zeros");
  free(bytes.at);
}

static void flags_and_versions(void)
{
  for (size_t i = 0; i < 2; i++) {
    struct bytes bytes = sealed(placements[i], 28);
    struct ps_header header;
    for (unsigned x = 0; x < 256; x++) {
      const bool live = placements[i] == PS_PAGED && (x == 5 || x == 7); /* and so flat */
      enum ps_status expected = x < 4 || live ? PS_OK : PS_ERR_CORRUPT;
      CHECK_WITH(read_edited(bytes, AT_FLAGS, 1, x, &header) == expected, "flags %u", x);
      expected = x == 1 ? PS_OK : PS_ERR_VERSION;
      CHECK_WITH(read_edited(bytes, AT_VERSION, 1, x, &header) == expected, "version %u", x);
    }
    free(bytes.at);
  }
  promise("other format versions and unknown flags are refused");
}

/* The parts that are for a kind to judge. */
static void passed_on(void)
{
  for (size_t i = 0; i < 2; i++) {
    struct bytes bytes = sealed(placements[i], 28);
    struct ps_header header;
    for (unsigned x = 0; x < 256; x++) {
      CHECK(read_edited(bytes, AT_KIND, 1, x, &header) == PS_OK && header.kind_id == x);
      CHECK(read_edited(bytes, AT_HASH, 1, x, &header) == PS_OK && header.hash_id == x);
    }
    CHECK(read_edited(bytes, AT_SEED, 8, UINT64_MAX, &header) == PS_OK);
    CHECK(header.seed == UINT64_MAX);
    CHECK(read_edited(bytes, AT_FIELDS + 20, 8, UINT64_MAX, &header) == PS_OK);
    CHECK(ps_load64(header.fields + 20) == UINT64_MAX);
    free(bytes.at);
  }
  promise("kind, hash, seed and fields come out as they are in the bytes");
}

static void foreign(void)
{
  uint64_t state = 6;
  for (int i = 0; i < 2000; i++) {
    struct ps_header header;
    struct bytes bytes = {test_allocate(64), 64};
    for (size_t at = 0; at < 64; at += 8) {
      ps_store64(bytes.at + at, test_random(&state));
    }
    CHECK(read_header(bytes, &header) == PS_ERR_MAGIC);
    memcpy(bytes.at, "\x8fPSK\x01", 5);
    enum ps_status status = read_header(bytes, &header);
    CHECK_WITH(is_refusal(status), "%s", ps_status_code(status));
    free(bytes.at);
  }
  promise("random bytes are refused, those with a magic number too");
}

static void any_address(void)
{
  struct bytes bytes = sealed(PS_TIGHT, 28);
  for (size_t offset = 0; offset < 16; offset++) {
    struct ps_header header;
    unsigned char *block = test_allocate(offset + bytes.size);
    memcpy(block + offset, bytes.at, bytes.size);
    CHECK(read_header((struct bytes){block + offset, bytes.size}, &header) == PS_OK);
    CHECK(header.seed == UINT64_C(0x1122334455667788));
    free(block);
  }
  promise("a header is read at every address");
  free(bytes.at);
}

int main(void)
{
  layout();
  round_trip();
  first_page();
  for (size_t i = 0; i < 2; i++) {
    truncations(placements[i]);
    flips(placements[i]);
    hostile_sizes(placements[i]);
  }
  fields_sizes();
  other_places();
  padding();
  flags_and_versions();
  passed_on();
  foreign();
  any_address();
  return test_end();
}
