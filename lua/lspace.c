/* SPDX-License-Identifier: Apache-2.0
 * Binding of search spaces: schedule modules written in Lua, called back by the
 * engine.
 *
 * stdlib/search/ turns ts.module and ts.space into these raw
 * functions; here a module is a table { name =, apply = function(sch, block) }.
 */
#include "lua/lrv.h"
#include <lualib.h>
#include <string.h>

LT_GC(space_gc, tess_space, tess_space_free)

/* One module as the engine's callback data. */
typedef struct lt_hook {
  lua_State *L; /* where the running call came from */
  lua_State *main;
  int ref; /* the apply function, in the registry */
  int why; /* the last reason, in the registry */
} lt_hook;

static const char running_key = 0, number_key = 0;

/* The Lua thread that called the engine: callbacks run on its stack.  Runs are
 * numbered. */
void lt_enter(lua_State *L) {
  lua_pushthread(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &running_key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &number_key);
  lua_pushinteger(L, lua_tointeger(L, -1) + 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &number_key);
  lua_pop(L, 1);
}

static int run_number(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &number_key);
  return 1;
}

static lua_State *running(lua_State *main) {
  lua_rawgetp(main, LUA_REGISTRYINDEX, &running_key);
  lua_State *L = lua_tothread(main, -1);
  lua_pop(main, 1);
  return L ? L : main;
}

static lua_State *main_thread(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
}

static void hook_free(void *ud) {
  lt_hook *h = ud;
  luaL_unref(h->main, LUA_REGISTRYINDEX, h->ref);
  luaL_unref(h->main, LUA_REGISTRYINDEX, h->why);
  h->ref = h->why = LUA_NOREF;
}

/* ---- calling a module --------------------------------------------------- */

typedef struct call {
  lt_hook *hook;
  tess_schedule *copy; /* taken over by the Lua object once pushed */
  tess_rv block;
  void (*emit)(void *sink, tess_schedule *s);
  void *sink;
  tess_status status;
  int said; /* whether a reason was kept */
} call;

/* Whether the schedule at index i is the argument, at 2, or a copy of it: a
 * copy knows its ancestors (lrv.c). */
static int comes_from_argument(lua_State *L, int i) {
  i = lua_absindex(L, i);
  lua_Integer own = ((lt_sched *)lua_touserdata(L, 2))->id;
  int yes = ((lt_sched *)lua_touserdata(L, i))->id == own;
  if (lua_getiuservalue(L, i, 2) == LUA_TTABLE) {
    yes |= lua_rawgeti(L, -1, own) == LUA_TNUMBER;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return yes;
}

/* Hands the schedule object at index i to the engine; the object is closed.
 * A schedule that was handed over already cannot be given twice. */
static void emit_schedule(lua_State *L, int i, call *c) {
  lt_sched *s = luaL_testudata(L, i, LT_SCHEDULE);
  if (!s)
    lt_error(L, TESS_TYPE,
             "a module returns a schedule, a list of schedules "
             "or nil and a reason, not a %s",
             luaL_typename(L, i));
  if (!s->s)
    lt_error(L, TESS_INVALID,
             "a module returned a closed schedule, or one "
             "twice: return a copy");
  if (!comes_from_argument(L, i))
    lt_error(L, TESS_INVALID,
             "a module returned a schedule that is neither the one that it "
             "was given nor a copy of that");
  tess_schedule *given = s->s;
  s->s = NULL;
  c->emit(c->sink, given);
}

/* How many there are in the list at index i, which has no gaps. */
static lua_Integer list_length(lua_State *L, int i) {
  lua_Integer n = lt_length(L, i), seen = 0;
  i = lua_absindex(L, i);
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1), seen++) {
    lua_Integer k = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    if (k >= 1 && k <= n) continue;
    lt_error(L, TESS_TYPE,
             "a module returned a table that is no list of schedules without "
             "gaps: it has a key %s",
             luaL_tolstring(L, -2, NULL));
  }
  if (seen < n)
    lt_error(L, TESS_TYPE,
             "a module returned a table that is no list of schedules without "
             "gaps: it has %d of %d",
             (int)seen, (int)n);
  return n;
}

