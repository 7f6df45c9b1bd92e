/* SPDX-License-Identifier: Apache-2.0
 * Removes no-ops: loops of no iteration, conditionals on constants, empty
 * loops, conditionals, lets and allocations; inlines loops of one iteration. */
#include "ir/edit.h"
#include "lower/pass.h"

/* A loop of one iteration becomes its body at the lower bound. */
static void drop_loop(ir_program *p, arena *scratch, ir_stmt s) {
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_subst_var(&sub, ir_st(p, s)->var, ir_st(p, s)->lo);
  for (ir_stmt t = ir_next(p, s, s); t; t = ir_next(p, t, s))
    ir_subst_head(&sub, t, true);
  lower_splice(p, s);
}

/* A conditional on a constant becomes the branch that is taken. */
static void fold_branch(ir_program *p, ir_stmt s, bool yes) {
  if (!yes) {
    while (ir_st(p, s)->body) {
      ir_stmt child = ir_st(p, s)->body;
      ir_detach(p, child);
      ir_kill(p, child);
    }
    while (ir_st(p, s)->alt) {
      ir_stmt child = ir_st(p, s)->alt;
      ir_detach(p, child);
      ir_append(p, s, child);
    }
  }
  lower_splice(p, s);
}

static bool is_droppable_loop(const ir_program *p, const ir_stmt_rec *r) {
  return r->loop_kind != IR_THREAD && ir_is_const(p, r->extent, 1);
}

static void remove_stmt(ir_program *p, ir_stmt s) {
  ir_detach(p, s);
  ir_kill(p, s);
}

/* One statement, after everything nested in it. */
static void simplify_stmt(ir_program *p, arena *scratch, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(p, s);
  int64_t v;
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    if (!r.body || (ir_const_int(p, r.extent, &v) && v <= 0))
      remove_stmt(p, s);
    else if (is_droppable_loop(p, &r))
      drop_loop(p, scratch, s);
    break;
  case IR_IF:
    if (ir_const_int(p, r.cond, &v))
      fold_branch(p, s, v != 0);
    else if (!r.body && !r.alt)
      remove_stmt(p, s);
    break;
  case IR_ALLOCATE:
  case IR_LET:
    if (!r.body) remove_stmt(p, s);
    break;
  default: break;
  }
}

static void simplify_below(ir_program *p, arena *scratch, ir_stmt s) {
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      simplify_below(p, scratch, c);
      simplify_stmt(p, scratch, c);
    }
}

LOWER_PASS(remove_no_op) {
  (void)o, (void)e;
  simplify_below(p, scratch, ir_entry(p)->root);
  return TESS_OK;
}
