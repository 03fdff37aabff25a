#include "membership/fuse_build.h"

#include <string.h>

#include "base/bytes.h"
#include "base/distinct.h"
#include "membership/fuse.h"

/* A tally counts the keys of a slot in its upper six bits; the lower two are the exclusive or of
 * which of its key's four slots it is. So when one key is left, both it and its place are known. */
#define ONE_KEY 4

/* What building takes beside the hashes. */
struct workshop {
  uint64_t *order; /* of each key, the hash of this attempt */
  uint64_t *sums;  /* of each slot, the exclusive or of its keys */
  uint32_t *alone; /* slots that have been left with one key, and the one that may come next */
  uint8_t *own;    /* of each key in order, which of its slots it was alone in */
  uint8_t *tallies;
};

static uint64_t slots_at_most(const struct ps_fuse *fuse)
{
  struct ps_fuse last = *fuse;
  last.attempt = PS_FUSE_ATTEMPTS - 1;
  ps_fuse_derive(&last);
  return ps_fuse_slot_count(&last);
}

/* The widest first, so that all are aligned. */
static struct workshop workshop_in(const struct ps_fuse *fuse, void *scratch)
{
  const uint64_t slots = slots_at_most(fuse);
  struct workshop shop;
  shop.order = scratch;
  shop.sums = shop.order + fuse->keys;
  shop.alone = (uint32_t *)(shop.sums + slots);
  shop.own = (uint8_t *)(shop.alone + slots + 1);
  shop.tallies = shop.own + fuse->keys;
  return shop;
}

uint64_t ps_fuse_scratch(const struct ps_sketch *sketch)
{
  const struct ps_fuse *fuse = (const struct ps_fuse *)sketch;
  const struct workshop *shop = NULL;
  return fuse->keys * (sizeof *shop->order + sizeof *shop->own) +
         slots_at_most(fuse) * (sizeof *shop->sums + sizeof *shop->alone + sizeof *shop->tallies) +
         sizeof *shop->alone;
}

/* ---- arranging ---- */

/* Enters all keys at their slots. False when more share one than a tally counts. */
static bool enter(const struct ps_fuse *fuse, const uint64_t *hashes, struct workshop shop)
{
  const uint64_t n = ps_fuse_slot_count(fuse);
  bool overflowed = false;
  memset(shop.sums, 0, n * sizeof *shop.sums);
  memset(shop.tallies, 0, n * sizeof *shop.tallies);
  for (uint64_t i = 0; i < fuse->keys; i++) {
    uint64_t slots[PS_FUSE_SLOTS];
    ps_fuse_slots(fuse, hashes[i], slots);
    for (unsigned j = 0; j < PS_FUSE_SLOTS; j++) {
      uint8_t tally = (uint8_t)((shop.tallies[slots[j]] + ONE_KEY) ^ j);
      shop.tallies[slots[j]] = tally;
      shop.sums[slots[j]] ^= hashes[i];
      overflowed |= tally < ONE_KEY;
    }
  }
  return !overflowed;
}

static inline bool has_one_key(uint8_t tally)
{
  return tally / ONE_KEY == 1;
}

/* Takes a key, alone in the slot that is its own, out of its other three; returns how many slots
 * are then on the stack. Without branches, since nobody could predict them. */
static inline uint64_t take_out(const struct ps_fuse *fuse, struct workshop shop, uint64_t hash,
                                unsigned own, uint64_t stacked)
{
  uint64_t slots[PS_FUSE_SLOTS];
  ps_fuse_slots(fuse, hash, slots);
  for (unsigned k = 1; k < PS_FUSE_SLOTS; k++) {
    unsigned j = (own + k) % PS_FUSE_SLOTS;
    uint8_t tally = (uint8_t)((shop.tallies[slots[j]] - ONE_KEY) ^ j);
    shop.tallies[slots[j]] = tally;
    shop.sums[slots[j]] ^= hash;
    shop.alone[stacked] = (uint32_t)slots[j];
    stacked += has_one_key(tally);
  }
  return stacked;
}

/* Takes out keys that are alone in a slot, and writes down the order, until none is. Are all out?
 */
static bool peel(const struct ps_fuse *fuse, struct workshop shop)
{
  const uint64_t n = ps_fuse_slot_count(fuse);
  uint64_t stacked = 0, done = 0;
  for (uint64_t slot = 0; slot < n; slot++) {
    shop.alone[stacked] = (uint32_t)slot;
    stacked += has_one_key(shop.tallies[slot]);
  }
  while (stacked > 0) {
    uint32_t slot = shop.alone[--stacked];
    uint8_t tally = shop.tallies[slot];
    if (has_one_key(tally)) { /* else its key has been taken out from another slot */
      uint64_t hash = shop.sums[slot];
      unsigned own = tally % ONE_KEY;
      shop.order[done] = hash;
      shop.own[done++] = (uint8_t)own;
      stacked = take_out(fuse, shop, hash, own, stacked);
    }
  }
  return done == fuse->keys;
}

/* Makes the hashes of this attempt those of the next; distinct ones stay distinct. */
static void rehash(struct ps_fuse *fuse, uint64_t *hashes, uint64_t *other)
{
  fuse->attempt++;
  ps_fuse_derive(fuse);
  for (uint64_t i = 0; i < fuse->keys; i++) {
    hashes[i] = ps_fuse_rehash(hashes[i]);
  }
  ps_sort_distinct(hashes, fuse->keys, other);
}

enum ps_status ps_fuse_arrange(struct ps_sketch *sketch, uint64_t *hashes, void *scratch,
                               struct ps_error *error)
{
  struct ps_fuse *fuse = (struct ps_fuse *)sketch;
  struct workshop shop = workshop_in(fuse, scratch);
  while (!(enter(fuse, hashes, shop) && peel(fuse, shop))) {
    if (fuse->attempt + 1 == PS_FUSE_ATTEMPTS) {
      return ps_fail(error, PS_ERR_ARGUMENT,
                     "these keys do not fit into a fuse in %d attempts (try another seed)",
                     PS_FUSE_ATTEMPTS);
    }
    rehash(fuse, hashes, shop.order);
  }
  return PS_OK;
}

/* ---- building ---- */

/* The key's own slot is still zero, and no key behind it in this order has a slot that is not yet
 * as it will stay. */
static inline void fill(struct ps_fuse *fuse, struct workshop shop, unsigned width)
{
  unsigned char *payload = fuse->sketch.payload;
  for (uint64_t i = fuse->keys; i-- > 0;) {
    uint64_t slots[PS_FUSE_SLOTS];
    ps_fuse_slots(fuse, shop.order[i], slots);
    uint64_t missing =
        ps_fuse_fingerprint(shop.order[i]) ^ ps_fuse_exclusive_or(payload, slots, width);
    ps_fuse_store(payload, slots[shop.own[i]], width, missing);
  }
}

void ps_fuse_build(struct ps_sketch *sketch, void *scratch)
{
  struct ps_fuse *fuse = (struct ps_fuse *)sketch;
  struct workshop shop = workshop_in(fuse, scratch);
  if (fuse->fingerprint_bits == 8) {
    fill(fuse, shop, 1);
  } else {
    fill(fuse, shop, 2);
  }
}
