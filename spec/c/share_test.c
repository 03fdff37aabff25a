/* Sketches that processes and threads change at the same time: of what each adds nothing is lost,
 * to the byte, and whoever reads meanwhile sees a state that decodes. Threads work on one region at
 * one address, so that a thread sanitizer (make tsan) sees all that they do to it.
 *
 * share_test campaign (make hammer) adds fifty times as much. */
#include <pthread.h>
#include <sys/stat.h>

#include "quantile/quantile.h"
#include "shares.h"

/* Small, so that all meet in few cells; of counters all widths, and some that saturate. */
static const struct variant shared_variants[] = {
    {"bloom", {{"bits", 10007}, {"hashes", 5}}},
    {"bloom", {{"capacity", 1e6}}},
    {"blocked_bloom", {{"capacity", 1000}}},
    {"blocked_bloom", {{"capacity", 1e6}}},
    {"counting_bloom", {{"capacity", 100}}},
    {"counting_bloom", {{"capacity", 100}, {"counter_bits", 8}}},
    {"counting_bloom", {{"capacity", 1000}, {"counter_bits", 16}}},
    {"count_min", {{"width", 61}, {"depth", 5}}},
    {"count_min", {{"width", 61}, {"depth", 3}, {"counter_bits", 64}}},
    {"count_min", {{"width", 2719}, {"depth", 2}, {"counter_bits", 16}}},
    {"count_min", {{"width", 1009}, {"depth", 1}, {"counter_bits", 8}}},
    {"hyperloglog", {{"precision", 4}}},
    {"hyperloglog", {{"precision", 14}}},
    {"minhash", {{"hashes", 7}}},
    {"minhash", {{"hashes", 128}}},
    {"ddsketch", {{"relative_accuracy", 0.5}, {"min_value", 1}, {"max_value", 1.1}}},
    {"ddsketch", {{"min_value", 0.1}, {"max_value", 60000}}},
};
#define SHARED_VARIANTS (sizeof shared_variants / sizeof *shared_variants)

static uint64_t seed_for(const struct variant *v)
{
  return is_seeded(v) ? 7 : 0;
}

/* ---- what workers do ---- */

enum { BATCH = 50 };

/* Adds hashes, or a value for each with a weight from 0 to 3. */
static void add_to_it(struct ps_sketch *sketch, const uint64_t hashes[BATCH])
{
  size_t changed;
  struct ps_error error;
  if (sketch->kind->add_hashes != NULL) {
    sketch->kind->add_hashes(sketch, hashes, BATCH, &changed, &error);
    return;
  }
  double values[BATCH];
  uint64_t weights[BATCH];
  for (size_t i = 0; i < BATCH; i++) {
    values[i] = value_of(hashes[i]);
    weights[i] = hashes[i] >> 62;
  }
  sketch->kind->add_values(sketch, values, weights, BATCH, &changed, &error);
}

/* The hashes of each worker: half of them are its own, half are everybody's. */
static void work(struct ps_sketch *sketch, unsigned worker, uint64_t n)
{
  uint64_t hashes[BATCH], state = worker, common = 99;
  bool found[BATCH];
  for (uint64_t done = 0; done < n; done += BATCH) {
    for (size_t i = 0; i < BATCH; i++) {
      hashes[i] = test_random(i % 2 == 0 ? &state : &common);
    }
    add_to_it(sketch, hashes);
    if (sketch->kind->has_hashes != NULL) {
      sketch->kind->has_hashes(sketch, hashes, BATCH, found);
      for (size_t i = 0; i < BATCH; i++) {
        if (!found[i]) {
          printf("# worker %u misses what it has added\n", worker);
          exit(EXIT_FAILURE);
        }
      }
    }
  }
}

/* A private sketch with the work of all of them, dense if it has forms. */
static void make_whole(struct specimen *whole, const struct variant *v, uint64_t n)
{
  make(whole, v, seed_for(v));
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    work(sketch_in(whole), worker, n);
  }
}

static void check_same(const struct ps_sketch *shared, struct specimen *whole)
{
  struct specimen copy;
  struct bytes expected = encode(sketch_in(whole)), got = encode(shared);
  CHECK(same_bytes(expected, got));
  CHECK(ps_count(shared) == ps_count(sketch_in(whole)));
  copy_into(&copy, shared);
  CHECK(ps_equal(sketch_in(&copy), sketch_in(whole)));
  CHECK(ps_count(sketch_in(&copy)) == ps_count(sketch_in(whole)));
  discard(&copy);
  free(expected.at);
  free(got.at);
}

