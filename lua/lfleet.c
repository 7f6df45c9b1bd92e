/* SPDX-License-Identifier: Apache-2.0
 * Binding of fleets: ts.agent and ts.fleet. */
#include "lua/lt.h"

static const char *const agent_options[] = {
    "fleet", "key",    "name",        "role",   "target",
    "cores", "device", "share_cores", "poll",   "say",
    "sign",  "trust",  "via",         "runner", NULL};

static int call_say(lua_State *L) { /* 1: the line, 2: the function */
  lua_pushvalue(L, 2);
  lua_pushstring(L, lua_touserdata(L, 1));
  lua_call(L, 1, 0);
  return 0;
}

/* An event's function that fails ends the agent; its error is at the stack's
 * index 3. */
static void say_in_lua(void *ud, const char *line) {
  lua_State *L = ud;
  if (lua_isnil(L, 2) || !lua_checkstack(L, 8)) return;
  lua_pushcfunction(L, call_say);
  lua_pushlightuserdata(L, (void *)(uintptr_t)line);
  lua_pushvalue(L, 2);
  if (lt_call_back(L, 2, 0) == LUA_OK) return;
  lua_replace(L, 3);
  tess_stop(lt_context(L));
}

/* The Lua interpreter may have noted an interrupt that drained it. */
static int do_nothing(lua_State *L) { return (void)L, 0; }

/* agent(options) */
static int lfleet_agent(lua_State *L) {
  lua_settop(L, 1);
  lt_options(L, 1, "ts.agent", agent_options);
  lt_table(L, 1, "the options of ts.agent");
  lua_getfield(L, 1, "say");
  if (!lua_isnil(L, 2)) lt_function(L, 2, "option 'say'");
  lua_pushnil(L); /* 3: an error of say */
  const tess_agent_options o = {.struct_size = sizeof o,
                                .fleet = lt_field_str(L, 1, "fleet", NULL),
                                .key = lt_field_str(L, 1, "key", NULL),
                                .name = lt_field_str(L, 1, "name", NULL),
                                .role = lt_field_str(L, 1, "role", NULL),
                                .target = lt_field_str(L, 1, "target", NULL),
                                .cores = lt_field_str(L, 1, "cores", NULL),
                                .device = lt_field_str(L, 1, "device", NULL),
                                .share_cores =
                                    lt_field_bool(L, 1, "share_cores", 0),
                                .poll = lt_field_bool(L, 1, "poll", 0),
                                .sign = lt_field_str(L, 1, "sign", NULL),
                                .trust = lt_field_str(L, 1, "trust", NULL),
                                .via = lt_field_str(L, 1, "via", NULL),
                                .runner = lt_field_str(L, 1, "runner", NULL),
                                .say = say_in_lua,
                                .say_ud = L};
  lt_enter(L);
  tess_status s = tess_agent_run(lt_context(L), &o);
  lua_pushcfunction(L, do_nothing);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK && s != TESS_OK) return lua_error(L);
  lua_settop(L, 3);
  /* The interrupt that drains it is no failure. */
  if (!lua_isnil(L, 3) && lt_status_of(L, 3) != TESS_CANCELLED)
    return lua_error(L);
  lt_check(L, s);
  return 0;
}

/* fleet(address, command, json) */
static int lfleet_call(lua_State *L) {
  const char *address = lt_string(L, 1, "the address of a fleet");
  const char *command = lt_string(L, 2, "the command of a fleet");
  const char *json = lt_opt_string(L, 3, "the arguments of a command", NULL);
  char *text;
  lt_enter(L);
  lt_check(L, tess_fleet_call(lt_context(L), address, command, json, &text));
  lt_push_text(L, text);
  return 1;
}

void lt_open_fleet(lua_State *L) {
  lua_pushcfunction(L, lfleet_agent);
  lua_setfield(L, -2, "agent");
  lua_pushcfunction(L, lfleet_call);
  lua_setfield(L, -2, "fleet");
}
