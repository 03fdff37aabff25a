#include "quantile/centroids.h"

#include <math.h>
#include <string.h>

#include "base/math.h"

/* ---- inserting ---- */

/* Makes one of equal ones. Returns how many there are then, and the weight of all. */
static size_t combine(struct ps_pair *pairs, size_t n, uint64_t *weight)
{
  size_t last = 0;
  *weight = pairs[0].weight;
  for (size_t i = 1; i < n; i++) {
    *weight += pairs[i].weight;
    if (pairs[i].number == pairs[last].number) {
      pairs[last].weight += pairs[i].weight;
    } else {
      pairs[++last] = pairs[i];
    }
  }
  return last + 1;
}

/* Does entry i, if there is one before `end`, belong behind an exact one of the number? */
static bool is_behind(const struct ps_pair *at, size_t end, uint64_t number)
{
  return end > 0 &&
         (at[end - 1].number > number ||
          (at[end - 1].number == number && (at[end - 1].weight & PS_CENTROID_MIXED) != 0));
}

/* Merges n different ones in from the end on, so that what is less than all of them stays where it
 * is. `more` is the weight of those that are not in yet, `before` that of the first `old` that were
 * there. */
static void merge_in(struct ps_centroids *list, const struct ps_pair *new, size_t n, uint64_t more)
{
  struct ps_pair *at = list->at;
  size_t old = list->n, to = old + n;
  const size_t end = to;
  uint64_t before = list->weight;
  list->weight += more;
  while (n > 0) {
    const struct ps_pair next = new[n - 1];
    if (is_behind(at, old, next.number)) {
      before = at[--old].weight & ~PS_CENTROID_MIXED;
      at[--to] = (struct ps_pair){at[old].number, at[old].weight + more};
      continue;
    }
    n--;
    more -= next.weight;
    if (old == 0 || at[old - 1].number != next.number) {
      at[--to] = (struct ps_pair){next.number, before + more};
    }
  }
  if (to > old) { /* some were there already */
    memmove(at + old, at + to, (end - to) * sizeof *at);
  }
  list->n = (uint32_t)(old + end - to);
}

void ps_centroids_insert(struct ps_centroids *list, size_t n)
{
  struct ps_pair new[PS_INSERT_MAX], *behind = list->at + list->n;
  uint64_t weight;
  memcpy(new, behind, n * sizeof *new);
  ps_sort_pairs(new, n, behind);
  n = combine(new, n, &weight);
  merge_in(list, new, n, weight);
}

/* ---- uniting ---- */

static void append_from(struct ps_centroids *list, const struct ps_centroids *source, size_t i,
                        uint64_t more)
{
  ps_centroids_append(list, source->at[i].number, ps_centroid_mixed(source, i),
                      ps_centroid_weight(source, i) + more);
}

/* By their place in a list; mixed ones of the same number have none before each other. */
static int compare(const struct ps_centroids *a, size_t i, const struct ps_centroids *b, size_t j)
{
  uint64_t x = a->at[i].number, y = b->at[j].number;
  return x != y ? (x > y) - (x < y) : ps_centroid_mixed(a, i) - ps_centroid_mixed(b, j);
}

void ps_centroids_unite(struct ps_centroids *list, const struct ps_centroids *a,
                        const struct ps_centroids *b)
{
  size_t i = 0, j = 0;
  while (i < a->n && j < b->n) {
    int order = compare(a, i, b, j);
    if (order == 0 && !ps_centroid_mixed(a, i)) {
      append_from(list, a, i++, ps_centroid_weight(b, j));
      j++;
    } else if (order <= 0) {
      append_from(list, a, i++, 0);
    } else {
      append_from(list, b, j++, 0);
    }
  }
  while (i < a->n) {
    append_from(list, a, i++, 0);
  }
  while (j < b->n) {
    append_from(list, b, j++, 0);
  }
}

/* ---- joining: the means are state, and the same on every machine to the last bit ---- */

/* Rounded before anything is added to it: some machines would multiply and add in one, and round
 * once. */
static double product(double x, double y)
{
  volatile double rounded = x * y;
  return rounded;
}

/* When the sum of differences is too large for a double. A quotient cannot be fused with a sum, and
 * halving is exact where a difference is too large. */
static double far_mean(const struct ps_centroids *list, size_t from, size_t to)
{
  double mean = ps_centroid_value(list, from), weight = (double)ps_centroid_weight(list, from);
  for (size_t i = from + 1; i < to; i++) {
    double x = ps_centroid_value(list, i), more = (double)ps_centroid_weight(list, i);
    weight += more;
    double share = weight / more;
    mean += isinf(x - mean) ? (x / 2 - mean / 2) / share * 2 : (x - mean) / share;
  }
  return mean;
}

/* The mean of those from .. to - 1; rounding does not take it out of their range. */
static double mean_of(const struct ps_centroids *list, size_t from, size_t to)
{
  const double least = ps_centroid_value(list, from), most = ps_centroid_value(list, to - 1);
  const uint64_t total = ps_centroid_before(list, to) - ps_centroid_before(list, from);
  double sum = 0;
  for (size_t i = from + 1; i < to; i++) {
    uint64_t weight = ps_centroid_weight(list, i);
    double above = ps_centroid_value(list, i) - least;
    sum += weight == 1 ? above : product(above, (double)weight);
  }
  double mean = isfinite(sum) ? least + sum / (double)total : far_mean(list, from, to);
  return mean < least ? least : mean > most ? most : mean;
}

/* The most that a centroid may weigh that has one end at so much weight. Products only, which
 * nothing is added to. */
static double limit_at(const struct ps_centroids *list, uint64_t before, double scale)
{
  return (double)before * (double)(list->weight - before) * scale;
}

/* The end of the longest row from number i on that may be joined. */
static size_t end_of_row(const struct ps_centroids *list, size_t i, double scale)
{
  const uint64_t before = ps_centroid_before(list, i);
  const double limit = limit_at(list, before, scale);
  while (++i < list->n) {
    uint64_t end = ps_centroid_before(list, i + 1);
    double weight = (double)(end - before);
    if (weight > limit || weight > limit_at(list, end, scale)) {
      break;
    }
  }
  return i;
}

/* False when this makes more than `max`. */
static bool join_rows(struct ps_centroids *joined, const struct ps_centroids *list, double scale,
                      uint32_t max)
{
  joined->n = 0;
  for (size_t i = 0, end; i < list->n; i = end) {
    struct ps_pair row = list->at[i];
    if (joined->n == max) {
      return false;
    }
    end = end_of_row(list, i, scale);
    if (end > i + 1) {
      row.number = ps_order_of(mean_of(list, i, end) + 0.0);
      row.weight |= PS_CENTROID_MIXED;
    }
    joined->at[joined->n++] = row;
  }
  joined->weight = list->weight;
  return true;
}

/* The scale function k_2 of Dunning and Ertl 2019 ("Computing extremely accurate quantiles using
 * t-digests") as a bound on weights: q (1 - q) times a scale that rises with the
 * logarithm of the weight and is such that nearly all the room is used. When the row of centroids
 * is longer, as happens to one in fifty, it is tried again with the next larger scale.
 *
 * The first and the last are joined with nothing: their bound is 0. */
void ps_centroids_join(struct ps_centroids *joined, const struct ps_centroids *list,
                       uint32_t compression)
{
  const double bits = 64 - ps_leading_zeros(list->weight / compression);
  double scale = (55 + 9 * bits) / (10.0 * compression) / (double)list->weight;
  while (!join_rows(joined, list, scale, 2 * compression)) {
    scale *= 1.25;
  }
}
