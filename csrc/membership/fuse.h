/* The binary fuse filter (Graf and Lemire 2022, "Binary Fuse Filters: Fast and Smaller Than Xor
 * Filters"): a set that is built once, of all its keys, in 8.6 or 17.2 bits a key.
 *
 * An array of slots is cut into segments. A key's hash chooses one slot in each of four consecutive
 * segments, and a fingerprint; the filter is built so that the exclusive or of the four slots is
 * the fingerprint of every key that is in it. A key that is not there agrees by chance, for one in
 * 2^8 or 2^16.
 *
 * Sizes follow the paper's formulas for four segments, in whole numbers, so that every machine
 * comes to the same. With a small probability the slots of some keys go in circles and
 * there is no such filter: building then starts again with other slots for all, and more of them
 * after a few attempts. All is a function of the set of hashes alone. */
#ifndef PS_MEMBERSHIP_FUSE_H
#define PS_MEMBERSHIP_FUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/kind.h"

/* The number of a slot fits 32 bits. */
#define PS_FUSE_KEYS_MAX (UINT64_C(1) << 31)

#define PS_FUSE_ATTEMPTS 32

/* Slots of a key: the arity of the paper. */
#define PS_FUSE_SLOTS 4

/* Payload: the slots, each of fingerprint_bits, little-endian. */
struct ps_fuse {
  struct ps_sketch sketch;
  uint64_t keys;            /* distinct hashes */
  uint8_t fingerprint_bits; /* 8 or 16 */
  uint8_t attempt;          /* the first that succeeded */
  uint32_t segment_length;  /* derived, from here on: slots of a segment, a power of two */
  uint64_t starts;          /* places for the first slot of a key: all segments but three */
  uint64_t multiplier;      /* what makes the hashes of this attempt */
};

extern const struct ps_kind ps_fuse;

/* False: certainly not there. True: there, or with probability 2^-fingerprint_bits not. O(1). */
bool ps_fuse_has(const struct ps_fuse *fuse, uint64_t hash);

/* ---- what building and asking share ---- */

/* Sets what follows from the parameters. */
void ps_fuse_derive(struct ps_fuse *fuse);

static inline uint64_t ps_fuse_slot_count(const struct ps_fuse *fuse)
{
  return fuse->starts + (PS_FUSE_SLOTS - 1) * (uint64_t)fuse->segment_length;
}

/* `h` is the hash times the multiplier. Its high bits choose the first slot, so that sorted hashes
 * go through the slots in order; 18 bits each of a further product, the place in the other three
 * segments. */
static inline void ps_fuse_slots(const struct ps_fuse *fuse, uint64_t h,
                                 uint64_t slots[PS_FUSE_SLOTS])
{
  const uint64_t length = fuse->segment_length, mask = length - 1;
  const uint64_t first = ps_hash_place(h, fuse->starts), within = ps_hash_next(h);
  slots[0] = first;
  slots[1] = (first + length) ^ (within >> 46 & mask);
  slots[2] = (first + 2 * length) ^ (within >> 28 & mask);
  slots[3] = (first + 3 * length) ^ (within >> 10 & mask);
}

/* The hash of the next attempt for that of one. */
static inline uint64_t ps_fuse_rehash(uint64_t h)
{
  return ps_hash_next(ps_hash_next(h));
}

/* Of which a filter keeps the low fingerprint_bits. */
static inline uint64_t ps_fuse_fingerprint(uint64_t h)
{
  return h ^ h >> 32;
}

/* A slot of 1 or 2 bytes. */
static inline uint64_t ps_fuse_load(const unsigned char *payload, uint64_t slot, unsigned width)
{
  return width == 1 ? payload[slot] : ps_load16(payload + 2 * slot);
}

static inline void ps_fuse_store(unsigned char *payload, uint64_t slot, unsigned width, uint64_t x)
{
  if (width == 1) {
    payload[slot] = (unsigned char)x;
  } else {
    ps_store16(payload + 2 * slot, (uint16_t)x);
  }
}

static inline uint64_t ps_fuse_exclusive_or(const unsigned char *payload,
                                            const uint64_t slots[PS_FUSE_SLOTS], unsigned width)
{
  return ps_fuse_load(payload, slots[0], width) ^ ps_fuse_load(payload, slots[1], width) ^
         ps_fuse_load(payload, slots[2], width) ^ ps_fuse_load(payload, slots[3], width);
}

#endif
