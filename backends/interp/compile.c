/* SPDX-License-Identifier: Apache-2.0
 * Compiles statements to the interpreter's bytecode. */
#include "backends/interp/comp.h"
#include "ir/edit.h"
#include "ir/query.h"

static void compile_list(comp *c, ir_stmt first);

/* Runs once a statement has bound its variables: computes the expressions
 * hoisted to it and allocates the buffers whose lifetime scope it is. */
static void open_scope(comp *c, ir_stmt s) {
  comp_hoisted(c, s);
  for (ir_buf b = c->plan.stmt[s].buf; b; b = c->plan.buf[b].next) {
    const plan_buf *x = &c->plan.buf[b];
    if (x->is_match || !x->used) continue;
    uint32_t i = comp_buf(c, b);
    if (!c->k->bufs.v[i].is_shared && !c->k->bufs.v[i].is_warp)
      comp_op(c, OP_ALLOC, 0, i, 0);
  }
}

/* ---- loops -------------------------------------------------------------- */

static void compile_loop(comp *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  bool racing = plan_is_racing(c->p, s);
  uint32_t at = c->k->loops.n;
  code_loop loop = {.var = c->var_reg[r->var],
                    .end = comp_regs(c, 1),
                    .lo = comp_index(c, r->lo),
                    .extent = comp_index(c, r->extent),
                    .stmt = s};
  vec_push(c->k->heap, &c->k->loops, loop);
  comp_op(c, racing ? OP_RACE_LOOP : OP_LOOP, 0, at, 0);
  c->k->loops.v[at].body = comp_here(c);
  open_scope(c, s);
  compile_list(c, r->body);
  c->stmt = s;
  comp_op(c, racing ? OP_RACE_NEXT : OP_NEXT, 0, at, 0);
  c->k->loops.v[at].exit = comp_here(c);
}

/* ---- kernels ------------------------------------------------------------ */

/* Is the value known where the kernel starts? */
static bool known_at(comp *c, ir_stmt kernel, ir_expr e) {
  const plan_node *x = plan_of(&c->plan, e);
  return x->pure && !(x->scope && ir_is_ancestor(c->p, kernel, x->scope));
}

/* Records thread loop s of a kernel: one extent a tag, which is a constant of
 * threads. */
static void add_thread(comp *c, ir_stmt kernel, ir_expr *extent, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  int64_t n = 1;
  bool fixed = ir_const_int(c->p, r->extent, &n);
  ir_expr other = extent[r->thread];
  if (!fixed && !(plan_is_grid(r->thread) && known_at(c, kernel, r->extent)))
    plan_fail(c->e, TESS_UNSUPPORTED, s, 0,
              "a thread loop whose extent is not constant");
  else if (n < 1)
    plan_fail(c->e, TESS_UNSUPPORTED, s, 0, "a thread loop without threads");
  else if (other && other != r->extent)
    plan_fail(c->e, TESS_INVALID, s, 0,
              "%s has different extents here and elsewhere in the kernel",
              ir_thread_text((ir_thread)r->thread));
  else
    extent[r->thread] = r->extent;
}

/* A thread executes one iteration of a thread loop: its own. */
static void compile_thread(comp *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  const code_kernel *k = &c->k->kernels.v[c->kernel];
  uint32_t index = k->index[r->thread], lo = comp_index(c, r->lo);
  comp_op(c, OP_ADD, c->var_reg[r->var], lo, index);
  open_scope(c, s);
  compile_list(c, r->body);
}

/* ---- what a warp does together ------------------------------------------ */

typedef struct outer_vars {
  comp *c;
  ir_stmt loop;
  uint8_t *seen; /* by variable: already in the list */
  uint32_t n;
  ir_var *var;
} outer_vars;

static void note_var(const ir_program *p, ir_expr e, void *ud) {
  outer_vars *o = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_VAR || o->seen[n->a]) return;
  ir_stmt binder = o->c->plan.var[n->a].binder;
  o->seen[n->a] = 1;
  if (!binder || !ir_is_ancestor(p, o->loop, binder)) o->var[o->n++] = n->a;
}

