#include "quantile/bins.h"

#include <string.h>

struct ps_span ps_bins_window(const struct ps_bins *bins, struct ps_span others, uint32_t max)
{
  struct ps_span window = ps_span_join(bins->span, others);
  if (ps_span_length(window) > max) {
    window.low = window.high - max + 1;
  }
  return window;
}

/* Takes away, and returns, what is counted below an index. */
static uint64_t take_below(struct ps_bins *bins, uint32_t low)
{
  struct ps_span *span = &bins->span;
  uint64_t sum = 0;
  for (; span->low <= span->high && span->low < low; span->low++) {
    sum += bins->counts[span->low - bins->base];
    bins->counts[span->low - bins->base] = 0;
  }
  if (span->low > span->high) {
    *span = PS_SPAN_NONE;
  }
  return sum;
}

/* With as much room below the window as above it. */
static void move(struct ps_bins *bins, uint64_t *counts, uint32_t room, struct ps_span window)
{
  uint32_t slack = (room - ps_span_length(window)) / 2;
  uint32_t base = window.low > slack ? window.low - slack : 0;
  uint32_t used = ps_span_length(bins->span), head = used > 0 ? bins->span.low - base : 0;
  if (used > 0) {
    memmove(counts + head, bins->counts + (bins->span.low - bins->base), used * sizeof *counts);
  }
  memset(counts, 0, head * sizeof *counts);
  memset(counts + head + used, 0, (room - head - used) * sizeof *counts);
  bins->counts = counts;
  bins->base = base;
  bins->room = room;
}

static bool covers(const struct ps_bins *bins, struct ps_span window)
{
  return ps_span_length(window) == 0 ||
         (window.low >= bins->base && window.high - bins->base < bins->room);
}

void ps_bins_place(struct ps_bins *bins, uint64_t *counts, uint32_t room, struct ps_span window)
{
  uint64_t below = take_below(bins, window.low);
  if (counts != bins->counts || room != bins->room || !covers(bins, window)) {
    move(bins, counts, room, window);
  }
  if (below > 0) {
    bins->counts[window.low - bins->base] += below;
    bins->span = ps_span_join(bins->span, (struct ps_span){window.low, window.low});
    bins->collapsed = true;
  }
}

uint32_t ps_bins_used(const struct ps_bins *bins)
{
  uint32_t used = 0;
  for (uint32_t i = 0, n = ps_span_length(bins->span); i < n; i++) {
    used += ps_bins_get(bins, bins->span.low + i) > 0;
  }
  return used;
}

bool ps_bins_equal(const struct ps_bins *a, const struct ps_bins *b)
{
  uint32_t n = ps_span_length(a->span);
  if (a->total != b->total || a->collapsed != b->collapsed || a->span.low != b->span.low ||
      a->span.high != b->span.high) {
    return false;
  }
  return n == 0 || memcmp(a->counts + (a->span.low - a->base), b->counts + (b->span.low - b->base),
                          n * sizeof *a->counts) == 0;
}
