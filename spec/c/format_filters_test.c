/* The bytes of each filter, built anew after docs/FORMAT.md. */
#include <math.h>
#include <string.h>

#include "model.h"

/* ---- bloom ---- */

static void check_bloom(uint64_t bits, uint32_t hashes, size_t keys)
{
  struct specimen specimen;
  struct model model;
  struct variant variant = {"bloom", {{"bits", (double)bits}, {"hashes", hashes}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  double capacity = fmax(1, floor((double)bits * log(2) / hashes));
  model_start(&model, 1, 1, (size_t)((bits + 63) / 64 * 8));
  ps_write(&model.writer, bits, 8);
  ps_write(&model.writer, hashes, 4);
  ps_write(&model.writer, (uint64_t)capacity, 8);
  /* The rate is a result of pow(), whose last bit may be another elsewhere: it is taken over. */
  struct bytes bytes = encode(sketch_in(&specimen));
  ps_write(&model.writer, ps_load64(bytes.at + AT_FIELDS + 20), 8);
  free(bytes.at);
  for (size_t i = 0; i < keys; i++) {
    for (unsigned step = 0; step < hashes; step++) {
      uint64_t place = place_of(hash_of(i), step, bits);
      model.payload.at[place / 8] |= (unsigned char)(1u << place % 8);
    }
  }
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

/* ---- blocked_bloom ---- */

static void check_blocked_bloom(uint64_t capacity, double rate, uint64_t lines, size_t keys)
{
  struct specimen specimen;
  struct model model;
  struct variant variant = {"blocked_bloom", {{"capacity", (double)capacity}, {"fp_rate", rate}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  model_start(&model, 2, 1, (size_t)lines * 64);
  ps_write(&model.writer, lines, 8);
  ps_write(&model.writer, capacity, 8);
  model_double(&model, rate);
  for (size_t i = 0; i < keys; i++) {
    uint64_t hash = hash_of(i), product = hash * STEP;
    unsigned char *line = model.payload.at + test_multiply_high(hash, lines) * 64;
    for (unsigned lane = 0; lane < 8; lane++) {
      unsigned bit = product >> (16 + 6 * lane) & 63;
      line[8 * lane + bit / 8] |= (unsigned char)(1u << bit % 8);
    }
  }
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

/* ---- scalable_bloom ---- */

struct layer {
  uint64_t bits, most, ones;
  unsigned hashes;
  unsigned char *at; /* of its bits, in the payload */
};

static bool layer_bit(const struct layer *layer, uint64_t hash, unsigned step, bool set)
{
  uint64_t place = place_of(hash, step, layer->bits);
  unsigned char mask = (unsigned char)(1u << place % 8);
  bool was = (layer->at[place / 8] & mask) != 0;
  layer->at[place / 8] |= set ? mask : 0;
  return was;
}

static bool layer_has(const struct layer *layer, uint64_t hash)
{
  unsigned step = 0;
  while (step < layer->hashes && layer_bit(layer, hash, step, false)) {
    step++;
  }
  return step == layer->hashes;
}

/* The layer of an index, behind the bytes that the payload has so far. */
static struct layer layer_after(struct model *model, const double *c_p_g_t, unsigned index)
{
  double c = c_p_g_t[0], p = c_p_g_t[1] * (1 - c_p_g_t[3]);
  for (unsigned i = 0; i < index; i++) {
    c *= c_p_g_t[2];
    p *= c_p_g_t[3];
  }
  double n = floor(c) + ceil(sqrt(floor(c))), m = ceil(-n * log(p) / (log(2) * log(2)));
  struct layer layer = {.bits = (uint64_t)fmax(1024, m)};
  layer.hashes = (unsigned)fmax(1, floor(m / n * log(2) + 0.5));
  layer.most = (uint64_t)((double)layer.bits * pow(p, 1.0 / layer.hashes));
  layer.at = model->payload.at + model->payload.size + 8;
  ps_store64(layer.at - 8, index);
  model->payload.size += 8 + (size_t)(layer.bits + 63) / 64 * 8;
  return layer;
}

static void model_add(struct model *model, const double *c_p_g_t, struct layer *layers, unsigned *n,
                      uint64_t hash)
{
  for (unsigned i = 0; i < *n; i++) {
    if (layer_has(&layers[i], hash)) {
      return;
    }
  }
  struct layer *last = &layers[*n - 1];
  if (last->ones + last->hashes > last->most) {
    last = &layers[*n];
    *last = layer_after(model, c_p_g_t, (*n)++);
  }
  for (unsigned step = 0; step < last->hashes; step++) {
    last->ones += !layer_bit(last, hash, step, true);
  }
}

#define PAYLOAD_MAX ((size_t)1 << 20)

static void check_scalable_bloom(double capacity, double rate, double growth, double tightening,
                                 size_t keys, unsigned expected)
{
  const double c_p_g_t[] = {capacity, rate, growth, tightening};
  struct specimen specimen;
  struct model model;
  struct layer layers[64];
  unsigned n = 0;
  struct variant variant = {
      "scalable_bloom",
      {{"capacity", capacity}, {"fp_rate", rate}, {"growth", growth}, {"tightening", tightening}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  model_start(&model, 3, 0, PAYLOAD_MAX);
  model.payload.size = 0;
  ps_write(&model.writer, (uint64_t)capacity, 8);
  for (unsigned i = 1; i < 4; i++) {
    model_double(&model, c_p_g_t[i]);
  }
  layers[n] = layer_after(&model, c_p_g_t, 0);
  n++;
  for (size_t i = 0; i < keys; i++) {
    model_add(&model, c_p_g_t, layers, &n, hash_of(i));
  }
  CHECK_WITH(n >= expected, "%u layers", n);
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

/* ---- counting_bloom ---- */

static unsigned cell(const unsigned char *payload, uint64_t i, unsigned width)
{
  unsigned x = 0;
  for (unsigned bit = 0; bit < width; bit++) {
    uint64_t at = i * width + bit;
    x |= (unsigned)(payload[at / 8] >> at % 8 & 1) << bit;
  }
  return x;
}

static void set_cell(unsigned char *payload, uint64_t i, unsigned width, unsigned x)
{
  for (unsigned bit = 0; bit < width; bit++) {
    uint64_t at = i * width + bit;
    unsigned byte = payload[at / 8] & ~(1u << at % 8);
    payload[at / 8] = (unsigned char)(byte | (x >> bit & 1) << at % 8);
  }
}

/* One more in each counter of a key, once where places coincide. */
static void count_cells(unsigned char *payload, uint64_t bits, uint32_t hashes, unsigned width,
                        uint64_t hash)
{
  for (unsigned step = 0; step < hashes; step++) {
    uint64_t place = place_of(hash, step, bits);
    bool counted = false;
    for (unsigned before = 0; before < step; before++) {
      counted |= place_of(hash, before, bits) == place;
    }
    unsigned x = cell(payload, place, width), most = (1u << width) - 1;
    set_cell(payload, place, width, x + (!counted && x < most));
  }
}

static void check_counting_bloom(uint64_t capacity, double rate, unsigned width, uint64_t bits,
                                 uint32_t hashes, size_t keys)
{
  struct specimen specimen;
  struct model model;
  struct variant variant = {
      "counting_bloom",
      {{"capacity", (double)capacity}, {"fp_rate", rate}, {"counter_bits", width}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  model_start(&model, 4, 1, (size_t)((bits * width + 63) / 64 * 8));
  ps_write(&model.writer, bits, 8);
  ps_write(&model.writer, hashes, 4);
  ps_write(&model.writer, width, 1);
  ps_write(&model.writer, capacity, 8);
  model_double(&model, rate);
  for (size_t i = 0; i < keys; i++) {
    count_cells(model.payload.at, bits, hashes, width, hash_of(i));
  }
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

/* ---- cuckoo ---- */

struct slots {
  uint64_t half, fingerprints[1 << 16];
  unsigned bucket_size, bits, spare, doublings;
};

static unsigned taken(const struct slots *slots, uint64_t bucket)
{
  unsigned n = 0;
  while (n < slots->bucket_size && slots->fingerprints[bucket * slots->bucket_size + n] != 0) {
    n++;
  }
  return n;
}

static void put_in(struct slots *slots, uint64_t bucket, uint64_t fingerprint)
{
  unsigned slot = taken(slots, bucket);
  CHECK(slot < slots->bucket_size);
  slots->fingerprints[bucket * slots->bucket_size + slot] = fingerprint;
}

static uint64_t distance(const struct slots *slots, uint64_t fingerprint)
{
  uint64_t kept = UINT64_C(1) << (slots->bits - slots->spare);
  uint64_t x = fingerprint % kept * UINT64_C(0xbf58476d1ce4e5b9);
  return test_multiply_high((x ^ x >> 27) * UINT64_C(0x94d049bb133111eb), slots->half);
}

/* As long as nothing has to move. */
static void put_key(struct slots *slots, uint64_t hash)
{
  uint64_t x = hash * slots->half >> (64 - slots->bits), kept = slots->bits - slots->spare;
  uint64_t fingerprint = x % (UINT64_C(1) << kept) == 0 ? x + 1 : x;
  uint64_t home = test_multiply_high(hash, slots->half), far = distance(slots, fingerprint);
  uint64_t parts = UINT64_C(1) << slots->doublings;
  uint64_t carried = (home / parts + far / parts) % (slots->half / parts);
  uint64_t other = slots->half + carried * parts + (home % parts ^ far % parts);
  put_in(slots, taken(slots, home) <= taken(slots, other) ? home : other, fingerprint);
}

static void split_buckets(struct slots *slots)
{
  static struct slots before;
  before = *slots;
  memset(slots->fingerprints, 0, sizeof slots->fingerprints);
  slots->half *= 2;
  slots->bits--;
  slots->spare--;
  slots->doublings++;
  for (uint64_t i = 0; i < before.half * 2 * before.bucket_size; i++) {
    uint64_t fingerprint = before.fingerprints[i], bucket = i / before.bucket_size;
    uint64_t first = fingerprint >> slots->bits, rest = fingerprint - (first << slots->bits);
    if (fingerprint != 0) {
      uint64_t right = bucket < before.half ? 0 : distance(slots, rest) % 2;
      put_in(slots, 2 * bucket + (first ^ right), rest);
    }
  }
}

static void pack(const struct slots *slots, struct bytes payload)
{
  for (size_t i = 0; i < 2 * slots->half * slots->bucket_size; i++) {
    for (unsigned bit = 0; bit < slots->bits; bit++) {
      size_t at = i * slots->bits + bit;
      payload.at[at / 8] |= (unsigned char)((slots->fingerprints[i] >> bit & 1) << at % 8);
    }
  }
}

static void check_cuckoo(double capacity, double rate, unsigned bucket_size, uint64_t buckets,
                         unsigned bits, bool grows, size_t keys, unsigned doublings)
{
  static struct slots slots;
  struct specimen specimen;
  struct model model;
  struct variant variant = {"cuckoo",
                            {{"capacity", capacity},
                             {"fp_rate", rate},
                             {"bucket_size", bucket_size},
                             {"growth", grows ? 2 : 0}}};
  about_variant(&variant, keys);
  make(&specimen, &variant, SEED);
  add_keys(sketch_in(&specimen), 0, keys);
  slots = (struct slots){.half = buckets / 2, .bucket_size = bucket_size};
  slots.bits = bits;
  slots.spare = grows ? 16 : 0;
  for (size_t i = 0; i < keys; i++) {
    double room = 0.95 * (double)(2 * slots.half * bucket_size) - 21;
    if (grows && (double)i >= fmax(2 * bucket_size, floor(room))) {
      split_buckets(&slots);
    }
    put_key(&slots, hash_of(i));
  }
  size_t size = ((size_t)slots.half * 2 * bucket_size * slots.bits / 8 + 8 + 7) / 8 * 8;
  CHECK(slots.doublings == doublings);
  model_start(&model, 5, grows ? 0 : 1, size);
  ps_write(&model.writer, buckets, 8);
  ps_write(&model.writer, bucket_size, 1);
  ps_write(&model.writer, bits, 1);
  ps_write(&model.writer, grows ? 2 : 0, 1);
  ps_write(&model.writer, (uint64_t)capacity, 8);
  model_double(&model, rate);
  pack(&slots, model.payload);
  check_model(sketch_in(&specimen), &model);
  discard(&specimen);
}

int main(void)
{
  check_bloom(1, 1, 0);
  check_bloom(64, 2, 1);
  check_bloom(65, 64, 1);
  check_bloom(10007, 5, 700);
  check_bloom(UINT64_C(9) << 20, 7, 5000);
  promise("a bloom filter is the bits of docs/FORMAT.md");
  check_blocked_bloom(1, 0.5, 1, 0);
  check_blocked_bloom(50, 0.01, 1, 1);
  check_blocked_bloom(51, 0.01, 2, 700);
  check_blocked_bloom(1000, 0.01, 20, 700);
  check_blocked_bloom(1000000, 0.01, 19726, 5000);
  promise("a blocked bloom filter is the lines of docs/FORMAT.md");
  check_scalable_bloom(100, 0.01, 2, 0.5, 0, 1);
  check_scalable_bloom(100, 0.01, 2, 0.5, 5000, 6);
  check_scalable_bloom(1, 1e-15, 1, 0.1, 45, 4);
  check_scalable_bloom(7, 0.9, 1.5, 0.9, 5000, 4);
  check_scalable_bloom(33, 1e-6, 16, 0.3, 5000, 3);
  promise("a scalable bloom filter is the layers of docs/FORMAT.md");
  check_counting_bloom(1, 0.01, 4, 1024, 7, 0);
  check_counting_bloom(1, 0.01, 4, 1024, 7, 700);
  check_counting_bloom(1, 0.01, 4, 1024, 7, 5000);
  check_counting_bloom(1, 0.01, 8, 1024, 7, 5000);
  check_counting_bloom(110, 0.01, 4, 1055, 7, 200);
  check_counting_bloom(1000, 1e-15, 8, 71888, 50, 700);
  check_counting_bloom(1000, 0.5, 16, 1443, 1, 5000);
  check_counting_bloom(1000000, 0.01, 4, 9585059, 7, 5000);
  promise("a counting bloom filter is the counters of docs/FORMAT.md");
  check_cuckoo(1, 0.01, 4, 2, 8, false, 1, 0);
  check_cuckoo(1000, 0.01, 4, 270, 10, false, 300, 0);
  check_cuckoo(1000, 1e-10, 2, 652, 35, false, 200, 0);
  check_cuckoo(10000, 0.001, 8, 1284, 14, false, 5000, 0);
  check_cuckoo(1, 0.01, 4, 2, 26, true, 2, 0);
  check_cuckoo(1, 0.01, 4, 2, 26, true, 30, 3);
  check_cuckoo(20, 0.01, 4, 12, 26, true, 100, 2);
  promise("a cuckoo filter is the slots of docs/FORMAT.md");
  return test_end();
}
