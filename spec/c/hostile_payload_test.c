/* Payloads that no calls could have led to, sealed with right checksums: refused as corrupt. */
#include <string.h>

#include "frequency/count_min.h"
#include "sealed.h"

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
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
