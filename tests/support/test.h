/* SPDX-License-Identifier: Apache-2.0
 * What every cmocka test includes first: cmocka, and a heap that fails on
 * command and notices what was not given back. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/fault.h"
#include "base/mem.h"

/* A checked build, or one under a sanitizer, sees what one case does wrong and
 * is up to twelve times slower: there a test does everything, but not often,
 * and leaves what is a question of many runs (does a search converge, is a
 * model better than none?) to the optimised build.  checks.lua tells tests in
 * Lua. */
#if TESS_CHECKED || defined __SANITIZE_ADDRESS__ || \
    defined __SANITIZE_THREAD__
#define TEST_CHECKED 1
#else
#define TEST_CHECKED 0
#endif
/* How many random cases a test draws: all of them in the optimised build. */
#define TEST_DRAWS(n) (TEST_CHECKED ? (n) / 8 : (n))
/* Under TSan only what runs on several threads is run. */
#ifdef __SANITIZE_THREAD__
#define TEST_THREADS_ONLY 1
#else
#define TEST_THREADS_ONLY 0
#endif

/* A heap over a failing allocator; test_heap_start(&t, 0) before use,
 * test_heap_end(&t) asserts that all was given back, and undamaged. */
typedef struct test_heap {
  fault_alloc fault;
  mem_heap heap;
} test_heap;

void test_heap_start(test_heap *t, size_t cap);
void test_heap_end(test_heap *t);

/* Runs fn under mem_protect with the 1st, then the 2nd, ... allocation
 * failing until a run meets no failure; every failing run must end with
 * TESS_NOMEM.  `reset` (may be NULL) runs after each.  Gives the number of
 * failing runs. */
uint32_t test_each_failure(test_heap *t, tess_status (*fn)(void *ud),
                           void (*reset)(void *ud), void *ud);

/* Notes that something was refused for this reason in a test which saw that
 * program and trace stayed as they were; schedule.refusals asks for all.
 * support/checks.lua does so, too. */
void test_shown(const char *reason);

#endif
