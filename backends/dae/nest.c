/* SPDX-License-Identifier: Apache-2.0
 * Recognizes nests, and affine forms and limits over their loops. */
#include "backends/dae/compile.h"
#include "ir/arith/linear.h"
#include "ir/query.h"
#include "lower/lower.h"

/* ---- nests ------------------------------------------------------------- */

static bool uses_loops(const dae_compile *c, const dae_nest *n, ir_expr e) {
  for (uint32_t i = 0; i < n->n; i++)
    if (ir_uses_var(c->p, e, n->var[i])) return true;
  return false;
}

/* Appends the loop; its variable counts as unbound. */
static bool add_loop(dae_compile *c, dae_nest *n, const ir_stmt_rec *r,
                     ir_stmt s) {
  int64_t lo, extent;
  if (ir_anno_get(c->p, s, LOWER_VTHREAD) || n->n == DAE_MAX_LOOPS ||
      uses_loops(c, n, r->lo) || uses_loops(c, n, r->extent) ||
      !dae_evaluate(c, r->lo, &lo) || !dae_evaluate(c, r->extent, &extent))
    return false;
  n->is_empty |= extent < 1;
  n->var[n->n] = r->var;
  n->lo[n->n] = lo;
  n->extent[n->n++] = extent;
  return true;
}

/* A condition in a nest cuts loops off, one at a time. */
static bool add_condition(dae_compile *c, dae_nest *n, ir_expr cond) {
  int64_t from[DAE_MAX_LOOPS], to[DAE_MAX_LOOPS];
  if (!dae_find_limits(c, n, cond, from, to)) return false;
  for (uint32_t i = 0; i < n->n; i++) {
    n->lo[i] += from[i];
    n->extent[i] = to[i] - from[i];
    n->is_empty |= n->extent[i] < 1;
  }
  return true;
}

bool dae_find_nest(dae_compile *c, ir_stmt s, dae_nest *out) {
  *out = (dae_nest){.n = 0};
  for (;; s = ir_st(c->p, s)->body) {
    const ir_stmt_rec *r = ir_st(c->p, s);
    out->leaf = s;
    if (r->kind == IR_STORE) return !r->mask;
    if (r->kind == IR_IF && ir_is_instead(c->p, r->cond)) {
      out->is_call = true;
      return true;
    }
    if (!r->body || ir_st(c->p, r->body)->next || r->alt) return false;
    bool ok = r->kind == IR_LOOP ? add_loop(c, out, r, s)
              : r->kind == IR_IF ? add_condition(c, out, r->cond)
                                 : false;
    if (!ok) return false;
  }
}

/* ---- forms ------------------------------------------------------------- */

static int find_loop(const dae_compile *c, const dae_nest *n, ir_expr atom) {
  for (uint32_t i = 0; i < n->n; i++)
    if (ir_ref(c->p, n->var[i]) == atom) return (int)i;
  return -1;
}

bool dae_find_form(dae_compile *c, const dae_nest *n, ir_expr e,
                   dae_form *out) {
  lin sum;
  lin_of(c->p, e, &sum);
  *out = (dae_form){.base = sum.c};
  for (uint32_t k = 0; k < sum.n; k++) {
    int i = find_loop(c, n, sum.t[k].atom);
    int64_t v;
    if (i >= 0) {
      out->step[i] += sum.t[k].k;
      out->base += sum.t[k].k * n->lo[i];
    } else {
      if (uses_loops(c, n, sum.t[k].atom) ||
          !dae_evaluate(c, sum.t[k].atom, &v))
        return false;
      out->base += sum.t[k].k * v;
    }
  }
  return true;
}

/* ---- limits ------------------------------------------------------------ */

static int64_t quotient_above(int64_t a, int64_t b) {
  return a / b + (a % b && (a < 0) == (b < 0));
}
static int64_t quotient_below(int64_t a, int64_t b) {
  return a / b - (a % b && (a < 0) != (b < 0));
}

static void limit_from(int64_t *from, int64_t v) {
  if (v > *from) *from = v;
}
static void limit_to(int64_t *to, int64_t v) {
  if (v < *to) *to = v;
}

