/* SPDX-License-Identifier: Apache-2.0
 * Outlines layout conversions of parameters into a prepare function.  A
 * layout-free parameter that transform_layout changed is converted by a stage
 * of the scheduled program; before lowering that stage moves to a function of
 * its own, which runs once, and the kernel's parameter is its result. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

typedef struct split {
  ir_program *p;
  lower_prepared *out;
  ir_buf from[LOWER_MAX_PREPARED], to[LOWER_MAX_PREPARED];
} split;

static ir_walk look_for_size(const ir_program *p, ir_expr e, void *unused) {
  (void)unused;
  const ir_node *n = ir_at(p, e);
  bool is = n->op == IR_VAR && p->var.v[n->a].kind == IR_VAR_SIZE;
  return is ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static bool has_size(const ir_program *p, ir_expr e, void *unused) {
  return ir_any(p, e, look_for_size, unused);
}

static bool has_load(const ir_program *p, ir_expr e, void *unused) {
  (void)unused;
  return ir_has_load(p, e, 0);
}

/* Can it be outlined to a function of two tensors?  It uses no symbolic sizes,
 * and no loads in what surrounds the block: bounds and predicates. */
static bool needs_no_more(const ir_program *p, ir_stmt nest, ir_stmt block) {
  for (ir_stmt s = nest; s; s = ir_next(p, s, nest)) {
    bool outside = ir_is_ancestor(p, s, block);
    if (ir_stmt_any_expr(p, s, has_size, NULL) ||
        (outside && ir_stmt_any_expr(p, s, has_load, NULL)))
      return false;
  }
  return !ir_has_effects(p, nest);
}

/* The annotated block of a perfect loop nest around one block; 0: it is no
 * such nest. */
static ir_stmt noted_block(const ir_program *p, ir_stmt nest) {
  ir_stmt s = nest;
  while (ir_is_loop(p, s)) {
    s = ir_st(p, s)->body;
    if (!s || ir_st(p, s)->next) return 0;
  }
  bool noted = ir_is_block(p, s) && ir_st(p, s)->anno &&
               ir_anno_get(p, s, IR_PREPARE_KEY);
  return noted && ir_blk(p, s)->writes.n == 1 && ir_blk(p, s)->reads.n <= 1 &&
                 !ir_blk(p, s)->allocs.n && !ir_blk(p, s)->matches.n &&
                 needs_no_more(p, nest, s)
             ? s
             : 0;
}

static ir_buf written(const ir_program *p, ir_stmt block) {
  return p->region.v[ir_blk(p, block)->writes.at].buf;
}

/* The number of a layout-free parameter; its count where it is none. */
static uint32_t free_param(const ir_program *p, ir_buf b) {
  ir_span params = ir_entry(p)->params;
  uint32_t i = 0;
  while (i < params.n && p->arg.v[params.at + i] != b) i++;
  bool is = i < params.n && p->buf.v[b].role == IR_ROLE_LAYOUT_FREE;
  return is ? i : params.n;
}

/* The nest computes `to` from nothing but `from`. */
static bool makes(const ir_program *p, ir_stmt nest, ir_buf from, ir_buf to) {
  ir_stmt b = noted_block(p, nest);
  ir_span r = b ? ir_blk(p, b)->reads : (ir_span){0, 0};
  return b && written(p, b) == to && (!r.n || p->region.v[r.at].buf == from);
}

static bool accesses(const ir_program *p, ir_stmt b, ir_buf buf, bool reads) {
  ir_span r = reads ? ir_blk(p, b)->reads : ir_blk(p, b)->writes;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (p->region.v[i].buf == buf) return true;
  return false;
}

/* All readers of `from` and writers of `to` are nests that compute `to`. */
static bool is_separate(const ir_program *p, ir_buf from, ir_buf to) {
  ir_stmt root = ir_entry(p)->root;
  if (ir_is_hidden(p, from) || ir_is_hidden(p, to)) return false;
  for (ir_stmt c = ir_st(p, root)->body; c; c = ir_st(p, c)->next) {
    if (makes(p, c, from, to)) continue;
    if (ir_uses_below(p, c, from, true)) return false;
    for (ir_stmt s = c; s; s = ir_next(p, s, c))
      if (ir_is_block(p, s) &&
          (accesses(p, s, from, true) || accesses(p, s, from, false) ||
           accesses(p, s, to, false)))
        return false;
  }
  return true;
}

