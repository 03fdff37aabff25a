#include "quantile/kll.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "quantile/order.h"
#include "quantile/quantile.h"

#define K_MIN 8
#define K_MAX 65535

/* Items that an empty sketch has room for. */
#define FIRST_ROOM 32

enum { OPTION_K };

static const struct ps_option options[] = {
    {"k", PS_OPTION_INTEGER, K_MIN, K_MAX, "an integer from 8 to 65535", false},
    {0},
};

static const struct ps_field fields[] = {
    {"k", PS_FIELD_U32, offsetof(struct ps_kll, k), true},
    {0},
};

/* ---- parameters ---- */

static enum ps_status plan(struct ps_sketch *base, const struct ps_options *asked,
                           struct ps_error *error)
{
  (void)error;
  ((struct ps_kll *)base)->k = asked->given[OPTION_K] ? (uint32_t)asked->value[OPTION_K] : 200;
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *base, struct ps_error *error)
{
  const struct ps_kll *kll = (const struct ps_kll *)base;
  if (kll->k < K_MIN || kll->k > K_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "k out of range (expected %s, got %" PRIu32 ")",
                   options[OPTION_K].range, kll->k);
  }
  return PS_OK;
}

/* ---- memory ---- */

#define ITEM_SIZE (sizeof(uint64_t) + sizeof(struct ps_pair))

static uint32_t items_max(uint32_t k)
{
  struct ps_levels levels;
  ps_levels_init(&levels, k);
  return ps_levels_capacity(&levels, PS_LEVELS_MAX);
}

static uint64_t size(const struct ps_sketch *base)
{
  return (uint64_t)items_max(((const struct ps_kll *)base)->k) * ITEM_SIZE;
}

/* The room that n levels take, and *enough. There are no more items than values. */
static uint32_t room_for(const struct ps_levels *levels, uint32_t n, uint64_t count,
                         uint64_t *enough)
{
  uint64_t room = FIRST_ROOM;
  while (ps_levels_enough(levels, n) < count) {
    n++;
  }
  while (room < count) {
    room *= 2;
  }
  const uint32_t most = ps_levels_capacity(levels, n);
  *enough = ps_levels_enough(levels, n);
  if (room < most) {
    *enough = room < *enough ? room : *enough;
    return (uint32_t)room;
  }
  return most;
}

/* A new block for so many items; NULL, and nothing changed, when there is none. */
static void *allocate(const struct ps_sketch *base, uint32_t room, struct ps_error *error)
{
  const struct ps_memory *memory = base->memory;
  void *block = memory->resize(memory->context, NULL, 0, room * ITEM_SIZE);
  if (block == NULL) {
    ps_no_memory(error, room * ITEM_SIZE);
  }
  return block;
}

static void give_back(const struct ps_sketch *base, void *block, uint64_t bytes)
{
  const struct ps_memory *memory = base->memory;
  if (block != NULL) {
    memory->resize(memory->context, block, (size_t)bytes, 0);
  }
}

/* Gives the sketch a block instead of the one it has, if any, which is not freed. */
static void adopt(struct ps_kll *kll, void *block, uint32_t room)
{
  ps_levels_move(&kll->levels, block, room);
  kll->view = (struct ps_pair *)(void *)(kll->levels.items + room);
  kll->viewed = 0;
  kll->sketch.payload = block;
  kll->sketch.held = room * ITEM_SIZE;
}

static void set_empty(struct ps_kll *kll)
{
  const struct ps_levels had = kll->levels;
  ps_levels_init(&kll->levels, kll->k);
  ps_levels_move(&kll->levels, had.items, had.room);
  kll->sorted = true;
  kll->viewed = 0;
  kll->count = 0;
  kll->min = kll->max = 0;
  kll->sum = (struct ps_sum){0, 0, 0};
}

static enum ps_status init(struct ps_sketch *base, struct ps_error *error)
{
  struct ps_kll *kll = (struct ps_kll *)base;
  ps_levels_init(&kll->levels, kll->k);
  base->payload = NULL;
  enum ps_status status = ps_kll_reserve(kll, 1, 0, error);
  if (status == PS_OK) {
    set_empty(kll);
  }
  return status;
}

/* When nothing can be given back, all is kept. */
static void clear(struct ps_sketch *base)
{
  struct ps_kll *kll = (struct ps_kll *)base;
  struct ps_error error;
  set_empty(kll);
  ps_kll_reserve(kll, 1, 0, &error);
}

