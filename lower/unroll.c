/* SPDX-License-Identifier: Apache-2.0
 * Unrolls loops fully: those of kind IR_UNROLLED; below a loop or block
 * annotated "pragma_auto_unroll_max_step" = n, innermost loops of at most n
 * stores once unrolled; and short ones anywhere.  A cost model of code size
 * bounds them all. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

/* Loops of more steps stay, whatever is annotated. */
#define MAX_STEPS 8192
/* Up to this many are unrolled without an annotation: scalar replacement needs
 * constant indices. */
#define FEW_STEPS 16
/* Machine instructions that a loop may become, as they are estimated here.
 * Short ones, and what a device's thread keeps in registers, a share of the
 * instruction cache; other annotated ones, beyond what more of it gains: LLVM
 * takes superlinear time; where they only move data or set it, which saves
 * branches alone, some register files' worth; where the schedule asks, what
 * compiles in a second or two. */
#define MAX_CODE_SHORT 4096
#define MAX_CODE_ANNOTATED 512
#define MAX_CODE_MOVES 128
#define MAX_CODE_ASKED 32768

typedef struct unroll {
  ir_program *p;
  arena *scratch;
  uint32_t vector_bytes; /* of a register */
  bool threads;          /* below a loop that is bound to them */
  int64_t code;          /* of the statement that is weighed */
  bool moves;            /* it computes nothing */
} unroll;

/* ---- the size of code --------------------------------------------------- */

static int64_t registers_of(const unroll *u, tess_dtype t) {
  int64_t bytes = (int64_t)t.lanes * t.bits / 8;
  return bytes > u->vector_bytes
             ? (bytes + u->vector_bytes - 1) / u->vector_bytes
             : 1;
}

/* An operation is an instruction a register.  Scalar index arithmetic and ramps
 * become constants and addressing modes, and broadcasts are hoisted or folded
 * into what uses them. */
static void weigh_node(const ir_program *p, ir_expr e, void *ud) {
  enum { CALL = 8 };
  unroll *u = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_VAR || n->op == IR_INT || n->op == IR_REAL ||
      n->op == IR_RAMP || n->op == IR_BROADCAST)
    return;
  if (n->dtype.code == TESS_DTYPE_INT && n->dtype.bits == 64 &&
      n->dtype.lanes == 1)
    return;
  u->code += registers_of(u, n->dtype) * (n->op == IR_CALL ? CALL : 1);
  u->moves &= n->op == IR_LOAD;
}

/* What a run of a statement is once what is below it is unrolled. */
typedef struct unrolled {
  int64_t steps; /* stores that it makes */
  int64_t code;  /* instructions */
  bool looped;   /* a loop is left in it */
  bool moves;    /* it stores constants and what it loads, no more */
} unrolled;

static unrolled weigh_stmt(unroll *u, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(u->p, s);
  arena_mark mark = arena_get_mark(u->scratch);
  ir_expr e = r->kind == IR_STORE ? r->value : r->eval;
  u->code = registers_of(u, ir_at(u->p, e)->dtype);
  u->moves = r->kind == IR_STORE;
  ir_visit(u->p, u->scratch, e, weigh_node, u);
  arena_reset_to(u->scratch, mark);
  return (unrolled){1, u->code, false, u->moves};
}

/* ---- unrolling ---------------------------------------------------------- */

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

/* How much code a loop may become. */
static int64_t code_limit(const unroll *u, const unrolled *body, bool asked,
                          bool is_short) {
  if (asked) return MAX_CODE_ASKED;
  if (is_short || u->threads) return MAX_CODE_SHORT;
  return body->moves ? MAX_CODE_MOVES : MAX_CODE_ANNOTATED;
}

static bool is_wanted(const unroll *u, const ir_stmt_rec *loop,
                      const unrolled *body, int64_t extent, int64_t max) {
  bool asked = loop->loop_kind == IR_UNROLLED;
  if (!asked && (loop->loop_kind != IR_SERIAL || body->looped)) return false;
  if (extent <= 1) return true;
  int64_t steps = body->steps && !body->looped ? body->steps : 1;
  bool is_short = extent <= FEW_STEPS / steps;
  int64_t limit = asked || max > MAX_STEPS ? MAX_STEPS
                  : is_short               ? FEW_STEPS
                                           : max;
  int64_t code = code_limit(u, body, asked, is_short);
  return extent <= limit / steps &&
         extent <= code / (body->code ? body->code : 1);
}

static unrolled unroll_loop(unroll *u, ir_stmt s, unrolled body, int64_t max) {
  ir_program *p = u->p;
  enum { LOOP = 3 }; /* increment, compare, branch */
  int64_t extent = 0;
  const ir_stmt_rec r = *ir_st(p, s);
  if (ir_anno_get(p, s, LOWER_TRANSPOSE))
    return (unrolled){1, body.code, true, false};
  if (ir_const_int(p, r.extent, &extent) &&
      is_wanted(u, &r, &body, extent, max)) {
    replicate_body(u, s, extent);
    body.steps *= extent;
    body.code *= extent;
    return body;
  }
  if (r.loop_kind == IR_UNROLLED) ir_st(p, s)->loop_kind = IR_SERIAL;
  body.code += LOOP;
  body.looped = true;
  return body;
}

/* Unrolls below and at s, innermost loops first. */
static unrolled unroll_below(unroll *u, ir_stmt s, int64_t max) {
  ir_program *p = u->p;
  unrolled sum = {.moves = true};
  bool outside = u->threads;
  /* The code that an instruction replaces is not emitted. */
  if (ir_st(p, s)->kind == IR_IF && ir_is_instead(p, ir_st(p, s)->cond))
    return (unrolled){1, 1, true, false};
  if (ir_is_loop(p, s) || ir_is_block(p, s)) max = auto_step(p, s, max);
  u->threads |= ir_is_thread_loop(ir_st(p, s));
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      unrolled one = unroll_below(u, c, max);
      sum.steps += one.steps;
      sum.code += one.code;
      sum.looped |= one.looped;
      sum.moves &= one.moves;
    }
  u->threads = outside;
  ir_kind kind = ir_st(p, s)->kind;
  if (kind == IR_STORE || kind == IR_EVALUATE) return weigh_stmt(u, s);
  return kind == IR_LOOP ? unroll_loop(u, s, sum, max) : sum;
}

LOWER_PASS(unroll) {
  enum { LEAST_BYTES = 16 };
  unroll u = {.p = p,
              .scratch = scratch,
              .vector_bytes = o->vector_bytes > LEAST_BYTES ? o->vector_bytes
                                                            : LEAST_BYTES};
  unroll_below(&u, ir_entry(p)->root, 0);
  return lower_pass_remove_no_op(p, scratch, o, e); /* what copies decide */
}
