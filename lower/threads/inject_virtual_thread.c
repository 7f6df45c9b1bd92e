/* SPDX-License-Identifier: Apache-2.0
 * Injects virtual threads: one thread executes the iterations of a loop bound
 * to vthread interleaved, statement by statement.  The loop is distributed and
 * sunk past what does not depend on it, which then runs once; buffers that
 * depend on it are replicated.
 *
 *     vthread v: for k: { S = A[k];  C[v] = C[v] + S }
 * becomes
 *     for k: { S = A[k];  for v: C[v] = C[v] + S } */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

enum { MAX_ITERATIONS = 256 };

typedef struct virtual {
  ir_program *p;
  arena *scratch;
  ir_stmt loop;
  ir_var var;
  int64_t extent;
  bool *buf_varies; /* of those allocated in the loop */
  bool *var_varies;
  bool *is_inside; /* buffer -> allocated in the loop */
  bool changed;
  bool marks; /* lower_options.mark_vthreads */
}
virtual;

bool lower_is_vthread(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return ir_is_thread_loop(r) && r->thread >= IR_VTHREAD_X &&
         r->thread <= IR_VTHREAD_Z;
}

/* ---- dependence on the virtual thread ----------------------------------- */

typedef struct question {
  const virtual *v;
  bool varies;
} question;

static void note_vthread_use(const ir_program *p, ir_expr e, void *ud) {
  question *q = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_VAR) q->varies |= q->v->var_varies[n->a];
  if (n->op == IR_LOAD) q->varies |= q->v->buf_varies[n->a];
}

static bool depends_on_vthread(const virtual *v, ir_expr e) {
  question q = {v, false};
  if (e) ir_visit(v->p, v->scratch, e, note_vthread_use, &q);
  return q.varies;
}

/* Of the statement itself, without its body. */
static bool head_varies(const virtual *v, ir_stmt s) {
  const ir_program *p = v->p;
  const ir_stmt_rec *r = ir_st(p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    return depends_on_vthread(v, r->lo) || depends_on_vthread(v, r->extent);
  case IR_STORE:
    for (uint32_t i = 0; i < r->idx.n; i++)
      if (depends_on_vthread(v, p->arg.v[r->idx.at + i])) return true;
    return depends_on_vthread(v, r->value) || depends_on_vthread(v, r->mask) ||
           v->buf_varies[r->buf];
  case IR_IF: return depends_on_vthread(v, r->cond);
  case IR_LET: return depends_on_vthread(v, r->let_value);
  case IR_EVALUATE: return !lower_of_copies(p, s);
  default: return false;
  }
}

static bool any_varies(const virtual *v, ir_stmt s) {
  for (ir_stmt t = s; t; t = ir_next(v->p, t, s))
    if (head_varies(v, t)) return true;
  return false;
}

static bool may_enter(const ir_stmt_rec *r) {
  return r->kind == IR_IF || r->kind == IR_LET || r->kind == IR_ALLOCATE ||
         (r->kind == IR_LOOP && r->loop_kind != IR_VECTORIZED &&
          r->loop_kind != IR_PARALLEL);
}

static void mark_varying(virtual *v, bool *what) {
  v->changed |= !*what;
  *what = true;
}

/* A statement varies, too, where its control flow does, and where it is in one
 * injected loop with one that varies (inject). */
static void propagate_variation(virtual *v, ir_stmt s, bool outer) {
  const ir_stmt_rec r = *ir_st(v->p, s);
  bool here = outer || head_varies(v, s);
  if (here && r.kind == IR_STORE && v->is_inside[r.buf])
    mark_varying(v, &v->buf_varies[r.buf]);
  if (here && r.kind == IR_LOOP) mark_varying(v, &v->var_varies[r.var]);
  if (here && r.kind == IR_LET) mark_varying(v, &v->var_varies[r.let_var]);
  bool below = here || (!may_enter(&r) && any_varies(v, s));
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? r.alt : r.body; c; c = ir_st(v->p, c)->next)
      propagate_variation(v, c, below);
}

static void find_varying(virtual *v) {
  ir_program *p = v->p;
  uint32_t nbuf = 2 * p->buf.n; /* each may be replicated */
  v->buf_varies = arena_zalloc(v->scratch, nbuf);
  v->var_varies = arena_zalloc(v->scratch, p->var.n);
  v->is_inside = arena_zalloc(v->scratch, nbuf);
  for (ir_stmt s = v->loop; s; s = ir_next(p, s, v->loop))
    if (ir_st(p, s)->kind == IR_ALLOCATE)
      v->is_inside[ir_st(p, s)->alloc] = true;
  v->var_varies[v->var] = true;
  do {
    v->changed = false;
    for (ir_stmt c = ir_st(p, v->loop)->body; c; c = ir_st(p, c)->next)
      propagate_variation(v, c, false);
  } while (v->changed);
}

/* ---- sinking the loop --------------------------------------------------- */

