/* Shared sketches in files of a directory of their own, and in regions. */
#ifndef SPEC_SHARES_H
#define SPEC_SHARES_H

#include <string.h>
#include <sys/wait.h>

#include "base/sharing.h"
#include "sketches.h"
#include "storage/share.h"
#include "test_directory.h"

/* Processes, or threads, that work on one sketch. */
#define WORKERS 4

/* Where the directory is: in memory where it may be, since what is founded waits for the disk. */
static inline const char *fast_place(void)
{
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static inline const char *file_name(const char *name)
{
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

struct shared {
  union ps_any_sketch any;
  struct ps_pages pages;
};

/* Of a file if the name is a path, else of a region. */
static inline enum ps_status share(struct shared *shared, const char *name,
                                   const struct ps_sketch *sketch, struct ps_error *error)
{
  unsigned char *memory;
  enum ps_status status;
  shared->pages.address = NULL;
  if (strchr(name, '/') != NULL) {
    status = ps_share_file(name, sketch, &shared->any.sketch, &shared->pages, error);
    memory = shared->pages.address;
  } else {
    status = ps_share_region(name, sketch, &shared->any.sketch, &memory, error);
  }
  if (status == PS_OK) {
    ps_join(&shared->any.sketch, memory + PS_PAGE_SIZE, &test_source);
  }
  return status;
}

static inline void must_share(struct shared *shared, const char *name,
                              const struct ps_sketch *sketch)
{
  struct ps_error error;
  if (share(shared, name, sketch, &error) != PS_OK) {
    bail_out(error.message);
  }
}

static inline bool ended_well(pid_t child)
{
  int status;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif
