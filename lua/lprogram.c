/* SPDX-License-Identifier: Apache-2.0
 * Binding of programs. */
#include "lua/lt.h"

LT_GC(program_gc, tess_program, tess_program_free)

static int program_tostring(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_program_text(lt_program(L, 1), &text));
  lt_push_text(L, text);
  return 1;
}

/* nil: it depends on symbolic sizes, or on data. */
static int flops(lua_State *L) {
  int64_t n = tess_program_flops(lt_program(L, 1));
  if (n < 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, n);
  return 1;
}

/* As text: 16 hexadecimal digits, since Lua's integers are signed. */
static int hash(lua_State *L) {
  char text[17];
  uint64_t h = tess_program_hash(lt_program(L, 1));
  for (int i = 15; i >= 0; i--, h >>= 4) text[i] = "0123456789abcdef"[h & 15];
  lua_pushlstring(L, text, 16);
  return 1;
}

static int lprogram_verify(lua_State *L) {
  lt_check(L, tess_program_verify(lt_program(L, 1)));
  lua_pushboolean(L, 1);
  return 1;
}

static int equal(lua_State *L) {
  tess_program *p = lt_program(L, 1), *q = lt_program(L, 2);
  lua_pushboolean(L, tess_program_equal(p, q));
  return 1;
}

static int name(lua_State *L) {
  lua_pushstring(L, tess_program_name(lt_program(L, 1)));
  return 1;
}

/* What was declared of a parameter, as options of ts.placeholder. */
static void put_contents(lua_State *L, const tess_contents *c) {
  if (c->offsets) {
    lt_set_integer(L, "offsets_into", c->below - 1);
  } else if (c->has_range) {
    lua_createtable(L, 2, 0);
    lua_pushinteger(L, c->least);
    lua_seti(L, -2, 1);
    lua_pushinteger(L, c->below);
    lua_seti(L, -2, 2);
    lua_setfield(L, -2, "range");
  }
  if (c->sorted && !c->offsets) lt_set_boolean(L, "sorted", 1);
  if (!c->unique) return;
  lt_set_boolean(L, "unique", 1);
}

/* A list of { name =, dtype =, shape =, role = }, and what was declared of
 * their contents, in order. */
static int params(lua_State *L) {
  static const char *const roles[] = {"input", "output", "constant",
                                      "layout_free", "inout"};
  tess_program *p = lt_program(L, 1);
  uint32_t n = tess_program_nparams(p);
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    tess_param q = TESS_INIT(tess_param);
    char dtype[32];
    lt_check(L, tess_program_param(p, i, &q));
    tess_dtype_text(q.dtype, dtype);
    lua_createtable(L, 0, 4);
    lt_set_string(L, "name", q.name);
    lt_set_string(L, "dtype", dtype);
    lt_set_string(L, "role", roles[q.role]);
    lua_createtable(L, (int)q.ndim, 0);
    for (uint32_t k = 0; k < q.ndim; k++) {
      lua_pushinteger(L, q.shape[k]);
      lua_seti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "shape");
    put_contents(L, &q.contents);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

static int lprogram_add(lua_State *L) {
  lt_check(L, tess_program_add(lt_program(L, 1), lt_program(L, 2)));
  lua_settop(L, 1);
  return 1;
}

/* program:work_on("f"): a program in which f is scheduled and built */
static int work_on(lua_State *L) {
  const char *func = lt_string(L, 2, "the name of a function");
  void **box = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_program_work_on(lt_program(L, 1), func, &p));
  *box = p;
  return 1;
}

static int lprogram_save(lua_State *L) {
  lt_check(L, tess_program_save(lt_program(L, 1), lt_string(L, 2, "the path")));
  return 0;
}

static int load_program(lua_State *L) {
  const char *path = lt_string(L, 1, "the path");
  void **box = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_program_load(lt_context(L), path, &p));
  *box = p;
  return 1;
}

/* ts.parse(text) */
static int parse_listing(lua_State *L) {
  const char *text = lt_string(L, 1, "the listing");
  void **box = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_program_parse(lt_context(L), text, &p));
  *box = p;
  return 1;
}

/* The width of vectors on the target of the options at index 2, or of the
 * schedule at index 1. */
static uint32_t vector_bytes(lua_State *L) {
  tess_target *t = NULL;
  if (lua_istable(L, 2)) {
    lua_getfield(L, 2, "target");
    t = lt_to_target(L, lua_gettop(L));
  }
  if (!t && luaL_testudata(L, 1, LT_SCHEDULE))
    t = tess_schedule_target(lt_schedule(L, 1));
  int64_t n = t ? tess_target_int(t, "vector-bytes") : 0;
  return n > 0 ? (uint32_t)n : 0;
}

/* ts.lower(schedule or program [, { after =, target =, threads =,
 * keep_intrinsics = }]) */
static int lprogram_lower(lua_State *L) {
  static const char *const known[] = {"after", "target", "threads",
                                      "keep_intrinsics", NULL};
  lua_settop(L, 2);
  lt_options(L, 2, "ts.lower", known);
  tess_lower_options o = {.struct_size = sizeof o,
                          .after = lt_field_str(L, 2, "after", NULL),
                          .no_threads = !lt_field_bool(L, 2, "threads", 1),
                          .keep_intrinsics =
                              lt_field_bool(L, 2, "keep_intrinsics", 0)};
  o.vector_bytes = vector_bytes(L);
  tess_program *p = lt_to_program(L, 1), *q;
  void **box = lt_box(L, LT_PROGRAM, 0);
  lt_check(L, tess_program_lower(p, &o, &q));
  *box = q;
  return 1;
}

static void push_pass(lua_State *L, uint32_t i) {
  lua_createtable(L, 0, 3);
  lt_set_string(L, "name", tess_lower_pass_name(i));
  lt_set_string(L, "summary", tess_lower_pass_summary(i));
  lt_set_integer(L, "number", i + 1);
}

/* ts.lower_passes(): a list of { name =, summary =, number = } */
static int lower_passes(lua_State *L) {
  uint32_t n = tess_lower_pass_count();
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    push_pass(L, i);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* ts.lower_pass("UnrollLoop"): one of them, or nil */
static int lower_pass(lua_State *L) {
  uint32_t i = tess_lower_pass_find(lt_string(L, 1, "the name of a pass"));
  if (i == tess_lower_pass_count()) return 0;
  push_pass(L, i);
  return 1;
}

tess_program *lt_to_program(lua_State *L, int i) {
  if (luaL_testudata(L, i, LT_PROGRAM)) {
    lua_pushvalue(L, i);
    return lt_program(L, -1);
  }
  if (!luaL_testudata(L, i, LT_SCHEDULE))
    lt_unexpected(L, i, "program or schedule");
  tess_schedule *s = lt_schedule(L, i);
  void **box = lt_box(L, LT_PROGRAM, 0);
  tess_program *p;
  lt_check(L, tess_schedule_program(s, &p));
  *box = p;
  return p;
}

void lt_open_program(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", program_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"flops", flops},      {"hash", hash},       {"verify", lprogram_verify},
      {"equal", equal},      {"name", name},       {"params", params},
      {"add", lprogram_add}, {"work_on", work_on}, {"save", lprogram_save},
      {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"load_program", load_program}, {"parse", parse_listing},
      {"lower", lprogram_lower},      {"lower_passes", lower_passes},
      {"lower_pass", lower_pass},     {NULL, NULL}};
  lt_class(L, LT_PROGRAM, meta, methods, program_gc);
  luaL_setfuncs(L, functions, 0);
}
