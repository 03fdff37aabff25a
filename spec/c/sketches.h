/* Sketches of every kind for tests. Whatever memory a sketch is given has exactly the size it asked
 * for, so that a sanitizer sees the first access outside. */
#ifndef SPEC_SKETCHES_H
#define SPEC_SKETCHES_H

#include <math.h>
#include <stdalign.h>
#include <string.h>

#include "base/bytes.h"
#include "base/distinct.h"
#include "base/hash.h"
#include "base/sketch.h"
#include "kinds.h"
#include "test.h"
#include "test_memory.h"

/* ---- what is built ---- */

#define VARIANT_OPTIONS 4

struct variant {
  const char *kind;
  struct {
    const char *name;
    double value;
  } options[VARIANT_OPTIONS];
};

/* Every kind, its least and its unusual shapes included; the last of each kind is large enough for
 * batches to prefetch. */
static const struct variant variants[] = {
    {"bloom", {{"capacity", 1000}}},
    {"bloom", {{"capacity", 1}, {"fp_rate", 0.999}}},
    {"bloom", {{"bits", 1}, {"hashes", 1}}},
    {"bloom", {{"bits", 64}, {"hashes", 3}}},
    {"bloom", {{"bits", 65}, {"hashes", 64}}},
    {"bloom", {{"bits", 10007}, {"hashes", 5}}},
    {"bloom", {{"capacity", 1e6}, {"fp_rate", 0.001}}},
    {"blocked_bloom", {{"capacity", 1000}}},
    {"blocked_bloom", {{"capacity", 1}, {"fp_rate", 0.5}}},
    {"blocked_bloom", {{"capacity", 100}, {"fp_rate", 1e-5}}},
    {"blocked_bloom", {{"capacity", 1e6}, {"fp_rate", 0.001}}},
    {"scalable_bloom", {{"capacity", 100}}},
    {"scalable_bloom", {{"capacity", 1}, {"fp_rate", 0.999}, {"growth", 1.5}}},
    {"scalable_bloom", {{"capacity", 7}, {"fp_rate", 1e-6}, {"tightening", 0.9}}},
    {"scalable_bloom", {{"capacity", 1000}, {"fp_rate", 0.1}, {"growth", 16}}},
    {"scalable_bloom", {{"capacity", 5e5}, {"fp_rate", 1e-4}}},
    {"counting_bloom", {{"capacity", 1000}}},
    {"counting_bloom", {{"capacity", 1}, {"fp_rate", 0.999}}},
    {"counting_bloom", {{"capacity", 100}, {"fp_rate", 1e-15}, {"counter_bits", 8}}},
    {"counting_bloom", {{"capacity", 109}, {"counter_bits", 16}}},
    {"counting_bloom", {{"capacity", 300000}, {"fp_rate", 0.001}}},
    {"cuckoo", {{"capacity", 20000}}},
    {"cuckoo", {{"capacity", 20000}, {"bucket_size", 2}, {"fp_rate", 1e-10}}},
    {"cuckoo", {{"capacity", 20000}, {"bucket_size", 8}, {"fp_rate", 0.5}}},
    {"cuckoo", {{"capacity", 1}, {"growth", 2}}},
    {"cuckoo", {{"capacity", 100}, {"growth", 2}, {"bucket_size", 8}, {"fp_rate", 1e-10}}},
    {"cuckoo", {{"capacity", 1e6}, {"fp_rate", 0.001}}},
    {"fuse", {{"keys", 0}}},
    {"fuse", {{"keys", 0}, {"fp_rate", 1.0 / 65536}}},
    {"count_min", {{"epsilon", 0.02}}},
    {"count_min", {{"width", 1}, {"depth", 1}, {"counter_bits", 8}}},
    {"count_min", {{"width", 3}, {"depth", 64}, {"counter_bits", 16}}},
    {"count_min", {{"width", 50}, {"depth", 4}, {"counter_bits", 64}}},
    {"count_min", {{"width", 50}, {"depth", 4}, {"counter_bits", 8}, {"conservative", 1}}},
    {"count_min", {{"width", 60}, {"depth", 2}, {"counter_bits", 64}, {"conservative", 1}}},
    {"count_min", {{"width", 100003}, {"depth", 3}}},
    {"top_k", {{"k", 12}, {"epsilon", 0.02}}},
    {"top_k", {{"k", 1}, {"width", 1}, {"depth", 1}}},
    {"top_k", {{"k", 9}, {"width", 3}, {"depth", 64}}},
    {"top_k", {{"k", 30}, {"width", 50}, {"depth", 4}}},
    {"top_k", {{"k", 3}, {"width", 100003}, {"depth", 3}}},
    {"hyperloglog", {{"precision", 4}}},
    {"hyperloglog", {{"precision", 9}}},
    {"hyperloglog", {{"error_rate", 0.02}}},
    {"hyperloglog", {{"precision", 7}, {"hip", 1}}},
    {"hyperloglog", {{NULL, 0}}},
    {"hyperloglog", {{"precision", 18}}},
    {"tdigest", {{NULL, 0}}},
    {"tdigest", {{"compression", 20}}},
    {"tdigest", {{"compression", 10000}}},
    {"kll", {{NULL, 0}}},
    {"kll", {{"k", 8}}},
    {"kll", {{"k", 50}}},
    {"kll", {{"k", 3000}}},
    {"ddsketch", {{NULL, 0}}},
    {"ddsketch", {{"max_bins", 1}}},
    {"ddsketch", {{"max_bins", 50}}},
    {"ddsketch", {{"relative_accuracy", 0.5}}},
    {"ddsketch", {{"relative_accuracy", 1e-4}, {"max_bins", 1e5}}},
    {"ddsketch", {{"min_value", 0.5}, {"max_value", 1000}}},
    {"ddsketch", {{"relative_accuracy", 0.5}, {"min_value", 1}, {"max_value", 1.1}}},
    {"minhash", {{NULL, 0}}},
    {"minhash", {{"hashes", 1}}},
    {"minhash", {{"hashes", 33}}},
    {"minhash", {{"hashes", 1000}}},
    {NULL, {{NULL, 0}}},
};

