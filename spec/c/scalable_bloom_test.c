/* Scalable Bloom filters at their limits: of memory, of layers, and of what may come from bytes. */
#include "membership/scalable_bloom.h"

#include <string.h>

#include "sketches.h"

static const struct variant small = {"scalable_bloom", {{"capacity", 100}, {"growth", 1}}};

static struct ps_scalable_bloom *filter_in(struct specimen *specimen)
{
  return (struct ps_scalable_bloom *)sketch_in(specimen);
}

/* Adds one key after the other from `from` on until one is refused; which is that? */
static uint64_t first_refused(struct specimen *specimen, uint64_t from, enum ps_status *status)
{
  struct ps_error error;
  bool fresh;
  while ((*status = ps_scalable_bloom_add(filter_in(specimen), hash_of(from), &fresh, &error)) ==
         PS_OK) {
    from++;
  }
  CHECK(error.message[0] != '\0' && error.status == *status);
  return from;
}

static bool has_all(struct specimen *specimen, uint64_t from, uint64_t to)
{
  while (from < to && ps_scalable_bloom_has(filter_in(specimen), hash_of(from))) {
    from++;
  }
  return from == to;
}

/* ---- memory ---- */

static void refused_growth(void)
{
  struct specimen specimen;
  enum ps_status status;
  for (size_t layers = 1; layers < 6; layers++) {
    test_about("growth %zu refused", layers);
    make(&specimen, &small, 0);
    test_memory.calls = 0;
    test_memory.fail_at = layers;
    uint64_t refused = first_refused(&specimen, 0, &status);
    test_memory.fail_at = 0;
    struct bytes before = encode(sketch_in(&specimen));
    CHECK(status == PS_ERR_MEMORY && has_all(&specimen, 0, refused));
    test_memory.calls = 0;
    test_memory.fail_at = 1;
    CHECK(first_refused(&specimen, refused, &status) == refused && status == PS_ERR_MEMORY);
    test_memory.fail_at = 0;
    CHECK(still(sketch_in(&specimen), before));
    CHECK(add_keys(sketch_in(&specimen), refused, 1) == 1);
    CHECK(has_all(&specimen, 0, refused + 1));
    free(before.at);
    discard(&specimen);
  }
  promise("a key that finds no memory for a new layer is not in, all others are, and it can come "
          "again");
}

static void limits(void)
{
  struct specimen specimen, again;
  enum ps_status status;
  for (uint64_t limit = size_of(&small); limit < 4000; limit += 333) {
    test_about("a limit of %ju", (uintmax_t)limit);
    make(&specimen, &small, 0);
    sketch_in(&specimen)->max_bytes = limit;
    uint64_t refused = first_refused(&specimen, 0, &status);
    CHECK(status == PS_ERR_FULL && sketch_in(&specimen)->held <= limit);
    CHECK(refused >= 100 * (sketch_in(&specimen)->held / 350) && has_all(&specimen, 0, refused));
    struct bytes before = encode(sketch_in(&specimen));
    CHECK(first_refused(&specimen, refused, &status) == refused && status == PS_ERR_FULL);
    CHECK(still(sketch_in(&specimen), before));
    CHECK(add_keys(sketch_in(&specimen), 0, refused) == 0);
    CHECK(still(sketch_in(&specimen), before));
    sketch_in(&specimen)->max_bytes = UINT64_MAX;
    CHECK(add_keys(sketch_in(&specimen), refused, 500) > 450);
    make_with(&again, &small, refused + 500);
    CHECK(ps_equal(sketch_in(&again), sketch_in(&specimen)));
    free(before.at);
    discard(&again);
    discard(&specimen);
  }
  promise("a filter at its limit refuses keys, keeps those it has, and goes on when it is raised");
}

/* Adds keys in one batch with some of them twice; `expected` are the first ones that fit. */
static void check_full_batch(uint64_t limit, bool keep_repeating)
{
  enum { KEYS = 3000 };
  static uint64_t hashes[KEYS];
  struct specimen single, batch;
  struct ps_error error;
  size_t taken = 0, expected = 0;
  bool fresh;
  for (size_t i = 0; i < KEYS; i++) {
    hashes[i] = hash_of(keep_repeating ? i - i % 7 % 4 : i);
  }
  make(&single, &small, 0);
  make(&batch, &small, 0);
  sketch_in(&single)->max_bytes = sketch_in(&batch)->max_bytes = limit;
  while (expected < KEYS &&
         ps_scalable_bloom_add(filter_in(&single), hashes[expected], &fresh, &error) == PS_OK) {
    expected++;
  }
  CHECK(expected > 100 && expected < KEYS);
  const struct ps_kind *kind = sketch_in(&batch)->kind;
  CHECK(kind->add_hashes(sketch_in(&batch), hashes, KEYS, &taken, &error) == PS_ERR_FULL);
  CHECK_WITH(taken == expected, "%zu and %zu", taken, expected);
  CHECK(ps_equal(sketch_in(&single), sketch_in(&batch)));
  discard(&single);
  discard(&batch);
}

static void full_batches(void)
{
  for (uint64_t limit = size_of(&small); limit < 2500; limit += 273) {
    test_about("a limit of %ju", (uintmax_t)limit);
    check_full_batch(limit, false);
    check_full_batch(limit, true);
  }
  promise("a batch that fills a filter stops there and says how many of it are in");
}

/* ---- layers ---- */

