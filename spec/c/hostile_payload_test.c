/* Payloads that no calls could have led to, sealed with right checksums: refused as corrupt. */
#include <string.h>

#include "frequency/count_min.h"
#include "sketches.h"

/* The bytes of a sketch, and its payload and trailer within them. */
struct sealed {
  struct bytes bytes;
  unsigned char *payload;
  size_t size;
};

static struct sealed seal(struct specimen *specimen)
{
  struct sealed sealed = {.bytes = encode(sketch_in(specimen))};
  size_t start = ps_load32(sealed.bytes.at + AT_OFFSET);
  sealed.payload = sealed.bytes.at + start;
  sealed.size = sealed.bytes.size - start - 8;
  discard(specimen);
  return sealed;
}

static struct sealed seal_of(struct variant variant, size_t keys)
{
  struct specimen specimen;
  about_variant(&variant, keys);
  make_with(&specimen, &variant, keys);
  return seal(&specimen);
}

/* What comes of the bytes as they now are. */
static enum ps_status outcome(struct sealed sealed)
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

/* ---- bloom ---- */

static void check_tail(uint64_t bits)
{
  struct sealed sealed =
      seal_of((struct variant){"bloom", {{"bits", (double)bits}, {"hashes", 2}}}, 10);
  CHECK(outcome(sealed) == PS_OK);
  for (uint64_t bit = bits; bit < sealed.size * 8; bit++) {
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "bit %ju", (uintmax_t)bit);
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  memset(sealed.payload, 0xff, sealed.size);
  CHECK((outcome(sealed) == PS_OK) == (bits % 64 == 0));
  free(sealed.bytes.at);
}

static void bloom_tails(void)
{
  for (uint64_t bits = 1; bits <= 130; bits++) {
    check_tail(bits);
  }
  promise("bits behind the last one of a bloom filter are refused");
}

/* ---- counting_bloom ---- */

static void check_cells_behind(double capacity, unsigned counter_bits)
{
  struct variant variant = {"counting_bloom",
                            {{"capacity", capacity}, {"counter_bits", counter_bits}}};
  struct sealed sealed = seal_of(variant, 200);
  uint64_t used = ps_load64(sealed.bytes.at + AT_FIELDS) * counter_bits;
  CHECK(outcome(sealed) == PS_OK && sealed.size == (used + 63) / 64 * 8);
  for (uint64_t bit = used; bit < sealed.size * 8; bit++) {
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "bit %ju", (uintmax_t)bit);
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  memset(sealed.payload, 0xff, sealed.size);
  CHECK((outcome(sealed) == PS_OK) == (used % 64 == 0));
  free(sealed.bytes.at);
}

static void cells_behind(void)
{
  for (unsigned counter_bits = 4; counter_bits <= 16; counter_bits *= 2) {
    for (double capacity = 106; capacity < 126; capacity++) {
      check_cells_behind(capacity, counter_bits);
    }
  }
  promise("counts behind the last counter of a counting bloom filter are refused");
}

/* ---- cuckoo ---- */

