/* The cuckoo filter (Fan et al. 2014): "certainly not there" or "probably there", and it forgets.
 *
 * A table of short fingerprints (membership/cuckoo_table.h). Each key has one slot, in one of two
 * buckets; what is in its way moves to its own other bucket. A key that is removed takes a
 * fingerprint with it that is its own or equal to its own in all respects, so that whatever is left
 * is still found.
 *
 * A fixed filter is one table in its caller's memory. A growing one starts small and with longer
 * fingerprints; when it is full each bucket is split in two, and the first bit of a fingerprint
 * says to which it goes. So it is one table at any time, a key is known by the same bits of its
 * hash from first to last, and the rate stays below what was asked for until the last doubling has
 * filled up. (A list of tables would need fewer bits while it is short, but it loses keys: what is
 * removed may be found in another table first, where its fingerprint is that of a key which is
 * different elsewhere.) */
#ifndef PS_MEMBERSHIP_CUCKOO_H
#define PS_MEMBERSHIP_CUCKOO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "membership/cuckoo_table.h"

/* A growing filter holds up to 2^16 times what it holds at first. */
#define PS_CUCKOO_DOUBLINGS_MAX 16

/* Payload: the table. */
struct ps_cuckoo {
  struct ps_sketch sketch;
  uint64_t capacity; /* keys that go in, and that fp_rate is promised for */
  double fp_rate;
  uint64_t buckets; /* of both halves, before it grows */
  uint8_t bucket_size;
  uint8_t fingerprint_bits; /* before it grows */
  uint8_t growth;           /* 0: fixed, 2: doubles */
  /* Derived. */
  struct ps_cuckoo_shape shape;
  uint64_t count;
};

extern const struct ps_kind ps_cuckoo;

/* PS_ERR_FULL when there is no place for it; PS_ERR_MEMORY. Nothing has changed then. Expected
 * O(1), but for the calls in which a growing filter doubles. */
enum ps_status ps_cuckoo_add(struct ps_cuckoo *cuckoo, uint64_t hash, struct ps_error *error);

/* False: certainly not there. True: there, or with probability ps_cuckoo_rate() not. O(1). */
static inline bool ps_cuckoo_has(const struct ps_cuckoo *cuckoo, uint64_t hash)
{
  return ps_cuckoo_table_has(&cuckoo->shape, cuckoo->sketch.payload, hash);
}

/* Takes one copy of the key away, or of one that has() takes for it; false if there is none. O(1).
 */
bool ps_cuckoo_remove(struct ps_cuckoo *cuckoo, uint64_t hash);

/* How often the key is there, those that has() takes for it included. O(1). */
unsigned ps_cuckoo_frequency(const struct ps_cuckoo *cuckoo, uint64_t hash);

/* The false-positive rate at the present fill. O(1). */
double ps_cuckoo_rate(const struct ps_cuckoo *cuckoo);

#endif
