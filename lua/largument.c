/* SPDX-License-Identifier: Apache-2.0
 * Checks and converts arguments of Lua functions and option tables. */
#include "lua/lt.h"
#include <string.h>

/* ---- arguments ---------------------------------------------------------- */

/* Raises a type error in terms of the caller's arguments: luaL_check... would
 * count those of an internal function. */
static void check_type(lua_State *L, int i, int type, const char *what,
                       const char *expected) {
  if (lua_type(L, i) != type)
    lt_error(L, TESS_TYPE, "%s must be %s, not %s", what, expected,
             luaL_typename(L, i));
}

const char *lt_string(lua_State *L, int i, const char *what) {
  size_t n;
  check_type(L, i, LUA_TSTRING, what, "a string");
  const char *s = lua_tolstring(L, i, &n);
  if (strlen(s) != n)
    lt_error(L, TESS_INVALID, "%s has a NUL byte at %d", what, (int)strlen(s));
  return s;
}

const char *lt_opt_string(lua_State *L, int i, const char *what,
                          const char *d) {
  return lua_isnoneornil(L, i) ? d : lt_string(L, i, what);
}

lua_Number lt_number(lua_State *L, int i, const char *what) {
  check_type(L, i, LUA_TNUMBER, what, "a number");
  return lua_tonumber(L, i);
}

lua_Integer lt_integer(lua_State *L, int i, const char *what) {
  int whole = 0;
  lua_Integer v = 0;
  check_type(L, i, LUA_TNUMBER, what, "an integer");
  v = lua_tointegerx(L, i, &whole);
  if (!whole)
    lt_error(L, TESS_TYPE, "%s must be an integer, not %s", what,
             luaL_tolstring(L, i, NULL));
  return v;
}

lua_Integer lt_opt_integer(lua_State *L, int i, const char *what,
                           lua_Integer d) {
  return lua_isnoneornil(L, i) ? d : lt_integer(L, i, what);
}

int lt_choice(lua_State *L, int i, const char *what, const char *d,
              const char *const *words) {
  const char *word = lt_opt_string(L, i, what, d);
  luaL_Buffer b;
  if (!word) word = lt_string(L, i, what);
  for (int k = 0; words[k]; k++)
    if (!strcmp(words[k], word)) return k;
  luaL_buffinit(L, &b);
  for (int k = 0; words[k]; k++) {
    if (k) luaL_addstring(&b, words[k + 1] ? ", " : " or ");
    luaL_addstring(&b, words[k]);
  }
  luaL_pushresult(&b);
  return lt_error(L, TESS_INVALID, "%s must be %s, not '%s'", what,
                  lua_tostring(L, -1), word);
}

void lt_table(lua_State *L, int i, const char *what) {
  check_type(L, i, LUA_TTABLE, what, "a table");
}

void lt_function(lua_State *L, int i, const char *what) {
  check_type(L, i, LUA_TFUNCTION, what, "a function");
}

tess_dtype lt_to_dtype(lua_State *L, int i, const char *d) {
  const char *text =
      d && lua_isnoneornil(L, i) ? d : lt_string(L, i, "a data type");
  tess_dtype t;
  if (!tess_dtype_parse(text, &t))
    lt_error(L, TESS_TYPE, "unknown data type '%s'", text);
  return t;
}

/* What is at the top of the stack, where it is not what was expected: a number
 * as it is, of anything else the type. */
static const char *given(lua_State *L) {
  return lua_type(L, -1) == LUA_TNUMBER ? luaL_tolstring(L, -1, NULL)
                                        : luaL_typename(L, -1);
}

/* The length that table.pack leaves in its table: key and value are at the
 * top. */
static int is_pack_length(lua_State *L) {
  return lua_type(L, -2) == LUA_TSTRING && !strcmp(lua_tostring(L, -2), "n") &&
         lua_isinteger(L, -1);
}

const char *lt_stray_key(lua_State *L, int t, lua_Integer n) {
  t = lua_absindex(L, t);
  if (lua_getmetatable(L, t)) return lua_pop(L, 1), NULL;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    lua_Integer k = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    if ((k < 1 || k > n) && !is_pack_length(L))
      return luaL_tolstring(L, -2, NULL);
  }
  return NULL;
}

lua_Integer lt_length(lua_State *L, int t) {
  const lua_Integer most = 1 << 30;
  lua_Integer n = luaL_len(L, t);
  if (n < 0)
    lt_error(L, TESS_INVALID, "the length of a list is %lld", (long long)n);
  if (n > most)
    lt_error(L, TESS_LIMIT, "a list has at most %lld elements, not %lld",
             (long long)most, (long long)n);
  return n;
}

