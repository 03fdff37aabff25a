/* xxHash, header only: nothing to link, and the compiler sees through it. */
#ifndef PS_BASE_XXH3_H
#define PS_BASE_XXH3_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#endif
