/* SPDX-License-Identifier: Apache-2.0
 * Inlines block bodies: substitutes the bindings of iters, turns predicates
 * into guards, where they do not follow from the loops around, and rewrites
 * accesses to match buffers as accesses to their source regions. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

/* ---- match buffers ------------------------------------------------------ */

static const ir_match *find_match(const ir_program *p, ir_span span, ir_buf b) {
  for (uint32_t i = 0; i < span.n; i++)
    if (p->match.v[span.at + i].buf == b) return &p->match.v[span.at + i];
  return NULL;
}

/* Indices of the source for indices of the matched buffer, which may have
 * fewer dimensions: the source's leading ones stay at their minimum. */
static uint32_t source_index(ir_program *p, const ir_match *m, uint32_t n,
                             const ir_expr *idx, ir_expr *out) {
  uint32_t ndim = ir_ndim(p, m->source.buf), skip = ndim - n;
  ir_region r = m->source;
  for (uint32_t d = 0; d < ndim; d++) {
    ir_expr min = ir_region_min(p, r, d);
    out[d] = d < skip ? min : ir_add(p, min, idx[d - skip]);
  }
  return ndim;
}

static ir_expr load_source(ir_subst *s, ir_buf buf, uint32_t n,
                           const ir_expr *idx) {
  const ir_match *found = find_match(s->p, *(ir_span *)s->ud, buf);
  if (!found) return 0;
  ir_match m = *found;
  ir_expr *at = arena_array(s->scratch, ir_expr, ir_ndim(s->p, m.source.buf));
  uint32_t ndim = source_index(s->p, &m, n, idx, at);
  return ir_load(s->p, m.source.buf, ndim, at);
}

static void store_source(ir_program *p, arena *scratch, ir_span span,
                         ir_stmt s) {
  const ir_match *found = find_match(p, span, ir_st(p, s)->buf);
  if (!found) return;
  ir_match m = *found;
  ir_span idx = ir_st(p, s)->idx;
  ir_expr *in = arena_array(scratch, ir_expr, idx.n);
  ir_expr *out = arena_array(scratch, ir_expr, ir_ndim(p, m.source.buf));
  memcpy(in, p->arg.v + idx.at, idx.n * sizeof *in);
  uint32_t n = source_index(p, &m, idx.n, in, out);
  ir_span made = ir_arg_span(p, n, out);
  ir_st(p, s)->buf = m.source.buf;
  ir_st(p, s)->idx = made;
}

/* A nested block's match of a matched buffer becomes one of its source. */
static void match_source(ir_program *p, arena *scratch, ir_span span,
                         ir_stmt block) {
  ir_span inner = ir_blk(p, block)->matches;
  for (uint32_t i = inner.at; i < inner.at + inner.n; i++) {
    ir_region r = p->match.v[i].source;
    const ir_match *found = find_match(p, span, r.buf);
    if (!found) continue;
    ir_match m = *found;
    uint32_t n = ir_ndim(p, r.buf), ndim = ir_ndim(p, m.source.buf);
    ir_expr *min = arena_array(scratch, ir_expr, n + 3 * ndim);
    ir_expr *at = min + n, *dim = at + ndim;
    for (uint32_t d = 0; d < n; d++) min[d] = ir_region_min(p, r, d);
    source_index(p, &m, n, min, at);
    for (uint32_t d = 0; d < ndim; d++) {
      dim[2 * d] = at[d];
      dim[2 * d + 1] = d < ndim - n ? ir_index(p, 1)
                                    : ir_region_extent(p, r, d - (ndim - n));
    }
    ir_region made = ir_region_new(p, m.source.buf, dim);
    p->match.v[i].source = made;
  }
}

static void resolve_matches(ir_program *p, arena *scratch, ir_stmt block) {
  ir_span span = ir_blk(p, block)->matches;
  if (!span.n) return;
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  sub.load = load_source;
  sub.ud = &span;
  for (ir_stmt s = ir_next(p, block, block); s; s = ir_next(p, s, block)) {
    ir_subst_head(&sub, s, true);
    if (ir_st(p, s)->kind == IR_STORE) store_source(p, scratch, span, s);
    if (ir_is_block(p, s)) match_source(p, scratch, span, s);
  }
  ir_blk(p, block)->matches = (ir_span){0, 0};
}

/* ---- iteration variables ------------------------------------------------ */

static void bind_iters(ir_program *p, arena *scratch, ir_stmt block) {
  ir_span it = ir_blk(p, block)->iters;
  if (!it.n) return;
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    ir_subst_var(&sub, p->iter.v[i].var, p->iter.v[i].bind);
  for (ir_stmt s = ir_next(p, block, block); s; s = ir_next(p, s, block))
    ir_subst_head(&sub, s, true);
}

/* The root remains, without iters, regions and predicate. */
static void empty_root(ir_program *p, ir_stmt root) {
  ir_block_rec *b = ir_blk(p, root);
  b->iters = b->reads = b->writes = b->matches = (ir_span){0, 0};
  b->pred = 0;
}

/* A statement of a pipelined loop, whose annotations count statements. */
static bool is_counted(const ir_program *p, ir_stmt s) {
  do s = ir_st(p, s)->parent;
  while (ir_st(p, s)->kind == IR_ALLOCATE);
  return ir_is_loop(p, s) && (ir_anno_get(p, s, "software_pipeline_stage") ||
                              ir_anno_get(p, s, LOWER_DOUBLED));
}

static bool is_one(const ir_program *p, ir_stmt block) {
  ir_stmt c = ir_st(p, block)->body;
  return c && !ir_st(p, c)->next && ir_st(p, c)->kind != IR_ALLOCATE;
}

LOWER_PASS(lower_blocks) {
  (void)o, (void)e;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root, next; s; s = next) {
    if (!ir_is_block(p, s)) {
      next = ir_next(p, s, root);
      continue;
    }
    resolve_matches(p, scratch, s);
    bind_iters(p, scratch, s);
    if (s == root) {
      empty_root(p, s);
      next = ir_next(p, s, root);
      continue;
    }
    ir_expr pred = ir_blk(p, s)->pred;
    if (pred)
      pred = ir_needed_condition(p, scratch, pred, ir_facts_around(p, s));
    bool always = !pred || ir_is_const(p, pred, 1);
    if (!always || (is_counted(p, s) && !is_one(p, s))) {
      ir_stmt cond = ir_if_new(p, always ? ir_bool(p, true) : pred);
      ir_move_body(p, s, cond);
      ir_append(p, s, cond);
    }
    /* Once the block is spliced its body is next. */
    ir_stmt first = ir_st(p, s)->body;
    next = first ? first : ir_skip(p, s, root);
    lower_splice(p, s);
  }
  return TESS_OK;
}
