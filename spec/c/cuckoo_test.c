/* Refusals and the growth of cuckoo filters. */
#include "membership/cuckoo.h"

#include "sketches.h"

static struct ps_cuckoo *filter_in(struct specimen *specimen)
{
  return (struct ps_cuckoo *)sketch_in(specimen);
}

static struct variant variant_of(double capacity, double rate, unsigned bucket_size, bool grows)
{
  return (struct variant){"cuckoo",
                          {{"capacity", capacity},
                           {"fp_rate", rate},
                           {"bucket_size", bucket_size},
                           {"growth", grows ? 2 : 0}}};
}

/* ---- refusals ---- */

static void refused_unchanged(void)
{
  for (unsigned bucket_size = 2; bucket_size <= 8; bucket_size *= 2) {
    struct variant variant = variant_of(300, 0.01, bucket_size, false);
    struct specimen specimen;
    struct ps_error error;
    unsigned refused = 0;
    about_variant(&variant, 2000);
    make(&specimen, &variant, 0);
    for (uint64_t key = 0; key < 2000; key++) {
      struct bytes before = encode(sketch_in(&specimen));
      uint64_t count = filter_in(&specimen)->count;
      if (ps_cuckoo_add(filter_in(&specimen), hash_of(key), &error) != PS_OK) {
        CHECK(error.status == PS_ERR_FULL && still(sketch_in(&specimen), before));
        CHECK(filter_in(&specimen)->count == count);
        refused++;
      }
      free(before.at);
    }
    CHECK_WITH(refused > 1000, "%u refusals", refused);
    discard(&specimen);
  }
  promise("a key that is refused has changed nothing");
}

static void batches(void)
{
  for (unsigned grows = 0; grows <= 1; grows++) {
    struct variant variant = variant_of(grows ? 1 : 1000, 0.01, 2, grows);
    struct specimen whole, single;
    struct ps_error error;
    size_t n = 300000, changed = 0, expected = 0;
    uint64_t *hashes = test_allocate(n * sizeof *hashes);
    about_variant(&variant, n);
    make(&whole, &variant, 0);
    make(&single, &variant, 0);
    for (size_t i = 0; i < n; i++) {
      hashes[i] = hash_of(i);
    }
    while (ps_cuckoo_add(filter_in(&single), hashes[expected], &error) == PS_OK) {
      expected++;
    }
    const struct ps_kind *kind = sketch_in(&whole)->kind;
    CHECK(kind->add_hashes(sketch_in(&whole), hashes, n, &changed, &error) == PS_ERR_FULL);
    CHECK_WITH(changed == expected, "%zu, %zu one by one", changed, expected);
    CHECK(ps_equal(sketch_in(&whole), sketch_in(&single)));
    free(hashes);
    discard(&whole);
    discard(&single);
  }
  promise("a batch stops behind the last hash that goes in, and says how many did");
}

/* ---- growth ---- */

/* The hash that has this fingerprint, and the first home. */
static uint64_t hash_at(const struct ps_cuckoo_shape *shape, uint64_t fingerprint)
{
  return (fingerprint << (64 - shape->bits)) / shape->half + 1;
}

/* Hashes with the first home and fingerprints of one distance: they fill their two buckets. */
static void crowds(void)
{
  struct variant variant = variant_of(10000, 0.01, 4, true);
  struct specimen specimen;
  struct ps_error error;
  about_variant(&variant, 0);
  make(&specimen, &variant, 0);
  const struct ps_cuckoo_shape *shape = &filter_in(&specimen)->shape;
  uint64_t held = sketch_in(&specimen)->held, added = 0;
  for (uint64_t i = 0; i < 50; i++) {
    uint64_t fingerprint = i << (shape->bits - shape->spare) | 7,
             hash = hash_at(shape, fingerprint);
    struct ps_cuckoo_entry entry = ps_cuckoo_entry(shape, hash);
    CHECK(entry.home == 0 && entry.fingerprint == fingerprint);
    added += ps_cuckoo_add(filter_in(&specimen), hash, &error) == PS_OK;
  }
  CHECK_WITH(added == 8, "%ju went in", (uintmax_t)added);
  CHECK(sketch_in(&specimen)->held == held);
  promise("keys that were chosen to share their buckets do not make a filter grow");
  discard(&specimen);
}

/* Two keys with one home, at any size, and as often there as their three buckets hold. */
static void copies(void)
{
  struct variant variant = variant_of(100, 0.01, 4, true);
  struct specimen specimen;
  struct ps_error error;
  about_variant(&variant, 100000);
  make(&specimen, &variant, 0);
  struct ps_cuckoo *filter = filter_in(&specimen);
  const struct ps_cuckoo_shape shape = filter->shape;
  unsigned added = 0;
  for (unsigned i = 0; i < 16; i++) {
    added += ps_cuckoo_add(filter, hash_at(&shape, 3 + i / 8), &error) == PS_OK;
  }
  CHECK_WITH(added == 12, "%u went in", added);
  for (uint64_t key = 0; key < 100000; key++) {
    CHECK(ps_cuckoo_add(filter, hash_of(key), &error) == PS_OK);
  }
  /* 10 for so many keys, and one for a key that meets the crowd. */
  CHECK_WITH(filter->count == 100012 && filter->shape.doublings <= 11, "%u doublings",
             filter->shape.doublings);
  CHECK(ps_cuckoo_frequency(filter, hash_at(&shape, 3)) == 8);
  CHECK(ps_cuckoo_frequency(filter, hash_at(&shape, 4)) == 4);
  for (uint64_t key = 0; key < 100000; key++) {
    CHECK(ps_cuckoo_has(filter, hash_of(key)));
  }
  promise("copies that have no place do not keep a filter from growing");
  discard(&specimen);
}

