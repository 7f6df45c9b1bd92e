/* SPDX-License-Identifier: Apache-2.0
 * Tessera inside a host's own Lua state. */
#ifndef TESSERA_LUA_H
#define TESSERA_LUA_H

#include <lua.h>
#include <tessera/tessera.h>

/* What `require "tessera"` calls: pushes the module's table; it makes a
 * context of its own, closed with the state.
 *
 * This and the next raise a Lua error where memory runs out, the parts written
 * in Lua are not found, or one of Lua's standard libraries is not open that
 * these use: the basic one, package, coroutine, string, table, math and debug
 * (luaL_openlibs opens them).  Outside of a protected call (lua_pcall) an
 * error ends the process. */
TESS_API int luaopen_tessera(lua_State *L);

/* The same with the host's context, which must outlive the state. */
TESS_API int tess_lua_open(lua_State *L, tess_context *c);

#endif
