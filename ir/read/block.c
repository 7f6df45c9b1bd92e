/* SPDX-License-Identifier: Apache-2.0
 * Reading blocks: iters, regions, reducers, allocations, match buffers. */
#include "ir/read/read.h"
#include <string.h>

enum { MAX_ITERS = 256 };

/* ---- the head ----------------------------------------------------------- */

typedef struct iter_head {
  read_token at;
  const char *name;
} iter_head;

/* "name: kind domain = binding"; bound to its name once the head is whole. */
static bool read_iter(reader *r, ir_iter *it, iter_head *h) {
  bool ok;
  int64_t least, most;
  h->at = r->t;
  it->kind = IR_SPATIAL;
  if (!read_word(r, "the name of an iter", &h->name) || !read_expect(r, ":"))
    return false;
  if (read_accept(r, "reduce", &ok))
    it->kind = IR_REDUCE;
  else if (ok && read_accept(r, "opaque", &ok))
    it->kind = IR_OPAQUE;
  if (!ok || !read_domain(r, &it->lo, &it->extent) || !read_expect(r, "=") ||
      !read_index(r, &it->bind))
    return false;
  ir_domain_bounds(r->p, it->lo, it->extent, &least, &most);
  it->var = ir_var_new(r->p, IR_VAR_ITER, ir_name(r->p, h->name), IR_INDEX,
                       least, most);
  return true;
}

static bool read_iters(reader *r, ir_stmt block) {
  ir_iter *it = arena_array(r->scratch, ir_iter, MAX_ITERS);
  iter_head *h = arena_array(r->scratch, iter_head, MAX_ITERS);
  uint32_t n = 0;
  bool ok = read_expect(r, "(");
  for (; ok && !read_is(r, ")"); n++) {
    if (n == MAX_ITERS)
      return read_fail(r, "a block has at most %d iters", MAX_ITERS);
    ok = (!n || read_expect(r, ",")) && read_iter(r, &it[n], &h[n]);
  }
  if (!ok || !read_advance(r)) return false;
  ir_block_set_iters(r->p, block, n, it);
  for (uint32_t i = 0; i < n && ok; i++)
    ok = read_bind(r, &h[i].at, h[i].name, false, it[i].var);
  return ok;
}

/* ---- reducers ----------------------------------------------------------- */

/* "x: float32, .." of one operand of the reducer; bound. */
static bool read_formals(reader *r, uint32_t *n, ir_var *out) {
  bool ok = true, more = true;
  for (*n = 0; ok && more; ++*n) {
    read_token at = r->t;
    const char *name;
    tess_dtype t;
    if (*n == DESCRIBE_MAX_OUT)
      return read_fail(r, "a reducer has at most %d values", DESCRIBE_MAX_OUT);
    if (!read_word(r, "the name of an operand", &name) ||
        !read_expect(r, ":") || !read_dtype(r, &t))
      return false;
    out[*n] = ir_var_new(r->p, IR_VAR_FORMAL, ir_name(r->p, name), t, INT64_MIN,
                         INT64_MAX);
    ok = read_bind(r, &at, name, false, out[*n]);
    more = ok && read_accept(r, ",", &ok);
  }
  return ok;
}

/* "(e, ..)" of the formals' types. */
static bool read_tuple(reader *r, uint32_t n, const ir_var *like,
                       ir_expr *out) {
  bool ok = read_expect(r, "(");
  for (uint32_t i = 0; ok && i < n; i++) {
    tess_dtype t = r->p->var.v[like[i]].dtype;
    ok = (!i || read_expect(r, ",")) && read_expr(r, &t, &out[i]);
  }
  return ok && read_expect(r, ")");
}

/* What was claimed of a reducer: without a word its operands stay in order. */
static bool read_order(reader *r, ir_order *out) {
  bool ok;
  *out = IR_ORDER_FIXED;
  if (!read_accept(r, "associative", &ok)) return ok;
  *out = IR_ORDER_KEPT;
  if (ok && read_accept(r, "commutative", &ok)) *out = IR_ORDER_FREE;
  return ok;
}

/* name "(" lhs ";" rhs ")" "->" combined "from" identity [order]. */
static bool read_definition(reader *r, const char *name, uint32_t *reducer) {
  ir_var lhs[DESCRIBE_MAX_OUT], rhs[DESCRIBE_MAX_OUT];
  ir_expr combine[DESCRIBE_MAX_OUT], identity[DESCRIBE_MAX_OUT];
  uint32_t n, m;
  ir_order order;
  if (!read_formals(r, &n, lhs) || !read_expect(r, ";") ||
      !read_formals(r, &m, rhs))
    return false;
  for (uint32_t i = 0; i < n || i < m; i++)
    if (n != m ||
        !ir_dtype_eq(r->p->var.v[lhs[i]].dtype, r->p->var.v[rhs[i]].dtype))
      return read_fail(r, "both operands of a reducer have the same types");
  if (!read_expect(r, ")") || !read_expect(r, "->") ||
      !read_tuple(r, n, lhs, combine) || !read_expect(r, "from") ||
      !read_tuple(r, n, lhs, identity) || !read_order(r, &order))
    return false;
  *reducer =
      ir_reducer_new(r->p, ir_name(r->p, name), n, lhs, rhs, combine, identity);
  r->p->reducer.v[*reducer].ordered = order;
  return true;
}

