/* What holds for whatever sketch is accepted: asked everything there is to ask, it answers within
 * bounds. */
#ifndef SPEC_ANSWERS_H
#define SPEC_ANSWERS_H

#include <math.h>
#include <string.h>

#include "../c/sketches.h"
#include "cardinality/hyperloglog.h"
#include "frequency/count_min.h"
#include "frequency/top_k.h"
#include "membership/blocked_bloom.h"
#include "membership/bloom.h"
#include "membership/counting_bloom.h"
#include "membership/cuckoo.h"
#include "membership/fuse.h"
#include "membership/scalable_bloom.h"
#include "quantile/quantile.h"
#include "quantile/tdigest.h"
#include "similarity/minhash.h"

static struct bytes input; /* what is tried at the moment, for whoever has to say what failed */

static void print_input(void)
{
  for (size_t i = 0; i < input.size; i++) {
    fprintf(stderr, "%02x%s", input.at[i], i + 1 < input.size ? "" : "\n");
  }
}

#define MUST(condition) ((condition) ? (void)0 : violated(#condition, __FILE__, __LINE__))

__attribute__((noreturn)) static void violated(const char *condition, const char *file, int line)
{
  fprintf(stderr, "%s:%d: violated: %s\n", file, line, condition);
  print_input();
  abort();
}

static void on_integer(struct ps_report *report, const char *name, uint64_t value)
{
  (void)report;
  MUST(name != NULL && value <= UINT64_C(1) << 62);
}

static void on_number(struct ps_report *report, const char *name, double value)
{
  (void)report;
  MUST(name != NULL && isfinite(value));
}

static void on_boolean(struct ps_report *report, const char *name, bool value)
{
  (void)report;
  MUST(name != NULL && (value == true || value == false));
}

static void on_list(struct ps_report *report, const char *name, const double *values, size_t n)
{
  MUST(n <= PS_LIST_MAX);
  for (size_t i = 0; i < n; i++) {
    on_number(report, name, values[i]);
  }
}

static void ask_bloom(const struct ps_bloom *bloom)
{
  double alike = ps_bloom_jaccard(bloom, bloom);
  MUST(ps_bloom_estimate(bloom) >= 0);
  MUST(ps_bloom_rate(bloom) >= 0 && ps_bloom_rate(bloom) <= 1);
  MUST(alike > 0.999999 && alike <= 1);
}

static void ask_blocked_bloom(const struct ps_blocked_bloom *filter)
{
  MUST(ps_blocked_bloom_estimate(filter) >= 0);
  MUST(ps_blocked_bloom_rate(filter) >= 0 && ps_blocked_bloom_rate(filter) <= 1);
}

static void ask_counting_bloom(const struct ps_counting_bloom *filter)
{
  uint64_t most = ps_counting_bloom_max(filter), frequency = ps_counting_bloom_frequency(filter, 1);
  MUST(frequency <= most && (frequency > 0) == ps_counting_bloom_has(filter, 1));
  MUST(filter->saturated <= filter->bloom.ones && filter->bloom.ones <= filter->bloom.bits);
  MUST(ps_bloom_rate(&filter->bloom) >= 0 && ps_bloom_rate(&filter->bloom) <= 1);
}

static void ask_scalable_bloom(const struct ps_scalable_bloom *filter)
{
  double rate = ps_scalable_bloom_rate(filter), estimate = ps_scalable_bloom_estimate(filter);
  MUST(rate >= 0 && rate <= 1);
  MUST(estimate >= 0 && isfinite(estimate));
}

static void ask_cuckoo(const struct ps_cuckoo *filter)
{
  bool found = ps_cuckoo_has(filter, hash_of(1));
  MUST(found == (ps_cuckoo_frequency(filter, hash_of(1)) > 0));
  MUST(ps_cuckoo_rate(filter) >= 0 && ps_cuckoo_rate(filter) <= 1);
}

static void ask_fuse(const struct ps_fuse *fuse)
{
  uint64_t slots[PS_FUSE_SLOTS];
  MUST(fuse->keys > 0 || !ps_fuse_has(fuse, hash_of(1)));
  for (uint64_t i = 0; i < 100; i++) {
    ps_fuse_slots(fuse, i < 2 ? i - 1 : hash_of(i), slots);
    for (unsigned j = 0; j < PS_FUSE_SLOTS; j++) {
      MUST(slots[j] < ps_fuse_slot_count(fuse));
      MUST(j == 0 || slots[j] / fuse->segment_length == slots[j - 1] / fuse->segment_length + 1);
    }
  }
}

static void ask_count_min(const struct ps_count_min *sketch)
{
  struct ps_error error;
  double product = 0;
  MUST(ps_count_min_total(sketch) <= PS_COUNT_MAX);
  MUST(ps_count_min_frequency(sketch, hash_of(1)) <= PS_COUNT_MAX);
  MUST(isfinite(ps_count_min_error_bound(sketch)));
  enum ps_status status = ps_count_min_inner_product(sketch, sketch, &product, &error);
  MUST(status == (sketch->conservative ? PS_ERR_ARGUMENT : PS_OK));
  MUST(isfinite(product) && product >= 0);
}

