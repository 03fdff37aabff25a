#include "base/atomic.h"

#include "base/math.h"

static inline bool is_aligned(const void *address)
{
  return (uintptr_t)address % 8 == 0;
}

void ps_atomic_copy(void *to, const unsigned char *from, uint64_t size)
{
  unsigned char *at = to;
  for (; size > 0 && !is_aligned(from); size--) {
    *at++ = (unsigned char)ps_atomic_load(from++, 1);
  }
  for (; size >= 8; size -= 8, at += 8, from += 8) {
    ps_store64(at, ps_atomic_load(from, 8));
  }
  for (; size > 0; size--) {
    *at++ = (unsigned char)ps_atomic_load(from++, 1);
  }
}

void ps_atomic_fill(unsigned char *at, unsigned char byte, uint64_t size)
{
  const uint64_t word = byte * UINT64_C(0x0101010101010101);
  for (; size >= 8; size -= 8, at += 8) {
    __atomic_store_n((ps_cell64 *)at, word, __ATOMIC_RELAXED);
  }
  for (; size > 0; size--, at++) {
    __atomic_store_n(at, byte, __ATOMIC_RELAXED);
  }
}

/* By way of pieces, so that they are counted as fast as others. */
uint64_t ps_atomic_count_ones(const unsigned char *bytes, uint64_t size)
{
  unsigned char piece[4096];
  uint64_t ones = 0;
  for (uint64_t n; size > 0; size -= n, bytes += n) {
    n = size < sizeof piece ? size : sizeof piece;
    ps_atomic_copy(piece, bytes, n);
    ones += ps_count_ones(piece, n);
  }
  return ones;
}
