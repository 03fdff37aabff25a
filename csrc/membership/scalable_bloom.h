/* Scalable Bloom filter (Almeida, Baquero, Preguica and Hutchison 2007, "Scalable Bloom Filters"):
 * a Bloom filter that grows, for an unknown number of keys.
 *
 * It is a series of Bloom filters, its layers: layer i is made for c g^i keys and a rate of
 * p (1 - t) t^i, with the capacity c, the rate p, the growth g and the tightening t. The rates of
 * however many layers sum up to less than p. Keys go into the newest layer, until one more could
 * bring the rate at its fill above the layer's own: at every moment the rate of the whole is at
 * most p. A key that any layer affirms is not added again.
 *
 * What fills when, and so the bytes, depends on the order of the keys. */
#ifndef PS_MEMBERSHIP_SCALABLE_BLOOM_H
#define PS_MEMBERSHIP_SCALABLE_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"

/* Owns its payload: the newest layer, which leads to the others. */
struct ps_scalable_bloom {
  struct ps_sketch sketch;
  uint64_t capacity; /* of the first layer */
  double fp_rate, growth, tightening;
};

extern const struct ps_kind ps_scalable_bloom;

/* Adds a key unless it is there. *fresh: it certainly was not before. PS_ERR_FULL when the next
 * layer would pass max_bytes or be one too many, PS_ERR_MEMORY; nothing has changed then. O(hashes
 * of all layers). */
enum ps_status ps_scalable_bloom_add(struct ps_scalable_bloom *filter, uint64_t hash, bool *fresh,
                                     struct ps_error *error);

/* False: certainly not there. True: there, or with probability ps_scalable_bloom_rate() not.
 * O(hashes of all layers). */
bool ps_scalable_bloom_has(const struct ps_scalable_bloom *filter, uint64_t hash);

/* Distinct keys, estimated from the fill of each layer; of a merged filter, keys that came to
 * several layers count several times. O(layers). */
double ps_scalable_bloom_estimate(const struct ps_scalable_bloom *filter);

/* The sum of the rates of all layers at their present fill, at most 1. O(layers). */
double ps_scalable_bloom_rate(const struct ps_scalable_bloom *filter);

#endif
