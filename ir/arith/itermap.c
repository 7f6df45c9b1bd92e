/* SPDX-License-Identifier: Apache-2.0
 * Questions about maps from loops to bindings. */
#include "ir/arith/arith.h"
#include "ir/arith/imap.h"
#include "ir/edit.h"

/* What the map is; it is enough to find that it is `enough`. */
static arith_map_kind decide(imap *m, arith_map_kind enough,
                             const ir_expr *extent) {
  arith_map_kind kind = imap_decide(m, extent);
  if ((kind & enough) == enough) return kind;
  imap_reduce(m);
  arith_map_kind reduced = imap_decide(m, extent);
  return reduced != ARITH_MAP_NONE ? reduced : kind;
}

static arith_map_kind find(ir_program *p, arena *scratch, arith_map_kind enough,
                           uint32_t nin, const ir_var *in,
                           const ir_expr *input_extent, uint32_t nout,
                           const ir_expr *bind, const ir_expr *lo,
                           const ir_expr *extent, ir_expr pred) {
  arena_mark mark = arena_get_mark(scratch);
  ir_mark made = ir_get_mark(p);
  imap *m = arena_alloc(scratch, sizeof *m);
  arith_map_kind kind = ARITH_MAP_NONE;
  if (imap_init(m, p, scratch, nin, in, input_extent, nout, bind, lo, pred, 0))
    kind = decide(m, enough, extent);
  ir_forget_since(p, made);
  arena_reset_to(scratch, mark);
  return kind;
}

arith_map_kind arith_map(ir_program *p, arena *scratch, uint32_t nin,
                         const ir_var *in, const ir_expr *input_extent,
                         uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                         const ir_expr *extent, ir_expr pred) {
  return find(p, scratch, ARITH_MAP_BIJECTIVE, nin, in, input_extent, nout,
              bind, lo, extent, pred);
}

bool arith_map_is(ir_program *p, arena *scratch, arith_map_kind wanted,
                  uint32_t nin, const ir_var *in, const ir_expr *input_extent,
                  uint32_t nout, const ir_expr *bind, const ir_expr *lo,
                  const ir_expr *extent, ir_expr pred) {
  arith_map_kind kind = find(p, scratch, wanted, nin, in, input_extent, nout,
                             bind, lo, extent, pred);
  return (kind & wanted) == wanted;
}
