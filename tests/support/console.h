/* SPDX-License-Identifier: Apache-2.0
 * Running commands in a folder of their own: to the end, with what they said
 * on stdout and stderr; or in a pseudo-terminal, typing and expecting. */
#ifndef TESTS_SUPPORT_CONSOLE_H
#define TESTS_SUPPORT_CONSOLE_H

#include <stddef.h>
#include <sys/types.h>

#define CONSOLE_TESSERA "$TESSERA"   /* the command, in a shell's words */

typedef struct console {
  char dir[64];
  char out[1 << 17], err[1 << 15];   /* of the last console_run */
  int terminal;                      /* master of the pseudo-terminal */
  pid_t child;
  char seen[1 << 17];                /* read from it and not yet expected */
  size_t nseen;
  char passed[256];                  /* the start of what it skipped */
} console;

/* `tessera`: the command's path. */
void console_start(console *c, const char *tessera);
void console_end(console *c);
/* Writes a file of the folder. */
void console_write(console *c, const char *name, const char *text);
/* Runs a shell command there; its exit status. */
int console_run(console *c, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
/* Writes d.lua, which describes a small product and a quick search of it, and
 * t.lua, a trace of it. */
void console_write_product(console *c);
/* Runs tessera: it ends with the status; on failure stderr is one line that
 * holds `says`, else stdout holds it. */
void console_says(console *c, const char *args, int status, const char *says);
/* Starts tessera with the arguments in a pseudo-terminal. */
void console_open(console *c, const char *args);
void console_type(console *c, const char *text);
/* Reads until the text appears, and goes on behind it; what stood before it is
 * in `passed`. */
void console_expect(console *c, const char *text);
/* Waits until keys come one by one: libedit shows its prompt a moment before,
 * and a control key that is typed then would go to the terminal. */
void console_await_keys(console *c);
/* Waits for the end; its exit status. */
int console_close(console *c);

#endif
