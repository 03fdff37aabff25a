#include "base/sketch.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/sharing.h"

/* ---- fields ---- */

static const unsigned field_width[] = {
    [PS_FIELD_BOOLEAN] = 1, [PS_FIELD_U8] = 1,     [PS_FIELD_U32] = 4,
    [PS_FIELD_U64] = 8,     [PS_FIELD_DOUBLE] = 8,
};

/* The field's bits as a number: what is stored and compared. */
static uint64_t field_bits(const struct ps_sketch *sketch, const struct ps_field *field)
{
  const unsigned char *at = (const unsigned char *)sketch + field->offset;
  uint32_t narrow;
  uint64_t wide;
  switch (field_width[field->type]) {
  case 1:
    return *at;
  case 4:
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
  default:
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
}

static void set_field_bits(struct ps_sketch *sketch, const struct ps_field *field, uint64_t bits)
{
  unsigned char *at = (unsigned char *)sketch + field->offset;
  uint32_t narrow = (uint32_t)bits;
  switch (field_width[field->type]) {
  case 1:
    *at = (unsigned char)bits;
    break;
  case 4:
    memcpy(at, &narrow, sizeof narrow);
    break;
  default:
    memcpy(at, &bits, sizeof bits);
  }
}

static double field_number(const struct ps_sketch *sketch, const struct ps_field *field)
{
  uint64_t bits = field_bits(sketch, field);
  double x;
  if (field->type != PS_FIELD_DOUBLE) {
    return (double)bits;
  }
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- making one ---- */

static bool in_range(const struct ps_option *option, double x)
{
  bool counts = option->type == PS_OPTION_INTEGER || option->type == PS_OPTION_KEYS;
  bool whole = !counts || x == floor(x);
  return whole && x >= option->min && (option->below_max ? x < option->max : x <= option->max);
}

enum ps_status ps_plan(struct ps_sketch *sketch, const struct ps_kind *kind,
                       const struct ps_options *options, struct ps_error *error)
{
  for (size_t i = 0; kind->options[i].name != NULL; i++) {
    const struct ps_option *option = &kind->options[i];
    if (options->given[i] && !in_range(option, options->value[i])) {
      return ps_fail(error, PS_ERR_ARGUMENT, "option '%s' out of range (expected %s, got %.14g)",
                     option->name, option->range, options->value[i]);
    }
  }
  memset(sketch, 0, kind->struct_size);
  sketch->kind = kind;
  sketch->max_bytes = UINT64_MAX;
  return kind->plan(sketch, options, error);
}

enum ps_status ps_check_limit(const struct ps_sketch *sketch, struct ps_error *error)
{
  uint64_t needed = sketch->kind->size(sketch);
  if (needed > sketch->max_bytes) {
    return ps_fail(error, PS_ERR_LIMIT, "needs %" PRIu64 " bytes, limit %" PRIu64 " (max_bytes)",
                   needed, sketch->max_bytes);
  }
  return PS_OK;
}

/* A payload that is neither its own nor made for it. */
static bool is_guest(const struct ps_sketch *sketch)
{
  return (sketch->flags & (PS_MAPPED | PS_SHARED)) != 0;
}

bool ps_owns(const struct ps_sketch *sketch)
{
  const struct ps_kind *kind = sketch->kind;
  return kind->release != NULL && !is_guest(sketch) && (kind->owns == NULL || kind->owns(sketch));
}

uint64_t ps_payload_size(const struct ps_sketch *sketch)
{
  return ps_owns(sketch) || is_guest(sketch) ? 0 : sketch->kind->size(sketch);
}

/* Gives a planned sketch its memory: the caller's payload, or a source of its own. */
static void bind(struct ps_sketch *sketch, void *payload, const struct ps_memory *memory)
{
  sketch->memory = memory;
  if (!ps_owns(sketch)) {
    sketch->payload = payload;
    sketch->held = sketch->kind->size(sketch);
  }
}

enum ps_status ps_init(struct ps_sketch *sketch, void *payload, const struct ps_memory *memory,
                       struct ps_error *error)
{
  bind(sketch, payload, memory);
  return sketch->kind->init != NULL ? sketch->kind->init(sketch, error) : PS_OK;
}

void ps_plan_copy(struct ps_sketch *copy, const struct ps_sketch *source)
{
  memcpy(copy, source, source->kind->struct_size);
  copy->flags &= PS_SEED_SECRET;
}

enum ps_status ps_copy(struct ps_sketch *copy, const struct ps_sketch *source, void *payload,
                       struct ps_error *error)
{
  if (source->flags & PS_SHARED) {
    enum ps_status status = ps_snapshot(copy, source, payload, error);
    if (status == PS_OK) {
      ps_derive(copy);
    }
    return status;
  }
  ps_derive(source);
  ps_plan_copy(copy, source);
  if (ps_owns(copy)) {
    return source->kind->clone(copy, source, error);
  }
  copy->payload = payload;
  memcpy(payload, source->payload, source->held);
  return PS_OK;
}

void ps_release(struct ps_sketch *sketch)
{
  if (ps_owns(sketch)) {
    sketch->kind->release(sketch);
  }
  sketch->payload = NULL;
  sketch->held = 0;
}

/* What is derived is no part of the state: a sketch that is only looked at may come to have it. */
void ps_derive(const struct ps_sketch *sketch)
{
  struct ps_sketch *derived = (struct ps_sketch *)(uintptr_t)sketch;
  if (sketch->flags & PS_UNDERIVED) {
    sketch->kind->attach(derived);
    derived->flags &= sketch->flags & PS_SHARED ? UINT32_MAX : ~(uint32_t)PS_UNDERIVED;
  }
}

uint64_t ps_count(const struct ps_sketch *sketch)
{
  ps_derive(sketch);
  return sketch->kind->count(sketch);
}

/* ---- two of them ---- */

static enum ps_status compare(const struct ps_sketch *a, const struct ps_sketch *b,
                              bool only_matched, struct ps_error *error)
{
  for (const struct ps_field *field = a->kind->fields; field->name != NULL; field++) {
    if ((field->matched || !only_matched) && field_bits(a, field) != field_bits(b, field)) {
      return ps_fail(error, PS_ERR_MISMATCH, "%s mismatch (expected %.16g, got %.16g)", field->name,
                     field_number(a, field), field_number(b, field));
    }
  }
  if ((a->kind->hash_id != PS_HASH_NONE || !only_matched) && a->seed != b->seed) {
    if ((a->flags | b->flags) & PS_SEED_SECRET) {
      return ps_fail(error, PS_ERR_MISMATCH, "seed mismatch (at least one is secret)");
    }
    return ps_fail(error, PS_ERR_MISMATCH, "seed mismatch (expected %" PRIu64 ", got %" PRIu64 ")",
                   a->seed, b->seed);
  }
  return PS_OK;
}

enum ps_status ps_same_parameters(const struct ps_sketch *a, const struct ps_sketch *b,
                                  struct ps_error *error)
{
  return compare(a, b, false, error);
}

enum ps_status ps_compatible(const struct ps_sketch *a, const struct ps_sketch *b,
                             struct ps_error *error)
{
  if (a->kind != b->kind) {
    return ps_fail(error, PS_ERR_KIND, "kind mismatch (expected %s, got %s)", a->kind->name,
                   b->kind->name);
  }
  if (a->kind->merge == NULL) {
    return ps_fail(error, PS_ERR_ARGUMENT, "a %s does not merge", a->kind->name);
  }
  return compare(a, b, true, error);
}

enum ps_status ps_merge(struct ps_sketch *target, const struct ps_sketch *source,
                        struct ps_error *error)
{
  enum ps_status status = ps_compatible(target, source, error);
  if (status != PS_OK) {
    return status;
  }
  ps_derive(source);
  return target->kind->merge(target, source, error);
}

bool ps_equal(const struct ps_sketch *a, const struct ps_sketch *b)
{
  if (a->kind != b->kind || a->seed != b->seed || ((a->flags ^ b->flags) & PS_SEED_SECRET) != 0 ||
      a->payload == NULL || b->payload == NULL) {
    return false;
  }
  for (const struct ps_field *field = a->kind->fields; field->name != NULL; field++) {
    if (field_bits(a, field) != field_bits(b, field)) {
      return false;
    }
  }
  if (a->kind->equal != NULL) {
    return a->kind->equal(a, b);
  }
  return memcmp(a->payload, b->payload, a->held) == 0;
}

/* ---- reports ---- */

void ps_report_on(const struct ps_sketch *sketch, struct ps_report *report)
{
  for (const struct ps_field *field = sketch->kind->fields; field->name != NULL; field++) {
    if (field->type == PS_FIELD_BOOLEAN) {
      report->boolean(report, field->name, field_bits(sketch, field) != 0);
    } else if (field->type == PS_FIELD_DOUBLE) {
      report->number(report, field->name, field_number(sketch, field));
    } else {
      report->integer(report, field->name, field_bits(sketch, field));
    }
  }
  if (sketch->kind->describe != NULL) {
    sketch->kind->describe(sketch, report);
  }
  if (sketch->payload != NULL && sketch->kind->inspect != NULL) {
    ps_derive(sketch);
    sketch->kind->inspect(sketch, report);
  }
}

/* ---- to bytes ---- */

bool ps_never_flat(const struct ps_sketch *sketch)
{
  (void)sketch;
  return false;
}

static bool is_flat(const struct ps_sketch *sketch)
{
  return sketch->kind->flat == NULL || sketch->kind->flat(sketch);
}

void ps_header_of(const struct ps_sketch *sketch, struct ps_header *header)
{
  const struct ps_kind *kind = sketch->kind;
  header->kind_id = kind->id;
  header->hash_id = kind->hash_id;
  header->seed = sketch->seed;
  if (sketch->flags & PS_SEED_SECRET) {
    header->flags |= PS_HEADER_SECRET;
  }
  struct ps_writer writer = ps_writer_over(header->fields, sizeof header->fields);
  for (const struct ps_field *field = kind->fields; field->name != NULL; field++) {
    ps_write(&writer, field_bits(sketch, field), field_width[field->type]);
  }
  header->fields_size = (uint32_t)(writer.at - header->fields);
}

/* What a sketch owns it may move while it grows, so an encoder that outlives a call needs a copy;
 * and what is shared in another form has to be brought into that of the bytes. */
static bool stays_in_place(const struct ps_sketch *sketch)
{
  return is_flat(sketch) && !ps_owns(sketch) && !ps_has_shared_form(sketch);
}

static uint64_t stored_size(const struct ps_sketch *sketch)
{
  return is_flat(sketch) ? sketch->kind->size(sketch) : sketch->kind->encoded_size(sketch);
}

uint64_t ps_encoder_scratch(const struct ps_sketch *sketch)
{
  return stays_in_place(sketch) ? 0 : stored_size(sketch);
}

void ps_encoder_start(struct ps_encoder *encoder, const struct ps_sketch *sketch,
                      enum ps_placement placement, void *scratch)
{
  const struct ps_kind *kind = sketch->kind;
  struct ps_header header = {.flags = is_flat(sketch) ? PS_HEADER_FLAT : 0};
  encoder->payload_size = stored_size(sketch);
  encoder->payload = stays_in_place(sketch) ? sketch->payload : scratch;
  encoder->is_shared = stays_in_place(sketch) && (sketch->flags & PS_SHARED) != 0;
  if (!is_flat(sketch)) {
    kind->encode(sketch, scratch);
  } else if (ps_has_shared_form(sketch)) {
    ps_gather(sketch, scratch);
  } else if (!stays_in_place(sketch)) {
    memcpy(scratch, sketch->payload, encoder->payload_size);
  }
  header.payload_size = encoder->payload_size;
  ps_header_of(sketch, &header);

  encoder->header_size = ps_header_write(&header, placement, encoder->header);
  encoder->total = encoder->header_size + encoder->payload_size + PS_TRAILER_SIZE;
  encoder->at = 0;
  XXH3_64bits_reset(&encoder->hash);
}

size_t ps_encoder_read(struct ps_encoder *encoder, void *bytes, size_t size)
{
  unsigned char *to = bytes;
  const uint64_t payload_end = encoder->header_size + encoder->payload_size;
  while (size > 0 && encoder->at < encoder->total) {
    const uint64_t at = encoder->at;
    const unsigned char *from;
    uint64_t left;
    if (at < encoder->header_size) {
      from = encoder->header + at;
      left = encoder->header_size - at;
    } else if (at < payload_end) {
      from = encoder->payload + (at - encoder->header_size);
      left = payload_end - at;
    } else {
      if (at == payload_end) {
        ps_store64(encoder->trailer, XXH3_64bits_digest(&encoder->hash));
      }
      from = encoder->trailer + (at - payload_end);
      left = encoder->total - at;
    }
    size_t n = left < size ? (size_t)left : size;
    if (encoder->is_shared && at >= encoder->header_size && at < payload_end) {
      ps_atomic_copy(to, from, n);
    } else {
      memcpy(to, from, n);
    }
    if (at >= encoder->header_size && at < payload_end) {
      XXH3_64bits_update(&encoder->hash, to, n);
    }
    to += n;
    size -= n;
    encoder->at += n;
  }
  return (size_t)(to - (unsigned char *)bytes);
}

/* ---- from bytes ---- */

/* What the header says of the payload must fit the parameters: before anything is allocated for it.
 */
static enum ps_status check_payload_size(const struct ps_sketch *sketch,
                                         const struct ps_header *header, struct ps_error *error)
{
  const struct ps_kind *kind = sketch->kind;
  bool flat = (header->flags & PS_HEADER_FLAT) != 0;
  if (!flat && (kind->flat == NULL || !ps_owns(sketch))) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (a %s is always flat)", kind->name);
  }
  if (flat && kind->flat == ps_never_flat) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (a %s is never flat)", kind->name);
  }
  const bool live = (header->flags & PS_HEADER_LIVE) != 0;
  if (live && ps_check_sharable(sketch, error) != PS_OK) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (such a %s is never shared)", kind->name);
  }
  const uint64_t size = live ? ps_shared_size(sketch) : kind->size(sketch);
  if (flat && header->payload_size != size) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt header (expected %" PRIu64 " bytes of payload, got %" PRIu64 ")", size,
                   header->payload_size);
  }
  if (!flat && kind->encoded_max != NULL && header->payload_size > kind->encoded_max(sketch)) {
    return ps_fail(error, PS_ERR_CORRUPT,
                   "corrupt header (expected at most %" PRIu64 " bytes of payload, got %" PRIu64
                   ")",
                   kind->encoded_max(sketch), header->payload_size);
  }
  return PS_OK;
}

