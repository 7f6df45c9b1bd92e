/* SPDX-License-Identifier: Apache-2.0
 * Builds the loop tree and the stores in it by one walk over the program. */
#include "search/feature/nest.h"
#include "ir/analysis/analysis.h"
#include "ir/tensor_call.h"

#include <math.h>

typedef struct walk {
  nest *n;
  nest_chain c;
  uint32_t loops, stores; /* room for so many */
  uint32_t inner;         /* the innermost loop that counts; NEST_NONE */
  uint32_t call;          /* loops around the instruction; NEST_NONE */
} walk;

/* ---- what binds variables ----------------------------------------------- */

static void push_bound(walk *w, nest_bound b) {
  nest_chain *c = &w->c;
  if (c->n == c->cap) {
    uint32_t cap = c->cap ? 2 * c->cap : 64;
    nest_bound *v = arena_array(w->n->scratch, nest_bound, cap);
    if (c->n) memcpy(v, c->v, c->n * sizeof *v);
    c->v = v;
    c->cap = cap;
  }
  c->v[c->n++] = b;
}

static nest_range middle(nest_range lo, nest_range extent) {
  int64_t at = lo.lo + (extent.hi > 1 ? extent.hi / 2 : 0);
  return (nest_range){at, at};
}

/* Symbolic sizes have some value of theirs. */
static void set_sizes(walk *w) {
  const ir_program *p = w->n->p;
  ir_span sizes = ir_entry(p)->sizes;
  for (uint32_t i = 0; i < sizes.n; i++) {
    ir_var v = p->arg.v[sizes.at + i];
    int64_t x = p->var.v[v].lo > 1 ? p->var.v[v].lo : 1;
    w->c.var[v] = w->c.mid[v] = (nest_range){x, x};
  }
}

static void bind_iters(walk *w, ir_stmt s) {
  const ir_program *p = w->n->p;
  ir_span it = ir_blk(p, s)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter *x = &p->iter.v[i];
    push_bound(w, (nest_bound){.var = x->var,
                               .lo = x->bind,
                               .dlo = x->lo,
                               .dextent = x->extent,
                               .iter = x->kind == IR_REDUCE ? NEST_REDUCE
                                                            : NEST_SPATIAL});
    w->c.mid[x->var] = nest_eval(p, w->c.mid, x->bind);
  }
}

static void bind_matches(walk *w, ir_stmt s) {
  const ir_program *p = w->n->p;
  ir_span m = ir_blk(p, s)->matches;
  const uint32_t most = sizeof w->c.match / sizeof *w->c.match;
  for (uint32_t i = m.at; i < m.at + m.n && w->c.nmatch < most; i++)
    w->c.match[w->c.nmatch++] = &p->match.v[i];
}

const ir_match *nest_match_of(const nest_chain *c, ir_buf b) {
  const ir_match *found = NULL;
  for (uint32_t i = c->nmatch; i-- > 0;)
    if (c->match[i]->buf == b) {
      found = c->match[i];
      b = found->source.buf;
    }
  return found;
}

/* ---- stores ------------------------------------------------------------- */

static bool is_constant(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT || n->op == IR_REAL;
}

static uint32_t loops_around(const walk *w) {
  return w->inner == NEST_NONE ? 0 : w->n->loop[w->inner].depth + 1;
}

static void add_store(walk *w, ir_stmt s) {
  nest *n = w->n;
  const ir_stmt_rec *r = ir_st(n->p, s);
  /* What a reduction starts from is no work of its own. */
  if (w->c.init && is_constant(n->p, r->value)) return;
  nest_store *x = &n->store[n->nstore++];
  *x = (nest_store){
      .stmt = s, .unroll = w->c.unroll, .beforehand = w->c.beforehand};
  x->depth = loops_around(w);
  x->call = w->call < x->depth ? w->call : x->depth;
  x->loop = arena_array(n->scratch, uint32_t, x->depth + 1);
  x->times = arena_array(n->scratch, double, x->depth + 1);
  x->drives = arena_zalloc(n->scratch, x->depth + 1);
  uint32_t d = x->depth;
  for (uint32_t l = w->inner; l != NEST_NONE; l = n->loop[l].parent)
    x->loop[--d] = l;
  nest_loads loads = {.scratch = n->scratch};
  nest_count(n->p, &w->c, r->value, x->op, &loads);
  for (uint32_t i = 0; i < r->idx.n; i++) {
    double none[NEST_OPS] = {0};
    ir_expr e = n->p->arg.v[r->idx.at + i];
    if (ir_at(n->p, e)->has_load) nest_count(n->p, &w->c, e, none, &loads);
  }
  nest_touch(n, &w->c, x, &loads);
}

/* ---- statements --------------------------------------------------------- */

static void visit_list(walk *w, ir_stmt first);

static double unroll_step(const ir_program *p, ir_stmt s, double d) {
  const ir_anno *a = ir_anno_get(p, s, "pragma_auto_unroll_max_step");
  if (!a || p->value.v[a->val].tag != IR_VAL_INT) return d;
  return (double)p->value.v[a->val].i;
}

static bool counts(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->loop_kind != IR_SERIAL || !ir_is_const(p, r->extent, 1);
}

