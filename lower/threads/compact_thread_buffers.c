/* SPDX-License-Identifier: Apache-2.0
 * Runs compact_buffers again where kernels were formed: a thread-private
 * buffer shrinks to the footprint of one thread.  Refuses private buffers
 * whose shape is not constant, since a device cannot allocate them. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

static tess_status check_constant_shapes(const ir_program *p, ir_stmt thread,
                                         err_state *e) {
  for (ir_stmt s = thread; s; s = ir_next(p, s, thread)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_ALLOCATE && !lower_has_constant_shape(p, r->alloc))
      return err_set(e, TESS_UNSUPPORTED,
                     "%s is private to a thread, and its shape is not constant",
                     ir_text(p, p->buf.v[r->alloc].name));
  }
  return TESS_OK;
}

LOWER_PASS(compact_thread_buffers) {
  bool compacted = false;
  tess_status st = TESS_OK;
  LOWER_EACH(p, s) {
    if (!ir_is_loop(p, s) || ir_st(p, s)->loop_kind != IR_THREAD) continue;
    if (!compacted) st = lower_pass_compact_buffers(p, scratch, o, e);
    compacted = true;
    if (!st) st = check_constant_shapes(p, s, e);
    if (st) break;
  }
  return st;
}
