/* What a sketch reports of itself, as a table. */
#include <assert.h>
#include <string.h>

#include "binding/sketch.h"

/* A report is kept in C until it is complete, since making a table of it may run finalisers, and
 * with them any Lua code: what is asked of a sketch is asked before. */
struct kept_value {
  const char *name;
  enum { KEPT_INTEGER, KEPT_NUMBER, KEPT_BOOLEAN, KEPT_LIST } type;
  uint64_t integer;
  double number;
  size_t n;
  double list[PS_LIST_MAX];
};

#define KEPT_MAX 32

struct kept_report {
  struct ps_report report;
  size_t n;
  struct kept_value value[KEPT_MAX];
};

static struct kept_value *keep(struct ps_report *report, const char *name)
{
  struct kept_report *kept = (struct kept_report *)report;
  assert(kept->n < KEPT_MAX);
  struct kept_value *value = &kept->value[kept->n++];
  value->name = name;
  return value;
}

static void keep_integer(struct ps_report *report, const char *name, uint64_t integer)
{
  struct kept_value *value = keep(report, name);
  value->type = KEPT_INTEGER;
  value->integer = integer;
}

static void keep_number(struct ps_report *report, const char *name, double number)
{
  struct kept_value *value = keep(report, name);
  value->type = KEPT_NUMBER;
  value->number = number;
}

static void keep_boolean(struct ps_report *report, const char *name, bool boolean)
{
  struct kept_value *value = keep(report, name);
  value->type = KEPT_BOOLEAN;
  value->integer = boolean;
}

static void keep_list(struct ps_report *report, const char *name, const double *values, size_t n)
{
  struct kept_value *value = keep(report, name);
  assert(n <= PS_LIST_MAX);
  value->type = KEPT_LIST;
  value->n = n;
  memcpy(value->list, values, n * sizeof *values);
}

static void push_list(lua_State *L, const double *values, size_t n)
{
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_pushnumber(L, values[i]);
    lua_rawseti(L, -2, (int)(i + 1));
  }
}

static void push_kept(lua_State *L, const struct kept_value *value)
{
  switch (value->type) {
  case KEPT_INTEGER:
    psl_push_integer(L, value->integer);
    break;
  case KEPT_NUMBER:
    lua_pushnumber(L, value->number);
    break;
  case KEPT_BOOLEAN:
    lua_pushboolean(L, value->integer != 0);
    break;
  case KEPT_LIST:
    push_list(L, value->list, value->n);
    break;
  }
}

void psl_push_report(lua_State *L, const struct ps_sketch *sketch, uint64_t bytes)
{
  struct kept_report kept;
  kept.report = (struct ps_report){keep_integer, keep_number, keep_boolean, keep_list};
  kept.n = 0;
  const char *kind = sketch->kind->name;
  if (sketch->kind->seeded && !(sketch->flags & PS_SEED_SECRET)) {
    keep_integer(&kept.report, "seed", sketch->seed);
  }
  keep_integer(&kept.report, "bytes", bytes);
  ps_report_on(sketch, &kept.report);

  lua_newtable(L);
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  for (size_t i = 0; i < kept.n; i++) {
    push_kept(L, &kept.value[i]);
    lua_setfield(L, -2, kept.value[i].name);
  }
}
