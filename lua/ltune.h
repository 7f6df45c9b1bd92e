/* SPDX-License-Identifier: Apache-2.0
 * What the bindings of ts.tune and ts.tune_tasks share: a run's callbacks into
 * Lua, and the options. */
#ifndef LUA_LTUNE_H
#define LUA_LTUNE_H

#include "lua/lt.h"

/* The state shared by a run's callbacks, on the C stack or in a userdata.  Its
 * Lua objects are in a table in the registry, under the run's address, since
 * callbacks nest (a strategy calls the cost model) and each has its own stack
 * frame. */
typedef struct lt_run {
  lua_State *L;
  int failed; /* a callback raised; its error is in LT_SLOT_ERROR, */
  tess_status why; /* and of this class */
  enum { LT_QUIET, LT_PRINT, LT_CALL } progress;
  int tty;
} lt_run;

enum {
  LT_SLOT_STRATEGY = 1,
  LT_SLOT_MODEL,
  LT_SLOT_SESSION,
  LT_SLOT_PROGRESS,
  LT_SLOT_FUNCTIONS,         /* measure, measured, mutators, postprocs */
  LT_SLOT_CHILD,             /* decisions that a mutator gave last */
  LT_SLOT_REASON,            /* what a postprocessor said last */
  LT_SLOT_ERROR              /* the last one */
};

/* Makes the run's table, with a session in it; lt_run_end drops it. */
void lt_run_begin(lt_run *r);
void lt_run_end(lt_run *r);
void lt_push_slot(const lt_run *r, int slot);
/* Takes the value at the top. */
void lt_set_slot(const lt_run *r, int slot);
/* Calls f(ud, the object in the slot, the session) in protected mode; its C
 * results are read before they go.  The first error is kept. */
tess_status lt_run_call(lt_run *r, lua_CFunction f, void *ud, int slot,
                        tess_session *s);
/* Classifies the error at the top; keeps the first that is not an
 * interrupt, whose line the session (NULL: none) is told. */
tess_status lt_take_error(lt_run *r, tess_session *session);
/* Pops the error at the top and keeps it, to be raised when the run has
 * ended. */
void lt_keep_error(lt_run *r);

/* One of the two lists of declared options: tess_tune_option, or
 * tess_tasks_option. */
typedef const tess_option *(*lt_option_list)(uint32_t i);
/* Refuses names in the table at index 2 that are no option of the lists; NULL:
 * there is no second one. */
void lt_check_names(lua_State *L, const char *function, lt_option_list list,
                    lt_option_list more);
/* Sets those fields of the struct of the list's options that the table at index
 * 2 gives, but not what is a name or an object (strategy, cost_model). */
void lt_read_options(lua_State *L, lt_option_list list, void *to);
/* _core.declared_options(): both lists, { tune =, tasks = }, of tables. */
int lt_declared_options(lua_State *L);
/* How the option progress wants to be told; a function goes to its slot. */
void lt_read_progress(lt_run *r);
/* A strategy and a model that call the tables in the run's slots. */
void lt_run_strategy(lt_run *r, tess_strategy *out);
void lt_run_model(lt_run *r, tess_cost_model *out);
/* Draws n bytes in place of the terminal's line, as far as they fit; and the
 * terminal's size (lprogress.c). */
void lt_draw_line(const char *text, int n);
void lt_terminal_size(int *columns, int *rows);
/* Sets the fields of a trial's progress in the table at the top. */
void lt_set_progress(lua_State *L, const tess_progress *p);

/* Options mutators, measure and measured, from the table at index 4: functions
 * `measure` and `measured`, and a list of mutators, { name =, probability =,
 * mutate = } (ltune_host.c). */
void lt_run_read_functions(lt_run *r, tess_tune_options *o);
/* _core.strategies(): of each built-in one its name, summary and options. */
int lt_strategies(lua_State *L);

#endif
