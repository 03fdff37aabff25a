/***
Sketches from bytes that come in pieces.
@classmod decoder
*/
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "binding/options.h"
#include "binding/sketch.h"
#include "binding/storage.h"
#include "storage/decoder.h"

enum state { FEEDING, FINISHED, CLOSED };

/* The userdata. The decoder within lies at a multiple of 64, which the userdata need not. */
struct box {
  enum state state;
  struct ps_decoder decoder;
};

static void *aligned(void *userdata)
{
  return (void *)(((uintptr_t)userdata + 63) / 64 * 64);
}

static struct box *check_box(lua_State *L)
{
  if (!psl_is_self(L)) {
    const char *got = luaL_typename(L, 1);
    luaL_argerror(L, 1, lua_pushfstring(L, "decoder expected, got %s", got));
  }
  lua_pop(L, 1);
  return aligned(lua_touserdata(L, 1));
}

static void check_feeding(lua_State *L, const struct box *box)
{
  if (box->state != FEEDING) {
    luaL_argerror(L, 1, box->state == CLOSED ? "the decoder is closed" : "the decoder is finished");
  }
}

static void leave(struct box *box, enum state state)
{
  ps_decoder_release(&box->decoder);
  box->state = state;
}

/***
A decoder: gets the bytes of one sketch piece by piece, however they are cut, and has the sketch in
the end. For what comes through a socket, or is too long for one string; and for servers that must
not stand still: a call takes as long as its piece needs, 0.3 to 6 ms for a megabyte, and the last
one is short. A sketch that is not kept as it is stored, scalable_bloom, a growing cuckoo, top_k,
hyperloglog, tdigest, kll or ddsketch, is put together in @{finish}, which then is O(size); and
count_min with counters of 64 bits is looked through.

What it holds grows with what it was fed, not with what the bytes claim to be.
@function probsketch.decoder
@within Constructor
@tparam[opt] string kind refuses all others
@return the decoder
@usage
local decoder = probsketch.decoder()
for piece in sketch:chunks(65536) do
  assert(decoder:feed(piece))
end
local copy = assert(decoder:finish())
*/
static int construct(lua_State *L)
{
  const struct ps_kind *wanted = psl_optional_kind(L, 1);
  psl_account(L, sizeof(struct box));
  struct box *box = aligned(lua_newuserdata(L, sizeof *box + 63));
  box->state = FEEDING;
  ps_decoder_start(&box->decoder, wanted, psl_state(L)->max_bytes);
  lua_pushvalue(L, PSL_METATABLE);
  lua_setmetatable(L, -2);
  return 1;
}

