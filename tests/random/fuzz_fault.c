/* SPDX-License-Identifier: Apache-2.0
 * The random tester tested: damage such as a wrong primitive would do to a
 * program.  Each way must be found by running enough cases. */
#include "ir/edit.h"
#include "ir/query.h"
#include "random/fuzz.h"

/* A statement that `fits`, drawn among all; 0: there is none. */
static ir_stmt some_stmt(fuzz *f, const ir_program *p,
                         bool (*fits)(const ir_program *p, ir_stmt s)) {
  ir_stmt root = ir_entry(p)->root, found = 0;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (fits(p, s) && fuzz_below(f, ++n) == 0) found = s;
  return found;
}

/* ---- a load of the wrong element ---------------------------------------- */

static bool loads(const ir_program *p, ir_stmt s) {
  return ir_st(p, s)->kind == IR_STORE && ir_has_load(p, ir_st(p, s)->value, 0);
}

/* The first dimension that has a neighbour: the element next to it. */
static ir_expr next_element(ir_subst *s, ir_buf buf, uint32_t n,
                            const ir_expr *idx) {
  ir_expr moved[GEN_MAX_DIM];
  int64_t extent;
  if (n > GEN_MAX_DIM) return 0;
  memcpy(moved, idx, n * sizeof *idx);
  for (uint32_t d = 0; d < n; d++)
    if (ir_const_int(s->p, ir_dim(s->p, buf, d), &extent) && extent > 1) {
      ir_expr i = ir_add(s->p, idx[d], ir_index(s->p, 1));
      moved[d] = ir_binary(s->p, IR_MOD, i, ir_index(s->p, extent));
      return ir_load(s->p, buf, n, moved);
    }
  return 0;
}

static bool shift_load(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, loads);
  ir_subst sub;
  if (!s) return false;
  ir_subst_init(&sub, p, &f->scratch);
  sub.load = next_element;
  ir_expr old = ir_st(p, s)->value, v = ir_subst_expr(&sub, old);
  ir_st(p, s)->value = v;
  return v != old;
}

/* ---- loops -------------------------------------------------------------- */

static bool is_long(const ir_program *p, ir_stmt s) {
  int64_t n = 0;
  return ir_is_loop(p, s) && ir_const_int(p, ir_st(p, s)->extent, &n) && n > 1;
}

static bool shorten(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, is_long);
  int64_t n;
  if (!s || !ir_const_int(p, ir_st(p, s)->extent, &n)) return false;
  ir_expr less = ir_index(p, n - 1);
  ir_st(p, s)->extent = less;
  return true;
}

static bool reduces(const ir_program *p, ir_stmt s) {
  if (!is_long(p, s)) return false;
  for (ir_stmt b = ir_next(p, s, s); b; b = ir_next(p, b, s)) {
    if (!ir_is_block(p, b)) continue;
    ir_span it = ir_blk(p, b)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (p->iter.v[i].kind == IR_REDUCE &&
          ir_uses_var(p, p->iter.v[i].bind, ir_st(p, s)->var))
        return true;
  }
  return false;
}

static bool race(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, reduces);
  if (s) ir_st(p, s)->loop_kind = IR_PARALLEL;
  return s != 0;
}

/* ---- blocks ------------------------------------------------------------- */

static bool has_predicate(const ir_program *p, ir_stmt s) {
  return ir_is_block(p, s) && ir_blk(p, s)->pred;
}

static bool drop_predicate(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, has_predicate);
  if (s) ir_blk(p, s)->pred = 0;
  return s != 0;
}

static bool has_init(const ir_program *p, ir_stmt s) {
  return ir_is_block(p, s) && ir_st(p, s)->alt;
}

static bool drop_init(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, has_init);
  while (s && ir_st(p, s)->alt) ir_kill(p, ir_st(p, s)->alt);
  return s != 0;
}

static bool has_two_iters(const ir_program *p, ir_stmt s) {
  if (!ir_is_block(p, s)) return false;
  ir_span it = ir_blk(p, s)->iters;
  for (uint32_t i = it.at + 1; i < it.at + it.n; i++)
    if (p->iter.v[i].extent == p->iter.v[it.at].extent &&
        p->iter.v[i].bind != p->iter.v[it.at].bind)
      return true;
  return false;
}

static bool repeat_binding(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, has_two_iters);
  if (!s) return false;
  ir_span it = ir_blk(p, s)->iters;
  ir_iter *a = &p->iter.v[it.at], *b = a + 1;
  while (b->extent != a->extent || b->bind == a->bind) b++;
  b->bind = a->bind;
  return true;
}

static bool declares(const ir_program *p, ir_stmt s) {
  return ir_is_block(p, s) && ir_st(p, s)->parent && ir_blk(p, s)->reads.n;
}

static bool forget_region(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, declares);
  if (s) ir_blk(p, s)->reads.n--;
  return s != 0;
}

/* ---- order and arithmetic ----------------------------------------------- */

static bool has_sibling(const ir_program *p, ir_stmt s) {
  return ir_st(p, s)->next && !ir_st(p, s)->in_alt;
}

static bool swap_siblings(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, has_sibling);
  if (!s) return false;
  ir_stmt after = ir_st(p, s)->next;
  ir_detach(p, s);
  ir_insert_after(p, after, s);
  return true;
}

static bool computes(const ir_program *p, ir_stmt s) {
  if (ir_st(p, s)->kind != IR_STORE) return false;
  const ir_node *n = ir_at(p, ir_st(p, s)->value);
  return n->op >= IR_ADD && n->op <= IR_MAX && n->dtype.code != TESS_DTYPE_BOOL;
}

static bool change_operator(fuzz *f, ir_program *p) {
  ir_stmt s = some_stmt(f, p, computes);
  if (!s) return false;
  ir_node n = *ir_at(p, ir_st(p, s)->value);
  ir_op op = n.op == IR_ADD ? IR_SUB : n.op == IR_MIN ? IR_MAX : IR_ADD;
  ir_expr v = ir_binary(p, op, n.a, n.b);
  ir_st(p, s)->value = v;
  return true;
}

static const struct fault {
  bool (*damage)(fuzz *f, ir_program *p);
  const char *text;
} faults[FUZZ_FAULTS + 1] = {
    {NULL, "none"},
    {shift_load, "a load of the neighbouring element"},
    {shorten, "a loop that ends one early"},
    {race, "a reduction run in parallel"},
    {drop_predicate, "a predicate that is lost"},
    {drop_init, "an init that is lost"},
    {repeat_binding, "a binding used twice"},
    {forget_region, "a region that is not declared"},
    {swap_siblings, "two statements exchanged"},
    {change_operator, "another operator"},
};

bool fuzz_damage(fuzz *f, ir_program *p, uint32_t fault) {
  bool done = fault <= FUZZ_FAULTS && faults[fault].damage(f, p);
  arena_reset(&f->scratch);
  return done;
}

const char *fuzz_fault_text(uint32_t fault) {
  return fault <= FUZZ_FAULTS ? faults[fault].text : "";
}
