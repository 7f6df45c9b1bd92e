/* SPDX-License-Identifier: Apache-2.0
 * Whole models through the public API: read, compiled, run, tuned and saved;
 * what is refused, what is freed, and memory that runs out. */
#include "support/scarce.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DATA TESS_SOURCE_DIR "/tests/data/onnx/"

typedef struct model {
  fault_alloc fault;
  tess_allocator memory;
  tess_context *c;
  tess_graph *g;
  tess_network *net;
  tess_tasks *tasks;
  int told, stop_at, answer; /* of progress */
} model;

static const int64_t one = 1, two = 2;
static const tess_given batch = {
    .struct_size = sizeof batch, .name = "batch", .ndim = 1, .extent = &two};

static void model_ok(const model *m, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(m->c)->message);
}

static void model_start(model *m) {
  *m = (model){.stop_at = -1};
  fault_init(&m->fault);
  m->memory = fault_allocator(&m->fault);
  const tess_options o = {
      .struct_size = sizeof o, .allocator = &m->memory, .in_process = 1};
  assert_int_equal(tess_context_new(&o, &m->c), TESS_OK);
}

static void model_drop(model *m) {
  tess_graph_free(m->g);
  tess_network_free(m->net);
  tess_tasks_free(m->tasks);
  m->g = NULL;
  m->net = NULL;
  m->tasks = NULL;
}

static void model_stop(model *m) {
  model_drop(m);
  tess_context_free(m->c);
  assert_int_equal(m->fault.live_blocks, 0);
  assert_int_equal(m->fault.broken, 0);
}

static void says(const model *m, tess_status s, tess_status want,
                 const char *message) {
  const tess_error_info *e = tess_error(m->c);
  if (s != want || !strstr(e->message, message))
    fail_msg("%s: %s", tess_status_name(s), e->message);
  assert_null(strchr(e->message, '\n'));
}

/* ---- running ------------------------------------------------------------ */

static tess_gvalue_info value_info(const model *m, tess_gvalue v) {
  tess_gvalue_info info = TESS_INIT(tess_gvalue_info);
  model_ok(m, tess_graph_value(m->g, v, &info));
  return info;
}

static tess_tensor *tensor_of(const model *m, tess_gvalue v, uint64_t seed) {
  tess_gvalue_info info = value_info(m, v);
  int64_t shape[16];
  tess_tensor *t;
  for (uint32_t d = 0; d < info.type.ndim; d++) {
    assert_null(info.type.dim[d].size);
    shape[d] = info.type.dim[d].extent;
  }
  model_ok(m, tess_tensor_new(m->c, info.type.dtype, info.type.ndim, shape,
                              "integers", seed, &t));
  return t;
}

/* What a network gives for the inputs of the seed; it has one output. */
static tess_tensor *output_of(const model *m, tess_network *net,
                              uint64_t seed) {
  tess_tensor *t[8];
  const tess_gvalue *in, *out;
  uint32_t n = tess_graph_inputs(m->g, &in);
  for (uint32_t i = 0; i < n; i++) t[i] = tensor_of(m, in[i], seed);
  assert_int_equal(tess_graph_outputs(m->g, &out), 1);
  t[n] = tensor_of(m, out[0], seed + 1);
  model_ok(m, tess_network_run(net, n + 1, t, NULL));
  for (uint32_t i = 0; i < n; i++) tess_tensor_free(t[i]);
  return t[n];
}

static void gives_the_same(const model *m, tess_network *a, tess_network *b) {
  tess_tensor *x = output_of(m, a, 7), *y = output_of(m, b, 7);
  double absolute, relative;
  model_ok(m, tess_tensor_compare(x, y, &absolute, &relative));
  assert_true(absolute < 1e-4);
  tess_tensor_free(x);
  tess_tensor_free(y);
}

static void read_bytes(char **bytes, size_t *n) {
  FILE *f = fopen(DATA "parts.onnx", "rb");
  assert_non_null(f);
  *bytes = malloc(1 << 20);
  *n = fread(*bytes, 1, 1 << 20, f);
  fclose(f);
}

