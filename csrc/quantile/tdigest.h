/* The merging t-digest (Dunning and Ertl 2019, "Computing extremely accurate quantiles using
 * t-digests"): quantiles whose rank is right, within a share of it that shrinks towards both ends.
 *
 * The state is a list of centroids and how many values have come since it was last joined, which it
 * is before the value that would be one too many for PS_INSERT_MAX. Joining leaves it as it is
 * while it has up to 2 * compression: so a digest is exact while it has few values, or few
 * different ones. What it is depends on the calls alone. Which values have been sorted in, and
 * which wait behind the list, is no part of the state: questions sort them in. */
#ifndef PS_QUANTILE_TDIGEST_H
#define PS_QUANTILE_TDIGEST_H

#include "base/kind.h"
#include "quantile/centroids.h"

/* The payload. Questions change it, and leave the state as it is: what waits behind the list they
 * sort in, and what the list would be joined to they keep, until the state changes. */
struct ps_tdigest_store {
  struct ps_centroids list;
  struct ps_centroids joined; /* empty: not known */
  uint32_t waiting;
  uint32_t room; /* for the list and what waits */
  struct ps_pair pairs[];
};

/* Each value is one that was added, whatever its weight; what another digest's list had when it was
 * merged in counts as so many. */
struct ps_tdigest {
  struct ps_sketch sketch;
  uint32_t compression;
  uint32_t added; /* since the list was joined, or ever if it was not */
  bool joined;    /* ever */
  uint64_t count;
};

extern const struct ps_kind ps_tdigest;

/* The mean of what lies between two fractions, 0 <= low < high <= 1, of a digest that is not empty.
 * Of a centroid that is cut, its mean counts for the part. O(compression). */
double ps_tdigest_trimmed_mean(const struct ps_tdigest *sketch, double low, double high);

/* At most 2 * compression centroids, there until the digest is changed. O(1), or O(list) after a
 * change. */
const struct ps_centroids *ps_tdigest_centroids(const struct ps_tdigest *sketch);

/* ---- private to tdigest ---- */

static inline struct ps_tdigest_store *ps_tdigest_store(const struct ps_tdigest *sketch)
{
  return (struct ps_tdigest_store *)(void *)sketch->sketch.payload;
}

/* The list with all that is in the digest. */
const struct ps_centroids *ps_tdigest_list(const struct ps_tdigest *sketch);

/* The most entries that the list of a digest can have that has been joined or not, and got so many
 * values since. */
uint32_t ps_tdigest_list_max(const struct ps_tdigest *sketch, bool joined, uint64_t added);

/* Makes room for those. What is held depends on the state alone. PS_ERR_MEMORY. */
enum ps_status ps_tdigest_reserve(struct ps_tdigest *sketch, bool joined, uint64_t added,
                                  struct ps_error *error);

/* The form in bytes: docs/FORMAT.md. Decoding expects an empty digest. */
uint64_t ps_tdigest_encoded_size(const struct ps_sketch *base);
uint64_t ps_tdigest_encoded_max(const struct ps_sketch *base);
void ps_tdigest_encode(const struct ps_sketch *base, unsigned char *bytes);
enum ps_status ps_tdigest_read(struct ps_tdigest *sketch, const unsigned char *bytes, uint64_t size,
                               struct ps_error *error);

/* What it answers. */
extern const struct ps_quantile_kind ps_tdigest_quantiles;

#endif
