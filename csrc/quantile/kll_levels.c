#include "quantile/kll_levels.h"

#include <string.h>

#define CAPACITY_MIN 8

/* The share of their capacity that levels above 0 are compacted to: the rest is for level 0. More
 * would make its runs short, and sorting them dear. */
#define FULL_NUMERATOR 3
#define FULL_DENOMINATOR 4

/* ---- capacities ---- */

/* k (2/3)^depth, to the nearest. */
static uint32_t capacity_at(uint32_t k, unsigned depth)
{
  uint64_t twice = (uint64_t)k << (depth + 1), power = 1;
  for (unsigned d = 0; d < depth; d++) {
    power *= 3;
  }
  uint32_t capacity = (uint32_t)((twice / power + 1) / 2);
  return capacity > CAPACITY_MIN ? capacity : CAPACITY_MIN;
}

uint32_t ps_levels_capacity(const struct ps_levels *levels, uint32_t n)
{
  uint32_t sum = 0;
  for (uint32_t depth = 0; depth < n; depth++) {
    sum += levels->capacity[depth < PS_DEPTHS ? depth : PS_DEPTHS - 1];
  }
  return sum;
}

static uint32_t capacity_of(const struct ps_levels *levels, uint32_t h)
{
  uint32_t depth = levels->n - 1 - h;
  return levels->capacity[depth < PS_DEPTHS ? depth : PS_DEPTHS - 1];
}

/* Is the level to be compacted, when space is wanted? */
static bool is_full(uint32_t size, uint32_t capacity)
{
  return (uint64_t)FULL_DENOMINATOR * size > (uint64_t)FULL_NUMERATOR * capacity;
}

/* The next level would be made by compacting a full one of capacity k. */
uint64_t ps_levels_enough(const struct ps_levels *levels, uint32_t n)
{
  const uint64_t units = FULL_NUMERATOR * (uint64_t)levels->capacity[0];
  return units > UINT64_MAX >> (n - 1) ? UINT64_MAX : ((units << (n - 1)) - 1) / FULL_DENOMINATOR;
}

/* ---- levels ---- */

void ps_levels_init(struct ps_levels *levels, uint32_t k)
{
  *levels = (struct ps_levels){.n = 1, .most = k};
  for (unsigned depth = 0; depth < PS_DEPTHS; depth++) {
    levels->capacity[depth] = capacity_at(k, depth);
  }
}

void ps_levels_raise(struct ps_levels *levels, uint32_t n)
{
  while (levels->n < n) {
    levels->start[++levels->n] = levels->room;
  }
  levels->most = ps_levels_capacity(levels, levels->n);
}

void ps_levels_move(struct ps_levels *levels, uint64_t *items, uint32_t room)
{
  const uint32_t size = ps_levels_size(levels), up = room - levels->room;
  if (size > 0) {
    memmove(items + (room - size), levels->items + levels->start[0], size * sizeof *items);
  }
  for (uint32_t h = 0; h <= levels->n; h++) {
    levels->start[h] += up; /* modulo 2^32, when the room is less */
  }
  levels->items = items;
  levels->room = room;
}

/* ---- items ---- */

