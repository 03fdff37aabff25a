/* The items of a kll: numbers on levels, those on level h standing for 2^h values each.
 *
 * All lie in one array whose upper end is in use: level 0 first, in any order, into which values
 * come at its lower end, then the others, each ascending. A level as deep as d below the highest
 * has a capacity of k (2/3)^d, at least 8, and so many levels hold at most the sum of their
 * capacities (Karnin, Lang and Liberty 2016, "Optimal quantile approximation in streams"; the sizes
 * and the order of the items are those of the sketch in Apache DataSketches).
 *
 * Compaction takes every 2^s-th item of a level, from one chosen by s coins on, to the s-th level
 * above. Error is what that adds to the weight of the items <= x: never more than 2^h for each
 * level h that was passed, 0 in expectation. */
#ifndef PS_QUANTILE_KLL_LEVELS_H
#define PS_QUANTILE_KLL_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Weights are at most 2^53. */
#define PS_LEVELS_MAX 54

/* Capacities of levels that are as deep, or deeper, are the least for any k. */
#define PS_DEPTHS 24

/* The coins that a compaction of each level is decided by, a bit a level. Two compactions in turn
 * take opposite sides, so that what the first adds the second tends to take away (Ivkin, Liberty,
 * Lang, Karnin and Braverman 2019, "Streaming quantiles algorithms with small space and update
 * time", section 3.3). */
struct ps_coins {
  uint64_t random;  /* what has been drawn, and of which items; 0 at first */
  uint64_t pending; /* levels whose next compaction is the second of two */
  uint64_t side;    /* the side that it takes; 0 unless it is pending */
};

struct ps_levels {
  uint64_t *items; /* `room` of them; order.h */
  struct ps_coins coins;
  uint32_t room;
  uint32_t n;                        /* levels: the highest is not empty, unless it is level 0 */
  uint32_t start[PS_LEVELS_MAX + 1]; /* level h lies from start[h] to start[h + 1] */
  uint32_t most;                     /* items: the capacities of all levels */
  uint32_t capacity[PS_DEPTHS];      /* by depth */
};

static inline uint32_t ps_level_size(const struct ps_levels *levels, uint32_t h)
{
  return levels->start[h + 1] - levels->start[h];
}

/* Items that are there. */
static inline uint32_t ps_levels_size(const struct ps_levels *levels)
{
  return levels->room - levels->start[0];
}

/* How many more go in before a compaction. */
static inline uint32_t ps_levels_left(const struct ps_levels *levels)
{
  return levels->most - ps_levels_size(levels);
}

/* Makes levels without items, and without room for any. */
void ps_levels_init(struct ps_levels *levels, uint32_t k);

/* The capacity of so many levels together. */
uint32_t ps_levels_capacity(const struct ps_levels *levels, uint32_t n);

/* The largest sum of weights for which compactions make no more than n levels. */
uint64_t ps_levels_enough(const struct ps_levels *levels, uint32_t n);

/* Moves the items to the upper end of another array; start and room are then those of it. */
void ps_levels_move(struct ps_levels *levels, uint64_t *items, uint32_t room);

/* Makes levels up to the n-th. */
void ps_levels_raise(struct ps_levels *levels, uint32_t n);

/* Adds an item to level 0. There must be one left. */
static inline void ps_levels_push(struct ps_levels *levels, uint64_t item)
{
  levels->items[--levels->start[0]] = item;
}

/* Adds an item of a weight other than 0, on the level of each of its bits: the levels must be
 * there, and so many items left. O(items). */
void ps_levels_insert(struct ps_levels *levels, uint64_t item, uint64_t weight);

/* Compacts levels until a quarter of their capacity is left for level 0, whose items must be
 * ascending: at least as many items as there are levels. O(items). */
void ps_levels_compact(struct ps_levels *levels, uint64_t seed);

/* Fills `to`, levels of the same k with as much room as both have items, with those of a and b.
 * Level 0 of both must be ascending. O(items). */
void ps_levels_join(struct ps_levels *to, const struct ps_levels *a, const struct ps_levels *b);

#endif
