#include "cardinality/hyperloglog_shared.h"

/* Four registers as three bytes. */
#define GROUP 4
#define GROUP_BYTES 3

static inline uint32_t get(const unsigned char *shared, uint32_t i)
{
  uint32_t rank = (uint32_t)ps_atomic_load(shared + i, 1);
  return rank < 64 ? rank : 63;
}

struct ps_tally ps_shared_registers_tally(const unsigned char *shared, unsigned precision)
{
  struct ps_tally tally = {0, 0, 0};
  for (uint32_t i = 0; i < UINT32_C(1) << precision; i++) {
    uint32_t rank = get(shared, i);
    tally.open += ps_tally_weight(precision, rank);
    tally.zeros += rank == 0;
    tally.full += rank == 65 - precision;
  }
  return tally;
}

void ps_shared_registers_spread(unsigned char *shared, const unsigned char *registers,
                                unsigned precision)
{
  for (uint32_t i = 0; i < UINT32_C(1) << precision; i++) {
    shared[i] = (unsigned char)ps_register_get(registers, i);
  }
}

void ps_shared_registers_gather(unsigned char *registers, const unsigned char *shared,
                                unsigned precision)
{
  for (uint32_t i = 0; i < UINT32_C(1) << precision; i += GROUP, registers += GROUP_BYTES) {
    uint32_t group = get(shared, i) | get(shared, i + 1) << 6 | get(shared, i + 2) << 12 |
                     get(shared, i + 3) << 18;
    ps_store16(registers, (uint16_t)group);
    registers[2] = (unsigned char)(group >> 16);
  }
}
