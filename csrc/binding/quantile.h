/* The methods that all quantile sketches have, over the functions of their kind. */
#ifndef PSL_QUANTILE_H
#define PSL_QUANTILE_H

#include "binding/compat.h"

/* add(x [, weight]) and add_many(array), over the kind's add_values. */
int psl_quantile_add(lua_State *L);
int psl_quantile_add_many(lua_State *L);

/* The others, over its struct ps_quantile_kind. */
int psl_quantile_quantile(lua_State *L);
int psl_quantile_quantiles(lua_State *L);
int psl_quantile_rank(lua_State *L);
int psl_quantile_min(lua_State *L);
int psl_quantile_max(lua_State *L);
int psl_quantile_sum(lua_State *L);
int psl_quantile_mean(lua_State *L);

/* All of them, in the list of a kind's methods. */
#define PSL_QUANTILE_METHODS                                                                       \
  {"add", psl_quantile_add}, {"add_many", psl_quantile_add_many},                                  \
      {"quantile", psl_quantile_quantile}, {"quantiles", psl_quantile_quantiles},                  \
      {"rank", psl_quantile_rank}, {"min", psl_quantile_min}, {"max", psl_quantile_max},           \
      {"sum", psl_quantile_sum},                                                                   \
  {                                                                                                \
    "mean", psl_quantile_mean                                                                      \
  }

#endif
