/* A top_k as bytes: the total and the flag, the payload of the count-min sketch, the list.
 *
 * Private to top_k. */
#ifndef PS_FREQUENCY_TOP_K_BYTES_H
#define PS_FREQUENCY_TOP_K_BYTES_H

#include "frequency/top_k.h"

/* ---- what struct ps_kind names ---- */

uint64_t ps_top_k_encoded_size(const struct ps_sketch *sketch);
void ps_top_k_encode(const struct ps_sketch *sketch, unsigned char *bytes);

/* Fills a sketch that has parameters only; what it has got when it fails is to be released.
 * PS_ERR_CORRUPT, PS_ERR_MEMORY. */
enum ps_status ps_top_k_decode_state(struct ps_top_k *top_k, const unsigned char *bytes, uint64_t n,
                                     struct ps_error *error);

/* ---- memory: top_k.c ---- */

/* Bytes of the count-min sketch of the rest. */
uint64_t ps_top_k_rest_size(const struct ps_top_k *top_k);

/* Gives the sketch of the rest a payload, whose bytes are anything. PS_ERR_MEMORY. */
enum ps_status ps_top_k_take(struct ps_top_k *top_k, struct ps_error *error);

#endif
