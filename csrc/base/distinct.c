#include "base/distinct.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT 8
#define DIGITS ((size_t)1 << DIGIT)
#define HASH_BITS 64

static inline size_t digit_of(uint64_t hash, unsigned bit)
{
  return hash >> bit & (DIGITS - 1);
}

static void sort_by_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned bit)
{
  uint32_t place[DIGITS] = {0}, next = 0;
  for (size_t i = 0; i < n; i++) {
    place[digit_of(from[i], bit)]++;
  }
  for (size_t digit = 0; digit < DIGITS; digit++) {
    uint32_t here = place[digit];
    place[digit] = next;
    next += here;
  }
  for (size_t i = 0; i < n; i++) {
    to[place[digit_of(from[i], bit)]++] = from[i];
  }
}

/* By the bits from `bit` on, an even number of digits. */
static void sort_from(uint64_t *hashes, uint64_t *other, size_t n, unsigned bit)
{
  for (; bit < HASH_BITS; bit += 2 * DIGIT) {
    sort_by_digit(hashes, other, n, bit);
    sort_by_digit(other, hashes, n, bit + DIGIT);
  }
}

/* Insertion sort; gives up, the hashes still all there, when it has moved as many as there are. */
static bool sort_nearly_sorted(uint64_t *hashes, size_t n)
{
  size_t moves = 0;
  for (size_t i = 1; i < n && moves <= n; i++) {
    uint64_t hash = hashes[i];
    size_t at = i;
    for (; at > 0 && hashes[at - 1] > hash; at--) {
      hashes[at] = hashes[at - 1];
    }
    hashes[at] = hash;
    moves += i - at;
  }
  return moves <= n;
}

/* Few hashes agree in their upper half, unless somebody chose them so. */
static void sort(uint64_t *hashes, uint64_t *other, size_t n)
{
  sort_from(hashes, other, n, HASH_BITS / 2);
  if (!sort_nearly_sorted(hashes, n)) {
    sort_from(hashes, other, n, 0);
  }
}

size_t ps_sort_distinct(uint64_t *hashes, size_t n, uint64_t *other)
{
  size_t distinct = 0;
  sort(hashes, other, n);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || hashes[i] != hashes[i - 1]) {
      hashes[distinct++] = hashes[i];
    }
  }
  return distinct;
}
