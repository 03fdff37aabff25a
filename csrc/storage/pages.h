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

/* Gives them back at once; twice is harmless. */
void ps_pages_unmap(struct ps_pages *pages);

#endif