/* The padding of a table; what is in its slots may be anything. */
static void check_behind_slots(struct variant variant, unsigned slots, unsigned bits, size_t keys)
{
  const size_t slots_bits = (size_t)slots * bits;
  struct sealed sealed = seal_of(variant, keys);
  CHECK(outcome(sealed) == PS_OK);
  for (size_t bit = slots_bits; bit < sealed.size * 8; bit++) {
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "bit %zu", bit);
    sealed.payload[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
  memset(sealed.payload, 0xff, slots_bits / 8);
  CHECK(outcome(sealed) == PS_OK);
  free(sealed.bytes.at);
}

static void cuckoo_tails(void)
{
  check_behind_slots((struct variant){"cuckoo", {{"capacity", 1}}}, 8, 8, 8);
  check_behind_slots((struct variant){"cuckoo", {{"capacity", 9}, {"fp_rate", 1e-9}}}, 32, 32, 9);
  check_behind_slots((struct variant){"cuckoo", {{"capacity", 100}, {"bucket_size", 8}}}, 128, 11,
                     70);
  check_behind_slots((struct variant){"cuckoo", {{"capacity", 1}, {"growth", 2}}}, 16, 25, 9);
  promise("bits behind the last slot of a cuckoo filter are refused");
}

/* The low bits of a fingerprint, that no doubling takes, are never all 0. */
static void cuckoo_fingerprints(void)
{
  struct sealed sealed = seal_of((struct variant){"cuckoo", {{"capacity", 1}, {"growth", 2}}}, 3);
  for (unsigned slot = 0; slot < 8; slot++) {
    for (unsigned bit = 0; bit < 26; bit++) {
      const unsigned at = slot * 26 + bit;
      memset(sealed.payload, 0, sealed.size);
      sealed.payload[at / 8] = (unsigned char)(1u << at % 8);
      enum ps_status expected = bit < 10 ? PS_OK : PS_ERR_CORRUPT;
      CHECK_WITH(outcome(sealed) == expected, "slot %u, bit %u", slot, bit);
    }
  }
  promise("fingerprints that would be none after doublings are refused");
  free(sealed.bytes.at);
}

/* A table of another number of bytes than any number of doublings makes it. */
static void cuckoo_sizes(void)
{
  struct sealed sealed = seal_of((struct variant){"cuckoo", {{"capacity", 1}, {"growth", 2}}}, 0);
  const size_t start = sealed.bytes.size - 8 - sealed.size, most = 2000;
  unsigned char *bytes = test_allocate(start + most + 8);
  memcpy(bytes, sealed.bytes.at, start);
  memset(bytes + start, 0, most + 8);
  size_t accepted = 0;
  for (size_t size = 0; size <= most; size++) {
    struct sealed other = {{bytes, start + size + 8}, bytes + start, size};
    memset(bytes + start + size, 0, 8);
    ps_store64(bytes + AT_PAYLOAD_SIZE, size);
    enum ps_status status = outcome(other);
    CHECK_WITH(status == PS_OK || status == PS_ERR_CORRUPT, "%zu bytes", size);
    accepted += status == PS_OK;
    memset(bytes + start, 0, most + 8);
  }
  /* 8 slots of 26 bits, 16 of 25, 32 of 24 ... */
  CHECK_WITH(accepted == 7, "%zu sizes", accepted);
  promise("a growing cuckoo filter is refused unless its size is that of some doublings");
  free(bytes);
  free(sealed.bytes.at);
}

/* ---- count_min ---- */

#define TOTAL 0
#define SATURATED 8
#define CELLS 16

static struct sealed counters(unsigned bits, bool conservative, size_t keys)
{
  return seal_of(
      (struct variant){
          "count_min",
          {{"width", 20}, {"depth", 3}, {"counter_bits", bits}, {"conservative", conservative}}},
      keys);
}

static void check_total(unsigned bits, bool conservative)
{
  struct sealed sealed = counters(bits, conservative, 200);
  uint64_t total = ps_load64(sealed.payload + TOTAL);
  CHECK(total == 200 && outcome(sealed) == PS_OK);
  ps_store64(sealed.payload + TOTAL, PS_COUNT_MAX);
  CHECK(outcome(sealed) == PS_OK);
  ps_store64(sealed.payload + TOTAL, PS_COUNT_MAX + 1);
  CHECK(outcome(sealed) == PS_ERR_CORRUPT);
  ps_store64(sealed.payload + TOTAL, UINT64_MAX);
  CHECK(outcome(sealed) == PS_ERR_CORRUPT);
  ps_store64(sealed.payload + TOTAL, total);
  for (uint64_t x = 2; x != 0; x <<= 1) {
    ps_store64(sealed.payload + SATURATED, x);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "saturated %ju", (uintmax_t)x);
    ps_store64(sealed.payload + SATURATED, x + 1);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "saturated %ju", (uintmax_t)x + 1);
  }
  ps_store64(sealed.payload + SATURATED, 1);
  CHECK(outcome(sealed) == PS_OK);
  free(sealed.bytes.at);
}

static void totals(void)
{
  for (unsigned bits = 8; bits <= 64; bits *= 2) {
    check_total(bits, false);
    check_total(bits, true);
  }
  promise("a total above 2^53, and a mark of saturation other than 0 and 1, are refused");
}

static void wide_counters(void)
{
  static const uint64_t values[] = {PS_COUNT_MAX + 1, UINT64_C(1) << 63, UINT64_MAX};
  struct sealed sealed = counters(64, false, 0);
  ps_store64(sealed.payload + TOTAL, PS_COUNT_MAX);
  for (size_t at = CELLS; at < sealed.size; at += 8) {
    ps_store64(sealed.payload + at, PS_COUNT_MAX);
    CHECK_WITH(outcome(sealed) == PS_OK, "counter at %zu", at);
    for (uint64_t saturated = 0; saturated < 2; saturated++) {
      ps_store64(sealed.payload + SATURATED, saturated);
      for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        ps_store64(sealed.payload + at, values[i]);
        CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "counter at %zu", at);
      }
    }
    ps_store64(sealed.payload + SATURATED, 0);
    ps_store64(sealed.payload + at, 0);
  }
  promise("counters of 64 bits above 2^53 are refused, saturated or not");
  free(sealed.bytes.at);
}