/* "none", a built-in one of a type, or a definition. */
static bool read_reducer(reader *r, uint32_t *reducer) {
  read_token at = r->t;
  const char *name;
  tess_dtype t;
  uint32_t mark = r->nnames;
  bool ok;
  *reducer = 0;
  if (!read_word(r, "a reducer", &name)) return false;
  if (read_accept(r, "(", &ok)) {
    ok = ok && read_definition(r, name, reducer);
    r->nnames = mark;
    return ok;
  }
  if (!ok || !strcmp(name, "none")) return ok;
  if (!read_dtype(r, &t)) return false;
  *reducer = ir_reducer_builtin(r->p, name, t);
  return *reducer || read_fail_at(r, &at, "there is no reducer '%s'", name);
}

/* ---- the body ----------------------------------------------------------- */

/* Which of the facts that are inferred were written. */
typedef struct stated {
  bool regions, reducer;
} stated;

static bool read_stated_regions(reader *r, ir_stmt block) {
  ir_region *v;
  uint32_t n;
  if (!read_regions(r, &n, &v) || !read_line_end(r)) return false;
  ir_block_set_reads(r->p, block, n, v);
  if (!read_expect(r, "writes") || !read_regions(r, &n, &v) ||
      !read_line_end(r))
    return false;
  ir_block_set_writes(r->p, block, n, v);
  return true;
}

static bool read_match(reader *r, ir_stmt block) {
  ir_match m;
  if (!read_buffer(r, IR_ROLE_LOCAL, &m.buf) || !read_expect(r, "=") ||
      !read_region(r, &m.source) || !read_line_end(r))
    return false;
  ir_block_rec *b = ir_blk(r->p, block);
  uint32_t at = vec_push(r->p->heap, &r->p->match, m);
  if (!b->matches.n) b->matches.at = at;
  b->matches.n++;
  return true;
}

static bool read_alloc(reader *r, ir_stmt block) {
  ir_buf buf;
  if (!read_buffer(r, IR_ROLE_LOCAL, &buf)) return false;
  ir_block_add_alloc(r->p, block, buf);
  return read_line_end(r);
}

static bool read_where(reader *r, ir_stmt block) {
  ir_expr pred;
  if (!read_condition(r, &pred)) return false;
  ir_blk(r->p, block)->pred = pred;
  return read_line_end(r);
}

/* One line of what comes before the statements; *more: there was one. */
static bool read_part(reader *r, ir_stmt block, stated *has, bool *more) {
  bool ok;
  uint32_t column = r->t.column, reducer;
  *more = true;
  if (read_accept(r, "where", &ok)) return ok && read_where(r, block);
  if (ok && read_accept(r, "reads", &ok)) {
    has->regions = true;
    return ok && read_stated_regions(r, block);
  }
  if (ok && read_accept(r, "reducer", &ok)) {
    has->reducer = true;
    if (!ok || !read_reducer(r, &reducer)) return false;
    ir_blk(r->p, block)->reducer = reducer;
    return read_line_end(r);
  }
  if (ok && read_accept(r, "alloc", &ok)) return ok && read_alloc(r, block);
  if (ok && read_accept(r, "match", &ok)) return ok && read_match(r, block);
  if (ok && read_accept(r, "init", &ok))
    return ok && read_line_end(r) && read_body(r, block, true, column);
  *more = false;
  return ok;
}

bool read_block_body(reader *r, ir_stmt block, uint32_t column) {
  stated has = {0};
  bool more = true;
  uint32_t mine = r->t.column;
  while (more && r->t.kind != READ_END && mine > column && r->t.column == mine)
    if (!read_part(r, block, &has, &more)) return false;
  if (!read_body(r, block, false, column)) return false;
  if (!has.regions) describe_likely_regions(r->p, r->scratch, block);
  if (!has.reducer) {
    uint32_t reducer = describe_likely_reducer(r->b, block);
    ir_blk(r->p, block)->reducer = reducer;
  }
  return true;
}

bool read_block(reader *r, ir_stmt parent, bool alt) {
  uint32_t column = r->t.column, mark = r->nnames;
  const char *name;
  if (!read_advance(r)) return false;
  if (!read_word(r, "the name of a block", &name)) return false;
  ir_stmt s = ir_block_new(r->p, ir_name(r->p, name));
  read_append(r, parent, alt, s);
  bool ok = read_iters(r, s) && read_annos(r, s) && read_line_end(r) &&
            read_block_body(r, s, column);
  r->nnames = mark;
  return ok;
}
