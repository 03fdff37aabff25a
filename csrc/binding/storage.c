/***
Sketches to and from strings and files.
@module probsketch
*/
#include "binding/storage.h"

#include <stdalign.h>
#include <string.h>

#include "binding/keys.h"
#include "binding/options.h"
#include "binding/sketch.h"
#include "kinds.h"
#include "storage/file.h"

const char *psl_check_path(lua_State *L, int index)
{
  size_t length;
  luaL_checktype(L, index, LUA_TSTRING);
  const char *path = lua_tolstring(L, index, &length);
  luaL_argcheck(L, strlen(path) == length && length > 0, index, "not a path");
  return path;
}

/* What the system says of a path names it already. */
int psl_fail_at(lua_State *L, const char *path, const struct ps_error *error)
{
  int results = psl_fail(L, error);
  if (error->status != PS_ERR_IO) {
    lua_pushfstring(L, "%s: %s", path, error->message);
    lua_replace(L, -results);
  }
  return results;
}

/* ---- to bytes ---- */

/***
Methods of every sketch
@section sketch
*/

/* Starts an encoder, with scratch pushed onto the stack: again, should the sketch have grown
 * meanwhile. */
static void start(lua_State *L, struct ps_encoder *encoder, const struct ps_sketch *sketch,
                  enum ps_placement placement)
{
  uint64_t size;
  void *scratch;
  lua_pushnil(L);
  do {
    lua_pop(L, 1);
    size = ps_encoder_scratch(sketch);
    scratch = psl_push_scratch(L, size);
    psl_check_open(L, sketch);
  } while (ps_encoder_scratch(sketch) > size);
  ps_encoder_start(encoder, sketch, placement, scratch);
}

/***
The sketch as a string, for @{decode}. Equal sketches give equal strings, on every machine and Lua.
O(size).
@function sketch:encode
@treturn string
*/
int psl_encode(lua_State *L)
{
  alignas(64) struct ps_encoder encoder;
  const struct ps_sketch *sketch = psl_self(L);
  start(L, &encoder, sketch, PS_TIGHT);
  const uint64_t size = encoder.total;
  char *bytes = psl_push_scratch(L, size);
  psl_check_open(L, sketch);
  ps_encoder_read(&encoder, bytes, (size_t)size);
  lua_pushlstring(L, bytes, (size_t)size);
  return 1;
}

/* What an iterator over pieces has. They all come by way of one block of memory, since to find new
 * memory for a piece takes longer than all else. */
struct chunks {
  struct ps_encoder encoder;
  char *piece;
  size_t size; /* the most of a piece */
};

/* Upvalues of the iterator behind PSL_STATE: the sketch, the chunks, and what keeps the memory of
 * these, of the encoder's scratch and of the piece. */
enum { CHUNKS_SKETCH = 2, CHUNKS, CHUNKS_UPVALUES = 6 };

