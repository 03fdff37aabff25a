/* The contract of base/kind.h, held against every kind there is. */
#include <math.h>
#include <string.h>

#include "sketches.h"

static bool is_one_of(const struct ps_sketch *sketch, const char *const *names)
{
  while (*names != NULL && strcmp(*names, sketch->kind->name) != 0) {
    names++;
  }
  return *names != NULL;
}

/* Does it grow as far as its limit allows, and not to a size that is planned? */
static bool grows(const struct ps_sketch *sketch)
{
  static const char *const names[] = {"scalable_bloom", "cuckoo", "top_k", NULL};
  return ps_owns(sketch) && is_one_of(sketch, names);
}

/* Is the field there, and not 0? */
static bool is_set(const struct ps_sketch *sketch, const char *field)
{
  unsigned width;
  struct bytes bytes = encode(sketch);
  size_t at = find_field(sketch->kind, field, &width);
  bool set = at != 0 && bytes.at[at] != 0;
  free(bytes.at);
  return set;
}

/* Conservative cells depend on the order of keys, and so do layers, the places of a cuckoo filter,
 * what a list had room for, what values were joined with or compacted, and the HIP estimate; a
 * merge is then no sketch of one run. */
static bool order_matters(const struct ps_sketch *sketch)
{
  static const char *const names[] = {"scalable_bloom", "cuckoo", "top_k", "tdigest", "kll", NULL};
  if (is_one_of(sketch, names)) {
    return true;
  }
  return is_set(sketch, "conservative") || is_set(sketch, "hip");
}

/* ---- the tables ---- */

static void check_fields(const struct ps_kind *kind)
{
  size_t size = 0;
  unsigned width = 0;
  for (const struct ps_field *field = kind->fields; field->name != NULL; field++) {
    test_about("%s of %s", field->name, kind->name);
    CHECK(find_field(kind, field->name, &width) == AT_FIELDS + size);
    CHECK(field->offset >= sizeof(struct ps_sketch));
    CHECK(field->offset + width <= kind->struct_size);
    size += width;
  }
  CHECK(size <= PS_FIELDS_SIZE);
}

static void check_options(const struct ps_kind *kind)
{
  size_t options = 0;
  for (const struct ps_option *option = kind->options; option->name != NULL; option++, options++) {
    test_about("%s of %s", option->name, kind->name);
    CHECK(option->min <= option->max && option->range != NULL);
  }
  CHECK(options <= PS_OPTIONS_MAX);
}

static void check_functions(const struct ps_kind *kind)
{
  test_about("%s", kind->name);
  CHECK(kind->plan && kind->validate && kind->size && kind->count);
  CHECK(!kind->flat == !kind->encode && !kind->flat == !kind->encoded_size);
  CHECK(!kind->release == !kind->clone && !kind->release == !kind->decode);
  CHECK(!kind->flat || kind->release);
  CHECK(!kind->owns || (kind->release && kind->flat));
  CHECK(!kind->release || kind->init);
  CHECK((kind->add_hashes != NULL) + (kind->add_keys != NULL) + (kind->add_values != NULL) ==
        (kind->clear != NULL));
  CHECK((kind->clear || !kind->merge) && !kind->add_values == !kind->quantiles);
  CHECK(!kind->build == !kind->scratch && !kind->build == !kind->arrange);
  CHECK(!kind->build == !!kind->clear);
  CHECK(kind->struct_size <= PS_STRUCT_MAX);
  CHECK(ps_kind_by_name(kind->name) == kind && ps_kind_by_id(kind->id) == kind);
}

static void check_tried(const struct ps_kind *kind)
{
  size_t tried = 0;
  for (const struct variant *variant = variants; variant->kind != NULL; variant++) {
    tried += strcmp(variant->kind, kind->name) == 0;
  }
  CHECK_WITH(tried > 0, "sketches.h has no variant");
}

static void tables(void)
{
  for (const struct ps_kind *const *kind = ps_kinds; *kind != NULL; kind++) {
    check_functions(*kind);
    check_tried(*kind);
    check_options(*kind);
    check_fields(*kind);
  }
  promise("every kind is complete, is found by name and id, and its fields fit");
  CHECK(ps_kind_by_name("hll") == ps_kind_by_name("hyperloglog"));
  CHECK(ps_kind_by_name("") == NULL && ps_kind_by_id(0) == NULL && ps_kind_by_id(255) == NULL);
  promise("hll is hyperloglog, and what is no kind is not found");
}

/* ---- options ---- */

