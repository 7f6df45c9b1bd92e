/* SPDX-License-Identifier: Apache-2.0
 * Unrolls loops fully: those of kind IR_UNROLLED; below a loop or block
 * annotated "pragma_auto_unroll_max_step" = n, innermost loops of at most n
 * stores once unrolled; and short ones anywhere. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

/* Loops of more steps stay, whatever is annotated. */
#define MAX_STEPS 8192
/* Up to this many are unrolled without an annotation: scalar replacement needs
 * constant indices. */
#define FEW_STEPS 16

typedef struct unroll {
  ir_program *p;
  arena *scratch;
} unroll;

/* One copy a step, the variable being that step's value. */
static void replicate_body(unroll *u, ir_stmt loop, int64_t extent) {
  ir_program *p = u->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  for (int64_t i = 0; i < extent; i++) {
    ir_expr at = ir_add(p, r.lo, ir_index(p, i));
    for (ir_stmt c = ir_st(p, loop)->body; c; c = ir_st(p, c)->next) {
      ir_subst sub;
      ir_subst_init(&sub, p, u->scratch);
      ir_subst_var(&sub, r.var, at);
      ir_stmt copy = ir_clone_stmt(&sub, c, NULL);
      ir_insert_before(p, loop, copy);
    }
  }
  ir_detach(p, loop);
  ir_kill(p, loop);
}

static int64_t auto_step(const ir_program *p, ir_stmt s, int64_t outer) {
  const ir_anno *a = ir_anno_get(p, s, "pragma_auto_unroll_max_step");
  if (!a || p->value.v[a->val].tag != IR_VAL_INT) return outer;
  return p->value.v[a->val].i;
}

/* Unrolls below and at s; the number of stores that a run of s makes, or -1
 * when a loop is left in it. */
static int64_t unroll_below(unroll *u, ir_stmt s, int64_t max) {
  ir_program *p = u->p;
  int64_t steps = 0, extent = 0;
  bool looped = false;
  if (ir_is_loop(p, s) || ir_is_block(p, s)) max = auto_step(p, s, max);
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      int64_t n = unroll_below(u, c, max);
      if (n < 0)
        looped = true;
      else
        steps += n;
    }
  const ir_stmt_rec r = *ir_st(p, s);
  if (r.kind == IR_STORE || r.kind == IR_EVALUATE) return 1;
  if (r.kind != IR_LOOP) return looped ? -1 : steps;
  bool constant = ir_const_int(p, r.extent, &extent);
  bool asked = r.loop_kind == IR_UNROLLED;
  bool wanted = asked || (r.loop_kind == IR_SERIAL && !looped);
  int64_t limit = asked || max > MAX_STEPS ? MAX_STEPS
                  : max > FEW_STEPS        ? max
                                           : FEW_STEPS;
  if (looped) steps = 1;
  if (constant && wanted && extent * (steps ? steps : 1) <= limit) {
    replicate_body(u, s, extent);
    return looped ? -1 : extent * steps;
  }
  if (asked) ir_st(p, s)->loop_kind = IR_SERIAL;
  return -1;
}

LOWER_PASS(unroll) {
  (void)o, (void)e;
  unroll u = {p, scratch};
  unroll_below(&u, ir_entry(p)->root, 0);
  return TESS_OK;
}
