/* SPDX-License-Identifier: Apache-2.0
 * What the machine cannot do: sibling statements become a function of buffers
 * and of the variables around them, compiled by LLVM for the host. */
#include "backends/dae/compile.h"
#include "backends/llvm/llvm.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/lower.h"
#include <string.h>

/* ---- what it uses ------------------------------------------------------- */

typedef struct survey {
  dae_compile *c;
  bool *buf, *own, *var;
} survey;

static void survey_expr(survey *x, ir_expr e);

static void survey_node(const ir_program *p, ir_expr e, void *ud) {
  survey *x = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) x->buf[n->a] = true;
  if (n->op == IR_VAR && x->c->bound[n->a]) x->var[n->a] = true;
}

static void survey_expr(survey *x, ir_expr e) {
  if (e) ir_visit(x->c->p, x->c->scratch, e, survey_node, x);
}

static void survey_stmt(survey *x, ir_stmt s) {
  const ir_program *p = x->c->p;
  const ir_stmt_rec r = *ir_st(p, s);
  switch ((ir_kind)r.kind) {
  case IR_LOOP: survey_expr(x, r.lo), survey_expr(x, r.extent); break;
  case IR_STORE:
    x->buf[r.buf] = true;
    for (uint32_t i = 0; i < r.idx.n; i++)
      survey_expr(x, p->arg.v[r.idx.at + i]);
    survey_expr(x, r.value), survey_expr(x, r.mask);
    break;
  case IR_IF: survey_expr(x, r.cond); break;
  case IR_LET: survey_expr(x, r.let_value); break;
  case IR_EVALUATE: survey_expr(x, r.eval); break;
  case IR_ALLOCATE: x->own[r.alloc] = true; break;
  default: break;
  }
}

static void list_uses(const survey *x, dae_host *h) {
  const ir_program *p = x->c->p;
  h->buf = arena_array(x->c->scratch, ir_buf, p->buf.n);
  h->var = arena_array(x->c->scratch, ir_var, p->var.n);
  for (ir_buf b = 1; b < p->buf.n; b++)
    if (x->buf[b] && !x->own[b] && p->buf.v[b].role != IR_ROLE_CONSTANT)
      h->buf[h->nbuf++] = b;
  for (ir_var v = 1; v < p->var.n; v++)
    if (x->var[v]) h->var[h->nvar++] = v;
}

uint32_t dae_host_of(dae_compile *c, ir_stmt first, ir_stmt last) {
  uint32_t known = map_get(&c->host_at, first);
  if (known != MAP_NONE) return known;
  survey x = {.c = c};
  dae_host h = {.first = first, .last = last};
  x.buf = arena_zalloc(c->scratch, c->p->buf.n);
  x.own = arena_zalloc(c->scratch, c->p->buf.n);
  x.var = arena_zalloc(c->scratch, c->p->var.n);
  for (ir_stmt top = first;; top = ir_st(c->p, top)->next) {
    for (ir_stmt s = top; s; s = ir_next(c->p, s, top)) survey_stmt(&x, s);
    if (top == last) break;
  }
  list_uses(&x, &h);
  str_init(&h.code, c->heap);
  vec_push(c->heap, &c->host, h);
  map_put(&c->host_at, first, c->host.n - 1);
  return c->host.n - 1;
}

/* ---- the function ------------------------------------------------------- */

/* The statements alone remain, in the root. */
static void keep_alone(ir_program *q, const dae_host *h) {
  ir_stmt root = ir_entry(q)->root, next;
  ir_stmt kept = ir_block_new(q, ir_name(q, "kept"));
  for (ir_stmt s = h->first, last = h->last;; s = next) {
    next = ir_st(q, s)->next;
    ir_detach(q, s);
    ir_append(q, kept, s);
    if (s == last) break;
  }
  for (ir_stmt s; (s = ir_st(q, root)->body) != 0;) {
    ir_detach(q, s);
    ir_kill(q, s);
  }
  ir_move_body(q, kept, root);
  ir_kill(q, kept);
}

static bool is_loaded(const ir_program *q, ir_buf b) {
  return ir_uses_below(q, ir_entry(q)->root, b, false);
}

/* A variable is a size less one, since sizes begin at 1. */
static void make_sizes(ir_program *q, arena *scratch, const dae_host *h) {
  uint32_t *made = arena_array(scratch, uint32_t, h->nvar + 1);
  ir_subst sub;
  ir_subst_init(&sub, q, scratch);
  for (uint32_t i = 0; i < h->nvar; i++) {
    made[i] =
        ir_var_new(q, IR_VAR_SIZE, ir_name(q, "at"), IR_INDEX, 1, IR_MAX_SIZE);
    ir_subst_var(&sub, h->var[i],
                 ir_sub(q, ir_ref(q, made[i]), ir_index(q, 1)));
  }
  ir_stmt root = ir_entry(q)->root;
  for (ir_stmt s = root; h->nvar && s; s = ir_next(q, s, root))
    ir_subst_head(&sub, s, true);
  ir_span sizes = ir_arg_span(q, h->nvar, made);
  ir_entry(q)->sizes = sizes;
}

static void make_function(ir_program *q, arena *scratch, const dae_host *h) {
  keep_alone(q, h);
  for (uint32_t i = 0; i < h->nbuf; i++)
    q->buf.v[h->buf[i]].role =
        is_loaded(q, h->buf[i]) ? IR_ROLE_INPUT : IR_ROLE_OUTPUT;
  make_sizes(q, scratch, h);
  ir_span params = ir_arg_span(q, h->nbuf, h->buf);
  ir_entry(q)->params = params;
}

static tess_status lower_rest(ir_program *q, arena *scratch, const target *t,
                              err_state *e) {
  lower_options o = {.vector_bytes = (uint32_t)t->vector_bytes,
                     .no_threads = true};
  tess_status s = TESS_OK;
  for (uint32_t i = LOWER_AT_flatten_buffer + 1; !s && i < LOWER_NPASSES; i++)
    s = lower_passes[i].run(q, scratch, &o, e);
  return s;
}

static tess_status compile_host(dae_compile *c, dae_host *h, const target *t) {
  ir_program *q = &c->apart;
  arena_mark mark = arena_get_mark(c->scratch);
  ir_program_copy(q, c->p);
  make_function(q, c->scratch, h);
  tess_status s = lower_rest(q, c->scratch, t, c->e);
  if (!s)
    s = llvm_compile(q, c->scratch, t, BACKEND_CODE, &h->code, NULL, c->e);
  arena_reset_to(c->scratch, mark);
  return s;
}

tess_status dae_compile_hosts(dae_compile *c) {
  target *t = arena_new(c->scratch, target);
  tess_status s = c->host.n ? target_parse(t, "llvm", c->e) : TESS_OK;
  for (uint32_t i = 0; !s && i < c->host.n; i++)
    s = compile_host(c, &c->host.v[i], t);
  return s;
}
