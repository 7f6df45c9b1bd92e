/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files that bind the builder: the state's builder, and
 * conversion of Lua values to expressions.
 *
 * All expressions of a state belong to one builder, which lives as long as
 * anything made with it. */
#ifndef LUA_LDESCRIBE_H
#define LUA_LDESCRIBE_H

#include "lua/lt.h"

#define LT_MAX_DIM 16
#define LT_MAX_ARGS 64

typedef struct lt_expr {
  tess_builder *b;
  tess_expr e;
  tess_var var;          /* of a reduction axis or size; else 0 */
} lt_expr;

typedef struct lt_buffer {
  tess_builder *b;
  tess_buffer buf;
} lt_buffer;

/* ---- builder and values (lbuilder.c, lexpr.c) --------------------------- */

/* Pushes the state's builder; it is referenced weakly, so that it is collected
 * after the last expression made with it. */
tess_builder *lt_push_builder(lua_State *L);
/* Forgets what no object of Lua's needs any more, when enough was made since
 * the last time: called at the start of what describes something at the top
 * level, before any handle is read. */
void lt_trim(lua_State *L);
/* Whether handles are held across a call of Lua, so that none may change. */
void lt_hold_handles(lua_State *L, int yes);
/* The state's builder with nothing left on the stack: only valid while an
 * object on the stack or in a variable of the caller's keeps it alive. */
tess_builder *lt_builder(lua_State *L);
void lt_push_expr(lua_State *L, tess_expr e, tess_var var);
void lt_push_buffer(lua_State *L, tess_buffer buf);
/* The value at index i as an expression: an expression, a number (a literal,
 * taking the other operand's type) or a boolean. */
tess_expr lt_to_expr(lua_State *L, tess_builder *b, int i);
/* A list of extents or indices; integers become int64 constants. */
uint32_t lt_to_exprs(lua_State *L, tess_builder *b, int t, uint32_t max,
                     tess_expr *out);
tess_buffer lt_to_buffer(lua_State *L, int i);
/* Opens something, by `open` with the arguments behind index i, calls the
 * function at i with what that gives, closes it by `close` with what the
 * function gives, and returns what that gives.  Whatever ends any of them, as
 * an error in a coroutine that dies of it, or a hook that ends the script,
 * nothing is left open; and none can yield. */
int lt_describe(lua_State *L, int i, lua_CFunction open, lua_CFunction close);
/* The operator applied to the values at indices 1 and 2. */
int lt_binary(lua_State *L, const char *op);

/* ---- what each adds ----------------------------------------------------- */

/* The class of builders. */
void lt_open_builder(lua_State *L);
/* The classes of expressions and buffers, and the comparisons into the table
 * at the top. */
void lt_open_expr(lua_State *L);
/* The raw functions that open, fill and close statements (lstatement.c). */
extern const luaL_Reg lt_statements[];

#endif
