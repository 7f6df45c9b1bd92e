/* SPDX-License-Identifier: Apache-2.0
 * Binding of traces. */
#include "lua/lrv.h"
#include <string.h>

#define LT_INST "tessera.instruction"

LT_GC(trace_gc, tess_trace, tess_trace_free)

/* Pushes an empty trace object; its first user value keeps a program. */
static void **box(lua_State *L) { return lt_box(L, LT_TRACE, 1); }

static int trace_json(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_trace_json(lt_trace(L, 1), &text));
  lt_push_text(L, text);
  return 1;
}

static int trace_tvm_json(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_trace_tvm_json(lt_trace(L, 1), &text));
  lt_push_text(L, text);
  return 1;
}

/* t:lua([i]): all of it, or instruction i. */
static int trace_lua(lua_State *L) {
  tess_trace *t = lt_trace(L, 1);
  char *text = NULL;
  lua_Integer i = lt_opt_integer(L, 2, "the position", 0);
  if (lua_isnoneornil(L, 2))
    lt_check(L, tess_trace_lua(t, &text));
  else
    lt_check(L, tess_trace_inst_lua(t, i < 0 ? 0 : (uint32_t)i, &text));
  lt_push_text(L, text);
  return 1;
}

static int trace_tostring(lua_State *L) {
  lua_settop(L, 1);
  return trace_lua(L);
}

static int trace_len(lua_State *L) {
  lua_pushinteger(L, tess_trace_size(lt_trace(L, 1)));
  return 1;
}

/* ---- one instruction as a table ----------------------------------------- */

static void push_operands(lua_State *L, tess_trace *t, uint32_t i,
                          const char *role) {
  tess_arg args[32];
  uint32_t n;
  lt_check(L, tess_trace_operands(t, i, role, 32, args, &n));
  lua_createtable(L, 0, (int)n);
  for (uint32_t k = 0; k < n && k < 32; k++) {
    lt_push_value(L, &args[k].value);
    lua_setfield(L, -2, args[k].name);
  }
}

static int push_inst(lua_State *L, tess_trace *t, uint32_t i) {
  tess_inst_info info = TESS_INIT(tess_inst_info);
  if (tess_trace_inst(t, i, &info) != TESS_OK) return 0;
  lua_createtable(L, 0, 7);
  lt_set_string(L, "name", info.name);
  if (info.file && *info.file) {
    lua_pushfstring(L, "%s:%d", info.file, (int)info.line);
    lua_setfield(L, -2, "place");
  }
  lua_createtable(L, (int)info.nout, 0);
  for (uint32_t k = 0; k < info.nout; k++) {
    lua_pushfstring(L, "v%d", (int)info.out[k]);
    lua_seti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "outputs");
  if (info.has_decision) {
    lua_createtable(L, (int)info.ndecision, 0);
    for (uint32_t k = 0; k < info.ndecision; k++) {
      lua_pushinteger(L, info.decision[k]);
      lua_seti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "decision");
  }
  push_operands(L, t, i, "in");
  lua_setfield(L, -2, "inputs");
  push_operands(L, t, i, "attr");
  lua_setfield(L, -2, "attrs");
  luaL_setmetatable(L, LT_INST);
  return 1;
}

/* Adds the value at the top as text. */
static void ltrace_add(luaL_Buffer *b) {
  luaL_tolstring(b->L, -1, NULL);
  lua_remove(b->L, -2);
  luaL_addvalue(b);
}

/* "sample_perfect_tile, decision {4, 2} (FILE:LINE)" */
static int inst_tostring(lua_State *L) {
  luaL_Buffer b;
  lua_settop(L, 1);
  int decides = lua_getfield(L, 1, "decision") == LUA_TTABLE;
  int placed = lua_getfield(L, 1, "place") == LUA_TSTRING;
  luaL_buffinit(L, &b);
  lua_getfield(L, 1, "name");
  ltrace_add(&b);
  if (decides) {
    lua_Integer n = luaL_len(L, 2);
    luaL_addstring(&b, ", decision {");
    for (lua_Integer k = 1; k <= n; k++) {
      if (k > 1) luaL_addstring(&b, ", ");
      lua_geti(L, 2, k);
      ltrace_add(&b);
    }
    luaL_addstring(&b, "}");
  }
  if (placed) {
    luaL_addstring(&b, " (");
    lua_pushvalue(L, 3);
    ltrace_add(&b);
    luaL_addstring(&b, ")");
  }
  luaL_pushresult(&b);
  return 1;
}