static void test_from_file_and_bytes(void **state) {
  (void)state;
  model m, other;
  size_t n;
  char *bytes;
  const tess_gvalue *in;
  model_start(&m);
  model_ok(&m, tess_graph_import(m.c, DATA "parts.onnx", 1, &batch, &m.g));
  assert_int_equal(tess_graph_inputs(m.g, &in), 1);
  assert_string_equal(value_info(&m, in[0]).name, "x");
  assert_int_equal(value_info(&m, in[0]).type.dim[0].extent, 2);
  model_ok(&m, tess_graph_compile(m.g, NULL, NULL, &m.tasks, &m.net));
  assert_non_null(strstr(tess_network_kernel(m.net, 0), "conv2d_nchw"));
  assert_null(tess_network_kernel(m.net, 1));
  tess_tasks_info info = TESS_INIT(tess_tasks_info);
  model_ok(&m, tess_tasks_get(m.tasks, &info));
  assert_int_equal(info.nentry, 1);
  assert_int_equal(info.trials, 0);

  other = m; /* of the same context */
  read_bytes(&bytes, &n);
  model_ok(&m, tess_graph_import_bytes(m.c, bytes, n, 1, &batch, &other.g));
  free(bytes); /* they were copied */
  model_ok(&m, tess_graph_compile(other.g, NULL, NULL, NULL, &other.net));
  gives_the_same(&m, m.net, other.net);
  other.tasks = NULL;
  model_drop(&other);
  model_stop(&m);
}

/* A branch and a shape that contents decide, numbers and a tensor. */
static void test_contents(void **state) {
  (void)state;
  model m;
  const tess_dtype i64 = {TESS_DTYPE_INT, 64, 1};
  const double yes = 1;
  tess_tensor *to;
  const tess_gvalue *out;
  model_start(&m);
  model_ok(&m, tess_tensor_new(m.c, i64, 1, &two, "zeros", 0, &to));
  ((int64_t *)tess_tensor_data(to))[0] = 3;
  ((int64_t *)tess_tensor_data(to))[1] = 2;
  tess_given given[] = {
      {sizeof *given, .name = "use_past", .number = &yes, .nnumber = 1},
      {sizeof *given, .name = "to", .tensor = to}};
  model_ok(&m, tess_graph_import(m.c, DATA "decided.onnx", 2, given, &m.g));
  tess_tensor_free(to); /* which the graph keeps */
  assert_int_equal(tess_graph_outputs(m.g, &out), 1);
  assert_int_equal(value_info(&m, out[0]).type.dim[0].extent, 3);
  model_ok(&m, tess_graph_compile(m.g, NULL, NULL, NULL, &m.net));
  tess_tensor *in = tensor_of(&m, *(const tess_gvalue *)out, 1);
  tess_tensor_free(in);
  tess_tensor_free(output_of(&m, m.net, 3));
  model_drop(&m);

  given[1].number = &yes; /* an input of one dimension has it from these */
  given[1].nnumber = 1;
  given[1].tensor = NULL;
  says(&m, tess_graph_import(m.c, DATA "decided.onnx", 2, given, &m.g),
       TESS_UNSUPPORTED, "node 'flat' (Reshape)");
  assert_null(m.g);
  model_stop(&m);
}

/* ---- what is refused ---------------------------------------------------- */

static void refuses_file(model *m, const char *file, const tess_given *given,
                         tess_status want, const char *message) {
  tess_status s = tess_graph_import(m->c, file, given != NULL, given, &m->g);
  says(m, s, want, message);
  assert_null(m->g);
}

