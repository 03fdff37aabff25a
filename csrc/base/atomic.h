/* Access to memory that several processes or threads change at once: relaxed atomic loads, and
 * changes of one cell that nothing is lost of. Nowhere else are atomics named, but by these.
 *
 * A cell is a little-endian number of 1, 2, 4 or 8 bytes, at a multiple of as many. `width`, the
 * bytes, is to be constant where a function is called. Relaxed suffices: no cell says anything
 * about another. On the common machines a load is then the instruction that any load is. */
#ifndef PS_BASE_ATOMIC_H
#define PS_BASE_ATOMIC_H

#include <stdbool.h>

#include "base/bytes.h"

/* Payloads are bytes to all others. */
typedef uint16_t ps_cell16 __attribute__((may_alias));
typedef uint32_t ps_cell32 __attribute__((may_alias));
typedef uint64_t ps_cell64 __attribute__((may_alias));

#define PS_ATOMIC_INLINE static inline __attribute__((always_inline))

PS_ATOMIC_INLINE uint64_t ps_atomic_load(const unsigned char *at, unsigned width)
{
  switch (width) {
  case 1:
    return __atomic_load_n(at, __ATOMIC_RELAXED);
  case 2:
    return PS_LITTLE(16, __atomic_load_n((const ps_cell16 *)at, __ATOMIC_RELAXED));
  case 4:
    return PS_LITTLE(32, __atomic_load_n((const ps_cell32 *)at, __ATOMIC_RELAXED));
  default:
    return PS_LITTLE(64, __atomic_load_n((const ps_cell64 *)at, __ATOMIC_RELAXED));
  }
}

#define PS_ATOMIC_EXCHANGE(bits, cell)                                                             \
  uint##bits##_t expected = PS_LITTLE(bits, (uint##bits##_t) * x);                                 \
  uint##bits##_t wanted = PS_LITTLE(bits, (uint##bits##_t)next);                                   \
  bool done = __atomic_compare_exchange_n((cell *)at, &expected, wanted, true, __ATOMIC_RELAXED,   \
                                          __ATOMIC_RELAXED);                                       \
  *x = PS_LITTLE(bits, expected);                                                                  \
  return done

/* Makes a cell that is *x the next; if it is not, or by chance, false, and *x is what it is.
 * clang-tidy does not see that the builtin writes. */
// NOLINTNEXTLINE(readability-non-const-parameter)
PS_ATOMIC_INLINE bool ps_atomic_replace(unsigned char *at, uint64_t *x, uint64_t next,
                                        unsigned width)
{
  if (width == 1) {
    uint8_t expected = (uint8_t)*x;
    bool done = __atomic_compare_exchange_n(at, &expected, (uint8_t)next, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED);
    *x = expected;
    return done;
  }
  if (width == 2) {
    PS_ATOMIC_EXCHANGE(16, ps_cell16);
  }
  if (width == 4) {
    PS_ATOMIC_EXCHANGE(32, ps_cell32);
  }
  PS_ATOMIC_EXCHANGE(64, ps_cell64);
}

/* Sets bits of a word; what it was before. A word that has them is not written to, so that its
 * cache line stays with all who read it. */
PS_ATOMIC_INLINE uint64_t ps_atomic_or(unsigned char *at, uint64_t bits)
{
  uint64_t before = ps_atomic_load(at, 8);
  if ((before & bits) == bits) {
    return before;
  }
  return PS_LITTLE(64, __atomic_fetch_or((ps_cell64 *)at, PS_LITTLE(64, bits), __ATOMIC_RELAXED));
}

/* Raises a cell to x, if it is below; what it was before. */
PS_ATOMIC_INLINE uint64_t ps_atomic_max(unsigned char *at, uint64_t x, unsigned width)
{
  uint64_t before = ps_atomic_load(at, width);
  while (before < x && !ps_atomic_replace(at, &before, x, width)) {
  }
  return before;
}

/* The same for lowering it. */
PS_ATOMIC_INLINE uint64_t ps_atomic_min(unsigned char *at, uint64_t x, unsigned width)
{
  uint64_t before = ps_atomic_load(at, width);
  while (before > x && !ps_atomic_replace(at, &before, x, width)) {
  }
  return before;
}

/* Adds to a cell that stops at `limit`, and returns what it was before. */
PS_ATOMIC_INLINE uint64_t ps_atomic_add(unsigned char *at, uint64_t n, uint64_t limit,
                                        unsigned width)
{
  uint64_t before = ps_atomic_load(at, width), after;
  do {
    after = n > limit - before ? limit : before + n;
  } while (after != before && !ps_atomic_replace(at, &before, after, width));
  return before;
}

/* A pointer to what is complete when the pointer is there. */
PS_ATOMIC_INLINE void *ps_atomic_pointer(void *const *at)
{
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Makes a pointer that is `expected` the next; false if it is not. */
PS_ATOMIC_INLINE bool ps_atomic_publish(void **at, void *expected, void *next)
{
  return __atomic_compare_exchange_n(at, &expected, next, false, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED);
}

/* Copies what others may be changing: each word as it is when it comes by. */
void ps_atomic_copy(void *to, const unsigned char *from, uint64_t size);

/* Bits set in `size` bytes, a multiple of 8 at a multiple of 8. */
uint64_t ps_atomic_count_ones(const unsigned char *bytes, uint64_t size);

/* Sets `size` bytes at a multiple of 8 to the same, word by word. */
void ps_atomic_fill(unsigned char *at, unsigned char byte, uint64_t size);

#endif