static void emit_list(lua_State *L, int list, lua_Integer n, call *c) {
  for (lua_Integer i = 1; i <= n; i++) {
    lua_geti(L, list, i);
    emit_schedule(L, lua_gettop(L), c);
    lua_pop(L, 1);
  }
}

/* Keeps the text of the value at index i; the slot was made with the hook, so
 * that nothing else can fail. */
static void keep_reason(lua_State *L, call *c, int i) {
  lt_push_reason(L, i);
  lua_rawseti(L, LUA_REGISTRYINDEX, c->hook->why);
  c->said = 1;
}

/* Pushes the arguments: the schedule, at 2, and the block. */
static void push_arguments(lua_State *L, call *c) {
  lt_push_schedule(L, NULL);
  ((lt_sched *)lua_touserdata(L, -1))->s = c->copy;
  c->copy = NULL;
  lua_pushvalue(L, -1);
  lua_insert(L, 2);
  if (c->block)
    lt_push_rv(L, -1, c->block);
  else
    lua_pushnil(L);
}

/* Not applicable; why is the reason at index i, if there is one. */
static void take_reason(lua_State *L, call *c, int i) {
  c->status = TESS_NOT_FOUND;
  if (lua_isnil(L, i)) {
    lua_pushliteral(L, "no reason given");
    lua_replace(L, i);
  }
  keep_reason(L, c, i);
}

/* How many instructions the schedule has, 0 where it was closed. */
static uint32_t count_done(lua_State *L, tess_schedule *s) {
  tess_trace *t;
  if (!s) return 0;
  lt_check(L, tess_schedule_trace(s, &t));
  uint32_t n = tess_trace_size(t);
  tess_trace_free(t);
  return n;
}

/* A module that scheduled something and gives nothing has forgotten to. */
static void refuse_nothing(lua_State *L, tess_schedule *s, uint32_t before) {
  if (count_done(L, s) > before)
    lt_error(
        L, TESS_INVALID,
        "the module scheduled the block and returned nothing: it ends with "
        "`return sch`, or with nil and a reason where it does not apply");
}

/* Runs in protected mode; index 1 is the call.  What the module gives is at 3
 * and 4. */
static int lspace_run(lua_State *L) {
  enum { SCHEDULE = 2, GIVEN, WHY };
  call *c = lua_touserdata(L, 1);
  uint32_t before = c->block ? count_done(L, c->copy) : 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->hook->ref);
  push_arguments(L, c);
  lua_call(L, 2, LUA_MULTRET);
  if (c->block && lua_gettop(L) < GIVEN)
    refuse_nothing(L, ((lt_sched *)lua_touserdata(L, SCHEDULE))->s, before);
  lua_settop(L, WHY);
  if (!c->block && lua_isnil(L, GIVEN) && lua_isnil(L, WHY))
    emit_schedule(L, SCHEDULE, c); /* scheduled in place by hand */
  else if (!lua_toboolean(L, GIVEN))
    take_reason(L, c, WHY);
  else if (!lua_istable(L, GIVEN))
    emit_schedule(L, GIVEN, c);
  else {
    lua_Integer n = list_length(L, GIVEN);
    emit_list(L, GIVEN, n, c);
    if (n == 0) take_reason(L, c, WHY);
  }
  if (c->status == TESS_OK && !lua_isnil(L, WHY)) keep_reason(L, c, WHY);
  return 0;
}

/* Of an error at index i: a refusal, be it the engine's or by tiling.refuse, is
 * told from others, since with other draws there may be none. */
static tess_status status_of_error(lua_State *L, int i) {
  if (!lua_istable(L, i)) return lt_status_of(L, i);
  lua_pushliteral(L, "code");
  lua_rawget(L, i);
  const char *code = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  int is_refusal = !strcmp(code, "REFUSED");
  lua_pop(L, 1);
  return is_refusal ? TESS_REFUSED : lt_status_of(L, i);
}