static void ask_top_k(const struct ps_top_k *top_k)
{
  const size_t size = (size_t)ps_top_k_list_size(top_k);
  unsigned char *list = test_allocate(size);
  ps_top_k_list(top_k, list);
  struct ps_reader reader = ps_reader_over(list, size);
  struct ps_top_k_item item;
  uint64_t n = 0, before = PS_COUNT_MAX;
  for (; ps_top_k_next(&reader, &item); n++, before = item.count) {
    const struct ps_key key = {item.key, item.length,
                               ps_hash(item.key, item.length, top_k->sketch.seed)};
    MUST(item.count <= before && item.count > 0 && item.error <= item.count);
    MUST(ps_top_k_frequency(top_k, &key) == item.count);
  }
  MUST(n <= top_k->k && reader.at == reader.end);
  MUST(isfinite(ps_top_k_error_bound(top_k)));
  free(list);
}

static void ask_hyperloglog(const struct ps_hyperloglog *hll)
{
  double estimate = ps_hyperloglog_estimate(hll), low, high;
  ps_hyperloglog_bounds(hll, 3, &low, &high);
  MUST(estimate >= 0 && estimate <= 18446744073709551616.0);
  MUST(low <= estimate && estimate <= high && low >= 0);
  MUST(ps_hyperloglog_standard_error(hll) > 0);
  struct ps_overlap overlap = ps_hyperloglog_overlap(hll, hll);
  MUST(overlap.intersection == estimate && overlap.jaccard == 1);
  MUST(overlap.intersection_error >= 0 && overlap.intersection_error < INFINITY);
}

/* Of any kind that answers them. */
static void ask_quantiles(const struct ps_sketch *sketch)
{
  const struct ps_quantile_kind *asked = sketch->kind->quantiles;
  MUST(!isnan(asked->sum(sketch)) && isfinite(asked->rank(sketch, 1)));
  if (sketch->kind->count(sketch) == 0) {
    return;
  }
  const double min = asked->min(sketch), max = asked->max(sketch), mean = asked->mean(sketch);
  double last = min;
  for (int i = 0; i <= 20; i++) {
    const double x = asked->quantile(sketch, i / 20.0);
    MUST(x >= last && x <= max && asked->rank(sketch, x) <= 1);
    last = x;
  }
  MUST(mean >= min && mean <= max);
  MUST(asked->quantile(sketch, 0) == min && last == max && asked->rank(sketch, max) == 1);
}

static void ask_tdigest(const struct ps_tdigest *sketch)
{
  const struct ps_quantile_kind *asked = sketch->sketch.kind->quantiles;
  const struct ps_centroids *centroids = ps_tdigest_centroids(sketch);
  MUST(centroids->n <= 2 * sketch->compression && centroids->weight == sketch->count);
  for (int i = 0; i < 20 && sketch->count > 0; i++) {
    double mean = ps_tdigest_trimmed_mean(sketch, i / 40.0, 1 - i / 40.0);
    MUST(mean >= asked->min(&sketch->sketch) && mean <= asked->max(&sketch->sketch));
  }
}

static void ask_minhash(const struct ps_minhash *minhash)
{
  double error, estimate = ps_minhash_estimate(minhash);
  MUST(estimate == 0 || (estimate >= 1 && isfinite(estimate)));
  MUST(ps_minhash_jaccard(minhash, minhash, &error) == 1 && error == 0);
}

/* Whatever can be asked without changing anything. */
static void ask(const struct ps_sketch *sketch)
{
  struct ps_report report = {on_integer, on_number, on_boolean, on_list};
  MUST(sketch->kind->count(sketch) <= PS_COUNT_MAX);
  MUST(ps_equal(sketch, sketch));
  ps_report_on(sketch, &report);
  if (sketch->kind->has_hashes != NULL) {
    uint64_t hashes[40];
    bool found[40], alone;
    for (uint64_t i = 0; i < 40; i++) {
      hashes[i] = hash_of(i);
    }
    sketch->kind->has_hashes(sketch, hashes, 40, found);
    sketch->kind->has_hashes(sketch, hashes + 39, 1, &alone);
    MUST(alone == found[39]);
  }
  if (sketch->kind->quantiles != NULL) {
    ask_quantiles(sketch);
  }
  if (sketch->kind == &ps_bloom) {
    ask_bloom((const struct ps_bloom *)sketch);
  } else if (sketch->kind == &ps_blocked_bloom) {
    ask_blocked_bloom((const struct ps_blocked_bloom *)sketch);
  } else if (sketch->kind == &ps_counting_bloom) {
    ask_counting_bloom((const struct ps_counting_bloom *)sketch);
  } else if (sketch->kind == &ps_scalable_bloom) {
    ask_scalable_bloom((const struct ps_scalable_bloom *)sketch);
  } else if (sketch->kind == &ps_cuckoo) {
    ask_cuckoo((const struct ps_cuckoo *)sketch);
  } else if (sketch->kind == &ps_fuse) {
    ask_fuse((const struct ps_fuse *)sketch);
  } else if (sketch->kind == &ps_count_min) {
    ask_count_min((const struct ps_count_min *)sketch);
  } else if (sketch->kind == &ps_top_k) {
    ask_top_k((const struct ps_top_k *)sketch);
  } else if (sketch->kind == &ps_hyperloglog) {
    ask_hyperloglog((const struct ps_hyperloglog *)sketch);
  } else if (sketch->kind == &ps_tdigest) {
    ask_tdigest((const struct ps_tdigest *)sketch);
  } else if (sketch->kind == &ps_minhash) {
    ask_minhash((const struct ps_minhash *)sketch);
  }
}

#endif