static inline void set_option(struct ps_options *options, const struct ps_kind *kind,
                              const char *name, double value)
{
  for (size_t i = 0; kind->options[i].name != NULL; i++) {
    if (strcmp(kind->options[i].name, name) == 0) {
      options->value[i] = value;
      options->given[i] = true;
      return;
    }
  }
  bail_out(name);
}

static inline struct ps_options options_of(const struct variant *variant)
{
  struct ps_options options = {{0}, {false}};
  const struct ps_kind *kind = ps_kind_by_name(variant->kind);
  for (size_t i = 0; i < VARIANT_OPTIONS && variant->options[i].name != NULL; i++) {
    set_option(&options, kind, variant->options[i].name, variant->options[i].value);
  }
  return options;
}

/* Says what the next checks are about: "bloom bits=64 hashes=3, 700 keys". */
static inline void about_variant(const struct variant *variant, size_t keys)
{
  char text[128];
  int at = snprintf(text, sizeof text, "%s", variant->kind);
  for (size_t i = 0; i < VARIANT_OPTIONS && variant->options[i].name != NULL; i++) {
    at += snprintf(text + at, sizeof text - (size_t)at, " %s=%g", variant->options[i].name,
                   variant->options[i].value);
  }
  test_about("%s, %zu keys", text, keys);
}

static inline void plan_variant(struct ps_sketch *sketch, const struct variant *variant)
{
  struct ps_error error;
  struct ps_options options = options_of(variant);
  if (ps_plan(sketch, ps_kind_by_name(variant->kind), &options, &error) != PS_OK) {
    bail_out(error.message);
  }
}

/* Bytes of the variant when it is made. */
static inline uint64_t size_of(const struct variant *variant)
{
  union ps_any_sketch planned;
  plan_variant(&planned.sketch, variant);
  return planned.sketch.kind->size(&planned.sketch);
}

/* Megabytes take their time to be encoded and hashed. */
static inline bool is_large(const struct variant *variant)
{
  return size_of(variant) > 1 << 20;
}

typedef void variant_check(const struct variant *variant, size_t keys);

/* Keys that a sketch is looked at with: none, a few, more than its least form takes, many. */
static const size_t test_levels[] = {0, 1, 13, 700, 5000};

/* Calls `check` for every variant with every number of keys; large ones with many keys only. */
static inline void each_level(variant_check *check)
{
  const size_t levels = sizeof test_levels / sizeof *test_levels;
  for (const struct variant *variant = variants; variant->kind != NULL; variant++) {
    for (size_t i = is_large(variant) ? levels - 1 : 0; i < levels; i++) {
      about_variant(variant, test_levels[i]);
      check(variant, test_levels[i]);
    }
  }
}

