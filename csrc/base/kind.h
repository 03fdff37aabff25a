/* The contract between what all sketches share and what each kind is.
 *
 * A sketch is a small struct, which begins with a struct ps_sketch, and a payload. The payload
 * holds the state as fixed-layout little-endian words; the struct holds the parameters and whatever
 * can be derived from the payload. Derived state is never read from bytes: attach() rebuilds it.
 *
 * A flat sketch works on a payload that somebody else owns: memory inside a Lua userdata, a mapped
 * file. A sketch that grows owns its memory instead, through the ps_memory it is given at creation,
 * and may change shape.
 *
 * What is derived is kept beside a payload that only the sketch itself changes. Of a mapped one it
 * is not: who looks at such a payload first may have to read all of it, so that is left until
 * something is asked that depends on it. ps_derive() sees to it.
 *
 * A payload may also be shared with others who change it at any time (base/sharing.h). It is then
 * accessed by base/atomic.h alone, and what is derived of it is derived whenever it is asked for.
 *
 * A kind is one constant struct ps_kind. The functions in base/sketch.h, and through them the Lua
 * binding, work on any kind by this contract alone. NULL means that the kind has no such thing or
 * is content with what the comment names. Every function that can fail checks first and writes
 * after: a refusal leaves the sketch as it was, to the byte. */
#ifndef PS_BASE_KIND_H
#define PS_BASE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct ps_kind;
struct ps_quantile_kind;
struct ps_sharing;

/* Where growable kinds get memory. resize() with new_size 0 frees; NULL for new_size > 0 is
 * refusal, and the block stays as it was. */
struct ps_memory {
  void *(*resize)(void *context, void *block, size_t old_size, size_t new_size);
  void *context;
};

enum ps_sketch_flags {
  PS_SEED_SECRET = 1, /* the seed was drawn from the system: kept in the bytes, shown to nobody */
  PS_MAPPED = 2,      /* the payload lies in a file: not its own, and not to be written to */
  PS_UNDERIVED = 4,   /* what attach() derives is not there: to be had by ps_derive() */
  PS_SHARED = 8       /* the payload is not its own, and others change it while it is used */
};

struct ps_sketch {
  const struct ps_kind *kind;
  unsigned char *payload; /* NULL: planned only, or closed */
  uint64_t held;          /* bytes of memory at the payload, derived state beside it included */
  uint64_t seed;
  uint64_t max_bytes;             /* what size() and growth may not pass */
  const struct ps_memory *memory; /* for a payload that it owns, and for the time of a call */
  uint32_t flags;                 /* enum ps_sketch_flags */
};

/* No kind's struct is larger. */
#define PS_STRUCT_MAX 512

/* Room for any kind's struct, where the kind is not known before. */
union ps_any_sketch {
  struct ps_sketch sketch;
  unsigned char bytes[PS_STRUCT_MAX];
};

/* ---- options: what a constructor is asked for ---- */

enum ps_option_type {
  PS_OPTION_INTEGER,
  PS_OPTION_NUMBER,
  PS_OPTION_BOOLEAN,
  PS_OPTION_KEYS /* a set of keys; to the kind, how many different hashes they have */
};

/* One option; a kind's list ends with a NULL name. `range` is for people: "an integer from 4 to
 * 18". */
struct ps_option {
  const char *name;
  enum ps_option_type type;
  double min, max;
  const char *range;
  bool below_max; /* max itself is out of range */
};

#define PS_OPTIONS_MAX 8

/* Values in the order of the kind's option list; booleans are 0 and 1. */
struct ps_options {
  double value[PS_OPTIONS_MAX];
  bool given[PS_OPTIONS_MAX];
};

/* ---- fields: the parameters of a kind as they lie in its struct ---- */

enum ps_field_type { PS_FIELD_BOOLEAN, PS_FIELD_U8, PS_FIELD_U32, PS_FIELD_U64, PS_FIELD_DOUBLE };

/* Fields are stored in the order of the kind's list, each little-endian at its own width (a boolean
 * in one byte, a double as its IEEE 754 bits). The same list serves comparing, encoding and info().
 */
struct ps_field {
  const char *name;
  enum ps_field_type type;
  size_t offset;
  bool matched; /* sketches that differ in it do not merge */
};

