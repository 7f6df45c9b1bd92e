/* SPDX-License-Identifier: Apache-2.0
 * Tiles what a warp does with fragments of matrices by 16 x 16 (x 16), and
 * guards each tile by the operation that a tensor core has for it:
 *
 *   if instead "fragment.fill"(C.., value)
 *   if instead "fragment.load"(A.., M..)     A a fragment, M in memory
 *   if instead "fragment.store"(M.., C..)
 *   if instead "fragment.mma"(C.., A.., B..) or "fragment.mma_trans", where B
 *                                            is indexed [j, k]
 *   if instead "fragment.apply"(C..)         memory of a function of C's
 *                                            elements: loops over rows and
 *                                            columns, and their body
 *
 * where X.. are the addresses of the tile's first element, of the next one
 * along its rows, and of the next one along its columns.  They are loads that
 * later passes rewrite as accesses and that are not executed; the interpreter
 * runs the body.  Other code of warps is left as it is. */
#include "ir/arith/linear.h"
#include "ir/query.h"
#include "lower/pass.h"

enum { TILE = 16, MAX_NEST = 8 };

/* One store in a nest of serial loops. */
typedef struct frag_nest {
  ir_program *p;
  arena *scratch;
  uint32_t n;
  ir_stmt loop[MAX_NEST], store;
  ir_var var[MAX_NEST];
  int64_t extent[MAX_NEST];
} frag_nest;

typedef struct frag_access {
  ir_buf buf;
  ir_span idx;
} frag_access;

/* The loops, by number, that run over the tile's axes. */
typedef struct frag_op {
  const char *name;
  uint32_t naxis, axis[3]; /* i, j and of a product k */
  uint32_t nparam;
  frag_access param[3];
  uint8_t of[3][2]; /* of each, which axes its rows and columns are */
  ir_expr value;    /* of a fill */
} frag_op;

/* ---- the nest ----------------------------------------------------------- */

static bool parse_frag_nest(frag_nest *k, ir_stmt s) {
  const ir_program *p = k->p;
  k->n = 0;
  for (; ir_is_loop(p, s); s = ir_st(p, s)->body) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (k->n == MAX_NEST || r->loop_kind == IR_THREAD ||
        !ir_is_const(p, r->lo, 0) ||
        !ir_const_int(p, r->extent, &k->extent[k->n]) || !r->body ||
        ir_st(p, r->body)->next)
      return false;
    k->var[k->n] = r->var;
    k->loop[k->n++] = s;
  }
  k->store = s;
  return k->n > 0 && ir_st(p, s)->kind == IR_STORE && !ir_st(p, s)->mask;
}

static bool is_fragment(const frag_nest *k, ir_buf b) {
  return ir_scope_is_fragment(k->p->buf.v[b].scope);
}

/* How many of `v` an index has; false: it is not a linear form of it. */
static bool coefficient(const frag_nest *k, ir_expr e, ir_var v, int64_t *out) {
  lin x;
  lin_of(k->p, e, &x);
  *out = 0;
  for (uint32_t i = 0; i < x.n; i++) {
    if (x.t[i].atom == k->p->var.v[v].ref)
      *out = x.t[i].k;
    else if (ir_uses_var(k->p, x.t[i].atom, v))
      return false;
  }
  return true;
}

/* The loop that runs over dimension d of a fragment, over nothing else in it,
 * and over whole tiles; k->n: none. */
static uint32_t axis_of(const frag_nest *k, frag_access a, uint32_t d) {
  uint32_t found = k->n;
  for (uint32_t l = 0; l < k->n; l++) {
    int64_t c;
    if (k->extent[l] == 1) continue;
    if (!coefficient(k, k->p->arg.v[a.idx.at + d], k->var[l], &c)) return k->n;
    if (!c) continue;
    if (c != 1 || found < k->n || k->extent[l] % TILE) return k->n;
    found = l;
  }
  for (uint32_t other = 0; found < k->n && other < a.idx.n; other++)
    if (other != d &&
        ir_uses_var(k->p, k->p->arg.v[a.idx.at + other], k->var[found]))
      return k->n;
  return found;
}

static bool axes_of(const frag_nest *k, frag_access a, uint32_t *row,
                    uint32_t *column) {
  if (a.idx.n < 2) return false;
  *row = axis_of(k, a, a.idx.n - 2);
  *column = axis_of(k, a, a.idx.n - 1);
  return *row < k->n && *column < k->n && *row != *column;
}

static bool is_linear(const frag_nest *k, frag_access a, const frag_op *o) {
  int64_t c;
  for (uint32_t i = 0; i < o->naxis; i++)
    for (uint32_t d = 0; d < a.idx.n; d++)
      if (!coefficient(k, k->p->arg.v[a.idx.at + d], k->var[o->axis[i]], &c))
        return false;
  return true;
}

/* ---- which operation it is ---------------------------------------------- */

static frag_access access_of_load(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return (frag_access){n->a, {n->b, n->n}};
}

static bool is_plain_load(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_LOAD && !n->c && n->dtype.lanes == 1;
}

