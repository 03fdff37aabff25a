/* The registers of a dense hyperloglog: 2^p numbers of 6 bits, packed little-endian without gaps,
 * so that four of them take three bytes:
 *
 *   bit    0     6     12    18    24
 *          | r0  | r1  | r2  | r3  |  ...
 *   byte   |  0     |  1    |  2   |
 *
 * A register is the largest rank among the hashes that chose it, 0 when none has. The highest p
 * bits of a hash choose, the other q = 64 - p give the rank: 1 + the zeros they begin with, so 1 to
 * q + 1. No access here touches a byte outside the 2^p * 6 / 8 that there are.
 *
 * Private to hyperloglog. */
#ifndef PS_CARDINALITY_HYPERLOGLOG_REGISTERS_H
#define PS_CARDINALITY_HYPERLOGLOG_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/math.h"

/* What an estimate needs to know about all registers. It is all integers: a sum that is kept while
 * registers rise equals the sum over the finished registers, to the bit. */
struct ps_tally {
  /* How many of the 2^64 hashes would still raise a register: 2^(q-r) for each register r <= q.
   * The 2^64 of an empty sketch stands as 0. This is the harmonic sum of HyperLogLog, the sum of
   * 2^-r, with nothing rounded away: 2^p terms of at most 2^q just fit. */
  uint64_t open;
  uint32_t zeros; /* registers at 0 */
  uint32_t full;  /* registers at q + 1, which nothing can raise */
};

/* The keys to be expected in registers with that tally. O(1). */
double ps_tally_estimate(const struct ps_tally *tally, unsigned precision);

static inline uint64_t ps_registers_size(unsigned precision)
{
  return (UINT64_C(6) << precision) / 8;
}

static inline struct ps_tally ps_tally_of_none(unsigned precision)
{
  return (struct ps_tally){0, UINT32_C(1) << precision, 0};
}

/* The hashes that would raise a register from `rank`. */
static inline uint64_t ps_tally_weight(unsigned precision, unsigned rank)
{
  return UINT64_C(1) << (64 - precision) >> rank;
}

static inline uint32_t ps_register_index(unsigned precision, uint64_t hash)
{
  return (uint32_t)(hash >> (64 - precision));
}

/* The bits of a hash that its rank is read from, leftmost first, and behind them a one that ends
 * the count of zeros. */
static inline uint64_t ps_register_rest(unsigned precision, uint64_t hash)
{
  return hash << precision | UINT64_C(1) << (precision - 1);
}

static inline unsigned ps_register_rank(unsigned precision, uint64_t hash)
{
  return ps_leading_zeros(ps_register_rest(precision, hash)) + 1;
}

/* A hash of that index and rank, 1 or more. To the registers of a lower precision it is the same as
 * any other. */
static inline uint64_t ps_register_hash(unsigned precision, uint32_t index, unsigned rank)
{
  const unsigned rest = 64 - precision;
  return (uint64_t)index << rest | UINT64_C(1) << rest >> rank;
}

/* A register lies within the 16 bits at this byte, above this many other bits. Those of the upper
 * half of a group of four are read from its second byte, or the last access would pass the end. */
static inline uint32_t ps_register_byte(uint32_t index)
{
  return index / 2 * 3 / 2;
}

static inline unsigned ps_register_shift(uint32_t index)
{
  return index * 6 - ps_register_byte(index) * 8;
}

static inline unsigned ps_register_get(const unsigned char *registers, uint32_t index)
{
  unsigned word = ps_load16(registers + ps_register_byte(index));
  return word >> ps_register_shift(index) & 63;
}

/* Lets a hash raise its register; true if it did. The rank is worked out only then: it is above the
 * register exactly when as many bits of the rest as the register says are all zeros. */
static inline bool ps_registers_add(unsigned char *registers, unsigned precision,
                                    struct ps_tally *tally, uint64_t hash)
{
  uint32_t index = ps_register_index(precision, hash);
  unsigned char *at = registers + ps_register_byte(index);
  unsigned shift = ps_register_shift(index);
  unsigned word = ps_load16(at);
  unsigned below = ~(word >> shift) & 63, old = 63 - below;
  if (ps_register_rest(precision, hash) >> below > 1) {
    return false;
  }
  unsigned rank = ps_register_rank(precision, hash);
  ps_store16(at, (uint16_t)(word ^ (old ^ rank) << shift));
  tally->open -= ps_tally_weight(precision, old) - ps_tally_weight(precision, rank);
  tally->zeros -= old == 0;
  tally->full += rank == 65 - precision;
  return true;
}

/* Are all registers ranks, q + 1 at most? O(m). */
bool ps_registers_valid(const unsigned char *registers, unsigned precision);

/* O(m). */
struct ps_tally ps_registers_tally(const unsigned char *registers, unsigned precision);

/* Raises each register to the other's, and returns the tally of the result. O(m). */
struct ps_tally ps_registers_merge(unsigned char *registers, const unsigned char *others,
                                   unsigned precision);

/* Raises registers to what others of a higher precision, or the same, say of the same keys. O(m) of
 * the others. */
void ps_registers_fold(unsigned char *registers, unsigned precision, struct ps_tally *tally,
                       const unsigned char *others, unsigned others_precision);

#endif