/* Enough for the fields of any kind. */
#define PS_FIELDS_SIZE 128

/* ---- info: parameters and state as named values ---- */

/* The most numbers in a list. */
#define PS_LIST_MAX 64

/* Told each value in turn; a later value of the same name replaces the earlier one. */
struct ps_report {
  void (*integer)(struct ps_report *report, const char *name, uint64_t value);
  void (*number)(struct ps_report *report, const char *name, double value);
  void (*boolean)(struct ps_report *report, const char *name, bool value);
  void (*list)(struct ps_report *report, const char *name, const double *values, size_t n);
};

/* ---- keys ---- */

/* A key for kinds that keep it, and its hash with the sketch's seed. */
struct ps_key {
  const unsigned char *bytes;
  size_t length;
  uint64_t hash;
};

/* ---- the contract ---- */

/* `flat` of kinds that never are. */
bool ps_never_flat(const struct ps_sketch *sketch);

struct ps_kind {
  const char *name;
  uint8_t id;      /* in the bytes: see docs/FORMAT.md */
  uint8_t hash_id; /* enum ps_hash_id */
  bool seeded;     /* takes a seed: it hashes, and merges with the same only, or tosses coins */
  bool may_refuse; /* merge() can fail, for want of room or memory */
  size_t struct_size;
  const struct ps_option *options;
  const struct ps_field *fields;

  /* Options, already in range one by one, to parameters in the struct. PS_ERR_ARGUMENT. */
  enum ps_status (*plan)(struct ps_sketch *sketch, const struct ps_options *options,
                         struct ps_error *error);
  /* Are the parameters, as read from bytes, ones that plan() could have made? Must hold before
   * size() and init() may be called. PS_ERR_RANGE. */
  enum ps_status (*validate)(struct ps_sketch *sketch, struct ps_error *error);
  /* Bytes of the payload at its largest, UINT64_MAX when that does not fit 64 bits. A sketch that
   * does not own its memory gets exactly as many; for the others it is what the limit is compared
   * with at creation. */
  uint64_t (*size)(const struct ps_sketch *sketch);

  /* For kinds that are built once, of all their keys, in two steps: the first says how large the
   * payload will be. NULL: kinds that things are added to.
   *
   * Bytes of scratch, aligned to 8, that building a planned sketch takes: the same block for both
   * steps. */
  uint64_t (*scratch)(const struct ps_sketch *sketch);
  /* Completes the parameters of a sketch planned for so many hashes as are here, sorted and all
   * different; they are then anything. PS_ERR_ARGUMENT when no sketch holds them. */
  enum ps_status (*arrange)(struct ps_sketch *sketch, uint64_t *hashes, void *scratch,
                            struct ps_error *error);
  /* Fills the payload of zeros that it got meanwhile. */
  void (*build)(struct ps_sketch *sketch, void *scratch);

  /* Empty state: on a payload of zeros, or for an owner of memory by taking it. NULL: zeros are it.
   * PS_ERR_MEMORY. */
  enum ps_status (*init)(struct ps_sketch *sketch, struct ps_error *error);
  /* Is the payload, as it came from bytes, a state that calls could have led to? PS_ERR_CORRUPT. */
  enum ps_status (*check)(const struct ps_sketch *sketch, struct ps_error *error);
  /* Rebuilds what is derived from a checked payload. NULL: nothing is. Functions that tell of the
   * state, count() and inspect(), and merge() of its source, are called when that is done. */
  void (*attach)(struct ps_sketch *sketch);
  /* The same in parts, in order, of a flat payload, be it checked or not: the bytes `from` to `to`,
   * multiples of 8, behind which 8 more can be read unless they are the last. 0 begins anew. Of
   * such kinds attach() takes a mapped payload when that is asked for. NULL: attach() takes it at
   * once. */
  void (*attach_part)(struct ps_sketch *sketch, uint64_t from, uint64_t to);
  /* Back to as after init(). Cannot fail: an owner of memory keeps some. NULL: immutable. */
  void (*clear)(struct ps_sketch *sketch);
  /* Does a sketch of these parameters own its memory? NULL: all of a kind with `release` do. */
  bool (*owns)(const struct ps_sketch *sketch);
  /* Frees what an owner owns, leaves payload NULL; twice is harmless. Where payload is NULL nothing
   * is owned, whatever else the struct says: it may be copied of a source and not yet cloned. NULL:
   * none owns anything. */
  void (*release)(struct ps_sketch *sketch);
  /* For owners of memory: makes a struct that has parameters only one of a flat payload, to be
   * checked, that somebody else owns. NULL: it works on none. */
  void (*adopt)(struct ps_sketch *sketch);
  /* For owners of memory: makes `copy`, a struct copied from `source`, own a payload of its own.
   * PS_ERR_MEMORY, `copy` then released. */
  enum ps_status (*clone)(struct ps_sketch *copy, const struct ps_sketch *source,
                          struct ps_error *error);