/* Calls `check` for every variant with this many keys. */
static inline void each_variant(variant_check *check, size_t keys)
{
  for (const struct variant *variant = variants; variant->kind != NULL; variant++) {
    about_variant(variant, keys);
    check(variant, keys);
  }
}

/* For every variant that is not large. */
static inline void each_small(variant_check *check, size_t keys)
{
  for (const struct variant *variant = variants; variant->kind != NULL; variant++) {
    if (!is_large(variant)) {
      about_variant(variant, keys);
      check(variant, keys);
    }
  }
}

/* ---- sketches ---- */

/* A sketch with the memory that its caller owes it. It may not be moved. */
struct specimen {
  union ps_any_sketch any;
  unsigned char *block;
};

static inline struct ps_sketch *sketch_in(struct specimen *specimen)
{
  return &specimen->any.sketch;
}

/* The payload of a planned sketch, `skew` bytes behind an aligned address, ending where its block
 * ends. */
static inline unsigned char *give_payload(struct specimen *specimen, size_t skew)
{
  size_t size = (size_t)ps_payload_size(sketch_in(specimen));
  test_memory.given += size;
  specimen->block = test_allocate(size + skew);
  memset(specimen->block, 0, size + skew);
  return specimen->block + skew;
}

static inline void discard(struct specimen *specimen)
{
  ps_release(sketch_in(specimen));
  free(specimen->block);
  specimen->block = NULL;
}

/* Key number i is 8 bytes. */
static inline void key_bytes(uint64_t i, unsigned char bytes[8])
{
  ps_store64(bytes, i & UINT32_MAX);
}

/* Its hash. */
static inline uint64_t hash_of(uint64_t i)
{
  unsigned char bytes[8];
  key_bytes(i, bytes);
  return ps_hash(bytes, sizeof bytes, 0);
}

/* Those from .. from + n - 1; to be freed. */
static inline uint64_t *hashes_of(uint64_t from, size_t n)
{
  uint64_t *hashes = test_allocate(n * sizeof *hashes);
  for (size_t i = 0; i < n; i++) {
    hashes[i] = hash_of(from + i);
  }
  return hashes;
}

/* Does the variant take a seed? */
static inline bool is_seeded(const struct variant *variant)
{
  return ps_kind_by_name(variant->kind)->seeded;
}

/* Is the variant built at once, of all its keys, and never changed? */
static inline bool is_built(const struct variant *variant)
{
  return ps_kind_by_name(variant->kind)->build != NULL;
}

/* Makes one that is, of n hashes, which are then anything. */
static inline enum ps_status build(struct specimen *specimen, const struct variant *variant,
                                   uint64_t *hashes, size_t n, struct ps_error *error)
{
  const struct ps_kind *kind = ps_kind_by_name(variant->kind);
  struct ps_options options = options_of(variant);
  struct ps_sketch *sketch = sketch_in(specimen);
  uint64_t *other = test_allocate(n * sizeof *other);
  set_option(&options, kind, "keys", (double)ps_sort_distinct(hashes, n, other));
  free(other);
  if (ps_plan(sketch, kind, &options, error) != PS_OK) {
    bail_out(error->message);
  }
  void *scratch = test_allocate((size_t)kind->scratch(sketch));
  enum ps_status status = kind->arrange(sketch, hashes, scratch, error);
  if (status == PS_OK) {
    ps_init(sketch, give_payload(specimen, 0), NULL, error);
    kind->build(sketch, scratch);
  }
  free(scratch);
  return status;
}

static inline void build_with(struct specimen *specimen, const struct variant *variant,
                              uint64_t seed, uint64_t from, size_t n)
{
  struct ps_error error;
  uint64_t *hashes = hashes_of(from, n);
  if (build(specimen, variant, hashes, n, &error) != PS_OK) {
    bail_out(error.message);
  }
  sketch_in(specimen)->seed = seed;
  free(hashes);
}

/* An empty one. */
static inline void make(struct specimen *specimen, const struct variant *variant, uint64_t seed)
{
  if (is_built(variant)) {
    build_with(specimen, variant, seed, 0, 0);
    return;
  }
  struct ps_error error;
  struct ps_sketch *sketch = sketch_in(specimen);
  plan_variant(sketch, variant);
  sketch->seed = seed;
  if (ps_init(sketch, give_payload(specimen, 0), &test_source, &error) != PS_OK) {
    bail_out(error.message);
  }
}

