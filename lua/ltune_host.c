/* SPDX-License-Identifier: Apache-2.0
 * Functions in Lua that a run calls beside its strategy and cost model:
 * postprocessors, mutators, what measures, and who is told of measured
 * batches. */
#include "lua/lrv.h"
#include "lua/ltune.h"
#include <string.h>

/* ---- what measures, and who is told ------------------------------------- */

/* What a protected callback works on. */
typedef struct host_task {
  lt_run *r;
  lua_Integer number; /* of a mutator or postprocessor, from 1 */
  uint32_t n;
  const tess_candidate *in;
  tess_candidate *out;
  tess_session *session;
  double *seconds;
  tess_schedule *sch; /* that a postprocessor changes */
  const char *why;    /* what it says */
  tess_status status;
} host_task;

#define MEASURE_GIVES                                                       \
  "seconds, or nil and one of BUILD_ERROR, LAUNCH_ERROR, TIMEOUT, CRASHED " \
  "and WRONG_RESULT"

/* The status of that name, as "TIMEOUT". */
static tess_status status_named(lua_State *L, int i) {
  static const tess_status classes[] = {TESS_BUILD_ERROR, TESS_LAUNCH_ERROR,
                                        TESS_TIMEOUT, TESS_CRASHED,
                                        TESS_WRONG_RESULT};
  const char *name = lua_tostring(L, i);
  for (size_t k = 0; name && k < sizeof classes / sizeof *classes; k++)
    if (!strcmp(tess_status_name(classes[k]), name)) return classes[k];
  lt_error(L, TESS_TYPE, "measure must give " MEASURE_GIVES);
  return TESS_TYPE;
}

/* The time at index i, with no text behind it, which would be why it failed. */
static double seconds_alone(lua_State *L, int i) {
  if (lua_type(L, i + 1) == LUA_TSTRING)
    lt_error(L, TESS_TYPE,
             "measure gave both seconds and '%s': it must give " MEASURE_GIVES,
             lua_tostring(L, i + 1));
  return lt_number(L, i, "what measure returns");
}

/* 1: the task, 2: the functions, 3: the session. */
static int call_measure(lua_State *L) {
  host_task *t = lua_touserdata(L, 1);
  lua_getfield(L, 2, "measure");
  lua_pushvalue(L, 3);
  lt_push_candidate(L, t->in);
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2))
    t->status = status_named(L, -1);
  else
    *t->seconds = seconds_alone(L, lua_gettop(L) - 1);
  return 0;
}

static tess_status measure_in_lua(void *ud, tess_session *s,
                                  const tess_candidate *c, double *seconds) {
  host_task t = {.r = ud, .in = c, .seconds = seconds};
  tess_status st = lt_run_call(ud, call_measure, &t, LT_SLOT_FUNCTIONS, s);
  return st == TESS_OK ? t.status : st;
}

static int call_measured(lua_State *L) {
  host_task *t = lua_touserdata(L, 1);
  lua_getfield(L, 2, "measured");
  lua_pushvalue(L, 3);
  lt_push_candidates(L, t->n, t->in);
  lua_call(L, 2, 0);
  return 0;
}

static tess_status tell_measured(void *ud, tess_session *s, uint32_t n,
                                 const tess_candidate *c) {
  host_task t = {.r = ud, .n = n, .in = c};
  return lt_run_call(ud, call_measured, &t, LT_SLOT_FUNCTIONS, s);
}

/* ---- postprocessors ----------------------------------------------------- */

/* Its number, and whose: of mutators, too. */
typedef struct lua_numbered {
  lt_run *r;
  lua_Integer number;
} lua_numbered;

/* Keeps the text of the value at index i until the next call. */
static void say(lua_State *L, host_task *t, int i) {
  lt_push_reason(L, i);
  t->why = lua_tostring(L, -1);
  lt_set_slot(t->r, LT_SLOT_REASON);
}

static int is_refusal(lua_State *L, int i) {
  if (lua_type(L, i) != LUA_TTABLE) return 0;
  lua_pushliteral(L, "code");
  lua_rawget(L, i);
  const char *code = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  int yes = !strcmp(code, tess_status_name(TESS_REFUSED));
  lua_pop(L, 1);
  return yes;
}

/* Of an error, at the top: a primitive that is refused refuses the candidate;
 * what is not the function's fault ends the run. */
