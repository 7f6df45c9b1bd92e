/* SPDX-License-Identifier: Apache-2.0
 * rolling_buffer: a buffer of which each iteration of a loop makes a window
 * keeps what windows share, and wraps around. */
#include "ir/arith/arith.h"
#include "ir/expr.h"
#include "ir/lower/lower.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"

#define ROLLING_BUFFER_SIG(F, S)                                  \
  F(S, IN, BLOCK, block, REQ, "the block that makes the windows") \
  F(S, ATTR, BUFFER, write_buffer_index, REQ,                     \
    "the buffer: which of those it writes, from 0, or its name")

PRIM_DEFINE(
    rolling_buffer, ROLLING_BUFFER_SIG,
    .summary =
        "Let a buffer computed window by window wrap around, and compute "
        "only what is new in each.",
    .rewrite =
        "for t: (for a in 6: X[t * 4 + a] = ..); use X[t * 4 .. + 6]   -> "
        "  for t: (for a in 6, t = 0 or a >= 2: X[(t * 4 + a) % 6] = ..); "
        "use X[.. % 6]",
    .details =
        "1. The block is complete or a reduction, writes each element once, "
        "and\n"
        "   is the only one that writes the buffer, element by element; the\n"
        "   buffer is local to the scope and neither matched nor strided.\n"
        "2. A serial or unrolled loop is the innermost statement around the\n"
        "   block and all that read the buffer.\n"
        "3. In each iteration of it all that is read was made in that "
        "iteration.\n"
        "4. One dimension is written at t * step + a + c: t is that loop's\n"
        "   variable, a that of a loop below which nothing else follows, from "
        "0,\n"
        "   and step is positive. Other dimensions, iters and loops of the "
        "block\n"
        "   do not follow t, and its predicate asks of both only for their "
        "sum.\n"
        "5. Windows of neighbouring iterations overlap: the loop of a is "
        "longer\n"
        "   than step.\n"
        "6. What the block reads is the same in each iteration: made outside "
        "of\n"
        "   the loop, or before it in each iteration by blocks of which that "
        "is\n"
        "   true, too.\n"
        "7. Values are now carried from one iteration to the next, and the\n"
        "   buffer lives outside of the loop. Where loops around run at once,\n"
        "   each of their iterations starts with a window that holds all that "
        "is\n"
        "   read, or has a part of the buffer for itself.\n"
        "The buffer becomes as long as a window in that dimension, and is "
        "indexed\n"
        "by the remainder. In the first iteration the block computes its "
        "window\n"
        "as before, and then only what the window before did not hold. Of "
        "stages\n"
        "that use each other's windows the last is rolled first.\n",
    .refusals = SCH_REASONS(
        SCH_BUFFER_REASONS, SCH_R_BLOCK_IS_ROOT, SCH_R_BLOCK_NOT_COMPLETE,
        SCH_R_BUFFER_STRIDED, SCH_R_INIT_OF_SCOPE, SCH_R_LOOP_NOT_SERIAL,
        SCH_R_NO_READER, SCH_R_OPAQUE_ACCESS, SCH_R_OTHER_STATEMENT,
        SCH_R_OUTPUT_BLOCK, SCH_R_PLACE_NOT_PLAIN, SCH_R_ROLLING_APART,
        SCH_R_ROLLING_CARRIED, SCH_R_ROLLING_INPUT, SCH_R_ROLLING_LOOP,
        SCH_R_ROLLING_PATTERN, SCH_R_ROLLING_SHARED),
    .example = "local c, d = sch:get_block(\"C\"), sch:get_block(\"D\")\n"
               "local i = sch:split(sch:get_loops(d), { 16, 4 })\n"
               "sch:compute_at(c, i)\n"
               "sch:rolling_buffer(c, 0)\n");

typedef struct rolling_buffer_args args;

typedef struct plan {
  sch_state *s;
  ir_stmt block, scope, loop; /* t is the variable of the loop */
  ir_buf buf;
  ir_region write;
  uint32_t dim;
  ir_stmt window; /* the loop of a */
  int64_t size, step;
} plan;

/* ---- the loop ----------------------------------------------------------- */