static void leave_closed(struct ps_sketch *base)
{
  base->payload = NULL;
  base->held = 0;
}

static void release(struct ps_sketch *base)
{
  give_back(base, base->payload, base->held);
  leave_closed(base);
}

static enum ps_status clone(struct ps_sketch *base, const struct ps_sketch *source,
                            struct ps_error *error)
{
  struct ps_kll *copy = (struct ps_kll *)base;
  (void)source;
  void *block = allocate(base, copy->levels.room, error);
  if (block == NULL) {
    leave_closed(base);
    return PS_ERR_MEMORY;
  }
  adopt(copy, block, copy->levels.room);
  return PS_OK;
}

enum ps_status ps_kll_reserve(struct ps_kll *kll, uint32_t n, uint64_t count,
                              struct ps_error *error)
{
  struct ps_sketch *base = &kll->sketch;
  uint64_t enough;
  const uint32_t room = room_for(&kll->levels, n, count, &enough);
  if (room != kll->levels.room) {
    void *block = allocate(base, room, error), *had = base->payload;
    const uint64_t held = base->held;
    if (block == NULL) {
      return PS_ERR_MEMORY;
    }
    adopt(kll, block, room);
    give_back(base, had, held);
  }
  kll->enough = enough;
  return PS_OK;
}

void ps_kll_settle(struct ps_kll *kll)
{
  if (!kll->sorted) {
    ps_sort(kll->levels.items + kll->levels.start[0], ps_level_size(&kll->levels, 0),
            &kll->view->number);
    kll->sorted = true;
    kll->viewed = 0;
  }
}

/* ---- values ---- */

static uint64_t count(const struct ps_sketch *base)
{
  return ((const struct ps_kll *)base)->count;
}

/* Room for what adds `weight`, on n levels or fewer. */
static enum ps_status prepare(struct ps_kll *kll, uint32_t n, uint64_t weight,
                              struct ps_error *error)
{
  const uint64_t count = kll->count + weight;
  enum ps_status status = ps_check_total(kll->count, weight, error);
  if (status != PS_OK || (count <= kll->enough && n <= kll->levels.n)) {
    return status;
  }
  return ps_kll_reserve(kll, n > kll->levels.n ? n : kll->levels.n, count, error);
}

static void compact(struct ps_kll *kll)
{
  ps_kll_settle(kll);
  ps_levels_compact(&kll->levels, kll->sketch.seed);
  kll->viewed = 0;
}

/* Joins the extremes with others. */
static void extend(struct ps_kll *kll, double min, double max)
{
  kll->min = kll->count == 0 || min < kll->min ? min : kll->min;
  kll->max = kll->count == 0 || max > kll->max ? max : kll->max;
}

static void add_one(struct ps_kll *kll, double x)
{
  if (ps_levels_left(&kll->levels) == 0) {
    compact(kll);
  }
  ps_levels_push(&kll->levels, ps_order_of(x));
  kll->sorted = false;
  extend(kll, x, x);
  ps_sum_add(&kll->sum, x);
  kll->count++;
}

static void add_weighted(struct ps_kll *kll, double x, uint64_t weight)
{
  struct ps_levels *levels = &kll->levels;
  ps_levels_raise(levels, 64 - ps_leading_zeros(weight));
  if (ps_levels_left(levels) < ps_ones(weight)) {
    compact(kll);
  }
  ps_levels_insert(levels, ps_order_of(x), weight);
  kll->sorted = false;
  kll->viewed = 0;
  extend(kll, x, x);
  ps_sum_add_weighted(&kll->sum, x, weight);
  kll->count += weight;
}

static enum ps_status prepare_batch(struct ps_kll *kll, const uint64_t *weights, size_t n,
                                    struct ps_error *error)
{
  uint64_t total = n, bits = 1;
  if (weights != NULL) {
    total = 0;
    for (size_t i = 0; i < n && total <= PS_COUNT_MAX; i++) {
      total += weights[i];
      bits |= weights[i];
    }
  }
  return prepare(kll, 64 - ps_leading_zeros(bits), total, error);
}

