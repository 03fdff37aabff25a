#include "membership/cuckoo_table.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/math.h"
#include "membership/cuckoo_slots.h"

#define SLOTS_MAX 8

/* ---- the shape ---- */

struct ps_cuckoo_shape ps_cuckoo_shape(uint64_t half, unsigned slots, unsigned bits, unsigned spare,
                                       unsigned doublings)
{
  const unsigned left = bits - doublings;
  struct ps_cuckoo_shape shape = {.half = half << doublings,
                                  .kept = ps_lowest(bits - spare),
                                  .appended = ps_lowest(doublings),
                                  .bits = left,
                                  .bucket_bits = slots * left,
                                  .slots = slots,
                                  .spare = spare - doublings,
                                  .doublings = doublings};
  unsigned together = slots;
  while (together * left > PS_CUCKOO_WORD_BITS_MAX) {
    together /= 2;
  }
  shape.word_bits = together * left;
  for (unsigned i = 0; i < together; i++) {
    shape.ones |= UINT64_C(1) << i * left;
  }
  shape.highs = shape.ones << (left - 1);
  return shape;
}

struct ps_cuckoo_shape ps_cuckoo_shape_after(const struct ps_cuckoo_shape *shape,
                                             unsigned doublings)
{
  const unsigned past = shape->doublings;
  return ps_cuckoo_shape(shape->half >> past, shape->slots, shape->bits + past, shape->spare + past,
                         past + doublings);
}

uint64_t ps_cuckoo_table_size(const struct ps_cuckoo_shape *shape)
{
  uint64_t bits;
  /* Eight bytes can be loaded wherever a slot starts. */
  return ps_multiply(shape->half, UINT64_C(2) * shape->bucket_bits, &bits)
             ? ps_round_up(bits / 8 + 8, 8)
             : UINT64_MAX;
}

/* ---- slots ---- */

unsigned ps_slots_holding(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          uint64_t bucket, uint64_t fingerprint)
{
  uint64_t bit = bucket * shape->bucket_bits, end = bit + shape->bucket_bits;
  unsigned n = 0;
  for (; bit < end; bit += shape->word_bits) {
    n += ps_ones(ps_slot_matches(shape, ps_slot_load(table, bit), fingerprint));
  }
  return n;
}

/* ---- entries ---- */

/* 0 is taken by free slots, in tables of all sizes: so it counts as 1 in the bits that all have. */
static inline struct ps_cuckoo_entry entry_of(const struct ps_cuckoo_shape *shape, uint64_t hash)
{
  uint64_t fingerprint = hash * shape->half >> (64 - shape->bits);
  return (struct ps_cuckoo_entry){ps_hash_place(hash, shape->half),
                                  fingerprint + ((fingerprint & shape->kept) == 0)};
}

struct ps_cuckoo_entry ps_cuckoo_entry(const struct ps_cuckoo_shape *shape, uint64_t hash)
{
  return entry_of(shape, hash);
}

struct ps_cuckoo_entry ps_cuckoo_entry_in_larger(const struct ps_cuckoo_shape *shape,
                                                 struct ps_cuckoo_entry entry, unsigned doublings)
{
  unsigned left = shape->bits - doublings;
  uint64_t first = entry.fingerprint >> left;
  return (struct ps_cuckoo_entry){entry.home << doublings | first,
                                  entry.fingerprint & ps_lowest(left)};
}

/* ---- asking ---- */

/* Where the two buckets of a key start, and its fingerprint. */
struct place {
  uint64_t left, right, fingerprint;
};

static inline struct place place_of(const struct ps_cuckoo_shape *shape, uint64_t hash)
{
  struct ps_cuckoo_entry entry = entry_of(shape, hash);
  return (struct place){entry.home * shape->bucket_bits,
                        ps_cuckoo_right(shape, entry) * shape->bucket_bits, entry.fingerprint};
}

/* Without a branch between the buckets: one that is mispredicted costs more than both. */
static inline bool has(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                       struct place place, uint32_t bucket_bits, uint32_t word_bits)
{
  uint64_t found = 0;
  for (uint32_t at = 0; at < bucket_bits; at += word_bits) {
    found |= ps_slot_matches(shape, ps_slot_load(table, place.left + at), place.fingerprint) |
             ps_slot_matches(shape, ps_slot_load(table, place.right + at), place.fingerprint);
  }
  return found != 0;
}

/* Most buckets are one word: then there is no loop. */
static inline bool has_at(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          struct place place)
{
  return shape->bucket_bits == shape->word_bits
             ? has(shape, table, place, 1, 1)
             : has(shape, table, place, shape->bucket_bits, shape->word_bits);
}

bool ps_cuckoo_table_has(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                         uint64_t hash)
{
  struct place place = place_of(shape, hash);
  return has_at(shape, table, place);
}

/* Of each bucket its first byte and the last that ps_slot_load() reads: one key in five has a
 * bucket that lies across two cache lines. */
static inline __attribute__((always_inline)) void
prefetch(const struct ps_cuckoo_shape *shape, const unsigned char *table, struct place place)
{
  const unsigned char *left = table + place.left / 8, *right = table + place.right / 8;
  const uint32_t last = (shape->bucket_bits - shape->word_bits + 7) / 8 + 7;
  __builtin_prefetch(left);
  __builtin_prefetch(left + last);
  __builtin_prefetch(right);
  __builtin_prefetch(right + last);
}

