#include "cardinality/hyperloglog.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/sharing.h"
#include "cardinality/hyperloglog_forms.h"

#define PRECISION_DEFAULT 14

enum { OPTION_PRECISION, OPTION_ERROR_RATE, OPTION_HIP };

static const struct ps_option options[] = {
    {"precision", PS_OPTION_INTEGER, PS_HYPERLOGLOG_PRECISION_MIN, PS_HYPERLOGLOG_PRECISION_MAX,
     "an integer from 4 to 18", false},
    {"error_rate", PS_OPTION_NUMBER, 1.04 / 512, 1.04 / 4, "a number from 0.00203125 to 0.26",
     false},
    {"hip", PS_OPTION_BOOLEAN, 0, 1, "true or false", false},
    {0},
};

static const struct ps_field fields[] = {
    {"precision", PS_FIELD_U8, offsetof(struct ps_hyperloglog, precision), true},
    {"hip", PS_FIELD_BOOLEAN, offsetof(struct ps_hyperloglog, hip), true},
    {0},
};

/* ---- parameters ---- */

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_hyperloglog *hll = (struct ps_hyperloglog *)sketch;
  if (asked->given[OPTION_PRECISION] && asked->given[OPTION_ERROR_RATE]) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "options 'precision' and 'error_rate' exclude each other");
  }
  hll->precision = PRECISION_DEFAULT;
  if (asked->given[OPTION_PRECISION]) {
    hll->precision = (uint8_t)asked->value[OPTION_PRECISION];
  }
  if (asked->given[OPTION_ERROR_RATE]) { /* met after a merge, too: without HIP */
    hll->precision = PS_HYPERLOGLOG_PRECISION_MIN;
    while (ps_hyperloglog_standard_error(hll) > asked->value[OPTION_ERROR_RATE]) {
      hll->precision++;
    }
  }
  hll->hip = asked->given[OPTION_HIP] && asked->value[OPTION_HIP] != 0;
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  if (hll->precision < PS_HYPERLOGLOG_PRECISION_MIN ||
      hll->precision > PS_HYPERLOGLOG_PRECISION_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "precision out of range (expected %s, got %u)",
                   options[OPTION_PRECISION].range, hll->precision);
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  return ps_form_dense_size((const struct ps_hyperloglog *)sketch);
}

/* ---- memory ---- */

static enum ps_status init(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_slots none = {NULL, 0};
  return ps_form_take_sparse((struct ps_hyperloglog *)sketch, none, 0, error);
}

static void clear(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ps_atomic_fill(sketch->payload, 0, sketch->held);
  } else {
    ps_form_clear((struct ps_hyperloglog *)sketch);
  }
}

static void release(struct ps_sketch *sketch)
{
  if (sketch->payload != NULL) {
    ps_form_give_back((struct ps_hyperloglog *)sketch);
  }
  sketch->payload = NULL;
  sketch->held = 0;
}

/* ---- shared: each register in a byte of its own ---- */

static enum ps_status check_sharable(const struct ps_sketch *sketch, struct ps_error *error)
{
  if (((const struct ps_hyperloglog *)sketch)->hip) {
    return ps_fail(
        error, PS_ERR_ARGUMENT,
        "a hyperloglog with hip is not shared, its sum would lose keys: make it without, "
        "or keep one per worker and merge");
  }
  return PS_OK;
}

static uint64_t shared_size(const struct ps_sketch *sketch)
{
  return UINT64_C(1) << ((const struct ps_hyperloglog *)sketch)->precision;
}

static void spread(const struct ps_sketch *sketch, unsigned char *shared)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  if (hll->dense) {
    ps_shared_registers_spread(shared, sketch->payload, hll->precision);
    return;
  }
  uint32_t i = 0;
  for (uint32_t entry; (entry = ps_sparse_next(ps_form_slots(hll), &i)) != 0;) {
    ps_shared_registers_add(shared, hll->precision, ps_sparse_hash(entry));
  }
}

static void gather(const struct ps_sketch *sketch, unsigned char *flat)
{
  ps_shared_registers_gather(flat, sketch->payload,
                             ((const struct ps_hyperloglog *)sketch)->precision);
}

static const struct ps_sharing sharing = {check_sharable, shared_size, spread, gather};

/* ---- memory: copies ---- */

