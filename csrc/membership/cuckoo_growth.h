/* The memory of cuckoo filters that grow, and of what is merged in it. */
#ifndef PS_MEMBERSHIP_CUCKOO_GROWTH_H
#define PS_MEMBERSHIP_CUCKOO_GROWTH_H

#include "membership/cuckoo.h"

/* Sets the shape of a filter that has doubled so often. */
void ps_cuckoo_set_doublings(struct ps_cuckoo *cuckoo, uint32_t doublings);

/* Makes the payload a new, empty block for the present shape, without looking at the old one. On
 * failure it is NULL. PS_ERR_MEMORY. */
enum ps_status ps_cuckoo_take(struct ps_cuckoo *cuckoo, struct ps_error *error);

void ps_cuckoo_give_back(struct ps_cuckoo *cuckoo);

/* Makes `copy`, a struct copied from `source`, own a payload of its own, also where `source` owns
 * none. PS_ERR_MEMORY. */
enum ps_status ps_cuckoo_clone(struct ps_cuckoo *copy, const struct ps_cuckoo *source,
                               struct ps_error *error);

/* Gives back what memory is there beside that of the present shape; keeps it if that cannot be. */
void ps_cuckoo_trim(struct ps_cuckoo *cuckoo);

/* PS_ERR_FULL, which says how full. */
enum ps_status ps_cuckoo_full(const struct ps_cuckoo *cuckoo, struct ps_error *error);

/* Does the limit let the filter have the shape? The limit is for all there is of a sketch; what is
 * around its payload is not known here, but how large its struct may be. */
bool ps_cuckoo_may_be(const struct ps_cuckoo *cuckoo, const struct ps_cuckoo_shape *shape);

/* How many more keys go in before it doubles; UINT64_MAX if it may not. */
uint64_t ps_cuckoo_left(const struct ps_cuckoo *cuckoo);

/* Takes the memory that so many more keys make it double to, if they all go in. PS_ERR_MEMORY. */
enum ps_status ps_cuckoo_reserve(struct ps_cuckoo *cuckoo, uint64_t keys, struct ps_error *error);

/* Keys that were chosen to share their buckets, or many keys with more than b copies, would make a
 * filter double on and on: none does that holds less than this part of what it has room for. A
 * merge, which is refused as a whole, may go farther: filters of some thousand keys (some
 * hundred, if b is 2) can be united up to b + 1 copies of each, which takes that much. */
#define PS_CUCKOO_SPARSEST_ADD 8
#define PS_CUCKOO_SPARSEST_MERGE 32

/* Doubles so often. PS_ERR_FULL when it may not, PS_ERR_MEMORY; nothing has changed then. */
enum ps_status ps_cuckoo_grow(struct ps_cuckoo *cuckoo, unsigned doublings, struct ps_error *error);

/* Adds a key by its entry in the present shape; grows where that helps and is allowed. PS_ERR_FULL,
 * PS_ERR_MEMORY; nothing has changed then, and no memory was asked for in vain. */
enum ps_status ps_cuckoo_insert(struct ps_cuckoo *cuckoo, struct ps_cuckoo_entry entry,
                                uint64_t sparsest, struct ps_error *error);

#endif
