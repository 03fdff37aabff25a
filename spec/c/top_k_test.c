/* top_k against a model that looks through all it has, keys whose hashes are equal, and batches
 * that are refused the memory for their keys. */
#include <string.h>

#include "frequency/top_k.h"
#include "sketches.h"

#define STEP UINT64_C(0xf1357aea2e62a9c5)

/* ---- a model ---- */

#define MODEL_KEYS 60
#define MODEL_WIDTH 7
#define MODEL_DEPTH 3

/* The keys are few: listed[i] says whether key i is in the list. */
struct model {
  size_t k, n;
  bool listed[MODEL_KEYS];
  uint64_t count[MODEL_KEYS], error[MODEL_KEYS], truth[MODEL_KEYS];
  uint64_t cells[MODEL_DEPTH][MODEL_WIDTH];
};

static struct ps_key key_of(uint64_t i, unsigned char bytes[8])
{
  key_bytes(i, bytes);
  return (struct ps_key){bytes, 8, hash_of(i)};
}

static uint64_t *model_cell(struct model *model, unsigned row, uint64_t key)
{
  uint64_t h = hash_of(key) | 1;
  for (unsigned i = 0; i < row; i++) {
    h *= STEP;
  }
  return &model->cells[row][test_multiply_high(h, MODEL_WIDTH)];
}

static uint64_t model_rest(struct model *model, uint64_t key)
{
  uint64_t least = UINT64_MAX;
  for (unsigned row = 0; row < MODEL_DEPTH; row++) {
    uint64_t x = *model_cell(model, row, key);
    least = x < least ? x : least;
  }
  return least;
}

static void model_add_to_rest(struct model *model, uint64_t key, uint64_t n)
{
  uint64_t count = model_rest(model, key) + n;
  for (unsigned row = 0; row < MODEL_DEPTH; row++) {
    uint64_t *cell = model_cell(model, row, key);
    *cell = *cell < count ? count : *cell;
  }
}

/* The listed key of the lowest rank. All keys are numbers below 256 in little-endian bytes, and so
 * in the order of the numbers. */
static size_t model_least(const struct model *model)
{
  size_t least = MODEL_KEYS;
  for (size_t i = 0; i < MODEL_KEYS; i++) {
    if (model->listed[i] && (least == MODEL_KEYS || model->count[i] <= model->count[least])) {
      least = i;
    }
  }
  return least;
}

static void model_add(struct model *model, uint64_t key, uint64_t n)
{
  model->truth[key] += n;
  if (model->listed[key]) {
    model->count[key] += n;
    return;
  }
  const uint64_t rest = model_rest(model, key);
  if (n == 0) {
    return;
  }
  if (model->n == model->k) {
    const size_t least = model_least(model);
    if (rest + n <= model->count[least]) {
      model_add_to_rest(model, key, n);
      return;
    }
    model_add_to_rest(model, least, model->count[least] - model->error[least]);
    model->listed[least] = false;
    model->n--;
  }
  model->listed[key] = true;
  model->count[key] = rest + n;
  model->error[key] = rest;
  model->n++;
}

/* From the lowest rank up. */
static void model_halve(struct model *model)
{
  struct model left = *model;
  for (size_t i = 0; i < model->n; i++) {
    const size_t key = model_least(&left);
    const uint64_t exact = model->count[key] - model->error[key];
    left.listed[key] = false;
    model_add_to_rest(model, key, exact % 2);
    model->count[key] /= 2;
    model->error[key] = model->count[key] - exact / 2;
  }
  for (size_t i = 0; i < MODEL_KEYS; i++) {
    model->truth[i] /= 2;
    if (model->listed[i] && model->count[i] == 0) {
      model->listed[i] = false;
      model->n--;
    }
  }
  for (unsigned row = 0; row < MODEL_DEPTH; row++) {
    for (unsigned i = 0; i < MODEL_WIDTH; i++) {
      model->cells[row][i] /= 2;
    }
  }
}

