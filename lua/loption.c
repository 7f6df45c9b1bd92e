/* SPDX-License-Identifier: Apache-2.0
 * Options of ts.tune and ts.tune_tasks by their declarations: which there are,
 * and reading them from a table. */
#include "lua/ltune.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which there are ---------------------------------------------------- */

/* The i-th option of both lists; those of one program alone are left out where
 * there are two. */
static const tess_option *option_of(lt_option_list list, lt_option_list more,
                                    uint32_t i) {
  for (uint32_t k = 0; list(k); k++) {
    if (more && list(k)->single) continue;
    if (!i--) return list(k);
  }
  return more ? more(i) : NULL;
}

void lt_check_names(lua_State *L, const char *function, lt_option_list list,
                    lt_option_list more) {
  enum { MOST = 64 };
  const char *known[MOST + 1] = {NULL};
  const tess_option *o;
  for (uint32_t i = 0; i < MOST && (o = option_of(list, more, i)); i++)
    known[i] = o->name;
  lt_options(L, 2, function, known);
}

/* ---- what a table gives ------------------------------------------------- */

static uint32_t read_count(lua_State *L, const tess_option *o) {
  const lua_Integer absent = LUA_MININTEGER;
  lua_Integer v = lt_field_int(L, 2, o->name, absent);
  if (v == absent) return 0;
  if (v < 1 || v > (lua_Integer)o->most)
    lt_error(L, TESS_INVALID, "option '%s' is %lld, outside of 1 .. %lld",
             o->name, (long long)v, (long long)o->most);
  return (uint32_t)v;
}

/* Not given is 0 for the engine, which refuses what is out of range; so 0 is
 * refused here. */
static double read_positive(lua_State *L, const tess_option *o) {
  double x = lt_field_number(L, 2, o->name, -0.0);
  if (x == 0 && !signbit(x))
    lt_error(L, TESS_INVALID, "option '%s' is 0, not %s of more than 0",
             o->name,
             o->kind == TESS_OPTION_SHARE ? "a share" : "a time in seconds");
  return x == 0 ? 0 : x;
}

/* "record, stop" */
static const char *push_words(lua_State *L, const tess_option *o) {
  return luaL_gsub(L, o->words, "|", ", ");
}

/* Which of the words it is. */
static int32_t read_word(lua_State *L, const tess_option *o) {
  const char *given = lt_field_str(L, 2, o->name, NULL), *at = o->words;
  size_t n = given ? strlen(given) : 0;
  if (!given) return 0;
  for (int32_t i = 0; *at; i++) {
    size_t k = strcspn(at, "|");
    if (k == n && !strncmp(at, given, n)) return i;
    at += k + (at[k] == '|');
  }
  return lt_error(L, TESS_INVALID,
                  "option '%s': there is no '%s'; there are %s", o->name, given,
                  push_words(L, o));
}

/* Names of what may be an object, too, are read where it is. */
static int is_pluggable(const tess_option *o) {
  return o->kind == TESS_OPTION_TEXT && o->type;
}

static void read_option(lua_State *L, const tess_option *o, void *at) {
  switch (o->kind) {
  case TESS_OPTION_COUNT: *(uint32_t *)at = read_count(L, o); break;
  case TESS_OPTION_SEED:
    *(uint64_t *)at = (uint64_t)lt_field_int(L, 2, o->name, 0);
    break;
  case TESS_OPTION_SECONDS:
  case TESS_OPTION_SHARE: *(double *)at = read_positive(L, o); break;
  case TESS_OPTION_NAME:
  case TESS_OPTION_TEXT:
    *(const char **)at = lt_field_str(L, 2, o->name, NULL);
    break;
  case TESS_OPTION_WORD: *(int32_t *)at = read_word(L, o); break;
  case TESS_OPTION_SWITCH:
    *(int32_t *)at = lt_field_bool(L, 2, o->name, 0);
    break;
  case TESS_OPTION_OFF:
    *(int32_t *)at = !lt_field_bool(L, 2, o->name, 1);
    break;
  case TESS_OPTION_VALUE: break;
  }
}

