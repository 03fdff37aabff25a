/* Files that are shared come to be whole, once, or not at all: whoever else founds the same at that
 * time, is killed meanwhile, or finds no room. All of it again where a file cannot be founded
 * without a name.
 *
 * founding_test campaign (make hammer) races and kills more often. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "shares.h"

static const struct variant small = {"count_min", {{"width", 8}, {"depth", 1}}};
static const struct variant large = {"bloom", {{"capacity", 1e6}}};

/* Removes what is in the directory; how many that were. */
static int clear_directory(void)
{
  int n = 0;
  DIR *all = opendir(directory);
  for (struct dirent *one; all != NULL && (one = readdir(all)) != NULL;) {
    n += unlinkat(dirfd(all), one->d_name, 0) == 0;
  }
  closedir(all);
  return n;
}

/* ---- at the same time ---- */

static const char *race_name(int race)
{
  char name[32];
  snprintf(name, sizeof name, "race %d", race);
  return file_name(name);
}

/* Founds each file when all are about to, as told by `arrived`, and adds one. */
static void run_races(const struct ps_sketch *empty, unsigned worker, int races, int *arrived)
{
  bool fine = true;
  alarm(300); /* should another not arrive */
  for (int race = 0; race < races; race++) {
    struct shared shared;
    struct ps_error error;
    __atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(arrived, __ATOMIC_SEQ_CST) < (race + 1) * WORKERS) {
      sched_yield();
    }
    if (share(&shared, race_name(race), empty, &error) == PS_OK) {
      add_keys(&shared.any.sketch, worker, 1);
      ps_pages_unmap(&shared.pages);
    } else if (fine) {
      printf("# race %d: %s\n", race, error.message);
      fflush(stdout);
      fine = false;
    }
  }
  _exit(fine ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Of processes that all share a name at once each adds one, and all are in the one file that is
 * there then, and nothing else is. */
static void check_races(int races)
{
  struct specimen empty;
  pid_t children[WORKERS];
  int *arrived =
      mmap(NULL, sizeof *arrived, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (arrived == MAP_FAILED) {
    bail_out("no memory");
  }
  make(&empty, &small, 0);
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    children[worker] = fork();
    if (children[worker] == 0) {
      run_races(sketch_in(&empty), worker, races, arrived);
    }
  }
  for (unsigned worker = 0; worker < WORKERS; worker++) {
    CHECK(ended_well(children[worker]));
  }
  for (int race = 0; race < races; race++) {
    struct shared shared;
    must_share(&shared, race_name(race), sketch_in(&empty));
    CHECK_WITH(ps_count(&shared.any.sketch) == WORKERS, "race %d", race);
    ps_pages_unmap(&shared.pages);
  }
  CHECK(clear_directory() == races);
  munmap(arrived, sizeof *arrived);
  discard(&empty);
}

/* ---- killed ---- */

/* Who is killed while it founds a file has left it whole or not at all, and besides no more than
 * `left_over` others. */
static void check_kills(int trials, int left_over)
{
  struct specimen empty;
  uint64_t state = 5;
  const char *path = file_name("kill");
  make(&empty, &large, 0);
  for (int trial = 0; trial < trials; trial++) {
    struct shared shared;
    struct ps_error error = {PS_OK, ""};
    const pid_t self = getpid(), child = fork();
    if (child == 0) {
      while (getppid() == self) {
        share(&shared, path, sketch_in(&empty), &error);
        unlink(path);
      }
      _exit(EXIT_FAILURE);
    }
    usleep((useconds_t)(test_random(&state) % 3000));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    test_about("kill %d", trial);
    CHECK_WITH(share(&shared, path, sketch_in(&empty), &error) == PS_OK, "%s", error.message);
    add_keys(&shared.any.sketch, 0, 1);
    CHECK(ps_count(&shared.any.sketch) == 1);
    ps_pages_unmap(&shared.pages);
    CHECK(clear_directory() <= 1 + left_over);
  }
  discard(&empty);
}

/* ---- without room ---- */

/* A small file system of its own in the place of what is at `path`, seen by this process only. */
static bool mount_small(const char *path)
{
  return mount("none", path, "tmpfs", 0, "size=256k") == 0;
}

static void check_full(void)
{
  struct specimen empty;
  struct shared shared;
  struct ps_error error = {PS_OK, ""};
  make(&empty, &large, 0);
  CHECK(mount_small(directory));
  CHECK(share(&shared, file_name("full"), sketch_in(&empty), &error) == PS_ERR_IO);
  CHECK_WITH(strstr(error.message, "No space left") != NULL, "%s", error.message);
  CHECK(clear_directory() == 0);
  CHECK(umount(directory) == 0);
  discard(&empty);
}

/* ---- all of it ---- */

static bool leave_mounts(void)
{
  return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0;
}

enum { HELD, FAILED, NOT_ALLOWED };

/* In a process that ends without the checks of a sanitizer, for which it takes /proc. */
static int check_mounts(int races, int kills)
{
  int status;
  const pid_t child = fork();
  if (child != 0) {
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
  }
  if (!leave_mounts()) {
    _exit(NOT_ALLOWED);
  }
  check_full();
  /* Without /proc a file that has no name is not given one. */
  CHECK(mount_small("/proc"));
  check_races(races);
  check_kills(kills, 1);
  check_full();
  fflush(stdout);
  _exit(test_state.failed == 0 ? HELD : FAILED);
}

int main(int argc, char **argv)
{
  const bool thorough = argc > 1 && strcmp(argv[1], "campaign") == 0;
  const int races = thorough ? 5000 : 1000, kills = thorough ? 300 : 30;
  make_directory(fast_place());
  check_races(races);
  promise("processes that found a file at the same time share it");
  check_kills(kills, 0);
  promise("a process that is killed while it founds a file leaves nothing behind");
  const int mounted = check_mounts(races, kills);
  if (mounted == NOT_ALLOWED) {
    test_skip("full file systems, and such where a file needs a name", "mounting is not allowed");
  } else {
    CHECK(mounted == HELD);
    promise("nor is there a file where there is no room, nor where it needs a name from the first");
  }
  CHECK(rmdir(directory) == 0);
  promise("nothing is left behind");
  return test_end();
}
