/* SPDX-License-Identifier: Apache-2.0
 * Serializes thread-bound loops for targets without threads (the option
 * no_threads): until kernels are formed a thread loop has the semantics of a
 * loop.  Virtual threads stay, for inject_virtual_thread. */
#include "ir/edit.h"
#include "lower/pass.h"

LOWER_PASS(serialize_threads) {
  (void)scratch, (void)e;
  if (!o->no_threads) return TESS_OK;
  LOWER_EACH(p, s) {
    ir_stmt_rec *r = ir_st(p, s);
    if (!ir_is_thread_loop(r) || lower_is_vthread(p, s)) continue;
    r->loop_kind = IR_SERIAL;
    r->thread = 0;
  }
  return TESS_OK;
}