/* ---- processes ---- */

static void check_processes(const struct variant *v, uint64_t n)
{
  struct specimen empty, whole;
  struct shared shared;
  pid_t children[WORKERS];
  const char *path = file_name("processes");
  make(&empty, v, seed_for(v));
  test_about("%s, %g and %g", v->kind, v->options[0].value, v->options[1].value);
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    children[worker] = fork();
    if (children[worker] == 0) {
      must_share(&shared, path, sketch_in(&empty));
      work(&shared.any.sketch, worker, n);
      _exit(0);
    }
  }
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    CHECK(ended_well(children[worker]));
  }
  make_whole(&whole, v, n);
  must_share(&shared, path, sketch_in(&empty));
  check_same(&shared.any.sketch, &whole);
  ps_pages_unmap(&shared.pages);
  CHECK(unlink(path) == 0);
  discard(&empty);
  discard(&whole);
}

/* ---- threads ---- */

struct task {
  pthread_t thread;
  const struct ps_sketch *empty;
  const char *region;
  unsigned worker;
  uint64_t n;
  bool *stop;
};

static void *work_in_thread(void *argument)
{
  struct task *task = argument;
  struct shared shared;
  must_share(&shared, task->region, task->empty);
  work(&shared.any.sketch, task->worker, task->n);
  return NULL;
}

/* Quantiles are numbers that never fall, from the least to the largest value. */
static void check_quantiles(const struct ps_sketch *sketch)
{
  const struct ps_quantile_kind *ask = sketch->kind->quantiles;
  if (ask == NULL || ps_count(sketch) == 0) {
    return;
  }
  double last = ask->min(sketch);
  CHECK(isfinite(last) && isfinite(ask->max(sketch)));
  CHECK(last <= ask->mean(sketch) && ask->mean(sketch) <= ask->max(sketch));
  for (int i = 0; i <= 8; i++) {
    double x = ask->quantile(sketch, i / 8.0), rank = ask->rank(sketch, x);
    CHECK_WITH(last <= x && x <= ask->max(sketch), "%g behind %g", x, last);
    CHECK_WITH(rank >= 0 && rank <= 1, "%g", rank);
    last = x;
  }
}

/* Copies and bytes that are taken meanwhile are whole, and counts never fall. */
static void read_meanwhile(const char *region, const struct ps_sketch *empty, bool *stop)
{
  uint64_t before = 0, n = 0;
  struct shared shared;
  must_share(&shared, region, empty);
  const struct ps_sketch *sketch = &shared.any.sketch;
  do {
    struct specimen copy, decoded;
    struct ps_error error = {PS_OK, ""};
    copy_into(&copy, sketch);
    struct bytes bytes = n % 2 == 0 ? encode(sketch) : encode_in_pieces(sketch, PS_PAGED, 1000);
    CHECK_WITH(decode(&decoded, bytes, &error) == PS_OK, "%s", error.message);
    const uint64_t count = ps_count(sketch_in(&copy)), later = ps_count(sketch_in(&decoded));
    /* Of a minhash whose first token is half in, the estimate need not rise. */
    CHECK_WITH((before <= count && count <= later && later <= ps_count(sketch)) ||
                   strcmp(sketch->kind->name, "minhash") == 0,
               "%d", (int)n);
    before = count;
    check_quantiles(sketch_in(&copy));
    discard(&copy);
    discard(&decoded);
    free(bytes.at);
    n++;
  } while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE));
}

static void *wait_for_all(void *argument)
{
  struct task *tasks = argument;
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    pthread_join(tasks[worker].thread, NULL);
  }
  __atomic_store_n(tasks[0].stop, true, __ATOMIC_RELEASE);
  return NULL;
}

