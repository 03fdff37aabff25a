#include "membership/bloom_layers.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/math.h"

#define INDEX_SIZE 8

static_assert(sizeof(struct ps_layer) <= PS_LAYER_HEAD, "the bits lie behind the struct");

/* ---- one ---- */

/* By products from layer to layer and not by pow(), so that every machine gets the same numbers.
 * How many keys fill a layer is up to chance, with a standard deviation of sqrt(0.44 n / k): it is
 * made for sqrt(n) more, so that its capacity goes in. */
bool ps_layer_plan(const struct ps_layer_series *series, uint32_t index, struct ps_bloom *bloom)
{
  double capacity = series->capacity, rate = series->fp_rate;
  if (index >= PS_LAYERS_MAX) {
    return false;
  }
  for (uint32_t i = 0; i < index; i++) {
    capacity *= series->growth;
    rate *= series->tightening;
  }
  if (rate < 0x1p-64 || capacity > (double)PS_COUNT_MAX) {
    return false;
  }
  memset(bloom, 0, sizeof *bloom);
  bloom->sketch.kind = &ps_bloom;
  capacity = floor(capacity);
  ps_bloom_plan_for(bloom, capacity + ceil(sqrt(capacity)), rate);
  bloom->capacity = (uint64_t)capacity;
  return true;
}

uint64_t ps_layer_size(const struct ps_bloom *planned)
{
  return PS_LAYER_HEAD + ps_bloom.size(&planned->sketch);
}

static uint64_t most_ones(const struct ps_bloom *planned)
{
  return (uint64_t)((double)planned->bits * pow(planned->fp_rate, 1.0 / planned->hashes));
}

enum ps_status ps_layer_new(const struct ps_memory *memory, const struct ps_bloom *planned,
                            uint32_t index, const unsigned char *bits, struct ps_layer **layer,
                            struct ps_error *error)
{
  const uint64_t size = ps_layer_size(planned);
  void *block = size <= SIZE_MAX ? memory->resize(memory->context, NULL, 0, (size_t)size) : NULL;
  *layer = block;
  if (block == NULL) {
    return ps_fail(error, PS_ERR_MEMORY, "not enough memory (%" PRIu64 " bytes)", size);
  }
  **layer = (struct ps_layer){.bloom = *planned, .most = most_ones(planned), .index = index};
  struct ps_sketch *sketch = &(*layer)->bloom.sketch;
  sketch->payload = (unsigned char *)block + PS_LAYER_HEAD;
  sketch->held = size - PS_LAYER_HEAD;
  if (bits == NULL) {
    ps_bloom.clear(sketch);
  } else {
    memcpy(sketch->payload, bits, (size_t)sketch->held);
    ps_bloom.attach(sketch);
  }
  return PS_OK;
}

enum ps_status ps_layer_copy(const struct ps_memory *memory, const struct ps_layer *layer,
                             struct ps_layer **copy, struct ps_error *error)
{
  return ps_layer_new(memory, &layer->bloom, layer->index, layer->bloom.sketch.payload, copy,
                      error);
}

/* Are they of one index, and are all bits of the inner set in the outer too? Then the inner affirms
 * nothing that the outer does not. */
static bool contains(const struct ps_layer *outer, const struct ps_layer *inner)
{
  const struct ps_sketch *bits = &inner->bloom.sketch;
  if (outer->index != inner->index || outer->bloom.ones < inner->bloom.ones) {
    return false;
  }
  for (uint64_t at = 0; at < bits->held; at += 8) {
    if (ps_load64(bits->payload + at) & ~ps_load64(outer->bloom.sketch.payload + at)) {
      return false;
    }
  }
  return true;
}

/* ---- lists of them ---- */

void ps_layers_free(const struct ps_memory *memory, struct ps_layer *layer,
                    const struct ps_layer *end)
{
  while (layer != end) {
    struct ps_layer *older = layer->older;
    memory->resize(memory->context, layer, (size_t)ps_layer_size(&layer->bloom), 0);
    layer = older;
  }
}

size_t ps_layers_count(const struct ps_layer *layer)
{
  size_t n = 0;
  for (; layer != NULL; layer = layer->older) {
    n++;
  }
  return n;
}

uint64_t ps_layers_size(const struct ps_layer *layer)
{
  uint64_t bytes = 0;
  for (; layer != NULL; layer = layer->older) {
    bytes += ps_layer_size(&layer->bloom);
  }
  return bytes;
}

