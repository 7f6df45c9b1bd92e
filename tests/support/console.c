/* SPDX-License-Identifier: Apache-2.0
 * Commands in a folder of their own, and in a pseudo-terminal. */
#include "support/console.h"
#include "support/test.h"

#include <poll.h>
#include <pty.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { PATIENCE = 60000 }; /* milliseconds until a silence is a failure */

void console_start(console *c, const char *tessera) {
  memset(c, 0, sizeof *c);
  strcpy(c->dir, "/tmp/tessera_cli_XXXXXX");
  assert_non_null(mkdtemp(c->dir));
  setenv("TESSERA", tessera, 1);
  setenv("HOME", c->dir, 1);
  setenv("TERM", "dumb", 1);
  unsetenv("XDG_STATE_HOME");
}

void console_end(console *c) { console_run(c, "rm -rf '%s'", c->dir); }

void console_write(console *c, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", c->dir, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static void slurp(console *c, const char *name, char *text, size_t size) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", c->dir, name);
  FILE *f = fopen(path, "r");
  size_t n = f ? fread(text, 1, size - 1, f) : 0;
  text[n] = '\0';
  if (f) fclose(f);
}

int console_run(console *c, const char *fmt, ...) {
  char command[2048], whole[2560];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(command, sizeof command, fmt, ap);
  va_end(ap);
  snprintf(whole, sizeof whole, "cd '%s' && { %s\n} > .out 2> .err", c->dir,
           command);
  int status = system(whole);
  slurp(c, ".out", c->out, sizeof c->out);
  slurp(c, ".err", c->err, sizeof c->err);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the pseudo-terminal ------------------------------------------------ */

void console_open(console *c, const char *args) {
  char command[512];
  struct winsize size = {.ws_row = 50, .ws_col = 200};
  snprintf(command, sizeof command, "cd '%s' && exec $TESSERA %s", c->dir,
           args);
  c->nseen = 0;
  c->seen[0] = '\0';
  c->child = forkpty(&c->terminal, NULL, NULL, &size);
  assert_true(c->child >= 0);
  if (c->child) return;
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* More of what the terminal shows; false at its end. */
static int read_more(console *c) {
  struct pollfd p = {.fd = c->terminal, .events = POLLIN};
  int ready = poll(&p, 1, PATIENCE);
  if (ready <= 0) fail_msg("the terminal is silent after: %s", c->seen);
  if (c->nseen > sizeof c->seen / 2) { /* progress may be endless */
    memmove(c->seen, c->seen + c->nseen / 2, c->nseen - c->nseen / 2);
    c->nseen -= c->nseen / 2;
  }
  ssize_t n =
      read(c->terminal, c->seen + c->nseen, sizeof c->seen - c->nseen - 1);
  if (n <= 0) return 0; /* EIO: the other side is gone */
  c->nseen += (size_t)n;
  c->seen[c->nseen] = '\0';
  return 1;
}

void console_type(console *c, const char *text) {
  assert_int_equal(write(c->terminal, text, strlen(text)), strlen(text));
}

void console_expect(console *c, const char *text) {
  char *at;
  while (!(at = strstr(c->seen, text)))
    if (!read_more(c)) fail_msg("'%s' never came; but: %s", text, c->seen);
  snprintf(c->passed, sizeof c->passed, "%.*s", (int)(at - c->seen), c->seen);
  at += strlen(text);
  c->nseen -= (size_t)(at - c->seen);
  memmove(c->seen, at, c->nseen + 1);
}

void console_await_keys(console *c) {
  struct termios t;
  for (int waited = 0; waited < PATIENCE; waited++) {
    assert_int_equal(tcgetattr(c->terminal, &t), 0);
    if (!(t.c_lflag & ICANON)) return;
    usleep(1000);
  }
  fail_msg("the terminal still reads lines after: %s", c->seen);
}

int console_close(console *c) {
  int status;
  while (read_more(c)) {
  }
  close(c->terminal);
  assert_int_equal(waitpid(c->child, &status, 0), c->child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
