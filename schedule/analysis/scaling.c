/* SPDX-License-Identifier: Apache-2.0
 * The exponent by which a value scales with running extremes. */
#include "schedule/analysis/scaling.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"

#include <math.h>

typedef struct weighing {
  sch_scaling *x;
  ir_stmt block;
} weighing;

void sch_scaling_init(sch_scaling *x, sch_state *s, const uint8_t *running) {
  uint32_t n = s->p->buf.n;
  *x = (sch_scaling){s, running, arena_zalloc(s->scratch, n * sizeof *x->maker),
                     arena_zalloc(s->scratch, n * sizeof *x->at),
                     arena_zalloc(s->scratch, n * sizeof *x->exponent)};
}

void sch_scaling_note(sch_scaling *x, ir_stmt maker, ir_buf buf, ir_span idx,
                      ir_expr h) {
  x->maker[buf] = maker;
  x->at[buf] = idx;
  x->exponent[buf] = h;
}

static ir_walk scaled_load(const ir_program *p, ir_expr e, void *ud) {
  const sch_scaling *x = ud;
  const ir_node *n = ir_at(p, e);
  bool found = n->op == IR_LOAD && (x->running[n->a] || x->maker[n->a]);
  return found ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static bool depends(sch_scaling *x, ir_expr e) {
  return ir_any(x->s->p, e, scaled_load, x);
}

static bool scales_not(const weighing *w, ir_buf buf) {
  return sch_refuse(w->x->s, SCH_R_SCALES_NOT, .s = {w->block}, .buf = buf);
}

/* Some extreme in e, for the message. */
static ir_walk note_load(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) *(ir_buf *)ud = n->a;
  return IR_WALK_DESCEND;
}

static bool refuse_at(const weighing *w, ir_expr e) {
  ir_buf buf = 0;
  ir_any(w->x->s->p, e, note_load, &buf);
  return scales_not(w, buf);
}

/* ---- in an exponent ----------------------------------------------------- */

static void add_extreme(ir_program *p, ir_expr load, double c, ir_expr *h) {
  tess_dtype t = ir_at(p, load)->dtype;
  ir_expr by = ir_real(p, t, fabs(c));
  ir_expr term = fabs(c) == 1 ? load : ir_mul(p, load, by);
  if (c > 0)
    *h = *h ? ir_add(p, *h, term) : term;
  else
    *h = ir_sub(p, *h ? *h : ir_real(p, t, 0), term);
}

/* Adds to *h what c * e has of extremes, in which it must be linear. */
static bool linear(const weighing *w, ir_expr e, double c, ir_expr *h) {
  sch_scaling *x = w->x;
  ir_program *p = x->s->p;
  const ir_node n = *ir_at(p, e);
  if (!depends(x, e)) return true;
  switch (n.op) {
  case IR_ADD: return linear(w, n.a, c, h) && linear(w, n.b, c, h);
  case IR_SUB: return linear(w, n.a, c, h) && linear(w, n.b, -c, h);
  case IR_MUL:
    if (ir_at(p, n.b)->op == IR_REAL)
      return linear(w, n.a, c * ir_at(p, n.b)->f, h);
    if (ir_at(p, n.a)->op == IR_REAL)
      return linear(w, n.b, c * ir_at(p, n.a)->f, h);
    break;
  case IR_LOAD:
    if (!x->running[n.a] || n.c) break;
    if (!(x->running[n.a] == SCH_RUNNING_MAX ? c < 0 : c > 0))
      return sch_refuse(x->s, SCH_R_SCALES_UP, .s = {w->block}, .buf = n.a);
    add_extreme(p, e, c, h);
    return true;
  default: break;
  }
  return refuse_at(w, e);
}

/* ---- factors ------------------------------------------------------------ */

static bool weigh(const weighing *w, ir_expr e, ir_expr *h);

/* Maps iters of the maker that index dimensions by themselves; does the
 * exponent need no others? */