enum ps_status ps_decode_plan(struct ps_sketch *sketch, const struct ps_kind *kind,
                              const struct ps_header *header, struct ps_error *error)
{
  memset(sketch, 0, kind->struct_size);
  sketch->kind = kind;
  sketch->seed = header->seed;
  sketch->max_bytes = UINT64_MAX;
  if (header->flags & PS_HEADER_SECRET) {
    sketch->flags |= PS_SEED_SECRET;
  }
  if (header->hash_id != kind->hash_id) {
    return ps_fail(error, PS_ERR_VERSION, "unknown hash (expected %u, got %u)", kind->hash_id,
                   header->hash_id);
  }
  uint64_t seed_max = !kind->seeded                    ? 0
                      : sketch->flags & PS_SEED_SECRET ? UINT64_MAX
                                                       : PS_COUNT_MAX;
  if (header->seed > seed_max) {
    return ps_fail(error, PS_ERR_RANGE, "seed out of range (expected 0 to %" PRIu64 ")", seed_max);
  }
  struct ps_reader reader = ps_reader_over(header->fields, header->fields_size);
  for (const struct ps_field *field = kind->fields; field->name != NULL; field++) {
    uint64_t bits = ps_read(&reader, field_width[field->type]);
    if (field->type == PS_FIELD_BOOLEAN && bits > 1) {
      return ps_fail(error, PS_ERR_RANGE, "%s out of range (expected 0 or 1, got %" PRIu64 ")",
                     field->name, bits);
    }
    set_field_bits(sketch, field, bits);
  }
  if (reader.failed || reader.at != reader.end) {
    return ps_fail(error, PS_ERR_CORRUPT, "corrupt header (%" PRIu32 " bytes of fields for a %s)",
                   header->fields_size, kind->name);
  }
  enum ps_status status = kind->validate(sketch, error);
  if (status != PS_OK) {
    return status;
  }
  return check_payload_size(sketch, header, error);
}

