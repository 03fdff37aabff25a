#include "membership/cuckoo_table.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/math.h"

/* A word is loaded at a byte and shifted by up to 7 bits. */
#define WORD_BITS_MAX 57

/* ---- the shape ---- */

struct ps_cuckoo_shape ps_cuckoo_shape(uint64_t half, unsigned slots, unsigned bits)
{
  struct ps_cuckoo_shape shape = {.half = half, .bits = bits, .slots = slots};
  unsigned together = slots;
  while (together * bits > WORD_BITS_MAX) {
    together /= 2;
  }
  shape.bucket_bits = slots * bits;
  shape.word_bits = together * bits;
  for (unsigned i = 0; i < together; i++) {
    shape.ones |= UINT64_C(1) << i * bits;
  }
  shape.highs = shape.ones << (bits - 1);
  return shape;
}

uint64_t ps_cuckoo_table_size(const struct ps_cuckoo_shape *shape)
{
  uint64_t bits;
  /* Eight bytes can be loaded wherever a slot starts. */
  return ps_multiply(shape->half, UINT64_C(2) * shape->bucket_bits, &bits)
             ? ps_round_up(bits / 8 + 8, 8)
             : UINT64_MAX;
}

bool ps_cuckoo_table_valid(const struct ps_cuckoo_shape *shape, const unsigned char *table)
{
  uint64_t end = 2 * shape->half * shape->bucket_bits, size = ps_cuckoo_table_size(shape);
  unsigned rest = (unsigned)table[end / 8] >> end % 8;
  for (uint64_t at = end / 8 + 1; at < size; at++) {
    rest |= table[at];
  }
  return rest == 0;
}

/* ---- slots, by the bit they start at ---- */

static inline uint64_t load(const unsigned char *table, uint64_t bit)
{
  return ps_load64(table + bit / 8) >> bit % 8;
}

static inline uint64_t fingerprint_at(const struct ps_cuckoo_shape *shape,
                                      const unsigned char *table, uint64_t bit)
{
  return load(table, bit) & ((UINT64_C(1) << shape->bits) - 1);
}

static inline void put(const struct ps_cuckoo_shape *shape, unsigned char *table, uint64_t bit,
                       uint64_t fingerprint)
{
  unsigned char *at = table + bit / 8;
  uint64_t mask = ((UINT64_C(1) << shape->bits) - 1) << bit % 8;
  ps_store64(at, (ps_load64(at) & ~mask) | fingerprint << bit % 8);
}

/* The highest bit of each slot of a word that holds the fingerprint: adding to the others' lower
 * bits carries into the highest where they are not 0, and never farther. */
static inline uint64_t matches(const struct ps_cuckoo_shape *shape, uint64_t word,
                               uint64_t fingerprint)
{
  uint64_t lows = shape->highs - shape->ones, unlike = word ^ shape->ones * fingerprint;
  return ~(((unlike & lows) + lows) | unlike) & shape->highs;
}

/* Where the first slot of a bucket starts that holds the fingerprint; UINT64_MAX if none does. */
static uint64_t find(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                     uint64_t bucket, uint64_t fingerprint)
{
  uint64_t bit = bucket * shape->bucket_bits, end = bit + shape->bucket_bits;
  for (; bit < end; bit += shape->word_bits) {
    uint64_t found = matches(shape, load(table, bit), fingerprint);
    if (found != 0) {
      return bit + (unsigned)__builtin_ctzll(found) - (shape->bits - 1);
    }
  }
  return UINT64_MAX;
}

static unsigned holding(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                        uint64_t bucket, uint64_t fingerprint)
{
  uint64_t bit = bucket * shape->bucket_bits, end = bit + shape->bucket_bits;
  unsigned n = 0;
  for (; bit < end; bit += shape->word_bits) {
    n += ps_ones(matches(shape, load(table, bit), fingerprint));
  }
  return n;
}

/* ---- entries ---- */

/* 0 is taken by free slots. That it shares the lowest value with 1 costs next to nothing, and holds
 * in larger tables as well, where only the highest bits are gone. */
static inline uint64_t nonzero(uint64_t fingerprint)
{
  return fingerprint + (fingerprint == 0);
}

static inline struct ps_cuckoo_entry entry_of(const struct ps_cuckoo_shape *shape, uint64_t hash)
{
  uint64_t fraction = hash * shape->half;
  return (struct ps_cuckoo_entry){ps_hash_place(hash, shape->half),
                                  nonzero(fraction >> (64 - shape->bits))};
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
                                  nonzero(entry.fingerprint ^ first << left)};
}

/* How far the right bucket is from the home. Mixed, so that fingerprints that are close together do
 * not lead to the same few buckets; the multipliers are those of splitmix64 (Steele, Lea and Flood
 * 2014). */
static inline uint64_t distance(const struct ps_cuckoo_shape *shape, uint64_t fingerprint)
{
  uint64_t x = fingerprint * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return ps_hash_place(x, shape->half);
}

static inline uint64_t right_of(const struct ps_cuckoo_shape *shape, struct ps_cuckoo_entry entry)
{
  uint64_t bucket = entry.home + distance(shape, entry.fingerprint);
  return bucket < shape->half ? bucket + shape->half : bucket;
}

/* The home of what lies in any bucket. */
static inline uint64_t home_of(const struct ps_cuckoo_shape *shape, uint64_t bucket,
                               uint64_t fingerprint)
{
  uint64_t far = bucket - shape->half, back = distance(shape, fingerprint);
  return bucket < shape->half ? bucket : far < back ? far - back + shape->half : far - back;
}

