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
 * short loops alone, which are unrolled, so that each copy is there or not. */
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

/* The factor of a product that may be 0; 0: none is of that form. */
static ir_expr find_choice(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_SELECT) return is_zero(p, n->c) ? e : 0;
  if (n->op == IR_CAST) return find_choice(p, n->a);
  if (n->op != IR_MUL) return 0;
  ir_expr left = find_choice(p, n->a);
  return left ? left : find_choice(p, n->b);
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
  ir_expr addend = addend_of(p, store),
          choice = addend ? find_choice(p, addend) : 0;
  if (!choice) return;
  skip k = {.p = p, .scratch = scratch, .block = block, .store = store};
  const ir_node n = *ir_at(p, choice);
  find_loops(&k);
  sort_terms(&k, n.a);
  if (!k.guard) return;
  ir_expr left = k.rest ? ir_select(p, k.rest, n.b, n.c) : n.b;
  ir_expr value = ir_st(p, store)->value;
  ir_expr sum =
      ir_at(p, value)->a == addend ? ir_at(p, value)->b : ir_at(p, value)->a;
  ir_st(p, store)->value =
      ir_add(p, sum, replace_factor(p, addend, choice, left));
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
