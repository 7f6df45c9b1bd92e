/* SPDX-License-Identifier: Apache-2.0
 * Schedules and random variables as the binding keeps them. */
#ifndef LUA_LRV_H
#define LUA_LRV_H

#include "lua/lt.h"

#define LT_AUTO "tessera.auto"

/* User values: 1 the program or trace it came from, 2 its forks. */
typedef struct lt_sched {
  tess_schedule *s;        /* first: it is a box */
  lua_Integer id;          /* one for each schedule object of the state */
  int borrowed;                /* the engine's, not to be freed */
} lt_sched;

/* User values: 1 the schedule; 2 and 3 the operands of arithmetic. */
typedef struct lt_rv {
  tess_rv rv;
  tess_rv_kind kind;
  lua_Integer owner;       /* id of the schedule that made it */
  char op[4];              /* "" unless it is arithmetic */
} lt_rv;

/* Raises unless the schedule at index s may use x. */
void lt_check_owner(lua_State *L, const lt_rv *x, int s);

/* Tells the schedule which line of Lua makes its next instructions. */
void lt_note_place(lua_State *L, tess_schedule *s);

/* Operands (loperand.c).  Pushes a value as Lua sees it; variables as
 * "b0"-like text. */
void lt_push_value(lua_State *L, const tess_value *v);
/* Reads the operands of primitive `prim` from the stack, index 2 and on, by
 * position and then by name; returns how many. */
uint32_t lt_to_args(lua_State *L, uint32_t prim, uint32_t max, tess_arg *out);

#endif
