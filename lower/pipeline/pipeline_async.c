/* SPDX-License-Identifier: Apache-2.0
 * Asynchronous stages of a software pipeline: each statement commits its copies
 * to shared memory as one group, and consumers wait.
 *
 * Groups of a thread complete in the order of their commits, so that a wait
 * gives how many of the latest may still be in flight. */
#include "lower/pipeline/pipeline.h"

bool lower_pipe_is_copy(const pipe *x, uint32_t i) {
  const ir_program *p = x->p;
  bool any = false;
  for (ir_stmt s = x->stmt[i]; s; s = ir_next(p, s, x->stmt[i])) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_EVALUATE || r->kind == IR_ALLOCATE) return false;
    if (r->kind != IR_STORE) continue;
    const ir_node *v = ir_at(p, r->value);
    if (!ir_scope_is_shared(p->buf.v[r->buf].scope) || v->op != IR_LOAD ||
        !ir_scope_is_global(p->buf.v[v->a].scope))
      return false;
    any = true;
  }
  return any;
}

bool lower_pipe_async_escapes(const pipe *x) {
  for (uint32_t i = 0; i < x->naccess; i++)
    if (x->access[i].writes && x->async[x->access[i].by] &&
        !lower_pipe_owns(x, x->access[i].buf))
      return true;
  return false;
}

/* A time in the life of the iteration that statement i is of now, 0 its
 * start; and the place among the statements of that time. */
typedef struct moment {
  int64_t time, order;
} moment;

static bool is_before(moment a, moment b) {
  return a.time < b.time || (a.time == b.time && a.order < b.order);
}

/* When the last group was committed that must be complete before statement i,
 * which accesses the destination or writes the source.  false: none. */
static bool last_needed(const pipe *x, uint32_t i, moment *out) {
  bool any = false;
  for (uint32_t a = 0; a < x->naccess; a++)
    for (uint32_t b = 0; b < x->naccess; b++) {
      const pipe_access *from = &x->access[a], *to = &x->access[b];
      if (to->by != i || from->by == i || from->buf != to->buf ||
          !(from->writes || to->writes) || !x->async[from->by])
        continue;
      int64_t ago = !lower_pipe_runs_before(x, from->by, i, 0);
      moment m = {x->stage[from->by] - ago, x->order[from->by]};
      if (ago && lower_pipe_owns(x, from->buf)) continue;
      if (!any || is_before(*out, m)) *out = m;
      any = true;
    }
  return any;
}

/* The first iterations of the loop follow fewer commits; the count must hold
 * for those, too. */
int64_t lower_pipe_in_flight(const pipe *x, uint32_t i) {
  moment last = {0, 0}, now = {x->stage[i], x->order[i]};
  int64_t n = 0;
  if (!last_needed(x, i, &last)) return -1;
  for (uint32_t j = 0; j < x->n; j++)
    for (int64_t t = last.time; x->async[j] && t <= now.time; t++) {
      moment sent = {t, x->order[j]};
      n += is_before(last, sent) && is_before(sent, now) &&
           x->last - now.time + t >= x->stage[j];
    }
  return n;
}
