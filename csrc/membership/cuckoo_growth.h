/* The memory of cuckoo filters that grow, and of what is merged in it. */
#ifndef PS_MEMBERSHIP_CUCKOO_GROWTH_H
#define PS_MEMBERSHIP_CUCKOO_GROWTH_H

#include "membership/cuckoo.h"

/* Sets the shape of a filter that has doubled so often. */
void ps_cuckoo_shape_after(struct ps_cuckoo *cuckoo, uint32_t doublings);

/* Makes the payload a new, empty block for the present shape, without looking at the old one. On
 * failure it is NULL. PS_ERR_MEMORY. */
enum ps_status ps_cuckoo_take(struct ps_cuckoo *cuckoo, struct ps_error *error);

void ps_cuckoo_give_back(struct ps_cuckoo *cuckoo);

/* Makes `copy`, a struct copied from `source`, own a payload of its own, also where `source` owns
 * none. PS_ERR_MEMORY. */
enum ps_status ps_cuckoo_clone(struct ps_cuckoo *copy, const struct ps_cuckoo *source,
                               struct ps_error *error);

/* Back to the shape it was made with, of whatever content; more memory is kept if none can be given
 * back. */
void ps_cuckoo_shrink(struct ps_cuckoo *cuckoo);

/* PS_ERR_FULL, which says how full. */
enum ps_status ps_cuckoo_full(const struct ps_cuckoo *cuckoo, struct ps_error *error);

/* Does the limit let the filter have the shape? The limit is for all there is of a sketch; what is
 * around its payload is not known here, but how large its struct may be. */
bool ps_cuckoo_may_be(const struct ps_cuckoo *cuckoo, const struct ps_cuckoo_shape *shape);

/* How many more keys go in before it doubles; UINT64_MAX if it may not. */
uint64_t ps_cuckoo_left(const struct ps_cuckoo *cuckoo);

/* Doubles the buckets. PS_ERR_FULL when it may not, PS_ERR_MEMORY. */
enum ps_status ps_cuckoo_grow(struct ps_cuckoo *cuckoo, struct ps_error *error);

/* Adds a key by its entry in the present shape; grows where that helps. PS_ERR_FULL, PS_ERR_MEMORY.
 */
enum ps_status ps_cuckoo_insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                                struct ps_error *error);

#endif
