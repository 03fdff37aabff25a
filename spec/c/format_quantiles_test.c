/* The bytes of sketches of quantiles, built anew after docs/FORMAT.md. */
#include <math.h>
#include <string.h>

#include "model.h"

/* ---- tdigest ---- */

struct entry {
  double number;
  uint64_t weight;
  bool mean;
};

#define ENTRIES_MAX 4000

struct digest {
  unsigned compression, added;
  bool joined;
  size_t n;
  struct entry entries[ENTRIES_MAX];
};

static uint64_t weight_of(const struct entry *entries, size_t n)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += entries[i].weight;
  }
  return sum;
}

/* Behind all that are smaller; a mean behind those that are equal as well. */
static void put(struct digest *digest, struct entry entry)
{
  size_t at = 0;
  while (at < digest->n && (digest->entries[at].number < entry.number ||
                            (digest->entries[at].number == entry.number && entry.mean))) {
    at++;
  }
  struct entry *here = &digest->entries[at];
  if (at < digest->n && here->number == entry.number && !here->mean && !entry.mean) {
    here->weight += entry.weight;
    return;
  }
  memmove(here + 1, here, (digest->n - at) * sizeof *here);
  *here = entry;
  digest->n++;
}

static double limit(double before, double all, double s)
{
  return before * (all - before) * s;
}

/* In steps, each rounded: volatile keeps compilers from making one of two. */
static double mean_of(const struct entry *row, size_t n)
{
  const double x = row[0].number;
  volatile double sum = 0, term, mean = x;
  for (size_t i = 1; i < n; i++) {
    term = row[i].number - x;
    term = term * (double)row[i].weight;
    sum = sum + term;
  }
  if (isfinite(sum)) {
    term = sum / (double)weight_of(row, n);
    mean = x + term;
  }
  for (size_t i = 1; i < n && !isfinite(sum); i++) {
    double so_far = (double)weight_of(row, i + 1);
    term = row[i].number - mean;
    bool far = isinf(term);
    if (far) {
      term = row[i].number / 2 - mean / 2;
    }
    term = term / (so_far / (double)row[i].weight);
    mean = mean + (far ? 2 * term : term);
  }
  return fmin(fmax(mean, x), row[n - 1].number);
}

static size_t join_by(const struct digest *digest, double s, struct entry *made)
{
  const double all = (double)weight_of(digest->entries, digest->n);
  size_t rows = 0;
  for (size_t i = 0, n; i < digest->n; i += n) {
    const struct entry *row = &digest->entries[i];
    double before = (double)weight_of(digest->entries, i);
    for (n = 1; i + n < digest->n; n++) {
      double weight = (double)weight_of(row, n + 1);
      if (weight > limit(before, all, s) || weight > limit(before + weight, all, s)) {
        break;
      }
    }
    made[rows++] = n == 1 ? row[0] : (struct entry){mean_of(row, n), weight_of(row, n), true};
  }
  return rows;
}

static void join(struct digest *digest)
{
  static struct entry made[ENTRIES_MAX];
  const uint64_t all = weight_of(digest->entries, digest->n);
  const unsigned d = digest->compression;
  int digits = 0;
  for (uint64_t x = all / d; x > 0; x /= 2) {
    digits++;
  }
  double s = (55 + 9 * digits) / (10.0 * d) / (double)all;
  digest->added = 0;
  digest->joined = true;
  if (digest->n <= 2 * d) {
    return;
  }
  size_t n = join_by(digest, s, made);
  for (; n > 2 * d; n = join_by(digest, s, made)) {
    s *= 1.25;
  }
  memcpy(digest->entries, made, n * sizeof *made);
  digest->n = n;
}

static void add(struct digest *digest, double x, uint64_t weight)
{
  if (digest->added == 1024) {
    join(digest);
  }
  put(digest, (struct entry){x, weight, false});
  digest->added++;
}

static void merge(struct digest *digest, const struct digest *other)
{
  if (digest->n == 0) {
    *digest = *other;
    return;
  }
  digest->added += other->joined ? (unsigned)other->n : other->added;
  digest->joined |= other->joined;
  for (size_t i = 0; i < other->n; i++) {
    put(digest, other->entries[i]);
  }
  if (digest->added > 1024) {
    join(digest);
  }
}