static enum ps_status clone(struct ps_sketch *copy, const struct ps_sketch *source,
                            struct ps_error *error)
{
  enum ps_status status = ps_form_take((struct ps_hyperloglog *)copy, error);
  if (status == PS_OK && (source->flags & PS_SHARED) != 0) {
    gather(source, copy->payload);
  } else if (status == PS_OK) {
    memcpy(copy->payload, source->payload, copy->held);
  }
  return status;
}

/* ---- keys ---- */

static enum ps_status add_all(struct ps_hyperloglog *hll, const uint64_t *hashes, size_t n,
                              size_t *changed, struct ps_error *error)
{
  enum ps_status status = PS_OK;
  size_t sum = 0;
  for (size_t i = 0; i < n && status == PS_OK; i++) {
    bool one = false;
    status = ps_hyperloglog_add(hll, hashes[i], &one, error);
    sum += one;
  }
  *changed = status == PS_OK ? sum : 0;
  return status;
}

/* Only growth can fail, which then comes after hashes that went in: a batch that may have to grow
 * keeps a copy to go back to. */
static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  struct ps_hyperloglog *hll = (struct ps_hyperloglog *)sketch;
  if (hll->dense || n <= ps_sparse_room(hll->slots) - hll->entries) {
    return add_all(hll, hashes, n, changed, error);
  }
  struct ps_hyperloglog before = *hll;
  *changed = 0;
  enum ps_status status = clone(&before.sketch, sketch, error);
  if (status != PS_OK) {
    return status;
  }
  status = add_all(hll, hashes, n, changed, error);
  if (status == PS_OK) {
    ps_form_give_back(&before);
  } else {
    ps_form_give_back(hll);
    *hll = before;
  }
  return status;
}

/* ---- the whole ---- */

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_round_count(ps_hyperloglog_estimate((const struct ps_hyperloglog *)sketch));
}

static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  const struct ps_hyperloglog *x = (const struct ps_hyperloglog *)a;
  const struct ps_hyperloglog *y = (const struct ps_hyperloglog *)b;
  if (x->dense || y->dense) {
    return x->dense && y->dense && memcmp(a->payload, b->payload, size(a)) == 0;
  }
  return x->entries == y->entries && ps_sparse_equal(ps_form_slots(x), ps_form_slots(y));
}

static bool is_empty(const struct ps_hyperloglog *hll)
{
  return hll->dense ? hll->tally.zeros == UINT32_C(1) << hll->precision : hll->entries == 0;
}

/* The HIP sum of a union: void, but where it is one of the two. */
static double united_hip(const struct ps_hyperloglog *a, const struct ps_hyperloglog *b)
{
  return is_empty(a)                                    ? ps_form_hip(b)
         : is_empty(b) || equal(&a->sketch, &b->sketch) ? ps_form_hip(a)
                                                        : 0;
}

/* To the registers of the target those of the source, or its entries. */
static enum ps_status unite(struct ps_hyperloglog *target, const struct ps_hyperloglog *source,
                            struct ps_error *error)
{
  if (!target->dense && !source->dense) {
    return ps_form_unite(target, ps_form_slots(source), error);
  }
  if (!target->dense) {
    enum ps_status status = ps_form_become_dense(target, error);
    if (status != PS_OK) {
      return status;
    }
  }
  if (source->dense) {
    target->tally =
        ps_registers_merge(target->sketch.payload, source->sketch.payload, target->precision);
  } else {
    ps_form_raise(target, ps_form_slots(source));
  }
  return PS_OK;
}

static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
  struct ps_hyperloglog *target = (struct ps_hyperloglog *)into;
  const struct ps_hyperloglog *source = (const struct ps_hyperloglog *)from;
  if (target == source) {
    return PS_OK;
  }
  double hip = target->hip ? united_hip(target, source) : 0;
  enum ps_status status = unite(target, source, error);
  if (status == PS_OK) {
    ps_form_set_hip(target, hip);
  }
  return status;
}

/* ---- bytes ---- */

static bool flat(const struct ps_sketch *sketch)
{
  return ((const struct ps_hyperloglog *)sketch)->dense;
}

static uint64_t encoded_size(const struct ps_sketch *sketch)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  return hll->dense ? size(sketch) : ps_sparse_size(hll->entries);
}

static uint64_t encoded_max(const struct ps_sketch *sketch)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  return (uint64_t)ps_sparse_limit(hll->precision) * PS_SPARSE_ENTRY_SIZE;
}

