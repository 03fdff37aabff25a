/* Feeds bytes to the decoder and, when it accepts them, asks the sketch everything there is to ask.
 *
 * With -DLIBFUZZER -fsanitize=fuzzer it is a target for libFuzzer. Else a program of its own,
 * `decode_fuzz SECONDS [SEED]`, that damages valid bytes of every kind, half of the time with
 * checksums put right again so that it reaches what lies behind them. What fails is printed as hex,
 * and `decode_fuzz - < HEX` tries it again. */
#include <string.h>

#include "answers.h"
#include "base/sharing.h"
#include "storage/decoder.h"

static struct {
  uint64_t rounds, sealed, sealed_past, accepted, mapped, shared;
} counts;

/* Unless there is no room, and then nothing has changed. */
static void must_merge(struct ps_sketch *sketch, const struct ps_sketch *other)
{
  struct ps_error error;
  uint64_t before = sketch->kind->count(sketch);
  enum ps_status status = ps_merge(sketch, other, &error);
  MUST(status == PS_OK || (status == PS_ERR_FULL && sketch->kind->may_refuse));
  MUST(status == PS_OK || sketch->kind->count(sketch) == before);
}

/* Changes a sketch in every way that all kinds have. */
static void use(struct ps_sketch *sketch, const struct ps_sketch *twin)
{
  struct ps_error error;
  must_merge(sketch, sketch);
  must_merge(sketch, twin);
  add_keys(sketch, 0, 50);
  ask(sketch);
  if (sketch->kind == &ps_count_min) {
    ps_count_min_add((struct ps_count_min *)sketch, hash_of(1), PS_COUNT_MAX);
    ps_count_min_decay((struct ps_count_min *)sketch, 0.7);
    ask(sketch);
  }
  if (sketch->kind == &ps_top_k) {
    ps_top_k_halve((struct ps_top_k *)sketch);
    ask(sketch);
  }
  add_keys(sketch, 50, 600);
  ask(sketch);
  /* What calls lead to is accepted. */
  struct specimen decoded;
  struct bytes bytes = encode(sketch);
  MUST(decode(&decoded, bytes, &error) == PS_OK);
  MUST(ps_equal(sketch, sketch_in(&decoded)));
  discard(&decoded);
  free(bytes.at);
  sketch->kind->clear(sketch);
  MUST(sketch->kind->count(sketch) == 0);
  ask(sketch);
}

static void exercise(struct ps_sketch *sketch)
{
  struct specimen again, copy;
  struct ps_error error;
  ask(sketch);
  struct bytes bytes = encode(sketch);
  MUST(ps_load32(input.at + AT_OFFSET) == PS_PAGE_SIZE || same_bytes(bytes, input));
  MUST(decode(&again, bytes, &error) == PS_OK);
  MUST(ps_equal(sketch, sketch_in(&again)) && still(sketch_in(&again), bytes));
  copy_into(&copy, sketch);
  if (sketch->kind->clear != NULL) {
    use(sketch_in(&copy), sketch_in(&again));
  }
  MUST(still(sketch, bytes));
  discard(&copy);
  discard(&again);
  free(bytes.at);
}

/* In memory of exactly its size. */
static void take_input(const unsigned char *bytes, size_t size)
{
  input = (struct bytes){test_allocate(size), size};
  memcpy(input.at, bytes, size);
}

static void drop_input(void)
{
  free(input.at);
  input = (struct bytes){NULL, 0};
}

