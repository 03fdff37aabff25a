#include "membership/scalable_bloom.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "membership/bloom_layers.h"

/* More layers than this are many: each is asked for a key that is not there. */
#define LAYERS_MANY 8

/* Keys of a batch that are looked up together, layer by layer. */
#define BLOCK 256

/* Bits of a key that a layer is asked for first. */
#define FIRST 4

enum { OPTION_CAPACITY, OPTION_FP_RATE, OPTION_GROWTH, OPTION_TIGHTENING };

static const struct ps_option options[] = {
    {"capacity", PS_OPTION_INTEGER, 1, (double)PS_COUNT_MAX, "an integer from 1 to 2^53", false},
    {"fp_rate", PS_OPTION_NUMBER, 1e-15, 1, "a number from 1e-15 to below 1", true},
    {"growth", PS_OPTION_NUMBER, 1, 16, "a number from 1 to 16", false},
    {"tightening", PS_OPTION_NUMBER, 0.1, 0.9, "a number from 0.1 to 0.9", false},
    {0},
};

static const struct ps_field fields[] = {
    {"capacity", PS_FIELD_U64, offsetof(struct ps_scalable_bloom, capacity), true},
    {"fp_rate", PS_FIELD_DOUBLE, offsetof(struct ps_scalable_bloom, fp_rate), true},
    {"growth", PS_FIELD_DOUBLE, offsetof(struct ps_scalable_bloom, growth), true},
    {"tightening", PS_FIELD_DOUBLE, offsetof(struct ps_scalable_bloom, tightening), true},
    {0},
};

/* ---- parameters ---- */

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_scalable_bloom *filter = (struct ps_scalable_bloom *)sketch;
  const double *value = asked->value;
  const bool *given = asked->given;
  if (!given[OPTION_CAPACITY]) {
    return ps_fail(error, PS_ERR_ARGUMENT, "option 'capacity' is missing (expected %s)",
                   options[OPTION_CAPACITY].range);
  }
  filter->capacity = (uint64_t)value[OPTION_CAPACITY];
  filter->fp_rate = given[OPTION_FP_RATE] ? value[OPTION_FP_RATE] : 0.01;
  filter->growth = given[OPTION_GROWTH] ? value[OPTION_GROWTH] : 2;
  filter->tightening = given[OPTION_TIGHTENING] ? value[OPTION_TIGHTENING] : 0.5;
  return PS_OK;
}

static enum ps_status out_of_range(unsigned option, double x, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_RANGE, "%s out of range (expected %s, got %.14g)",
                 options[option].name, options[option].range, x);
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  const struct ps_scalable_bloom *filter = (const struct ps_scalable_bloom *)sketch;
  if (filter->capacity < 1 || filter->capacity > PS_COUNT_MAX) {
    return out_of_range(OPTION_CAPACITY, (double)filter->capacity, error);
  }
  if (!(filter->fp_rate >= options[OPTION_FP_RATE].min && filter->fp_rate < 1)) {
    return out_of_range(OPTION_FP_RATE, filter->fp_rate, error);
  }
  if (!(filter->growth >= 1 && filter->growth <= options[OPTION_GROWTH].max)) {
    return out_of_range(OPTION_GROWTH, filter->growth, error);
  }
  if (!(filter->tightening >= options[OPTION_TIGHTENING].min &&
        filter->tightening <= options[OPTION_TIGHTENING].max)) {
    return out_of_range(OPTION_TIGHTENING, filter->tightening, error);
  }
  return PS_OK;
}

static struct ps_layer_series series_of(const struct ps_scalable_bloom *filter)
{
  return (struct ps_layer_series){
      .capacity = (double)filter->capacity,
      .fp_rate = filter->fp_rate * (1 - filter->tightening),
      .growth = filter->growth,
      .tightening = filter->tightening,
  };
}

/* No series is without a first layer. */
static struct ps_bloom first_layer(const struct ps_scalable_bloom *filter)
{
  struct ps_layer_series series = series_of(filter);
  struct ps_bloom bloom;
  ps_layer_plan(&series, 0, &bloom);
  return bloom;
}

