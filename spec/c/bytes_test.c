/* base/bytes and base/math. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/math.h"
#include "test.h"

#define PATTERN UINT64_C(0x8877665544332211)

/* ---- readers and writers ---- */

static uint64_t lowest(uint64_t x, unsigned bytes)
{
  return bytes == 8 ? x : x % (UINT64_C(1) << 8 * bytes);
}

static void widths(void)
{
  for (unsigned width = 1; width <= 8; width++) {
    unsigned char *bytes = test_allocate(width);
    struct ps_writer writer = ps_writer_over(bytes, width);
    ps_write(&writer, PATTERN, width);
    CHECK_WITH(!writer.failed && writer.at == writer.end, "width %u", width);
    for (unsigned i = 0; i < width; i++) {
      CHECK_WITH(bytes[i] == 0x11 * (i + 1), "width %u, byte %u", width, i);
    }
    struct ps_reader reader = ps_reader_over(bytes, width);
    CHECK_WITH(ps_read(&reader, width) == lowest(PATTERN, width), "width %u", width);
    CHECK_WITH(!reader.failed && reader.at == reader.end, "width %u", width);
    free(bytes);
  }
  promise("numbers of 1 to 8 bytes are written lowest byte first, and read back");
}

static void reader_bounds(void)
{
  for (unsigned size = 0; size < 8; size++) {
    for (unsigned width = size + 1; width <= 8; width++) {
      unsigned char *bytes = test_allocate(size);
      memset(bytes, 0xff, size > 0 ? size : 1);
      struct ps_reader reader = ps_reader_over(bytes, size);
      CHECK_WITH(ps_read(&reader, width) == 0 && reader.failed, "%u of %u", width, size);
      CHECK_WITH(reader.at == bytes, "%u of %u", width, size);
      CHECK_WITH(ps_read(&reader, 1) == 0 && reader.at == bytes, "after %u of %u", width, size);
      free(bytes);
    }
  }
  promise("a reader stops at the end, reads zero from there on and moves no further");
}

static void writer_bounds(void)
{
  for (unsigned size = 0; size < 8; size++) {
    for (unsigned width = size + 1; width <= 8; width++) {
      unsigned char bytes[8] = {0}, untouched[8] = {0};
      struct ps_writer writer = ps_writer_over(bytes, size);
      ps_write(&writer, UINT64_MAX, width);
      CHECK_WITH(writer.failed && writer.at == bytes, "%u into %u", width, size);
      ps_write(&writer, UINT64_MAX, 1);
      CHECK_WITH(memcmp(bytes, untouched, sizeof bytes) == 0, "%u into %u", width, size);
    }
  }
  promise("a writer stops at the end and writes no part of what does not fit, nor anything after");
}

static void sequences(void)
{
  unsigned char bytes[10];
  struct ps_writer writer = ps_writer_over(bytes, sizeof bytes);
  ps_write(&writer, 0xabcdef, 3);
  ps_write(&writer, 0x1234567, 4);
  ps_write(&writer, 0x102, 2);
  static const unsigned char expected[] = {0xef, 0xcd, 0xab, 0x67, 0x45, 0x23, 0x01, 0x02, 0x01};
  CHECK(memcmp(bytes, expected, sizeof expected) == 0 && writer.at == bytes + 9);
  struct ps_reader reader = ps_reader_over(bytes, 9);
  CHECK(ps_read(&reader, 3) == 0xabcdef);
  CHECK(ps_read(&reader, 4) == 0x1234567);
  CHECK(ps_read(&reader, 2) == 0x102 && !reader.failed);
  CHECK(ps_read(&reader, 1) == 0 && reader.failed);
  promise("numbers follow each other without gaps");
}

static void odd_offsets(void)
{
  for (unsigned offset = 0; offset < 16; offset++) {
    unsigned char *block = test_allocate(offset + 8);
    unsigned char *at = block + offset;
    ps_store64(at, PATTERN);
    CHECK_WITH(at[0] == 0x11 && at[7] == 0x88, "offset %u", offset);
    CHECK_WITH(ps_load64(at) == PATTERN, "offset %u", offset);
    CHECK_WITH(ps_load32(at + 4) == PATTERN >> 32, "offset %u", offset);
    CHECK_WITH(ps_load16(at + 6) == PATTERN >> 48, "offset %u", offset);
    ps_store32(at + 4, 0x01020304);
    ps_store16(at + 2, 0x0506);
    CHECK_WITH(ps_load64(at) == UINT64_C(0x0102030405062211), "offset %u", offset);
    free(block);
  }
  promise("words are loaded and stored lowest byte first at every offset");
}

/* ---- arithmetic ---- */

static const uint64_t edges[] = {
    0,
    1,
    2,
    3,
    7,
    255,
    UINT64_C(1) << 31,
    UINT32_MAX,
    UINT64_C(1) << 32,
    (UINT64_C(1) << 32) + 1,
    PS_COUNT_MAX - 1,
    PS_COUNT_MAX,
    PS_COUNT_MAX + 1,
    UINT64_C(0x5555555555555555),
    UINT64_C(6148914691236517206),
    UINT64_C(1) << 62,
    UINT64_C(1) << 63,
    UINT64_MAX - 1,
    UINT64_MAX,
};

#define EDGES (sizeof edges / sizeof *edges)

