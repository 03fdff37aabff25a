#include "quantile/ddsketch.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "quantile/ddsketch_shared.h"
#include "quantile/quantile.h"

#define ACCURACY_MIN 1e-4
#define ACCURACY_MAX 0.5
#define BINS_MAX 1000000

/* Bins of the positive values that an empty sketch has room for. */
#define FIRST_ROOM 32

/* Numbers of full precision, and not quite the largest. */
#define VALUE_MIN 2.3e-308
#define VALUE_MAX 1.7e308

enum { OPTION_ACCURACY, OPTION_MAX_BINS, OPTION_MIN_VALUE, OPTION_MAX_VALUE };

static const struct ps_option options[] = {
    {"relative_accuracy", PS_OPTION_NUMBER, ACCURACY_MIN, ACCURACY_MAX, "a number from 1e-4 to 0.5",
     false},
    {"max_bins", PS_OPTION_INTEGER, 1, BINS_MAX, "an integer from 1 to 1e6", false},
    {"min_value", PS_OPTION_NUMBER, VALUE_MIN, VALUE_MAX, "a number from 2.3e-308 to 1.7e308",
     false},
    {"max_value", PS_OPTION_NUMBER, VALUE_MIN, VALUE_MAX, "a number from 2.3e-308 to 1.7e308",
     false},
    {0},
};

static const struct ps_field fields[] = {
    {"relative_accuracy", PS_FIELD_DOUBLE, offsetof(struct ps_ddsketch, relative_accuracy), true},
    {"min_value", PS_FIELD_DOUBLE, offsetof(struct ps_ddsketch, min_value), true},
    {"max_value", PS_FIELD_DOUBLE, offsetof(struct ps_ddsketch, max_value), true},
    {"max_bins", PS_FIELD_U32, offsetof(struct ps_ddsketch, max_bins), true},
    {0},
};

/* ---- parameters ---- */

static void derive(struct ps_ddsketch *sketch)
{
  const bool has_range = ps_ddsketch_has_range(sketch);
  sketch->multiplier = ps_log_multiplier(sketch->relative_accuracy);
  sketch->least = has_range ? sketch->min_value : DBL_MIN;
  sketch->range.low = ps_log_index(sketch->multiplier, sketch->least);
  sketch->range.high = ps_log_index(sketch->multiplier, has_range ? sketch->max_value : DBL_MAX);
}

static enum ps_status plan_range(struct ps_ddsketch *sketch, const struct ps_options *asked,
                                 struct ps_error *error)
{
  double min_value = asked->value[OPTION_MIN_VALUE], max_value = asked->value[OPTION_MAX_VALUE];
  if (!asked->given[OPTION_MIN_VALUE] || !asked->given[OPTION_MAX_VALUE]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "options 'min_value' and 'max_value' go together");
  }
  if (asked->given[OPTION_MAX_BINS]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "options 'max_bins' and 'min_value' exclude each other");
  }
  if (min_value >= max_value) {
    return ps_fail(error, PS_ERR_ARGUMENT,
                   "option 'max_value' out of range (expected more than min_value, %.14g, got "
                   "%.14g)",
                   min_value, max_value);
  }
  sketch->min_value = min_value;
  sketch->max_value = max_value;
  derive(sketch);
  sketch->max_bins = ps_span_length(sketch->range);
  return PS_OK;
}

static enum ps_status plan(struct ps_sketch *base, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  sketch->relative_accuracy = asked->given[OPTION_ACCURACY] ? asked->value[OPTION_ACCURACY] : 0.01;
  if (asked->given[OPTION_MIN_VALUE] || asked->given[OPTION_MAX_VALUE]) {
    return plan_range(sketch, asked, error);
  }
  sketch->max_bins = asked->given[OPTION_MAX_BINS] ? (uint32_t)asked->value[OPTION_MAX_BINS] : 2048;
  derive(sketch);
  return PS_OK;
}

static bool is_value_in_range(double x)
{
  return x >= VALUE_MIN && x <= VALUE_MAX;
}

static enum ps_status validate(struct ps_sketch *base, struct ps_error *error)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  const double accuracy = sketch->relative_accuracy;
  const double min_value = sketch->min_value, max_value = sketch->max_value;
  if (!(accuracy >= ACCURACY_MIN && accuracy <= ACCURACY_MAX)) {
    return ps_fail(error, PS_ERR_RANGE, "relative_accuracy out of range (expected %s, got %g)",
                   options[OPTION_ACCURACY].range, accuracy);
  }
  const bool has_range = min_value != 0 || max_value != 0;
  if (has_range &&
      !(is_value_in_range(min_value) && is_value_in_range(max_value) && min_value < max_value)) {
    return ps_fail(error, PS_ERR_RANGE, "min_value and max_value out of range (%g and %g)",
                   min_value, max_value);
  }
  if (!has_range && (signbit(min_value) || signbit(max_value))) {
    return ps_fail(error, PS_ERR_RANGE, "min_value and max_value out of range (-0)");
  }
  derive(sketch);
  if (has_range && sketch->max_bins != ps_span_length(sketch->range)) {
    return ps_fail(error, PS_ERR_RANGE,
                   "max_bins out of range (expected %" PRIu32 ", got %" PRIu32 ")",
                   ps_span_length(sketch->range), sketch->max_bins);
  }
  if (!has_range && (sketch->max_bins < 1 || sketch->max_bins > BINS_MAX)) {
    return ps_fail(error, PS_ERR_RANGE, "max_bins out of range (expected %s, got %" PRIu32 ")",
                   options[OPTION_MAX_BINS].range, sketch->max_bins);
  }
  return PS_OK;
}

