/* All registers at once. Sixteen of them, 12 bytes, are read as two overlapping words: one holds
 * eight registers in its lowest 48 bits, the other eight in its highest. Every other register,
 * spread over lanes of 12 bits, has six free bits above it, the lowest of which catches a carry:
 *
 *   bit  47   42   36   30   24   18   12   6    0
 *         | r7 | r6 | r5 | r4 | r3 | r2 | r1 | r0 |
 *         |      r6 |      r4 |      r2 |      r0 |     the even ones
 *               ^         ^         ^         ^         CARRY
 *
 * The two words go side by side through gcc's vector type, which every machine has some way to
 * compute: SSE2 on any x86-64. */
#include "cardinality/hyperloglog_registers.h"

typedef uint64_t pair __attribute__((vector_size(16)));

#define BLOCK 12 /* bytes */

#define IN_EACH(lanes) ((pair){(lanes), (lanes) << 16})
#define ONES UINT64_C(0x001001001001)
#define EVEN IN_EACH(63 * ONES)
#define CARRY IN_EACH(64 * ONES)

static inline pair load(const unsigned char *at)
{
  return (pair){ps_load64(at), ps_load64(at + 4)};
}

/* Where x is 0 but for its registers. */
static inline void store(unsigned char *at, pair x)
{
  ps_store32(at, (uint32_t)x[0]);
  ps_store64(at + 4, x[0] >> 32 | x[1]);
}

/* The larger of each two lanes. The carry of 64 + a - b is set where a >= b; there it becomes a
 * mask of six ones. */
static inline pair larger_lanes(pair a, pair b)
{
  pair carry = ((a | CARRY) - b) & CARRY;
  pair mask = carry - (carry >> 6);
  return b ^ ((a ^ b) & mask);
}

static inline pair larger(pair a, pair b)
{
  return larger_lanes(a & EVEN, b & EVEN) | larger_lanes(a >> 6 & EVEN, b >> 6 & EVEN) << 6;
}

/* In each lane, how many of its two registers are at least `rank`, 1 to 64. */
static inline pair at_least(pair x, unsigned rank)
{
  pair up = IN_EACH((64 - rank) * ONES);
  pair even = ((x & EVEN) + up) & CARRY;
  pair odd = ((x >> 6 & EVEN) + up) & CARRY;
  return (even + odd) >> 6;
}

/* A lane that counts goes up by at most 2 a block, and holds 4095. */
#define BLOCKS_A_COUNT 2047

static uint32_t sum_of_lanes(pair counts)
{
  uint64_t sum = 0;
  for (unsigned shift = 0; shift < 48; shift += 12) {
    sum += (counts[0] >> shift & 4095) + (counts[1] >> 16 >> shift & 4095);
  }
  return (uint32_t)sum;
}

/* The hashes that would raise the eight registers from bit `first` on. */
static inline uint64_t open_of(uint64_t word, unsigned first, const uint64_t weights[64])
{
  uint64_t x = word >> first;
  return weights[x & 63] + weights[x >> 6 & 63] + weights[x >> 12 & 63] + weights[x >> 18 & 63] +
         weights[x >> 24 & 63] + weights[x >> 30 & 63] + weights[x >> 36 & 63] +
         weights[x >> 42 & 63];
}

struct ps_tally ps_registers_tally(const unsigned char *registers, unsigned precision)
{
  uint64_t weights[64];
  for (unsigned rank = 0; rank < 64; rank++) {
    weights[rank] = ps_tally_weight(precision, rank);
  }
  struct ps_tally tally = ps_tally_of_none(precision);
  uint64_t left = ps_registers_size(precision) / BLOCK;
  while (left > 0) {
    uint64_t blocks = left < BLOCKS_A_COUNT ? left : BLOCKS_A_COUNT;
    left -= blocks;
    pair used = {0, 0}, full = {0, 0};
    for (; blocks > 0; blocks--, registers += BLOCK) {
      pair x = load(registers);
      tally.open += open_of(x[0], 0, weights) + open_of(x[1], 16, weights);
      used += at_least(x, 1);
      full += at_least(x, 65 - precision);
    }
    tally.zeros -= sum_of_lanes(used);
    tally.full += sum_of_lanes(full);
  }
  return tally;
}

bool ps_registers_valid(const unsigned char *registers, unsigned precision)
{
  const unsigned char *end = registers + ps_registers_size(precision);
  pair above = {0, 0};
  for (; registers < end; registers += BLOCK) {
    above |= at_least(load(registers), 66 - precision);
  }
  return (above[0] | above[1]) == 0;
}

/* In two passes: a loop that does both is so long that the processor sees too few of its blocks at
 * once, and takes half as long again. */
struct ps_tally ps_registers_merge(unsigned char *registers, const unsigned char *others,
                                   unsigned precision)
{
  const unsigned char *end = registers + ps_registers_size(precision);
  for (unsigned char *at = registers; at < end; at += BLOCK, others += BLOCK) {
    store(at, larger(load(at), load(others)));
  }
  return ps_registers_tally(registers, precision);
}

void ps_registers_fold(unsigned char *registers, unsigned precision, struct ps_tally *tally,
                       const unsigned char *others, unsigned others_precision)
{
  for (uint32_t i = 0; i < UINT32_C(1) << others_precision; i++) {
    unsigned rank = ps_register_get(others, i);
    if (rank > 0) {
      ps_registers_add(registers, precision, tally, ps_register_hash(others_precision, i, rank));
    }
  }
}
