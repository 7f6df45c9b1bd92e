/* SPDX-License-Identifier: Apache-2.0
 * For those who embed Tessera: describes a matrix product, schedules it with
 * open choices, tunes it and runs the kernel found; no Lua anywhere.
 *
 *   cc examples/embed.c $(pkg-config --cflags --libs tessera) -o embed
 *   ./embed [TRIALS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <tessera/primitives.h>
#include <tessera/tessera.h>

enum { N = 256 };

static tess_context *ctx;

/* Every failing call leaves a message in the context. */
static void check(tess_status s) {
  if (s == TESS_OK) return;
  fprintf(stderr, "embed: %s\n", tess_error(ctx)->message);
  exit(1);
}

/* C[i, j] = sum over k of A[i, k] * B[k, j] */
static tess_program *embed_describe(void) {
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                   i64 = {TESS_DTYPE_INT, 64, 1};
  tess_builder *b;
  tess_program *p;
  tess_expr n, zero, i, j, k, a, x, sum;
  tess_var axis, v[2];
  tess_buffer A, B, C;
  check(tess_builder_new(ctx, &b));
  check(tess_int(b, i64, N, &n));
  check(tess_int(b, i64, 0, &zero));
  tess_expr shape[2] = {n, n};
  check(tess_placeholder(b, "A", f32, 2, shape, TESS_ROLE_INPUT, &A));
  check(tess_placeholder(b, "B", f32, 2, shape, TESS_ROLE_INPUT, &B));
  check(tess_reduce_axis(b, "k", zero, n, &axis));
  check(tess_compute_begin(b, "C", 2, shape, NULL, v));
  check(tess_var_ref(b, v[0], &i));
  check(tess_var_ref(b, v[1], &j));
  check(tess_var_ref(b, axis, &k));
  check(tess_load(b, A, 2, (tess_expr[]){i, k}, &a));
  check(tess_load(b, B, 2, (tess_expr[]){k, j}, &x));
  check(tess_binary(b, "*", a, x, &x));
  check(tess_reduce(b, "sum", 1, &x, 1, &axis, &sum));
  check(tess_compute_end(b, 1, &sum, &C));
  check(tess_program_new(b, "matmul", 2, (tess_buffer[]){A, B}, 1, &C, &p));
  tess_builder_free(b);
  return p;
}

/* ---- scheduling --------------------------------------------------------- */

/* A module that schedules the whole program: i0 j0 k i1 j1, the outermost
 * loop in parallel, the innermost in vectors; how i and j are cut is left
 * open. */
static tess_status schedule(void *ud, tess_schedule *s, tess_rv root,
                            void (*emit)(void *sink, tess_schedule *s),
                            void *sink, const char **why) {
  tess_rv c, loop[3], size[2] = {0}, i[2] = {0}, j[2] = {0};
  uint32_t n;
  (void)ud, (void)root, (void)why;
  tess_status st = tess_sch_get_block(s, "C", &c);
  if (!st) st = tess_sch_get_loops(s, c, 3, loop, &n);
  if (!st) st = tess_sch_sample_perfect_tile(s, loop[0], 2, size);
  tess_value cut_i[] = {tess_v_rv(size[0]), tess_v_rv(size[1])};
  if (!st) st = tess_sch_split(s, loop[0], 2, cut_i, i);
  if (!st) st = tess_sch_sample_perfect_tile(s, loop[1], 2, size);
  tess_value cut_j[] = {tess_v_rv(size[0]), tess_v_rv(size[1])};
  if (!st) st = tess_sch_split(s, loop[1], 2, cut_j, j);
  const tess_rv order[] = {i[0], j[0], loop[2], i[1], j[1]};
  if (!st) st = tess_sch_reorder(s, 5, order);
  if (!st) st = tess_sch_decompose_reduction(s, c, loop[2], NULL);
  if (!st) st = tess_sch_parallel(s, i[0]);
  if (!st) st = tess_sch_vectorize(s, j[1]);
  if (!st) emit(sink, s);
  return st; /* one that fails is told, with what tess_error has of it */
}

/* ---- running ------------------------------------------------------------ */

static int progress(void *ud, const tess_progress *p) {
  (void)ud;
  if (p->trials % 16 == 0) fprintf(stderr, "%s\n", p->text);
  return 0; /* anything else ends the run with the best so far */
}

int main(int argc, char **argv) {
  check(tess_context_new(NULL, &ctx));
  tess_program *program = embed_describe();
  tess_target *target;
  tess_space *space;
  tess_result *result;
  tess_result_info info = TESS_INIT(tess_result_info);
  check(tess_target_new(ctx, "llvm", &target));
  tess_module by_hand = {
      .struct_size = sizeof by_hand, .name = "by hand", .apply = schedule};
  check(tess_space_function(ctx, &by_hand, &space));
  tess_tune_options options = {.struct_size = sizeof options,
                               .seed = 1,
                               .trials =
                                   argc > 1 ? (uint32_t)atoi(argv[1]) : 64,
                               .progress = progress};
  check(tess_tune(program, target, space, &options, &result));
  check(tess_result_get(result, &info));
  if (info.status != TESS_OK) {
    fprintf(stderr, "embed: nothing valid was found:\n%s", info.funnel);
    return 1;
  }
  printf("found %.1f GFLOP/s\n", info.gflops);

  tess_trace *trace;
  char *text;
  check(tess_result_trace(result, &trace));
  check(tess_trace_lua(trace, &text));
  puts(text);
  tess_text_free(ctx, text);

  tess_kernel *kernel;
  tess_tensor *a, *b, *c;
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  const int64_t shape[] = {N, N};
  double got, x, y, want = 0;
  check(tess_tensor_new(ctx, f32, 2, shape, "random", 1, &a));
  check(tess_tensor_new(ctx, f32, 2, shape, "random", 2, &b));
  check(tess_tensor_new(ctx, f32, 2, shape, "zeros", 0, &c));
  for (int64_t k = 0; k < N; k++) { /* what C[3, 5] has to be */
    check(tess_tensor_get(a, (int64_t[]){3, k}, &x));
    check(tess_tensor_get(b, (int64_t[]){k, 5}, &y));
    want += x * y;
  }
  check(tess_result_kernel(result, &kernel));
  check(tess_kernel_run(kernel, 3, (tess_tensor *[]){a, b, c}));
  check(tess_tensor_get(c, (int64_t[]){3, 5}, &got));
  printf("C[3, 5] is %s\n",
         got - want < 1e-2 && want - got < 1e-2 ? "right" : "wrong");

  tess_kernel_free(kernel);
  tess_trace_free(trace);
  tess_tensor_free(a);
  tess_tensor_free(b);
  tess_tensor_free(c);
  tess_result_free(result);
  tess_space_free(space);
  tess_target_free(target);
  tess_program_free(program);
  tess_context_free(ctx);
  return 0;
}
