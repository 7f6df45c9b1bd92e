/* SPDX-License-Identifier: Apache-2.0
 * A host that uses only the public header: imperative blocks, a custom
 * reducer, a space, a strategy and a cost model in C, a run of the
 * search with its database, and kernels called directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tessera/tessera.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

enum { N = 8 };

typedef struct host {
  tess_context *c;
  tess_builder *b;
  tess_program *p;
  tess_target *target;
  tess_tensor *in, *out;
  uint32_t drawn, mutated, crossed, observed, predicted, updated, freed;
  uint32_t progressed;
} host;

static void host_ok(const host *h, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(h->c)->message);
}

static tess_expr number(const host *h, int64_t v) {
  tess_expr e;
  host_ok(h, tess_int(h->b, I64, v, &e));
  return e;
}

static tess_expr real(const host *h, double v) {
  tess_expr e;
  host_ok(h, tess_real(h->b, F32, v, &e));
  return e;
}

static tess_expr ref(const host *h, tess_var v) {
  tess_expr e;
  host_ok(h, tess_var_ref(h->b, v, &e));
  return e;
}

static tess_expr op(const host *h, const char *what, tess_expr x, tess_expr y) {
  tess_expr e;
  host_ok(h, tess_binary(h->b, what, x, y, &e));
  return e;
}

static tess_expr host_load(const host *h, tess_buffer b, uint32_t n,
                           const tess_expr *at) {
  tess_expr e;
  host_ok(h, tess_load(h->b, b, n, at, &e));
  return e;
}

static void host_start(host *h) {
  *h = (host){.c = NULL};
  const tess_options o = {.struct_size = sizeof o, .in_process = 1};
  assert_int_equal(tess_context_new(&o, &h->c), TESS_OK);
  host_ok(h, tess_builder_new(h->c, &h->b));
  host_ok(h, tess_target_new(h->c, "llvm", &h->target));
}

static void host_stop(host *h) {
  tess_tensor_free(h->in);
  tess_tensor_free(h->out);
  tess_target_free(h->target);
  tess_program_free(h->p);
  tess_builder_free(h->b);
  tess_context_free(h->c);
}

static void make_tensors(host *h, uint32_t outputs) {
  const int64_t in[] = {N, N}, out[] = {N};
  host_ok(h, tess_tensor_new(h->c, F32, 2, in, "integers", 1, &h->in));
  host_ok(h, tess_tensor_new(h->c, F32, outputs, outputs == 1 ? out : in,
                             "zeros", 0, &h->out));
}

static const float *elements(tess_tensor *t) { return tess_tensor_data(t); }

/* ---- describing --------------------------------------------------------- */

/* s[i] += A[i, j], in a block with its own start; or twice that where i is
 * odd. */
static void describe_rows(host *h) {
  tess_buffer a, s;
  tess_var i, j, v[2], twice;
  const tess_expr n = number(h, N), zero = number(h, 0), shape[] = {n, n};
  host_ok(h, tess_placeholder(h->b, "A", F32, 2, shape, TESS_ROLE_INPUT, &a));
  host_ok(h, tess_buffer_new(h->b, "S", F32, 1, &n, "global", TESS_ROLE_OUTPUT,
                             1, &s));
  host_ok(h, tess_loop_begin(h->b, "i", zero, n, &i));
  host_ok(h, tess_loop_begin(h->b, "j", zero, n, &j));
  const char *const names[] = {"vi", "vj"};
  const tess_iter_kind kinds[] = {TESS_SPATIAL, TESS_REDUCE};
  const tess_expr lo[] = {zero, zero}, at[] = {ref(h, i), ref(h, j)};
  host_ok(h,
          tess_block_begin(h->b, "rows", 2, names, kinds, lo, shape, at, 0, v));
  tess_expr row = ref(h, v[0]), both[] = {row, ref(h, v[1])};
  host_ok(h, tess_init_begin(h->b));
  host_ok(h, tess_store(h->b, s, 1, &row, real(h, 0)));
  host_ok(h, tess_end(h->b));
  tess_expr x = host_load(h, a, 2, both);
  host_ok(h, tess_let_begin(h->b, "twice", op(h, "+", x, x), &twice));
  tess_expr odd = op(h, "==", op(h, "%", row, number(h, 2)), number(h, 1));
  host_ok(h, tess_if_begin(h->b, odd));
  host_ok(h, tess_store(h->b, s, 1, &row,
                        op(h, "+", host_load(h, s, 1, &row), ref(h, twice))));
  host_ok(h, tess_else_begin(h->b));
  host_ok(
      h, tess_store(h->b, s, 1, &row, op(h, "+", host_load(h, s, 1, &row), x)));
  for (int k = 0; k < 5; k++) host_ok(h, tess_end(h->b));
  assert_int_not_equal(tess_end(h->b), TESS_OK); /* nothing is open */
  host_ok(h, tess_program_new(h->b, "rows", 1, &a, 1, &s, &h->p));
}

