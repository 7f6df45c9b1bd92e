/* SPDX-License-Identifier: Apache-2.0
 * Skips what adds nothing to a sum, in blocks annotated "skip_zeros": where a
 * factor is a choice whose other side is 0, as the padding of a convolution.
 *
 *     C = C + select(i + k < n, A[i + k], 0) * B[k]
 * becomes
 *     if i + k < n: C = C + A[i + k] * B[k]
 *
 * so that what the 0 would be multiplied by counts as finite.  Of a conjunction
 * those terms become guards that leave some loop of the reduction, or hang on
 * short loops alone, which are unrolled, so that each copy is there or not.  A
 * factor that is loaded from a copy with such a border is guarded, too, by what
 * is cheap of the condition by which the copy was made. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

#define SKIP_KEY "skip_zeros"

enum { MAX_LOOPS = 64, MAX_COPIES = 64 };

typedef struct skip {
  ir_program *p;
  arena *scratch;
  ir_stmt block, store;
  uint32_t n; /* loops around the block, innermost first */
  ir_stmt loop[MAX_LOOPS];
  bool reduces[MAX_LOOPS]; /* all of its iterations store to the same element */
  ir_expr guard, rest;     /* the terms that guard the store; the others */
} skip;

/* ---- the choice --------------------------------------------------------- */

static bool is_zero(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_REAL ? n->f == 0 : ir_is_const(p, e, 0);
}

/* A factor that is 0 where a condition does not hold. */
typedef struct choice {
  ir_expr factor, cond; /* factor 0: there is none */
  ir_expr inside;       /* its value where the condition holds */
} choice;

/* The store that alone fills a local buffer; 0: there may be others. */
static ir_stmt only_store(const ir_program *p, ir_buf b) {
  ir_stmt root = ir_entry(p)->root, found = 0;
  if (p->buf.v[b].role != IR_ROLE_LOCAL || ir_is_hidden(p, b)) return 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    ir_span m = r->kind == IR_BLOCK ? ir_blk(p, s)->matches : (ir_span){0, 0};
    for (uint32_t i = m.at; i < m.at + m.n; i++)
      if (p->match.v[i].source.buf == b) return 0;
    if (r->kind == IR_EVALUATE && ir_has_load(p, r->eval, b)) return 0;
    if (r->kind != IR_STORE || r->buf != b) continue;
    if (found) return 0;
    found = s;
  }
  return found;
}

/* Maps the indices of a store, which are variables, to those of a load. */
static bool map_indices(ir_subst *sub, ir_span idx, const ir_node *load) {
  const ir_program *p = sub->p;
  for (uint32_t d = 0; d < idx.n; d++) {
    const ir_node *at = ir_at(p, p->arg.v[idx.at + d]);
    if (at->op != IR_VAR) return false;
    for (uint32_t i = 0; i < d; i++)
      if (p->arg.v[idx.at + i] == p->arg.v[idx.at + d]) return false;
    ir_subst_var(sub, at->a, p->arg.v[load->b + d]);
  }
  return true;
}

/* Does the condition hang on the indices of the store alone? */
static bool hangs_on(const ir_program *p, ir_expr cond, ir_stmt store) {
  for (ir_stmt s = store; s; s = ir_st(p, s)->parent) {
    if (ir_is_loop(p, s) && ir_uses_var(p, cond, ir_st(p, s)->var))
      return false;
    if (!ir_is_block(p, s)) continue;
    ir_span it = ir_blk(p, s)->iters, idx = ir_st(p, store)->idx;
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      ir_expr v = ir_ref(p, p->iter.v[i].var);
      bool indexes = false;
      for (uint32_t d = 0; d < idx.n; d++) indexes |= p->arg.v[idx.at + d] == v;
      if (!indexes && ir_uses_var(p, cond, p->iter.v[i].var)) return false;
    }
  }
  return true;
}