/* The same sketch from the decoder's payload, in memory of exactly its size. */
static void must_finish(const struct ps_decoder *decoder, const struct ps_sketch *whole)
{
  struct specimen finished = {.block = NULL};
  struct ps_sketch *sketch = sketch_in(&finished);
  struct ps_error error;
  memcpy(sketch, &decoder->planned, sizeof decoder->planned);
  unsigned char *payload = give_payload(&finished, 0);
  const unsigned char *received = ps_decoder_payload(decoder);
  enum ps_status status;
  if (!ps_decoder_in_place(decoder)) {
    status = ps_decode(sketch, &decoder->header, received, NULL, payload, &test_source, &error);
  } else {
    memcpy(payload, received, (size_t)decoder->header.payload_size);
    status = ps_decode_received(sketch, payload, &test_source, &error);
  }
  MUST((status == PS_OK) == (whole != NULL));
  if (status == PS_OK) {
    MUST(ps_equal(sketch, whole) && sketch->kind->count(sketch) == whole->kind->count(whole));
    discard(&finished);
  } else {
    free(finished.block);
  }
}

/* Bytes that come in pieces are taken exactly when they would be whole; `whole` is NULL if not. */
static void must_decode_in_pieces(const struct ps_sketch *whole)
{
  alignas(64) struct ps_decoder decoder;
  struct ps_error error;
  uint64_t cut = ps_hash(input.at, input.size, 0);
  enum ps_status status = PS_OK;
  ps_decoder_start(&decoder, NULL, TEST_LIMIT);
  for (size_t at = 0; at < input.size && status == PS_OK; cut = ps_hash_next(cut)) {
    size_t n = (size_t)(cut >> 57) + 1;
    n = n < input.size - at ? n : input.size - at;
    status = ps_decoder_feed(&decoder, input.at + at, n, &error);
    at += n;
  }
  status = status == PS_OK ? ps_decoder_end(&decoder, &error) : status;
  MUST(status == PS_OK || (whole == NULL && is_refusal(status) && error.status == status));
  if (status == PS_OK) {
    must_finish(&decoder, whole);
  }
  ps_decoder_release(&decoder);
}

/* ---- the payload in place ---- */

/* Plans what the header says, in `guest`; the payload, in memory of exactly its size at a multiple
 * of 64 as in a file; NULL if the header is refused. */
static unsigned char *host(struct specimen *guest, struct ps_header *header)
{
  struct ps_error error;
  void *payload;
  guest->block = NULL;
  if (ps_header_read(header, input.at, input.size, input.size, &error) != PS_OK ||
      ps_plan_from_header(sketch_in(guest), header, NULL, TEST_LIMIT, &error) != PS_OK) {
    return NULL;
  }
  const size_t size = (size_t)header->payload_size;
  if (posix_memalign(&payload, 64, size + (size == 0)) != 0) {
    bail_out("no memory");
  }
  memcpy(payload, input.at + header->payload_offset, size);
  return payload;
}

/* Where the payload is mapped it is taken without its checksum, answers the same, and nothing is
 * written there. `whole` is NULL if it is wrong, or only its checksum is. */
static void must_map(struct specimen *guest, const struct ps_header *header, unsigned char *payload,
                     const struct ps_sketch *whole)
{
  struct ps_sketch *sketch = sketch_in(guest);
  struct ps_error error;
  enum ps_status status = ps_decode(sketch, header, payload, NULL, payload, &test_source, &error);
  MUST(status == PS_OK || (whole == NULL && status == PS_ERR_CORRUPT));
  if (status == PS_OK) {
    counts.mapped++;
    ask(sketch);
    MUST(whole == NULL || ps_equal(sketch, whole));
    MUST(memcmp(payload, input.at + header->payload_offset, (size_t)header->payload_size) == 0);
    ps_release(sketch);
  }
}

/* Nobody checks what is shared: its answers may be wrong, but what is copied from it is whole, or
 * refused, and it can be added to and cleared. */
