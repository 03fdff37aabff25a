#include "base/distinct.h"

#include "base/sort.h"

size_t ps_sort_distinct(uint64_t *hashes, size_t n, uint64_t *other)
{
  size_t distinct = 0;
  ps_sort(hashes, n, other);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || hashes[i] != hashes[i - 1]) {
      hashes[distinct++] = hashes[i];
    }
  }
  return distinct;
}