/* What is loaded from a copy with a border of zeros. */
static choice padded_choice(ir_program *p, arena *scratch, ir_expr e) {
  const ir_node load = *ir_at(p, e);
  ir_stmt s = only_store(p, load.a);
  const ir_stmt_rec store = *ir_st(p, s);
  if (!s || store.mask || load.c || load.n != store.idx.n) return (choice){0};
  const ir_node n = *ir_at(p, store.value);
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  if (n.op != IR_SELECT || !is_zero(p, n.c) || ir_has_load(p, n.a, 0) ||
      !hangs_on(p, n.a, s) || !map_indices(&sub, store.idx, &load))
    return (choice){0};
  return (choice){e, ir_subst_expr(&sub, n.a), e};
}

static choice find_choice(ir_program *p, arena *scratch, ir_expr e) {
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_SELECT)
    return is_zero(p, n.c) ? (choice){e, n.a, n.b} : (choice){0};
  if (n.op == IR_LOAD) return padded_choice(p, scratch, e);
  if (n.op == IR_CAST) return find_choice(p, scratch, n.a);
  if (n.op != IR_MUL) return (choice){0};
  choice left = find_choice(p, scratch, n.a);
  return left.factor ? left : find_choice(p, scratch, n.b);
}

static ir_expr replace_factor(ir_program *p, ir_expr e, ir_expr from,
                              ir_expr to) {
  if (e == from) return to;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_CAST)
    return ir_cast(p, n.dtype, replace_factor(p, n.a, from, to));
  if (n.op != IR_MUL) return e;
  ir_expr left = replace_factor(p, n.a, from, to);
  return ir_mul(p, left, replace_factor(p, n.b, from, to));
}

/* Is e the element that the store writes? */
static bool is_sum(const ir_program *p, ir_expr e, const ir_stmt_rec *store) {
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || n->a != store->buf || n->c || n->n != store->idx.n)
    return false;
  for (uint32_t d = 0; d < n->n; d++)
    if (p->arg.v[n->b + d] != p->arg.v[store->idx.at + d]) return false;
  return true;
}

/* What the store adds to the element that it writes; 0: it does other things,
 * or calls what may have effects. */
static ir_expr addend_of(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  const ir_node *n = ir_at(p, r->value);
  if (r->mask || n->op != IR_ADD || ir_calls_host(p, r->value)) return 0;
  if (is_sum(p, n->a, r)) return n->b;
  return is_sum(p, n->b, r) ? n->a : 0;
}

/* ---- its condition ------------------------------------------------------ */

static void bind_iters(const skip *k, ir_subst *sub) {
  ir_span it = ir_blk(k->p, k->block)->iters;
  ir_subst_init(sub, k->p, k->scratch);
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    ir_subst_var(sub, k->p->iter.v[i].var, k->p->iter.v[i].bind);
}

static void find_loops(skip *k) {
  ir_program *p = k->p;
  ir_subst sub;
  bind_iters(k, &sub);
  for (ir_stmt s = ir_st(p, k->block)->parent; s && k->n < MAX_LOOPS;
       s = ir_st(p, s)->parent) {
    if (!ir_is_loop(p, s) || ir_is_const(p, ir_st(p, s)->extent, 1)) continue;
    bool reduces = true;
    ir_span idx = ir_st(p, k->store)->idx;
    for (uint32_t d = 0; d < idx.n; d++) {
      ir_expr at = ir_subst_expr(&sub, p->arg.v[idx.at + d]);
      reduces = reduces && !ir_uses_var(p, at, ir_st(p, s)->var);
    }
    k->reduces[k->n] = reduces;
    k->loop[k->n++] = s;
  }
}

/* Unrolls the loops that a term hangs on, where these are few short ones and
 * all that it hangs on. */
