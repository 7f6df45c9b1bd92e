/* SPDX-License-Identifier: Apache-2.0
 * Software pipelines and double buffers: the generated prologue, loop and
 * epilogue, refusals, and equivalence of random ones with the plain loop. */
#include "base/rng.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/lowered.h"
#include "support/nest.h"
#include "support/program.h"
#include <stdio.h>

enum { WIDE = 3, ROUNDS = TEST_DRAWS(1500) };

static nest n;
static lowered low;
static arena scratch;

static int pipeline_setup(void **state) {
  (void)state;
  nest_start(&n);
  lowered_start(&low);
  arena_init(&scratch, &n.heap.heap);
  return 0;
}

static int pipeline_teardown(void **state) {
  (void)state;
  arena_free(&scratch);
  lowered_end(&low);
  nest_end(&n);
  return 0;
}

static ir_val pipeline_list(const int64_t *v, uint32_t count) {
  uint32_t e[32];
  for (uint32_t i = 0; i < count; i++) e[i] = ir_value_int(&n.p, v[i]);
  return ir_value_add(&n.p, (ir_value){.tag = IR_VAL_LIST, .n = count}, e);
}

static void pipeline_annotate(ir_stmt s, const char *key, uint32_t count,
                              const int64_t *v) {
  ir_anno_set(&n.p, s, ir_name(&n.p, key), pipeline_list(v, count));
}

static void stages(ir_stmt loop, uint32_t count, const int64_t *stage,
                   const int64_t *order) {
  pipeline_annotate(loop, "software_pipeline_stage", count, stage);
  pipeline_annotate(loop, "software_pipeline_order", count, order);
}

/* A statement of the loop over i: block `name` over j in 0 .. WIDE - 1 stores
 * to[i + shift, j], or to[j] of a buffer of one dimension. */
typedef struct writer {
  ir_expr i, j;
  ir_stmt block;
} writer;

static writer open_writer_over(ir_expr j, const char *name, ir_expr i,
                               int64_t extent) {
  writer w = {.block = nest_block(&n, name)};
  w.i = nest_iter(&n, IR_SPATIAL, extent, i);
  w.j = nest_iter(&n, IR_SPATIAL, WIDE, j);
  return w;
}

static writer open_writer(const char *name, ir_expr i, int64_t extent) {
  return open_writer_over(nest_loop(&n, WIDE, IR_SERIAL), name, i, extent);
}

/* Each j is a thread's. */
static writer open_threads(const char *name, ir_expr i, int64_t extent) {
  ir_expr j = nest_thread(&n, WIDE, IR_THREADIDX_X);
  return open_writer_over(j, name, i, extent);
}

static void close_writer(const writer *w) {
  nest_close(&n, 1);
  ir_block_find_regions(&n.p, &scratch, w->block);
  nest_close(&n, 1);
}

static ir_expr pipeline_add(ir_expr a, ir_expr b) { return ir_add(&n.p, a, b); }

static ir_expr one(void) { return ir_real(&n.p, F32, 1); }

/* for i: { T = A[i] + 1;  C[i] = T + T[mirrored] } */
static ir_stmt copy_and_use(int64_t extent, ir_scope scope) {
  ir_buf a = nest_param(&n, "A", F32, IR_ROLE_INPUT, extent, WIDE, 0);
  ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, extent, WIDE, 0);
  ir_buf t = nest_local(&n, "T", F32, scope, WIDE, 0, 0);
  ir_expr i = nest_loop(&n, extent, IR_SERIAL);
  ir_stmt loop = n.at;
  writer w = open_writer("T", i, extent);
  nest_store(&n, t, w.j, 0, pipeline_add(nest_load(&n, a, w.i, w.j), one()));
  close_writer(&w);
  w = open_writer("C", i, extent);
  ir_expr mirror = ir_sub(&n.p, nest_num(&n, WIDE - 1), w.j);
  nest_store(
      &n, c, w.i, w.j,
      pipeline_add(nest_load(&n, t, w.j, 0), nest_load(&n, t, mirror, 0)));
  close_writer(&w);
  nest_close(&n, 1);
  nest_finish(&n);
  return loop;
}

