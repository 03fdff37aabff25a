#include "storage/random.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The device rather than getrandom(): it is there on every system, and after boot the same. */
enum ps_status ps_random(uint64_t *bits, struct ps_error *error)
{
  int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return ps_fail(error, PS_ERR_IO, "/dev/urandom: %s", strerror(errno));
  }
  ssize_t n;
  do {
    n = read(file, bits, sizeof *bits);
  } while (n < 0 && errno == EINTR);
  int reason = errno;
  close(file);
  if (n != (ssize_t)sizeof *bits) {
    return ps_fail(error, PS_ERR_IO, "/dev/urandom: %s",
                   n < 0 ? strerror(reason) : "too few bytes");
  }
  return PS_OK;
}