static void test_refused_files(void **state) {
  (void)state;
  model m;
  model_start(&m);
  tess_given given = batch;
  refuses_file(&m, DATA "none.onnx", NULL, TESS_NOT_FOUND, "none.onnx");
  refuses_file(&m, TESS_SOURCE_DIR "/README.md", NULL, TESS_PARSE,
               "README.md: byte");
  refuses_file(&m, DATA "refused.onnx", NULL, TESS_UNSUPPORTED,
               "node 'a' (Multinomial)");
  refuses_file(&m, DATA "parts.onnx", NULL, TESS_INVALID,
               "say what 'batch' is");
  given.name = "bach";
  refuses_file(&m, DATA "parts.onnx", &given, TESS_INVALID,
               "there is no input or size 'bach'");
  given.name = "x";
  refuses_file(&m, DATA "parts.onnx", &given, TESS_INVALID, "has 4 dimensions");
  given.extent = NULL;
  refuses_file(&m, DATA "parts.onnx", &given, TESS_INVALID, "1 extents");
  given.name = NULL;
  refuses_file(&m, DATA "parts.onnx", &given, TESS_INVALID, "at 1 has no name");
  given.struct_size = 3;
  refuses_file(&m, DATA "parts.onnx", &given, TESS_INVALID, "tess_given");
  says(&m, tess_graph_import_bytes(m.c, "no model", 8, 0, NULL, &m.g),
       TESS_PARSE, "byte");
  model_stop(&m);
}

static void test_refused_graphs(void **state) {
  (void)state;
  model m, other;
  tess_target *target;
  tess_tasks_options o = TESS_INIT(tess_tasks_options);
  model_start(&m);
  model_start(&other);
  model_ok(&m, tess_graph_from_onnx(m.c, DATA "parts.onnx", &m.g));
  says(&m, tess_graph_compile(m.g, NULL, NULL, &m.tasks, &m.net), TESS_INVALID,
       "node 'conv' of graph parts: there is no operator "
       "'onnx.Conv'");
  assert_null(m.net);
  assert_null(m.tasks);
  model_drop(&m);

  model_ok(&m, tess_graph_import(m.c, DATA "parts.onnx", 1, &batch, &m.g));
  model_ok(&other, tess_target_new(other.c, "llvm", &target));
  says(&m, tess_graph_compile(m.g, target, NULL, NULL, &m.net), TESS_INVALID,
       "different contexts");
  tess_target_free(target);
  o.struct_size = 3;
  says(&m, tess_graph_compile(m.g, NULL, &o, NULL, &m.net), TESS_INVALID,
       "tess_tasks_options");
  o.struct_size = sizeof o;
  o.scheduler = "none";
  says(&m, tess_graph_compile(m.g, NULL, &o, NULL, &m.net), TESS_NOT_FOUND,
       "no task scheduler 'none'");
  setenv("TESSERA_SPACES", "/nowhere/libtessera-spaces.so", 1);
  says(&m, tess_graph_compile(m.g, NULL, NULL, NULL, &m.net), TESS_UNSUPPORTED,
       "/nowhere/libtessera-spaces.so");
  tess_graph *none;
  says(&m, tess_graph_import(m.c, DATA "parts.onnx", 0, NULL, &none),
       TESS_UNSUPPORTED, "/nowhere/libtessera-spaces.so");
  assert_null(none);
  unsetenv("TESSERA_SPACES");
  model_ok(&m, tess_graph_compile(m.g, NULL, NULL, NULL, &m.net));
  tess_tensor *tensors[2] = {NULL, NULL};
  says(&m, tess_network_run(m.net, 2, tensors, NULL), TESS_INVALID,
       "input x of graph parts is NULL");
  model_stop(&other);
  model_stop(&m);
}

/* A size that is not known yet. */
static void test_open_graph(void **state) {
  (void)state;
  model m;
  const tess_dim dim[] = {{0, "batch"}};
  const tess_gtype t = {{TESS_DTYPE_FLOAT, 32, 1}, 1, dim};
  tess_gvalue x;
  model_start(&m);
  model_ok(&m, tess_graph_new(m.c, "open", &m.g));
  model_ok(&m, tess_graph_input(m.g, "x", &t, TESS_G_INPUT, &x));
  model_ok(&m, tess_graph_output(m.g, "y", x));
  says(&m, tess_graph_compile(m.g, NULL, NULL, NULL, &m.net), TESS_INVALID,
       "dimension 0 of input x of graph open is of size 'batch'");
  model_stop(&m);
}