static int take_failure(lua_State *L, host_task *t) {
  int top = lua_gettop(L);
  if (lt_status_of(L, top) != TESS_CALLBACK) return lua_error(L);
  t->status = is_refusal(L, top) ? TESS_REFUSED : TESS_CALLBACK;
  if (t->status == TESS_CALLBACK) say(L, t, top);
  return 0;
}

static int take_answer(lua_State *L, host_task *t) {
  int answer = lua_gettop(L) - 1, why = answer + 1;
  if (!lua_isboolean(L, answer)) {
    lua_pushfstring(L, "it returns true or false, not %s",
                    luaL_typename(L, answer));
    t->status = TESS_CALLBACK;
    say(L, t, lua_gettop(L));
  } else if (!lua_toboolean(L, answer)) {
    t->status = TESS_REFUSED;
    if (!lua_isnil(L, why)) say(L, t, why);
  }
  return 0;
}

/* The schedule is the function's for the time of the call. */
static int call_postproc(lua_State *L) {
  host_task *t = lua_touserdata(L, 1);
  lua_getfield(L, 2, "postprocs");
  lua_geti(L, -1, t->number);
  lt_push_schedule(L, NULL);
  lt_sched *sch = lua_touserdata(L, -1);
  lua_getfield(L, -2, "apply");
  lua_pushvalue(L, -2);
  sch->borrowed = 1;
  sch->s = t->sch;
  int bad = lua_pcall(L, 1, 2, 0);
  sch->s = NULL;
  return bad ? take_failure(L, t) : take_answer(L, t);
}

/* After the failure of another function the run is about to end. */
static tess_status apply_in_lua(void *ud, tess_session *s, tess_schedule *sch,
                                const char **why) {
  const lua_numbered *m = ud;
  host_task t = {.r = m->r, .number = m->number, .sch = sch};
  tess_status st = lt_run_call(m->r, call_postproc, &t, LT_SLOT_FUNCTIONS, s);
  *why = t.why;
  if (st == TESS_CALLBACK) return TESS_CANCELLED;
  return st == TESS_OK ? t.status : st;
}

/* The arrays are userdata on the stack, which holds them for the run. */
static void read_postprocs(lt_run *r, tess_tune_options *o) {
  enum { MOST = 64 };
  lua_State *L = r->L;
  if (lua_getfield(L, 4, "postprocs") != LUA_TTABLE) {
    lua_pop(L, 1);
    return;
  }
  int at = lua_gettop(L);
  lua_Integer n = lt_list_len(L, at);
  if (n > MOST)
    lt_error(L, TESS_LIMIT, "option 'postprocs': at most %d functions", MOST);
  tess_postproc *list = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *list, 0);
  lua_numbered *own = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *own, 0);
  for (lua_Integer i = 0; i < n; i++) {
    own[i] = (lua_numbered){r, i + 1};
    lua_geti(L, at, i + 1);
    list[i] = (tess_postproc){
        .struct_size = sizeof *list,
        .name = lt_field_str(L, lua_gettop(L), "name", "a function"),
        .apply = apply_in_lua,
        .ud = &own[i]};
    lua_pop(L, 1);
  }
  o->postprocs = list;
  o->npostprocs = (uint32_t)n;
}

/* ---- mutators ----------------------------------------------------------- */

/* The task and what the mutator gave: its decisions, in userdata. */
static int read_child(lua_State *L) {
  host_task *t = lua_touserdata(L, 1);
  lt_to_candidate(L, 2, t->out);
  lt_check(L, tess_session_check(t->session, t->out));
  return 1;
}

/* Raises the error at the top as one of the mutator at index i. */
static int blame_mutator(lua_State *L, int i) {
  int e = lua_gettop(L);
  if (lua_istable(L, e)) {
    lua_getfield(L, i, "name");
    lua_pushliteral(L, "message");
    lua_rawget(L, e);
    const char *name = lua_tostring(L, e + 1);
    const char *message = luaL_tolstring(L, e + 2, NULL);
    lua_pushfstring(L, "mutator '%s': %s", name, message);
    lua_setfield(L, e, "message");
    lua_settop(L, e);
  }
  return lua_error(L);
}