/* Value number i, for kinds of numbers: a number of either sign whose magnitude is anything from
 * 2^-30 to 2^30, or 0; to the same i always the same. */
static inline double value_of(uint64_t i)
{
  uint64_t h = hash_of(i);
  double magnitude = ldexp((double)(h >> 12), (int)(h % 61) - 82);
  return i % 50 == 7 ? 0 : h >> 11 & 1 ? -magnitude : magnitude;
}

/* Those from .. from + n - 1. */
static inline enum ps_status add_values(struct ps_sketch *sketch, uint64_t from, size_t n,
                                        size_t *changed, struct ps_error *error)
{
  double *values = test_allocate(n * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    values[i] = value_of(from + i);
  }
  enum ps_status status = sketch->kind->add_values(sketch, values, NULL, n, changed, error);
  free(values);
  return status;
}

/* Adds the keys from .. from + n - 1, or the values, in one batch. */
static inline enum ps_status add_batch(struct ps_sketch *sketch, uint64_t from, size_t n,
                                       size_t *changed, struct ps_error *error)
{
  const struct ps_kind *kind = sketch->kind;
  if (kind->add_hashes != NULL) {
    uint64_t *hashes = hashes_of(from, n);
    enum ps_status status = kind->add_hashes(sketch, hashes, n, changed, error);
    free(hashes);
    return status;
  }
  if (kind->add_values != NULL) {
    return add_values(sketch, from, n, changed, error);
  }
  unsigned char(*bytes)[8] = test_allocate(n * sizeof *bytes);
  struct ps_key *keys = test_allocate(n * sizeof *keys);
  for (size_t i = 0; i < n; i++) {
    key_bytes(from + i, bytes[i]);
    keys[i] = (struct ps_key){bytes[i], sizeof bytes[i], ps_hash(bytes[i], 8, sketch->seed)};
  }
  enum ps_status status = kind->add_keys(sketch, keys, n, changed, error);
  free(keys);
  free(bytes);
  return status;
}

/* Adds them as far as they go in; returns how many changed the sketch. An immutable one takes none.
 */
static inline size_t add_keys(struct ps_sketch *sketch, uint64_t from, size_t n)
{
  struct ps_error error;
  size_t changed = 0;
  if (sketch->kind->clear == NULL) {
    return 0;
  }
  enum ps_status status = add_batch(sketch, from, n, &changed, &error);
  if (status != PS_OK && status != PS_ERR_FULL) {
    bail_out(error.message);
  }
  return changed;
}

/* With the keys from 0 on. */
static inline void make_seeded(struct specimen *specimen, const struct variant *variant,
                               uint64_t seed, size_t keys)
{
  if (is_built(variant)) {
    build_with(specimen, variant, seed, 0, keys);
    return;
  }
  make(specimen, variant, seed);
  add_keys(sketch_in(specimen), 0, keys);
}

static inline void make_with(struct specimen *specimen, const struct variant *variant, size_t keys)
{
  make_seeded(specimen, variant, 0, keys);
}

static inline void copy_into(struct specimen *copy, const struct ps_sketch *source)
{
  struct ps_error error;
  ps_plan_copy(sketch_in(copy), source);
  if (ps_copy(sketch_in(copy), source, give_payload(copy, 0), &error) != PS_OK) {
    bail_out(error.message);
  }
}

/* ---- bytes ---- */

struct bytes {
  unsigned char *at;
  size_t size;
};

/* The encoded sketch, asked for in pieces of at most `piece` bytes; to be freed. */
static inline struct bytes encode_in_pieces(const struct ps_sketch *sketch,
                                            enum ps_placement placement, size_t piece)
{
  alignas(64) struct ps_encoder encoder;
  void *scratch = test_allocate((size_t)ps_encoder_scratch(sketch));
  ps_encoder_start(&encoder, sketch, placement, scratch);
  struct bytes bytes = {test_allocate((size_t)encoder.total), (size_t)encoder.total};
  size_t at = 0, n;
  do {
    n = ps_encoder_read(&encoder, bytes.at + at, piece < bytes.size - at ? piece : bytes.size - at);
    at += n;
  } while (n > 0);
  if (at != bytes.size) {
    bail_out("an encoder gave fewer bytes than it said");
  }
  free(scratch);
  return bytes;
}

static inline struct bytes encode(const struct ps_sketch *sketch)
{
  return encode_in_pieces(sketch, PS_TIGHT, SIZE_MAX);
}

