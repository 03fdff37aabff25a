/* The layers of a scalable Bloom filter: Bloom filters in a list, the newest first, each in a block
 * of memory of its own. */
#ifndef PS_MEMBERSHIP_BLOOM_LAYERS_H
#define PS_MEMBERSHIP_BLOOM_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "membership/bloom.h"

/* ---- one ---- */

/* The bits lie in the same block, PS_LAYER_HEAD bytes behind its start. */
struct ps_layer {
  struct ps_bloom bloom;
  struct ps_layer *older; /* NULL: the oldest */
  uint64_t most;          /* bits that may be set before fill^k passes the layer's rate */
  uint32_t index;
};

#define PS_LAYER_HEAD 128

/* Layer i is made for growth^i times the capacity and tightening^i times the rate of the first. */
struct ps_layer_series {
  double capacity, fp_rate, growth, tightening;
};

/* The most layers in a list, of several series together. */
#define PS_LAYERS_MAX 1024

/* Sets `bloom` to the parameters of layer `index`, without a payload; false when the series has
 * ended: the rate would be below 2^-64, which 64 bits of hash cannot give, or the capacity above
 * 2^53. */
bool ps_layer_plan(const struct ps_layer_series *series, uint32_t index, struct ps_bloom *bloom);

/* Bytes of the block of a planned layer. */
uint64_t ps_layer_size(const struct ps_bloom *planned);

/* Makes a layer of the plan, with these bits or with none set if they are NULL. PS_ERR_MEMORY. */
enum ps_status ps_layer_new(const struct ps_memory *memory, const struct ps_bloom *planned,
                            uint32_t index, const unsigned char *bits, struct ps_layer **layer,
                            struct ps_error *error);

/* Makes a copy that leads to no other. PS_ERR_MEMORY. */
enum ps_status ps_layer_copy(const struct ps_memory *memory, const struct ps_layer *layer,
                             struct ps_layer **copy, struct ps_error *error);

/* How many keys, whichever they are, certainly fit without passing the layer's rate. */
static inline uint64_t ps_layer_room(const struct ps_layer *layer)
{
  return (layer->most - layer->bloom.ones) / layer->bloom.hashes;
}

/* ---- lists of them ----
 *
 * A list is its newest layer, NULL when there is none. */

/* Frees the layers from `layer` on that are newer than `end`. */
void ps_layers_free(const struct ps_memory *memory, struct ps_layer *layer,
                    const struct ps_layer *end);

size_t ps_layers_count(const struct ps_layer *layer);

/* Bytes of all blocks. */
uint64_t ps_layers_size(const struct ps_layer *layer);

/* The index of the layer that would be next in the series: one more than the highest. */
uint32_t ps_layers_next(const struct ps_layer *layer);

/* Makes copies of all. PS_ERR_MEMORY. */
enum ps_status ps_layers_copy(const struct ps_memory *memory, const struct ps_layer *layer,
                              struct ps_layer **copies, struct ps_error *error);

bool ps_layers_equal(const struct ps_layer *a, const struct ps_layer *b);

/* Makes of *target the list of its layers followed by copies of those of `source`. A layer whose
 * bits another of the same index includes tells nothing and is left out: so a merge that comes
 * twice, or of a filter and what it had been before, costs nothing; and merging is associative.
 * (Layers of one list may come to include others by what is added later.)
 * PS_ERR_FULL if the list would be larger than max_bytes or longer than PS_LAYERS_MAX,
 * PS_ERR_MEMORY; nothing has changed then. */
enum ps_status ps_layers_merge(const struct ps_memory *memory, struct ps_layer **target,
                               const struct ps_layer *source, uint64_t max_bytes,
                               struct ps_error *error);

/* ---- bytes: of each layer, the oldest first, 8 bytes of index and the bits ---- */

uint64_t ps_layers_encoded_size(const struct ps_layer *layer);

void ps_layers_write(const struct ps_layer *layer, unsigned char *bytes);

/* Makes the list that n bytes stand for. Nothing is allocated for bits that are not there.
 * PS_ERR_CORRUPT, PS_ERR_MEMORY. */
enum ps_status ps_layers_read(const struct ps_memory *memory, const struct ps_layer_series *series,
                              const unsigned char *bytes, uint64_t n, struct ps_layer **layers,
                              struct ps_error *error);

#endif