static void add_param(frag_op *o, frag_access a, uint8_t row, uint8_t column) {
  o->of[o->nparam][0] = row;
  o->of[o->nparam][1] = column;
  o->param[o->nparam++] = a;
}

/* A fill, or a copy between a fragment and memory. */
static bool find_copy(const frag_nest *k, frag_access to, ir_expr value,
                      frag_op *o) {
  bool out = is_fragment(k, to.buf), fill = !ir_has_load(k->p, value, 0);
  frag_access from = {0, {0, 0}};
  if (!fill && !is_plain_load(k->p, value)) return false;
  if (!fill) from = access_of_load(k->p, value);
  if (fill ? !out : out == is_fragment(k, from.buf)) return false;
  if (!axes_of(k, out ? to : from, &o->axis[0], &o->axis[1])) return false;
  o->naxis = 2;
  for (uint32_t l = 0; fill && l < k->n; l++)
    if (ir_uses_var(k->p, value, k->var[l])) return false;
  o->name = fill ? "fragment.fill" : out ? "fragment.load" : "fragment.store";
  o->value = fill ? value : 0;
  add_param(o, to, 0, 1);
  if (!fill) add_param(o, from, 0, 1);
  return fill || is_linear(k, out ? from : to, o);
}

/* The load of a fragment, where there is one only. */
typedef struct frag_load {
  ir_expr load;
  bool several;
} frag_load;

static void note_frag_load(const ir_program *p, ir_expr e, void *ud) {
  frag_load *t = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || !ir_scope_is_fragment(p->buf.v[n->a].scope)) return;
  t->several |= t->load != 0;
  t->load = e;
}

/* Memory, computed of a fragment element by element. */
static bool find_apply(const frag_nest *k, frag_access to, ir_expr value,
                       frag_op *o) {
  frag_load t = {0, false};
  ir_visit(k->p, k->scratch, value, note_frag_load, &t);
  if (!t.load || t.several || is_fragment(k, to.buf) ||
      !is_plain_load(k->p, t.load))
    return false;
  frag_access from = access_of_load(k->p, t.load);
  if (k->p->buf.v[from.buf].scope != IR_SCOPE_WMMA_ACC ||
      !axes_of(k, from, &o->axis[0], &o->axis[1]))
    return false;
  o->naxis = 2;
  o->name = "fragment.apply";
  add_param(o, from, 0, 1);
  return true;
}

static ir_expr without_cast(const ir_program *p, ir_expr e) {
  return ir_at(p, e)->op == IR_CAST ? ir_at(p, e)->a : e;
}

/* C[i, j] + A[i, k] * B: the product's factors, in this order. */
static bool find_factors(const frag_nest *k, frag_access to, ir_expr value,
                         frag_access *a, frag_access *b) {
  ir_program *p = k->p;
  const ir_node sum = *ir_at(p, value);
  ir_expr idx[MAX_NEST];
  if (sum.op != IR_ADD || to.idx.n > MAX_NEST) return false;
  memcpy(idx, p->arg.v + to.idx.at, to.idx.n * sizeof *idx);
  ir_expr was = ir_load(p, to.buf, to.idx.n, idx);
  const ir_node mul = *ir_at(p, sum.a == was ? sum.b : sum.a);
  if ((sum.a != was && sum.b != was) || mul.op != IR_MUL) return false;
  ir_expr x = without_cast(p, mul.a), y = without_cast(p, mul.b);
  if (!is_plain_load(p, x) || !is_plain_load(p, y)) return false;
  *a = access_of_load(p, x);
  *b = access_of_load(p, y);
  if (p->buf.v[a->buf].scope == IR_SCOPE_WMMA_B) {
    frag_access swap = *a;
    *a = *b;
    *b = swap;
  }
  return p->buf.v[a->buf].scope == IR_SCOPE_WMMA_A &&
         p->buf.v[b->buf].scope == IR_SCOPE_WMMA_B;
}

static bool find_mma(const frag_nest *k, frag_access to, ir_expr value,
                     frag_op *o) {
  frag_access a, b;
  uint32_t i, r, c;
  if (!is_fragment(k, to.buf) || !find_factors(k, to, value, &a, &b) ||
      !axes_of(k, to, &o->axis[0], &o->axis[1]) ||
      !axes_of(k, a, &i, &o->axis[2]) || !axes_of(k, b, &r, &c))
    return false;
  bool trans = r == o->axis[1];
  if (i != o->axis[0] || (trans ? c : r) != o->axis[2] ||
      (trans ? r : c) != o->axis[1])
    return false;
  o->naxis = 3;
  o->name = trans ? "fragment.mma_trans" : "fragment.mma";
  add_param(o, to, 0, 1);
  add_param(o, a, 0, 2);
  add_param(o, b, trans ? 1 : 2, trans ? 2 : 1);
  return true;
}

static bool find_operation(const frag_nest *k, frag_op *o) {
  const ir_stmt_rec r = *ir_st(k->p, k->store);
  frag_access to = {r.buf, r.idx};
  *o = (frag_op){.nparam = 0};
  if (find_copy(k, to, r.value, o)) return true;
  *o = (frag_op){.nparam = 0};
  if (find_mma(k, to, r.value, o)) return true;
  *o = (frag_op){.nparam = 0};
  return find_apply(k, to, r.value, o);
}

