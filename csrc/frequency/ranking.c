#include "frequency/ranking.h"

#include <string.h>

#define ROOM_MIN 8

/* ---- memory ---- */

uint64_t ps_ranking_size(uint32_t capacity)
{
  return (uint64_t)capacity *
         (sizeof(struct ps_ranked) + (1 + PS_RANKING_SLOTS_EACH) * sizeof(uint32_t));
}

uint32_t ps_ranking_room(uint32_t k, uint32_t n)
{
  uint32_t room = ROOM_MIN;
  while (room < n) {
    room *= 2;
  }
  return n == 0 ? 0 : room < k ? room : k;
}

uint64_t ps_ranking_held(const struct ps_ranking *ranking)
{
  return ps_ranking_size(ranking->capacity) + ranking->key_bytes - ranking->borrowed_bytes +
         ranking->pool_size;
}

static void give_back(const struct ps_memory *memory, const void *block, uint64_t size)
{
  if (block != NULL) {
    memory->resize(memory->context, (void *)(uintptr_t)block, size, 0);
  }
}

/* ---- the index ---- */

static void index_entry(struct ps_ranking *ranking, uint32_t number)
{
  const uint64_t hash = ranking->entries[number].hash;
  uint32_t at = ps_ranking_home(ranking, hash);
  while (ranking->slots[at] != 0) {
    at = ps_ranking_next(ranking, at);
  }
  ranking->slots[at] = ps_ranking_tag(hash) | (number + 1);
}

/* Closes the gap that it leaves: an entry behind it moves there unless that is before its home. */
static void unindex_entry(struct ps_ranking *ranking, uint32_t number)
{
  uint32_t gap = ps_ranking_home(ranking, ranking->entries[number].hash);
  while (ps_ranking_number(ranking->slots[gap]) != number) {
    gap = ps_ranking_next(ranking, gap);
  }
  for (uint32_t at = gap, slot; (slot = ranking->slots[at = ps_ranking_next(ranking, at)]) != 0;) {
    uint32_t home = ps_ranking_home(ranking, ranking->entries[ps_ranking_number(slot)].hash);
    bool behind_gap = gap < at ? home > gap && home <= at : home > gap || home <= at;
    if (!behind_gap) {
      ranking->slots[gap] = slot;
      gap = at;
    }
  }
  ranking->slots[gap] = 0;
}

/* ---- the heap ---- */

/* By these counts of theirs. */
static bool is_below(uint64_t count, const struct ps_ranked *a, uint64_t other,
                     const struct ps_ranked *b)
{
  if (count != other) {
    return count < other;
  }
  uint32_t shorter = a->length < b->length ? a->length : b->length;
  int order = shorter == 0 ? 0 : memcmp(a->key, b->key, shorter);
  return order != 0 ? order > 0 : a->length > b->length;
}

bool ps_ranked_below(const struct ps_ranked *a, const struct ps_ranked *b)
{
  return is_below(a->count, a, b->count, b);
}

static struct ps_ranked *entry_at(const struct ps_ranking *ranking, uint32_t place)
{
  return &ranking->entries[ranking->heap[place]];
}

static bool below(const struct ps_ranking *ranking, uint32_t a, uint32_t b)
{
  const struct ps_ranked *x = entry_at(ranking, a), *y = entry_at(ranking, b);
  return is_below(x->ranked, x, y->ranked, y);
}

static void swap(const struct ps_ranking *ranking, uint32_t a, uint32_t b)
{
  uint32_t number = ranking->heap[a];
  ranking->heap[a] = ranking->heap[b];
  ranking->heap[b] = number;
}

/* In the heap of the first n. */
static void sift_down(const struct ps_ranking *ranking, uint32_t place, uint32_t n)
{
  for (uint32_t child; (child = 2 * place + 1) < n; place = child) {
    if (child + 1 < n && below(ranking, child + 1, child)) {
      child++;
    }
    if (!below(ranking, child, place)) {
      break;
    }
    swap(ranking, place, child);
  }
}

static void sift_up(const struct ps_ranking *ranking, uint32_t place)
{
  for (uint32_t parent; place > 0 && below(ranking, place, parent = (place - 1) / 2);
       place = parent) {
    swap(ranking, place, parent);
  }
}

static void heapify(const struct ps_ranking *ranking)
{
  for (uint32_t i = 0; i < ranking->n; i++) {
    ranking->entries[i].ranked = ranking->entries[i].count;
  }
  for (uint32_t i = ranking->n / 2; i-- > 0;) {
    sift_down(ranking, i, ranking->n);
  }
}

void ps_ranking_update(const struct ps_ranking *ranking)
{
  struct ps_ranked *root = entry_at(ranking, 0);
  while (root->ranked != root->count) {
    root->ranked = root->count;
    sift_down(ranking, 0, ranking->n);
    root = entry_at(ranking, 0);
  }
}

/* Heap and index, from the entries alone. */
static void rebuild(struct ps_ranking *ranking)
{
  if (ranking->capacity > 0) {
    memset(ranking->slots, 0, ps_ranking_slots(ranking) * sizeof *ranking->slots);
  }
  for (uint32_t i = 0; i < ranking->n; i++) {
    ranking->heap[i] = i;
    index_entry(ranking, i);
  }
  heapify(ranking);
}

/* Heapsort (Williams 1964), which has the lowest last. */
void ps_ranking_sort(const struct ps_ranking *ranking)
{
  const uint32_t n = ranking->n;
  heapify(ranking);
  for (uint32_t left = n; left > 1; left--) {
    swap(ranking, 0, left - 1);
    sift_down(ranking, 0, left - 1);
  }
  for (uint32_t i = 0; i < n / 2; i++) {
    swap(ranking, i, n - 1 - i);
  }
}

