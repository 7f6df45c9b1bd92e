/* SPDX-License-Identifier: Apache-2.0
 * Opens the module "tessera": its context, error objects, and search paths. */
#include "lua/lt.h"
#include "lua/warn.h"
#include <dlfcn.h>
#include <lualib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the context -------------------------------------------------------- */

typedef struct lt_state {
  tess_context *c;
  int owned;
  lt_warnings warnings; /* of a context of its own */
} lt_state;
static const char state_key = 0; /* its address is the registry key */

static int state_gc(lua_State *L) {
  lt_state *s = lua_touserdata(L, 1);
  if (s->owned && s->c) tess_context_free(s->c);
  free(s->warnings.text);
  *s = (lt_state){.c = NULL};
  return 0;
}

/* Lua finalises userdata in the reverse order of their making when a state
 * is closed; this one is made first, so the context goes last. */
static lt_state *state_get(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  lt_state *s = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (s) return s;
  s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (lt_state){.c = NULL};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
  return s;
}

tess_context *lt_context(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  lt_state *s = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!s || !s->c) luaL_error(L, "tessera is not open in this state");
  return s->c;
}

/* ---- errors ------------------------------------------------------------- */

static void set_str(lua_State *L, const char *k, const char *v) {
  if (v && *v) lt_set_string(L, k, v);
}

/* Pushes "file: " of the script that an interpreter runs, "" where there is
 * none: `return ops.matmul(..)` at its end leaves no frame of its own. */
