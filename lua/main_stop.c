/* SPDX-License-Identifier: Apache-2.0
 * Interrupts: the signals that ask the command to end, and how they reach the
 * Lua code that runs.  A hook is of one thread of Lua's, so coroutines are
 * resumed by functions of ours, which note the one that runs. */
#include "lua/main.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

/* What the signal handler needs; c is set before the handler is. */
static struct {
  lua_State *volatile L; /* what runs: the main thread, or a coroutine */
  tess_context *c;
  volatile sig_atomic_t raised; /* arrived, not yet raised in Lua */
  volatile sig_atomic_t came;   /* which arrived since signals are caught */
} running;

/* The error has no place: it may be in one of Tessera's own files. */
static void stop_lua(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
  running.raised = 0;
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

static void stop_soon(lua_State *L) {
  lua_sethook(L, stop_lua,
              LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

/* The signals that ask a program to end. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { NENDING = sizeof ending / sizeof *ending };

static void on_interrupt(int sig);

/* Takes the ending signals, or gives them back; SIGHUP only where it is not
 * ignored, as below nohup.  While one is handled the others wait, so that
 * they find what it changed. */
static void take_signals(int on) {
  struct sigaction act = {.sa_flags = SA_RESTART}, before;
  act.sa_handler = on ? on_interrupt : SIG_DFL;
  sigemptyset(&act.sa_mask);
  for (int i = 0; i < NENDING; i++) sigaddset(&act.sa_mask, ending[i]);
  for (int i = 0; i < NENDING; i++) {
    if (ending[i] == SIGHUP && !sigaction(SIGHUP, NULL, &before) &&
        before.sa_handler == SIG_IGN)
      continue;
    sigaction(ending[i], &act, NULL);
  }
}

/* The first Ctrl-C ends a tuning run with the best so far (ts.tune takes the
 * raised error upon itself), or a script at its next call; the second ends
 * the process.  So do the other ending signals, and whichever comes second. */
static void on_interrupt(int sig) {
  take_signals(0);
  running.raised = 1;
  running.came = sig;
  tess_stop(running.c);
  stop_soon(running.L);
}

void main_catch_interrupts(int on) {
  take_signals(on);
  if (on) return;
  running.raised = running.came = 0;
  lua_sethook(running.L, NULL, 0, 0);
}

int main_stopped_by(void) { return running.came; }

void main_hold_interrupts(int on) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &held, NULL);
}

/* ---- coroutines --------------------------------------------------------- */

/* What runs from here on.  A signal either finds it, or came before and is
 * found by it. */
static void note_running(lua_State *L) {
  running.L = L;
  if (running.raised) stop_soon(L);
}

/* As Lua's own: moves n arguments to the coroutine and what it gives back to
 * L; -1 and the error at the top where it fails. */
static int resume(lua_State *L, lua_State *co, int n) {
  lua_State *before = running.L;
  int got;
  if (!lua_checkstack(co, n))
    return lua_pushliteral(L, "too many arguments to resume"), -1;
  lua_xmove(L, co, n);
  note_running(co);
  int status = lua_resume(co, L, n, &got);
  if (lua_gethook(co) == stop_lua) lua_sethook(co, NULL, 0, 0);
  note_running(before);
  if (status != LUA_OK && status != LUA_YIELD) return lua_xmove(co, L, 1), -1;
  if (!lua_checkstack(L, got + 1)) {
    lua_pop(co, got);
    return lua_pushliteral(L, "too many results to resume"), -1;
  }
  lua_xmove(co, L, got);
  return got;
}

/* coroutine.resume(co, ...) */
static int co_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co, 1, "thread");
  int n = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  lua_insert(L, n >= 0 ? -(n + 1) : -2);
  return n >= 0 ? n + 1 : 2;
}

/* The text of an error gets the place of the call, but for an interrupt. */
static void add_place(lua_State *L) {
  if (lua_type(L, -1) != LUA_TSTRING) return;
  if (!strcmp(lua_tostring(L, -1), "interrupted")) return;
  luaL_where(L, 1);
  lua_insert(L, -2);
  lua_concat(L, 2);
}

static int call_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = resume(L, co, lua_gettop(L));
  if (n >= 0) return n;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    status = lua_resetthread(co); /* closes what it left open */
    lua_xmove(co, L, 1);
  }
  if (status != LUA_ERRMEM) add_place(L);
  return lua_error(L);
}

/* coroutine.wrap(f) */
static int co_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, call_wrapped, 1);
  return 1;
}

void main_let_stop(lua_State *L, tess_context *c) {
  running.L = L;
  running.c = c;
  lua_getglobal(L, "coroutine");
  lua_pushcfunction(L, co_resume);
  lua_setfield(L, -2, "resume");
  lua_pushcfunction(L, co_wrap);
  lua_setfield(L, -2, "wrap");
  lua_pop(L, 1);
}
