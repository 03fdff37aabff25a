/* A directory of a test's own, which goes with all that is in it when the test ends: also when it
 * is killed, or bails out. */
#ifndef SPEC_TEST_DIRECTORY_H
#define SPEC_TEST_DIRECTORY_H

#include <errno.h>
#include <unistd.h>

#include "test.h"

static char directory[64];

/* A process of its own removes it once nobody has the other end of a pipe any more: neither the
 * test nor what it forks. In a session of its own it is not killed together with them. */
static inline void guard_directory(void)
{
  int ends[2];
  char byte;
  if (pipe(ends) != 0) {
    bail_out("no pipe");
  }
  if (fork() == 0) {
    setsid();
    close(ends[1]);
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    execlp("rm", "rm", "-rf", directory, (char *)NULL);
    _exit(EXIT_FAILURE);
  }
  close(ends[0]);
}

static inline void make_directory(const char *parent)
{
  snprintf(directory, sizeof directory, "%s/probsketch-XXXXXX", parent);
  if (mkdtemp(directory) == NULL) {
    bail_out("no directory");
  }
  guard_directory();
}

#endif
