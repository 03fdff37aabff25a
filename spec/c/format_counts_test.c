/* The bytes of sketches that count, built anew after docs/FORMAT.md. */
#include <math.h>
#include <string.h>

#include "frequency/count_min.h"
#include "model.h"

/* ---- count_min ---- */

struct counts {
  uint64_t width, limit, total;
  uint32_t depth;
  uint64_t cells[64][128];
  bool saturated, conservative;
};

static uint64_t *cell_of(struct counts *counts, uint32_t row, uint64_t hash)
{
  return &counts->cells[row][place_of(hash, row, counts->width)];
}

static void count(struct counts *counts, uint64_t hash, uint64_t n)
{
  uint64_t least = UINT64_MAX;
  for (uint32_t row = 0; row < counts->depth; row++) {
    least = *cell_of(counts, row, hash) < least ? *cell_of(counts, row, hash) : least;
  }
  for (uint32_t row = 0; row < counts->depth; row++) {
    uint64_t *cell = cell_of(counts, row, hash);
    uint64_t x = (counts->conservative ? least : *cell) + n;
    counts->saturated |= x > counts->limit;
    x = x > counts->limit ? counts->limit : x;
    *cell = x > *cell ? x : *cell;
  }
  counts->total += n;
}

static void write_counts(const struct counts *counts, unsigned width, struct bytes payload)
{
  struct ps_writer writer = ps_writer_over(payload.at, payload.size);
  ps_write(&writer, counts->total, 8);
  ps_write(&writer, counts->saturated, 8);
  for (uint32_t row = 0; row < counts->depth; row++) {
    for (uint64_t i = 0; i < counts->width; i++) {
      ps_write(&writer, counts->cells[row][i], width);
    }
  }
  CHECK(!writer.failed && writer.at == writer.end);
}

