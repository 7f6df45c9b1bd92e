/* SPDX-License-Identifier: Apache-2.0
 * Fault injection: public calls with each of their allocations failing, and
 * under increasing memory caps: TESS_NOMEM, or TESS_LIMIT where the cap
 * refuses, with a message, or success; nothing leaks, and the next call
 * works. */
#include "base/context.h"
#include "base/fault.h"
#include "support/test.h"

#include <stdio.h>
#include <tessera/tessera.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

enum { N = 8, MAX_SKETCHES = 8 };

typedef struct fixture {
  fault_alloc fault;
  tess_allocator memory;
  tess_context *c;
  tess_program *p;
  tess_target *target;
  tess_space *space;
  tess_trace *trace;
  tess_result *result;
  tess_kernel *kernel;
  tess_tensor *tensor[2];
  tess_database *db;
  char path[64];
  char *text;       /* what a step made, freed after it */
  tess_status lack; /* what is said where memory is lacking */
} fixture;

static void ok(const fixture *f, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(f->c)->message);
}

/* C[i, j] = sum over k of A[i, k] A[k, j]. */
static void describe(fixture *f) {
  tess_builder *b;
  tess_expr n, zero, i, j, k, x, y, sum;
  tess_buffer a, c;
  tess_var v[2], axis;
  ok(f, tess_builder_new(f->c, &b));
  ok(f, tess_int(b, I64, N, &n));
  ok(f, tess_int(b, I64, 0, &zero));
  const tess_expr shape[] = {n, n};
  ok(f, tess_placeholder(b, "A", F32, 2, shape, TESS_ROLE_INPUT, &a));
  ok(f, tess_reduce_axis(b, "k", zero, n, &axis));
  ok(f, tess_compute_begin(b, "C", 2, shape, NULL, v));
  ok(f, tess_var_ref(b, v[0], &i));
  ok(f, tess_var_ref(b, v[1], &j));
  ok(f, tess_var_ref(b, axis, &k));
  ok(f, tess_load(b, a, 2, (tess_expr[]){i, k}, &x));
  ok(f, tess_load(b, a, 2, (tess_expr[]){k, j}, &y));
  ok(f, tess_binary(b, "*", x, y, &x));
  ok(f, tess_reduce(b, "sum", 1, &x, 1, &axis, &sum));
  ok(f, tess_compute_end(b, 1, &sum, &c));
  ok(f, tess_program_new(b, "square", 1, &a, 1, &c, &f->p));
  tess_builder_free(b);
}

static tess_status one_call(tess_schedule *s, const char *prim, uint32_t n,
                            const tess_arg *args, tess_rv *out) {
  uint32_t nout;
  return tess_schedule_call(s, prim, n, args, 8, out, &nout, NULL);
}

/* A module that splits the first loop of C by a sampled tile. */
static tess_status split_sampled(tess_schedule *s) {
  tess_rv block, loop[8], size[8], made[8];
  tess_arg name = {"name", {.kind = TESS_V_STR, .s = "C"}};
  tess_status r = one_call(s, "get_block", 1, &name, &block);
  tess_arg of = {"block", {.kind = TESS_V_RV, .rv = block}};
  if (r == TESS_OK) r = one_call(s, "get_loops", 1, &of, loop);
  if (r != TESS_OK) return r;
  tess_arg sample[] = {{"loop", {.kind = TESS_V_RV, .rv = loop[0]}},
                       {"n", {.kind = TESS_V_INT, .i = 2}}};
  r = one_call(s, "sample_perfect_tile", 2, sample, size);
  if (r != TESS_OK) return r;
  tess_value list[] = {{.kind = TESS_V_RV, .rv = size[0]},
                       {.kind = TESS_V_RV, .rv = size[1]}};
  tess_arg split[] = {{"loop", {.kind = TESS_V_RV, .rv = loop[0]}},
                      {"factors", {.kind = TESS_V_LIST, .n = 2, .list = list}}};
  return one_call(s, "split", 2, split, made);
}

static tess_status apply(void *ud, tess_schedule *s, tess_rv block,
                         void (*emit)(void *sink, tess_schedule *s), void *sink,
                         const char **why) {
  tess_schedule *copy;
  (void)ud, (void)block, (void)why;
  tess_status r = tess_schedule_copy(s, &copy);
  if (r != TESS_OK) return r;
  r = split_sampled(copy);
  if (r == TESS_OK)
    emit(sink, copy);
  else
    tess_schedule_free(copy);
  return r;
}

