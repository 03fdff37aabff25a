/* The HIP estimate (Cohen 2014, "All-distances sketches, revisited"; Ting 2014, "Streamed
 * approximate counting of distinct elements"): whenever a register changes, the count goes up by
 * one over the probability that a new key changes one. Its standard error is 0.83 / sqrt(m), but it
 * depends on the order of the keys, and of a union nothing says what it would be.
 *
 * It lies behind the registers of a dense sketch with `hip`: 8 bytes, a sum in IEEE 754, the same
 * on every machine, since it is built by additions and divisions only: there is no product that a
 * compiler may round together with a sum. 0 says that a merge has made it void. A sparse sketch
 * needs none: when it becomes dense, the sum begins with the number of its keys.
 *
 * Private to hyperloglog. */
#ifndef PS_CARDINALITY_HYPERLOGLOG_HIP_H
#define PS_CARDINALITY_HYPERLOGLOG_HIP_H

#include <string.h>

#include "cardinality/hyperloglog_registers.h"

#define PS_HIP_SIZE 8
#define PS_HIP_MAX 18446744073709551616.0 /* no more keys have different hashes */

/* Of the payload of a dense sketch. */
static inline double ps_hip_get(const unsigned char *registers, unsigned precision)
{
  uint64_t bits = ps_load64(registers + ps_registers_size(precision));
  double sum;
  memcpy(&sum, &bits, sizeof sum);
  return sum;
}

static inline void ps_hip_set(unsigned char *registers, unsigned precision, double sum)
{
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  ps_store64(registers + ps_registers_size(precision), bits);
}

/* What it begins with: so many entries, and the keys to be expected that share an index of 26 bits
 * with another. In doubles this is exact. */
static inline double ps_hip_of_entries(uint32_t entries)
{
  double n = entries;
  return n + n * n / (1 << 27);
}

/* A register has changed, and this many of the 2^64 hashes would have changed one before: that is
 * ps_tally.open, where 2^64 stands as 0. */
static inline void ps_hip_add(unsigned char *registers, unsigned precision, uint64_t open)
{
  double sum = ps_hip_get(registers, precision);
  if (sum > 0) {
    sum += open == 0 ? 1 : PS_HIP_MAX / (double)open;
    ps_hip_set(registers, precision, sum < PS_HIP_MAX ? sum : PS_HIP_MAX);
  }
}

#endif