static inline uint64_t other_bucket(const struct ps_cuckoo_shape *shape, uint64_t bucket,
                                    uint64_t fingerprint)
{
  uint64_t home = home_of(shape, bucket, fingerprint);
  return bucket != home ? home : right_of(shape, (struct ps_cuckoo_entry){home, fingerprint});
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
                        right_of(shape, entry) * shape->bucket_bits, entry.fingerprint};
}

/* Without a branch between the buckets: one that is mispredicted costs more than both. */
static inline bool has(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                       struct place place, uint32_t bucket_bits, uint32_t word_bits)
{
  uint64_t found = 0;
  for (uint32_t at = 0; at < bucket_bits; at += word_bits) {
    found |= matches(shape, load(table, place.left + at), place.fingerprint) |
             matches(shape, load(table, place.right + at), place.fingerprint);
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

/* Of each bucket its first byte and the last that load() reads: one key in five has a bucket
 * that lies across two cache lines. */
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
  return holding(shape, table, entry.home, entry.fingerprint) +
         holding(shape, table, right_of(shape, entry), entry.fingerprint);
}

/* ---- changing ---- */

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

static uint64_t slot_at(const struct ps_cuckoo_shape *shape, uint64_t bucket, unsigned slot)
{
  return bucket * shape->bucket_bits + (uint64_t)slot * shape->bits;
}

/* Moves each entry on the path to bucket i one bucket on, the last into the slot at `to`; returns
 * the slot that the first has left. */
static uint64_t move_along(const struct ps_cuckoo_shape *shape, unsigned char *table,
                           const struct search *search, unsigned i, uint64_t to)
{
  for (; i > 1; i = search->parent[i]) {
    uint64_t from = slot_at(shape, search->bucket[search->parent[i]], search->slot[i]);
    put(shape, table, to, fingerprint_at(shape, table, from));
    to = from;
  }
  return to;
}

/* Looks for room in the buckets that the entries of bucket i may move to, and makes it; else leaves
 * these to be gone through later. UINT64_MAX if there is none. */
static uint64_t look_around(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct search *search, unsigned i)
{
  for (unsigned slot = 0; slot < shape->slots && search->n < REACH; slot++) {
    uint64_t from = slot_at(shape, search->bucket[i], slot);
    uint64_t bucket = other_bucket(shape, search->bucket[i], fingerprint_at(shape, table, from));
    if (mark(search, bucket)) {
      search->bucket[search->n] = bucket;
      search->parent[search->n] = (uint16_t)i;
      search->slot[search->n] = (uint8_t)slot;
      uint64_t to = find(shape, table, bucket, 0);
      if (to != UINT64_MAX) {
        return move_along(shape, table, search, search->n, to);
      }
      search->n++;
    }
  }
  return UINT64_MAX;
}

/* Makes room in one of the two buckets, that are full; returns the slot, UINT64_MAX if none can be
 * had. */
static uint64_t make_room(const struct ps_cuckoo_shape *shape, unsigned char *table, uint64_t left,
                          uint64_t right)
{
  struct search search;
  uint64_t to = UINT64_MAX;
  memset(search.marks, 0, sizeof search.marks);
  mark(&search, left);
  mark(&search, right);
  search.bucket[0] = left;
  search.bucket[1] = right;
  search.n = 2;
  for (unsigned i = 0; i < search.n && to == UINT64_MAX; i++) {
    to = look_around(shape, table, &search, i);
  }
  return to;
}

bool ps_cuckoo_table_insert(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct ps_cuckoo_entry entry)
{
  uint64_t left = entry.home, right = right_of(shape, entry);
  /* Into the emptier of the two, which leaves fewer full buckets. */
  uint64_t bucket =
      holding(shape, table, left, 0) >= holding(shape, table, right, 0) ? left : right;
  uint64_t to = find(shape, table, bucket, 0);
  if (to == UINT64_MAX) {
    to = make_room(shape, table, left, right);
  }
  if (to == UINT64_MAX) {
    return false;
  }
  put(shape, table, to, entry.fingerprint);
  return true;
}

bool ps_cuckoo_table_remove(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct ps_cuckoo_entry entry)
{
  uint64_t at = find(shape, table, entry.home, entry.fingerprint);
  if (at == UINT64_MAX) {
    at = find(shape, table, right_of(shape, entry), entry.fingerprint);
  }
  if (at == UINT64_MAX) {
    return false;
  }
  put(shape, table, at, 0);
  return true;
}

/* ---- all of it ---- */

uint64_t ps_cuckoo_table_count(const struct ps_cuckoo_shape *shape, const unsigned char *table)
{
  uint64_t buckets = 2 * shape->half, free = 0;
  for (uint64_t bucket = 0; bucket < buckets; bucket++) {
    free += holding(shape, table, bucket, 0);
  }
  return buckets * shape->slots - free;
}

bool ps_cuckoo_table_next(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          uint64_t *slot, struct ps_cuckoo_entry *entry)
{
  uint64_t slots = 2 * shape->half * shape->slots;
  while (*slot < slots) {
    uint64_t fingerprint = fingerprint_at(shape, table, *slot * shape->bits);
    uint64_t bucket = (*slot)++ / shape->slots;
    if (fingerprint != 0) {
      *entry = (struct ps_cuckoo_entry){home_of(shape, bucket, fingerprint), fingerprint};
      return true;
    }
  }
  return false;
}