static bool is_allocated(const ir_program *p, ir_buf b) {
  ir_span a = ir_blk(p, ir_entry(p)->root)->allocs;
  for (uint32_t i = 0; i < a.n; i++)
    if (p->arg.v[a.at + i] == b) return true;
  return false;
}

static uint64_t bytes_of(const ir_program *p, ir_buf b) {
  uint64_t n = ir_dtype_bytes(p->buf.v[b].dtype);
  int64_t size;
  for (uint32_t d = 0; d < ir_ndim(p, b); d++)
    if (!ir_const_int(p, ir_dim(p, b, d), &size) || size < 1 ||
        __builtin_mul_overflow(n, (uint64_t)size, &n))
      return 0;
  return n;
}

/* Records the parameter that the nest converts, if any. */
static void note_conversion(split *x, ir_stmt nest) {
  const ir_program *p = x->p;
  ir_stmt b = noted_block(p, nest);
  if (!b || !ir_blk(p, b)->reads.n || x->out->n == LOWER_MAX_PREPARED) return;
  ir_buf from = p->region.v[ir_blk(p, b)->reads.at].buf, to = written(p, b);
  uint32_t i = free_param(p, from), n = x->out->n;
  uint64_t bytes = bytes_of(p, to);
  if (i == ir_entry(p)->params.n || !bytes || !is_allocated(p, to) ||
      p->buf.v[to].strides.n || !is_separate(p, from, to))
    return;
  for (uint32_t k = 0; k < n; k++)
    if (x->from[k] == from || x->to[k] == to) return;
  x->from[n] = from;
  x->to[n] = to;
  x->out->param[n] = i;
  x->out->bytes[n] = bytes;
  x->out->n++;
}

static bool converts(const split *x, ir_stmt nest) {
  for (uint32_t k = 0; k < x->out->n; k++)
    if (makes(x->p, nest, x->from[k], x->to[k])) return true;
  return false;
}

static void prepare_drop(ir_program *p, uint32_t n, const ir_stmt *nest) {
  for (uint32_t i = 0; i < n; i++) {
    ir_detach(p, nest[i]);
    ir_kill(p, nest[i]);
  }
}

bool lower_split_prepare(ir_program *p, arena *scratch, ir_program *convert,
                         lower_prepared *out) {
  split x = {.p = p, .out = out};
  ir_stmt root = ir_entry(p)->root;
  uint32_t all = 0, n[2] = {0, 0};
  *out = (lower_prepared){.n = 0};
  for (ir_stmt c = ir_st(p, root)->body; c; c = ir_st(p, c)->next) {
    note_conversion(&x, c);
    all++;
  }
  if (!out->n) return false;
  ir_stmt *nest[2] = {arena_array(scratch, ir_stmt, all),
                      arena_array(scratch, ir_stmt, all)};
  for (ir_stmt c = ir_st(p, root)->body; c; c = ir_st(p, c)->next) {
    int k = converts(&x, c);
    nest[k][n[k]++] = c;
  }
  ir_program_copy(convert, p);
  prepare_drop(convert, n[0], nest[0]);
  prepare_drop(p, n[1], nest[1]);
  uint32_t params[2 * LOWER_MAX_PREPARED];
  for (uint32_t i = 0; i < out->n; i++) {
    params[2 * i] = x.from[i];
    params[2 * i + 1] = x.to[i];
    convert->buf.v[x.to[i]].role = IR_ROLE_OUTPUT;
    p->buf.v[x.to[i]].role = IR_ROLE_LAYOUT_FREE;
    ir_block_remove_alloc(p, root, x.to[i]);
    p->arg.v[ir_entry(p)->params.at + out->param[i]] = x.to[i];
  }
  ir_blk(convert, root)->allocs = (ir_span){0, 0};
  ir_span made = ir_arg_span(convert, 2 * out->n, params);
  ir_entry(convert)->params = made;
  ir_entry(convert)->sizes = (ir_span){0, 0};
  return true;
}
