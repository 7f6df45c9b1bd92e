/* SPDX-License-Identifier: Apache-2.0
 * Is a buffer wholly defined before a block's nest, so that a padded copy may
 * read elements that the block itself leaves out? */
#include "schedule/rewrite/einsum.h"

/* Runs over all of its domain, which is not empty, whenever its scope does. */
static bool runs_everywhere(const ir_program *p, ir_stmt block) {
  const ir_block_rec *b = ir_blk(p, block);
  if (!sch_runs_its_domain(p, block) || b->matches.n) return false;
  for (uint32_t k = b->iters.at; k < b->iters.at + b->iters.n; k++)
    if (ir_at(p, p->iter.v[k].extent)->lo < 1) return false;
  return true;
}

/* Which iter of the block, from 0 and as long as the dimension, the index is;
 * iters.n: none. */
static uint32_t iter_over(ir_program *p, ir_stmt block, ir_expr index,
                          ir_expr dim) {
  ir_span span = ir_blk(p, block)->iters;
  uint32_t k = 0;
  while (k < span.n && ir_ref(p, p->iter.v[span.at + k].var) != index) k++;
  if (k == span.n) return k;
  const ir_iter *it = &p->iter.v[span.at + k];
  return ir_is_const(p, it->lo, 0) && it->extent == dim ? k : span.n;
}

/* Each dimension is run through by an iter of its own, or has one element. */
static bool stores_all(sch_state *s, ir_stmt block, ir_buf buf) {
  ir_program *p = s->p;
  sch_def def;
  uint64_t seen = 0;
  uint32_t n = ir_blk(p, block)->iters.n;
  if (!sch_get_def(s, ir_st(p, block)->body, &def) || def.buf != buf)
    return false;
  for (uint32_t d = 0; d < def.n; d++) {
    ir_expr dim = ir_dim(p, buf, d);
    if (ir_is_const(p, def.idx[d], 0) && ir_is_const(p, dim, 1)) continue;
    uint32_t k = iter_over(p, block, def.idx[d], dim);
    if (k == n || k >= 64 || (seen >> k & 1)) return false;
    seen |= UINT64_C(1) << k;
  }
  return true;
}

bool sch_einsum_is_defined(const einsum *w, ir_buf buf) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  uint32_t role = p->buf.v[buf].role;
  if (role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT) return true;
  sch_list blocks = sch_child_blocks(s, w->scope);
  for (uint32_t i = 0; i < blocks.n; i++) {
    ir_stmt b = blocks.v[i];
    if (b != w->block && sch_writes_buf(p, b, buf) &&
        sch_comes_before(p, b, w->loops.v[0]) && runs_everywhere(p, b) &&
        stores_all(s, b, buf))
      return true;
  }
  return false;
}
