/* SPDX-License-Identifier: Apache-2.0
 * The internal interface of the Lua binding.
 *
 * Every object is a full userdata with one pointer of the public C API; its
 * user values keep alive what it depends on.  No C function here owns a
 * resource across a call that may raise: the userdata is made first (lt_box)
 * and then filled. */
#ifndef LUA_LT_H
#define LUA_LT_H

#include <lauxlib.h>
#include <lua.h>
#include <tessera/lua.h>
#include <tessera/tessera.h>

/* Metatable names. */
#define LT_EXPR "tessera.expr"
#define LT_BUFFER "tessera.buffer"
#define LT_VAR "tessera.var"
#define LT_PROGRAM "tessera.program"
#define LT_SCHEDULE "tessera.schedule"
#define LT_RV "tessera.rv"
#define LT_TRACE "tessera.trace"
#define LT_STEPPER "tessera.stepper"
#define LT_TARGET "tessera.target"
#define LT_TENSOR "tessera.tensor"
#define LT_KERNEL "tessera.kernel"
#define LT_SPACE "tessera.space"
#define LT_RESULT "tessera.result"
#define LT_DATABASE "tessera.database"
#define LT_SESSION "tessera.session"
#define LT_MODEL "tessera.model"
#define LT_GRAPH "tessera.graph"
#define LT_NETWORK "tessera.network"
#define LT_TASKS "tessera.tasks"
#define LT_ERROR "tessera.error"

/* The user value of a result that holds the kernel it gave, its only one. */
#define LT_RESULT_KERNEL 1

/* ---- state and errors (ltessera.c) -------------------------------------- */

tess_context *lt_context(lua_State *L);
/* Raises the context's last error as an error object unless s is TESS_OK. */
void lt_check(lua_State *L, tess_status s);
/* Passes deferred warnings to the function of ts.on_warning; lt_check does so,
 * too (lwarn.c). */
