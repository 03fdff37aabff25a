/* Building fuse filters: of any number of keys, from any hashes, and what is refused. `fuse_test
 * long` builds 32,200 filters around 11,480 keys, and one of ten million. */
#include <string.h>

#include "base/distinct.h"
#include "membership/fuse.h"
#include "sketches.h"

static const struct variant narrow = {"fuse", {{"keys", 0}}};
static const struct variant wide = {"fuse", {{"keys", 0}, {"fp_rate", 1.0 / 65536}}};

static uint64_t *random_hashes(uint64_t seed, size_t n)
{
  uint64_t *hashes = test_allocate(n * sizeof *hashes);
  for (size_t i = 0; i < n; i++) {
    hashes[i] = test_random(&seed);
  }
  return hashes;
}

static const struct ps_fuse *fuse_in(struct specimen *specimen)
{
  return (const struct ps_fuse *)sketch_in(specimen);
}

/* Builds a filter of n random hashes that are all in it then. */
static void build_random(struct specimen *specimen, const struct variant *variant, uint64_t seed,
                         size_t n)
{
  struct ps_error error = {PS_OK, ""};
  uint64_t *hashes = random_hashes(seed, n), missing = 0;
  enum ps_status status = build(specimen, variant, hashes, n, &error);
  free(hashes);
  if (status != PS_OK) {
    bail_out(error.message);
  }
  hashes = random_hashes(seed, n);
  for (size_t i = 0; i < n; i++) {
    missing += !ps_fuse_has(fuse_in(specimen), hashes[i]);
  }
  free(hashes);
  CHECK_WITH(missing == 0, "%ju of %zu keys are missing", (uintmax_t)missing, n);
}

/* ---- sets of hashes ---- */

static int compare(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void check_distinct(uint64_t *hashes, size_t n)
{
  uint64_t *other = test_allocate(n * sizeof *other), *model = test_allocate(n * sizeof *model);
  size_t expected = 0;
  memcpy(model, hashes, n * sizeof *model);
  qsort(model, n, sizeof *model, compare);
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || model[i] != model[i - 1]) {
      model[expected++] = model[i];
    }
  }
  CHECK_WITH(ps_sort_distinct(hashes, n, other) == expected, "of %zu", n);
  CHECK_WITH(memcmp(hashes, model, expected * sizeof *model) == 0, "of %zu", n);
  free(other);
  free(model);
  free(hashes);
}

static void sets(void)
{
  for (size_t n = 0; n < 3000; n = n * 5 / 4 + 1) {
    for (unsigned bits = 64; bits > 0; bits /= 2) {
      uint64_t *upper = random_hashes(n, n), *lower = random_hashes(n + 1, n);
      for (size_t i = 0; i < n; i++) {
        upper[i] >>= 64 - bits;
        upper[i] <<= 64 - bits;
        lower[i] >>= 64 - bits;
      }
      test_about("%u bits", bits);
      check_distinct(upper, n);
      check_distinct(lower, n);
    }
  }
  promise("hashes are sorted and each is left once, however much alike they are");
  /* Quadratic, this takes minutes. */
  size_t n = 1 << 20;
  uint64_t *hashes = test_allocate(n * sizeof *hashes);
  for (size_t i = 0; i < n; i++) {
    hashes[i] = UINT64_MAX - (i % 2 == 0 ? i : 7);
  }
  check_distinct(hashes, n);
  promise("so are a million that were chosen to have the same upper half");
}

/* ---- any number of keys ---- */

static void check_tiny(const struct variant *variant)
{
  struct specimen specimen;
  unsigned retried = 0;
  for (size_t n = 0; n < 1500; n++) {
    build_random(&specimen, variant, n, n);
    CHECK(fuse_in(&specimen)->keys == n);
    CHECK_WITH(n >= 2 || fuse_in(&specimen)->attempt == 0, "%zu keys", n);
    retried += fuse_in(&specimen)->attempt > 0;
    discard(&specimen);
  }
  CHECK_WITH(retried > 0 && retried < 300, "%u retried", retried);
}

static void tiny(void)
{
  check_tiny(&narrow);
  check_tiny(&wide);
  promise("filters of 0 to 1499 keys have all their keys, some of them not at the first attempt");
}

/* One attempt fails for less than a third of the sets, so that nine of them are never needed. */
static void check_sets(size_t n, unsigned count, unsigned *retried)
{
  struct specimen specimen;
  for (unsigned i = 0; i < count; i++) {
    build_random(&specimen, &narrow, n * 1000 + i, n);
    unsigned attempt = fuse_in(&specimen)->attempt;
    CHECK_WITH(attempt < 9, "%zu keys took %u attempts more", n, attempt);
    *retried += attempt > 0;
    discard(&specimen);
  }
}