static uint64_t size(const struct ps_sketch *base)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  const uint64_t head = ps_ddsketch_has_range(sketch) ? PS_DDSKETCH_HEAD_WORDS : 0;
  return (head + (uint64_t)sketch->max_bins * PS_SIGNS) * sizeof(uint64_t);
}

static bool owns(const struct ps_sketch *base)
{
  return !ps_ddsketch_has_range((const struct ps_ddsketch *)base);
}

/* ---- memory ---- */

/* So many bins or up to twice as many: growing bins do not move with each new one, and what is held
 * depends on the state alone. */
static uint32_t room_for(const struct ps_ddsketch *sketch, enum ps_sign sign, uint32_t bins)
{
  uint32_t room = FIRST_ROOM;
  if (sign == PS_NEGATIVE && bins == 0) {
    return 0;
  }
  while (room < bins) {
    room *= 2;
  }
  return room < sketch->max_bins ? room : sketch->max_bins;
}

static uint32_t first_room(const struct ps_ddsketch *sketch)
{
  return room_for(sketch, PS_POSITIVE, 0);
}

/* Of a payload of zeros that has its first size. */
static void set_empty(struct ps_ddsketch *sketch)
{
  struct ps_bins negative = {.span = PS_SPAN_NONE};
  struct ps_bins positive = {.room = first_room(sketch), .span = PS_SPAN_NONE};
  if (ps_ddsketch_has_range(sketch)) {
    negative = ps_ddsketch_fixed_bins(sketch, PS_NEGATIVE);
    positive = ps_ddsketch_fixed_bins(sketch, PS_POSITIVE);
  }
  sketch->bins[PS_NEGATIVE] = negative;
  sketch->bins[PS_POSITIVE] = positive;
  sketch->zeros = 0;
  sketch->min = sketch->max = 0;
}

static enum ps_status init(struct ps_sketch *base, struct ps_error *error)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  if (owns(base)) {
    const struct ps_memory *memory = base->memory;
    size_t bytes = first_room(sketch) * sizeof(uint64_t);
    base->payload = memory->resize(memory->context, NULL, 0, bytes);
    if (base->payload == NULL) {
      return ps_no_memory(error, bytes);
    }
    base->held = bytes;
    memset(base->payload, 0, bytes);
  }
  set_empty(sketch);
  return PS_OK;
}

/* When nothing can be given back, all is kept, and the positive bins have it. */
static void clear(struct ps_sketch *base)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  const struct ps_memory *memory = base->memory;
  size_t bytes = first_room(sketch) * sizeof(uint64_t);
  if (owns(base) && base->held != bytes) {
    void *block = memory->resize(memory->context, base->payload, (size_t)base->held, bytes);
    if (block != NULL) {
      base->payload = block;
      base->held = bytes;
    }
  }
  if (base->flags & PS_SHARED) {
    ps_atomic_fill(base->payload, 0, base->held);
  } else {
    memset(base->payload, 0, (size_t)base->held);
  }
  set_empty(sketch);
}

/* A closed sketch has no bins to look at: its size may still be asked for. */
static void leave_closed(struct ps_sketch *base)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  base->payload = NULL;
  base->held = 0;
  for (int sign = 0; sign < PS_SIGNS; sign++) {
    sketch->bins[sign] = (struct ps_bins){.span = PS_SPAN_NONE};
  }
}

static void release(struct ps_sketch *sketch)
{
  const struct ps_memory *memory = sketch->memory;
  if (sketch->payload != NULL) {
    memory->resize(memory->context, sketch->payload, (size_t)sketch->held, 0);
  }
  leave_closed(sketch);
}

static enum ps_status clone(struct ps_sketch *base, const struct ps_sketch *source,
                            struct ps_error *error)
{
  const struct ps_memory *memory = base->memory;
  base->payload = memory->resize(memory->context, NULL, 0, (size_t)source->held);
  if (base->payload == NULL) {
    leave_closed(base);
    return ps_no_memory(error, source->held);
  }
  memcpy(base->payload, source->payload, (size_t)source->held);
  return PS_OK;
}

