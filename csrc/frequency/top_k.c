#include "frequency/top_k.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/sketch.h"
#include "frequency/top_k_bytes.h"

enum { OPTION_K = PS_COUNT_MIN_SHAPE_OPTIONS };

static const struct ps_option options[] = {
    {PS_COUNT_MIN_EPSILON},
    {PS_COUNT_MIN_DELTA},
    {PS_COUNT_MIN_WIDTH},
    {PS_COUNT_MIN_DEPTH},
    {"k", PS_OPTION_INTEGER, 1, PS_RANKING_MAX, "an integer from 1 to 1e6", false},
    {0},
};

static const struct ps_field fields[] = {
    {"k", PS_FIELD_U32, offsetof(struct ps_top_k, k), true},
    {"width", PS_FIELD_U64, offsetof(struct ps_top_k, rest.width), true},
    {"depth", PS_FIELD_U32, offsetof(struct ps_top_k, rest.depth), true},
    {"epsilon", PS_FIELD_DOUBLE, offsetof(struct ps_top_k, rest.epsilon), false},
    {"delta", PS_FIELD_DOUBLE, offsetof(struct ps_top_k, rest.delta), false},
    {0},
};

/* ---- parameters ---- */

/* What is the same for all. */
static void set_counters(struct ps_count_min *rest)
{
  rest->sketch.kind = &ps_count_min;
  rest->counter_bits = 32;
  rest->conservative = true;
}

static enum ps_status plan(struct ps_sketch *sketch, const struct ps_options *asked,
                           struct ps_error *error)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  struct ps_options shape = {{0}, {false}};
  for (int i = 0; i < PS_COUNT_MIN_SHAPE_OPTIONS; i++) {
    shape.value[i] = asked->value[i];
    shape.given[i] = asked->given[i];
  }
  top_k->k = asked->given[OPTION_K] ? (uint32_t)asked->value[OPTION_K] : 10;
  enum ps_status status = ps_count_min.plan(&top_k->rest.sketch, &shape, error);
  set_counters(&top_k->rest);
  return status;
}

static enum ps_status validate(struct ps_sketch *sketch, struct ps_error *error)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  if (top_k->k < 1 || top_k->k > PS_RANKING_MAX) {
    return ps_fail(error, PS_ERR_RANGE, "k out of range (expected %s, got %" PRIu32 ")",
                   options[OPTION_K].range, top_k->k);
  }
  set_counters(&top_k->rest);
  return ps_count_min.validate(&top_k->rest.sketch, error);
}

uint64_t ps_top_k_rest_size(const struct ps_top_k *top_k)
{
  return ps_count_min.size(&top_k->rest.sketch);
}

/* Without the bytes of the keys. */
static uint64_t size(const struct ps_sketch *sketch)
{
  const struct ps_top_k *top_k = (const struct ps_top_k *)sketch;
  const uint64_t rest = ps_top_k_rest_size(top_k), list = ps_ranking_size(top_k->k);
  return rest > UINT64_MAX - list ? UINT64_MAX : rest + list;
}

/* ---- memory ---- */

static enum ps_status no_memory(struct ps_error *error)
{
  return ps_fail(error, PS_ERR_MEMORY, "not enough memory");
}

static enum ps_status too_large(uint64_t bytes, uint64_t limit, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_FULL, "full: needs %" PRIu64 " bytes, limit %" PRIu64 " (max_bytes)",
                 bytes, limit);
}

static void tell_held(struct ps_top_k *top_k)
{
  top_k->sketch.held = top_k->rest.sketch.held + ps_ranking_held(&top_k->ranking);
}

enum ps_status ps_top_k_take(struct ps_top_k *top_k, struct ps_error *error)
{
  const struct ps_memory *memory = top_k->sketch.memory;
  void *payload = memory->resize(memory->context, NULL, 0, ps_top_k_rest_size(top_k));
  top_k->sketch.payload = payload;
  return payload != NULL ? ps_init(&top_k->rest.sketch, payload, NULL, error) : no_memory(error);
}

static void release(struct ps_sketch *sketch)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  const struct ps_memory *memory = sketch->memory;
  if (sketch->payload != NULL) {
    ps_ranking_free(&top_k->ranking, memory);
    memory->resize(memory->context, sketch->payload, ps_top_k_rest_size(top_k), 0);
    ps_release(&top_k->rest.sketch);
  }
  sketch->payload = NULL;
  sketch->held = 0;
}

