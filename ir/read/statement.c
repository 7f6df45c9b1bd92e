/* SPDX-License-Identifier: Apache-2.0
 * Reading statements: loops, stores, conditionals, lets. */
#include "ir/read/read.h"
#include <string.h>

void read_append(reader *r, ir_stmt parent, bool alt, ir_stmt s) {
  if (alt)
    ir_append_alt(r->p, parent, s);
  else
    ir_append(r->p, parent, s);
}

/* ---- loops -------------------------------------------------------------- */

/* After "range(": "n)", "lo, end)" or "lo, extent=n)". */
static bool read_range(reader *r, ir_expr *lo, ir_expr *extent) {
  bool ok;
  ir_expr end;
  *lo = ir_index(r->p, 0);
  if (!read_index(r, extent)) return false;
  if (read_accept(r, ")", &ok)) return ok;
  *lo = *extent;
  if (!ok || !read_expect(r, ",")) return false;
  if (read_accept(r, "extent", &ok))
    return ok && read_expect(r, "=") && read_index(r, extent) &&
           read_expect(r, ")");
  if (!ok || !read_index(r, &end) || !read_expect(r, ")")) return false;
  *extent = ir_sub(r->p, end, *lo);
  return true;
}

bool read_domain(reader *r, ir_expr *lo, ir_expr *extent) {
  bool ok;
  *lo = ir_index(r->p, 0);
  if (!read_accept(r, "range", &ok)) return ok && read_index(r, extent);
  return ok && read_expect(r, "(") && read_range(r, lo, extent);
}

static bool find_kind(const char *word, ir_loop_kind *kind, ir_thread *thread) {
  static const char *const words[] = {[IR_SERIAL] = "range",
                                      [IR_PARALLEL] = "parallel",
                                      [IR_VECTORIZED] = "vectorized",
                                      [IR_UNROLLED] = "unrolled"};
  for (int k = IR_SERIAL; k <= IR_UNROLLED; k++)
    if (!strcmp(words[k], word)) {
      *kind = (ir_loop_kind)k;
      return true;
    }
  *kind = IR_THREAD;
  return ir_thread_parse(word, thread);
}

/* "parallel(4)", "blockIdx.x(range(1, 5))". */
static bool read_loop_kind(reader *r, ir_loop_kind *kind, ir_thread *thread,
                           ir_expr *lo, ir_expr *extent) {
  read_token at = r->t;
  const char *word;
  if (!read_word(r, "the kind of the loop", &word)) return false;
  if (!find_kind(word, kind, thread))
    return read_fail_at(r, &at, "there is no kind of loop '%s'", word);
  if (!read_expect(r, "(")) return false;
  if (*kind == IR_SERIAL) return read_range(r, lo, extent);
  return read_domain(r, lo, extent) && read_expect(r, ")");
}

static bool read_loop(reader *r, ir_stmt parent, bool alt, uint32_t column) {
  read_token at;
  const char *name;
  ir_loop_kind kind = IR_SERIAL;
  ir_thread thread = (ir_thread)0;
  ir_expr lo, extent;
  int64_t least, most;
  if (!read_advance(r)) return false;
  at = r->t;
  if (!read_word(r, "the name of a loop", &name) || !read_expect(r, "in") ||
      !read_loop_kind(r, &kind, &thread, &lo, &extent))
    return false;
  ir_domain_bounds(r->p, lo, extent, &least, &most);
  ir_var v =
      ir_var_new(r->p, IR_VAR_LOOP, ir_name(r->p, name), IR_INDEX, least, most);
  ir_stmt s = ir_loop_new(r->p, v, lo, extent, kind);
  ir_st(r->p, s)->thread = (uint8_t)thread;
  read_append(r, parent, alt, s);
  uint32_t mark = r->nnames;
  bool ok = read_annos(r, s) && read_bind(r, &at, name, false, v) &&
            read_line_end(r) && read_body(r, s, false, column);
  r->nnames = mark;
  return ok;
}

/* ---- stores ------------------------------------------------------------- */

/* The operator by which a value updates what it loads. */
static bool find_update(reader *r, const read_token *at, ir_expr value,
                        uint8_t *op) {
  *op = ir_at(r->p, value)->op;
  return (*op >= IR_ADD && *op <= IR_OR) ||
         read_fail_at(r, at,
                      "an atomic store combines what it loads by an "
                      "operator");
}

/* After "buf[..] =". */
static bool read_store(reader *r, ir_stmt parent, bool alt, const read_tree *to,
                       bool atomic) {
  ir_expr *idx = arena_array(r->scratch, ir_expr, to->n ? to->n : 1);
  ir_expr value, mask = 0;
  read_token at = r->t;
  read_tree *what;
  bool ok;
  tess_dtype type = r->p->buf.v[to->id].dtype;
  for (uint32_t i = 0; i < to->n; i++) {
    if (!read_type_tree(r, to->args[i], &IR_INDEX, &idx[i])) return false;
    uint16_t lanes = ir_at(r->p, idx[i])->dtype.lanes;
    if (lanes > 1)
      type.lanes = (uint16_t)(lanes * r->p->buf.v[to->id].dtype.lanes);
  }
  if (!read_parse_tree(r, &what) || !read_type_tree(r, what, &type, &value))
    return false;
  if (read_accept(r, "if", &ok)) {
    tess_dtype bits = IR_BOOL;
    bits.lanes = type.lanes;
    ok = ok && read_expr(r, &bits, &mask);
  }
  if (!ok) return false;
  ir_stmt s = ir_store_new(r->p, to->id, to->n, idx, value);
  ir_st(r->p, s)->mask = mask;
  if (atomic && !find_update(r, &at, value, &ir_st(r->p, s)->loop_kind))
    return false;
  read_append(r, parent, alt, s);
  return read_line_end(r);
}