enum ps_status ps_ddsketch_reserve(struct ps_ddsketch *sketch, const struct ps_span window[],
                                   struct ps_error *error)
{
  struct ps_sketch *base = &sketch->sketch;
  const struct ps_memory *memory = base->memory;
  struct ps_bins *negative = &sketch->bins[PS_NEGATIVE], *positive = &sketch->bins[PS_POSITIVE];
  if (!owns(base)) {
    return PS_OK; /* there is room for all that may come */
  }
  uint32_t below = room_for(sketch, PS_NEGATIVE, ps_span_length(window[PS_NEGATIVE]));
  uint32_t above = room_for(sketch, PS_POSITIVE, ps_span_length(window[PS_POSITIVE]));
  const bool stays = below == negative->room && above == positive->room;
  const size_t bytes = ((size_t)below + above) * sizeof(uint64_t);
  unsigned char *from = base->payload;
  unsigned char *to = stays ? from : memory->resize(memory->context, NULL, 0, bytes);
  if (to == NULL) {
    return ps_no_memory(error, bytes);
  }
  ps_bins_place(negative, from, to, 0, below, window[PS_NEGATIVE]);
  ps_bins_place(positive, from, to, below, above, window[PS_POSITIVE]);
  if (!stays) {
    memory->resize(memory->context, from, (size_t)base->held, 0);
    base->payload = to;
    base->held = bytes;
  }
  return PS_OK;
}

/* ---- state ---- */

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_ddsketch_total((const struct ps_ddsketch *)sketch);
}

static bool equal_bins(const struct ps_ddsketch *a, const struct ps_ddsketch *b, enum ps_sign sign)
{
  return ps_bins_equal(&a->bins[sign], a->sketch.payload, &b->bins[sign], b->sketch.payload);
}

/* The extremes are compared as numbers: there is no other zero, and nothing that is none. */
static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  const struct ps_ddsketch *x = (const struct ps_ddsketch *)a;
  const struct ps_ddsketch *y = (const struct ps_ddsketch *)b;
  if (!owns(a)) {
    return memcmp(a->payload, b->payload, (size_t)a->held) == 0;
  }
  return x->zeros == y->zeros && x->min == y->min && x->max == y->max &&
         equal_bins(x, y, PS_NEGATIVE) && equal_bins(x, y, PS_POSITIVE);
}

/* ---- bytes ---- */

static bool flat(const struct ps_sketch *sketch)
{
  return !owns(sketch);
}

static enum ps_status decode(struct ps_sketch *base, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  if (is_flat) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt header (a ddsketch without a range is not flat)");
  }
  enum ps_status status = init(base, error);
  if (status == PS_OK) {
    status = ps_ddsketch_read((struct ps_ddsketch *)base, bytes, n, error);
    if (status != PS_OK) {
      release(base);
    }
  }
  return status;
}

/* ---- reports ---- */

static void describe(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  double accuracy = sketch->relative_accuracy;
  report->number(report, "gamma", (1 + accuracy) / (1 - accuracy));
}

/* Is a value counted in the last bin though it belongs in one behind it? */
static bool is_beyond(const struct ps_ddsketch *sketch, double x)
{
  double magnitude = fabs(x);
  return magnitude >= sketch->least &&
         ps_log_index(sketch->multiplier, magnitude) > sketch->range.high;
}

static void inspect(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_ddsketch *sketch = (const struct ps_ddsketch *)base;
  const struct ps_bins *negative = &sketch->bins[PS_NEGATIVE];
  const struct ps_bins *positive = &sketch->bins[PS_POSITIVE];
  report->integer(report, "negative_bins", ps_bins_used(negative, base->payload));
  report->integer(report, "positive_bins", ps_bins_used(positive, base->payload));
  report->integer(report, "negatives", negative->total);
  report->integer(report, "zeros", sketch->zeros);
  report->integer(report, "positives", positive->total);
  report->boolean(report, "collapsed", negative->collapsed || positive->collapsed);
  if (ps_ddsketch_has_range(sketch)) {
    report->boolean(report, "clamped",
                    is_beyond(sketch, sketch->min) || is_beyond(sketch, sketch->max));
  }
}

const struct ps_kind ps_ddsketch = {
    .name = "ddsketch",
    .id = 50,
    .hash_id = PS_HASH_NONE,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_ddsketch),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .init = init,
    .check = ps_ddsketch_check,
    .attach = ps_ddsketch_attach,
    .clear = clear,
    .owns = owns,
    .release = release,
    .clone = clone,
    .count = count,
    .merge = ps_ddsketch_merge,
    .equal = equal,
    .flat = flat,
    .encoded_size = ps_ddsketch_encoded_size,
    .encoded_max = ps_ddsketch_encoded_max,
    .encode = ps_ddsketch_encode,
    .decode = decode,
    .describe = describe,
    .inspect = inspect,
    .add_values = ps_ddsketch_add_values,
    .quantiles = &ps_ddsketch_quantiles,
    .sharing = &ps_ddsketch_sharing,
};
