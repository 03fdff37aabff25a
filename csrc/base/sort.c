#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#define DIGIT 8
#define DIGITS ((size_t)1 << DIGIT)
#define NUMBER_BITS 64

/* Below it, passes over all digits cost more than the moves of an insertion sort. */
#define FEW ((size_t)32)

/* A record is `words` words long, and its first is the number. Compiled once for each length. */
#define FOR_CONSTANT_WORDS static inline __attribute__((always_inline))

FOR_CONSTANT_WORDS size_t digit_at(const uint64_t *records, size_t i, unsigned bit, size_t words)
{
  return records[i * words] >> bit & (DIGITS - 1);
}

FOR_CONSTANT_WORDS void move(uint64_t *to, const uint64_t *from, size_t words)
{
  memcpy(to, from, words * sizeof *to);
}

/* Stable. False, and nothing moved, when all have the same digit. */
FOR_CONSTANT_WORDS bool sort_by_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned bit,
                                      size_t words)
{
  uint32_t place[DIGITS] = {0}, next = 0;
  for (size_t i = 0; i < n; i++) {
    place[digit_at(from, i, bit, words)]++;
  }
  if (place[digit_at(from, 0, bit, words)] == n) {
    return false;
  }
  for (size_t digit = 0; digit < DIGITS; digit++) {
    uint32_t here = place[digit];
    place[digit] = next;
    next += here;
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t at = place[digit_at(from, i, bit, words)]++;
    move(&to[at * words], &from[i * words], words);
  }
  return true;
}

/* By the bits from `bit` on. */
FOR_CONSTANT_WORDS void sort_from(uint64_t *records, uint64_t *other, size_t n, unsigned bit,
                                  size_t words)
{
  uint64_t *from = records, *to = other;
  for (; bit < NUMBER_BITS; bit += DIGIT) {
    if (sort_by_digit(from, to, n, bit, words)) {
      uint64_t *sorted = to;
      to = from;
      from = sorted;
    }
  }
  if (from != records) {
    memcpy(records, from, n * words * sizeof *records);
  }
}

/* Insertion sort; gives up, the records still all there, once it has moved more than `moves`. */
FOR_CONSTANT_WORDS bool insert_all(uint64_t *records, size_t n, size_t moves, size_t words)
{
  size_t moved = 0;
  for (size_t i = 1; i < n && moved <= moves; i++) {
    uint64_t record[2];
    size_t at = i;
    move(record, &records[i * words], words);
    for (; at > 0 && records[(at - 1) * words] > record[0]; at--) {
      move(&records[at * words], &records[(at - 1) * words], words);
    }
    move(&records[at * words], record, words);
    moved += i - at;
  }
  return moved <= moves;
}

/* Few hashes, and few values that were measured, agree in their upper half but not in the lower
 * one, unless somebody chose them so. */
FOR_CONSTANT_WORDS void sort(uint64_t *records, size_t n, uint64_t *other, size_t words)
{
  if (n <= FEW) {
    insert_all(records, n, FEW * FEW, words);
    return;
  }
  sort_from(records, other, n, NUMBER_BITS / 2, words);
  if (!insert_all(records, n, n, words)) {
    sort_from(records, other, n, 0, words);
  }
}

void ps_sort(uint64_t *numbers, size_t n, uint64_t *other)
{
  sort(numbers, n, other, 1);
}

void ps_sort_pairs(struct ps_pair *pairs, size_t n, struct ps_pair *other)
{
  sort(&pairs->number, n, &other->number, sizeof *pairs / sizeof pairs->number);
}
