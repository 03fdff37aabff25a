/* The table of all kinds. */
#ifndef PS_KINDS_H
#define PS_KINDS_H

#include "base/kind.h"

/* Ends with NULL. */
extern const struct ps_kind *const ps_kinds[];

/* NULL when there is no such kind. The name may be the alias "hll". */
const struct ps_kind *ps_kind_by_id(unsigned id);
const struct ps_kind *ps_kind_by_name(const char *name);

#endif
