/* SPDX-License-Identifier: Apache-2.0
 * Candidates as tables, and the session that strategies and cost models in Lua
 * are given. */
#include "lua/lt.h"

#define MAX_DECISIONS (1 << 24)

/* ---- candidates --------------------------------------------------------- */

void lt_push_candidate(lua_State *L, const tess_candidate *c) {
  lua_createtable(L, 0, 4);
  lt_set_integer(L, "sketch", (lua_Integer)c->sketch + 1);
  lua_createtable(L, (int)c->ndecisions, 0);
  for (uint32_t i = 0; i < c->ndecisions; i++) {
    lua_pushinteger(L, c->decisions[i]);
    lua_seti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "decisions");
  lt_set_number(L, "seconds", c->seconds);
  lt_set_string(L, "status", tess_status_name(c->status));
}

/* The candidate table at index i; its decisions go to a buffer on the
 * stack: two values stay there. */
void lt_to_candidate(lua_State *L, int i, tess_candidate *c) {
  lt_table(L, i, "a candidate");
  *c = (tess_candidate){0};
  lua_Integer sketch = lt_field_int(L, i, "sketch", 1);
  if (sketch < 1 || sketch > UINT32_MAX)
    lt_error(L, TESS_INVALID,
             "a candidate's 'sketch' is %lld, outside of "
             "1 .. %lld",
             (long long)sketch, (long long)UINT32_MAX);
  c->sketch = (uint32_t)(sketch - 1);
  lua_getfield(L, i, "decisions");
  lt_table(L, -1, "the decisions of a candidate");
  lua_Integer n = lt_length(L, -1);
  if (n > MAX_DECISIONS)
    lt_error(L, TESS_LIMIT,
             "a candidate has at most %d integers of "
             "decisions, not %lld",
             MAX_DECISIONS, (long long)n);
  int t = lua_gettop(L);
  int64_t *d = lua_newuserdatauv(L, sizeof *d * (size_t)(n + 1), 0);
  c->ndecisions = lt_to_ints(L, t, (uint32_t)n, d);
  c->decisions = d;
}

lua_Integer lt_count_candidates(lua_State *L, int i, const char *what) {
  lt_table(L, i, what);
  lua_Integer n = lt_length(L, i);
  if (n) return n;
  i = lua_absindex(L, i);
  lua_pushnil(L);
  if (!lua_next(L, i)) return 0;
  return lt_error(L, TESS_TYPE,
                  "%s must be a list of candidates, not a table with the field "
                  "'%s'",
                  what, luaL_tolstring(L, -2, NULL));
}

void lt_push_candidates(lua_State *L, uint32_t n, const tess_candidate *c) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lt_push_candidate(L, &c[i]);
    lua_seti(L, -2, i + 1);
  }
}

/* ---- the session, as a strategy in Lua sees it -------------------------- */

static tess_session *session(lua_State *L) { return lt_get(L, 1, LT_SESSION); }

static int found(lua_State *L, tess_status s, const tess_candidate *c) {
  if (s == TESS_NOT_FOUND) return 0;
  lt_check(L, s);
  lt_push_candidate(L, c);
  return 1;
}

static int session_draw(lua_State *L) {
  tess_candidate c;
  return found(L, tess_session_draw(session(L), &c), &c);
}

static int session_mutate(lua_State *L) {
  tess_candidate p, c;
  tess_session *s = session(L);
  lt_to_candidate(L, 2, &p);
  return found(L, tess_session_mutate(s, &p, &c), &c);
}

static int session_cross(lua_State *L) {
  tess_candidate a, b, c;
  tess_session *s = session(L);
  lt_to_candidate(L, 2, &a);
  lt_to_candidate(L, 3, &b);
  return found(L, tess_session_cross(s, &a, &b, &c), &c);
}

static int session_seen(lua_State *L) {
  tess_candidate c;
  tess_session *s = session(L);
  lt_to_candidate(L, 2, &c);
  lua_pushboolean(L, tess_session_seen(s, &c));
  return 1;
}

static int session_unit(lua_State *L) {
  lua_pushnumber(L, tess_session_unit(session(L)));
  return 1;
}

/* The candidates in the list at index 2, in userdata on the stack; *n of
 * them. */
