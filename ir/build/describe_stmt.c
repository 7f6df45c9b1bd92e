/* SPDX-License-Identifier: Apache-2.0
 * Program builder: imperative statements.  They are appended to the innermost
 * open one; a top-level one is a stage. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- appending ---------------------------------------------------------- */

static describe_open *top(ir_builder *b) {
  return b->open.n ? &b->open.v[b->open.n - 1] : NULL;
}

static void append_stmt(ir_builder *b, const describe_open *to, ir_stmt s) {
  if (to->alt)
    ir_append_alt(&b->p, to->s, s);
  else
    ir_append(&b->p, to->s, s);
}

void describe_add_stage(ir_builder *b, ir_stmt s) {
  vec_push(b->heap, &b->stage,
           ((describe_stage){.s = s, .section = b->section}));
}

/* Appends a statement without a body. */
static void append_leaf(ir_builder *b, ir_stmt s) {
  if (top(b))
    append_stmt(b, top(b), s);
  else
    describe_add_stage(b, s);
}

static tess_status check_nesting(ir_builder *b) {
  if (b->open.n < DESCRIBE_MAX_NESTING) return TESS_OK;
  return err_set(b->err, TESS_LIMIT, "statements nest deeper than %d",
                 DESCRIBE_MAX_NESTING);
}

/* Appends s and opens it; a top-level one becomes a stage when it is closed. */
static void open_stmt(ir_builder *b, ir_stmt s) {
  vec_reserve(b->heap, &b->open, 1);
  if (top(b)) append_stmt(b, top(b), s);
  vec_push(b->heap, &b->open, ((describe_open){.s = s}));
}

/* An expression of a type, whose variables are all bound here. */
static tess_status typed_expr(ir_builder *b, describe_expr x, tess_dtype t,
                              const char *what, ir_expr *out) {
  tess_status s = describe_typed(b, x, t, what, out);
  return s ? s : describe_check_scope(b, *out, what);
}

static tess_status describe_stmt_position(ir_builder *b, describe_expr x,
                                          const char *what, ir_expr *out) {
  tess_status s = describe_index(b, x, what, out);
  return s ? s : describe_check_scope(b, *out, what);
}

static tess_status plain_expr(ir_builder *b, describe_expr x, const char *what,
                              ir_expr *out) {
  tess_status s = describe_plain(b, x, what, out);
  return s ? s : describe_check_scope(b, *out, what);
}

/* Start and extent of a loop or an iter. */
static tess_status check_domain(ir_builder *b, const char *name,
                                describe_expr lo, describe_expr extent,
                                ir_expr *out_lo, ir_expr *out_extent) {
  const char *start = arena_printf(&b->scratch, "the start of '%s'", name);
  tess_status s = describe_stmt_position(b, lo, start, out_lo);
  if (s) return s;
  const char *what = arena_printf(&b->scratch, "the extent of '%s'", name);
  s = describe_extent(b, extent, 0, what, out_extent);
  if (!s) s = describe_range_ok(b, *out_lo, *out_extent, what);
  return s ? s : describe_check_scope(b, *out_extent, what);
}

/* ---- loops, lets, ifs --------------------------------------------------- */

tess_status describe_loop_begin(ir_builder *b, const char *name,
                                describe_expr lo, describe_expr extent,
                                ir_var *out) {
  ir_expr e[2];
  int64_t min, max;
  tess_status s = describe_name_ok(b, name, "a loop");
  if (!s) s = check_nesting(b);
  if (!s) s = check_domain(b, name, lo, extent, &e[0], &e[1]);
  arena_reset(&b->scratch);
  if (s) return s;
  ir_domain_bounds(&b->p, e[0], e[1], &min, &max);
  *out =
      ir_var_new(&b->p, IR_VAR_LOOP, ir_name(&b->p, name), IR_INDEX, min, max);
  open_stmt(b, ir_loop_new(&b->p, *out, e[0], e[1], IR_SERIAL));
  return TESS_OK;
}

