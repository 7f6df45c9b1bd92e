/* SPDX-License-Identifier: Apache-2.0
 * Program builder: proof that the values of a block's iters are in their
 * domains.  Everything later relies on it, since accesses of a block are
 * bounded by its domains; primitives preserve it.  So it is proved here, once,
 * from the conditions around the block. */
#include "ir/arith/arith.h"
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- conditions around the block ---------------------------------------- */

/* lo <= v < lo + extent, without constant ends, which are in the variable's
 * bounds. */
static ir_expr in_domain(ir_program *p, ir_var v, ir_expr lo, ir_expr extent) {
  ir_expr x = ir_ref(p, v), end = ir_add(p, lo, extent);
  return ir_and(p, ir_binary(p, IR_LE, lo, x), ir_binary(p, IR_LT, x, end));
}

/* The condition under which the body of an open statement runs; 0: true. */
static ir_expr fact_of(ir_program *p, const describe_open *o) {
  const ir_stmt_rec r = *ir_st(p, o->s);
  ir_expr e = 0;
  switch ((ir_kind)r.kind) {
  case IR_LOOP: return in_domain(p, r.var, r.lo, r.extent);
  case IR_IF: return o->alt ? ir_not(p, r.cond) : r.cond;
  case IR_LET:
    if (!ir_dtype_eq(ir_at(p, r.let_value)->dtype, IR_INDEX)) return 0;
    return ir_binary(p, IR_EQ, ir_ref(p, r.let_var), r.let_value);
  case IR_BLOCK: {
    const ir_block_rec b = *ir_blk(p, o->s);
    for (uint32_t i = b.iters.at; i < b.iters.at + b.iters.n; i++) {
      ir_iter it = p->iter.v[i];
      e = ir_and(p, e, in_domain(p, it.var, it.lo, it.extent));
    }
    return b.pred ? ir_and(p, e, b.pred) : e;
  }
  default: return 0;
  }
}

static ir_expr facts(ir_builder *b, ir_expr pred) {
  for (uint32_t i = b->open.n; i-- > 0;)
    pred = ir_and(&b->p, pred, fact_of(&b->p, &b->open.v[i]));
  return pred;
}

/* The same without what was loaded when a loop began, or a condition was
 * evaluated: it may have changed since. */
static ir_expr lasting_facts(ir_builder *b) {
  ir_expr e = 0;
  for (uint32_t i = b->open.n; i-- > 0;) {
    ir_expr fact = fact_of(&b->p, &b->open.v[i]);
    if (fact && !ir_at(&b->p, fact)->has_load) e = ir_and(&b->p, e, fact);
  }
  return e;
}

/* ---- one iter ----------------------------------------------------------- */

static void find_load(const ir_program *p, ir_expr e, void *ud) {
  ir_buf *buf = ud;
  if (ir_at(p, e)->op == IR_LOAD) *buf = ir_at(p, e)->a;
}

/* Contents of buffers are known only when the program runs: no proof. */
static tess_status no_load(ir_builder *b, ir_expr e, const char *what) {
  ir_buf buf = 0;
  if (!ir_at(&b->p, e)->has_load) return TESS_OK;
  ir_visit(&b->p, &b->scratch, e, find_load, &buf);
  return err_set(b->err, TESS_INVALID,
                 "%s reads buffer '%s'; it must be known before the program "
                 "runs, over loops and sizes",
                 what, ir_text(&b->p, b->p.buf.v[buf].name));
}

static const char *spell(ir_builder *b, ir_expr e) {
  strbuf s;
  str_init(&s, b->heap);
  ir_print_expr(&b->p, e, &s);
  const char *text =
      s.bad ? NULL : arena_printf(&b->scratch, "%s", str_get(&s));
  str_free(&s);
  if (!text) mem_unwind_refused(b->heap);
  return text;
}

