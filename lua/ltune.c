/* SPDX-License-Identifier: Apache-2.0
 * Binding of ts.tune: options, and strategies and cost models written in
 * Lua. */
#define _POSIX_C_SOURCE 200809L
#include "lua/ltune.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void lt_push_slot(const lt_run *r, int slot) {
  lua_rawgetp(r->L, LUA_REGISTRYINDEX, r);
  lua_rawgeti(r->L, -1, slot);
  lua_remove(r->L, -2);
}

/* Takes the value at the top. */
void lt_set_slot(const lt_run *r, int slot) {
  lua_rawgetp(r->L, LUA_REGISTRYINDEX, r);
  lua_insert(r->L, -2);
  lua_rawseti(r->L, -2, slot);
  lua_pop(r->L, 1);
}

/* ---- callbacks ---------------------------------------------------------- */

/* What a protected callback works on. */
typedef struct task {
  lt_run *r;
  int slot; /* of the strategy or model */
  const char *method;
  uint32_t n, *got;
  const tess_candidate *in;
  tess_candidate *out;
  double *score;
} task;

static int protected_call(lua_State *L);

static int status_of(lua_State *L) {
  lua_pushinteger(L, lt_status_of(L, 1));
  return 1;
}

static int reason_of(lua_State *L) {
  lt_push_reason(L, 1);
  return 1;
}

/* Tells the session the line of the error at the top. */
static void tell_reason(lua_State *L, tess_session *s) {
  lua_pushcfunction(L, reason_of);
  lua_pushvalue(L, -2);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_isstring(L, -1))
    tess_session_fail(s, TESS_CALLBACK, lua_tostring(L, -1));
  lua_pop(L, 1);
}

/* Pops the error at the top and keeps it, to be raised when the run has
 * ended. */
void lt_keep_error(lt_run *r) {
  lt_set_slot(r, LT_SLOT_ERROR);
  r->failed = 1;
}

/* Classifies the error at the top; keeps the first that is not an interrupt,
 * whose line the session is told. */
tess_status lt_take_error(lt_run *r, tess_session *session) {
  lua_State *L = r->L;
  lua_pushcfunction(L, status_of); /* protected: it takes memory */
  lua_pushvalue(L, -2);
  int bad = lua_pcall(L, 1, 1, 0);
  tess_status s = bad ? TESS_NOMEM : (tess_status)lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (session && s == TESS_CALLBACK) tell_reason(L, session);
  if (s == TESS_CANCELLED || r->failed) return s;
  r->why = s;
  lua_pushvalue(L, -1);
  lt_keep_error(r);
  return s;
}

tess_status lt_run_call(lt_run *r, lua_CFunction f, void *ud, int slot,
                        tess_session *s) {
  lua_State *L = r->L;
  int top = lua_gettop(L);
  if (r->failed || !lua_checkstack(L, 32)) return TESS_CALLBACK;
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, ud);
  lt_push_slot(r, slot);
  lt_push_slot(r, LT_SLOT_SESSION);
  void **box = lua_touserdata(L, -1), *outer = *box;
  *box = s;
  int bad = lt_call_back(L, 3, 0);
  *box = outer;
  tess_status st = bad ? lt_take_error(r, s) : TESS_OK;
  lua_settop(L, top);
  return st;
}

static tess_status invoke(task *t, tess_session *s) {
  return lt_run_call(t->r, protected_call, t, t->slot, s);
}

/* Decisions proposed by Lua are in userdata that the session keeps alive until
 * the next batch; the engine copies them before that. */
static void read_proposals(lua_State *L, task *t) {
  int list = lua_gettop(L);
  lua_Integer n = lt_count_candidates(L, list, "what propose returns");
  if (n > (lua_Integer)t->n) n = (lua_Integer)t->n;
  luaL_checkstack(L, (int)n * 3 + 8, "too many proposals");
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, list, i + 1);
    lt_to_candidate(L, lua_gettop(L), &t->out[i]);
    /* The decisions must outlive the call: anchor them on the session. */
    lua_pushvalue(L, -1);
    lua_getiuservalue(L, 3, 1);
    lua_insert(L, -2);
    lua_seti(L, -2, i + 1);
    lua_pop(L, 1);
  }
  *t->got = (uint32_t)n;
}