static enum ps_status init(struct ps_sketch *sketch, struct ps_error *error)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  enum ps_status status = ps_top_k_take(top_k, error);
  if (status == PS_OK) {
    ps_count_min.clear(&top_k->rest.sketch);
    tell_held(top_k);
  }
  return status;
}

static void clear(struct ps_sketch *sketch)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  ps_ranking_free(&top_k->ranking, sketch->memory);
  ps_count_min.clear(&top_k->rest.sketch);
  top_k->total = 0;
  top_k->saturated = false;
  tell_held(top_k);
}

static enum ps_status clone(struct ps_sketch *sketch, const struct ps_sketch *source,
                            struct ps_error *error)
{
  struct ps_top_k *copy = (struct ps_top_k *)sketch;
  const struct ps_top_k *from = (const struct ps_top_k *)source;
  copy->ranking = (struct ps_ranking){.n = 0};
  enum ps_status status = ps_top_k_take(copy, error);
  if (status == PS_OK) {
    memcpy(sketch->payload, source->payload, copy->rest.sketch.held);
    const uint32_t room = ps_ranking_room(from->k, from->ranking.n);
    if (!ps_ranking_copy(&copy->ranking, sketch->memory, &from->ranking, 0, room)) {
      status = no_memory(error);
    }
  }
  if (status == PS_OK) {
    tell_held(copy);
  } else {
    release(sketch);
  }
  return status;
}

/* ---- keys ---- */

static uint64_t add_up(struct ps_top_k *top_k, uint64_t a, uint64_t b)
{
  top_k->saturated |= b > PS_COUNT_MAX - a;
  return ps_add_saturating(a, b, PS_COUNT_MAX);
}

static bool is_full(const struct ps_top_k *top_k)
{
  return top_k->ranking.n == top_k->k;
}

/* Does the key, in its new place or that of the least, keep to the limit? */
static enum ps_status check_room(const struct ps_top_k *top_k, size_t length,
                                 struct ps_error *error)
{
  const struct ps_ranking *ranking = &top_k->ranking;
  const bool full = is_full(top_k);
  const uint64_t others = ranking->key_bytes - (full ? ps_ranking_least(ranking)->length : 0);
  const uint64_t bytes = top_k->rest.sketch.held + others + length +
                         ps_ranking_size(ps_ranking_room(top_k->k, ranking->n + !full));
  if (bytes > top_k->sketch.max_bytes) {
    return too_large(bytes, top_k->sketch.max_bytes, error);
  }
  if (length > UINT32_MAX) {
    return ps_fail(error, PS_ERR_FULL, "full: a key of %zu bytes, the longest has 2^32 - 1",
                   length);
  }
  return PS_OK;
}

static void insert(struct ps_top_k *top_k, const struct ps_ranked *entry)
{
  if (is_full(top_k)) {
    const struct ps_ranked *least = ps_ranking_least(&top_k->ranking);
    ps_count_min_add(&top_k->rest, least->hash, ps_ranked_exact(least));
    ps_ranking_replace(&top_k->ranking, top_k->sketch.memory, entry);
  } else {
    ps_ranking_insert(&top_k->ranking, entry);
  }
}

/* A key that enters: with a copy of its bytes or, for those who have seen to the room, without. */
static enum ps_status enter(struct ps_top_k *top_k, const struct ps_key *key, uint64_t count,
                            uint64_t error_of_count, bool borrow, struct ps_error *error)
{
  const struct ps_memory *memory = top_k->sketch.memory;
  enum ps_status status = check_room(top_k, key->length, error);
  if (status != PS_OK) {
    return status;
  }
  struct ps_ranked entry = {
      .hash = key->hash,
      .count = count,
      .error = error_of_count,
      .key = key->length > 0 ? key->bytes : NULL,
      .length = (uint32_t)key->length,
      .borrowed = borrow && key->length > 0,
  };
  if (!borrow) {
    const uint32_t n = top_k->ranking.n + !is_full(top_k);
    const uint32_t room = ps_ranking_room(top_k->k, n);
    if (!ps_ranked_own(&entry, memory)) {
      return no_memory(error);
    }
    if (room > top_k->ranking.capacity && !ps_ranking_resize(&top_k->ranking, memory, room)) {
      ps_ranked_disown(&entry, memory);
      return no_memory(error);
    }
  }
  insert(top_k, &entry);
  tell_held(top_k);
  return PS_OK;
}

