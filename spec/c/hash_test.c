/* base/hash: the one hash, and the sequences of places that are drawn from it. */
#include <dlfcn.h>
#include <string.h>

#include "base/hash.h"
#include "test.h"

/* ---- known answers ---- */

/* The vectors and the bytes they are taken over are those of xxHash's own sanity check
 * (cli/xsum_sanity_check.c of release 0.8.1): one length for each way the algorithm can go. */
#define PRIME32 UINT64_C(2654435761)
#define PRIME64 UINT64_C(11400714785074694797)

static const struct {
  size_t length;
  uint64_t unseeded, seeded; /* with seed PRIME64 */
} vectors[] = {
    {0, UINT64_C(0x2d06800538d394c2), UINT64_C(0xa8a6b918b2f0364a)},
    {1, UINT64_C(0xc44bdff4074eecdb), UINT64_C(0x032be332dd766ef8)},
    {6, UINT64_C(0x27b56a84cd2d7325), UINT64_C(0x84589c116ab59ab9)},
    {12, UINT64_C(0xa713daf0dfbb77e7), UINT64_C(0xe7303e1b2336de0e)},
    {24, UINT64_C(0xa3fe70bf9d3510eb), UINT64_C(0x850e80fc35bdd690)},
    {48, UINT64_C(0x397da259ecba1f11), UINT64_C(0xadc2cbaa44acc616)},
    {80, UINT64_C(0xbcdefbbb2c47c90a), UINT64_C(0xc6dd0cb699532e73)},
    {195, UINT64_C(0xcd94217ee362ec3a), UINT64_C(0xba68003d370cb3d9)},
    {403, UINT64_C(0xcdeb804d65c6dea4), UINT64_C(0x6259f6ecfd6443fd)},
    {512, UINT64_C(0x617e49599013cb6b), UINT64_C(0x3ce457de14c27708)},
    {2048, UINT64_C(0xdd59e2c3a5f038e0), UINT64_C(0x66f81670669ababc)},
    {2240, UINT64_C(0x6e73a90539cf2948), UINT64_C(0x757ba8487d1b5247)},
    {2367, UINT64_C(0xcb37aeb9e5d361ed), UINT64_C(0xd2db3415b942b42a)},
};

#define SANITY_SIZE 2367

static void fill_sanity(unsigned char bytes[SANITY_SIZE])
{
  uint64_t x = PRIME32;
  for (size_t i = 0; i < SANITY_SIZE; i++, x *= PRIME64) {
    bytes[i] = (unsigned char)(x >> 56);
  }
}

static void known_answers(void)
{
  unsigned char bytes[SANITY_SIZE];
  fill_sanity(bytes);
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    size_t length = vectors[i].length;
    CHECK_WITH(ps_hash(bytes, length, 0) == vectors[i].unseeded, "length %zu", length);
    CHECK_WITH(ps_hash(bytes, length, PRIME64) == vectors[i].seeded, "length %zu", length);
  }
  promise("the hash is XXH3_64bits: it gives the answers that xxHash publishes");
}

/* ---- the library ---- */

typedef uint64_t hash_function(const void *key, size_t length, uint64_t seed);

/* The hash as the system's own libxxhash has it, compiled apart from ours; NULL without one. */
static hash_function *library_hash(void)
{
  hash_function *hash = NULL;
  void *library = dlopen("libxxhash.so.0", RTLD_NOW);
  void *symbol = library != NULL ? dlsym(library, "XXH3_64bits_withSeed") : NULL;
  memcpy(&hash, &symbol, sizeof hash);
  return hash;
}

