/* SPDX-License-Identifier: Apache-2.0
 * Fixture of measuring: a context, a pool of workers, small programs. */
#include "support/measured.h"
#include <stdio.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};

void measured_start(measured *m, bool in_process, const char *externs) {
  *m = (measured){.c = NULL};
  tess_options o = {.struct_size = sizeof o, .in_process = in_process};
  assert_int_equal(tess_context_new(&o, &m->c), TESS_OK);
  assert_int_equal(tess_target_new(m->c, "llvm", &m->target), TESS_OK);
  measure_config config = {
      .in_process = in_process, .workers = 2, .externs = externs};
  m->policy = measure_default_policy(2);
  m->policy.min_time = 0.002;
  m->policy.timeout = 20;
  assert_int_equal(measure_pool_new(&m->c->heap, &config, &m->pool, &m->err),
                   TESS_OK);
}

void measured_start_matmul(measured *m, bool in_process, int64_t n) {
  measured_start(m, in_process, NULL);
  measured_take(m, measured_matmul(m->c, n));
}

void measured_end(measured *m) {
  measure_build_free(&m->build);
  tess_schedule_free(m->parallel);
  tess_program_free(m->program);
  measure_task_free(m->task);
  measure_pool_free(m->pool);
  tess_target_free(m->target);
  tess_context_free(m->c);
}

void measured_task(measured *m, tess_program *p) {
  measure_task_free(m->task);
  m->task = NULL;
  assert_int_equal(measure_task_new(m->pool, &p->p, tess_target_text(m->target),
                                    &m->policy, &m->task, &m->err),
                   TESS_OK);
}

void measured_take(measured *m, tess_program *p) {
  measured_task(m, p);
  tess_program_free(m->program);
  m->program = p;
}

/* ---- programs ----------------------------------------------------------- */

static void measured_ok(tess_builder *b, tess_status s) {
  if (s) fail_msg("%s", tess_error(b->c)->message);
}

static tess_expr number(tess_builder *b, int64_t v) {
  tess_expr e;
  measured_ok(b, tess_int(b, (tess_dtype){TESS_DTYPE_INT, 64, 1}, v, &e));
  return e;
}

static tess_expr ref(tess_builder *b, tess_var v) {
  tess_expr e;
  measured_ok(b, tess_var_ref(b, v, &e));
  return e;
}

static tess_expr measured_load(tess_builder *b, tess_buffer x, tess_expr i,
                               tess_expr j) {
  tess_expr e, idx[] = {i, j};
  measured_ok(b, tess_load(b, x, j ? 2 : 1, idx, &e));
  return e;
}

static tess_program *measured_finish(tess_builder *b, uint32_t nin,
                                     const tess_buffer *in, tess_buffer out) {
  tess_program *p;
  measured_ok(b, tess_program_new(b, "kernel", nin, in, 1, &out, &p));
  tess_builder_free(b);
  return p;
}

tess_program *measured_matmul(tess_context *c, int64_t n) {
  tess_builder *b;
  tess_buffer in[2], mul, out;
  tess_var v[2], k;
  tess_expr x, zero, body;
  assert_int_equal(tess_builder_new(c, &b), TESS_OK);
  tess_expr shape[] = {number(b, n), number(b, n)};
  measured_ok(b,
              tess_placeholder(b, "A", F32, 2, shape, TESS_ROLE_INPUT, &in[0]));
  measured_ok(b,
              tess_placeholder(b, "B", F32, 2, shape, TESS_ROLE_INPUT, &in[1]));
  measured_ok(b, tess_reduce_axis(b, "k", number(b, 0), number(b, n), &k));
  measured_ok(b, tess_compute_begin(b, "C", 2, shape, NULL, v));
  measured_ok(
      b, tess_binary(b, "*", measured_load(b, in[0], ref(b, v[0]), ref(b, k)),
                     measured_load(b, in[1], ref(b, k), ref(b, v[1])), &x));
  measured_ok(b, tess_reduce(b, "sum", 1, &x, 1, &k, &body));
  measured_ok(b, tess_compute_end(b, 1, &body, &mul));
  measured_ok(b, tess_compute_begin(b, "D", 2, shape, NULL, v));
  measured_ok(b, tess_literal(b, 0, 1, &zero));
  measured_ok(b, tess_binary(b, "max",
                             measured_load(b, mul, ref(b, v[0]), ref(b, v[1])),
                             zero, &body));
  measured_ok(b, tess_compute_end(b, 1, &body, &out));
  return measured_finish(b, 2, in, out);
}