static bool check_buffer(plan *f) {
  sch_state *s = f->s;
  const ir_program *p = s->p;
  if (sch_alloc_block(p, f->buf) != f->scope)
    return sch_refuse(s, SCH_R_OUTPUT_BLOCK, .s = {f->block}, .buf = f->buf);
  if (sch_has_match(p, f->scope, f->buf))
    return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .buf = f->buf);
  if (p->buf.v[f->buf].strides.n)
    return sch_refuse(s, SCH_R_BUFFER_STRIDED, .buf = f->buf);
  return true;
}

/* The innermost statement around all that access the buffer is a loop in
 * which no value of it is carried on. */
static bool find_loop(plan *f) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  bool read = false;
  f->loop = f->block;
  for (ir_stmt q = f->scope; (q = sch_next_child(p, q, f->scope));)
    if (q != f->block && sch_reads_buf(p, q, f->buf)) {
      f->loop = sch_common(p, f->loop, q);
      read = true;
    }
  if (!read)
    return sch_refuse(s, SCH_R_NO_READER, .s = {f->block}, .buf = f->buf);
  if (!ir_is_loop(p, f->loop))
    return sch_refuse(s, SCH_R_ROLLING_LOOP, .s = {f->block}, .buf = f->buf);
  uint8_t kind = ir_st(p, f->loop)->loop_kind;
  if (kind != IR_SERIAL && kind != IR_UNROLLED)
    return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {f->loop});
  ir_stmt home = lower_buffer_home(p, s->scratch, f->buf);
  if (!home || !ir_is_ancestor(p, f->loop, home))
    return sch_refuse(s, SCH_R_ROLLING_CARRIED, .s = {f->loop}, .buf = f->buf);
  return true;
}

/* ---- the window --------------------------------------------------------- */

static bool no_pattern(plan *f) {
  return sch_refuse(f->s, SCH_R_ROLLING_PATTERN, .s = {f->block, f->loop},
                    .buf = f->buf);
}

static bool uses(const plan *f, ir_expr e, ir_stmt loop) {
  return e && ir_uses_var(f->s->p, e, ir_st(f->s->p, loop)->var);
}

/* The dimension that follows t, as an expression over the loops. */
static bool find_dim(plan *f, ir_expr *index) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  ir_span w = ir_blk(p, f->block)->writes;
  uint32_t ndim = ir_ndim(p, f->buf), found = 0;
  if (w.n != 1) return no_pattern(f);
  f->write = p->region.v[w.at];
  for (uint32_t d = 0; d < ndim; d++) {
    ir_expr at = ir_region_min(p, f->write, d);
    arith_bind(p, s->scratch, f->block, 1, &at);
    if (!ir_is_const(p, ir_region_extent(p, f->write, d), 1))
      return no_pattern(f);
    if (!uses(f, at, f->loop)) continue;
    f->dim = d;
    *index = at;
    found++;
  }
  return found == 1 || no_pattern(f);
}

/* index = t * step + a + others, a of a loop below; others follow neither. */
static bool split_index(plan *f, ir_expr index) {
  const ir_program *p = f->s->p;
  ir_expr atom[16];
  int64_t coef[16], c;
  int n = arith_terms(p, index, 16, atom, coef, &c);
  uint32_t seen = 0;
  for (int i = 0; i < n; i++) {
    if (atom[i] == ir_ref(p, ir_st(p, f->loop)->var)) {
      f->step = coef[i];
      seen++;
    } else if (uses(f, atom[i], f->loop)) {
      return no_pattern(f);
    }
  }
  for (ir_stmt l = ir_st(p, f->block)->parent; l != f->loop;
       l = ir_st(p, l)->parent) {
    int64_t size;
    if (!ir_is_loop(p, l) || !uses(f, index, l)) continue;
    for (int i = 0; i < n; i++)
      if (atom[i] == ir_ref(p, ir_st(p, l)->var) && coef[i] == 1 && !f->window)
        f->window = l;
      else if (uses(f, atom[i], l))
        return no_pattern(f);
    if (f->window != l || !ir_is_const(p, ir_st(p, l)->lo, 0) ||
        !ir_const_int(p, ir_st(p, l)->extent, &size))
      return no_pattern(f);
    f->size = size;
  }
  return (seen == 1 && f->window && f->step > 0) || no_pattern(f);
}

