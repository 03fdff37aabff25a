/* Bytes that are wrong, of every kind: refused with a code, without a step outside of them and
 * without more memory than they justify. */
#include <math.h>
#include <string.h>

#include "sketches.h"

/* Every place is tried where `all` says so and near both ends, elsewhere some of them, at a
 * distance that is odd so that none of the eight bytes of a word is left out. */
static size_t next_place(size_t at, size_t size, bool all)
{
  const size_t near = size > 1 << 16 ? 20 : 100, some = size > 1 << 16 ? 40 : 400;
  return at + (all || at < near || at + near > size ? 1 : size / some | 1);
}

/* Bytes that are few enough to try everything. */
static bool tries_all(struct bytes bytes, size_t keys)
{
  return bytes.size < 600 || (keys == 13 && bytes.size < 6000);
}

static struct bytes bytes_of(const struct variant *v, size_t keys, enum ps_placement placement)
{
  struct specimen specimen;
  make_with(&specimen, v, keys);
  struct bytes bytes = encode_in_pieces(sketch_in(&specimen), placement, SIZE_MAX);
  discard(&specimen);
  return bytes;
}

static struct bytes duplicate(struct bytes bytes, size_t size)
{
  struct bytes copy = {test_allocate(size), size};
  memset(copy.at, 0, size);
  memcpy(copy.at, bytes.at, size < bytes.size ? size : bytes.size);
  return copy;
}

/* Decodes, and holds the outcome against what may come of any bytes: a sketch that they are the
 * canonical form of, or a refusal that says something and leaves nothing behind. */
static enum ps_status decode_watched(struct bytes bytes)
{
  struct specimen decoded;
  struct ps_error error = {PS_OK, ""};
  size_t live = test_memory.live;
  test_memory.peak = live;
  test_memory.given = 0;
  enum ps_status status = decode(&decoded, bytes, &error);
  size_t used = test_memory.peak - live + test_memory.given;
  size_t gaps = gaps_in(sketch_in(&decoded));
  CHECK_WITH(used <= 4 * bytes.size + gaps, "%zu bytes for %zu", used, bytes.size);
  if (status == PS_OK) {
    CHECK(ps_load32(bytes.at + AT_OFFSET) == PS_PAGE_SIZE || still(sketch_in(&decoded), bytes));
    discard(&decoded);
  } else {
    CHECK_WITH(is_refusal(status), "%s", ps_status_code(status));
    CHECK(error.status == status && error.message[0] != '\0');
  }
  CHECK_WITH(test_memory.live == live, "after %s", error.message);
  return status;
}

/* ---- damage ---- */

static void check_truncations(const struct variant *v, size_t keys)
{
  for (int i = 0; i < 2; i++) {
    struct bytes whole = bytes_of(v, keys, i == 0 ? PS_TIGHT : PS_PAGED);
    for (size_t size = 0; size < whole.size;
         size = next_place(size, whole.size, tries_all(whole, keys))) {
      struct bytes cut = duplicate(whole, size);
      CHECK_WITH(decode_watched(cut) == PS_ERR_TRUNCATED, "at %zu", size);
      free(cut.at);
    }
    struct bytes longer = duplicate(whole, whole.size + 1);
    CHECK(decode_watched(longer) == PS_ERR_CORRUPT);
    free(longer.at);
    free(whole.at);
  }
}

static void check_flips_in(struct bytes bytes, size_t keys)
{
  for (size_t at = 0; at < bytes.size; at = next_place(at, bytes.size, tries_all(bytes, keys))) {
    for (unsigned bit = 0; bit < 8; bit++) {
      bytes.at[at] ^= (unsigned char)(1u << bit);
      CHECK_WITH(decode_watched(bytes) != PS_OK, "bit %u of byte %zu", bit, at);
      bytes.at[at] ^= (unsigned char)(1u << bit);
    }
  }
  CHECK(decode_watched(bytes) == PS_OK);
}

