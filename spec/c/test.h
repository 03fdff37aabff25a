/* Tests in C: programs that print TAP. A promise is kept when all checks since the promise before
 * it have held:
 *
 *   for (...) {
 *     test_about("size %d", size);      said with each check that fails from here on
 *     CHECK(a == b);
 *     CHECK_WITH(a == b, "at %d", i);   says more when it fails
 *   }
 *   promise("what is promised, %s", "for people");
 *   ...
 *   return test_end();
 */
#ifndef SPEC_TEST_H
#define SPEC_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Failed checks of one promise that are shown; the rest are only counted. */
#define TEST_SHOWN 5

static struct {
  int promises, broken;
  unsigned long checks, failed; /* since the last promise */
  char about[160];
} test_state;

/* What the next checks are about, until the promise. */
__attribute__((format(printf, 1, 2))) static inline void test_about(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(test_state.about, sizeof test_state.about, format, args);
  va_end(args);
}

__attribute__((format(printf, 5, 6))) static inline void
test_check(bool held, const char *condition, const char *file, int line, const char *format, ...)
{
  test_state.checks++;
  if (held || test_state.failed++ >= TEST_SHOWN) {
    return;
  }
  va_list args;
  va_start(args, format);
  printf("# %s:%d: %s: %s ", file, line, test_state.about, condition);
  vprintf(format, args);
  printf("\n");
  va_end(args);
}

#define CHECK(condition) test_check((condition), #condition, __FILE__, __LINE__, " ")
#define CHECK_WITH(condition, ...)                                                                 \
  test_check((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

/* A promise for which nothing was checked is broken: its loop was never entered. */
__attribute__((format(printf, 1, 2))) static inline void promise(const char *format, ...)
{
  bool kept = test_state.failed == 0 && test_state.checks > 0;
  va_list args;
  va_start(args, format);
  printf("%s %d - ", kept ? "ok" : "not ok", ++test_state.promises);
  vprintf(format, args);
  printf("\n");
  va_end(args);
  if (!kept) {
    printf("# %lu of %lu checks failed\n", test_state.failed, test_state.checks);
    test_state.broken++;
  }
  fflush(stdout);
  test_state.checks = test_state.failed = 0;
  test_state.about[0] = '\0';
}

/* A promise that is not looked into this time, and why. */
static inline void test_skip(const char *promised, const char *reason)
{
  printf("ok %d - %s # SKIP %s\n", ++test_state.promises, promised, reason);
  test_state.checks = test_state.failed = 0;
}

/* Prints the plan; what main() returns. */
static inline int test_end(void)
{
  printf("1..%d\n", test_state.promises);
  return test_state.broken == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A sequence of numbers that only depends on where it starts (splitmix64). */
static inline uint64_t test_random(uint64_t *state)
{
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* The upper half of a 128-bit product, the way it is done on paper, in base 2^32. */
static inline uint64_t test_multiply_high(uint64_t a, uint64_t b)
{
  const uint32_t x[2] = {(uint32_t)a, (uint32_t)(a >> 32)};
  const uint32_t y[2] = {(uint32_t)b, (uint32_t)(b >> 32)};
  uint32_t digits[4] = {0};
  for (unsigned i = 0; i < 2; i++) {
    uint64_t carry = 0;
    for (unsigned j = 0; j < 2; j++) {
      carry += (uint64_t)x[i] * y[j] + digits[i + j];
      digits[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    digits[i + 2] = (uint32_t)carry;
  }
  return (uint64_t)digits[3] << 32 | digits[2];
}

/* Ends a test that cannot go on. */
__attribute__((noreturn)) static inline void bail_out(const char *reason)
{
  printf("Bail out! %s\n", reason);
  exit(EXIT_FAILURE);
}

/* malloc() of exactly so many bytes, so that a sanitizer sees the first access outside. Never
 * NULL. */
static inline void *test_allocate(size_t size)
{
  void *block = malloc(size > 0 ? size : 1);
  if (block == NULL) {
    bail_out("no memory");
  }
  return block;
}

#endif
