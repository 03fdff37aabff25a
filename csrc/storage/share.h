/* Where sketches that processes share live: in files, and in regions of memory that have a name.
 *
 * Both begin with the header of a saved file, and with that of a live sketch (docs/FORMAT.md): they
 * are founded once, whole, with parameters and state of a sketch, and then only joined. */
#ifndef PS_STORAGE_SHARE_H
#define PS_STORAGE_SHARE_H

#include "base/sketch.h"
#include "storage/pages.h"

/* Maps the file at `path`, founding it if there is none: of several who do so at once one wins, and
 * all join what it made. `planned` becomes a sketch of the file's parameters, which must be those
 * of `sketch`, one that is private and sharable; of two secret seeds the file's is taken. The
 * payload is at pages->address + PS_PAGE_SIZE. PS_ERR_IO, PS_ERR_MISMATCH, or as ps_header_read()
 * and ps_plan_from_header(). */
enum ps_status ps_share_file(const char *path, const struct ps_sketch *sketch,
                             struct ps_sketch *planned, struct ps_pages *pages,
                             struct ps_error *error);

/* The same for a region of this process and of those that it forks afterwards. It stays until all
 * of them end; *region is not to be unmapped. */
enum ps_status ps_share_region(const char *name, const struct ps_sketch *sketch,
                               struct ps_sketch *planned, unsigned char **region,
                               struct ps_error *error);

#endif
