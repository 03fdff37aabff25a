#include "membership/cuckoo.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "membership/cuckoo_growth.h"
#include "membership/cuckoo_plan.h"

/* Below this many bytes a filter stays in the cache and prefetching only costs. */
#define PREFETCH_FROM (1u << 20)

/* Keys whose buckets are on the way at once, in a batch that adds. */
#define AHEAD 16

#define BUCKETS_MAX (UINT64_C(1) << 56)

enum { OPTION_CAPACITY, OPTION_FP_RATE, OPTION_BUCKET_SIZE, OPTION_GROWTH };

static const struct ps_option options[] = {
    {"capacity", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false},
    {"fp_rate", PS_OPTION_NUMBER, 1e-10, 0.5, "a number from 1e-10 to 0.5", false},
    {"bucket_size", PS_OPTION_INTEGER, 2, 8, "2, 4 or 8", false},
    {"growth", PS_OPTION_INTEGER, 0, 2, "0 (fixed) or 2 (doubles)", false},
    {0},
};

static const struct ps_field fields[] = {
    {"buckets", PS_FIELD_U64, offsetof(struct ps_cuckoo, buckets), true},
    {"bucket_size", PS_FIELD_U8, offsetof(struct ps_cuckoo, bucket_size), true},
    {"fingerprint_bits", PS_FIELD_U8, offsetof(struct ps_cuckoo, fingerprint_bits), true},
    {"growth", PS_FIELD_U8, offsetof(struct ps_cuckoo, growth), true},
    {"capacity", PS_FIELD_U64, offsetof(struct ps_cuckoo, capacity), false},
    {"fp_rate", PS_FIELD_DOUBLE, offsetof(struct ps_cuckoo, fp_rate), false},
    {0},
};

/* ---- parameters ---- */

static enum ps_status not_one_of(int option, double value, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_ARGUMENT, "option '%s' out of range (expected %s, got %.14g)",
                 options[option].name, options[option].range, value);
}

/* The bits that the rate takes, with these buckets. */
static unsigned bits_for(const struct ps_cuckoo *cuckoo, double rate)
{
  double buckets = (double)cuckoo->buckets;
  return cuckoo->growth == 0
             ? ps_cuckoo_bits((double)cuckoo->capacity, buckets, cuckoo->bucket_size, rate)
             : ps_cuckoo_bits_growing(buckets, cuckoo->bucket_size, rate, PS_CUCKOO_DOUBLINGS_MAX);
}

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_cuckoo *cuckoo = (struct ps_cuckoo *)sketch;
  const double *value = asked->value;
  const bool *given = asked->given;
  double bucket_size = given[OPTION_BUCKET_SIZE] ? value[OPTION_BUCKET_SIZE] : 4;
  double growth = given[OPTION_GROWTH] ? value[OPTION_GROWTH] : 0;
  if (bucket_size != 2 && bucket_size != 4 && bucket_size != 8) {
    return not_one_of(OPTION_BUCKET_SIZE, bucket_size, error);
  }
  if (growth == 1) {
    return not_one_of(OPTION_GROWTH, growth, error);
  }
  if (!given[OPTION_CAPACITY]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "option 'capacity' is missing (expected %s)",
                   options[OPTION_CAPACITY].range);
  }
  cuckoo->capacity = (uint64_t)value[OPTION_CAPACITY];
  cuckoo->fp_rate = given[OPTION_FP_RATE] ? value[OPTION_FP_RATE] : 0.01;
  cuckoo->bucket_size = (uint8_t)bucket_size;
  cuckoo->growth = (uint8_t)growth;
  cuckoo->buckets = ps_cuckoo_buckets(cuckoo->capacity, cuckoo->bucket_size);
  cuckoo->fingerprint_bits = (uint8_t)bits_for(cuckoo, cuckoo->fp_rate);
  ps_cuckoo_set_doublings(cuckoo, 0);
  return PS_OK;
}