static void must_share(struct specimen *guest, unsigned char *payload,
                       const struct ps_sketch *whole)
{
  struct specimen decoded;
  struct ps_error error;
  struct ps_sketch *sketch = sketch_in(guest);
  struct ps_report report = {on_integer, on_number, on_boolean, on_list};
  counts.shared++;
  ps_join(sketch, payload, &test_source);
  ps_count(sketch);
  ps_report_on(sketch, &report);
  struct bytes bytes = encode(sketch);
  enum ps_status status = decode(&decoded, bytes, &error);
  MUST((status == PS_OK) == (whole != NULL) && (status == PS_OK || status == PS_ERR_CORRUPT));
  if (status == PS_OK) {
    MUST(ps_equal(sketch_in(&decoded), whole) && ps_count(sketch) == ps_count(whole));
    discard(&decoded);
  }
  free(bytes.at);
  add_keys(sketch, 0, 50);
  sketch->kind->clear(sketch);
  MUST(ps_count(sketch) == 0);
}

/* The sketch in the input where it lies, if that may be; `whole` is what decoding gave, or NULL. */
static void must_work_in_place(const struct ps_sketch *whole)
{
  struct specimen guest;
  struct ps_header header;
  unsigned char *payload = host(&guest, &header);
  if (payload == NULL) {
    return;
  }
  if (header.flags & PS_HEADER_LIVE) {
    must_share(&guest, payload, whole);
  } else if (ps_plan_mapped(sketch_in(&guest), &header)) {
    must_map(&guest, &header, payload, whole);
  }
  free(payload);
}

static enum ps_status try_input(void)
{
  struct specimen specimen;
  struct ps_error error = {PS_OK, ""};
  size_t live = test_memory.live;
  test_memory.peak = live;
  test_memory.given = 0;
  enum ps_status status = decode(&specimen, input, &error);
  size_t used = test_memory.peak - live + test_memory.given;
  MUST(used <= 4 * input.size + gaps_in(sketch_in(&specimen)));
  must_decode_in_pieces(status == PS_OK ? sketch_in(&specimen) : NULL);
  must_work_in_place(status == PS_OK ? sketch_in(&specimen) : NULL);
  if (status == PS_OK) {
    exercise(sketch_in(&specimen));
    discard(&specimen);
  } else {
    MUST(is_refusal(status) && error.status == status && error.message[0] != '\0');
  }
  MUST(test_memory.live == live);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  take_input(data, size);
  try_input();
  drop_input();
  return 0;
}

#ifndef LIBFUZZER

#include <time.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

/* ---- chance ---- */

static uint64_t chance;

static uint64_t any(uint64_t below)
{
  return test_random(&chance) % below;
}

static uint64_t interesting(void)
{
  uint64_t power = UINT64_C(1) << any(64);
  switch (any(8)) {
  case 0:
    return power - 1;
  case 1:
    return power + 1;
  case 2:
    return UINT64_MAX - power;
  case 3:
    return any(70);
  case 4:
    return test_random(&chance);
  case 5:
    return UINT64_C(0x7ff0000000000000) + any(2) - any(2); /* infinity, NaN, the largest double */
  default:
    return power;
  }
}

/* ---- valid bytes ---- */

#define SEEDS_MAX 1024
#define SEED_SIZE_MAX 16384

static struct bytes seeds[SEEDS_MAX];
static size_t seeds_used;

static void keep_seed(struct bytes bytes)
{
  if (bytes.size > SEED_SIZE_MAX) {
    free(bytes.at);
  } else if (seeds_used == SEEDS_MAX) {
    bail_out("too many seeds");
  } else {
    seeds[seeds_used++] = bytes;
  }
}

static void keep_seeds(const struct variant *variant, size_t keys)
{
  struct specimen specimen;
  struct ps_error error;
  make_with(&specimen, variant, keys);
  struct ps_sketch *sketch = sketch_in(&specimen);
  keep_seed(encode_in_pieces(sketch, PS_TIGHT, SIZE_MAX));
  keep_seed(encode_in_pieces(sketch, PS_PAGED, SIZE_MAX));
  if (ps_check_sharable(sketch, &error) == PS_OK) {
    struct bytes live = {calloc(1, (size_t)ps_founded_size(sketch)),
                         (size_t)ps_founded_size(sketch)};
    ps_found(sketch, live.at);
    keep_seed(live);
  }
  discard(&specimen);
}

