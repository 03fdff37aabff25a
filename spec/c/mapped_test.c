/* Sketches that work on a payload where it is stored, as on a mapped file: they are like any other,
 * write nothing there, and are safe whatever the bytes are. The bytes lie in memory of exactly
 * their size, so that a sanitizer sees what is read outside. */
#include <string.h>

#include "cardinality/hyperloglog.h"
#include "frequency/count_min.h"
#include "membership/bloom.h"
#include "membership/counting_bloom.h"
#include "membership/cuckoo.h"
#include "similarity/minhash.h"
#include "sketches.h"

/* ---- a mapped one ---- */

/* A sketch and the bytes that it works on. */
struct mapped {
  struct specimen specimen;
  struct ps_header header;
  unsigned char *payload;
};

/* The payload at a multiple of 64, like that of a file, and nothing around it. */
static unsigned char *payload_of(struct bytes bytes, const struct ps_header *header)
{
  void *payload;
  size_t size = (size_t)header->payload_size;
  if (posix_memalign(&payload, 64, size + (size == 0)) != 0) {
    bail_out("no memory");
  }
  memcpy(payload, bytes.at + header->payload_offset, size);
  return payload;
}

/* Plans what is in the bytes; false if it has to be read. */
static bool plan(struct mapped *mapped, struct bytes bytes)
{
  struct ps_error error;
  struct ps_sketch *sketch = sketch_in(&mapped->specimen);
  mapped->specimen.block = NULL;
  if (ps_header_read(&mapped->header, bytes.at, bytes.size, bytes.size, &error) != PS_OK ||
      ps_plan_from_header(sketch, &mapped->header, NULL, TEST_LIMIT, &error) != PS_OK) {
    bail_out(error.message);
  }
  return ps_plan_mapped(sketch, &mapped->header);
}

static enum ps_status attach(struct mapped *mapped)
{
  struct ps_error error;
  return ps_decode(sketch_in(&mapped->specimen), &mapped->header, mapped->payload, NULL,
                   mapped->payload, &test_source, &error);
}

static bool map(struct mapped *mapped, struct bytes bytes)
{
  if (!plan(mapped, bytes)) {
    return false;
  }
  mapped->payload = payload_of(bytes, &mapped->header);
  if (attach(mapped) != PS_OK) {
    bail_out("a sketch's own bytes were refused");
  }
  return true;
}

static void drop(struct mapped *mapped)
{
  size_t live = test_memory.live;
  discard(&mapped->specimen);
  CHECK(test_memory.live == live);
  free(mapped->payload);
}

static struct bytes paged(struct specimen *specimen)
{
  return encode_in_pieces(sketch_in(specimen), PS_PAGED, SIZE_MAX);
}

/* ---- asking ---- */

static struct {
  uint64_t numbers; /* of all that were told */
} told;

static void on_integer(struct ps_report *report, const char *name, uint64_t value)
{
  (void)report, (void)name;
  told.numbers = told.numbers * 31 + value;
}

static void on_number(struct ps_report *report, const char *name, double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  on_integer(report, name, bits);
}

static void on_boolean(struct ps_report *report, const char *name, bool value)
{
  on_integer(report, name, value);
}

static void on_list(struct ps_report *report, const char *name, const double *values, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    on_number(report, name, values[i]);
  }
}

static uint64_t report_of(const struct ps_sketch *sketch)
{
  struct ps_report report = {on_integer, on_number, on_boolean, on_list};
  told.numbers = 0;
  ps_report_on(sketch, &report);
  return told.numbers;
}

static void ask_keys(const struct ps_sketch *sketch)
{
  enum { N = 3000 };
  uint64_t *hashes = hashes_of(0, N);
  bool *found = test_allocate(N * sizeof *found);
  if (sketch->kind->has_hashes != NULL) {
    sketch->kind->has_hashes(sketch, hashes, N, found);
  }
  for (size_t i = 0; i < N; i++) {
    if (sketch->kind == &ps_counting_bloom) {
      ps_counting_bloom_frequency((const struct ps_counting_bloom *)sketch, hashes[i]);
    } else if (sketch->kind == &ps_cuckoo) {
      ps_cuckoo_frequency((const struct ps_cuckoo *)sketch, hashes[i]);
    } else if (sketch->kind == &ps_count_min) {
      ps_count_min_frequency((const struct ps_count_min *)sketch, hashes[i]);
    }
  }
  free(found);
  free(hashes);
}

