/* SPDX-License-Identifier: Apache-2.0
 * rolling_buffer: reuses the overlap of sliding windows between iterations, in
 * a circular buffer. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"
#include "schedule/analysis/rolled.h"
#include "schedule/analysis/sliding_window.h"

#define ROLLING_BUFFER_SIG(F, S)                                  \
  F(S, IN, BLOCK, block, REQ, "the block that makes the windows") \
  F(S, ATTR, BUFFER, write_buffer_index, REQ,                     \
    "the buffer: which of those it writes, from 0, or its name")  \
  F(S, IN, LOOP, loop, OPT,                                       \
    "the loop to roll over; none: the outermost that can be")

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
        "2. The innermost statement around the block and all that read the\n"
        "   buffer is a loop; it, the loop rolled over and those between run\n"
        "   in order, serial or unrolled.\n"
        "3. In each iteration of the innermost of them all that is read was\n"
        "   made in that iteration.\n"
        "4. One dimension is written at s(t) + a + c: t is the variable of "
        "the\n"
        "   loop rolled over, s a sum of positive multiples of t and of "
        "t * k // d,\n"
        "   which grows by step at most; a is that of a loop below, from 0, "
        "and\n"
        "   loops below show in nothing else there.  Other dimensions, iters "
        "and\n"
        "   loops of the block do not follow t, and its predicate asks of t "
        "and a\n"
        "   only for that sum.\n"
        "5. Windows of neighbouring iterations overlap: the loop of a is "
        "longer\n"
        "   than step.\n"
        "6. What the block reads is the same in each iteration: made outside "
        "of\n"
        "   the loop, or before it in each iteration by blocks of which that "
        "is\n"
        "   true, too; these may have been rolled, if they could be after "
        "it.\n"
        "7. Values are now carried from one iteration to the next, and the\n"
        "   buffer lives outside of the loop. Where loops around run in "
        "parallel,\n"
        "   each of their iterations starts with a window that holds all that "
        "is\n"
        "   read, or has a part of the buffer for itself.\n"
        "The buffer becomes as long as a window in that dimension, and is "
        "indexed\n"
        "by the remainder. In the first iteration the block computes its "
        "window\n"
        "as before, and then only what the window before did not hold; so it "
        "does\n"
        "where other dimensions move with loops further in, in which the "
        "buffer\n"
        "stays as it was. Without a loop given it is the outermost for which\n"
        "2 to 7 hold: where loops around it are to run in parallel, say so "
        "first, "
        "or\n"
        "give one. Stages that use each other's windows are rolled in any "
        "order.\n",
    .refusals = SCH_REASONS(
        SCH_BUFFER_REASONS, SCH_R_BLOCK_IS_ROOT, SCH_R_BLOCK_NOT_COMPLETE,
        SCH_R_BUFFER_STRIDED, SCH_R_INIT_OF_SCOPE, SCH_R_LOOP_NOT_SERIAL,
        SCH_R_NO_READER, SCH_R_OPAQUE_ACCESS, SCH_R_OTHER_STATEMENT,
        SCH_R_OUTPUT_BLOCK, SCH_R_PLACE_NOT_PLAIN, SCH_R_ROLLING_NO_OVERLAP,
        SCH_R_ROLLING_CARRIED, SCH_R_ROLLING_INPUT, SCH_R_ROLLING_LOOP,
        SCH_R_ROLLING_PATTERN, SCH_R_ROLLING_SHARED),
    .example = "local c, d = sch:get_block(\"C\"), sch:get_block(\"D\")\n"
               "local i = sch:split(sch:get_loops(d), { 16, 4 })\n"
               "sch:compute_at(c, i)\n"
               "sch:rolling_buffer(c, 0)\n");

typedef struct rolling_buffer_args args;

typedef struct plan {
  sch_state *s;
  ir_stmt block, scope, common; /* common: around all that access the buffer */
  ir_buf buf;
  ir_region write;
  ir_stmt only;  /* the loop to roll over, 0: not given */
  ir_stmt least; /* else it is this or one further in; 0: any */
  sch_slide roll;
  uint32_t ninner;
  sch_slide *inner; /* between that loop and the block, in other dimensions */
} plan;

/* ---- the loops ---------------------------------------------------------- */