static tess_status outside(ir_builder *b, const ir_iter *it, const char *what) {
  const ir_node n = *ir_at(&b->p, it->bind);
  const char *lo = spell(b, it->lo), *bind = spell(b, it->bind);
  const char *end = spell(b, ir_add(&b->p, it->lo, it->extent));
  if (n.lo == INT64_MIN || n.hi == INT64_MAX)
    return err_set(b->err, TESS_INVALID,
                   "%s, `%s`, is not proven to lie in its domain [%s, %s); "
                   "widen the domain, or give the block a predicate",
                   what, bind, lo, end);
  return err_set(b->err, TESS_INVALID,
                 "%s, `%s`, which is in [%lld, %lld], is not proven to lie in "
                 "its domain [%s, %s); widen the domain, or give the block a "
                 "predicate",
                 what, bind, (long long)n.lo, (long long)n.hi, lo, end);
}

/* ---- a block ------------------------------------------------------------ */

/* Is e a digit, as fuse makes them over sizes: x % m with 0 < m <= end, or
 * x // m with 0 <= x < end * m? */
static bool is_digit_below(ir_builder *b, ir_expr e, ir_expr end,
                           ir_expr given) {
  ir_program *p = &b->p;
  const ir_node n = *ir_at(p, e);
  if ((n.op != IR_DIV && n.op != IR_MOD) || !n.is_index ||
      ir_at(p, n.b)->lo < 1)
    return false;
  if (n.op == IR_MOD)
    return arith_prove(p, &b->scratch, ir_binary(p, IR_LE, n.b, end), given);
  ir_expr all = ir_mul(p, end, n.b);
  ir_expr in = ir_and(p, ir_binary(p, IR_LE, ir_index(p, 0), n.a),
                      ir_binary(p, IR_LT, n.a, all));
  return arith_prove(p, &b->scratch, in, given) ||
         is_digit_below(b, n.a, all, given);
}

static tess_status check_iter(ir_builder *b, const char *block,
                              const char *name, const ir_iter *it,
                              ir_expr given) {
  ir_program *p = &b->p;
  const char *what =
      arena_printf(&b->scratch, "'%s' of block '%s'", name, block);
  const char *value = arena_printf(&b->scratch, "the value of %s", what);
  tess_status s =
      no_load(b, it->lo, arena_printf(&b->scratch, "the start of %s", what));
  if (!s)
    s = no_load(b, it->extent,
                arena_printf(&b->scratch, "the extent of %s", what));
  if (!s) s = no_load(b, it->bind, value);
  if (s) return s;
  ir_expr end = ir_add(p, it->lo, it->extent);
  ir_expr in = ir_and(p, ir_binary(p, IR_LE, it->lo, it->bind),
                      ir_binary(p, IR_LT, it->bind, end));
  if (arith_prove(p, &b->scratch, in, given) ||
      (ir_is_const(p, it->lo, 0) && is_digit_below(b, it->bind, end, given)))
    return TESS_OK;
  return outside(b, it, value);
}

/* Does the condition follow from the loops and conditions around? */
static bool always_holds(ir_builder *b, ir_expr cond, ir_expr given) {
  ir_program *p = &b->p;
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND)
    return always_holds(b, n.a, given) && always_holds(b, n.b, given);
  return !n.has_load && arith_prove(p, &b->scratch, cond, given);
}

ir_expr describe_needed_condition(ir_builder *b, ir_expr cond) {
  ir_program *p = &b->p;
  const ir_node n = *ir_at(p, cond);
  if (always_holds(b, cond, lasting_facts(b))) return 0;
  if (n.op != IR_AND) return cond;
  return ir_and(p, describe_needed_condition(b, n.a),
                describe_needed_condition(b, n.b));
}

tess_status describe_check_bindings(ir_builder *b, const char *block,
                                    uint32_t n, const char *const *names,
                                    const ir_iter *it, ir_expr pred) {
  tess_status s = TESS_OK;
  ir_expr given = facts(b, pred);
  for (uint32_t i = 0; i < n && !s; i++)
    s = check_iter(b, block, names[i], &it[i], given);
  return s;
}