static void last_layers(void)
{
  static const struct variant few = {
      "scalable_bloom", {{"capacity", 1}, {"fp_rate", 1e-15}, {"growth", 1}, {"tightening", 0.1}}};
  struct specimen specimen;
  struct ps_error error;
  enum ps_status status;
  make(&specimen, &few, 0);
  uint64_t refused = first_refused(&specimen, 0, &status);
  CHECK(status == PS_ERR_FULL && refused > 20 && has_all(&specimen, 0, refused));
  struct bytes bytes = encode(sketch_in(&specimen));
  CHECK(first_refused(&specimen, refused, &status) == refused && status == PS_ERR_FULL);
  CHECK(still(sketch_in(&specimen), bytes));
  struct specimen decoded;
  CHECK(decode(&decoded, bytes, &error) == PS_OK && has_all(&decoded, 0, refused));
  CHECK(first_refused(&decoded, refused, &status) == refused && status == PS_ERR_FULL);
  free(bytes.at);
  discard(&decoded);
  discard(&specimen);
  promise("a filter whose next rate would be below what a hash can give is full");
}

/* ---- merging ---- */

static void merge_at_limit(void)
{
  struct specimen a, b;
  struct ps_error error;
  make_with(&a, &small, 500);
  make(&b, &small, 0);
  add_keys(sketch_in(&b), 1000, 500);
  struct bytes before = encode(sketch_in(&a));
  sketch_in(&a)->max_bytes = sketch_in(&a)->held + sketch_in(&b)->held - 1;
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_ERR_FULL);
  CHECK_WITH(strstr(error.message, "needs") && strstr(error.message, "limit"), "%s", error.message);
  CHECK(still(sketch_in(&a), before));
  sketch_in(&a)->max_bytes++;
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_OK);
  CHECK(sketch_in(&a)->held == sketch_in(&a)->max_bytes);
  CHECK(has_all(&a, 0, 500) && has_all(&a, 1000, 1500));
  free(before.at);
  discard(&a);
  discard(&b);
  promise("a merge that would pass the limit is refused and changes nothing");
}

/* The encoded filter with the payload of another behind its own. */
static struct bytes longer_by(struct bytes bytes, struct bytes other)
{
  const size_t start = ps_load32(bytes.at + AT_OFFSET), more = other.size - start - 8;
  struct bytes longer = {test_allocate(bytes.size + more), bytes.size + more};
  memcpy(longer.at, bytes.at, bytes.size - 8);
  memcpy(longer.at + bytes.size - 8, other.at + start, more);
  ps_store64(longer.at + AT_PAYLOAD_SIZE, longer.size - start - 8);
  reseal(longer);
  return longer;
}

/* Filters of one key each. */
static void merge_many(void)
{
  struct specimen all, one, decoded;
  struct ps_error error;
  enum ps_status status;
  make(&all, &small, 0);
  for (uint64_t i = 0; i < 1024; i++) {
    make(&one, &small, 0);
    add_keys(sketch_in(&one), i, 1);
    CHECK(ps_merge(sketch_in(&all), sketch_in(&one), &error) == PS_OK);
    discard(&one);
  }
  struct bytes bytes = encode(sketch_in(&all));
  CHECK(decode(&decoded, bytes, &error) == PS_OK && ps_equal(sketch_in(&decoded), sketch_in(&all)));
  discard(&decoded);

  make(&one, &small, 0);
  add_keys(sketch_in(&one), 1024, 1);
  CHECK(ps_merge(sketch_in(&all), sketch_in(&one), &error) == PS_ERR_FULL);
  CHECK(still(sketch_in(&all), bytes) && has_all(&all, 0, 1024));
  struct bytes more = encode(sketch_in(&one)), longer = longer_by(bytes, more);
  CHECK(decode(&decoded, longer, &error) == PS_ERR_CORRUPT);
  CHECK_WITH(strstr(error.message, "too many layers") != NULL, "%s", error.message);
  CHECK(first_refused(&all, 5000, &status) > 5000 && status == PS_ERR_FULL);
  free(bytes.at);
  free(more.at);
  free(longer.at);
  discard(&one);
  discard(&all);
  promise("of more than 1024 layers none comes to be, and none is taken from bytes");
}

/* What it had been before tells it nothing, and it tells what it had been all: at any time. */
static void merge_with_past(void)
{
  struct specimen now, then, merged;
  struct ps_error error;
  make(&now, &small, 0);
  for (uint64_t keys = 0; keys < 1200; keys += 75) {
    test_about("%ju keys", (uintmax_t)keys);
    copy_into(&then, sketch_in(&now));
    add_keys(sketch_in(&now), keys, 75);
    struct bytes bytes = encode(sketch_in(&now));
    copy_into(&merged, sketch_in(&then));
    CHECK(ps_merge(sketch_in(&now), sketch_in(&then), &error) == PS_OK);
    CHECK(still(sketch_in(&now), bytes));
    CHECK(ps_merge(sketch_in(&merged), sketch_in(&now), &error) == PS_OK);
    CHECK(sketch_in(&merged)->held == sketch_in(&now)->held && has_all(&merged, 0, keys + 75));
    free(bytes.at);
    discard(&merged);
    discard(&then);
  }
  discard(&now);
  promise("a merge with what a filter had been adds no layer");
}

int main(void)
{
  refused_growth();
  limits();
  full_batches();
  last_layers();
  merge_at_limit();
  merge_many();
  merge_with_past();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
