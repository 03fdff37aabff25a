#include "frequency/top_k_bytes.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/sketch.h"

#define HEAD_SIZE 16
#define TOTAL_AT 0
#define SATURATED_AT 8

#define ITEM_SIZE 20

static enum ps_status no_memory(struct ps_error *error)
{
  return ps_fail(error, PS_ERR_MEMORY, "not enough memory");
}

/* ---- the list ---- */

uint64_t ps_top_k_list_size(const struct ps_top_k *top_k)
{
  return (uint64_t)top_k->ranking.n * ITEM_SIZE + top_k->ranking.key_bytes;
}

void ps_top_k_list(const struct ps_top_k *top_k, unsigned char *bytes)
{
  const struct ps_ranking *ranking = &top_k->ranking;
  ps_ranking_sort(ranking);
  for (uint32_t i = ranking->n; i-- > 0;) {
    const struct ps_ranked *entry = &ranking->entries[ranking->heap[i]];
    ps_store64(bytes, entry->count);
    ps_store64(bytes + 8, entry->error);
    ps_store32(bytes + 16, entry->length);
    if (entry->length > 0) {
      memcpy(bytes + ITEM_SIZE, entry->key, entry->length);
    }
    bytes += ITEM_SIZE + entry->length;
  }
}

bool ps_top_k_next(struct ps_reader *list, struct ps_top_k_item *item)
{
  item->count = ps_read(list, 8);
  item->error = ps_read(list, 8);
  item->length = (uint32_t)ps_read(list, 4);
  if (list->failed || item->length > (size_t)(list->end - list->at)) {
    return false;
  }
  item->key = list->at;
  list->at += item->length;
  return true;
}

/* ---- bytes ---- */

uint64_t ps_top_k_encoded_size(const struct ps_sketch *sketch)
{
  const struct ps_top_k *top_k = (const struct ps_top_k *)sketch;
  return HEAD_SIZE + top_k->rest.sketch.held + ps_top_k_list_size(top_k);
}

void ps_top_k_encode(const struct ps_sketch *sketch, unsigned char *bytes)
{
  const struct ps_top_k *top_k = (const struct ps_top_k *)sketch;
  ps_store64(bytes + TOTAL_AT, top_k->total);
  ps_store64(bytes + SATURATED_AT, top_k->saturated);
  memcpy(bytes + HEAD_SIZE, sketch->payload, top_k->rest.sketch.held);
  ps_top_k_list(top_k, bytes + HEAD_SIZE + top_k->rest.sketch.held);
}

/* How many items the list has; more than k when it is none. */
static uint32_t count_items(const struct ps_top_k *top_k, struct ps_reader list)
{
  struct ps_top_k_item item;
  uint32_t n = 0;
  while (list.at < list.end && n <= top_k->k) {
    n = ps_top_k_next(&list, &item) ? n + 1 : top_k->k + 1;
  }
  return n;
}

/* Could the entry be, with what is already there, all of a higher rank? */
static bool is_possible(const struct ps_top_k *top_k, const struct ps_ranked *entry)
{
  const struct ps_ranking *ranking = &top_k->ranking;
  const struct ps_key key = {entry->key, entry->length, entry->hash};
  if (entry->count < 1 || entry->count > PS_COUNT_MAX || entry->error > entry->count) {
    return false;
  }
  if (ranking->n > 0 && (!ps_ranked_below(entry, ps_ranking_least(ranking)) ||
                         ps_ranking_find(ranking, &key) != NULL)) {
    return false;
  }
  return ps_top_k_saturated(top_k) ||
         entry->error <= ps_count_min_frequency(&top_k->rest, entry->hash);
}

static enum ps_status decode_list(struct ps_top_k *top_k, struct ps_reader list,
                                  struct ps_error *error)
{
  const uint32_t n = count_items(top_k, list);
  uint64_t sum = ps_count_min_total(&top_k->rest);
  struct ps_top_k_item item;
  if (n > top_k->k) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (no list of at most k keys)");
  }
  if (!ps_ranking_resize(&top_k->ranking, top_k->sketch.memory, ps_ranking_room(top_k->k, n))) {
    return no_memory(error);
  }
  while (top_k->ranking.n < n && ps_top_k_next(&list, &item)) {
    struct ps_ranked entry = {
        .hash = ps_hash(item.key, item.length, top_k->sketch.seed),
        .count = item.count,
        .error = item.error,
        .key = item.key,
        .length = item.length,
    };
    if (!is_possible(top_k, &entry)) {
      return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (a count that is impossible there)");
    }
    if (!ps_ranked_own(&entry, top_k->sketch.memory)) {
      return no_memory(error);
    }
    ps_ranking_insert(&top_k->ranking, &entry);
    sum = ps_add_saturating(sum, ps_ranked_exact(&entry), PS_COUNT_MAX);
  }
  if (sum > top_k->total && !ps_top_k_saturated(top_k)) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (counts above the total)");
  }
  return PS_OK;
}

enum ps_status ps_top_k_decode_state(struct ps_top_k *top_k, const unsigned char *bytes, uint64_t n,
                                     struct ps_error *error)
{
  const uint64_t before_list = HEAD_SIZE + ps_top_k_rest_size(top_k);
  if (n < before_list) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt payload (expected at least %" PRIu64 " bytes, got %" PRIu64 ")",
                   before_list, n);
  }
  const uint64_t saturated = ps_load64(bytes + SATURATED_AT);
  top_k->total = ps_load64(bytes + TOTAL_AT);
  top_k->saturated = saturated != 0;
  if (top_k->total > PS_COUNT_MAX || saturated > 1) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (a total above 2^53)");
  }
  enum ps_status status = ps_top_k_take(top_k, error);
  if (status != PS_OK) {
    return status;
  }
  memcpy(top_k->sketch.payload, bytes + HEAD_SIZE, ps_top_k_rest_size(top_k));
  status = ps_count_min.check(&top_k->rest.sketch, error);
  if (status != PS_OK) {
    return status;
  }
  return decode_list(top_k, ps_reader_over(bytes + before_list, n - before_list), error);
}