static uint64_t size(const struct ps_sketch *sketch)
{
  struct ps_bloom first = first_layer((const struct ps_scalable_bloom *)sketch);
  return ps_layer_size(&first);
}

/* ---- memory ---- */

static struct ps_layer *newest(const struct ps_scalable_bloom *filter)
{
  return (struct ps_layer *)(void *)filter->sketch.payload;
}

static void set_newest(struct ps_scalable_bloom *filter, struct ps_layer *layer)
{
  filter->sketch.payload = (unsigned char *)layer;
  filter->sketch.held = ps_layers_size(layer);
}

static void release(struct ps_sketch *sketch)
{
  struct ps_scalable_bloom *filter = (struct ps_scalable_bloom *)sketch;
  ps_layers_free(sketch->memory, newest(filter), NULL);
  set_newest(filter, NULL);
}

static enum ps_status init(struct ps_sketch *sketch, struct ps_error *error)
{
  struct ps_scalable_bloom *filter = (struct ps_scalable_bloom *)sketch;
  struct ps_bloom first = first_layer(filter);
  struct ps_layer *layer;
  enum ps_status status = ps_layer_new(sketch->memory, &first, 0, NULL, &layer, error);
  set_newest(filter, layer);
  return status;
}

/* There is always a layer of index 0: one of them stays. */
static void clear(struct ps_sketch *sketch)
{
  struct ps_scalable_bloom *filter = (struct ps_scalable_bloom *)sketch;
  struct ps_layer *first = newest(filter);
  while (first->index != 0) {
    first = first->older;
  }
  ps_layers_free(sketch->memory, newest(filter), first);
  ps_layers_free(sketch->memory, first->older, NULL);
  first->older = NULL;
  ps_bloom.clear(&first->bloom.sketch);
  set_newest(filter, first);
}

static enum ps_status clone(struct ps_sketch *copy, const struct ps_sketch *source,
                            struct ps_error *error)
{
  struct ps_layer *layers;
  enum ps_status status = ps_layers_copy(
      copy->memory, newest((const struct ps_scalable_bloom *)source), &layers, error);
  set_newest((struct ps_scalable_bloom *)copy, layers);
  return status;
}

/* Adds the next layer of the series. */
static enum ps_status grow(struct ps_scalable_bloom *filter, struct ps_error *error)
{
  const struct ps_layer_series series = series_of(filter);
  const uint32_t index = ps_layers_next(newest(filter));
  struct ps_bloom planned;
  struct ps_layer *layer;
  if (ps_layers_count(newest(filter)) == PS_LAYERS_MAX) {
    return ps_fail(error, PS_ERR_FULL, "full: needs more than %d layers", PS_LAYERS_MAX);
  }
  if (!ps_layer_plan(&series, index, &planned)) {
    return ps_fail(error, PS_ERR_FULL, "full: no rate is left for a layer after %" PRIu32, index);
  }
  const uint64_t bytes = filter->sketch.held + ps_layer_size(&planned);
  if (bytes > filter->sketch.max_bytes) {
    return ps_fail(error, PS_ERR_FULL,
                   "full: needs %" PRIu64 " bytes, limit %" PRIu64 " (max_bytes)", bytes,
                   filter->sketch.max_bytes);
  }
  enum ps_status status = ps_layer_new(filter->sketch.memory, &planned, index, NULL, &layer, error);
  if (status == PS_OK) {
    layer->older = newest(filter);
    set_newest(filter, layer);
  }
  return status;
}

/* ---- keys ---- */

/* The start of a key's sequence: the same for all layers. */
struct start {
  uint64_t h[FIRST];
  uint64_t next;
};

static inline struct start start_of(uint64_t hash)
{
  struct start start = {.next = ps_hash_first(hash)};
  for (int i = 0; i < FIRST; i++, start.next = ps_hash_next(start.next)) {
    start.h[i] = start.next;
  }
  return start;
}

