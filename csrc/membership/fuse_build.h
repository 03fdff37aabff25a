/* How a fuse filter is built: the functions that struct ps_kind names. */
#ifndef PS_MEMBERSHIP_FUSE_BUILD_H
#define PS_MEMBERSHIP_FUSE_BUILD_H

#include "base/kind.h"

/* Bytes: 26 a key for many keys. */
uint64_t ps_fuse_scratch(const struct ps_sketch *sketch);

/* Peels: finds, in `scratch`, an order of the keys in which each has a slot that no later one
 * shares. PS_ERR_ARGUMENT when no attempt does. O(n). */
enum ps_status ps_fuse_arrange(struct ps_sketch *sketch, uint64_t *hashes, void *scratch,
                               struct ps_error *error);

/* Fills the slots, in the opposite order. O(n). */
void ps_fuse_build(struct ps_sketch *sketch, void *scratch);

#endif