  /* How many items it stands for, at most PS_COUNT_MAX. */
  uint64_t (*count)(const struct ps_sketch *sketch);
  /* `target` and `source` agree in all matched fields. PS_ERR_FULL, PS_ERR_MEMORY. NULL: does not
   * merge. */
  enum ps_status (*merge)(struct ps_sketch *target, const struct ps_sketch *source,
                          struct ps_error *error);
  /* Same state, given same parameters. NULL: same payload bytes. */
  bool (*equal)(const struct ps_sketch *a, const struct ps_sketch *b);

  /* Is the live payload what is stored? NULL: always; so it is for all that own no memory. Where it
   * is not, `encode` fills exactly encoded_size() bytes. `decode`, of owners of memory, given
   * either form, sets up the payload of a struct that has parameters only, with PS_ERR_CORRUPT or
   * PS_ERR_MEMORY, then released. What it allocates is bounded by the bytes or by size(). */
  bool (*flat)(const struct ps_sketch *sketch);
  uint64_t (*encoded_size)(const struct ps_sketch *sketch);
  /* The most that encoded_size() can be for these parameters: larger claims are refused unread.
   * NULL: only max_bytes bounds it. */
  uint64_t (*encoded_max)(const struct ps_sketch *sketch);
  void (*encode)(const struct ps_sketch *sketch, unsigned char *bytes);
  enum ps_status (*decode)(struct ps_sketch *sketch, const unsigned char *bytes, uint64_t size,
                           bool flat, struct ps_error *error);

  /* Values beyond the fields: first those that follow from the parameters, then those of the state.
   */
  void (*describe)(const struct ps_sketch *sketch, struct ps_report *report);
  void (*inspect)(const struct ps_sketch *sketch, struct ps_report *report);

  /* Kinds of keys. A batch prefetches, so that it runs at the memory's speed and not its latency;
   * it is otherwise the same as one call per hash, in order. add_hashes() leaves in *changed how
   * many changed the sketch; when it stops with PS_ERR_FULL, how many were taken, the first so
   * many: all of them are in, and none of those behind. With PS_ERR_MEMORY nothing has changed. */
  enum ps_status (*add_hashes)(struct ps_sketch *sketch, const uint64_t *hashes, size_t n,
                               size_t *changed, struct ps_error *error);
  void (*has_hashes)(const struct ps_sketch *sketch, const uint64_t *hashes, size_t n, bool *found);
  /* The same as add_hashes(), instead of it, for kinds that keep keys. */
  enum ps_status (*add_keys)(struct ps_sketch *sketch, const struct ps_key *keys, size_t n,
                             size_t *changed, struct ps_error *error);

  /* Kinds of numbers, instead: values that are finite, each with a weight from 0 to 2^53, or of
   * weight 1 when `weights` is NULL. All go in or none: PS_ERR_FULL when the total would pass 2^53,
   * PS_ERR_MEMORY. */
  enum ps_status (*add_values)(struct ps_sketch *sketch, const double *values,
                               const uint64_t *weights, size_t n, size_t *changed,
                               struct ps_error *error);
  const struct ps_quantile_kind *quantiles; /* what they answer: quantile/quantile.h */

  /* How others may change the payload at the same time: base/sharing.h. NULL: they may not. Then of
   * the functions above merge(), equal(), check() and encode() are never given a shared sketch,
   * init() and release() neither; clone() is, as the source. */
  const struct ps_sharing *sharing;
};

#endif
