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
static uint64_t take_below(struct ps_bins *bins, unsigned char *payload, uint32_t low)
{
  struct ps_span *span = &bins->span;
  uint64_t sum = 0;
  for (; span->low <= span->high && span->low < low; span->low++) {
    sum += ps_bins_get(bins, payload, span->low);
    ps_store64(payload + ps_bins_at(bins, span->low), 0);
  }
  if (span->low > span->high) {
    *span = PS_SPAN_NONE;
  }
  return sum;
}

/* With as much room below the window as above it. */
static void move(struct ps_bins *bins, const unsigned char *from, unsigned char *to, size_t first,
                 uint32_t room, struct ps_span window)
{
  const size_t word = sizeof(uint64_t);
  uint32_t slack = (room - ps_span_length(window)) / 2;
  uint32_t base = window.low > slack ? window.low - slack : 0;
  uint32_t used = ps_span_length(bins->span), head = used > 0 ? bins->span.low - base : 0;
  unsigned char *start = to + first * word;
  if (used > 0) {
    memmove(start + head * word, from + ps_bins_at(bins, bins->span.low), used * word);
  }
  memset(start, 0, head * word);
  memset(start + (head + used) * word, 0, (room - head - used) * word);
  bins->first = first;
  bins->base = base;
  bins->room = room;
}

static bool covers(const struct ps_bins *bins, struct ps_span window)
{
  return ps_span_length(window) == 0 ||
         (window.low >= bins->base && window.high - bins->base < bins->room);
}

void ps_bins_place(struct ps_bins *bins, unsigned char *from, unsigned char *to, size_t first,
                   uint32_t room, struct ps_span window)
{
  uint64_t below = take_below(bins, from, window.low);
  if (from != to || first != bins->first || room != bins->room || !covers(bins, window)) {
    move(bins, from, to, first, room, window);
  }
  if (below > 0) {
    unsigned char *lowest = to + ps_bins_at(bins, window.low);
    ps_store64(lowest, ps_load64(lowest) + below);
    bins->span = ps_span_join(bins->span, (struct ps_span){window.low, window.low});
    bins->collapsed = true;
  }
}

void ps_bins_cover(struct ps_bins *bins, struct ps_span added, struct ps_span window)
{
  if (added.low < window.low) {
    added.low = window.low;
    added.high = added.high > window.low ? added.high : window.low;
    bins->collapsed = true;
  }
  bins->span = ps_span_join(bins->span, added);
}

/* Counts that are summed without a question in between, in two chains. */
#define BLOCK 16

static inline uint64_t sum_block(const unsigned char *at)
{
  uint64_t even = 0, odd = 0;
  for (size_t i = 0; i < BLOCK; i += 2) {
    even += ps_load64(at + i * sizeof(uint64_t));
    odd += ps_load64(at + (i + 1) * sizeof(uint64_t));
  }
  return even + odd;
}

uint64_t ps_bins_sum(const struct ps_bins *bins, const unsigned char *payload, uint32_t low,
                     uint32_t high)
{
  uint64_t sum = 0;
  for (; high - low >= BLOCK; low += BLOCK) {
    sum += sum_block(payload + ps_bins_at(bins, low));
  }
  for (; low <= high; low++) {
    sum += ps_bins_get(bins, payload, low);
  }
  return sum;
}

uint32_t ps_bins_find(const struct ps_bins *bins, const unsigned char *payload, uint64_t k)
{
  uint32_t index = bins->span.low;
  for (; bins->span.high - index >= BLOCK; index += BLOCK) {
    uint64_t sum = sum_block(payload + ps_bins_at(bins, index));
    if (sum > k) {
      break;
    }
    k -= sum;
  }
  for (; index < bins->span.high; index++) {
    uint64_t n = ps_bins_get(bins, payload, index);
    if (n > k) {
      break;
    }
    k -= n;
  }
  return index;
}

uint32_t ps_bins_used(const struct ps_bins *bins, const unsigned char *payload)
{
  uint32_t used = 0;
  for (uint32_t i = 0, n = ps_span_length(bins->span); i < n; i++) {
    used += ps_bins_get(bins, payload, bins->span.low + i) > 0;
  }
  return used;
}

bool ps_bins_equal(const struct ps_bins *a, const unsigned char *payload_of_a,
                   const struct ps_bins *b, const unsigned char *payload_of_b)
{
  uint32_t n = ps_span_length(a->span);
  if (a->total != b->total || a->collapsed != b->collapsed || a->span.low != b->span.low ||
      a->span.high != b->span.high) {
    return false;
  }
  return n == 0 || memcmp(payload_of_a + ps_bins_at(a, a->span.low),
                          payload_of_b + ps_bins_at(b, b->span.low), n * sizeof(uint64_t)) == 0;
}
