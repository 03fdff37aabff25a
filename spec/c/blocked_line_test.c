/* The lines of a blocked Bloom filter: the code for each processor does the same to the bit, and
 * the bits of a key do not depend on its line. */
#include <math.h>
#include <string.h>

#include "membership/blocked_line.h"
#include "sketches.h"

#define KEYS 1500
#define MOST_LINES 1000

static uint64_t hashes[KEYS];

static struct ps_lines make_lines(uint64_t n, size_t skew)
{
  unsigned char *block = test_allocate(n * PS_LINE_SIZE + skew);
  memset(block, 0, n * PS_LINE_SIZE + skew);
  return (struct ps_lines){block + skew, n};
}

/* ---- one code against another ---- */

static void check_bytes(struct ps_lines a, struct ps_lines b)
{
  CHECK(memcmp(a.at, b.at, a.n * PS_LINE_SIZE) == 0);
}

static void check_single(const struct ps_line_code *x, const struct ps_line_code *y, uint64_t n,
                         size_t skew)
{
  struct ps_lines a = make_lines(n, 0), b = make_lines(n, skew);
  for (size_t i = 0; i < KEYS; i++) {
    CHECK(x->has(a, hashes[i]) == y->has(b, hashes[i]));
    CHECK(x->add(a, hashes[i]) == y->add(b, hashes[i]));
    CHECK(x->has(a, hashes[i]) && y->has(b, hashes[i]));
    CHECK(x->add(a, hashes[i]) == 0 && y->add(b, hashes[i]) == 0);
  }
  check_bytes(a, b);
  free(a.at);
  free(b.at - skew);
}

static void check_batches(const struct ps_line_code *x, const struct ps_line_code *y, uint64_t n,
                          size_t ahead)
{
  static const size_t sizes[] = {0, 1, 2, 23, 24, 25, 26, 48, 49, 700};
  struct ps_lines a = make_lines(n, 0), b = make_lines(n, 8);
  static bool found_in_a[KEYS], found_in_b[KEYS];
  size_t at = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; at += sizes[i++]) {
    size_t changed_a, changed_b, changed = 0;
    uint64_t ones = ps_count_ones(a.at, n * PS_LINE_SIZE);
    uint64_t fresh = x->add_many(a, hashes + at, sizes[i], 0, &changed_a);
    CHECK(ps_count_ones(a.at, n * PS_LINE_SIZE) == ones + fresh);
    struct ps_lines c = make_lines(n, 0);
    memcpy(c.at, b.at, n * PS_LINE_SIZE);
    for (size_t j = 0; j < sizes[i]; j++) {
      changed += y->add(c, hashes[at + j]) != 0;
    }
    CHECK(y->add_many(b, hashes + at, sizes[i], ahead, &changed_b) == fresh);
    CHECK(changed_a == changed && changed_b == changed);
    check_bytes(b, c);
    free(c.at);
    x->has_many(a, hashes, at + sizes[i] + 100, 0, found_in_a);
    y->has_many(b, hashes, at + sizes[i] + 100, ahead, found_in_b);
    CHECK(memcmp(found_in_a, found_in_b, (at + sizes[i] + 100) * sizeof(bool)) == 0);
    for (size_t j = 0; j < at + sizes[i] + 100; j++) {
      CHECK(found_in_b[j] == y->has(b, hashes[j]));
    }
  }
  check_bytes(a, b);
  free(a.at);
  free(b.at - 8);
}

static void check_codes(const struct ps_line_code *x, const struct ps_line_code *y)
{
  static const uint64_t numbers[] = {1, 2, 3, 100, MOST_LINES};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    test_about("%ju lines", (uintmax_t)numbers[i]);
    for (size_t skew = 0; skew < 16; skew += 5) {
      check_single(x, y, numbers[i], skew);
    }
    check_batches(x, y, numbers[i], 0);
    check_batches(x, y, numbers[i], 1);
    check_batches(x, y, numbers[i], 24);
  }
}

static void codes(void)
{
  check_codes(&ps_line_portable, &ps_line_portable);
  promise("batches of the code for any processor are its single calls");
  check_codes(&ps_line_shared, &ps_line_portable);
  promise("the code for lines that are shared does the same, to the bit");
#ifdef PS_LINE_AVX2
  if (__builtin_cpu_supports("avx2")) {
    CHECK(ps_line_code(false) == &ps_line_avx2 && ps_line_code(true) == &ps_line_shared_avx2);
    check_codes(&ps_line_portable, &ps_line_avx2);
    check_codes(&ps_line_avx2, &ps_line_portable);
    check_codes(&ps_line_shared_avx2, &ps_line_avx2);
    promise("the code for AVX2 does the same, to the bit, and is chosen");
    return;
  }
#endif
  CHECK(ps_line_code(false) == &ps_line_portable && ps_line_code(true) == &ps_line_shared);
  promise("the code for any processor is chosen");
  test_skip("the code for AVX2 does the same, to the bit", "this processor has no AVX2");
}

/* ---- the rate in filters of any size ---- */

/* Rate of a line that has a Poisson number of keys: summed up term by term. */
static double mixture(double load)
{
  double sum = 0;
  for (int j = 0; j < 1000; j++) {
    double probability = exp(j * log(load) - load - lgamma(j + 1));
    sum += probability * pow(1 - pow(63.0 / 64, j), 8);
  }
  return sum;
}

static int poisson(double mean, uint64_t *state)
{
  double product = 1;
  int n = -1;
  do {
    product *= (double)(test_random(state) >> 11) / 9007199254740992.0;
    n++;
  } while (product > exp(-mean));
  return n;
}

/* One line of a filter of 2^shared of them: the hashes of its keys begin with the same bits. */
static uint64_t hits_in_line(unsigned shared, double load, unsigned probes, uint64_t *state)
{
  unsigned char bytes[PS_LINE_SIZE] = {0};
  struct ps_lines line = {bytes, 1};
  uint64_t first = shared == 0 ? 0 : test_random(state) << (64 - shared), hits = 0;
  for (int keys = poisson(load, state); keys > 0; keys--) {
    ps_line_code(false)->add(line, first | test_random(state) >> shared);
  }
  for (unsigned i = 0; i < probes; i++) {
    hits += ps_line_code(false)->has(line, first | test_random(state) >> shared);
  }
  return hits;
}

/* Five standard errors, by the spread of the lines themselves. */
static void check_rate(unsigned shared, double load)
{
  const unsigned lines = 12000, probes = 300;
  uint64_t state = shared;
  double sum = 0, squares = 0, expected = mixture(load);
  for (unsigned i = 0; i < lines; i++) {
    double rate = (double)hits_in_line(shared, load, probes, &state) / probes;
    sum += rate;
    squares += rate * rate;
  }
  double mean = sum / lines, error = sqrt((squares / lines - mean * mean) / lines);
  CHECK_WITH(error < 0.03 * expected && fabs(mean - expected) < 5 * error,
             "%u shared bits, load %g: %g, expected %g, standard error %g", shared, load, mean,
             expected, error);
}

static void rates(void)
{
  for (unsigned shared = 0; shared <= 36; shared += 12) {
    check_rate(shared, 72.6);
    check_rate(shared, 50.7);
    check_rate(shared, 32.6);
  }
  promise("the rate is that of independent bits, with one line as with 2^36 of them");
}

int main(void)
{
  uint64_t state = 1;
  for (size_t i = 0; i < KEYS; i++) {
    hashes[i] = i % 5 == 4 ? hashes[i / 2] : test_random(&state);
  }
  codes();
  rates();
  return test_end();
}