static bool rolling_check_buffer(plan *f) {
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

static bool check_serial(plan *f, ir_stmt loop) {
  uint8_t kind = ir_st(f->s->p, loop)->loop_kind;
  return kind == IR_SERIAL || kind == IR_UNROLLED ||
         sch_refuse(f->s, SCH_R_LOOP_NOT_SERIAL, .s = {loop});
}

/* The innermost statement around all that access the buffer is a loop in
 * which no value of it is carried on. */
static bool find_common_loop(plan *f) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  bool read = false;
  f->common = f->block;
  for (ir_stmt q = f->scope; (q = sch_next_child(p, q, f->scope));)
    if (q != f->block && sch_reads_buf(p, q, f->buf)) {
      f->common = sch_common(p, f->common, q);
      read = true;
    }
  if (!read)
    return sch_refuse(s, SCH_R_NO_READER, .s = {f->block}, .buf = f->buf);
  if (!ir_is_loop(p, f->common))
    return sch_refuse(s, SCH_R_ROLLING_LOOP, .s = {f->block}, .buf = f->buf);
  if (!check_serial(f, f->common)) return false;
  ir_stmt lifetime = ir_lifetime_scope(p, s->scratch, f->buf);
  if (!lifetime || !ir_is_ancestor(p, f->common, lifetime))
    return sch_refuse(s, SCH_R_ROLLING_CARRIED, .s = {f->common},
                      .buf = f->buf);
  return true;
}

/* ---- what it reads ------------------------------------------------------ */

/* What `reader` reads is the same in each iteration of the loop. */
static bool is_steady(plan *f, ir_stmt reader, uint32_t depth) {
  sch_state *s = f->s;
  ir_program *p = s->p;
  ir_stmt loop = f->roll.loop;
  ir_span r = ir_blk(p, reader)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    ir_buf buf = p->region.v[i].buf;
    for (ir_stmt w = loop; (w = sch_next_child(p, w, loop));) {
      if (w == reader || !sch_writes_buf(p, w, buf)) continue;
      ir_stmt lifetime = ir_lifetime_scope(p, s->scratch, buf);
      if (!depth || !lifetime || !ir_is_ancestor(p, loop, lifetime) ||
          !sch_comes_before(p, w, reader) || !sch_check_movable(s, f->scope, w))
        return sch_refuse(s, SCH_R_ROLLING_INPUT, .s = {reader, loop},
                          .buf = buf);
      if (!is_steady(f, w, depth - 1)) return false;
    }
  }
  return true;
}

/* ---- which loop --------------------------------------------------------- */

/* In other dimensions, too, what a window shares with the one before is there.
 * The buffer stays as long as it was in these: the next iteration of the loop
 * rolled over reads all of it. */
static bool find_inner(plan *f) {
  sch_state *s = f->s;
  const ir_program *p = s->p;
  uint32_t n = 0;
  for (ir_stmt l = f->common; l != f->roll.loop; l = ir_st(p, l)->parent) n++;
  f->inner = arena_array(s->scratch, sch_slide, n + 1);
  f->ninner = 0;
  for (ir_stmt l = f->common; l != f->roll.loop; l = ir_st(p, l)->parent) {
    sch_slide *is = &f->inner[f->ninner];
    if (!check_serial(f, l)) return false;
    if (sch_find_slide(s, f->block, f->write, l, is) && is->size > is->step)
      f->ninner++;
  }
  return true;
}

static bool suits(plan *f, ir_stmt loop) {
  sch_state *s = f->s;
  if (!sch_find_slide(s, f->block, f->write, loop, &f->roll))
    return sch_refuse(s, SCH_R_ROLLING_PATTERN, .s = {f->block, loop},
                      .buf = f->buf);
  if (f->roll.size <= f->roll.step)
    return sch_refuse(s, SCH_R_ROLLING_NO_OVERLAP, .s = {f->block, loop},
                      .n = {f->roll.size, f->roll.step});
  return check_serial(f, loop) && find_inner(f) && is_steady(f, f->block, 8);
}

static bool is_open(const plan *f, ir_stmt loop) {
  return f->only ? loop == f->only
                 : !f->least || ir_is_ancestor(f->s->p, f->least, loop);
}

/* The outermost loop that suits; where none does, what is said is why the
 * first along which windows move does not. */
static bool find_loop(plan *f) {
  sch_state *s = f->s;
  sch_list loops = sch_loops_of(s, f->block);
  sch_refusal why = {
      .reason = SCH_R_ROLLING_PATTERN, .s = {f->block, f->only}, .buf = f->buf};
  for (uint32_t i = 0; i < loops.n; i++) {
    if (is_open(f, loops.v[i])) {
      if (suits(f, loops.v[i])) return true;
      if (why.reason == SCH_R_ROLLING_PATTERN) why = s->refusal;
    }
    if (loops.v[i] == f->common) break;
  }
  s->refusal = why;
  return false;
}

