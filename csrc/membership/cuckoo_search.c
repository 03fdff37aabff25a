/* Places for keys whose buckets are full. */
#include <string.h>

#include "membership/cuckoo_slots.h"

/* A table as it is after so many doublings, seen in what it is now. */
struct view {
  const struct ps_cuckoo_shape *present, *then;
  const unsigned char *table;
  unsigned doublings;
};

/* The fingerprint in a slot of the present bucket that a bucket comes from; 0 if none is there, or
 * one that goes to another. */
static uint64_t held_in(const struct view *view, uint64_t bucket, unsigned slot)
{
  const struct ps_cuckoo_shape *present = view->present;
  uint64_t from = bucket >> view->doublings;
  uint64_t fingerprint = ps_slot_get(present, view->table, ps_slot_at(present, from, slot));
  if (view->doublings == 0) {
    return fingerprint;
  }
  uint64_t way = ps_cuckoo_way(present, from, fingerprint) >> (present->spare - view->doublings);
  return way == (bucket ^ from << view->doublings) ? fingerprint & ps_lowest(view->then->bits) : 0;
}

static bool has_room(const struct view *view, uint64_t bucket)
{
  if (view->doublings == 0) {
    return ps_slot_find(view->present, view->table, bucket, 0) != UINT64_MAX;
  }
  unsigned held = 0;
  for (unsigned slot = 0; slot < view->present->slots; slot++) {
    held += held_in(view, bucket, slot) != 0;
  }
  return held < view->present->slots;
}

/* Buckets that a search looks at before it gives up. At the highest loads that filters are planned
 * with, one search in 40 takes more than 64, and every 64 more make it one in 3.5 of those. */
#define REACH 2048

/* Buckets are told apart by as many of the lowest bits of their numbers. */
#define MARKS 8192

/* A breadth-first search for a bucket with room, over the buckets that can be reached by moving
 * entries to their other bucket: it finds a shortest path without changing anything on the way, so
 * that there is nothing to undo, and needs no chance (Li, Andersen, Kaminsky and Freedman 2014,
 * "Algorithmic improvements for fast concurrent cuckoo hashing", section 4.3.2). No bucket is
 * visited twice: what moves out of a bucket would not be what was seen there. In large tables some
 * are passed over that are only taken for visited, which leaves enough others. */
struct search {
  uint64_t bucket[REACH];
  uint16_t parent[REACH]; /* whose entry may move to this bucket */
  uint8_t slot[REACH];    /* which of them */
  unsigned n;
  uint64_t marks[MARKS / 64];
};

static bool mark(struct search *search, uint64_t bucket)
{
  uint64_t *word = &search->marks[bucket % MARKS / 64], bit = UINT64_C(1) << bucket % 64;
  bool fresh = (*word & bit) == 0;
  *word |= bit;
  return fresh;
}

/* Looks for room in the buckets that the entries of bucket i may move to, which are left to be gone
 * through later. Which of them has it; 0 if none. */
static unsigned look_around(struct search *search, const struct view *view, unsigned i)
{
  for (unsigned slot = 0; slot < view->present->slots && search->n < REACH; slot++) {
    uint64_t fingerprint = held_in(view, search->bucket[i], slot);
    uint64_t bucket = ps_cuckoo_other(view->then, search->bucket[i], fingerprint);
    if (fingerprint != 0 && mark(search, bucket)) {
      search->bucket[search->n] = bucket;
      search->parent[search->n] = (uint16_t)i;
      search->slot[search->n] = (uint8_t)slot;
      if (has_room(view, bucket)) {
        return search->n;
      }
      search->n++;
    }
  }
  return 0;
}

/* From two buckets that are full. The end of the path; 0 if there is none. */
static unsigned find_path(struct search *search, const struct view *view, uint64_t left,
                          uint64_t right)
{
  unsigned end = 0;
  memset(search->marks, 0, sizeof search->marks);
  mark(search, left);
  mark(search, right);
  search->bucket[0] = left;
  search->bucket[1] = right;
  search->n = 2;
  for (unsigned i = 0; i < search->n && end == 0; i++) {
    end = look_around(search, view, i);
  }
  return end;
}

/* Makes room in one of the two buckets, that are full: each entry on the path moves one bucket on.
 * Returns the slot, UINT64_MAX if none can be had. */
static uint64_t make_room(const struct ps_cuckoo_shape *shape, unsigned char *table, uint64_t left,
                          uint64_t right)
{
  struct search search;
  struct view view = {shape, shape, table, 0};
  unsigned i = find_path(&search, &view, left, right);
  if (i == 0) {
    return UINT64_MAX;
  }
  uint64_t to = ps_slot_find(shape, table, search.bucket[i], 0);
  for (; i > 1; i = search.parent[i]) {
    uint64_t from = ps_slot_at(shape, search.bucket[search.parent[i]], search.slot[i]);
    ps_slot_put(shape, table, to, ps_slot_get(shape, table, from));
    to = from;
  }
  return to;
}

bool ps_cuckoo_table_insert(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct ps_cuckoo_entry entry)
{
  uint64_t left = entry.home, right = ps_cuckoo_right(shape, entry);
  /* Into the emptier of the two, which leaves fewer full buckets. */
  uint64_t bucket =
      ps_slots_holding(shape, table, left, 0) >= ps_slots_holding(shape, table, right, 0) ? left
                                                                                          : right;
  uint64_t to = ps_slot_find(shape, table, bucket, 0);
  if (to == UINT64_MAX) {
    to = make_room(shape, table, left, right);
  }
  if (to == UINT64_MAX) {
    return false;
  }
  ps_slot_put(shape, table, to, entry.fingerprint);
  return true;
}

bool ps_cuckoo_table_fits(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          struct ps_cuckoo_entry entry, unsigned doublings)
{
  struct search search;
  struct ps_cuckoo_shape larger = ps_cuckoo_shape_after(shape, doublings);
  struct view view = {shape, &larger, table, doublings};
  entry = ps_cuckoo_entry_in_larger(shape, entry, doublings);
  uint64_t left = entry.home, right = ps_cuckoo_right(&larger, entry);
  return has_room(&view, left) || has_room(&view, right) ||
         find_path(&search, &view, left, right) != 0;
}
