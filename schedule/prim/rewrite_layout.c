/* SPDX-License-Identifier: Apache-2.0
 * rewrite_layout: lays layout-free parameters out in the order in which the
 * loops walk them. */
#include "ir/analysis/analysis.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/compose.h"

#define REWRITE_LAYOUT_SIG(F, S)

PRIM_DEFINE(
    rewrite_layout, REWRITE_LAYOUT_SIG,
    .summary = "Lay layout-free parameters out as the loops walk them.",
    .rewrite = "for j0: for k: for j1: W[k, j0 * 8 + j1]   ->   .. "
               "W'[j0, k, j1]",
    .details =
        "A postprocessor, as MetaSchedule's RewriteLayout. Of the blocks that\n"
        "read a layout-free parameter, or a copy that an earlier\n"
        "transform_layout made of it, the one with the most iterations is\n"
        "looked at. Where each index of its read is a mixed-radix number of\n"
        "the loops around it (i0 * 8 + i1, with 8 iterations of i1) and the\n"
        "loops run over the whole buffer, transform_layout gives the buffer a\n"
        "dimension for each of those loops, in their order: the innermost one\n"
        "then reads consecutive memory. The conversion runs once, before the\n"
        "kernel. Buffers that are read otherwise, that are walked in order\n"
        "already, or whose layout transform_layout refuses stay as they are.\n",
    .refusals = (const uint16_t[]){0}, .example = "sch:rewrite_layout()\n");

enum { RELAYOUT_LOOPS = 64, RELAYOUT_TERMS = 16 };

/* A loop's digit of an index. */
typedef struct relayout_term {
  uint32_t dim, depth; /* depth: among the loops, from the outermost */
  int64_t stride, extent;
} relayout_term;

typedef struct relayout {
  sch_state *s;
  ir_buf buf;
  ir_stmt block;
  uint32_t read; /* which of the block's reads */
  uint32_t nloop, nterm;
  ir_stmt loop[RELAYOUT_LOOPS]; /* innermost first */
  relayout_term term[RELAYOUT_TERMS];
} relayout;

/* ---- which buffer, read by which block ---------------------------------- */

static bool is_conversion(const ir_program *p, ir_stmt b) {
  return ir_st(p, b)->anno && ir_anno_get(p, b, IR_PREPARE_KEY);
}

/* The read of the buffer; false: the block has none, or several. */
static bool single_read(const ir_program *p, ir_stmt b, ir_buf buf,
                        uint32_t *at) {
  ir_span r = ir_blk(p, b)->reads;
  uint32_t n = 0;
  for (uint32_t i = 0; i < r.n; i++)
    if (p->region.v[r.at + i].buf == buf) {
      *at = i;
      n++;
    }
  return n == 1;
}

/* The loops around a block and how often it runs; false: not constant. */
static bool loops_around(relayout *r, ir_stmt block, double *times) {
  const ir_program *p = r->s->p;
  int64_t extent;
  r->nloop = 0;
  *times = 1;
  for (ir_stmt st = ir_st(p, block)->parent; st; st = ir_st(p, st)->parent) {
    if (!ir_is_loop(p, st)) continue;
    if (r->nloop == RELAYOUT_LOOPS || !ir_is_const(p, ir_st(p, st)->lo, 0) ||
        !ir_const_int(p, ir_st(p, st)->extent, &extent))
      return false;
    r->loop[r->nloop++] = st;
    *times *= (double)extent;
  }
  return true;
}

/* The block that reads the buffer most often; 0: none can be looked at. */
static ir_stmt find_reader(relayout *r) {
  const ir_program *p = r->s->p;
  sch_list leaf = sch_leaf_blocks(r->s);
  double most = 0, times;
  uint32_t at;
  ir_stmt found = 0;
  for (uint32_t i = 0; i < leaf.n; i++) {
    if (is_conversion(p, leaf.v[i]) || !single_read(p, leaf.v[i], r->buf, &at))
      continue;
    if (!loops_around(r, leaf.v[i], &times) || times <= most) continue;
    most = times;
    found = leaf.v[i];
    r->read = at;
  }
  return found;
}

/* ---- its indices as numbers of the loops -------------------------------- */

/* An index of a block, by the loops around it. */
static ir_expr by_loops(relayout *r, ir_expr e) {
  ir_program *p = r->s->p;
  for (ir_stmt st = r->block; st; st = ir_st(p, st)->parent) {
    if (!ir_is_block(p, st)) continue;
    ir_subst sub;
    ir_span it = ir_blk(p, st)->iters;
    ir_subst_init(&sub, p, r->s->scratch);
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      ir_subst_var(&sub, p->iter.v[i].var, p->iter.v[i].bind);
    if (it.n) e = ir_subst_expr(&sub, e);
  }
  return e;
}

static bool depth_of(const relayout *r, ir_expr atom, uint32_t *depth,
                     int64_t *extent) {
  const ir_program *p = r->s->p;
  for (uint32_t i = 0; i < r->nloop; i++) {
    if (p->var.v[ir_st(p, r->loop[i])->var].ref != atom) continue;
    *depth = r->nloop - 1 - i;
    return ir_const_int(p, ir_st(p, r->loop[i])->extent, extent);
  }
  return false;
}