/* Is the iter bound to just that sum? */
static bool is_window_iter(const plan *f, const ir_iter *it, ir_expr index) {
  ir_expr rest = ir_sub(f->s->p, it->bind, index);
  return !uses(f, rest, f->loop) && !uses(f, rest, f->window);
}

/* Nothing else of the block follows t or a. */
static bool check_rest(plan *f, ir_expr index) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  ir_span it = ir_blk(p, f->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter iter = p->iter.v[i];
    if (uses(f, iter.lo, f->loop) || uses(f, iter.extent, f->loop) ||
        ((uses(f, iter.bind, f->loop) || uses(f, iter.bind, f->window)) &&
         (iter.kind != IR_SPATIAL || !is_window_iter(f, &iter, index))))
      return no_pattern(f);
  }
  for (ir_stmt l = ir_st(p, f->block)->parent; l != f->loop;
       l = ir_st(p, l)->parent) {
    const ir_stmt_rec *r = ir_st(p, l);
    if (uses(f, r->lo, f->loop) || uses(f, r->extent, f->loop) ||
        uses(f, r->lo, f->window) || uses(f, r->extent, f->window))
      return no_pattern(f);
  }
  ir_expr pred = ir_blk(p, f->block)->pred;
  if (!pred || (!uses(f, pred, f->loop) && !uses(f, pred, f->window)))
    return true;
  /* The predicate, of the sum and without a, must not know t. */
  ir_var a = ir_st(p, f->window)->var;
  ir_var sum = ir_var_new(p, IR_VAR_FORMAL, 0, IR_INDEX, ir_at(p, index)->lo,
                          ir_at(p, index)->hi);
  ir_expr to = ir_sub(p, ir_ref(p, sum), ir_sub(p, index, ir_ref(p, a)));
  pred = sch_replace_in(s, pred, 1, &a, &to);
  return !uses(f, pred, f->loop) || no_pattern(f);
}

/* ---- what it reads ------------------------------------------------------ */

/* What `reader` reads is the same in each iteration of the loop. */
static bool is_steady(plan *f, ir_stmt reader, uint32_t depth) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  ir_span r = ir_blk(p, reader)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    ir_buf buf = p->region.v[i].buf;
    for (ir_stmt w = f->loop; (w = sch_next_child(p, w, f->loop));) {
      if (w == reader || !sch_writes_buf(p, w, buf)) continue;
      ir_stmt home = lower_buffer_home(p, s->scratch, buf);
      if (!depth || !home || !ir_is_ancestor(p, f->loop, home) ||
          !sch_comes_before(p, w, reader) ||
          !sch_check_movable(s, f->scope, w) || !is_steady(f, w, depth - 1))
        return sch_refuse(s, SCH_R_ROLLING_INPUT, .s = {f->block, f->loop},
                          .buf = buf);
    }
  }
  return true;
}

static bool check(plan *f) {
  ir_expr index = 0;
  if (!sch_check_alone(f->s, f->scope, f->block) ||
      !sch_check_movable(f->s, f->scope, f->block) || !check_buffer(f) ||
      !find_loop(f) || !find_dim(f, &index) || !split_index(f, index) ||
      !check_rest(f, index))
    return false;
  if (f->size <= f->step)
    return sch_refuse(f->s, SCH_R_ROLLING_APART, .s = {f->block, f->loop},
                      .n = {f->size, f->step});
  return is_steady(f, f->block, 8);
}

/* ---- the change --------------------------------------------------------- */

/* In the first iteration all, then what the window before did not hold. */
static void skip_shared(plan *f) {
  ir_program *p = f->s->p;
  ir_expr t = ir_ref(p, ir_st(p, f->loop)->var);
  ir_expr a = ir_ref(p, ir_st(p, f->window)->var);
  ir_expr first = ir_binary(p, IR_EQ, t, ir_st(p, f->loop)->lo);
  ir_expr new = ir_binary(p, IR_LE, ir_index(p, f->size - f->step), a);
  ir_expr cond = ir_binary(p, IR_OR, first, new);
  ir_expr pred = ir_and(p, ir_blk(p, f->block)->pred, cond);
  ir_blk(p, f->block)->pred = ir_is_const(p, pred, 1) ? 0 : pred;
}

static ir_expr wrap(const plan *f, ir_expr index) {
  return ir_binary(f->s->p, IR_MOD, index, ir_index(f->s->p, f->size));
}