static void check_against(const struct ps_top_k *top_k, const struct model *model)
{
  struct model left = *model;
  struct bytes list = {.size = (size_t)ps_top_k_list_size(top_k)};
  list.at = test_allocate(list.size);
  ps_top_k_list(top_k, list.at);
  struct ps_reader reader = ps_reader_over(list.at, list.size);
  struct ps_top_k_item items[MODEL_KEYS];
  size_t n = 0;
  while (n < MODEL_KEYS && ps_top_k_next(&reader, &items[n])) {
    n++;
  }
  CHECK(n == model->n && reader.at == reader.end);
  while (n-- > 0) {
    const size_t key = model_least(&left);
    left.listed[key] = false;
    CHECK(items[n].length == 8 && ps_load64(items[n].key) == key);
    CHECK(items[n].count == model->count[key] && items[n].error == model->error[key]);
    CHECK(items[n].count >= model->truth[key]);
    CHECK(items[n].count - items[n].error <= model->truth[key]);
  }
  const unsigned char *cell = top_k->sketch.payload + 16;
  for (unsigned i = 0; i < MODEL_DEPTH * MODEL_WIDTH; i++, cell += 4) {
    CHECK(ps_load32(cell) == model->cells[i / MODEL_WIDTH][i % MODEL_WIDTH]);
  }
  free(list.at);
}

static void check_stream(size_t k, uint64_t seed)
{
  struct variant variant = {"top_k",
                            {{"k", (double)k}, {"width", MODEL_WIDTH}, {"depth", MODEL_DEPTH}}};
  struct model model = {.k = k};
  struct specimen specimen;
  struct ps_error error;
  test_about("k = %zu, stream %ju", k, (uintmax_t)seed);
  make(&specimen, &variant, 0);
  struct ps_top_k *top_k = (struct ps_top_k *)sketch_in(&specimen);
  for (uint64_t i = 0; i < 800; i++) {
    const uint64_t random = hash_of(seed * 1000 + i);
    const uint64_t key = random % (1 + (random >> 8) % MODEL_KEYS), n = (random >> 16) % 5;
    unsigned char bytes[8];
    const struct ps_key added = key_of(key, bytes);
    uint64_t estimate;
    model_add(&model, key, n);
    CHECK(ps_top_k_add(top_k, &added, n, &estimate, &error) == PS_OK);
    CHECK(estimate == ps_top_k_frequency(top_k, &added) && estimate >= model.truth[key]);
    if (random >> 32 < UINT32_MAX / 100) {
      model_halve(&model);
      ps_top_k_halve(top_k);
    }
    if (i % 20 == 0) {
      check_against(top_k, &model);
      CHECK(top_k->sketch.held == test_memory.live);
    }
  }
  discard(&specimen);
}

static void streams(void)
{
  static const size_t ks[] = {1, 2, 3, 7, 8, 9, 16, 17, 40, 59};
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
    for (uint64_t seed = 0; seed < 30; seed++) {
      check_stream(ks[i], seed);
    }
  }
  promise("the list and the counters are those of a model that searches, in every step");
}

/* ---- equal hashes ---- */