/* One copy, product or operation: a perfect nest around a store or a tensor
 * intrinsic's call. */
static bool is_perfect(const ir_program *p, ir_stmt s) {
  for (;; s = ir_st(p, s)->body) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (!r->body || (r->kind == IR_IF && ir_is_instead(p, r->cond)))
      return true;
    if (r->alt || ir_st(p, r->body)->next || r->kind == IR_ALLOCATE)
      return false;
  }
}

/* The loop goes around all of s: nothing in it is invariant, nor a thread
 * loop.  Buffers allocated in it stay private.  Where latency is to be hidden
 * it goes around single instructions of the backend only. */
static bool is_whole(const virtual *v, ir_stmt s) {
  const ir_program *p = v->p;
  if (head_varies(v, s)) return true;
  if (v->marks && !is_perfect(p, s)) return false;
  for (ir_stmt t = s; t; t = ir_next(p, t, s)) {
    const ir_stmt_rec *r = ir_st(p, t);
    if (r->kind == IR_STORE && !head_varies(v, t)) return false;
    if (ir_is_thread_loop(r)) return false;
    if (r->kind == IR_BARRIER) return false;
  }
  return true;
}

/* A loop of its own around s, with a variable of its own. */
static void wrap_in_vthread_loop(virtual *v, ir_stmt s) {
  ir_program *p = v->p;
  const ir_stmt_rec old = *ir_st(p, v->loop);
  const ir_var_rec was = p->var.v[v->var];
  ir_var made = ir_var_new(p, IR_VAR_LOOP, was.name, IR_INDEX, was.lo, was.hi);
  p->var.v[made].form = was.form;
  p->var.v[made].part = was.part;
  memcpy(p->var.v[made].from, was.from, sizeof was.from);
  ir_subst sub;
  ir_subst_init(&sub, p, v->scratch);
  ir_subst_var(&sub, v->var, ir_ref(p, made));
  for (ir_stmt t = s; t; t = ir_next(p, t, s)) ir_subst_head(&sub, t, true);
  ir_stmt loop = ir_loop_new(p, made, old.lo, old.extent, IR_SERIAL);
  ir_wrap(p, s, loop);
  if (v->marks)
    ir_anno_set(p, loop, ir_name(p, LOWER_VTHREAD), ir_value_int(p, 1));
}

static void inject(virtual *v, ir_stmt s);

static void inject_list(virtual *v, ir_stmt first) {
  for (ir_stmt s = first, next; s; s = next) {
    next = ir_st(v->p, s)->next;
    inject(v, s);
  }
}

/* Replicates the buffer; accesses get the version when their loop is
 * injected. */
static void replicate(virtual *v, ir_stmt alloc) {
  ir_program *p = v->p;
  ir_buf b = ir_st(p, alloc)->alloc;
  ir_expr which = ir_sub(p, ir_ref(p, v->var), ir_st(p, v->loop)->lo);
  ir_buf made = lower_several(p, v->scratch, b, 1, &v->extent);
  lower_choose(p, v->scratch, alloc, b, made, 1, &which);
  ir_st(p, alloc)->alloc = made;
  v->buf_varies[made] = true;
}

static void inject(virtual *v, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(v->p, s);
  if (!any_varies(v, s)) return;
  if (is_whole(v, s) || !may_enter(&r)) {
    wrap_in_vthread_loop(v, s);
    return;
  }
  if (r.kind == IR_ALLOCATE && v->buf_varies[r.alloc]) replicate(v, s);
  inject_list(v, r.body);
  inject_list(v, r.alt);
}

static void distribute_vthread(virtual *v) {
  ir_program *p = v->p;
  find_varying(v);
  inject_list(v, ir_st(p, v->loop)->body);
  lower_splice(p, v->loop);
}

/* A loop too long to replicate buffers for becomes serial, which has the same
 * semantics. */
static void expand_vthread(ir_program *p, arena *scratch, ir_stmt loop,
                           bool marks) {
  virtual v = {.p = p,
               .scratch = scratch,
               .loop = loop,
               .var = ir_st(p, loop)->var,
               .extent = -1,
               .marks = marks};
  ir_const_int(p, ir_st(p, loop)->extent, &v.extent);
  if (v.extent >= 1 && v.extent <= MAX_ITERATIONS) {
    distribute_vthread(&v);
    return;
  }
  ir_st(p, loop)->loop_kind = IR_SERIAL;
  ir_st(p, loop)->thread = 0;
}

/* Inner loops first. */
static void expand_vthreads_below(ir_program *p, arena *scratch, ir_stmt s,
                                  bool marks) {
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      expand_vthreads_below(p, scratch, c, marks);
    }
  if (lower_is_vthread(p, s)) expand_vthread(p, scratch, s, marks);
}

LOWER_PASS(inject_virtual_thread) {
  (void)e;
  expand_vthreads_below(p, scratch, ir_entry(p)->root, o->mark_vthreads);
  return TESS_OK;
}
