/* SPDX-License-Identifier: Apache-2.0
 * Questions about maps from loops to bindings. */
#include "ir/arith/imap.h"

arith_map_kind arith_map(ir_program *p, arena *scratch, uint32_t nin,
                         const ir_var *in, const ir_expr *input_extent,
                         uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                         const ir_expr *extent, ir_expr pred) {
  arena_mark mark = arena_get_mark(scratch);
  ir_mark made = ir_get_mark(p);
  imap *m = arena_alloc(scratch, sizeof *m);
  arith_map_kind kind = ARITH_MAP_NONE;
  if (imap_init(m, p, scratch, nin, in, input_extent, nout, bind, lo, pred,
                0)) {
    kind = imap_decide(m, extent);
    if (kind != ARITH_MAP_BIJECTIVE) {
      imap_reduce(m);
      arith_map_kind reduced = imap_decide(m, extent);
      if (reduced != ARITH_MAP_NONE) kind = reduced;
    }
  }
  ir_forget_since(p, made);
  arena_reset_to(scratch, mark);
  return kind;
}