/* A stream in which few keys come again and again, as they do. */
static void cheap_refusals(void)
{
  for (unsigned bucket_size = 2; bucket_size <= 8; bucket_size *= 2) {
    struct variant variant = variant_of(100, 0.01, bucket_size, true);
    struct specimen specimen;
    struct ps_error error;
    uint64_t state = 3, refused = 0;
    about_variant(&variant, 0);
    make(&specimen, &variant, 0);
    for (unsigned i = 0; i < 200000; i++) {
      uint64_t hash = hash_of(test_random(&state) >> (48 + test_random(&state) % 16));
      uint64_t calls = test_memory.calls, held = sketch_in(&specimen)->held;
      struct bytes before = {NULL, 0};
      if (i % 100 == 0) {
        before = encode(sketch_in(&specimen));
      }
      if (ps_cuckoo_add(filter_in(&specimen), hash, &error) != PS_OK) {
        CHECK(error.status == PS_ERR_FULL && test_memory.calls == calls);
        CHECK(sketch_in(&specimen)->held == held);
        CHECK(before.at == NULL || still(sketch_in(&specimen), before));
        refused++;
      }
      free(before.at);
    }
    CHECK_WITH(refused > 10000, "%ju refusals", (uintmax_t)refused);
    discard(&specimen);
  }
  promise("no memory is asked for in vain: a key that is refused has cost no more than a search");
}

static void limits(void)
{
  struct variant variant = variant_of(100, 0.01, 4, true);
  struct specimen specimen;
  struct ps_error error;
  for (uint64_t limit = 1000; limit < 100000; limit += 977) {
    test_about("%ju bytes", (uintmax_t)limit);
    make(&specimen, &variant, 0);
    sketch_in(&specimen)->max_bytes = limit;
    uint64_t n = 0;
    while (ps_cuckoo_add(filter_in(&specimen), hash_of(n), &error) == PS_OK) {
      n++;
    }
    CHECK(error.status == PS_ERR_FULL);
    CHECK_WITH(sketch_in(&specimen)->held <= limit, "%ju", (uintmax_t)sketch_in(&specimen)->held);
    CHECK(filter_in(&specimen)->count == n);
    for (uint64_t key = 0; key < n; key++) {
      CHECK(ps_cuckoo_has(filter_in(&specimen), hash_of(key)));
    }
    discard(&specimen);
  }
  promise("a growing filter keeps to its limit, and what it took");
}

/* Memory is refused in every place where a filter asks for it while it grows key by key. */
static void no_memory(void)
{
  struct variant variant = variant_of(10, 0.01, 4, true);
  struct specimen specimen;
  struct ps_error error;
  unsigned refused = 0;
  about_variant(&variant, 3000);
  make(&specimen, &variant, 0);
  for (uint64_t key = 0; key < 3000; key++) {
    test_memory.fail_at = test_memory.calls + 1;
    struct bytes before = encode(sketch_in(&specimen));
    enum ps_status status = ps_cuckoo_add(filter_in(&specimen), hash_of(key), &error);
    test_memory.fail_at = 0;
    if (status != PS_OK) {
      CHECK(status == PS_ERR_MEMORY && still(sketch_in(&specimen), before));
      CHECK(ps_cuckoo_add(filter_in(&specimen), hash_of(key), &error) == PS_OK);
      refused++;
    }
    free(before.at);
  }
  CHECK_WITH(refused == filter_in(&specimen)->shape.doublings && refused > 5, "%u refusals",
             refused);
  discard(&specimen);
  promise("a filter that gets no memory to double refuses the key and has not changed");
}

/* A merge of fixed filters needs memory for its time, and nothing has changed if there is none. */
static void merges(void)
{
  struct variant variant = variant_of(1000, 0.01, 4, false);
  struct specimen a, b;
  struct ps_error error;
  about_variant(&variant, 400);
  make_with(&a, &variant, 400);
  make_with(&b, &variant, 500);
  struct bytes before = encode(sketch_in(&a));
  test_memory.fail_at = test_memory.calls + 1;
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_ERR_MEMORY);
  test_memory.fail_at = 0;
  CHECK(still(sketch_in(&a), before));
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_OK && filter_in(&a)->count == 900);
  free(before.at);
  before = encode(sketch_in(&a));
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_ERR_FULL);
  CHECK(ps_merge(sketch_in(&a), sketch_in(&a), &error) == PS_ERR_FULL);
  CHECK(still(sketch_in(&a), before) && filter_in(&a)->count == 900);
  free(before.at);
  discard(&a);
  discard(&b);
  promise("a merge that has no memory or no room has changed nothing");
}

int main(void)
{
  refused_unchanged();
  batches();
  crowds();
  copies();
  cheap_refusals();
  limits();
  no_memory();
  merges();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
