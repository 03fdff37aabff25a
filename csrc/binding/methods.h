/* The methods of each kind, in a file of its own. */
#ifndef PSL_METHODS_H
#define PSL_METHODS_H

#include "binding/sketch.h"

extern const struct psl_kind psl_bloom;
extern const struct psl_kind psl_blocked_bloom;
extern const struct psl_kind psl_scalable_bloom;
extern const struct psl_kind psl_counting_bloom;
extern const struct psl_kind psl_cuckoo;
extern const struct psl_kind psl_fuse;
extern const struct psl_kind psl_count_min;
extern const struct psl_kind psl_top_k;
extern const struct psl_kind psl_hyperloglog;
extern const struct psl_kind psl_tdigest;
extern const struct psl_kind psl_kll;
extern const struct psl_kind psl_ddsketch;
extern const struct psl_kind psl_minhash;

#endif
