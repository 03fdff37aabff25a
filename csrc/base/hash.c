#include "base/hash.h"

#include "base/xxh3.h"

uint64_t ps_hash(const void *key, size_t length, uint64_t seed)
{
  return XXH3_64bits_withSeed(key, length, seed);
}