static void check_threads(const struct variant *v, uint64_t n)
{
  static int regions;
  char region[32];
  bool stop = false;
  struct specimen empty, whole;
  struct shared shared;
  struct task tasks[WORKERS];
  pthread_t waiter;
  snprintf(region, sizeof region, "region %d", regions++);
  make(&empty, v, seed_for(v));
  test_about("%s, %g and %g", v->kind, v->options[0].value, v->options[1].value);
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    tasks[worker] = (struct task){0, sketch_in(&empty), region, worker, n, &stop};
    if (pthread_create(&tasks[worker].thread, NULL, work_in_thread, &tasks[worker]) != 0) {
      bail_out("no thread");
    }
  }
  if (pthread_create(&waiter, NULL, wait_for_all, tasks) != 0) {
    bail_out("no thread");
  }
  read_meanwhile(region, sketch_in(&empty), &stop);
  pthread_join(waiter, NULL);
  make_whole(&whole, v, n);
  must_share(&shared, region, sketch_in(&empty));
  check_same(&shared.any.sketch, &whole);
  shared.any.sketch.kind->clear(&shared.any.sketch);
  CHECK(ps_count(&shared.any.sketch) == 0);
  discard(&empty);
  discard(&whole);
}

/* ---- the bytes of a live sketch ---- */

static struct bytes bytes_of_file(const char *path)
{
  struct stat state;
  FILE *file = fopen(path, "rb");
  if (file == NULL || fstat(fileno(file), &state) != 0) {
    bail_out("no file");
  }
  struct bytes bytes = {test_allocate((size_t)state.st_size), (size_t)state.st_size};
  if (fread(bytes.at, 1, bytes.size, file) != bytes.size) {
    bail_out("a short file");
  }
  fclose(file);
  return bytes;
}

/* Decoded they are what the sketch encodes, from before and after it was shared; and what no such
 * sketch can be is refused. */
static void check_live_bytes(const struct variant *v, size_t before)
{
  struct specimen first, decoded;
  struct shared shared;
  struct ps_error error = {PS_OK, ""};
  const char *path = file_name("live");
  make_seeded(&first, v, seed_for(v), before);
  test_about("%s after %zu keys", v->kind, before);
  must_share(&shared, path, sketch_in(&first));
  add_keys(&shared.any.sketch, 100000, 5000);
  add_keys(sketch_in(&first), 100000, 5000);
  struct bytes live = bytes_of_file(path), expected = encode(&shared.any.sketch);
  CHECK(live.at[7] == (PS_HEADER_FLAT | PS_HEADER_LIVE));
  CHECK_WITH(decode(&decoded, live, &error) == PS_OK, "%s", error.message);
  CHECK(still(sketch_in(&decoded), expected));
  CHECK(ps_count(sketch_in(&decoded)) == ps_count(&shared.any.sketch));
  CHECK(ps_count(&shared.any.sketch) == ps_count(sketch_in(&first)));
  discard(&decoded);
  live.at[7] = PS_HEADER_LIVE; /* not flat */
  reseal(live);
  CHECK(decode(&decoded, live, &error) == PS_ERR_CORRUPT);
  ps_pages_unmap(&shared.pages);
  unlink(path);
  free(live.at);
  free(expected.at);
  discard(&first);
}

static void check_bad_registers(void)
{
  const struct variant v = {"hyperloglog", {{"precision", 4}}};
  struct specimen empty, decoded;
  struct shared shared;
  struct ps_error error;
  make(&empty, &v, 7);
  must_share(&shared, file_name("live"), sketch_in(&empty));
  for (unsigned rank = 0; rank < 256; rank++) {
    struct bytes live = bytes_of_file(file_name("live"));
    live.at[PS_PAGE_SIZE + 3] = (unsigned char)rank;
    enum ps_status status = decode(&decoded, live, &error);
    CHECK_WITH(status == (rank <= 61 ? PS_OK : PS_ERR_CORRUPT), "rank %u", rank);
    if (status == PS_OK) {
      discard(&decoded);
    }
    free(live.at);
  }
  ps_pages_unmap(&shared.pages);
  unlink(file_name("live"));
  discard(&empty);
}

/* ---- any bytes ---- */

static void fill_with_anything(unsigned char *payload, size_t size, uint64_t *state)
{
  static const unsigned char bytes[] = {0, 1, 0x7f, 0x80, 0xf0, 0xff};
  unsigned char word[8];
  for (size_t at = 0; at < size; at += sizeof word) {
    const uint64_t x = test_random(state);
    switch (x % 4) {
    case 0:
      memset(word, bytes[(x >> 32) % sizeof bytes], sizeof word);
      break;
    case 1:
      ps_store64(word, x >> (x >> 8) % 64);
      break;
    default:
      ps_store64(word, 0);
    }
    memcpy(payload + at, word, size - at < sizeof word ? size - at : sizeof word);
  }
}