static const char *text_after(const char *pass) {
  return lowered_text(&low, &n.p, pass, &scratch);
}

static void pipeline_must_work(void) {
  assert_int_equal(lowered_check(&low, &n.p), TESS_OK);
  assert_int_equal(lowered_check_native(&low, &n.p), TESS_OK);
}

static void two_stages(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
  stages(loop, 2, (int64_t[]){0, 1}, (int64_t[]){0, 1});
  assert_non_null(strstr(text_after("software_pipeline"), "T: float32[2, 3]"));
  pipeline_must_work();
}

/* The consumer runs before the next copy: one version is enough. */
static void one_version(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
  stages(loop, 2, (int64_t[]){0, 1}, (int64_t[]){1, 0});
  assert_null(strstr(text_after("software_pipeline"), "T: float32[2"));
  pipeline_must_work();
}

static void short_loops(void **state) {
  (void)state;
  for (int64_t extent = 1; extent < 5; extent++)
    for (int64_t last = 0; last < 7; last++) {
      ir_stmt loop = copy_and_use(extent, IR_SCOPE_LOCAL);
      stages(loop, 2, (int64_t[]){0, last}, (int64_t[]){0, 1});
      pipeline_must_work();
      pipeline_teardown(NULL);
      pipeline_setup(NULL);
    }
}

static void doubled(void **state) {
  (void)state;
  copy_and_use(5, IR_SCOPE_SHARED);
  ir_stmt b = test_find_block(&n.p, "T");
  ir_anno_set(&n.p, b, ir_name(&n.p, "double_buffer_scope"),
              ir_value_int(&n.p, 0));
  assert_non_null(
      strstr(text_after("software_pipeline"), "T: float32[2, 3] in shared"));
  pipeline_must_work();
}

static void doubled_in_a_pipeline(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
  stages(loop, 2, (int64_t[]){0, 1}, (int64_t[]){1, 0});
  ir_stmt b = test_find_block(&n.p, "T");
  ir_anno_set(&n.p, b, ir_name(&n.p, "double_buffer_scope"),
              ir_value_int(&n.p, 0));
  assert_non_null(strstr(text_after("software_pipeline"), "T: float32[2, 3]"));
  pipeline_must_work();
}

/* ---- refusals ----------------------------------------------------------- */

static void pipeline_refused(const char *why) {
  assert_int_equal(lowered_check(&low, &n.p), TESS_UNSUPPORTED);
  if (!strstr(low.err.message, why)) fail_msg("%s", low.err.message);
}