/* A key that is not in the ranking. */
static enum ps_status add_other(struct ps_top_k *top_k, const struct ps_key *key, uint64_t n,
                                bool borrow, uint64_t *estimate, struct ps_error *error)
{
  const uint64_t most = is_full(top_k) ? ps_ranking_least(&top_k->ranking)->count : 0;
  const uint64_t rest = ps_count_min_add_within(&top_k->rest, key->hash, n, most);
  if (rest + n <= most || n == 0) {
    *estimate = ps_add_saturating(rest, n, UINT32_MAX);
    return PS_OK;
  }
  *estimate = ps_add_saturating(rest, n, PS_COUNT_MAX);
  enum ps_status status = enter(top_k, key, *estimate, rest, borrow, error);
  if (status == PS_OK) {
    top_k->saturated |= n > PS_COUNT_MAX - rest;
  }
  return status;
}

static enum ps_status add(struct ps_top_k *top_k, const struct ps_key *key, uint64_t n, bool borrow,
                          uint64_t *estimate, struct ps_error *error)
{
  enum ps_status status = PS_OK;
  struct ps_ranked *entry = ps_ranking_find(&top_k->ranking, key);
  if (entry != NULL) {
    *estimate = add_up(top_k, entry->count, n);
    entry->count = *estimate;
  } else {
    status = add_other(top_k, key, n, borrow, estimate, error);
  }
  if (status == PS_OK) {
    top_k->total = add_up(top_k, top_k->total, n);
  }
  return status;
}

enum ps_status ps_top_k_add(struct ps_top_k *top_k, const struct ps_key *key, uint64_t n,
                            uint64_t *estimate, struct ps_error *error)
{
  return add(top_k, key, n, false, estimate, error);
}

uint64_t ps_top_k_frequency(const struct ps_top_k *top_k, const struct ps_key *key)
{
  const struct ps_ranked *entry = ps_ranking_find(&top_k->ranking, key);
  return entry != NULL ? entry->count : ps_count_min_frequency(&top_k->rest, key->hash);
}

/* ---- batches ----
 *
 * The keys of a batch that enter borrow their bytes from the caller, and those that are still there
 * in the end get copies: so whatever takes memory comes before the first change or after the last.
 * Should it be refused in the end, the bytes go to a pool that was taken beforehand. */

/* Room for the keys of a batch that are there in the end: of all that come, the k longest at most.
 */
static uint64_t pool_size(const struct ps_top_k *top_k, const struct ps_key *keys, size_t n)
{
  uint64_t sum = 0, longest = 0, most;
  for (size_t i = 0; i < n; i++) {
    sum += keys[i].length;
    longest = keys[i].length > longest ? keys[i].length : longest;
  }
  return ps_multiply(longest, top_k->k, &most) && most < sum ? most : sum;
}

/* Entries that there will be after the batch, at most. */
static uint32_t entries_with(const struct ps_top_k *top_k, const struct ps_key *keys, size_t n)
{
  const struct ps_ranking *ranking = &top_k->ranking;
  size_t left = top_k->k - ranking->n, fresh = n;
  if (n > ranking->capacity - ranking->n && left > 0) {
    fresh = 0;
    for (size_t i = 0; i < n && fresh < left; i++) {
      fresh += ps_ranking_find(ranking, &keys[i]) == NULL;
    }
  }
  return ranking->n + (uint32_t)(fresh < left ? fresh : left);
}

static void own_all(struct ps_top_k *top_k)
{
  for (uint32_t i = 0; i < top_k->ranking.n; i++) {
    ps_ranking_own(&top_k->ranking, top_k->sketch.memory, &top_k->ranking.entries[i]);
  }
}

static void own_batch(struct ps_top_k *top_k, const struct ps_key *keys, size_t n)
{
  for (size_t i = 0; i < n && top_k->ranking.borrowed_bytes > 0; i++) {
    struct ps_ranked *entry = ps_ranking_find(&top_k->ranking, &keys[i]);
    if (entry != NULL) {
      ps_ranking_own(&top_k->ranking, top_k->sketch.memory, entry);
    }
  }
}

