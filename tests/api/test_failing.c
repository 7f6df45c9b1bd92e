/* SPDX-License-Identifier: Apache-2.0
 * Postconditions of failing calls: NULL or 0 in outputs that would be owned,
 * other outputs unchanged, and a message of one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>
#include <unistd.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

typedef struct fixture {
  tess_context *c;
  tess_builder *b;
  tess_program *p;     /* B[i] = A[i] */
  tess_program *sized; /* the same with a size that the caller gives */
  tess_schedule *s;
  tess_trace *loose; /* bound to no program */
  tess_kernel *kernel;
  tess_space *space, *bad; /* of no sketch; whose function fails */
  tess_database *db;
  char path[40];
  tess_expr n, real;
} fixture;

static void failing_ok(const fixture *f, tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(f->c)->message);
}

static tess_status fails(void *ud, tess_schedule *s, tess_rv block,
                         void (*emit)(void *sink, tess_schedule *s), void *sink,
                         const char **why) {
  (void)ud, (void)s, (void)block, (void)emit, (void)sink;
  *why = "because\nof several\r\n  lines";
  return TESS_INVALID;
}

static tess_program *copying(fixture *f, tess_expr n) {
  tess_buffer in, out;
  tess_expr i, x;
  tess_var v;
  tess_program *p;
  failing_ok(f, tess_placeholder(f->b, "A", F32, 1, &n, TESS_ROLE_INPUT, &in));
  failing_ok(f, tess_compute_begin(f->b, "B", 1, &n, NULL, &v));
  failing_ok(f, tess_var_ref(f->b, v, &i));
  failing_ok(f, tess_load(f->b, in, 1, &i, &x));
  failing_ok(f, tess_compute_end(f->b, 1, &x, &out));
  failing_ok(f, tess_program_new(f->b, "copy", 1, &in, 1, &out, &p));
  return p;
}

static tess_trace *unbound(fixture *f) {
  char *text;
  tess_trace *t;
  tess_rv block;
  tess_arg name = {"name", {.kind = TESS_V_STR, .s = "B"}};
  failing_ok(f, tess_schedule_new(f->p, NULL, 1, &f->s));
  failing_ok(f, tess_schedule_call(f->s, "get_block", 1, &name, 1, &block, NULL,
                                   NULL));
  failing_ok(f, tess_schedule_trace(f->s, &t));
  failing_ok(f, tess_trace_json(t, &text));
  tess_trace_free(t);
  failing_ok(f, tess_trace_from_json(f->c, text, NULL, &t));
  tess_text_free(f->c, text);
  return t;
}

static void failing_start(fixture *f) {
  const tess_options o = {.struct_size = sizeof o, .in_process = 1};
  const tess_module bad = {
      .struct_size = sizeof(tess_module), .name = "bad", .apply = fails};
  tess_var size;
  tess_expr extent;
  *f = (fixture){.path = "/tmp/tessera-failing-XXXXXX"};
  assert_int_equal(tess_context_new(&o, &f->c), TESS_OK);
  failing_ok(f, tess_builder_new(f->c, &f->b));
  failing_ok(f, tess_int(f->b, I64, 8, &f->n));
  failing_ok(f, tess_real(f->b, F32, 8, &f->real));
  f->p = copying(f, f->n);
  failing_ok(f, tess_size_var(f->b, "n", &size));
  failing_ok(f, tess_var_ref(f->b, size, &extent));
  f->sized = copying(f, extent);
  f->loose = unbound(f);
  failing_ok(f, tess_space_compose(f->c, 0, NULL, &f->space));
  failing_ok(f, tess_space_function(f->c, &bad, &f->bad));
  failing_ok(f, tess_build(f->p, NULL, &f->kernel));
  int fd = mkstemp(f->path);
  assert_true(fd >= 0);
  close(fd);
  failing_ok(f, tess_database_open(f->c, f->path, &f->db));
}

