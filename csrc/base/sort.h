/* Sorting of 64-bit numbers, alone or each with a weight. O(n), whatever they are. */
#ifndef PS_BASE_SORT_H
#define PS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct ps_pair {
  uint64_t number, weight;
};

/* Sorts n < 2^32 numbers. `other` has room for n too, and is left with anything. */
void ps_sort(uint64_t *numbers, size_t n, uint64_t *other);

/* The same of pairs by their number; equal ones stay in the order that they have. */
void ps_sort_pairs(struct ps_pair *pairs, size_t n, struct ps_pair *other);

#endif
