/* SPDX-License-Identifier: Apache-2.0
 * The builder of a Lua state, the expressions and buffers that are of it, and
 * forgetting what none of them needs. */
#include "lua/ldescribe.h"

/* ---- the builder -------------------------------------------------------- */

#define LT_BUILDER "tessera.builder"
static const char builder_key = 0;

/* Its user value: a list of the expressions and buffers, weak. */
typedef struct lt_builder_box {
  tess_builder *b;
  lua_Integer made;    /* the length of that list */
  lua_Integer trim_at; /* that length, from which on forgetting pays */
  int held;            /* how many calls hold handles */
} lt_builder_box;

enum { TRIM_AT_LEAST = 4096 };

LT_GC(builder_gc, tess_builder, tess_builder_free)

static void push_weak_list(lua_State *L) {
  lua_createtable(L, 1, 0);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

static void push_new_builder(lua_State *L) {
  lt_builder_box *box = lua_newuserdatauv(L, sizeof *box, 1);
  *box = (lt_builder_box){.trim_at = TRIM_AT_LEAST};
  luaL_setmetatable(L, LT_BUILDER);
  push_weak_list(L);
  lua_setiuservalue(L, -2, 1);
  lt_check(L, tess_builder_new(lt_context(L), &box->b));
}

tess_builder *lt_push_builder(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &builder_key) == LUA_TNIL) {
    lua_pop(L, 1);
    push_weak_list(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &builder_key);
  }
  if (lua_rawgeti(L, -1, 1) == LUA_TNIL) {
    lua_pop(L, 1);
    push_new_builder(L);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, 1);
  }
  lua_remove(L, -2);
  return *(void **)lua_touserdata(L, -1);
}

/* Lists the object at the top, which keeps its builder, with it. */
static tess_builder *join_builder(lua_State *L) {
  tess_builder *b = lt_push_builder(L);
  lt_builder_box *box = lua_touserdata(L, -1);
  lua_getiuservalue(L, -1, 1);
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, box->made + 1);
  box->made++;
  lua_pop(L, 1);
  lua_setiuservalue(L, -2, 1);
  return b;
}

void lt_push_expr(lua_State *L, tess_expr e, tess_var var) {
  lt_expr *x = lua_newuserdatauv(L, sizeof *x, 1);
  *x = (lt_expr){NULL, e, var};
  luaL_setmetatable(L, LT_EXPR);
  x->b = join_builder(L);
}

void lt_push_buffer(lua_State *L, tess_buffer buf) {
  lt_buffer *x = lua_newuserdatauv(L, sizeof *x, 1);
  *x = (lt_buffer){NULL, buf};
  luaL_setmetatable(L, LT_BUFFER);
  x->b = join_builder(L);
}

tess_builder *lt_builder(lua_State *L) {
  tess_builder *b = lt_push_builder(L);
  lua_pop(L, 1);
  return b;
}

/* ---- forgetting --------------------------------------------------------- */

/* Room for n handles that lives on the stack. */
static uint32_t *handles(lua_State *L, lua_Integer n) {
  return lua_newuserdatauv(L, sizeof(uint32_t) * (size_t)(n + 1), 0);
}

/* Pushes a list of what is left of the weak one at index `weak`; its length. */
static lua_Integer push_living(lua_State *L, int weak, lua_Integer made) {
  lua_Integer n = 0;
  lua_newtable(L);
  for (lua_Integer i = 1; i <= made; i++)
    if (lua_rawgeti(L, weak, i) == LUA_TNIL)
      lua_pop(L, 1);
    else
      lua_rawseti(L, -2, ++n);
  return n;
}

/* The sections of Lua's builders, which lang/builder.lua keeps. */
static void list_sections(lua_State *L, tess_kept *k) {
  uint32_t n = 0;
  int t = lua_gettop(L) + 1;
  if (lua_getfield(L, LUA_REGISTRYINDEX, "tessera.sections") != LUA_TTABLE)
    return;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) n++;
  uint32_t *list = handles(L, n), i = 0;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1))
    if (i < n) list[i++] = (uint32_t)lua_tointeger(L, -2);
  k->nsections = i;
  k->sections = list;
}

/* Reads the handles of the n objects in the list at index t, or writes them,
 * in order. */
static void exchange_handles(lua_State *L, int t, lua_Integer n, tess_kept *k,
                             int write) {
  uint32_t e = 0, v = 0, b = 0;
  for (lua_Integer i = 1; i <= n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, t, i);
    lt_expr *x = luaL_testudata(L, -1, LT_EXPR);
    if (x) {
      uint32_t *at = &k->exprs[e++], *var = x->var ? &k->vars[v++] : NULL;
      *(write ? &x->e : at) = write ? *at : x->e;
      if (var) *(write ? &x->var : var) = write ? *var : x->var;
    } else {
      uint32_t *at = &k->buffers[b++];
      lt_buffer *y = lua_touserdata(L, -1);
      *(write ? &y->buf : at) = write ? *at : y->buf;
    }
  }
  k->nexprs = e;
  k->nvars = v;
  k->nbuffers = b;
}

static void trim(lua_State *L, lt_builder_box *box) {
  tess_kept k = TESS_INIT(tess_kept);
  lua_getiuservalue(L, -1, 1);
  lua_Integer n = push_living(L, lua_gettop(L), box->made);
  int living = lua_gettop(L), builder = living - 2;
  k.exprs = handles(L, n);
  k.vars = handles(L, n);
  k.buffers = handles(L, n);
  list_sections(L, &k);
  push_weak_list(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, living, i);
    lua_rawseti(L, -2, i);
  }
  exchange_handles(L, living, n, &k, 0);
  lt_check(L, tess_builder_trim(box->b, &k));
  exchange_handles(L, living, n, &k, 1);
  lua_setiuservalue(L, builder, 1);
  box->made = n;
  box->trim_at = 2 * n + TRIM_AT_LEAST;
}

void lt_trim(lua_State *L) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 16, NULL);
  tess_builder *b = lt_push_builder(L);
  lt_builder_box *box = lua_touserdata(L, -1);
  if (box->made >= box->trim_at && !box->held && !tess_builder_depth(b))
    trim(L, box);
  lua_settop(L, top);
}

void lt_hold_handles(lua_State *L, int yes) {
  lt_push_builder(L);
  ((lt_builder_box *)lua_touserdata(L, -1))->held += yes ? 1 : -1;
  lua_pop(L, 1);
}

void lt_open_builder(lua_State *L) {
  lt_class(L, LT_BUILDER, NULL, NULL, builder_gc);
}
