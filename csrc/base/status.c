#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const codes[] = {
    [PS_OK] = "ok",
    [PS_ERR_MAGIC] = "magic",
    [PS_ERR_VERSION] = "version",
    [PS_ERR_KIND] = "kind",
    [PS_ERR_TRUNCATED] = "truncated",
    [PS_ERR_CHECKSUM] = "checksum",
    [PS_ERR_CORRUPT] = "corrupt",
    [PS_ERR_RANGE] = "range",
    [PS_ERR_MISMATCH] = "mismatch",
    [PS_ERR_FULL] = "full",
    [PS_ERR_IO] = "io",
    [PS_ERR_LIMIT] = "limit",
    [PS_ERR_ARGUMENT] = "argument",
    [PS_ERR_MEMORY] = "memory",
};

enum ps_status ps_fail(struct ps_error *error, enum ps_status status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  error->status = status;
  vsnprintf(error->message, sizeof error->message, format, args);
  va_end(args);
  return status;
}

enum ps_status ps_no_memory(struct ps_error *error, uint64_t bytes)
{
  return ps_fail(error, PS_ERR_MEMORY, "not enough memory (%" PRIu64 " bytes)", bytes);
}

const char *ps_status_code(enum ps_status status)
{
  return codes[status];
}
