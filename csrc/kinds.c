#include "kinds.h"

#include <inttypes.h>
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

enum ps_status ps_plan_from_header(struct ps_sketch *sketch, const struct ps_header *header,
                                   const struct ps_kind *wanted, uint64_t max_bytes,
                                   struct ps_error *error)
{
  const struct ps_kind *kind = ps_kind_by_id(header->kind_id);
  if (kind == NULL) {
    return ps_fail(error, PS_ERR_KIND, "unknown kind %u", header->kind_id);
  }
  if (wanted != NULL && kind != wanted) {
    return ps_fail(error, PS_ERR_KIND, "kind mismatch (expected %s, got %s)", wanted->name,
                   kind->name);
  }
  enum ps_status status = ps_decode_plan(sketch, kind, header, error);
  sketch->max_bytes = max_bytes;
  if (status == PS_OK && header->payload_size > max_bytes) {
    return ps_fail(error, PS_ERR_LIMIT, "needs %" PRIu64 " bytes, limit %" PRIu64 " (max_bytes)",
                   header->payload_size, max_bytes);
  }
  return status != PS_OK ? status : ps_check_limit(sketch, error);
}