static void check_count_min(uint64_t width, uint32_t depth, unsigned counter_bits,
                            bool conservative, size_t keys)
{
  static struct counts counts;
  struct specimen specimen;
  struct model model;
  struct variant variant = {"count_min",
                            {{"width", (double)width},
                             {"depth", depth},
                             {"counter_bits", counter_bits},
                             {"conservative", conservative}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  counts = (struct counts){.width = width, .depth = depth, .conservative = conservative};
  counts.limit = counter_bits == 64 ? PS_COUNT_MAX : (UINT64_C(1) << counter_bits) - 1;
  for (size_t i = 0; i < keys; i++) {
    count(&counts, hash_of(i), i % 5);
    ps_count_min_add((struct ps_count_min *)sketch_in(&specimen), hash_of(i), i % 5);
  }
  model_start(&model, 16, 1, (size_t)(16 + width * depth * (counter_bits / 8)));
  ps_write(&model.writer, width, 8);
  ps_write(&model.writer, depth, 4);
  ps_write(&model.writer, counter_bits, 1);
  ps_write(&model.writer, conservative, 1);
  model_double(&model, exp(1) / (double)width);
  model_double(&model, exp(-(double)depth));
  write_counts(&counts, counter_bits / 8, model.payload);
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

/* ---- hyperloglog ---- */

/* 1 + the zeros that the `bits` low bits of x begin with. */
static unsigned rank_of(uint64_t x, unsigned bits)
{
  unsigned rank = 1;
  while (rank <= bits && (x >> (bits - rank) & 1) == 0) {
    rank++;
  }
  return rank;
}

static void check_hyperloglog_dense(unsigned precision, size_t keys)
{
  static unsigned registers[1 << 18];
  struct specimen specimen;
  struct model model;
  struct variant variant = {"hyperloglog", {{"precision", precision}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  memset(registers, 0, sizeof registers);
  for (size_t i = 0; i < keys; i++) {
    uint64_t index = hash_of(i) >> (64 - precision);
    unsigned rank = rank_of(hash_of(i), 64 - precision);
    registers[index] = rank > registers[index] ? rank : registers[index];
  }
  model_start(&model, 32, 1, (size_t)6 << precision >> 3);
  ps_write(&model.writer, precision, 1);
  ps_write(&model.writer, 0, 1);
  for (size_t bit = 0; bit < model.payload.size * 8; bit++) {
    unsigned set = registers[bit / 6] >> bit % 6 & 1;
    model.payload.at[bit / 8] |= (unsigned char)(set << bit % 8);
  }
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

static int ascending(const void *a, const void *b)
{
  uint32_t x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* Entries of all keys, ascending; of those with one index the last is the one that counts. */
static size_t entries_of(size_t keys, uint32_t *entries)
{
  size_t n = 0;
  for (size_t i = 0; i < keys; i++) {
    entries[i] = (uint32_t)(hash_of(i) >> 38) << 6 | rank_of(hash_of(i), 38);
  }
  qsort(entries, keys, sizeof *entries, ascending);
  for (size_t i = 0; i < keys; i++) {
    if (i + 1 == keys || entries[i] >> 6 != entries[i + 1] >> 6) {
      entries[n++] = entries[i];
    }
  }
  return n;
}

static void check_hyperloglog_sparse(unsigned precision, size_t keys)
{
  uint32_t *entries = test_allocate(keys * sizeof *entries);
  struct specimen specimen;
  struct model model;
  struct variant variant = {"hyperloglog", {{"precision", precision}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  size_t n = entries_of(keys, entries);
  model_start(&model, 32, 0, n * 4);
  ps_write(&model.writer, precision, 1);
  ps_write(&model.writer, 0, 1);
  struct ps_writer writer = ps_writer_over(model.payload.at, model.payload.size);
  for (size_t i = 0; i < n; i++) {
    ps_write(&writer, entries[i], 4);
  }
  check_model(sketch_in(&specimen), &model);
  free(entries);
  discard(&specimen);
}

/* ---- minhash ---- */

static void check_minhash(unsigned hashes, size_t keys)
{
  struct specimen specimen;
  struct model model;
  struct variant variant = {"minhash", {{"hashes", hashes}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  model_start(&model, 64, 1, (size_t)8 * hashes);
  ps_write(&model.writer, hashes, 4);
  struct ps_writer writer = ps_writer_over(model.payload.at, model.payload.size);
  uint64_t power = 1;
  for (unsigned i = 0; i < hashes; i++) {
    uint64_t multiplier = STEP, least = UINT64_MAX;
    for (unsigned j = 0; j < i % 32; j++) {
      multiplier *= STEP;
    }
    power *= i > 0 && i % 32 == 0 ? STEP : 1;
    for (size_t key = 0; key < keys; key++) {
      uint64_t value = hash_of(key) * power * (multiplier >> 32 | 1) + (UINT64_C(1) << 63);
      least = value < least ? value : least;
    }
    ps_write(&writer, least, 8);
  }
  CHECK(!writer.failed && writer.at == writer.end);
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

int main(void)
{
  check_count_min(1, 1, 8, false, 1);
  check_count_min(3, 2, 8, false, 90);
  check_count_min(50, 64, 16, false, 700);
  check_count_min(128, 5, 32, false, 700);
  check_count_min(100, 4, 64, false, 700);
  check_count_min(100, 4, 8, true, 700);
  check_count_min(3, 2, 8, true, 700);
  promise("a count-min sketch is the counters of docs/FORMAT.md");
  check_hyperloglog_sparse(4, 0);
  check_hyperloglog_sparse(4, 2);
  check_hyperloglog_sparse(14, 5);
  check_hyperloglog_sparse(14, 2304);
  check_hyperloglog_sparse(18, 30000);
  promise("a small hyperloglog is the ascending list of docs/FORMAT.md");
  check_hyperloglog_dense(4, 3);
  check_hyperloglog_dense(9, 700);
  check_hyperloglog_dense(14, 2305);
  check_hyperloglog_dense(14, 100000);
  check_hyperloglog_dense(18, 50000);
  promise("a large hyperloglog is the registers of docs/FORMAT.md");
  check_minhash(1, 0);
  check_minhash(1, 1);
  check_minhash(31, 20);
  check_minhash(128, 700);
  check_minhash(300, 90);
  promise("a minhash is the minima of docs/FORMAT.md");
  return test_end();
}