static void write_digest(const struct digest *digest, struct model *model)
{
  unsigned char *bytes = test_allocate(8 + digest->n * 16);
  struct ps_writer writer = ps_writer_over(bytes, 8 + digest->n * 16);
  ps_write(&writer, digest->n, 4);
  ps_write(&writer, digest->added, 2);
  ps_write(&writer, digest->joined, 2);
  for (size_t i = 0; i < digest->n; i++) {
    uint64_t bits;
    memcpy(&bits, &digest->entries[i].number, sizeof bits);
    ps_write(&writer, bits, 8);
  }
  for (size_t i = 0; i < digest->n; i++) {
    uint64_t x = digest->entries[i].weight * 2 + digest->entries[i].mean;
    for (; x >= 128; x /= 128) {
      ps_write(&writer, x % 128 + 128, 1);
    }
    ps_write(&writer, x, 1);
  }
  CHECK(!writer.failed);
  size_t size = (size_t)(writer.at - bytes);
  model_start(model, 48, 0, size);
  model->hash = 0;
  model->seed = 0;
  memcpy(model->payload.at, bytes, size);
  ps_write(&model->writer, digest->compression, 4);
  free(bytes);
}

static void add_both(struct ps_sketch *sketch, struct digest *digest, double x, uint64_t weight)
{
  struct ps_error error;
  size_t changed;
  if (sketch->kind->add_values(sketch, &x, &weight, 1, &changed, &error) != PS_OK) {
    bail_out(error.message);
  }
  add(digest, x, weight);
}

/* Values number from .. to - 1: of any size, some of them equal, some of much weight. */
static void add_values_to_both(struct ps_sketch *sketch, struct digest *digest, uint64_t from,
                               uint64_t to, double scale)
{
  for (uint64_t i = from; i < to; i++) {
    uint64_t h = hash_of(i);
    double x = i % 3 == 0 ? (double)(h % 100) : value_of(i);
    add_both(sketch, digest, x * scale, i % 5 == 0 ? h % 1000 + 1 : 1);
  }
}

static void check_digest(const struct ps_sketch *sketch, const struct digest *digest)
{
  struct model model;
  write_digest(digest, &model);
  check_model(sketch, &model);
}

/* `scale` takes values of up to 2^30 near the largest numbers. */
static void check_tdigest(unsigned compression, uint64_t n, double scale)
{
  static struct digest digest, other;
  struct specimen specimen, second;
  struct ps_error error;
  struct variant variant = {"tdigest", {{"compression", compression}}};
  about_variant(&variant, (size_t)n);
  make(&specimen, &variant, 0);
  make(&second, &variant, 0);
  digest = other = (struct digest){.compression = compression};
  add_values_to_both(sketch_in(&specimen), &digest, 0, n, scale);
  check_digest(sketch_in(&specimen), &digest);
  add_values_to_both(sketch_in(&second), &other, n / 2, n * 2, scale);
  for (int i = 0; i < 3; i++) {
    CHECK(ps_merge(sketch_in(&specimen), sketch_in(&second), &error) == PS_OK);
    merge(&digest, &other);
    check_digest(sketch_in(&specimen), &digest);
  }
  add_values_to_both(sketch_in(&specimen), &digest, n, n * 2, scale);
  check_digest(sketch_in(&specimen), &digest);
  discard(&specimen);
  discard(&second);
}

int main(void)
{
  check_tdigest(100, 0, 1);
  check_tdigest(100, 1, 1);
  check_tdigest(20, 300, 1);
  check_tdigest(100, 700, 1);
  check_tdigest(20, 5000, 1);
  check_tdigest(100, 5000, 1);
  check_tdigest(25, 3000, 0x1p993);
  check_tdigest(25, 3000, 0x1p-1060);
  check_tdigest(600, 3000, 1);
  promise("tdigest has the bytes that FORMAT.md says, joined and merged");
  return test_end();
}