static void check_refused(const struct ps_kind *kind, const struct ps_option *option, double x)
{
  struct ps_error error = {PS_OK, ""};
  union ps_any_sketch planned;
  struct ps_options options = {{0}, {false}};
  set_option(&options, kind, option->name, x);
  test_about("%s, %s = %g", kind->name, option->name, x);
  CHECK(ps_plan(&planned.sketch, kind, &options, &error) == PS_ERR_ARGUMENT);
  CHECK_WITH(strstr(error.message, option->name) != NULL, "%s", error.message);
}

static void check_range(const struct ps_kind *kind, const struct ps_option *option)
{
  check_refused(kind, option, nextafter(option->min, -(double)INFINITY));
  check_refused(kind, option, nextafter(option->max, (double)INFINITY));
  check_refused(kind, option, (double)NAN);
  check_refused(kind, option, (double)INFINITY);
  check_refused(kind, option, -(double)INFINITY);
  if (option->below_max) {
    check_refused(kind, option, option->max);
  }
  if (option->type == PS_OPTION_INTEGER) {
    check_refused(kind, option, option->min + 0.5);
  }
}

static void bad_options(void)
{
  for (const struct ps_kind *const *kind = ps_kinds; *kind != NULL; kind++) {
    for (const struct ps_option *option = (*kind)->options; option->name != NULL; option++) {
      check_range(*kind, option);
    }
  }
  promise("an option out of its range is refused by name");
}

static void check_limit(const struct variant *v, size_t keys)
{
  struct specimen specimen;
  struct ps_error error;
  make_with(&specimen, v, keys);
  struct ps_sketch *sketch = sketch_in(&specimen);
  uint64_t size = sketch->kind->size(sketch);
  sketch->max_bytes = size;
  CHECK(ps_check_limit(sketch, &error) == PS_OK);
  sketch->max_bytes = size - 1;
  CHECK(ps_check_limit(sketch, &error) == PS_ERR_LIMIT);
  discard(&specimen);
}

/* What is compared with a limit covers all that is ever held; a cache line is allowed to anyone. */
static void check_held(const struct variant *v, size_t keys)
{
  struct specimen specimen;
  make_with(&specimen, v, keys);
  const struct ps_sketch *sketch = sketch_in(&specimen);
  uint64_t most = sketch->kind->size(sketch);
  CHECK_WITH(grows(sketch) || sketch->held <= (most < 64 ? 64 : most), "%ju bytes, %ju planned",
             (uintmax_t)sketch->held, (uintmax_t)most);
  CHECK(!ps_owns(sketch) || sketch->held == test_memory.live);
  discard(&specimen);
}

/* ---- keys ---- */

static void check_batch(const struct variant *v, size_t keys)
{
  if (is_built(v)) {
    return;
  }
  struct specimen batch, single;
  size_t changed = 0, changed_by_batch;
  make(&batch, v, 0);
  make(&single, v, 0);
  for (uint64_t i = 0; i < keys; i++) {
    changed += add_keys(sketch_in(&single), i, 1);
  }
  changed += add_keys(sketch_in(&single), 0, 1);
  changed_by_batch = add_keys(sketch_in(&batch), 0, keys);
  changed_by_batch += add_keys(sketch_in(&batch), 0, 1);
  CHECK(changed == changed_by_batch);
  CHECK(ps_equal(sketch_in(&batch), sketch_in(&single)));
  discard(&batch);
  discard(&single);
}

static bool has(const struct ps_sketch *sketch, uint64_t hash)
{
  bool found = false;
  sketch->kind->has_hashes(sketch, &hash, 1, &found);
  return found;
}

static void check_found(const struct variant *v, size_t keys)
{
  struct specimen specimen;
  make_with(&specimen, v, keys);
  if (sketch_in(&specimen)->kind->has_hashes != NULL) {
    for (uint64_t i = 0; i < keys; i++) {
      CHECK_WITH(has(sketch_in(&specimen), hash_of(i)), "key %ju", (uintmax_t)i);
    }
  }
  discard(&specimen);
}

static void check_questions(const struct variant *v, size_t keys)
{
  struct specimen specimen;
  make_with(&specimen, v, keys);
  const struct ps_sketch *sketch = sketch_in(&specimen);
  if (sketch->kind->has_hashes != NULL) {
    uint64_t hashes[1000];
    bool found[1000];
    for (uint64_t i = 0; i < 1000; i++) {
      hashes[i] = hash_of(i * 7 % 11 == 0 ? i : 1000000 + i);
    }
    sketch->kind->has_hashes(sketch, hashes, 1000, found);
    for (uint64_t i = 0; i < 1000; i++) {
      CHECK_WITH(found[i] == has(sketch, hashes[i]), "key %ju", (uintmax_t)i);
    }
  }
  discard(&specimen);
}

