/* The table, the growth and the plan of cuckoo filters. */
#include "membership/cuckoo.h"

#include <string.h>

#include "membership/cuckoo_plan.h"
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

/* ---- the table ---- */

struct table {
  struct ps_cuckoo_shape shape;
  unsigned char *at;
};

static struct table new_table(uint64_t half, unsigned slots, unsigned bits)
{
  struct table table = {ps_cuckoo_shape(half, slots, bits), NULL};
  size_t size = (size_t)ps_cuckoo_table_size(&table.shape);
  table.at = test_allocate(size);
  memset(table.at, 0, size);
  return table;
}

#define KEYS 64

/* Adds and removes few keys at random beside exact counts, until none is left. Keys with the same
 * entry are one. */
static void check_against_counts(uint64_t half, unsigned slots, unsigned bits)
{
  struct table table = new_table(half, slots, bits);
  unsigned counts[KEYS] = {0}, held = 0;
  uint64_t state = half * 1000 + UINT64_C(100) * slots + bits;
  for (unsigned step = 0; step < 1000; step++) {
    uint64_t random = test_random(&state), key = random % KEYS;
    struct ps_cuckoo_entry entry = ps_cuckoo_entry(&table.shape, hash_of(key));
    if (step < 700 ? random >> 32 & 1 : counts[key] == 0) {
      bool inserted = ps_cuckoo_table_insert(&table.shape, table.at, entry);
      counts[key] += inserted;
      held += inserted;
    } else if (counts[key] > 0) {
      CHECK(ps_cuckoo_table_remove(&table.shape, table.at, entry));
      counts[key]--;
      held--;
    }
    CHECK(ps_cuckoo_table_frequency(&table.shape, table.at, entry) >= counts[key]);
    CHECK(counts[key] == 0 || ps_cuckoo_table_has(&table.shape, table.at, hash_of(key)));
    CHECK(ps_cuckoo_table_count(&table.shape, table.at) == held);
    CHECK(ps_cuckoo_table_valid(&table.shape, table.at));
  }
  for (uint64_t key = 0; key < KEYS; key++) {
    for (; counts[key] > 0; counts[key]--) {
      struct ps_cuckoo_entry entry = ps_cuckoo_entry(&table.shape, hash_of(key));
      CHECK(ps_cuckoo_table_remove(&table.shape, table.at, entry));
    }
  }
  CHECK(ps_cuckoo_table_count(&table.shape, table.at) == 0);
  free(table.at);
}

static void shapes(void)
{
  static const uint64_t halves[] = {1, 2, 3, 7, 50};
  for (unsigned slots = 2; slots <= 8; slots *= 2) {
    for (unsigned bits = 1; bits <= PS_CUCKOO_BITS_MAX; bits++) {
      for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        test_about("%u slots of %u bits, half %ju", slots, bits, (uintmax_t)halves[i]);
        check_against_counts(halves[i], slots, bits);
      }
    }
  }
  promise("a table of any shape holds what was put into it and not taken out");
}

/* Every entry that is found by going over a table is that of the key which was put there, whichever
 * bucket it lies in. */
static void entries(void)
{
  struct table table = new_table(37, 4, 30);
  struct ps_cuckoo_entry entry;
  uint64_t found = 0, sum = 0, expected = 0;
  for (uint64_t key = 0; key < 250; key++) {
    entry = ps_cuckoo_entry(&table.shape, hash_of(key));
    CHECK(ps_cuckoo_table_insert(&table.shape, table.at, entry));
    expected += entry.home * 1000003 + entry.fingerprint;
  }
  for (uint64_t slot = 0; ps_cuckoo_table_next(&table.shape, table.at, &slot, &entry); found++) {
    sum += entry.home * 1000003 + entry.fingerprint;
  }
  CHECK(found == 250 && sum == expected);
  promise("the home of a fingerprint follows from either bucket");
  free(table.at);
}

static void doublings(void)
{
  uint64_t state = 1;
  for (unsigned bits = 2; bits <= PS_CUCKOO_BITS_MAX; bits++) {
    for (uint64_t half = 1; half < 100000; half = half * 3 + 1) {
      struct ps_cuckoo_shape first = ps_cuckoo_shape(half, 4, bits);
      for (unsigned n = 0; n < bits && n <= PS_CUCKOO_DOUBLINGS_MAX; n++) {
        struct ps_cuckoo_shape later = ps_cuckoo_shape(half << n, 4, bits - n);
        uint64_t hash = test_random(&state) >> (n % 3 == 0 ? 0 : 64 - bits);
        struct ps_cuckoo_entry entry = ps_cuckoo_entry(&first, hash);
        struct ps_cuckoo_entry moved = ps_cuckoo_entry_in_larger(&first, entry, n);
        struct ps_cuckoo_entry direct = ps_cuckoo_entry(&later, hash);
        CHECK_WITH(moved.home == direct.home && moved.fingerprint == direct.fingerprint,
                   "%u bits, half %ju, %u doublings", bits, (uintmax_t)half, n);
      }
    }
  }
  promise("a key is the same in a larger table by its entry as by its hash");
}

