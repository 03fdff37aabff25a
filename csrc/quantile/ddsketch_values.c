/* What goes into a ddsketch: values, and all of another one. */
#include "quantile/ddsketch.h"
#include "quantile/ddsketch_shared.h"
#include "quantile/quantile.h"

/* Joins the extremes with others; `before` is the total without those. -0.0 + 0.0 is 0.0. */
static void extend(struct ps_ddsketch *sketch, double min, double max, uint64_t before)
{
  if (before == 0 || min < sketch->min) {
    sketch->min = min + 0.0;
  }
  if (before == 0 || max > sketch->max) {
    sketch->max = max + 0.0;
  }
}

static void leave_changed(struct ps_ddsketch *sketch)
{
  if (ps_ddsketch_has_range(sketch)) {
    ps_ddsketch_store_head(sketch);
  }
}

/* What a batch needs, which is known before the first of it is counted. */
struct demand {
  struct ps_span span[PS_SIGNS];
  uint64_t total; /* more than 2^53 is as good as any such number */
  double min, max;
};

static struct demand demand_of(const struct ps_ddsketch *sketch, const double *values,
                               const uint64_t *weights, size_t n)
{
  struct demand demand = {{PS_SPAN_NONE, PS_SPAN_NONE}, 0, INFINITY, -INFINITY};
  double low[PS_SIGNS] = {INFINITY, INFINITY}, high[PS_SIGNS] = {0, 0};
  for (size_t i = 0; i < n && demand.total <= PS_COUNT_MAX; i++) {
    const uint64_t weight = weights != NULL ? weights[i] : 1;
    const double x = values[i], magnitude = fabs(x);
    const enum ps_sign sign = x < 0 ? PS_NEGATIVE : PS_POSITIVE;
    if (weight == 0) {
      continue;
    }
    demand.total += weight;
    demand.min = x < demand.min ? x : demand.min;
    demand.max = x > demand.max ? x : demand.max;
    if (magnitude >= sketch->least) {
      low[sign] = magnitude < low[sign] ? magnitude : low[sign];
      high[sign] = magnitude > high[sign] ? magnitude : high[sign];
    }
  }
  for (int sign = 0; sign < PS_SIGNS; sign++) {
    if (high[sign] > 0) {
      demand.span[sign] = (struct ps_span){ps_ddsketch_index(sketch, low[sign]),
                                           ps_ddsketch_index(sketch, high[sign])};
    }
  }
  return demand;
}

/* Room for all of a batch is made before the first is counted: nothing can fail in between. The
 * state does not depend on the order, so bins may be collapsed that early. */
static enum ps_status prepare(struct ps_ddsketch *sketch, const struct demand *demand,
                              struct ps_span window[], struct ps_error *error)
{
  enum ps_status status = ps_check_total(ps_ddsketch_total(sketch), demand->total, error);
  if (status != PS_OK) {
    return status;
  }
  for (int sign = 0; sign < PS_SIGNS; sign++) {
    window[sign] = ps_bins_window(&sketch->bins[sign], demand->span[sign], sketch->max_bins);
  }
  return ps_ddsketch_reserve(sketch, window, error);
}

/* All of a batch, where others add too. */
static enum ps_status add_shared(struct ps_ddsketch *sketch, const double *values,
                                 const uint64_t *weights, size_t n, const struct demand *demand,
                                 size_t *changed, struct ps_error *error)
{
  enum ps_status status = ps_ddsketch_shared_reserve(sketch, demand->total, error);
  if (status == PS_OK && demand->total > 0) {
    ps_ddsketch_shared_extend(sketch, demand->min, demand->max);
    for (size_t i = 0; i < n; i++) {
      const uint64_t weight = weights != NULL ? weights[i] : 1;
      ps_ddsketch_shared_count(sketch, values[i], weight);
      *changed += weight > 0;
    }
  }
  return status;
}

bool ps_ddsketch_add_within(struct ps_ddsketch *sketch, double x, uint64_t weight)
{
  const uint64_t before = ps_ddsketch_total(sketch);
  enum ps_sign sign;
  uint32_t index;
  if (sketch->sketch.flags & PS_SHARED) {
    return ps_ddsketch_shared_add(sketch, x, weight);
  }
  if (before == 0 || weight == 0 || weight > PS_COUNT_MAX - before) {
    return false;
  }
  if (ps_ddsketch_is_zero(sketch, x, &sign, &index)) {
    sketch->zeros += weight;
  } else {
    struct ps_bins *bins = &sketch->bins[sign];
    if (index < bins->span.low || index > bins->span.high) {
      return false;
    }
    ps_bins_count(bins, sketch->sketch.payload, index, weight);
    bins->total += weight;
  }
  extend(sketch, x, x, before);
  leave_changed(sketch);
  return true;
}

