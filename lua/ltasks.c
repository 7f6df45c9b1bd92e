/* SPDX-License-Identifier: Apache-2.0
 * Binding of ts.tune_tasks: entries, progress, and the results of all tasks. */
#define _POSIX_C_SOURCE 200809L
#include "lua/ltune.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

LT_GC(tasks_gc, tess_tasks, tess_tasks_free)

/* ---- progress ----------------------------------------------------------- */

/* Of the whole call. */
typedef struct tasks_call {
  lt_run run;
  int drawn; /* lines of the table on the terminal */
} tasks_call;

/* What is not known is left out. */
static void set_known(lua_State *L, const char *k, double x) {
  if (isfinite(x)) lt_set_number(L, k, x);
}

static void push_state(lua_State *L, const tess_task_state *x) {
  lua_createtable(L, 0, 12);
  lt_set_string(L, "name", x->name);
  lt_set_string(L, "shapes", x->shapes);
  lt_set_integer(L, "entries", x->entries);
  lt_set_integer(L, "trials", x->trials);
  lt_set_integer(L, "failed", x->failed);
  set_known(L, "weight", x->weight);
  set_known(L, "best", x->best_seconds);
  if (x->gflops > 0) set_known(L, "gflops", x->gflops);
  set_known(L, "gain", x->gain);
  set_known(L, "seconds", x->seconds);
  lt_set_boolean(L, "live", x->live);
}

static void push_event(lua_State *L, const tess_tasks_progress *p) {
  const char *event = p->round              ? "round"
                      : p->trial->compiling ? "compile"
                                            : "trial";
  lua_createtable(L, 0, 14);
  lt_set_string(L, "event", event);
  lt_set_integer(L, "task", (lua_Integer)p->current + 1);
  if (p->current < p->ntask) lt_set_string(L, "name", p->task[p->current].name);
  lt_set_integer(L, "trials", p->trials);
  if (p->max_trials) lt_set_integer(L, "max_trials", p->max_trials);
  lt_set_integer(L, "failed", p->failed);
  set_known(L, "latency", p->latency);
  set_known(L, "elapsed", p->elapsed);
  set_known(L, "eta", p->eta);
  lt_set_string(L, "text", p->text);
  lt_set_string(L, "table", p->table);
  if (p->trial) {
    lua_createtable(L, 0, 10);
    lt_set_progress(L, p->trial);
    lua_setfield(L, -2, "trial");
  }
  lua_createtable(L, (int)p->ntask, 0);
  for (uint32_t i = 0; i < p->ntask; i++) {
    push_state(L, &p->task[i]);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "tasks");
}

static int call_tasks_progress(lua_State *L) { /* 1: progress, 2: function */
  const tess_tasks_progress *p = lua_touserdata(L, 1);
  if (lua_isnil(L, 2)) return 0;
  push_event(L, p);
  lua_call(L, 1, 1);
  return 1;
}

/* On a terminal the table, as far as it fits, is drawn over the one before;
 * elsewhere there is a
 * line for each batch. */
static void draw_tasks(tasks_call *t, const tess_tasks_progress *p) {
  if (!t->run.tty) {
    if (p->round) fprintf(stderr, "%s\n", p->text);
    return;
  }
  int columns, rows;
  lt_terminal_size(&columns, &rows);
  fputc('\r', stderr);
  if (t->drawn) fprintf(stderr, "\033[%dA", t->drawn);
  t->drawn = 0;
  for (const char *at = p->table; *at && t->drawn < rows - 1;) {
    int n = (int)strcspn(at, "\n");
    lt_draw_line(at, n);
    fputc('\n', stderr);
    at += n + (at[n] == '\n');
    t->drawn++;
  }
  lt_draw_line(p->text, (int)strlen(p->text));
  fflush(stderr);
}

