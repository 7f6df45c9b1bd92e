/* SPDX-License-Identifier: Apache-2.0
 * Preconditions of pad_einsum: the loops and new extents of a block, and how it
 * indexes what it accesses. */
#include "schedule/rewrite/einsum.h"
#include "schedule/analysis/move.h"

uint32_t sch_einsum_iter_of(const einsum *w, ir_expr e) {
  const ir_program *p = w->s->p;
  uint32_t k = 0;
  while (k < w->loops.n && ir_ref(p, einsum_iter(w, k).var) != e) k++;
  return k;
}

/* ---- extents ------------------------------------------------------------ */

static bool check_numbers(einsum *w, sch_ints padding) {
  sch_state *s = w->s;
  uint32_t n = ir_blk(s->p, w->block)->iters.n;
  if (padding.n != n)
    return sch_refuse(s, SCH_R_PADDING_COUNT, .s = {w->block},
                      .n = {padding.n, n});
  for (uint32_t k = 0; k < n; k++)
    if (padding.v[k] < 1)
      return sch_refuse(s, SCH_R_FACTOR_NOT_POSITIVE, .s = {w->block},
                        .n = {k, padding.v[k]});
  return true;
}

/* The loops are the iters, over their whole domains. */
static bool einsum_check_loops(einsum *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  w->loops = sch_loops_of(s, w->block);
  if (!sch_is_trivial(p, w->block) || ir_blk(p, w->block)->pred)
    return sch_refuse(s, SCH_R_EINSUM_LOOPS, .s = {w->block});
  for (uint32_t k = 0; k < w->loops.n; k++) {
    ir_stmt l = w->loops.v[k];
    ir_stmt in = k + 1 < w->loops.n ? w->loops.v[k + 1] : w->block;
    if (ir_st(p, l)->lo != einsum_iter(w, k).lo ||
        ir_st(p, l)->extent != einsum_iter(w, k).extent)
      return sch_refuse(s, SCH_R_EINSUM_LOOPS, .s = {w->block});
    if (sch_only_child(p, l) != in)
      return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {l, in});
  }
  return true;
}

static bool is_same_everywhere(const einsum *w, uint32_t k);

/* Is what the loop of iter k runs over known where buffers are made? */
static bool is_known(const einsum *w, uint32_t k) {
  const ir_program *p = w->s->p;
  int64_t extent;
  if (ir_const_int(p, ir_st(p, w->loops.v[k])->extent, &extent))
    return extent >= 1;
  return !ir_st(p, w->scope)->parent && is_same_everywhere(w, k);
}

/* The least multiple of `by` from e on. */
static ir_expr multiple(ir_program *p, ir_expr e, int64_t by) {
  ir_expr n =
      ir_binary(p, IR_DIV, ir_add(p, e, ir_index(p, by - 1)), ir_index(p, by));
  return ir_binary(p, IR_MUL, n, ir_index(p, by));
}

static bool find_extents(einsum *w, sch_ints padding) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  w->to = arena_array(s->scratch, ir_expr, padding.n);
  for (uint32_t k = 0; k < padding.n; k++) {
    const ir_stmt_rec r = *ir_st(p, w->loops.v[k]);
    int64_t extent = 0, by = padding.v[k];
    w->to[k] = 0;
    if (by == 1 ||
        ir_is_const(p, ir_binary(p, IR_MOD, r.extent, ir_index(p, by)), 0))
      continue;
    if (!is_known(w, k))
      return sch_refuse(s, SCH_R_NOT_STATIC, .s = {w->loops.v[k]});
    if (r.loop_kind != IR_SERIAL)
      return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {w->loops.v[k]});
    if (!ir_is_const(p, r.lo, 0))
      return sch_refuse(s, SCH_R_LOOP_START_NOT_ZERO, .s = {w->loops.v[k]});
    /* What a size comes to is seen when buffers are made. */
    (void)ir_const_int(p, r.extent, &extent);
    if (extent > SCH_MAX_EXTENT || by > SCH_MAX_EXTENT - extent)
      return sch_refuse(s, SCH_R_EXTENT_LARGE, .s = {w->loops.v[k]});
    w->to[k] = multiple(p, r.extent, by);
  }
  for (uint32_t k = 0; k < padding.n && einsum_pads_any(w); k++)
    if (ir_at(p, ir_st(p, w->loops.v[k])->extent)->lo < 1)
      return sch_refuse(s, SCH_R_LOOP_MAY_BE_EMPTY, .s = {w->loops.v[k]});
  return true;
}

/* ---- accesses ----------------------------------------------------------- */

static void add_operand(einsum *w, ir_buf buf, uint32_t n, const ir_expr *idx) {
  for (uint32_t i = 0; i < w->nop; i++)
    if (w->op[i].buf == buf && !memcmp(w->op[i].idx, idx, n * sizeof *idx))
      return;
  w->many |= w->nop == EINSUM_OPERANDS || n > EINSUM_DIMS;
  if (w->many) return;
  einsum_operand *o = &w->op[w->nop++];
  *o = (einsum_operand){.buf = buf, .n = n};
  memcpy(o->idx, idx, n * sizeof *idx);
}

typedef struct look {
  einsum *w;
  bool chooses;
} look;

