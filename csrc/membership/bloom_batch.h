/* Looking up a batch of keys in a Bloom filter, of bits or of counters, that is larger than the
 * cache.
 *
 * Three blocks of keys are on the way at once: of one the first lines have been asked for; of the
 * one before, the other lines of the keys that may be there; the third is finished. So an absent
 * key costs little more than three lines and not k, and no line is waited for. */
#ifndef PS_MEMBERSHIP_BLOOM_BATCH_H
#define PS_MEMBERSHIP_BLOOM_BATCH_H

#include "membership/bloom.h"

/* Keys that are looked up together, and places of each that are tested first. */
#define PS_BLOCK 32
#define PS_BLOCK_FIRST 3

/* Are the next n places of a key set? Moves *h on. */
typedef bool ps_bloom_test(const struct ps_bloom *bloom, uint64_t *h, uint32_t n);

/* Asks for the lines of the next n places of a key. */
typedef void ps_bloom_prefetch(const struct ps_bloom *bloom, uint64_t h, uint32_t n);

/* Keys of a block that are left, and where their sequences have come to. */
struct ps_block {
  size_t left[PS_BLOCK];
  uint64_t h[PS_BLOCK];
  size_t n;
};

/* Always inline, and what they are given with them: each filter has an instance of its own. */
#define PS_BLOCK_INLINE static inline __attribute__((always_inline))

/* Tests the first places of the hashes from..to, and asks for the lines of the others of those that
 * pass. */
PS_BLOCK_INLINE void ps_block_start(const struct ps_bloom *bloom, const uint64_t *hashes,
                                    size_t from, size_t to, uint32_t first, bool *found,
                                    struct ps_block *block, ps_bloom_test *test,
                                    ps_bloom_prefetch *prefetch)
{
  block->n = 0;
  for (size_t i = from; i < to; i++) {
    uint64_t h = ps_hash_first(hashes[i]);
    found[i] = test(bloom, &h, first);
    block->left[block->n] = i;
    block->h[block->n] = h;
    block->n += found[i];
  }
  for (size_t j = 0; j < block->n; j++) {
    prefetch(bloom, block->h[j], bloom->hashes - first);
  }
}

PS_BLOCK_INLINE void ps_block_finish(const struct ps_bloom *bloom, uint32_t first, bool *found,
                                     struct ps_block *block, ps_bloom_test *test)
{
  for (size_t j = 0; j < block->n; j++) {
    found[block->left[j]] = test(bloom, &block->h[j], bloom->hashes - first);
  }
  block->n = 0;
}

/* found[i] = is the key of hashes[i] there? */
PS_BLOCK_INLINE void ps_bloom_has_ahead(const struct ps_bloom *bloom, const uint64_t *hashes,
                                        size_t n, bool *found, ps_bloom_test *test,
                                        ps_bloom_prefetch *prefetch)
{
  const uint32_t first = bloom->hashes < PS_BLOCK_FIRST ? bloom->hashes : PS_BLOCK_FIRST;
  struct ps_block blocks[2];
  size_t asked = 0;
  blocks[1].n = 0;
  for (size_t at = 0, turn = 0; at < n; at += PS_BLOCK, turn ^= 1) {
    for (; asked < n && asked < at + PS_BLOCK + PS_BLOCK; asked++) {
      prefetch(bloom, ps_hash_first(hashes[asked]), first);
    }
    size_t to = n - at < PS_BLOCK ? n : at + PS_BLOCK;
    ps_block_start(bloom, hashes, at, to, first, found, &blocks[turn], test, prefetch);
    ps_block_finish(bloom, first, found, &blocks[turn ^ 1], test);
    if (n - at <= PS_BLOCK) {
      ps_block_finish(bloom, first, found, &blocks[turn], test);
    }
  }
}

#endif
