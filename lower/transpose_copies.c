/* SPDX-License-Identifier: Apache-2.0
 * Transposes in vector registers what is copied to consecutive elements from
 * strided ones, where a loop around moves by single elements of the source:
 * that loop is strip-mined by the lanes of a register, and the steps become
 * innermost, marked, so that a backend reads rows instead of gathering
 * columns.
 *
 *     for k in range(128): B[ramp(k * 16, 1, 16)] = A[ramp(k, 1024, 16)]
 * becomes
 *     for k_0 in range(8):
 *       for k_1 in range(16) {pragma_transpose = 16}:
 *         B[ramp(k_0 * 256 + k_1 * 16, 1, 16)] =
 *             A[ramp(k_0 * 16 + k_1, 1024, 16)]
 */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

enum { MAX_NEST = 8, MAX_TERMS = 16 };

/* A store of lanes elements in a row, the values a stride apart. */
typedef struct strided_copy {
  ir_stmt store;
  ir_expr to, from; /* the first of each */
  int64_t lanes, steps;
  uint32_t n; /* loops around it, innermost first; the last is strip-mined */
  ir_stmt loop[MAX_NEST];
  ir_var strip, step; /* what its variable becomes */
} strided_copy;

static bool find_copy(const ir_program *p, ir_stmt s, const lower_options *o,
                      strided_copy *c) {
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->kind != IR_STORE || r->mask || r->idx.n != 1) return false;
  const ir_node *to = ir_at(p, p->arg.v[r->idx.at]);
  const ir_node *value = ir_at(p, r->value);
  if (value->op != IR_LOAD || value->n != 1 || value->c || value->a == r->buf ||
      value->dtype.code == TESS_DTYPE_BOOL || value->dtype.bits < 16)
    return false;
  const ir_node *from = ir_at(p, p->arg.v[value->b]);
  int64_t stride;
  if (to->op != IR_RAMP || from->op != IR_RAMP || !ir_is_const(p, to->b, 1) ||
      !ir_const_int(p, from->b, &stride) || !stride || stride == 1)
    return false;
  *c =
      (strided_copy){.store = s,
                     .to = to->a,
                     .from = from->a,
                     .lanes = to->dtype.lanes,
                     .steps = (int64_t)o->vector_bytes * 8 / value->dtype.bits};
  return c->steps >= 2 && c->lanes % c->steps == 0;
}

/* The coefficient of v in e; false: it is not linear in v. */
static bool coefficient(const ir_program *p, ir_expr e, ir_var v, int64_t *k) {
  ir_expr atom[MAX_TERMS];
  int64_t coef[MAX_TERMS], constant;
  int n = arith_terms(p, e, MAX_TERMS, atom, coef, &constant);
  *k = 0;
  for (int i = 0; i < n; i++) {
    const ir_node *a = ir_at(p, atom[i]);
    if (a->op == IR_VAR && a->a == v)
      *k = coef[i];
    else if (ir_uses_var(p, atom[i], v))
      return false;
  }
  return n >= 0;
}

/* The loop's variable, strip by strip. */
static ir_expr in_strips(ir_program *p, const strided_copy *c, ir_stmt loop) {
  ir_expr first = ir_mul(p, ir_ref(p, c->strip), ir_index(p, c->steps));
  return ir_add(p, ir_st(p, loop)->lo, ir_add(p, first, ir_ref(p, c->step)));
}

/* How far e moves by a step in a strip; false: that differs. */
static bool move_of(ir_program *p, arena *scratch, const strided_copy *c,
                    ir_expr e, int64_t *k) {
  ir_stmt loop = c->loop[c->n - 1];
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_subst_var(&sub, ir_st(p, loop)->var, in_strips(p, c, loop));
  return coefficient(p, ir_subst_expr(&sub, e), c->step, k);
}

/* Can the last loop be cut into strips in which the source moves by single
 * elements?  A parallel one keeps enough iterations. */
static bool moves_by_one(ir_program *p, arena *scratch, strided_copy *c,
                         int64_t extent) {
  enum { FEWEST = 16 };
  const ir_stmt_rec r = *ir_st(p, c->loop[c->n - 1]);
  int64_t k;
  if (extent < c->steps || !ir_uses_var(p, c->from, r.var)) return false;
  if (r.loop_kind == IR_PARALLEL &&
      (extent % c->steps || extent / c->steps < FEWEST))
    return false;
  c->strip = ir_var_split(p, r.var, 0, extent / c->steps - 1);
  c->step = ir_var_split(p, r.var, 1, c->steps - 1);
  return move_of(p, scratch, c, c->from, &k) && k == 1;
}

