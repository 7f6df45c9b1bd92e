/* SPDX-License-Identifier: Apache-2.0
 * Would multi-level tiling let a block reuse what it reads, and would splitting
 * a reduction give it the parallelism that its spatial iters lack? */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

/* ---- places ------------------------------------------------------------- */

/* Indices that determine where something is read: n of them, each `step`
 * after the one before, in the program's arg. */
typedef struct place {
  uint32_t n, at, step;
} place;

static place place_of_region(const ir_program *p, ir_region r) {
  return (place){ir_ndim(p, r.buf), r.at, 2};
}

static bool is_told_by(const ir_program *p, place w, ir_var v) {
  for (uint32_t k = 0; k < w.n; k++)
    if (ir_uses_var(p, p->arg.v[w.at + k * w.step], v)) return true;
  return false;
}

bool sch_is_indexed_by(const ir_program *p, ir_region r, ir_var v) {
  return is_told_by(p, place_of_region(p, r), v);
}

/* Some spatial iter of more than one value does not determine the place, so
 * that the same is read again along it. */
static bool is_met_again(const ir_program *p, ir_stmt block, place w) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter *x = &p->iter.v[i];
    if (x->kind == IR_SPATIAL && !ir_is_const(p, x->extent, 1) &&
        !is_told_by(p, w, x->var))
      return true;
  }
  return false;
}

/* What is read there changes in the course of the reduction. */
static bool is_reduced_over(const ir_program *p, ir_stmt block, place w) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == IR_REDUCE && is_told_by(p, w, p->iter.v[i].var))
      return true;
  return false;
}

typedef struct looker {
  ir_stmt block;
  ir_buf buf;
  bool reduced; /* only loads of what the reduction goes over count */
  bool again;   /* some load of the buffer is met again */
} looker;

static bool counts(const ir_program *p, const looker *l, place w) {
  return is_met_again(p, l->block, w) &&
         (!l->reduced || is_reduced_over(p, l->block, w));
}

static void tiling_note_load(const ir_program *p, ir_expr e, void *ud) {
  looker *l = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD && n->a == l->buf)
    l->again |= counts(p, l, (place){n->n, n->b, 1});
}

/* ---- regions ------------------------------------------------------------ */

static bool has_fixed_size(const ir_program *p, ir_region r) {
  for (uint32_t k = 0; k < ir_ndim(p, r.buf); k++)
    if (ir_at(p, ir_region_extent(p, r, k))->op != IR_INT) return false;
  return true;
}

/* Nothing but stores, so that each load in them is at one place, determined
 * by the iters. */
static bool only_stores(const ir_program *p, ir_stmt block) {
  for (ir_stmt c = ir_st(p, block)->body; c; c = ir_st(p, c)->next)
    if (ir_st(p, c)->kind != IR_STORE) return false;
  return true;
}

/* Does the block read the same of the buffer again?  A region that holds the
 * places of several loads, as of X * X, says nothing of each of them. */
static bool reads_again(sch_state *s, ir_stmt block, ir_region r,
                        bool reduced) {
  const ir_program *p = s->p;
  looker l = {.block = block, .buf = r.buf, .reduced = reduced};
  if (has_fixed_size(p, r)) return counts(p, &l, place_of_region(p, r));
  for (ir_stmt c = ir_st(p, block)->body; c; c = ir_st(p, c)->next)
    ir_visit(p, s->scratch, ir_st(p, c)->value, tiling_note_load, &l);
  return l.again;
}

/* What may be read in several places, and how much there is not fixed: what
 * the block writes as well, or more than its stores show. */
static bool reads_oddly(const ir_program *p, ir_stmt block, ir_region r) {
  return !has_fixed_size(p, r) &&
         (sch_writes_buf(p, block, r.buf) || !only_stores(p, block));
}

/* Two regions of one buffer. */
static bool reads_twice(const ir_program *p, ir_span reads, uint32_t i) {
  for (uint32_t k = reads.at; k < i; k++)
    if (p->region.v[k].buf == p->region.v[i].buf) return true;
  return false;
}

/* ---- blocks ------------------------------------------------------------- */

bool sch_needs_tiling(sch_state *s, ir_stmt block) {
  const ir_program *p = s->p;
  const ir_block_rec *b = ir_blk(p, block);
  if (ir_anno_get(p, block, "tiling_structure") || b->writes.n != 1 ||
      !ir_has_reduce_iter(p, block) || !sch_is_trivial(p, block))
    return false;
  bool again = false;
  for (uint32_t i = b->reads.at; i < b->reads.at + b->reads.n; i++) {
    ir_region r = p->region.v[i];
    if (reads_twice(p, b->reads, i) || reads_oddly(p, block, r)) return false;
    again = again || reads_again(s, block, r, false);
  }
  return again;
}

bool sch_reuses_in_reduction(sch_state *s, ir_stmt block) {
  const ir_block_rec *b = ir_blk(s->p, block);
  for (uint32_t i = b->reads.at; i < b->reads.at + b->reads.n; i++)
    if (reads_again(s, block, s->p->region.v[i], true)) return true;
  return false;
}

/* The product, or INT64_MAX where it is larger. */
static int64_t saturated_product(int64_t a, int64_t b) {
  int64_t v;
  return __builtin_mul_overflow(a, b, &v) ? INT64_MAX : v;
}

/* Iterations of the loops around the block, in which nothing else is: spatial
 * ones in count[0], those of reduce iters in count[1].  false: an extent is not
 * constant, an iter is of another kind, or the loops hold more. */
static bool count_iterations(const ir_program *p, ir_stmt block,
                             int64_t count[2]) {
  ir_span it = ir_blk(p, block)->iters;
  ir_stmt child = block, loop;
  count[0] = count[1] = 1;
  for (uint32_t i = it.n; i-- > 0; child = loop) {
    uint32_t kind = p->iter.v[it.at + i].kind;
    int64_t extent;
    loop = ir_st(p, child)->parent;
    if ((kind != IR_SPATIAL && kind != IR_REDUCE) ||
        ir_st(p, loop)->body != child || ir_st(p, child)->next ||
        !ir_const_int(p, ir_st(p, loop)->extent, &extent))
      return false;
    int64_t *n = &count[kind == IR_REDUCE];
    *n = saturated_product(*n, extent);
  }
  return true;
}

bool sch_needs_rfactor(sch_state *s, ir_stmt block, int64_t max_spatial,
                       int64_t min_reduce) {
  const ir_program *p = s->p;
  int64_t count[2];
  if (ir_anno_get(p, block, "tiling_structure") ||
      !ir_has_reduce_iter(p, block) || !ir_st(p, block)->alt ||
      ir_blk(p, block)->writes.n == 0 || !sch_is_trivial(p, block) ||
      !count_iterations(p, block, count))
    return false;
  if (sch_needs_tiling(s, block))
    return count[0] < count[1] && count[0] <= max_spatial;
  return count[1] > min_reduce;
}
