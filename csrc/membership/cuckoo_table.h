/* The table of a cuckoo filter (Fan, Andersen, Kaminsky and Mitzenmacher 2014, "Cuckoo filter:
 * practically better than Bloom").
 *
 * A table has two halves of equally many buckets, any number, and a bucket b slots of f bits. A
 * slot holds a fingerprint, 1 .. 2^f - 1, or 0 when it is free. A key has one bucket in the left
 * half, its home, and one in the right half, that lies the fingerprint's distance farther, modulo
 * the half. So each of the two follows from the other and the fingerprint, and they always differ:
 * 2 b copies of a key go into a table of any size, and small tables fill like large ones.
 *
 * Home and fingerprint are the integer part, and the first f bits of the fraction, of hash / 2^64 *
 * half: in a table with twice the buckets and one bit less, they are the same bits of the hash.
 *
 * So a table whose fingerprints have bits to spare can double: bucket i is split into 2 i and
 * 2 i + 1. What is in a left bucket goes to the one that the first bit of its fingerprint names,
 * which is its home there. For the right buckets to be split in the same way, of n bits to spare
 *   - the distance follows from the other bits alone, which no doubling takes, and which are not 0;
 *   - it is the integer part of y / 2^64 * half, y mixed from those bits, so that each doubling
 *     appends a bit to it as it does to the home;
 *   - of the sum, only the part that was there before any doubling is carried, modulo the first
 *     half; the bits appended to home and distance are added without carry (exclusive or).
 * In both halves an entry goes to the child of its bucket that one bit of its own names, so each
 * child receives a part of what one bucket held: there is always a place for it. */
#ifndef PS_MEMBERSHIP_CUCKOO_TABLE_H
#define PS_MEMBERSHIP_CUCKOO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So that a fingerprint, wherever it starts within a byte, ends within eight. */
#define PS_CUCKOO_BITS_MAX 56

/* The shape of a table. Slot i lies at bit i f; bit j in byte j / 8 at 1 << j % 8. Slots are read
 * by words of as many as fit, the same number in every word. */
struct ps_cuckoo_shape {
  uint64_t half;     /* buckets of each half */
  uint64_t ones;     /* the lowest bit of each fingerprint in a word */
  uint64_t highs;    /* the highest */
  uint64_t kept;     /* the bits of a fingerprint that are not to spare */
  uint64_t appended; /* the bits of a bucket's number, in its half, that doublings appended */
  uint32_t bits;     /* f */
  uint32_t bucket_bits;
  uint32_t word_bits;
  uint32_t slots; /* b */
  uint32_t spare; /* how often it may double */
  uint32_t doublings;
};

/* A key as a table knows it. Keys with the same entry are one key to it. */
struct ps_cuckoo_entry {
  uint64_t home, fingerprint;
};

/* Half, bits and spare, fewer than bits, are those of a table that has not doubled. */
struct ps_cuckoo_shape ps_cuckoo_shape(uint64_t half, unsigned slots, unsigned bits, unsigned spare,
                                       unsigned doublings);

/* After so many more doublings. */
struct ps_cuckoo_shape ps_cuckoo_shape_after(const struct ps_cuckoo_shape *shape,
                                             unsigned doublings);

/* Bytes of a table; UINT64_MAX when that does not fit 64 bits. Zeros are an empty one. */
uint64_t ps_cuckoo_table_size(const struct ps_cuckoo_shape *shape);

/* Is there nothing behind the last slot, and in no slot a fingerprint that none has? */
bool ps_cuckoo_table_valid(const struct ps_cuckoo_shape *shape, const unsigned char *table);

/* ---- keys ---- */

struct ps_cuckoo_entry ps_cuckoo_entry(const struct ps_cuckoo_shape *shape, uint64_t hash);

/* The same key after so many more doublings. */
struct ps_cuckoo_entry ps_cuckoo_entry_in_larger(const struct ps_cuckoo_shape *shape,
                                                 struct ps_cuckoo_entry entry, unsigned doublings);

/* False, and nothing has changed, if no place was found for it. Expected O(1) below the loads that
 * filters are planned with; at most some hundred buckets are looked at. */
bool ps_cuckoo_table_insert(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct ps_cuckoo_entry entry);

/* Would it be inserted after so many doublings, no more than there are to spare? */
bool ps_cuckoo_table_fits(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          struct ps_cuckoo_entry entry, unsigned doublings);

/* Frees one slot that holds the entry; false if none does. */
bool ps_cuckoo_table_remove(const struct ps_cuckoo_shape *shape, unsigned char *table,
                            struct ps_cuckoo_entry entry);

/* How many slots hold the entry. */
unsigned ps_cuckoo_table_frequency(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                                   struct ps_cuckoo_entry entry);

bool ps_cuckoo_table_has(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                         uint64_t hash);

/* The same for many hashes. What they need of the table is asked for ahead. */
void ps_cuckoo_table_has_all(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                             const uint64_t *hashes, size_t n, bool *found);

/* Asks for what the next call for this hash will look at. */
void ps_cuckoo_table_prefetch(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                              uint64_t hash);

/* ---- the whole ---- */

/* Doubles a table that has a bit to spare, in place: in memory of the size of the doubled one, with
 * zeros behind the present one. O(slots). */
void ps_cuckoo_table_double(struct ps_cuckoo_shape *shape, unsigned char *table);

/* How many buckets lie whole in the first bytes of a table. */
uint64_t ps_cuckoo_buckets_within(const struct ps_cuckoo_shape *shape, uint64_t bytes);

/* How many slots are taken in the buckets from `first` to before `end`. O(slots). */
uint64_t ps_cuckoo_table_count(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                               uint64_t first, uint64_t end);

/* The entry in the first slot from *slot on that is taken, and moves *slot behind it; false if
 * there is none. */
bool ps_cuckoo_table_next(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          uint64_t *slot, struct ps_cuckoo_entry *entry);

#endif