static void einsum_note(const ir_program *p, ir_expr e, void *ud) {
  look *l = ud;
  const ir_node *n = ir_at(p, e);
  l->chooses |=
      n->op == IR_SELECT || (n->op == IR_CALL && n->a == IR_FN_EXTERN);
  if (n->op == IR_LOAD) add_operand(l->w, n->a, n->n, p->arg.v + n->b);
}

static bool uses_padded(const einsum *w, ir_expr e) {
  for (uint32_t k = 0; k < w->loops.n; k++)
    if (w->to[k] && ir_uses_var(w->s->p, e, einsum_iter(w, k).var)) return true;
  return false;
}

/* No loop of the nest determines where iter k runs: the copies are outside. */
static bool is_same_everywhere(const einsum *w, uint32_t k) {
  const ir_program *p = w->s->p;
  const ir_iter it = einsum_iter(w, k);
  for (uint32_t i = 0; i < w->loops.n; i++) {
    ir_var v = ir_st(p, w->loops.v[i])->var;
    if (ir_uses_var(p, it.lo, v) || ir_uses_var(p, it.extent, v)) return false;
  }
  return true;
}

static bool is_window(einsum *w, einsum_operand *o, uint32_t d) {
  const ir_program *p = w->s->p;
  const ir_iter *it = p->iter.v + ir_blk(p, w->block)->iters.at;
  return o->buf != w->def.buf &&
         sch_window_of(p, o->idx[d], it, w->to, w->loops.n, &o->window[d]);
}

/* Indices by distinct iters, windows and constants, where one is padded; what
 * windows leave out is copied, too. */
static bool check_operand(einsum *w, einsum_operand *o) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  uint64_t seen = 0;
  int64_t unused;
  bool plain = true, holes = false;
  for (uint32_t d = 0; d < o->n; d++) {
    uint32_t k = sch_einsum_iter_of(w, o->idx[d]);
    o->padded |= uses_padded(w, o->idx[d]);
    if (k == w->loops.n) {
      plain &= ir_const_int(p, o->idx[d], &unused) || is_window(w, o, d);
      holes |= o->window[d].holes;
      continue;
    }
    plain &= k < 64 && !(seen >> k & 1) && is_same_everywhere(w, k);
    seen |= UINT64_C(1) << (k & 63);
  }
  if (!o->padded) return true;
  if (!plain)
    return sch_refuse(s, SCH_R_EINSUM_ACCESS, .s = {w->block}, .buf = o->buf);
  return !holes || sch_einsum_is_defined(w, o->buf) ||
         sch_refuse(s, SCH_R_EINSUM_HOLES, .s = {w->block}, .buf = o->buf);
}

bool sch_einsum_tells(const einsum *w, const einsum_operand *o, uint32_t k) {
  for (uint32_t d = 0; d < o->n; d++)
    if (o->idx[d] == ir_ref(w->s->p, einsum_iter(w, k).var)) return true;
  return false;
}

static bool find_body(einsum *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  const ir_block_rec *b = ir_blk(p, w->block);
  if (b->writes.n != 1)
    return sch_refuse(s, SCH_R_SEVERAL_WRITES, .s = {w->block},
                      .n = {b->writes.n});
  if (b->allocs.n || b->matches.n ||
      !sch_get_def(s, ir_st(p, w->block)->body, &w->def) ||
      (sch_has_init(p, w->block) &&
       !sch_get_def(s, ir_st(p, w->block)->alt, &w->init)))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {w->block});
  return true;
}

static bool check_accesses(einsum *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  bool init = sch_has_init(p, w->block);
  look l = {w, false};
  add_operand(w, w->def.buf, w->def.n, w->def.idx);
  if (init) add_operand(w, w->init.buf, w->init.n, w->init.idx);
  ir_visit(p, s->scratch, w->def.value, einsum_note, &l);
  if (init) ir_visit(p, s->scratch, w->init.value, einsum_note, &l);
  if (l.chooses) return sch_refuse(s, SCH_R_EINSUM_CHOOSES, .s = {w->block});
  for (uint32_t i = 0; i < w->nop; i++) {
    einsum_operand *o = &w->op[i];
    if (sch_has_match(p, w->scope, o->buf) ||
        sch_storage(p, w->scope, o->buf) != o->buf)
      return sch_refuse(s, SCH_R_OPAQUE_ACCESS, .s = {w->block}, .buf = o->buf);
    if (w->many || (i && o->buf == w->def.buf))
      return sch_refuse(s, SCH_R_EINSUM_ACCESS, .s = {w->block}, .buf = o->buf);
    if (!check_operand(w, o)) return false;
  }
  for (uint32_t k = 0; k < w->loops.n; k++) {
    bool spatial = einsum_iter(w, k).kind == IR_SPATIAL;
    if (!spatial && sch_einsum_tells(w, &w->op[0], k))
      return sch_refuse(s, SCH_R_PLACE_REDUCED, .s = {w->block});
    if (w->to[k] && spatial && !sch_einsum_tells(w, &w->op[0], k))
      return sch_refuse(s, SCH_R_EINSUM_ACCESS, .s = {w->block},
                        .buf = w->def.buf);
  }
  return true;
}

bool sch_einsum_find(einsum *w, sch_ints padding) {
  return check_numbers(w, padding) && einsum_check_loops(w) &&
         find_extents(w, padding) &&
         sch_check_movable(w->s, w->scope, w->block) && find_body(w) &&
         check_accesses(w);
}