/* Is there the digit of this stride among the new ones? */
static const relayout_term *digit_of(const relayout *r, uint32_t from,
                                     int64_t stride) {
  for (uint32_t i = from; i < r->nterm; i++)
    if (r->term[i].stride == stride) return &r->term[i];
  return NULL;
}

/* Splits the index of dimension d into digits, of which each counts whole
 * numbers of the one below it; false: it is no such number. */
static bool split_dimension(relayout *r, uint32_t d, ir_expr e) {
  const ir_program *p = r->s->p;
  uint32_t from = r->nterm;
  int64_t size, reached = 1;
  lin x;
  lin_of(p, e, &x);
  if (x.c || !ir_const_int(p, ir_dim(p, r->buf, d), &size) ||
      r->nterm + x.n > RELAYOUT_TERMS)
    return false;
  for (uint32_t i = 0; i < x.n; i++) {
    relayout_term t = {.dim = d, .stride = x.t[i].k};
    if (t.stride < 1 || !depth_of(r, x.t[i].atom, &t.depth, &t.extent))
      return false;
    for (uint32_t k = 0; k < from; k++)
      if (r->term[k].depth == t.depth) return false;
    r->term[r->nterm++] = t;
  }
  for (uint32_t i = 0; i < x.n; i++) {
    const relayout_term *t = digit_of(r, from, reached);
    if (!t) return false;
    reached *= t->extent;
  }
  return reached == size;
}

static bool split_indices(relayout *r) {
  const ir_program *p = r->s->p;
  const ir_region *g = &p->region.v[ir_blk(p, r->block)->reads.at + r->read];
  uint32_t at = g->at;
  r->nterm = 0;
  for (uint32_t d = 0; d < ir_ndim(p, r->buf); d++) {
    ir_expr lo = p->arg.v[at + 2 * d];
    if (!ir_is_const(p, p->arg.v[at + 2 * d + 1], 1) ||
        !split_dimension(r, d, by_loops(r, lo)))
      return false;
  }
  return r->nterm > 1;
}

/* ---- the new layout ----------------------------------------------------- */

static bool is_before(const relayout_term *a, const relayout_term *b) {
  return a->dim < b->dim || (a->dim == b->dim && a->stride > b->stride);
}

/* Sorts the digits by their loops; false: they are in the buffer's order. */
static bool order_terms(relayout *r) {
  bool moves = false;
  for (uint32_t i = 1; i < r->nterm; i++)
    for (uint32_t k = i; k && r->term[k - 1].depth > r->term[k].depth; k--) {
      relayout_term t = r->term[k];
      r->term[k] = r->term[k - 1];
      r->term[k - 1] = t;
    }
  for (uint32_t i = 1; i < r->nterm; i++)
    moves |= !is_before(&r->term[i - 1], &r->term[i]);
  return moves;
}

static sch_map map_of(relayout *r) {
  ir_program *p = r->s->p;
  uint32_t n = ir_ndim(p, r->buf);
  ir_var *in = arena_array(r->s->scratch, ir_var, n);
  ir_expr *out = arena_array(r->s->scratch, ir_expr, r->nterm);
  for (uint32_t d = 0; d < n; d++) {
    int64_t size = 1;
    ir_const_int(p, ir_dim(p, r->buf, d), &size);
    ir_str name = ir_name(p, arena_printf(r->s->scratch, "v%u", d));
    in[d] = ir_var_new(p, IR_VAR_ITER, name, IR_INDEX, 0, size - 1);
  }
  for (uint32_t i = 0; i < r->nterm; i++) {
    const relayout_term *t = &r->term[i];
    ir_expr e =
        ir_binary(p, IR_DIV, ir_ref(p, in[t->dim]), ir_index(p, t->stride));
    out[i] = ir_binary(p, IR_MOD, e, ir_index(p, t->extent));
  }
  return (sch_map){true, n, r->nterm, in, out};
}

/* A buffer that no other transformation will lay out: refusals leave it. */
static void relayout_buffer(sch_state *s, ir_buf buf) {
  relayout r = {.s = s, .buf = buf};
  double times;
  r.block = find_reader(&r);
  if (!r.block || !loops_around(&r, r.block, &times) || !split_indices(&r) ||
      !order_terms(&r))
    return;
  (void)sch_do_transform_layout(s, r.block, r.read, map_of(&r));
}

/* The buffers that are converted once: parameters, until a block converts
 * them, and what such a block makes of them. */
static bool is_convertible(const ir_program *p, ir_buf buf) {
  ir_stmt root = ir_entry(p)->root;
  bool is_param = p->buf.v[buf].role == IR_ROLE_LAYOUT_FREE, made = false;
  uint32_t at;
  for (ir_stmt b = root; b; b = ir_next(p, b, root)) {
    if (!ir_is_block(p, b) || b == root || !is_conversion(p, b)) continue;
    if (is_param && single_read(p, b, buf, &at)) return false;
    ir_span w = ir_blk(p, b)->writes;
    made |= w.n == 1 && p->region.v[w.at].buf == buf;
  }
  return is_param || made;
}

static bool rewrite_layout_apply(sch_state *s, struct rewrite_layout_args *a) {
  uint32_t n = s->p->buf.n;
  (void)a;
  for (ir_buf b = 1; b < n; b++)
    if (is_convertible(s->p, b)) relayout_buffer(s, b);
  return true;
}