/* The decisions are in userdata that the run keeps until the next call. */
static int call_mutator(lua_State *L) {
  host_task *t = lua_touserdata(L, 1);
  lua_geti(L, 2, t->number);
  lua_getfield(L, -1, "mutate");
  lua_pushvalue(L, 3);
  lt_push_candidate(L, t->in);
  lua_call(L, 2, 1);
  t->status = lua_isnil(L, -1) ? TESS_NOT_FOUND : TESS_OK;
  if (t->status != TESS_OK) return 0;
  lua_pushcfunction(L, read_child);
  lua_pushlightuserdata(L, t);
  lua_pushvalue(L, -3);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) return blame_mutator(L, 4);
  lt_set_slot(t->r, LT_SLOT_CHILD);
  return 0;
}

static tess_status mutate_in_lua(void *ud, tess_session *s,
                                 const tess_candidate *parent,
                                 tess_candidate *out) {
  const lua_numbered *m = ud;
  host_task t = {
      .r = m->r, .number = m->number, .in = parent, .out = out, .session = s};
  tess_status st = lt_run_call(m->r, call_mutator, &t, LT_SLOT_FUNCTIONS, s);
  return st == TESS_OK ? t.status : st;
}

/* The arrays are userdata on the stack, which holds them for the run. */
static void read_mutators(lt_run *r, tess_tune_options *o) {
  enum { MOST = 64 };
  lua_State *L = r->L;
  lua_Integer n = lt_length(L, 4);
  if (n == 0) return;
  if (n > MOST)
    lt_error(L, TESS_LIMIT, "option 'mutators': at most %d are possible", MOST);
  tess_mutator *list = lua_newuserdatauv(L, (size_t)n * sizeof *list, 0);
  lua_numbered *own = lua_newuserdatauv(L, (size_t)n * sizeof *own, 0);
  for (lua_Integer i = 0; i < n; i++) {
    own[i] = (lua_numbered){r, i + 1};
    lua_geti(L, 4, i + 1);
    list[i] = (tess_mutator){
        .struct_size = sizeof *list,
        .name = lt_field_str(L, lua_gettop(L), "name", "a mutator"),
        .probability = lt_field_number(L, lua_gettop(L), "probability", 0),
        .mutate = mutate_in_lua,
        .ud = &own[i]};
    lua_pop(L, 1);
  }
  o->mutators = list;
  o->nmutators = (uint32_t)n;
}

static int has_function(lua_State *L, const char *name) {
  int has = lua_getfield(L, 4, name) == LUA_TFUNCTION;
  lua_pop(L, 1);
  return has;
}

void lt_run_read_functions(lt_run *r, tess_tune_options *o) {
  lua_State *L = r->L;
  if (!lua_istable(L, 4)) return;
  luaL_checkstack(L, 16, NULL);
  lua_pushvalue(L, 4);
  lt_set_slot(r, LT_SLOT_FUNCTIONS);
  if (has_function(L, "measure")) {
    o->measure = measure_in_lua;
    o->measure_ud = r;
  }
  if (has_function(L, "measured")) {
    o->measured = tell_measured;
    o->measured_ud = r;
  }
  read_mutators(r, o);
  read_postprocs(r, o);
}

/* ---- the built-in strategies -------------------------------------------- */

static void push_option(lua_State *L, const tess_strategy_option *o) {
  lua_createtable(L, 0, 7);
  lt_set_string(L, "name", o->name);
  lt_set_string(L, "help", o->help);
  lt_set_boolean(L, "integer", o->integer);
  lt_set_string(L, "words", o->words);
  lt_set_number(L, "default", o->initial);
  lt_set_number(L, "least", o->least);
  lt_set_number(L, "most", o->most);
}

int lt_strategies(lua_State *L) {
  lua_newtable(L);
  for (uint32_t i = 0; tess_strategy_name(i); i++) {
    tess_strategy_option o = TESS_INIT(tess_strategy_option);
    lua_createtable(L, 0, 3);
    lt_set_string(L, "name", tess_strategy_name(i));
    lt_set_string(L, "summary", tess_strategy_summary(i));
    lua_newtable(L);
    for (uint32_t k = 0;
         tess_strategy_option_get(lt_context(L), i, k, &o) == TESS_OK; k++) {
      push_option(L, &o);
      lua_seti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "options");
    lua_seti(L, -2, i + 1);
  }
  return 1;
}