static void read_scores(lua_State *L, task *t) {
  lt_table(L, -1, "what predict returns");
  for (uint32_t i = 0; i < t->n; i++) {
    lua_geti(L, -1, i + 1);
    if (lua_isnil(L, -1))
      lt_error(L, TESS_TYPE, "predict returned %d scores for %d candidates",
               (int)i, (int)t->n);
    t->score[i] = lt_number(L, -1, "a score");
    lua_pop(L, 1);
  }
}

/* 1: the task, 2: the strategy or model, 3: the session. */
static int protected_call(lua_State *L) {
  task *t = lua_touserdata(L, 1);
  if (lua_getfield(L, 2, t->method) != LUA_TFUNCTION) {
    if (!strcmp(t->method, "observe") || !strcmp(t->method, "update")) return 0;
    return lt_error(L, TESS_TYPE, "there is no function '%s'", t->method);
  }
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  if (t->got)
    lua_pushinteger(L, t->n);
  else
    lt_push_candidates(L, t->n, t->in);
  lua_call(L, 3, 1);
  if (t->got)
    read_proposals(L, t);
  else if (t->score)
    read_scores(L, t);
  return 0;
}

static tess_status propose_from_lua(void *ud, tess_session *s, uint32_t n,
                                    tess_candidate *out, uint32_t *got) {
  lt_run *r = ud;
  *got = 0;
  task t = {.r = r,
            .slot = LT_SLOT_STRATEGY,
            .method = "propose",
            .n = n,
            .got = got,
            .out = out};
  return invoke(&t, s);
}

static tess_status observe(void *ud, tess_session *s, uint32_t n,
                           const tess_candidate *c) {
  lt_run *r = ud;
  task t = {
      .r = r, .slot = LT_SLOT_STRATEGY, .method = "observe", .n = n, .in = c};
  return invoke(&t, s);
}

static tess_status predict_from_lua(void *ud, tess_session *s, uint32_t n,
                                    const tess_candidate *c, double *score) {
  lt_run *r = ud;
  task t = {.r = r,
            .slot = LT_SLOT_MODEL,
            .method = "predict",
            .n = n,
            .in = c,
            .score = score};
  return invoke(&t, s);
}

static tess_status update(void *ud, tess_session *s, uint32_t n,
                          const tess_candidate *c) {
  lt_run *r = ud;
  task t = {.r = r, .slot = LT_SLOT_MODEL, .method = "update", .n = n, .in = c};
  return invoke(&t, s);
}

void lt_run_strategy(lt_run *r, tess_strategy *out) {
  *out = (tess_strategy){.struct_size = sizeof *out,
                         .name = "lua",
                         .propose = propose_from_lua,
                         .observe = observe,
                         .ud = r};
}

void lt_run_model(lt_run *r, tess_cost_model *out) {
  *out = (tess_cost_model){.struct_size = sizeof *out,
                           .name = "lua",
                           .predict = predict_from_lua,
                           .update = update,
                           .ud = r};
}

/* Callbacks need no memory to fill the table. */
void lt_run_begin(lt_run *r) {
  lua_State *L = r->L;
  lua_createtable(L, LT_SLOT_ERROR, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, r);
  lt_box(L, LT_SESSION, 1);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 1);
  lt_set_slot(r, LT_SLOT_SESSION);
}

void lt_run_end(lt_run *r) {
  lua_pushnil(r->L);
  lua_rawsetp(r->L, LUA_REGISTRYINDEX, r);
}

/* ---- progress ----------------------------------------------------------- */

