/* The functions of C that the index of signatures is made with. */
#ifndef PSL_LSH_H
#define PSL_LSH_H

#include "binding/compat.h"

extern const luaL_Reg psl_lsh_functions[];

#endif
