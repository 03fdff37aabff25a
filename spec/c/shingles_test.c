/* Shingles: what is added of a text is what is added token by token when the text is taken apart by
 * hand. */
#include <string.h>

#include "similarity/shingles.h"
#include "sketches.h"

#define HASHES 40
#define TEXT_MAX 3000
#define SEED 99

static void make_minhash(struct specimen *specimen)
{
  struct variant variant = {"minhash", {{"hashes", HASHES}}};
  make(specimen, &variant, SEED);
}

static void add_token(struct specimen *specimen, const char *token, size_t length)
{
  ps_minhash_add((struct ps_minhash *)sketch_in(specimen), ps_hash(token, length, SEED));
}

/* Its text and scratch have exactly the size they must. */
static uint64_t add_shingles(struct specimen *specimen, const char *text, size_t length, unsigned n,
                             enum ps_shingle_unit unit)
{
  unsigned char *copy = test_allocate(length), *scratch = test_allocate(length);
  memcpy(copy, text, length);
  uint64_t added = ps_minhash_add_shingles((struct ps_minhash *)sketch_in(specimen), copy, length,
                                           n, unit, unit == PS_SHINGLE_WORD ? scratch : NULL);
  free(scratch);
  free(copy);
  return added;
}

static void check_same(struct specimen *a, struct specimen *b)
{
  CHECK(ps_equal(sketch_in(a), sketch_in(b)));
  discard(a);
  discard(b);
}

/* ---- words ---- */

struct words {
  size_t n;
  char word[TEXT_MAX][24];
};

/* Makes a text of n words, with white space of all sorts between, and, if `around`, around them. */
static size_t write_text(char *text, struct words *words, size_t n, bool around, uint64_t *state)
{
  static const char spaces[] = " \n\t\r\v\f ";
  size_t length = 0;
  words->n = n;
  for (size_t i = 0; i <= n; i++) {
    bool between = i > 0 && i < n;
    size_t gap = (between || around) ? test_random(state) % 3 + between : 0;
    while (gap-- > 0) {
      text[length++] = spaces[test_random(state) % (sizeof spaces - 1)];
    }
    if (i < n) {
      int size = snprintf(words->word[i], sizeof words->word[i], "w\xc3\xa9%d",
                          (int)(test_random(state) % 400));
      memcpy(text + length, words->word[i], (size_t)size);
      length += (size_t)size;
    }
  }
  return length;
}

/* Adds n words from `from` on as one token. */
static void add_run(struct specimen *specimen, const struct words *words, size_t from, size_t n)
{
  static char token[24 * TEXT_MAX];
  size_t length = 0;
  for (size_t i = from; i < from + n; i++) {
    size_t size = strlen(words->word[i]);
    memcpy(token + length, words->word[i], size);
    length += size;
    token[length++] = ' ';
  }
  add_token(specimen, token, length - 1);
}

static void check_words(size_t count, unsigned n, bool around, uint64_t *state)
{
  static char text[24 * TEXT_MAX];
  static struct words words;
  struct specimen whole, model;
  make_minhash(&whole);
  make_minhash(&model);
  test_about("%zu words by %u", count, n);
  size_t length = write_text(text, &words, count, around, state);
  uint64_t expected = 0;
  if (count > 0 && count < n) {
    add_run(&model, &words, 0, count);
    expected = 1;
  }
  for (size_t i = 0; i + n <= count; i++) {
    add_run(&model, &words, i, n);
    expected++;
  }
  CHECK(add_shingles(&whole, text, length, n, PS_SHINGLE_WORD) == expected);
  check_same(&whole, &model);
}

static void of_words(void)
{
  static const size_t counts[] = {0, 1, 2, 3, 4, 5, 6, 100, 511, 512, 513, 514, 1200, 2500};
  static const unsigned lengths[] = {1, 2, 3, 5, 511, 1000};
  uint64_t state = 1;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
      check_words(counts[i], lengths[j], false, &state);
      check_words(counts[i], lengths[j], true, &state);
    }
  }
  promise("shingles of words are runs of words with one space between two");
}

/* Each byte is white space, or part of a word. */
static void white_space(void)
{
  for (unsigned byte = 0; byte < 256; byte++) {
    const char text[] = {'a', (char)byte, 'b'};
    bool space = byte == ' ' || (byte >= 9 && byte <= 13);
    struct specimen whole, model;
    make_minhash(&whole);
    make_minhash(&model);
    test_about("byte %u", byte);
    CHECK(add_shingles(&whole, text, 3, 2, PS_SHINGLE_WORD) == 1);
    add_token(&model, space ? "a b" : text, 3);
    check_same(&whole, &model);
  }
  promise("white space is space and the bytes 9 to 13, whatever the locale");
}

/* ---- bytes ---- */

static void of_bytes(void)
{
  static const unsigned lengths[] = {1, 2, 5, 9, 513, 1000};
  static char text[1100];
  uint64_t state = 2;
  for (size_t i = 0; i < sizeof text; i++) {
    text[i] = (char)test_random(&state);
  }
  for (size_t length = 0; length <= sizeof text; length += length < 12 ? 1 : 99) {
    for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
      const unsigned n = lengths[j];
      struct specimen whole, model;
      make_minhash(&whole);
      make_minhash(&model);
      test_about("%zu bytes by %u", length, n);
      uint64_t expected = length >= n ? length - n + 1 : length > 0;
      for (uint64_t at = 0; at < expected; at++) {
        add_token(&model, text + at, length < n ? length : n);
      }
      CHECK(add_shingles(&whole, text, length, n, PS_SHINGLE_BYTE) == expected);
      check_same(&whole, &model);
    }
  }
  promise("shingles of bytes are the runs of bytes, and a shorter text is one");
}

int main(void)
{
  of_words();
  white_space();
  of_bytes();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
