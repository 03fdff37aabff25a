/* Bloom filters around 2^32 bits use all of them, evenly. Takes 0.6 GB of memory: `large_test
 * long`.
 */
#include <math.h>
#include <string.h>

#include "base/math.h"
#include "membership/bloom.h"
#include "sketches.h"

#define KEYS 3000000
#define SLICES 16

/* Key i is its number in 8 bytes, little-endian. */
static uint64_t hash_of_number(uint64_t i, uint64_t seed)
{
  unsigned char key[8];
  ps_store64(key, i);
  return ps_hash(key, sizeof key, seed);
}

static void add_numbers(struct ps_sketch *sketch)
{
  static uint64_t hashes[1000];
  struct ps_error error;
  size_t changed;
  for (uint64_t i = 1; i <= KEYS; i += 1000) {
    for (uint64_t j = 0; j < 1000; j++) {
      hashes[j] = hash_of_number(i + j, sketch->seed);
    }
    sketch->kind->add_hashes(sketch, hashes, 1000, &changed, &error);
  }
}

static void check_slices(const struct ps_bloom *bloom)
{
  uint64_t size = ps_payload_size(&bloom->sketch), slice = size / SLICES / 8 * 8, total = 0;
  double expected =
      (double)bloom->bits * -expm1(-(double)bloom->hashes * KEYS / (double)bloom->bits);
  for (uint64_t i = 0; i < SLICES; i++) {
    uint64_t length = i + 1 < SLICES ? slice : size - i * slice;
    uint64_t ones = ps_count_ones(bloom->sketch.payload + i * slice, length);
    CHECK_WITH(fabs((double)ones * SLICES / expected - 1) < 0.015, "slice %ju: %ju of %.0f",
               (uintmax_t)i, (uintmax_t)ones, expected / SLICES);
    total += ones;
  }
  CHECK_WITH(fabs((double)total / expected - 1) < 0.001, "%ju bits, %.0f expected",
             (uintmax_t)total, expected);
  CHECK(total == bloom->ones);
}

static void check_found(const struct ps_bloom *bloom)
{
  uint64_t missing = 0, wrong = 0;
  for (uint64_t i = 1; i <= KEYS; i++) {
    missing += !ps_bloom_has(bloom, hash_of_number(i, bloom->sketch.seed));
    wrong += ps_bloom_has(bloom, hash_of_number(KEYS + i, bloom->sketch.seed));
  }
  CHECK_WITH(missing == 0, "%ju keys are lost", (uintmax_t)missing);
  /* At a fill below 2 % and seven bits a key, no false one is to be expected in 10^12. */
  CHECK_WITH(wrong == 0, "%ju of %d others are found", (uintmax_t)wrong, KEYS);
}

static void check_filter(struct variant variant, double least, double most)
{
  struct specimen specimen;
  about_variant(&variant, KEYS);
  make(&specimen, &variant, 0);
  const struct ps_bloom *bloom = (const struct ps_bloom *)sketch_in(&specimen);
  CHECK((double)bloom->bits >= least && (double)bloom->bits <= most && bloom->hashes == 7);
  add_numbers(sketch_in(&specimen));
  check_slices(bloom);
  check_found(bloom);
  discard(&specimen);
}

int main(int argc, char **argv)
{
  static const char *const promises[] = {
      "a filter of just above 2^32 bits uses all of them evenly, and loses no key",
      "so does one of 3 * 2^29, for which a hash modulo a power of two is far from even",
  };
  if (argc < 2 || strcmp(argv[1], "long") != 0) {
    test_skip(promises[0], "takes 0.6 GB: give \"long\"");
    test_skip(promises[1], "takes 0.6 GB: give \"long\"");
    return test_end();
  }
  const double two_32 = 4294967296.0, three_29 = 3 * 536870912.0;
  check_filter((struct variant){"bloom", {{"capacity", 448100000}, {"fp_rate", 0.01}}}, two_32,
               two_32 * 1.001);
  promise("%s", promises[0]);
  check_filter((struct variant){"bloom", {{"bits", three_29}, {"hashes", 7}}}, three_29, three_29);
  promise("%s", promises[1]);
  return test_end();
}