/* t[3] is an instruction, t.lua a method, of a closed one too: each says what
 * it does then. */
static int trace_index(lua_State *L) {
  if (lua_isinteger(L, 2)) {
    tess_trace *t = lt_trace(L, 1);
    lua_Integer i = lua_tointeger(L, 2);
    if (i < 1 || i > (lua_Integer)tess_trace_size(t)) return 0;
    return push_inst(L, t, (uint32_t)i);
  }
  lua_pushvalue(L, 2);
  lua_gettable(L, lua_upvalueindex(1));
  return 1;
}

/* ---- names -------------------------------------------------------------- */

void lt_push_params(lua_State *L, tess_trace *t) {
  uint32_t n, most = tess_trace_size(t) + 1;
  tess_arg *list = lua_newuserdatauv(L, most * sizeof *list, 0);
  lt_check(L, tess_trace_params(t, most, list, &n));
  lua_createtable(L, 0, (int)n);
  for (uint32_t i = 0; i < n; i++) {
    lt_push_value(L, &list[i].value);
    lua_setfield(L, -2, list[i].name);
  }
  lua_remove(L, -2);
}

/* t:params(): the values that the trace names, by name. */
static int params(lua_State *L) {
  lt_push_params(L, lt_trace(L, 1));
  return 1;
}

static void push_decision(lua_State *L, const tess_decision *d) {
  lua_createtable(L, 0, 5);
  lt_set_integer(L, "instruction", d->inst);
  lt_set_string(L, "what", d->what);
  if (*d->knob) lt_set_string(L, "knob", d->knob);
  lua_createtable(L, (int)d->n, 0);
  for (uint32_t i = 0; i < d->n; i++) {
    lua_pushstring(L, d->part[i]);
    lua_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "parts");
  if (!d->decision) return;
  lua_createtable(L, (int)d->n, 0);
  for (uint32_t i = 0; i < d->n; i++) {
    lua_pushinteger(L, d->decision[i]);
    lua_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "decision");
}

/* t:decisions([program]): a list of { instruction =, what =, knob =, parts =,
 * decision = }. */