/* The loops from the store outwards up to one along which the source moves by
 * single elements for a register's lanes or more. */
static bool find_nest(ir_program *p, arena *scratch, strided_copy *c) {
  int64_t extent, lo;
  for (ir_stmt s = c->store; c->n < MAX_NEST; s = c->loop[c->n - 1]) {
    ir_stmt l = ir_st(p, s)->parent;
    if (!l || ir_st(p, l)->kind != IR_LOOP || ir_st(p, l)->body != s ||
        ir_st(p, s)->next || ir_st(p, l)->loop_kind == IR_THREAD ||
        !ir_const_int(p, ir_st(p, l)->extent, &extent) || extent < 1)
      return false;
    c->loop[c->n++] = l;
    if (moves_by_one(p, scratch, c, extent)) return true;
    if (ir_st(p, l)->loop_kind == IR_PARALLEL ||
        !ir_const_int(p, ir_st(p, l)->lo, &lo))
      return false;
  }
  return false;
}

/* Are all elements that a strip stores distinct?  Then their order is free.
 * So they are if each loop steps over all that those of smaller steps reach. */
static bool are_distinct(ir_program *p, arena *scratch, const strided_copy *c) {
  int64_t step[MAX_NEST], extent[MAX_NEST], reach = c->lanes;
  uint32_t last = c->n - 1;
  for (uint32_t i = 0; i < last; i++) {
    const ir_stmt_rec *r = ir_st(p, c->loop[i]);
    ir_const_int(p, r->extent, &extent[i]);
    if (!coefficient(p, c->to, r->var, &step[i])) return false;
  }
  extent[last] = c->steps;
  if (!move_of(p, scratch, c, c->to, &step[last])) return false;
  for (uint32_t done = 0; done < c->n; done++) {
    uint32_t next = c->n;
    for (uint32_t i = 0; i < c->n; i++)
      if (extent[i] > 1 && (next == c->n || step[i] < step[next])) next = i;
    if (next == c->n) break;
    int64_t length;
    if (step[next] < reach ||
        __builtin_mul_overflow(step[next], extent[next] - 1, &length) ||
        __builtin_add_overflow(reach, length, &reach))
      return false;
    extent[next] = 1;
  }
  return true;
}

/* What is no whole strip stays a loop behind. */
static void peel_rest(ir_program *p, arena *scratch, ir_stmt loop,
                      int64_t whole, int64_t rest) {
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_stmt fresh = ir_clone_stmt(&sub, loop, NULL);
  ir_st(p, fresh)->lo = ir_add(p, ir_st(p, loop)->lo, ir_index(p, whole));
  ir_st(p, fresh)->extent = ir_index(p, rest);
  ir_insert_after(p, loop, fresh);
}

static void strip_mine_innermost(ir_program *p, arena *scratch,
                                 const strided_copy *c) {
  ir_stmt loop = c->loop[c->n - 1];
  const ir_stmt_rec r = *ir_st(p, loop);
  int64_t extent = 0;
  ir_const_int(p, r.extent, &extent);
  int64_t strips = extent / c->steps, rest = extent % c->steps;
  if (rest) peel_rest(p, scratch, loop, strips * c->steps, rest);
  ir_stmt steps =
      ir_loop_new(p, c->step, ir_index(p, 0), ir_index(p, c->steps), IR_SERIAL);
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_subst_var(&sub, r.var, in_strips(p, c, loop));
  ir_subst_stmt(&sub, c->store);
  ir_wrap(p, c->store, steps);
  ir_st(p, loop)->var = c->strip;
  p->var.v[c->strip].owner = loop;
  ir_st(p, loop)->lo = ir_index(p, 0);
  ir_st(p, loop)->extent = ir_index(p, strips);
  ir_anno_set(p, steps, ir_name(p, LOWER_TRANSPOSE), ir_value_int(p, c->steps));
}

LOWER_PASS(transpose_copies) {
  (void)e;
  strided_copy c;
  for (ir_stmt s = ir_entry(p)->root, next; s; s = next) {
    next = ir_next(p, s, ir_entry(p)->root);
    if (find_copy(p, s, o, &c) && !lower_in_kernel(p, s) &&
        find_nest(p, scratch, &c) && are_distinct(p, scratch, &c))
      strip_mine_innermost(p, scratch, &c);
  }
  return TESS_OK;
}