/* ---- tiling ------------------------------------------------------------- */

/* The address of a parameter's element at (row, column) of the tile whose
 * corner the axes' first values are. */
static ir_expr frag_address(const frag_nest *k, const frag_op *o, uint32_t i,
                            const ir_expr *corner, int64_t row,
                            int64_t column) {
  ir_program *p = k->p;
  frag_access a = o->param[i];
  ir_expr idx[MAX_NEST];
  ir_subst sub;
  ir_subst_init(&sub, p, k->scratch);
  for (uint32_t l = 0; l < k->n; l++)
    if (corner[l]) ir_subst_var(&sub, k->var[l], corner[l]);
  for (uint32_t x = 0; x < o->naxis; x++) {
    int64_t by = x == o->of[i][0] ? row : x == o->of[i][1] ? column : 0;
    uint32_t l = o->axis[x];
    ir_subst_var(&sub, k->var[l], ir_add(p, corner[l], ir_index(p, by)));
  }
  for (uint32_t d = 0; d < a.idx.n; d++)
    idx[d] = ir_subst_expr(&sub, p->arg.v[a.idx.at + d]);
  return ir_load(p, a.buf, a.idx.n, idx);
}

static ir_expr frag_condition(const frag_nest *k, const frag_op *o,
                              const ir_expr *corner) {
  ir_expr arg[10];
  uint32_t n = 0;
  for (uint32_t i = 0; i < o->nparam; i++) {
    arg[n++] = frag_address(k, o, i, corner, 0, 0);
    arg[n++] = frag_address(k, o, i, corner, 1, 0);
    arg[n++] = frag_address(k, o, i, corner, 0, 1);
  }
  if (o->value) arg[n++] = o->value;
  return ir_call_named(k->p, IR_FN_INSTEAD, o->name, IR_BOOL, n, arg);
}

/* A loop inside of *at, which becomes it; its variable. */
static ir_expr open_loop(ir_program *p, ir_stmt *at, ir_var like, int64_t n) {
  ir_var v = ir_var_like(p, like, 0, n - 1);
  ir_stmt s = ir_loop_new(p, v, ir_index(p, 0), ir_index(p, n), IR_SERIAL);
  ir_append(p, *at, s);
  *at = s;
  return ir_ref(p, v);
}

static bool is_axis(const frag_op *o, uint32_t loop) {
  for (uint32_t x = 0; x < o->naxis; x++)
    if (o->axis[x] == loop) return true;
  return false;
}

/* Loops over tiles, the condition, loops over the tile, the store. */
static void tile_fragment(const frag_nest *k, const frag_op *o) {
  ir_program *p = k->p;
  ir_expr corner[MAX_NEST] = {0};
  ir_stmt group = ir_if_new(p, ir_bool(p, true)), at = group;
  for (uint32_t l = 0; l < k->n; l++) {
    int64_t n = is_axis(o, l) ? k->extent[l] / TILE : k->extent[l];
    ir_expr v = n > 1 ? open_loop(p, &at, k->var[l], n) : ir_index(p, 0);
    corner[l] = is_axis(o, l) ? ir_mul(p, v, ir_index(p, TILE)) : v;
  }
  ir_stmt cond = ir_if_new(p, frag_condition(k, o, corner));
  ir_append(p, at, cond);
  at = cond;
  for (uint32_t x = 0; x < o->naxis; x++) {
    uint32_t l = o->axis[x];
    corner[l] = ir_add(p, corner[l], open_loop(p, &at, k->var[l], TILE));
  }
  ir_subst sub;
  ir_subst_init(&sub, p, k->scratch);
  for (uint32_t l = 0; l < k->n; l++) ir_subst_var(&sub, k->var[l], corner[l]);
  ir_append(p, at, ir_clone_stmt(&sub, k->store, NULL));
  ir_replace(p, k->loop[0], group);
  ir_kill(p, k->loop[0]);
  lower_splice(p, group);
}

static void tile_warp(ir_program *p, arena *scratch, ir_stmt warp) {
  for (ir_stmt s = ir_next(p, warp, warp), next; s; s = next) {
    frag_nest k = {.p = p, .scratch = scratch};
    frag_op op;
    next = ir_next(p, s, warp);
    if (!ir_is_loop(p, s) || !parse_frag_nest(&k, s)) continue;
    next = ir_skip(p, s, warp);
    if (find_operation(&k, &op)) tile_fragment(&k, &op);
  }
}

LOWER_PASS(lower_fragments) {
  (void)o, (void)e;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root, next; s; s = next) {
    const ir_stmt_rec *r = ir_st(p, s);
    bool warp = ir_is_thread_loop(r) && r->thread == IR_WARP;
    next = warp ? ir_skip(p, s, root) : ir_next(p, s, root);
    if (warp) tile_warp(p, scratch, s);
  }
  return TESS_OK;
}
