/* SPDX-License-Identifier: Apache-2.0
 * The definition that a one-store block gives its buffer, the inverse of its
 * store's index map, and regions recomputed after substitution. */
#include "schedule/analysis/inline.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

bool sch_get_def(sch_state *s, ir_stmt first, sch_def *out) {
  const ir_program *p = s->p;
  if (!first) return false;
  const ir_stmt_rec *r = ir_st(p, first);
  if (r->kind != IR_STORE || r->next || r->mask) return false;
  *out = (sch_def){first, r->buf, r->idx.n,
                   arena_array(s->scratch, ir_expr, r->idx.n), r->value};
  memcpy(out->idx, p->arg.v + r->idx.at, r->idx.n * sizeof *out->idx);
  return true;
}

bool sch_only_clips(ir_program *p, ir_expr cond, ir_buf buf,
                    const ir_expr *idx) {
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND)
    return sch_only_clips(p, n.a, buf, idx) && sch_only_clips(p, n.b, buf, idx);
  for (uint32_t d = 0; d < ir_ndim(p, buf); d++)
    if (cond == ir_binary(p, IR_LE, ir_index(p, 0), idx[d]) ||
        cond == ir_binary(p, IR_LT, idx[d], ir_dim(p, buf, d)))
      return true;
  return false;
}

bool sch_get_copy_def(sch_state *s, ir_stmt first, sch_def *out,
                      ir_expr *cond) {
  ir_program *p = s->p;
  *cond = 0;
  while (first && !ir_st(p, first)->next && ir_is_loop(p, first) &&
         ir_st(p, first)->loop_kind == IR_SERIAL)
    first = ir_st(p, first)->body;
  if (first && !ir_st(p, first)->next && ir_st(p, first)->kind == IR_IF &&
      !ir_st(p, first)->alt) {
    *cond = ir_st(p, first)->cond;
    first = ir_st(p, first)->body;
  }
  return sch_get_def(s, first, out) &&
         (!*cond || sch_only_clips(p, *cond, out->buf, out->idx));
}

bool sch_has_match(const ir_program *p, ir_stmt top, ir_buf buf) {
  for (ir_stmt q = top; q; q = ir_next(p, q, top)) {
    if (!ir_is_block(p, q)) continue;
    ir_span m = ir_blk(p, q)->matches;
    for (uint32_t i = m.at; i < m.at + m.n; i++)
      if (p->match.v[i].source.buf == buf) return true;
  }
  return false;
}

/* ---- the inverse -------------------------------------------------------- */

typedef struct inversion {
  sch_state *s;
  ir_span iters;
  uint32_t n;
  const ir_expr *idx, *point;
  ir_expr *out; /* 0: not yet solved */
} inversion;

/* Dimensions that are one iter, scaled and shifted, determine that iter. */
static void solve_singles(inversion *f) {
  ir_program *p = f->s->p;
  for (uint32_t d = 0; d < f->n; d++) {
    ir_expr atom[2];
    int64_t coef[2], c;
    if (arith_terms(p, f->idx[d], 2, atom, coef, &c) != 1 ||
        ir_at(p, atom[0])->op != IR_VAR)
      continue;
    for (uint32_t k = 0; k < f->iters.n; k++)
      if (!f->out[k] &&
          p->iter.v[f->iters.at + k].var == ir_at(p, atom[0])->a) {
        ir_expr off = coef[0] > 0 ? ir_sub(p, f->point[d], ir_index(p, c))
                                  : ir_sub(p, ir_index(p, c), f->point[d]);
        int64_t by = coef[0] > 0 ? coef[0] : -coef[0];
        f->out[k] = ir_binary(p, IR_DIV, off, ir_index(p, by));
      }
  }
}