static inline bool same_bytes(struct bytes a, struct bytes b)
{
  return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

/* Has a sketch still the bytes it had? */
static inline bool still(const struct ps_sketch *sketch, struct bytes before)
{
  struct bytes now = encode(sketch);
  bool same = same_bytes(now, before);
  free(now.at);
  return same;
}

#define TEST_LIMIT (UINT64_C(64) << 20)

/* From bytes to a sketch the way a caller has to go; discarded unless it returns PS_OK. The payload
 * comes to lie `skew` bytes behind an aligned address. */
static inline enum ps_status decode_skewed(struct specimen *specimen, const unsigned char *bytes,
                                           size_t size, size_t skew, struct ps_error *error)
{
  struct ps_header header;
  struct ps_sketch *sketch = sketch_in(specimen);
  specimen->block = NULL;
  *sketch = (struct ps_sketch){.payload = NULL};
  enum ps_status status = ps_header_read(&header, bytes, size, size, error);
  if (status != PS_OK) {
    return status;
  }
  const struct ps_kind *kind = ps_kind_by_id(header.kind_id);
  if (kind == NULL) {
    return ps_fail(error, PS_ERR_KIND, "unknown kind %u", header.kind_id);
  }
  status = ps_decode_plan(sketch, kind, &header, error);
  if (status != PS_OK) {
    return status;
  }
  sketch->max_bytes = TEST_LIMIT;
  status = ps_check_limit(sketch, error);
  if (status != PS_OK) {
    return status;
  }
  const unsigned char *payload = bytes + header.payload_offset;
  status = ps_decode(sketch, &header, payload, payload + header.payload_size,
                     give_payload(specimen, skew), &test_source, error);
  if (status != PS_OK) {
    if (sketch->payload != NULL) {
      bail_out("a sketch whose bytes were refused is not closed");
    }
    free(specimen->block);
    specimen->block = NULL;
  }
  return status;
}

static inline enum ps_status decode(struct specimen *specimen, struct bytes bytes,
                                    struct ps_error *error)
{
  return decode_skewed(specimen, bytes.at, bytes.size, 0, error);
}

/* One of the answers that bytes which are wrong may get. */
static inline bool is_refusal(enum ps_status status)
{
  return (status >= PS_ERR_MAGIC && status <= PS_ERR_RANGE) || status == PS_ERR_LIMIT;
}

/* Bins with nothing in them, between others, are not in the bytes: what they take is bounded by the
 * size that the limit is compared with. */
static inline size_t gaps_in(const struct ps_sketch *sketch)
{
  const struct ps_kind *kind = sketch->kind;
  return kind != NULL && kind->add_values != NULL ? (size_t)kind->size(sketch) : 0;
}

/* ---- the envelope from outside, by the table in docs/FORMAT.md ---- */

#define AT_VERSION 4
#define AT_KIND 5
#define AT_HASH 6
#define AT_FLAGS 7
#define AT_OFFSET 8
#define AT_FIELDS_SIZE 12
#define AT_PAYLOAD_SIZE 16
#define AT_SEED 24
#define AT_FIELDS 32

/* Corrects both checksums after an edit, as far as the edited sizes leave them a place. */
static inline void reseal(struct bytes bytes)
{
  if (bytes.size < AT_FIELDS) {
    return;
  }
  uint64_t start = ps_load32(bytes.at + AT_OFFSET);
  if (start >= AT_FIELDS + 8 && start <= bytes.size) {
    ps_store64(bytes.at + start - 8, ps_hash(bytes.at, (size_t)start - 8, 0));
  }
  if (start <= bytes.size - 8) {
    size_t payload = bytes.size - 8 - (size_t)start;
    ps_store64(bytes.at + bytes.size - 8, ps_hash(bytes.at + start, payload, 0));
  }
}

/* Where a field lies in the bytes, and its width; 0 when the kind has no such field. */
static inline size_t find_field(const struct ps_kind *kind, const char *name, unsigned *width)
{
  size_t at = AT_FIELDS;
  *width = 0;
  for (const struct ps_field *field = kind->fields; field->name != NULL; field++, at += *width) {
    *width = field->type == PS_FIELD_BOOLEAN || field->type == PS_FIELD_U8 ? 1
             : field->type == PS_FIELD_U32                                 ? 4
                                                                           : 8;
    if (strcmp(field->name, name) == 0) {
      return at;
    }
  }
  return 0;
}

#endif
