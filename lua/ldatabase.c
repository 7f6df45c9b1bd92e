/* SPDX-License-Identifier: Apache-2.0
 * Binding of databases: ts.database("tune.db"). */
#include "lua/lt.h"

LT_GC(database_gc, tess_database, tess_database_free)

static int open_database(lua_State *L) {
  static const char *const known[] = {"readonly", NULL};
  const char *path = lt_string(L, 1, "the path of a database");
  lt_options(L, 2, "ts.database", known);
  int readonly = lt_field_bool(L, 2, "readonly", 0);
  void **b = lt_box(L, LT_DATABASE, 1);
  tess_database *d;
  lt_check(L, (readonly ? tess_database_open_readonly
                        : tess_database_open)(lt_context(L), path, &d));
  *b = d;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

static int database_tostring(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  lua_pushfstring(L, "database %s", lua_tostring(L, -1));
  return 1;
}

static void set_samples(lua_State *L, const tess_record *r) {
  lua_createtable(L, (int)r->nsample, 0);
  for (uint32_t i = 0; i < r->nsample; i++) {
    lua_pushnumber(L, r->sample[i]);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "samples");
}

/* As program:hash() gives it. */
static void set_hash(lua_State *L, const char *k, uint64_t h) {
  char text[17];
  for (int i = 15; i >= 0; i--, h >>= 4) text[i] = "0123456789abcdef"[h & 15];
  lua_pushlstring(L, text, 16);
  lua_setfield(L, -2, k);
}

/* Of which run it is, and what was decided; nil what is not known. */
static void set_origin(lua_State *L, const tess_record *r) {
  if (r->run) {
    lt_set_integer(L, "run", r->run);
    lt_set_integer(L, "round", (lua_Integer)r->round + 1);
    lt_set_integer(L, "slot", (lua_Integer)r->slot + 1);
  }
  if (r->elapsed == r->elapsed) lt_set_number(L, "elapsed", r->elapsed);
  if (r->predicted == r->predicted) lt_set_number(L, "predicted", r->predicted);
  set_hash(L, "sketch", r->sketch);
  lua_createtable(L, (int)r->ndecisions, 0);
  for (uint32_t i = 0; i < r->ndecisions; i++) {
    lua_pushinteger(L, r->decisions[i]);
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "decisions");
}

static void push_trace(lua_State *L, tess_database *d, int64_t id) {
  void **b = lt_box(L, LT_TRACE, 1);
  tess_trace *t;
  lt_check(L, tess_database_trace(d, id, &t));
  *b = t;
}

/* r:params(): the values that the record's trace names. */
static int record_params(lua_State *L) {
  tess_database *d = lt_get(L, lua_upvalueindex(1), LT_DATABASE);
  lt_table(L, 1, "a record");
  lua_getfield(L, 1, "id");
  push_trace(L, d, lt_integer(L, -1, "the number of a record"));
  lt_push_params(L, lt_trace(L, -1));
  return 1;
}

/* Pushes the metatable of the records of the database at index 1. */
static void push_record_class(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_createtable(L, 0, 1);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, record_params, 1);
  lua_setfield(L, -2, "params");
  lua_setfield(L, -2, "__index");
}

static void push_record(lua_State *L, const tess_record *r) {
  lua_createtable(L, 0, 20);
  set_hash(L, "hash", r->workload);
  set_origin(L, r);
  lt_set_string(L, "shapes", r->shapes ? r->shapes : "");
  lt_set_integer(L, "id", r->id);
  lt_set_string(L, "workload", r->workload_name);
  lt_set_string(L, "target", r->target);
  lt_set_string(L, "policy", r->policy);
  lt_set_string(L, "engine", r->engine);
  lt_set_string(L, "status", r->status);
  lt_set_string(L, "message", r->message);
  lt_set_string(L, "stored_at", r->stored_at);
  lt_set_number(L, "seconds", r->seconds);
  set_samples(L, r);
  lt_set_boolean(L, "checked", r->checked);
  lt_set_boolean(L, "damaged", r->damaged);
}

static tess_database *own_database(lua_State *L) {
  return lt_get(L, 1, LT_DATABASE);
}

/* ---- which records ------------------------------------------------------ */

/* The field k of the table at t, at the top of the stack, that is not nil; 0:
 * it is, and nothing is pushed. */
static int push_given(lua_State *L, int t, const char *k) {
  if (lua_istable(L, t) && lua_getfield(L, t, k) != LUA_TNIL) return 1;
  if (lua_istable(L, t)) lua_pop(L, 1);
  return 0;
}