/* As ps_bloom_has(), but looks at the first bits alone, since most layers deny most keys. */
static inline bool layer_has(const struct ps_layer *layer, uint64_t hash, struct start start)
{
  const struct ps_bloom *bloom = &layer->bloom;
  if (bloom->hashes < FIRST) {
    return ps_bloom_has(bloom, hash);
  }
  return (ps_bloom_bit(bloom, start.h[0]) & ps_bloom_bit(bloom, start.h[1]) &
          ps_bloom_bit(bloom, start.h[2]) & ps_bloom_bit(bloom, start.h[3])) != 0 &&
         ps_bloom_all_set(bloom, &start.next, bloom->hashes - FIRST);
}

/* Does the layer have the key, or one that is older? */
static bool any_has(const struct ps_layer *layer, uint64_t hash)
{
  const struct start start = start_of(hash);
  while (layer != NULL && !layer_has(layer, hash, start)) {
    layer = layer->older;
  }
  return layer != NULL;
}

bool ps_scalable_bloom_has(const struct ps_scalable_bloom *filter, uint64_t hash)
{
  return any_has(newest(filter), hash);
}

enum ps_status ps_scalable_bloom_add(struct ps_scalable_bloom *filter, uint64_t hash, bool *fresh,
                                     struct ps_error *error)
{
  *fresh = !ps_scalable_bloom_has(filter, hash);
  if (!*fresh) {
    return PS_OK;
  }
  if (ps_layer_room(newest(filter)) == 0) {
    enum ps_status status = grow(filter, error);
    if (status != PS_OK) {
      return status;
    }
  }
  ps_bloom_add(&newest(filter)->bloom, hash);
  return PS_OK;
}

/* Keys of a batch that no layer has affirmed so far, and their places in it. */
struct absent {
  uint64_t hash[BLOCK];
  size_t place[BLOCK];
  size_t n;
};

static void leave_out(struct absent *absent, const bool *found)
{
  size_t left = 0;
  for (size_t i = 0; i < absent->n; i++) {
    absent->hash[left] = absent->hash[i];
    absent->place[left] = absent->place[i];
    left += !found[i];
  }
  absent->n = left;
}

/* Layers that exceed the cache are asked for the whole block one after the other, and prefetch;
 * the others, which are mostly older, for one key after the other. */
static void find_absent(const struct ps_scalable_bloom *filter, const uint64_t *hashes, size_t n,
                        struct absent *absent)
{
  const struct ps_layer *layer = newest(filter);
  bool found[BLOCK];
  memcpy(absent->hash, hashes, n * sizeof *hashes);
  for (size_t i = 0; i < n; i++) {
    absent->place[i] = i;
  }
  absent->n = n;
  for (; layer != NULL && layer->bloom.sketch.held >= PS_BLOOM_PREFETCH_FROM;
       layer = layer->older) {
    ps_bloom.has_hashes(&layer->bloom.sketch, absent->hash, absent->n, found);
    leave_out(absent, found);
  }
  for (size_t i = 0; i < absent->n; i++) {
    found[i] = any_has(layer, absent->hash[i]);
  }
  leave_out(absent, found);
}

static void has_hashes(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                       bool *found)
{
  struct absent absent;
  for (size_t at = 0; at < n; at += BLOCK) {
    const size_t these = n - at < BLOCK ? n - at : BLOCK;
    find_absent((const struct ps_scalable_bloom *)sketch, hashes + at, these, &absent);
    memset(found + at, true, these * sizeof *found);
    for (size_t i = 0; i < absent.n; i++) {
      found[at + absent.place[i]] = false;
    }
  }
}

/* Adds the hashes of a block up to the first that is new and finds no certain room in the newest
 * layer; returns how many come before it. */