/* Where the items > item begin on a level. */
static uint32_t place_in(const struct ps_levels *levels, uint32_t h, uint64_t item)
{
  uint32_t low = levels->start[h], high = levels->start[h + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (levels->items[middle] <= item) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* What lies below the item's place on a level goes down by as many as are added there and above. */
void ps_levels_insert(struct ps_levels *levels, uint64_t item, uint64_t weight)
{
  uint64_t *items = levels->items;
  uint32_t down = (uint32_t)__builtin_popcountll(weight), from = levels->start[0];
  for (uint32_t h = 0; down > 0; h++) {
    bool added = weight >> h & 1;
    uint32_t to = !added ? levels->start[h + 1] : h == 0 ? from : place_in(levels, h, item);
    memmove(items + (from - down), items + from, (to - from) * sizeof *items);
    levels->start[h] -= down;
    if (added) {
      items[to - down] = item;
      down--;
    }
    from = to;
  }
}

/* Merges a to where it ends at b. `to` may overlap with b alone, as far as a is long. */
static void merge_runs(uint64_t *to, const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
  while (n > 0 && m > 0) {
    bool first = *a <= *b;
    *to++ = first ? *a : *b;
    a += first;
    n -= first;
    b += !first;
    m -= !first;
  }
  memmove(to, n > 0 ? a : b, (n > 0 ? n : m) * sizeof *to);
}

void ps_levels_join(struct ps_levels *to, const struct ps_levels *a, const struct ps_levels *b)
{
  uint32_t end = to->room;
  ps_levels_raise(to, a->n > b->n ? a->n : b->n);
  for (uint32_t h = to->n; h-- > 0;) {
    uint32_t n = h < a->n ? ps_level_size(a, h) : 0, m = h < b->n ? ps_level_size(b, h) : 0;
    to->start[h + 1] = end;
    end -= n + m;
    merge_runs(to->items + end, a->items + (n > 0 ? a->start[h] : 0), n,
               b->items + (m > 0 ? b->start[h] : 0), m);
  }
  to->start[0] = end;
}

/* ---- compaction ---- */

/* The finalizer of splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t z)
{
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* The coins of `n` levels from h on. An item that is compacted goes into it, so that sketches of
 * the same seed do not all err to the same side. */
static uint64_t toss(struct ps_coins *coins, uint64_t seed, uint32_t h, uint32_t n, uint64_t item)
{
  const uint64_t here = ((UINT64_C(1) << n) - 1) << h;
  coins->random = mix(coins->random + seed + mix(item + UINT64_C(0x9e3779b97f4a7c15)));
  const uint64_t drawn = coins->random & here & ~coins->pending;
  const uint64_t taken = drawn | (coins->side & here);
  coins->side = (coins->side & ~here) | (~drawn & here & ~coins->pending);
  coins->pending ^= here;
  return taken >> h;
}

/* The level that the items of level h are compacted to: those in between would have to be compacted
 * in turn. It may be one that is not there yet. */
static uint32_t target_of(const struct ps_levels *levels, uint32_t h)
{
  uint32_t size = ps_level_size(levels, h) / 2, to = h + 1;
  for (; to < levels->n && size >= capacity_of(levels, to); to++) {
    size /= 2;
  }
  return to;
}

/* Compacts an ascending level. Its least items, too few to take another of, stay.
 *
 *   below | rest | run | between | target      becomes
 *   free  | below | rest | between | target, with the run's every 2^s-th item merged into it */
static void compact(struct ps_levels *levels, uint64_t seed, uint32_t h)
{
  uint64_t *items = levels->items;
  uint32_t *start = levels->start;
  const uint32_t target = target_of(levels, h), s = target - h, size = ps_level_size(levels, h);
  const uint32_t taken = size >> s, rest = size - (taken << s), run = start[h] + rest;
  if (target == levels->n) {
    ps_levels_raise(levels, target + 1);
  }
  const uint64_t first = toss(&levels->coins, seed, h, s, items[run + (taken << s) / 2]);
  for (uint32_t i = 0; i < taken; i++) {
    items[run + i] = items[run + ((size_t)i << s) + first];
  }
  const uint32_t between = start[h + 1], merged = start[target] - taken;
  memmove(items + (between - taken), items + between, (start[target] - between) * sizeof *items);
  merge_runs(items + merged, items + run, taken, items + start[target],
             ps_level_size(levels, target));
  for (uint32_t i = h + 1; i <= target; i++) {
    start[i] -= taken;
  }
  const uint32_t up = start[h + 1] - run;
  memmove(items + start[0] + up, items + start[0], (run - start[0]) * sizeof *items);
  for (uint32_t i = 0; i <= h; i++) {
    start[i] += up;
  }
}

/* The lowest level above 0 that is full. There is one when all of them together are. */
static uint32_t lowest_full(const struct ps_levels *levels)
{
  uint32_t h = 1;
  while (!is_full(ps_level_size(levels, h), capacity_of(levels, h))) {
    h++;
  }
  return h;
}

void ps_levels_compact(struct ps_levels *levels, uint64_t seed)
{
  while (ps_level_size(levels, 0) >= capacity_of(levels, 0)) {
    compact(levels, seed, 0);
  }
  while (is_full(levels->room - levels->start[1], levels->most - capacity_of(levels, 0))) {
    compact(levels, seed, lowest_full(levels));
  }
}