/* Takes the memory that a batch may need. */
static enum ps_status prepare(struct ps_top_k *top_k, const struct ps_key *keys, size_t n,
                              struct ps_error *error)
{
  struct ps_ranking *ranking = &top_k->ranking;
  const struct ps_memory *memory = top_k->sketch.memory;
  const uint32_t room = ps_ranking_room(top_k->k, entries_with(top_k, keys, n));
  if (ranking->pool != NULL) {
    own_all(top_k);
    if (ranking->borrowed_bytes > 0) {
      return no_memory(error);
    }
    ps_ranking_settle(ranking, memory);
  }
  if (!ps_ranking_take_pool(ranking, memory, pool_size(top_k, keys, n))) {
    return no_memory(error);
  }
  if (room > ranking->capacity && !ps_ranking_resize(ranking, memory, room)) {
    ps_ranking_settle(ranking, memory);
    return no_memory(error);
  }
  return PS_OK;
}

/* Gives back what was not needed, as far as it is taken back. */
static void settle(struct ps_top_k *top_k, const struct ps_key *keys, size_t n)
{
  struct ps_ranking *ranking = &top_k->ranking;
  if (ranking->n < n) {
    own_all(top_k);
  } else {
    own_batch(top_k, keys, n);
  }
  ps_ranking_settle(ranking, top_k->sketch.memory);
  ps_ranking_resize(ranking, top_k->sketch.memory, ps_ranking_room(top_k->k, ranking->n));
}

static enum ps_status add_keys(struct ps_sketch *sketch, const struct ps_key *keys, size_t n,
                               size_t *changed, struct ps_error *error)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  size_t added = 0;
  enum ps_status status = prepare(top_k, keys, n, error);
  if (status == PS_OK) {
    uint64_t estimate;
    while (added < n && status == PS_OK) {
      status = add(top_k, &keys[added], 1, true, &estimate, error);
      added += status == PS_OK;
    }
    settle(top_k, keys, added);
  }
  tell_held(top_k);
  *changed = added;
  return status;
}

/* ---- the whole ---- */

static uint64_t count(const struct ps_sketch *sketch)
{
  return ((const struct ps_top_k *)sketch)->total;
}

bool ps_top_k_saturated(const struct ps_top_k *top_k)
{
  return top_k->saturated || ps_count_min_saturated(&top_k->rest);
}

double ps_top_k_error_bound(const struct ps_top_k *top_k)
{
  return ps_count_min_error_bound(&top_k->rest);
}

/* The odd one of an exact part goes to the sketch, whose halves are never below the truth's: were
 * both parts of a count rounded down, they would come to less than half of it. */
void ps_top_k_halve(struct ps_top_k *top_k)
{
  struct ps_ranking *ranking = &top_k->ranking;
  const struct ps_memory *memory = top_k->sketch.memory;
  ps_ranking_sort(ranking); /* the order of conservative updates is in the counters */
  for (uint32_t i = 0; i < ranking->n; i++) {
    struct ps_ranked *entry = &ranking->entries[ranking->heap[i]];
    const uint64_t exact = ps_ranked_exact(entry);
    ps_count_min_add(&top_k->rest, entry->hash, exact % 2);
    entry->count /= 2;
    entry->error = entry->count - exact / 2;
  }
  ps_count_min_decay(&top_k->rest, 0.5);
  top_k->total /= 2;
  ps_ranking_sweep(ranking, memory);
  ps_ranking_resize(ranking, memory, ps_ranking_room(top_k->k, ranking->n));
  tell_held(top_k);
}

/* Inserts what the entries of `from` come to in the union with `other`, unless they are there. The
 * other stream has a key that it does not list at most as often as its sketch says. */
static void unite(struct ps_top_k *merged, struct ps_ranking *both, const struct ps_top_k *from,
                  const struct ps_top_k *other)
{
  for (uint32_t i = 0; i < from->ranking.n; i++) {
    struct ps_ranked entry = from->ranking.entries[i];
    const struct ps_key key = {entry.key, entry.length, entry.hash};
    if (ps_ranking_find(both, &key) != NULL) {
      continue;
    }
    const struct ps_ranked *twin = ps_ranking_find(&other->ranking, &key);
    const uint64_t exact = ps_ranked_exact(&entry) + (twin != NULL ? ps_ranked_exact(twin) : 0);
    entry.count = add_up(merged, entry.count, ps_top_k_frequency(other, &key));
    entry.error = entry.count > exact ? entry.count - exact : 0;
    entry.borrowed = entry.length > 0;
    ps_ranking_insert(both, &entry);
  }
}

