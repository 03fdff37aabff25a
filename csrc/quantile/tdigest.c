#include "quantile/tdigest.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/math.h"
#include "quantile/quantile.h"

#define COMPRESSION_MIN 20
#define COMPRESSION_MAX 10000

/* Entries that an empty digest has room for. */
#define FIRST_ROOM 16

static const struct ps_option options[] = {
    {"compression", PS_OPTION_INTEGER, COMPRESSION_MIN, COMPRESSION_MAX,
     "an integer from 20 to 10000", false},
    {0},
};

static const struct ps_field fields[] = {
    {"compression", PS_FIELD_U32, offsetof(struct ps_tdigest, compression), true},
    {0},
};

/* ---- parameters ---- */

static enum ps_status plan(struct ps_sketch *base, const struct ps_options *asked,
                           struct ps_error *error)
{
  (void)error;
  ((struct ps_tdigest *)base)->compression = asked->given[0] ? (uint32_t)asked->value[0] : 100;
  return PS_OK;
}

static enum ps_status validate(struct ps_sketch *base, struct ps_error *error)
{
  uint32_t compression = ((const struct ps_tdigest *)base)->compression;
  if (compression < COMPRESSION_MIN || compression > COMPRESSION_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "compression out of range (expected %s, got %" PRIu32 ")",
                   options[0].range, compression);
  }
  return PS_OK;
}

/* What a list is joined to, at most. */
static uint32_t joined_max(const struct ps_tdigest *sketch)
{
  return 2 * sketch->compression;
}

uint32_t ps_tdigest_list_max(const struct ps_tdigest *sketch, bool joined, uint64_t added)
{
  uint64_t new = added < PS_INSERT_MAX ? added : PS_INSERT_MAX;
  return (joined || added > PS_INSERT_MAX ? joined_max(sketch) : 0) + (uint32_t) new;
}

/* The most that a list of any digest of this compression can have. */
static uint32_t room_max(const struct ps_tdigest *sketch)
{
  return ps_tdigest_list_max(sketch, true, PS_INSERT_MAX);
}

/* Of a list that is never joined, no room is kept for what it would be joined to. */
static size_t size_with(const struct ps_tdigest *sketch, uint32_t room)
{
  size_t pairs = room > joined_max(sketch) ? (size_t)room + joined_max(sketch) : room;
  return sizeof(struct ps_tdigest_store) + pairs * sizeof(struct ps_pair);
}

static uint64_t size(const struct ps_sketch *base)
{
  const struct ps_tdigest *sketch = (const struct ps_tdigest *)base;
  return size_with(sketch, room_max(sketch));
}

/* ---- memory ---- */

/* Of a store that has been moved, or has other room. */
static void arrange(struct ps_tdigest *sketch, uint32_t room)
{
  struct ps_tdigest_store *store = ps_tdigest_store(sketch);
  store->room = room;
  store->list.at = store->pairs;
  store->joined = (struct ps_centroids){.at = store->pairs + room};
}

static void set_empty(struct ps_tdigest *sketch)
{
  struct ps_tdigest_store *store = ps_tdigest_store(sketch);
  store->list = (struct ps_centroids){.n = 0};
  store->waiting = 0;
  arrange(sketch, store->room);
  sketch->added = 0;
  sketch->joined = false;
  sketch->count = 0;
}

/* The block in another size, or a first one; what is in it stays. */
static enum ps_status resize(struct ps_tdigest *sketch, uint32_t room, struct ps_error *error)
{
  struct ps_sketch *base = &sketch->sketch;
  const struct ps_memory *memory = base->memory;
  size_t bytes = size_with(sketch, room);
  void *block = memory->resize(memory->context, base->payload, (size_t)base->held, bytes);
  if (block == NULL) {
    return ps_no_memory(error, bytes);
  }
  base->payload = block;
  base->held = bytes;
  arrange(sketch, room);
  return PS_OK;
}

static enum ps_status init(struct ps_sketch *base, struct ps_error *error)
{
  struct ps_tdigest *sketch = (struct ps_tdigest *)base;
  enum ps_status status = resize(sketch, FIRST_ROOM, error);
  if (status == PS_OK) {
    set_empty(sketch);
  }
  return status;
}

/* When nothing can be given back, all is kept. */
static void clear(struct ps_sketch *base)
{
  struct ps_tdigest *sketch = (struct ps_tdigest *)base;
  struct ps_error error;
  resize(sketch, FIRST_ROOM, &error);
  set_empty(sketch);
}

static void release(struct ps_sketch *sketch)
{
  const struct ps_memory *memory = sketch->memory;
  if (sketch->payload != NULL) {
    memory->resize(memory->context, sketch->payload, (size_t)sketch->held, 0);
  }
  sketch->payload = NULL;
  sketch->held = 0;
}