static void ask_hyperloglog(const struct ps_hyperloglog *hll)
{
  double low, high;
  struct ps_error error;
  struct specimen folded = {.block = NULL};
  ps_hyperloglog_bounds(hll, 2, &low, &high);
  ps_hyperloglog_overlap(hll, hll);
  CHECK(ps_hyperloglog_fold((struct ps_hyperloglog *)sketch_in(&folded), hll, 4, &error) == PS_OK);
  ps_count(sketch_in(&folded));
  discard(&folded);
}

/* Everything that changes nothing; and copies and unions, which change. */
static void ask(const struct ps_sketch *sketch)
{
  double standard_error, product;
  struct ps_error error;
  struct specimen copy, other;
  ps_count(sketch);
  report_of(sketch);
  ask_keys(sketch);
  CHECK(ps_equal(sketch, sketch));
  if (sketch->kind == &ps_bloom) {
    ps_bloom_jaccard((const struct ps_bloom *)sketch, (const struct ps_bloom *)sketch);
  } else if (sketch->kind == &ps_count_min) {
    const struct ps_count_min *counts = (const struct ps_count_min *)sketch;
    ps_count_min_inner_product(counts, counts, &product, &error);
  } else if (sketch->kind == &ps_minhash) {
    const struct ps_minhash *minhash = (const struct ps_minhash *)sketch;
    ps_minhash_jaccard(minhash, minhash, &standard_error);
  } else if (sketch->kind == &ps_hyperloglog) {
    ask_hyperloglog((const struct ps_hyperloglog *)sketch);
  }
  copy_into(&copy, sketch);
  copy_into(&other, sketch);
  CHECK(ps_equal(sketch, sketch_in(&copy)));
  CHECK(report_of(sketch) == report_of(sketch_in(&copy)));
  if (sketch->kind->clear != NULL) {
    ps_merge(sketch_in(&copy), sketch, &error);
    add_keys(sketch_in(&copy), 0, 300);
    sketch->kind->clear(sketch_in(&other));
    ps_merge(sketch_in(&other), sketch, &error);
    add_keys(sketch_in(&other), 0, 300);
  }
  free(encode(sketch_in(&copy)).at);
  discard(&copy);
  discard(&other);
}

/* ---- the bytes of a sketch ---- */

static void check_same(const struct variant *v, size_t keys)
{
  struct specimen source;
  struct mapped mapped;
  make_with(&source, v, keys);
  struct ps_sketch *sketch = sketch_in(&source);
  struct bytes bytes = paged(&source), tight = encode(sketch);
  bool flat = (bytes.at[AT_FLAGS] & PS_HEADER_FLAT) != 0;
  CHECK(map(&mapped, bytes) == flat);
  if (flat) {
    struct ps_sketch *there = sketch_in(&mapped.specimen);
    size_t live = test_memory.live;
    CHECK(!ps_owns(there) && ps_payload_size(there) == 0 && there->payload == mapped.payload);
    CHECK(ps_equal(sketch, there) && ps_equal(there, sketch));
    CHECK(still(there, tight));
    CHECK(report_of(there) == report_of(sketch) && ps_count(there) == ps_count(sketch));
    ask(there);
    CHECK(memcmp(mapped.payload, bytes.at + PS_PAGE_SIZE, (size_t)mapped.header.payload_size) == 0);
    CHECK(still(there, tight) && test_memory.live == live);
    drop(&mapped);
  }
  CHECK(!plan(&mapped, tight)); /* the payload does not lie at a page */
  free(tight.at);
  free(bytes.at);
  discard(&source);
}

/* ---- any bytes ---- */

static uint64_t noise;

/* Those bits of the bytes that are in the mask: with few, registers stay small. */
static void scramble(unsigned char *bytes, size_t size, unsigned mask)
{
  for (size_t i = 0; i < size; i++) {
    noise = ps_hash_next(noise * UINT64_C(6364136223846793005) + 1442695040888963407u);
    bytes[i] = (unsigned char)(noise >> 56 & mask);
  }
}