static bool rolling_check(plan *f) {
  const ir_program *p = f->s->p;
  if (!sch_check_alone(f->s, f->scope, f->block) ||
      !sch_check_movable(f->s, f->scope, f->block) ||
      !rolling_check_buffer(f) || !find_common_loop(f))
    return false;
  ir_span w = ir_blk(p, f->block)->writes;
  f->write = p->region.v[w.at];
  return w.n == 1 ? find_loop(f)
                  : sch_refuse(f->s, SCH_R_ROLLING_PATTERN,
                               .s = {f->block, f->common}, .buf = f->buf);
}

/* ---- inputs that were rolled before ------------------------------------- */

static const sch_slide *slide_over(const plan *f, const sch_skip *skip) {
  const sch_slide *is = f->roll.loop == skip->loop ? &f->roll : NULL;
  for (uint32_t i = 0; i < f->ninner && !is; i++)
    if (f->inner[i].loop == skip->loop) is = &f->inner[i];
  return is && is->window == skip->window ? is : NULL;
}

/* What was straightened is what rolling over f->roll may leave out. */
static bool leaves_out(const plan *f, const sch_rolled *r) {
  if (r->size && (f->roll.dim != r->dim || r->size < f->roll.size))
    return false;
  for (uint32_t i = 0; i < r->n; i++) {
    const sch_slide *is = slide_over(f, &r->skip[i]);
    if (!is || r->skip[i].from > is->size - is->step) return false;
  }
  return true;
}

/* Could the buffer be rolled so in the program as it is now? */
static bool could_roll(const plan *by, const sch_rolled *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    plan f = {.s = by->s,
              .block = r->writer,
              .scope = by->scope,
              .buf = r->buf,
              .only = r->skip[i].loop};
    if (rolling_check(&f)) {
      if (leaves_out(&f, r)) return true;
    } else if (by->s->refusal.reason == SCH_R_ROLLING_INPUT) {
      return false; /* perhaps that one is rolled, too */
    }
  }
  return sch_refuse(by->s, SCH_R_ROLLING_PATTERN, .s = {r->writer, by->common},
                    .buf = r->buf);
}

enum { MOST_ROLLED = 8 };
typedef struct straight {
  plan f;
  uint32_t n;
  sch_rolled r[MOST_ROLLED];
  bool ok;
} straight;

/* Buffers that were rolled hold, in each iteration, what they would hold if
 * they were not: so they may be taken for such as long as each of them could
 * be rolled after the one that is now.  The program is to be put back. */
static bool check_straightened(sch_state *s, void *ud) {
  straight *x = ud;
  for (;;) {
    bool ok = rolling_check(&x->f);
    for (uint32_t i = 0; i < x->n && ok; i++) ok = could_roll(&x->f, &x->r[i]);
    x->ok = ok;
    if (ok || s->refusal.reason != SCH_R_ROLLING_INPUT || x->n == MOST_ROLLED ||
        !sch_straighten(s, x->f.scope, s->refusal.buf, &x->r[x->n]))
      return false;
    x->n++;
  }
}

static bool check_any(plan *f) {
  sch_state *s = f->s;
  if (rolling_check(f)) return true;
  if (s->refusal.reason != SCH_R_ROLLING_INPUT) return false;
  const sch_refusal why = s->refusal;
  straight x = {.f = *f};
  (void)sch_transaction_rollback(s, check_straightened, &x, f->block);
  s->refusal = why;
  if (x.ok) *f = x.f;
  return x.ok;
}

/* ---- the change --------------------------------------------------------- */

/* In the first iteration all, then what the window before did not hold. */
static void skip_shared(plan *f, const sch_slide *is) {
  ir_program *p = f->s->p;
  ir_expr t = ir_ref(p, ir_st(p, is->loop)->var);
  ir_expr a = ir_ref(p, ir_st(p, is->window)->var);
  ir_expr first = ir_binary(p, IR_EQ, t, ir_st(p, is->loop)->lo);
  ir_expr new = ir_binary(p, IR_LE, ir_index(p, is->size - is->step), a);
  ir_expr cond = ir_binary(p, IR_OR, first, new);
  ir_expr pred = ir_and(p, ir_blk(p, f->block)->pred, cond);
  ir_blk(p, f->block)->pred = ir_is_const(p, pred, 1) ? 0 : pred;
}