/* The hashes of the sketches in the list at the top, in userdata that takes its
 * place. */
static const uint64_t *to_sketches(lua_State *L, uint32_t *n) {
  lt_table(L, -1, "the sketches of a filter");
  int list = lua_gettop(L);
  *n = (uint32_t)lt_list_len(L, list);
  uint64_t *hash = lt_room(L, *n, sizeof *hash);
  for (uint32_t i = 0; i < *n; i++) {
    lua_geti(L, list, (lua_Integer)i + 1);
    hash[i] = tess_trace_hash(lt_trace(L, lua_gettop(L)));
    lua_pop(L, 1);
  }
  lua_replace(L, list);
  return hash;
}

/* Texts, the program and hashes live as long as what this leaves on the
 * stack. */
static tess_record_filter to_filter(lua_State *L, int t) {
  tess_record_filter f = TESS_INIT(tess_record_filter);
  if (!lua_istable(L, t)) return f;
  if (push_given(L, t, "program")) f.program = lt_program(L, lua_gettop(L));
  if (push_given(L, t, "target"))
    f.target = tess_target_text(lt_to_target(L, lua_gettop(L)));
  if (push_given(L, t, "other_than")) f.sketch = to_sketches(L, &f.nsketch);
  f.workload_name = lt_field_str(L, t, "workload", NULL);
  f.policy = lt_field_str(L, t, "policy", NULL);
  f.before = lt_field_str(L, t, "before", NULL);
  f.checked = lt_field_bool(L, t, "checked", 0);
  f.failed = lt_field_bool(L, t, "failed", 0);
  return f;
}

enum { USUAL_LIMIT = 100 };

#define FILTER_FIELDS                                                \
  "program", "workload", "target", "policy", "before", "other_than", \
      "checked", "failed"

/* The limit at index i: a number, or the field of a table. */
static lua_Integer to_limit(lua_State *L, int i) {
  static const char *const known[] = {FILTER_FIELDS, "limit", NULL};
  lua_Integer n;
  if (!lua_istable(L, i)) {
    n = lt_opt_integer(L, i, "the number of records", USUAL_LIMIT);
  } else {
    lt_options(L, i, "database:records", known);
    n = lt_field_int(L, i, "limit", USUAL_LIMIT);
  }
  if (n < 0)
    lt_error(L, TESS_INVALID,
             "the number of records must be at least 0, not %d", (int)n);
  return n;
}

/* db:records([limit or filter]): a list, best first; list.total: how many there
 * are altogether */
static int records(lua_State *L) {
  tess_database *d = lt_get(L, 1, LT_DATABASE);
  lua_Integer max = to_limit(L, 2);
  lua_settop(L, 2);
  tess_record_filter f = to_filter(L, 2);
  uint64_t total;
  lt_check(L, tess_database_filter(d, &f));
  lt_check(L, tess_database_count(d, &total));
  push_record_class(L);
  lua_newtable(L);
  lt_set_integer(L, "total", (lua_Integer)total);
  for (lua_Integer k = 0; k < max; k++) {
    tess_record r = TESS_INIT(tess_record);
    tess_status s = tess_database_row(d, (uint64_t)k, &r);
    if (s == TESS_NOT_FOUND) break;
    lt_check(L, s);
    push_record(L, &r);
    lua_pushvalue(L, -3);
    lua_setmetatable(L, -2);
    lua_seti(L, -2, k + 1);
  }
  return 1;
}

static void push_group(lua_State *L, const tess_record_group *g) {
  lua_createtable(L, 0, 9);
  set_hash(L, "hash", g->workload);
  lt_set_string(L, "workload", g->workload_name);
  lt_set_string(L, "target", g->target);
  lt_set_string(L, "policy", g->policy);
  lt_set_string(L, "shapes", g->shapes);
  lt_set_integer(L, "count", (lua_Integer)g->count);
  lt_set_integer(L, "failed", (lua_Integer)g->failed);
  if (!g->best) return;
  lt_set_integer(L, "best", g->best);
  lt_set_number(L, "seconds", g->seconds);
}

/* db:groups([filter]): a list, by names, of what there is of each workload,
 * target and policy */