/* A graph that computes nothing. */
static void test_no_kernel(void **state) {
  (void)state;
  model m;
  const tess_dim dim[] = {{3, NULL}};
  const tess_gtype t = {{TESS_DTYPE_FLOAT, 32, 1}, 1, dim};
  tess_gvalue x;
  model_start(&m);
  model_ok(&m, tess_graph_new(m.c, "same", &m.g));
  model_ok(&m, tess_graph_input(m.g, "x", &t, TESS_G_INPUT, &x));
  model_ok(&m, tess_graph_output(m.g, "y", x));
  model_ok(&m, tess_graph_compile(m.g, NULL, NULL, &m.tasks, &m.net));
  assert_null(m.tasks);
  assert_null(tess_network_kernel(m.net, 0));
  tess_tensor *y = output_of(&m, m.net, 3), *in = tensor_of(&m, x, 3);
  double absolute, relative;
  model_ok(&m, tess_tensor_compare(y, in, &absolute, &relative));
  assert_true(absolute == 0);
  tess_tensor_free(y);
  tess_tensor_free(in);
  model_stop(&m);
}

/* ---- tuning ------------------------------------------------------------- */

static tess_status simulated(void *ud, tess_session *s, const tess_candidate *c,
                             double *seconds) {
  (void)ud, (void)s;
  *seconds = 1e-3;
  for (uint32_t i = 0; i < c->ndecisions; i++)
    *seconds += 1e-6 * (double)c->decisions[i];
  return TESS_OK;
}

static int count_progress(void *ud, const tess_tasks_progress *p) {
  model *m = ud;
  assert_true(p->ntask > 0);
  m->told++;
  if (p->trials != (uint32_t)m->stop_at) return 0;
  if (m->answer) return m->answer;
  tess_stop(m->c);
  return 0;
}

/* Two convolutions that are equal, so one task, and a sum. */
static void build_graph(model *m) {
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  const tess_dim dim[] = {{4, NULL}, {4, NULL}};
  const tess_gtype t = {f32, 2, dim};
  tess_tensor *w;
  tess_gvalue in[2], out;
  model_ok(m, tess_graph_new(m->c, "twice", &m->g));
  model_ok(m, tess_graph_input(m->g, "x", &t, TESS_G_INPUT, &in[0]));
  model_ok(m,
           tess_tensor_new(m->c, f32, 2, (int64_t[]){4, 4}, "integers", 1, &w));
  for (int i = 0; i < 2; i++) {
    model_ok(m, tess_graph_constant(m->g, "w", w, &in[1]));
    tess_node_def def = {.struct_size = sizeof def,
                         .op = "matmul",
                         .nin = 2,
                         .in = in,
                         .nout = 1,
                         .type = &t};
    model_ok(m, tess_graph_node(m->g, &def, &out));
    in[0] = out;
  }
  tess_tensor_free(w);
  model_ok(m, tess_graph_output(m->g, "y", out));
}

static tess_status tune(model *m, uint32_t trials, tess_network **out) {
  tess_tune_options t = {.struct_size = sizeof t,
                         .trials = trials,
                         .batch = 2,
                         .seed = 1,
                         .threads = 1,
                         .kernel_threads = 1,
                         .cost_model = "random",
                         .measure = simulated};
  const tess_tasks_options o = {.struct_size = sizeof o,
                                .tune = &t,
                                .progress = count_progress,
                                .progress_ud = m};
  return tess_graph_compile(m->g, NULL, &o, &m->tasks, out);
}

static void test_tuning(void **state) {
  (void)state;
  model m;
  tess_network *tuned;
  tess_result *r;
  tess_result_info best = TESS_INIT(tess_result_info);
  tess_tasks_info info = TESS_INIT(tess_tasks_info);
  model_start(&m);
  build_graph(&m);
  model_ok(&m, tess_graph_compile(m.g, NULL, NULL, NULL, &m.net));
  model_ok(&m, tune(&m, 6, &tuned));
  assert_true(m.told >= 6);
  model_ok(&m, tess_tasks_get(m.tasks, &info));
  assert_int_equal(info.status, TESS_OK);
  assert_int_equal(info.nentry, 2);
  assert_int_equal(info.ntask, 1);
  assert_int_equal(info.trials, 6);
  model_ok(&m, tess_tasks_result(m.tasks, 1, &r));
  model_ok(&m, tess_result_get(r, &best));
  assert_true(best.latency >= 1e-3 && best.latency < 1);
  tess_result_free(r);
  gives_the_same(&m, m.net, tuned);
  tess_network_free(tuned);
  gives_the_same(&m, m.net, m.net);
  model_stop(&m);
}

