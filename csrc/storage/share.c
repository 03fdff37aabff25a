#include "storage/share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/sharing.h"
#include "kinds.h"
#include "storage/file.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

/* How often somebody may remove the file between our finding it and opening it. */
#define TRIES 100

/* Is this what `sketch` would be shared as? Then it is planned. */
static enum ps_status plan(const struct ps_header *header, const struct ps_sketch *sketch,
                           struct ps_sketch *planned, struct ps_error *error)
{
  union ps_any_sketch expected;
  enum ps_status status =
      ps_plan_from_header(planned, header, sketch->kind, sketch->max_bytes, error);
  if (status != PS_OK) {
    return status;
  }
  if ((header->flags & PS_HEADER_LIVE) == 0) {
    return ps_fail(error, PS_ERR_MISMATCH,
                   "not a shared sketch but a saved one: load() it, and share it by another name");
  }
  ps_plan_copy(&expected.sketch, sketch);
  if (sketch->flags & planned->flags & PS_SEED_SECRET) {
    expected.sketch.seed = planned->seed;
  } else if ((sketch->flags ^ planned->flags) & PS_SEED_SECRET) {
    return ps_fail(error, PS_ERR_MISMATCH, "seed mismatch (one of the two is secret)");
  }
  return ps_same_parameters(&expected.sketch, planned, error);
}

/* ---- files ---- */

static bool exists(const char *path)
{
  struct stat state;
  return lstat(path, &state) == 0 || errno != ENOENT;
}

/* Bytes that are there, and not only promised: who touched one that the system then cannot find
 * room for would be killed. 0, or why not. */
static int allocate(int file, size_t size)
{
#ifdef __APPLE__
  return ftruncate(file, (off_t)size) == 0 ? 0 : errno;
#else
  int reason;
  do {
    reason = posix_fallocate(file, 0, (off_t)size);
  } while (reason == EINTR);
  return reason;
#endif
}

static int fill(int file, const struct ps_sketch *sketch)
{
  const size_t size = (size_t)ps_founded_size(sketch);
  int reason = allocate(file, size);
  if (reason != 0) {
    return reason;
  }
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    return errno;
  }
  ps_found(sketch, memory);
  munmap(memory, size);
  return fsync(file) == 0 ? 0 : errno;
}

/* Founds a file that has no name until it is complete: killed meanwhile, it leaves nothing. */
static int found_unnamed(const char *path, const struct ps_sketch *sketch)
{
#ifdef O_TMPFILE
  char name[PS_PATH_SIZE];
  snprintf(name, sizeof name, "%.*s.", ps_file_directory(path), path);
  int file = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, PS_FILE_MODE);
  if (file < 0) {
    return errno;
  }
  int reason = fill(file, sketch);
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  if (reason == 0 && linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0) {
    reason = errno;
  }
  close(file);
  return reason;
#else
  (void)path;
  (void)sketch;
  return ENOTSUP;
#endif
}

/* The same where files need a name, or /proc is not there: one of its own. It is linked and not
 * renamed, which would replace what another has founded and already counts in. */
static int found_named(const char *temporary, const char *path, const struct ps_sketch *sketch)
{
  int file = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, PS_FILE_MODE);
  if (file < 0) {
    return errno;
  }
  int reason = fill(file, sketch);
  if (reason == 0 && link(temporary, path) != 0) {
    reason = errno;
  }
  unlink(temporary);
  close(file);
  return reason;
}

/* There is a file then, be it ours or another's. */
static enum ps_status found(const char *path, const struct ps_sketch *sketch,
                            struct ps_error *error)
{
  char temporary[PS_PATH_SIZE];
  int reason = found_unnamed(path, sketch);
  if (reason != 0 && reason != EEXIST && reason != ENOSPC) {
    enum ps_status status = ps_file_temporary(path, temporary, error);
    if (status != PS_OK) {
      return status;
    }
    reason = found_named(temporary, path, sketch);
  }
  return reason == 0 || reason == EEXIST ? PS_OK : ps_file_error(path, reason, error);
}

static enum ps_status join(const char *path, const struct ps_sketch *sketch,
                           struct ps_sketch *planned, struct ps_pages *pages,
                           struct ps_error *error)
{
  struct ps_file file;
  struct ps_header header;
  enum ps_status status = ps_file_open(&file, path, PS_READ_AND_WRITE, &header, error);
  if (status == PS_OK) {
    status = plan(&header, sketch, planned, error);
  }
  if (status == PS_OK) {
    status = ps_file_map(&file, &header, false, pages, error);
  }
  ps_file_close(&file);
  return status;
}

enum ps_status ps_share_file(const char *path, const struct ps_sketch *sketch,
                             struct ps_sketch *planned, struct ps_pages *pages,
                             struct ps_error *error)
{
  if (ps_founded_size(sketch) > SIZE_MAX / 2) {
    return ps_file_error(path, EFBIG, error);
  }
  for (int tries = 1;; tries++) {
    enum ps_status status = exists(path) ? PS_OK : found(path, sketch, error);
    if (status != PS_OK) {
      return status;
    }
    status = join(path, sketch, planned, pages, error);
    if (status == PS_OK || exists(path) || tries == TRIES) {
      return status;
    }
  }
}

/* ---- regions ---- */

/* The list is the process's own, and so are its links: a process that was forked has those of the
 * regions that there were. It only grows. */
struct region {
  struct region *next;
  unsigned char *memory;
  size_t size;
  char name[];
};

static void *regions;

static const struct region *find(const struct region *list, const char *name)
{
  while (list != NULL && strcmp(list->name, name) != 0) {
    list = list->next;
  }
  return list;
}

static struct region *map_region(const char *name, size_t size, struct ps_error *error)
{
  struct region *region = malloc(sizeof *region + strlen(name) + 1);
  void *memory = region == NULL
                     ? MAP_FAILED
                     : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    free(region);
    ps_no_memory(error, size);
    return NULL;
  }
  region->memory = memory;
  region->size = size;
  memcpy(region->name, name, strlen(name) + 1);
  return region;
}

static void unmap_region(struct region *region)
{
  munmap(region->memory, region->size);
  free(region);
}

/* The region of that name, founded if there is none; NULL without memory. */
static const struct region *found_region(const char *name, const struct ps_sketch *sketch,
                                         struct ps_error *error)
{
  struct region *list = ps_atomic_pointer(&regions);
  const struct region *there = find(list, name);
  if (there != NULL) {
    return there;
  }
  struct region *own = map_region(name, (size_t)ps_founded_size(sketch), error);
  if (own == NULL) {
    return NULL;
  }
  ps_found(sketch, own->memory);
  do { /* another thread may have been first */
    own->next = list;
    if (ps_atomic_publish(&regions, list, own)) {
      return own;
    }
    list = ps_atomic_pointer(&regions);
  } while ((there = find(list, name)) == NULL);
  unmap_region(own);
  return there;
}

enum ps_status ps_share_region(const char *name, const struct ps_sketch *sketch,
                               struct ps_sketch *planned, unsigned char **region,
                               struct ps_error *error)
{
  struct ps_header header;
  if (ps_founded_size(sketch) > SIZE_MAX / 2) {
    return ps_no_memory(error, ps_founded_size(sketch));
  }
  const struct region *there = found_region(name, sketch, error);
  if (there == NULL) {
    return PS_ERR_MEMORY;
  }
  *region = there->memory;
  enum ps_status status = ps_header_read(&header, there->memory, PS_PAGE_SIZE, there->size, error);
  return status != PS_OK ? status : plan(&header, sketch, planned, error);
}