static void failing_stop(fixture *f) {
  tess_database_free(f->db);
  unlink(f->path);
  tess_kernel_free(f->kernel);
  tess_space_free(f->bad);
  tess_space_free(f->space);
  tess_trace_free(f->loose);
  tess_schedule_free(f->s);
  tess_program_free(f->sized);
  tess_program_free(f->p);
  tess_builder_free(f->b);
  tess_context_free(f->c);
}

/* ---- objects and texts -------------------------------------------------- */

#define FAILING(type, name, call)                           \
  static tess_status name(fixture *f, void **given) {       \
    type *out = (type *)(void *)f; /* of an earlier call */ \
    (void)f;                                                \
    tess_status s = call;                                   \
    *given = out;                                           \
    return s;                                               \
  }

static const char no_path[] = "/nowhere/at/all";
static const tess_options no_options = {.struct_size = 3};
static const tess_module no_module = {.struct_size = sizeof(tess_module),
                                      .name = "none"};
static const tess_tune_options no_tuning = {.struct_size = sizeof no_tuning,
                                            .strategy = "there is none such"};
static const int64_t negative = -1;

FAILING(tess_context, context, tess_context_new(&no_options, &out))
FAILING(tess_builder, builder, tess_builder_new(NULL, &out))
FAILING(char, expr_text, tess_expr_text(f->b, 0, &out))
FAILING(char, null_text, tess_expr_text(NULL, 0, &out))
FAILING(tess_program, program,
        tess_program_new(f->b, "p", 0, NULL, 1, (tess_buffer[]){99}, &out))
FAILING(tess_program, null_program,
        tess_program_new(f->b, NULL, 0, NULL, 0, NULL, &out))
FAILING(tess_program, work_on, tess_program_work_on(f->p, "none", &out))
FAILING(tess_program, loaded, tess_program_load(f->c, no_path, &out))
FAILING(char, rv_text, tess_schedule_rv_text(f->s, 99, &out))
FAILING(char, annotation, tess_schedule_annotation(f->s, 99, "key", &out))
FAILING(char, stored_value, tess_schedule_stored_value(f->s, 99, &out))
FAILING(char, prim_doc, tess_prim_doc(f->c, "none", &out))
FAILING(tess_trace, from_lua, tess_trace_from_lua(f->c, "?", NULL, &out))
FAILING(tess_trace, from_json, tess_trace_from_json(f->c, "?", NULL, &out))
FAILING(tess_trace, from_tvm, tess_trace_from_tvm_json(f->c, "?", NULL, &out))
FAILING(tess_schedule, replayed, tess_trace_replay(f->loose, NULL, NULL, &out))
FAILING(tess_trace, decided,
        tess_trace_with_decision(f->loose, 1, 0, NULL, &out))
FAILING(tess_trace, mutated, tess_trace_mutate(f->loose, 1, &out))
FAILING(tess_stepper, stepper, tess_stepper_new(f->loose, NULL, &out))
FAILING(tess_target, target, tess_target_new(f->c, "none", &out))
FAILING(tess_target, null_target, tess_target_new(f->c, NULL, &out))
FAILING(tess_tensor, tensor,
        tess_tensor_new(f->c, F32, 1, &negative, "zeros", 0, &out))
FAILING(tess_tensor, filled,
        tess_tensor_new(f->c, F32, 0, NULL, "none", 0, &out))
FAILING(tess_tensor, from_file, tess_tensor_load(f->c, no_path, &out))
FAILING(tess_kernel, kernel_file, tess_kernel_load(f->c, no_path, &out))
FAILING(tess_kernel, null_kernel_file, tess_kernel_load(f->c, NULL, &out))
FAILING(tess_tensor, imported, tess_tensor_from_dlpack(f->c, NULL, &out))
FAILING(char, source, tess_kernel_source(f->kernel, "none", &out))
FAILING(tess_space, composed, tess_space_compose(f->c, 1, &no_module, &out))
FAILING(tess_space, function, tess_space_function(f->c, &no_module, &out))
FAILING(tess_space, united,
        tess_space_union(f->c, 1, (tess_space *[]){NULL}, &out))
FAILING(tess_space, traced,
        tess_space_traces(f->c, 1, (tess_trace *[]){NULL}, &out))