static bool plain_iters(ir_subst *m, ir_stmt maker, uint32_t n,
                        const ir_expr *idx, const ir_expr *point, ir_expr h) {
  const ir_program *p = m->p;
  ir_span it = ir_blk(p, maker)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_var v = p->iter.v[i].var;
    bool found = false;
    for (uint32_t d = 0; d < n && !found; d++) {
      const ir_node *x = ir_at(p, idx[d]);
      found = x->op == IR_VAR && x->a == v;
      if (found) ir_subst_var(m, v, point[d]);
    }
    if (!found && ir_uses_var(p, h, v)) return false;
  }
  return true;
}

static bool inverted_iters(sch_state *s, ir_subst *m, ir_stmt maker, uint32_t n,
                           const ir_expr *idx, const ir_expr *point) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, maker)->iters;
  ir_expr *to = arena_array(s->scratch, ir_expr, it.n), cond = 0;
  if (!sch_invert(s, maker, n, idx, point, to, &cond)) return false;
  for (uint32_t i = 0; i < it.n; i++)
    if (to[i]) ir_subst_var(m, p->iter.v[it.at + i].var, to[i]);
  return true;
}

/* What another block has stored, at the iters that stored it. */
static bool weigh_load(const weighing *w, ir_expr e, ir_expr *h) {
  sch_scaling *x = w->x;
  ir_program *p = x->s->p;
  const ir_node n = *ir_at(p, e);
  ir_stmt maker = x->maker[n.a];
  if (!maker || n.c || x->at[n.a].n != n.n) return scales_not(w, n.a);
  ir_expr *idx = arena_array(x->s->scratch, ir_expr, 2 * n.n);
  ir_expr *point = idx + n.n, of = x->exponent[n.a];
  memcpy(idx, p->arg.v + x->at[n.a].at, n.n * sizeof *idx);
  memcpy(point, p->arg.v + n.b, n.n * sizeof *point);
  ir_subst m;
  ir_subst_init(&m, p, x->s->scratch);
  if (!plain_iters(&m, maker, n.n, idx, point, of) &&
      !inverted_iters(x->s, &m, maker, n.n, idx, point))
    return scales_not(w, n.a);
  ir_subst_restart(&m);
  *h = ir_subst_expr(&m, of);
  return true;
}

static bool is_zero(const ir_program *p, ir_expr e) {
  return ir_at(p, e)->op == IR_REAL && ir_at(p, e)->f == 0;
}

/* Both scale alike, or one is 0. */
static bool weigh_both(const weighing *w, ir_expr a, ir_expr b, ir_expr whole,
                       ir_expr *h) {
  const ir_program *p = w->x->s->p;
  ir_expr other = 0;
  if (!weigh(w, a, h) || !weigh(w, b, &other)) return false;
  if (is_zero(p, a)) *h = other;
  return *h == other || is_zero(p, b) || refuse_at(w, whole);
}

static bool weigh(const weighing *w, ir_expr e, ir_expr *h) {
  sch_scaling *x = w->x;
  ir_program *p = x->s->p;
  const ir_node n = *ir_at(p, e);
  ir_expr other = 0;
  *h = 0;
  if (!depends(x, e)) return true;
  switch (n.op) {
  case IR_LOAD: return weigh_load(w, e, h);
  case IR_ADD:
  case IR_SUB: return weigh_both(w, n.a, n.b, e, h);
  case IR_SELECT:
    return !depends(x, n.a) ? weigh_both(w, n.b, n.c, e, h) : refuse_at(w, e);
  case IR_MUL:
    if (!weigh(w, n.a, h) || !weigh(w, n.b, &other)) return false;
    if (other) *h = *h ? ir_add(p, *h, other) : other;
    return true;
  case IR_DIV: return depends(x, n.b) ? refuse_at(w, e) : weigh(w, n.a, h);
  case IR_CALL:
    if (n.a == IR_FN_EXP) return linear(w, p->arg.v[n.b], 1, h);
    break;
  default: break;
  }
  return refuse_at(w, e);
}

bool sch_scaling_of(sch_scaling *x, ir_stmt block, ir_expr e, ir_expr *h) {
  const weighing w = {x, block};
  return weigh(&w, e, h);
}