/* -0.0 + 0.0 is 0.0. */
static enum ps_status add_values(struct ps_sketch *base, const double *values,
                                 const uint64_t *weights, size_t n, size_t *changed,
                                 struct ps_error *error)
{
  struct ps_kll *kll = (struct ps_kll *)base;
  enum ps_status status = prepare_batch(kll, weights, n, error);
  *changed = 0;
  if (status != PS_OK) {
    return status;
  }
  for (size_t i = 0; i < n; i++) {
    const uint64_t weight = weights != NULL ? weights[i] : 1;
    if (weight == 1) {
      add_one(kll, values[i] + 0.0);
    } else if (weight > 1) {
      add_weighted(kll, values[i] + 0.0, weight);
    }
    *changed += weight > 0;
  }
  return PS_OK;
}

/* ---- merging ---- */

/* What the source's coins decided already is in its items, and half of a pair in them can find its
 * other half in the target. */
static void join_coins(struct ps_coins *target, struct ps_coins source)
{
  target->random += source.random;
  target->side |= source.side & ~target->pending;
  target->pending |= source.pending;
}

/* Levels of both, with twice the room, lie where the view is until they are compacted. */
static void join_levels(struct ps_levels *target, const struct ps_levels *source, void *workspace,
                        uint32_t k, uint64_t seed)
{
  struct ps_levels joined;
  ps_levels_init(&joined, k);
  ps_levels_move(&joined, workspace, 2 * target->room);
  ps_levels_join(&joined, target, source);
  joined.coins = target->coins;
  join_coins(&joined.coins, source->coins);
  if (ps_levels_size(&joined) > joined.most) {
    ps_levels_compact(&joined, seed);
  }
  ps_levels_move(&joined, target->items, target->room);
  *target = joined;
}

static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
  struct ps_kll *target = (struct ps_kll *)into;
  struct ps_kll *source = (struct ps_kll *)from;
  if (source->count == 0) {
    return PS_OK;
  }
  enum ps_status status = prepare(target, source->levels.n, source->count, error);
  if (status != PS_OK) {
    return status;
  }
  ps_kll_settle(target);
  ps_kll_settle(source);
  join_levels(&target->levels, &source->levels, target->view, target->k, into->seed);
  target->viewed = 0;
  extend(target, source->min, source->max);
  ps_sum_join(&target->sum, source->sum);
  target->count += source->count;
  return PS_OK;
}

static bool same_levels(const struct ps_levels *a, const struct ps_levels *b)
{
  const uint32_t size = ps_levels_size(a);
  if (a->n != b->n || size != ps_levels_size(b)) {
    return false;
  }
  for (uint32_t h = 0; h < a->n; h++) {
    if (ps_level_size(a, h) != ps_level_size(b, h)) {
      return false;
    }
  }
  return memcmp(a->items + a->start[0], b->items + b->start[0], size * sizeof *a->items) == 0;
}

/* Numbers are compared as such: none is -0.0 or none at all, but for the smaller part of the sum.
 */
static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  struct ps_kll *x = (struct ps_kll *)a, *y = (struct ps_kll *)b;
  ps_kll_settle(x);
  ps_kll_settle(y);
  return x->min == y->min && x->max == y->max && x->sum.high == y->sum.high &&
         x->sum.low == y->sum.low && x->sum.shift == y->sum.shift &&
         x->levels.coins.random == y->levels.coins.random &&
         x->levels.coins.pending == y->levels.coins.pending &&
         x->levels.coins.side == y->levels.coins.side && same_levels(&x->levels, &y->levels);
}

/* ---- bytes ---- */

static enum ps_status decode(struct ps_sketch *base, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  (void)is_flat;
  enum ps_status status = init(base, error);
  if (status == PS_OK) {
    status = ps_kll_read((struct ps_kll *)base, bytes, n, error);
    if (status != PS_OK) {
      release(base);
    }
  }
  return status;
}

/* ---- reports ---- */

static void describe(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_kll *kll = (const struct ps_kll *)base;
  report->number(report, "rank_error", ps_kll_rank_error(kll));
  report->number(report, "histogram_error", ps_kll_histogram_error(kll));
}

static void inspect(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_kll *kll = (const struct ps_kll *)base;
  report->integer(report, "levels", kll->levels.n);
  report->integer(report, "retained", ps_levels_size(&kll->levels));
}

const struct ps_kind ps_kll = {
    .name = "kll",
    .id = 49,
    .hash_id = PS_HASH_NONE,
    .seeded = true,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_kll),
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
    .encoded_size = ps_kll_encoded_size,
    .encoded_max = ps_kll_encoded_max,
    .encode = ps_kll_encode,
    .decode = decode,
    .describe = describe,
    .inspect = inspect,
    .add_values = add_values,
    .quantiles = &ps_kll_quantiles,
};
