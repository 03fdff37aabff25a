/* The table of all kinds. */
#ifndef PS_KINDS_H
#define PS_KINDS_H

#include "base/sketch.h"

/* Ends with NULL. */
extern const struct ps_kind *const ps_kinds[];

/* NULL when there is no such kind. The name may be the alias "hll". */
const struct ps_kind *ps_kind_by_id(unsigned id);
const struct ps_kind *ps_kind_by_name(const char *name);

/* ps_decode_plan() with whatever kind the header names, if that is the one `wanted`, NULL for any,
 * and the sketch within the limit. PS_ERR_KIND, PS_ERR_LIMIT. */
enum ps_status ps_plan_from_header(struct ps_sketch *sketch, const struct ps_header *header,
                                   const struct ps_kind *wanted, uint64_t max_bytes,
                                   struct ps_error *error);

#endif
