/* The bytes of each kind, built anew after docs/FORMAT.md by models that share nothing with the
 * sketches but the hash: what one machine writes, every other reads. */
#include <math.h>
#include <string.h>

#include "frequency/count_min.h"
#include "sketches.h"

#define SEED UINT64_C(0x0012345678abcdef)
#define STEP UINT64_C(0xf1357aea2e62a9c5)

/* ---- the envelope ---- */

struct model {
  unsigned kind, flags;
  unsigned char fields[64];
  struct ps_writer writer; /* over the fields */
  struct bytes payload;
};

static void model_start(struct model *model, unsigned kind, unsigned flags, size_t payload_size)
{
  *model = (struct model){.kind = kind, .flags = flags};
  model->writer = ps_writer_over(model->fields, sizeof model->fields);
  model->payload = (struct bytes){test_allocate(payload_size), payload_size};
  memset(model->payload.at, 0, payload_size);
}

static void model_double(struct model *model, double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  ps_write(&model->writer, bits, 8);
}

static struct bytes model_bytes(const struct model *model)
{
  const size_t n = (size_t)(model->writer.at - model->fields), start = 40 + n;
  struct bytes bytes = {test_allocate(start + model->payload.size + 8),
                        start + model->payload.size + 8};
  struct ps_writer writer = ps_writer_over(bytes.at, bytes.size);
  const unsigned char head[] = {
      0x8f, 'P', 'S', 'K', 1, (unsigned char)model->kind, 1, (unsigned char)model->flags};
  for (size_t i = 0; i < sizeof head; i++) {
    ps_write(&writer, head[i], 1);
  }
  ps_write(&writer, start, 4);
  ps_write(&writer, n, 4);
  ps_write(&writer, model->payload.size, 8);
  ps_write(&writer, SEED, 8);
  for (size_t i = 0; i < n; i++) {
    ps_write(&writer, model->fields[i], 1);
  }
  ps_write(&writer, ps_hash(bytes.at, 32 + n, 0), 8);
  for (size_t i = 0; i < model->payload.size; i++) {
    ps_write(&writer, model->payload.at[i], 1);
  }
  ps_write(&writer, ps_hash(model->payload.at, model->payload.size, 0), 8);
  return bytes;
}

/* Are these the bytes of the sketch, and does it come back from them? */
static void check_model(const struct ps_sketch *sketch, const struct model *model)
{
  struct specimen decoded;
  struct ps_error error = {PS_OK, ""};
  struct bytes bytes = model_bytes(model);
  CHECK(still(sketch, bytes));
  enum ps_status status = decode(&decoded, bytes, &error);
  CHECK_WITH(status == PS_OK, "%s", error.message);
  if (status == PS_OK) {
    CHECK(ps_equal(sketch, sketch_in(&decoded)));
    discard(&decoded);
  }
  free(bytes.at);
  free(model->payload.at);
}

/* Where step number `step` of a hash falls among n places. */
static uint64_t place_of(uint64_t hash, unsigned step, uint64_t n)
{
  uint64_t h = hash | 1;
  for (unsigned i = 0; i < step; i++) {
    h *= STEP;
  }
  return test_multiply_high(h, n);
}

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
  return test_end();
}