static bool note_expr(const ir_program *p, ir_expr e, void *ud) {
  outer_vars *o = ud;
  ir_visit(p, o->c->memory, e, note_var, o);
  return false;
}

/* The loop's live-in variables. */
static void find_outer(outer_vars *o) {
  const ir_program *p = o->c->p;
  for (ir_stmt s = o->loop; s; s = ir_next(p, s, o->loop))
    (void)ir_stmt_any_expr(p, s, note_expr, o);
}

/* A warp-synchronous loop: all lanes wait before and after it and must agree on
 * its live-in variables; one lane executes it for all. */
static void compile_warp(comp *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  outer_vars o = {.c = c, .loop = s};
  o.seen = arena_zalloc(c->memory, c->p->var.n);
  o.var = arena_array(c->memory, ir_var, c->p->var.n);
  find_outer(&o);
  if (c->warp || c->plan.stmt[r->parent].level != c->kernel_level)
    plan_fail(c->e, TESS_INVALID, s, 0,
              "a warp's loop that is not in a thread's code");
  if (!ir_is_const(c->p, r->extent, 1))
    plan_fail(c->e, TESS_INVALID, s, 0, "a warp's loop of several iterations");
  code_warp w = {.stmt = s, .n = o.n};
  w.at = vec_extend(c->k->heap, &c->k->regs, 2 * o.n);
  w.vars = w.at + o.n;
  for (uint32_t i = 0; i < o.n; i++) {
    uint32_t reg = comp_index(c, ir_ref(c->p, o.var[i]));
    c->k->regs.v[w.at + i] = reg;
    c->k->regs.v[w.vars + i] = o.var[i];
  }
  vec_push(c->k->heap, &c->k->warps, w);
  comp_op(c, OP_WARP, 0, c->k->warps.n - 1, 0);
  c->warp = s;
  comp_op(c, OP_MOVE, c->var_reg[r->var], comp_index(c, r->lo), 0);
  open_scope(c, s);
  compile_list(c, r->body);
  c->stmt = s;
  c->warp = 0;
  comp_op(c, OP_WARP_END, 0, 0, 0);
}

static void compile_kernel(comp *c, ir_stmt s) {
  code_kernel k = {.stmt = s};
  ir_expr extent[IR_THREAD_COUNT] = {0};
  if (ir_st(c->p, s)->thread == IR_WARP)
    plan_fail(c->e, TESS_INVALID, s, 0,
              "a warp's loop outside of thread loops");
  for (ir_stmt t = s; t; t = ir_next(c->p, t, s))
    if (ir_is_thread_loop(ir_st(c->p, t)) && ir_st(c->p, t)->thread != IR_WARP)
      add_thread(c, s, extent, t);
  for (unsigned i = 0; i < IR_THREAD_COUNT && !c->e->code; i++) {
    if (!extent[i]) continue;
    k.extent[i] = comp_index(c, extent[i]);
    k.index[i] = comp_regs(c, 1);
  }
  c->kernel = c->k->kernels.n;
  c->kernel_level = c->plan.stmt[s].level;
  vec_push(c->k->heap, &c->k->kernels, k);
  comp_op(c, OP_KERNEL, 0, c->kernel, 0);
  compile_thread(c, s);
  c->stmt = s;
  comp_op(c, OP_END, 0, 0, 0);
  c->k->kernels.v[c->kernel].exit = comp_here(c);
  c->kernel = 0;
}

static void compile_barrier(comp *c, ir_stmt s) {
  ir_scope scope = (ir_scope)ir_st(c->p, s)->thread;
  ir_stmt parent = ir_st(c->p, s)->parent;
  bool warp = scope == IR_SCOPE_WARP;
  if (!warp && scope != IR_SCOPE_GLOBAL && !ir_scope_is_shared(scope))
    plan_fail(c->e, TESS_UNSUPPORTED, s, 0, "a barrier of scope %s",
              ir_scope_text(scope));
  else if (!c->kernel || c->warp ||
           c->plan.stmt[parent].level != c->kernel_level)
    plan_fail(c->e, TESS_INVALID, s, 0,
              "a barrier that is not in a thread's code");
  comp_op(c, warp ? OP_WARP_BARRIER : OP_BARRIER, 0, 0, 0);
}