static void start(fixture *f) {
  *f = (fixture){.p = NULL};
  fault_init(&f->fault);
  f->memory = fault_allocator(&f->fault);
  const tess_options o = {
      .struct_size = sizeof o, .allocator = &f->memory, .in_process = 1};
  assert_int_equal(tess_context_new(&o, &f->c), TESS_OK);
  describe(f);
  ok(f, tess_target_new(f->c, "llvm", &f->target));
}

static void stop(fixture *f) {
  tess_database_free(f->db);
  for (int i = 0; i < 2; i++) tess_tensor_free(f->tensor[i]);
  tess_kernel_free(f->kernel);
  tess_result_free(f->result);
  tess_trace_free(f->trace);
  tess_space_free(f->space);
  tess_target_free(f->target);
  tess_program_free(f->p);
  tess_context_free(f->c);
  assert_int_equal(f->fault.live_blocks, 0);
  assert_int_equal(f->fault.broken, 0);
  if (f->path[0]) unlink(f->path);
}

/* `n` says where memory was lacking, if it was. */
static void check_step(fixture *f, const char *what, uint64_t n, bool lacking,
                       tess_status s) {
  const tess_error_info *e = tess_error(f->c);
  if (s != TESS_OK && (!lacking || s != f->lack))
    fail_msg("%s, %llu: %s: %s", what, (unsigned long long)n,
             tess_status_name(s), e->message);
  if (s != TESS_OK && (e->code != s || !e->message[0]))
    fail_msg("%s, %llu: no message", what, (unsigned long long)n);
  if (s == TESS_LIMIT && !strstr(e->message, "memory"))
    fail_msg("%s, %llu: %s", what, (unsigned long long)n, e->message);
  tess_text_free(f->c, f->text);
  f->text = NULL;
}

/* Fails every `stride`-th allocation of the step, one a run. */
static void each_failure(fixture *f, const char *what, uint64_t stride,
                         tess_status (*step)(fixture *f)) {
  uint64_t failed = 1;
  f->lack = TESS_NOMEM;
  for (uint64_t n = 1; failed; n += stride) {
    fault_arm(&f->fault, n);
    tess_status s = step(f);
    failed = f->fault.failed;
    f->fault.fail_at = 0;
    check_step(f, what, n, failed, s);
  }
}

/* Caps that leave the step more and more room, until it has enough. */
static void each_cap(fixture *f, const char *what,
                     tess_status (*step)(fixture *f)) {
  mem_heap *h = &f->c->heap;
  uint64_t refused = 1;
  f->lack = TESS_LIMIT;
  for (size_t room = 1; refused; room += room / 8 + 8) {
    h->cap = h->used + room;
    uint64_t before = h->capped;
    tess_status s = step(f);
    refused = h->capped - before;
    h->cap = 0;
    if (s == TESS_LIMIT && !strstr(tess_error(f->c)->message, "memory cap"))
      fail_msg("%s: %s", what, tess_error(f->c)->message);
    check_step(f, what, room, refused, s);
  }
}

static void each(fixture *f, const char *what, tess_status (*step)(fixture *)) {
  each_failure(f, what, 1, step);
  each_cap(f, what, step);
}
#define EACH(f, step) each(f, #step, step)

/* ---- what fails --------------------------------------------------------- */

/* Without a context there is nothing that could have a message. */
static void new_contexts(fixture *f) {
  const tess_options o = {.struct_size = sizeof o,
                          .allocator = &f->memory,
                          .worker_path = "/bin/true"};
  tess_status s = TESS_NOMEM;
  for (uint64_t n = 1; s != TESS_OK; n++) {
    tess_context *c;
    fault_arm(&f->fault, n);
    s = tess_context_new(&o, &c);
    if (s != TESS_OK) {
      assert_int_equal(s, TESS_NOMEM);
      assert_null(c);
    }
    tess_context_free(c);
  }
  f->fault.fail_at = 0;
}

static const tess_module MODULES[] = {
    {.struct_size = sizeof(tess_module), .name = "one", .apply = apply},
    {.struct_size = sizeof(tess_module), .name = "two", .apply = apply}};

static tess_status compose(fixture *f) {
  tess_space *s;
  tess_status r = tess_space_compose(f->c, 2, MODULES, &s);
  tess_space_free(s);
  return r;
}