static void make_seeds(void)
{
  static const size_t keys[] = {0, 1, 3, 13, 60, 900};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    each_small(keep_seeds, keys[i]);
  }
}

/* ---- damage ---- */

/* Bytes that change size within their block. */
struct draft {
  size_t size;
  unsigned char at[SEED_SIZE_MAX + 64];
};

static void put(struct draft *draft, size_t at, unsigned width, uint64_t x)
{
  if (at + width <= draft->size) {
    struct ps_writer writer = ps_writer_over(draft->at + at, width);
    ps_write(&writer, x, width);
  }
}

/* Seldom in the zeros between a header and the next page, where all is refused. */
static size_t any_place(const struct draft *draft)
{
  const size_t size = draft->size, at = size == 0 ? 0 : (size_t)any(size);
  const bool is_paged = size > PS_PAGE_SIZE && ps_load32(draft->at + AT_OFFSET) == PS_PAGE_SIZE;
  return is_paged && at >= AT_FIELDS && at < PS_PAGE_SIZE && any(8) != 0
             ? PS_PAGE_SIZE + (size_t)any(size - PS_PAGE_SIZE)
             : at;
}

static void damage_field(struct draft *draft)
{
  const struct ps_kind *kind = ps_kind_by_id(draft->size > AT_KIND ? draft->at[AT_KIND] : 0);
  size_t n = 0;
  for (; kind != NULL && kind->fields[n].name != NULL; n++) {
  }
  if (n > 0) {
    unsigned width;
    size_t at = find_field(kind, kind->fields[any(n)].name, &width);
    uint64_t old = at + 8 <= draft->size ? ps_load64(draft->at + at) : 0;
    put(draft, at, width, any(3) == 0 ? old + any(9) - 4 : interesting());
  }
}

static void damage_head(struct draft *draft)
{
  static const struct {
    size_t at;
    unsigned width;
  } parts[] = {{AT_VERSION, 1}, {AT_KIND, 1},        {AT_HASH, 1},         {AT_FLAGS, 1},
               {AT_OFFSET, 4},  {AT_FIELDS_SIZE, 4}, {AT_PAYLOAD_SIZE, 8}, {AT_SEED, 8}};
  size_t i = (size_t)any(sizeof parts / sizeof *parts);
  put(draft, parts[i].at, parts[i].width, any(2) ? any(4) : interesting());
}

/* A piece of another sketch, or of this one, to another place. */
static void splice(struct draft *draft)
{
  const struct bytes *other = &seeds[any(seeds_used)];
  size_t at = any_place(draft), from = (size_t)any(other->size);
  size_t most = other->size - from, room = draft->size - at;
  size_t n = 1 + (size_t)any(any(2) ? 16 : most);
  n = n > most ? most : n;
  n = n > room ? room : n;
  memcpy(draft->at + at, other->at + from, n);
}

static void change_size(struct draft *draft)
{
  size_t step = (size_t)any(any(2) ? 9 : 65);
  switch (any(3)) {
  case 0:
    draft->size = any_place(draft);
    break;
  case 1:
    draft->size -= step < draft->size ? step : draft->size;
    break;
  default:
    step = step < sizeof draft->at - draft->size ? step : sizeof draft->at - draft->size;
    for (; step > 0; step--) {
      draft->at[draft->size++] = (unsigned char)any(any(2) ? 256 : 1);
    }
  }
}

static void damage(struct draft *draft)
{
  size_t at = any_place(draft);
  switch (any(8)) {
  case 0:
    put(draft, at, 1, draft->at[at] ^ UINT64_C(1) << any(8));
    break;
  case 1:
    put(draft, at, 1, any(256));
    break;
  case 2:
    put(draft, at & ~(size_t)3, any(2) ? 4 : 8, interesting());
    break;
  case 3:
    splice(draft);
    break;
  case 4:
    change_size(draft);
    break;
  case 5:
    damage_head(draft);
    break;
  default:
    damage_field(draft);
  }
}

