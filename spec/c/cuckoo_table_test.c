/* The table and the plan of cuckoo filters. */
#include "membership/cuckoo_table.h"

#include <string.h>

#include "membership/cuckoo_plan.h"
#include "sketches.h"

/* ---- the table ---- */

struct table {
  struct ps_cuckoo_shape shape;
  unsigned char *at;
};

/* `half` and `bits` before it doubled. */
static struct table new_table(uint64_t half, unsigned slots, unsigned bits, unsigned spare,
                              unsigned doublings)
{
  struct table table = {ps_cuckoo_shape(half, slots, bits, spare, doublings), NULL};
  size_t size = (size_t)ps_cuckoo_table_size(&table.shape);
  table.at = test_allocate(size);
  memset(table.at, 0, size);
  return table;
}

#define KEYS 64

/* Adds and removes few keys at random beside exact counts, until none is left. Keys with the same
 * entry are one. */
static void check_against_counts(uint64_t half, unsigned slots, unsigned bits, unsigned spare,
                                 unsigned doublings)
{
  struct table table = new_table(half, slots, bits, spare, doublings);
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
    CHECK(ps_cuckoo_table_count(&table.shape, table.at, 0, 2 * table.shape.half) == held);
    CHECK(ps_cuckoo_table_valid(&table.shape, table.at));
  }
  for (uint64_t key = 0; key < KEYS; key++) {
    for (; counts[key] > 0; counts[key]--) {
      struct ps_cuckoo_entry entry = ps_cuckoo_entry(&table.shape, hash_of(key));
      CHECK(ps_cuckoo_table_remove(&table.shape, table.at, entry));
    }
  }
  CHECK(ps_cuckoo_table_count(&table.shape, table.at, 0, 2 * table.shape.half) == 0);
  free(table.at);
}

static void shapes(void)
{
  static const uint64_t halves[] = {1, 2, 3, 7, 50};
  for (unsigned slots = 2; slots <= 8; slots *= 2) {
    for (unsigned bits = 1; bits <= PS_CUCKOO_BITS_MAX; bits++) {
      for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        test_about("%u slots of %u bits, half %ju", slots, bits, (uintmax_t)halves[i]);
        check_against_counts(halves[i], slots, bits, 0, 0);
        if (bits > 3) {
          check_against_counts(halves[i], slots, bits, 3, 1 + bits % 3);
        }
      }
    }
  }
  promise("a table of any shape holds what was put into it and not taken out");
}

/* Every entry that is found by going over a table is that of the key which was put there, whichever
 * bucket it lies in. */
static void check_entries(uint64_t half, unsigned spare, unsigned doublings)
{
  struct table table = new_table(half, 4, 30, spare, doublings);
  struct ps_cuckoo_entry entry;
  uint64_t found = 0, sum = 0, expected = 0, keys = table.shape.half * 6;
  test_about("half %ju, %u doublings", (uintmax_t)half, doublings);
  for (uint64_t key = 0; key < keys; key++) {
    entry = ps_cuckoo_entry(&table.shape, hash_of(key));
    CHECK(ps_cuckoo_table_insert(&table.shape, table.at, entry));
    expected += entry.home * 1000003 + entry.fingerprint;
  }
  for (uint64_t slot = 0; ps_cuckoo_table_next(&table.shape, table.at, &slot, &entry); found++) {
    sum += entry.home * 1000003 + entry.fingerprint;
  }
  CHECK(found == keys && sum == expected);
  free(table.at);
}

static void entries(void)
{
  check_entries(37, 0, 0);
  for (uint64_t half = 1; half < 40; half += 3) {
    for (unsigned doublings = 0; doublings <= 8; doublings++) {
      check_entries(half, 16, doublings);
    }
  }
  check_entries(1, 16, 16);
  promise("the home of a fingerprint follows from either bucket, however often a table doubled");
}

