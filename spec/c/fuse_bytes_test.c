/* The slots of a fuse filter, filled anew after docs/FORMAT.md by a model that shares nothing with
 * the filter but the hashes. */
#include <string.h>

#include "membership/fuse.h"
#include "sketches.h"

#define A UINT64_C(0xf1357aea2e62a9c5)
#define U 65536
#define KEYS_MAX 6000
#define SLOTS_MAX 12000
#define CROWD 64

/* Which keys have a slot, and which of their four it is. */
struct slot {
  unsigned n;
  unsigned key[CROWD], which[CROWD];
};

static struct model {
  size_t n;
  uint64_t k[KEYS_MAX];
  uint64_t length, segments;
  struct slot slots[SLOTS_MAX];
  size_t out, order[KEYS_MAX];
  unsigned own[KEYS_MAX];
  uint64_t content[SLOTS_MAX];
} model;

static void choose_sizes(unsigned attempt)
{
  uint64_t n = model.n < 2 ? 2 : model.n, whole = 0;
  while (n >> (whole + 1) > 0) {
    whole++;
  }
  uint64_t log = whole * U + n * U / ((uint64_t)1 << whole) - U;
  uint64_t e = (log * 42527 / U - U / 2) / U;
  model.length = (uint64_t)1 << (e < 3 ? 3 : e > 18 ? 18 : e);
  uint64_t a_key = 50463 + (uint64_t)383672 * U / log;
  uint64_t wanted = n * (a_key < 70451 ? 70451 : a_key) / U;
  model.segments = wanted / model.length + (wanted % model.length != 0);
  model.segments = model.segments < 4 ? 4 : model.segments;
  model.segments += attempt / 4 * (model.segments / 32 + 1);
  if (model.segments * model.length > SLOTS_MAX) {
    bail_out("the model has no room");
  }
}

static uint64_t place(uint64_t k, unsigned which)
{
  const uint64_t starts = (model.segments - 3) * model.length, g = k * A;
  static const unsigned shifts[] = {0, 46, 28, 10};
  uint64_t at = test_multiply_high(k, starts) + which * model.length;
  return which == 0 ? at : at ^ ((g >> shifts[which]) & (model.length - 1));
}

static int ascending(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool enter_all(void)
{
  memset(model.slots, 0, sizeof model.slots);
  for (size_t i = 0; i < model.n; i++) {
    for (unsigned which = 0; which < 4; which++) {
      struct slot *slot = &model.slots[place(model.k[i], which)];
      if (slot->n == CROWD - 1) {
        return false;
      }
      slot->key[slot->n] = (unsigned)i;
      slot->which[slot->n++] = which;
    }
  }
  return true;
}

static void leave(struct slot *slot, unsigned key)
{
  for (unsigned i = 0; i < slot->n; i++) {
    if (slot->key[i] == key) {
      slot->n--;
      slot->key[i] = slot->key[slot->n];
      slot->which[i] = slot->which[slot->n];
      return;
    }
  }
}

/* True when all keys have come out. */
static bool take_all_out(void)
{
  static uint64_t stack[2 * SLOTS_MAX];
  size_t height = 0;
  model.out = 0;
  for (uint64_t at = 0; at < model.segments * model.length; at++) {
    if (model.slots[at].n == 1) {
      stack[height++] = at;
    }
  }
  while (height > 0) {
    struct slot *slot = &model.slots[stack[--height]];
    if (slot->n != 1) {
      continue;
    }
    unsigned key = slot->key[0], own = slot->which[0];
    model.order[model.out] = key;
    model.own[model.out++] = own;
    leave(slot, key);
    for (unsigned i = 1; i < 4; i++) {
      uint64_t at = place(model.k[key], (own + i) % 4);
      leave(&model.slots[at], key);
      if (model.slots[at].n == 1) {
        stack[height++] = at;
      }
    }
  }
  return model.out == model.n;
}

static void fill_slots(unsigned bits)
{
  memset(model.content, 0, sizeof model.content);
  for (size_t i = model.n; i-- > 0;) {
    uint64_t k = model.k[model.order[i]], x = k ^ k >> 32;
    for (unsigned which = 0; which < 4; which++) {
      x ^= which == model.own[i] ? 0 : model.content[place(k, which)];
    }
    model.content[place(k, model.own[i])] = x & ((UINT64_C(1) << bits) - 1);
  }
}

/* Returns the attempt that succeeds. */
static unsigned run_model(const uint64_t *hashes, size_t n, unsigned bits)
{
  unsigned attempt = 0;
  model.n = n;
  memcpy(model.k, hashes, n * sizeof *hashes);
  for (;; attempt++) {
    choose_sizes(attempt);
    qsort(model.k, n, sizeof *model.k, ascending);
    if (enter_all() && take_all_out()) {
      break;
    }
    for (size_t i = 0; i < n; i++) {
      model.k[i] *= A * A;
    }
  }
  fill_slots(bits);
  return attempt;
}

static void check_against_model(unsigned bits, uint64_t first, size_t n, unsigned *attempts)
{
  struct specimen specimen;
  struct ps_error error;
  unsigned width;
  const struct variant variant = {"fuse",
                                  {{"keys", 0}, {"fp_rate", bits == 8 ? 1.0 / 256 : 1.0 / 65536}}};
  test_about("%u bits, %zu keys from %ju", bits, n, (uintmax_t)first);
  uint64_t *hashes = hashes_of(first, n);
  unsigned attempt = run_model(hashes, n, bits);
  CHECK(build(&specimen, &variant, hashes, n, &error) == PS_OK);
  struct bytes bytes = encode(sketch_in(&specimen));
  CHECK(ps_load64(bytes.at + find_field(&ps_fuse, "keys", &width)) == n);
  CHECK(bytes.at[find_field(&ps_fuse, "fingerprint_bits", &width)] == bits);
  CHECK(bytes.at[find_field(&ps_fuse, "attempt", &width)] == attempt);
  struct ps_reader reader = ps_reader_over(bytes.at + 50, bytes.size - 58);
  for (uint64_t at = 0; at < model.segments * model.length; at++) {
    CHECK_WITH(ps_read(&reader, bits / 8) == model.content[at], "slot %ju", (uintmax_t)at);
  }
  CHECK(!reader.failed && reader.at == reader.end);
  *attempts = attempt > *attempts ? attempt : *attempts;
  free(bytes.at);
  free(hashes);
  discard(&specimen);
}

int main(void)
{
  unsigned most = 0;
  for (unsigned bits = 8; bits <= 16; bits += 8) {
    for (size_t n = 0; n <= KEYS_MAX; n = n * 9 / 8 + 1) {
      check_against_model(bits, 1000 * n, n, &most);
    }
  }
  promise("the slots of a filter are those that the format says, whatever the number of keys");
  for (uint64_t i = 0; i < 3000; i++) {
    check_against_model(8, 1000 * i, 120, &most);
  }
  CHECK_WITH(most >= 4, "%u attempts", most);
  promise("so are those of filters that took several attempts, and grew");
  return test_end();
}