/* Ended by the host: with the best so far, or with nothing. */
static void test_tuning_ends(void **state) {
  (void)state;
  model m;
  tess_tasks_info info = TESS_INIT(tess_tasks_info);
  model_start(&m);
  build_graph(&m);
  m.stop_at = 2;
  for (m.answer = 0; m.answer < 2; m.answer++) {
    model_ok(&m, tune(&m, 64, &m.net));
    model_ok(&m, tess_tasks_get(m.tasks, &info));
    assert_int_equal(info.status, TESS_CANCELLED);
    assert_true(info.trials < 64);
    tess_tensor_free(output_of(&m, m.net, 1));
    tess_tasks_free(m.tasks);
    tess_network_free(m.net);
  }
  m.answer = -1;
  m.told = 0;
  says(&m, tune(&m, 64, &m.net), TESS_CANCELLED, "was ended");
  assert_null(m.net);
  assert_null(m.tasks);
  assert_true(m.told > 0);
  model_stop(&m);
}

/* A network, and what was tuned, need neither their graph nor each other. */
static void test_freed_in_any_order(void **state) {
  (void)state;
  model m;
  tess_result *r;
  tess_kernel *k;
  model_start(&m);
  build_graph(&m);
  model_ok(&m, tune(&m, 2, &m.net));
  model_ok(&m, tess_tasks_result(m.tasks, 0, &r));
  tess_tasks_free(m.tasks);
  m.tasks = NULL;
  tess_network_info info = TESS_INIT(tess_network_info);
  model_ok(&m, tess_network_get(m.net, &info));
  assert_int_equal(info.kernels, 2);
  tess_tensor_free(output_of(&m, m.net, 1));
  tess_graph_free(m.g);
  m.g = NULL;
  tess_network_free(m.net);
  m.net = NULL;
  model_ok(&m, tess_result_kernel(r, &k));
  tess_kernel_free(k);
  tess_result_free(r);
  model_stop(&m);
}

/* ---- memory ------------------------------------------------------------- */

static tess_status import_step(scarce *f) {
  tess_graph *g;
  tess_given given = batch;
  given.extent = &one;
  tess_status s = tess_graph_import(f->c, DATA "parts.onnx", 1, &given, &g);
  tess_graph_free(g);
  return s;
}

static tess_status compile_step(scarce *f) {
  tess_graph *g;
  tess_tasks *tasks;
  tess_network *net;
  tess_status s = tess_graph_import(f->c, DATA "parts.onnx", 1, &batch, &g);
  if (s != TESS_OK) return s;
  s = tess_graph_compile(g, f->target, NULL, &tasks, &net);
  tess_graph_free(g);
  tess_tasks_free(tasks);
  tess_network_free(net);
  return s;
}

static void test_scarce_memory(void **state) {
  (void)state;
  scarce f;
  scarce_start(&f);
  scarce_failures(&f, "import", TEST_CHECKED ? 601 : 61, import_step);
  scarce_caps(&f, "import", import_step);
  scarce_failures(&f, "compile", TEST_CHECKED ? 200003 : 20011, compile_step);
  scarce_stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_from_file_and_bytes),
      cmocka_unit_test(test_contents),
      cmocka_unit_test(test_refused_files),
      cmocka_unit_test(test_refused_graphs),
      cmocka_unit_test(test_open_graph),
      cmocka_unit_test(test_no_kernel),
      cmocka_unit_test(test_tuning),
      cmocka_unit_test(test_tuning_ends),
      cmocka_unit_test(test_freed_in_any_order),
      cmocka_unit_test(test_scarce_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
