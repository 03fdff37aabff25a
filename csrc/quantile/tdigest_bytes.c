/* The bytes of a t-digest: its list, the numbers first and then the weights. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/math.h"
#include "quantile/tdigest.h"

#define ENTRIES_AT 0
#define ADDED_AT 4  /* 2 bytes */
#define JOINED_AT 6 /* 2 bytes: 0 or 1 */
#define HEAD_SIZE 8

#define NUMBER_SIZE 8

/* A weight is stored as twice itself, plus 1 if it is that of a mixed one: in groups of 7 bits, the
 * lowest first, in bytes with their highest bit set in all but the last. */
#define GROUP 7
#define MORE 0x80
#define WEIGHT_SIZE_MAX 8 /* at most 2^54 + 1: 55 bits */

static uint64_t stored_weight(const struct ps_centroids *list, size_t i)
{
  return ps_centroid_weight(list, i) << 1 | ps_centroid_mixed(list, i);
}

static unsigned char *write_groups(unsigned char *at, uint64_t x)
{
  for (; x >= MORE; x >>= GROUP) {
    *at++ = (unsigned char)(x | MORE);
  }
  *at++ = (unsigned char)x;
  return at;
}

uint64_t ps_tdigest_encoded_size(const struct ps_sketch *base)
{
  const struct ps_centroids *list = ps_tdigest_list((const struct ps_tdigest *)base);
  unsigned char groups[WEIGHT_SIZE_MAX];
  uint64_t size = HEAD_SIZE + (uint64_t)list->n * NUMBER_SIZE;
  for (size_t i = 0; i < list->n; i++) {
    size += (uint64_t)(write_groups(groups, stored_weight(list, i)) - groups);
  }
  return size;
}

uint64_t ps_tdigest_encoded_max(const struct ps_sketch *base)
{
  uint64_t most = ps_tdigest_list_max((const struct ps_tdigest *)base, true, PS_INSERT_MAX);
  return HEAD_SIZE + most * (NUMBER_SIZE + WEIGHT_SIZE_MAX);
}

void ps_tdigest_encode(const struct ps_sketch *base, unsigned char *bytes)
{
  const struct ps_tdigest *sketch = (const struct ps_tdigest *)base;
  const struct ps_centroids *list = ps_tdigest_list(sketch);
  unsigned char *weights = bytes + HEAD_SIZE + (size_t)list->n * NUMBER_SIZE;
  ps_store32(bytes + ENTRIES_AT, list->n);
  ps_store16(bytes + ADDED_AT, (uint16_t)sketch->added);
  ps_store16(bytes + JOINED_AT, sketch->joined);
  for (size_t i = 0; i < list->n; i++) {
    ps_store_double(bytes + HEAD_SIZE + i * NUMBER_SIZE, ps_centroid_value(list, i));
    weights = write_groups(weights, stored_weight(list, i));
  }
}

/* ---- decoding ---- */

static enum ps_status corrupt(const char *what, struct ps_error *error)
{
  return ps_fail(error, PS_ERR_CORRUPT, "corrupt payload (%s)", what);
}

/* 0, which no weight is, for groups that are cut off, too many, or more than are needed. */
static uint64_t read_groups(struct ps_reader *reader)
{
  uint64_t x = 0, group = MORE;
  for (unsigned bit = 0; group >= MORE && bit < WEIGHT_SIZE_MAX * GROUP; bit += GROUP) {
    group = ps_read(reader, 1);
    x |= (group & ~(uint64_t)MORE) << bit;
    if (group == 0 && bit > 0) {
      return 0;
    }
  }
  return group < MORE && !reader->failed ? x : 0;
}

/* A finite number, not -0.0, and its place behind the last of the list. */
static bool is_next(const struct ps_centroids *list, double x, bool mixed)
{
  if (!isfinite(x) || (x == 0 && signbit(x))) {
    return false;
  }
  if (list->n == 0) {
    return true;
  }
  uint64_t last = list->at[list->n - 1].number, number = ps_order_of(x);
  return last < number || (last == number && mixed);
}

/* `joined`: some may be mixed. */
static bool read_entries(struct ps_centroids *list, struct ps_reader numbers,
                         struct ps_reader weights, uint32_t n, bool joined)
{
  while (list->n < n) {
    uint64_t bits = ps_read(&numbers, NUMBER_SIZE), stored = read_groups(&weights);
    uint64_t weight = stored >> 1;
    bool mixed = (stored & 1) != 0;
    double x;
    memcpy(&x, &bits, sizeof x);
    if (weight <= mixed || weight > PS_COUNT_MAX - list->weight || !is_next(list, x, mixed) ||
        (mixed && !joined)) {
      return false;
    }
    ps_centroids_append(list, ps_order_of(x), mixed, weight);
  }
  return weights.at == weights.end &&
         (n == 0 || !(ps_centroid_mixed(list, 0) || ps_centroid_mixed(list, n - 1)));
}

enum ps_status ps_tdigest_read(struct ps_tdigest *sketch, const unsigned char *bytes, uint64_t size,
                               struct ps_error *error)
{
  if (size < HEAD_SIZE) {
    return corrupt("no head", error);
  }
  const uint32_t n = ps_load32(bytes + ENTRIES_AT);
  const uint16_t added = ps_load16(bytes + ADDED_AT), joined = ps_load16(bytes + JOINED_AT);
  if (n > (size - HEAD_SIZE) / (NUMBER_SIZE + 1)) {
    return corrupt("more entries than bytes for them", error);
  }
  if (joined > 1 || added > PS_INSERT_MAX || n > ps_tdigest_list_max(sketch, joined, added)) {
    return corrupt("more entries than there can be", error);
  }
  enum ps_status status = ps_tdigest_reserve(sketch, joined, added, error);
  if (status != PS_OK) {
    return status;
  }
  struct ps_centroids *list = &ps_tdigest_store(sketch)->list;
  const size_t weights_at = HEAD_SIZE + (size_t)n * NUMBER_SIZE;
  if (!read_entries(list, ps_reader_over(bytes + HEAD_SIZE, (size_t)n * NUMBER_SIZE),
                    ps_reader_over(bytes + weights_at, (size_t)size - weights_at), n,
                    joined != 0)) {
    return corrupt("no ascending list of centroids", error);
  }
  if (list->weight < added || (joined && list->weight <= PS_INSERT_MAX)) {
    return corrupt("more values than their weight", error);
  }
  sketch->added = added;
  sketch->joined = joined;
  sketch->count = list->weight;
  return PS_OK;
}