static void test_imperative(void **state) {
  (void)state;
  host h;
  host_start(&h);
  describe_rows(&h);
  host_ok(&h, tess_program_verify(h.p));
  make_tensors(&h, 1);
  host_ok(&h, tess_interpret(h.p, 2, (tess_tensor *[]){h.in, h.out}));
  for (int i = 0; i < N; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++)
      sum += elements(h.in)[i * N + j] * (i % 2 ? 2 : 1);
    assert_true(elements(h.out)[i] == sum);
  }
  host_stop(&h);
}

/* The greatest. */
static int greater(void *ud, tess_builder *b, const tess_expr *lhs,
                   const tess_expr *rhs, tess_expr *result) {
  ++*(uint32_t *)ud;
  return tess_binary(b, "max", *lhs, *rhs, result) != TESS_OK;
}

static int fails(void *ud, tess_builder *b, const tess_expr *lhs,
                 const tess_expr *rhs, tess_expr *result) {
  (void)ud, (void)b, (void)lhs, (void)rhs, (void)result;
  return 1;
}

static void test_reducer(void **state) {
  (void)state;
  host h;
  tess_buffer a, m;
  tess_var i, k;
  tess_expr x, most;
  uint32_t calls = 0;
  const double least = -INFINITY;
  host_start(&h);
  const tess_expr n = number(&h, N), shape[] = {n, n};
  host_ok(&h, tess_placeholder(h.b, "A", F32, 2, shape, TESS_ROLE_INPUT, &a));
  host_ok(&h, tess_reduce_axis(h.b, "k", number(&h, 0), n, &k));
  host_ok(&h, tess_compute_begin(h.b, "M", 1, &n, NULL, &i));
  x = host_load(&h, a, 2, (tess_expr[]){ref(&h, i), ref(&h, k)});
  const tess_reducer_def bad = {.struct_size = sizeof(tess_reducer_def),
                                .name = "bad",
                                .n = 1,
                                .combine = fails,
                                .identity = &least};
  assert_int_equal(tess_reduce_with(h.b, &bad, 1, &x, 1, &k, &most),
                   TESS_CALLBACK);
  const tess_reducer_def good = {.struct_size = sizeof(tess_reducer_def),
                                 .name = "most",
                                 .n = 1,
                                 .combine = greater,
                                 .identity = &least,
                                 .ud = &calls};
  host_ok(&h, tess_reduce_with(h.b, &good, 1, &x, 1, &k, &most));
  assert_int_equal(calls, 1);
  host_ok(&h, tess_compute_end(h.b, 1, &most, &m));
  host_ok(&h, tess_program_new(h.b, "most", 1, &a, 1, &m, &h.p));
  make_tensors(&h, 1);
  host_ok(&h, tess_interpret(h.p, 2, (tess_tensor *[]){h.in, h.out}));
  for (int r = 0; r < N; r++) {
    float want = -INFINITY;
    for (int j = 0; j < N; j++) want = fmaxf(want, elements(h.in)[r * N + j]);
    assert_true(elements(h.out)[r] == want);
  }
  host_stop(&h);
}

/* ---- searching ---------------------------------------------------------- */

static void describe_square(host *h) {
  tess_buffer a, c;
  tess_var v[2], k;
  tess_expr sum, n = number(h, N);
  const tess_expr shape[] = {n, n};
  host_ok(h, tess_placeholder(h->b, "A", F32, 2, shape, TESS_ROLE_INPUT, &a));
  host_ok(h, tess_reduce_axis(h->b, "k", number(h, 0), n, &k));
  host_ok(h, tess_compute_begin(h->b, "C", 2, shape, NULL, v));
  tess_expr x =
      op(h, "*", host_load(h, a, 2, (tess_expr[]){ref(h, v[0]), ref(h, k)}),
         host_load(h, a, 2, (tess_expr[]){ref(h, k), ref(h, v[1])}));
  host_ok(h, tess_reduce(h->b, "sum", 1, &x, 1, &k, &sum));
  host_ok(h, tess_compute_end(h->b, 1, &sum, &c));
  host_ok(h, tess_program_new(h->b, "square", 1, &a, 1, &c, &h->p));
}

