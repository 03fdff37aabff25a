/* Memory straight from the system, for payloads too large to leave to an allocator. */
#ifndef PS_STORAGE_PAGES_H
#define PS_STORAGE_PAGES_H

#include <stdbool.h>
#include <stddef.h>

struct ps_pages {
  void *address; /* NULL: none */
  size_t size;
};

/* Maps `size` zeroed bytes, on huge pages where the system has them. False without memory. */
bool ps_pages_map(struct ps_pages *pages, size_t size);

/* Has the addresses of so many bytes, which ps_pages_extend() will ask memory for. False if the
 * system has not so many. */
bool ps_pages_reserve(struct ps_pages *pages, size_t size);

/* Has memory at the first `size` bytes, zeroes behind what was there before: in place, if they are
 * reserved, else at another address, or for none so far. False without memory; then all is as it
 * was. */
bool ps_pages_extend(struct ps_pages *pages, size_t size);

/* Gives them back at once; twice is harmless. */
void ps_pages_unmap(struct ps_pages *pages);

#endif
