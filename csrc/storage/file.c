#include "storage/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/random.h"

#define PIECE_SIZE 65536

/* Of a long path only the beginning, so that the reason has room. */
static enum ps_status refuse(const char *path, const char *reason, struct ps_error *error)
{
  const size_t shown = 150;
  return ps_fail(error, PS_ERR_IO, "%.*s%s: %s", (int)shown, path,
                 strlen(path) > shown ? "..." : "", reason);
}

enum ps_status ps_file_error(const char *path, int reason, struct ps_error *error)
{
  return refuse(path, strerror(reason), error);
}

/* ---- saving ---- */

static bool write_all(int file, const unsigned char *bytes, size_t size)
{
  while (size > 0) {
    ssize_t n = write(file, bytes, size);
    if (n == 0 || (n < 0 && errno != EINTR)) {
      return false;
    }
    if (n > 0) {
      bytes += n;
      size -= (size_t)n;
    }
  }
  return true;
}

static bool write_encoded(int file, struct ps_encoder *encoder)
{
  unsigned char piece[PIECE_SIZE];
  size_t n;
  while ((n = ps_encoder_read(encoder, piece, sizeof piece)) > 0) {
    if (!write_all(file, piece, n)) {
      return false;
    }
  }
  return fsync(file) == 0;
}

int ps_file_directory(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (int)(slash - path) + 1;
}

/* The rename itself must reach the disk too. Some file systems cannot sync a directory; the file is
 * in place all the same, so that is no failure. */
static void sync_directory(const char *path)
{
  char name[PS_PATH_SIZE];
  snprintf(name, sizeof name, "%.*s.", ps_file_directory(path), path);
  int directory = open(name, O_RDONLY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
}

static enum ps_status save_by_way_of(const char *temporary, const char *path,
                                     struct ps_encoder *encoder, struct ps_error *error)
{
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PS_FILE_MODE);
  if (file < 0) {
    return ps_file_error(path, errno, error);
  }
  bool written = write_encoded(file, encoder);
  int reason = errno;
  if (close(file) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (written && rename(temporary, path) != 0) {
    written = false;
    reason = errno;
  }
  if (!written) {
    unlink(temporary);
    return ps_file_error(path, reason, error);
  }
  return PS_OK;
}

/* A name of its own, as one made from the path's could be longer than a name may be. */
enum ps_status ps_file_temporary(const char *path, char temporary[PS_PATH_SIZE],
                                 struct ps_error *error)
{
  uint64_t unique;
  enum ps_status status = ps_random(&unique, error);
  if (status != PS_OK) {
    return status;
  }
  int length = snprintf(temporary, PS_PATH_SIZE, "%.*s.probsketch-%016" PRIx64 ".tmp",
                        ps_file_directory(path), path, unique);
  return length < 0 || length >= PS_PATH_SIZE ? ps_file_error(path, ENAMETOOLONG, error) : PS_OK;
}

enum ps_status ps_file_save(const char *path, struct ps_encoder *encoder, struct ps_error *error)
{
  char temporary[PS_PATH_SIZE];
  struct stat state;
  if (stat(path, &state) == 0 && !S_ISREG(state.st_mode)) {
    return refuse(path, "not a regular file", error);
  }
  enum ps_status status = ps_file_temporary(path, temporary, error);
  if (status == PS_OK) {
    status = save_by_way_of(temporary, path, encoder, error);
  }
  if (status == PS_OK) {
    sync_directory(path);
  }
  return status;
}

/* ---- reading ---- */

/* Reads exactly `size` bytes, or fewer at the end of the file; -1 on error. */
static ssize_t read_all(int file, void *bytes, size_t size, uint64_t offset)
{
  size_t at = 0;
  while (at < size) {
    ssize_t n = pread(file, (char *)bytes + at, size - at, (off_t)(offset + at));
    if (n == 0) {
      break;
    }
    if (n < 0 && errno != EINTR) {
      return -1;
    }
    if (n > 0) {
      at += (size_t)n;
    }
  }
  return (ssize_t)at;
}

enum ps_status ps_file_open(struct ps_file *file, const char *path, enum ps_access access,
                            struct ps_header *header, struct ps_error *error)
{
  unsigned char page[PS_PAGE_SIZE];
  struct stat state;
  /* Without O_NONBLOCK, opening a fifo would wait for a writer. */
  file->writable = access == PS_READ_AND_WRITE;
  file->descriptor =
      open(path, O_CLOEXEC | O_NONBLOCK | (file->writable ? O_RDWR | O_NOFOLLOW : O_RDONLY));
  if (file->descriptor < 0 || fstat(file->descriptor, &state) != 0) {
    const int reason = errno;
    if (file->writable && lstat(path, &state) == 0 && S_ISLNK(state.st_mode)) {
      return refuse(path, "a symbolic link, not the file itself", error);
    }
    return ps_file_error(path, reason, error);
  }
  if (!S_ISREG(state.st_mode)) {
    return refuse(path, "not a regular file", error);
  }
  ssize_t n = read_all(file->descriptor, page, sizeof page, 0);
  if (n < 0) {
    return ps_file_error(path, errno, error);
  }
  /* It may have grown meanwhile. */
  uint64_t total = n > state.st_size ? (uint64_t)n : (uint64_t)state.st_size;
  return ps_header_read(header, page, (size_t)n, total, error);
}

static enum ps_status read_part(int file, void *bytes, size_t size, uint64_t offset,
                                struct ps_error *error)
{
  ssize_t n = read_all(file, bytes, size, offset);
  if (n < 0) {
    return ps_fail(error, PS_ERR_IO, "reading failed: %s", strerror(errno));
  }
  if ((size_t)n < size) {
    return ps_fail(error, PS_ERR_TRUNCATED, "truncated (the file was cut while it was read)");
  }
  return PS_OK;
}

enum ps_status ps_file_read(const struct ps_file *file, const struct ps_header *header,
                            void *payload, unsigned char trailer[PS_TRAILER_SIZE],
                            struct ps_error *error)
{
  uint64_t at = header->payload_offset, end = at + header->payload_size;
  enum ps_status status = read_part(file->descriptor, payload, header->payload_size, at, error);
  return status != PS_OK ? status
                         : read_part(file->descriptor, trailer, PS_TRAILER_SIZE, end, error);
}

enum ps_status ps_file_map(const struct ps_file *file, const struct ps_header *header, bool ahead,
                           struct ps_pages *pages, struct ps_error *error)
{
  uint64_t size = header->payload_offset + header->payload_size + PS_TRAILER_SIZE;
  void *address = MAP_FAILED;
  errno = EFBIG;
  if (size <= SIZE_MAX) {
    const int access = PROT_READ | (file->writable ? PROT_WRITE : 0);
    address = mmap(NULL, (size_t)size, access, MAP_SHARED, file->descriptor, 0);
  }
  if (address == MAP_FAILED) {
    return ps_fail(error, PS_ERR_IO, "mapping failed: %s", strerror(errno));
  }
  if (ahead) {
    madvise(address, (size_t)size, MADV_WILLNEED);
  }
  *pages = (struct ps_pages){address, (size_t)size};
  return PS_OK;
}

void ps_file_close(struct ps_file *file)
{
  if (file->descriptor >= 0) {
    close(file->descriptor);
    file->descriptor = -1;
  }
}