/* base + step * loop >= 0, of at most one loop. */
static bool limit_by(const dae_nest *n, const dae_form *f, int64_t *from,
                     int64_t *to) {
  int loop = -1;
  for (uint32_t i = 0; i < n->n; i++) {
    if (!f->step[i] || n->extent[i] == 1) continue;
    if (loop >= 0) return false;
    loop = (int)i;
  }
  if (loop < 0) {
    if (f->base < 0)
      for (uint32_t i = 0; i < n->n; i++) to[i] = from[i];
    return f->base >= 0 || n->n;
  }
  int64_t step = f->step[loop];
  if (step > 0)
    limit_from(&from[loop], quotient_above(-f->base, step));
  else
    limit_to(&to[loop], quotient_below(f->base, -step) + 1);
  if (to[loop] < from[loop]) to[loop] = from[loop];
  return true;
}

/* a - b - less >= 0 */
static bool limit_difference(dae_compile *c, const dae_nest *n, ir_expr a,
                             ir_expr b, int64_t less, int64_t *from,
                             int64_t *to) {
  dae_form x, y;
  if (!ir_is_int(ir_at(c->p, a)->dtype) || !dae_find_form(c, n, a, &x) ||
      !dae_find_form(c, n, b, &y))
    return false;
  x.base -= y.base + less;
  for (uint32_t i = 0; i < n->n; i++) x.step[i] -= y.step[i];
  return limit_by(n, &x, from, to);
}

static bool limit_all(dae_compile *c, const dae_nest *n, ir_expr cond,
                      int64_t *from, int64_t *to) {
  const ir_node at = *ir_at(c->p, cond);
  int64_t v;
  switch (at.op) {
  case IR_AND:
    return limit_all(c, n, at.a, from, to) && limit_all(c, n, at.b, from, to);
  case IR_LT: return limit_difference(c, n, at.b, at.a, 1, from, to);
  case IR_LE: return limit_difference(c, n, at.b, at.a, 0, from, to);
  case IR_EQ:
    return limit_difference(c, n, at.b, at.a, 0, from, to) &&
           limit_difference(c, n, at.a, at.b, 0, from, to);
  default:
    if (uses_loops(c, n, cond) || !dae_evaluate(c, cond, &v)) return false;
    for (uint32_t i = 0; !v && i < n->n; i++) to[i] = from[i];
    return v || n->n;
  }
}

/* Forms count loops from lo, so a loop of one iteration is its base. */
bool dae_find_limits(dae_compile *c, const dae_nest *n, ir_expr cond,
                     int64_t *from, int64_t *to) {
  for (uint32_t i = 0; i < n->n; i++) {
    from[i] = 0;
    to[i] = n->extent[i];
  }
  return limit_all(c, n, cond, from, to);
}

/* ---- entries ----------------------------------------------------------- */

/* The loop that steps every operand by `size` elements; l->n: there is none.
 * Loops of one iteration step nowhere. */
static uint32_t lane_loop(const dae_loops *l, int64_t size) {
  uint32_t i = 0;
  for (; i < l->n; i++) {
    bool is = true;
    for (uint32_t k = 0; k < l->operands; k++) is &= l->step[k][i] == size;
    if (is && l->extent[i] > 1) break;
  }
  return i;
}

static void remove_loop(dae_loops *l, uint32_t i) {
  l->n--;
  for (; i < l->n; i++) {
    l->extent[i] = l->extent[i + 1];
    l->from[i] = l->from[i + 1];
    l->to[i] = l->to[i + 1];
    for (uint32_t k = 0; k < l->operands; k++)
      l->step[k][i] = l->step[k][i + 1];
  }
}

bool dae_take_lanes(dae_loops *l, int64_t entry) {
  for (int64_t size = 1; size < entry;) {
    uint32_t i = lane_loop(l, size);
    if (i == l->n) return false;
    int64_t extent = l->extent[i], wanted = entry / size;
    if (wanted % extent && extent % wanted) return false;
    if (l->from[i] || l->to[i] != extent) return false;
    if (extent > wanted) {
      l->extent[i] = l->to[i] = extent / wanted;
      for (uint32_t k = 0; k < l->operands; k++) l->step[k][i] *= wanted;
      size = entry;
    } else {
      remove_loop(l, i);
      size *= extent;
    }
  }
  for (uint32_t k = 0; k < l->operands; k++) {
    if (l->base[k] % entry) return false;
    l->base[k] /= entry;
    for (uint32_t i = 0; i < l->n; i++) {
      if (l->extent[i] > 1 && l->step[k][i] % entry) return false;
      l->step[k][i] /= entry;
    }
  }
  return true;
}