static void check_flips(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_TIGHT);
  check_flips_in(bytes, keys);
  free(bytes.at);
}

static void check_paged_flips(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_PAGED);
  check_flips_in(bytes, keys);
  free(bytes.at);
}

/* ---- headers that were made to deceive ---- */

static enum ps_status decode_with(struct bytes bytes, size_t at, unsigned width, uint64_t x)
{
  struct bytes edited = duplicate(bytes, bytes.size);
  struct ps_writer writer = ps_writer_over(edited.at + at, width);
  ps_write(&writer, x, width);
  reseal(edited);
  enum ps_status status = decode_watched(edited);
  free(edited.at);
  return status;
}

static const double doubles[] = {NAN, -1,  -0.0,  0,        5e-324,   1e-300,
                                 1,   1.5, 1e300, INFINITY, -INFINITY};

#define DOUBLES (sizeof doubles / sizeof *doubles)

static uint64_t double_bits(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Any value in any field: a sketch in its canonical form, or a refusal. */
static void check_any_field(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_TIGHT);
  const struct ps_kind *kind = ps_kind_by_name(v->kind);
  for (const struct ps_field *field = kind->fields; field->name != NULL; field++) {
    unsigned width;
    size_t at = find_field(kind, field->name, &width);
    for (unsigned bit = 0; bit < 8 * width; bit++) {
      decode_with(bytes, at, width, UINT64_C(1) << bit);
      decode_with(bytes, at, width, (UINT64_C(1) << bit) - 1);
      decode_with(bytes, at, width, UINT64_MAX << bit);
      decode_with(bytes, at, width, ps_load64(bytes.at + at) + (UINT64_C(1) << bit));
    }
    for (size_t i = 0; i < DOUBLES && width == 8; i++) {
      decode_with(bytes, at, width, double_bits(doubles[i]));
    }
  }
  free(bytes.at);
}

/* Values that the first variant of a kind must not get away with. */
static const struct {
  const char *kind, *field;
  uint64_t values[12]; /* up to a 0 that is not the first */
} refused_integers[] = {
    {"bloom", "bits", {0, 1, 9600 + 64, UINT64_C(1) << 53, (UINT64_C(1) << 62) + 1, UINT64_MAX}},
    {"bloom", "hashes", {0, 65, UINT64_C(1) << 31, UINT32_MAX}},
    {"bloom", "capacity", {0, PS_COUNT_MAX + 1, UINT64_MAX}},
    {"blocked_bloom", "lines", {0, 1, 19, 21, UINT64_C(1) << 53, PS_COUNT_MAX + 1, UINT64_MAX}},
    {"blocked_bloom", "capacity", {0, 1100, PS_COUNT_MAX, PS_COUNT_MAX + 1, UINT64_MAX}},
    {"scalable_bloom", "capacity", {0, 1, 200, PS_COUNT_MAX, PS_COUNT_MAX + 1, UINT64_MAX}},
    {"counting_bloom",
     "bits",
     {0, 1, 9600 + 16, PS_COUNT_MAX, (UINT64_C(1) << 62) + 1, UINT64_MAX}},
    {"counting_bloom", "hashes", {0, 65, UINT64_C(1) << 31, UINT32_MAX}},
    {"counting_bloom", "capacity", {0, PS_COUNT_MAX + 1, UINT64_MAX}},
    {"counting_bloom", "counter_bits", {0, 1, 2, 3, 5, 7, 8, 12, 15, 16, 32, 255}},
    {"cuckoo",
     "buckets",
     {0, 1, 2, 5285, 5287, 5288, UINT64_C(1) << 53, (UINT64_C(1) << 56) + 2, UINT64_C(1) << 63,
      UINT64_MAX}},
    {"cuckoo", "bucket_size", {0, 1, 2, 3, 5, 8, 16, 128, 255}},
    {"cuckoo", "fingerprint_bits", {0, 1, 9, 11, 57, 64, 255}},
    {"cuckoo", "growth", {1, 2, 3, 128, 255}},
    {"cuckoo", "capacity", {0, 20100, PS_COUNT_MAX, PS_COUNT_MAX + 1, UINT64_MAX}},
    {"count_min",
     "width",
     {0, 1, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 53, UINT64_C(1) << 62, UINT64_C(1) << 31,
      (UINT64_C(1) << 63) - 1, UINT64_C(6148914691236517206), UINT64_MAX}},
    {"count_min", "depth", {0, 1, 65, UINT64_C(1) << 31, UINT32_MAX}},
    {"count_min", "counter_bits", {0, 1, 7, 8, 31, 33, 39, 40, 64, 65, 255}},
    {"count_min", "conservative", {2, 3, 128, 255}},
    {"top_k", "k", {0, 1000001, UINT64_C(1) << 31, UINT32_MAX}},
    {"top_k",
     "width",
     {0, 1, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 53, UINT64_C(1) << 62, UINT64_C(1) << 31,
      (UINT64_C(1) << 63) - 1, UINT64_C(6148914691236517206), UINT64_MAX}},
    {"top_k", "depth", {0, 1, 65, UINT64_C(1) << 31, UINT32_MAX}},
    {"hyperloglog", "precision", {0, 1, 3, 5, 19, 32, 63, 64, 65, 255}},
    {"hyperloglog", "hip", {2, 3, 128, 255}},
    {"tdigest", "compression", {0, 1, 19, 10001, UINT64_C(1) << 31, UINT32_MAX}},
    {"minhash", "hashes", {0, 1, 127, 129, 65537, UINT64_C(1) << 31, UINT32_MAX}},
};