/* ---- blocks ------------------------------------------------------------- */

static void compile_iter(comp *c, ir_stmt s, const ir_iter *it, uint32_t dim) {
  uint32_t value = comp_index(c, it->bind);
  if (!c->plan.var[it->var].alias)
    comp_op(c, OP_MOVE, c->var_reg[it->var], value, 0);
  code_domain d = {.value = value,
                   .lo = comp_index(c, it->lo),
                   .extent = comp_index(c, it->extent),
                   .dim = dim,
                   .stmt = s};
  vec_push(c->k->heap, &c->k->domains, d);
  comp_op(c, OP_DOMAIN, 0, c->k->domains.n - 1, 0);
}

/* The init is guarded by: all reduce iterators are at their first value. */
static void compile_init(comp *c, ir_stmt s) {
  ir_span it = ir_blk(c->p, s)->iters;
  uint32_t mark = comp_mark(c), first = comp_here(c);
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter *x = &c->p->iter.v[i];
    if (x->kind != IR_REDUCE) continue;
    uint32_t v = comp_index(c, ir_ref(c->p, x->var));
    comp_op(c, OP_JNE, 0, v, comp_index(c, x->lo));
  }
  uint32_t last = comp_here(c);
  compile_list(c, ir_st(c->p, s)->alt);
  comp_undo(c, mark);
  for (uint32_t i = first; i < last; i++)
    if (c->k->insn.v[i].op == OP_JNE) c->k->insn.v[i].c = comp_here(c);
}

static void compile_block(comp *c, ir_stmt s) {
  const ir_block_rec b = *ir_blk(c->p, s);
  bool root = ir_st(c->p, s)->parent == 0;
  uint32_t jump = 0;
  if (b.pred) {
    uint32_t pred = comp_index(c, b.pred);
    jump = comp_here(c);
    comp_op(c, OP_JZ, 0, pred, 0);
  }
  uint32_t mark = comp_mark(c);
  for (uint32_t i = 0; i < b.iters.n; i++)
    compile_iter(c, s, &c->p->iter.v[b.iters.at + i], i);
  open_scope(c, s);
  if (!root) vec_push(c->k->heap, &c->k->blocks, s);
  if (ir_st(c->p, s)->alt) compile_init(c, s);
  compile_list(c, ir_st(c->p, s)->body);
  if (!root) c->k->blocks.n--;
  comp_undo(c, mark);
  if (b.pred) c->k->insn.v[jump].c = comp_here(c);
}

/* ---- stores ------------------------------------------------------------- */

/* Must the lanes' addresses be distinct? */
static bool lanes_apart(const comp *c, const ir_stmt_rec *r) {
  for (uint32_t i = 0; i < r->idx.n; i++) {
    const ir_node *n = ir_at(c->p, c->p->arg.v[r->idx.at + i]);
    int64_t stride;
    if (n->op == IR_RAMP && ir_const_int(c->p, n->b, &stride) && stride)
      return true;
  }
  return false;
}

static void compile_lane(comp *c, const ir_stmt_rec *r, uint32_t lane,
                         uint32_t value) {
  uint32_t *idx = arena_array(c->memory, uint32_t, r->idx.n + 1);
  uint32_t mark = comp_mark(c), jump = 0;
  if (r->mask) {
    uint32_t m = comp_lane(c, r->mask, lane);
    jump = comp_here(c);
    comp_op(c, OP_JZ, 0, m, 0);
  }
  for (uint32_t i = 0; i < r->idx.n; i++) {
    ir_expr e = c->p->arg.v[r->idx.at + i];
    uint32_t lanes = ir_at(c->p, e)->dtype.lanes;
    idx[i] = comp_lane(c, e, lanes > lane ? lane : 0);
  }
  uint32_t a = comp_access(c, r->buf, r->idx.n, idx, true);
  code_guard guard = (code_guard)c->k->bufs.v[c->k->accesses.v[a].buf].guard;
  comp_op(c,
          guard != CODE_RACING ? OP_STORE
          : c->atomically      ? OP_STORE_ATOMIC
                               : OP_STORE_RACING,
          0, a, value);
  if (r->mask) {
    comp_undo(c, mark);
    c->k->insn.v[jump].c = comp_here(c);
  }
}