static void check_product(uint64_t a, uint64_t b)
{
  uint64_t product = 12345;
  bool fits = a == 0 || b <= UINT64_MAX / a;
  CHECK_WITH(ps_multiply(a, b, &product) == fits, "%ju * %ju", (uintmax_t)a, (uintmax_t)b);
  if (fits) {
    CHECK_WITH(product == a * b, "%ju * %ju", (uintmax_t)a, (uintmax_t)b);
    CHECK_WITH(test_multiply_high(a, b) == 0, "%ju * %ju", (uintmax_t)a, (uintmax_t)b);
  }
  CHECK_WITH(ps_multiply_high(a, b) == test_multiply_high(a, b), "%ju * %ju", (uintmax_t)a,
             (uintmax_t)b);
}

static void products(void)
{
  uint64_t state = 1;
  for (size_t i = 0; i < EDGES; i++) {
    for (size_t j = 0; j < EDGES; j++) {
      check_product(edges[i], edges[j]);
    }
  }
  for (int i = 0; i < 100000; i++) {
    uint64_t a = test_random(&state), b = test_random(&state);
    check_product(a >> (test_random(&state) & 63), b >> (test_random(&state) & 63));
  }
  promise("products are exact, their upper half too, and overflow is told");
}

static void sums(void)
{
  for (size_t i = 0; i < EDGES; i++) {
    for (size_t j = 0; j < EDGES; j++) {
      for (size_t k = 0; k < EDGES; k++) {
        uint64_t a = edges[i], b = edges[j], limit = edges[k];
        if (a <= limit && b <= limit) {
          uint64_t expected = limit - a < b ? limit : a + b;
          CHECK_WITH(ps_add_saturating(a, b, limit) == expected, "%ju + %ju up to %ju",
                     (uintmax_t)a, (uintmax_t)b, (uintmax_t)limit);
        }
      }
    }
  }
  CHECK(ps_add_saturating(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
  CHECK(ps_add_saturating(250, 6, 255) == 255 && ps_add_saturating(250, 5, 255) == 255);
  promise("sums stop at their limit");
}

static void ones(void)
{
  uint64_t state = 2;
  for (size_t size = 0; size <= 256; size += 8) {
    unsigned char *bytes = test_allocate(size);
    uint64_t expected = 0;
    for (size_t i = 0; i < size; i++) {
      uint64_t sparse = size % 24 == 0 ? 255 : size % 16 == 0 ? 0 : test_random(&state) & 255;
      bytes[i] = (unsigned char)sparse;
      for (unsigned bit = 0; bit < 8; bit++) {
        expected += sparse >> bit & 1;
      }
    }
    CHECK_WITH(ps_count_ones(bytes, size) == expected, "%zu bytes", size);
    free(bytes);
  }
  for (unsigned bit = 0; bit < 64; bit++) {
    unsigned char bytes[9] = {0};
    ps_store64(bytes + 1, UINT64_C(1) << bit);
    CHECK_WITH(ps_count_ones(bytes + 1, 8) == 1, "bit %u", bit);
  }
  promise("bits are counted, one by one and at an odd address");
}

static void leading_zeros(void)
{
  CHECK(ps_leading_zeros(0) == 64);
  for (unsigned bit = 0; bit < 64; bit++) {
    CHECK_WITH(ps_leading_zeros(UINT64_C(1) << bit) == 63 - bit, "bit %u", bit);
    CHECK_WITH(ps_leading_zeros(UINT64_MAX >> (63 - bit)) == 63 - bit, "bit %u", bit);
  }
  promise("leading zeros are counted, 64 of them in 0");
}

static void rounding(void)
{
  const double most = 9007199254740992.0;
  CHECK(ps_round_count((double)NAN) == 0);
  CHECK(ps_round_count((double)INFINITY) == PS_COUNT_MAX);
  CHECK(ps_round_count(-(double)INFINITY) == 0);
  CHECK(ps_round_count(0) == 0 && ps_round_count(-0.0) == 0);
  CHECK(ps_round_count(-0.6) == 0 && ps_round_count(-1e300) == 0);
  CHECK(ps_round_count(0.49) == 0 && ps_round_count(0.51) == 1);
  CHECK(ps_round_count(1.49) == 1 && ps_round_count(2.51) == 3);
  CHECK(ps_round_count(5e-324) == 0);
  CHECK(ps_round_count(most - 1) == PS_COUNT_MAX - 1);
  CHECK(ps_round_count(most) == PS_COUNT_MAX);
  CHECK(ps_round_count(most * 2) == PS_COUNT_MAX && ps_round_count(1e300) == PS_COUNT_MAX);
  promise("any double becomes a count from 0 to 2^53");
  CHECK(ps_round_count(0.49999999999999994) == 0);
  CHECK(ps_round_count(4503599627370497.0) == UINT64_C(4503599627370497));
  CHECK(ps_round_count(4503599627370495.5) == UINT64_C(4503599627370496));
  CHECK(ps_round_count(9007199254740991.0) == UINT64_C(9007199254740991));
  promise("a count is the nearest whole number, also where x + 0.5 is not exact");
}

static void rounding_up(void)
{
  for (uint64_t n = 0; n < 300; n++) {
    uint64_t up = ps_round_up(n, 64);
    CHECK_WITH(up % 64 == 0 && up >= n && up < n + 64, "%ju", (uintmax_t)n);
  }
  promise("sizes are rounded up to a multiple");
}

int main(void)
{
  widths();
  reader_bounds();
  writer_bounds();
  sequences();
  odd_offsets();
  products();
  sums();
  ones();
  leading_zeros();
  rounding();
  rounding_up();
  return test_end();
}
