/* Sketches whose payload several processes, or threads, change at the same time: each has a struct
 * of its own, with PS_SHARED, over the same memory.
 *
 * Nobody waits for anybody, and nothing is lost: what is added is one change of a cell, or several
 * that do not depend on each other (base/atomic.h). Whoever reads sees each cell as it is when it
 * comes by, which is a state that a sketch may have: every key that was added before is in it. */
#ifndef PS_BASE_SHARING_H
#define PS_BASE_SHARING_H

#include "base/envelope.h"
#include "base/kind.h"

/* How a kind is shared. Its add_hashes(), has_hashes(), clear(), attach() and the functions of its
 * own that change or ask one key then take a shared payload as well. */
struct ps_sharing {
  /* PS_ERR_ARGUMENT for parameters of which no shared sketch can be, with advice. NULL: none. */
  enum ps_status (*check)(const struct ps_sketch *sketch, struct ps_error *error);

  /* For kinds whose shared payload is not the flat one of size() bytes; all three or none. Its
   * bytes, a multiple of 8; */
  uint64_t (*size)(const struct ps_sketch *sketch);
  /* the state of a sketch that is not shared, in whatever form, into as many zeros; */
  void (*spread)(const struct ps_sketch *sketch, unsigned char *shared);
  /* and the flat payload, which check() is still to see, of a shared sketch. */
  void (*gather)(const struct ps_sketch *sketch, unsigned char *flat);
};

/* Can a sketch of these parameters be shared? PS_ERR_ARGUMENT. */
enum ps_status ps_check_sharable(const struct ps_sketch *sketch, struct ps_error *error);

/* Bytes of the shared payload. */
uint64_t ps_shared_size(const struct ps_sketch *sketch);

/* Is it shared, and its payload then another than the flat one? */
bool ps_has_shared_form(const struct ps_sketch *sketch);

/* What begins a file or a region that is shared: the header, and at PS_PAGE_SIZE the payload, with
 * the state of a sketch that is not. The memory is zeroed, and nobody else sees it yet. */
void ps_found(const struct ps_sketch *sketch, unsigned char *memory);

/* Bytes of all that, a trailer included. */
uint64_t ps_founded_size(const struct ps_sketch *sketch);

/* Makes a planned sketch one that works on such a payload; copies are made from `memory`. */
void ps_join(struct ps_sketch *sketch, unsigned char *payload, const struct ps_memory *memory);

/* The flat payload of a shared sketch, as it is when it comes by. */
void ps_gather(const struct ps_sketch *sketch, unsigned char *flat);

/* ps_copy() of a shared sketch, of which nothing is derived yet. PS_ERR_MEMORY. */
enum ps_status ps_snapshot(struct ps_sketch *copy, const struct ps_sketch *source, void *payload,
                           struct ps_error *error);

/* Gives a sketch that is set up, but for its state, the state of a shared payload. PS_ERR_MEMORY.
 */
enum ps_status ps_take_shared(struct ps_sketch *sketch, const unsigned char *shared,
                              struct ps_error *error);

#endif
