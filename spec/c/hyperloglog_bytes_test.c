/* HyperLogLog when memory runs out, and its bytes when they are not what was written. */
#include <string.h>

#include "hyperloglogs.h"

/* ---- memory ---- */

static void fail_at(unsigned long call)
{
  test_memory.calls = 0;
  test_memory.fail_at = call;
}

enum work { ADD_ONE, ADD_MANY, MERGE, WORKS };

/* Works on a sketch of n keys with `more` others while the memory fails at one call; was there
 * enough? If not, the sketch is as before. */
static bool succeeds(enum work work, bool hip, size_t n, size_t more, unsigned long call)
{
  struct variant variant = {"hyperloglog", {{"precision", 9}, {"hip", hip ? 1 : 0}}};
  struct specimen sketch, other;
  bool one;
  size_t many;
  make(&sketch, &variant, 0);
  make(&other, &variant, 0);
  add_keys(sketch_in(&sketch), 0, n);
  add_keys(sketch_in(&other), 100000, more);
  struct bytes before = encode(sketch_in(&sketch));
  uint64_t *hashes = test_allocate(more * sizeof *hashes);
  for (size_t i = 0; i < more; i++) {
    hashes[i] = hash_of(100000 + i);
  }
  size_t live = test_memory.live;
  fail_at(call);
  enum ps_status status =
      work == ADD_ONE ? ps_hyperloglog_add(hll_in(&sketch), hashes[0], &one, &refusal)
      : work == MERGE
          ? ps_merge(sketch_in(&sketch), sketch_in(&other), &refusal)
          : ps_hyperloglog.add_hashes(sketch_in(&sketch), hashes, more, &many, &refusal);
  fail_at(0);
  bool refused = status == PS_ERR_MEMORY;
  CHECK_WITH(status == PS_OK || refused, "%s", refusal.message);
  CHECK_WITH(!refused || still(sketch_in(&sketch), before), "%zu and %zu keys", n, more);
  CHECK_WITH(!refused || test_memory.live == live, "%zu and %zu keys", n, more);
  add_keys(sketch_in(&sketch), 100000, more);
  add_keys(sketch_in(&other), 0, n);
  CHECK_WITH(work == ADD_ONE || hip || ps_equal(sketch_in(&sketch), sketch_in(&other)),
             "%zu and %zu keys", n, more);
  discard(&sketch);
  discard(&other);
  free(hashes);
  free(before.at);
  return !refused;
}

static void growing_without_memory(void)
{
  static const size_t sizes[] = {1, 12, 13, 71, 72, 73, 500};
  size_t refusals = 0;
  for (enum work work = 0; work < WORKS; work++) {
    for (size_t i = 0; i < 98; i++) {
      unsigned long call = 1;
      while (!succeeds(work, i >= 49, sizes[i / 7 % 7], sizes[i % 7], call)) {
        call++;
      }
      refusals += call - 1;
    }
  }
  CHECK_WITH(refusals > 200, "only %zu refusals", refusals);
  promise("whichever call for memory fails, a sketch that adds or merges stays as it was, and "
          "usable");
}

static void starting_without_memory(void)
{
  for (size_t n = 0; n <= 5000; n += 500) {
    struct specimen sketch, second;
    make_hll(&sketch, 12);
    add_keys(sketch_in(&sketch), 0, n);
    struct bytes bytes = encode(sketch_in(&sketch));
    size_t live = test_memory.live;
    fail_at(1);
    CHECK(decode(&second, bytes, &refusal) == PS_ERR_MEMORY);
    fail_at(1);
    CHECK(ps_copy(sketch_in(&second), sketch_in(&sketch), NULL, &refusal) == PS_ERR_MEMORY);
    CHECK(sketch_in(&second)->payload == NULL && test_memory.live == live);
    fail_at(1);
    CHECK(ps_hyperloglog_fold(hll_in(&second), hll_in(&sketch), 9, &refusal) == PS_ERR_MEMORY);
    CHECK(sketch_in(&second)->payload == NULL && test_memory.live == live);
    fail_at(1); /* the sketch has to make do with the block it has */
    sketch_in(&sketch)->kind->clear(sketch_in(&sketch));
    fail_at(0);
    make_hll(&second, 12);
    CHECK(ps_equal(sketch_in(&sketch), sketch_in(&second)));
    add_keys(sketch_in(&sketch), 0, n);
    CHECK(still(sketch_in(&sketch), bytes));
    discard(&second);
    copy_into(&second, sketch_in(&sketch));
    CHECK(still(sketch_in(&second), bytes));
    discard(&second);
    discard(&sketch);
    free(bytes.at);
  }
  promise("decoding, copying and folding without memory leave nothing; clearing does not need any");
}

/* ---- bytes ---- */

static void sizes(void)
{
  static const struct {
    size_t keys, bytes;
  } most[] = {{1, 80}, {5, 109}, {10, 120}, {1000, 4096}, {100000, 12288 + 80}};
  for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
    struct specimen sketch;
    make_hll(&sketch, 14);
    add_keys(sketch_in(&sketch), 0, most[i].keys);
    struct bytes bytes = encode(sketch_in(&sketch));
    CHECK_WITH(bytes.size <= most[i].bytes, "%zu bytes for %zu keys", bytes.size, most[i].keys);
    CHECK_WITH(sketch_in(&sketch)->held <= 12288, "%zu keys", most[i].keys);
    CHECK_WITH(sketch_in(&sketch)->held == 64 || most[i].keys > 12, "%zu keys", most[i].keys);
    discard(&sketch);
    free(bytes.at);
  }
  promise("1 key takes at most 80 bytes, 1000 keys 4096, any number 12,288 and the envelope");
}