static void check_clear(const struct variant *v, size_t keys)
{
  if (is_built(v)) {
    return;
  }
  struct specimen used, fresh;
  make(&fresh, v, 0);
  make(&used, v, 0);
  struct ps_sketch *sketch = sketch_in(&used);
  CHECK(sketch->kind->count(sketch) == 0);
  add_keys(sketch, 0, keys);
  sketch->kind->clear(sketch);
  CHECK(sketch->kind->count(sketch) == 0);
  CHECK(ps_equal(sketch, sketch_in(&fresh)));
  add_keys(sketch, 0, 20);
  add_keys(sketch_in(&fresh), 0, 20);
  CHECK(ps_equal(sketch, sketch_in(&fresh)));
  discard(&used);
  discard(&fresh);
}

/* ---- two sketches ---- */

static void check_split(const struct variant *v, size_t left, size_t right)
{
  struct specimen a, b, whole;
  struct ps_error error;
  make_with(&a, v, left);
  make(&b, v, 0);
  make_with(&whole, v, left + right);
  add_keys(sketch_in(&b), left, right);
  struct bytes source = encode(sketch_in(&b));
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_OK);
  CHECK_WITH(still(sketch_in(&b), source), "of the source");
  if (!order_matters(sketch_in(&a))) {
    const struct ps_kind *kind = sketch_in(&a)->kind;
    struct bytes merged = encode(sketch_in(&a));
    CHECK_WITH(kind->count(sketch_in(&a)) == kind->count(sketch_in(&whole)), "merged with %zu",
               right);
    CHECK_WITH(ps_equal(sketch_in(&a), sketch_in(&whole)), "merged with %zu", right);
    CHECK_WITH(still(sketch_in(&whole), merged), "merged with %zu", right);
    free(merged.at);
  }
  free(source.at);
  discard(&a);
  discard(&b);
  discard(&whole);
}

static void check_merge(const struct variant *v, size_t keys)
{
  if (is_built(v)) {
    return;
  }
  for (size_t i = 0; i < sizeof test_levels / sizeof *test_levels; i++) {
    check_split(v, keys, test_levels[i]);
  }
}

static void check_self_merge(const struct variant *v, size_t keys)
{
  if (is_built(v)) {
    return;
  }
  struct specimen a, b, twin;
  struct ps_error error;
  make_with(&a, v, keys);
  make_with(&b, v, keys);
  make_with(&twin, v, keys);
  CHECK(ps_merge(sketch_in(&a), sketch_in(&a), &error) == PS_OK);
  CHECK(ps_merge(sketch_in(&b), sketch_in(&twin), &error) == PS_OK);
  CHECK(ps_equal(sketch_in(&a), sketch_in(&b)));
  discard(&a);
  discard(&b);
  discard(&twin);
}

/* The matched field that two sketches of a kind differ in, NULL if there is none. */
static const char *difference(const struct ps_sketch *a, const struct ps_sketch *b)
{
  struct bytes x = encode(a), y = encode(b);
  const char *name = NULL;
  for (const struct ps_field *field = a->kind->fields; field->name != NULL; field++) {
    unsigned width;
    size_t at = find_field(a->kind, field->name, &width);
    if (name == NULL && field->matched && memcmp(x.at + at, y.at + at, width) != 0) {
      name = field->name;
    }
  }
  free(x.at);
  free(y.at);
  return name;
}

/* No two variants of a kind are compatible. */
static void check_pair(const struct variant *v, const struct variant *other)
{
  struct specimen a, b;
  struct ps_error error = {PS_OK, ""};
  make_with(&a, v, 50);
  make_with(&b, other, 60);
  struct bytes before = encode(sketch_in(&a));
  enum ps_status status = ps_merge(sketch_in(&a), sketch_in(&b), &error);
  if (strcmp(v->kind, other->kind) != 0) {
    CHECK_WITH(status == PS_ERR_KIND && strstr(error.message, other->kind), "%s", error.message);
  } else if (is_built(v)) {
    CHECK_WITH(status == PS_ERR_ARGUMENT && strstr(error.message, v->kind), "%s", error.message);
  } else if (v == other) {
    CHECK(status == PS_OK);
  } else {
    const char *name = difference(sketch_in(&a), sketch_in(&b));
    CHECK_WITH(status == PS_ERR_MISMATCH && name && strstr(error.message, name), "%s",
               error.message);
  }
  CHECK(status == PS_OK || still(sketch_in(&a), before));
  free(before.at);
  discard(&a);
  discard(&b);
}

static void check_pairs(const struct variant *v, size_t keys)
{
  (void)keys;
  for (const struct variant *other = variants; other->kind != NULL; other++) {
    check_pair(v, other);
  }
}

