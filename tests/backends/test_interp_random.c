/* SPDX-License-Identifier: Apache-2.0
 * Random programs: each runs without a fault in both domains with every check
 * on, and is equivalent to its copy and to its serialized form. */
#include "ir/query.h"
#include "random/gen_program.h"
#include "support/nest.h"

#include <stdlib.h>

enum { PROGRAMS = TEST_DRAWS(400), SEED = 20 };

typedef struct world {
  test_heap heap;
  ir_program p, q;
  arena scratch;
  interp in;
  interp_expect x;
  strbuf what, text;
} world;

static void complain(world *w, const interp_error *e, uint32_t i) {
  str_clear(&w->text);
  interp_error_text(&w->p, e, &w->text);
  str_puts(&w->text, "\n");
  ir_print(&w->p, NULL, &w->text);
  fail_msg("program %u of seed %d (%s): %s", i, SEED, str_get(&w->what),
           str_get(&w->text));
}

/* The native run, on arguments of zeros. */
static tess_status run_native(world *w, interp_error *e) {
  interp_arg args[GEN_MAX_TENSORS];
  ir_span params = ir_entry(&w->p)->params;
  for (uint32_t i = 0; i < params.n; i++) {
    ir_buf b = w->p.arg.v[params.at + i];
    size_t size = ir_dtype_bytes(w->p.buf.v[b].dtype);
    for (uint32_t d = 0; d < ir_ndim(&w->p, b); d++)
      size *= (size_t)ir_at(&w->p, ir_dim(&w->p, b, d))->i;
    args[i] = (interp_arg){calloc(1, size + 1), size};
  }
  tess_status st = interp_run(&w->in, &w->p, params.n, args, NULL, e);
  for (uint32_t i = 0; i < params.n; i++) free(args[i].data);
  return st;
}

/* A copy, or a program that was saved and restored. */
static bool make_other(world *w, bool saved) {
  if (!saved) {
    ir_program_copy(&w->q, &w->p);
    return true;
  }
  str_clear(&w->text);
  ir_save(&w->p, &w->text);
  strbuf why;
  str_init(&why, &w->heap.heap);
  tess_status st = ir_restore(&w->q, &w->scratch, w->text.v, w->text.n, &why);
  str_free(&why);
  arena_reset(&w->scratch);
  return st == TESS_OK;
}

static void one_program(world *w, uint32_t i) {
  interp_options o = {.check_regions = true};
  interp_error e;
  err_state err;
  rng r;
  rng_init(&r, SEED, i);
  str_clear(&w->what);
  tess_status st = gen_program(&r, NULL, &w->heap.heap, &w->p, &w->what, &err);
  if (st) fail_msg("program %u of seed %d: %s", i, SEED, err.message);
  if (interp_expect_run(&w->x, &w->in, &w->p, i, &o, &e) || run_native(w, &e))
    complain(w, &e, i);
  if (!make_other(w, i % 2))
    fail_msg("program %u of seed %d cannot be read back", i, SEED);
  if (interp_expect_check(&w->x, &w->in, &w->q, &o, &e)) complain(w, &e, i);
}

static void programs(void **state) {
  world w;
  (void)state;
  test_heap_start(&w.heap, 0);
  ir_program_init(&w.p, &w.heap.heap);
  ir_program_init(&w.q, &w.heap.heap);
  arena_init(&w.scratch, &w.heap.heap);
  interp_init(&w.in, &w.heap.heap);
  interp_expect_init(&w.x, &w.heap.heap);
  str_init(&w.what, &w.heap.heap);
  str_init(&w.text, &w.heap.heap);
  for (uint32_t i = 0; i < PROGRAMS; i++) one_program(&w, i);
  str_free(&w.text);
  str_free(&w.what);
  interp_expect_free(&w.x);
  interp_free(&w.in);
  arena_free(&w.scratch);
  ir_program_free(&w.q);
  ir_program_free(&w.p);
  test_heap_end(&w.heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