bool ps_comes_in_place(const struct ps_sketch *planned, const struct ps_header *header)
{
  const bool live = (header->flags & PS_HEADER_LIVE) != 0;
  return !ps_owns(planned) && !(live && planned->kind->sharing->gather != NULL);
}

bool ps_plan_mapped(struct ps_sketch *sketch, const struct ps_header *header)
{
  bool fits = (header->flags & (PS_HEADER_FLAT | PS_HEADER_LIVE)) == PS_HEADER_FLAT &&
              header->payload_offset == PS_PAGE_SIZE &&
              (!ps_owns(sketch) || sketch->kind->adopt != NULL);
  if (fits) {
    sketch->flags |= PS_MAPPED;
  }
  return fits;
}

/* The bytes into the payload, unless they are there. */
static enum ps_status take_in(struct ps_sketch *sketch, const struct ps_header *header,
                              const unsigned char *bytes, struct ps_error *error)
{
  const struct ps_kind *kind = sketch->kind;
  if (header->flags & PS_HEADER_LIVE) {
    return ps_take_shared(sketch, bytes, error);
  }
  if (ps_owns(sketch)) {
    bool flat = (header->flags & PS_HEADER_FLAT) != 0;
    return kind->decode(sketch, bytes, header->payload_size, flat, error);
  }
  if (kind->adopt != NULL) {
    kind->adopt(sketch);
  }
  if (sketch->payload != bytes) {
    memcpy(sketch->payload, bytes, header->payload_size);
  }
  return PS_OK;
}

