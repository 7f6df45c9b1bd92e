/* SPDX-License-Identifier: Apache-2.0
 * Thread loops become kernels with barriers: scheduled matrix products in
 * lockstep, as on a device. */
#include "base/rng.h"
#include "ir/edit.h"
#include "support/lowering.h"

enum { ROUNDS = TEST_DRAWS(250) };

static void again(void) {
  teardown(NULL);
  setup(NULL);
}

/* The program after the passes up to that one, printed. */
static const char *text_after(const char *pass) {
  return lowered_text(&low, &t.p, pass, &t.texts);
}

static uint32_t kernels_count(const char *text, const char *what) {
  uint32_t n = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) n++;
  return n;
}

/* ---- a matrix product --------------------------------------------------- */

/* The schedule of C: bm x bn elements per block of threads, tm x tn per thread,
 * k in steps of bk. */
typedef struct plan {
  int64_t bm, bn, bk, tm, tn, fetch;
  int64_t virtual;   /* parts of a thread's rows; 0: no such loop */
  bool local;        /* sums in registers */
  bool two;          /* threads in two axes */
  bool spread;       /* cooperative fetching */
  const char *scope; /* of the tiles of A and B; NULL: none */
  bool pipelined, doubled, unbound_grid, vectorized;
} plan;

typedef struct product {
  ir_stmt c, copy, bx, virtual, ty, tx, k0;
} product;

static product kernels_tile(const plan *x) {
  product m = {.c = scheduled_get(&t, "C")};
  if (x->local) {
    DO(&t, cache_write, AT(block, m.c), NUM(write_buffer_index, 0),
       STR(storage_scope, "local"));
    m.copy = t.out[0];
  }
  ir_stmt i = scheduled_loop(&t, m.c, 0), j = scheduled_loop(&t, m.c, 1),
          k = scheduled_loop(&t, m.c, 2);
  DO(&t, split, AT(loop, i), INTS(factors, SCH_AUTO, x->bm / x->tm, x->tm));
  ir_stmt i0 = t.out[0], i1 = t.out[1], i2 = t.out[2];
  if (x->virtual) {
    DO(&t, split, AT(loop, i0), INTS(factors, SCH_AUTO, x->virtual));
    i0 = t.out[0];
    m.virtual = t.out[1];
  }
  DO(&t, split, AT(loop, j), INTS(factors, SCH_AUTO, x->bn / x->tn, x->tn));
  ir_stmt j0 = t.out[0], j1 = t.out[1], j2 = t.out[2];
  DO(&t, split, AT(loop, k), INTS(factors, SCH_AUTO, x->bk));
  ir_stmt k1 = t.out[1];
  m.k0 = t.out[0];
  if (x->virtual)
    DO(&t, reorder,
       LIST(ordered_loops, i0, j0, m.virtual, i1, j1, m.k0, k1, i2, j2));
  else
    DO(&t, reorder, LIST(ordered_loops, i0, j0, i1, j1, m.k0, k1, i2, j2));
  DO(&t, fuse, LIST(loops, i0, j0));
  m.bx = t.out[0];
  m.ty = i1;
  m.tx = j1;
  if (!x->two) {
    DO(&t, fuse, LIST(loops, i1, j1));
    m.tx = t.out[0];
    m.ty = 0;
  }
  return m;
}

static void bind_loops(const plan *x, const product *m) {
  if (!x->unbound_grid)
    RUN(&t, bind, AT(loop, m->bx), STR(thread_axis, "blockIdx.x"));
  if (m->virtual)
    RUN(&t, bind, AT(loop, m->virtual), STR(thread_axis, "vthread.x"));
  if (m->ty) RUN(&t, bind, AT(loop, m->ty), STR(thread_axis, "threadIdx.y"));
  RUN(&t, bind, AT(loop, m->tx), STR(thread_axis, "threadIdx.x"));
}

/* The tile of input number n, copied under k0 by all threads. */
static void fetch(const plan *x, const product *m, int64_t n) {
  DO(&t, cache_read, AT(block, m->c), NUM(read_buffer_index, n),
     STR(storage_scope, x->scope));
  ir_stmt s = t.out[0];
  if (!RUN(&t, compute_at, AT(block, s), AT(loop, m->k0))) return;
  ir_stmt v[SCHEDULED_MAX];
  uint32_t loops = sch_loops_above(&t.p, s, SCHEDULED_MAX, v), own = 0;
  while (own < loops && v[loops - own - 1] != m->k0) own++;
  if (x->doubled)
    DO(&t, annotate, AT(block_or_loop, s), STR(ann_key, "double_buffer_scope"),
       AT(ann_val, ir_value_int(&t.p, 0)));
  if (!own || !x->spread) return;
  ir_stmt f = v[loops - 1];
  if (own > 1) {
    DO(&t, fuse, LIST(loops, v[loops - 2], v[loops - 1]));
    f = t.out[0];
  }
  if (x->two) {
    if (!RUN(&t, split, AT(loop, f),
             INTS(factors, SCH_AUTO, x->bm / x->tm, x->fetch)))
      return;
    RUN(&t, bind, AT(loop, t.out[2]), STR(thread_axis, "threadIdx.x"));
    RUN(&t, bind, AT(loop, t.out[1]), STR(thread_axis, "threadIdx.y"));
  } else {
    if (!RUN(&t, split, AT(loop, f), INTS(factors, SCH_AUTO, x->fetch))) return;
    RUN(&t, bind, AT(loop, t.out[1]), STR(thread_axis, "threadIdx.x"));
  }
}

