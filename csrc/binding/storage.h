/* Sketches to and from strings and files. */
#ifndef PSL_STORAGE_H
#define PSL_STORAGE_H

#include <lua.h>

#include "base/status.h"

/* Methods of every sketch. */
int psl_encode(lua_State *L);
int psl_chunks(lua_State *L);
int psl_save(lua_State *L);

/* Functions of the module. */
int psl_decode(lua_State *L);
int psl_load(lua_State *L);
int psl_open(lua_State *L);
int psl_share(lua_State *L);

/* Argument `index` as a path. */
const char *psl_check_path(lua_State *L, int index);

/* psl_fail(), with the path before the message. */
int psl_fail_at(lua_State *L, const char *path, const struct ps_error *error);

/* Pushes ps.decoder(). `state` is the index of the state's userdata. */
void psl_push_decoder_constructor(lua_State *L, int state);

#endif
