/* SPDX-License-Identifier: Apache-2.0
 * Fault injection: public calls with each of their allocations failing, and
 * under increasing memory caps: TESS_NOMEM, or TESS_LIMIT where the cap
 * refuses, with a message, or success; nothing leaks, and the next call
 * works. */
#include "support/scarce.h"
#include "support/test.h"

#include <stdio.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

enum { MAX_SKETCHES = 8 };

/* ---- what fails --------------------------------------------------------- */

/* Without a context there is nothing that could have a message. */
static void new_contexts(scarce *f) {
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

static tess_status compose(scarce *f) {
  tess_space *s;
  tess_status r = tess_space_compose(f->c, 2, scarce_modules, &s);
  tess_space_free(s);
  return r;
}

static tess_status by_function(scarce *f) {
  tess_space *s;
  tess_status r = tess_space_function(f->c, scarce_modules, &s);
  tess_space_free(s);
  return r;
}

static tess_status unite(scarce *f) {
  tess_space *s, *twice[] = {f->space, f->space};
  tess_status r = tess_space_union(f->c, 2, twice, &s);
  tess_space_free(s);
  return r;
}

static tess_status of_traces(scarce *f) {
  tess_space *s;
  tess_status r = tess_space_traces(f->c, 1, &f->trace, &s);
  tess_space_free(s);
  return r;
}

static tess_status sketches(scarce *f) {
  tess_trace *t[MAX_SKETCHES];
  uint32_t n;
  tess_status s =
      tess_space_sketches(f->space, f->p, f->target, MAX_SKETCHES, t, &n);
  if (s != TESS_OK) assert_int_equal(n, 0);
  for (uint32_t i = 0; i < n; i++) tess_trace_free(t[i]);
  return s;
}

static tess_status explain(scarce *f) {
  return tess_space_explain(f->space, f->p, f->target, &f->text);
}

static tess_status tune(scarce *f) {
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

static tess_status result_kernel(scarce *f) {
  tess_kernel *k;
  tess_status s = tess_result_kernel(f->result, &k);
  if (s != TESS_OK) assert_null(k);
  tess_kernel_free(f->kernel);
  f->kernel = k;
  return s;
}

static tess_status source(scarce *f) {
  return tess_kernel_source(f->kernel, "ir", &f->text);
}

static tess_status tensors(scarce *f) {
  const int64_t shape[] = {SCARCE_N, SCARCE_N};
  tess_status s = TESS_OK;
  for (int i = 0; s == TESS_OK && i < 2; i++) {
    tess_tensor_free(f->tensor[i]);
    s = tess_tensor_new(f->c, F32, 2, shape, "random", 1, &f->tensor[i]);
  }
  return s == TESS_OK ? tess_tensor_text(f->tensor[0], &f->text) : s;
}

static tess_status run(scarce *f) {
  return tess_kernel_run(f->kernel, 2, f->tensor);
}

static tess_status take_time(scarce *f) {
  tess_timing t = TESS_INIT(tess_timing);
  return tess_kernel_time(f->kernel, 2, f->tensor, 1e-6, &t);
}

static tess_status interpret(scarce *f) {
  return tess_interpret(f->p, 2, f->tensor);
}

static tess_status equivalent(scarce *f) {
  return tess_equivalent(f->p, f->p, 1);
}

static tess_status save_and_load(scarce *f) {
  tess_program *p;
  char path[80];
  snprintf(path, sizeof path, "%s.tp", f->path);
  tess_status s = tess_program_save(f->p, path);
  if (s == TESS_OK) s = tess_program_load(f->c, path, &p);
  if (s == TESS_OK) tess_program_free(p);
  unlink(path);
  return s;
}

static tess_status save_and_load_kernel(scarce *f) {
  tess_kernel *k;
  char path[80];
  snprintf(path, sizeof path, "%s.kernel", f->path);
  tess_status s = tess_kernel_save(f->kernel, path, NULL);
  if (s == TESS_OK) s = tess_kernel_load(f->c, path, &k);
  if (s == TESS_OK) tess_kernel_free(k);
  unlink(path);
  return s;
}

static size_t read_whole(const char *path, char *out, size_t room) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  size_t n = fread(out, 1, room, file);
  assert_true(n < room);
  fclose(file);
  return n;
}

/* `step` makes a file, or fails: never another file than the first that it
 * made with all the memory. */
typedef struct made_file {
  size_t n;
  char text[1 << 16];
} made_file;

static void expect_same(const char *path, made_file *whole) {
  static char text[sizeof whole->text];
  if (!whole->n) whole->n = read_whole(path, whole->text, sizeof whole->text);
  assert_int_equal(read_whole(path, text, sizeof text), whole->n);
  assert_memory_equal(text, whole->text, whole->n);
}

static tess_status save_object(scarce *f) {
  static made_file header;
  char path[80], beside[80];
  snprintf(path, sizeof path, "%s.o", f->path);
  snprintf(beside, sizeof beside, "%s.h", f->path);
  tess_status s = tess_kernel_save(f->kernel, path, NULL);
  if (s == TESS_OK) expect_same(beside, &header);
  unlink(path);
  unlink(beside);
  return s;
}

static tess_status save_and_load_tensor(scarce *f) {
  tess_tensor *t;
  char path[80];
  snprintf(path, sizeof path, "%s.npy", f->path);
  tess_status s = tess_tensor_save(f->tensor[0], path);
  if (s == TESS_OK) s = tess_tensor_load(f->c, path, &t);
  if (s == TESS_OK) tess_tensor_free(t);
  unlink(path);
  return s;
}

static tess_status text(scarce *f) { return tess_program_text(f->p, &f->text); }

static tess_status new_builder(scarce *f) {
  tess_builder *b;
  tess_status s = tess_builder_new(f->c, &b);
  tess_builder_free(b);
  return s;
}

static tess_status new_target(scarce *f) {
  tess_target *t;
  tess_status s = tess_target_new(f->c, "llvm", &t);
  if (s == TESS_OK) tess_target_free(t);
  return s;
}

static tess_status build(scarce *f) {
  tess_kernel *k;
  tess_status s = tess_build(f->p, f->target, &k);
  tess_kernel_free(k);
  return s;
}

static tess_status tvm_json(scarce *f) {
  tess_status s = tess_trace_tvm_json(f->trace, &f->text);
  return s == TESS_UNSUPPORTED ? TESS_OK : s;
}

static tess_status step(scarce *f) {
  tess_stepper *s;
  tess_program *p;
  tess_status st = tess_stepper_new(f->trace, NULL, &s);
  if (st == TESS_OK) st = tess_stepper_goto(s, tess_stepper_size(s));
  if (st == TESS_OK) st = tess_stepper_program(s, &p);
  if (st == TESS_OK) tess_program_free(p);
  tess_stepper_free(s);
  return st;
}

static tess_status verify(scarce *f) { return tess_program_verify(f->p); }

static tess_status read_database(scarce *f) {
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

static tess_status export_database(scarce *f) {
  static made_file lines;
  char path[80];
  snprintf(path, sizeof path, "%s.jsonl", f->path);
  tess_status s = tess_database_open(f->c, f->path, &f->db);
  if (s == TESS_OK) s = tess_database_export(f->db, path);
  if (s == TESS_OK) expect_same(path, &lines);
  unlink(path);
  tess_database_free(f->db);
  f->db = NULL;
  return s;
}

/* ---- tests -------------------------------------------------------------- */

static void test_spaces(void **state) {
  (void)state;
  scarce f;
  uint32_t n;
  scarce_start(&f);
  new_contexts(&f);
  SCARCE_EACH(&f, compose);
  SCARCE_EACH(&f, by_function);
  scarce_ok(&f, tess_space_compose(f.c, 2, scarce_modules, &f.space));
  SCARCE_EACH(&f, unite);
  SCARCE_EACH(&f, sketches);
  SCARCE_EACH(&f, explain);
  scarce_ok(&f, tess_space_sketches(f.space, f.p, NULL, 1, &f.trace, &n));
  SCARCE_EACH(&f, of_traces);
  SCARCE_EACH(&f, tvm_json);
  SCARCE_EACH(&f, step);
  SCARCE_EACH(&f, verify);
  SCARCE_EACH(&f, text);
  SCARCE_EACH(&f, new_builder);
  SCARCE_EACH(&f, new_target);
  scarce_stop(&f);
}

/* Modules are the caller's until a space is made of them. */
static void count_free(void *ud) { ++*(int *)ud; }

static void test_modules_stay(void **state) {
  (void)state;
  scarce f;
  tess_space *s;
  int freed = 0;
  scarce_start(&f);
  const tess_module m = {.struct_size = sizeof(tess_module),
                         .name = "counted",
                         .apply = scarce_modules[0].apply,
                         .free = count_free,
                         .ud = &freed};
  for (uint64_t n = 1; n <= 4; n++) {
    fault_arm(&f.fault, n);
    assert_int_equal(tess_space_compose(f.c, 1, &m, &s), TESS_NOMEM);
    assert_null(s);
    assert_int_equal(freed, 0);
  }
  f.fault.fail_at = 0;
  scarce_ok(&f, tess_space_compose(f.c, 1, &m, &s));
  tess_space_free(s);
  assert_int_equal(freed, 1);
  scarce_stop(&f);
}

static void test_kernels(void **state) {
  (void)state;
  scarce f;
  scarce_start(&f);
  snprintf(f.path, sizeof f.path, "/tmp/tessera-memory-%d.db", (int)getpid());
  scarce_ok(&f, tess_space_function(f.c, scarce_modules, &f.space));
  scarce_failures(&f, "tune", 5, tune);
  scarce_caps(&f, "tune", tune);
  SCARCE_EACH(&f, build);
  SCARCE_EACH(&f, save_and_load);
  assert_non_null(f.result);
  SCARCE_EACH(&f, result_kernel);
  SCARCE_EACH(&f, source);
  SCARCE_EACH(&f, save_and_load_kernel);
  scarce_ok(&f, save_object(&f));
  SCARCE_EACH(&f, save_object);
  SCARCE_EACH(&f, tensors);
  SCARCE_EACH(&f, save_and_load_tensor);
  SCARCE_EACH(&f, run);
  SCARCE_EACH(&f, take_time);
  SCARCE_EACH(&f, interpret);
  SCARCE_EACH(&f, equivalent);
  SCARCE_EACH(&f, read_database);
  scarce_ok(&f, export_database(&f));
  SCARCE_EACH(&f, export_database);
  scarce_stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_spaces),
                                     cmocka_unit_test(test_modules_stay),
                                     cmocka_unit_test(test_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