static bool read_evaluate(reader *r, ir_stmt parent, bool alt,
                          const read_tree *t) {
  ir_expr e;
  if (!read_type_tree(r, t, NULL, &e)) return false;
  read_append(r, parent, alt, ir_evaluate_new(r->p, e));
  return read_line_end(r);
}

/* A store, or an expression that is evaluated for its effects. */
static bool read_expression(reader *r, ir_stmt parent, bool alt) {
  read_tree *t;
  bool ok, atomic = read_accept(r, "atomic", &ok);
  if (!ok || !read_parse_tree(r, &t)) return false;
  bool stores = t->kind == TREE_LOAD && !t->masked;
  if (!stores && atomic) return read_fail(r, "a store is expected");
  if (stores && (atomic || read_is(r, "=")))
    return read_expect(r, "=") && read_store(r, parent, alt, t, atomic);
  return read_evaluate(r, parent, alt, t);
}

/* ---- others ------------------------------------------------------------- */

static bool read_if(reader *r, ir_stmt parent, bool alt, uint32_t column) {
  ir_expr cond;
  bool ok;
  if (!read_advance(r) || !read_condition(r, &cond)) return false;
  ir_stmt s = ir_if_new(r->p, cond);
  read_append(r, parent, alt, s);
  if (!read_line_end(r) || !read_body(r, s, false, column)) return false;
  if (r->t.column != column || !read_accept(r, "else", &ok)) return true;
  return ok && read_line_end(r) && read_body(r, s, true, column);
}

static bool read_let(reader *r, ir_stmt parent, bool alt, uint32_t column) {
  read_token at;
  const char *name;
  tess_dtype t;
  ir_expr value;
  if (!read_advance(r)) return false;
  at = r->t;
  if (!read_word(r, "the name of a variable", &name) || !read_expect(r, ":") ||
      !read_dtype(r, &t) || !read_expect(r, "=") || !read_expr(r, &t, &value))
    return false;
  ir_node n = *ir_at(r->p, value);
  ir_var v = ir_var_new(r->p, IR_VAR_LET, ir_name(r->p, name), t, n.lo, n.hi);
  ir_stmt s = ir_let_new(r->p, v, value);
  read_append(r, parent, alt, s);
  uint32_t mark = r->nnames;
  bool ok = read_bind(r, &at, name, false, v) && read_line_end(r) &&
            read_body(r, s, false, column);
  r->nnames = mark;
  return ok;
}

static bool read_allocate(reader *r, ir_stmt parent, bool alt,
                          uint32_t column) {
  uint32_t mark = r->nnames;
  ir_buf buf;
  if (!read_advance(r) || !read_buffer(r, IR_ROLE_LOCAL, &buf)) return false;
  ir_stmt s = ir_allocate_new(r->p, buf);
  read_append(r, parent, alt, s);
  bool ok = read_line_end(r) && read_body(r, s, false, column);
  r->nnames = mark;
  return ok;
}

static bool read_barrier(reader *r, ir_stmt parent, bool alt) {
  read_token at;
  const char *name;
  ir_scope scope;
  if (!read_advance(r)) return false;
  at = r->t;
  if (!read_word(r, "a storage scope", &name)) return false;
  if (!ir_scope_parse(name, &scope))
    return read_fail_at(r, &at, "there is no storage scope '%s'", name);
  read_append(r, parent, alt, ir_barrier_new(r->p, scope));
  return read_line_end(r);
}

/* ---- bodies ------------------------------------------------------------- */

static bool read_statement(reader *r, ir_stmt parent, bool alt) {
  uint32_t column = r->t.column;
  if (read_is(r, "for")) return read_loop(r, parent, alt, column);
  if (read_is(r, "block")) return read_block(r, parent, alt);
  if (read_is(r, "if")) return read_if(r, parent, alt, column);
  if (read_is(r, "let")) return read_let(r, parent, alt, column);
  if (read_is(r, "allocate")) return read_allocate(r, parent, alt, column);
  if (read_is(r, "barrier")) return read_barrier(r, parent, alt);
  return read_expression(r, parent, alt);
}

bool read_body(reader *r, ir_stmt parent, bool alt, uint32_t column) {
  uint32_t mine = r->t.column;
  if (r->t.kind == READ_END || mine <= column) return true;
  if (r->nest == READ_MAX_NESTING)
    return read_fail(r, "statements nest too deep");
  r->nest++;
  while (r->t.kind != READ_END && r->t.column == mine)
    if (!read_statement(r, parent, alt)) return false;
  r->nest--;
  return r->t.kind == READ_END || r->t.column <= column ||
         read_fail(r, "the line is indented like none before it");
}
