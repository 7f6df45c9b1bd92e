/* SPDX-License-Identifier: Apache-2.0
 * What the tests of the command stand on: a folder with a small product,
 * d.lua, and a trace of it, t.lua.  Included by a test's one file. */
#ifndef TESTS_SUPPORT_COMMAND_H
#define TESTS_SUPPORT_COMMAND_H

#include "support/console.h"
#include "support/test.h"

static console c;

static int set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write_product(&c);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

static void expect(const char *args, int status, const char *says) {
  console_says(&c, args, status, says);
}

#endif
