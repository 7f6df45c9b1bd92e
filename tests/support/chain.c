/* SPDX-License-Identifier: Apache-2.0
 * Splitting and fusing. */
#include "ir/edit.h"
#include "support/chain.h"

#include <stdio.h>

static void insert(chain *s, uint32_t at, ir_var v, int64_t extent) {
  for (uint32_t i = s->n++; i > at; i--) {
    s->loop[i] = s->loop[i - 1];
    s->extent[i] = s->extent[i - 1];
  }
  s->loop[at] = v;
  s->extent[at] = extent;
}

static void take_out(chain *s, uint32_t at) {
  s->n--;
  for (uint32_t i = at; i < s->n; i++) {
    s->loop[i] = s->loop[i + 1];
    s->extent[i] = s->extent[i + 1];
  }
}

static ir_var new_loop(chain *s, int64_t extent) {
  char name[16];
  snprintf(name, sizeof name, "v%u", s->p->var.n);
  return ir_var_new(s->p, IR_VAR_LOOP, ir_name(s->p, name), IR_INDEX, 0,
                    extent - 1);
}

ir_var chain_add(chain *s, uint32_t at, int64_t extent) {
  ir_var v = new_loop(s, extent);
  insert(s, at, v, extent);
  return v;
}

static void substitute(chain *s, uint32_t n, const ir_var *v,
                       const ir_expr *e) {
  static ir_expr map[4096];
  uint32_t top = 0;
  memset(map, 0, sizeof map);
  for (uint32_t i = 0; i < n; i++) {
    assert_true(v[i] < 4096);
    map[v[i]] = e[i];
    top = v[i] >= top ? v[i] + 1 : top;
  }
  for (uint32_t i = 0; i < s->nexpr; i++)
    s->expr[i] = test_rebuild(s->p, s->expr[i], top, map);
  if (s->pred) s->pred = test_rebuild(s->p, s->pred, top, map);
}

void chain_split(chain *s, uint32_t at, int64_t factor, uint32_t to0,
                 uint32_t to1) {
  ir_program *p = s->p;
  ir_var v = s->loop[at];
  int64_t n = s->extent[at], outer = (n + factor - 1) / factor;
  ir_var a = new_loop(s, outer), b = new_loop(s, factor);
  ir_expr e = ir_mul(p, ir_ref(p, a), ir_index(p, factor));
  e = ir_add(p, e, ir_ref(p, b));
  substitute(s, 1, &v, &e);
  if (outer * factor != n) {
    ir_expr in = ir_binary(p, IR_LT, e, ir_index(p, n));
    s->pred = s->pred ? ir_and(p, s->pred, in) : in;
  }
  take_out(s, at);
  insert(s, to0, a, outer);
  insert(s, to1, b, factor);
}

void chain_fuse(chain *s, uint32_t a, uint32_t b, uint32_t to) {
  ir_program *p = s->p;
  ir_var v[2] = {s->loop[a], s->loop[b]};
  int64_t inner = s->extent[b], all = s->extent[a] * inner;
  ir_var f = new_loop(s, all);
  ir_expr m = ir_index(p, inner);
  ir_expr e[2] = {ir_binary(p, IR_DIV, ir_ref(p, f), m),
                  ir_binary(p, IR_MOD, ir_ref(p, f), m)};
  substitute(s, 2, v, e);
  take_out(s, a > b ? a : b);
  take_out(s, a > b ? b : a);
  insert(s, to, f, all);
}

static int64_t some_factor(rng *r, int64_t n, bool exact) {
  int64_t f = test_pick(r, 1, n);
  while (exact && n % f) f--;
  return f;
}

chain_step chain_random(chain *s, bool exact) {
  rng *r = s->r;
  chain_step t = {.is_split =
                      s->n < 2 || (s->n < CHAIN_LOOPS && rng_below(r, 2))};
  t.at[0] = (uint32_t)rng_below(r, s->n);
  if (t.is_split) {
    t.factor = some_factor(r, s->extent[t.at[0]], exact);
    t.at[1] = (uint32_t)rng_below(r, s->n);
    t.at[2] = (uint32_t)rng_below(r, s->n + 1);
    chain_split(s, t.at[0], t.factor, t.at[1], t.at[2]);
    t.at[1] += t.at[2] <= t.at[1];
    return t;
  }
  t.at[1] = t.at[0];
  t.at[2] = (uint32_t)rng_below(r, s->n - 1);
  t.at[2] += t.at[2] >= t.at[1];
  t.factor = s->extent[t.at[2]];
  t.at[0] = (uint32_t)rng_below(r, s->n - 1);
  chain_fuse(s, t.at[1], t.at[2], t.at[0]);
  return t;
}

void chain_undo(chain *s, const chain_step *t) {
  uint32_t a = t->at[1], b = t->at[2];
  if (t->is_split)
    chain_fuse(s, a, b, t->at[0]);
  else
    chain_split(s, t->at[0], t->factor, a < b ? a : a - 1, b);
}