/* Calls the module, index 1 being the call.  An error becomes text here, in
 * protected mode, too: __tostring may raise. */
static int attempt(lua_State *L) {
  call *c = lua_touserdata(L, 1);
  lua_pushcfunction(L, lspace_run);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 1, 0, 0) == LUA_OK) return 0;
  c->status = status_of_error(L, lua_gettop(L));
  if (c->status == TESS_CALLBACK || c->status == TESS_REFUSED)
    keep_reason(L, c, lua_gettop(L));
  return 0;
}

/* Of an error at the top that `attempt` did not see, as that by which Lua stops
 * for a signal is where it comes at the call itself or its return. */
static tess_status status_of_failure(lua_State *L, int bad) {
  if (bad == LUA_ERRMEM) return TESS_NOMEM;
  return lua_type(L, -1) == LUA_TSTRING ? lt_status_of(L, -1) : TESS_CALLBACK;
}

/* Runs outside of protected mode, so it must not allocate Lua memory. */
static tess_status apply_lua_module(void *ud, tess_schedule *sch, tess_rv block,
                                    void (*emit)(void *, tess_schedule *),
                                    void *sink, const char **why) {
  lt_hook *h = ud;
  lua_State *L = running(h->main);
  call c = {h, NULL, block, emit, sink, TESS_OK, 0};
  int top = lua_gettop(L);
  if (!lua_checkstack(L, 16)) return TESS_NOMEM;
  tess_status s = tess_schedule_copy(sch, &c.copy);
  if (s != TESS_OK) return s;
  tess_schedule_sketch_mode(c.copy, 1);
  lua_pushcfunction(L, attempt);
  lua_pushlightuserdata(L, &c);
  int bad = lua_pcall(L, 1, 0, 0);
  if (bad) c.status = status_of_failure(L, bad);
  tess_schedule_free(c.copy);
  lua_settop(L, top);
  if (bad)
    *why = "an error that is no text";
  else if (c.status != TESS_OK || c.said) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->why);
    *why = lua_tostring(L, -1); /* the registry keeps it */
    lua_pop(L, 1);
  }
  return c.status;
}

/* ---- making spaces ------------------------------------------------------ */

/* Reads a module table at the top into m; its hook stands in a userdata that
 * is added to the list at index `keep`. */
static void read_module(lua_State *L, int keep, tess_module *m) {
  int t = lua_gettop(L);
  lt_table(L, t, "a schedule module");
  lt_hook *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (lt_hook){L, main_thread(L), LUA_NOREF, LUA_NOREF};
  lua_seti(L, keep, luaL_len(L, keep) + 1);
  m->struct_size = sizeof *m;
  m->name = lt_field_str(L, t, "name", "module");
  m->apply = apply_lua_module;
  m->free = hook_free;
  m->ud = h;
  if (lua_getfield(L, t, "apply") != LUA_TFUNCTION)
    lt_error(L, TESS_TYPE, "module '%s' has no function apply", m->name);
  h->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushliteral(L, "");
  h->why = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* compose({ module, ... }) */
static int compose(lua_State *L) {
  lt_table(L, 1, "a list of modules");
  lua_Integer n = lt_list_len(L, 1);
  tess_module *m = lt_room(L, (size_t)n, sizeof *m);
  void **b = lt_box(L, LT_SPACE, 1);
  lua_newtable(L);
  int keep = lua_gettop(L);
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, 1, i + 1);
    read_module(L, keep, &m[i]);
    lua_settop(L, keep);
  }
  lua_setiuservalue(L, -2, 1);
  tess_space *s;
  lt_check(L, tess_space_compose(lt_context(L), (uint32_t)n, m, &s));
  *b = s;
  return 1;
}