static void wrong_lists(void **state) {
  (void)state;
  static const struct {
    int64_t n, stage[3], order[3];
    const char *why;
  } bad[] = {
      {3, {0, 0, 1}, {0, 1, 2}, "has 3 entries, its body 2 statements"},
      {1, {0}, {0}, "has 1 entries, its body 2 statements"},
      {2, {0, -1}, {0, 1}, "entry 1 of software_pipeline_stage is -1"},
      {2, {0, 65}, {0, 1}, "entry 1 of software_pipeline_stage is 65"},
      {2, {0, 1}, {1, 1}, "no permutation of 0 to 1: entry 1 is 1"},
      {2, {0, 1}, {0, 2}, "no permutation"},
      {2,
       {1, 0},
       {0, 1},
       "statement 0 (stage 1, order 0) must run before statement 1 (stage 0, "
       "order 1), because of T"},
      {2, {0, 0}, {1, 0}, "because of T"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
    stages(loop, (uint32_t)bad[k].n, bad[k].stage, bad[k].order);
    pipeline_refused(bad[k].why);
    pipeline_teardown(NULL);
    pipeline_setup(NULL);
  }
}

static void missing_list(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
  pipeline_annotate(loop, "software_pipeline_stage", 2, (int64_t[]){0, 1});
  pipeline_refused("software_pipeline_order is missing");
  ir_anno_set(&n.p, loop, ir_name(&n.p, "software_pipeline_order"),
              ir_value_str(&n.p, "0, 1"));
  pipeline_refused("software_pipeline_order is no list of integers");
}

static void async_stages(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
  stages(loop, 2, (int64_t[]){0, 1}, (int64_t[]){0, 1});
  pipeline_annotate(loop, "software_pipeline_async_stages", 1, (int64_t[]){0});
  pipeline_must_work();
  pipeline_annotate(loop, "software_pipeline_async_stages", 1, (int64_t[]){2});
  pipeline_refused("names stage 2, which no statement has");
}

/* More versions than are live at once, where the loop asks for them. */
static void more_versions(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_SHARED);
  stages(loop, 2, (int64_t[]){0, 1}, (int64_t[]){0, 1});
  ir_anno_set(&n.p, loop, ir_name(&n.p, "software_pipeline_versions"),
              ir_value_int(&n.p, 3));
  pipeline_must_work();
  ir_anno_set(&n.p, loop, ir_name(&n.p, "software_pipeline_versions"),
              ir_value_int(&n.p, 0));
  pipeline_refused("software_pipeline_versions is no number from 1 to 64");
}

/* A copy's source is not overwritten while the copy is in flight. */
static void async_source(void **state) {
  (void)state;
  const int64_t rows = 4;
  ir_buf a = nest_param(&n, "A", F32, IR_ROLE_INPUT, 2 * rows, WIDE, 0);
  ir_buf x = nest_param(&n, "X", F32, IR_ROLE_OUTPUT, 2 * rows, WIDE, 0);
  ir_buf c = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 2 * rows, WIDE, 0);
  ir_buf t = nest_local(&n, "T", F32, IR_SCOPE_SHARED, WIDE, 0, 0);
  ir_expr y = nest_thread(&n, 2, IR_BLOCKIDX_X);
  ir_expr i = nest_loop(&n, rows, IR_SERIAL);
  ir_stmt loop = n.at;
  ir_expr row = pipeline_add(ir_mul(&n.p, y, nest_num(&n, rows)), i);
  writer w = open_threads("P", row, 2 * rows);
  nest_store(&n, x, w.i, w.j, nest_load(&n, a, w.i, w.j));
  close_writer(&w);
  w = open_threads("T", row, 2 * rows);
  nest_store(&n, t, w.j, 0, nest_load(&n, x, w.i, w.j));
  close_writer(&w);
  w = open_threads("Q", row, 2 * rows);
  nest_store(&n, x, w.i, w.j, one());
  close_writer(&w);
  w = open_threads("C", row, 2 * rows);
  ir_expr mirror = ir_sub(&n.p, nest_num(&n, WIDE - 1), w.j);
  nest_store(&n, c, w.i, w.j, nest_load(&n, t, mirror, 0));
  close_writer(&w);
  nest_close(&n, 2);
  nest_finish(&n);
  stages(loop, 4, (int64_t[]){0, 0, 0, 1}, (int64_t[]){0, 1, 2, 3});
  pipeline_annotate(loop, "software_pipeline_async_stages", 1, (int64_t[]){0});
  pipeline_must_work();
}

static void racing_loop(void **state) {
  (void)state;
  ir_stmt loop = copy_and_use(4, IR_SCOPE_GLOBAL);
  stages(loop, 2, (int64_t[]){0, 1}, (int64_t[]){0, 1});
  ir_st(&n.p, loop)->loop_kind = IR_PARALLEL;
  pipeline_refused("its iterations run at once");
}

static void no_such_write(void **state) {
  (void)state;
  copy_and_use(4, IR_SCOPE_GLOBAL);
  ir_stmt b = test_find_block(&n.p, "T");
  ir_anno_set(&n.p, b, ir_name(&n.p, "double_buffer_scope"),
              ir_value_int(&n.p, 1));
  pipeline_refused("block T: double_buffer_scope is not the number");
}