static void doublings(void)
{
  uint64_t state = 1;
  for (unsigned bits = 2; bits <= PS_CUCKOO_BITS_MAX; bits++) {
    for (uint64_t half = 1; half < 100000; half = half * 3 + 1) {
      unsigned spare = bits <= 16 ? bits - 1 : 16;
      struct ps_cuckoo_shape first = ps_cuckoo_shape(half, 4, bits, spare, 0);
      for (unsigned n = 0; n <= spare; n++) {
        struct ps_cuckoo_shape later = ps_cuckoo_shape(half, 4, bits, spare, n);
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

/* Doubles the table in a block that is just large enough. */
static void double_table(struct table *table)
{
  size_t before = (size_t)ps_cuckoo_table_size(&table->shape);
  struct ps_cuckoo_shape next = ps_cuckoo_shape_after(&table->shape, 1);
  size_t after = (size_t)ps_cuckoo_table_size(&next);
  unsigned char *block = test_allocate(after);
  memset(block, 0, after);
  memcpy(block, table->at, before);
  free(table->at);
  table->at = block;
  ps_cuckoo_table_double(&table->shape, table->at);
  CHECK(memcmp(&table->shape, &next, sizeof next) == 0);
}

static int compare(const void *a, const void *b)
{
  const struct ps_cuckoo_entry *x = a, *y = b;
  return x->home != y->home ? (x->home < y->home ? -1 : 1)
                            : (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/* All that the table holds, sorted, as it is known after so many doublings. */
static struct ps_cuckoo_entry *entries_of(const struct table *table, unsigned doublings,
                                          uint64_t count)
{
  struct ps_cuckoo_entry *list = test_allocate((count + 1) * sizeof *list);
  uint64_t n = 0;
  for (uint64_t slot = 0; ps_cuckoo_table_next(&table->shape, table->at, &slot, &list[n]); n++) {
    list[n] = ps_cuckoo_entry_in_larger(&table->shape, list[n], doublings);
  }
  CHECK(n == count);
  qsort(list, (size_t)n, sizeof *list, compare);
  return list;
}

/* The home of an entry is found from the bucket it lies in: entries that were put into others would
 * be seen with other homes. */
static void check_splits(uint64_t half, unsigned slots, unsigned kept, unsigned keys)
{
  struct table table = new_table(half, slots, kept + 16, 16, 0);
  uint64_t state = half + slots, count = 0;
  test_about("half %ju, %u slots, %u bits are kept", (uintmax_t)half, slots, kept);
  for (unsigned i = 0; i < 10 * keys; i++) {
    struct ps_cuckoo_entry entry =
        ps_cuckoo_entry(&table.shape, hash_of(test_random(&state) % keys));
    count += ps_cuckoo_table_insert(&table.shape, table.at, entry);
  }
  CHECK_WITH(count * 10 >= 8 * 2 * half * slots, "%ju entries", (uintmax_t)count);
  for (unsigned doublings = 1; doublings <= 16 && table.shape.half < 5000; doublings++) {
    struct ps_cuckoo_entry *expected = entries_of(&table, 1, count);
    double_table(&table);
    struct ps_cuckoo_entry *found = entries_of(&table, 0, count);
    CHECK(memcmp(found, expected, (size_t)count * sizeof *found) == 0);
    CHECK(ps_cuckoo_table_count(&table.shape, table.at, 0, 2 * table.shape.half) == count);
    CHECK(ps_cuckoo_table_valid(&table.shape, table.at));
    free(expected);
    free(found);
  }
  free(table.at);
}

static void splits(void)
{
  for (unsigned slots = 2; slots <= 8; slots *= 2) {
    for (unsigned kept = 1; kept <= 40; kept += kept < 12 ? 1 : 7) {
      check_splits(1, slots, kept, 40);
      check_splits(2, slots, kept, 3 * slots);
      check_splits(37, slots, kept, 60 * slots);
    }
  }
  promise("a table doubles whatever is in it, and each entry goes to a bucket of its own");
}

/* What is said of a table before it doubles is what it does afterwards. Few keys with many copies
 * each, so that they are in each other's way. */
static void places(void)
{
  uint64_t state = 5;
  unsigned fitting = 0, tried = 0;
  for (unsigned round = 0; round < 2000; round++) {
    struct table table = new_table(1 + round % 7, 2u << round % 3, 20, 16, round % 5);
    const struct ps_cuckoo_shape shape = table.shape;
    bool fits[5];
    for (unsigned i = 0; i < 400; i++) {
      uint64_t hash = hash_of(round * 1000 + test_random(&state) % (10 + round % 50));
      ps_cuckoo_table_insert(&shape, table.at, ps_cuckoo_entry(&shape, hash));
    }
    uint64_t hash = hash_of(round * 1000 + round % 100);
    for (unsigned doublings = 0; doublings < 5; doublings++) {
      fits[doublings] =
          ps_cuckoo_table_fits(&shape, table.at, ps_cuckoo_entry(&shape, hash), doublings);
    }
    for (unsigned doublings = 0; doublings < 5; doublings++, tried++) {
      struct ps_cuckoo_entry entry = ps_cuckoo_entry(&table.shape, hash);
      bool inserted = ps_cuckoo_table_insert(&table.shape, table.at, entry);
      CHECK_WITH(inserted == fits[doublings], "round %u, %u doublings", round, doublings);
      CHECK(!inserted || ps_cuckoo_table_remove(&table.shape, table.at, entry));
      fitting += inserted;
      double_table(&table);
      if (inserted) { /* which may have moved others */
        break;
      }
    }
    free(table.at);
  }
  CHECK_WITH(fitting > tried / 10 && fitting < tried * 9 / 10, "%u of %u", fitting, tried);
  promise("whether a key fits after doublings is known before");
}

/* ---- refusals ---- */

/* Fills tables that are planned for n keys with n random keys; returns how many refuse one. */
static unsigned refusals(uint64_t n, unsigned bucket_size, double rate, unsigned tables)
{
  uint64_t buckets = ps_cuckoo_buckets(n, bucket_size), state = n;
  unsigned bits = ps_cuckoo_bits((double)n, (double)buckets, bucket_size, rate), refused = 0;
  struct table table = new_table(buckets / 2, bucket_size, bits, 0, 0);
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
  const unsigned keys = is_long ? 5000000 : 300000;
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

int main(int argc, char **argv)
{
  shapes();
  entries();
  doublings();
  splits();
  places();
  capacities(argc > 1 && strcmp(argv[1], "long") == 0);
  return test_end();
}
