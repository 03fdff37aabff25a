#include "storage/library.h"

#include <dlfcn.h>
#include <stddef.h>

void ps_library_keep(const void *address)
{
  Dl_info object;
  if (dladdr(address, &object) != 0 && object.dli_fname != NULL) {
    dlopen(object.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}