static size_t add_block(struct ps_scalable_bloom *filter, const uint64_t *hashes, size_t n,
                        size_t *changed)
{
  struct ps_sketch *bloom = &newest(filter)->bloom.sketch;
  struct absent absent;
  find_absent(filter, hashes, n, &absent);
  for (size_t i = 0, these, fresh; i < absent.n; i += these) {
    const uint64_t room = ps_layer_room(newest(filter));
    if (room == 0) {
      return absent.place[i];
    }
    these = room < absent.n - i ? (size_t)room : absent.n - i;
    ps_bloom.add_hashes(bloom, absent.hash + i, these, &fresh, NULL); /* which never fails */
    *changed += fresh;
  }
  return n;
}

/* A hash for which a block stops may be in the newest layer by then, or make the filter grow. Those
 * behind it are asked for again, since they too may have come before. */
static enum ps_status add_all(struct ps_scalable_bloom *filter, const uint64_t *hashes, size_t n,
                              size_t *changed, struct ps_error *error)
{
  for (size_t at = 0; at < n;) {
    const size_t these = n - at < BLOCK ? n - at : BLOCK;
    const size_t taken = add_block(filter, hashes + at, these, changed);
    at += taken;
    if (taken < these) {
      bool fresh;
      enum ps_status status = ps_scalable_bloom_add(filter, hashes[at], &fresh, error);
      if (status != PS_OK) {
        *changed = status == PS_ERR_FULL ? at : 0;
        return status;
      }
      *changed += fresh;
      at++;
    }
  }
  return PS_OK;
}

/* Of the layers that are there a batch changes the newest alone: one that may have to grow, which
 * can fail, keeps a copy of it to go back to. */
static enum ps_status add_hashes(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                                 size_t *changed, struct ps_error *error)
{
  struct ps_scalable_bloom *filter = (struct ps_scalable_bloom *)sketch;
  struct ps_layer *layer = newest(filter), *before;
  *changed = 0;
  if (n <= ps_layer_room(layer)) {
    return add_all(filter, hashes, n, changed, error);
  }
  enum ps_status status = ps_layer_copy(sketch->memory, layer, &before, error);
  if (status != PS_OK) {
    return status;
  }
  before->older = layer->older;
  status = add_all(filter, hashes, n, changed, error);
  if (status == PS_ERR_MEMORY) {
    ps_layers_free(sketch->memory, newest(filter), layer->older);
    set_newest(filter, before);
  } else {
    ps_layers_free(sketch->memory, before, layer->older);
  }
  return status;
}

/* ---- the whole ---- */

/* A new key that an older layer affirms never comes to the layer whose turn it is: each layer
 * stands for 1 / (1 - rate) times as many keys, for the rate of each older layer of its series,
 * which a layer of index 0 begins. */
double ps_scalable_bloom_estimate(const struct ps_scalable_bloom *filter)
{
  double sum = 0, series = 0;
  for (const struct ps_layer *layer = newest(filter); layer != NULL; layer = layer->older) {
    series = series / (1 - ps_bloom_rate(&layer->bloom)) + ps_bloom_estimate(&layer->bloom);
    if (layer->index == 0) {
      sum += series;
      series = 0;
    }
  }
  return sum + series;
}

double ps_scalable_bloom_rate(const struct ps_scalable_bloom *filter)
{
  double sum = 0;
  for (const struct ps_layer *layer = newest(filter); layer != NULL; layer = layer->older) {
    sum += ps_bloom_rate(&layer->bloom);
  }
  return fmin(1, sum);
}

static uint64_t count(const struct ps_sketch *sketch)
{
  return ps_round_count(ps_scalable_bloom_estimate((const struct ps_scalable_bloom *)sketch));
}

static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
  struct ps_scalable_bloom *target = (struct ps_scalable_bloom *)into;
  struct ps_layer *layers = newest(target), *twins = NULL;
  const struct ps_layer *others = newest((const struct ps_scalable_bloom *)from);
  enum ps_status status = PS_OK;
  if (into == from) {
    status = ps_layers_copy(into->memory, others, &twins, error);
    others = twins;
  }
  if (status == PS_OK) {
    status = ps_layers_merge(into->memory, &layers, others, into->max_bytes, error);
  }
  set_newest(target, layers);
  ps_layers_free(into->memory, twins, NULL);
  return status;
}

