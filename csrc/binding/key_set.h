/* The keys of a sketch that is built of all of them at once: their hashes, and the scratch that
 * building takes. */
#ifndef PSL_KEY_SET_H
#define PSL_KEY_SET_H

#include "binding/sketch.h"

/* Owns its blocks, which the collector frees should an error be raised before psl_free_keys(). */
struct psl_key_set {
  const struct ps_memory *memory;
  uint64_t *hashes;
  size_t n, room;
  void *scratch;
  size_t scratch_size;
};

/* Pushes an empty set. */
struct psl_key_set *psl_push_keys(lua_State *L);

/* Gathers the hashes of the keys in an array, or of a function that is called until it returns nil:
 * what is at `index`, for an option of argument `argument`. Sorts them, and leaves each there once.
 * When a function gives more than `most`, it is called no more, and more than `most` stay as they
 * came. Raises for what is no key. */
void psl_gather_keys(lua_State *L, struct psl_key_set *keys, int index, int argument, uint64_t seed,
                     uint64_t most);

/* `size` bytes of scratch in place of what there was. */
void *psl_key_scratch(lua_State *L, struct psl_key_set *keys, uint64_t size);

/* Gives all memory back; twice is harmless. */
void psl_free_keys(struct psl_key_set *keys);

#endif
