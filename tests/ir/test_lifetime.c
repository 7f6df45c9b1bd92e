/* SPDX-License-Identifier: Apache-2.0
 * Lifetime scopes of local buffers. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "lower/lower.h"
#include "support/nest.h"

static arena scratch;

static void lifetime_begin(nest *n) {
  nest_start(n);
  arena_init(&scratch, &n->heap.heap);
}

static void lifetime_end(nest *n) {
  arena_free(&scratch);
  nest_end(n);
}

static ir_stmt home(nest *n, ir_buf b) {
  uint32_t nodes = n->p.node.n, vars = n->p.var.n;
  ir_stmt h = ir_lifetime_scope(&n->p, &scratch, b);
  assert_int_equal(nodes, n->p.node.n);
  assert_int_equal(vars, n->p.var.n);
  return h;
}

/* A block at n->at with spatial iters bound to the given values. */
static void lifetime_block(nest *n, const char *name, uint32_t k,
                           const ir_expr *bind, const int64_t *extent,
                           ir_expr *it) {
  nest_block(n, name);
  for (uint32_t i = 0; i < k; i++)
    it[i] = nest_iter(n, IR_SPATIAL, extent[i], bind[i]);
}

static void close_block(nest *n) {
  ir_stmt b = n->at;
  nest_close(n, 1);
  ir_block_find_regions(&n->p, &scratch, b);
}

/* In each iteration of i: B[i + 0 .. 2] is written, then read; `shift` moves
 * what is read, `wide` is how much is written. */
static ir_stmt tile_home(int64_t shift, int64_t wide, ir_stmt *loop) {
  nest n;
  lifetime_begin(&n);
  ir_program *p = &n.p;
  ir_buf b = nest_local(&n, "B", F32, IR_SCOPE_GLOBAL, 16, 0, 0);
  ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 8, 0, 0);
  ir_expr i = nest_loop(&n, 8, IR_SERIAL), it;
  *loop = n.at;
  ir_expr j = nest_loop(&n, wide, IR_SERIAL), at = ir_add(p, i, j);
  lifetime_block(&n, "B", 1, &at, (int64_t[]){16}, &it);
  nest_store(&n, b, it, 0, ir_real(p, F32, 1));
  close_block(&n);
  nest_close(&n, 1);
  lifetime_block(&n, "C", 1, &i, (int64_t[]){8}, &it);
  ir_expr sum = nest_load(&n, b, ir_add(p, it, nest_num(&n, shift)), 0);
  nest_store(&n, c, it, 0, sum);
  close_block(&n);
  nest_close(&n, 1);
  nest_finish(&n);
  ir_stmt h = home(&n, b), root = n.root;
  lifetime_end(&n);
  return h == root ? 0 : h;
}

static void test_lifetime_tiles(void **state) {
  (void)state;
  ir_stmt loop, h;
  h = tile_home(0, 1, &loop);
  assert_int_equal(h, loop);
  h = tile_home(2, 3, &loop);
  assert_int_equal(h, loop);
  /* Reads beyond the tile: written in an earlier or later iteration. */
  assert_int_equal(tile_home(2, 2, &loop), 0);
}

/* In each iteration of i one block writes B[0], B[step], .., and another one
 * reads B[at]: the declared region of the first may have gaps, or be
 * guarded. */
static bool gap_home(int64_t step, int64_t at, bool guarded) {
  nest n;
  lifetime_begin(&n);
  ir_program *p = &n.p;
  ir_buf b = nest_local(&n, "B", F32, IR_SCOPE_GLOBAL, 16, 0, 0);
  ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 8, 0, 0);
  ir_expr i = nest_loop(&n, 8, IR_SERIAL), it;
  ir_stmt loop = n.at;
  lifetime_block(&n, "B", 1, &i, (int64_t[]){8}, &it);
  ir_expr j = nest_loop(&n, 4, IR_SERIAL);
  if (guarded) nest_if(&n, ir_binary(p, IR_LT, it, nest_num(&n, 3)));
  nest_store(&n, b, ir_mul(p, j, nest_num(&n, step)), 0, ir_real(p, F32, 1));
  nest_close(&n, guarded ? 2 : 1);
  close_block(&n);
  lifetime_block(&n, "C", 1, &i, (int64_t[]){8}, &it);
  nest_store(&n, c, it, 0, nest_load(&n, b, nest_num(&n, at), 0));
  close_block(&n);
  nest_close(&n, 1);
  nest_finish(&n);
  bool inside = home(&n, b) == loop;
  lifetime_end(&n);
  return inside;
}

static void test_gaps(void **state) {
  (void)state;
  assert_true(gap_home(1, 1, false));
  assert_false(gap_home(2, 1, false));
  assert_false(gap_home(1, 1, true));
}