/* All lanes are evaluated before any is stored. */
static void compile_store(comp *c, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(c->p, s);
  uint32_t lanes = ir_at(c->p, r.value)->dtype.lanes;
  bool race = lanes > 1 && !lanes_apart(c, &r);
  uint32_t *value = arena_array(c->memory, uint32_t, lanes);
  if (r.loop_kind) c->atomically = r.buf;
  for (uint32_t l = 0; l < lanes; l++) value[l] = comp_lane(c, r.value, l);
  if (race) comp_op(c, OP_LANES, 0, s, 0);
  for (uint32_t l = 0; l < lanes && !c->e->code; l++) {
    if (race) comp_op(c, OP_LANE, 0, 0, 0);
    compile_lane(c, &r, l, value[l]);
  }
  if (race) comp_op(c, OP_LANES_END, 0, 0, 0);
  c->atomically = 0;
}

/* ---- other statements --------------------------------------------------- */

static void compile_if(comp *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  if (ir_is_instead(c->p, r->cond)) { /* the interpreter runs the body, not the
                                       * call */
    compile_list(c, r->body);
    return;
  }
  uint32_t cond = comp_index(c, r->cond), mark = comp_mark(c);
  uint32_t jump = comp_here(c), out = 0;
  comp_op(c, OP_JZ, 0, cond, 0);
  compile_list(c, r->body);
  comp_undo(c, mark);
  if (r->alt) {
    out = comp_here(c);
    comp_op(c, OP_JUMP, 0, 0, 0);
  }
  c->k->insn.v[jump].c = comp_here(c);
  compile_list(c, r->alt);
  comp_undo(c, mark);
  if (r->alt) c->k->insn.v[out].c = comp_here(c);
}

static void compile_let(comp *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  const plan_var *x = &c->plan.var[r->let_var];
  uint32_t lanes = ir_at(c->p, r->let_value)->dtype.lanes;
  for (uint32_t l = 0; l < lanes && !x->alias; l++) {
    uint32_t v = comp_lane(c, r->let_value, l);
    comp_op(c, OP_MOVE, c->var_reg[r->let_var] + l, v, 0);
  }
  open_scope(c, s);
  compile_list(c, r->body);
}

/* Calls are executed for their side effects wherever they are nested in it. */
static void compile_evaluate(comp *c, ir_stmt s) {
  ir_expr e = ir_st(c->p, s)->eval;
  uint32_t lanes = ir_at(c->p, e)->dtype.lanes;
  c->acts = true;
  for (uint32_t l = 0; l < lanes; l++) (void)comp_lane(c, e, l);
  c->acts = false;
}

static void compile_stmt(comp *c, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(c->p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    if (!c->plan.lockstep || !ir_is_thread_loop(r))
      compile_loop(c, s);
    else if (c->kernel && r->thread == IR_WARP)
      compile_warp(c, s);
    else if (c->kernel)
      compile_thread(c, s);
    else
      compile_kernel(c, s);
    return;
  case IR_BLOCK: compile_block(c, s); return;
  case IR_STORE: compile_store(c, s); return;
  case IR_IF: compile_if(c, s); return;
  case IR_LET: compile_let(c, s); return;
  case IR_EVALUATE: compile_evaluate(c, s); return;
  case IR_ALLOCATE:
    open_scope(c, s);
    compile_list(c, r->body);
    return;
  case IR_BARRIER: compile_barrier(c, s); return;
  case IR_DEAD: return;
  }
}

static void compile_list(comp *c, ir_stmt first) {
  for (ir_stmt s = first; s && !c->e->code; s = ir_st(c->p, s)->next) {
    comp_undo(c, 0);
    c->stmt = s;
    compile_stmt(c, s);
  }
  comp_undo(c, 0);
}

/* ---- the whole ---------------------------------------------------------- */

static uint32_t *table(comp *c, uint32_t n) {
  return arena_zalloc(c->memory, (size_t)n * sizeof(uint32_t));
}

