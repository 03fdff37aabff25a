/* Numbers with weights in ascending order: single values, and centroids that stand for several.
 *
 * A number is mixed when it is the mean of different values; otherwise it is one value that came as
 * often as it weighs, and exact. Equal exact ones are one entry, and come before a mixed one of the
 * same number. The first and the last are exact: they are the least and the largest value. */
#ifndef PS_QUANTILE_CENTROIDS_H
#define PS_QUANTILE_CENTROIDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sort.h"
#include "quantile/order.h"

#define PS_CENTROID_MIXED ((uint64_t)1 << 63)

/* The memory is the caller's. The numbers are integers of the same order (order.h); with each is
 * the weight of all before it, and the mark of a mixed one. */
struct ps_centroids {
  struct ps_pair *at;
  uint32_t n;
  uint64_t weight;
};

static inline double ps_centroid_value(const struct ps_centroids *list, size_t i)
{
  return ps_order_value(list->at[i].number);
}

static inline bool ps_centroid_mixed(const struct ps_centroids *list, size_t i)
{
  return (list->at[i].weight & PS_CENTROID_MIXED) != 0;
}

/* The weight of those before number i, which may be the number of them. */
static inline uint64_t ps_centroid_before(const struct ps_centroids *list, size_t i)
{
  return i < list->n ? list->at[i].weight & ~PS_CENTROID_MIXED : list->weight;
}

static inline uint64_t ps_centroid_weight(const struct ps_centroids *list, size_t i)
{
  return ps_centroid_before(list, i + 1) - ps_centroid_before(list, i);
}

/* Puts one behind all others, where it belongs. */
static inline void ps_centroids_append(struct ps_centroids *list, uint64_t number, bool mixed,
                                       uint64_t weight)
{
  list->at[list->n++] = (struct ps_pair){number, list->weight | (mixed ? PS_CENTROID_MIXED : 0)};
  list->weight += weight;
}

/* The most that insert() takes. */
#define PS_INSERT_MAX 1024

/* Adds the n > 0 values, each with its weight, that lie behind the list in any order. O(n + those
 * that are not less than all of them). */
void ps_centroids_insert(struct ps_centroids *list, size_t n);

/* Fills an empty list that has room for all of both. O(n). */
void ps_centroids_unite(struct ps_centroids *list, const struct ps_centroids *a,
                        const struct ps_centroids *b);

/* Fills an empty list with what neighbours of another make when they are joined until there are at
 * most 2 * compression. O(n). */
void ps_centroids_join(struct ps_centroids *joined, const struct ps_centroids *list,
                       uint32_t compression);

#endif
