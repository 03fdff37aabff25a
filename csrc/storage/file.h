/* Sketches in files: saved whole or not at all, read with every size checked against the file's
 * own. */
#ifndef PS_STORAGE_FILE_H
#define PS_STORAGE_FILE_H

#include "base/sketch.h"
#include "storage/pages.h"

/* Writes what the encoder hands out to a new file beside `path`, syncs it, and renames it to
 * `path`: whoever opens `path` sees the old file or the new one, whole, also after a crash. Leaves
 * nothing behind when it fails. PS_ERR_IO. */
enum ps_status ps_file_save(const char *path, struct ps_encoder *encoder, struct ps_error *error);

/* A file that is being read; descriptor -1: closed. */
struct ps_file {
  int descriptor;
  bool writable;
};

enum ps_access { PS_READ, PS_READ_AND_WRITE };

/* Opens a regular file and reads the header of the sketch in it. Where a link leads is read, but
 * not written to: who may place one would choose the file. The file is to be closed also
 * after a failure. PS_ERR_IO, or as ps_header_read(). */
enum ps_status ps_file_open(struct ps_file *file, const char *path, enum ps_access access,
                            struct ps_header *header, struct ps_error *error);

/* Reads the payload and the trailer of the header's sketch. PS_ERR_IO, PS_ERR_TRUNCATED. */
enum ps_status ps_file_read(const struct ps_file *file, const struct ps_header *header,
                            void *payload, unsigned char trailer[PS_TRAILER_SIZE],
                            struct ps_error *error);

/* Maps the file of the header's sketch, read-only unless it is opened to write, from its beginning
 * to the end of the trailer. The mapping outlives the descriptor and the name; whoever cuts the
 * file short meanwhile has the process killed by SIGBUS where it looks next. With `ahead` the
 * system is asked to read all of it soon. PS_ERR_IO. */
enum ps_status ps_file_map(const struct ps_file *file, const struct ps_header *header, bool ahead,
                           struct ps_pages *pages, struct ps_error *error);

/* The rights of files that are made, less the umask. A daemon may have none, as nginx has; and who
 * may write to a file may cut it short, which kills those that map it. */
#define PS_FILE_MODE 0664

/* No path is longer. */
#define PS_PATH_SIZE 4096

/* A name that nothing has, beside `path`. PS_ERR_IO. */
enum ps_status ps_file_temporary(const char *path, char temporary[PS_PATH_SIZE],
                                 struct ps_error *error);

/* Bytes of the path up to and with its last slash: the directory, if it names one. */
int ps_file_directory(const char *path);

/* PS_ERR_IO for what errno says of the path. */
enum ps_status ps_file_error(const char *path, int reason, struct ps_error *error);

/* Twice is harmless. */
void ps_file_close(struct ps_file *file);

#endif
