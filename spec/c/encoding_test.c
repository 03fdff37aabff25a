/* Sketches to bytes and back, of every kind. */
#include <math.h>
#include <string.h>

#include "sketches.h"

/* ---- to bytes ---- */

static void check_pieces(const struct variant *v, size_t keys)
{
  static const size_t sizes[] = {1, 7, 65536};
  struct specimen specimen;
  make_with(&specimen, v, keys);
  for (int i = 0; i < 2; i++) {
    enum ps_placement placement = i == 0 ? PS_TIGHT : PS_PAGED;
    struct bytes whole = encode_in_pieces(sketch_in(&specimen), placement, SIZE_MAX);
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      struct bytes bytes = encode_in_pieces(sketch_in(&specimen), placement, sizes[j]);
      CHECK_WITH(same_bytes(bytes, whole), "pieces of %zu", sizes[j]);
      free(bytes.at);
    }
    free(whole.at);
  }
  discard(&specimen);
}

static void check_placements(const struct variant *v, size_t keys)
{
  struct specimen specimen;
  make_with(&specimen, v, keys);
  struct bytes tight = encode(sketch_in(&specimen));
  struct bytes paged = encode_in_pieces(sketch_in(&specimen), PS_PAGED, SIZE_MAX);
  size_t start = ps_load32(tight.at + AT_OFFSET);
  CHECK(ps_load32(paged.at + AT_OFFSET) == 4096);
  CHECK(memcmp(tight.at, paged.at, AT_OFFSET) == 0);
  CHECK(memcmp(tight.at + AT_FIELDS_SIZE, paged.at + AT_FIELDS_SIZE, start - 8 - AT_FIELDS_SIZE) ==
        0);
  CHECK(paged.size - 4096 == tight.size - start);
  CHECK(memcmp(tight.at + start, paged.at + 4096, tight.size - start) == 0);
  free(tight.at);
  free(paged.at);
  discard(&specimen);
}

/* The bytes of an encoder that is started, and half read, before more keys come in. */
static struct bytes encode_meanwhile(struct ps_sketch *sketch, void *scratch, size_t keys)
{
  alignas(64) struct ps_encoder encoder;
  ps_encoder_start(&encoder, sketch, PS_TIGHT, scratch);
  struct bytes bytes = {test_allocate((size_t)encoder.total), (size_t)encoder.total};
  size_t at = ps_encoder_read(&encoder, bytes.at, bytes.size / 2);
  add_keys(sketch, 1000000, keys);
  at += ps_encoder_read(&encoder, bytes.at + at, bytes.size);
  CHECK(at == bytes.size);
  return bytes;
}

static void check_snapshot(const struct variant *v, size_t keys)
{
  struct specimen specimen, decoded;
  struct ps_error error = {PS_OK, ""};
  make_with(&specimen, v, keys);
  struct ps_sketch *sketch = sketch_in(&specimen);
  struct bytes before = encode(sketch);
  uint64_t scratch_size = ps_encoder_scratch(sketch);
  void *scratch = test_allocate((size_t)scratch_size);
  struct bytes bytes = encode_meanwhile(sketch, scratch, keys + 1);
  CHECK_WITH(scratch_size == 0 || same_bytes(bytes, before), "with a scratch");
  enum ps_status status = decode(&decoded, bytes, &error);
  CHECK_WITH(status == PS_OK, "%s", error.message);
  if (status == PS_OK) {
    discard(&decoded);
  }
  free(scratch);
  free(bytes.at);
  free(before.at);
  discard(&specimen);
}

/* ---- and back ---- */

/* Whatever is derived has to be as if the keys had been added here. */
static void check_twins(struct ps_sketch *a, struct ps_sketch *b, size_t more)
{
  CHECK(ps_equal(a, b) && ps_equal(b, a));
  CHECK(a->kind->count(a) == b->kind->count(b));
  CHECK(add_keys(a, 5000, more) == add_keys(b, 5000, more));
  CHECK(ps_equal(a, b));
  CHECK(a->kind->count(a) == b->kind->count(b));
  struct bytes bytes = encode(a);
  CHECK(still(b, bytes));
  free(bytes.at);
}

static void check_round_trip(const struct variant *v, size_t keys)
{
  for (int i = 0; i < 2; i++) {
    struct specimen source, decoded;
    struct ps_error error = {PS_OK, ""};
    make_seeded(&source, v, is_seeded(v) ? UINT64_C(1) << 53 : 0, keys);
    struct bytes bytes =
        encode_in_pieces(sketch_in(&source), i == 0 ? PS_TIGHT : PS_PAGED, SIZE_MAX);
    enum ps_status status = decode(&decoded, bytes, &error);
    CHECK_WITH(status == PS_OK, "%s", error.message);
    if (status == PS_OK) {
      check_twins(sketch_in(&source), sketch_in(&decoded), 3000);
      discard(&decoded);
    }
    free(bytes.at);
    discard(&source);
  }
}