/* As of one task: calling into Lua lets an interrupt come through. */
static int tasks_progress(void *ud, const tess_tasks_progress *p) {
  tasks_call *t = ud;
  lua_State *L = t->run.L;
  int stop = 0;
  if (t->run.progress == LT_PRINT) draw_tasks(t, p);
  if (!lua_checkstack(L, 24)) return 1;
  lua_pushcfunction(L, call_tasks_progress);
  lua_pushlightuserdata(L, (void *)p);
  if (t->run.progress == LT_CALL)
    lt_push_slot(&t->run, LT_SLOT_PROGRESS);
  else
    lua_pushnil(L);
  if (lt_call_back(L, 2, 1) != LUA_OK)
    lt_take_error(&t->run, NULL), stop = 1;
  else
    stop = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
  lua_pop(L, 1);
  return stop;
}

static int no_work(lua_State *L) { return (void)L, 0; }

/* An interrupt that came when the run was over is raised; one that ended it is
 * in its status. */
static void take_late_interrupt(tasks_call *t, tess_tasks *made) {
  tess_tasks_info i = TESS_INIT(tess_tasks_info);
  lua_pushcfunction(t->run.L, no_work);
  if (lua_pcall(t->run.L, 0, 0, 0) == LUA_OK) return;
  if (made && !tess_tasks_get(made, &i) && i.status == TESS_CANCELLED)
    lua_pop(t->run.L, 1);
  else
    lt_keep_error(&t->run);
}

/* ---- entries ------------------------------------------------------------ */

/* What an entry's strategy and model in Lua need while the call lasts. */
typedef struct tasks_entry {
  lt_run run;
  tess_strategy strategy;
  tess_cost_model model;
} tasks_entry;

/* Puts the table in field k of the entry at the top into the slot. */
static int take_plugged(lua_State *L, lt_run *r, const char *k, int slot) {
  int is = lua_getfield(L, -1, k) == LUA_TTABLE;
  if (is)
    lt_set_slot(r, slot);
  else
    lua_pop(L, 1);
  return is;
}

/* The entry at the top of the stack, { program =, space =, weight =, name =,
 * strategy =, cost_model = }, which keeps what it holds alive. */
static void read_entry(lua_State *L, tasks_entry *own, tess_task *out) {
  int at = lua_gettop(L);
  *out = (tess_task){.struct_size = sizeof *out};
  lua_getfield(L, at, "program");
  out->program = lt_program(L, at + 1);
  lua_getfield(L, at, "space");
  out->space = lt_get(L, at + 2, LT_SPACE);
  out->weight = lt_field_number(L, at, "weight", 1);
  out->name = lt_field_str(L, at, "name", NULL);
  lua_settop(L, at);
  own->run.L = L;
  lt_run_begin(&own->run);
  lua_settop(L, at);
  if (take_plugged(L, &own->run, "strategy", LT_SLOT_STRATEGY)) {
    lt_run_strategy(&own->run, &own->strategy);
    out->strategy = &own->strategy;
  }
  if (take_plugged(L, &own->run, "cost_model", LT_SLOT_MODEL)) {
    lt_run_model(&own->run, &own->model);
    out->cost_model = &own->model;
  }
}

/* The error that one of the runs kept, at the top; 0: none did. */
static int push_kept_error(const lt_run *r) {
  if (!r->failed) return 0;
  lt_push_slot(r, LT_SLOT_ERROR);
  return 1;
}

static const char *name_option(lua_State *L, const char *k) {
  const char *s = NULL;
  if (!lua_istable(L, 2)) return NULL;
  if (lua_getfield(L, 2, k) == LUA_TSTRING) s = lt_string(L, -1, k);
  lua_pop(L, 1); /* the table keeps it */
  return s;
}

static void read_tasks(lua_State *L, tess_tune_options *t,
                       tess_tasks_options *o) {
  *t = (tess_tune_options)TESS_INIT(tess_tune_options);
  lt_read_options(L, tess_tune_option, t);
  t->strategy = name_option(L, "strategy");
  t->cost_model = name_option(L, "cost_model");
  *o = (tess_tasks_options)TESS_INIT(tess_tasks_options);
  o->tune = t;
  lt_read_options(L, tess_tasks_option, o);
}

