/* The lines of a blocked Bloom filter: 64 bytes each, as the processor fetches them, in eight lanes
 * of 64 bits. A key sets one bit in each lane of one line: lane i has it at bits 16 + 6 i to
 * 21 + 6 i of hash * PS_HASH_STEP. The line is chosen by the high bits of the hash, and all bits of
 * the hash have a part in those of the product. */
#ifndef PS_MEMBERSHIP_BLOCKED_LINE_H
#define PS_MEMBERSHIP_BLOCKED_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_LINE_SIZE 64
#define PS_LINE_LANES 8
#define PS_LANE_BITS 64

struct ps_lines {
  unsigned char *at;
  uint64_t n;
};

/* What is done to lines, once for any processor and once for those that handle four lanes at a
 * time: to the bit the same. A batch asks for the line of a key `ahead` keys before it is used; 0:
 * not at all. */
struct ps_line_code {
  /* How many bits of the key were not set before. */
  unsigned (*add)(struct ps_lines lines, uint64_t hash);
  /* Are all bits of the key set? */
  bool (*has)(struct ps_lines lines, uint64_t hash);
  /* The sum of add() over all hashes; *changed is the number of those that set a bit. */
  uint64_t (*add_many)(struct ps_lines lines, const uint64_t *hashes, size_t n, size_t ahead,
                       size_t *changed);
  void (*has_many)(struct ps_lines lines, const uint64_t *hashes, size_t n, size_t ahead,
                   bool *found);
};

extern const struct ps_line_code ps_line_portable;

/* For lines that others add to at the same time, at a multiple of 8, on any processor. */
extern const struct ps_line_code ps_line_shared;

#if defined(__x86_64__) && defined(__GNUC__)
#define PS_LINE_AVX2 1
extern const struct ps_line_code ps_line_avx2;
extern const struct ps_line_code ps_line_shared_avx2;
#endif

/* The best that this processor can do, for lines that are shared or not. Asked at each call: the
 * answer is a bit in memory that stays in the cache. */
static inline const struct ps_line_code *ps_line_code(bool shared)
{
#ifdef PS_LINE_AVX2
  if (__builtin_cpu_supports("avx2")) {
    return shared ? &ps_line_shared_avx2 : &ps_line_avx2;
  }
#endif
  return shared ? &ps_line_shared : &ps_line_portable;
}

#endif