static void equal_hashes(void)
{
  struct variant variant = {"top_k", {{"k", 30}, {"width", 5}, {"depth", 2}}};
  struct specimen specimen;
  struct ps_error error;
  uint64_t estimate;
  make(&specimen, &variant, 0);
  struct ps_top_k *top_k = (struct ps_top_k *)sketch_in(&specimen);
  for (unsigned char i = 0; i < 30; i++) {
    const struct ps_key key = {(unsigned char[4]){'k', i, 0, 0}, 1 + i % 4u, UINT64_MAX - i / 10};
    for (unsigned times = 0; times <= i; times++) {
      CHECK(ps_top_k_add(top_k, &key, 1, &estimate, &error) == PS_OK);
    }
  }
  /* Of one length 1 there are equal keys too. */
  for (unsigned char i = 0; i < 30; i++) {
    const struct ps_key key = {(unsigned char[4]){'k', i, 0, 0}, 1 + i % 4u, UINT64_MAX - i / 10};
    uint64_t expected = 0;
    for (unsigned char j = 0; j < 30; j++) {
      bool same = i / 10 == j / 10 && (i == j || (i % 4 == 0 && j % 4 == 0));
      expected += same ? j + 1u : 0;
    }
    CHECK_WITH(ps_top_k_frequency(top_k, &key) == expected, "key %u", i);
  }
  discard(&specimen);
  promise("keys of the same hash are told apart by their bytes");
}

/* ---- batches and memory ---- */

/* A batch of `n` keys of some 100 bytes from number `from` on. */
static enum ps_status add_long(struct ps_sketch *sketch, unsigned from, size_t n,
                               struct ps_error *error)
{
  static unsigned char bytes[100][120];
  struct ps_key keys[100];
  size_t changed;
  for (unsigned i = 0; i < n; i++) {
    const size_t length = 100 + (from + i) % 20;
    memset(bytes[i], (int)(from + i), length);
    keys[i] = (struct ps_key){bytes[i], length, ps_hash(bytes[i], length, sketch->seed)};
  }
  enum ps_status status = sketch->kind->add_keys(sketch, keys, n, &changed, error);
  memset(bytes, 0, sizeof bytes); /* nothing may point there any more */
  return status;
}

/* All requests from number `fail_at` of the call on are refused; then they are granted again. */
static bool check_refusals(unsigned long fail_at)
{
  const struct variant variant = {"top_k", {{"k", 20}, {"width", 5}, {"depth", 2}}};
  struct specimen a, b;
  struct ps_error error;
  test_about("request %lu", fail_at);
  make(&a, &variant, 0);
  make(&b, &variant, 0);
  test_memory.calls = 0;
  test_memory.fail_at = fail_at;
  test_memory.keep_failing = true;
  struct bytes before = encode(sketch_in(&a));
  enum ps_status status = add_long(sketch_in(&a), 0, 15, &error);
  CHECK(status == PS_OK || still(sketch_in(&a), before));
  CHECK(sketch_in(&a)->held + sketch_in(&b)->held == test_memory.live);
  /* Now one that finds what the first has left, and no memory either. */
  struct bytes between = encode(sketch_in(&a));
  enum ps_status next = add_long(sketch_in(&a), 50, 15, &error);
  CHECK(next == PS_OK || still(sketch_in(&a), between));
  CHECK(sketch_in(&a)->held + sketch_in(&b)->held == test_memory.live);
  const bool reached = test_memory.calls >= fail_at;
  test_memory.fail_at = 0;
  if (status != PS_OK) {
    add_long(sketch_in(&a), 0, 15, &error);
  }
  if (next != PS_OK) {
    add_long(sketch_in(&a), 50, 15, &error);
  }
  add_long(sketch_in(&b), 0, 15, &error);
  add_long(sketch_in(&b), 50, 15, &error);
  CHECK(status != PS_OK || next != PS_OK || ps_equal(sketch_in(&a), sketch_in(&b)));
  add_long(sketch_in(&a), 90, 3, &error);
  CHECK(sketch_in(&a)->held + sketch_in(&b)->held == test_memory.live);
  free(before.at);
  free(between.at);
  discard(&a);
  discard(&b);
  return reached;
}

static void refusals(void)
{
  unsigned long fail_at = 1;
  while (check_refusals(fail_at)) {
    fail_at++;
  }
  CHECK_WITH(fail_at > 15, "only %lu requests", fail_at);
  promise("a batch is in whole or not at all, whatever memory it is refused");
}

int main(void)
{
  streams();
  equal_hashes();
  refusals();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