lua_Integer lt_list_len(lua_State *L, int t) {
  lua_Integer n = lt_length(L, t);
  const char *key = lt_stray_key(L, t, n);
  if (key)
    lt_error(L, TESS_INVALID,
             "element [%s] stands outside of the list, which has %d", key,
             (int)n);
  return n;
}

void *lt_room(lua_State *L, size_t n, size_t size) {
  return lua_newuserdatauv(L, n ? n * size : 1, 0);
}

uint32_t lt_to_ints(lua_State *L, int i, uint32_t max, int64_t *out) {
  lt_table(L, i, "a list of integers");
  lua_Integer n = lt_list_len(L, i);
  if (n > (lua_Integer)max)
    lt_error(L, TESS_LIMIT, "at most %u elements are possible here",
             (unsigned)max);
  for (lua_Integer k = 1; k <= n; k++) {
    int ok;
    lua_geti(L, i, k);
    out[k - 1] = lua_tointegerx(L, -1, &ok);
    if (!ok || lua_type(L, -1) != LUA_TNUMBER)
      lt_error(L, TESS_TYPE, "element %d: expected an integer, got %s", (int)k,
               given(L));
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

/* ---- options ------------------------------------------------------------ */

static int wrong(lua_State *L, const char *k, const char *expected) {
  return lt_error(L, TESS_TYPE, "option '%s': expected %s, got %s", k, expected,
                  given(L));
}

lua_Number lt_field_number(lua_State *L, int t, const char *k, lua_Number d) {
  if (!lua_istable(L, t)) return d;
  if (lua_getfield(L, t, k) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TNUMBER) wrong(L, k, "a number");
    d = lua_tonumber(L, -1);
  }
  lua_pop(L, 1);
  return d;
}

lua_Integer lt_field_int(lua_State *L, int t, const char *k, lua_Integer d) {
  int ok;
  if (!lua_istable(L, t)) return d;
  if (lua_getfield(L, t, k) != LUA_TNIL) {
    d = lua_tointegerx(L, -1, &ok);
    if (!ok || lua_type(L, -1) != LUA_TNUMBER) wrong(L, k, "an integer");
  }
  lua_pop(L, 1);
  return d;
}

int lt_field_bool(lua_State *L, int t, const char *k, int d) {
  if (!lua_istable(L, t)) return d;
  if (lua_getfield(L, t, k) != LUA_TNIL) {
    if (!lua_isboolean(L, -1)) wrong(L, k, "a boolean");
    d = lua_toboolean(L, -1);
  }
  lua_pop(L, 1);
  return d;
}

const char *lt_field_str(lua_State *L, int t, const char *k, const char *d) {
  if (!lua_istable(L, t)) return d;
  int type = lua_getfield(L, t, k);
  if (type == LUA_TSTRING)
    d = lt_string(L, -1, k);
  else if (type != LUA_TNIL)
    wrong(L, k, "a string");
  lua_pop(L, 1);
  return d;
}

/* Is the key at the top but one among the known? */
static int is_known(lua_State *L, const char *const *known) {
  if (lua_type(L, -2) != LUA_TSTRING) return 0;
  const char *k = lua_tostring(L, -2);
  while (*known && strcmp(*known, k)) known++;
  return *known != NULL;
}

/* Raises: "unknown option 'trails' of ts.tune, which has target, trials". */
static void refuse_option(lua_State *L, const char *function,
                          const char *const *known) {
  int type = lua_type(L, -2);
  int is_word = type == LUA_TSTRING || type == LUA_TNUMBER;
  const char *given = is_word
                          ? luaL_tolstring(L, -2, NULL)
                          : lua_pushfstring(L, "a %s", luaL_typename(L, -2));
  const char *quote = is_word ? "'" : "";
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int k = 0; known[k]; k++) {
    luaL_addstring(&b, k ? ", " : ", which has ");
    luaL_addstring(&b, known[k]);
  }
  luaL_pushresult(&b);
  lt_error(L, TESS_INVALID, "unknown option %s%.100s%s of %s%s", quote, given,
           quote, function, lua_tostring(L, -1));
}

void lt_options(lua_State *L, int t, const char *function,
                const char *const *known) {
  if (lua_isnoneornil(L, t)) return;
  t = lua_absindex(L, t);
  if (!lua_istable(L, t))
    lt_error(L, TESS_TYPE, "the options of %s must be a table, not %s",
             function, luaL_typename(L, t));
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1))
    if (!is_known(L, known)) refuse_option(L, function, known);
}

void lt_no_options(lua_State *L, int t, const char *function) {
  static const char *const none[] = {NULL};
  if (lua_istable(L, t)) lt_options(L, t, function, none);
}