static void clear(code_unit *k) {
  vec_clear(&k->insn);
  vec_clear(&k->origin);
  vec_clear(&k->init);
  vec_clear(&k->regs);
  vec_clear(&k->bufs);
  vec_clear(&k->accesses);
  vec_clear(&k->regions);
  vec_clear(&k->loops);
  vec_clear(&k->domains);
  vec_clear(&k->kernels);
  vec_clear(&k->warps);
  vec_clear(&k->calls);
}

void code_free(code_unit *k) {
  vec_free(k->heap, &k->insn);
  vec_free(k->heap, &k->origin);
  vec_free(k->heap, &k->init);
  vec_free(k->heap, &k->regs);
  vec_free(k->heap, &k->bufs);
  vec_free(k->heap, &k->accesses);
  vec_free(k->heap, &k->regions);
  vec_free(k->heap, &k->loops);
  vec_free(k->heap, &k->domains);
  vec_free(k->heap, &k->kernels);
  vec_free(k->heap, &k->warps);
  vec_free(k->heap, &k->calls);
  vec_free(k->heap, &k->valid);
  vec_free(k->heap, &k->undo);
  vec_free(k->heap, &k->blocks);
  vec_free(k->heap, &k->times);
}

/* Allocates registers for all variables; symbolic extents get the values
 * given. */
static void compile_vars(comp *c, const interp_options *o) {
  const ir_func *f = ir_entry(c->p);
  for (uint32_t v = 1; v < c->p->var.n; v++)
    if (c->plan.var[v].bound)
      c->var_reg[v] = comp_regs(c, c->p->var.v[v].dtype.lanes);
  if (f->sizes.n != o->nsizes)
    plan_fail(c->e, TESS_INVALID, 0, 0, "%u symbolic extents, %u values given",
              (unsigned)f->sizes.n, (unsigned)o->nsizes);
  for (uint32_t i = 0; i < f->sizes.n && i < o->nsizes; i++)
    c->k->init.v[c->var_reg[c->p->arg.v[f->sizes.at + i]]].i = o->sizes[i];
}

/* Parameters first, in order; then constants, which are treated as inputs. */
static void compile_params(comp *c) {
  ir_func f = *ir_entry(c->p);
  for (uint32_t i = 0; i < f.params.n; i++)
    comp_buf(c, c->p->arg.v[f.params.at + i]);
  for (uint32_t i = 0; i < c->p->constant.n; i++)
    comp_buf(c, c->p->constant.v[i].buf);
  c->k->nparams = f.params.n;
}

tess_status code_compile(code_unit *k, ir_program *p, arena *memory,
                         const interp_options *o, interp_error *e) {
  clear(k);
  comp c = {.k = k,
            .p = p,
            .memory = memory,
            .e = e,
            .residue = o->domain == INTERP_RESIDUE,
            .checks = o->check_regions};
  plan_make(&c.plan, p, memory, o, e);
  ir_unconditional_find(&c.must, p, memory);
  if (c.plan.levels > CODE_LEVELS)
    plan_fail(e, TESS_UNSUPPORTED, 0, 0, "more than %d nested racing loops",
              CODE_LEVELS);
  k->p = p;
  k->has_warps = c.plan.warps;
  vec_clear(&k->valid);
  vec_clear(&k->undo);
  vec_clear(&k->blocks);
  comp_regs(&c, 1);
  (void)vec_extend(k->heap, &k->bufs, 1);
  memset(k->bufs.v, 0, sizeof *k->bufs.v);
  (void)vec_extend(k->heap, &k->kernels, 1);
  memset(k->kernels.v, 0, sizeof *k->kernels.v);
  c.reg = table(&c, p->node.n);
  c.var_reg = table(&c, p->var.n);
  c.buf_index = table(&c, p->buf.n);
  compile_vars(&c, o);
  comp_hoisted(&c, 0);
  compile_params(&c);
  comp_op(&c, OP_BARRIER, 0, 0, 0);
  if (!e->code) compile_block(&c, ir_entry(p)->root);
  c.stmt = 0;
  comp_op(&c, OP_END, 0, 0, 0);
  return e->code;
}
