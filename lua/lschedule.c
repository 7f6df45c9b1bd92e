/* SPDX-License-Identifier: Apache-2.0
 * Binding of schedules: one closure implements every primitive; queries and
 * snapshots. */
#include "lua/lrv.h"
#include <stdlib.h>
#include <string.h>

#define MAX_OPERANDS 32

static int schedule_gc(lua_State *L) {
  lt_sched *s = lua_touserdata(L, 1);
  tess_schedule *object = s->s;
  s->s = NULL;
  if (!s->borrowed) tess_schedule_free(object);
  return 0;
}

static lua_Integer next_id(lua_State *L) {
  static const char key = 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &key);
  lua_Integer id = lua_tointeger(L, -1) + 1;
  lua_pop(L, 1);
  lua_pushinteger(L, id);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
  return id;
}

/* Pushes an empty schedule object, to be filled at once. */
static lt_sched *box(lua_State *L) {
  lua_Integer id = next_id(L);
  lt_sched *s = lua_newuserdatauv(L, sizeof *s, 2);
  *s = (lt_sched){NULL, id, 0};
  luaL_setmetatable(L, LT_SCHEDULE);
  return s;
}

void lt_push_schedule(lua_State *L, tess_schedule *s) { box(L)->s = s; }

/* ---- performing primitives ---------------------------------------------- */

/* Knobs perform primitives for the function that has them. */
static int is_of_knobs(const char *own, const char *source) {
  static const char room[] = "template/";
  size_t n = own ? strlen(own) : 0;
  return n && !strncmp(source, own, n) &&
         !strncmp(source + n, room, sizeof room - 1);
}

void lt_note_place(lua_State *L, tess_schedule *s) {
  lua_Debug ar;
  int knobs = 0, level = 1, found = 0;
  lua_getfield(L, LUA_REGISTRYINDEX, "tessera.folder");
  const char *own = lua_tostring(L, -1);
  for (; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    found = ar.currentline > 0 && !is_of_knobs(own, ar.source);
    if (found || (ar.currentline <= 0 && !knobs)) break;
    knobs = 1;
  }
  lua_pop(L, 1);
  if (found)
    tess_schedule_place(s, ar.short_src, (uint32_t)ar.currentline);
  else
    tess_schedule_place(s, "", 0);
}

/* The operands of a call of `prim`, and the schedule that it is made of: still
 * open when they are read, which may run functions of the caller's. */
static tess_schedule *read_call(lua_State *L, uint32_t prim, tess_arg *args,
                                uint32_t *n) {
  lt_schedule(L, 1);
  *n = lt_to_args(L, prim, MAX_OPERANDS, args);
  tess_schedule *s = lt_schedule(L, 1);
  lt_note_place(L, s);
  return s;
}

static int perform(lua_State *L) {
  uint32_t prim = (uint32_t)lua_tointeger(L, lua_upvalueindex(1)), nout = 0, n;
  tess_arg args[MAX_OPERANDS];
  tess_rv first = 0;
  tess_prim_info info = TESS_INIT(tess_prim_info);
  tess_prim_get(prim, &info);
  tess_schedule *s = read_call(L, prim, args, &n);
  lt_check(L,
           tess_schedule_call(s, info.name, n, args, 1, &first, &nout, NULL));
  luaL_checkstack(L, (int)nout + 4, "too many outputs");
  for (uint32_t i = 0; i < nout; i++) lt_push_rv(L, 1, first + i);
  return (int)nout;
}

/* sch:can("fuse", i, j): true, or false and the reason.  A call that is wrong
 * whatever the program is raises, as the call itself would. */
static int can(lua_State *L) {
  lt_schedule(L, 1);
  const char *name = lt_string(L, 2, "the name of a primitive");
  tess_arg args[MAX_OPERANDS];
  tess_prim_info info = TESS_INIT(tess_prim_info);
  uint32_t prim = 0, count = tess_prim_count(), n;
  for (; prim < count; prim++) {
    tess_prim_get(prim, &info);
    if (!strcmp(info.name, name)) break;
  }
  if (prim == count)
    return lt_error(L, TESS_NOT_FOUND, "there is no primitive '%s'", name);
  lua_remove(L, 2);
  tess_schedule *s = read_call(L, prim, args, &n);
  tess_status st = tess_schedule_can(s, info.name, n, args);
  lua_pushboolean(L, st == TESS_OK);
  if (st == TESS_OK) return 1;
  if (st != TESS_REFUSED && st != TESS_DEAD) lt_check(L, st);
  lua_pushstring(L, tess_error(lt_context(L))->message);
  return 2;
}