static enum ps_status clone(struct ps_sketch *base, const struct ps_sketch *source,
                            struct ps_error *error)
{
  struct ps_tdigest *copy = (struct ps_tdigest *)base;
  const struct ps_memory *memory = base->memory;
  base->payload = memory->resize(memory->context, NULL, 0, (size_t)source->held);
  if (base->payload == NULL) {
    base->held = 0;
    return ps_no_memory(error, source->held);
  }
  memcpy(base->payload, source->payload, (size_t)source->held);
  arrange(copy, ps_tdigest_store(copy)->room);
  return PS_OK;
}

enum ps_status ps_tdigest_reserve(struct ps_tdigest *sketch, bool joined, uint64_t added,
                                  struct ps_error *error)
{
  const uint32_t max = room_max(sketch);
  const uint32_t entries = joined || added > PS_INSERT_MAX ? max : (uint32_t)added;
  uint32_t room = FIRST_ROOM;
  if (entries <= ps_tdigest_store(sketch)->room) {
    return PS_OK;
  }
  while (room < entries) {
    room *= 2;
  }
  return resize(sketch, room < max ? room : max, error);
}

/* ---- the list ---- */

const struct ps_centroids *ps_tdigest_list(const struct ps_tdigest *sketch)
{
  struct ps_tdigest_store *store = ps_tdigest_store(sketch);
  if (store->waiting > 0) {
    ps_centroids_insert(&store->list, store->waiting);
    store->waiting = 0;
  }
  return &store->list;
}

const struct ps_centroids *ps_tdigest_centroids(const struct ps_tdigest *sketch)
{
  struct ps_tdigest_store *store = ps_tdigest_store(sketch);
  const struct ps_centroids *list = ps_tdigest_list(sketch);
  if (list->n <= joined_max(sketch)) {
    return list;
  }
  if (store->joined.n == 0) {
    ps_centroids_join(&store->joined, list, sketch->compression);
  }
  return &store->joined;
}

/* Makes the list one that there is room for. */
static void replace(struct ps_tdigest *sketch, const struct ps_centroids *list)
{
  struct ps_tdigest_store *store = ps_tdigest_store(sketch);
  memcpy(store->list.at, list->at, list->n * sizeof *list->at);
  store->list.n = list->n;
  store->list.weight = list->weight;
  store->joined.n = 0;
}

/* The digest becomes what its answers were taken from. */
static void join(struct ps_tdigest *sketch)
{
  const struct ps_centroids *centroids = ps_tdigest_centroids(sketch);
  if (centroids == &ps_tdigest_store(sketch)->joined) {
    replace(sketch, centroids);
  }
  sketch->added = 0;
  sketch->joined = true;
}

/* ---- values ---- */

static uint64_t count(const struct ps_sketch *sketch)
{
  return ((const struct ps_tdigest *)sketch)->count;
}

/* How much a batch weighs, more than 2^53 being as good as any such number, and how many of its
 * values weigh anything. */
static uint64_t total_of(const uint64_t *weights, size_t n, uint64_t *values)
{
  uint64_t total = 0;
  *values = n;
  if (weights == NULL) {
    return n;
  }
  for (size_t i = 0; i < n && total <= PS_COUNT_MAX; i++) {
    total += weights[i];
    *values -= weights[i] == 0;
  }
  return total;
}

static void add(struct ps_tdigest *sketch, double x, uint64_t weight)
{
  struct ps_tdigest_store *store = ps_tdigest_store(sketch);
  if (sketch->added == PS_INSERT_MAX) {
    join(sketch);
  }
  store->list.at[store->list.n + store->waiting++] =
      (struct ps_pair){ps_order_of(x + 0.0), weight}; /* -0.0 + 0.0 is 0.0 */
  sketch->added++;
  sketch->count += weight;
}

/* Room for a batch is made before its first value is added: nothing can fail in between. */
static enum ps_status add_values(struct ps_sketch *base, const double *values,
                                 const uint64_t *weights, size_t n, size_t *changed,
                                 struct ps_error *error)
{
  struct ps_tdigest *sketch = (struct ps_tdigest *)base;
  uint64_t more;
  enum ps_status status = ps_check_total(sketch->count, total_of(weights, n, &more), error);
  *changed = 0;
  if (status == PS_OK) {
    status = ps_tdigest_reserve(sketch, sketch->joined, sketch->added + more, error);
  }
  if (status != PS_OK) {
    return status;
  }
  ps_tdigest_store(sketch)->joined.n = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t weight = weights != NULL ? weights[i] : 1;
    if (weight > 0) {
      add(sketch, values[i], weight);
      ++*changed;
    }
  }
  return PS_OK;
}

