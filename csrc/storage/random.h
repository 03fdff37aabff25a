/* Bits that nobody can guess. */
#ifndef PS_STORAGE_RANDOM_H
#define PS_STORAGE_RANDOM_H

#include <stdint.h>

#include "base/status.h"

/* 64 bits from the system's generator. PS_ERR_IO. */
enum ps_status ps_random(uint64_t *bits, struct ps_error *error);

#endif