static const struct {
  const char *kind, *field;
  double values[9]; /* up to a 2 */
} refused_doubles[] = {
    {"bloom", "fp_rate", {NAN, -1, -0.01, 0, -0.0, 1.001, INFINITY, -INFINITY, 2}},
    {"blocked_bloom", "fp_rate", {NAN, -1, 0, 9e-6, 0.009, 0.51, INFINITY, -INFINITY, 2}},
    {"scalable_bloom", "fp_rate", {NAN, -1, 0, 9e-16, 1, 1e300, INFINITY, -INFINITY, 2}},
    {"scalable_bloom", "growth", {NAN, -1, 0, 0.99, 16.01, 1e300, INFINITY, -INFINITY, 2}},
    {"scalable_bloom", "tightening", {NAN, -1, 0, 0.099, 0.901, 1, INFINITY, -INFINITY, 2}},
    {"counting_bloom", "fp_rate", {NAN, -1, -0.01, 0, -0.0, 1.001, INFINITY, -INFINITY, 2}},
    {"cuckoo", "fp_rate", {NAN, -1, 0, 9e-11, 0.007, 0.51, INFINITY, -INFINITY, 2}},
    {"count_min", "epsilon", {NAN, -1, 0, 1e-300, 0.0199, 1e300, INFINITY, -INFINITY, 2}},
    {"count_min", "delta", {NAN, -1, 0, 1e-300, 0.0066, 1.001, INFINITY, -INFINITY, 2}},
    {"top_k", "epsilon", {NAN, -1, 0, 1e-300, 0.0199, 1e300, INFINITY, -INFINITY, 2}},
    {"top_k", "delta", {NAN, -1, 0, 1e-300, 0.0066, 1.001, INFINITY, -INFINITY, 2}},
};

#define ROWS(table) (sizeof(table) / sizeof *(table))

static const struct variant *first_of(const char *kind)
{
  const struct variant *variant = variants;
  while (strcmp(variant->kind, kind) != 0) {
    variant++;
  }
  return variant;
}

