/* What every sketch can do, written once against the kind contract. */
#ifndef PS_BASE_SKETCH_H
#define PS_BASE_SKETCH_H

#include "base/envelope.h"
#include "base/kind.h"
#include "base/xxh3.h"

/* ---- making one ---- */

/* Fills the struct of `kind` at `sketch` (kind->struct_size bytes) with parameters from options:
 * planned, without a payload. PS_ERR_ARGUMENT, with a message that names the option and its range.
 */
enum ps_status ps_plan(struct ps_sketch *sketch, const struct ps_kind *kind,
                       const struct ps_options *options, struct ps_error *error);

/* Refuses what is larger than sketch->max_bytes: "needs N bytes, limit M (max_bytes)".
 * PS_ERR_LIMIT. */
enum ps_status ps_check_limit(const struct ps_sketch *sketch, struct ps_error *error);

/* Does the sketch, planned or made, own its memory? The payload of one that does may move. */
bool ps_owns(const struct ps_sketch *sketch);

/* Bytes of zeroed memory, at a multiple of 8 and best of 64, that the caller owes ps_init(),
 * ps_copy() and ps_decode(); 0 for sketches that own their memory, and for mapped ones. */
uint64_t ps_payload_size(const struct ps_sketch *sketch);

/* Makes a planned sketch an empty one. `memory` may be NULL for one that does not own its memory,
 * of a kind whose merge is never refused. PS_ERR_MEMORY. */
enum ps_status ps_init(struct ps_sketch *sketch, void *payload, const struct ps_memory *memory,
                       struct ps_error *error);

/* Plans a copy of `source`, one in memory of its own wherever the source is. */
void ps_plan_copy(struct ps_sketch *copy, const struct ps_sketch *source);

/* Makes `copy` an independent sketch equal to `source`. PS_ERR_MEMORY. */
enum ps_status ps_copy(struct ps_sketch *copy, const struct ps_sketch *source, void *payload,
                       struct ps_error *error);

/* Frees what the sketch itself owns and leaves it closed: payload NULL. Twice is harmless. */
void ps_release(struct ps_sketch *sketch);

/* Sees to it that what is derived of the payload is there. O(size) for the first time that a mapped
 * sketch is asked, else O(1). To whoever asks the sketch is the same before and after. */
void ps_derive(const struct ps_sketch *sketch);

/* Are all the parameters of two sketches of the same kind the same, the seed too? PS_ERR_MISMATCH,
 * with a message that names the field. */
enum ps_status ps_same_parameters(const struct ps_sketch *a, const struct ps_sketch *b,
                                  struct ps_error *error);

/* How many items it stands for. */
uint64_t ps_count(const struct ps_sketch *sketch);

/* ---- two of them ---- */

/* Do they go together, wherever their payloads are? PS_OK, PS_ERR_KIND, PS_ERR_MISMATCH with a
 * message that names the field, or PS_ERR_ARGUMENT for kinds that do not merge. */
enum ps_status ps_compatible(const struct ps_sketch *a, const struct ps_sketch *b,
                             struct ps_error *error);

/* Adds source to target, neither of them shared, or changes nothing: refusals of ps_compatible(),
 * PS_ERR_FULL, PS_ERR_MEMORY. */
enum ps_status ps_merge(struct ps_sketch *target, const struct ps_sketch *source,
                        struct ps_error *error);

/* Same kind, parameters and state: their encodings are equal. Closed sketches equal nothing; shared
 * ones are not asked. */
bool ps_equal(const struct ps_sketch *a, const struct ps_sketch *b);

/* ---- reports ---- */

/* All about the sketch: fields, what follows from them and, unless it is only planned, its state.
 */
void ps_report_on(const struct ps_sketch *sketch, struct ps_report *report);

/* ---- to bytes ---- */

/* Hands out the bytes of a sketch piece by piece, in one pass, without a second copy of a flat one.
 * The trailer sums the bytes that were handed out: a sketch that changes meanwhile yields a
 * snapshot that loads. */
struct ps_encoder {
  XXH3_state_t hash;
  const unsigned char *payload;
  uint64_t payload_size;
  bool is_shared; /* others change the payload */
  uint64_t total; /* bytes in all */
  uint64_t at;    /* bytes handed out */
  size_t header_size;
  unsigned char trailer[PS_TRAILER_SIZE];
  unsigned char header[PS_PAGE_SIZE];
};

/* The header of a sketch whose payload is as large and of such flags as it says. */
void ps_header_of(const struct ps_sketch *sketch, struct ps_header *header);

/* Bytes of scratch that ps_encoder_start() needs; 0 for a flat payload that stays in place. */
uint64_t ps_encoder_scratch(const struct ps_sketch *sketch);

/* The encoder must lie at a multiple of 64; sketch and scratch must outlive it. */
void ps_encoder_start(struct ps_encoder *encoder, const struct ps_sketch *sketch,
                      enum ps_placement placement, void *scratch);

/* Copies the next bytes, at most `size`, and returns how many; 0 at the end. */
size_t ps_encoder_read(struct ps_encoder *encoder, void *bytes, size_t size);

/* ---- from bytes ----
 *
 * header = ps_header_read(bytes); ps_decode_plan(sketch, kind, header); the caller compares the
 * limit and finds ps_payload_size() bytes; ps_decode(). Nothing is allocated for a claim that the
 * bytes do not back: a payload that the caller provides is as large as the one that is there. */

/* Fills the struct at `sketch` with the parameters of the header. PS_ERR_CORRUPT, PS_ERR_RANGE. */
enum ps_status ps_decode_plan(struct ps_sketch *sketch, const struct ps_kind *kind,
                              const struct ps_header *header, struct ps_error *error);

/* Makes the planned sketch a mapped one, PS_MAPPED, if it can work on the payload where the header
 * says it is stored; false if it has to be read. */
bool ps_plan_mapped(struct ps_sketch *sketch, const struct ps_header *header);

/* Is the payload stored in the form that the planned sketch has in memory? Then it may come in
 * where ps_decode() is to have it; of others it is to come in elsewhere, with as many bytes as the
 * header says. */
bool ps_comes_in_place(const struct ps_sketch *planned, const struct ps_header *header);

/* Sets the planned sketch up from the header's payload_size bytes at `bytes` and the trailer, which
 * is NULL when their checksum is known to be right or nobody asks; nobody does of a payload that
 * was shared while it was read. `payload` may be where `bytes`
 * already are; of a mapped sketch it is, and nothing is written there, nor read but by the kind's
 * check(). PS_ERR_CHECKSUM, PS_ERR_CORRUPT, PS_ERR_MEMORY; the sketch is then closed. */
enum ps_status ps_decode(struct ps_sketch *sketch, const struct ps_header *header,
                         const unsigned char *bytes, const unsigned char trailer[PS_TRAILER_SIZE],
                         void *payload, const struct ps_memory *memory, struct ps_error *error);

/* The same for a payload that the caller provides, where its bytes have come in piece by piece:
 * ps_receive() has been told of all of them, and their checksum is right. PS_ERR_CORRUPT. */
enum ps_status ps_decode_received(struct ps_sketch *sketch, void *payload,
                                  const struct ps_memory *memory, struct ps_error *error);

/* Takes the bytes `from` to `to` of a payload that is on its way, and that so far is at `payload`,
 * into what is derived of it: as attach_part() has them. */
void ps_receive(struct ps_sketch *planned, unsigned char *payload, uint64_t from, uint64_t to);

#endif