static void push_script(lua_State *L) {
  /* A file that a sub-command runs (command/files.lua), or the script. */
  int described = lua_getfield(L, LUA_REGISTRYINDEX, "tessera.script");
  if (described == LUA_TNIL) lua_pop(L, 1);
  if (described == LUA_TNIL && lua_getglobal(L, "arg") == LUA_TTABLE) {
    lua_pushinteger(L, 0);
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  if (lua_type(L, -1) == LUA_TSTRING)
    lua_pushfstring(L, "%s: ", lua_tostring(L, -1));
  else
    lua_pushliteral(L, "");
  lua_remove(L, -2);
}

/* Pushes "file:line: " of the Lua that called: the innermost function that is
 * neither C nor in the folder of Tessera's own Lua files (recorded by
 * open.lua); where it ended by a call, of the script. */
static void push_where(lua_State *L) {
  lua_Debug ar;
  lua_getfield(L, LUA_REGISTRYINDEX, "tessera.folder");
  const char *own = lua_tostring(L, -1);
  int ended = 0;
  for (int level = 1; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Slt", &ar);
    ended |= ar.istailcall;
    if (ar.currentline <= 0) continue;
    if (own && !strncmp(ar.source, own, strlen(own))) continue;
    lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  if (ended)
    push_script(L);
  else
    lua_pushliteral(L, "");
}

/* Pushes an error object; `where` is the line of Lua that called, and so is
 * `place` until the engine knows a better one. */
static void push_error(lua_State *L, tess_status code, const char *message) {
  lua_createtable(L, 0, 8);
  luaL_setmetatable(L, LT_ERROR);
  set_str(L, "code", tess_status_name(code));
  set_str(L, "message", message && *message ? message : tess_status_text(code));
  push_where(L);
  size_t n;
  const char *where = lua_tolstring(L, -1, &n);
  if (n > 2) { /* without the ": " behind it */
    lua_pushlstring(L, where, n - 2);
    lua_setfield(L, -3, "place");
  }
  lua_setfield(L, -2, "where");
}

void lt_check(lua_State *L, tess_status s) {
  if (s == TESS_OK) {
    lt_tell_warnings(L);
    return;
  }
  /* A collected object's end would clear the context's error. */
  int collecting = lua_gc(L, LUA_GCISRUNNING);
  lua_gc(L, LUA_GCSTOP);
  const tess_error_info *e = tess_error(lt_context(L));
  push_error(L, s, e->code == s ? e->message : NULL);
  if (e->code == s) {
    set_str(L, "place", e->place);
    set_str(L, "primitive", e->primitive);
    set_str(L, "reason", e->reason);
    lt_set_integer(L, "serial", (lua_Integer)e->serial);
  }
  if (collecting) lua_gc(L, LUA_GCRESTART);
  lt_tell_warnings(L);
  lua_error(L);
}

/* Of one line, as all, and without what acts on a terminal. */
static void one_line(char *text) {
  for (unsigned char *c = (unsigned char *)text; *c; c++) {
    if (*c < ' ' || *c == 0x7f) *c = ' ';
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) c[0] = c[1] = '?';
  }
}

int lt_error(lua_State *L, tess_status s, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  one_line(text);
  push_error(L, s, text);
  return lua_error(L);
}

/* Lua's own errors are strings, whoever raises them again: of the interpreter's
 * handler of Ctrl-C, "FILE:LINE: interrupted!", of the command's, without the
 * mark. */
static tess_status status_of_text(const char *text) {
  if (!strcmp(text, "not enough memory")) return TESS_NOMEM;
  const char *colon = strrchr(text, ':');
  const char *says = colon ? colon + strspn(colon, ": ") : text;
  if (!strcmp(says, "interrupted") || !strcmp(says, "interrupted!"))
    return TESS_CANCELLED;
  return TESS_CALLBACK;
}

/* One of the error objects that the engine's failures are here. */
static int is_error(lua_State *L, int i) {
  if (!lua_istable(L, i) || !lua_getmetatable(L, i)) return 0;
  luaL_getmetatable(L, LT_ERROR);
  int is = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is;
}

static tess_status status_named(const char *name) {
#define STATUS(code, number, text) \
  if (!strcmp(name, #code)) return TESS_##code;
#include <tessera/status.def>
#undef STATUS
  return TESS_CALLBACK;
}

tess_status lt_code_of(lua_State *L, int i) {
  i = lua_absindex(L, i);
  if (lua_type(L, i) == LUA_TSTRING) return status_of_text(lua_tostring(L, i));
  if (!is_error(L, i)) return TESS_CALLBACK;
  lua_pushliteral(L, "code");
  lua_rawget(L, i);
  tess_status s = lua_type(L, -1) == LUA_TSTRING
                      ? status_named(lua_tostring(L, -1))
                      : TESS_CALLBACK;
  lua_pop(L, 1);
  return s;
}

tess_status lt_status_of(lua_State *L, int i) {
  tess_status s = lt_code_of(L, i);
  return s == TESS_NOMEM || s == TESS_CANCELLED ? s : TESS_CALLBACK;
}

/* The program with the place marked, while the context still has it. */
static const char *error_detail(lua_State *L, int i) {
  lua_pushliteral(L, "serial");
  lua_rawget(L, i);
  lua_Integer serial = lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (!serial) return "";
  const tess_error_info *e = tess_error(lt_context(L));
  return (lua_Integer)e->serial == serial && e->detail ? e->detail : "";
}

/* A field of the error object at index 1, "" when absent. */
static const char *error_field(lua_State *L, const char *k) {
  lua_pushstring(L, k);
  lua_rawget(L, 1);
  const char *v = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  lua_pop(L, 1);
  return v;
}

/* What the error object at index 1 says, without the program. */
static int error_line(lua_State *L) {
  const char *place = error_field(L, "place"), *where = error_field(L, "where");
  lua_pushfstring(L, "%s%s", where, error_field(L, "message"));
  if (strncmp(where, place, strlen(place))) {
    lua_pushfstring(L, " (at %s)", place);
    lua_concat(L, 2);
  }
  return 1;
}

static int error_tostring(lua_State *L) {
  lt_table(L, 1, "an error");
  const char *detail = error_detail(L, 1);
  error_line(L);
  if (*detail) {
    lua_pushfstring(L, "\n%s", detail);
    lua_concat(L, 2);
  }
  return 1;
}

/* Of an error that is a table without __tostring, as error { message = ... }
 * raises, what its field `message` says. */
static int push_message_field(lua_State *L, int i) {
  if (!lua_istable(L, i)) return 0;
  lua_pushvalue(L, i);
  lua_pushliteral(L, "message");
  lua_rawget(L, -2);
  lua_remove(L, -2);
  if (lua_type(L, -1) == LUA_TSTRING) return 1;
  lua_pop(L, 1);
  return 0;
}

static void push_value_text(lua_State *L, int i) {
  int type = lua_type(L, i);
  if (type == LUA_TSTRING || type == LUA_TNUMBER ||
      luaL_getmetafield(L, i, "__tostring") != LUA_TNIL)
    luaL_tolstring(L, i, NULL);
  else if (!push_message_field(L, i)) /* an address differs each time */
    lua_pushfstring(L, "(error object is a %s value)", lua_typename(L, type));
}

void lt_push_reason(lua_State *L, int i) {
  i = lua_absindex(L, i);
  if (!is_error(L, i)) {
    push_value_text(L, i);
    return;
  }
  lua_pushvalue(L, i);
  lua_pushcfunction(L, error_line);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

static int error_index(lua_State *L) {
  const char *k = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(k, "detail")) return 0;
  lua_pushstring(L, error_detail(L, 1));
  return 1;
}

void lt_push_text(lua_State *L, char *text) {
  lua_pushstring(L, text ? text : "");
  tess_text_free(lt_context(L), text);
}

/* ---- opening ------------------------------------------------------------ */

static int version(lua_State *L) {
  lua_pushstring(L, tess_version());
  lua_pushstring(L, tess_build_info());
  return 2;
}

/* A table of the options by name. */
static int build_options(lua_State *L) {
  const char *name, *value;
  lua_newtable(L);
  for (uint32_t i = 0; (name = tess_build_option(i, &value)); i++)
    set_str(L, name, value);
  return 1;
}

/* Pushes the folder of this shared library. */
static void push_own_folder(lua_State *L) {
  Dl_info info;
  const char *file = dladdr(&state_key, &info) ? info.dli_fname : NULL;
  const char *slash = file ? strrchr(file, '/') : NULL;
  if (slash)
    lua_pushlstring(L, file, (size_t)(slash - file));
  else
    lua_pushliteral(L, ".");
}

/* Adds the folders of the Lua files to package.path: beside this library (build
 * tree) or under share/lua/5.4 (installed). */
static void extend_path(lua_State *L) {
  if (lua_getglobal(L, "package") != LUA_TTABLE) {
    lua_pop(L, 1);
    return;
  }
  lua_getfield(L, -1, "path");
  push_own_folder(L);
  const char *path = lua_tostring(L, -2), *dir = lua_tostring(L, -1);
  if (path && !strstr(path, dir)) {
    lua_pushfstring(L, "%s;%s/?.lua;%s/../../../share/lua/5.4/?.lua", path, dir,
                    dir);
    lua_setfield(L, -4, "path");
  }
  lua_pop(L, 3);
}

/* What is written in Lua needs them. */
static void check_libraries(lua_State *L) {
  static const char *const names[] = {
      LUA_GNAME,      LUA_LOADLIBNAME, LUA_COLIBNAME, LUA_STRLIBNAME,
      LUA_TABLIBNAME, LUA_MATHLIBNAME, LUA_DBLIBNAME};
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (lua_getfield(L, -1, names[i]) == LUA_TNIL)
      luaL_error(L,
                 "tessera needs Lua's standard library '%s', which is not open "
                 "in this state (luaL_openlibs)",
                 names[i]);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int open_module(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"version", version}, {"build_options", build_options}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__tostring", error_tostring}, {"__index", error_index}, {NULL, NULL}};
  static void (*const parts[])(lua_State *) = {
      lt_open_describe, lt_open_program,  lt_open_schedule, lt_open_rv,
      lt_open_trace,    lt_open_stepper,  lt_open_tensor,   lt_open_kernel,
      lt_open_space,    lt_open_session,  lt_open_model,    lt_open_tune,
      lt_open_result,   lt_open_database, lt_open_warn,     lt_open_tasks,
      lt_open_file,     lt_open_fleet,    lt_open_graph,    lt_open_onnx};
  check_libraries(L);
  lt_class(L, LT_ERROR, meta, NULL, NULL);
  luaL_newlib(L, functions);
  set_str(L, "_VERSION", tess_version());
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) parts[i](L);
  extend_path(L);
  /* What is written in Lua adds itself to the table. */
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tessera.open");
  lua_call(L, 1, 1);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 0);
  return 1;
}

int tess_lua_open(lua_State *L, tess_context *c) {
  luaL_checkversion(L);
  lt_state *s = state_get(L);
  if (!s->c) s->c = c;
  open_module(L);
  /* What is written in Lua requires the module by its name. */
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "tessera");
  lua_pop(L, 1);
  return 1;
}

int luaopen_tessera(lua_State *L) {
  luaL_checkversion(L);
  lt_state *s = state_get(L);
  if (!s->c) {
    const tess_options o = {
        .struct_size = sizeof o, .log = warn_or_keep, .log_ud = &s->warnings};
    lua_pushlightuserdata(L, &s->warnings);
    lua_setfield(L, LUA_REGISTRYINDEX, LT_WARNINGS);
    s->owned = 1;
    if (tess_context_new(&o, &s->c) != TESS_OK)
      return luaL_error(L, "tessera: out of memory");
  }
  return open_module(L);
}