/* What is told of it are numbers. */
static void on_integer(struct ps_report *report, const char *name, uint64_t x)
{
  (void)report;
  CHECK_WITH(x <= PS_COUNT_MAX, "%s", name);
}

static void on_number(struct ps_report *report, const char *name, double x)
{
  (void)report;
  CHECK_WITH(isfinite(x), "%s", name);
}

static void on_boolean(struct ps_report *report, const char *name, bool x)
{
  (void)report;
  (void)name;
  (void)x;
}

/* A copy of anything answers, and merges, and what it encodes is a sketch or is refused; one of
 * values is always a sketch. The memory has no byte more than was asked for. */
static void check_anything(const struct variant *v, uint64_t *state)
{
  struct specimen empty, copy, decoded;
  struct ps_report report = {on_integer, on_number, on_boolean, NULL};
  struct ps_error error = {PS_OK, ""};
  union ps_any_sketch any;
  make(&empty, v, seed_for(v));
  test_about("%s of anything", v->kind);
  const struct ps_kind *kind = sketch_in(&empty)->kind;
  ps_plan_copy(&any.sketch, sketch_in(&empty));
  const size_t size = (size_t)ps_shared_size(&any.sketch);
  unsigned char *payload = test_allocate(size);
  fill_with_anything(payload, size, state);
  ps_join(&any.sketch, payload, &test_source);
  ps_count(&any.sketch);
  ps_report_on(&any.sketch, &report);
  copy_into(&copy, &any.sketch);
  check_quantiles(sketch_in(&copy));
  struct bytes bytes = encode(&any.sketch);
  enum ps_status status = decode(&decoded, bytes, &error);
  CHECK_WITH(status == PS_OK || (kind->quantiles == NULL && status == PS_ERR_CORRUPT), "%s",
             error.message);
  if (status == PS_OK) {
    CHECK(still(sketch_in(&copy), bytes));
    CHECK(ps_count(&any.sketch) == ps_count(sketch_in(&decoded)));
    CHECK(ps_merge(sketch_in(&empty), sketch_in(&copy), &error) == PS_OK);
    struct bytes merged = encode(sketch_in(&empty));
    discard(&decoded);
    CHECK_WITH(decode(&decoded, merged, &error) == PS_OK, "%s", error.message);
    discard(&decoded);
    free(merged.at);
  }
  add_keys(&any.sketch, 0, 1000);
  kind->clear(&any.sketch);
  CHECK(ps_count(&any.sketch) == 0);
  free(bytes.at);
  free(payload);
  discard(&copy);
  discard(&empty);
}

int main(int argc, char **argv)
{
  const bool thorough = argc > 1 && strcmp(argv[1], "campaign") == 0;
  const bool quick = argc > 1 && strcmp(argv[1], "threads") == 0;
  const uint64_t n = thorough ? 10000000 : 200000;
  make_directory(fast_place());
  for (size_t i = 0; i < SHARED_VARIANTS; i++) {
    check_threads(&shared_variants[i], quick ? 20000 : n / 10);
  }
  promise("what threads add is all there, and what is read meanwhile is whole");
  for (size_t i = 0; i < SHARED_VARIANTS; i++) {
    check_live_bytes(&shared_variants[i], 0);
    check_live_bytes(&shared_variants[i], 20000);
  }
  promise("the bytes of a file that is shared decode");
  check_bad_registers();
  promise("registers that are none are refused");
  for (size_t i = 0; i < SHARED_VARIANTS; i++) {
    uint64_t state = i;
    for (int trial = 0; trial < 50; trial++) {
      check_anything(&shared_variants[i], &state);
    }
  }
  promise("whatever is in memory that is shared, nothing goes wrong but the answers");
  if (!quick) {
    for (size_t i = 0; i < SHARED_VARIANTS; i++) {
      check_processes(&shared_variants[i], n);
    }
    promise("what processes add to a file is all there");
  }
  CHECK(rmdir(directory) == 0);
  promise("nothing is left behind");
  return test_end();
}