/* A loop-carried dependence from the second statement to the first. */
static void carried(void **state) {
  (void)state;
  static const struct {
    int64_t order[2];
    const char *why;
  } cases[] = {{{1, 0}, NULL}, {{0, 1}, "of the next iteration, because of C"}};
  for (int k = 0; k < 2; k++) {
    ir_buf c = nest_param(&n, "C", F32, IR_ROLE_INPUT, 6, WIDE, 0);
    ir_buf t = nest_local(&n, "T", F32, IR_SCOPE_GLOBAL, WIDE, 0, 0);
    ir_expr i = nest_loop(&n, 5, IR_SERIAL);
    ir_stmt loop = n.at;
    writer w = open_writer("T", i, 5);
    nest_store(&n, t, w.j, 0, nest_load(&n, c, w.i, w.j));
    close_writer(&w);
    w = open_writer("C", i, 5);
    nest_store(&n, c, pipeline_add(w.i, nest_num(&n, 1)), w.j,
               pipeline_add(nest_load(&n, t, w.j, 0), one()));
    close_writer(&w);
    nest_close(&n, 1);
    nest_finish(&n);
    stages(loop, 2, (int64_t[]){0, 1}, cases[k].order);
    if (cases[k].why)
      pipeline_refused(cases[k].why);
    else
      pipeline_must_work();
    pipeline_teardown(NULL);
    pipeline_setup(NULL);
  }
}

/* ---- random ones -------------------------------------------------------- */

enum { OWN = 3, MAX_STMTS = 6 };

typedef struct drawn {
  rng r;
  ir_buf in, out, own[OWN], state;
  bool filled[OWN];
  int64_t extent;
  uint32_t blocks;
} drawn;

static int64_t pipeline_below(drawn *d, int64_t k) {
  return (int64_t)rng_below(&d->r, (uint64_t)k);
}

static ir_expr operand(drawn *d, const writer *w) {
  ir_expr mirror = ir_sub(&n.p, nest_num(&n, WIDE - 1), w->j);
  int64_t k = pipeline_below(d, 6);
  if (k < OWN && d->filled[k])
    return nest_load(&n, d->own[k], pipeline_below(d, 2) ? w->j : mirror, 0);
  if (k == 4) return nest_load(&n, d->state, w->i, mirror);
  return nest_load(
      &n, d->in, pipeline_add(w->i, nest_num(&n, pipeline_below(d, 3))), w->j);
}

/* One statement: fills a private buffer, writes a row of the result, or of the
 * state, which others read a row of in the same or the next iteration. */
static void statement(drawn *d, ir_expr i) {
  char name[16];
  snprintf(name, sizeof name, "b%u", (unsigned)d->blocks++);
  writer w = open_writer(name, i, d->extent);
  ir_expr v = pipeline_add(operand(d, &w), operand(d, &w));
  int64_t to = pipeline_below(d, 8);
  if (to < 2 * OWN) {
    nest_store(&n, d->own[to / 2], w.j, 0, v);
    d->filled[to / 2] = true;
  } else if (to == 6) {
    nest_store(&n, d->state,
               pipeline_add(w.i, nest_num(&n, pipeline_below(d, 2))), w.j, v);
  } else {
    nest_store(&n, d->out, w.i, w.j, v);
  }
  close_writer(&w);
}

static void draw_stages(drawn *d, ir_stmt loop, int64_t count) {
  int64_t stage[32], order[32], deep = 1 + pipeline_below(d, 3);
  for (int64_t i = 0; i < count; i++) {
    stage[i] = pipeline_below(d, deep + 1);
    if (i && pipeline_below(d, 4) && stage[i] < stage[i - 1])
      stage[i] = stage[i - 1];
    order[i] = i;
  }
  for (int64_t swaps = pipeline_below(d, 4); swaps && count > 1; swaps--) {
    int64_t a = pipeline_below(d, count), b = pipeline_below(d, count),
            x = order[a];
    order[a] = order[b];
    order[b] = x;
  }
  stages(loop, (uint32_t)count, stage, order);
}

