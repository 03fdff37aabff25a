/* What a kll keeps: its levels are what their header promises, whatever happens to them, and so are
 * its sums and its bytes. */
#include <math.h>
#include <string.h>

#include "klls.h"
#include "model.h"
#include "quantile/order.h"

static uint64_t chance = 1;

/* ---- levels ---- */

static uint64_t capacity(uint32_t k, uint32_t levels)
{
  uint64_t sum = 0;
  for (uint32_t depth = 0; depth < levels; depth++) {
    double exact = k * pow(2.0 / 3, depth);
    sum += exact < 8 ? 8 : (uint64_t)floor(exact + 0.5);
  }
  return sum;
}

static void check_levels(struct specimen *specimen, uint64_t count)
{
  const struct ps_kll *kll = kll_in(specimen);
  const struct ps_levels *levels = &kll->levels;
  uint64_t weight = 0;
  CHECK(kll->count == count && levels->start[levels->n] == levels->room);
  CHECK(ps_levels_size(levels) <= capacity(kll->k, levels->n));
  CHECK(levels->n == 1 || ps_level_size(levels, levels->n - 1) > 0);
  CHECK(kll->sketch.held <= capacity(kll->k, PS_LEVELS_MAX) * 24);
  for (uint32_t h = 0; h < levels->n; h++) {
    weight += (uint64_t)ps_level_size(levels, h) << h;
    for (uint32_t i = levels->start[h] + 1; h > 0 && i < levels->start[h + 1]; i++) {
      CHECK(levels->items[i - 1] <= levels->items[i]);
    }
    for (uint32_t i = levels->start[h]; i < levels->start[h + 1]; i++) {
      double x = ps_order_value(levels->items[i]);
      CHECK(x >= kll->min && x <= kll->max);
    }
  }
  CHECK_WITH(weight == count, "%ju", (uintmax_t)weight);
}

/* Adds one or many values, weights of up to so many bits, copies of another and of itself. */
static void check_walk(uint32_t k, int steps, unsigned bits)
{
  struct specimen specimen, other, decoded;
  struct ps_error error;
  uint64_t count = 0, others = 0;
  make_kll(&specimen, k, 1);
  make_kll(&other, k, 2);
  for (int i = 0; i < steps; i++) {
    double values[300];
    uint64_t weights[300], choice = test_random(&chance) % 8, total = 0;
    size_t n = (size_t)(choice < 4 ? 1 : test_random(&chance) % 300);
    for (size_t j = 0; j < n; j++) {
      values[j] = (double)(int64_t)test_random(&chance) * 0x1p-40;
      weights[j] = test_random(&chance) >> (64 - bits) >> test_random(&chance) % bits;
      total += weights[j];
    }
    if (choice == 0 && count < PS_COUNT_MAX / 4) {
      merge(&specimen, &specimen);
      count *= 2;
    } else if (choice == 1 && count < PS_COUNT_MAX / 4) {
      merge(&specimen, &other);
      count += others;
    } else if (choice % 2 == 0) {
      add(&specimen, values, NULL, n);
      count += n;
    } else {
      add(&other, values, weights, n);
      others += total;
    }
    check_levels(&specimen, count);
    check_levels(&other, others);
  }
  struct bytes bytes = encode(sketch_in(&specimen));
  CHECK(decode(&decoded, bytes, &error) == PS_OK);
  CHECK(ps_equal(sketch_in(&decoded), sketch_in(&specimen)));
  CHECK(decoded.any.sketch.held == specimen.any.sketch.held);
  free(bytes.at);
  discard(&decoded);
  discard(&other);
  discard(&specimen);
}

static void walks(void)
{
  static const uint32_t ks[] = {8, 9, 13, 200, 3000};
  for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
    for (unsigned bits = 1; bits <= 33; bits += 16) {
      test_about("k = %u, weights of %u bits", ks[i], bits);
      check_walk(ks[i], 400, bits);
    }
  }
  promise("levels hold what was added, in order and within their capacity");
}

static void one_weight(void)
{
  for (unsigned bits = 1; bits <= 53; bits++) {
    struct specimen specimen;
    const uint64_t weight = (UINT64_C(1) << bits) - 1;
    test_about("a weight of %u bits", bits);
    make_kll(&specimen, 8, 0);
    for (uint64_t sum = weight; sum <= PS_COUNT_MAX && sum < 100 * weight; sum += weight) {
      const double x = (double)sum;
      add(&specimen, &x, &weight, 1);
      check_levels(&specimen, sum);
    }
    discard(&specimen);
  }
  promise("a weight comes to the levels of its bits");
}

/* ---- many values ---- */