static void around_11480(unsigned sets_each)
{
  unsigned retried = 0, all = 0;
  for (size_t n = 11400; n <= 11560; n++, all += sets_each) {
    check_sets(n, sets_each, &retried);
  }
  CHECK_WITH(retried * 20 <= all, "%u of %u took more than one attempt", retried, all);
  promise("each of %u sets of 11400 to 11560 keys makes a filter, 19 of 20 at once", sets_each);
}

/* Where the length of segments changes, from both sides. */
static void many_sizes(void)
{
  unsigned retried = 0;
  for (size_t n = 10; n < 300000; n = n * 9 / 8) {
    test_about("%zu keys", n);
    check_sets(n, n < 1000 ? 200 : n < 30000 ? 10 : 1, &retried);
  }
  promise("sets of all sizes make filters within a few attempts");
}

/* ---- what it costs ---- */

static void check_cost(const struct variant *variant, size_t n, double most_bits)
{
  struct ps_error error;
  union ps_any_sketch planned;
  struct ps_options options = options_of(variant);
  set_option(&options, &ps_fuse, "keys", (double)n);
  CHECK(ps_plan(&planned.sketch, &ps_fuse, &options, &error) == PS_OK);
  double bits = 8 * (double)ps_fuse.size(&planned.sketch) / (double)n;
  uint64_t scratch = ps_fuse.scratch(&planned.sketch) + n * sizeof(uint64_t);
  CHECK_WITH(bits <= most_bits, "%zu keys: %.2f bits a key", n, bits);
  CHECK_WITH(scratch <= 40 * n + 5000, "%zu keys: %ju bytes", n, (uintmax_t)scratch);
}

static void costs(void)
{
  check_cost(&narrow, 100000, 9.1);
  check_cost(&wide, 100000, 18.2);
  check_cost(&narrow, 1000000, 8.65);
  check_cost(&wide, 1000000, 17.3);
  check_cost(&narrow, 30000000, 8.65);
  check_cost(&wide, (size_t)1 << 31, 17.3);
  promise("a filter takes 8.6 or 17.2 bits a key, and 40 bytes while it is built");
  for (size_t n = 0; n < (size_t)1 << 31; n = n * 33 / 32 + 1) {
    check_cost(&narrow, n + 1, n < 20 ? 256 : n < 1000 ? 20 : n < 100000 ? 11.2 : 9.1);
  }
  promise("and not much more when there are few keys");
}

/* ---- a function of the set ---- */

static void check_same(const struct variant *variant, size_t n)
{
  struct specimen one, other;
  struct ps_error error;
  uint64_t *hashes = random_hashes(n, 3 * n);
  for (size_t i = 0; i < n; i++) {
    hashes[n + i] = hashes[n - 1 - i];
    hashes[2 * n + i] = hashes[i / 2];
  }
  CHECK(build(&one, variant, hashes, 3 * n, &error) == PS_OK);
  free(hashes);
  hashes = random_hashes(n, n);
  CHECK(build(&other, variant, hashes, n, &error) == PS_OK);
  free(hashes);
  CHECK(fuse_in(&one)->keys == n && ps_equal(sketch_in(&one), sketch_in(&other)));
  struct bytes bytes = encode(sketch_in(&one));
  CHECK(still(sketch_in(&other), bytes));
  free(bytes.at);
  discard(&one);
  discard(&other);
}

static void orders(void)
{
  for (size_t n = 0; n < 20000; n = n * 2 + 1) {
    test_about("%zu keys", n);
    check_same(&narrow, n);
    check_same(&wide, n);
  }
  promise("a filter depends on its set of keys, not on their order or on how often each comes");
}

/* ---- asking ---- */

static void check_batches(const struct variant *variant, size_t n)
{
  struct specimen specimen;
  build_random(&specimen, variant, n, n);
  uint64_t *hashes = random_hashes(n, n), strangers = 0;
  const size_t asked = 20000;
  bool *found = test_allocate(asked);
  for (size_t i = 0; i < asked; i += 2) {
    hashes[i] = i; /* no hash of anything */
  }
  for (size_t at = 0, size = 0; at < asked; at += size, size = (size + 1) % 300) {
    size = at + size > asked ? asked - at : size;
    ps_fuse.has_hashes(sketch_in(&specimen), hashes + at, size, found + at);
  }
  for (size_t i = 0; i < asked; i++) {
    CHECK_WITH(found[i] == ps_fuse_has(fuse_in(&specimen), hashes[i]), "key %zu", i);
    strangers += found[i] && i % 2 == 0;
  }
  double expected = (double)asked / 2 / (variant == &narrow ? 256 : 65536);
  CHECK_WITH((double)strangers < 2 * expected + 10, "%ju strangers", (uintmax_t)strangers);
  free(found);
  free(hashes);
  discard(&specimen);
}

