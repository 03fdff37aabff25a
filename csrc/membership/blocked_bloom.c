#include "membership/blocked_bloom.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "base/sharing.h"
#include "membership/blocked_line.h"

#define LINE_BITS (UINT64_C(8) * PS_LINE_SIZE)

#define RATE_MIN 1e-5
#define RATE_MAX 0.5

/* As for classic filters: prefetching pays from where the lines leave the cache. */
#define PREFETCH_FROM (1u << 20)

/* Keys whose lines are on the way at once, in a batch. */
#define AHEAD 24

/* The load, keys a line, is planned in steps of this, far above what the libraries of machines
 * disagree in: so that they agree in the lines. The rate of 0.5 takes 158.6. */
#define LOAD_STEP (1.0 / 65536)
#define LOAD_MAX 160

enum { OPTION_CAPACITY, OPTION_FP_RATE };

static const struct ps_option options[] = {
    {"capacity", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false},
    {"fp_rate", PS_OPTION_NUMBER, RATE_MIN, RATE_MAX, "a number from 1e-5 to 0.5", false},
    {0},
};

static const struct ps_field fields[] = {
    {"lines", PS_FIELD_U64, offsetof(struct ps_blocked_bloom, lines), true},
    {"capacity", PS_FIELD_U64, offsetof(struct ps_blocked_bloom, capacity), false},
    {"fp_rate", PS_FIELD_DOUBLE, offsetof(struct ps_blocked_bloom, fp_rate), false},
    {0},
};

/* ---- parameters ---- */

/* The rate with so many keys a line on the mean: the Poisson mixture of the header. With the power
 * multiplied out it is a sum over i = 0 .. 8 of (-1)^i C(8, i) E(q^(i j)), q = 63/64, and the mean
 * of q^(i j) is exp(-load (1 - q^i)). The terms cancel to within 1e-14: what is far below the least
 * rate that can be asked for is taken as 0. */
static double rate_at(double load)
{
  double sum = 0, choose = 1, power = 1;
  for (int i = 0; i <= PS_LINE_LANES; i++) {
    sum += choose * exp(-load * (1 - power));
    choose *= -(double)(PS_LINE_LANES - i) / (i + 1);
    power *= 1 - 1.0 / PS_LANE_BITS;
  }
  return sum < 1e-12 ? 0 : sum;
}

/* The largest load, in steps, at which the rate is still kept. */
static uint32_t load_for(double rate)
{
  uint32_t kept = 1, broken = (uint32_t)(LOAD_MAX / LOAD_STEP);
  while (broken - kept > 1) {
    uint32_t middle = kept + (broken - kept) / 2;
    if (rate_at(middle * LOAD_STEP) <= rate) {
      kept = middle;
    } else {
      broken = middle;
    }
  }
  return kept;
}

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_blocked_bloom *filter = (struct ps_blocked_bloom *)sketch;
  if (!asked->given[OPTION_CAPACITY]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "option 'capacity' is missing (expected %s)",
                   options[OPTION_CAPACITY].range);
  }
  double capacity = asked->value[OPTION_CAPACITY];
  filter->fp_rate = asked->given[OPTION_FP_RATE] ? asked->value[OPTION_FP_RATE] : 0.01;
  filter->capacity = (uint64_t)capacity;
  filter->lines = (uint64_t)ceil(capacity / (load_for(filter->fp_rate) * LOAD_STEP));
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_blocked_bloom *filter = (const struct ps_blocked_bloom *)sketch;
  if (filter->lines < 1 || filter->lines > PS_COUNT_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "lines out of range (expected 1 to 2^53, got %" PRIu64 ")",
                   filter->lines);
  }
  if (filter->capacity < 1 || filter->capacity > PS_COUNT_MAX) {
    return ps_fail(error, PS_ERR_RANGE,
                   "capacity out of range (expected 1 to 2^53, got %" PRIu64 ")", filter->capacity);
  }
  if (!(filter->fp_rate >= RATE_MIN && filter->fp_rate <= RATE_MAX)) {
    return ps_fail(error, PS_ERR_RANGE, "fp_rate out of range (expected 1e-5 to 0.5, got %.14g)",
                   filter->fp_rate);
  }
  /* A promise that the size does not keep must not come in from outside. */
  const double slack = 1 + 1e-6;
  if (rate_at((double)filter->capacity / (double)filter->lines) > slack * filter->fp_rate) {
    return ps_fail(error, PS_ERR_RANGE, "fp_rate does not fit the lines and the capacity");
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  return ((const struct ps_blocked_bloom *)sketch)->lines * PS_LINE_SIZE;
}

static uint64_t bits(const struct ps_blocked_bloom *filter)
{
  return filter->lines * LINE_BITS;
}

/* ---- state ----
 *
 * Nothing is checked of a payload: that a line has bits in all its lanes or in none holds but for
 * bytes that were read while keys were added. */

static void attach_part(struct ps_sketch *sketch, uint64_t from, uint64_t to)
{
  struct ps_blocked_bloom *filter = (struct ps_blocked_bloom *)sketch;
  uint64_t before = from == 0 ? 0 : filter->ones;
  filter->ones = before + ps_count_ones(sketch->payload + from, to - from);
}

