/* SPDX-License-Identifier: Apache-2.0
 * Regions and reducers of blocks that are not those which the reader infers,
 * so that a listing must state them. */
#include "ir/print/print.h"
#include "ir/structure.h"

/* Regions of one program, which has equal expressions once. */
static bool equal_regions(const ir_program *p, ir_span a, ir_span b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    ir_region x = p->region.v[a.at + i], y = p->region.v[b.at + i];
    if (x.buf != y.buf || memcmp(p->arg.v + x.at, p->arg.v + y.at,
                                 2 * ir_ndim(p, x.buf) * sizeof *p->arg.v))
      return false;
  }
  return true;
}

/* In the copy, whose block gets its regions back: those of the blocks around
 * it follow from them. */
static bool infers_regions(ir_program *q, arena *scratch, ir_stmt s) {
  ir_span reads = ir_blk(q, s)->reads, writes = ir_blk(q, s)->writes;
  ir_blk(q, s)->reads.n = ir_blk(q, s)->writes.n = 0;
  describe_likely_regions(q, scratch, s);
  bool same = equal_regions(q, reads, ir_blk(q, s)->reads) &&
              equal_regions(q, writes, ir_blk(q, s)->writes);
  ir_blk(q, s)->reads = reads;
  ir_blk(q, s)->writes = writes;
  return same;
}

static bool infers_reducer(ir_builder *b, arena *scratch, ir_stmt s) {
  uint32_t have = ir_blk(&b->p, s)->reducer;
  uint32_t likely = describe_likely_reducer(b, s);
  if (have == likely || !have || !likely) return have == likely;
  hasher h;
  hash_start(&h, &b->p, scratch);
  return hash_reducer(&h, 0, have) == hash_reducer(&h, 0, likely);
}

static void find_stated(printer *pr, ir_stmt s) {
  arena_mark mark = arena_get_mark(&pr->b.scratch);
  uint8_t *stated = &pr->stated[ir_st(pr->p, s)->block];
  if (!infers_regions(&pr->b.p, &pr->b.scratch, s))
    *stated |= PRINT_STATES_REGIONS;
  if (!infers_reducer(&pr->b, &pr->b.scratch, s))
    *stated |= PRINT_STATES_REDUCER;
  arena_reset_to(&pr->b.scratch, mark);
}

void print_find_stated(printer *pr) {
  const ir_program *p = pr->p;
  describe_init(&pr->b, pr->out->heap, NULL);
  ir_program_copy(&pr->b.p, p);
  pr->stated = arena_zalloc(&pr->scratch, p->block.n);
  for (uint32_t i = 1; i < ir_func_end(p); i++) {
    ir_stmt root = p->func.v[i].root;
    for (ir_stmt s = root; s; s = ir_next(p, s, root))
      if (ir_is_block(p, s)) find_stated(pr, s);
  }
}

/* ---- reducers ----------------------------------------------------------- */

static void print_formals(printer *pr, ir_span formals) {
  for (uint32_t i = 0; i < formals.n; i++) {
    ir_var v = pr->p->arg.v[formals.at + i];
    print_bind_var(pr, v);
    str_printf(pr->out, "%s%s: ", i ? ", " : "", print_var(pr, v));
    ir_dtype_print(pr->p->var.v[v].dtype, pr->out);
  }
}

static void print_tuple(printer *pr, ir_span e) {
  str_putc(pr->out, '(');
  for (uint32_t i = 0; i < e.n; i++) {
    str_puts(pr->out, i ? ", " : "");
    print_expr(pr, pr->p->arg.v[e.at + i]);
  }
  str_putc(pr->out, ')');
}

/* Is it the built-in one of its name? */
static bool is_builtin(printer *pr, uint32_t reducer, tess_dtype t) {
  ir_program *q = &pr->b.p;
  uint32_t like =
      ir_reducer_builtin(q, ir_text(pr->p, pr->p->reducer.v[reducer].name), t);
  hasher h;
  if (!like || pr->p->reducer.v[reducer].n != 1) return false;
  hash_start(&h, q, &pr->b.scratch);
  return hash_reducer(&h, 0, reducer) == hash_reducer(&h, 0, like);
}

void print_reducer(printer *pr, uint32_t reducer) {
  const ir_reducer *r = &pr->p->reducer.v[reducer];
  uint32_t seen = pr->seen.n;
  if (!reducer) {
    str_puts(pr->out, "none");
    return;
  }
  tess_dtype t = pr->p->var.v[pr->p->arg.v[r->lhs.at]].dtype;
  print_name(pr->out, ir_text(pr->p, r->name));
  if (is_builtin(pr, reducer, t)) {
    str_putc(pr->out, ' ');
    ir_dtype_print(t, pr->out);
    return;
  }
  str_putc(pr->out, '(');
  print_formals(pr, r->lhs);
  str_puts(pr->out, "; ");
  print_formals(pr, r->rhs);
  str_puts(pr->out, ") -> ");
  print_tuple(pr, r->combine);
  str_puts(pr->out, " from ");
  print_tuple(pr, r->identity);
  if (r->ordered != IR_ORDER_FIXED) str_puts(pr->out, " associative");
  if (r->ordered == IR_ORDER_FREE) str_puts(pr->out, " commutative");
  pr->seen.n = seen;
}
