/* SPDX-License-Identifier: Apache-2.0
 * Collects the accesses of two blocks to a buffer, with the conditions under
 * which they run. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra.h"

typedef struct finder {
  const dist *d;
  ir_program *p;
  arena *scratch;
  poly_pair *out;
  poly_block *b; /* the one looked at */
  uint32_t cap;  /* of b->dim */
  ir_buf buf;
  bool reads; /* reads count, too */
} finder;

static const poly_cond *under(const finder *f, const poly_cond *up, int kind,
                              ir_expr e, ir_stmt st) {
  poly_cond *c = arena_new(f->scratch, poly_cond);
  *c = (poly_cond){.up = up, .e = e, .st = st};
  c->kind = kind;
  return c;
}

/* In the range of the loop.  Its start and extent often share what the end is
 * without. */
static const poly_cond *in_loop(const finder *f, const poly_cond *up,
                                ir_stmt loop) {
  const ir_stmt_rec *r = ir_st(f->p, loop);
  return under(f, up, POLY_LOOP, ir_add(f->p, r->lo, r->extent), loop);
}

static void add_dim(finder *f, ir_var v) {
  poly_block *b = f->b;
  if (b->n == f->cap) {
    ir_var *more = arena_array(f->scratch, ir_var, f->cap = 2 * f->cap + 8);
    if (b->n) memcpy(more, b->dim, b->n * sizeof *more);
    b->dim = more;
  }
  b->dim[b->n++] = v;
}

static void add_access(finder *f, bool write, bool box, uint32_t at,
                       const poly_cond *when) {
  poly_access *a = arena_new(f->scratch, poly_access);
  *a = (poly_access){f->b->first, write, box, at, when};
  f->b->first = a;
}

/* ---- loads -------------------------------------------------------------- */

static void add_by_choice(finder *f, ir_expr e, const poly_cond *when) {
  const ir_program *p = f->p;
  const ir_node *n = ir_at(p, e);
  if (!n->has_load) return;
  if (n->op == IR_LOAD && n->a == f->buf)
    add_access(f, false, false, n->b, when);
  uint32_t fixed[3];
  const uint32_t *arg;
  uint32_t k = ir_operands(p, e, &arg, fixed);
  bool choice = n->op == IR_SELECT;
  for (uint32_t i = 0; i < k; i++) {
    int kind = i == 1 ? POLY_TRUE : POLY_FALSE;
    add_by_choice(f, arg[i],
                  choice && i ? under(f, when, kind, arg[0], 0) : when);
  }
}

typedef struct loads {
  ir_buf buf;
  uint32_t n;
  ir_expr *v;
} loads;

static void accesses_note_load(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  loads *l = ud;
  if (n->op == IR_LOAD && n->a == l->buf) l->v[l->n++] = e;
}

/* Each load, as if it was made unconditionally. */
static void add_all(finder *f, ir_expr e, const poly_cond *when) {
  loads l = {f->buf, 0, arena_array(f->scratch, ir_expr, e + 1)};
  ir_visit(f->p, f->scratch, e, accesses_note_load, &l);
  for (uint32_t i = 0; i < l.n; i++)
    add_access(f, false, false, ir_at(f->p, l.v[i])->b, when);
}

static void add_loads(finder *f, ir_expr e, const poly_cond *when) {
  if (!e || !f->reads || !ir_at(f->p, e)->has_load) return;
  if (ir_is_small(f->p, e))
    add_by_choice(f, e, when);
  else
    add_all(f, e, when);
}

/* ---- statements --------------------------------------------------------- */

/* Does what the block does show in its loads and stores?  Not where it
 * matches buffers or calls what is not known. */
static void note_call(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_CALL && n->a == IR_FN_EXTERN) *(bool *)ud = true;
}

static bool calls(const finder *f, ir_expr e) {
  bool found = false;
  if (e) ir_visit(f->p, f->scratch, e, note_call, &found);
  return found;
}

static bool is_plain(const finder *f, ir_stmt block) {
  const ir_program *p = f->p;
  if (ir_blk(p, block)->matches.n) return false;
  for (ir_stmt s = ir_next(p, block, block); s;
       s = ir_is_block(p, s) ? ir_skip(p, s, block) : ir_next(p, s, block)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_EVALUATE || (r->kind == IR_STORE && calls(f, r->value)))
      return false;
  }
  return true;
}

static void add_declared(finder *f, ir_stmt block, const poly_cond *when) {
  const ir_program *p = f->p;
  for (int write = !f->reads; write < 2; write++) {
    ir_span r = write ? ir_blk(p, block)->writes : ir_blk(p, block)->reads;
    for (uint32_t i = r.at; i < r.at + r.n; i++)
      if (p->region.v[i].buf == f->buf)
        add_access(f, write, true, p->region.v[i].at, when);
  }
}

static void look_at_list(finder *f, ir_stmt first, const poly_cond *when);
static void look_inside(finder *f, ir_stmt s, const poly_cond *when);