static void attach(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ((struct ps_blocked_bloom *)sketch)->ones = ps_atomic_count_ones(sketch->payload, sketch->held);
  } else {
    attach_part(sketch, 0, size(sketch));
  }
}

static void clear(struct ps_sketch *sketch)
{
  if (sketch->flags & PS_SHARED) {
    ps_atomic_fill(sketch->payload, 0, sketch->held);
  } else {
    memset(sketch->payload, 0, size(sketch));
  }
  ((struct ps_blocked_bloom *)sketch)->ones = 0;
}

static enum ps_status merge(struct ps_sketch *target, const struct ps_sketch *source,
                            struct ps_error *error)
{
  (void)error;
  ps_unite(target->payload, source->payload, size(target));
  attach(target);
  return PS_OK;
}

/* ---- keys ---- */

static inline struct ps_lines lines_of(const struct ps_blocked_bloom *filter)
{
  return (struct ps_lines){filter->sketch.payload, filter->lines};
}

static inline const struct ps_line_code *code_for(const struct ps_blocked_bloom *filter)
{
  return ps_line_code((filter->sketch.flags & PS_SHARED) != 0);
}

bool ps_blocked_bloom_add(struct ps_blocked_bloom *filter, uint64_t hash)
{
  unsigned fresh = code_for(filter)->add(lines_of(filter), hash);
  filter->ones += fresh;
  return fresh != 0;
}

bool ps_blocked_bloom_has(const struct ps_blocked_bloom *filter, uint64_t hash)
{
  return code_for(filter)->has(lines_of(filter), hash);
}

/* How many keys ahead a batch asks for lines. */
static size_t ahead(const struct ps_sketch *sketch)
{
  return sketch->held < PREFETCH_FROM ? 0 : AHEAD;
}

static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  (void)error;
  struct ps_blocked_bloom *filter = (struct ps_blocked_bloom *)sketch;
  filter->ones += code_for(filter)->add_many(lines_of(filter), hashes, n, ahead(sketch), changed);
  return PS_OK;
}

static void has_hashes(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                       bool *found)
{
  const struct ps_blocked_bloom *filter = (const struct ps_blocked_bloom *)sketch;
  code_for(filter)->has_many(lines_of(filter), hashes, n, ahead(sketch), found);
}

/* ---- answers about the whole ---- */

/* In each lane, over all lines, n keys have fallen into so many cells. */
static double cells(const struct ps_blocked_bloom *filter)
{
  return (double)(filter->lines * PS_LANE_BITS);
}

static bool saturated(const struct ps_blocked_bloom *filter)
{
  return filter->ones == bits(filter);
}

/* A cell is empty with the probability (1 - 1 / cells)^n, whatever the lines. */
double ps_blocked_bloom_estimate(const struct ps_blocked_bloom *filter)
{
  double seen = (double)(filter->ones - saturated(filter)) / (double)bits(filter);
  return log1p(-seen) / log1p(-1 / cells(filter));
}

double ps_blocked_bloom_rate(const struct ps_blocked_bloom *filter)
{
  double load = ps_blocked_bloom_estimate(filter) / (double)filter->lines;
  return saturated(filter) ? 1 : rate_at(load);
}

/* Surely more keys than it was made for: by three standard errors of the estimate, the mean of
 * linear counting in eight lanes (Whang et al. 1990, "A linear-time probabilistic counting
 * algorithm", section 4). The second term is what the lanes have in common, the lines' unlike
 * numbers of keys. */
static bool over_capacity(const struct ps_blocked_bloom *filter)
{
  double n = ps_blocked_bloom_estimate(filter);
  double load = n / cells(filter);
  double shared = load * load / (2 * PS_LANE_BITS);
  double error = sqrt(cells(filter) * ((expm1(load) - load) / PS_LINE_LANES + shared));
  return n - 3 * error > (double)filter->capacity;
}

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_round_count(ps_blocked_bloom_estimate((const struct ps_blocked_bloom *)sketch));
}

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_blocked_bloom *filter = (const struct ps_blocked_bloom *)sketch;
  report->integer(report, "bits", bits(filter));
  report->number(report, "bits_per_key", (double)bits(filter) / (double)filter->capacity);
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_blocked_bloom *filter = (const struct ps_blocked_bloom *)sketch;
  report->number(report, "target_fp_rate", filter->fp_rate);
  report->number(report, "fp_rate", ps_blocked_bloom_rate(filter));
  report->number(report, "fill", (double)filter->ones / (double)bits(filter));
  report->boolean(report, "over_capacity", over_capacity(filter));
  report->boolean(report, "saturated", saturated(filter));
}

static const struct ps_sharing sharing = {0};

const struct ps_kind ps_blocked_bloom = {
    .name = "blocked_bloom",
    .id = 2,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .struct_size = sizeof(struct ps_blocked_bloom),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .attach = attach,
    .attach_part = attach_part,
    .clear = clear,
    .count = count,
    .merge = merge,
    .describe = describe,
    .inspect = inspect,
    .add_hashes = add_hashes,
    .has_hashes = has_hashes,
    .sharing = &sharing,
};