/* by_hand({ name =, apply = function(sch) }) */
static int by_hand(lua_State *L) {
  tess_module m;
  lua_settop(L, 1);
  void **b = lt_box(L, LT_SPACE, 1);
  lua_newtable(L);
  lua_pushvalue(L, 1);
  read_module(L, 3, &m);
  lua_settop(L, 3);
  lua_setiuservalue(L, -2, 1);
  tess_space *s;
  lt_check(L, tess_space_function(lt_context(L), &m, &s));
  *b = s;
  return 1;
}

/* union({ space, ... }) */
static int join_spaces(lua_State *L) {
  tess_space *list[64], *s;
  lt_table(L, 1, "a list of spaces");
  lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  if (n > 64) return lt_error(L, TESS_LIMIT, "at most 64 spaces");
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1); /* the table keeps it alive */
    list[i] = lt_get(L, -1, LT_SPACE);
    lua_pop(L, 1);
  }
  void **b = lt_box(L, LT_SPACE, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lt_check(L, tess_space_union(lt_context(L), (uint32_t)n, list, &s));
  *b = s;
  return 1;
}

/* traces({ trace, ... }) */
static int of_traces(lua_State *L) {
  tess_trace *list[256];
  tess_space *s;
  lt_table(L, 1, "a list of traces");
  lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
  if (n > 256) return lt_error(L, TESS_LIMIT, "at most 256 sketches");
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i + 1); /* the table keeps it alive */
    list[i] = lt_trace(L, -1);
    lua_pop(L, 1);
  }
  void **b = lt_box(L, LT_SPACE, 1);
  lt_check(L, tess_space_traces(lt_context(L), (uint32_t)n, list, &s));
  *b = s;
  return 1;
}

/* ---- using them --------------------------------------------------------- */

#define MAX_SKETCHES 256

typedef tess_status sketches_fn(tess_space *s, tess_program *p, tess_target *t,
                                uint32_t max, tess_trace **out, uint32_t *n);

static int list_of_sketches(lua_State *L, sketches_fn *fn) {
  tess_trace *made[MAX_SKETCHES];
  uint32_t n;
  tess_space *s = lt_get(L, 1, LT_SPACE);
  tess_program *p = lt_program(L, 2);
  lt_no_options(L, 4, "space:sketches");
  lua_settop(L, 3);
  tess_target *t = lt_to_target(L, 3);
  lua_createtable(L, MAX_SKETCHES, 0);
  int list = lua_gettop(L);
  for (int i = 0; i < MAX_SKETCHES; i++) { /* boxes first: nothing leaks */
    lt_box(L, LT_TRACE, 1);
    lua_seti(L, list, i + 1);
  }
  lt_enter(L);
  lt_check(L, fn(s, p, t, MAX_SKETCHES, made, &n));
  for (uint32_t i = 0; i < MAX_SKETCHES; i++) {
    lua_geti(L, list, i + 1);
    if (i < n)
      *(void **)lua_touserdata(L, -1) = made[i];
    else {
      lua_pushnil(L);
      lua_seti(L, list, i + 1);
    }
    lua_settop(L, list);
  }
  return 1;
}

/* sketches(space, program [, target]): a list of traces */
static int sketches(lua_State *L) {
  return list_of_sketches(L, tess_space_sketches);
}

/* The same with their postprocessors. */
static int postprocessed(lua_State *L) {
  return list_of_sketches(L, tess_space_postprocessed);
}

/* set_postprocs(space, trace): nil: the default ones */
static int set_postprocs(lua_State *L) {
  tess_space *s = lt_get(L, 1, LT_SPACE);
  tess_trace *t = lua_isnoneornil(L, 2) ? NULL : lt_get(L, 2, LT_TRACE);
  lt_check(L, tess_space_set_postprocs(s, t));
  lua_settop(L, 1);
  return 1;
}

