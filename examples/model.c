/* SPDX-License-Identifier: Apache-2.0
 * For hosts of whole models: reads an ONNX file, tunes its kernels, runs it and
 * saves it as a library.
 *
 *   cc examples/model.c $(pkg-config --cflags --libs tessera) -o model
 *   ./model FILE.onnx SIZE EXTENT TRIALS SAVED.so
 *
 * SIZE is the name of a size that the file leaves open, "batch" say.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>

enum { MOST = 16 };

static tess_context *ctx;

/* Every failing call leaves a message in the context. */
static void check(tess_status s) {
  if (s == TESS_OK) return;
  fprintf(stderr, "model: %s\n", tess_error(ctx)->message);
  exit(1);
}

/* A tensor for an input or an output of the graph. */
static tess_tensor *tensor_for(tess_graph *graph, tess_gvalue v) {
  tess_gvalue_info info = TESS_INIT(tess_gvalue_info);
  int64_t shape[MOST];
  tess_tensor *t;
  check(tess_graph_value(graph, v, &info));
  for (uint32_t d = 0; d < info.type.ndim; d++)
    shape[d] = info.type.dim[d].extent;
  check(tess_tensor_new(ctx, info.type.dtype, info.type.ndim, shape, "random",
                        v, &t));
  return t;
}

/* Runs it once: tensors of the inputs, then of the outputs. */
static void run_network(tess_graph *graph, tess_network *net) {
  const tess_gvalue *in, *out;
  tess_tensor *t[MOST];
  uint32_t ni = tess_graph_inputs(graph, &in);
  uint32_t no = tess_graph_outputs(graph, &out);
  if (ni + no > MOST) exit(1);
  for (uint32_t i = 0; i < ni; i++) t[i] = tensor_for(graph, in[i]);
  for (uint32_t i = 0; i < no; i++) t[ni + i] = tensor_for(graph, out[i]);
  check(tess_network_run(net, ni + no, t, NULL));
  for (uint32_t i = 0; i < no; i++)
    printf("%s has %" PRId64 " elements\n", tess_graph_output_name(graph, i),
           tess_tensor_size(t[ni + i]));
  for (uint32_t i = 0; i < ni + no; i++) tess_tensor_free(t[i]);
}

/* What was found for each kernel. */
static void tell(tess_tasks *tasks, tess_network *net) {
  const char *name;
  for (uint32_t k = 0; (name = tess_network_kernel(net, k)); k++) {
    tess_result *result;
    tess_result_info info = TESS_INIT(tess_result_info);
    check(tess_tasks_result(tasks, k, &result));
    check(tess_result_get(result, &info));
    printf("%s: %.4g us after %u trials\n", name, info.latency * 1e6,
           info.trials);
    tess_result_free(result);
  }
}

static int print_progress(void *ud, const tess_tasks_progress *p) {
  (void)ud;
  fprintf(stderr, "%s\n", p->text);
  return 0;
}

int main(int argc, char **argv) {
  tess_graph *graph;
  tess_network *net;
  tess_tasks *tasks;
  if (argc != 6) return 2;
  if (tess_context_new(NULL, &ctx) != TESS_OK) return 1;

  const int64_t extent = atoi(argv[3]);
  const tess_given size = {.struct_size = sizeof size,
                           .name = argv[2],
                           .ndim = 1,
                           .extent = &extent};
  check(tess_graph_import(ctx, argv[1], 1, &size, &graph));

  const tess_tune_options each = {.struct_size = sizeof each,
                                  .trials = (uint32_t)atoi(argv[4])};
  const tess_tasks_options options = {
      .struct_size = sizeof options, .tune = &each, .progress = print_progress};
  check(tess_graph_compile(graph, NULL, &options, &tasks, &net));
  tell(tasks, net);
  run_network(graph, net);
  check(tess_network_save(net, argv[5], NULL));

  tess_tasks_free(tasks);
  tess_network_free(net);
  tess_graph_free(graph);
  tess_context_free(ctx);
  return 0;
}