uint32_t ps_layers_next(const struct ps_layer *layer)
{
  uint32_t next = 0;
  for (; layer != NULL; layer = layer->older) {
    next = layer->index >= next ? layer->index + 1 : next;
  }
  return next;
}

bool ps_layers_equal(const struct ps_layer *a, const struct ps_layer *b)
{
  while (a != NULL && b != NULL && a->index == b->index &&
         memcmp(a->bloom.sketch.payload, b->bloom.sketch.payload, a->bloom.sketch.held) == 0) {
    a = a->older;
    b = b->older;
  }
  return a == NULL && b == NULL;
}

/* Does a layer of the list contain this one? */
static bool any_contains(const struct ps_layer *list, const struct ps_layer *layer)
{
  while (list != NULL && !contains(list, layer)) {
    list = list->older;
  }
  return list != NULL;
}

/* Does a layer of the list contain this one and more? */
static bool any_exceeds(const struct ps_layer *list, const struct ps_layer *layer)
{
  while (list != NULL && !(list->bloom.ones > layer->bloom.ones && contains(list, layer))) {
    list = list->older;
  }
  return list != NULL;
}

/* Copies of the layers, in order, that `without` does not contain. */
static enum ps_status copy_without(const struct ps_memory *memory, const struct ps_layer *layer,
                                   const struct ps_layer *without, struct ps_layer **copies,
                                   struct ps_error *error)
{
  struct ps_layer **end = copies;
  enum ps_status status = PS_OK;
  *copies = NULL;
  for (; layer != NULL && status == PS_OK; layer = layer->older) {
    if (!any_contains(without, layer)) {
      status = ps_layer_copy(memory, layer, end, error);
      end = *end != NULL ? &(*end)->older : end;
    }
  }
  if (status != PS_OK) {
    ps_layers_free(memory, *copies, NULL);
    *copies = NULL;
  }
  return status;
}

enum ps_status ps_layers_copy(const struct ps_memory *memory, const struct ps_layer *layer,
                              struct ps_layer **copies, struct ps_error *error)
{
  return copy_without(memory, layer, NULL, copies, error);
}

/* ---- merging ---- */

/* Is there room for the layers of the target that stay and those of the source that come? */
static enum ps_status check_room(const struct ps_layer *target, const struct ps_layer *source,
                                 uint64_t max_bytes, struct ps_error *error)
{
  uint64_t bytes = 0;
  size_t n = 0;
  for (const struct ps_layer *layer = target; layer != NULL; layer = layer->older) {
    if (!any_exceeds(source, layer)) {
      bytes += ps_layer_size(&layer->bloom);
      n++;
    }
  }
  for (const struct ps_layer *layer = source; layer != NULL; layer = layer->older) {
    if (!any_contains(target, layer)) {
      bytes += ps_layer_size(&layer->bloom);
      n++;
    }
  }
  if (bytes > max_bytes) {
    return ps_fail(error, PS_ERR_FULL,
                   "full: needs %" PRIu64 " bytes, limit %" PRIu64 " (max_bytes)", bytes,
                   max_bytes);
  }
  if (n > PS_LAYERS_MAX) {
    return ps_fail(error, PS_ERR_FULL, "full: needs %zu layers, limit %d", n, PS_LAYERS_MAX);
  }
  return PS_OK;
}

enum ps_status ps_layers_merge(const struct ps_memory *memory, struct ps_layer **target,
                               const struct ps_layer *source, uint64_t max_bytes,
                               struct ps_error *error)
{
  struct ps_layer *merged, *older;
  enum ps_status status = check_room(*target, source, max_bytes, error);
  if (status == PS_OK) {
    status = copy_without(memory, source, *target, &merged, error);
  }
  if (status != PS_OK) {
    return status;
  }
  struct ps_layer **end = &merged;
  while (*end != NULL) {
    end = &(*end)->older;
  }
  for (struct ps_layer *layer = *target; layer != NULL; layer = older) {
    older = layer->older;
    if (any_exceeds(source, layer)) {
      ps_layers_free(memory, layer, older);
    } else {
      *end = layer;
      end = &layer->older;
    }
  }
  *end = NULL;
  *target = merged;
  return PS_OK;
}

/* ---- bytes ---- */

uint64_t ps_layers_encoded_size(const struct ps_layer *layer)
{
  uint64_t bytes = 0;
  for (; layer != NULL; layer = layer->older) {
    bytes += INDEX_SIZE + layer->bloom.sketch.held;
  }
  return bytes;
}