static ir_val integers(uint32_t n, const int64_t *v) {
  uint32_t e[8];
  for (uint32_t i = 0; i < n; i++) e[i] = ir_value_int(&t.p, v[i]);
  return ir_value_add(&t.p, (ir_value){.tag = IR_VAL_LIST, .n = n}, e);
}

static void kernels_pipeline(const product *m) {
  uint32_t n = 0;
  for (ir_stmt c = ir_st(&t.p, m->k0)->body; c; c = ir_st(&t.p, c)->next) n++;
  int64_t stage[8] = {0}, order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  stage[n - 1] = 1;
  DO(&t, annotate, AT(block_or_loop, m->k0),
     STR(ann_key, "software_pipeline_stage"), AT(ann_val, integers(n, stage)));
  DO(&t, annotate, AT(block_or_loop, m->k0),
     STR(ann_key, "software_pipeline_order"), AT(ann_val, integers(n, order)));
}

static void schedule(const plan *x) {
  product m = kernels_tile(x);
  bind_loops(x, &m);
  if (m.copy) RUN(&t, reverse_compute_at, AT(block, m.copy), AT(loop, m.tx));
  for (int64_t n = 0; n < 2 && x->scope; n++) fetch(x, &m, n);
  if (x->vectorized) {
    ir_stmt v[SCHEDULED_MAX];
    uint32_t n = sch_loops_above(&t.p, m.c, SCHEDULED_MAX, v);
    RUN(&t, vectorize, AT(loop, v[n - 1]));
  }
  if (x->pipelined) kernels_pipeline(&m);
}

static const plan usual = {
    8, 8, 4, 2, 2, 16, .local = true, .spread = true, .scope = "shared"};

/* Cooperative fetching of both tiles, with barriers before their use and before
 * they are overwritten. */
static void shared_tiles(void **state) {
  (void)state;
  scheduled_product(&t, 16, 16, 16);
  schedule(&usual);
  const char *text = text_after("compact_thread_buffers");
  assert_int_equal(kernels_count(text, "barrier shared"), 2);
  assert_int_equal(kernels_count(text, "in threadIdx.x"), 1);
  assert_non_null(strstr(text, "A_shared: float32[8, 4] in shared"));
  assert_non_null(strstr(text, "C_local: float32[2, 2] in local"));
  must_lower();
}

/* Double buffering: copies for the next step during this one. */
static void pipelined_tiles(void **state) {
  (void)state;
  plan x = usual;
  x.pipelined = true;
  scheduled_product(&t, 16, 16, 16);
  schedule(&x);
  const char *text = text_after("compact_thread_buffers");
  assert_int_equal(kernels_count(text, "barrier shared"), 3);
  assert_non_null(strstr(text, "A_shared: float32[2, 8, 4] in shared"));
  must_lower();
}

/* Cooperative fetching once for all virtual threads; each has its own
 * accumulators. */
static void virtual_threads(void **state) {
  (void)state;
  plan x = usual;
  x.virtual = 2;
  scheduled_product(&t, 16, 16, 16);
  schedule(&x);
  const char *text = text_after("compact_thread_buffers");
  assert_int_equal(kernels_count(text, "vthread"), 0);
  assert_non_null(strstr(text, "C_local: float32[2, 2, 2] in local"));
  must_lower();
}

/* ---- no legal barrier placement ----------------------------------------- */

static ir_stmt thread_loop(ir_stmt block, uint32_t k, ir_thread axis) {
  ir_stmt l = scheduled_loop(&t, block, k);
  ir_st(&t.p, l)->loop_kind = IR_THREAD;
  ir_st(&t.p, l)->thread = (uint8_t)axis;
  return l;
}

/* Row y of threads repeats, `rows` times: S is filled, then read by threads
 * that did not fill what they read. */
