/* SPDX-License-Identifier: Apache-2.0
 * Must-access by isl: do the loops around a block cover all of a box? */
#include "ir/edit.h"
#include "schedule/dependence/polyhedra_isl.h"

/* Iterations of block k of the pair to the points of n ranges, min and extent
 * alternately in p->arg at `at`. */
static isl_set *points(isl_ctx *ctx, const poly_pair *x, int k, uint32_t at,
                       bool *vague) {
  poly_access a = {.box = true, .at = at, .when = x->b[k].when};
  return isl_map_range(poly_accesses(ctx, x, k, &a, vague));
}

bool poly_reaches_all(sch_state *s, ir_stmt block, ir_stmt above, uint32_t n,
                      const ir_expr *part, const ir_expr *box) {
  ir_program *p = s->p;
  poly_pair x;
  bool vague = false;
  if (s->quick) return false;
  poly_instances_in(s, block, above, &x);
  x.ndim = n;
  ir_span parts = ir_arg_span(p, 2 * n, part), all = ir_arg_span(p, 2 * n, box);
  isl_ctx *ctx = poly_context(s);
  if (!ctx) return false;
  isl_set *reached = points(ctx, &x, 0, parts.at, &vague);
  isl_set *wanted = points(ctx, &x, 1, all.at, &vague);
  isl_bool all_in = isl_set_is_subset(wanted, reached);
  isl_set_free(wanted);
  isl_set_free(reached);
  return !vague && all_in == isl_bool_true;
}