static void encode(const struct ps_sketch *sketch, unsigned char *bytes)
{
  ps_sparse_write(ps_form_slots((const struct ps_hyperloglog *)sketch), bytes);
}

static enum ps_status decode_dense(struct ps_hyperloglog *hll, const unsigned char *bytes,
                                   struct ps_error *error)
{
  hll->dense = true;
  enum ps_status status = ps_form_take(hll, error);
  if (status == PS_OK) {
    memcpy(hll->sketch.payload, bytes, size(&hll->sketch));
  }
  return status;
}

static enum ps_status decode_sparse(struct ps_hyperloglog *hll, const unsigned char *bytes,
                                    uint64_t size_of_bytes, struct ps_error *error)
{
  uint64_t n = size_of_bytes / PS_SPARSE_ENTRY_SIZE;
  uint32_t limit = ps_sparse_limit(hll->precision);
  if (size_of_bytes % PS_SPARSE_ENTRY_SIZE != 0 || n > limit) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt payload (expected at most %" PRIu32 " entries of 4 bytes, got %" PRIu64
                   " bytes)",
                   limit, size_of_bytes);
  }
  const struct ps_slots entries = {(unsigned char *)(uintptr_t)bytes, (uint32_t)n};
  if (!ps_sparse_valid(entries)) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt payload (no ascending list of indexes and ranks)");
  }
  return ps_form_take_sparse(hll, entries, entries.n, error);
}

static enum ps_status decode(struct ps_sketch *sketch, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  struct ps_hyperloglog *hll = (struct ps_hyperloglog *)sketch;
  return is_flat ? decode_dense(hll, bytes, error) : decode_sparse(hll, bytes, n, error);
}

static void adopt(struct ps_sketch *sketch)
{
  ((struct ps_hyperloglog *)sketch)->dense = true;
}

/* Is the HIP estimate void, or a sum that keys can have led to? Every entry of the sparse sketch
 * and every register that is in use has added one at least. */
static bool is_hip_possible(const struct ps_hyperloglog *hll)
{
  double sum = ps_form_hip(hll);
  uint32_t limit = ps_sparse_limit(hll->precision), registers = UINT32_C(1) << hll->precision;
  uint32_t used = registers - ps_registers_tally(hll->sketch.payload, hll->precision).zeros;
  return (sum == 0 && !signbit(sum)) || (sum >= limit && sum >= used && sum <= PS_HIP_MAX);
}

/* A sparse payload has been checked by decode(). */
static enum ps_status check(const struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  if (hll->dense && !ps_registers_valid(sketch->payload, hll->precision)) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (a register above %d)",
                   65 - hll->precision);
  }
  if (hll->dense && hll->hip && !is_hip_possible(hll)) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (a HIP estimate of %g)",
                   ps_form_hip(hll));
  }
  return PS_OK;
}

static void attach(struct ps_sketch *sketch)
{
  struct ps_hyperloglog *hll = (struct ps_hyperloglog *)sketch;
  if (sketch->flags & PS_SHARED) {
    hll->tally = ps_shared_registers_tally(sketch->payload, hll->precision);
  } else if (hll->dense) {
    hll->tally = ps_registers_tally(sketch->payload, hll->precision);
  }
}

/* ---- reports ---- */

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  report->integer(report, "registers", UINT64_C(1) << hll->precision);
  report->integer(report, "register_bits", 6);
  report->integer(report, "sparse_limit", ps_sparse_limit(hll->precision));
  report->number(report, "standard_error", ps_hyperloglog_standard_error(hll));
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_hyperloglog *hll = (const struct ps_hyperloglog *)sketch;
  report->boolean(report, "dense", hll->dense);
  report->number(report, "estimate", ps_hyperloglog_estimate(hll));
  if (hll->dense) {
    report->integer(report, "registers_used", (UINT32_C(1) << hll->precision) - hll->tally.zeros);
  } else {
    report->integer(report, "entries", hll->entries);
  }
  if (hll->hip) {
    report->boolean(report, "counts_by_hip", ps_hyperloglog_counts_by_hip(hll));
  }
}

const struct ps_kind ps_hyperloglog = {
    .name = "hyperloglog",
    .id = 32,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_hyperloglog),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .init = init,
    .check = check,
    .attach = attach,
    .clear = clear,
    .release = release,
    .adopt = adopt,
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
    .sharing = &sharing,
};