static void look_at_block(finder *f, ir_stmt s, const poly_cond *when) {
  const ir_program *p = f->p;
  ir_span it = ir_blk(p, s)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    f->out->bound[p->iter.v[i].var] = p->iter.v[i].bind;
    add_loads(f, p->iter.v[i].bind, when);
  }
  ir_expr pred = ir_blk(p, s)->pred;
  add_loads(f, pred, when);
  look_inside(f, s, pred ? under(f, when, POLY_TRUE, pred, 0) : when);
}

/* Its iters are bound, and it runs. */
static void look_inside(finder *f, ir_stmt s, const poly_cond *when) {
  const ir_program *p = f->p;
  if (!is_plain(f, s)) {
    add_declared(f, s, when);
    return;
  }
  look_at_list(f, ir_st(p, s)->body, when);
  if (ir_st(p, s)->alt)
    look_at_list(f, ir_st(p, s)->alt, under(f, when, POLY_START, 0, s));
}

static void look_at_loop(finder *f, ir_stmt s, const poly_cond *when) {
  const ir_stmt_rec *r = ir_st(f->p, s);
  add_loads(f, r->lo, when);
  add_loads(f, r->extent, when);
  add_dim(f, r->var);
  look_at_list(f, r->body, in_loop(f, when, s));
}

static void accesses_look_at(finder *f, ir_stmt s, const poly_cond *when) {
  const ir_stmt_rec *r = ir_st(f->p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: look_at_loop(f, s, when); break;
  case IR_BLOCK: look_at_block(f, s, when); break;
  case IR_STORE:
    if (r->buf == f->buf) add_access(f, true, false, r->idx.at, when);
    for (uint32_t i = r->idx.at; i < r->idx.at + r->idx.n; i++)
      add_loads(f, f->p->arg.v[i], when);
    add_loads(f, r->value, when);
    break;
  case IR_IF:
    add_loads(f, r->cond, when);
    look_at_list(f, r->body, under(f, when, POLY_TRUE, r->cond, 0));
    look_at_list(f, r->alt, under(f, when, POLY_FALSE, r->cond, 0));
    break;
  case IR_LET:
    add_loads(f, r->let_value, when);
    f->out->bound[r->let_var] = r->let_value;
    look_at_list(f, r->body, when);
    break;
  default: look_at_list(f, r->body, when);
  }
}

static void look_at_list(finder *f, ir_stmt first, const poly_cond *when) {
  for (ir_stmt s = first; s; s = ir_st(f->p, s)->next)
    accesses_look_at(f, s, when);
}

/* ---- from outside ------------------------------------------------------- */

static bool accesses_is_shared(const finder *f, ir_stmt loop) {
  return f->d->role[ir_st(f->p, loop)->var] == DIST_SAME;
}

/* The conditions on the way from the scope down to `st`. */
static const poly_cond *way_to(finder *f, ir_stmt st) {
  const ir_program *p = f->p;
  ir_stmt up = ir_st(p, st)->parent;
  if (ir_is_block(p, up)) return f->out->context;
  const poly_cond *when = way_to(f, up);
  const ir_stmt_rec *r = ir_st(p, up);
  if (r->kind == IR_LOOP) {
    if (!accesses_is_shared(f, up)) add_dim(f, r->var);
    return in_loop(f, when, up);
  }
  if (r->kind == IR_LET) f->out->bound[r->let_var] = r->let_value;
  if (r->kind != IR_IF) return when;
  int kind = ir_st(p, st)->in_alt ? POLY_FALSE : POLY_TRUE;
  return under(f, when, kind, r->cond, 0);
}

static void add_param(poly_pair *x, ir_var v) {
  for (uint32_t i = 0; i < x->nparam; i++)
    if (x->param[i] == v) return;
  x->param[x->nparam++] = v;
}

static void find_params(finder *f, ir_stmt b1, ir_stmt b2) {
  const ir_program *p = f->p;
  poly_pair *x = f->out;
  ir_stmt scope = ir_scope_of(p, b1), from[2] = {b1, b2};
  ir_span sizes = ir_entry(p)->sizes;
  uint32_t cap = sizes.n;
  for (ir_stmt a = scope; a; a = ir_st(p, a)->parent)
    if (ir_is_block(p, a)) cap += ir_blk(p, a)->iters.n;
  for (int k = 0; k < 2; k++)
    for (ir_stmt a = from[k]; a != scope; a = ir_st(p, a)->parent) cap++;
  x->param = arena_array(f->scratch, ir_var, cap);
  for (uint32_t i = sizes.at; i < sizes.at + sizes.n; i++)
    add_param(x, p->arg.v[i]);
  /* Iters of all blocks around: what is in a block that has none speaks
   * of those further out. */
  for (ir_stmt a = scope; a; a = ir_st(p, a)->parent) {
    ir_span it = ir_is_block(p, a) ? ir_blk(p, a)->iters : (ir_span){0, 0};
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      add_param(x, p->iter.v[i].var);
  }
  for (int k = 0; k < 2; k++)
    for (ir_stmt a = from[k]; a != scope; a = ir_st(p, a)->parent)
      if (a != from[k] && ir_is_loop(p, a) && accesses_is_shared(f, a))
        add_param(x, ir_st(p, a)->var);
}

