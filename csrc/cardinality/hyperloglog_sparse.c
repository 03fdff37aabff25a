#include "cardinality/hyperloglog_sparse.h"

#include <string.h>

#include "cardinality/hyperloglog_registers.h"

/* One cache line. */
#define SLOTS_MIN 16

static uint32_t slots_max(unsigned precision)
{
  return (uint32_t)(ps_registers_size(precision) / PS_SPARSE_ENTRY_SIZE);
}

uint32_t ps_sparse_limit(unsigned precision)
{
  return ps_sparse_room(slots_max(precision));
}

uint32_t ps_sparse_slots_for(unsigned precision, uint32_t entries)
{
  uint32_t max = slots_max(precision), slots = SLOTS_MIN < max ? SLOTS_MIN : max;
  while (ps_sparse_room(slots) < entries) {
    slots = slots > max / 2 ? max : slots * 2;
  }
  return slots;
}

static inline uint32_t home(uint32_t entry, uint32_t slots)
{
  return (uint32_t)((uint64_t)(entry >> 6) * slots >> PS_SPARSE_INDEX_BITS);
}

uint32_t ps_sparse_find(struct ps_slots slots, uint32_t entry)
{
  /* No rank is 0, so this is below every entry with the index and above all before it. */
  const uint32_t least = entry & ~UINT32_C(63);
  uint32_t i = home(entry, slots.n);
  uint32_t found = ps_sparse_get(slots, i);
  if (found == 0) {
    return i;
  }
  if (found < least) {
    do {
      i++;
    } while (i < slots.n && (found = ps_sparse_get(slots, i)) != 0 && found < least);
  } else {
    while (i > 0 && ps_sparse_get(slots, i - 1) > least) {
      i--;
    }
  }
  return i;
}

void ps_sparse_insert(struct ps_slots slots, uint32_t i, uint32_t entry)
{
  uint32_t gap = i;
  while (gap < slots.n && ps_sparse_get(slots, gap) != 0) {
    gap++;
  }
  if (gap < slots.n) {
    for (; gap > i; gap--) {
      ps_sparse_set(slots, gap, ps_sparse_get(slots, gap - 1));
    }
  } else {
    do {
      gap--;
    } while (ps_sparse_get(slots, gap) != 0);
    for (; gap + 1 < i; gap++) {
      ps_sparse_set(slots, gap, ps_sparse_get(slots, gap + 1));
    }
  }
  ps_sparse_set(slots, gap, entry);
}

/* Of the first entries of two sorted sequences, 0 for one that has ended: the smaller one, or for
 * the same index the one of the higher rank. Says which of them to move on from. */
struct pick {
  uint32_t entry;
  bool from_a, from_b;
};

static inline struct pick pick(uint32_t a, uint32_t b)
{
  /* An end compares as larger than all. */
  bool same = ps_sparse_same(a, b);
  bool a_first = a - 1 < b - 1;
  uint32_t larger = a > b ? a : b;
  return (struct pick){same ? larger : a_first ? a : b, same || a_first, same || !a_first};
}

uint32_t ps_sparse_union_size(struct ps_slots a, struct ps_slots b)
{
  uint32_t i = 0, j = 0, size = 0;
  uint32_t x = ps_sparse_next(a, &i), y = ps_sparse_next(b, &j);
  for (; x != 0 || y != 0; size++) {
    struct pick next = pick(x, y);
    x = next.from_a ? ps_sparse_next(a, &i) : x;
    y = next.from_b ? ps_sparse_next(b, &j) : y;
  }
  return size;
}

/* Moves all entries to the right end without gaps; returns the slot of the first. */
static uint32_t gather(struct ps_slots slots, uint32_t old)
{
  uint32_t first = slots.n;
  for (uint32_t i = old; i-- > 0;) {
    uint32_t entry = ps_sparse_get(slots, i);
    ps_sparse_set(slots, first - 1, entry);
    first -= entry != 0;
  }
  memset(slots.at, 0, (size_t)first * PS_SPARSE_ENTRY_SIZE);
  return first;
}

/* First everything is pushed to the right end, then taken from there, entry by entry, and put at
 * its home or behind the one before it; but never so far right that the rest would find no room.
 * That also means that nothing is put onto an entry that is still to be taken. */
void ps_sparse_spread(struct ps_slots slots, uint32_t old, struct ps_slots others, uint32_t total)
{
  uint32_t i = gather(slots, old), j = 0, free_from = 0;
  uint32_t x = ps_sparse_next(slots, &i), y = ps_sparse_next(others, &j);
  for (uint32_t left = total; left > 0; left--) {
    struct pick next = pick(x, y);
    if (next.from_a) {
      ps_sparse_set(slots, i - 1, 0);
      x = ps_sparse_next(slots, &i);
    }
    if (next.from_b) {
      y = ps_sparse_next(others, &j);
    }
    uint32_t place = home(next.entry, slots.n);
    place = place < free_from ? free_from : place;
    place = place > slots.n - left ? slots.n - left : place;
    ps_sparse_set(slots, place, next.entry);
    free_from = place + 1;
  }
}

bool ps_sparse_equal(struct ps_slots a, struct ps_slots b)
{
  uint32_t i = 0, j = 0, x, y;
  do {
    x = ps_sparse_next(a, &i);
    y = ps_sparse_next(b, &j);
  } while (x == y && x != 0);
  return x == y;
}

void ps_sparse_write(struct ps_slots slots, unsigned char *bytes)
{
  uint32_t i = 0;
  for (uint32_t entry; (entry = ps_sparse_next(slots, &i)) != 0;) {
    ps_store32(bytes, entry);
    bytes += PS_SPARSE_ENTRY_SIZE;
  }
}

bool ps_sparse_valid(struct ps_slots slots)
{
  uint32_t before = 0;
  for (uint32_t i = 0; i < slots.n; i++) {
    uint32_t entry = ps_sparse_get(slots, i), rank = entry & 63;
    if (rank < 1 || rank > PS_SPARSE_RANK_MAX || entry < before || ps_sparse_same(entry, before)) {
      return false;
    }
    before = entry;
  }
  return true;
}