FAILING(char, explained, tess_space_explain(f->bad, f->p, NULL, &out))
FAILING(tess_result, tuned, tess_tune(f->p, NULL, f->space, &no_tuning, &out))
FAILING(tess_result, sized, tess_tune(f->sized, NULL, f->space, NULL, &out))
FAILING(tess_database, database, tess_database_open(f->c, no_path, &out))
FAILING(tess_trace, record, tess_database_trace(f->db, 99, &out))

typedef tess_status failing(fixture *f, void **given);
#define CALL(name) \
  { #name, name }
static const struct {
  const char *name;
  failing *call;
} calls[] = {
    CALL(context),      CALL(builder),
    CALL(expr_text),    CALL(null_text),
    CALL(program),      CALL(null_program),
    CALL(work_on),      CALL(loaded),
    CALL(kernel_file),  CALL(null_kernel_file),
    CALL(rv_text),      CALL(annotation),
    CALL(stored_value), CALL(prim_doc),
    CALL(from_lua),     CALL(from_json),
    CALL(from_tvm),     CALL(replayed),
    CALL(decided),      CALL(mutated),
    CALL(stepper),      CALL(target),
    CALL(null_target),  CALL(tensor),
    CALL(filled),       CALL(from_file),
    CALL(imported),     CALL(source),
    CALL(composed),     CALL(function),
    CALL(united),       CALL(traced),
    CALL(explained),    CALL(tuned),
    CALL(sized),        CALL(database),
    CALL(record),
};

static void test_objects(void **state) {
  (void)state;
  fixture f;
  failing_start(&f);
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    void *given;
    if (calls[i].call(&f, &given) == TESS_OK)
      fail_msg("%s does not fail", calls[i].name);
    if (given) fail_msg("%s gives something", calls[i].name);
  }
  failing_stop(&f);
}

/* ---- handles ------------------------------------------------------------ */

static void none(tess_status s, uint32_t n, uint32_t *out, int line) {
  if (s == TESS_OK) fail_msg("line %d does not fail", line);
  for (uint32_t i = 0; i < n; i++) {
    if (out[i]) fail_msg("line %d gives something", line);
    out[i] = 7;
  }
}
#define NONE(call) none(call, 1, out, __LINE__)
#define NONE_OF_TWO(call) none(call, 2, out, __LINE__)

static int cannot(void *ud, tess_builder *b, const tess_expr *lhs,
                  const tess_expr *rhs, tess_expr *result) {
  (void)ud, (void)b, (void)lhs, (void)rhs, (void)result;
  return 1;
}

static void test_expressions(void **state) {
  (void)state;
  fixture f;
  uint32_t out[2] = {7, 7};
  const double zero = 0;
  const tess_reducer_def r = {.struct_size = sizeof(tess_reducer_def),
                              .name = "r",
                              .n = 1,
                              .combine = cannot,
                              .identity = &zero};
  failing_start(&f);
  NONE(tess_int(f.b, F32, 1, out));
  NONE(tess_real(f.b, I64, 1, out));
  NONE(tess_literal(NULL, 1, 1, out));
  NONE(tess_binary(f.b, "/", f.n, f.n, out));
  NONE(tess_binary(f.b, NULL, f.n, f.n, out));
  NONE(tess_binary(NULL, "+", f.n, f.n, out));
  NONE(tess_call(f.b, "none", 1, &f.n, out));
  NONE(tess_call_extern(f.b, "f", F32, 1, NULL, out));
  NONE(tess_select(f.b, f.n, f.n, f.n, out));
  NONE(tess_cast(f.b, F32, 0, out));
  NONE(tess_bit_cast(f.b, F32, f.n, out));
  NONE(tess_load(f.b, 99, 1, &f.n, out));
  NONE(tess_var_ref(f.b, 99, out));
  NONE(tess_reduce_axis(f.b, "k", f.n, f.real, out));
  NONE(tess_size_var(f.b, "", out));
  NONE(tess_reduce(f.b, "none", 1, &f.n, 0, NULL, out));
  NONE(tess_reduce_with(f.b, &r, 1, &f.real, 0, NULL, out));
  NONE(tess_reduce_with(f.b, NULL, 1, &f.real, 0, NULL, out));
  out[0] = f.n; /* an argument and the place of the result */
  NONE(tess_call(f.b, "none", 1, out, out));
  failing_stop(&f);
}

