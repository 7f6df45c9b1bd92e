/* SPDX-License-Identifier: Apache-2.0
 * Program builder: proof that the values of a block's iters are in their
 * domains.  Everything later relies on it, since accesses of a block are
 * bounded by its domains; primitives preserve it.  So it is proved here, once,
 * from the conditions around the block. */
#include "ir/analysis/analysis.h"
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- conditions around the block ---------------------------------------- */

static ir_expr fact_of(ir_builder *b, const describe_open *o) {
  return ir_fact_of(&b->p, o->s, o->alt);
}

static ir_expr facts(ir_builder *b, ir_expr pred) {
  for (uint32_t i = b->open.n; i-- > 0;)
    pred = ir_and(&b->p, pred, fact_of(b, &b->open.v[i]));
  return pred;
}

/* The same without what was loaded when a loop began, or a condition was
 * evaluated: it may have changed since. */
static ir_expr lasting_facts(ir_builder *b) {
  ir_expr e = 0;
  for (uint32_t i = b->open.n; i-- > 0;) {
    ir_expr fact = fact_of(b, &b->open.v[i]);
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
      (ir_is_const(p, it->lo, 0) &&
       ir_is_digit_below(p, &b->scratch, it->bind, end, given)))
    return TESS_OK;
  return outside(b, it, value);
}

ir_expr describe_needed_condition(ir_builder *b, ir_expr cond) {
  return ir_needed_condition(&b->p, &b->scratch, cond, lasting_facts(b));
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