void lt_tell_warnings(lua_State *L);
/* Raises an error object with a code and message of the binding's own. */
int lt_error(lua_State *L, tess_status s, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* The status of the error at index i that a callback raised: TESS_NOMEM,
 * TESS_CANCELLED (an interrupt), in Lua or in the engine; else TESS_CALLBACK.
 * Allocates. */
tess_status lt_status_of(lua_State *L, int i);
/* The status of any error object at index i, as lt_status_of gives it of
 * others. */
tess_status lt_code_of(lua_State *L, int i);
/* Pushes the value at index i as a reason in one line: of an error object the
 * message without the program's listing. */
void lt_push_reason(lua_State *L, int i);
/* Pushes text that came from the API and frees it. */
void lt_push_text(lua_State *L, char *text);

/* ---- --verbose (lverbose.c) --------------------------------------------- */

/* Whether errors of callbacks are to be shown at length. */
void lt_set_verbose(lua_State *L, int on);
/* Pushes the text and below it the user's own frames of Lua, if there are. */
void lt_push_frames(lua_State *L, const char *text);
/* A message handler that shows an error that is not an interrupt, if they are
 * to be shown, and leaves it as it is. */
int lt_show_failure(lua_State *L);
/* Functions of Lua's: one like xpcall by which modules run, and how many are
 * running now, whatever ended others. */
int lt_run_module(lua_State *L);
int lt_modules_running(lua_State *L);
/* lua_pcall of a callback, whose error is shown at once if they are. */
int lt_call_back(lua_State *L, int nargs, int nresults);

/* ---- boxes (lbox.c) ----------------------------------------------------- */

/* Pushes a userdata of metatable `tname` with room for a pointer, NULL. */
void **lt_box(lua_State *L, const char *tname, int nuservalues);
/* Raises that a `what` is expected, not what is at stack index i. */
int lt_unexpected(lua_State *L, int i, const char *what);
/* The userdata at stack index i; raises when it is something else. */
void *lt_object(lua_State *L, int i, const char *tname);
/* What is in the box at stack index i; raises when it is something else, or
 * closed. */
void *lt_get(lua_State *L, int i, const char *tname);
/* NULL where nil or absent. */
void *lt_opt(lua_State *L, int i, const char *tname);
/* Makes a metatable: methods go to __index; gc empties the box. */
void lt_class(lua_State *L, const char *tname, const luaL_Reg *meta,
              const luaL_Reg *methods, lua_CFunction gc);
/* Defines static int name(lua_State *L), which frees a box's object. */
#define LT_GC(name, T, free_fn)                                             \
  static int name(lua_State *L) {                                           \
    void **box = lua_touserdata(L, 1);                                      \
    T *object = *box;                                                       \
    *box = NULL;                                                            \
    free_fn(object);                                                        \
    return 0;                                                               \
  }

#define lt_program(L, i) ((tess_program *)lt_get((L), (i), LT_PROGRAM))
#define lt_schedule(L, i) ((tess_schedule *)lt_get((L), (i), LT_SCHEDULE))
#define lt_trace(L, i) ((tess_trace *)lt_get((L), (i), LT_TRACE))

/* A schedule, or a program, at stack index i, as a program: a schedule's
 * snapshot is pushed (and so kept alive); of a program a copy of the value. */
tess_program *lt_to_program(lua_State *L, int i);
/* Pushes a schedule object around `s` (taken). */
void lt_push_schedule(lua_State *L, tess_schedule *s);
/* Pushes the random variable `rv` of the schedule at stack index i. */
void lt_push_rv(lua_State *L, int i, tess_rv rv);
/* The random variable at stack index i, which must be one of the schedule
 * at index s (0: of any). */
tess_rv lt_to_rv(lua_State *L, int i, int s);
/* A target at index i: nil (NULL), a string, or a target object; pushes one
 * value that keeps it alive. */
tess_target *lt_to_target(lua_State *L, int i);
/* To be called before calls of the engine that may call modules back, which
 * then run on the stack of the thread L. */
void lt_enter(lua_State *L);
/* Pushes the cost model of a result; nil where it was one in Lua. */
void lt_push_model(lua_State *L, tess_result *r);
/* Pushes a box for the results of many tasks, still empty. */
void **lt_box_tasks(lua_State *L);
/* The values that the trace names, as a table (ltrace.c). */
void lt_push_params(lua_State *L, tess_trace *t);
/* Fills `out` (max long) with the tensors in the table at index i. */
uint32_t lt_to_tensors(lua_State *L, int i, uint32_t max, tess_tensor **out);

/* ---- arguments (largument.c) -------------------------------------------- */

/* The value at index i, or that a table or function is there; else an error
 * object says that `what` must be one.  A C string ends at its first NUL, so
 * strings that have one are refused: every string that goes to the engine
 * comes from here. */
const char *lt_string(lua_State *L, int i, const char *what);
lua_Number lt_number(lua_State *L, int i, const char *what);
lua_Integer lt_integer(lua_State *L, int i, const char *what);
void lt_table(lua_State *L, int i, const char *what);
void lt_function(lua_State *L, int i, const char *what);
/* The same; d when nil or absent. */
const char *lt_opt_string(lua_State *L, int i, const char *what,
                          const char *d);
lua_Integer lt_opt_integer(lua_State *L, int i, const char *what,
                           lua_Integer d);
/* Which of the NULL-terminated words is at index i, from 0; d when absent,
 * where it is not NULL. */
int lt_choice(lua_State *L, int i, const char *what, const char *d,
              const char *const *words);
/* "float32" at index i, d when absent; raises on an unknown one. */
tess_dtype lt_to_dtype(lua_State *L, int i, const char *d);
/* The first key of the table at t, as text at the top of the stack, that is
 * none of 1 .. n, nor the length from table.pack; NULL: there is none, or it is
 * an object. */
const char *lt_stray_key(lua_State *L, int t, lua_Integer n);
/* The length of what is at t, also where a metamethod says it: raises below 0,
 * and beyond what one can make room for. */
lua_Integer lt_length(lua_State *L, int t);
/* That of the list at t; raises where it has elements besides. */
lua_Integer lt_list_len(lua_State *L, int t);
/* A table of n elements, collected: memory that an error of Lua's cannot
 * lose.  Stays on the stack. */
void *lt_room(lua_State *L, size_t n, size_t size);
/* A table of integers at index i into out (max long). */
uint32_t lt_to_ints(lua_State *L, int i, uint32_t max, int64_t *out);

/* ---- options in a table (largument.c) ----------------------------------- */

/* Raises unless nil, none, or a table whose keys are all in the
 * NULL-terminated list is at index t; then the fields can be read. */
void lt_options(lua_State *L, int t, const char *function,
                const char *const *known);
/* Raises where a table of options is at index t, since there are none. */
void lt_no_options(lua_State *L, int t, const char *function);
lua_Number lt_field_number(lua_State *L, int t, const char *k, lua_Number d);
lua_Integer lt_field_int(lua_State *L, int t, const char *k, lua_Integer d);
int lt_field_bool(lua_State *L, int t, const char *k, int d);
/* Lives as long as the table; d when absent. */
const char *lt_field_str(lua_State *L, int t, const char *k, const char *d);

/* ---- fields of the table at the top (lfield.c) -------------------------- */

void lt_set_integer(lua_State *L, const char *k, lua_Integer v);
void lt_set_number(lua_State *L, const char *k, lua_Number v);
void lt_set_boolean(lua_State *L, const char *k, int v);
void lt_set_string(lua_State *L, const char *k, const char *v); /* NULL: nil */

/* ---- candidates (lsession.c) -------------------------------------------- */

void lt_push_candidate(lua_State *L, const tess_candidate *c);
void lt_push_candidates(lua_State *L, uint32_t n, const tess_candidate *c);
/* The length of the list of candidates at index i; a table that is none, as a
 * candidate alone, is refused.  what: "what propose returns". */
lua_Integer lt_count_candidates(lua_State *L, int i, const char *what);
/* The candidate table at index i; its decisions go to a buffer on the
 * stack: two values stay there. */
void lt_to_candidate(lua_State *L, int i, tess_candidate *c);

/* ---- the parts ---------------------------------------------------------- */

void lt_open_describe(lua_State *L);   /* each adds to the table at the top */
void lt_open_program(lua_State *L);
void lt_open_schedule(lua_State *L);
void lt_open_rv(lua_State *L);
void lt_open_trace(lua_State *L);
void lt_open_stepper(lua_State *L);
void lt_open_tensor(lua_State *L);
void lt_open_graph(lua_State *L);
void lt_open_onnx(lua_State *L);
void lt_open_kernel(lua_State *L);
void lt_open_space(lua_State *L);
void lt_open_session(lua_State *L);
void lt_open_model(lua_State *L);
void lt_open_tune(lua_State *L);
void lt_open_tasks(lua_State *L);
void lt_open_file(lua_State *L);
void lt_open_result(lua_State *L);
void lt_open_database(lua_State *L);
void lt_open_warn(lua_State *L);
void lt_open_fleet(lua_State *L);

#endif