/* ---- queries ------------------------------------------------------------ */

/* The engine's integer arithmetic of operands: overflow and division by zero
 * are errors. */
static int64_t calculate(lua_State *L, const char *op, int64_t a, int64_t b) {
  int64_t v = 0;
  int divides = *op == '/' || *op == '%', bad = 0;
  if (divides && b == 0)
    lt_error(L, TESS_INVALID, "the arithmetic divides by zero");
  if (*op == '+') bad = __builtin_add_overflow(a, b, &v);
  if (*op == '-') bad = __builtin_sub_overflow(a, b, &v);
  if (*op == '*') bad = __builtin_mul_overflow(a, b, &v);
  if (!strcmp(op, "min")) v = a < b ? a : b;
  if (!strcmp(op, "max")) v = a > b ? a : b;
  if (divides && b == -1)
    bad = *op == '/' && __builtin_sub_overflow((int64_t)0, a, &v);
  else if (divides) {
    int inexact = a % b != 0 && (a < 0) != (b < 0);
    v = *op == '/' ? a / b - inexact : a % b + (inexact ? b : 0);
  }
  if (bad) lt_error(L, TESS_INVALID, "the arithmetic leaves 64 bits");
  return v;
}

/* sch:variable("l6"): the variable that the trace prints so. */
static int variable_named(lua_State *L) {
  static const char letter[] = {[TESS_RV_NONE] = '?',
                                [TESS_RV_BLOCK] = 'b',
                                [TESS_RV_LOOP] = 'l',
                                [TESS_RV_INT] = 'v'};
  tess_schedule *s = lt_schedule(L, 1);
  const char *name = lt_string(L, 2, "the name of a variable");
  const char *digits = *name ? name + 1 : name;
  size_t len = strspn(digits, "0123456789");
  int is_number = len > 0 && len < 10 && !digits[len];
  tess_rv rv = is_number ? 1 : 0; /* "l0" is variable 1 */
  if (is_number) rv += (tess_rv)atoi(digits);
  if (!rv || letter[tess_schedule_rv_kind(s, rv)] != *name)
    return lt_error(L, TESS_NOT_FOUND, "the trace has no variable '%s'", name);
  lt_push_rv(L, 1, rv);
  return 1;
}

static int lschedule_get(lua_State *L) {
  tess_schedule *s = lt_schedule(L, 1);
  if (lua_type(L, 2) == LUA_TNUMBER) {
    lua_pushinteger(L, lt_integer(L, 2, "the value"));
    return 1;
  }
  lt_rv *x = lt_object(L, 2, LT_RV);
  if (*x->op) {
    for (int k = 2; k <= 3; k++) {
      lua_pushcfunction(L, lschedule_get);
      lua_pushvalue(L, 1);
      lua_getiuservalue(L, 2, k);
      lua_call(L, 2, 1);
    }
    lua_pushinteger(
        L, calculate(L, x->op, lua_tointeger(L, -2), lua_tointeger(L, -1)));
    return 1;
  }
  if (x->kind == TESS_RV_INT) {
    int64_t v;
    lt_note_place(L, s);
    lt_check(L, tess_schedule_get_int(s, lt_to_rv(L, 2, 1), &v));
    lua_pushinteger(L, v);
    return 1;
  }
  char *text = NULL;
  lt_check(L, tess_schedule_rv_text(s, lt_to_rv(L, 2, 1), &text));
  lt_push_text(L, text);
  return 1;
}

static tess_block_info block_info(lua_State *L) {
  tess_block_info info = TESS_INIT(tess_block_info);
  lt_check(
      L, tess_schedule_block_info(lt_schedule(L, 1), lt_to_rv(L, 2, 1), &info));
  return info;
}

static tess_loop_info loop_info(lua_State *L) {
  tess_loop_info info = TESS_INIT(tess_loop_info);
  lt_check(
      L, tess_schedule_loop_info(lt_schedule(L, 1), lt_to_rv(L, 2, 1), &info));
  return info;
}