void lt_read_options(lua_State *L, lt_option_list list, void *to) {
  const tess_option *o;
  for (uint32_t i = 0; (o = list(i)); i++)
    if (o->field && !is_pluggable(o)) read_option(L, o, (char *)to + o->offset);
}

/* ---- for stdlib/lang/options.lua ---------------------------------------- */

/* Writes how the command spells the option, without dashes. */
static void option_flag(const tess_option *o, size_t n, char *to) {
  snprintf(to, n, "%s%s", o->kind == TESS_OPTION_OFF ? "no-" : "",
           o->flag ? o->flag : o->name);
  for (char *at = to; *at; at++)
    if (*at == '_') *at = '-';
}

static const char *const types[] = {
    [TESS_OPTION_COUNT] = "integer",  [TESS_OPTION_SEED] = "integer",
    [TESS_OPTION_SECONDS] = "number", [TESS_OPTION_SHARE] = "number",
    [TESS_OPTION_TEXT] = "string",    [TESS_OPTION_SWITCH] = "boolean",
    [TESS_OPTION_OFF] = "boolean"};
static const char *const takes[] = {
    [TESS_OPTION_VALUE] = "string",  [TESS_OPTION_COUNT] = "count",
    [TESS_OPTION_SEED] = "unsigned", [TESS_OPTION_SECONDS] = "seconds",
    [TESS_OPTION_SHARE] = "share",   [TESS_OPTION_TEXT] = "string",
    [TESS_OPTION_SWITCH] = "flag",   [TESS_OPTION_OFF] = "flag"};

/* "record|stop": the type is "record"|"stop", with the quotes, the default is
 * the first, and the flag takes one of a list. */
static void set_words(lua_State *L, const tess_option *o) {
  char first[64];
  const char *at = o->words;
  snprintf(first, sizeof first, "\"%.*s\"", (int)strcspn(at, "|"), at);
  lt_set_string(L, "default", first);
  lua_pushfstring(L, "\"%s\"", luaL_gsub(L, at, "|", "\"|\""));
  lua_setfield(L, -3, "type");
  lua_pop(L, 1);
  lua_newtable(L);
  for (int i = 1; *at; i++) {
    size_t n = strcspn(at, "|");
    lua_pushlstring(L, at, n);
    lua_seti(L, -2, i);
    at += n + (at[n] == '|');
  }
  lua_setfield(L, -2, "takes");
}

static void set_default(lua_State *L, const tess_option *o) {
  char number[32];
  snprintf(number, sizeof number, "%.10g", o->initial);
  lt_set_string(L, "default",
                o->usual                        ? o->usual
                : o->kind == TESS_OPTION_SWITCH ? "false"
                : o->kind == TESS_OPTION_OFF    ? "true"
                                                : number);
}

static void push_declared(lua_State *L, const tess_option *o) {
  char flag[64];
  lua_createtable(L, 0, 11);
  lt_set_string(L, "name", o->name);
  if (o->words) {
    set_words(L, o);
  } else {
    lt_set_string(L, "type", o->type ? o->type : types[o->kind]);
    lt_set_string(L, "takes", takes[o->kind]);
    set_default(L, o);
  }
  option_flag(o, sizeof flag, flag);
  lt_set_string(L, "flag", o->instead ? NULL : flag);
  lt_set_string(L, "instead", o->instead);
  lt_set_string(L, "shown", o->shown);
  lua_pushfstring(L, "%s%s", o->help, o->lua ? o->lua : "");
  lua_setfield(L, -2, "help");
  if (o->most > 0) lt_set_integer(L, "most", (lua_Integer)o->most);
  if (o->kind == TESS_OPTION_OFF) lt_set_boolean(L, "negates", 1);
  if (o->single) lt_set_boolean(L, "single", 1);
}

static void set_list(lua_State *L, const char *name, lt_option_list list) {
  const tess_option *o;
  lua_newtable(L);
  for (uint32_t i = 0; (o = list(i)); i++) {
    push_declared(L, o);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, name);
}

int lt_declared_options(lua_State *L) {
  lua_createtable(L, 0, 2);
  set_list(L, "tune", tess_tune_option);
  set_list(L, "tasks", tess_tasks_option);
  return 1;
}