/* The value read was written in the iteration before: loop-carried. */
static void test_carried(void **state) {
  (void)state;
  nest n;
  lifetime_begin(&n);
  ir_program *p = &n.p;
  ir_buf b = nest_local(&n, "B", F32, IR_SCOPE_GLOBAL, 8, 0, 0);
  ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 8, 0, 0);
  ir_expr i = nest_loop(&n, 8, IR_SERIAL), it;
  lifetime_block(&n, "B", 1, &i, (int64_t[]){8}, &it);
  nest_store(&n, b, it, 0, ir_real(p, F32, 1));
  close_block(&n);
  lifetime_block(&n, "C", 1, &i, (int64_t[]){8}, &it);
  ir_expr last = ir_sub(p, it, nest_num(&n, 1));
  ir_expr load = nest_load(&n, b, last, 0);
  nest_store(&n, c, it, 0,
             ir_select(p, ir_binary(p, IR_LE, nest_num(&n, 0), last), load,
                       ir_real(p, F32, 0)));
  close_block(&n);
  nest_close(&n, 1);
  nest_finish(&n);
  assert_int_equal(home(&n, b), n.root);
  lifetime_end(&n);
}

/* The lifetime scope of a sum over the inner loop is outside of it; also of one
 * that is never read. */
static void test_lifetime_reduction(void **state) {
  (void)state;
  for (int read = 0; read < 2; read++) {
    nest n;
    lifetime_begin(&n);
    ir_program *p = &n.p;
    ir_buf s = nest_local(&n, "S", F32, IR_SCOPE_GLOBAL, 4, 0, 0);
    ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 4, 0, 0);
    ir_expr i = nest_loop(&n, 4, IR_SERIAL), it;
    ir_stmt outer = n.at;
    ir_expr k = nest_loop(&n, 6, IR_SERIAL);
    nest_block(&n, "S");
    ir_expr v = nest_iter(&n, IR_SPATIAL, 4, i);
    nest_iter(&n, IR_REDUCE, 6, k);
    nest_init(&n);
    nest_store(&n, s, v, 0, ir_real(p, F32, 0));
    nest_body(&n);
    nest_store(
        &n, s, v, 0,
        ir_binary(p, IR_ADD, nest_load(&n, s, v, 0), ir_real(p, F32, 1)));
    close_block(&n);
    nest_close(&n, 1);
    lifetime_block(&n, "C", 1, &i, (int64_t[]){4}, &it);
    nest_store(&n, c, it, 0,
               read ? nest_load(&n, s, it, 0) : ir_real(p, F32, 2));
    close_block(&n);
    nest_close(&n, 1);
    nest_finish(&n);
    assert_int_equal(home(&n, s), outer);
    lifetime_end(&n);
  }
}

/* Global memory is shared by all threads; other memory is private to each
 * thread, until lowering finds that one buffer suffices. */
static void test_threads(void **state) {
  (void)state;
  static const ir_scope scope[] = {
      IR_SCOPE_SHARED, IR_SCOPE_LOCAL,        IR_SCOPE_SIMDGROUP,
      IR_SCOPE_GLOBAL, IR_SCOPE_VTCM,         IR_SCOPE_TEXTURE,
      IR_SCOPE_DDR,    IR_SCOPE_TEXTURE_NHWC, IR_SCOPE_AMX};
  for (int k = 0; k < 9; k++) {
    nest n;
    lifetime_begin(&n);
    ir_buf b = nest_local(&n, "B", F32, scope[k], 8, 0, 0);
    ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 2, 8, 0);
    ir_expr x = nest_thread(&n, 2, IR_BLOCKIDX_X), it[2];
    ir_expr y = nest_thread(&n, 8, IR_THREADIDX_X), both[2] = {x, y};
    ir_stmt thread = n.at;
    lifetime_block(&n, "B", 1, &y, (int64_t[]){8}, it);
    nest_store(&n, b, it[0], 0, ir_real(&n.p, F32, 1));
    close_block(&n);
    lifetime_block(&n, "C", 2, both, (int64_t[]){2, 8}, it);
    nest_store(&n, c, it[0], it[1], nest_load(&n, b, it[1], 0));
    close_block(&n);
    nest_close(&n, 2);
    nest_finish(&n);
    assert_int_equal(home(&n, b), k >= 3 ? n.root : thread);
    lifetime_end(&n);
  }
}

/* Parameters have no lifetime scope; that of a buffer used by one block is that
 * block. */
static void test_others(void **state) {
  (void)state;
  nest n;
  lifetime_begin(&n);
  ir_program *p = &n.p;
  ir_buf b = nest_local(&n, "B", F32, IR_SCOPE_GLOBAL, 8, 0, 0);
  ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 8, 0, 0);
  ir_expr i = nest_loop(&n, 8, IR_SERIAL), it;
  lifetime_block(&n, "C", 1, &i, (int64_t[]){8}, &it);
  ir_stmt in = n.at;
  nest_store(&n, b, it, 0, ir_real(p, F32, 1));
  nest_store(&n, c, it, 0, ir_real(p, F32, 1));
  close_block(&n);
  nest_close(&n, 1);
  nest_finish(&n);
  assert_int_equal(home(&n, c), 0);
  assert_int_equal(home(&n, b), in);
  lifetime_end(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lifetime_tiles),
      cmocka_unit_test(test_carried),
      cmocka_unit_test(test_lifetime_reduction),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_others),
      cmocka_unit_test(test_gaps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
