/* Kinds that own their memory, when there is none left: whichever request is refused, the call that
 * made it says so and has changed nothing, and the sketch works on. */
#include <string.h>

#include "sketches.h"

enum { SKETCH, OTHER, COPY, DECODED, SPECIMENS };

struct work {
  const struct variant *variant;
  struct specimen specimens[SPECIMENS];
};

static struct ps_sketch *sketch_of(struct work *work, int which)
{
  return sketch_in(&work->specimens[which]);
}

/* ---- the steps ---- */

typedef enum ps_status step(struct work *work, struct ps_error *error);

static enum ps_status construct(struct work *work, int which, struct ps_error *error)
{
  struct ps_options options = options_of(work->variant);
  struct ps_sketch *sketch = sketch_of(work, which);
  enum ps_status status = ps_plan(sketch, ps_kind_by_name(work->variant->kind), &options, error);
  return status != PS_OK ? status : ps_init(sketch, NULL, &test_source, error);
}

static enum ps_status construct_sketch(struct work *work, struct ps_error *error)
{
  return construct(work, SKETCH, error);
}

static enum ps_status construct_other(struct work *work, struct ps_error *error)
{
  return construct(work, OTHER, error);
}

static enum ps_status add(struct ps_sketch *sketch, uint64_t from, size_t n, struct ps_error *error)
{
  size_t changed;
  return add_batch(sketch, from, n, &changed, error);
}

static enum ps_status add_one(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, SKETCH), 0, 1, error);
}

static enum ps_status add_some(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, SKETCH), 0, 40, error);
}

static enum ps_status add_more(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, SKETCH), 30, 700, error);
}

static enum ps_status add_others(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, OTHER), 5000, 60, error);
}

static enum ps_status add_many_others(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, OTHER), 6000, 9000, error);
}

static enum ps_status add_to_copy(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, COPY), 20000, 100, error);
}

static enum ps_status add_to_decoded(struct work *work, struct ps_error *error)
{
  return add(sketch_of(work, DECODED), 30000, 3000, error);
}

static enum ps_status copy_sketch(struct work *work, struct ps_error *error)
{
  return ps_copy(sketch_of(work, COPY), sketch_of(work, SKETCH), NULL, error);
}

static enum ps_status decode_sketch(struct work *work, struct ps_error *error)
{
  struct bytes bytes = encode(sketch_of(work, SKETCH));
  enum ps_status status = decode(&work->specimens[DECODED], bytes, error);
  free(bytes.at);
  return status;
}

static enum ps_status merge_other(struct work *work, struct ps_error *error)
{
  return ps_merge(sketch_of(work, SKETCH), sketch_of(work, OTHER), error);
}

static enum ps_status merge_into_copy(struct work *work, struct ps_error *error)
{
  return ps_merge(sketch_of(work, COPY), sketch_of(work, OTHER), error);
}

static enum ps_status merge_copy(struct work *work, struct ps_error *error)
{
  return ps_merge(sketch_of(work, DECODED), sketch_of(work, COPY), error);
}

/* clear() cannot fail: when nothing can be given back, more is kept. */
static enum ps_status clear_copy(struct work *work, struct ps_error *error)
{
  (void)error;
  struct ps_sketch *copy = sketch_of(work, COPY);
  copy->kind->clear(copy);
  CHECK(copy->kind->count(copy) == 0);
  return PS_OK;
}

static enum ps_status release_decoded(struct work *work, struct ps_error *error)
{
  (void)error;
  discard(&work->specimens[DECODED]);
  return PS_OK;
}

static enum ps_status release_copy(struct work *work, struct ps_error *error)
{
  (void)error;
  discard(&work->specimens[COPY]);
  return PS_OK;
}

static step *const steps[] = {
    construct_sketch, add_one,     add_some,      decode_sketch, add_to_decoded,  construct_other,
    add_others,       merge_other, copy_sketch,   add_to_copy,   merge_copy,      add_many_others,
    merge_into_copy,  clear_copy,  add_to_copy,   release_copy,  release_decoded, add_more,
    merge_other,      copy_sketch, decode_sketch, merge_copy,    clear_copy,      add_to_decoded,
};

/* ---- what has to hold around each ---- */

struct snapshot {
  struct bytes bytes[SPECIMENS];
  size_t live;
};