static int groups(lua_State *L) {
  static const char *const known[] = {FILTER_FIELDS, NULL};
  tess_database *d = own_database(L);
  lua_settop(L, 2);
  if (lua_istable(L, 2)) lt_options(L, 2, "database:groups", known);
  tess_record_filter f = to_filter(L, 2);
  lt_check(L, tess_database_filter(d, &f));
  lua_newtable(L);
  for (lua_Integer k = 0;; k++) {
    tess_record_group g = TESS_INIT(tess_record_group);
    tess_status s = tess_database_group(d, (uint64_t)k, &g);
    if (s == TESS_NOT_FOUND) return 1;
    lt_check(L, s);
    push_group(L, &g);
    lua_seti(L, -2, k + 1);
  }
}

/* `measure` is true, for any function, or the name of one.  What is read lives
 * as long as what this leaves on the stack. */
static void read_best_filter(lua_State *L, int t, tess_program *p,
                             tess_best_filter *f) {
  static const char *const known[] = {"policy", "inputs", "measure", NULL};
  lt_options(L, t, "database:best", known);
  f->policy = lt_field_str(L, t, "policy", NULL);
  if (push_given(L, t, "measure")) {
    f->measure = lua_toboolean(L, -1);
    if (!lua_isboolean(L, -1))
      f->measure_name = lt_string(L, lua_gettop(L), "the option 'measure'");
  }
  if (push_given(L, t, "inputs")) {
    uint32_t most = tess_program_nparams(p) + 1; /* one too many is refused */
    tess_tensor **list = lua_newuserdatauv(L, most * sizeof *list, 0);
    f->ninputs = lt_to_tensors(L, lua_absindex(L, -2), most, list);
    f->inputs = list;
  }
}

/* db:best(program [, target [, options]]): the fastest record and its trace, or
 * nil and why */
static int best(lua_State *L) {
  tess_database *d = lt_get(L, 1, LT_DATABASE);
  tess_program *p = lt_program(L, 2);
  tess_best_filter f = TESS_INIT(tess_best_filter);
  lua_settop(L, 4);
  if (lua_isnil(L, 3)) {
    lua_pushliteral(L, "llvm");
    lua_replace(L, 3);
  }
  f.target = tess_target_text(lt_to_target(L, 3));
  read_best_filter(L, 4, p, &f);
  tess_record r = TESS_INIT(tess_record);
  tess_status s = tess_database_best_of(d, p, &f, &r);
  if (s == TESS_NOT_FOUND) {
    lua_pushnil(L);
    lua_pushstring(L, tess_error(lt_context(L))->message);
    return 2;
  }
  lt_check(L, s);
  int64_t id = r.id;
  push_record(L, &r);
  push_record_class(L);
  lua_setmetatable(L, -2);
  push_trace(L, d, id);
  return 2;
}

/* db:trace(id): bound to its program */
static int trace(lua_State *L) {
  tess_database *d = lt_get(L, 1, LT_DATABASE);
  push_trace(L, d, lt_integer(L, 2, "the number of a record"));
  return 1;
}

/* db:add(trace, target or its text, policy, samples) */
static int add_record(lua_State *L) {
  tess_database *d = own_database(L);
  tess_trace *t = lt_trace(L, 2);
  const char *target = luaL_testudata(L, 3, LT_TARGET)
                           ? tess_target_text(lt_get(L, 3, LT_TARGET))
                           : lt_string(L, 3, "a target");
  const char *policy = lt_string(L, 4, "how it was measured");
  lt_table(L, 5, "the samples");
  lua_Integer n = lt_list_len(L, 5);
  if (n < 1 || n > 1 << 20)
    return lt_error(L, TESS_INVALID, "a record needs samples");
  double *v = lua_newuserdatauv(L, (size_t)n * sizeof *v, 0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, 5, i + 1);
    v[i] = lt_number(L, -1, "a sample");
    lua_pop(L, 1);
  }
  lt_check(L, tess_database_add(d, t, target, policy, (uint32_t)n, v));
  return 0;
}

static void push_run(lua_State *L, const tess_run *r) {
  lua_createtable(L, 0, 16);
  lt_set_integer(L, "id", r->id);
  set_hash(L, "hash", r->workload);
  lt_set_integer(L, "seed", (lua_Integer)r->seed);
  lt_set_integer(L, "batch", r->batch);
  lt_set_number(L, "seconds", r->seconds);
  lt_set_string(L, "target", r->target);
  lt_set_string(L, "policy", r->policy);
  lt_set_string(L, "strategy", r->strategy);
  lt_set_string(L, "model", r->model);
  lt_set_string(L, "engine", r->engine);
  lt_set_string(L, "started_at", r->started_at);
  lt_set_string(L, "ended", r->ended);
  lt_set_string(L, "funnel", r->funnel);
  lt_set_string(L, "ledger", r->ledger);
  lt_set_string(L, "quality", r->quality);
  if (r->unscheduled > 0) lt_set_number(L, "unscheduled", r->unscheduled);
  if (r->transfer >= 0) lt_set_boolean(L, "transfer", r->transfer);
}

