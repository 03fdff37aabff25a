#include "similarity/shingles.h"

#include "base/hash.h"

#define BATCH 512

/* Shingles on their way into the sketch. */
struct intake {
  struct ps_minhash *minhash;
  uint64_t n; /* all so far */
  size_t waiting;
  uint64_t hashes[BATCH];
};

static void flush(struct intake *intake)
{
  size_t changed;
  struct ps_sketch *sketch = &intake->minhash->sketch;
  sketch->kind->add_hashes(sketch, intake->hashes, intake->waiting, &changed, NULL);
  intake->n += intake->waiting;
  intake->waiting = 0;
}

static void add_shingle(struct intake *intake, const unsigned char *from, const unsigned char *to)
{
  if (intake->waiting == BATCH) {
    flush(intake);
  }
  intake->hashes[intake->waiting++] =
      ps_hash(from, (size_t)(to - from), intake->minhash->sketch.seed);
}

/* As isspace() has it in the C locale. */
static bool is_space(unsigned char byte)
{
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void add_words(struct intake *intake, const unsigned char *text, size_t length, unsigned n,
                      unsigned char *scratch)
{
  const unsigned char *begin[PS_SHINGLE_MAX]; /* of the last n words, as a ring */
  const unsigned char *const end = text + length;
  unsigned char *to = scratch;
  unsigned slot = 0;
  for (bool full = false;;) {
    while (text < end && is_space(*text)) {
      text++;
    }
    if (text == end) {
      if (to > scratch && !full) {
        add_shingle(intake, scratch, to);
      }
      return;
    }
    if (to > scratch) {
      *to++ = ' ';
    }
    begin[slot++] = to;
    while (text < end && !is_space(*text)) {
      *to++ = *text++;
    }
    if (slot == n) {
      slot = 0;
      full = true;
    }
    if (full) {
      add_shingle(intake, begin[slot], to);
    }
  }
}

static void add_bytes(struct intake *intake, const unsigned char *text, size_t length, unsigned n)
{
  if (length > 0 && length < n) {
    add_shingle(intake, text, text + length);
  }
  for (size_t at = n; at <= length; at++) {
    add_shingle(intake, text + at - n, text + at);
  }
}

uint64_t ps_minhash_add_shingles(struct ps_minhash *minhash, const unsigned char *text,
                                 size_t length, unsigned n, enum ps_shingle_unit unit,
                                 unsigned char *scratch)
{
  struct intake intake = {.minhash = minhash};
  if (unit == PS_SHINGLE_WORD) {
    add_words(&intake, text, length, n, scratch);
  } else {
    add_bytes(&intake, text, length, n);
  }
  flush(&intake);
  return intake.n;
}
