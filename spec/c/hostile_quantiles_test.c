/* Payloads of sketches of quantiles that no calls could have led to, sealed with right checksums:
 * refused as corrupt. */
#include <string.h>

#include "sealed.h"

/* ---- tdigest ---- */

static uint64_t bits_of(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Each number of the list in turn: no number, or out of order. */
static void check_numbers(struct variant variant, size_t keys)
{
  struct sealed sealed = seal_of(variant, keys);
  const size_t n = ps_load32(sealed.payload);
  CHECK(outcome(sealed) == PS_OK && n > 10);
  for (size_t i = 0; i < n; i++) {
    unsigned char *at = sealed.payload + 8 + 8 * i;
    const uint64_t number = ps_load64(at);
    const uint64_t refused[] = {bits_of((double)NAN),
                                bits_of((double)INFINITY),
                                bits_of(-(double)INFINITY),
                                bits_of(-0.0),
                                i > 0 ? bits_of(-1e300) : bits_of(1e300),
                                i + 1 < n ? bits_of(1e300) : bits_of(-1e300)};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
      ps_store64(at, refused[k]);
      CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "number %zu, %zu", i, k);
    }
    ps_store64(at, number);
  }
  CHECK(outcome(sealed) == PS_OK);
  free(sealed.bytes.at);
}

/* So many bytes of the payload, sized as they are. */
static enum ps_status outcome_of_part(struct sealed sealed, size_t size)
{
  const size_t head = (size_t)(sealed.payload - sealed.bytes.at);
  struct sealed part = {.bytes = {test_allocate(head + size + 8), head + size + 8}, .size = size};
  memcpy(part.bytes.at, sealed.bytes.at, head + size);
  ps_store64(part.bytes.at + AT_PAYLOAD_SIZE, size);
  enum ps_status status = outcome(part);
  free(part.bytes.at);
  return status;
}

/* What it claims to have, and what it has. */
static void check_claims(struct variant variant, size_t keys)
{
  static const uint32_t claims[] = {0, 1, 2, 1025, 65536, UINT32_C(1) << 31, UINT32_MAX};
  struct sealed sealed = seal_of(variant, keys);
  const uint32_t n = ps_load32(sealed.payload);
  for (size_t size = 0; size < sealed.size; size++) {
    CHECK_WITH(outcome_of_part(sealed, size) == PS_ERR_CORRUPT, "%zu bytes", size);
  }
  for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
    ps_store32(sealed.payload, claims[i]);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "%ju entries", (uintmax_t)claims[i]);
  }
  ps_store32(sealed.payload, n);
  const uint16_t added = ps_load16(sealed.payload + 4), joined = ps_load16(sealed.payload + 6);
  for (uint32_t x = added + 1; x <= UINT16_MAX; x += x < 1100 ? 1 : 1000) {
    bool possible = joined == 1 && x <= 1024 && x <= keys;
    ps_store16(sealed.payload + 4, (uint16_t)x);
    CHECK_WITH((outcome(sealed) == PS_OK) == possible, "%ju added", (uintmax_t)x);
  }
  ps_store16(sealed.payload + 4, added);
  for (uint32_t x = 0; x <= UINT16_MAX; x = x * 2 + 1) {
    ps_store16(sealed.payload + 6, (uint16_t)x);
    CHECK_WITH((outcome(sealed) == PS_OK) == (x == joined), "mark %ju", (uintmax_t)x);
  }
  free(sealed.bytes.at);
}

static void digests(void)
{
  const struct variant few = {"tdigest", {{NULL, 0}}}, joined = {"tdigest", {{"compression", 20}}};
  check_numbers(few, 300);
  check_numbers(joined, 1500);
  promise("numbers of a tdigest that are none, or out of order, are refused");
  check_claims(few, 300);
  check_claims(joined, 1500);
  promise("a tdigest that has not what it claims is refused");
}

/* ---- kll ---- */

/* Levels begin behind 64 bytes: their sizes, 4 bytes each, then their items. */
static void check_level_sizes(struct sealed sealed)
{
  const uint32_t n = ps_load32(sealed.payload + 60);
  for (uint32_t i = 0; i <= 64; i++) {
    ps_store32(sealed.payload + 60, i < 64 ? i : 255);
    CHECK_WITH(i == n || outcome(sealed) == PS_ERR_CORRUPT, "%u levels", i);
  }
  ps_store32(sealed.payload + 60, n);
  for (uint32_t h = 0; h < n; h++) {
    unsigned char *at = sealed.payload + 64 + (size_t)h * 4;
    const uint32_t size = ps_load32(at), wrong[] = {size - 1, size + 1, size + (UINT32_C(1) << 31)};
    for (size_t i = 0; i < 3; i++) {
      ps_store32(at, wrong[i]);
      CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "level %u of %u items", h, wrong[i]);
    }
    ps_store32(at, size);
  }
  CHECK(outcome(sealed) == PS_OK);
}

static void check_level_order(struct sealed sealed)
{
  const uint32_t n = ps_load32(sealed.payload + 60);
  unsigned char *at = sealed.payload + 64 + (size_t)n * 4;
  for (uint32_t h = 0; h < n; h++) {
    const uint32_t size = ps_load32(sealed.payload + 64 + (size_t)h * 4);
    for (uint32_t i = 0; i + 1 < size; i++) {
      const uint64_t x = ps_load64(at + 8 * i), y = ps_load64(at + 8 * i + 8);
      ps_store64(at + 8 * i, y);
      ps_store64(at + 8 * i + 8, x);
      CHECK_WITH(x == y || outcome(sealed) == PS_ERR_CORRUPT, "item %u of level %u", i, h);
      ps_store64(at + 8 * i, x);
      ps_store64(at + 8 * i + 8, y);
    }
    at += 8 * (size_t)size;
  }
  CHECK(outcome(sealed) == PS_OK);
}