/***
Takes the next bytes. Linear in their number.
@function decoder:feed
@tparam string piece of any length, 0 included
@treturn ?bool true; or nil as soon as the bytes are known to be wrong, or over the limit that
@{probsketch.max_bytes} had for the decoder. That is final.
@treturn ?string message
@treturn ?string code
@raise after `finish` or `close`
*/
static int decoder_feed(lua_State *L)
{
  size_t size;
  struct ps_error error;
  struct box *box = check_box(L);
  luaL_checktype(L, 2, LUA_TSTRING);
  const unsigned char *piece = (const unsigned char *)lua_tolstring(L, 2, &size);
  psl_account(L, size);
  check_feeding(L, box); /* a finaliser may have fed it or closed it, but not in the middle */
  if (ps_decoder_feed(&box->decoder, piece, size, &error) != PS_OK) {
    return psl_fail(L, &error);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* Has all come? Asked again after an allocation: a finaliser may have closed the decoder, or fed it
 * more. */
static enum ps_status check_end(lua_State *L, struct box *box, struct ps_error *error)
{
  check_feeding(L, box);
  return ps_decoder_end(&box->decoder, error);
}

/* The payload has been received where the sketch has it: in pages, which it takes over. */
static enum ps_status push_with_pages(lua_State *L, struct box *box,
                                      const struct ps_sketch *planned, struct ps_error *error)
{
  struct psl_box *made = psl_push_box(L, planned);
  enum ps_status status = check_end(L, box, error);
  if (status != PS_OK) {
    return status;
  }
  made->pages = box->decoder.pages;
  box->decoder.pages.address = NULL;
  status = ps_decode_received(&made->sketch, made->pages.address, &psl_state(L)->memory, error);
  if (status != PS_OK) {
    ps_pages_unmap(&made->pages);
  }
  return status;
}

static enum ps_status push_with_copy(lua_State *L, struct box *box, const struct ps_sketch *planned,
                                     struct ps_error *error)
{
  void *payload;
  const struct ps_decoder *decoder = &box->decoder;
  const struct ps_memory *memory = &psl_state(L)->memory;
  struct ps_sketch *sketch = psl_push(L, planned, &payload);
  enum ps_status status = check_end(L, box, error);
  if (status != PS_OK) {
    return status;
  }
  const unsigned char *received = ps_decoder_payload(decoder);
  if (!ps_decoder_in_place(decoder)) {
    return ps_decode(sketch, &decoder->header, received, NULL, payload, memory, error);
  }
  memcpy(payload, received, (size_t)decoder->header.payload_size);
  return ps_decode_received(sketch, payload, memory, error);
}

/* Pushes the sketch of which all has come. */
static enum ps_status push_sketch(lua_State *L, struct box *box, struct ps_error *error)
{
  const union ps_any_sketch planned = box->decoder.planned; /* it may be closed meanwhile */
  return ps_payload_size(&planned.sketch) >= PSL_PAGES_FROM && ps_decoder_in_place(&box->decoder)
             ? push_with_pages(L, box, &planned.sketch, error)
             : push_with_copy(L, box, &planned.sketch, error);
}

/***
The sketch, when all its bytes have come. The decoder is of no use afterwards.
@function decoder:finish
@return the sketch; or nil, message, code: what came was wrong, or not all
@raise after `finish` or `close`
*/
static int decoder_finish(lua_State *L)
{
  struct ps_error error;
  struct box *box = check_box(L);
  enum ps_status status = check_end(L, box, &error);
  if (status == PS_OK) {
    status = push_sketch(L, box, &error);
  }
  if (status != PS_ERR_MEMORY) {
    leave(box, FINISHED);
  }
  return status == PS_OK ? 1 : psl_fail(L, &error);
}

/***
Gives up, and gives the memory back now. Closing again is harmless, and so it is after `finish`.
Also what a `<close>` variable does on Lua 5.4.
@function decoder:close
*/
static int decoder_close(lua_State *L)
{
  struct box *box = check_box(L);
  leave(box, box->state == FEEDING ? CLOSED : box->state);
  return 0;
}

static int decoder_tostring(lua_State *L)
{
  char text[64];
  const struct box *box = check_box(L);
  if (box->state == FEEDING) {
    snprintf(text, sizeof text, "decoder (%" PRIu64 " bytes fed)", box->decoder.at);
  } else {
    snprintf(text, sizeof text, "decoder (%s)", box->state == CLOSED ? "closed" : "finished");
  }
  lua_pushstring(L, text);
  return 1;
}

static const luaL_Reg methods[] = {
    {"feed", decoder_feed},
    {"finish", decoder_finish},
    {"close", decoder_close},
    {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__tostring", decoder_tostring},
    {"__gc", decoder_close},
    {"__close", decoder_close},
    {NULL, NULL},
};

/* Functions into the table on top, with the upvalues of a kind's methods. */
static void set_functions(lua_State *L, const luaL_Reg *functions, int state, int metatable)
{
  lua_pushvalue(L, state);
  lua_pushvalue(L, metatable);
  lua_pushnil(L);
  psl_set_functions(L, functions, PSL_UPVALUES);
}

void psl_push_decoder_constructor(lua_State *L, int state)
{
  lua_pushvalue(L, state);
  lua_newtable(L);
  const int metatable = lua_gettop(L);
  set_functions(L, metamethods, state, metatable);
  psl_name_metatable(L, metatable, "decoder");
  lua_newtable(L);
  set_functions(L, methods, state, metatable);
  lua_setfield(L, metatable, "__index");
  lua_pushnil(L);
  lua_pushcclosure(L, construct, PSL_UPVALUES);
}