tess_status describe_let_begin(ir_builder *b, const char *name,
                               describe_expr value, ir_var *out) {
  ir_expr e;
  tess_status s = describe_name_ok(b, name, "a let");
  if (!s) s = check_nesting(b);
  if (!s) s = plain_expr(b, value, "the value of a let", &e);
  arena_reset(&b->scratch);
  if (s) return s;
  const ir_node n = *ir_at(&b->p, e);
  *out =
      ir_var_new(&b->p, IR_VAR_LET, ir_name(&b->p, name), n.dtype, n.lo, n.hi);
  open_stmt(b, ir_let_new(&b->p, *out, e));
  return TESS_OK;
}

tess_status describe_if_begin(ir_builder *b, describe_expr cond) {
  ir_expr e;
  tess_status s = check_nesting(b);
  if (!s) s = typed_expr(b, cond, IR_BOOL, "the condition", &e);
  arena_reset(&b->scratch);
  if (!s) open_stmt(b, ir_if_new(&b->p, e));
  return s;
}

tess_status describe_else_begin(ir_builder *b) {
  describe_open *t = top(b);
  if (!t || ir_st(&b->p, t->s)->kind != IR_IF || t->alt)
    return err_set(b->err, TESS_INVALID,
                   "an else must stand directly in an if "
                   "that has none yet");
  t->alt = true;
  return TESS_OK;
}

/* ---- blocks ------------------------------------------------------------- */

static tess_status check_iter(ir_builder *b, const char *block,
                              const char *name, ir_iter_kind kind,
                              describe_expr lo, describe_expr extent,
                              describe_expr bind, ir_iter *out) {
  tess_status s = describe_name_ok(b, name, "a block's variable");
  if (s) return s;
  const char *what = arena_printf(&b->scratch, "%s' of block '%s", name, block);
  s = check_domain(b, what, lo, extent, &out->lo, &out->extent);
  if (s) return s;
  out->kind = kind;
  what =
      arena_printf(&b->scratch, "the value of '%s' of block '%s'", name, block);
  return describe_stmt_position(b, bind, what, &out->bind);
}

static tess_status check_block(ir_builder *b, const char *name, uint32_t n) {
  tess_status s = describe_name_ok(b, name, "a block");
  if (s) return s;
  if (n > DESCRIBE_MAX_DIM)
    return err_set(b->err, TESS_LIMIT,
                   "block '%s' has %u variables; at most %d "
                   "are possible",
                   name, n, DESCRIBE_MAX_DIM);
  return check_nesting(b);
}

/* Iters for domains that have been checked. */
static void make_vars(ir_builder *b, uint32_t n, const char *const *names,
                      ir_iter *it) {
  for (uint32_t i = 0; i < n; i++) {
    int64_t min, max;
    ir_domain_bounds(&b->p, it[i].lo, it[i].extent, &min, &max);
    it[i].var = ir_var_new(&b->p, IR_VAR_ITER, ir_name(&b->p, names[i]),
                           IR_INDEX, min, max);
  }
}

tess_status describe_block_begin(ir_builder *b, const char *name, uint32_t n,
                                 const char *const *names,
                                 const ir_iter_kind *kinds,
                                 const describe_expr *lo,
                                 const describe_expr *extent,
                                 const describe_expr *bind,
                                 describe_expr predicate, ir_var *vars) {
  ir_iter it[DESCRIBE_MAX_DIM];
  ir_expr pred = 0;
  tess_status s = check_block(b, name, n);
  for (uint32_t i = 0; i < n && !s; i++)
    s = check_iter(b, name, names[i], kinds[i], lo[i], extent[i], bind[i],
                   &it[i]);
  if (!s && predicate)
    s = typed_expr(b, predicate, IR_BOOL, "the predicate of a block", &pred);
  if (!s) s = describe_check_bindings(b, name, n, names, it, pred);
  if (!s && pred) pred = describe_needed_condition(b, pred);
  arena_reset(&b->scratch);
  if (s) return s;
  make_vars(b, n, names, it);
  ir_stmt block = ir_block_new(&b->p, ir_name(&b->p, name));
  ir_block_set_iters(&b->p, block, n, it);
  ir_blk(&b->p, block)->pred = pred;
  open_stmt(b, block);
  for (uint32_t i = 0; i < n; i++) vars[i] = it[i].var;
  return TESS_OK;
}

