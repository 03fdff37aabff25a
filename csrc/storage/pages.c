#include "storage/pages.h"

#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

bool ps_pages_map(struct ps_pages *pages, size_t size)
{
  void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return false;
  }
#ifdef MADV_HUGEPAGE
  madvise(address, size, MADV_HUGEPAGE);
#endif
  *pages = (struct ps_pages){address, size};
  return true;
}

void ps_pages_unmap(struct ps_pages *pages)
{
  if (pages->address != NULL) {
    munmap(pages->address, pages->size);
    pages->address = NULL;
  }
}
