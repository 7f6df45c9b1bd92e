/* SPDX-License-Identifier: Apache-2.0
 * Classification of blocks: complete, reduction, dominant, affine, output; and
 * the buffer that an operand refers to. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

static bool in_regions(const ir_program *p, ir_span r, ir_buf buf) {
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (p->region.v[i].buf == buf) return true;
  return false;
}

bool sch_reads_buf(const ir_program *p, ir_stmt block, ir_buf buf) {
  return in_regions(p, ir_blk(p, block)->reads, buf);
}

bool sch_writes_buf(const ir_program *p, ir_stmt block, ir_buf buf) {
  return in_regions(p, ir_blk(p, block)->writes, buf);
}

bool sch_same_region(const ir_program *p, ir_region a, ir_region b) {
  if (a.buf != b.buf) return false;
  for (uint32_t k = 0; k < 2 * ir_ndim(p, a.buf); k++)
    if (p->arg.v[a.at + k] != p->arg.v[b.at + k]) return false;
  return true;
}

static bool is_dominant(const ir_program *p, ir_stmt top, ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes;
  for (ir_stmt b = top; (b = sch_next_child(p, b, top));)
    for (uint32_t i = w.at; b != block && i < w.at + w.n; i++)
      if (sch_writes_buf(p, b, p->region.v[i].buf)) return false;
  return true;
}

static bool reads_what_it_writes(const ir_program *p, ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (sch_reads_buf(p, block, p->region.v[i].buf)) return true;
  return false;
}

static bool init_accesses(const ir_program *p, ir_stmt block, ir_buf buf,
                          bool stores) {
  for (ir_stmt c = ir_st(p, block)->alt; c; c = ir_st(p, c)->next) {
    if (ir_uses_below(p, c, buf, stores)) return true;
    for (ir_stmt q = c; q; q = ir_next(p, q, c))
      if (ir_is_block(p, q) &&
          (sch_reads_buf(p, q, buf) || (stores && sch_writes_buf(p, q, buf))))
        return true;
  }
  return false;
}

bool sch_init_loads(const ir_program *p, ir_stmt block, ir_buf buf) {
  return init_accesses(p, block, buf, false);
}

bool sch_init_uses(const ir_program *p, ir_stmt block, ir_buf buf) {
  return init_accesses(p, block, buf, true);
}

unsigned sch_block_props(sch_state *s, ir_stmt top, ir_stmt block) {
  const ir_program *p = s->p;
  ir_span iters = ir_blk(p, block)->iters;
  bool spatial = true, opaque = false;
  for (uint32_t i = iters.at; i < iters.at + iters.n; i++) {
    spatial = spatial && p->iter.v[i].kind == IR_SPATIAL;
    opaque = opaque || p->iter.v[i].kind == IR_OPAQUE;
  }
  if (!is_dominant(p, top, block)) return 0;
  unsigned props = SCH_DOMINANT;
  if (spatial && !reads_what_it_writes(p, block)) props |= SCH_COMPLETE;
  if (sch_has_init(p, block) && !opaque && !ir_reduce_iter_in_write(p, block) &&
      sch_reduction_commutes(p, block) && sch_is_affine(s, block))
    props |= SCH_REDUCTION;
  return props;
}

bool sch_is_trivial(const ir_program *p, ir_stmt block) {
  ir_span iters = ir_blk(p, block)->iters;
  ir_stmt at = ir_st(p, block)->parent;
  for (uint32_t i = iters.n; i-- > 0; at = ir_st(p, at)->parent)
    if (!at || !ir_is_loop(p, at) ||
        p->iter.v[iters.at + i].bind != ir_ref(p, ir_st(p, at)->var))
      return false;
  return !at || ir_is_block(p, at);
}

bool sch_runs_its_domain(const ir_program *p, ir_stmt block) {
  ir_span iters = ir_blk(p, block)->iters;
  if (ir_blk(p, block)->pred || !sch_is_trivial(p, block)) return false;
  ir_stmt at = ir_st(p, block)->parent;
  for (uint32_t i = iters.n; i-- > 0; at = ir_st(p, at)->parent)
    if (ir_st(p, at)->lo != p->iter.v[iters.at + i].lo ||
        ir_st(p, at)->extent != p->iter.v[iters.at + i].extent)
      return false;
  return true;
}

/* The loops run over a box, and not over nothing: from constants, which are
 * those that their variables begin at. */
static bool runs_box(const ir_program *p, uint32_t n, const ir_stmt *loop) {
  for (uint32_t i = 0; i < n; i++) {
    const ir_stmt_rec *r = ir_st(p, loop[i]);
    if (!ir_is_const(p, r->lo, p->var.v[r->var].lo) ||
        !ir_is_invariant(p, r->extent) || ir_at(p, r->extent)->lo < 1)
      return false;
  }
  return true;
}

