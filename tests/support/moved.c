/* SPDX-License-Identifier: Apache-2.0
 * Checks a scheduled program for equivalence with the original, and that its
 * accesses are within the declared regions. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/moved.h"

bool moved_is_equal(scheduled *t, const char **why) {
  interp_options o = {.check_regions = true, .domain = INTERP_RESIDUE};
  interp_error e;
  int which = 0;
  if (interp_equal(&t->heap.heap, &t->first, &t->p, 7, &o, &e, &which) ==
      TESS_OK)
    return true;
  strbuf b;
  str_init(&b, &t->heap.heap);
  str_puts(&b, which ? "scheduled: " : "first: ");
  interp_error_text(which ? &t->p : &t->first, &e, &b);
  *why = arena_printf(&t->texts, "%s", str_get(&b));
  str_free(&b);
  return false;
}

static void moved_verify(scheduled *t) {
  strbuf b;
  str_init(&b, &t->heap.heap);
  bool ok = ir_verify(&t->p, &t->scratch, &b);
  if (!ok) print_error("%s\n%s\n", scheduled_text(t), str_get(&b));
  str_free(&b);
  assert_true(ok);
}

void moved_equal(scheduled *t) {
  const char *why;
  moved_verify(t);
  if (moved_is_equal(t, &why)) return;
  print_error("%s\n%s\n", scheduled_text(t), why);
  fail();
}

ir_buf moved_buf(scheduled *t, const char *name, ir_role role, int64_t n) {
  return scheduled_buf(t, name, role, 1, &n);
}

ir_stmt moved_block(scheduled *t, const char *name, int64_t n, ir_buf to,
                    ir_expr at, ir_buf from, int64_t shift, ir_buf other) {
  ir_stmt b = scheduled_block(t, name, "S", &n);
  ir_expr i = scheduled_plus(t, t->it[0], shift);
  ir_expr v = scheduled_load(t, from, i, 0);
  if (other)
    v = ir_binary(&t->p, IR_ADD, v, scheduled_load(t, other, t->it[0], 0));
  scheduled_store(t, to, at ? at : t->it[0], 0, v, false);
  return b;
}

void moved_join(scheduled *t, ir_stmt a, ir_stmt b) {
  ir_program *p = &t->p;
  ir_span it = ir_blk(p, b)->iters;
  ir_stmt old = ir_st(p, b)->parent;
  ir_detach(p, b);
  while (!ir_st(p, old)->body && ir_is_loop(p, old)) {
    ir_stmt dead = old;
    old = ir_st(p, old)->parent;
    ir_kill(p, dead);
  }
  for (uint32_t k = 0; k < it.n; k++)
    p->iter.v[it.at + k].bind =
        ir_ref(p, ir_st(p, scheduled_loop(t, a, k))->var);
  ir_append(p, ir_st(p, a)->parent, b);
}