static bool unroll_loops(const skip *k, ir_expr term) {
  ir_program *p = k->p;
  ir_subst sub;
  int64_t copies = 1, extent, value;
  ir_subst_init(&sub, p, k->scratch);
  for (uint32_t i = 0; i < k->n; i++) {
    const ir_stmt_rec r = *ir_st(p, k->loop[i]);
    if (!ir_uses_var(p, term, r.var)) continue;
    if ((r.loop_kind != IR_SERIAL && r.loop_kind != IR_UNROLLED) ||
        ir_anno_get(p, k->loop[i], "software_pipeline_stage") ||
        !ir_const_int(p, r.extent, &extent) || extent > MAX_COPIES / copies)
      return false;
    copies *= extent;
    ir_subst_var(&sub, r.var, r.lo);
  }
  if (!ir_const_int(p, ir_subst_expr(&sub, term), &value)) return false;
  for (uint32_t i = 0; i < k->n; i++)
    if (ir_uses_var(p, term, ir_st(p, k->loop[i])->var))
      ir_st(p, k->loop[i])->loop_kind = IR_UNROLLED;
  return true;
}

/* Can the store be guarded by this term, at little cost? */
static bool is_cheap(const skip *k, ir_expr term) {
  uint32_t at = 0;
  bool inside = false, outside = false;
  while (at < k->n && !ir_uses_var(k->p, term, ir_st(k->p, k->loop[at])->var))
    inside |= k->reduces[at++];
  for (uint32_t i = at; i < k->n; i++)
    outside |=
        k->reduces[i] && !ir_uses_var(k->p, term, ir_st(k->p, k->loop[i])->var);
  return inside || !outside || unroll_loops(k, term);
}

static void sort_terms(skip *k, ir_expr cond) {
  const ir_node n = *ir_at(k->p, cond);
  if (n.op == IR_AND) {
    sort_terms(k, n.a);
    sort_terms(k, n.b);
    return;
  }
  ir_subst sub;
  bind_iters(k, &sub);
  bool cheap =
      lower_is_arithmetic(k->p, cond) && is_cheap(k, ir_subst_expr(&sub, cond));
  ir_expr *list = cheap ? &k->guard : &k->rest;
  *list = *list ? ir_and(k->p, *list, cond) : cond;
}

static void skip_zeros(ir_program *p, arena *scratch, ir_stmt block,
                       ir_stmt store) {
  ir_expr addend = addend_of(p, store);
  choice c = addend ? find_choice(p, scratch, addend) : (choice){0};
  if (!c.factor) return;
  skip k = {.p = p, .scratch = scratch, .block = block, .store = store};
  const ir_node n = *ir_at(p, c.factor);
  find_loops(&k);
  sort_terms(&k, c.cond);
  if (!k.guard) return;
  if (k.rest && n.op == IR_SELECT) c.inside = ir_select(p, k.rest, n.b, n.c);
  ir_expr value = ir_st(p, store)->value;
  ir_expr sum =
      ir_at(p, value)->a == addend ? ir_at(p, value)->b : ir_at(p, value)->a;
  ir_st(p, store)->value =
      ir_add(p, sum, replace_factor(p, addend, c.factor, c.inside));
  ir_wrap(p, store, ir_if_new(p, k.guard));
}

static bool is_marked(const ir_program *p, ir_stmt s) {
  const ir_anno *a = ir_is_block(p, s) ? ir_anno_get(p, s, SKIP_KEY) : NULL;
  const ir_value *v = a ? &p->value.v[a->val] : NULL;
  return v && (v->tag == IR_VAL_INT || v->tag == IR_VAL_BOOL) && v->i == 1;
}

LOWER_PASS(skip_zeros) {
  (void)o, (void)e;
  LOWER_EACH(p, s) {
    if (!is_marked(p, s)) continue;
    for (ir_stmt t = ir_next(p, s, s), next; t; t = next) {
      next = ir_next(p, t, s);
      if (ir_st(p, t)->kind == IR_STORE) skip_zeros(p, scratch, s, t);
    }
  }
  return TESS_OK;
}
