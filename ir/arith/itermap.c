/* SPDX-License-Identifier: Apache-2.0
 * Affine iteration maps: entry points for classifying a map. */
#include "ir/arith/arith.h"
#include "ir/arith/imap.h"
#include "ir/edit.h"

/* The properties of the map; stops once those in `enough` are proven. */
static arith_map_kind map_classify(imap *m, arith_map_kind enough,
                                   const ir_expr *extent) {
  arith_map_kind kind = imap_decide(m, extent);
  if ((kind & enough) == enough) return kind;
  imap_reduce(m);
  arith_map_kind reduced = imap_decide(m, extent);
  return reduced != ARITH_MAP_NONE ? reduced : kind;
}

static arith_map_kind
map_of_bindings(ir_program *p, arena *scratch, arith_map_kind enough,
                uint32_t nin, const ir_var *in, const ir_expr *input_extent,
                uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                const ir_expr *extent, ir_expr pred) {
  arena_mark mark = arena_get_mark(scratch);
  ir_mark made = ir_get_mark(p);
  imap *m = arena_alloc(scratch, sizeof *m);
  arith_map_kind kind = ARITH_MAP_NONE;
  if (imap_init(m, p, scratch, nin, in, input_extent, nout, bind, lo, pred, 0))
    kind = map_classify(m, enough, extent);
  ir_rollback(p, made);
  arena_reset_to(scratch, mark);
  return kind;
}

arith_map_kind arith_map(ir_program *p, arena *scratch, uint32_t nin,
                         const ir_var *in, const ir_expr *input_extent,
                         uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                         const ir_expr *extent, ir_expr pred) {
  return map_of_bindings(p, scratch, ARITH_MAP_BIJECTIVE, nin, in, input_extent,
                         nout, bind, lo, extent, pred);
}

bool arith_map_is(ir_program *p, arena *scratch, arith_map_kind wanted,
                  uint32_t nin, const ir_var *in, const ir_expr *input_extent,
                  uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                  const ir_expr *extent, ir_expr pred) {
  arith_map_kind kind = map_of_bindings(
      p, scratch, wanted, nin, in, input_extent, nout, bind, lo, extent, pred);
  return (kind & wanted) == wanted;
}