static void check_secret(const struct variant *v, size_t keys)
{
  struct specimen source, decoded;
  struct ps_error error = {PS_OK, ""};
  if (!is_seeded(v)) {
    return;
  }
  make_seeded(&source, v, UINT64_MAX - 1, keys);
  sketch_in(&source)->flags = PS_SEED_SECRET;
  struct bytes bytes = encode(sketch_in(&source));
  CHECK((bytes.at[AT_FLAGS] & PS_HEADER_SECRET) != 0);
  enum ps_status status = decode(&decoded, bytes, &error);
  CHECK_WITH(status == PS_OK, "%s", error.message);
  if (status == PS_OK) {
    CHECK(sketch_in(&decoded)->flags == PS_SEED_SECRET);
    check_twins(sketch_in(&source), sketch_in(&decoded), 10);
    discard(&decoded);
  }
  free(bytes.at);
  discard(&source);
}

static void check_offsets(const struct variant *v, size_t keys)
{
  struct specimen source;
  make_with(&source, v, keys);
  struct bytes bytes = encode(sketch_in(&source));
  for (size_t offset = 1; offset < 16; offset += 2) {
    struct specimen decoded;
    struct ps_error error = {PS_OK, ""};
    unsigned char *block = test_allocate(offset + bytes.size);
    memcpy(block + offset, bytes.at, bytes.size);
    enum ps_status status = decode_skewed(&decoded, block + offset, bytes.size, 8 * offset, &error);
    CHECK_WITH(status == PS_OK, "offset %zu: %s", offset, error.message);
    if (status == PS_OK) {
      CHECK_WITH(still(sketch_in(&decoded), bytes), "offset %zu", offset);
      add_keys(sketch_in(&decoded), 0, 100);
      discard(&decoded);
    }
    free(block);
  }
  free(bytes.at);
  discard(&source);
}

/* As on a mapped file: the payload is used where it lies. */
static void check_in_place(const struct variant *v, size_t keys)
{
  struct specimen source;
  union ps_any_sketch mapped;
  struct ps_error error;
  struct ps_header header;
  make_with(&source, v, keys);
  struct bytes bytes = encode_in_pieces(sketch_in(&source), PS_PAGED, SIZE_MAX);
  const struct ps_kind *kind = sketch_in(&source)->kind;
  if (!ps_owns(sketch_in(&source))) {
    unsigned char *payload = bytes.at + PS_PAGE_SIZE;
    CHECK(ps_header_read(&header, bytes.at, bytes.size, bytes.size, &error) == PS_OK);
    CHECK(ps_decode_plan(&mapped.sketch, kind, &header, &error) == PS_OK);
    CHECK(ps_decode(&mapped.sketch, &header, payload, payload + header.payload_size, payload, NULL,
                    &error) == PS_OK);
    check_twins(sketch_in(&source), &mapped.sketch, 100);
    CHECK(mapped.sketch.payload == payload);
  }
  free(bytes.at);
  discard(&source);
}

/* ---- asking ---- */

static void on_integer(struct ps_report *report, const char *name, uint64_t value)
{
  (void)report;
  CHECK_WITH(value <= PS_COUNT_MAX, "%s = %ju", name, (uintmax_t)value);
}

static void on_number(struct ps_report *report, const char *name, double value)
{
  (void)report;
  CHECK_WITH(isfinite(value), "%s = %g", name, value);
}

static void on_boolean(struct ps_report *report, const char *name, bool value)
{
  (void)report, (void)value;
  CHECK(name != NULL);
}

static void on_list(struct ps_report *report, const char *name, const double *values, size_t n)
{
  CHECK_WITH(n <= PS_LIST_MAX, "%s has %zu values", name, n);
  for (size_t i = 0; i < n; i++) {
    on_number(report, name, values[i]);
  }
}

static void check_asking(const struct variant *v, size_t keys)
{
  struct ps_report report = {on_integer, on_number, on_boolean, on_list};
  struct specimen specimen, copy;
  struct ps_error error;
  bool found;
  make_with(&specimen, v, keys);
  struct ps_sketch *sketch = sketch_in(&specimen);
  struct bytes before = encode(sketch);
  CHECK(sketch->kind->count(sketch) <= PS_COUNT_MAX);
  ps_report_on(sketch, &report);
  if (sketch->kind->has_hashes != NULL) {
    sketch->kind->has_hashes(sketch, &(uint64_t){hash_of(3)}, 1, &found);
  }
  copy_into(&copy, sketch);
  enum ps_status merges = is_built(v) ? PS_ERR_ARGUMENT : PS_OK;
  CHECK(ps_compatible(sketch, sketch_in(&copy), &error) == merges);
  CHECK(ps_merge(sketch_in(&copy), sketch, &error) == merges);
  CHECK(still(sketch, before));
  free(before.at);
  discard(&copy);
  discard(&specimen);
}

int main(void)
{
  each_level(check_pieces);
  promise("bytes are the same in pieces of whatever size");
  each_level(check_placements);
  promise("tight and paged bytes differ in nothing but where the payload starts");
  each_level(check_snapshot);
  promise("a sketch that changes while it is encoded yields bytes that load");
  each_level(check_round_trip);
  promise("decoded sketches are equal, and go on like the ones they were made from");
  each_variant(check_secret, 30);
  promise("a secret seed stays secret in the bytes");
  each_level(check_offsets);
  promise("bytes and payloads may lie at odd addresses");
  each_level(check_in_place);
  promise("a payload can be used where it lies");
  each_level(check_asking);
  promise("asking changes no byte, and answers are finite");
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
