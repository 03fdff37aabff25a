/* All registers at once. Sixteen of them, 12 bytes, are read as two groups of eight, each in the
 * low 48 bits of a 64-bit word. Every other register of a group, spread over lanes of 12 bits, has
 * six free bits above it, the lowest of which catches a carry:
 *
 *   bit  47   42   36   30   24   18   12   6    0
 *         | r7 | r6 | r5 | r4 | r3 | r2 | r1 | r0 |     a group
 *         |      r6 |      r4 |      r2 |      r0 |     its even registers
 *               ^         ^         ^         ^         CARRY
 *
 * The two words go side by side through gcc's vector type, which any machine has some way to
 * compute: SSE2 on every x86-64. */
#include "cardinality/hyperloglog_registers.h"

typedef uint64_t groups __attribute__((vector_size(16)));

#define BLOCK 12
#define EVERY(x) ((groups){(x), (x) << 16})
#define ONES UINT64_C(0x001001001001)
#define EVEN EVERY(63 * ONES)
#define CARRY EVERY(64 * ONES)

/* Lanes that count registers go up by 2 a block at most, and hold 4095. */
#define BLOCKS_A_COUNT 2047

static inline groups load(const unsigned char *at)
{
  return (groups){ps_load64(at), ps_load64(at + 4)};
}

static inline void store(unsigned char *at, groups x)
{
  ps_store32(at, (uint32_t)x[0]);
  ps_store64(at + 4, x[0] >> 32 | x[1]);
}

/* The larger of each pair of lanes. The carry of 64 + a - b is set where a >= b; there it becomes a
 * mask of six ones. */
static inline groups larger_lanes(groups a, groups b)
{
  groups carry = ((a | CARRY) - b) & CARRY;
  groups mask = carry - (carry >> 6);
  return b ^ ((a ^ b) & mask);
}

static inline groups larger(groups a, groups b)
{
  return larger_lanes(a & EVEN, b & EVEN) | larger_lanes(a >> 6 & EVEN, b >> 6 & EVEN) << 6;
}

/* For each lane, how many of the two registers there are at least `rank`, 1 to 64. */
static inline groups at_least(groups x, unsigned rank)
{
  groups up = EVERY((64 - rank) * ONES);
  groups even = ((x & EVEN) + up) & CARRY;
  groups odd = ((x >> 6 & EVEN) + up) & CARRY;
  return (even + odd) >> 6;
}

static inline uint32_t sum_of_lanes(groups lanes)
{
  uint64_t sum = 0;
  for (unsigned shift = 0; shift < 48; shift += 12) {
    sum += (lanes[0] >> shift & 4095) + (lanes[1] >> shift >> 16 & 4095);
  }
  return (uint32_t)sum;
}

bool ps_registers_valid(const unsigned char *registers, unsigned precision)
{
  const unsigned char *end = registers + ps_registers_size(precision);
  groups above = {0, 0};
  for (; registers < end; registers += BLOCK) {
    above |= at_least(load(registers), 66 - precision);
  }
  return (above[0] | above[1]) == 0;
}

static inline uint64_t open_of(uint64_t group, unsigned bit, const uint64_t weights[64])
{
  uint64_t low = weights[group >> bit & 63] + weights[group >> (bit + 6) & 63] +
                 weights[group >> (bit + 12) & 63] + weights[group >> (bit + 18) & 63];
  uint64_t high = weights[group >> (bit + 24) & 63] + weights[group >> (bit + 30) & 63] +
                  weights[group >> (bit + 36) & 63] + weights[group >> (bit + 42) & 63];
  return low + high;
}

/* Tallies; with `others`, after raising the registers to them. */
static inline struct ps_tally pass(unsigned char *registers, const unsigned char *others,
                                   unsigned precision)
{
  uint64_t weights[64];
  for (unsigned rank = 0; rank < 64; rank++) {
    weights[rank] = ps_tally_weight(precision, rank);
  }
  struct ps_tally tally = ps_tally_of_none(precision);
  uint64_t size = ps_registers_size(precision), at = 0;
  while (at < size) {
    uint64_t end = size - at < BLOCK * BLOCKS_A_COUNT ? size : at + BLOCK * BLOCKS_A_COUNT;
    groups used = {0, 0}, full = {0, 0};
    for (; at < end; at += BLOCK) {
      groups x = load(registers + at);
      if (others != NULL) {
        x = larger(x, load(others + at));
        store(registers + at, x);
      }
      tally.open += open_of(x[0], 0, weights) + open_of(x[1], 16, weights);
      used += at_least(x, 1);
      full += at_least(x, 65 - precision);
    }
    tally.zeros -= sum_of_lanes(used);
    tally.full += sum_of_lanes(full);
  }
  return tally;
}

struct ps_tally ps_registers_tally(const unsigned char *registers, unsigned precision)
{
  return pass((unsigned char *)(uintptr_t)registers, NULL, precision);
}

struct ps_tally ps_registers_merge(unsigned char *registers, const unsigned char *others,
                                   unsigned precision)
{
  return pass(registers, others, precision);
}