void ps_cuckoo_table_prefetch(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                              uint64_t hash)
{
  prefetch(shape, table, place_of(shape, hash));
}

/* Keys whose buckets are on the way at once; a power of two. */
#define AHEAD 16

void ps_cuckoo_table_has_all(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                             const uint64_t *hashes, size_t n, bool *found)
{
  struct place ring[AHEAD];
  for (size_t i = 0; i < n + AHEAD; i++) {
    struct place *turn = &ring[i % AHEAD];
    if (i >= AHEAD) {
      found[i - AHEAD] = has_at(shape, table, *turn);
    }
    if (i < n) {
      *turn = place_of(shape, hashes[i]);
      prefetch(shape, table, *turn);
    }
  }
}

unsigned ps_cuckoo_table_frequency(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                                   struct ps_cuckoo_entry entry)
{
  return ps_slots_holding(shape, table, entry.home, entry.fingerprint) +
         ps_slots_holding(shape, table, ps_cuckoo_right(shape, entry), entry.fingerprint);
}

/* ---- changing ---- */

bool ps_cuckoo_table_remove(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct ps_cuckoo_entry entry)
{
  uint64_t at = ps_slot_find(shape, table, entry.home, entry.fingerprint);
  if (at == UINT64_MAX) {
    at = ps_slot_find(shape, table, ps_cuckoo_right(shape, entry), entry.fingerprint);
  }
  if (at == UINT64_MAX) {
    return false;
  }
  ps_slot_put(shape, table, at, 0);
  return true;
}

/* ---- all of it ---- */

bool ps_cuckoo_table_valid(const struct ps_cuckoo_shape *shape, const unsigned char *table)
{
  uint64_t end = 2 * shape->half * shape->bucket_bits, size = ps_cuckoo_table_size(shape);
  unsigned rest = (unsigned)table[end / 8] >> end % 8;
  for (uint64_t at = end / 8 + 1; at < size; at++) {
    rest |= table[at];
  }
  for (uint64_t bit = 0; bit < end && rest == 0 && shape->spare > 0; bit += shape->bits) {
    uint64_t fingerprint = ps_slot_get(shape, table, bit);
    rest = fingerprint != 0 && (fingerprint & shape->kept) == 0;
  }
  return rest == 0;
}

/* What bucket i of `shape` holds goes to 2 i and 2 i + 1 of `next`. */
static void split(const struct ps_cuckoo_shape *shape, const struct ps_cuckoo_shape *next,
                  unsigned char *table, uint64_t i)
{
  uint64_t children[2][SLOTS_MAX] = {{0}};
  unsigned taken[2] = {0};
  for (unsigned slot = 0; slot < shape->slots; slot++) {
    uint64_t fingerprint = ps_slot_get(shape, table, ps_slot_at(shape, i, slot));
    if (fingerprint != 0) {
      uint64_t child = ps_cuckoo_way(shape, i, fingerprint) >> (shape->spare - 1);
      children[child][taken[child]++] = fingerprint & ps_lowest(next->bits);
    }
  }
  for (unsigned child = 0; child < 2; child++) {
    for (unsigned slot = 0; slot < shape->slots; slot++) {
      ps_slot_put(next, table, ps_slot_at(next, 2 * i + child, slot), children[child][slot]);
    }
  }
}

/* From the last bucket to the first. Two of f - 1 bits a slot are no shorter than one of f, so that
 * what bucket i becomes lies behind the buckets that are still to be split. */
void ps_cuckoo_table_double(struct ps_cuckoo_shape *shape, unsigned char *table)
{
  struct ps_cuckoo_shape next = ps_cuckoo_shape_after(shape, 1);
  for (uint64_t i = 2 * shape->half; i-- > 0;) {
    split(shape, &next, table, i);
  }
  *shape = next;
}

uint64_t ps_cuckoo_buckets_within(const struct ps_cuckoo_shape *shape, uint64_t bytes)
{
  uint64_t whole =
      bytes / shape->bucket_bits * 8 + bytes % shape->bucket_bits * 8 / shape->bucket_bits;
  return whole < 2 * shape->half ? whole : 2 * shape->half;
}

uint64_t ps_cuckoo_table_count(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                               uint64_t first, uint64_t end)
{
  uint64_t free = 0;
  for (uint64_t bucket = first; bucket < end; bucket++) {
    free += ps_slots_holding(shape, table, bucket, 0);
  }
  return (end - first) * shape->slots - free;
}

bool ps_cuckoo_table_next(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          uint64_t *slot, struct ps_cuckoo_entry *entry)
{
  uint64_t slots = 2 * shape->half * shape->slots;
  while (*slot < slots) {
    uint64_t fingerprint = ps_slot_get(shape, table, *slot * shape->bits);
    uint64_t bucket = (*slot)++ / shape->slots;
    if (fingerprint != 0) {
      *entry = (struct ps_cuckoo_entry){ps_cuckoo_home(shape, bucket, fingerprint), fingerprint};
      return true;
    }
  }
  return false;
}