static void many(void)
{
  static double values[100000];
  struct specimen specimen;
  make_kll(&specimen, 200, 0);
  for (size_t i = 0; i < 100000; i++) {
    values[i] = (double)(i * 7919 % 100000);
  }
  for (int i = 0; i < 1000; i++) {
    add(&specimen, values, NULL, 100000);
  }
  check_levels(&specimen, 100000000);
  CHECK(kll_in(&specimen)->levels.n <= 21);
  CHECK(specimen.any.sketch.held <= capacity(200, 21) * 24);
  CHECK(ps_kll_quantiles.sum(sketch_in(&specimen)) == 1e8 * 99999 / 2);
  discard(&specimen);
  promise("10^8 values take 17 KB");
}

/* ---- sums ---- */

/* Whole numbers of 2^-41 and either sign, whose sum is known. */
static void sums(void)
{
  for (int round = 0; round < 20; round++) {
    struct specimen specimen, part;
    double magnitudes = 0;
    int64_t units = 0;
    make_kll(&specimen, 8, 0);
    for (int i = 0; i < 100; i++) {
      make_kll(&part, 8, 0);
      for (int j = 0; j < 100; j++) {
        const int64_t x = (int64_t)test_random(&chance) >> (22 + test_random(&chance) % 30);
        const double value = (double)x * 0x1p-41;
        const uint64_t weight = 1 + test_random(&chance) % 5 * (j % 2 == 0);
        units += x * (int64_t)weight;
        magnitudes += fabs(value) * (double)weight;
        add(i % 3 == 0 ? &part : &specimen, &value, &weight, 1);
      }
      merge(&specimen, &part);
      discard(&part);
    }
    double truth = (double)units * 0x1p-41, sum = ps_kll_quantiles.sum(sketch_in(&specimen));
    CHECK_WITH(fabs(sum - truth) <= 0x1p-52 * (fabs(truth) + magnitudes), "%.17g, not %.17g", sum,
               truth);
    discard(&specimen);
  }
  promise("sums are within 2^-52 of the sum of the magnitudes");
}

/* ---- bytes ---- */

/* Value number i, one of few to 40 and never 0, and how often it comes. */
static double model_value(size_t i)
{
  return (double)(i * 37 % 41) - 50.25;
}

static uint64_t model_weight(size_t i, unsigned bits)
{
  return bits == 0 ? 1 : hash_of(i) >> (64 - bits);
}

static int ascending(const void *a, const void *b)
{
  double x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return (x > y) - (x < y);
}

/* Too few for a compaction: each value is on the levels of the bits of its weight. */
static void check_format(uint32_t k, size_t n, unsigned bits)
{
  struct specimen specimen;
  struct model model;
  double levels[54][64], min = 0, max = 0, sum = 0;
  uint32_t size[54] = {0}, highest = 0, items = 0;
  test_about("k = %u, %zu values of %u bits", k, n, bits);
  make_kll(&specimen, k, SEED);
  for (size_t i = 0; i < n; i++) {
    const double x = model_value(i);
    const uint64_t weight = model_weight(i, bits);
    add(&specimen, &x, &weight, 1);
    for (uint32_t h = 0; weight >> h > 0; h++) {
      if (weight >> h & 1) {
        levels[h][size[h]++] = x;
        highest = h > highest ? h : highest;
        items++;
      }
    }
    if (weight > 0) {
      min = sum == 0 || x < min ? x : min;
      max = sum == 0 || x > max ? x : max;
      sum += x * (double)weight;
    }
  }
  model_start(&model, 49, 0, 64 + 4 * (highest + 1) + 8 * items);
  model.hash = 0;
  ps_write(&model.writer, k, 4);
  struct ps_writer writer = ps_writer_over(model.payload.at, model.payload.size);
  const double numbers[] = {min, max, sum, 0};
  ps_write(&writer, 0, 8);
  ps_write(&writer, 0, 8);
  ps_write(&writer, 0, 8);
  for (size_t i = 0; i < 4; i++) {
    uint64_t number;
    memcpy(&number, &numbers[i], sizeof number);
    ps_write(&writer, number, 8);
  }
  ps_write(&writer, 0, 4);
  ps_write(&writer, highest + 1, 4);
  for (uint32_t h = 0; h <= highest; h++) {
    ps_write(&writer, size[h], 4);
  }
  for (uint32_t h = 0; h <= highest; h++) {
    qsort(levels[h], size[h], sizeof **levels, ascending);
    for (uint32_t i = 0; i < size[h]; i++) {
      uint64_t number;
      memcpy(&number, &levels[h][i], sizeof number);
      ps_write(&writer, number, 8);
    }
  }
  CHECK(!writer.failed && writer.at == writer.end);
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

static void format(void)
{
  check_format(8, 0, 0);
  check_format(8, 8, 0);
  check_format(200, 60, 0);
  check_format(200, 60, 4);
  check_format(200, 30, 20);
  check_format(8, 4, 40);
  promise("a kll is the levels of docs/FORMAT.md");
}

int main(void)
{
  walks();
  one_weight();
  many();
  sums();
  format();
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