static tess_candidate *to_candidates(lua_State *L, const char *who,
                                     uint32_t *n) {
  const char *what = lua_pushfstring(L, "what %s takes", who);
  lua_Integer len = lt_count_candidates(L, 2, what);
  if (len > TESS_MAX_BATCH)
    lt_error(L, TESS_LIMIT, "%s takes at most %d candidates, not %lld", who,
             TESS_MAX_BATCH, (long long)len);
  luaL_checkstack(L, (int)len * 3 + 8, "too many candidates");
  tess_candidate *c = lua_newuserdatauv(L, sizeof *c * (size_t)(len + 1), 0);
  for (lua_Integer i = 0; i < len; i++) {
    lua_geti(L, 2, i + 1);
    lt_to_candidate(L, lua_gettop(L), &c[i]);
  }
  *n = (uint32_t)len;
  return c;
}

/* s:predict{ candidate, ... }: a list of scores, higher is better */
static int session_predict(lua_State *L) {
  tess_session *s = session(L);
  uint32_t n;
  tess_candidate *c = to_candidates(L, "predict", &n);
  double *score = lua_newuserdatauv(L, sizeof *score * (n + 1), 0);
  lt_check(L, tess_session_predict(s, n, c, score));
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushnumber(L, score[i]);
    lua_seti(L, -2, i + 1);
  }
  return 1;
}

/* ---- features ----------------------------------------------------------- */

static void push_row(lua_State *L, const tess_features *f, uint32_t row) {
  lua_createtable(L, (int)f->ncolumns, 0);
  for (uint32_t k = 0; k < f->ncolumns; k++) {
    lua_pushnumber(L, f->value[(size_t)row * f->ncolumns + k]);
    lua_seti(L, -2, k + 1);
  }
}

static void push_columns(lua_State *L, tess_session *s, const char *kind,
                         uint32_t n) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t k = 0; k < n; k++) {
    char name[TESS_MAX_COLUMN];
    lt_check(L, tess_session_column(s, kind, k, name));
    lua_pushstring(L, name);
    lua_seti(L, -2, k + 1);
  }
}

/* s:features({ candidate, ... }, kind): of each a list of rows, each a list of
 * numbers; and the names of the columns. */
static int session_features(lua_State *L) {
  tess_session *s = session(L);
  const char *kind = lt_string(L, 3, "the kind of features");
  uint32_t n;
  tess_features f = TESS_INIT(tess_features);
  tess_candidate *c = to_candidates(L, "features", &n);
  lt_check(L, tess_session_features(s, n, c, kind, &f));
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_createtable(L, (int)(f.first[i + 1] - f.first[i]), 0);
    for (uint32_t k = f.first[i]; k < f.first[i + 1]; k++) {
      push_row(L, &f, k);
      lua_seti(L, -2, k - f.first[i] + 1);
    }
    lua_seti(L, -2, i + 1);
  }
  push_columns(L, s, kind, f.ncolumns);
  return 2;
}

static int session_trace(lua_State *L) {
  tess_candidate c;
  tess_session *s = session(L);
  lt_to_candidate(L, 2, &c);
  tess_trace *t;
  void **box = lt_box(L, LT_TRACE, 0);
  lt_check(L, tess_session_trace(s, &c, &t));
  *box = t;
  return 1;
}

static int session_program(lua_State *L) {
  tess_candidate c;
  tess_session *s = session(L);
  lt_to_candidate(L, 2, &c);
  tess_program *p;
  void **box = lt_box(L, LT_PROGRAM, 0);
  lt_check(L, tess_session_program(s, &c, &p));
  *box = p;
  return 1;
}

static int session_sketches(lua_State *L) {
  lua_pushinteger(L, tess_session_nsketches(session(L)));
  return 1;
}

static int session_tostring(lua_State *L) {
  return lua_pushliteral(L, "session"), 1;
}

void lt_open_session(lua_State *L) {
  static const luaL_Reg session_meta[] = {{"__tostring", session_tostring},
                                          {NULL, NULL}};
  static const luaL_Reg session_methods[] = {{"draw", session_draw},
                                             {"mutate", session_mutate},
                                             {"cross", session_cross},
                                             {"seen", session_seen},
                                             {"unit", session_unit},
                                             {"predict", session_predict},
                                             {"sketches", session_sketches},
                                             {"features", session_features},
                                             {"trace", session_trace},
                                             {"program", session_program},
                                             {NULL, NULL}};
  lt_class(L, LT_SESSION, session_meta, session_methods, NULL);
}
