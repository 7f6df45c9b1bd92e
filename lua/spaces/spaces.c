/* SPDX-License-Identifier: Apache-2.0
 * Lua for hosts without it: the modules of the default space, and scripts of
 * the host's, run in a Lua state of this library's own, which lives as long as
 * the space that they make. */
#include "lua/spaces/spaces.h"
#include "lua/spaces/state.h"

#include <string.h>

typedef struct spaces_request {
  tess_context *c;
  const char *script, *argument;
  tess_space **space; /* NULL: a program is wanted */
  tess_program **program;
} spaces_request;

/* The Lua object at the top keeps the modules' functions, and so it stays: what
 * is handed out is a space over it. */
static void take_space(lua_State *L, spaces_request *r) {
  tess_space *inner = lt_get(L, -1, LT_SPACE);
  luaL_ref(L, LUA_REGISTRYINDEX);
  lt_check(L, tess_space_union(r->c, 1, &inner, r->space));
}

static int spaces_make(lua_State *L) {
  spaces_request *r = lua_touserdata(L, 1);
  if (luaL_loadbufferx(L, r->script, strlen(r->script), "=script", "t"))
    lt_error(L, TESS_PARSE, "%s", lua_tostring(L, -1));
  lua_pushstring(L, r->argument);
  lua_call(L, 1, 1);
  if (r->space)
    take_space(L, r);
  else /* which needs nothing of the state it was made in */
    *r->program = state_take(L, -1, LT_PROGRAM);
  return 0;
}

static void close_state(void *ud) { state_close(ud); }

tess_status tess_spaces_run(tess_context *c, const char *script,
                            const char *argument, tess_space **space,
                            tess_program **program, char *why, size_t n) {
  spaces_request r = {c, script, argument, space, program};
  lua_State *L;
  tess_status s = state_run(c, spaces_make, &r, &L, why, n);
  if (s != TESS_OK) return s;
  if (space)
    tess_space_on_free(*space, close_state, L);
  else
    state_close(L);
  return TESS_OK;
}
