/* SPDX-License-Identifier: Apache-2.0
 * Writing a pipeline down: its buffers, each with as many versions as live
 * at once, around a prologue, the loop and an epilogue. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pipeline/pipeline.h"

typedef struct emission {
  pipe *x;
  ir_stmt_rec loop; /* as it was */
  ir_expr steps;    /* of the loop as it was */
  bool in_loop;     /* not before it or after it */
  int64_t left;     /* groups of copies that may be on their way */
} emission;

static ir_expr plus(const pipe *x, ir_expr e, int64_t n) {
  return ir_add(x->p, e, ir_index(x->p, n));
}

/* ---- buffers ------------------------------------------------------------ */

static void make_versions(pipe *x) {
  for (uint32_t i = 0; i < x->nbuf; i++)
    if (x->buf[i].versions > 1)
      x->buf[i].made = lower_several(x->p, x->scratch, x->buf[i].buf, 1,
                                     &x->buf[i].versions);
}

/* The statement is that of the iteration which is `ago` after the first. */
static void choose_versions(const pipe *x, ir_stmt s, ir_expr ago) {
  ir_program *p = x->p;
  for (uint32_t i = 0; i < x->nbuf; i++) {
    const pipe_buffer *b = &x->buf[i];
    if (!b->made) continue;
    ir_expr which = ir_binary(p, IR_MOD, ago, ir_index(p, b->versions));
    lower_choose(p, x->scratch, s, b->buf, b->made, 1, &which);
  }
}

/* ---- statements --------------------------------------------------------- */

static void say(emission *m, ir_stmt into, ir_fn fn, int64_t left) {
  ir_program *p = m->x->p;
  ir_expr n = ir_index(p, left);
  ir_expr e = ir_call(p, fn, IR_INDEX, fn == IR_FN_ASYNC_WAIT, &n);
  ir_append(p, into, ir_evaluate_new(p, e));
}

/* Before statement i what it needs is there. */
static void wait_for(emission *m, ir_stmt into, uint32_t i) {
  int64_t n = lower_pipe_in_flight(m->x, i);
  if (n > 0 && !m->in_loop) n = 0;
  if (n < 0 || m->left <= n) return;
  say(m, into, IR_FN_ASYNC_WAIT, n);
  m->left = n;
}

/* The groups that may be in flight when copies are issued, from position `at`
 * on, so that no later statement of the iteration has to wait: the barrier
 * after the wait also separates the copies from accesses to the versions that
 * they overwrite, and an iteration has one. */
static int64_t left_early(const pipe *x, uint32_t at) {
  int64_t least = INT64_MAX, sent = 0;
  if (!x->async[x->in_order[at]] || (at && x->async[x->in_order[at - 1]]))
    return least;
  for (uint32_t later = at; later < x->n; later++) {
    int64_t n = lower_pipe_in_flight(x, x->in_order[later]);
    if (n >= sent && n - sent < least) least = n - sent;
    sent += x->async[x->in_order[later]];
  }
  return least;
}

static void wait_early(emission *m, ir_stmt into, uint32_t at) {
  int64_t n = m->x->async ? left_early(m->x, at) : INT64_MAX;
  if (n >= m->left) return;
  say(m, into, IR_FN_ASYNC_WAIT, n);
  m->left = n;
}

/* How many are in flight at most after an iteration that starts with `left`. */
static int64_t left_after(const pipe *x, int64_t left) {
  for (uint32_t at = 0; at < x->n; at++) {
    uint32_t i = x->in_order[at];
    int64_t early = left_early(x, at), n = lower_pipe_in_flight(x, i);
    if (early < left) left = early;
    if (n >= 0 && n < left) left = n;
    if (x->async[i] && left < INT64_MAX) left++;
  }
  return left;
}

/* The same before any iteration of the loop, where that many are before the
 * first one. */
static int64_t left_at_start(const pipe *x, int64_t left) {
  enum { TRIES = 8 };
  for (int i = 0; x->async && i < TRIES && left < INT64_MAX; i++) {
    int64_t after = left_after(x, left);
    if (after <= left) return left;
    left = after;
  }
  return INT64_MAX;
}

