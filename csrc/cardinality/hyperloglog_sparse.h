/* The sparse form of a hyperloglog: the hashes themselves, as far as any precision needs them.
 *
 * A hash becomes an entry of 32 bits: its highest 26 bits, the index, and above the other 38 their
 * rank, 1 to 39. An index has at most one entry, that of the highest rank.
 *
 *   bit  31                        6  5      0
 *         | index                   | rank  |
 *
 * Entries lie in an array of slots, 4 bytes little-endian each, 0 where there is none, ascending
 * from left to right with gaps between them. An entry's home is the slot that its index falls on
 * when all 2^26 are spread evenly over the slots. The invariant: every slot from an entry's home to
 * the place where it lies is taken. So an entry is found by walking from its home over taken slots,
 * as in a hash table with linear probing, while a walk from left to right yields all of them
 * sorted: encoding, comparing, merging and growing are passes that sort nothing. Entries lie right
 * of their homes, but for those that found the end of the array full and made the ones before them
 * move up.
 *
 * At least one slot is always free. Private to hyperloglog. */
#ifndef PS_CARDINALITY_HYPERLOGLOG_SPARSE_H
#define PS_CARDINALITY_HYPERLOGLOG_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/math.h"

#define PS_SPARSE_INDEX_BITS 26
#define PS_SPARSE_RANK_MAX (64 - PS_SPARSE_INDEX_BITS + 1)
#define PS_SPARSE_ENTRY_SIZE 4

struct ps_slots {
  unsigned char *at;
  uint32_t n;
};

/* The entry of a hash. */
static inline uint32_t ps_sparse_entry(uint64_t hash)
{
  uint64_t rest = hash << PS_SPARSE_INDEX_BITS | UINT64_C(1) << (PS_SPARSE_INDEX_BITS - 1);
  return (uint32_t)(hash >> (64 - PS_SPARSE_INDEX_BITS)) << 6 | (ps_leading_zeros(rest) + 1);
}

/* A hash with that entry: to every register, of any precision, it is the same as the one that the
 * entry was made from. */
static inline uint64_t ps_sparse_hash(uint32_t entry)
{
  const unsigned rest = 64 - PS_SPARSE_INDEX_BITS;
  return (uint64_t)(entry >> 6) << rest | UINT64_C(1) << rest >> (entry & 63);
}

static inline uint32_t ps_sparse_get(struct ps_slots slots, uint32_t i)
{
  return ps_load32(slots.at + (uint64_t)i * PS_SPARSE_ENTRY_SIZE);
}

static inline void ps_sparse_set(struct ps_slots slots, uint32_t i, uint32_t entry)
{
  ps_store32(slots.at + (uint64_t)i * PS_SPARSE_ENTRY_SIZE, entry);
}

/* Do they have the same index? An empty slot has none. */
static inline bool ps_sparse_same(uint32_t a, uint32_t b)
{
  return a != 0 && b != 0 && a >> 6 == b >> 6;
}

/* The next entry from slot *i on, 0 after the last; *i is then the slot behind it. */
static inline uint32_t ps_sparse_next(struct ps_slots slots, uint32_t *i)
{
  while (*i < slots.n) {
    uint32_t entry = ps_sparse_get(slots, (*i)++);
    if (entry != 0) {
      return entry;
    }
  }
  return 0;
}

/* ---- how many there may be ---- */

static inline uint64_t ps_sparse_size(uint32_t slots)
{
  return (uint64_t)slots * PS_SPARSE_ENTRY_SIZE;
}

/* Entries that so many slots may hold: three quarters. Fuller, and the walks become long. */
static inline uint32_t ps_sparse_room(uint32_t slots)
{
  return slots * 3 / 4;
}

/* The entries that a sparse sketch may have at most: those of as many slots as take the memory of
 * the registers. */
uint32_t ps_sparse_limit(unsigned precision);

/* The slots of a sketch of so many entries, within the limit: a function of nothing else. */
uint32_t ps_sparse_slots_for(unsigned precision, uint32_t entries);

/* The keys to be expected behind so many entries. */
double ps_sparse_estimate(uint32_t entries);

/* ---- one ---- */

/* The slot that holds the entry with this one's index, or else the one that it has to be inserted
 * before; `slots.n` for behind all. */
uint32_t ps_sparse_find(struct ps_slots slots, uint32_t entry);

/* Inserts where ps_sparse_find() said. Entries in the way move to the next gap. */
void ps_sparse_insert(struct ps_slots slots, uint32_t i, uint32_t entry);

/* ---- all ---- */

/* How many entries the union of both has. O(slots). */
uint32_t ps_sparse_union_size(struct ps_slots a, struct ps_slots b);

/* Spreads the entries in the first `old` slots, together with those of `others`, over all: both to
 * grow and to merge. `total` is the size of the union. O(slots). */
void ps_sparse_spread(struct ps_slots slots, uint32_t old, struct ps_slots others, uint32_t total);

/* The same entries, however they lie. O(slots). */
bool ps_sparse_equal(struct ps_slots a, struct ps_slots b);

/* Writes the entries, ascending and without gaps: what is stored. O(slots). */
void ps_sparse_write(struct ps_slots slots, unsigned char *bytes);

/* Are the slots what ps_sparse_write() may have written? O(slots). */
bool ps_sparse_valid(struct ps_slots slots);

#endif
