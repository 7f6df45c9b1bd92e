/* SPDX-License-Identifier: Apache-2.0
 * Assertions on contracts between layers: TESS_ASSERT(cond) ends the process
 * with the condition and its place where it is false, in checked builds
 * (TESS_CHECKED).  In others the condition is compiled, but not evaluated.
 *
 * It is for faults of the program itself, never for bad input. */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

/* Prints "file:line: function: assertion failed: text" to stderr; aborts. */
_Noreturn void base_assert_failed(const char *file, int line, const char *func,
                                  const char *text);

#if TESS_CHECKED
#define TESS_ASSERT(cond) \
  ((cond) ? (void)0 : base_assert_failed(__FILE__, __LINE__, __func__, #cond))
#else
#define TESS_ASSERT(cond) ((void)sizeof((cond) ? 1 : 0))
#endif

#endif