static void check_refused(const char *kind, const char *field, uint64_t value)
{
  static const size_t keys[] = {0, 13, 700};
  for (size_t i = 0; i < ROWS(keys); i++) {
    unsigned width;
    size_t at = find_field(ps_kind_by_name(kind), field, &width);
    struct bytes bytes = bytes_of(first_of(kind), keys[i], PS_TIGHT);
    test_about("%s of %s, %zu keys", field, kind, keys[i]);
    /* An empty list fits every precision there is. */
    bool fits = strcmp(field, "precision") == 0 && value == 5 && keys[i] == 0;
    CHECK_WITH(fits || decode_with(bytes, at, width, value) != PS_OK, "%ju", (uintmax_t)value);
    free(bytes.at);
  }
}

static void hostile_fields(void)
{
  for (size_t i = 0; i < ROWS(refused_integers); i++) {
    const uint64_t *value = refused_integers[i].values;
    do {
      check_refused(refused_integers[i].kind, refused_integers[i].field, *value++);
    } while (*value != 0);
  }
  for (size_t i = 0; i < ROWS(refused_doubles); i++) {
    for (const double *value = refused_doubles[i].values; *value != 2; value++) {
      check_refused(refused_doubles[i].kind, refused_doubles[i].field, double_bits(*value));
    }
  }
  promise("parameters that no constructor takes are refused in spite of right checksums");
}

/* Width times depth times bytes, modulo 2^64, comes to what is there. */
static void wrapped_products(void)
{
  static const uint64_t pairs[][2] = {
      {UINT64_C(1) << 61, 8},
      {UINT64_C(1) << 62, 8},
      {UINT64_C(1) << 31, 1u << 31},
      {(UINT64_C(1) << 63) - 1, 1},
      {UINT64_C(6148914691236517206), 3},
      {UINT64_C(1) << 60, 16},
      {UINT64_C(1) << 58, 64},
      {(UINT64_C(1) << 32) + 1, 1u << 31},
  };
  struct variant variant = {"count_min", {{"width", 1}, {"depth", 1}, {"counter_bits", 64}}};
  struct bytes bytes = bytes_of(&variant, 0, PS_TIGHT);
  for (size_t i = 0; i < ROWS(pairs); i++) {
    struct bytes edited = duplicate(bytes, bytes.size);
    ps_store64(edited.at + AT_FIELDS, pairs[i][0]);
    ps_store32(edited.at + AT_FIELDS + 8, (uint32_t)pairs[i][1]);
    reseal(edited);
    CHECK_WITH(decode_watched(edited) == PS_ERR_RANGE, "%ju x %ju", (uintmax_t)pairs[i][0],
               (uintmax_t)pairs[i][1]);
    free(edited.at);
  }
  promise("a product of width and depth that overflows is refused");
  free(bytes.at);
}

/* A few bytes that claim to be many, also where the sizes are made to agree with each other. */
static void check_claims(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_TIGHT);
  const struct ps_kind *kind = ps_kind_by_name(v->kind);
  for (unsigned bit = 20; bit < 64; bit++) {
    struct bytes edited = duplicate(bytes, bytes.size);
    uint64_t claim = UINT64_C(1) << bit;
    ps_store64(edited.at + AT_PAYLOAD_SIZE, claim);
    reseal(edited);
    CHECK(decode_watched(edited) == PS_ERR_TRUNCATED);
    for (const struct ps_field *field = kind->fields; field->name != NULL; field++) {
      unsigned width;
      struct ps_writer writer =
          ps_writer_over(edited.at + find_field(kind, field->name, &width), 8);
      ps_write(&writer, field->type == PS_FIELD_DOUBLE ? double_bits(0.5) : claim, width);
    }
    reseal(edited);
    CHECK(decode_watched(edited) != PS_OK);
    ps_store64(edited.at + AT_PAYLOAD_SIZE, ps_load64(bytes.at + AT_PAYLOAD_SIZE));
    reseal(edited);
    CHECK(decode_watched(edited) != PS_OK);
    free(edited.at);
  }
  free(bytes.at);
}