/* ---- hyperloglog ---- */

static void set_register(unsigned char *registers, size_t i, unsigned rank)
{
  for (size_t bit = 0; bit < 6; bit++) {
    unsigned char mask = (unsigned char)(1u << (6 * i + bit) % 8);
    unsigned char *at = registers + (6 * i + bit) / 8;
    *at = (unsigned char)(rank >> bit & 1 ? *at | mask : *at & ~mask);
  }
}

static void check_registers(unsigned precision, size_t step)
{
  struct sealed sealed =
      seal_of((struct variant){"hyperloglog", {{"precision", precision}}}, 60000);
  unsigned most = 64 - precision + 1;
  for (size_t i = 0; i < (size_t)1 << precision; i += step) {
    struct bytes before = {test_allocate(sealed.size), sealed.size};
    memcpy(before.at, sealed.payload, sealed.size);
    set_register(sealed.payload, i, most);
    CHECK_WITH(outcome(sealed) == PS_OK, "register %zu", i);
    set_register(sealed.payload, i, most + 1);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "register %zu", i);
    set_register(sealed.payload, i, 63);
    CHECK_WITH(outcome(sealed) == PS_ERR_CORRUPT, "register %zu", i);
    memcpy(sealed.payload, before.at, sealed.size);
    free(before.at);
  }
  free(sealed.bytes.at);
}

static void registers(void)
{
  check_registers(4, 1);
  check_registers(9, 1);
  check_registers(14, 131);
  check_registers(18, 9973);
  promise("registers above the highest rank are refused");
}

static void check_entries(void)
{
  struct sealed sealed = seal_of((struct variant){"hyperloglog", {{NULL, 0}}}, 500);
  for (size_t at = 0; at + 4 < sealed.size; at += 4) {
    uint32_t entry = ps_load32(sealed.payload + at), next = ps_load32(sealed.payload + at + 4);
    const uint32_t hostile[] = {0,          entry & ~63u,       entry | 63, (entry & ~63u) + 40,
                                next,       next + 1,           next - 1,   next | 63,
                                UINT32_MAX, (next & ~63u) + 39, next + 64};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
      uint32_t x = hostile[i];
      bool valid = (x & 63) >= 1 && (x & 63) <= 39 && x >> 6 < next >> 6;
      ps_store32(sealed.payload + at, x);
      CHECK_WITH(valid || outcome(sealed) == PS_ERR_CORRUPT, "entry at %zu is %x", at, x);
    }
    ps_store32(sealed.payload + at, entry);
  }
  CHECK(outcome(sealed) == PS_OK);
  free(sealed.bytes.at);
}

/* A list of `n` entries in bytes of its own, sized as it says. */
static enum ps_status outcome_of_list(unsigned precision, size_t size)
{
  struct sealed empty = seal_of((struct variant){"hyperloglog", {{"precision", precision}}}, 0);
  struct sealed list = {.size = size};
  list.bytes.size = empty.bytes.size + size;
  list.bytes.at = test_allocate(list.bytes.size);
  list.payload = list.bytes.at + (empty.payload - empty.bytes.at);
  memset(list.bytes.at, 0, list.bytes.size);
  memcpy(list.bytes.at, empty.bytes.at, empty.bytes.size - 8);
  ps_store64(list.bytes.at + AT_PAYLOAD_SIZE, size);
  for (size_t i = 0; i + 4 <= size; i += 4) {
    ps_store32(list.payload + i, (uint32_t)(i / 4 * 64 + 1));
  }
  enum ps_status status = outcome(list);
  free(list.bytes.at);
  free(empty.bytes.at);
  return status;
}

static void entries(void)
{
  check_entries();
  promise("sparse entries out of order, twice there or with impossible ranks are refused");
  for (unsigned precision = 4; precision <= 18; precision++) {
    size_t most = (size_t)9 << precision >> 6;
    CHECK_WITH(outcome_of_list(precision, most * 4) == PS_OK, "%zu entries", most);
    CHECK_WITH(outcome_of_list(precision, most * 4 + 4) == PS_ERR_CORRUPT, "%zu entries", most + 1);
    for (size_t odd = 1; odd < 4; odd++) {
      CHECK_WITH(outcome_of_list(precision, 4 + odd) == PS_ERR_CORRUPT, "%zu bytes", 4 + odd);
    }
  }
  promise("sparse lists that are too long, or end within an entry, are refused");
}

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
  bloom_tails();
  cells_behind();
  cuckoo_tails();
  cuckoo_fingerprints();
  cuckoo_sizes();
  totals();
  wide_counters();
  registers();
  entries();
  digests();
  levels();
  quantile_bins();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
