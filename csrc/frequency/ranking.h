/* Keys with counts, as many as there is room for: found by key, and the least of them at hand.
 *
 * Entries lie in one block, behind them a binary heap over them, the least at its root, and an
 * index, an open hash table with linear probing. Counts that only rise need no new place until they
 * come to the root: the heap is one of counts as they were, none above what it is now, so that the
 * root is the least as soon as its own is up to date. The rank of an entry is that of its count,
 * and among equal counts that of its key, the first in the order of bytes being the highest: no two
 * have the same, so that what is in a ranking says all about it, whatever the shape of its heap. */
#ifndef PS_FREQUENCY_RANKING_H
#define PS_FREQUENCY_RANKING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/kind.h"
#include "base/math.h"

struct ps_ranked {
  uint64_t hash, count, error;
  uint64_t ranked;          /* what the count was when the entry got its place in the heap */
  const unsigned char *key; /* NULL when it is empty */
  uint32_t length;
  bool borrowed; /* the key's bytes are somebody else's; else they are a block of its own */
};

/* What was counted while the key was in the ranking: the sketch of the rest does not have it. */
static inline uint64_t ps_ranked_exact(const struct ps_ranked *entry)
{
  return entry->count - entry->error;
}

/* All zeros: an empty one, without a block. */
struct ps_ranking {
  struct ps_ranked *entries;
  uint32_t *heap;  /* numbers of entries */
  uint32_t *slots; /* of the index: an entry's number + 1, above it bits of its hash; or 0 */
  uint32_t capacity, n;
  uint64_t key_bytes;      /* of all keys */
  uint64_t borrowed_bytes; /* of those that are borrowed */
  unsigned char *pool;     /* for the borrowed ones, or NULL */
  uint64_t pool_size;
};

/* Bytes of the block for so many entries. */
uint64_t ps_ranking_size(uint32_t capacity);

/* Entries that n entries, of at most k, take room for. */
uint32_t ps_ranking_room(uint32_t k, uint32_t n);

/* Bytes of memory that it holds. */
uint64_t ps_ranking_held(const struct ps_ranking *ranking);

/* Makes room for `capacity` entries, not fewer than there are. False, and nothing has changed, when
 * there is no memory. O(n). */
bool ps_ranking_resize(struct ps_ranking *ranking, const struct ps_memory *memory,
                       uint32_t capacity);

/* Frees all: it is then empty. */
void ps_ranking_free(struct ps_ranking *ranking, const struct ps_memory *memory);

/* Makes `copy`, of all zeros, one of the entries heap[first] ... heap[n - 1] with keys of their own
 * and this much room. False, and it is empty, when there is no memory. */
bool ps_ranking_copy(struct ps_ranking *copy, const struct ps_memory *memory,
                     const struct ps_ranking *source, uint32_t first, uint32_t capacity);

/* ---- the index ---- */

/* The bits of a slot that are an entry's number; a merge has two rankings in one. */
#define PS_RANKING_NUMBER_BITS 21
#define PS_RANKING_MAX 1000000

/* So few of the slots are taken that most keys which are not there are met by an empty one. */
#define PS_RANKING_SLOTS_EACH 4

static inline uint32_t ps_ranking_slots(const struct ps_ranking *ranking)
{
  return ranking->capacity * PS_RANKING_SLOTS_EACH;
}

static inline uint32_t ps_ranking_home(const struct ps_ranking *ranking, uint64_t hash)
{
  return (uint32_t)ps_multiply_high(hash, ps_ranking_slots(ranking));
}

static inline uint32_t ps_ranking_next(const struct ps_ranking *ranking, uint32_t slot)
{
  return slot + 1 < ps_ranking_slots(ranking) ? slot + 1 : 0;
}

/* What the slot of an entry holds besides its number. */
static inline uint32_t ps_ranking_tag(uint64_t hash)
{
  return (uint32_t)hash << PS_RANKING_NUMBER_BITS;
}

static inline uint32_t ps_ranking_number(uint32_t slot)
{
  return slot % (1u << PS_RANKING_NUMBER_BITS) - 1;
}

static inline bool ps_ranked_is(const struct ps_ranked *entry, const struct ps_key *key)
{
  return entry->hash == key->hash && entry->length == key->length &&
         (key->length == 0 || memcmp(entry->key, key->bytes, key->length) == 0);
}

/* The entry of the key, NULL if there is none. O(1). */
static inline struct ps_ranked *ps_ranking_find(const struct ps_ranking *ranking,
                                                const struct ps_key *key)
{
  if (ranking->n == 0) {
    return NULL;
  }
  uint32_t at = ps_ranking_home(ranking, key->hash);
  const uint32_t tag = ps_ranking_tag(key->hash);
  for (uint32_t slot; (slot = ranking->slots[at]) != 0; at = ps_ranking_next(ranking, at)) {
    if ((slot ^ tag) < 1u << PS_RANKING_NUMBER_BITS) {
      struct ps_ranked *entry = &ranking->entries[ps_ranking_number(slot)];
      if (ps_ranked_is(entry, key)) {
        return entry;
      }
    }
  }
  return NULL;
}

/* ---- entries ---- */

/* Brings the least to the root. */
void ps_ranking_update(const struct ps_ranking *ranking);

/* The entry of the lowest rank; there must be one. O(log n) for each count that has risen since. */
static inline struct ps_ranked *ps_ranking_least(const struct ps_ranking *ranking)
{
  struct ps_ranked *root = &ranking->entries[ranking->heap[0]];
  if (root->ranked == root->count) {
    return root;
  }
  ps_ranking_update(ranking);
  return &ranking->entries[ranking->heap[0]];
}

/* Is the rank of a below that of b? */
bool ps_ranked_below(const struct ps_ranked *a, const struct ps_ranked *b);

/* Adds an entry, whose key is not there, and for which there is room. O(log n). */
void ps_ranking_insert(struct ps_ranking *ranking, const struct ps_ranked *entry);

/* The same in the place of the least. */
void ps_ranking_replace(struct ps_ranking *ranking, const struct ps_memory *memory,
                        const struct ps_ranked *entry);

/* Puts the heap in the order of ranks, the lowest first, which is a heap as well. O(n log n). */
void ps_ranking_sort(const struct ps_ranking *ranking);

/* Takes out the entries whose count is 0, after all counts have changed. O(n). */
void ps_ranking_sweep(struct ps_ranking *ranking, const struct ps_memory *memory);

/* Makes the key of an entry that is in no ranking, somebody else's bytes, a block of its own. False
 * when there is no memory. */
bool ps_ranked_own(struct ps_ranked *entry, const struct ps_memory *memory);
void ps_ranked_disown(const struct ps_ranked *entry, const struct ps_memory *memory);

/* ---- borrowed keys ----
 *
 * Entries may borrow their keys for as long as the lender keeps still, and then must get blocks of
 * their own. Where that has to be certain there is a pool for them from before they come. */

/* False when there is no memory. */
bool ps_ranking_take_pool(struct ps_ranking *ranking, const struct ps_memory *memory,
                          uint64_t size);

/* Gives the entry a key of its own, unless memory is refused. */
void ps_ranking_own(struct ps_ranking *ranking, const struct ps_memory *memory,
                    struct ps_ranked *entry);

/* Frees the pool, or moves the keys to it that are still borrowed. */
void ps_ranking_settle(struct ps_ranking *ranking, const struct ps_memory *memory);

#endif