static enum ps_status check_options(const struct ps_cuckoo *cuckoo, struct ps_error *error)
{
  if (cuckoo->bucket_size != 2 && cuckoo->bucket_size != 4 && cuckoo->bucket_size != 8) {
    return ps_fail(error, PS_ERR_RANGE, "bucket_size out of range (expected 2, 4 or 8, got %u)",
                   cuckoo->bucket_size);
  }
  if (cuckoo->growth != 0 && cuckoo->growth != 2) {
    return ps_fail(error, PS_ERR_RANGE, "growth out of range (expected 0 or 2, got %u)",
                   cuckoo->growth);
  }
  if (cuckoo->capacity < 1 || cuckoo->capacity > PS_COUNT_MAX) {
    return ps_fail(error, PS_ERR_RANGE,
                   "capacity out of range (expected 1 to 2^53, got %" PRIu64 ")", cuckoo->capacity);
  }
  if (!(cuckoo->fp_rate >= options[OPTION_FP_RATE].min &&
        cuckoo->fp_rate <= options[OPTION_FP_RATE].max)) {
    return ps_fail(error, PS_ERR_RANGE, "fp_rate out of range (expected 1e-10 to 0.5, got %.14g)",
                   cuckoo->fp_rate);
  }
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  struct ps_cuckoo *cuckoo = (struct ps_cuckoo *)sketch;
  enum ps_status status = check_options(cuckoo, error);
  if (status != PS_OK) {
    return status;
  }
  if (cuckoo->buckets < 2 || cuckoo->buckets > BUCKETS_MAX || cuckoo->buckets % 2 != 0) {
    return ps_fail(error, PS_ERR_RANGE,
                   "buckets out of range (expected an even number from 2 to 2^56, got %" PRIu64 ")",
                   cuckoo->buckets);
  }
  if (cuckoo->capacity >
      ps_cuckoo_room(cuckoo->buckets * cuckoo->bucket_size, cuckoo->bucket_size)) {
    return ps_fail(error, PS_ERR_RANGE, "capacity does not fit the buckets");
  }
  /* A compiler may round the product of two numbers in another way than the one that planned. */
  unsigned bits = bits_for(cuckoo, cuckoo->fp_rate * (1 + 1e-9));
  if (cuckoo->fingerprint_bits < bits || cuckoo->fingerprint_bits > PS_CUCKOO_BITS_MAX) {
    return ps_fail(error, PS_ERR_RANGE,
                   "fingerprint_bits out of range (expected %u to %d for the rate, got %u)", bits,
                   PS_CUCKOO_BITS_MAX, cuckoo->fingerprint_bits);
  }
  ps_cuckoo_set_doublings(cuckoo, 0);
  return PS_OK;
}

static bool owns(const struct ps_sketch *sketch)
{
  return ((const struct ps_cuckoo *)sketch)->growth != 0;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  const struct ps_cuckoo *cuckoo = (const struct ps_cuckoo *)sketch;
  struct ps_cuckoo_shape shape =
      ps_cuckoo_shape(cuckoo->buckets / 2, cuckoo->bucket_size, cuckoo->fingerprint_bits, 0, 0);
  return ps_cuckoo_table_size(&shape);
}

/* ---- state ---- */

static enum ps_status init(struct ps_sketch *sketch, struct ps_error *error)
{
  return owns(sketch) ? ps_cuckoo_take((struct ps_cuckoo *)sketch, error) : PS_OK;
}

static void release(struct ps_sketch *sketch)
{
  ps_cuckoo_give_back((struct ps_cuckoo *)sketch);
}

static enum ps_status clone(struct ps_sketch *copy, const struct ps_sketch *source,
                            struct ps_error *error)
{
  return ps_cuckoo_clone((struct ps_cuckoo *)copy, (const struct ps_cuckoo *)source, error);
}

static enum ps_status check(const struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_cuckoo *cuckoo = (const struct ps_cuckoo *)sketch;
  if (!ps_cuckoo_table_valid(&cuckoo->shape, sketch->payload)) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt payload (bits set where no fingerprint has any)");
  }
  return PS_OK;
}

/* Buckets are counted when all their bits are there. */
static void attach_part(struct ps_sketch *sketch, uint64_t from, uint64_t to)
{
  struct ps_cuckoo *cuckoo = (struct ps_cuckoo *)sketch;
  const struct ps_cuckoo_shape *shape = &cuckoo->shape;
  uint64_t first = ps_cuckoo_buckets_within(shape, from), end = ps_cuckoo_buckets_within(shape, to);
  uint64_t before = from == 0 ? 0 : cuckoo->count;
  cuckoo->count = before + ps_cuckoo_table_count(shape, sketch->payload, first, end);
}

static void attach(struct ps_sketch *sketch)
{
  attach_part(sketch, 0, ps_cuckoo_table_size(&((struct ps_cuckoo *)sketch)->shape));
}

static void clear(struct ps_sketch *sketch)
{
  struct ps_cuckoo *cuckoo = (struct ps_cuckoo *)sketch;
  ps_cuckoo_set_doublings(cuckoo, 0);
  if (owns(sketch)) {
    ps_cuckoo_trim(cuckoo);
  }
  memset(sketch->payload, 0, (size_t)ps_cuckoo_table_size(&cuckoo->shape));
  cuckoo->count = 0;
}

static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  const struct ps_cuckoo *x = (const struct ps_cuckoo *)a, *y = (const struct ps_cuckoo *)b;
  return x->shape.doublings == y->shape.doublings &&
         memcmp(a->payload, b->payload, (size_t)ps_cuckoo_table_size(&x->shape)) == 0;
}

/* ---- bytes of those that grow ---- */