void lt_set_progress(lua_State *L, const tess_progress *p) {
  lt_set_integer(L, "trials", p->trials);
  lt_set_integer(L, "max_trials", p->max_trials);
  lt_set_integer(L, "failed", p->failed);
  lt_set_number(L, "best", p->best_seconds);
  if (p->gflops > 0) lt_set_number(L, "gflops", p->gflops);
  lt_set_number(L, "elapsed", p->elapsed);
  if (isfinite(p->eta)) lt_set_number(L, "eta", p->eta);
  if (p->compiling) {
    lt_set_integer(L, "compiled", p->compiled);
    lt_set_integer(L, "compiling", p->compiling);
  } else {
    lt_set_string(L, "status", tess_status_name(p->status));
    lt_set_number(L, "seconds", p->seconds);
  }
}

static int call_progress(lua_State *L) { /* 1: progress, 2: function or nil */
  const tess_progress *p = lua_touserdata(L, 1);
  if (lua_isnil(L, 2)) return 0;
  lua_createtable(L, 0, 10);
  lt_set_progress(L, p);
  lt_set_string(L, "text", p->text);
  lua_call(L, 1, 1);
  return 1;
}

/* Calling into Lua also lets an interrupt that the interpreter noted (Ctrl-C)
 * come through: it fails the call, and the run stops with the best so far.
 * Any other error is the script's, and is raised when the run has ended. */
static int progress(void *ud, const tess_progress *p) {
  lt_run *r = ud;
  lua_State *L = r->L;
  int stop = 0;
  if (r->progress == LT_PRINT) {
    if (r->tty)
      fputc('\r', stderr), lt_draw_line(p->text, (int)strlen(p->text));
    else
      fprintf(stderr, "%s\n", p->text);
    fflush(stderr);
  }
  if (!lua_checkstack(L, 16)) return 1;
  lua_pushcfunction(L, call_progress);
  lua_pushlightuserdata(L, (void *)p);
  if (r->progress == LT_CALL)
    lt_push_slot(r, LT_SLOT_PROGRESS);
  else
    lua_pushnil(L);
  if (lt_call_back(L, 2, 1) != LUA_OK)
    lt_take_error(r, NULL), stop = 1;
  else
    stop = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
  lua_pop(L, 1);
  return stop;
}

void lt_read_progress(lt_run *r) {
  lua_State *L = r->L;
  if (lua_istable(L, 2))
    lua_getfield(L, 2, "progress");
  else
    lua_pushnil(L);
  r->tty = isatty(2);
  r->progress = lua_toboolean(L, -1) ? LT_PRINT : LT_QUIET;
  if (lua_isfunction(L, -1)) {
    lt_set_slot(r, LT_SLOT_PROGRESS);
    r->progress = LT_CALL;
  } else
    lua_pop(L, 1);
}

static int nothing(lua_State *L) { return (void)L, 0; }

/* Delivers an interrupt that arrived after the last progress report: if it
 * ended the run it must not end the caller, too; if the run was over already,
 * or only the Lua interpreter noted it, nothing else would report it. */
static void take_interrupt(lt_run *r, tess_result *made) {
  tess_result_info i = TESS_INIT(tess_result_info);
  lua_pushcfunction(r->L, nothing);
  if (lua_pcall(r->L, 0, 0, 0) == LUA_OK) return;
  if (made && !tess_result_get(made, &i) && i.status == TESS_CANCELLED)
    lua_pop(r->L, 1);
  else
    lt_keep_error(r);
}

/* Prints the result's line if it differs from the last progress report. */
static void print_note(const lt_run *r, tess_result *made) {
  tess_result_info i = TESS_INIT(tess_result_info);
  if (r->progress != LT_PRINT || !made || tess_result_get(made, &i)) return;
  if (*i.note) fprintf(stderr, "%s\n", i.note);
}

/* ---- tune --------------------------------------------------------------- */

/* "name", or a table with functions, which goes to the slot (true), or
 * nil. */