static tess_status by_function(fixture *f) {
  tess_space *s;
  tess_status r = tess_space_function(f->c, MODULES, &s);
  tess_space_free(s);
  return r;
}

static tess_status unite(fixture *f) {
  tess_space *s, *twice[] = {f->space, f->space};
  tess_status r = tess_space_union(f->c, 2, twice, &s);
  tess_space_free(s);
  return r;
}

static tess_status of_traces(fixture *f) {
  tess_space *s;
  tess_status r = tess_space_traces(f->c, 1, &f->trace, &s);
  tess_space_free(s);
  return r;
}

static tess_status sketches(fixture *f) {
  tess_trace *t[MAX_SKETCHES];
  uint32_t n;
  tess_status s =
      tess_space_sketches(f->space, f->p, f->target, MAX_SKETCHES, t, &n);
  if (s != TESS_OK) assert_int_equal(n, 0);
  for (uint32_t i = 0; i < n; i++) tess_trace_free(t[i]);
  return s;
}

static tess_status explain(fixture *f) {
  return tess_space_explain(f->space, f->p, f->target, &f->text);
}

static tess_status tune(fixture *f) {
  const tess_tune_options o = {.struct_size = sizeof o,
                               .trials = 1,
                               .batch = 1,
                               .seed = 1,
                               .threads = 1,
                               .kernel_threads = 1,
                               .min_time = 1e-6,
                               .database = f->path};
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  unlink(f->path);
  tess_status s = tess_tune(f->p, f->target, f->space, &o, &r);
  if (s != TESS_OK) assert_null(r);
  if (!r) return s;
  tess_result_get(r, &info);
  bool had_memory = info.status == TESS_OK;
  if (!had_memory && info.status != TESS_NOT_FOUND)
    assert_int_equal(info.status, f->lack);
  if (had_memory && !f->result)
    f->result = r;
  else
    tess_result_free(r);
  return s;
}

static tess_status result_kernel(fixture *f) {
  tess_kernel *k;
  tess_status s = tess_result_kernel(f->result, &k);
  if (s != TESS_OK) assert_null(k);
  tess_kernel_free(f->kernel);
  f->kernel = k;
  return s;
}

static tess_status source(fixture *f) {
  return tess_kernel_source(f->kernel, "ir", &f->text);
}

static tess_status tensors(fixture *f) {
  const int64_t shape[] = {N, N};
  tess_status s = TESS_OK;
  for (int i = 0; s == TESS_OK && i < 2; i++) {
    tess_tensor_free(f->tensor[i]);
    s = tess_tensor_new(f->c, F32, 2, shape, "random", 1, &f->tensor[i]);
  }
  return s == TESS_OK ? tess_tensor_text(f->tensor[0], &f->text) : s;
}

static tess_status run(fixture *f) {
  return tess_kernel_run(f->kernel, 2, f->tensor);
}

static tess_status take_time(fixture *f) {
  tess_timing t = TESS_INIT(tess_timing);
  return tess_kernel_time(f->kernel, 2, f->tensor, 1e-6, &t);
}

static tess_status interpret(fixture *f) {
  return tess_interpret(f->p, 2, f->tensor);
}

static tess_status equivalent(fixture *f) {
  return tess_equivalent(f->p, f->p, 1);
}

static tess_status save_and_load(fixture *f) {
  tess_program *p;
  char path[80];
  snprintf(path, sizeof path, "%s.tp", f->path);
  tess_status s = tess_program_save(f->p, path);
  if (s == TESS_OK) s = tess_program_load(f->c, path, &p);
  if (s == TESS_OK) tess_program_free(p);
  unlink(path);
  return s;
}

static tess_status save_and_load_kernel(fixture *f) {
  tess_kernel *k;
  char path[80];
  snprintf(path, sizeof path, "%s.kernel", f->path);
  tess_status s = tess_kernel_save(f->kernel, path, NULL);
  if (s == TESS_OK) s = tess_kernel_load(f->c, path, &k);
  if (s == TESS_OK) tess_kernel_free(k);
  unlink(path);
  return s;
}

static tess_status save_and_load_tensor(fixture *f) {
  tess_tensor *t;
  char path[80];
  snprintf(path, sizeof path, "%s.npy", f->path);
  tess_status s = tess_tensor_save(f->tensor[0], path);
  if (s == TESS_OK) s = tess_tensor_load(f->c, path, &t);
  if (s == TESS_OK) tess_tensor_free(t);
  unlink(path);
  return s;
}