/* A loop of some statements, one of which may be a nested pipeline. */
static void draw_program(drawn *d) {
  ir_program *p = &n.p;
  d->extent = 1 + pipeline_below(d, 6);
  d->in = nest_param(&n, "A", F32, IR_ROLE_INPUT, 2 * d->extent + 8, WIDE, 0);
  d->state =
      nest_param(&n, "S", F32, IR_ROLE_INPUT, 2 * d->extent + 8, WIDE, 0);
  d->out = nest_param(&n, "C", F32, IR_ROLE_OUTPUT, 2 * d->extent + 8, WIDE, 0);
  for (int k = 0; k < OWN; k++)
    d->own[k] = nest_local(&n, k ? k == 1 ? "T1" : "T2" : "T0", F32,
                           IR_SCOPE_GLOBAL, WIDE, 0, 0);
  ir_expr i = nest_loop(&n, d->extent, IR_SERIAL);
  ir_stmt loop = n.at;
  int64_t outer = 1 + pipeline_below(d, MAX_STMTS), count = 0;
  int64_t at = pipeline_below(d, 3) ? -1 : pipeline_below(d, outer);
  for (int64_t s = 0; s < outer; s++) {
    if (s != at) {
      statement(d, i);
      count++;
      continue;
    }
    int64_t inner = 1 + pipeline_below(d, 3), steps = 1 + pipeline_below(d, 3);
    ir_expr k = nest_loop(&n, steps, IR_SERIAL);
    ir_stmt in = n.at;
    int64_t keep = d->extent;
    d->extent = d->extent + steps;
    for (int64_t u = 0; u < inner; u++) statement(d, pipeline_add(i, k));
    d->extent = keep;
    nest_close(&n, 1);
    draw_stages(d, in, inner);
    const ir_anno *a = ir_anno_get(p, in, "software_pipeline_stage");
    ir_value v = p->value.v[a->val];
    int64_t last = 0;
    for (uint32_t u = 0; u < v.n; u++)
      if (p->value.v[p->arg.v[v.at + u]].i > last)
        last = p->value.v[p->arg.v[v.at + u]].i;
    count += last ? 3 : 1;
  }
  nest_close(&n, 1);
  nest_finish(&n);
  draw_stages(d, loop, count);
}

/* A program that is invalid unscheduled (private buffers read uninitialized) is
 * skipped. */
static bool runs(const ir_program *p) {
  interp_error e;
  return !interp_expect_run(&low.expect, &low.in, p, 1, NULL, &e);
}

static void random_pipelines(void **state) {
  (void)state;
  int done = 0, said_no = 0;
  for (uint64_t k = 0; k < ROUNDS; k++) {
    drawn d = {.blocks = 0};
    rng_init(&d.r, 77, k);
    draw_program(&d);
    if (runs(&n.p)) {
      tess_status st = lowered_check(&low, &n.p);
      done += st == TESS_OK;
      said_no += st != TESS_OK;
      if (!st && k % 16 == 0)
        assert_int_equal(lowered_check_native(&low, &n.p), TESS_OK);
    }
    pipeline_teardown(NULL);
    pipeline_setup(NULL);
  }
  assert_true(done > ROUNDS / 5);
  assert_true(said_no > ROUNDS / 20);
}

#define TEST(f) \
  cmocka_unit_test_setup_teardown(f, pipeline_setup, pipeline_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(two_stages),   TEST(one_version),           TEST(short_loops),
      TEST(doubled),      TEST(doubled_in_a_pipeline), TEST(wrong_lists),
      TEST(missing_list), TEST(async_stages),          TEST(more_versions),
      TEST(async_source), TEST(racing_loop),           TEST(no_such_write),
      TEST(carried),      TEST(random_pipelines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