bool sch_is_affine(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  if (sch_runs_its_domain(p, block)) return true;
  const ir_block_rec *b = ir_blk(p, block);
  ir_span iters = b->iters;
  uint32_t nloop = 0;
  for (ir_stmt a = ir_st(p, block)->parent; a && !ir_is_block(p, a);
       a = ir_st(p, a)->parent)
    nloop += ir_is_loop(p, a);
  ir_stmt *loop = arena_array(s->scratch, ir_stmt, nloop);
  ir_var *var = arena_array(s->scratch, ir_var, nloop);
  ir_expr *e = arena_array(s->scratch, ir_expr, 3 * iters.n + nloop);
  ir_expr *extent = e + 3 * iters.n;
  sch_loops_above(p, block, nloop, loop);
  if (!runs_box(p, nloop, loop)) return false;
  for (uint32_t i = 0; i < nloop; i++) {
    var[i] = ir_st(p, loop[i])->var;
    extent[i] = ir_st(p, loop[i])->extent;
  }
  for (uint32_t i = 0; i < iters.n; i++) {
    const ir_iter *it = &p->iter.v[iters.at + i];
    e[i] = it->bind;
    e[iters.n + i] = it->lo;
    e[2 * iters.n + i] = it->extent;
  }
  return arith_map_is(p, s->scratch, ARITH_MAP_BIJECTIVE, nloop, var, extent,
                      iters.n, e, e + iters.n, e + 2 * iters.n, b->pred);
}

ir_stmt sch_alloc_block(const ir_program *p, ir_buf buf) {
  for (uint32_t i = 1; i < p->block.n; i++) {
    const ir_block_rec *b = &p->block.v[i];
    if (ir_is_dead(p, b->stmt)) continue;
    for (uint32_t k = b->allocs.at; k < b->allocs.at + b->allocs.n; k++)
      if (p->arg.v[k] == buf) return b->stmt;
  }
  return 0;
}

bool sch_is_output(const ir_program *p, ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes;
  ir_stmt scope = ir_scope_of(p, block);
  if (!scope) return true;
  ir_span here = ir_blk(p, scope)->allocs;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    bool inside = false;
    for (uint32_t k = here.at; k < here.at + here.n && !inside; k++)
      inside = p->arg.v[k] == p->region.v[i].buf;
    if (!inside) return true;
  }
  return false;
}

/* ---- the buffer that an operand means ----------------------------------- */

static ir_span regions_of(const ir_program *p, ir_stmt block, bool write) {
  return write ? ir_blk(p, block)->writes : ir_blk(p, block)->reads;
}

/* The first region on one side whose buffer is named so, from *index on. */
static bool find_named(const ir_program *p, ir_span r, const char *name,
                       uint32_t *index) {
  while (*index < r.n) {
    ir_buf b = p->region.v[r.at + *index].buf;
    if (!strcmp(ir_text(p, p->buf.v[b].name), name)) return true;
    ++*index;
  }
  return false;
}

static bool find_by_name(sch_state *s, ir_stmt block, const char *name,
                         unsigned sides, bool *write, uint32_t *index) {
  const ir_program *p = s->p;
  ir_buf found = 0;
  for (int w = 0; w < 2; w++) {
    ir_span r = regions_of(p, block, w);
    if (!(sides & (w ? SCH_WRITES : SCH_READS))) continue;
    for (uint32_t i = 0; find_named(p, r, name, &i); i++) {
      ir_buf b = p->region.v[r.at + i].buf;
      if (found && b != found)
        return sch_refuse(s, SCH_R_BUFFER_NAMES, .s = {block}, .t = name);
      if (found) continue;
      found = b;
      *write = w;
      *index = i;
    }
  }
  return found || sch_refuse(s, SCH_R_BUFFER_NAME, .s = {block}, .t = name);
}

static bool find_by_index(sch_state *s, ir_stmt block, sch_buffer meant,
                          unsigned sides, bool *write, uint32_t *index) {
  if (meant.by == SCH_BY_INDEX && sides == (SCH_READS | SCH_WRITES))
    return sch_refuse(s, SCH_R_BUFFER_SIDE_OPEN, .s = {block},
                      .n = {meant.index});
  *write =
      meant.by == SCH_BY_INDEX ? sides == SCH_WRITES : meant.by == SCH_BY_WRITE;
  if (!(sides & (*write ? SCH_WRITES : SCH_READS)))
    return sch_refuse(s, SCH_R_BUFFER_SIDE, .s = {block},
                      .t = *write ? "writes" : "reads");
  uint32_t n = regions_of(s->p, block, *write).n;
  if (meant.index < 0 || meant.index >= n)
    return sch_refuse(s, SCH_R_BUFFER_INDEX, .s = {block},
                      .n = {meant.index, n});
  *index = (uint32_t)meant.index;
  return true;
}

bool sch_find_buffer(sch_state *s, ir_stmt block, sch_buffer meant,
                     unsigned sides, bool *write, uint32_t *index,
                     ir_buf *buf) {
  bool w = false;
  uint32_t i = 0;
  if (!(meant.by == SCH_BY_NAME
            ? find_by_name(s, block, meant.name, sides, &w, &i)
            : find_by_index(s, block, meant, sides, &w, &i)))
    return false;
  if (write) *write = w;
  if (index) *index = i;
  *buf = s->p->region.v[regions_of(s->p, block, w).at + i].buf;
  return true;
}