/* Gives the union the highest of all entries, those from `first` on. */
static enum ps_status keep(struct ps_top_k *merged, const struct ps_ranking *both, uint32_t first,
                           struct ps_error *error)
{
  const struct ps_memory *memory = merged->sketch.memory;
  const uint32_t room = ps_ranking_room(merged->k, both->n - first);
  if (!ps_ranking_copy(&merged->ranking, memory, both, first, room)) {
    return no_memory(error);
  }
  tell_held(merged);
  if (merged->sketch.held > merged->sketch.max_bytes) {
    ps_ranking_free(&merged->ranking, memory);
    return too_large(merged->sketch.held, merged->sketch.max_bytes, error);
  }
  return PS_OK;
}

static enum ps_status merge(struct ps_sketch *into, const struct ps_sketch *from,
                            struct ps_error *error)
{
  struct ps_top_k *target = (struct ps_top_k *)into, merged = *target;
  const struct ps_top_k *source = (const struct ps_top_k *)from;
  struct ps_ranking both = {.n = 0};
  merged.ranking = both;
  if (!ps_ranking_resize(&both, into->memory, target->ranking.n + source->ranking.n)) {
    return no_memory(error);
  }
  unite(&merged, &both, target, source);
  unite(&merged, &both, source, target);
  ps_ranking_sort(&both);
  const uint32_t dropped = both.n > target->k ? both.n - target->k : 0;
  enum ps_status status = keep(&merged, &both, dropped, error);
  if (status == PS_OK) {
    ps_count_min.merge(&merged.rest.sketch, &source->rest.sketch, error); /* which never fails */
    for (uint32_t i = 0; i < dropped; i++) {
      const struct ps_ranked *entry = &both.entries[both.heap[i]];
      ps_count_min_add(&merged.rest, entry->hash, ps_ranked_exact(entry));
    }
    merged.total = add_up(&merged, target->total, source->total);
    merged.saturated |= source->saturated;
    ps_ranking_free(&target->ranking, into->memory);
    *target = merged;
  }
  ps_ranking_free(&both, into->memory);
  return status;
}

static bool equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  const struct ps_top_k *x = (const struct ps_top_k *)a, *y = (const struct ps_top_k *)b;
  if (x->total != y->total || x->saturated != y->saturated || x->ranking.n != y->ranking.n ||
      memcmp(a->payload, b->payload, x->rest.sketch.held) != 0) {
    return false;
  }
  for (uint32_t i = 0; i < x->ranking.n; i++) {
    const struct ps_ranked *entry = &x->ranking.entries[i];
    const struct ps_key key = {entry->key, entry->length, entry->hash};
    const struct ps_ranked *other = ps_ranking_find(&y->ranking, &key);
    if (other == NULL || entry->count != other->count || entry->error != other->error) {
      return false;
    }
  }
  return true;
}

/* ---- bytes: top_k_bytes.c ---- */

static enum ps_status decode(struct ps_sketch *sketch, const unsigned char *bytes, uint64_t n,
                             bool is_flat, struct ps_error *error)
{
  struct ps_top_k *top_k = (struct ps_top_k *)sketch;
  (void)is_flat;
  enum ps_status status = ps_top_k_decode_state(top_k, bytes, n, error);
  if (status == PS_OK) {
    tell_held(top_k);
  } else {
    release(sketch);
  }
  return status;
}

/* ---- reports ---- */

static void inspect(const struct ps_sketch *sketch, struct ps_report *report)
{
  const struct ps_top_k *top_k = (const struct ps_top_k *)sketch;
  report->integer(report, "listed", top_k->ranking.n);
  report->number(report, "error_bound", ps_top_k_error_bound(top_k));
  report->boolean(report, "saturated", ps_top_k_saturated(top_k));
}

const struct ps_kind ps_top_k = {
    .name = "top_k",
    .id = 17,
    .hash_id = PS_HASH_XXH3,
    .seeded = true,
    .may_refuse = true,
    .struct_size = sizeof(struct ps_top_k),
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
    .encoded_size = ps_top_k_encoded_size,
    .encode = ps_top_k_encode,
    .decode = decode,
    .inspect = inspect,
    .add_keys = add_keys,
};