/* The parts of a header that are no fields. */
static void check_head(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_TIGHT);
  const struct ps_kind *kind = ps_kind_by_name(v->kind);
  for (unsigned x = 0; x < 256; x++) {
    bool known = ps_kind_by_id(x) != NULL;
    enum ps_status status = decode_with(bytes, AT_KIND, 1, x);
    CHECK_WITH(known || status == PS_ERR_KIND, "kind %u", x);
    CHECK_WITH(!known || (status == PS_OK) == (x == kind->id), "kind %u", x);
    status = decode_with(bytes, AT_HASH, 1, x);
    CHECK_WITH(status == (x == kind->hash_id ? PS_OK : PS_ERR_VERSION), "hash %u", x);
    status = decode_with(bytes, AT_FLAGS, 1, x);
    bool form = ((x ^ bytes.at[AT_FLAGS]) & PS_HEADER_FLAT) == 0;
    CHECK_WITH(x > 3 || !form || status == PS_OK, "flags %u", x);
    CHECK_WITH(x <= 3 || status == PS_ERR_CORRUPT, "flags %u", x);
    CHECK_WITH(form || kind->flat != NULL || status == PS_ERR_CORRUPT, "flags %u", x);
  }
  free(bytes.at);
}

/* A seed that no caller can give, since it is not told exactly by every Lua. */
static void check_seed(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_TIGHT);
  CHECK(decode_with(bytes, AT_SEED, 8, PS_COUNT_MAX) == (is_seeded(v) ? PS_OK : PS_ERR_RANGE));
  CHECK(decode_with(bytes, AT_SEED, 8, PS_COUNT_MAX + 1) == PS_ERR_RANGE);
  CHECK(decode_with(bytes, AT_SEED, 8, UINT64_MAX) == PS_ERR_RANGE);
  free(bytes.at);
}

/* The fields end earlier or later than the kind's, all sizes agreeing. */
static void check_fields_size(const struct variant *v, size_t keys)
{
  struct bytes bytes = bytes_of(v, keys, PS_TIGHT);
  size_t start = ps_load32(bytes.at + AT_OFFSET), n = start - 40;
  for (size_t fields = 0; fields <= PS_FIELDS_SIZE; fields++) {
    struct bytes edited = {test_allocate(bytes.size - n + fields), bytes.size - n + fields};
    memset(edited.at, 0, edited.size);
    memcpy(edited.at, bytes.at, AT_FIELDS + (n < fields ? n : fields));
    memcpy(edited.at + 40 + fields, bytes.at + start, bytes.size - start);
    ps_store32(edited.at + AT_OFFSET, (uint32_t)(40 + fields));
    ps_store32(edited.at + AT_FIELDS_SIZE, (uint32_t)fields);
    reseal(edited);
    enum ps_status status = decode_watched(edited);
    CHECK_WITH((status == PS_OK) == (fields == n), "%zu bytes of fields", fields);
    free(edited.at);
  }
  free(bytes.at);
}

int main(void)
{
  each_level(check_truncations);
  promise("every truncation is refused as truncated, and a byte too many as corrupt");
  for (size_t i = 0; i < sizeof test_levels / sizeof *test_levels; i++) {
    each_small(check_flips, test_levels[i]);
  }
  promise("every single-bit flip is refused");
  each_small(check_paged_flips, 13);
  promise("every single-bit flip is refused, also on pages");
  each_small(check_any_field, 0);
  each_small(check_any_field, 30);
  promise("whatever is written into a field, what comes of it is canonical or refused");
  hostile_fields();
  wrapped_products();
  each_small(check_claims, 0);
  promise("a few bytes that claim to be many are refused, and cost no memory");
  each_small(check_head, 13);
  promise("other kinds, hashes and flags are refused in spite of right checksums");
  each_small(check_seed, 13);
  promise("a seed above 2^53 is refused unless it is secret");
  each_small(check_fields_size, 13);
  promise("more or fewer fields than the kind has are refused");
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
