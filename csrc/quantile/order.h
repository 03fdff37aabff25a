/* Finite doubles as integers of the same order, for sorting. Of the two zeros, -0.0 is the lesser.
 */
#ifndef PS_QUANTILE_ORDER_H
#define PS_QUANTILE_ORDER_H

#include <stdint.h>
#include <string.h>

#define PS_ORDER_SIGN ((uint64_t)1 << 63)

static inline uint64_t ps_order_of(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & PS_ORDER_SIGN ? ~bits : bits | PS_ORDER_SIGN;
}

static inline double ps_order_value(uint64_t order)
{
  uint64_t bits = order & PS_ORDER_SIGN ? order ^ PS_ORDER_SIGN : ~order;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

#endif