static int explain(lua_State *L) {
  char *text = NULL;
  tess_space *s = lt_get(L, 1, LT_SPACE);
  tess_program *p = lt_program(L, 2);
  lua_settop(L, 3);
  tess_target *t = lt_to_target(L, 3);
  lt_enter(L);
  lt_check(L, tess_space_explain(s, p, t, &text));
  lt_push_text(L, text);
  return 1;
}

static int space_tostring(lua_State *L) {
  lt_get(L, 1, LT_SPACE);
  lua_pushliteral(L, "space");
  return 1;
}

/* ---- fresh states ------------------------------------------------------- */

#define LT_STATE "tessera.state"

static void close_opened(lua_State *F) {
  if (F) lua_close(F);
}
LT_GC(state_close, lua_State, close_opened)

/* In protected mode: what a program in Lua finds, and tessera.
 * 1: package.path, 2: package.cpath. */
static int open_state(lua_State *F) {
  const char *const fields[] = {"path", "cpath"};
  luaL_openlibs(F);
  lua_getglobal(F, "package");
  for (int i = 0; i < 2; i++) {
    lua_pushstring(F, lua_touserdata(F, i + 1));
    lua_setfield(F, -2, fields[i]);
  }
  luaL_requiref(F, "tessera", luaopen_tessera, 0);
  return 0;
}

/* fresh_state(): a new Lua state, where tessera can be required. */
static int fresh_state(lua_State *L) {
  void **box = lt_box(L, LT_STATE, 0);
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  lua_getfield(L, -2, "cpath");
  lua_State *F = luaL_newstate();
  if (!F) return lt_error(L, TESS_NOMEM, "no memory for a Lua state");
  *box = F;
  lua_pushcfunction(F, open_state);
  for (int i = -2; i < 0; i++)
    lua_pushlightuserdata(F, (void *)(uintptr_t)lua_tostring(L, i));
  if (lua_pcall(F, 2, 0, 0) != LUA_OK)
    return lt_error(L, TESS_NOMEM, "a Lua state: %s", lua_tostring(F, -1));
  lua_pop(L, 3);
  return 1;
}

/* 1: the code. */
static int run_code(lua_State *F) {
  if (luaL_loadstring(F, lua_touserdata(F, 1)) != LUA_OK) return lua_error(F);
  lua_call(F, 0, 1);
  luaL_tolstring(F, -1, NULL);
  return 1;
}

/* state:run(code): whether it ran, and the text of what it gave. */
static int state_run(lua_State *L) {
  lua_State *F = lt_get(L, 1, LT_STATE);
  const char *code = lt_string(L, 2, "the code");
  lua_settop(F, 0);
  lua_pushcfunction(F, run_code);
  lua_pushlightuserdata(F, (void *)(uintptr_t)code);
  int bad = lua_pcall(F, 1, 1, 0) != LUA_OK;
  const char *text = lua_tostring(F, -1);
  lua_pushboolean(L, !bad);
  lua_pushstring(L, text ? text : "an error that is no text");
  return 2;
}

void lt_open_space(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", space_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"sketches", sketches}, {NULL, NULL}};
  static const luaL_Reg core[] = {{"space_compose", compose},
                                  {"space_by_hand", by_hand},
                                  {"space_union", join_spaces},
                                  {"space_traces", of_traces},
                                  {"space_sketches", sketches},
                                  {"space_explain", explain},
                                  {"space_postprocessed", postprocessed},
                                  {"space_set_postprocs", set_postprocs},
                                  {"space_run", run_number},
                                  {"fresh_state", fresh_state},
                                  {"run_module", lt_run_module},
                                  {"modules_running", lt_modules_running},
                                  {NULL, NULL}};
  static const luaL_Reg state_methods[] = {
      {"run", state_run}, {"close", state_close}, {NULL, NULL}};
  lt_class(L, LT_STATE, NULL, state_methods, state_close);
  lt_class(L, LT_SPACE, meta, methods, space_gc);
  lua_getfield(L, -1, "_core");
  luaL_setfuncs(L, core, 0);
  lua_pop(L, 1);
}
