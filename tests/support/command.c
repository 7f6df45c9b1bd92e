/* SPDX-License-Identifier: Apache-2.0
 * Running the command on a small product, and what it says. */
#include "support/console.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static const char description[] =
    "local ops = require 'tessera.ops'\n"
    "return { program = ops.matmul { m = 16, n = 16, k = 16 },\n"
    "         min_time = 0.002, batch = 4 }\n";

static const char trace[] =
    "-- tessera trace 1\n"
    "local ts = require \"tessera\"\n"
    "local b0 = sch:get_block{name = \"C\"}\n"
    "local l1, l2, l3 = sch:get_loops{block = b0}\n"
    "local v4, v5 = sch:sample_perfect_tile{loop = l1, n = 2, "
    "max_innermost_factor = 16, decision = {2, 8}}\n"
    "local l6, l7 = sch:split{loop = l1, factors = {v4, v5}}\n"
    "sch:parallel{loop = l6}\n";

void console_write_product(console *c) {
  console_write(c, "d.lua", description);
  console_write(c, "t.lua", trace);
}

void console_says(console *c, const char *args, int status, const char *says) {
  int got = console_run(c, "%s %s", CONSOLE_TESSERA, args);
  const char *text = status ? c->err : c->out;
  if (got != status)
    fail_msg("tessera %s: status %d, not %d: %s", args, got, status, c->err);
  if (!strstr(text, says))
    fail_msg("tessera %s: '%s' is not in: %s", args, says, text);
  if (!status) return;
  const char *line = strstr(c->err, "tessera: ");
  assert_non_null(line);
  if (strchr(line, '\n') != c->err + strlen(c->err) - 1)
    fail_msg("tessera %s: not one line: %s", args, c->err);
}