#define BLOCK_FLAG(fn, field)                          \
  static int fn(lua_State *L) {                        \
    return lua_pushboolean(L, block_info(L).field), 1; \
  }
BLOCK_FLAG(is_spatial, is_spatial)
BLOCK_FLAG(is_reduction, is_reduction)
BLOCK_FLAG(is_output, is_output)
BLOCK_FLAG(needs_tiling, needs_multi_level_tiling)
BLOCK_FLAG(reuses_in_reduction, reuses_in_reduction)

static const char *iter_name(int32_t k) {
  return k == TESS_SPATIAL  ? "spatial"
         : k == TESS_REDUCE ? "reduce"
         : k == TESS_OPAQUE ? "opaque"
                            : "mixed";
}

/* { name =, reads =, iters = {"spatial", ...}, loops = {1, ...}, ... } */
static int lschedule_block(lua_State *L) {
  tess_block_info b = block_info(L);
  lua_createtable(L, 0, 10);
  lt_set_string(L, "name", b.name);
  lt_set_integer(L, "reads", b.nreads);
  lt_set_integer(L, "writes", b.nwrites);
  lt_set_boolean(L, "is_reduction", b.is_reduction);
  lt_set_boolean(L, "is_spatial", b.is_spatial);
  lt_set_boolean(L, "is_output", b.is_output);
  lt_set_boolean(L, "has_select", b.has_select);
  lt_set_boolean(L, "has_call", b.has_call);
  lua_createtable(L, (int)b.niters, 0);
  for (uint32_t i = 0; i < b.niters && i < 16; i++) {
    lua_pushstring(L, iter_name(b.iters[i]));
    lua_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "iters");
  lua_createtable(L, (int)b.niters, 0);
  for (uint32_t i = 0; i < b.niters && i < 16; i++) {
    if (b.loops[i] >= 0)
      lua_pushinteger(L, b.loops[i] + 1);
    else
      lua_pushboolean(L, 0);
    lua_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "loops");
  return 1;
}

/* { name =, kind =, thread =, extent =, iter_type = } */
static int lschedule_loop(lua_State *L) {
  tess_loop_info l = loop_info(L);
  lua_createtable(L, 0, 5);
  lt_set_string(L, "name", l.name);
  lt_set_string(L, "kind", l.kind);
  if (l.thread && *l.thread) lt_set_string(L, "thread", l.thread);
  if (l.extent >= 0) lt_set_integer(L, "extent", l.extent);
  lt_set_string(L, "iter_type", iter_name(l.iter_type));
  return 1;
}

static int extent(lua_State *L) {
  tess_loop_info l = loop_info(L);
  if (l.extent < 0) return 0;
  lua_pushinteger(L, l.extent);
  return 1;
}

static int work(lua_State *L) {
  int64_t n;
  lt_check(L, tess_schedule_work(lt_schedule(L, 1), lt_to_rv(L, 2, 1), &n));
  if (n < 0) return 0;
  lua_pushinteger(L, n);
  return 1;
}

/* sch:access(block, "read" or "write", index): a list of booleans, whether
 * each of the block's iteration variables indexes that buffer */