tess_program *measured_extern(tess_context *c, const char *fn, int64_t n) {
  tess_builder *b;
  tess_buffer in, out;
  tess_var v;
  tess_expr body;
  assert_int_equal(tess_builder_new(c, &b), TESS_OK);
  tess_expr shape = number(b, n);
  measured_ok(b,
              tess_placeholder(b, "A", F32, 1, &shape, TESS_ROLE_INPUT, &in));
  measured_ok(b, tess_compute_begin(b, "B", 1, &shape, NULL, &v));
  tess_expr x = measured_load(b, in, ref(b, v), 0);
  measured_ok(b, tess_call_extern(b, fn, F32, 1, &x, &body));
  measured_ok(b, tess_compute_end(b, 1, &body, &out));
  return measured_finish(b, 1, &in, out);
}

/* ---- schedules ---------------------------------------------------------- */

tess_rv measured_call(tess_schedule *s, const char *prim, uint32_t n,
                      const tess_arg *args) {
  tess_rv out[16] = {0};
  uint32_t nout;
  if (tess_schedule_call(s, prim, n, args, 16, out, &nout, NULL))
    fail_msg("%s", tess_error(s->c)->message);
  return out[0];
}

tess_rv measured_block(tess_schedule *s, const char *name) {
  tess_arg a = {"name", {.kind = TESS_V_STR, .s = name}};
  return measured_call(s, "get_block", 1, &a);
}

tess_rv measured_loop(tess_schedule *s, const char *block) {
  tess_arg a = {"block", {.kind = TESS_V_RV, .rv = measured_block(s, block)}};
  return measured_call(s, "get_loops", 1, &a);
}

tess_schedule *measured_parallel(measured *m, const char *block) {
  tess_schedule *s;
  assert_null(m->parallel);
  assert_int_equal(tess_schedule_new(m->program, NULL, 1, &s), TESS_OK);
  tess_arg a = {"loop", {.kind = TESS_V_RV, .rv = measured_loop(s, block)}};
  measured_call(s, "parallel", 1, &a);
  return m->parallel = s;
}

/* ---- measuring ---------------------------------------------------------- */

tess_status measured_build(measured *m, tess_schedule *s, measure_build *out) {
  measure_candidate c = {.trace = s ? &s->s.trace : NULL};
  measure_build_batch(m->pool, m->task, 1, &c, out);
  if (out->status) err_set(&m->err, out->status, "%s", str_get(&out->message));
  return out->status;
}

const strbuf *measured_code(measured *m, tess_schedule *s) {
  measure_build_free(&m->build);
  if (measured_build(m, s, &m->build)) fail_msg("%s", m->err.message);
  return &m->build.code;
}

tess_status measured_run(measured *m, tess_schedule *s, measure_check check,
                         measure_result *out) {
  measure_build b;
  *out = (measure_result){.status = TESS_OK};
  tess_status status = measured_build(m, s, &b);
  if (!status) {
    measure_request r = {.code = &b.code, .check = check};
    status = measure_run(m->pool, m->task, &r, out);
    err_clear(&m->err);
    if (status) err_set(&m->err, status, "%s", str_get(&out->message));
  }
  measure_build_free(&b);
  return status;
}

void measured_says(const measured *m, const char *part) {
  if (!strstr(m->err.message, part))
    fail_msg("'%s' does not say '%s'", m->err.message, part);
}