/* Lets the sizes in the header agree with what is there, most of the time. */
static void mend_sizes(struct draft *draft)
{
  if (draft->size < AT_FIELDS + 16 || any(8) == 0) {
    return;
  }
  uint64_t tight = AT_FIELDS + 8 + (uint64_t)ps_load32(draft->at + AT_FIELDS_SIZE);
  uint64_t start = ps_load32(draft->at + AT_OFFSET);
  if (start != PS_PAGE_SIZE && tight + 8 <= draft->size) {
    start = tight;
    ps_store32(draft->at + AT_OFFSET, (uint32_t)start);
  }
  if (start + 8 <= draft->size) {
    ps_store64(draft->at + AT_PAYLOAD_SIZE, draft->size - start - 8);
  }
}

/* ---- the run ---- */

static void play_round(void)
{
  static struct draft draft;
  const struct bytes *seed = &seeds[any(seeds_used)];
  bool is_sealed = any(2) == 0;
  struct ps_header header;
  struct ps_error error;
  draft.size = seed->size;
  memcpy(draft.at, seed->at, seed->size);
  for (uint64_t n = 1 + any(4); n > 0; n--) {
    damage(&draft);
  }
  if (is_sealed) {
    mend_sizes(&draft);
    reseal((struct bytes){draft.at, draft.size});
  }
  take_input(draft.at, draft.size);
  counts.rounds++;
  counts.sealed += is_sealed;
  counts.sealed_past +=
      is_sealed && ps_header_read(&header, input.at, input.size, input.size, &error) == PS_OK;
  counts.accepted += try_input() == PS_OK;
  drop_input();
}

static unsigned digit(int c)
{
  const char *digits = "0123456789abcdef", *at = c != '\0' ? strchr(digits, c) : NULL;
  return at != NULL ? (unsigned)(at - digits) : 16;
}

/* Tries what was printed. */
static int try_hex(void)
{
  static unsigned char bytes[1 << 20];
  size_t n = 0;
  for (unsigned high; n < sizeof bytes && (high = digit(getchar())) < 16; n++) {
    bytes[n] = (unsigned char)(high << 4 | digit(getchar()));
  }
  take_input(bytes, n);
  printf("%zu bytes: %s\n", n, ps_status_code(try_input()));
  drop_input();
  return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
  if (argc < 2) {
    fprintf(stderr, "usage: decode_fuzz SECONDS [SEED], or decode_fuzz - < HEX\n");
    return EXIT_FAILURE;
  }
  if (strcmp(argv[1], "-") == 0) {
    return try_hex();
  }
  time_t end = time(NULL) + strtol(argv[1], NULL, 10);
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
  printf("seed %ju\n", (uintmax_t)seed);
  fflush(stdout);
  chance = seed;
  atexit(print_input);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(print_input);
#endif
  make_seeds();
  do {
    for (int i = 0; i < 200; i++) {
      play_round();
    }
  } while (time(NULL) < end);
  printf("%ju rounds, %ju resealed of which %ju got past the header, %ju accepted, %ju mapped, "
         "%ju shared\n",
         (uintmax_t)counts.rounds, (uintmax_t)counts.sealed, (uintmax_t)counts.sealed_past,
         (uintmax_t)counts.accepted, (uintmax_t)counts.mapped, (uintmax_t)counts.shared);
  bool deep = counts.sealed_past * 2 >= counts.sealed && counts.accepted > 0 && counts.mapped > 0 &&
              counts.shared > 0;
  for (size_t i = 0; i < seeds_used; i++) {
    free(seeds[i].at);
  }
  return deep ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