static int pluggable(lt_run *r, const char *k, int slot, const char **name) {
  lua_State *L = r->L;
  int type =
      lua_istable(L, 2) ? lua_getfield(L, 2, k) : (lua_pushnil(L), LUA_TNIL);
  if (type == LUA_TTABLE) {
    lt_set_slot(r, slot);
    return 1;
  }
  if (luaL_testudata(L, -1, LT_MODEL)) return 0;
  if (type == LUA_TSTRING)
    *name = lt_string(L, -1, k);
  else if (type != LUA_TNIL)
    lt_error(L, TESS_TYPE, "option '%s': expected a name or a table, got %s", k,
             luaL_typename(L, -1));
  return 0;
}

/* The option cost_model where it is a model that was kept. */
static tess_model *model_option(lua_State *L) {
  if (!lua_istable(L, 2)) return NULL;
  lua_getfield(L, 2, "cost_model");
  if (!luaL_testudata(L, -1, LT_MODEL)) return lua_pop(L, 1), NULL;
  return lt_get(L, lua_gettop(L), LT_MODEL);
}

/* The option inputs: a list of tensors, which the table keeps alive. */
static void read_inputs(lua_State *L, tess_program *p, tess_tune_options *o) {
  if (!lua_istable(L, 2) || lua_getfield(L, 2, "inputs") == LUA_TNIL) return;
  uint32_t most = tess_program_nparams(p) + 1; /* one too many is refused */
  tess_tensor **list = lua_newuserdatauv(L, most * sizeof *list, 0);
  o->ninputs = lt_to_tensors(L, lua_absindex(L, -2), most, list);
  o->inputs = list;
}

/* tune(program, options, space, plugged): stdlib/search/tune.lua finds
 * the space and gathers the functions (ltune_host.c). */
static int ltune_tune(lua_State *L) {
  lt_run r = {.L = L};
  tess_tune_options o;
  tess_result *made = NULL;
  lua_settop(L, 4);
  tess_program *p = lt_program(L, 1);
  lt_check_names(L, "ts.tune", tess_tune_option, NULL);
  tess_space *space = lt_get(L, 3, LT_SPACE);
  if (lua_istable(L, 2))
    lua_getfield(L, 2, "target");
  else
    lua_pushnil(L);
  tess_target *target = lt_to_target(L, 5);
  o = (tess_tune_options)TESS_INIT(tess_tune_options);
  lt_read_options(L, tess_tune_option, &o);
  o.progress = progress;
  o.progress_ud = &r;
  tess_strategy strategy;
  tess_cost_model model;
  lt_run_strategy(&r, &strategy);
  lt_run_model(&r, &model);
  lt_run_begin(&r);
  if (pluggable(&r, "strategy", LT_SLOT_STRATEGY, &o.strategy))
    o.custom_strategy = &strategy;
  if (pluggable(&r, "cost_model", LT_SLOT_MODEL, &o.cost_model))
    o.custom_cost_model = &model;
  o.model = model_option(L);
  read_inputs(L, p, &o);
  lt_run_read_functions(&r, &o);
  lt_read_progress(&r);
  void **box = lt_box(L, LT_RESULT, LT_RESULT_KERNEL);
  lt_enter(L);
  tess_status s = tess_tune(p, target, space, &o, &made);
  *box = made;
  take_interrupt(&r, made);
  if (r.progress == LT_PRINT && r.tty) fprintf(stderr, "\n");
  print_note(&r, made);
  if (r.failed) lt_push_slot(&r, LT_SLOT_ERROR);
  lt_run_end(&r);
  if (r.failed) return lua_error(L);
  lt_check(L, s);
  return 1;
}

void lt_open_tune(lua_State *L) {
  lua_getfield(L, -1, "_core");
  lua_pushcfunction(L, ltune_tune);
  lua_setfield(L, -2, "tune");
  lua_pushcfunction(L, lt_strategies);
  lua_setfield(L, -2, "strategies");
  lua_pushcfunction(L, lt_declared_options);
  lua_setfield(L, -2, "declared_options");
  lua_pop(L, 1);
}