static ir_expr wrapped_load(ir_subst *sub, ir_buf buf, uint32_t n,
                            const ir_expr *idx) {
  const plan *f = sub->ud;
  if (buf != f->buf) return 0;
  ir_expr *at = arena_array(sub->scratch, ir_expr, n);
  memcpy(at, idx, n * sizeof *at);
  at[f->dim] = wrap(f, at[f->dim]);
  return ir_load(sub->p, buf, n, at);
}

static void wrap_store(const plan *f, ir_stmt st) {
  ir_program *p = f->s->p;
  ir_span idx = ir_st(p, st)->idx;
  ir_expr *at = arena_array(f->s->scratch, ir_expr, idx.n);
  memcpy(at, p->arg.v + idx.at, idx.n * sizeof *at);
  at[f->dim] = wrap(f, at[f->dim]);
  idx = ir_arg_span(p, idx.n, at);
  ir_st(p, st)->idx = idx;
}

/* A region of more than one index may wrap: then it is all there is. */
static ir_region wrap_region(const plan *f, ir_region r) {
  ir_program *p = f->s->p;
  uint32_t n = ir_ndim(p, f->buf);
  ir_expr *box = arena_array(f->s->scratch, ir_expr, 2 * n);
  memcpy(box, p->arg.v + r.at, 2 * n * sizeof *box);
  if (ir_is_const(p, box[2 * f->dim + 1], 1)) {
    box[2 * f->dim] = wrap(f, box[2 * f->dim]);
  } else {
    box[2 * f->dim] = ir_index(p, 0);
    box[2 * f->dim + 1] = ir_index(p, f->size);
  }
  return ir_region_new(p, f->buf, box);
}

static void wrap_regions(const plan *f, ir_span r) {
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (f->s->p->region.v[i].buf == f->buf) {
      ir_region to = wrap_region(f, f->s->p->region.v[i]);
      f->s->p->region.v[i] = to;
    }
}

static void wrap_accesses(plan *f) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  uint32_t n = ir_ndim(p, f->buf);
  ir_expr *shape = arena_array(s->scratch, ir_expr, n);
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  sub.load = wrapped_load;
  sub.ud = f;
  for (ir_stmt q = f->scope; q; q = ir_next(p, q, f->scope)) {
    if (ir_is_block(p, q)) {
      wrap_regions(f, ir_blk(p, q)->reads);
      wrap_regions(f, ir_blk(p, q)->writes);
    }
    if (q == f->scope) continue;
    ir_subst_head(&sub, q, true);
    if (ir_st(p, q)->kind == IR_STORE && ir_st(p, q)->buf == f->buf)
      wrap_store(f, q);
  }
  for (uint32_t d = 0; d < n; d++) shape[d] = ir_dim(p, f->buf, d);
  shape[f->dim] = ir_index(p, f->size);
  ir_span span = ir_arg_span(p, n, shape);
  p->buf.v[f->buf].shape = span;
}

/* A window as long as the buffer need not wrap. */
static bool is_shorter(const plan *f) {
  int64_t size;
  return !ir_const_int(f->s->p, ir_dim(f->s->p, f->buf, f->dim), &size) ||
         f->size < size;
}

static bool change(sch_state *s, void *ud) {
  const args *a = ud;
  plan f = {.s = s, .block = a->block, .scope = ir_scope_of(s->p, a->block)};
  if (!sch_find_buffer(s, a->block, a->write_buffer_index, SCH_WRITES, NULL,
                       NULL, &f.buf) ||
      !check(&f))
    return false;
  skip_shared(&f);
  if (is_shorter(&f)) wrap_accesses(&f);
  s->p->edits++;
  return true;
}

/* Where a loop would lose its freedom of races it is the windows that its
 * iterations would share. */
static bool rolling_buffer_apply(sch_state *s, args *a) {
  if (sch_change_unless(s, change, a, a->block, SCH_R_ROLLING_SHARED))
    return true;
  ir_stmt outer = s->refusal.s[0];
  ir_buf buf;
  return s->refusal.reason == SCH_R_ROLLING_SHARED &&
         sch_find_buffer(s, a->block, a->write_buffer_index, SCH_WRITES, NULL,
                         NULL, &buf) &&
         sch_refuse(s, SCH_R_ROLLING_SHARED, .s = {a->block, outer},
                    .buf = buf);
}
