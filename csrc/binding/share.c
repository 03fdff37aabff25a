/***
Sketches that processes share.
@module probsketch
*/
#include <string.h>

#include "base/sharing.h"
#include "binding/sketch.h"
#include "binding/storage.h"
#include "storage/share.h"

/* Raises for a sketch, argument 2, that cannot be shared. */
static void check_sharable(lua_State *L)
{
  struct ps_error error;
  const struct ps_sketch *sketch = psl_check(L, 2);
  if (ps_check_sharable(sketch, &error) != PS_OK) {
    psl_raise(L, 2, &error);
  }
}

/***
A sketch that several processes work on at the same time, each with a call of its own: what one adds
all others see, at once, and nothing is lost. Nobody waits for anybody.

Of a name with a slash in it, the path of a file: if there is none, it is made, with the parameters
of `sketch` and what is in it; if there is one, its parameters must be those, and what is in
`sketch` is of no account. With `seed = "random"` it is the file's seed that counts. Without a
slash, a region of memory that this process and those it forks afterwards have together, so that it
has to be made before them; it stays, also over reloads of nginx, until the last of them ends.

Kinds: bloom, blocked_bloom, counting_bloom, minhash, count_min that is not conservative,
hyperloglog without `hip`, and ddsketch with a fixed range. Of others keep one per worker and merge.
A shared sketch does all but merge others into it and `remove`; `clear`, `halve` and `decay` go cell
by cell while others add. `copy()`, `encode()`, `save()`, `union()` and merging from it take what is
there when they come by. `close()` and the collector let go of it, and change nothing for others. A
file that is cut short kills whoever works on it (SIGBUS). O(size) when it is made, else O(1).
@function share
@tparam string name
@param sketch what is made if there is nothing of that name
@return the shared sketch; or nil, message, code: "mismatch" for other parameters
@raise for kinds and parameters that cannot be shared
*/
int psl_share(lua_State *L)
{
  struct ps_error error;
  union ps_any_sketch planned;
  unsigned char *memory;
  enum ps_status status;
  const char *name = psl_check_path(L, 1);
  const bool is_file = strchr(name, '/') != NULL;
  lua_settop(L, 2);
  check_sharable(L);
  const struct ps_sketch *sketch = psl_still(L, 2);
  struct psl_box *box = psl_push_box(L, sketch);
  psl_check_open(L, sketch);
  if (is_file) {
    status = ps_share_file(name, sketch, &planned.sketch, &box->pages, &error);
    memory = box->pages.address;
  } else {
    status = ps_share_region(name, sketch, &planned.sketch, &memory, &error);
  }
  if (status != PS_OK) {
    return psl_fail_at(L, name, &error);
  }
  memcpy(&box->sketch, &planned, sketch->kind->struct_size);
  ps_join(&box->sketch, memory + PS_PAGE_SIZE, &psl_state(L)->memory);
  return 1;
}
