/* SPDX-License-Identifier: Apache-2.0
 * A scheduled program against the one it was made from. */
#ifndef SUPPORT_MOVED_H
#define SUPPORT_MOVED_H

#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "support/scheduled.h"

/* The oracle finds that the program as it stands computes what the first one
 * did, for some inputs, without a race, an access that the blocks' regions do
 * not allow, or a read of what nobody wrote. */
void moved_equal(scheduled *t);
/* The same as a question; *why gets the oracle's sentence. */
bool moved_is_equal(scheduled *t, const char **why);

/* While describing: one-dimensional buffers and blocks that read them.  The
 * block stores at `at` (0: its iter) what it reads of `from` at iter + shift,
 * plus the same of `other` (0: none). */
ir_buf moved_buf(scheduled *t, const char *name, ir_role role, int64_t n);
ir_stmt moved_block(scheduled *t, const char *name, int64_t n, ir_buf to,
                    ir_expr at, ir_buf from, int64_t shift, ir_buf other);
/* While describing: block b, the only one in its loops, joins block a at the
 * end of a's innermost loop, its iters bound to a's loops. */
void moved_join(scheduled *t, ir_stmt a, ir_stmt b);

#endif