/* What is taken without a checksum is what would be taken with a right one. */
static bool check_bytes(struct mapped *mapped, struct bytes bytes)
{
  struct specimen decoded;
  struct ps_error error;
  memcpy(bytes.at + PS_PAGE_SIZE, mapped->payload, (size_t)mapped->header.payload_size);
  reseal(bytes);
  plan(mapped, bytes);
  enum ps_status status = attach(mapped);
  CHECK(status == PS_OK || status == PS_ERR_CORRUPT);
  CHECK(decode(&decoded, bytes, &error) == status);
  if (status == PS_OK) {
    ask(sketch_in(&mapped->specimen));
    CHECK(ps_equal(sketch_in(&mapped->specimen), sketch_in(&decoded)));
    discard(&decoded);
  }
  return status == PS_OK;
}

/* Somebody changes the file that is mapped. */
static void check_changed(struct mapped *mapped, struct bytes bytes)
{
  plan(mapped, bytes);
  memset(mapped->payload, 0, (size_t)mapped->header.payload_size);
  if (attach(mapped) == PS_OK) {
    scramble(mapped->payload, (size_t)mapped->header.payload_size, 0xff);
    ask(sketch_in(&mapped->specimen));
    memset(mapped->payload, 0xff, (size_t)mapped->header.payload_size);
    ask(sketch_in(&mapped->specimen));
  }
}

/* Of count_min: the total, which may not be anything. */
#define HEAD 16

static size_t taken;

static void check_any(const struct variant *v, size_t keys)
{
  struct specimen source;
  struct mapped mapped;
  make_with(&source, v, keys);
  struct bytes bytes = paged(&source);
  if (map(&mapped, bytes)) {
    size_t size = (size_t)mapped.header.payload_size;
    size_t head = size > 2 * HEAD ? HEAD : 0;
    for (size_t part = 1; part <= 8; part *= 2) {
      scramble(mapped.payload, size / part, 0xff);
      taken += check_bytes(&mapped, bytes);
      memset(mapped.payload, 0, head);
      scramble(mapped.payload + head, (size - head) / part, 0x11);
      taken += check_bytes(&mapped, bytes);
    }
    memset(mapped.payload, 0xff, size);
    check_bytes(&mapped, bytes);
    check_changed(&mapped, bytes);
    drop(&mapped);
  }
  free(bytes.at);
  discard(&source);
}

/* ---- in pieces ---- */

/* What is derived of a payload is the same when it comes in parts, wherever they end. */
static void check_received(const struct variant *v, size_t keys)
{
  struct specimen source;
  struct ps_error error;
  struct ps_header header;
  make_with(&source, v, keys);
  struct bytes bytes = encode(sketch_in(&source));
  const struct ps_sketch *sketch = sketch_in(&source);
  for (size_t step = 8; !ps_owns(sketch) && step <= 4096; step *= 8) {
    struct specimen received = {.block = NULL};
    struct ps_sketch *there = sketch_in(&received);
    CHECK(ps_header_read(&header, bytes.at, bytes.size, PS_TOTAL_UNKNOWN, &error) == PS_OK);
    CHECK(ps_plan_from_header(there, &header, NULL, TEST_LIMIT, &error) == PS_OK);
    unsigned char *payload = give_payload(&received, 0);
    const unsigned char *from = bytes.at + header.payload_offset;
    for (uint64_t at = 0, came = 0, size = header.payload_size; at < size;) {
      uint64_t to = at + step + 8 < size ? at + step : size, then = to < size ? to + 8 : size;
      memcpy(payload + came, from + came, (size_t)(then - came));
      ps_receive(there, payload, at, to);
      at = to;
      came = then;
    }
    CHECK(ps_decode_received(there, payload, &test_source, &error) == PS_OK);
    CHECK_WITH(ps_equal(there, sketch) && report_of(there) == report_of(sketch), "by %zu", step);
    discard(&received);
  }
  free(bytes.at);
  discard(&source);
}

int main(void)
{
  each_level(check_same);
  promise("a sketch on the bytes of another is that one, and writes nothing there");
  each_small(check_any, 700);
  CHECK_WITH(taken >= 100, "%zu", taken);
  promise("whatever the bytes are, nothing outside is touched, and decode takes the same");
  each_small(check_received, 700);
  promise("what is derived of a payload in parts is what is derived of the whole");
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
