/* SPDX-License-Identifier: Apache-2.0
 * A Lua state in which what a host without Lua asks for is done. */
#ifndef LUA_SPACES_STATE_H
#define LUA_SPACES_STATE_H

#include "lua/lt.h"

/* Runs f with `request` as its only argument, in a new state with the module
 * "tessera" in context c.  Where that fails, the state is closed and why gets n
 * bytes of one line; else *kept is the state, for the caller to close. */
tess_status state_run(tess_context *c, lua_CFunction f, void *request,
                      lua_State **kept, char *why, size_t n);
/* Ends what was lent, and closes the state. */
void state_close(lua_State *L);

/* Pushes an object of the host's, which stays the host's: the state holds the
 * box until it is closed, and then lets go of what is in it. */
void state_lend(lua_State *L, const char *tname, void *object);
/* What the box at index i has, which is the caller's now. */
void *state_take(lua_State *L, int i, const char *tname);

#endif
