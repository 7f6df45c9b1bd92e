/* SPDX-License-Identifier: Apache-2.0
 * The last error of a context: status, message, place. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/mem.h"
#include <stdarg.h>
#include <tessera/types.h>

typedef struct err_state {
  tess_status code;
  char message[2048];   /* one line, complete without the place */
  char place[512];      /* "file:line", "byte 17", "operand 'factors'"; "" */
} err_state;

void err_clear(err_state *e);
/* Sets code and message, folding the message into one line whatever texts are
 * embedded in it; clears the place; returns the code. */
tess_status err_set(err_state *e, tess_status code, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
tess_status err_set_to(err_state *e, tess_status code, const char *fmt,
                       va_list ap) __attribute__((format(printf, 3, 0)));
/* Folds text of several lines, such as a script's error, into one: "a; b";
 * truncates it to `room`. */
void err_one_line(const char *text, char *line, size_t room);
void err_place(err_state *e, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
/* Gives an unwinding or a failure with status s a message if it has none: for
 * TESS_LIMIT which limit was reached and what the heap was used for.  A message
 * that `e` has for s stays.  Returns s. */
tess_status err_unwound(err_state *e, mem_heap *h, tess_status s);
/* Prefixes the message of a failure with status s (made as by err_unwound if
 * there is none) by what was being made: "a task: out of memory".  Returns
 * s. */
tess_status err_ran_out(err_state *e, mem_heap *h, tess_status s,
                        const char *fmt, ...)
  __attribute__((format(printf, 4, 5)));
const char *err_status_name(tess_status code);  /* "NOT_FOUND" */
const char *err_status_text(tess_status code);  /* "not found" */

#endif
