#include "quantile/sorted_view.h"

/* From the end on: no pair is overwritten before it has moved. */
void ps_view_merge(struct ps_pair *pairs, size_t n, const uint64_t *run, size_t length,
                   uint64_t weight)
{
  while (length > 0) {
    struct ps_pair *to = &pairs[n + length - 1];
    const struct ps_pair last = n > 0 ? pairs[n - 1] : (struct ps_pair){0, 0};
    to->weight = last.weight + length * weight;
    if (n > 0 && last.number > run[length - 1]) {
      to->number = last.number;
      n--;
    } else {
      to->number = run[length - 1];
      length--;
    }
  }
}

uint64_t ps_view_at(const struct ps_pair *pairs, size_t n, uint64_t at)
{
  size_t low = 0;
  for (; n > 1; n -= n / 2) {
    low += pairs[low + n / 2 - 1].weight <= at ? n / 2 : 0;
  }
  return pairs[low].number;
}

uint64_t ps_view_weight(const struct ps_pair *pairs, size_t n, uint64_t number)
{
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (pairs[middle].number <= number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 ? pairs[low - 1].weight : 0;
}