static enum ps_status check(const struct ps_sketch *sketch, struct ps_error *error)
{
  return sketch->kind->check != NULL ? sketch->kind->check(sketch, error) : PS_OK;
}

static enum ps_status decode_state(struct ps_sketch *sketch, const struct ps_header *header,
                                   const unsigned char *bytes, const unsigned char *trailer,
                                   struct ps_error *error)
{
  enum ps_status status = PS_OK;
  if (trailer != NULL && (header->flags & PS_HEADER_LIVE) == 0) {
    status = ps_trailer_check(ps_hash(bytes, header->payload_size, 0), trailer, error);
  }
  if (status == PS_OK) {
    status = take_in(sketch, header, bytes, error);
  }
  if (status == PS_OK) {
    status = check(sketch, error);
  }
  return status;
}

/* The state is there; what is derived of it may not be. That is put off where it takes long, but
 * only where it may be derived of any bytes: others may change a file after it was checked. A
 * sketch that turned out wrong is closed. */
static enum ps_status settle(struct ps_sketch *sketch, enum ps_status status, bool derived)
{
  if (status != PS_OK) {
    ps_release(sketch);
  } else if (sketch->kind->attach != NULL && !derived) {
    sketch->flags |= PS_UNDERIVED;
    if ((sketch->flags & PS_MAPPED) == 0 || sketch->kind->attach_part == NULL) {
      ps_derive(sketch);
    }
  }
  return status;
}

enum ps_status ps_decode(struct ps_sketch *sketch, const struct ps_header *header,
                         const unsigned char *bytes, const unsigned char trailer[PS_TRAILER_SIZE],
                         void *payload, const struct ps_memory *memory, struct ps_error *error)
{
  bind(sketch, payload, memory);
  return settle(sketch, decode_state(sketch, header, bytes, trailer, error), false);
}

enum ps_status ps_decode_received(struct ps_sketch *sketch, void *payload,
                                  const struct ps_memory *memory, struct ps_error *error)
{
  bind(sketch, payload, memory);
  return settle(sketch, check(sketch, error), sketch->kind->attach_part != NULL);
}

void ps_receive(struct ps_sketch *planned, unsigned char *payload, uint64_t from, uint64_t to)
{
  if (planned->kind->attach_part != NULL) {
    planned->payload = payload;
    planned->kind->attach_part(planned, from, to);
    planned->payload = NULL;
  }
}