static void as_the_library(void)
{
  static const char what[] = "the hash is that of libxxhash for every length up to 2048";
  static const uint64_t seeds[] = {0, 1, PRIME64, UINT64_C(1) << 53, UINT64_MAX};
  hash_function *expected = library_hash();
  uint64_t state = 3;
  if (expected == NULL) {
    test_skip(what, "there is no libxxhash.so.0");
    return;
  }
  for (size_t length = 0; length <= 2048; length++) {
    unsigned char *key = test_allocate(length);
    for (size_t i = 0; i < length; i++) {
      key[i] = (unsigned char)test_random(&state);
    }
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
      CHECK_WITH(ps_hash(key, length, seeds[i]) == expected(key, length, seeds[i]),
                 "length %zu, seed %ju", length, (uintmax_t)seeds[i]);
    }
    free(key);
  }
  promise("%s", what);
}

/* ---- keys where they lie ---- */

static void any_offset(void)
{
  for (size_t length = 0; length <= 64; length++) {
    unsigned char key[64];
    for (size_t i = 0; i < length; i++) {
      key[i] = (unsigned char)(length * 7 + i * 31);
    }
    uint64_t expected = ps_hash(key, length, 42);
    for (size_t offset = 0; offset < 16; offset++) {
      unsigned char *block = test_allocate(offset + length);
      memset(block, 0xa5, offset);
      memcpy(block + offset, key, length);
      CHECK_WITH(ps_hash(block + offset, length, 42) == expected, "%zu bytes at %zu", length,
                 offset);
      free(block);
    }
  }
  promise("a key has one hash at whatever address it lies, and no byte beside it is read");
}

static void every_byte_counts(void)
{
  for (size_t length = 1; length <= 300; length++) {
    unsigned char key[300] = {0};
    uint64_t before = ps_hash(key, length, 0);
    CHECK_WITH(ps_hash(key, length - 1, 0) != before, "length %zu", length);
    CHECK_WITH(ps_hash(key, length, 1) != before, "length %zu", length);
    for (size_t i = 0; i < length; i++) {
      key[i] = 1;
      CHECK_WITH(ps_hash(key, length, 0) != before, "byte %zu of %zu", i, length);
      key[i] = 0;
    }
  }
  promise("length, seed and every byte of a key change its hash, zeros included");
}

/* ---- places ---- */

static void sequences(void)
{
  uint64_t state = 4;
  for (int key = 0; key < 1000; key++) {
    uint64_t seen[64], hash = key == 0 ? 0 : test_random(&state);
    uint64_t h = ps_hash_first(hash);
    for (size_t i = 0; i < 64; i++, h = ps_hash_next(h)) {
      CHECK_WITH(h % 2 == 1, "key %d, step %zu", key, i);
      seen[i] = h;
      for (size_t j = 0; j < i; j++) {
        CHECK_WITH(seen[j] != h, "key %d, steps %zu and %zu", key, j, i);
      }
    }
  }
  promise("the numbers a hash leads to are all different, even from a hash of 0");
}

static void places(void)
{
  static const uint64_t sizes[] = {
      1, 2, 3, 9586, UINT64_C(3) << 29, (UINT64_C(1) << 32) + 1, UINT64_C(1) << 53};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const uint64_t n = sizes[i], half = n / 2;
    uint64_t state = 5, halves = 0;
    CHECK_WITH(ps_hash_place(0, n) == 0, "%ju", (uintmax_t)n);
    CHECK_WITH(ps_hash_place(UINT64_MAX, n) == n - 1, "%ju", (uintmax_t)n);
    for (int j = 0; j < 40000; j++) {
      uint64_t hash = test_random(&state), place = ps_hash_place(hash, n);
      CHECK_WITH(place == test_multiply_high(hash, n), "%ju", (uintmax_t)n);
      CHECK_WITH(place < n, "%ju", (uintmax_t)n);
      halves += place < half;
    }
    /* 40000 tosses of a coin that is fair but for the odd place: sigma is 100 at most. */
    double expected = 40000 * ((double)half / (double)n);
    CHECK_WITH((double)halves > expected - 500 && (double)halves < expected + 500, "%ju",
               (uintmax_t)n);
  }
  promise("places are 0 to n - 1, as many in the lower half as in the upper");
}

int main(void)
{
  known_answers();
  as_the_library();
  any_offset();
  every_byte_counts();
  sequences();
  places();
  return test_end();
}