/* ---- tune_tasks --------------------------------------------------------- */

/* Ends the runs; an error of what is common to all is raised.  One of an
 * entry's own strategy or model ended that task alone, whose result tells it.
 */
static void end_runs(tasks_call *all, lua_Integer n, tasks_entry *own) {
  lua_State *L = all->run.L;
  int bad = push_kept_error(&all->run);
  for (lua_Integer i = 0; i < n; i++) {
    if (!bad && own[i].run.why != TESS_CALLBACK)
      bad = push_kept_error(&own[i].run);
    lt_run_end(&own[i].run);
  }
  lt_run_end(&all->run);
  if (bad) lua_error(L);
}

void **lt_box_tasks(lua_State *L) {
  void **box = lt_box(L, LT_TASKS, 1);
  lua_newtable(L); /* of results that were asked for */
  lua_setiuservalue(L, -2, 1);
  return box;
}

/* tune_tasks(entries, options, functions): stdlib/search/tasks.lua completes
 * the entries and gathers the functions (ltune_host.c). */
static int ltasks_tune(lua_State *L) {
  tess_tune_options t;
  tess_tasks_options o;
  tess_tasks *made = NULL;
  lua_settop(L, 3);
  lt_table(L, 1, "the tasks");
  lt_check_names(L, "ts.tune_tasks", tess_tune_option, tess_tasks_option);
  lua_Integer n = lt_list_len(L, 1);
  read_tasks(L, &t, &o);
  if (lua_istable(L, 2))
    lua_getfield(L, 2, "target");
  else
    lua_pushnil(L);
  lua_insert(L, 3); /* functions are at 4, as those of ts.tune */
  tess_target *target = lt_to_target(L, 3);
  tasks_call *all = lua_newuserdatauv(L, sizeof *all, 0);
  *all = (tasks_call){.run.L = L};
  tess_task *list = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *list, 0);
  tasks_entry *own = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *own, 0);
  memset(own, 0, (size_t)(n + 1) * sizeof *own);
  lt_run_begin(&all->run);
  lt_read_progress(&all->run);
  lt_run_read_functions(&all->run, &t);
  for (lua_Integer i = 0; i < n; i++) {
    int top = lua_gettop(L);
    lua_geti(L, 1, i + 1);
    read_entry(L, &own[i], &list[i]);
    lua_settop(L, top);
  }
  o.progress = tasks_progress;
  o.progress_ud = all;
  void **box = lt_box_tasks(L);
  lt_enter(L);
  tess_status s =
      tess_tune_tasks(lt_context(L), (uint32_t)n, list, target, &o, &made);
  *box = made;
  take_late_interrupt(all, made);
  if (all->run.progress == LT_PRINT && all->run.tty) fprintf(stderr, "\n");
  end_runs(all, n, own);
  lt_check(L, s);
  return 1;
}

/* ---- results ------------------------------------------------------------ */