/* The iters left over, from the map as a whole. */
static bool solve_rest(inversion *f) {
  ir_program *p = f->s->p;
  ir_var *in = arena_array(f->s->scratch, ir_var, f->iters.n);
  ir_expr *res = arena_array(f->s->scratch, ir_expr, f->iters.n);
  uint32_t n = 0;
  for (uint32_t k = 0; k < f->iters.n; k++)
    for (uint32_t d = 0; d < f->n; d++)
      if (ir_uses_var(p, f->idx[d], p->iter.v[f->iters.at + k].var)) {
        in[n++] = p->iter.v[f->iters.at + k].var;
        break;
      }
  if (!arith_inverse(p, f->s->scratch, n, in, NULL, f->n, f->idx, f->point,
                     res))
    return false;
  for (uint32_t k = 0, i = 0; k < f->iters.n && i < n; k++)
    if (in[i] == p->iter.v[f->iters.at + k].var) {
      if (!f->out[k]) f->out[k] = res[i];
      i++;
    }
  return true;
}

static void add_cond(inversion *f, ir_expr *cond, ir_expr c) {
  ir_program *p = f->s->p;
  if (!ir_is_const(p, c, 1) && !arith_prove(p, f->s->scratch, c, 0))
    *cond = *cond ? ir_and(p, *cond, c) : c;
}

/* What must hold for the solution to be one. */
static ir_expr conditions(inversion *f) {
  ir_program *p = f->s->p;
  ir_expr cond = 0;
  ir_subst sub;
  ir_subst_init(&sub, p, f->s->scratch);
  for (uint32_t k = 0; k < f->iters.n; k++) {
    const ir_iter it = p->iter.v[f->iters.at + k];
    ir_subst_var(&sub, it.var, f->out[k]);
    add_cond(f, &cond, ir_binary(p, IR_LE, it.lo, f->out[k]));
    add_cond(f, &cond,
             ir_binary(p, IR_LT, f->out[k], ir_add(p, it.lo, it.extent)));
  }
  for (uint32_t d = 0; d < f->n; d++)
    add_cond(f, &cond,
             ir_binary(p, IR_EQ, ir_subst_expr(&sub, f->idx[d]), f->point[d]));
  return cond;
}

bool sch_invert(sch_state *s, ir_stmt block, uint32_t n, const ir_expr *idx,
                const ir_expr *point, ir_expr *out, ir_expr *cond) {
  ir_program *p = s->p;
  inversion f = {s, ir_blk(p, block)->iters, n, idx, point, out};
  memset(out, 0, f.iters.n * sizeof *out);
  for (uint32_t pass = 0; pass < 3; pass++) {
    uint32_t left = 0;
    if (pass == 0) solve_singles(&f);
    for (uint32_t k = 0; k < f.iters.n; k++) {
      const ir_iter it = p->iter.v[f.iters.at + k];
      if (!out[k] && pass == 0 && ir_is_const(p, it.extent, 1) &&
          ir_at(p, it.lo)->op == IR_INT)
        out[k] = it.lo;
      left += !out[k];
    }
    if (!left) break;
    if (pass == 2 || (pass == 1 && !solve_rest(&f))) return false;
  }
  if (cond) *cond = conditions(&f);
  return true;
}

/* ---- regions read ------------------------------------------------------- */

void sch_end_claims(sch_state *s, ir_stmt top, ir_span reads) {
  ir_program *p = s->p;
  for (ir_stmt q = top; q; q = ir_next(p, q, top))
    for (uint32_t i = reads.at; ir_is_block(p, q) && i < reads.at + reads.n;
         i++)
      ir_anno_remove_buffer(p, s->scratch, q, IR_EXPLICIT_READS,
                            p->region.v[i].buf);
}

void sch_refresh_regions(sch_state *s, ir_stmt top) {
  ir_program *p = s->p;
  for (ir_stmt q = ir_st(p, top)->body; q; q = ir_next(p, q, top))
    if (ir_is_block(p, q) && ir_scope_of(p, q) == top)
      sch_refresh_regions(s, q);
  ir_block_find_regions(p, s->scratch, top);
}