static ir_expr rolling_wrap(const plan *f, ir_expr index) {
  return ir_binary(f->s->p, IR_MOD, index, ir_index(f->s->p, f->roll.size));
}

static ir_expr wrapped_load(ir_subst *sub, ir_buf buf, uint32_t n,
                            const ir_expr *idx) {
  const plan *f = sub->ud;
  if (buf != f->buf) return 0;
  ir_expr *at = arena_array(sub->scratch, ir_expr, n);
  memcpy(at, idx, n * sizeof *at);
  at[f->roll.dim] = rolling_wrap(f, at[f->roll.dim]);
  return ir_load(sub->p, buf, n, at);
}

static void wrap_store(const plan *f, ir_stmt st) {
  ir_program *p = f->s->p;
  ir_span idx = ir_st(p, st)->idx;
  ir_expr *at = arena_array(f->s->scratch, ir_expr, idx.n);
  memcpy(at, p->arg.v + idx.at, idx.n * sizeof *at);
  at[f->roll.dim] = rolling_wrap(f, at[f->roll.dim]);
  idx = ir_arg_span(p, idx.n, at);
  ir_st(p, st)->idx = idx;
}

/* A region of more than one index may wrap: then it is all there is. */
static ir_region wrap_region(const plan *f, ir_region r) {
  ir_program *p = f->s->p;
  uint32_t n = ir_ndim(p, f->buf);
  ir_expr *box = arena_array(f->s->scratch, ir_expr, 2 * n);
  memcpy(box, p->arg.v + r.at, 2 * n * sizeof *box);
  if (ir_is_const(p, box[2 * f->roll.dim + 1], 1)) {
    box[2 * f->roll.dim] = rolling_wrap(f, box[2 * f->roll.dim]);
  } else {
    box[2 * f->roll.dim] = ir_index(p, 0);
    box[2 * f->roll.dim + 1] = ir_index(p, f->roll.size);
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
  shape[f->roll.dim] = ir_index(p, f->roll.size);
  ir_span span = ir_arg_span(p, n, shape);
  p->buf.v[f->buf].shape = span;
}

/* A window as long as the buffer need not wrap. */
static bool is_shorter(const plan *f) {
  int64_t size;
  return !ir_const_int(f->s->p, ir_dim(f->s->p, f->buf, f->roll.dim), &size) ||
         f->roll.size < size;
}

typedef struct trial {
  const args *a;
  ir_stmt least, at; /* at: what was, or would have been, rolled over */
  ir_buf buf;
} trial;

static bool rolling_buffer_rewrite(sch_state *s, void *ud) {
  trial *t = ud;
  plan f = {.s = s,
            .block = t->a->block,
            .scope = ir_scope_of(s->p, t->a->block),
            .only = t->a->loop,
            .least = t->least};
  if (!sch_find_buffer(s, f.block, t->a->write_buffer_index, SCH_WRITES, NULL,
                       NULL, &f.buf) ||
      !check_any(&f))
    return false;
  t->at = f.roll.loop;
  t->buf = f.buf;
  skip_shared(&f, &f.roll);
  for (uint32_t i = f.ninner; i-- > 0;) skip_shared(&f, &f.inner[i]);
  if (is_shorter(&f)) wrap_accesses(&f);
  s->p->edits++;
  return true;
}

/* Where a loop would lose its freedom of races it is the windows that its
 * iterations would share: perhaps not those of a loop further in. */
static bool rolling_buffer_apply(sch_state *s, args *a) {
  trial t = {.a = a};
  sch_refusal why = {0};
  while (!sch_transaction_or(s, rolling_buffer_rewrite, &t, a->block,
                             SCH_R_ROLLING_SHARED)) {
    if (!why.reason) why = s->refusal;
    bool shared = s->refusal.reason == SCH_R_ROLLING_SHARED;
    ir_stmt next = shared && !a->loop ? sch_step_down(s->p, t.at, a->block) : 0;
    if (next && next != a->block) {
      t.least = next;
      continue;
    }
    if (why.reason == SCH_R_ROLLING_SHARED)
      return sch_refuse(s, SCH_R_ROLLING_SHARED, .s = {a->block, why.s[0]},
                        .buf = t.buf);
    s->refusal = why;
    return false;
  }
  return true;
}