static int access(lua_State *L) {
  static const char *const kinds[] = {"read", "write", NULL};
  uint64_t mask;
  tess_block_info info = block_info(L);
  int write = lt_choice(L, 3, "the kind of access", NULL, kinds);
  lt_check(L, tess_schedule_access(
                  lt_schedule(L, 1), lt_to_rv(L, 2, 1), write,
                  (uint32_t)lt_integer(L, 4, "the index of a buffer"), &mask));
  lua_createtable(L, (int)info.niters, 0);
  for (uint32_t i = 0; i < info.niters; i++) {
    lua_pushboolean(L, (int)(mask >> i & 1));
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* sch:access_info(block, "read" or "write", index): { buffer =, scope =,
 * dtype =, dims = {1, false, ...}: which iteration variable a dimension is
 * indexed by, shape = {64, false, ...}: how long it is, where that is constant
 * } */
static int access_info(lua_State *L) {
  static const char *const kinds[] = {"read", "write", NULL};
  tess_access_info x = TESS_INIT(tess_access_info);
  char dtype[32];
  int write = lt_choice(L, 3, "the kind of access", NULL, kinds);
  lt_check(L, tess_schedule_access_info(
                  lt_schedule(L, 1), lt_to_rv(L, 2, 1), write,
                  (uint32_t)lt_integer(L, 4, "the index of a buffer"), &x));
  lua_createtable(L, 0, 5);
  lt_set_string(L, "buffer", x.buffer);
  lt_set_string(L, "scope", x.scope);
  tess_dtype_text(x.dtype, dtype);
  lt_set_string(L, "dtype", dtype);
  lua_createtable(L, (int)x.ndim, 0);
  for (uint32_t d = 0; d < x.ndim && d < 16; d++) {
    if (x.dims[d] < 0)
      lua_pushboolean(L, 0);
    else
      lua_pushinteger(L, x.dims[d] + 1);
    lua_seti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "dims");
  lua_createtable(L, (int)x.ndim, 0);
  for (uint32_t d = 0; d < x.ndim && d < 16; d++) {
    if (x.shape[d] < 0)
      lua_pushboolean(L, 0);
    else
      lua_pushinteger(L, x.shape[d]);
    lua_seti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "shape");
  return 1;
}

/* sch:needs_rfactor(block, max_spatial [, min_reduce = 1]) */
static int needs_rfactor(lua_State *L) {
  int yes;
  int64_t most = lt_integer(L, 3, "how many spatial iterations are enough");
  int64_t least = lua_isnoneornil(L, 4)
                      ? 1
                      : lt_integer(L, 4, "how many reduction iterations");
  lt_check(L, tess_schedule_needs_rfactor(lt_schedule(L, 1), lt_to_rv(L, 2, 1),
                                          most, least, &yes));
  lua_pushboolean(L, yes);
  return 1;
}

/* sch:factor(loop): the integer variable, or nil */
static int factor(lua_State *L) {
  tess_rv v;
  lt_check(L, tess_schedule_factor(lt_schedule(L, 1), lt_to_rv(L, 2, 1), &v));
  if (!v) return 0;
  lt_push_rv(L, 1, v);
  return 1;
}

/* sch:footprint(block, "read" or "write", index [, loop]): elements, or nil */
static int footprint(lua_State *L) {
  static const char *const kinds[] = {"read", "write", NULL};
  int64_t n;
  int write = lt_choice(L, 3, "the kind of access", NULL, kinds);
  uint32_t index = (uint32_t)lt_integer(L, 4, "the index of a buffer");
  tess_rv loop = lua_isnoneornil(L, 5) ? 0 : lt_to_rv(L, 5, 1);
  lt_check(L, tess_schedule_footprint(lt_schedule(L, 1), lt_to_rv(L, 2, 1),
                                      write, index, loop, &n));
  if (n < 0) return 0;
  lua_pushinteger(L, n);
  return 1;
}

/* The annotation's value as JSON text, nil when absent. */
static int annotation(lua_State *L) {
  char *json = NULL;
  lt_check(L, tess_schedule_annotation(lt_schedule(L, 1), lt_to_rv(L, 2, 1),
                                       lt_string(L, 3, "the key"), &json));
  if (!json) return 0;
  lt_push_text(L, json);
  return 1;
}

/* As JSON text, nil where there is not one store. */
static int stored_value(lua_State *L) {
  char *json = NULL;
  lt_check(L, tess_schedule_stored_value(lt_schedule(L, 1), lt_to_rv(L, 2, 1),
                                         &json));
  if (!json) return 0;
  lt_push_text(L, json);
  return 1;
}

static int lschedule_program(lua_State *L) {
  tess_schedule *s = lt_schedule(L, 1);
  void **b = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_schedule_program(s, &p));
  *b = p;
  return 1;
}

static int trace(lua_State *L) {
  tess_schedule *s = lt_schedule(L, 1);
  void **b = lt_box(L, LT_TRACE, 0);
  tess_trace *t;
  lt_check(L, tess_schedule_trace(s, &t));
  *b = t;
  return 1;
}

static int target(lua_State *L) {
  tess_target *t = tess_schedule_target(lt_schedule(L, 1));
  if (!t) return 0;
  void **b = lt_box(L, LT_TARGET, 0);
  *b = tess_target_hold(t);
  return 1;
}

/* The copy knows, beside its ancestors', how many variables this one has. */
static void fill_forks(lua_State *L, int from, tess_schedule *s) {
  lua_newtable(L);
  if (lua_getiuservalue(L, from, 2) == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2);) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -5);
    }
  lua_pop(L, 1);
  tess_rv n = 0;
  while (tess_schedule_rv_kind(s, n + 1) != TESS_RV_NONE) n++;
  lua_pushinteger(L, n);
  lua_rawseti(L, -2, ((lt_sched *)lua_touserdata(L, from))->id);
  lua_setiuservalue(L, -2, 2);
}