static struct snapshot take_snapshot(struct work *work)
{
  struct snapshot snapshot = {.live = test_memory.live};
  for (int i = 0; i < SPECIMENS; i++) {
    if (sketch_of(work, i)->payload != NULL) {
      snapshot.bytes[i] = encode(sketch_of(work, i));
    }
  }
  return snapshot;
}

static void check_unchanged(struct work *work, const struct snapshot *before)
{
  CHECK(test_memory.live == before->live);
  for (int i = 0; i < SPECIMENS; i++) {
    bool open = sketch_of(work, i)->payload != NULL;
    CHECK(open == (before->bytes[i].at != NULL));
    CHECK(!open || still(sketch_of(work, i), before->bytes[i]));
  }
}

static void forget_snapshot(struct snapshot *snapshot)
{
  for (int i = 0; i < SPECIMENS; i++) {
    free(snapshot->bytes[i].at);
  }
}

/* Takes a step; if it is refused, once more. True if it was. */
static bool take_step(struct work *work, step *next)
{
  struct ps_error error = {PS_OK, ""};
  struct snapshot before = take_snapshot(work);
  enum ps_status status = next(work, &error);
  bool refused = status != PS_OK;
  if (refused) {
    CHECK_WITH(status == PS_ERR_MEMORY && error.status == status, "%s", ps_status_code(status));
    CHECK(error.message[0] != '\0');
    check_unchanged(work, &before);
    test_memory.fail_at = 0;
    CHECK_WITH(next(work, &error) == PS_OK, "again: %s", error.message);
  }
  forget_snapshot(&before);
  return refused;
}

/* The whole work, with one request refused, and those behind it up to the end of the step; compares
 * with how it ends otherwise. False if there are fewer requests. */
static bool work_through(const struct variant *variant, unsigned long fail_at, bool keep_failing,
                         struct snapshot *expected)
{
  static struct work work;
  size_t refusals = 0;
  memset(&work, 0, sizeof work);
  work.variant = variant;
  test_memory.calls = 0;
  test_memory.fail_at = fail_at;
  test_memory.keep_failing = keep_failing;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    test_about("%s, step %zu, request %lu", variant->kind, i, fail_at);
    refusals += take_step(&work, steps[i]);
  }
  bool reached = test_memory.calls >= fail_at && fail_at > 0;
  test_memory.fail_at = 0;
  CHECK_WITH(refusals <= 1, "%zu refusals", refusals);
  struct snapshot end = take_snapshot(&work);
  for (int i = 0; i < SPECIMENS && fail_at > 0; i++) {
    CHECK_WITH(same_bytes(end.bytes[i], expected->bytes[i]), "sketch %d in the end", i);
  }
  for (int i = 0; i < SPECIMENS; i++) {
    discard(&work.specimens[i]);
  }
  CHECK_WITH(test_memory.live == 0, "%zu bytes leaked", test_memory.live);
  if (fail_at == 0) {
    *expected = end;
  } else {
    forget_snapshot(&end);
  }
  return reached;
}

static size_t length_of(const struct snapshot *snapshot)
{
  size_t size = 0;
  for (int i = 0; i < SPECIMENS; i++) {
    size += snapshot->bytes[i].size;
  }
  return size;
}

/* Sketches that are together larger only refuse their first request unless the test is long. */
#define LARGE (1 << 20)

static void check_variant(const struct variant *variant, bool keep_failing, bool at_length)
{
  struct snapshot expected;
  unsigned long fail_at = 1;
  work_through(variant, 0, false, &expected);
  if (length_of(&expected) > LARGE && !at_length) {
    work_through(variant, fail_at, keep_failing, &expected);
    forget_snapshot(&expected);
    return;
  }
  while (work_through(variant, fail_at, keep_failing, &expected)) {
    fail_at++;
  }
  CHECK_WITH(fail_at > 10, "only %lu requests", fail_at);
  forget_snapshot(&expected);
}

/* What memory_test long adds takes longer than all else together. */
int main(int argc, char **argv)
{
  const bool at_length = argc > 1 && strcmp(argv[1], "long") == 0;
  size_t owners = 0;
  for (const struct variant *variant = variants; variant->kind != NULL; variant++) {
    union ps_any_sketch planned;
    plan_variant(&planned.sketch, variant);
    if (ps_owns(&planned.sketch)) {
      check_variant(variant, false, at_length);
      check_variant(variant, true, at_length);
      owners++;
    }
  }
  CHECK(owners > 0);
  promise("when memory is refused nothing has changed, nothing leaks and all goes on");
  return test_end();
}
