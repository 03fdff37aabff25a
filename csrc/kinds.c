#include "kinds.h"

#include <string.h>

#include "cardinality/hyperloglog.h"
#include "frequency/count_min.h"
#include "frequency/top_k.h"
#include "membership/blocked_bloom.h"
#include "membership/bloom.h"
#include "membership/counting_bloom.h"
#include "membership/cuckoo.h"
#include "membership/fuse.h"
#include "membership/scalable_bloom.h"
#include "quantile/ddsketch.h"
#include "quantile/kll.h"
#include "quantile/tdigest.h"
#include "similarity/minhash.h"

const struct ps_kind *const ps_kinds[] = {&ps_bloom,
                                          &ps_blocked_bloom,
                                          &ps_scalable_bloom,
                                          &ps_counting_bloom,
                                          &ps_cuckoo,
                                          &ps_fuse,
                                          &ps_count_min,
                                          &ps_top_k,
                                          &ps_hyperloglog,
                                          &ps_tdigest,
                                          &ps_kll,
                                          &ps_ddsketch,
                                          &ps_minhash,
                                          NULL};

const struct ps_kind *ps_kind_by_id(unsigned id)
{
  for (const struct ps_kind *const *kind = ps_kinds; *kind != NULL; kind++) {
    if ((*kind)->id == id) {
      return *kind;
    }
  }
  return NULL;
}

const struct ps_kind *ps_kind_by_name(const char *name)
{
  if (strcmp(name, "hll") == 0) {
    return &ps_hyperloglog;
  }
  for (const struct ps_kind *const *kind = ps_kinds; *kind != NULL; kind++) {
    if (strcmp((*kind)->name, name) == 0) {
      return *kind;
    }
  }
  return NULL;
}