static bool flat(const struct ps_sketch *sketch)
{
  return !owns(sketch);
}

static uint64_t encoded_size(const struct ps_sketch *sketch)
{
  return ps_cuckoo_table_size(&((const struct ps_cuckoo *)sketch)->shape);
}

static uint64_t encoded_max(const struct ps_sketch *sketch)
{
  const struct ps_cuckoo *cuckoo = (const struct ps_cuckoo *)sketch;
  const unsigned doublings = PS_CUCKOO_DOUBLINGS_MAX;
  uint64_t half = cuckoo->buckets / 2;
  struct ps_cuckoo_shape shape =
      ps_cuckoo_shape(half, cuckoo->bucket_size, cuckoo->fingerprint_bits, doublings, doublings);
  return half > UINT64_MAX >> doublings ? UINT64_MAX : ps_cuckoo_table_size(&shape);
}

static void encode(const struct ps_sketch *sketch, unsigned char *bytes)
{
  memcpy(bytes, sketch->payload, (size_t)encoded_size(sketch));
}

/* The size tells how often it has doubled. */
static enum ps_status decode(struct ps_sketch *sketch, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  struct ps_cuckoo *cuckoo = (struct ps_cuckoo *)sketch;
  while (encoded_size(sketch) < n && cuckoo->shape.spare > 0) {
    ps_cuckoo_set_doublings(cuckoo, cuckoo->shape.doublings + 1);
  }
  if (is_flat || encoded_size(sketch) != n) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt payload (%" PRIu64 " bytes are no size of a growing cuckoo)", n);
  }
  enum ps_status status = ps_cuckoo_take(cuckoo, error);
  if (status == PS_OK) {
    memcpy(sketch->payload, bytes, (size_t)n);
  }
  return status;
}

/* ---- keys ---- */

enum ps_status ps_cuckoo_add(struct ps_cuckoo *cuckoo, uint64_t hash, struct ps_error *error)
{
  return ps_cuckoo_insert(cuckoo, ps_cuckoo_entry(&cuckoo->shape, hash), PS_CUCKOO_SPARSEST_ADD,
                          error);
}

bool ps_cuckoo_remove(struct ps_cuckoo *cuckoo, uint64_t hash)
{
  struct ps_cuckoo_entry entry = ps_cuckoo_entry(&cuckoo->shape, hash);
  bool removed = ps_cuckoo_table_remove(&cuckoo->shape, cuckoo->sketch.payload, entry);
  cuckoo->count -= removed;
  return removed;
}

unsigned ps_cuckoo_frequency(const struct ps_cuckoo *cuckoo, uint64_t hash)
{
  return ps_cuckoo_table_frequency(&cuckoo->shape, cuckoo->sketch.payload,
                                   ps_cuckoo_entry(&cuckoo->shape, hash));
}

static enum ps_status add_all(struct ps_cuckoo *cuckoo, const uint64_t *hashes, size_t n,
                              size_t *changed, struct ps_error *error)
{
  enum ps_status status = PS_OK;
  size_t i = 0;
  for (; i < n && status == PS_OK; i++) {
    if (n - i > AHEAD && cuckoo->sketch.held >= PREFETCH_FROM) {
      ps_cuckoo_table_prefetch(&cuckoo->shape, cuckoo->sketch.payload, hashes[i + AHEAD]);
    }
    status = ps_cuckoo_add(cuckoo, hashes[i], error);
  }
  *changed = status == PS_OK ? n : i - 1;
  return status;
}

/* Memory is only wanting for a doubling, which comes after hashes that went in: so it is taken
 * before. A batch that does not come to one, but to a crowd that only a doubling dissolves, may be
 * one in a million: want of memory is then want of room. */
static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  struct ps_cuckoo *cuckoo = (struct ps_cuckoo *)sketch;
  const bool doubles = n > ps_cuckoo_left(cuckoo);
  *changed = 0;
  enum ps_status status = doubles ? ps_cuckoo_reserve(cuckoo, n, error) : PS_OK;
  if (status != PS_OK) {
    return status;
  }
  status = add_all(cuckoo, hashes, n, changed, error);
  if (doubles) {
    ps_cuckoo_trim(cuckoo);
  }
  return status == PS_ERR_MEMORY && *changed > 0 ? ps_cuckoo_full(cuckoo, error) : status;
}

static void has_hashes(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                       bool *found)
{
  const struct ps_cuckoo *cuckoo = (const struct ps_cuckoo *)sketch;
  if (sketch->held >= PREFETCH_FROM) {
    ps_cuckoo_table_has_all(&cuckoo->shape, sketch->payload, hashes, n, found);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    found[i] = ps_cuckoo_has(cuckoo, hashes[i]);
  }
}

/* ---- the whole ---- */