static tess_status mirror(ir_expr (*rows)(ir_program *p, ir_expr y)) {
  ir_program *p = &t.p;
  const int64_t all[3] = {4, 4, 4}, wide[2] = {16, 4}, n = 4;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, wide);
  ir_buf s = scheduled_buf(&t, "S", IR_ROLE_LOCAL, 1, &n);
  ir_buf d = scheduled_buf(&t, "D", IR_ROLE_OUTPUT, 2, wide);
  p->buf.v[s].scope = IR_SCOPE_SHARED;
  ir_expr *it = t.it, four = ir_index(p, 4);
  ir_stmt fill = scheduled_block(&t, "fill", "SSS", all);
  ir_expr row = ir_add(p, ir_mul(p, it[0], four), it[1]);
  scheduled_store(&t, s, it[2], 0, scheduled_load(&t, a, row, it[2]), false);
  ir_stmt use = scheduled_block(&t, "use", "SSS", all);
  row = ir_add(p, ir_mul(p, it[0], four), it[1]);
  ir_expr other = ir_sub(p, ir_index(p, 3), it[2]);
  scheduled_store(&t, d, row, it[2], scheduled_load(&t, s, other, 0), false);
  scheduled_finish(&t);
  ir_stmt y = thread_loop(scheduled_get(&t, "fill"), 0, IR_THREADIDX_Y);
  ir_stmt j = scheduled_loop(&t, fill, 1), was = scheduled_loop(&t, use, 0);
  thread_loop(fill, 2, IR_THREADIDX_X);
  ir_stmt x = thread_loop(use, 2, IR_THREADIDX_X);
  for (uint32_t k = 0; k < 2; k++)
    p->iter.v[ir_blk(p, use)->iters.at + k].bind =
        ir_ref(p, ir_st(p, k ? j : y)->var);
  ir_detach(p, x);
  ir_append(p, j, x);
  ir_kill(p, was);
  ir_expr extent = rows(p, ir_ref(p, ir_st(p, y)->var));
  ir_st(p, j)->extent = extent;
  return lowered_check(&low, p);
}

static ir_expr two_rows(ir_program *p, ir_expr y) {
  (void)y;
  return ir_index(p, 2);
}

static ir_expr as_many_rows(ir_program *p, ir_expr y) {
  return ir_add(p, y, ir_index(p, 1));
}

/* The rows' trip counts differ, so that some threads would wait for others that
 * never arrive. */
static void no_place_for_a_barrier(void **state) {
  (void)state;
  assert_int_equal(mirror(two_rows), TESS_OK);
  again();
  assert_int_equal(mirror(as_many_rows), TESS_UNSUPPORTED);
  assert_string_equal(
      low.err.message,
      "accesses of different threads to S conflict in divergent "
      "control flow, where no barrier can separate them");
}

/* ---- random ones -------------------------------------------------------- */

static int64_t kernels_below(rng *r, int64_t n) {
  return (int64_t)rng_below(r, (uint64_t)n);
}

static plan kernels_draw(rng *r) {
  static const char *const scope[] = {"shared", "shared", "shared.dyn",
                                      "local",  "warp",   NULL};
  plan x = {.tm = 1 + kernels_below(r, 3),
            .tn = 1 + kernels_below(r, 3),
            .bk = 1 + kernels_below(r, 5),
            .fetch = 1 + kernels_below(r, 20),
            .local = kernels_below(r, 4),
            .two = kernels_below(r, 2),
            .spread = kernels_below(r, 4),
            .scope = scope[kernels_below(r, 6)],
            .pipelined = kernels_below(r, 3) == 0,
            .doubled = kernels_below(r, 4) == 0,
            .unbound_grid = kernels_below(r, 6) == 0,
            .vectorized = kernels_below(r, 4) == 0,
            .virtual = kernels_below(r, 3) ? 0 : 1 + kernels_below(r, 3)};
  x.bm = x.tm * (1 + kernels_below(r, 4));
  x.bn = x.tn * (1 + kernels_below(r, 4));
  if (kernels_below(r, 2))
    x.fetch = x.two ? x.bn / x.tn : x.bm / x.tm * x.bn / x.tn;
  return x;
}

static void random_products(void **state) {
  (void)state;
  int done = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    rng r;
    rng_init(&r, 91, i);
    plan x = kernels_draw(&r);
    scheduled_product(&t, 1 + kernels_below(&r, 12), 1 + kernels_below(&r, 12),
                      1 + kernels_below(&r, 12));
    schedule(&x);
    assert_true(scheduled_same(&t));
    tess_status st = lowered_check(&low, &t.p);
    done += st == TESS_OK;
    again();
  }
  assert_true(done > ROUNDS * 9 / 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(shared_tiles),    TEST(pipelined_tiles),
      TEST(virtual_threads), TEST(no_place_for_a_barrier),
      TEST(random_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