/* ---- refusals ---- */

/* Fills tables that are planned for n keys with n random keys; returns how many refuse one. */
static unsigned refusals(uint64_t n, unsigned bucket_size, double rate, unsigned tables)
{
  uint64_t buckets = ps_cuckoo_buckets(n, bucket_size), state = n;
  unsigned bits = ps_cuckoo_bits((double)n, (double)buckets, bucket_size, rate), refused = 0;
  struct table table = new_table(buckets / 2, bucket_size, bits);
  for (unsigned i = 0; i < tables; i++) {
    memset(table.at, 0, (size_t)ps_cuckoo_table_size(&table.shape));
    for (uint64_t key = 0; key < n; key++) {
      struct ps_cuckoo_entry entry = ps_cuckoo_entry(&table.shape, test_random(&state));
      if (!ps_cuckoo_table_insert(&table.shape, table.at, entry)) {
        refused++;
        break;
      }
    }
  }
  free(table.at);
  return refused;
}

/* Fewer than one in a million is what is promised: among so many tables that a tenth of one is
 * expected at most, two are none by chance. */
static void capacities(bool is_long)
{
  static const uint64_t sizes[] = {9, 17, 20, 33, 50, 70, 100, 150, 227, 300, 500, 1000, 3000};
  const unsigned keys = is_long ? 20000000 : 300000;
  for (unsigned bucket_size = 2; bucket_size <= 8; bucket_size *= 2) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      test_about("%ju keys, buckets of %u", (uintmax_t)sizes[i], bucket_size);
      unsigned tables = keys / (unsigned)sizes[i];
      unsigned refused = refusals(sizes[i], bucket_size, 0.5, tables);
      CHECK_WITH(refused <= 1 + tables / 500000, "%u of %u tables refused a key", refused, tables);
    }
  }
  promise("what a filter is planned for goes in");
}

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
  uint64_t held = sketch_in(&specimen)->held, added = 0, chosen = 0;
  for (uint64_t fingerprint = 1; chosen < 50; fingerprint++) {
    uint64_t x = fingerprint * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    if (test_multiply_high(x, shape->half) == 7) {
      uint64_t hash = hash_at(shape, fingerprint);
      struct ps_cuckoo_entry entry = ps_cuckoo_entry(shape, hash);
      CHECK(entry.home == 0 && entry.fingerprint == fingerprint);
      added += ps_cuckoo_add(filter_in(&specimen), hash, &error) == PS_OK;
      chosen++;
    }
  }
  CHECK_WITH(added == 8, "%ju went in", (uintmax_t)added);
  CHECK(sketch_in(&specimen)->held == held);
  promise("keys that were chosen to share their buckets do not make a filter grow");
  discard(&specimen);
}

/* Two keys, as often there as three buckets hold, that are one in a larger table and have two: it
 * cannot be had, and what room there is is used. */
static void stuck(void)
{
  struct variant variant = variant_of(100, 0.01, 4, true);
  struct specimen specimen;
  struct ps_error error;
  about_variant(&variant, 0);
  make(&specimen, &variant, 0);
  struct ps_cuckoo *filter = filter_in(&specimen);
  const struct ps_cuckoo_shape shape = filter->shape;
  const uint64_t first = UINT64_C(1) << (shape.bits - 1);
  uint64_t n = 0;
  for (unsigned i = 0; i < 12; i++) {
    uint64_t hash = hash_at(&shape, first + i / 8);
    CHECK(ps_cuckoo_entry(&shape, hash).fingerprint == first + i / 8);
    CHECK(ps_cuckoo_add(filter, hash, &error) == PS_OK);
  }
  for (; n < 200 && ps_cuckoo_add(filter, hash_of(n), &error) == PS_OK; n++) {
  }
  CHECK(filter->doublings == 0 && error.status == PS_ERR_FULL);
  CHECK_WITH(filter->count == 12 + n && n > 88, "%ju others", (uintmax_t)n);
  CHECK(ps_cuckoo_frequency(filter, hash_at(&shape, first)) == 8);
  for (uint64_t key = 0; key < n; key++) {
    CHECK(ps_cuckoo_has(filter, hash_of(key)));
  }
  promise("a filter that cannot double for the copies in it still uses what room it has");
  discard(&specimen);
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
  CHECK_WITH(refused == filter_in(&specimen)->doublings && refused > 5, "%u refusals", refused);
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

int main(int argc, char **argv)
{
  shapes();
  entries();
  doublings();
  capacities(argc > 1 && strcmp(argv[1], "long") == 0);
  refused_unchanged();
  batches();
  crowds();
  stuck();
  limits();
  no_memory();
  merges();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
