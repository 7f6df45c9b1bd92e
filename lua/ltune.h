/* SPDX-License-Identifier: Apache-2.0
 * Shared by the parts of ts.tune's binding: a run and its callbacks. */
#ifndef LUA_LTUNE_H
#define LUA_LTUNE_H

#include "lua/lt.h"

/* The state shared by a run's callbacks, on the C stack of tune.  Its Lua
 * objects are in a table in the registry, under the run's address, since
 * callbacks nest (a strategy calls the cost model) and each has its own stack
 * frame. */
typedef struct run {
  lua_State *L;
  int failed; /* a callback raised; its error is in SLOT_ERROR */
  enum { QUIET, PRINT, CALL } progress;
  int tty;
} run;

enum {
  SLOT_STRATEGY = 1, SLOT_MODEL, SLOT_SESSION, SLOT_PROGRESS, SLOT_FUNCTIONS,
  SLOT_CHILD,                /* decisions that a mutator gave last */
  SLOT_ERROR                 /* the last one */
};

void lt_run_push(const run *r, int slot);
/* Takes the value at the top. */
void lt_run_set(const run *r, int slot);
/* Calls f(ud, the object in the slot, the session) in protected mode; its C
 * results are read before they go.  The first error is kept. */
tess_status lt_run_call(run *r, lua_CFunction f, void *ud, int slot,
                        tess_session *s);
/* Options mutators, measure and measured, from the table at index 4: functions
 * `measure` and `measured`, and a list of mutators, { name =, probability =,
 * mutate = } (ltune_host.c). */
void lt_run_read_functions(run *r, tess_tune_options *o);
/* _core.strategies(): of each built-in one its name, summary and options. */
int lt_strategies(lua_State *L);

#endif
