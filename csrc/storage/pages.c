#include "storage/pages.h"

#include <string.h>
#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

/* Nothing is taken from the system's memory for pages that nobody can touch. */
static bool map(struct ps_pages *pages, size_t size, int access)
{
  void *address = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return false;
  }
#ifdef MADV_HUGEPAGE
  madvise(address, size, MADV_HUGEPAGE);
#endif
  *pages = (struct ps_pages){address, size};
  return true;
}

bool ps_pages_map(struct ps_pages *pages, size_t size)
{
  return map(pages, size, PROT_READ | PROT_WRITE);
}

bool ps_pages_reserve(struct ps_pages *pages, size_t size)
{
  return map(pages, size, PROT_NONE);
}

/* Not by mremap(), which is not everywhere and takes as long: this is for where a process may have
 * few addresses. */
static bool move(struct ps_pages *pages, size_t size)
{
  struct ps_pages larger;
  if (!ps_pages_map(&larger, size)) {
    return false;
  }
  if (pages->address != NULL) {
    memcpy(larger.address, pages->address, pages->size);
  }
  ps_pages_unmap(pages);
  *pages = larger;
  return true;
}

bool ps_pages_extend(struct ps_pages *pages, size_t size)
{
  return pages->address != NULL && size <= pages->size
             ? mprotect(pages->address, size, PROT_READ | PROT_WRITE) == 0
             : move(pages, size);
}

void ps_pages_unmap(struct ps_pages *pages)
{
  if (pages->address != NULL) {
    munmap(pages->address, pages->size);
    pages->address = NULL;
  }
}