static uint64_t count(const struct ps_sketch *sketch)
{
  return ((const struct ps_cuckoo *)sketch)->count;
}

double ps_cuckoo_rate(const struct ps_cuckoo *cuckoo)
{
  double compared = (double)cuckoo->count / (double)cuckoo->shape.half;
  return -expm1(compared * log1p(-ps_cuckoo_equal(cuckoo->shape.bits, cuckoo->shape.spare)));
}

/* Adds the entries of `source`, each as it is known in the shape that the filter has by then. */
static enum ps_status insert_all(struct ps_cuckoo *cuckoo, const struct ps_cuckoo *source,
                                 struct ps_error *error)
{
  const unsigned char *table = source->sketch.payload;
  struct ps_cuckoo_entry entry;
  const uint32_t present = cuckoo->shape.doublings, needed = source->shape.doublings;
  enum ps_status status = PS_OK;
  if (present < needed) {
    status = ps_cuckoo_grow(cuckoo, needed - present, error);
  }
  uint64_t slot = 0;
  while (status == PS_OK && ps_cuckoo_table_next(&source->shape, table, &slot, &entry)) {
    entry = ps_cuckoo_entry_in_larger(&source->shape, entry, cuckoo->shape.doublings - needed);
    status = ps_cuckoo_insert(cuckoo, entry, PS_CUCKOO_SPARSEST_MERGE, error);
  }
  return status;
}

/* Makes `merged`, a copy of `target`, one of both. An empty filter becomes the other to the byte.
 */
static enum ps_status merge_copy(struct ps_cuckoo *merged, const struct ps_cuckoo *target,
                                 const struct ps_cuckoo *source, struct ps_error *error)
{
  if (target->count == 0 && ps_cuckoo_may_be(target, &source->shape)) {
    ps_cuckoo_set_doublings(merged, source->shape.doublings);
    merged->count = source->count;
    return ps_cuckoo_clone(merged, source, error);
  }
  enum ps_status status = ps_cuckoo_clone(merged, target, error);
  if (status != PS_OK) {
    return status;
  }
  status = insert_all(merged, source, error);
  if (status != PS_OK) {
    ps_cuckoo_give_back(merged);
  }
  return status;
}

/* On a copy, so that there is something to go back to, and that a filter can be merged with itself.
 */
static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
  struct ps_cuckoo *target = (struct ps_cuckoo *)into, merged = *target;
  enum ps_status status = merge_copy(&merged, target, (const struct ps_cuckoo *)from, error);
  if (status != PS_OK) {
    return status;
  }
  if (owns(into)) {
    ps_cuckoo_give_back(target);
    *target = merged;
  } else {
    memcpy(into->payload, merged.sketch.payload, (size_t)into->held);
    target->count = merged.count;
    ps_cuckoo_give_back(&merged);
  }
  return PS_OK;
}

/* ---- reports ---- */

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_cuckoo *cuckoo = (const struct ps_cuckoo *)sketch;
  uint64_t slots = cuckoo->buckets * cuckoo->bucket_size;
  report->number(report, "bits_per_key",
                 (double)slots * cuckoo->fingerprint_bits / (double)cuckoo->capacity);
  report->integer(report, "doublings_max", cuckoo->growth == 0 ? 0 : PS_CUCKOO_DOUBLINGS_MAX);
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_cuckoo *cuckoo = (const struct ps_cuckoo *)sketch;
  uint64_t buckets = 2 * cuckoo->shape.half, slots = buckets * cuckoo->bucket_size;
  report->integer(report, "buckets", buckets);
  report->integer(report, "fingerprint_bits", cuckoo->shape.bits);
  report->integer(report, "doublings", cuckoo->shape.doublings);
  report->integer(report, "count", cuckoo->count);
  report->number(report, "target_fp_rate", cuckoo->fp_rate);
  report->number(report, "fp_rate", ps_cuckoo_rate(cuckoo));
  report->number(report, "fill", (double)cuckoo->count / (double)slots);
  report->boolean(report, "over_capacity",
                  cuckoo->growth == 0 ? cuckoo->count > cuckoo->capacity
                                      : ps_cuckoo_rate(cuckoo) > cuckoo->fp_rate);
}

const struct ps_kind ps_cuckoo = {
    .name = "cuckoo",
    .id = 5,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_cuckoo),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .init = init,
    .check = check,
    .attach = attach,
    .attach_part = attach_part,
    .clear = clear,
    .owns = owns,
    .release = release,
    .clone = clone,
    .count = count,
    .merge = merge,
    .equal = equal,
    .flat = flat,
    .encoded_size = encoded_size,
    .encoded_max = encoded_max,
    .encode = encode,
    .decode = decode,
    .describe = describe,
    .inspect = inspect,
    .add_hashes = add_hashes,
    .has_hashes = has_hashes,
};