/* Each is made once, so that the kernel it keeps is kept. */
static int push_result_of(lua_State *L, lua_Integer i) {
  tess_tasks *t = lt_get(L, 1, LT_TASKS);
  tess_tasks_info x = TESS_INIT(tess_tasks_info);
  lt_check(L, tess_tasks_get(t, &x));
  if (i < 1 || i > (lua_Integer)x.nentry) return 0;
  lua_Integer task = tess_tasks_index(t, (uint32_t)i - 1) + 1;
  lua_getiuservalue(L, 1, 1);
  if (lua_geti(L, -1, task) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  tess_result *r;
  void **b = lt_box(L, LT_RESULT, LT_RESULT_KERNEL);
  lt_check(L, tess_tasks_result(t, (uint32_t)i - 1, &r));
  *b = r;
  lua_pushvalue(L, -1);
  lua_seti(L, -3, task);
  return 1;
}

/* rs[i], rs.latency, rs.trials, ... */
static int tasks_index(lua_State *L) {
  tess_tasks_info x = TESS_INIT(tess_tasks_info);
  if (lua_isinteger(L, 2)) return push_result_of(L, lua_tointeger(L, 2));
  const char *k = lt_string(L, 2, "the field of results");
  lt_check(L, tess_tasks_get(lt_get(L, 1, LT_TASKS), &x));
  if (!strcmp(k, "latency") && isfinite(x.latency))
    return lua_pushnumber(L, x.latency), 1;
  if (!strcmp(k, "seconds")) return lua_pushnumber(L, x.seconds), 1;
  if (!strcmp(k, "trials")) return lua_pushinteger(L, x.trials), 1;
  if (!strcmp(k, "failed")) return lua_pushinteger(L, x.failed), 1;
  if (!strcmp(k, "tasks")) return lua_pushinteger(L, x.ntask), 1;
  if (!strcmp(k, "status"))
    return lua_pushstring(L, tess_status_name(x.status)), 1;
  const char *text = !strcmp(k, "funnel")    ? x.funnel
                     : !strcmp(k, "ledger")  ? x.ledger
                     : !strcmp(k, "table")   ? x.table
                     : !strcmp(k, "note")    ? x.note
                     : !strcmp(k, "message") ? x.message
                                             : "";
  if (!*text) return 0;
  lua_pushstring(L, text);
  return 1;
}

/* pairs(rs) is ipairs(rs): the results in the order of the entries. */
static int tasks_pairs(lua_State *L) {
  lua_settop(L, 1);
  lua_getglobal(L, "ipairs");
  lua_insert(L, 1);
  lua_call(L, 1, 3);
  return 3;
}

static int tasks_len(lua_State *L) {
  tess_tasks_info x = TESS_INIT(tess_tasks_info);
  lt_check(L, tess_tasks_get(lt_get(L, 1, LT_TASKS), &x));
  lua_pushinteger(L, x.nentry);
  return 1;
}

static int tasks_tostring(lua_State *L) {
  tess_tasks_info x = TESS_INIT(tess_tasks_info);
  char sum[64] = "not all tasks have a valid candidate";
  lt_check(L, tess_tasks_get(lt_get(L, 1, LT_TASKS), &x));
  if (x.status == TESS_OK) snprintf(sum, sizeof sum, "not all are measured");
  if (isfinite(x.latency))
    snprintf(sum, sizeof sum, "weighted sum %.4g ms", x.latency * 1e3);
  lua_pushfstring(L, "%s%s after %d trials (%d failed) of %d tasks", x.table,
                  sum, (int)x.trials, (int)x.failed, (int)x.ntask);
  return 1;
}

/* Which of the different programs entry i is, from 1. */
static int tasks_task_of(lua_State *L) {
  tess_tasks *t = lt_get(L, 1, LT_TASKS);
  lua_Integer i = lt_integer(L, 2, "the number of an entry");
  lua_pushinteger(L, (lua_Integer)tess_tasks_index(t, (uint32_t)i - 1) + 1);
  return 1;
}

void lt_open_tasks(lua_State *L) {
  static const luaL_Reg meta[] = {{"__index", tasks_index},
                                  {"__len", tasks_len},
                                  {"__pairs", tasks_pairs},
                                  {"__tostring", tasks_tostring},
                                  {NULL, NULL}};
  lt_class(L, LT_TASKS, meta, NULL, tasks_gc);
  lua_getfield(L, -1, "_core");
  lua_pushcfunction(L, ltasks_tune);
  lua_setfield(L, -2, "tune_tasks");
  lua_pushcfunction(L, tasks_task_of);
  lua_setfield(L, -2, "task_of");
  lua_pop(L, 1);
}