static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  return ps_layers_equal(newest((const struct ps_scalable_bloom *)a),
                         newest((const struct ps_scalable_bloom *)b));
}

/* ---- bytes ---- */

/* The layers are several blocks, which only encode() makes one. */
static uint64_t encoded_size(const struct ps_sketch *sketch)
{
  return ps_layers_encoded_size(newest((const struct ps_scalable_bloom *)sketch));
}

static void encode(const struct ps_sketch *sketch, unsigned char *bytes)
{
  ps_layers_write(newest((const struct ps_scalable_bloom *)sketch), bytes);
}

static enum ps_status decode(struct ps_sketch *sketch, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  struct ps_scalable_bloom *filter = (struct ps_scalable_bloom *)sketch;
  const struct ps_layer_series series = series_of(filter);
  struct ps_layer *layers;
  (void)is_flat;
  enum ps_status status = ps_layers_read(sketch->memory, &series, bytes, n, &layers, error);
  set_newest(filter, layers);
  return status;
}

/* ---- reports ---- */

/* The parameters of layers, for people: oldest first, as far as a report's lists go. */
struct listed {
  double capacity[PS_LIST_MAX], fp_rate[PS_LIST_MAX], bits[PS_LIST_MAX], hashes[PS_LIST_MAX];
};

static void list_layer(struct listed *listed, size_t i, const struct ps_bloom *bloom)
{
  if (i < PS_LIST_MAX) {
    listed->capacity[i] = (double)bloom->capacity;
    listed->fp_rate[i] = bloom->fp_rate;
    listed->bits[i] = (double)bloom->bits;
    listed->hashes[i] = bloom->hashes;
  }
}

static void report_listed(const struct listed *listed, size_t n, struct ps_report *report)
{
  n = n < PS_LIST_MAX ? n : PS_LIST_MAX;
  report->list(report, "layer_capacities", listed->capacity, n);
  report->list(report, "layer_fp_rates", listed->fp_rate, n);
  report->list(report, "layer_bits", listed->bits, n);
  report->list(report, "layer_hashes", listed->hashes, n);
}

static void describe(const struct ps_sketch *sketch, struct ps_report *report)
{
  struct ps_bloom first = first_layer((const struct ps_scalable_bloom *)sketch);
  struct listed listed;
  list_layer(&listed, 0, &first);
  report->integer(report, "bits", first.bits);
  report_listed(&listed, 1, report);
}

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_scalable_bloom *filter = (const struct ps_scalable_bloom *)sketch;
  struct listed listed;
  uint64_t bits = 0, ones = 0;
  const size_t n = ps_layers_count(newest(filter));
  size_t i = n;
  for (const struct ps_layer *layer = newest(filter); layer != NULL; layer = layer->older) {
    bits += layer->bloom.bits;
    ones += layer->bloom.ones;
    list_layer(&listed, --i, &layer->bloom);
  }
  report_listed(&listed, n, report);
  report->integer(report, "bits", bits);
  report->integer(report, "layers", n);
  report->boolean(report, "many_layers", n > LAYERS_MANY);
  report->number(report, "target_fp_rate", filter->fp_rate);
  report->number(report, "fp_rate", ps_scalable_bloom_rate(filter));
  report->number(report, "fill", (double)ones / (double)bits);
}

const struct ps_kind ps_scalable_bloom = {
    .name = "scalable_bloom",
    .id = 3,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_scalable_bloom),
    .options = options,
    .fields = fields,
    .plan = plan,
    .validate = validate,
    .size = size,
    .init = init,
    .clear = clear,
    .release = release,
    .clone = clone,
    .count = count,
    .merge = merge,
    .equal = equal,
    .flat = ps_never_flat,
    .encoded_size = encoded_size,
    .encode = encode,
    .decode = decode,
    .describe = describe,
    .inspect = inspect,
    .add_hashes = add_hashes,
    .has_hashes = has_hashes,
};
