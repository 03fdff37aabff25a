/* What can go wrong, as codes for programs and as messages for people. */
#ifndef PS_BASE_STATUS_H
#define PS_BASE_STATUS_H

#include <stdint.h>

enum ps_status {
  PS_OK = 0,
  /* Data that is wrong. The names ps_status_code() gives these are API. */
  PS_ERR_MAGIC,
  PS_ERR_VERSION,
  PS_ERR_KIND,
  PS_ERR_TRUNCATED,
  PS_ERR_CHECKSUM,
  PS_ERR_CORRUPT,
  PS_ERR_RANGE,
  PS_ERR_MISMATCH,
  PS_ERR_FULL,
  PS_ERR_IO,
  PS_ERR_LIMIT,
  /* The caller's mistake, or no memory: bindings raise these. */
  PS_ERR_ARGUMENT,
  PS_ERR_MEMORY
};

#define PS_MESSAGE_SIZE 256

struct ps_error {
  enum ps_status status;
  char message[PS_MESSAGE_SIZE];
};

/* Fills `error` and returns `status`, so that a refusal is one return statement.
 * Messages are lower case without a full stop: what was expected, then what was found. */
enum ps_status ps_fail(struct ps_error *error, enum ps_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* So many bytes were refused: PS_ERR_MEMORY. */
enum ps_status ps_no_memory(struct ps_error *error, uint64_t bytes);

/* The code of a status as users see it: "magic", "truncated" ... */
const char *ps_status_code(enum ps_status status);

#endif