/* db:runs(): a list, oldest first */
static int runs(lua_State *L) {
  tess_database *d = own_database(L);
  lua_newtable(L);
  for (lua_Integer k = 0;; k++) {
    tess_run r = TESS_INIT(tess_run);
    tess_status s = tess_database_run(d, (uint64_t)k, &r);
    if (s == TESS_NOT_FOUND) return 1;
    lt_check(L, s);
    push_run(L, &r);
    lua_seti(L, -2, k + 1);
  }
}

/* Lines are gathered by the engine's callback without an error being raised in
 * it: what has no memory for one ends the list. */
typedef struct damage_list {
  lua_State *L;
  const char *what;
  lua_Integer n;
  int bad;
} damage_list;

static int add_damage(lua_State *L) { /* 1: the list's table, 2: damage_list */
  damage_list *x = lua_touserdata(L, 2);
  lua_pushstring(L, x->what);
  lua_seti(L, 1, x->n + 1);
  return 0;
}

static void note_damage(void *ud, const char *what) {
  damage_list *x = ud;
  lua_State *L = x->L;
  if (x->bad) return;
  x->what = what;
  lua_pushcfunction(L, add_damage);
  lua_pushvalue(L, -2);
  lua_pushlightuserdata(L, x);
  x->bad = lua_pcall(L, 2, 0, 0) != LUA_OK;
  if (!x->bad) x->n++;
}

/* db:verify(): a list of lines, each a damage that no record shows */
static int verify(lua_State *L) {
  tess_database *d = own_database(L);
  damage_list x = {.L = L};
  lua_newtable(L);
  luaL_checkstack(L, 8, NULL);
  tess_status s = tess_database_verify(d, note_damage, &x);
  if (x.bad) return lua_error(L);
  lt_check(L, s);
  return 1;
}

/* db:merge(path), db:import(path): how many records were added; db:prune(keep):
 * how many were removed; db:export(path) */
static int merge(lua_State *L) {
  uint64_t n;
  const char *path = lt_string(L, 2, "the path of a database");
  lt_check(L, tess_database_merge(own_database(L), path, &n));
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

static int import_lines(lua_State *L) {
  uint64_t n;
  const char *path = lt_string(L, 2, "the path of a file");
  lt_check(L, tess_database_import(own_database(L), path, &n));
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

static int export_lines(lua_State *L) {
  const char *path = lt_string(L, 2, "the path of a file");
  lt_check(L, tess_database_export(own_database(L), path));
  return 0;
}

static uint32_t to_keep(lua_State *L, lua_Integer keep, lua_Integer least) {
  if (keep < least || keep > UINT32_MAX)
    lt_error(L, TESS_INVALID, "to keep %lld records is outside of %lld on",
             (long long)keep, (long long)least);
  return (uint32_t)keep;
}

/* db:prune(keep), or with a filter: db:prune { keep =, workload =, ... } */
static int prune(lua_State *L) {
  static const char *const known[] = {FILTER_FIELDS, "keep", "dry_run", NULL};
  tess_database *d = own_database(L);
  uint64_t n;
  lua_settop(L, 2);
  if (lua_istable(L, 2)) {
    lt_options(L, 2, "database:prune", known);
    tess_record_filter f = to_filter(L, 2);
    uint32_t keep = to_keep(L, lt_field_int(L, 2, "keep", 0), 0);
    int dry = lt_field_bool(L, 2, "dry_run", 0);
    lt_check(L, tess_database_remove(d, &f, keep, dry, &n));
  } else {
    uint32_t keep = to_keep(L, lt_integer(L, 2, "how many records to keep"), 1);
    lt_check(L, tess_database_prune(d, keep, &n));
  }
  lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

void lt_open_database(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", database_tostring},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"records", records},     {"best", best},     {"trace", trace},
      {"merge", merge},         {"runs", runs},     {"groups", groups},
      {"add", add_record},      {"prune", prune},   {"export", export_lines},
      {"import", import_lines}, {"verify", verify}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"database", open_database},
                                       {NULL, NULL}};
  lt_class(L, LT_DATABASE, meta, methods, database_gc);
  luaL_setfuncs(L, functions, 0);
}