static int lschedule_copy(lua_State *L) {
  tess_schedule *s = lt_schedule(L, 1);
  lt_sched *c = box(L);
  lt_check(L, tess_schedule_copy(s, &c->s));
  fill_forks(L, 1, s);
  return 1;
}

static int schedule_tostring(lua_State *L) {
  lt_schedule(L, 1);
  lua_settop(L, 1);
  lschedule_program(L);
  luaL_tolstring(L, -1, NULL);
  return 1;
}

/* ---- making one --------------------------------------------------------- */

/* ts.schedule(program [, { seed =, target = }]) */
static int new_schedule(lua_State *L) {
  static const char *const known[] = {"seed", "target", NULL};
  tess_program *p = lt_program(L, 1);
  lua_settop(L, 2);
  lt_options(L, 2, "ts.schedule", known);
  uint64_t seed = (uint64_t)lt_field_int(L, 2, "seed", 0);
  if (lua_istable(L, 2))
    lua_getfield(L, 2, "target");
  else
    lua_pushnil(L);
  tess_target *t = lt_to_target(L, 3);
  lt_sched *c = box(L);
  lt_check(L, tess_schedule_new(p, t, seed, &c->s));
  return 1;
}

/* ts.primitives(): a list of { name =, summary =, ... } */
static int primitives(lua_State *L) {
  uint32_t n = tess_prim_count();
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0, k = 0; i < n; i++) {
    tess_prim_info info = TESS_INIT(tess_prim_info);
    lt_check(L, tess_prim_get(i, &info));
    if (info.hidden) continue;
    lua_createtable(L, 0, 4);
    lt_set_string(L, "name", info.name);
    lt_set_string(L, "summary", info.summary);
    lt_set_string(L, "example", info.example);
    lt_set_boolean(L, "samples", info.samples);
    lua_seti(L, -2, ++k);
  }
  return 1;
}

/* ts.doc([primitive]): its reference as Markdown; ts.stubs(): LuaCATS */
static int doc(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_prim_doc(lt_context(L),
                            lt_opt_string(L, 1, "the name", NULL), &text));
  lt_push_text(L, text);
  return 1;
}

static int stubs(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_prim_stubs(lt_context(L), &text));
  lt_push_text(L, text);
  return 1;
}

void lt_open_schedule(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", schedule_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"can", can},
      {"get", lschedule_get},
      {"variable", variable_named},
      {"is_spatial", is_spatial},
      {"is_reduction", is_reduction},
      {"is_output", is_output},
      {"needs_multi_level_tiling", needs_tiling},
      {"reuses_in_reduction", reuses_in_reduction},
      {"block_info", lschedule_block},
      {"loop_info", lschedule_loop},
      {"extent", extent},
      {"work", work},
      {"access", access},
      {"access_info", access_info},
      {"needs_rfactor", needs_rfactor},
      {"factor", factor},
      {"footprint", footprint},
      {"annotation", annotation},
      {"stored_value", stored_value},
      {"program", lschedule_program},
      {"trace", trace},
      {"target", target},
      {"copy", lschedule_copy},
      {NULL, NULL}};
  static const luaL_Reg functions[] = {{"schedule", new_schedule},
                                       {"primitives", primitives},
                                       {"doc", doc},
                                       {"stubs", stubs},
                                       {NULL, NULL}};
  lt_class(L, LT_SCHEDULE, meta, methods, schedule_gc);
  luaL_getmetatable(L, LT_SCHEDULE);
  lua_getfield(L, -1, "__index");
  for (uint32_t i = 0; i < tess_prim_count(); i++) {
    tess_prim_info info = TESS_INIT(tess_prim_info);
    if (tess_prim_get(i, &info) != TESS_OK) continue;
    lua_pushinteger(L, i);
    lua_pushcclosure(L, perform, 1);
    lua_setfield(L, -2, info.name);
  }
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 0);
}
