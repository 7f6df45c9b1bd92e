/* SPDX-License-Identifier: Apache-2.0
 * A host that knows the installed library only: it compiles B = A + 1 in a
 * worker (whose path is the argument, where the library cannot tell), runs it,
 * and tunes it in the default space. */
#include <tessera/tessera.h>

#include <stdio.h>

static int fail(tess_context *c) {
  printf("%s\n", tess_error(c)->message);
  return 1;
}

static tess_program *consumer_describe(tess_context *c) {
  static const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                          i64 = {TESS_DTYPE_INT, 64, 1};
  tess_builder *b;
  tess_program *p = NULL;
  tess_buffer in, out;
  tess_expr n, i, x, one;
  tess_var v;
  if (tess_builder_new(c, &b)) return NULL;
  if (!tess_int(b, i64, 16, &n) &&
      !tess_placeholder(b, "A", f32, 1, &n, TESS_ROLE_INPUT, &in) &&
      !tess_compute_begin(b, "B", 1, &n, NULL, &v) && !tess_var_ref(b, v, &i) &&
      !tess_load(b, in, 1, &i, &x) && !tess_literal(b, 1, 1, &one) &&
      !tess_binary(b, "+", x, one, &x) && !tess_compute_end(b, 1, &x, &out))
    tess_program_new(b, "add_one", 1, &in, 1, &out, &p);
  tess_builder_free(b);
  return p;
}

static int compile_and_run(tess_context *c, tess_program *p) {
  static const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  const int64_t n = 16, last = 15;
  tess_tensor *t[2];
  tess_kernel *k;
  double v = 0;
  if (!p || tess_build(p, NULL, &k)) return fail(c);
  if (tess_tensor_new(c, f32, 1, &n, "zeros", 0, &t[0]) ||
      tess_tensor_new(c, f32, 1, &n, "zeros", 0, &t[1]) ||
      tess_kernel_run(k, 2, t) || tess_tensor_get(t[1], &last, &v))
    return fail(c);
  tess_tensor_free(t[0]);
  tess_tensor_free(t[1]);
  tess_kernel_free(k);
  return v != 1;
}

static int consumer_tune(tess_context *c, tess_program *p) {
  const tess_tune_options o = {
      .struct_size = sizeof o, .trials = 2, .min_time = 0.001};
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  if (tess_tune(p, NULL, NULL, &o, &r) || tess_result_get(r, &info))
    return fail(c);
  if (info.status != TESS_OK) printf("%s", info.funnel);
  tess_result_free(r);
  return info.status != TESS_OK;
}

int main(int argc, char **argv) {
  tess_context *c;
  tess_options o = {.struct_size = sizeof o,
                    .worker_path = argc > 1 ? argv[1] : NULL};
  if (tess_context_new(&o, &c) != TESS_OK) return 1;
  tess_program *p = consumer_describe(c);
  int failed = compile_and_run(c, p) || consumer_tune(c, p);
  tess_program_free(p);
  tess_context_free(c);
  if (!failed) printf("tessera %s\n", tess_version());
  return failed;
}