static void batches(void)
{
  check_batches(&narrow, 30000);
  check_batches(&wide, 30000);
  check_batches(&narrow, 1500000);
  check_batches(&wide, 700000);
  promise("batches answer as one question after the other, also of a filter that is not in cache");
}

/* ---- refusals ---- */

/* Twins are in each other's way whatever is attempted. */
static void no_set(void)
{
  struct ps_error error = {PS_OK, ""};
  union ps_any_sketch planned;
  struct ps_options options = options_of(&narrow);
  set_option(&options, &ps_fuse, "keys", 2);
  CHECK(ps_plan(&planned.sketch, &ps_fuse, &options, &error) == PS_OK);
  void *scratch = test_allocate((size_t)ps_fuse.scratch(&planned.sketch));
  uint64_t twins[] = {hash_of(1), hash_of(1)};
  CHECK(ps_fuse.arrange(&planned.sketch, twins, scratch, &error) == PS_ERR_ARGUMENT);
  CHECK_WITH(strstr(error.message, "seed") != NULL, "%s", error.message);
  free(scratch);
  promise("what no attempt can build is refused, and the message says what to do");
}

/* Bytes of a filter with one field replaced, of a header that says how long the payload is. */
static enum ps_status decode_with(const struct variant *variant, size_t n, const char *name,
                                  uint64_t x)
{
  unsigned width;
  struct specimen specimen, decoded;
  struct ps_error error;
  build_random(&specimen, variant, n, n);
  struct bytes bytes = encode(sketch_in(&specimen));
  struct ps_writer writer = ps_writer_over(bytes.at + find_field(&ps_fuse, name, &width), sizeof x);
  ps_write(&writer, x, width);
  reseal(bytes);
  enum ps_status status = decode(&decoded, bytes, &error);
  if (status == PS_OK) {
    discard(&decoded);
  }
  free(bytes.at);
  discard(&specimen);
  return status;
}

static void fields(void)
{
  CHECK(decode_with(&narrow, 1000, "keys", 1000) == PS_OK);
  CHECK(decode_with(&narrow, 1000, "keys", 900) == PS_ERR_CORRUPT);
  CHECK(decode_with(&narrow, 1000, "keys", 1100) == PS_ERR_CORRUPT);
  CHECK(decode_with(&narrow, 1000, "keys", (UINT64_C(1) << 31) + 1) == PS_ERR_RANGE);
  CHECK(decode_with(&narrow, 1000, "keys", UINT64_MAX) == PS_ERR_RANGE);
  CHECK(decode_with(&narrow, 1000, "fingerprint_bits", 16) == PS_ERR_CORRUPT);
  for (uint64_t bits = 0; bits < 256; bits++) {
    enum ps_status status = decode_with(&narrow, 10, "fingerprint_bits", bits);
    CHECK_WITH(status == PS_ERR_RANGE || bits == 8 || bits == 16, "%ju bits", (uintmax_t)bits);
  }
  for (uint64_t attempt = 0; attempt < 256; attempt++) {
    enum ps_status status = decode_with(&narrow, 1000, "attempt", attempt);
    CHECK_WITH(status == (attempt < 4    ? PS_OK
                          : attempt < 32 ? PS_ERR_CORRUPT
                                         : PS_ERR_RANGE),
               "attempt %ju", (uintmax_t)attempt);
    CHECK(attempt == 0 || decode_with(&wide, 1, "attempt", attempt) == PS_ERR_RANGE);
    CHECK(attempt == 0 || decode_with(&narrow, 0, "attempt", attempt) == PS_ERR_RANGE);
  }
  promise("keys, width and attempt must be those of a filter of the payload's size");
}

int main(int argc, char **argv)
{
  bool at_length = argc > 1 && strcmp(argv[1], "long") == 0;
  sets();
  tiny();
  around_11480(at_length ? 50 : 3);
  many_sizes();
  costs();
  orders();
  batches();
  no_set();
  fields();
  if (at_length) {
    struct specimen specimen;
    build_random(&specimen, &narrow, 1, 10000000);
    discard(&specimen);
    promise("a filter of ten million keys has them all");
  } else {
    test_skip("a filter of ten million keys has them all", "takes 0.4 GB: give \"long\"");
  }
  return test_end();
}