static tess_value of_rv(tess_rv rv) {
  return (tess_value){.kind = TESS_V_RV, .rv = rv};
}

/* Splits the first loop of C by a sampled tile. */
static tess_status tile(void *ud, tess_schedule *s, tess_rv none,
                        void (*emit)(void *sink, tess_schedule *s), void *sink,
                        const char **why) {
  host *h = ud;
  tess_schedule *made;
  tess_rv block, loop[8], size[2], two[2];
  uint32_t n;
  (void)none, (void)why;
  host_ok(h, tess_schedule_copy(s, &made));
  tess_schedule_sketch_mode(made, 1);
  tess_arg name = {"name", {.kind = TESS_V_STR, .s = "C"}};
  host_ok(h,
          tess_schedule_call(made, "get_block", 1, &name, 1, &block, &n, NULL));
  tess_arg of = {"block", of_rv(block)};
  host_ok(h, tess_schedule_call(made, "get_loops", 1, &of, 8, loop, &n, NULL));
  tess_arg sample[] = {{"loop", of_rv(loop[0])},
                       {"n", {.kind = TESS_V_INT, .i = 2}}};
  host_ok(h, tess_schedule_call(made, "sample_perfect_tile", 2, sample, 2, size,
                                &n, NULL));
  tess_value factor[] = {of_rv(size[0]), of_rv(size[1])};
  tess_arg split[] = {
      {"loop", of_rv(loop[0])},
      {"factors", {.kind = TESS_V_LIST, .n = 2, .list = factor}}};
  host_ok(h, tess_schedule_call(made, "split", 2, split, 2, two, &n, NULL));
  emit(sink, made);
  return TESS_OK;
}

/* Draws; what is mutated and crossed is only looked at. */
static tess_status propose(void *ud, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got) {
  host *h = ud;
  tess_candidate other;
  assert_int_equal(tess_session_nsketches(s), 1);
  for (*got = 0; *got < n; ++*got) {
    if (tess_session_draw(s, &out[*got]) != TESS_OK) break;
    h->drawn++;
    assert_int_equal(out[*got].sketch, 0);
    assert_int_equal(out[*got].ndecisions, 3);
    assert_int_equal(out[*got].decisions[0], 2);
    assert_int_equal(out[*got].decisions[1] * out[*got].decisions[2], N);
  }
  if (!*got) return TESS_OK;
  double unit = tess_session_unit(s), score[2];
  assert_true(unit >= 0 && unit < 1);
  if (tess_session_mutate(s, &out[0], &other) == TESS_OK) {
    h->mutated++;
    const tess_candidate both[] = {out[0], other};
    assert_int_equal(tess_session_predict(s, 2, both, score), TESS_OK);
    assert_true(score[0] == (double)out[0].decisions[1]);
    assert_true(score[1] == (double)other.decisions[1]);
    h->crossed += tess_session_cross(s, &out[0], &other, &other) == TESS_OK;
  }
  other = out[0];
  other.sketch = 1;
  assert_int_equal(tess_session_mutate(s, &other, &other), TESS_INVALID);
  return TESS_OK;
}

static tess_status observe(void *ud, tess_session *s, uint32_t n,
                           const tess_candidate *c) {
  host *h = ud;
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(c[i].status, TESS_OK);
    assert_true(c[i].seconds > 0 && isfinite(c[i].seconds));
    assert_true(tess_session_seen(s, &c[i]));
  }
  h->observed += n;
  return TESS_OK;
}

static tess_status host_predict(void *ud, tess_session *s, uint32_t n,
                                const tess_candidate *c, double *score) {
  host *h = ud;
  (void)s;
  for (uint32_t i = 0; i < n; i++) score[i] = (double)c[i].decisions[1];
  h->predicted += n;
  return TESS_OK;
}

static tess_status update(void *ud, tess_session *s, uint32_t n,
                          const tess_candidate *c) {
  host *h = ud;
  (void)s, (void)c;
  h->updated += n;
  return TESS_OK;
}

static void count_free(void *ud) { ((host *)ud)->freed++; }

static int progress(void *ud, const tess_progress *p) {
  host *h = ud;
  assert_true(p->text && *p->text);
  if (p->compiling) {
    assert_true(p->compiled < p->compiling && strstr(p->text, "compiling"));
    return 0;
  }
  assert_int_equal(p->trials, ++h->progressed);
  assert_int_equal(p->status, TESS_OK);
  assert_true(p->seconds > 0 && isfinite(p->seconds));
  return 0;
}