/* Statement i of the iteration that is `ago` after the first, where cond. */
static void emit_instance(emission *m, ir_stmt into, uint32_t i, ir_expr ago,
                          ir_expr cond) {
  pipe *x = m->x;
  ir_program *p = x->p;
  ir_subst sub;
  if (ir_is_const(p, cond, 0)) return;
  ir_subst_init(&sub, p, x->scratch);
  ir_subst_var(&sub, m->loop.var, ir_add(p, m->loop.lo, ago));
  ir_stmt copy = ir_clone_stmt(&sub, x->stmt[i], NULL);
  choose_versions(x, copy, ago);
  bool always = ir_is_const(p, cond, 1);
  if (!always) {
    ir_stmt check = ir_if_new(p, cond);
    ir_append(p, into, check);
    into = check;
  }
  bool async = x->async && x->async[i];
  if (x->async) wait_for(m, into, i);
  if (async) say(m, into, IR_FN_ASYNC_BEGIN, 0);
  ir_append(p, into, copy);
  if (async) say(m, into, IR_FN_ASYNC_COMMIT, 0);
  if (async && m->left < INT64_MAX) m->left++;
  if (!always) m->left = INT64_MAX;
}

/* All statements at the time that is `time` after the start: those of which
 * an iteration is due. */
static void put_time(emission *m, ir_stmt into, ir_expr time) {
  pipe *x = m->x;
  ir_program *p = x->p;
  for (uint32_t at = 0; at < x->n; at++) {
    uint32_t i = x->in_order[at];
    ir_expr ago = plus(x, time, -x->stage[i]);
    ir_expr due = ir_and(p, ir_binary(p, IR_LE, ir_index(p, 0), ago),
                         ir_binary(p, IR_LT, ago, m->steps));
    emit_instance(m, into, i, ago, due);
  }
}

/* A group counts as one statement of a pipeline around this one. */
static ir_stmt group(ir_program *p, ir_stmt into) {
  ir_stmt g = ir_if_new(p, ir_bool(p, true));
  ir_append(p, into, g);
  return g;
}

/* In the loop, which counts the iterations of the last stage, all are due. */
static void put_loop(emission *m, ir_stmt into) {
  pipe *x = m->x;
  ir_program *p = x->p;
  ir_expr zero = ir_index(p, 0), steps = plus(x, m->steps, -x->last);
  int64_t min, max;
  steps = ir_binary(p, IR_MAX, steps, zero);
  ir_domain_bounds(p, zero, steps, &min, &max);
  ir_var v = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, min, max);
  p->var.v[v].form = p->var.v[m->loop.var].form;
  p->var.v[v].part = p->var.v[m->loop.var].part;
  p->var.v[v].name = p->var.v[m->loop.var].name;
  p->var.v[v].from[0] = p->var.v[m->loop.var].from[0];
  p->var.v[v].from[1] = p->var.v[m->loop.var].from[1];
  ir_stmt loop =
      ir_loop_new(p, v, zero, steps, (ir_loop_kind)m->loop.loop_kind);
  ir_st(p, loop)->anno = m->loop.anno;
  ir_append(p, into, loop);
  m->left = left_at_start(x, m->left);
  m->in_loop = true;
  for (uint32_t at = 0; at < x->n; at++) {
    uint32_t i = x->in_order[at];
    wait_early(m, loop, at);
    emit_instance(m, loop, i, plus(x, ir_ref(p, v), x->last - x->stage[i]),
                  ir_bool(p, true));
  }
  m->left = INT64_MAX;
  m->in_loop = false;
}

/* Where the loop is too short to fill all stages, the epilogue begins when
 * the prologue ends. */
void lower_pipe_emit(pipe *x) {
  ir_program *p = x->p;
  emission m = {.x = x, .loop = *ir_st(p, x->loop), .left = INT64_MAX};
  m.steps = m.loop.extent;
  if (ir_may_clobber(p, x->loop, m.steps))
    m.steps = lower_keep(p, x->loop, m.steps, "_steps");
  ir_stmt top = ir_if_new(p, ir_bool(p, true)), into = top;
  make_versions(x);
  for (uint32_t i = 0; i < x->nbuf; i++) {
    pipe_buffer *b = &x->buf[i];
    ir_stmt a = ir_allocate_new(p, b->made ? b->made : b->buf);
    ir_append(p, into, a);
    into = a;
  }
  ir_replace(p, x->loop, top);
  ir_stmt before = x->last ? group(p, into) : 0;
  for (int64_t t = 0; t < x->last; t++) put_time(&m, before, ir_index(p, t));
  put_loop(&m, into);
  ir_stmt after = x->last ? group(p, into) : 0;
  ir_expr end = ir_binary(p, IR_MAX, m.steps, ir_index(p, x->last));
  for (int64_t t = 0; t < x->last; t++) put_time(&m, after, plus(x, end, t));
  if (x->async && lower_pipe_async_escapes(x))
    say(&m, after, IR_FN_ASYNC_WAIT, 0);
  ir_st(p, x->loop)->anno = 0;
  ir_kill(p, x->loop);
  lower_splice(p, top);
}