static void test_buffers_and_variables(void **state) {
  (void)state;
  fixture f;
  uint32_t out[2] = {7, 7};
  const char *const names[] = {"i", "j"};
  const tess_iter_kind kinds[] = {TESS_SPATIAL, TESS_SPATIAL};
  failing_start(&f);
  const tess_expr two[] = {f.n, 0};
  NONE(tess_placeholder(f.b, "A", F32, 2, two, TESS_ROLE_INPUT, out));
  NONE(tess_placeholder(f.b, "A", F32, 1, two, TESS_ROLE_OUTPUT, out));
  NONE(tess_placeholder(f.b, NULL, F32, 1, two, TESS_ROLE_INPUT, out));
  NONE(tess_constant(f.b, "A", F32, 0, NULL, NULL, out));
  NONE(tess_constant(f.b, "A", F32, 1, &negative, &f, out));
  NONE(tess_buffer_new(f.b, "A", F32, 1, two, "none", TESS_ROLE_INPUT, 1, out));
  NONE(tess_buffer_new(f.b, "A", F32, 2, two, NULL, TESS_ROLE_INPUT, 1, out));
  NONE_OF_TWO(tess_compute_begin(f.b, "C", 2, two, NULL, out));
  NONE_OF_TWO(tess_compute_end(f.b, 2, two, out));
  NONE(tess_loop_begin(f.b, "i", f.n, f.real, out));
  NONE_OF_TWO(
      tess_block_begin(f.b, "B", 2, names, kinds, two, two, two, 0, out));
  NONE_OF_TWO(
      tess_block_begin(f.b, "B", 2, NULL, kinds, two, two, two, 0, out));
  NONE(tess_let_begin(f.b, "x", 0, out));
  failing_stop(&f);
}

/* What is no object, text or handle is left as it is. */
static void test_others(void **state) {
  (void)state;
  fixture f;
  tess_dtype t = {9, 9, 9};
  tess_param p = {.struct_size = sizeof p, .ndim = 9};
  tess_inst_info inst = {.struct_size = sizeof inst, .line = 9};
  uint32_t ndim = 9;
  const char *name = "kept";
  failing_start(&f);
  assert_int_not_equal(tess_expr_dtype(f.b, 0, &t), TESS_OK);
  assert_int_not_equal(tess_buffer_info(f.b, 99, &name, &t, 0, NULL, &ndim),
                       TESS_OK);
  assert_int_equal(t.bits, 9);
  assert_int_equal(ndim, 9);
  assert_string_equal(name, "kept");
  assert_int_not_equal(tess_program_param(f.p, 9, &p), TESS_OK);
  assert_int_equal(p.ndim, 9);
  assert_int_not_equal(tess_trace_inst(f.loose, 9, &inst), TESS_OK);
  assert_int_equal(inst.line, 9);
  failing_stop(&f);
}

/* ---- messages ----------------------------------------------------------- */

static void test_message_is_one_line(void **state) {
  (void)state;
  fixture f;
  tess_trace *t;
  uint32_t n;
  failing_start(&f);
  assert_int_equal(tess_space_sketches(f.bad, f.p, NULL, 1, &t, &n),
                   TESS_INVALID);
  assert_string_equal(tess_error(f.c)->message,
                      "the scheduling function failed: because; of several; "
                      "lines");
  assert_int_equal(tess_prim_doc(f.c, "a\nb", &(char *){NULL}), TESS_NOT_FOUND);
  assert_string_equal(tess_error(f.c)->message, "there is no primitive 'a; b'");
  failing_stop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_objects),
      cmocka_unit_test(test_expressions),
      cmocka_unit_test(test_buffers_and_variables),
      cmocka_unit_test(test_others),
      cmocka_unit_test(test_message_is_one_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