/* ---- entries ---- */

/* As number `number`, where there is none. */
static void put(struct ps_ranking *ranking, uint32_t number, const struct ps_ranked *entry)
{
  ranking->entries[number] = *entry;
  ranking->entries[number].ranked = entry->count;
  index_entry(ranking, number);
  ranking->key_bytes += entry->length;
  ranking->borrowed_bytes += entry->borrowed ? entry->length : 0;
}

static void drop_key(struct ps_ranking *ranking, const struct ps_memory *memory,
                     const struct ps_ranked *entry)
{
  ranking->key_bytes -= entry->length;
  if (entry->borrowed) {
    ranking->borrowed_bytes -= entry->length;
  } else {
    give_back(memory, entry->key, entry->length);
  }
}

void ps_ranking_insert(struct ps_ranking *ranking, const struct ps_ranked *entry)
{
  const uint32_t number = ranking->n++;
  put(ranking, number, entry);
  ranking->heap[number] = number;
  sift_up(ranking, number);
}

void ps_ranking_replace(struct ps_ranking *ranking, const struct ps_memory *memory,
                        const struct ps_ranked *entry)
{
  ps_ranking_update(ranking);
  const uint32_t number = ranking->heap[0];
  unindex_entry(ranking, number);
  drop_key(ranking, memory, &ranking->entries[number]);
  put(ranking, number, entry);
  sift_down(ranking, 0, ranking->n);
}

void ps_ranking_sweep(struct ps_ranking *ranking, const struct ps_memory *memory)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < ranking->n; i++) {
    if (ranking->entries[i].count > 0) {
      ranking->entries[kept++] = ranking->entries[i];
    } else {
      drop_key(ranking, memory, &ranking->entries[i]);
    }
  }
  ranking->n = kept;
  rebuild(ranking);
}

/* ---- the whole ---- */

bool ps_ranking_resize(struct ps_ranking *ranking, const struct ps_memory *memory,
                       uint32_t capacity)
{
  struct ps_ranked *entries = NULL;
  if (capacity == ranking->capacity) {
    return true;
  }
  if (capacity > 0) {
    entries = memory->resize(memory->context, NULL, 0, ps_ranking_size(capacity));
    if (entries == NULL) {
      return false;
    }
    if (ranking->n > 0) {
      memcpy(entries, ranking->entries, ranking->n * sizeof *entries);
    }
  }
  give_back(memory, ranking->entries, ps_ranking_size(ranking->capacity));
  ranking->entries = entries;
  ranking->capacity = capacity;
  ranking->heap = entries != NULL ? (uint32_t *)(void *)(entries + capacity) : NULL;
  ranking->slots = entries != NULL ? ranking->heap + capacity : NULL;
  rebuild(ranking);
  return true;
}

void ps_ranking_free(struct ps_ranking *ranking, const struct ps_memory *memory)
{
  for (uint32_t i = 0; i < ranking->n; i++) {
    drop_key(ranking, memory, &ranking->entries[i]);
  }
  give_back(memory, ranking->pool, ranking->pool_size);
  give_back(memory, ranking->entries, ps_ranking_size(ranking->capacity));
  *ranking = (struct ps_ranking){.n = 0};
}

bool ps_ranking_copy(struct ps_ranking *copy, const struct ps_memory *memory,
                     const struct ps_ranking *source, uint32_t first, uint32_t capacity)
{
  if (!ps_ranking_resize(copy, memory, capacity)) {
    return false;
  }
  for (uint32_t i = first; i < source->n; i++) {
    struct ps_ranked entry = source->entries[source->heap[i]];
    if (!ps_ranked_own(&entry, memory)) {
      ps_ranking_free(copy, memory);
      return false;
    }
    ps_ranking_insert(copy, &entry);
  }
  return true;
}

/* ---- borrowed keys ---- */

bool ps_ranked_own(struct ps_ranked *entry, const struct ps_memory *memory)
{
  unsigned char *key = NULL;
  if (entry->length > 0) {
    key = memory->resize(memory->context, NULL, 0, entry->length);
    if (key == NULL) {
      return false;
    }
    memcpy(key, entry->key, entry->length);
  }
  entry->key = key;
  entry->borrowed = false;
  return true;
}

void ps_ranked_disown(const struct ps_ranked *entry, const struct ps_memory *memory)
{
  give_back(memory, entry->key, entry->length);
}

bool ps_ranking_take_pool(struct ps_ranking *ranking, const struct ps_memory *memory, uint64_t size)
{
  if (size > 0) {
    ranking->pool = memory->resize(memory->context, NULL, 0, size);
    ranking->pool_size = ranking->pool != NULL ? size : 0;
  }
  return ranking->pool_size == size;
}

void ps_ranking_own(struct ps_ranking *ranking, const struct ps_memory *memory,
                    struct ps_ranked *entry)
{
  if (entry->borrowed && ps_ranked_own(entry, memory)) {
    ranking->borrowed_bytes -= entry->length;
  }
}

void ps_ranking_settle(struct ps_ranking *ranking, const struct ps_memory *memory)
{
  unsigned char *at = ranking->pool;
  if (ranking->borrowed_bytes == 0) {
    give_back(memory, ranking->pool, ranking->pool_size);
    ranking->pool = NULL;
    ranking->pool_size = 0;
    return;
  }
  for (uint32_t i = 0; i < ranking->n; i++) {
    struct ps_ranked *entry = &ranking->entries[i];
    if (entry->borrowed) {
      memcpy(at, entry->key, entry->length);
      entry->key = at;
      at += entry->length;
    }
  }
}
