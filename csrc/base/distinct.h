/* Sets of hashes: sorted, each there once. */
#ifndef PS_BASE_DISTINCT_H
#define PS_BASE_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts n < 2^32 hashes, drops those that are there already, and returns how many are left. `other`
 * has room for n too, and is left with anything. O(n), whatever they are. */
size_t ps_sort_distinct(uint64_t *hashes, size_t n, uint64_t *other);

#endif