static enum ps_status decode_and_discard(struct bytes bytes)
{
  struct specimen specimen;
  enum ps_status status = decode(&specimen, bytes, &refusal);
  if (status == PS_OK) {
    discard(&specimen);
  }
  return status;
}

/* The bytes of a sketch of precision 9 with this payload, whatever it is. */
static enum ps_status decode_payload(const void *payload, size_t size, bool dense)
{
  struct specimen sketch;
  make_hll(&sketch, 9);
  struct bytes frame = encode(sketch_in(&sketch));
  size_t start = ps_load32(frame.at + AT_OFFSET);
  struct bytes bytes = {test_allocate(start + size + 8), start + size + 8};
  memcpy(bytes.at, frame.at, start);
  memcpy(bytes.at + start, payload, size);
  ps_store64(bytes.at + AT_PAYLOAD_SIZE, size);
  bytes.at[AT_FLAGS] = dense ? PS_HEADER_FLAT : 0;
  reseal(bytes);
  size_t live = test_memory.live;
  enum ps_status status = decode_and_discard(bytes);
  CHECK(test_memory.live == live);
  discard(&sketch);
  free(frame.at);
  free(bytes.at);
  return status;
}

static enum ps_status decode_entries(size_t n, const uint32_t *entries)
{
  unsigned char payload[4 * 80];
  for (size_t i = 0; i < n; i++) {
    ps_store32(payload + 4 * i, entries[i]);
  }
  return decode_payload(payload, 4 * n, false);
}

static void hostile_entries(void)
{
  uint32_t many[73];
  unsigned char payload[sizeof many];
  for (uint32_t i = 0; i < 73; i++) {
    many[i] = i << 6 | 1;
    ps_store32(payload + sizeof *many * i, many[i]);
  }
  CHECK(decode_entries(0, many) == PS_OK);
  CHECK(decode_entries(72, many) == PS_OK);
  CHECK(decode_entries(73, many) == PS_ERR_CORRUPT);
  for (uint32_t rank = 0; rank < 64; rank++) {
    bool exists = rank >= 1 && rank <= 39;
    CHECK((decode_entries(2, (uint32_t[]){1, 64 | rank}) == PS_OK) == exists);
    CHECK((decode_entries(1, (uint32_t[]){UINT32_MAX << 6 | rank}) == PS_OK) == exists);
  }
  CHECK(decode_entries(2, (uint32_t[]){65, 65}) == PS_ERR_CORRUPT);
  CHECK(decode_entries(2, (uint32_t[]){65, 66}) == PS_ERR_CORRUPT);
  CHECK(decode_entries(2, (uint32_t[]){66, 65}) == PS_ERR_CORRUPT);
  CHECK(decode_entries(3, (uint32_t[]){65, 1025, 129}) == PS_ERR_CORRUPT);
  CHECK(decode_entries(2, (uint32_t[]){0, 65}) == PS_ERR_CORRUPT);
  CHECK(decode_entries(2, (uint32_t[]){1, 2}) == PS_ERR_CORRUPT);
  for (size_t size = 0; size < sizeof payload; size++) {
    CHECK((decode_payload(payload, size, false) == PS_OK) == (size % 4 == 0));
  }
  promise("entries out of order, twice, too many, cut or of no possible rank are refused");
}

static void hostile_registers(void)
{
  unsigned char payload[384 + 1] = {0};
  CHECK(decode_payload(payload, 384, true) == PS_OK);
  CHECK(decode_payload(payload, 383, true) == PS_ERR_CORRUPT);
  CHECK(decode_payload(payload, 385, true) == PS_ERR_CORRUPT);
  for (unsigned i = 0; i < 512; i++) {
    for (unsigned rank = 55; rank < 64; rank++) {
      unsigned bit = i * 6;
      memset(payload, 0, sizeof payload);
      ps_store16(payload + bit / 8, (uint16_t)(rank << bit % 8));
      CHECK_WITH((decode_payload(payload, 384, true) == PS_OK) == (rank <= 56), "%u: %u", i, rank);
    }
  }
  promise("registers above the highest rank are refused, and so is any other number of them");
}

static void damage(void)
{
  for (size_t n = 0; n <= 200; n += 40) {
    struct specimen sketch;
    make_hll(&sketch, 8);
    add_keys(sketch_in(&sketch), 0, n);
    struct bytes bytes = encode(sketch_in(&sketch));
    for (size_t size = 0; size < bytes.size; size++) {
      struct bytes cut = {test_allocate(size), size};
      memcpy(cut.at, bytes.at, size);
      CHECK_WITH(is_refusal(decode_and_discard(cut)), "%zu of %zu bytes", size, bytes.size);
      free(cut.at);
    }
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
      bytes.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
      CHECK_WITH(is_refusal(decode_and_discard(bytes)), "bit %zu", bit);
      bytes.at[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    CHECK(decode_and_discard(bytes) == PS_OK);
    discard(&sketch);
    free(bytes.at);
  }
  promise("whatever is cut off, and whichever bit is flipped, the bytes are refused");
}

int main(void)
{
  growing_without_memory();
  starting_without_memory();
  sizes();
  hostile_entries();
  hostile_registers();
  damage();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
