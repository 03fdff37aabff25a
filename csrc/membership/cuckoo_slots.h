/* Slots and buckets of a cuckoo filter's table, for what works on it (membership/cuckoo_table.h).
 */
#ifndef PS_MEMBERSHIP_CUCKOO_SLOTS_H
#define PS_MEMBERSHIP_CUCKOO_SLOTS_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/math.h"
#include "membership/cuckoo_table.h"

/* A word is loaded at a byte and shifted by up to 7 bits. */
#define PS_CUCKOO_WORD_BITS_MAX 57

static inline uint64_t ps_lowest(unsigned bits)
{
  return (UINT64_C(1) << bits) - 1;
}

/* ---- slots, by the bit they start at ---- */

static inline uint64_t ps_slot_load(const unsigned char *table, uint64_t bit)
{
  return ps_load64(table + bit / 8) >> bit % 8;
}

static inline uint64_t ps_slot_get(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                                   uint64_t bit)
{
  return ps_slot_load(table, bit) & ps_lowest(shape->bits);
}

static inline void ps_slot_put(const struct ps_cuckoo_shape *shape, unsigned char *table,
                               uint64_t bit, uint64_t fingerprint)
{
  unsigned char *at = table + bit / 8;
  uint64_t mask = ps_lowest(shape->bits) << bit % 8;
  ps_store64(at, (ps_load64(at) & ~mask) | fingerprint << bit % 8);
}

/* The highest bit of each slot of a word that holds the fingerprint: adding to the others' lower
 * bits carries into the highest where they are not 0, and never farther. */
static inline uint64_t ps_slot_matches(const struct ps_cuckoo_shape *shape, uint64_t word,
                                       uint64_t fingerprint)
{
  uint64_t lows = shape->highs - shape->ones, unlike = word ^ shape->ones * fingerprint;
  return ~(((unlike & lows) + lows) | unlike) & shape->highs;
}

/* Where the first slot of a bucket starts that holds the fingerprint; UINT64_MAX if none does. */
static inline uint64_t ps_slot_find(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                                    uint64_t bucket, uint64_t fingerprint)
{
  uint64_t bit = bucket * shape->bucket_bits, end = bit + shape->bucket_bits;
  for (; bit < end; bit += shape->word_bits) {
    uint64_t found = ps_slot_matches(shape, ps_slot_load(table, bit), fingerprint);
    if (found != 0) {
      return bit + (unsigned)__builtin_ctzll(found) - (shape->bits - 1);
    }
  }
  return UINT64_MAX;
}

/* How many slots of a bucket hold the fingerprint. */
unsigned ps_slots_holding(const struct ps_cuckoo_shape *shape, const unsigned char *table,
                          uint64_t bucket, uint64_t fingerprint);

static inline uint64_t ps_slot_at(const struct ps_cuckoo_shape *shape, uint64_t bucket,
                                  unsigned slot)
{
  return bucket * shape->bucket_bits + (uint64_t)slot * shape->bits;
}

/* ---- buckets ---- */

/* Mixed, so that fingerprints that are close together do not lead to the same few buckets; the
 * multipliers are those of splitmix64 (Steele, Lea and Flood 2014). */
static inline uint64_t ps_cuckoo_mixed(const struct ps_cuckoo_shape *shape, uint64_t fingerprint)
{
  uint64_t x = (fingerprint & shape->kept) * UINT64_C(0xbf58476d1ce4e5b9);
  return (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
}

/* How far the right bucket is from the home. */
static inline uint64_t ps_cuckoo_distance(const struct ps_cuckoo_shape *shape, uint64_t fingerprint)
{
  return ps_hash_place(ps_cuckoo_mixed(shape, fingerprint), shape->half);
}

/* The sum of home and distance, modulo the half, without the carries from appended bits: of these
 * x xor y is x + y - 2 (x and y), and x - y + 2 (not x and y). */
static inline uint64_t ps_cuckoo_right(const struct ps_cuckoo_shape *shape,
                                       struct ps_cuckoo_entry entry)
{
  uint64_t far = ps_cuckoo_distance(shape, entry.fingerprint);
  uint64_t bucket = entry.home + far - ((entry.home & far & shape->appended) << 1);
  return bucket < shape->half ? bucket + shape->half : bucket;
}

/* The home of what lies in any bucket. */
static inline uint64_t ps_cuckoo_home(const struct ps_cuckoo_shape *shape, uint64_t bucket,
                                      uint64_t fingerprint)
{
  uint64_t far = ps_cuckoo_distance(shape, fingerprint);
  uint64_t home = bucket - far + ((~bucket & far & shape->appended) << 1);
  return bucket < shape->half ? bucket : home < shape->half ? home : home - shape->half;
}

static inline uint64_t ps_cuckoo_other(const struct ps_cuckoo_shape *shape, uint64_t bucket,
                                       uint64_t fingerprint)
{
  uint64_t home = ps_cuckoo_home(shape, bucket, fingerprint);
  return bucket != home ? home
                        : ps_cuckoo_right(shape, (struct ps_cuckoo_entry){home, fingerprint});
}

/* The bits that the coming doublings will append to the number of a bucket where they put the
 * fingerprint: one for each that there is to spare, and one at least is. */
static inline uint64_t ps_cuckoo_way(const struct ps_cuckoo_shape *shape, uint64_t bucket,
                                     uint64_t fingerprint)
{
  uint64_t home = fingerprint >> (shape->bits - shape->spare);
  uint64_t far = ps_cuckoo_mixed(shape, fingerprint) * shape->half >> (64 - shape->spare);
  return bucket < shape->half ? home : home ^ far;
}

#endif