/* Counts all of a batch that the bins were prepared for. What changes with each value is kept in
 * variables: the bins might be where the struct is, for all that the compiler knows. */
static size_t count_all(struct ps_ddsketch *sketch, const double *values, const uint64_t *weights,
                        size_t n, const struct ps_span window[])
{
  const struct ps_ddsketch now = *sketch;
  uint64_t zeros = 0, totals[PS_SIGNS] = {0};
  size_t counted = 0;
  for (size_t i = 0; i < n; i++) {
    const uint64_t weight = weights != NULL ? weights[i] : 1;
    enum ps_sign sign;
    uint32_t index;
    counted += weight > 0;
    if (ps_ddsketch_is_zero(&now, values[i], &sign, &index)) {
      zeros += weight;
    } else if (weight > 0) {
      index = index > window[sign].low ? index : window[sign].low;
      ps_bins_count(&now.bins[sign], now.sketch.payload, index, weight);
      totals[sign] += weight;
    }
  }
  sketch->zeros += zeros;
  sketch->bins[PS_NEGATIVE].total += totals[PS_NEGATIVE];
  sketch->bins[PS_POSITIVE].total += totals[PS_POSITIVE];
  return counted;
}

enum ps_status ps_ddsketch_add_values(struct ps_sketch *base, const double *values,
                                      const uint64_t *weights, size_t n, size_t *changed,
                                      struct ps_error *error)
{
  struct ps_ddsketch *sketch = (struct ps_ddsketch *)base;
  if (n == 1 && ps_ddsketch_add_within(sketch, values[0], weights != NULL ? weights[0] : 1)) {
    *changed = 1;
    return PS_OK;
  }
  const struct demand demand = demand_of(sketch, values, weights, n);
  struct ps_span window[PS_SIGNS];
  *changed = 0;
  if (base->flags & PS_SHARED) {
    return add_shared(sketch, values, weights, n, &demand, changed, error);
  }
  enum ps_status status = prepare(sketch, &demand, window, error);
  if (status == PS_OK && demand.total > 0) {
    extend(sketch, demand.min, demand.max, ps_ddsketch_total(sketch));
    *changed = count_all(sketch, values, weights, n, window);
    for (int sign = 0; sign < PS_SIGNS; sign++) {
      ps_bins_cover(&sketch->bins[sign], demand.span[sign], window[sign]);
    }
    leave_changed(sketch);
  }
  return status;
}

/* The source may be the target: the window is then where the bins are. */
static void merge_bins(struct ps_ddsketch *target, const struct ps_ddsketch *source,
                       enum ps_sign sign, struct ps_span window)
{
  struct ps_bins *bins = &target->bins[sign];
  const struct ps_bins from = source->bins[sign];
  for (uint32_t i = 0, n = ps_span_length(from.span); i < n; i++) {
    const uint32_t index = from.span.low + i;
    ps_bins_count(bins, target->sketch.payload, index > window.low ? index : window.low,
                  ps_bins_get(&from, source->sketch.payload, index));
  }
  ps_bins_cover(bins, from.span, window);
  bins->total += from.total;
  bins->collapsed |= from.collapsed;
}

enum ps_status ps_ddsketch_merge(struct ps_sketch *into, const struct ps_sketch *from,
                                 struct ps_error *error)
{
  struct ps_ddsketch *target = (struct ps_ddsketch *)into;
  const struct ps_ddsketch *source = (const struct ps_ddsketch *)from;
  struct ps_span window[PS_SIGNS];
  if (ps_ddsketch_total(source) == 0) {
    return PS_OK;
  }
  const struct demand demand = {{source->bins[PS_NEGATIVE].span, source->bins[PS_POSITIVE].span},
                                ps_ddsketch_total(source),
                                source->min,
                                source->max};
  enum ps_status status = prepare(target, &demand, window, error);
  if (status == PS_OK) {
    extend(target, demand.min, demand.max, ps_ddsketch_total(target));
    target->zeros += source->zeros;
    merge_bins(target, source, PS_NEGATIVE, window[PS_NEGATIVE]);
    merge_bins(target, source, PS_POSITIVE, window[PS_POSITIVE]);
    leave_changed(target);
  }
  return status;
}