static void visit_loop(walk *w, ir_stmt s) {
  nest *n = w->n;
  const ir_stmt_rec *r = ir_st(n->p, s);
  nest_range lo = nest_eval(n->p, w->c.mid, r->lo);
  nest_range extent = nest_eval(n->p, w->c.mid, r->extent);
  uint32_t outer = w->inner, at = NEST_NONE;
  if (counts(n->p, s)) {
    at = n->nloop++;
    n->loop[at] =
        (nest_loop){.stmt = s,
                    .extent = extent.hi > 1 ? (double)extent.hi : 1,
                    .parent = outer,
                    .depth = outer == NEST_NONE ? 0 : n->loop[outer].depth + 1,
                    .first = n->nstore,
                    .kind = r->loop_kind,
                    .thread = r->thread};
    w->inner = at;
  }
  push_bound(w, (nest_bound){.var = r->var,
                             .lo = r->lo,
                             .extent = r->extent,
                             .is_loop = 1,
                             .loop = at});
  w->c.mid[r->var] = middle(lo, extent);
  visit_list(w, r->body);
  if (at != NEST_NONE) n->loop[at].end = n->nstore;
  w->inner = outer;
}

static void visit_block(walk *w, ir_stmt s) {
  const ir_program *p = w->n->p;
  bool init = w->c.init, beforehand = w->c.beforehand;
  uint32_t call = w->call;
  bind_iters(w, s);
  bind_matches(w, s);
  w->c.beforehand = beforehand || ir_anno_get(p, s, IR_PREPARE_KEY) != NULL;
  if (call == NEST_NONE && ir_anno_get(p, s, IR_TENSOR_CALL))
    w->call = loops_around(w);
  w->c.init = init || ir_has_reduce_iter(p, s);
  visit_list(w, ir_st(p, s)->alt);
  w->c.init = init;
  visit_list(w, ir_st(p, s)->body);
  w->c.beforehand = beforehand;
  w->call = call;
}

static void visit_let(walk *w, const ir_stmt_rec *r) {
  const ir_program *p = w->n->p;
  if (ir_is_int(p->var.v[r->let_var].dtype)) {
    push_bound(w, (nest_bound){.var = r->let_var, .lo = r->let_value});
    w->c.mid[r->let_var] = nest_eval(p, w->c.mid, r->let_value);
  }
  visit_list(w, r->body);
}

static void visit(walk *w, ir_stmt s) {
  const ir_program *p = w->n->p;
  const ir_stmt_rec *r = ir_st(p, s);
  uint32_t bound = w->c.n, nmatch = w->c.nmatch;
  double unroll = w->c.unroll;
  if (r->anno) w->c.unroll = unroll_step(p, s, unroll);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: visit_loop(w, s); break;
  case IR_BLOCK: visit_block(w, s); break;
  case IR_STORE: add_store(w, s); break;
  case IR_LET: visit_let(w, r); break;
  case IR_IF:
  case IR_ALLOCATE:
    visit_list(w, r->body);
    visit_list(w, r->alt);
    break;
  case IR_EVALUATE:
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  w->c.unroll = unroll;
  w->c.n = bound;
  w->c.nmatch = nmatch;
}

static void visit_list(walk *w, ir_stmt first) {
  for (ir_stmt s = first; s; s = ir_st(w->n->p, s)->next) visit(w, s);
}

void nest_build(nest *n, const ir_program *p, arena *scratch) {
  walk w = {.n = n, .inner = NEST_NONE, .call = NEST_NONE};
  *n = (nest){.p = p, .scratch = scratch};
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    w.loops += ir_is_loop(p, s);
    w.stores += ir_st(p, s)->kind == IR_STORE;
  }
  n->loop = arena_array(scratch, nest_loop, w.loops + 1);
  n->store = arena_array(scratch, nest_store, w.stores + 1);
  w.c.var = arena_zalloc(scratch, p->var.n * sizeof *w.c.var);
  w.c.mid = arena_zalloc(scratch, p->var.n * sizeof *w.c.mid);
  w.c.seen = arena_zalloc(scratch, p->node.n * sizeof *w.c.seen);
  set_sizes(&w);
  visit(&w, root);
}

/* ---- asking ------------------------------------------------------------- */

double nest_executions(const nest_store *s, uint32_t d) {
  double x = 1;
  for (; d < s->depth; d++) x *= s->times[d];
  return x;
}

double nest_ops(const nest_store *s) {
  double sum = 0;
  for (int i = 0; i < NEST_OPS; i++) sum += s->op[i];
  return sum;
}

static bool accesses_buf(const nest_store *s, ir_buf buf) {
  for (uint32_t k = 0; k < s->naccess; k++)
    if (s->access[k].buf == buf) return true;
  return false;
}

uint32_t nest_lifetime(const nest *n, const nest_store *s, ir_buf buf) {
  uint32_t d = s->depth;
  if (n->p->buf.v[buf].role != IR_ROLE_LOCAL) return 0;
  for (uint32_t i = 0; i < n->nstore; i++) {
    const nest_store *o = &n->store[i];
    if (o == s || !accesses_buf(o, buf)) continue;
    uint32_t same = 0;
    while (same < d && same < o->depth && o->loop[same] == s->loop[same])
      same++;
    d = same;
  }
  return d;
}