static void accesses_start(finder *f, sch_state *s, poly_pair *out) {
  uint32_t n = s->p->var.n;
  *out = (poly_pair){.p = s->p};
  out->bound = arena_zalloc(s->scratch, n * sizeof *out->bound);
  out->pos = arena_array(s->scratch, int32_t, n);
  *f = (finder){.p = s->p, .scratch = s->scratch, .out = out};
}

void poly_around(sch_state *s, ir_stmt st, poly_pair *out) {
  finder f;
  accesses_start(&f, s, out);
  dist d = {.s = s, .role = arena_zalloc(s->scratch, s->p->var.n)};
  f.d = &d;
  find_params(&f, st, st);
  f.b = &out->b[0];
  out->context = way_to(&f, st);
}

/* The block's own iterations, where it is. */
static void find_here(finder *f, ir_stmt block, int k) {
  const ir_program *p = f->p;
  f->b = &f->out->b[k];
  f->cap = 0;
  const poly_cond *when = way_to(f, block);
  ir_expr pred = ir_blk(p, block)->pred;
  f->b->when = pred ? under(f, when, POLY_TRUE, pred, 0) : when;
  f->b->around = f->b->n;
}

static void accesses_bind_iters(finder *f, uint32_t n, const ir_iter *iter) {
  for (uint32_t i = 0; i < n; i++) f->out->bound[iter[i].var] = iter[i].bind;
}

static void find_instances(finder *f, sch_state *s, ir_stmt block, ir_stmt top,
                           poly_pair *out) {
  const ir_program *p = s->p;
  accesses_start(f, s, out);
  dist *d = arena_new(s->scratch, dist);
  *d = (dist){.s = s, .role = arena_zalloc(s->scratch, p->var.n)};
  for (ir_stmt a = block; a != top && !ir_is_block(p, ir_st(p, a)->parent);) {
    a = ir_st(p, a)->parent;
    if (ir_is_loop(p, a)) dist_set(d, ir_st(p, a)->var, DIST_FREE);
  }
  f->d = d;
  find_params(f, block, block);
  find_here(f, block, 0);
  ir_span it = ir_blk(p, block)->iters;
  accesses_bind_iters(f, it.n, p->iter.v + it.at);
}

void poly_instances(sch_state *s, ir_stmt block, ir_stmt top, poly_pair *out) {
  finder f;
  find_instances(&f, s, block, top, out);
}

void poly_instances_in(sch_state *s, ir_stmt block, ir_stmt above,
                       poly_pair *out) {
  finder f;
  ir_stmt top = sch_step_down(s->p, above, block);
  find_instances(&f, s, block, top, out);
  f.b = &out->b[1];
  f.cap = 0;
  f.b->when = way_to(&f, top);
}

/* The block in the nest under the loop. */
static void find_there(finder *f, const sch_move *m, const sch_nest *nest) {
  f->b = &f->out->b[1];
  f->cap = 0;
  const poly_cond *when = way_to(f, m->loop);
  add_dim(f, ir_st(f->p, m->loop)->var);
  when = in_loop(f, when, m->loop);
  for (uint32_t i = 0; i < nest->nloops; i++) {
    add_dim(f, nest->var[i]);
    poly_cond *c = arena_new(f->scratch, poly_cond);
    *c = (poly_cond){.up = when,
                     .kind = POLY_RANGE,
                     .e = nest->extent[i],
                     .v = nest->var[i]};
    when = c;
  }
  if (nest->pred) when = under(f, when, POLY_TRUE, nest->pred, 0);
  f->b->when = when;
  f->b->around = f->b->n;
}

void poly_moved(sch_state *s, const sch_move *m, const sch_nest *nest,
                ir_stmt maker, ir_buf buf, poly_pair *out) {
  const ir_program *p = s->p;
  finder f;
  dist d;
  accesses_start(&f, s, out);
  dist_init(&d, s, 0, NULL, m->common);
  f.d = &d;
  find_params(&f, maker ? maker : m->block, m->block);
  if (!maker) {
    find_here(&f, m->block, 0);
    find_there(&f, m, nest);
    return;
  }
  f.buf = buf;
  out->ndim = ir_ndim(p, buf);
  f.b = &out->b[0];
  const poly_cond *when = way_to(&f, maker);
  f.b->around = f.b->n;
  f.reads = true;
  look_at_block(&f, maker, when);
  find_there(&f, m, nest);
  accesses_bind_iters(&f, nest->niters, nest->iter);
  look_inside(&f, m->block, f.b->when);
}

void poly_find(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf,
               poly_pair *out) {
  finder f;
  accesses_start(&f, d->s, out);
  f.d = d;
  f.buf = buf;
  out->ndim = ir_ndim(f.p, buf);
  find_params(&f, b1, b2);
  for (int k = 0; k < 2; k++) {
    ir_stmt block = k ? b2 : b1;
    f.b = &out->b[k];
    f.cap = 0;
    f.reads = k == 1;
    const poly_cond *when = way_to(&f, block);
    f.b->around = f.b->n;
    look_at_block(&f, block, when);
  }
}
