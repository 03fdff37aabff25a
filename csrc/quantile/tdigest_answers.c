/* What a t-digest answers.
 *
 * Ranks run from 0 to the count. An exact value has all the ranks of its weight. A centroid that is
 * mixed has half of its weight on either side of its mean, and between the means of neighbours, or
 * an exact value and the next mean, values rise evenly with the rank: section 2.9 of Dunning and
 * Ertl 2019, with the difference that not only single values are taken for what they are, but all
 * that are known to be equal. */
#include <math.h>

#include "quantile/quantile.h"
#include "quantile/tdigest.h"

/* The ranks that the mean or the exact value of number i has: the lowest and the highest. */
static double lowest_rank(const struct ps_centroids *list, size_t i)
{
  double before = (double)ps_centroid_before(list, i);
  return ps_centroid_mixed(list, i) ? before + (double)ps_centroid_weight(list, i) / 2 : before;
}

static double highest_rank(const struct ps_centroids *list, size_t i)
{
  return ps_centroid_mixed(list, i) ? lowest_rank(list, i)
                                    : (double)ps_centroid_before(list, i + 1);
}

static double clamp(double x, double low, double high)
{
  return x < low ? low : x > high ? high : x;
}

/* What lies at the fraction between a and b, whose difference may be larger than any double. */
static double between(double a, double b, double fraction)
{
  double x = isinf(b - a) ? a * (1 - fraction) + b * fraction : a + (b - a) * fraction;
  return clamp(x, a, b);
}

/* The fraction at which x lies. */
static double fraction_at(double a, double b, double x)
{
  return isinf(b - a) ? (x / 2 - a / 2) / (b / 2 - a / 2) : (x - a) / (b - a);
}

/* The last of those that begin at this rank or below, which is from 0 to below the count. */
static size_t find_rank(const struct ps_centroids *list, double rank)
{
  size_t low = 0, high = list->n;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if ((double)ps_centroid_before(list, middle) <= rank) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* How many of the numbers are <= x. */
static size_t count_up_to(const struct ps_centroids *list, double x)
{
  const uint64_t number = ps_order_of(x + 0.0);
  size_t low = 0, high = list->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (list->at[middle].number <= number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* What is asked: the values themselves until they are joined for the first time. */
static const struct ps_centroids *asked(const struct ps_tdigest *sketch)
{
  return sketch->joined ? ps_tdigest_centroids(sketch) : ps_tdigest_list(sketch);
}

/* Of n exact values number floor(q (n - 1)), from 0. */
static double quantile(const struct ps_sketch *base, double q)
{
  const struct ps_centroids *list = asked((const struct ps_tdigest *)base);
  const double rank = q * (double)(list->weight - 1);
  size_t i = find_rank(list, rank);
  if (!ps_centroid_mixed(list, i)) {
    return ps_centroid_value(list, i);
  }
  i -= rank < lowest_rank(list, i); /* a mixed one is neither the first nor the last */
  double from = highest_rank(list, i), to = lowest_rank(list, i + 1);
  return between(ps_centroid_value(list, i), ps_centroid_value(list, i + 1),
                 (rank - from) / (to - from));
}

static double rank(const struct ps_sketch *base, double x)
{
  const struct ps_centroids *list = asked((const struct ps_tdigest *)base);
  const size_t i = count_up_to(list, x);
  if (i == 0 || i == list->n) {
    return i == 0 ? 0 : 1;
  }
  double from = highest_rank(list, i - 1), to = lowest_rank(list, i);
  double fraction = fraction_at(ps_centroid_value(list, i - 1), ps_centroid_value(list, i), x);
  return between(from, to, fraction) / (double)list->weight;
}

static double min(const struct ps_sketch *base)
{
  return ps_centroid_value(ps_tdigest_list((const struct ps_tdigest *)base), 0);
}

static double max(const struct ps_sketch *base)
{
  const struct ps_centroids *list = ps_tdigest_list((const struct ps_tdigest *)base);
  return ps_centroid_value(list, list->n - 1);
}

/* The mean of what has the ranks low .. high, in shares of that, since their sum may be larger than
 * any double. */
static double mean_within(const struct ps_centroids *list, double low, double high)
{
  double mean = 0;
  for (size_t i = 0; i < list->n; i++) {
    double from = fmax((double)ps_centroid_before(list, i), low);
    double to = fmin((double)ps_centroid_before(list, i + 1), high);
    if (to > from) {
      mean += ps_centroid_value(list, i) * ((to - from) / (high - low));
    }
  }
  return clamp(mean, ps_centroid_value(list, 0), ps_centroid_value(list, list->n - 1));
}

double ps_tdigest_trimmed_mean(const struct ps_tdigest *sketch, double low, double high)
{
  const struct ps_centroids *list = asked(sketch);
  const double n = (double)list->weight;
  return mean_within(list, low * n, high * n);
}

/* NAN or infinite when it, or a part of it, is larger than any double. */
static double plain_sum(const struct ps_centroids *list)
{
  double sum = 0;
  for (size_t i = 0; i < list->n; i++) {
    sum += ps_centroid_value(list, i) * (double)ps_centroid_weight(list, i);
  }
  return sum;
}

static double mean(const struct ps_sketch *base)
{
  const struct ps_centroids *list = ps_tdigest_list((const struct ps_tdigest *)base);
  const double n = (double)list->weight, total = plain_sum(list);
  if (!isfinite(total)) {
    return mean_within(list, 0, n);
  }
  return clamp(total / n, ps_centroid_value(list, 0), ps_centroid_value(list, list->n - 1));
}

static double sum(const struct ps_sketch *base)
{
  const struct ps_centroids *list = ps_tdigest_list((const struct ps_tdigest *)base);
  const double total = plain_sum(list);
  return isfinite(total) ? total : mean(base) * (double)list->weight;
}

const struct ps_quantile_kind ps_tdigest_quantiles = {
    .quantile = quantile,
    .rank = rank,
    .min = min,
    .max = max,
    .sum = sum,
    .mean = mean,
};
