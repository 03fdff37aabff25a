/* Memory for kinds that own theirs: counted, and failing on demand. */
#ifndef SPEC_TEST_MEMORY_H
#define SPEC_TEST_MEMORY_H

#include <string.h>

#include "base/kind.h"
#include "test.h"

#define TEST_BLOCKS 4096

static struct {
  struct {
    void *at;
    size_t size;
  } blocks[TEST_BLOCKS];
  size_t live, peak;     /* bytes */
  unsigned long calls;   /* for memory, not those that give it back */
  unsigned long fail_at; /* the call that gets none; 0: each gets what it asks for */
  bool keep_failing;     /* neither do those after it */
  size_t given;          /* bytes of the payloads that were given to sketches since this was 0 */
} test_memory;

/* A block of no address stands for a free entry. */
static inline size_t test_block(const void *at)
{
  for (size_t i = 0; i < TEST_BLOCKS; i++) {
    if (test_memory.blocks[i].at == at) {
      return i;
    }
  }
  bail_out("a block that was never handed out, or too many of them");
}

/* Does the next call fail? Counts it. */
static inline bool test_fails(void)
{
  unsigned long call = ++test_memory.calls, at = test_memory.fail_at;
  return call == at || (test_memory.keep_failing && at > 0 && call > at);
}

/* Always moves a block, so that a pointer kept to where it was is seen by a sanitizer. */
static inline void *test_resize(void *context, void *block, size_t old_size, size_t new_size)
{
  (void)context;
  size_t i = test_block(block);
  if (old_size != (block == NULL ? 0 : test_memory.blocks[i].size)) {
    bail_out("a block was given back with another size than it was asked for with");
  }
  if (new_size > 0 && test_fails()) {
    return NULL;
  }
  void *moved = new_size > 0 ? test_allocate(new_size) : NULL;
  if (moved != NULL && block != NULL) {
    memcpy(moved, block, old_size < new_size ? old_size : new_size);
  }
  free(block);
  test_memory.blocks[i].at = moved;
  test_memory.blocks[i].size = new_size;
  test_memory.live += new_size - old_size;
  if (test_memory.live > test_memory.peak) {
    test_memory.peak = test_memory.live;
  }
  return moved;
}

static const struct ps_memory test_source = {test_resize, NULL};

#endif