/* The best, by way of everything that a result gives. */
static void run_best(host *h, tess_result *r) {
  tess_kernel *k;
  tess_schedule *s;
  tess_program *best;
  tess_tensor *want;
  double abs, rel;
  void *args[2];
  const int64_t shape[] = {N, N};
  tess_tensor *tensors[] = {h->in, h->out};
  host_ok(h, tess_result_schedule(r, &s));
  host_ok(h, tess_schedule_program(s, &best));
  host_ok(h, tess_equivalent(h->p, best, 1));
  host_ok(h, tess_result_kernel(r, &k));
  assert_string_equal(tess_kernel_name(k), tess_program_name(h->p));
  host_ok(h, tess_kernel_prepare(k, 2, tensors, args));
  assert_ptr_equal(args[0], tess_tensor_data(h->in));
  const tess_runtime *rt = tess_default_runtime(h->c, 1);
  assert_non_null(rt);
  assert_int_equal(tess_kernel_function(k)(args, NULL, rt), TESS_OK);
  host_ok(h, tess_tensor_new(h->c, F32, 2, shape, "zeros", 0, &want));
  host_ok(h, tess_interpret(h->p, 2, (tess_tensor *[]){h->in, want}));
  host_ok(h, tess_tensor_compare(h->out, want, &abs, &rel));
  assert_true(abs == 0);
  tess_tensor_free(want);
  tess_kernel_free(k);
  tess_program_free(best);
  tess_schedule_free(s);
}

static void check_database(host *h, const char *path, uint32_t rows) {
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  tess_trace *t;
  double before = 0;
  host_ok(h, tess_database_open(h->c, path, &d));
  for (uint32_t i = 0; i < rows; i++) {
    host_ok(h, tess_database_row(d, i, &row));
    assert_string_equal(row.workload_name, "square");
    assert_string_equal(row.status, "OK");
    assert_true(row.seconds >= before);
    before = row.seconds;
    host_ok(h, tess_database_trace(d, row.id, &t));
    tess_trace_free(t);
  }
  assert_int_equal(tess_database_row(d, rows, &row), TESS_NOT_FOUND);
  assert_int_equal(tess_database_trace(d, 1 << 20, &t), TESS_NOT_FOUND);
  tess_database_free(d);
}

static void test_search(void **state) {
  (void)state;
  host h;
  char path[64];
  tess_space *space;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_trace *best;
  snprintf(path, sizeof path, "/tmp/tessera-host-%d.db", (int)getpid());
  unlink(path);
  host_start(&h);
  describe_square(&h);
  make_tensors(&h, 2);
  const tess_module m = {.struct_size = sizeof(tess_module),
                         .name = "by hand",
                         .apply = tile,
                         .free = count_free,
                         .ud = &h};
  const tess_strategy strategy = {.struct_size = sizeof(tess_strategy),
                                  .name = "own",
                                  .propose = propose,
                                  .observe = observe,
                                  .free = count_free,
                                  .ud = &h};
  const tess_cost_model model = {.struct_size = sizeof(tess_cost_model),
                                 .name = "own",
                                 .predict = host_predict,
                                 .update = update,
                                 .free = count_free,
                                 .ud = &h};
  host_ok(&h, tess_space_function(h.c, &m, &space));
  const tess_tune_options o = {.struct_size = sizeof o,
                               .trials = 3,
                               .batch = 1,
                               .seed = 1,
                               .threads = 1,
                               .kernel_threads = 1,
                               .database = path,
                               .custom_strategy = &strategy,
                               .custom_cost_model = &model,
                               .min_time = 1e-6,
                               .progress = progress,
                               .progress_ud = &h};
  host_ok(&h, tess_tune(h.p, h.target, space, &o, &r));
  assert_int_equal(h.freed, 2);
  tess_space_free(space);
  assert_int_equal(h.freed, 3);
  host_ok(&h, tess_result_get(r, &info));
  assert_true(info.trials >= 1 && info.trials <= 3 && info.failed == 0);
  assert_int_equal(info.ncurve, info.trials);
  assert_int_equal(h.observed, info.trials);
  assert_int_equal(h.updated, info.trials);
  assert_int_equal(h.progressed, info.trials);
  assert_true(h.mutated > 0 && h.crossed > 0 && h.predicted > 0);
  host_ok(&h, tess_result_trace(r, &best));
  tess_trace_free(best);
  run_best(&h, r);
  tess_result_free(r);
  check_database(&h, path, info.trials);
  host_stop(&h);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_imperative),
                                     cmocka_unit_test(test_reducer),
                                     cmocka_unit_test(test_search)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