static tess_status text(fixture *f) {
  return tess_program_text(f->p, &f->text);
}

static tess_status new_builder(fixture *f) {
  tess_builder *b;
  tess_status s = tess_builder_new(f->c, &b);
  tess_builder_free(b);
  return s;
}

static tess_status new_target(fixture *f) {
  tess_target *t;
  tess_status s = tess_target_new(f->c, "llvm", &t);
  if (s == TESS_OK) tess_target_free(t);
  return s;
}

static tess_status build(fixture *f) {
  tess_kernel *k;
  tess_status s = tess_build(f->p, f->target, &k);
  tess_kernel_free(k);
  return s;
}

static tess_status tvm_json(fixture *f) {
  tess_status s = tess_trace_tvm_json(f->trace, &f->text);
  return s == TESS_UNSUPPORTED ? TESS_OK : s;
}

static tess_status step(fixture *f) {
  tess_stepper *s;
  tess_program *p;
  tess_status st = tess_stepper_new(f->trace, NULL, &s);
  if (st == TESS_OK) st = tess_stepper_goto(s, tess_stepper_size(s));
  if (st == TESS_OK) st = tess_stepper_program(s, &p);
  if (st == TESS_OK) tess_program_free(p);
  tess_stepper_free(s);
  return st;
}

static tess_status verify(fixture *f) { return tess_program_verify(f->p); }

static tess_status read_database(fixture *f) {
  tess_record row = TESS_INIT(tess_record);
  tess_trace *t;
  tess_status s = tess_database_open(f->c, f->path, &f->db);
  if (s == TESS_OK) s = tess_database_row(f->db, 0, &row);
  if (s == TESS_OK) s = tess_database_trace(f->db, row.id, &t);
  if (s == TESS_OK) tess_trace_free(t);
  tess_database_free(f->db);
  f->db = NULL;
  return s;
}

/* ---- tests -------------------------------------------------------------- */

static void test_spaces(void **state) {
  (void)state;
  fixture f;
  uint32_t n;
  start(&f);
  new_contexts(&f);
  EACH(&f, compose);
  EACH(&f, by_function);
  ok(&f, tess_space_compose(f.c, 2, MODULES, &f.space));
  EACH(&f, unite);
  EACH(&f, sketches);
  EACH(&f, explain);
  ok(&f, tess_space_sketches(f.space, f.p, NULL, 1, &f.trace, &n));
  EACH(&f, of_traces);
  EACH(&f, tvm_json);
  EACH(&f, step);
  EACH(&f, verify);
  EACH(&f, text);
  EACH(&f, new_builder);
  EACH(&f, new_target);
  stop(&f);
}

/* Modules are the caller's until a space is made of them. */
static void count_free(void *ud) { ++*(int *)ud; }

static void test_modules_stay(void **state) {
  (void)state;
  fixture f;
  tess_space *s;
  int freed = 0;
  start(&f);
  const tess_module m = {.struct_size = sizeof(tess_module),
                         .name = "counted",
                         .apply = apply,
                         .free = count_free,
                         .ud = &freed};
  for (uint64_t n = 1; n <= 4; n++) {
    fault_arm(&f.fault, n);
    assert_int_equal(tess_space_compose(f.c, 1, &m, &s), TESS_NOMEM);
    assert_null(s);
    assert_int_equal(freed, 0);
  }
  f.fault.fail_at = 0;
  ok(&f, tess_space_compose(f.c, 1, &m, &s));
  tess_space_free(s);
  assert_int_equal(freed, 1);
  stop(&f);
}

static void test_kernels(void **state) {
  (void)state;
  fixture f;
  start(&f);
  snprintf(f.path, sizeof f.path, "/tmp/tessera-memory-%d.db", (int)getpid());
  ok(&f, tess_space_function(f.c, MODULES, &f.space));
  each_failure(&f, "tune", 5, tune);
  each_cap(&f, "tune", tune);
  EACH(&f, build);
  EACH(&f, save_and_load);
  assert_non_null(f.result);
  EACH(&f, result_kernel);
  EACH(&f, source);
  EACH(&f, save_and_load_kernel);
  EACH(&f, tensors);
  EACH(&f, save_and_load_tensor);
  EACH(&f, run);
  EACH(&f, take_time);
  EACH(&f, interpret);
  EACH(&f, equivalent);
  EACH(&f, read_database);
  stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_spaces),
                                     cmocka_unit_test(test_modules_stay),
                                     cmocka_unit_test(test_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
