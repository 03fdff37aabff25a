/* Weighted numbers in ascending order, each with the weight of all up to it: what quantiles and
 * ranks are looked up in. It is made of ascending runs whose numbers have one weight each, and a
 * run may be merged into it later. */
#ifndef PS_QUANTILE_SORTED_VIEW_H
#define PS_QUANTILE_SORTED_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "base/sort.h"

/* Merges a run into n pairs, behind which there is room for it. O(n + length). */
void ps_view_merge(struct ps_pair *pairs, size_t n, const uint64_t *run, size_t length,
                   uint64_t weight);

/* The number that has number `at` of the total weight, counted from 0. O(log n). */
uint64_t ps_view_at(const struct ps_pair *pairs, size_t n, uint64_t at);

/* The weight of those that are <= number. O(log n). */
uint64_t ps_view_weight(const struct ps_pair *pairs, size_t n, uint64_t number);

#endif