void ps_layers_write(const struct ps_layer *layer, unsigned char *bytes)
{
  unsigned char *at = bytes + ps_layers_encoded_size(layer);
  for (; layer != NULL; layer = layer->older) {
    const struct ps_sketch *sketch = &layer->bloom.sketch;
    at -= sketch->held;
    memcpy(at, sketch->payload, (size_t)sketch->held);
    at -= INDEX_SIZE;
    ps_store64(at, layer->index);
  }
}

static enum ps_status corrupt(const char *what, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (%s)", what);
}

/* The layer that n bytes begin with. */
static enum ps_status read_layer(const struct ps_memory *memory,
                                 const struct ps_layer_series *series, const unsigned char *bytes,
                                 uint64_t n, struct ps_layer **layer, struct ps_error *error)
{
  struct ps_bloom planned;
  uint64_t index = n < INDEX_SIZE ? UINT64_MAX : ps_load64(bytes);
  if (index >= PS_LAYERS_MAX || !ps_layer_plan(series, (uint32_t)index, &planned)) {
    return corrupt("a layer of an index that there is not", error);
  }
  if (n - INDEX_SIZE < ps_bloom.size(&planned.sketch)) {
    return corrupt("a layer that is cut off", error);
  }
  return ps_layer_new(memory, &planned, (uint32_t)index, bytes + INDEX_SIZE, layer, error);
}

static enum ps_status check_layer(const struct ps_layer *layer, bool alone, struct ps_error *error)
{
  enum ps_status status = ps_bloom.check(&layer->bloom.sketch, error);
  if (status != PS_OK) {
    return status;
  }
  if (layer->bloom.ones > layer->most) {
    return corrupt("a layer fuller than its rate allows", error);
  }
  if (layer->bloom.ones == 0 && !alone) {
    return corrupt("an empty layer among others", error);
  }
  return PS_OK;
}

/* No two layers of an index are the same: of a merge one is left out, and what is added later to
 * one is a key that the others do not have. Told by their hashes, since comparing them all takes
 * long where somebody made them nearly so. */
static bool is_twice(const struct ps_layer *layer, uint64_t *hashes, size_t n)
{
  const struct ps_sketch *bloom = &layer->bloom.sketch;
  hashes[n] = ps_hash(bloom->payload, (size_t)bloom->held, layer->index);
  size_t i = 0;
  while (hashes[i] != hashes[n]) {
    i++;
  }
  return i < n;
}

/* A merge leaves out layers, but never all of an index: there are all from 0 to the highest. */
static enum ps_status check_layers(const struct ps_layer *newest, struct ps_error *error)
{
  bool there[PS_LAYERS_MAX] = {false};
  uint64_t hashes[PS_LAYERS_MAX];
  size_t n = 0;
  enum ps_status status = newest != NULL ? PS_OK : corrupt("no layers", error);
  const uint32_t end = ps_layers_next(newest);
  for (const struct ps_layer *layer = newest; layer != NULL && status == PS_OK;
       layer = layer->older) {
    status = check_layer(layer, newest->older == NULL, error);
    there[layer->index] = true;
    if (status == PS_OK && is_twice(layer, hashes, n++)) {
      status = corrupt("a layer twice", error);
    }
  }
  for (uint32_t i = 0; i < end && status == PS_OK; i++) {
    status = there[i] ? PS_OK : corrupt("a layer without those before it", error);
  }
  return status;
}

enum ps_status ps_layers_read(const struct ps_memory *memory, const struct ps_layer_series *series,
                              const unsigned char *bytes, uint64_t n, struct ps_layer **layers,
                              struct ps_error *error)
{
  enum ps_status status = PS_OK;
  uint64_t at = 0;
  *layers = NULL;
  for (size_t count = 0; at < n && status == PS_OK; count++) {
    struct ps_layer *layer = NULL;
    status = count < PS_LAYERS_MAX ? read_layer(memory, series, bytes + at, n - at, &layer, error)
                                   : corrupt("too many layers", error);
    if (status == PS_OK) {
      at += INDEX_SIZE + layer->bloom.sketch.held;
      layer->older = *layers;
      *layers = layer;
    }
  }
  status = status == PS_OK ? check_layers(*layers, error) : status;
  if (status != PS_OK) {
    ps_layers_free(memory, *layers, NULL);
    *layers = NULL;
  }
  return status;
}