static void check_seeds(const struct variant *v, size_t keys)
{
  if (is_built(v)) {
    return;
  }
  struct specimen a, b;
  struct ps_error error;
  (void)keys;
  make(&a, v, 123);
  make(&b, v, 321);
  CHECK(!ps_equal(sketch_in(&a), sketch_in(&b)));
  if (sketch_in(&a)->kind->hash_id == PS_HASH_NONE) {
    CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_OK);
  } else {
    CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_ERR_MISMATCH);
    CHECK_WITH(strstr(error.message, "123") && strstr(error.message, "321"), "%s", error.message);
    sketch_in(&b)->flags |= PS_SEED_SECRET;
    CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_ERR_MISMATCH);
    CHECK_WITH(!strstr(error.message, "123") && !strstr(error.message, "321"), "%s", error.message);
  }
  sketch_in(&b)->flags |= PS_SEED_SECRET;
  sketch_in(&b)->seed = 123;
  CHECK(!ps_equal(sketch_in(&a), sketch_in(&b)) && !ps_equal(sketch_in(&b), sketch_in(&a)));
  CHECK(ps_merge(sketch_in(&a), sketch_in(&b), &error) == PS_OK);
  discard(&a);
  discard(&b);
}

static void check_copy(const struct variant *v, size_t keys)
{
  struct specimen source, copy;
  make_with(&source, v, keys);
  struct bytes before = encode(sketch_in(&source));
  copy_into(&copy, sketch_in(&source));
  CHECK(ps_equal(sketch_in(&source), sketch_in(&copy)));
  CHECK(still(sketch_in(&copy), before));
  add_keys(sketch_in(&copy), 100000, 3000);
  CHECK(still(sketch_in(&source), before));
  discard(&source);
  add_keys(sketch_in(&copy), 200000, 3000);
  if (!is_built(v)) {
    sketch_in(&copy)->kind->clear(sketch_in(&copy));
    CHECK(sketch_in(&copy)->kind->count(sketch_in(&copy)) == 0);
  }
  discard(&copy);
  free(before.at);
}

/* What becomes of a copy when the source is closed before there is memory for it. */
static void check_abandoned_copy(const struct variant *v, size_t keys)
{
  struct specimen source;
  union ps_any_sketch copy;
  make_with(&source, v, keys);
  struct bytes before = encode(sketch_in(&source));
  ps_plan_copy(&copy.sketch, sketch_in(&source));
  copy.sketch.payload = NULL;
  ps_release(&copy.sketch);
  CHECK(still(sketch_in(&source), before));
  free(before.at);
  discard(&source);
}

static void check_equality(const struct variant *v, size_t keys)
{
  if (is_built(v)) {
    return;
  }
  struct specimen a, b;
  make(&a, v, 0);
  make(&b, v, 0);
  for (uint64_t i = 0; i < keys; i++) {
    struct bytes before = encode(sketch_in(&a));
    CHECK_WITH(ps_equal(sketch_in(&a), sketch_in(&b)), "key %ju", (uintmax_t)i);
    add_keys(sketch_in(&a), i, 1);
    bool same = still(sketch_in(&a), before);
    CHECK_WITH(ps_equal(sketch_in(&a), sketch_in(&b)) == same, "key %ju", (uintmax_t)i);
    add_keys(sketch_in(&b), i, 1);
    free(before.at);
  }
  ps_release(sketch_in(&b));
  CHECK(!ps_equal(sketch_in(&a), sketch_in(&b)));
  discard(&a);
  discard(&b);
}

int main(void)
{
  tables();
  bad_options();
  each_variant(check_limit, 10);
  promise("one byte more than the limit is refused");
  each_level(check_held);
  promise("a sketch holds what it says, and no more than was planned");
  each_level(check_batch);
  promise("a batch is the same as one key after the other");
  each_level(check_found);
  promise("a key that was added is found");
  each_level(check_questions);
  promise("a batch of questions has the answers of one question after the other");
  each_level(check_clear);
  promise("a new sketch is empty, and a cleared one like new");
  each_level(check_merge);
  promise("merging gives what one sketch had got from all keys, and leaves the other alone");
  each_level(check_self_merge);
  promise("merging a sketch with itself is merging it with its twin");
  each_variant(check_pairs, 50);
  promise("what does not fit is not merged, the message says why, and nothing has changed");
  each_variant(check_seeds, 0);
  promise("sketches that hash with different seeds do not merge, and a secret seed is not told");
  each_level(check_copy);
  promise("a copy is equal, and lives on its own");
  each_level(check_abandoned_copy);
  promise("a copy that came to nothing leaves its source alone");
  each_variant(check_equality, 40);
  promise("sketches are equal exactly when their bytes are, and closed ones equal nothing");
  CHECK(test_memory.live == 0);
  promise("nothing is left behind");
  return test_end();
}