/* ---- two of them ---- */

/* How many values count as added once the source is in: those of both while it was never joined,
 * else what it has been joined to counts as well. An empty target becomes the source. */
static uint32_t added_by(const struct ps_tdigest *target, const struct ps_tdigest *source)
{
  if (target->count == 0) {
    return source->added;
  }
  return target->added + (source->joined ? ps_tdigest_list(source)->n : source->added);
}

/* The union as it is, when no more have been added than a digest takes before it is joined, and
 * joined otherwise: digests that are merged in pairs, and pairs of pairs, are not joined each time.
 * The scratch has room for both lists and for what they are joined to. */
static enum ps_status merge_lists(struct ps_tdigest *target, const struct ps_tdigest *source,
                                  struct ps_pair *scratch, struct ps_error *error)
{
  const struct ps_centroids *a = ps_tdigest_list(target), *b = ps_tdigest_list(source);
  struct ps_centroids both = {.at = scratch}, joined = {.at = scratch + a->n + b->n};
  uint32_t added = added_by(target, source);
  bool ever_joined = target->joined || source->joined || added > PS_INSERT_MAX;
  ps_centroids_unite(&both, a, b);
  if (added > PS_INSERT_MAX) {
    added = 0;
    if (both.n > joined_max(target)) {
      ps_centroids_join(&joined, &both, target->compression);
      both = joined;
    }
  }
  enum ps_status status = ps_tdigest_reserve(target, ever_joined, added, error);
  if (status == PS_OK) {
    replace(target, &both);
    target->added = added;
    target->joined = ever_joined;
    target->count = both.weight;
  }
  return status;
}

static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
  struct ps_tdigest *target = (struct ps_tdigest *)into;
  const struct ps_tdigest *source = (const struct ps_tdigest *)from;
  const struct ps_memory *memory = into->memory;
  enum ps_status status = ps_check_total(target->count, source->count, error);
  if (status != PS_OK || source->count == 0) {
    return status;
  }
  const struct ps_centroids *other = ps_tdigest_list(source);
  size_t bytes =
      ((size_t)ps_tdigest_list(target)->n + other->n + joined_max(target)) * sizeof(struct ps_pair);
  struct ps_pair *scratch = memory->resize(memory->context, NULL, 0, bytes);
  if (scratch == NULL) {
    return ps_no_memory(error, bytes);
  }
  status = merge_lists(target, source, scratch, error);
  memory->resize(memory->context, scratch, bytes, 0);
  return status;
}

static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  const struct ps_tdigest *x = (const struct ps_tdigest *)a, *y = (const struct ps_tdigest *)b;
  if (x->count != y->count || x->added != y->added || x->joined != y->joined) {
    return false;
  }
  const struct ps_centroids *p = ps_tdigest_list(x), *q = ps_tdigest_list(y);
  return p->n == q->n && memcmp(p->at, q->at, p->n * sizeof *p->at) == 0;
}

/* ---- bytes ---- */

static enum ps_status decode(struct ps_sketch *base, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  (void)is_flat;
  enum ps_status status = init(base, error);
  if (status == PS_OK) {
    status = ps_tdigest_read((struct ps_tdigest *)base, bytes, n, error);
    if (status != PS_OK) {
      release(base);
    }
  }
  return status;
}

/* ---- reports ---- */

static void describe(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_tdigest *sketch = (const struct ps_tdigest *)base;
  report->integer(report, "max_centroids", joined_max(sketch));
}

static void inspect(const struct ps_sketch *base, struct ps_report *report)
{
  const struct ps_tdigest *sketch = (const struct ps_tdigest *)base;
  const struct ps_centroids *centroids = ps_tdigest_centroids(sketch);
  bool exact = true;
  for (size_t i = 0; i < centroids->n && sketch->joined; i++) {
    exact = exact && !ps_centroid_mixed(centroids, i);
  }
  report->integer(report, "centroids", centroids->n);
  report->integer(report, "buffered", sketch->added);
  report->boolean(report, "exact", exact);
}

const struct ps_kind ps_tdigest = {
    .name = "tdigest",
    .id = 48,
    .hash_id = PS_HASH_NONE,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_tdigest),
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
    .encoded_size = ps_tdigest_encoded_size,
    .encoded_max = ps_tdigest_encoded_max,
    .encode = ps_tdigest_encode,
    .decode = decode,
    .describe = describe,
    .inspect = inspect,
    .add_values = add_values,
    .quantiles = &ps_tdigest_quantiles,
};
