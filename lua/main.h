/* SPDX-License-Identifier: Apache-2.0
 * The internal interface of the command's files. */
#ifndef LUA_MAIN_H
#define LUA_MAIN_H

#include <lauxlib.h>
#include <lua.h>
#include <tessera/lua.h>

typedef struct main_option_set {
  int verbose;
} main_option_set;
extern main_option_set main_options;

/* Interrupts stop what runs in L and its coroutines, and in c; to be called
 * before the next. */
void main_let_stop(lua_State *L, tess_context *c);
/* Ctrl-C, SIGTERM and SIGHUP stop what runs (on), or end the process (off). */
void main_catch_interrupts(int on);
/* The ending signal that has arrived, raised in Lua yet or not; 0: none. */
int main_stopped_by(void);
/* Ctrl-C waits (on) until it can be attended to (off). */
void main_hold_interrupts(int on);

/* Pushes what the error object at i says: its text, its field `message`, or
 * what it is where it says nothing. */
void main_push_error_text(lua_State *L, int i);

/* A line from the terminal, with history and editing, or from a pipe,
 * without its end; malloc'ed; NULL at the end of input, or where Ctrl-C was
 * typed on the terminal instead of the line's end: *abandoned.  Ctrl-C is on
 * hold before and after (main_prompt.c). */
char *main_read_line(const char *prompt, int *abandoned);
/* Tab completes the first word of such lines to one of these words, which
 * blanks separate. */
void main_complete_commands(const char *words);
/* Reads, runs and prints until the end of input; the exit status. */
int main_prompt(lua_State *L);

#endif
