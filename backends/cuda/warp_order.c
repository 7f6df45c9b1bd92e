/* SPDX-License-Identifier: Apache-2.0
 * Where the lanes of a warp must synchronize around what they do together: only
 * if a lane may access the memory on its own, conflicting, before the next
 * barrier of the block.  Structured control flow is walked from the operation
 * in both directions, around loops, until barriers end all paths. */
#include "backends/cuda/kernel.h"
#include "ir/query.h"

typedef enum path {
  ORDERED, /* a barrier comes first */
  OPEN,    /* neither a barrier nor a conflict */
  CONFLICT
} path;

typedef struct walk {
  emit *m;
  const uint8_t *reads, *writes; /* by ir_buf: what the warp does */
  bool back;
} walk;

static path walk_list_of(walk *w, ir_stmt first);

static void note_load_conflict(const ir_program *p, ir_expr e, void *ud) {
  const walk *w = ((void **)ud)[0];
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD && w->writes[n->a]) *(bool *)((void **)ud)[1] = true;
}

static bool conflicts(walk *w, const ir_stmt_rec *r) {
  const ir_program *p = w->m->p;
  bool found = false;
  void *ud[2] = {w, &found};
  arena_mark mark = arena_get_mark(w->m->scratch);
  if (r->kind == IR_STORE) {
    found = w->reads[r->buf] || w->writes[r->buf];
    ir_visit(p, w->m->scratch, r->value, note_load_conflict, ud);
    for (uint32_t i = 0; i < r->idx.n; i++)
      ir_visit(p, w->m->scratch, p->arg.v[r->idx.at + i], note_load_conflict,
               ud);
    if (r->mask) ir_visit(p, w->m->scratch, r->mask, note_load_conflict, ud);
  } else if (r->kind == IR_IF) {
    ir_visit(p, w->m->scratch, r->cond, note_load_conflict, ud);
  } else if (r->kind == IR_LOOP) {
    ir_visit(p, w->m->scratch, r->extent, note_load_conflict, ud);
  } else if (r->kind == IR_LET) {
    ir_visit(p, w->m->scratch, r->let_value, note_load_conflict, ud);
  } else if (r->kind == IR_EVALUATE) {
    ir_visit(p, w->m->scratch, r->eval, note_load_conflict, ud);
  }
  arena_reset_to(w->m->scratch, mark);
  return found;
}

/* The whole of a statement, in the walk's direction. */
static path walk_stmt(walk *w, ir_stmt s) {
  const ir_program *p = w->m->p;
  const ir_stmt_rec r = *ir_st(p, s);
  if (r.kind == IR_BARRIER) return r.thread == IR_SCOPE_WARP ? OPEN : ORDERED;
  if (conflicts(w, &r)) return CONFLICT;
  if (r.kind == IR_STORE || r.kind == IR_EVALUATE || r.kind == IR_DEAD)
    return OPEN;
  path body = walk_list_of(w, r.body);
  if (r.kind == IR_IF) {
    path alt = walk_list_of(w, r.alt);
    if (body == CONFLICT || alt == CONFLICT) return CONFLICT;
    return body == ORDERED && alt == ORDERED ? ORDERED : OPEN;
  }
  bool always = r.kind != IR_LOOP || ir_at(p, r.extent)->lo >= 1;
  return body == ORDERED && !always ? OPEN : body;
}

static bool is_of_copies(const ir_program *p, ir_stmt s, ir_fn fn) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->kind == IR_EVALUATE && ir_at(p, r->eval)->op == IR_CALL &&
         ir_at(p, r->eval)->a == fn;
}

/* Asynchronous copies before the operation are passed over: what is read of
 * them was waited for, and after a wait there is a barrier. */
static ir_stmt pass_copies(const walk *w, ir_stmt s) {
  const ir_program *p = w->m->p;
  if (!w->back || !s || !is_of_copies(p, s, IR_FN_ASYNC_COMMIT)) return s;
  for (ir_stmt k = s; k; k = ir_st(p, k)->prev)
    if (is_of_copies(p, k, IR_FN_ASYNC_BEGIN)) return k;
  return s;
}

/* The next statement in the walk's direction. */
static ir_stmt step(const walk *w, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(w->m->p, s);
  return pass_copies(w, w->back ? r->prev : r->next);
}

static ir_stmt first_of(const walk *w, ir_stmt s) {
  while (w->back && s && ir_st(w->m->p, s)->next) s = ir_st(w->m->p, s)->next;
  return pass_copies(w, s);
}

/* A list of statements, in the walk's direction. */
static path walk_list_of(walk *w, ir_stmt first) {
  for (ir_stmt s = first_of(w, first); s; s = step(w, s)) {
    path x = walk_stmt(w, s);
    if (x != OPEN) return x;
  }
  return OPEN;
}

static path walk_from(walk *w, ir_stmt s) {
  const ir_program *p = w->m->p;
  const device_kernel *part = ((cuda_emit *)w->m->ud)->k->part;
  for (;;) {
    ir_stmt up = ir_st(p, s)->parent;
    ir_stmt end = w->back ? part->first : part->last;
    while (s != end) {
      s = step(w, s);
      if (!s) break;
      path x = walk_stmt(w, s);
      if (x != OPEN) return x;
    }
    if (s == end) return OPEN;
    const ir_stmt_rec r = *ir_st(p, up);
    if (conflicts(w, &r)) return CONFLICT;
    if (r.kind == IR_LOOP && r.loop_kind != IR_THREAD) {
      path x = walk_list_of(w, r.body);
      if (x == CONFLICT) return x;
    }
    s = up;
  }
}

bool cuda_must_synchronize(emit *m, ir_stmt at, const uint8_t *reads,
                           const uint8_t *writes, bool before) {
  walk w = {m, reads, writes, before};
  return walk_from(&w, at) == CONFLICT;
}
