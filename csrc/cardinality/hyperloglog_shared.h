/* The registers of a hyperloglog that is shared: 2^p bytes, a register in each. Six bits would lie
 * across the words that can be changed at once.
 *
 * Private to hyperloglog. */
#ifndef PS_CARDINALITY_HYPERLOGLOG_SHARED_H
#define PS_CARDINALITY_HYPERLOGLOG_SHARED_H

#include "base/atomic.h"
#include "cardinality/hyperloglog_registers.h"

/* Lets a hash raise its register; true if it did. */
static inline bool ps_shared_registers_add(unsigned char *shared, unsigned precision, uint64_t hash)
{
  unsigned rank = ps_register_rank(precision, hash);
  return ps_atomic_max(shared + ps_register_index(precision, hash), rank, 1) < rank;
}

/* As ps_registers_tally(). O(m). */
struct ps_tally ps_shared_registers_tally(const unsigned char *shared, unsigned precision);

/* From packed registers, into zeros; and back, where a byte that is none becomes a register that
 * ps_registers_valid() refuses. O(m). */
void ps_shared_registers_spread(unsigned char *shared, const unsigned char *registers,
                                unsigned precision);
void ps_shared_registers_gather(unsigned char *registers, const unsigned char *shared,
                                unsigned precision);

#endif