static int decisions(lua_State *L) {
  tess_trace *t = lt_trace(L, 1);
  tess_program *p = lt_opt(L, 2, LT_PROGRAM);
  uint32_t n, most = tess_trace_size(t) + 1;
  tess_decision *list = lua_newuserdatauv(L, most * sizeof *list, 0);
  lt_check(L, tess_trace_decisions(t, p, most, list, &n));
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    push_decision(L, &list[i]);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* ---- replaying and changing --------------------------------------------- */

static int ltrace_bind(lua_State *L) {
  tess_trace *t = lt_trace(L, 1);
  lt_check(L, tess_trace_bind(t, lt_program(L, 2)));
  lua_settop(L, 1);
  return 1;
}

/* t:replay([program] [, { resample =, repair =, no_postproc =, seed = }]) */
static int ltrace_replay(lua_State *L) {
  static const char *const known[] = {"resample", "repair", "no_postproc",
                                      "seed", NULL};
  tess_trace *t = lt_trace(L, 1);
  tess_program *p = lt_opt(L, 2, LT_PROGRAM);
  tess_schedule *s;
  lt_options(L, 3, "trace:replay", known);
  tess_replay_options o = {.struct_size = sizeof o,
                           .resample = lt_field_bool(L, 3, "resample", 0),
                           .repair = lt_field_bool(L, 3, "repair", 0),
                           .no_postproc = lt_field_bool(L, 3, "no_postproc", 0),
                           .seed = (uint64_t)lt_field_int(L, 3, "seed", 0)};
  lt_push_schedule(L, NULL);
  lt_check(L, tess_trace_replay(t, p, &o, &s));
  ((lt_sched *)lua_touserdata(L, -1))->s = s;
  return 1;
}

static int with_decision(lua_State *L) {
  int64_t d[64];
  tess_trace *t = lt_trace(L, 1), *made;
  lua_Integer i = lt_integer(L, 2, "the position");
  uint32_t n;
  if (lua_isinteger(L, 3)) {
    d[0] = lua_tointeger(L, 3);
    n = 1;
  } else
    n = lt_to_ints(L, 3, 64, d);
  if (i < 1 || i > (lua_Integer)tess_trace_size(t))
    return lt_error(L, TESS_NOT_FOUND,
                    "the trace has %d instructions; there "
                    "is none at %d",
                    (int)tess_trace_size(t), (int)i);
  void **b = box(L);
  lt_check(L, tess_trace_with_decision(t, (uint32_t)i, n, d, &made));
  *b = made;
  return 1;
}

static int ltrace_mutate(lua_State *L) {
  static const char *const known[] = {"seed", NULL};
  tess_trace *t = lt_trace(L, 1), *made;
  lt_options(L, 2, "trace:mutate", known);
  uint64_t seed = (uint64_t)lt_field_int(L, 2, "seed", 0);
  void **b = box(L);
  lt_check(L, tess_trace_mutate(t, seed, &made));
  *b = made;
  return 1;
}

static int prefix(lua_State *L) {
  tess_trace *t = lt_trace(L, 1), *made;
  lua_Integer n = lt_integer(L, 2, "how many instructions");
  if (n < 0 || n > (lua_Integer)tess_trace_size(t))
    return lt_error(L, TESS_NOT_FOUND, "the trace has %d instructions, not %d",
                    (int)tess_trace_size(t), (int)n);
  void **b = box(L);
  lt_check(L, tess_trace_prefix(t, (uint32_t)n, &made));
  *b = made;
  return 1;
}

static int simplify(lua_State *L) {
  tess_trace *t = lt_trace(L, 1), *made;
  void **b = box(L);
  lt_check(L, tess_trace_simplify(t, &made));
  *b = made;
  return 1;
}

static int equal(lua_State *L) {
  tess_trace *a = lt_trace(L, 1), *b = lt_trace(L, 2);
  lua_pushboolean(L, tess_trace_equal(a, b));
  return 1;
}

static int stepper(lua_State *L) {
  tess_trace *t = lt_trace(L, 1);
  tess_program *p = lt_opt(L, 2, LT_PROGRAM);
  void **b = lt_box(L, LT_STEPPER, 0);
  tess_stepper *s;
  lt_check(L, tess_stepper_new(t, p, &s));
  *b = s;
  return 1;
}

/* ---- from text ---------------------------------------------------------- */

typedef tess_status (*reader)(tess_context *, const char *, tess_program *,
                              tess_trace **);

static int from(lua_State *L, reader read) {
  const char *text = lt_string(L, 1, "the text");
  tess_program *p = lt_opt(L, 2, LT_PROGRAM);
  void **b = box(L);
  tess_trace *t;
  lt_check(L, read(lt_context(L), text, p, &t));
  *b = t;
  return 1;
}

static int from_json(lua_State *L) { return from(L, tess_trace_from_json); }
static int from_lua(lua_State *L) { return from(L, tess_trace_from_lua); }
static int from_tvm_json(lua_State *L) {
  return from(L, tess_trace_from_tvm_json);
}

void lt_open_trace(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", trace_tostring},
                                  {"__len", trace_len},
                                  {"__eq", equal},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"lua", trace_lua},
                                     {"json", trace_json},
                                     {"to_tvm_json", trace_tvm_json},
                                     {"bind", ltrace_bind},
                                     {"replay", ltrace_replay},
                                     {"with_decision", with_decision},
                                     {"mutate", ltrace_mutate},
                                     {"simplify", simplify},
                                     {"prefix", prefix},
                                     {"equal", equal},
                                     {"stepper", stepper},
                                     {"params", params},
                                     {"decisions", decisions},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {{"from_json", from_json},
                                       {"from_lua", from_lua},
                                       {"from_tvm_json", from_tvm_json},
                                       {NULL, NULL}};
  static const luaL_Reg inst_meta[] = {{"__tostring", inst_tostring},
                                       {NULL, NULL}};
  lt_class(L, LT_INST, inst_meta, NULL, NULL);
  lt_class(L, LT_TRACE, meta, methods, trace_gc);
  luaL_getmetatable(L, LT_TRACE);
  lua_getfield(L, -1, "__index");
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "methods"); /* where Lua finds them */
  lua_pushcclosure(L, trace_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "trace");
}