static void levels(void)
{
  struct sealed sealed = seal_of((struct variant){"kll", {{"k", 20}}}, 10000);
  check_level_sizes(sealed);
  check_level_order(sealed);
  free(sealed.bytes.at);
  promise("levels of a kll in other numbers than there are items, or out of order, are refused");
}

/* ---- ddsketch ---- */

#define LEAST 8
#define LARGEST 16
#define LISTED 24 /* how many bins of each sign */
#define COLLAPSED 32
#define LIST 40 /* bins: index, count */
#define BIN 12

/* One that is asked for with max_bins has as many of each sign, or fewer. */
static void check_listed_bins(struct variant variant, size_t values)
{
  struct sealed sealed = seal_of(variant, values);
  const size_t bins = (sealed.size - LIST) / BIN, negative = ps_load32(sealed.payload + LISTED);
  CHECK(outcome(sealed) == PS_OK && bins > 2);
  for (size_t i = 0; i < bins; i++) {
    unsigned char *at = sealed.payload + LIST + i * BIN;
    const uint32_t index = ps_load32(at);
    const uint64_t count = ps_load64(at + 4);
    const bool is_first = i == 0 || i == negative;
    const uint32_t indexes[] = {0, UINT32_MAX, is_first ? index + 100000 : ps_load32(at - BIN),
                                is_first ? index - 100000 : ps_load32(at - BIN) - 1};
    for (size_t j = 0; j < sizeof indexes / sizeof *indexes; j++) {
      ps_store32(at, indexes[j]);
      CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "bin %zu, index %u", i, indexes[j]);
    }
    ps_store32(at, index);
    const uint64_t counts[] = {0, PS_COUNT_MAX, PS_COUNT_MAX + 1, UINT64_MAX};
    for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
      ps_store64(at + 4, counts[j]);
      CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "bin %zu, count %ju", i, (uintmax_t)counts[j]);
    }
    ps_store64(at + 4, count);
  }
  for (uint32_t n = 0; n < bins + 2; n++) {
    ps_store32(sealed.payload + LISTED, n);
    CHECK_WITH((outcome(sealed) == PS_OK) == (n == negative), "%u negative bins", n);
  }
  ps_store32(sealed.payload + LISTED, (uint32_t)negative);
  const uint64_t collapsed = ps_load64(sealed.payload + COLLAPSED);
  for (unsigned bit = 0; bit < 64; bit++) {
    ps_store64(sealed.payload + COLLAPSED, collapsed ^ UINT64_C(1) << bit);
    enum ps_status status = outcome(sealed);
    CHECK_WITH(status == PS_ERR_CORRUPT || (collapsed != 0 && bit < 2), "mark %u", bit);
  }
  ps_store64(sealed.payload + COLLAPSED, collapsed);
  CHECK(outcome(sealed) == PS_OK);
  free(sealed.bytes.at);
}

/* Whatever bit of an extreme is turned: the value is still one of its bin, or it is refused. */
static void check_extremes(struct variant variant, size_t values)
{
  struct sealed sealed = seal_of(variant, values);
  size_t refused = 0;
  for (size_t bit = 8 * LEAST; bit < 8 * (LARGEST + 8); bit++) {
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
    enum ps_status status = outcome(sealed);
    CHECK_WITH(status == PS_OK || status == PS_ERR_CORRUPT, "bit %zu", bit);
    refused += status == PS_ERR_CORRUPT;
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  CHECK_WITH(refused >= 2 * 12, "%zu refused", refused); /* sign and exponent */
  free(sealed.bytes.at);
}

static void check_range(struct variant variant, size_t values)
{
  struct sealed sealed = seal_of(variant, values);
  for (size_t at = LISTED; at < sealed.size; at += 8) {
    const uint64_t count = ps_load64(sealed.payload + at);
    ps_store64(sealed.payload + at, PS_COUNT_MAX - values + count);
    CHECK_WITH(count == 0 || outcome(sealed) == PS_OK, "count at %zu", at);
    ps_store64(sealed.payload + at, PS_COUNT_MAX - values + count + 1);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "count at %zu", at);
    ps_store64(sealed.payload + at, UINT64_MAX);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "count at %zu", at);
    ps_store64(sealed.payload + at, count);
  }
  /* Written while it changed: extremes of nothing, and values without extremes. */
  memset(sealed.payload + LISTED, 0, sealed.size - LISTED);
  CHECK(outcome(sealed) == PS_OK);
  memset(sealed.payload, 0, sealed.size);
  ps_store64(sealed.payload + sealed.size - 8, 3);
  CHECK(outcome(sealed) == PS_OK);
  memset(sealed.payload + LEAST, 0xff, 8);
  CHECK(outcome(sealed) == PS_ERR_CORRUPT);
  free(sealed.bytes.at);
}

static void quantile_bins(void)
{
  const struct variant plain = {"ddsketch", {{"relative_accuracy", 0.1}}};
  const struct variant collapsed = {"ddsketch", {{"max_bins", 20}}};
  const struct variant range = {"ddsketch", {{"min_value", 0.01}, {"max_value", 100}}};
  check_listed_bins(plain, 60);
  check_listed_bins(collapsed, 200);
  promise("bins of a ddsketch that are empty, overfull or out of order are refused");
  check_extremes(plain, 60);
  check_extremes(collapsed, 200);
  promise("extremes of a ddsketch that its bins do not have are refused");
  check_range(range, 60);
  promise("counts above 2^53 of a ddsketch with a range, and extremes that are none, are refused");
}

int main(void)
{
  digests();
  levels();
  quantile_bins();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
