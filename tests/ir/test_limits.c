/* SPDX-License-Identifier: Apache-2.0
 * Memory caps reached while lowering: the error names the limit and the
 * pass. */
#include "ir/edit.h"
#include "lower/lower.h"
#include "support/compiled.h"

static tess_status limits_lower(void *ud) {
  compiled *k = ud;
  lower_options o = {.vector_bytes = 32};
  return lower_program(&k->p, &k->scratch, &o, &k->err);
}

static void test_unroll(void **state) {
  (void)state;
  compiled k;
  ir_expr i;
  const tess_dtype t = {TESS_DTYPE_FLOAT, 32, 1};
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_buf a = compiled_param(&k, t, 8192, IR_ROLE_OUTPUT);
  ir_stmt loop = compiled_loop(&k, k.root, ir_index(p, 8192), IR_UNROLLED, &i);
  compiled_store(&k, loop, a, i, ir_real(p, t, 1));
  ir_func_new(p, ir_name(p, "main"), k.nparams, k.param, k.root);
  mem_heap *h = &k.heap.heap;
  h->cap = (h->used / (1 << 20) + 1) << 20;
  h->owner = "of the test";
  tess_status s = mem_protect(h, limits_lower, &k);
  assert_int_equal(s, TESS_LIMIT);
  assert_int_equal(err_unwound(&k.err, h, s), TESS_LIMIT);
  assert_string_equal(k.err.message, "the memory cap of 1 MiB (of the test) "
                                     "was reached in lowering pass 'unroll'");
  h->cap = 0;
  compiled_end(&k);
}

static tess_status many(void *ud) {
  mem_unwind_limit(ud, "a block has more than 256 regions", "block 'C'");
}

/* Limits other than the cap, and no known one. */
static void test_others(void **state) {
  (void)state;
  mem_heap h;
  err_state e;
  mem_heap_init(&h, mem_default_allocator, 1000);
  err_clear(&e);
  mem_note(&h, "primitive", "blockize");
  err_unwound(&e, &h, mem_protect(&h, many, &h));
  assert_string_equal(e.message,
                      "a block has more than 256 regions (block 'C') in "
                      "primitive 'blockize'");
  assert_true(mem_try_resize(&h, NULL, 0, 2000) == NULL);
  err_clear(&e);
  err_unwound(&e, &h, mem_refusal(&h));
  assert_string_equal(e.message, "the memory cap of 1000 bytes was reached");
  h.cap = 0;
  err_clear(&e);
  err_unwound(&e, &h, TESS_LIMIT);
  assert_string_equal(e.message, "a limit was reached");
  err_unwound(&e, &h, TESS_NOMEM);
  assert_string_equal(e.message, "out of memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unroll),
                                     cmocka_unit_test(test_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