tess_status describe_init_begin(ir_builder *b) {
  const describe_open *t = top(b);
  if (!t || !ir_is_block(&b->p, t->s) || t->inner || ir_st(&b->p, t->s)->alt)
    return err_set(b->err, TESS_INVALID,
                   "an init must stand directly in a "
                   "block that has none yet");
  describe_open init = {.s = t->s, .alt = true, .inner = true};
  vec_push(b->heap, &b->open, init);
  return TESS_OK;
}

tess_status describe_end(ir_builder *b) {
  const describe_open *t = top(b);
  if (!t) return err_set(b->err, TESS_INVALID, "no statement is open");
  if (ir_is_block(&b->p, t->s) && !t->inner) {
    ir_block_find_regions(&b->p, &b->scratch, t->s);
    describe_infer_reducer(b, t->s);
  }
  arena_reset(&b->scratch);
  if (b->open.n == 1) {
    describe_add_stage(b, t->s);
    b->stage.v[b->stage.n - 1].statement = true;
  }
  (void)vec_pop(&b->open);
  return TESS_OK;
}

/* Unlinks the innermost open statement; a top-level one is no stage yet. */
static void drop_open(ir_builder *b) {
  describe_open o = vec_pop(&b->open);
  if (o.inner)
    ir_st(&b->p, o.s)->alt = 0;
  else if (b->open.n)
    ir_detach(&b->p, o.s);
}

uint32_t describe_depth(const ir_builder *b) {
  return b->compute.n + b->open.n;
}

/* No compute is begun inside of a statement, so statements are the inner
 * ones. */
void describe_cancel(ir_builder *b, uint32_t depth) {
  while (b->open.n && describe_depth(b) > depth) drop_open(b);
  while (b->compute.n > depth) (void)vec_pop(&b->compute);
}

/* ---- statements without a body ------------------------------------------ */

static tess_status check_store(ir_builder *b, ir_buf buf, uint32_t n,
                               const char **name) {
  if (!describe_buf_ok(b, buf))
    return err_set(b->err, TESS_INVALID, "there is no buffer %u", buf);
  *name = arena_printf(&b->scratch, "%s", ir_text(&b->p, b->p.buf.v[buf].name));
  if (b->p.buf.v[buf].role == IR_ROLE_CONSTANT)
    return err_set(b->err, TESS_INVALID, "constant '%s' cannot be stored to",
                   *name);
  if (n == ir_ndim(&b->p, buf)) return TESS_OK;
  return err_set(b->err, TESS_INVALID,
                 "buffer '%s' has %u dimension%s but is "
                 "indexed by %u",
                 *name, ir_ndim(&b->p, buf),
                 ir_ndim(&b->p, buf) == 1 ? "" : "s", n);
}

tess_status describe_store(ir_builder *b, ir_buf buf, uint32_t n,
                           const describe_expr *idx, describe_expr value) {
  ir_expr e[DESCRIBE_MAX_DIM], v = 0;
  const char *name = NULL;
  tess_status s = check_store(b, buf, n, &name);
  for (uint32_t i = 0; i < n && !s; i++)
    s = describe_stmt_position(
        b, idx[i], arena_printf(&b->scratch, "index %u of '%s'", i, name),
        &e[i]);
  if (!s)
    s = typed_expr(b, value, b->p.buf.v[buf].dtype,
                   arena_printf(&b->scratch, "the value stored to '%s'", name),
                   &v);
  arena_reset(&b->scratch);
  if (s) return s;
  append_leaf(b, ir_store_new(&b->p, buf, n, e, v));
  return TESS_OK;
}

tess_status describe_evaluate(ir_builder *b, describe_expr x) {
  ir_expr e;
  tess_status s = plain_expr(b, x, "an expression to evaluate", &e);
  arena_reset(&b->scratch);
  if (s) return s;
  append_leaf(b, ir_evaluate_new(&b->p, e));
  return TESS_OK;
}
