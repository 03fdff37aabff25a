/* Sketches as userdata: how they are made, checked and closed, and what the bindings of all kinds
 * use. */
#ifndef PSL_SKETCH_H
#define PSL_SKETCH_H

#include "base/sketch.h"
#include "binding/compat.h"
#include "storage/pages.h"

/* What one Lua state shares. It lives in the registry, so it outlives every sketch. */
struct psl_state {
  struct ps_memory memory; /* over the state's allocator; its context is this struct */
  lua_Alloc allocate;
  void *allocate_context;
  uint64_t max_bytes;
  uint64_t debt; /* bytes allocated since the collector was last told */
};

/* From here up a payload gets pages of its own: given back at once when the sketch is closed, and
 * on huge pages; LuaJIT refuses userdata of 2 GiB. */
#define PSL_PAGES_FROM (UINT64_C(4) << 20)

/* The userdata: where a large payload lives, or the file of a mapped or shared one, then the kind's
 * own struct, then a small payload at a multiple of 64. A handle is closed (payload NULL) until it
 * owns everything it needs. */
struct psl_box {
  struct ps_pages pages;
  struct ps_sketch sketch;
};

/* A kind as Lua sees it: the methods that only it has. */
struct psl_kind {
  const struct ps_kind *kind;
  const luaL_Reg *methods;
};

/* Every function of the module is a closure over these. PSL_METATABLE and PSL_KIND are nil in
 * functions that belong to no kind. */
#define PSL_STATE lua_upvalueindex(1)
#define PSL_METATABLE lua_upvalueindex(2)
#define PSL_KIND lua_upvalueindex(3)
#define PSL_UPVALUES 3

static inline struct psl_state *psl_state(lua_State *L)
{
  return lua_touserdata(L, PSL_STATE);
}

/* ---- arguments ---- */

/* Raises what is wrong with argument 1: another type, or closed. */
int psl_bad_self(lua_State *L);

/* The sketch at `index`, or of one that is shared a copy, which takes its place on the stack: for
 * what goes over all of a sketch. Making it may close other sketches. */
const void *psl_still(lua_State *L, int index);

/* Raises that argument 1 is shared: what is not done to such a sketch, and what to do instead. */
int psl_refuse_shared(lua_State *L, const char *what, const char *advice);

/* Raises that argument 1 is read-only. */
int psl_read_only(lua_State *L);

/* Is argument 1 of the type whose method this is? Leaves a value on the stack. The metatable is
 * compared with an upvalue, which costs a third of luaL_checkudata(). */
static inline bool psl_is_self(lua_State *L)
{
  return lua_touserdata(L, 1) != NULL && lua_getmetatable(L, 1) &&
         lua_rawequal(L, -1, PSL_METATABLE);
}

/* Argument 1 as an open sketch of the kind whose method this is. A method that changes it has to
 * ask for that: of this one the compiler sees to it that nothing does. */
static inline const void *psl_self(lua_State *L)
{
  const struct psl_box *box = lua_touserdata(L, 1);
  if (!psl_is_self(L) || box->sketch.payload == NULL) {
    psl_bad_self(L);
  }
  lua_pop(L, 1);
  return &box->sketch;
}

/* The same, to be changed: raises for a sketch that is read-only. */
static inline void *psl_self_to_change(lua_State *L)
{
  struct psl_box *box = lua_touserdata(L, 1);
  psl_self(L);
  if (box->sketch.flags & PS_MAPPED) {
    psl_read_only(L);
  }
  return &box->sketch;
}

/* Raises if the sketch has been closed. Whatever allocates through Lua may run the collector, that
 * a finaliser, and that may close or change any sketch: so what was asked of a sketch before an
 * allocation is asked again after it. */
void psl_check_open(lua_State *L, const struct ps_sketch *sketch);

/* The box at `index` if it is a sketch of any kind, open or closed; else NULL. */
struct psl_box *psl_test(lua_State *L, int index);

/* The open sketch of any kind at `index`, or raises. */
struct ps_sketch *psl_check(lua_State *L, int index);

/* As psl_check(), but raises unless it is of the same kind as the sketch whose method this is. */
void *psl_check_same(lua_State *L, int index);

/* ---- making ---- */

/* Pushes a new closed sketch with the parameters of `planned`, sets *payload to the zeroed memory
 * that ps_payload_size() asks for, and steps the collector by what is allocated. */
struct ps_sketch *psl_push(lua_State *L, const struct ps_sketch *planned, void **payload);

/* The same without memory for the payload, which the caller then has in box->pages. */
struct psl_box *psl_push_box(lua_State *L, const struct ps_sketch *planned);

/* Pushes an independent copy. */
struct ps_sketch *psl_push_copy(lua_State *L, const struct ps_sketch *source);

/* The collector paces itself by the blocks it knows; it is told of the others, and of large ones at
 * once, before they are there. 0: only of those that the state's ps_memory has given out. */
void psl_account(lua_State *L, uint64_t bytes);

/* Pushes `size` bytes that the collector frees, at a multiple of 64. */
void *psl_push_scratch(lua_State *L, uint64_t size);

/* ---- results ---- */

/* Raises: Lua's own message for want of memory, else as an error in argument `argument`. */
int psl_raise(lua_State *L, int argument, const struct ps_error *error);

/* nil, message, code for data that is wrong; raises for want of memory. */
int psl_fail(lua_State *L, const struct ps_error *error);

/* Pushes the table that info() and plan() return, with `bytes` of that name in it. */
void psl_push_report(lua_State *L, const struct ps_sketch *sketch, uint64_t bytes);

/* ---- what all kinds have ---- */

extern const luaL_Reg psl_sketch_methods[];
extern const luaL_Reg psl_sketch_metamethods[];

/* ps.union(a, b, ...): the method without its kind. */
int psl_union(lua_State *L);

/* Leaves the metatable of the kind on the stack, made now or when the module was first loaded into
 * this state. `state` is the index of the state's userdata. */
void psl_push_metatable(lua_State *L, const struct psl_kind *kind, int state);

/* Gives the metatable at an index its name, and protects it by that. */
void psl_name_metatable(lua_State *L, int metatable, const char *name);

#endif