static int next_chunk(lua_State *L)
{
  struct chunks *chunks = lua_touserdata(L, lua_upvalueindex(CHUNKS));
  const struct psl_box *box = lua_touserdata(L, lua_upvalueindex(CHUNKS_SKETCH));
  psl_account(L, chunks->size);
  psl_check_open(L, &box->sketch);
  const size_t n = ps_encoder_read(&chunks->encoder, chunks->piece, chunks->size);
  if (n > 0) {
    lua_pushlstring(L, chunks->piece, n);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/***
Iterates over the bytes of `encode()` without making them one string: `for piece in
sketch:chunks(65536) do`. A sketch that changes meanwhile yields bytes that load, each part as it
was when it came by.
@function sketch:chunks
@tparam integer n the most bytes in a piece
@treturn function iterator
*/
int psl_chunks(lua_State *L)
{
  const struct ps_sketch *sketch = psl_self(L);
  const uint64_t most = psl_whole(L, 2, "bytes", 1);
  lua_settop(L, 1);
  lua_pushvalue(L, PSL_STATE);
  lua_insert(L, 1);
  struct chunks *chunks = psl_push_scratch(L, sizeof *chunks);
  lua_pushlightuserdata(L, chunks);
  lua_insert(L, -2);
  psl_check_open(L, sketch);
  start(L, &chunks->encoder, sketch, PS_TIGHT);
  const uint64_t total = chunks->encoder.total;
  chunks->size = (size_t)(most < total ? most : total);
  chunks->piece = psl_push_scratch(L, chunks->size);
  psl_check_open(L, sketch);
  lua_pushcclosure(L, next_chunk, CHUNKS_UPVALUES);
  return 1;
}

/***
Saves the sketch to a file for @{load}: whole or not at all, and safe on disk when it returns.
Readers of the path see the old file or the new. O(size), waits for the disk.
@function sketch:save
@tparam string path
@treturn boolean true; or nil, message, code
*/
int psl_save(lua_State *L)
{
  alignas(64) struct ps_encoder encoder;
  struct ps_error error;
  const struct ps_sketch *sketch = psl_self(L);
  const char *path = psl_check_path(L, 2);
  start(L, &encoder, sketch, PS_PAGED);
  if (ps_file_save(path, &encoder, &error) != PS_OK) {
    return psl_fail(L, &error);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- from bytes ---- */

/***
@section end
*/

/* The header's parameters into `planned`, if they are of the kind that was asked for and within the
 * limit. */
static enum ps_status plan(lua_State *L, struct ps_sketch *planned, const struct ps_header *header,
                           const struct ps_kind *wanted, struct ps_error *error)
{
  return ps_plan_from_header(planned, header, wanted, psl_state(L)->max_bytes, error);
}

/***
The sketch in a string made by `encode()`. Bytes that are wrong are refused and cost no more memory
than they have themselves.
@function decode
@tparam string bytes
@tparam[opt] string kind refuses all others
@return the sketch; or nil, message, code
*/
int psl_decode(lua_State *L)
{
  size_t size;
  struct ps_error error;
  struct ps_header header;
  union ps_any_sketch planned;
  luaL_checktype(L, 1, LUA_TSTRING);
  const unsigned char *bytes = (const unsigned char *)lua_tolstring(L, 1, &size);
  const struct ps_kind *wanted = psl_optional_kind(L, 2);
  if (ps_header_read(&header, bytes, size, size, &error) != PS_OK ||
      plan(L, &planned.sketch, &header, wanted, &error) != PS_OK) {
    return psl_fail(L, &error);
  }
  void *payload;
  struct ps_sketch *sketch = psl_push(L, &planned.sketch, &payload);
  const unsigned char *from = bytes + header.payload_offset;
  if (ps_decode(sketch, &header, from, from + header.payload_size, payload, &psl_state(L)->memory,
                &error) != PS_OK) {
    return psl_fail(L, &error);
  }
  return 1;
}

/* Reads an opened file into a sketch that is pushed. */
static enum ps_status read_sketch(lua_State *L, const struct ps_file *file,
                                  const struct ps_header *header, const struct ps_sketch *planned,
                                  struct ps_error *error)
{
  unsigned char trailer[PS_TRAILER_SIZE];
  void *payload;
  bool in_place = ps_comes_in_place(planned, header);
  void *bytes = in_place ? NULL : psl_push_scratch(L, header->payload_size);
  struct ps_sketch *sketch = psl_push(L, planned, &payload);
  if (in_place) {
    bytes = payload;
  }
  enum ps_status status = ps_file_read(file, header, bytes, trailer, error);
  if (status != PS_OK) {
    return status;
  }
  return ps_decode(sketch, header, bytes, trailer, payload, &psl_state(L)->memory, error);
}

static int close_file(lua_State *L)
{
  ps_file_close(lua_touserdata(L, 1));
  return 0;
}

/* A file that is closed even if an error is raised: its userdata is there before it is opened. */
static struct ps_file *push_file(lua_State *L)
{
  struct ps_file *file = lua_newuserdata(L, sizeof *file);
  file->descriptor = -1;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_file);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return file;
}

/* Opens the file in `path`, and reads its header. */
static enum ps_status open_and_plan(lua_State *L, struct ps_file *file,
                                    const struct ps_kind *wanted, struct ps_header *header,
                                    struct ps_sketch *planned, struct ps_error *error)
{
  enum ps_status status = ps_file_open(file, lua_tostring(L, 1), PS_READ, header, error);
  return status != PS_OK ? status : plan(L, planned, header, wanted, error);
}

/***
The sketch in a file made by `save()` or holding the bytes of `encode()`, read without a detour
through a Lua string. O(size), waits for the disk.
@function load
@tparam string path
@tparam[opt] string kind refuses all others
@return the sketch; or nil, message, code
*/
int psl_load(lua_State *L)
{
  struct ps_error error;
  struct ps_header header;
  union ps_any_sketch planned;
  psl_check_path(L, 1);
  const struct ps_kind *wanted = psl_optional_kind(L, 2);
  struct ps_file *file = push_file(L);
  enum ps_status status = open_and_plan(L, file, wanted, &header, &planned.sketch, &error);
  if (status == PS_OK) {
    status = read_sketch(L, file, &header, &planned.sketch, &error);
  }
  ps_file_close(file);
  return status == PS_OK ? 1 : psl_fail_at(L, lua_tostring(L, 1), &error);
}

/* What open() is asked for. */
struct open_options {
  const struct ps_kind *kind; /* NULL: any */
  bool verify, populate;
};

static bool boolean_option(lua_State *L, const char *name)
{
  if (!lua_isboolean(L, -1)) {
    psl_bad_option(L, 2, name, "true or false");
  }
  return lua_toboolean(L, -1);
}

static const struct ps_kind *kind_option(lua_State *L, const char *name)
{
  const struct ps_kind *kind = NULL;
  if (lua_type(L, -1) == LUA_TSTRING) {
    kind = ps_kind_by_name(lua_tostring(L, -1));
  }
  if (kind == NULL) {
    psl_bad_option(L, 2, name, "the name of a kind");
  }
  return kind;
}

/* The value is on top of the stack, its name below. */
static void read_open_option(lua_State *L, struct open_options *options)
{
  const char *name = psl_option_name(L, 2);
  if (strcmp(name, "kind") == 0) {
    options->kind = kind_option(L, name);
  } else if (strcmp(name, "verify") == 0) {
    options->verify = boolean_option(L, name);
  } else if (strcmp(name, "populate") == 0) {
    options->populate = boolean_option(L, name);
  } else {
    psl_unknown_option(L, 2, name);
  }
}

static struct open_options check_open_options(lua_State *L)
{
  struct open_options options = {NULL, true, false};
  if (lua_isnoneornil(L, 2)) {
    return options;
  }
  luaL_argcheck(L, lua_type(L, 2) != LUA_TSTRING, 2, "options expected, a kind is { kind = name }");
  luaL_checktype(L, 2, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
    read_open_option(L, &options);
  }
  return options;
}

/* Maps an opened file, and pushes the sketch that works on it. */
static enum ps_status map_sketch(lua_State *L, const struct ps_file *file,
                                 const struct ps_header *header, const struct ps_sketch *planned,
                                 const struct open_options *options, struct ps_error *error)
{
  struct psl_box *box = psl_push_box(L, planned);
  enum ps_status status = ps_file_map(file, header, options->populate, &box->pages, error);
  if (status != PS_OK) {
    return status;
  }
  unsigned char *payload = (unsigned char *)box->pages.address + header->payload_offset;
  status = ps_decode(&box->sketch, header, payload,
                     options->verify ? payload + header->payload_size : NULL, payload,
                     &psl_state(L)->memory, error);
  if (status != PS_OK) {
    ps_pages_unmap(&box->pages);
  }
  return status;
}

/***
The sketch in a file made by `save()`, read-only and without a copy: it works on the file itself,
which the system reads where it is asked, keeps in memory once for all processes, and takes back
when memory is short. What would change it raises; @{sketch:copy} and @{sketch:union} give sketches
that can be changed. Where a sketch does not work on the bytes that are stored, the file is loaded
as by @{load}, and `info().mapped` is false: so it is of scalable_bloom, a growing cuckoo, top_k, a
small hyperloglog, tdigest, kll, a ddsketch without a fixed range, and of files that hold the bytes
of `encode()`.

**The file must never be changed in place**: a process that looks at what has been cut off is killed
(SIGBUS). Replace it, as `save` and `mv` do, or a symbolic link to it; who has the old one open
keeps it, and `close()` lets it go. What is no regular file, nor a link to one, is refused like bad
bytes.

O(size) for the checksum; without it O(1), but of count_min with counters of 64 bits, hyperloglog
and ddsketch, which are looked at all the same. `count()` and `info()` go over the whole once, when
they are first called.
@function open
@tparam string path
@tparam[opt] table options
@tparam[opt] string options.kind refuses all others
@tparam[opt=true] boolean options.verify compare the checksum of the payload, and so read all of it
@tparam[opt=false] boolean options.populate ask the system to read all of the file ahead
@return the sketch; or nil, message, code
*/
int psl_open(lua_State *L)
{
  struct ps_error error;
  struct ps_header header;
  union ps_any_sketch planned;
  psl_check_path(L, 1);
  const struct open_options options = check_open_options(L);
  struct ps_file *file = push_file(L);
  enum ps_status status = open_and_plan(L, file, options.kind, &header, &planned.sketch, &error);
  if (status == PS_OK) {
    status = ps_plan_mapped(&planned.sketch, &header)
                 ? map_sketch(L, file, &header, &planned.sketch, &options, &error)
                 : read_sketch(L, file, &header, &planned.sketch, &error);
  }
  ps_file_close(file);
  return status == PS_OK ? 1 : psl_fail_at(L, lua_tostring(L, 1), &error);
}
