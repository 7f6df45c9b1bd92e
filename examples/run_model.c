/* SPDX-License-Identifier: Apache-2.0
 * Runs a model that was saved as a shared library, without Tessera:
 *   tessera model net.onnx -o model.so --header model.h
 *   cc -I. examples/run_model.c ./model.so -o run_model && ./run_model
 * Inputs are 0.00, 0.25, 0.50, 0.75, 0.00, ..; of each output it prints the
 * sum. */
#include "model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(const tess_saved_tensor *t, void *data) {
  memset(data, 0, t->bytes);
  if (!strcmp(t->dtype, "float32"))
    for (uint64_t i = 0; i < t->bytes / 4; i++)
      ((float *)data)[i] = (float)(i % 4) * 0.25f;
}

/* Element i of a tensor of any of the types that models mostly have. */
static double read_number(const char *dtype, const void *data, uint64_t i) {
  if (!strcmp(dtype, "float32")) return ((const float *)data)[i];
  if (!strcmp(dtype, "float64")) return ((const double *)data)[i];
  if (!strcmp(dtype, "int64")) return (double)((const int64_t *)data)[i];
  if (!strcmp(dtype, "int32")) return ((const int32_t *)data)[i];
  if (!strcmp(dtype, "int8")) return ((const int8_t *)data)[i];
  return ((const uint8_t *)data)[i]; /* uint8, bool, .. */
}

static void print_sum(const tess_saved_tensor *t, const void *data) {
  double sum = 0;
  uint64_t n = 1;
  for (int32_t d = 0; d < t->ndim; d++) n *= (uint64_t)t->shape[d];
  for (uint64_t i = 0; i < n; i++) sum += read_number(t->dtype, data, i);
  printf("%s %.6g\n", t->name, sum);
}

int main(void) {
  void *in[model_inputs], *out[model_outputs];
  void *memory = aligned_alloc(64, model_memory + 64);
  for (int i = 0; i < model_inputs; i++) {
    in[i] = malloc(model_input[i].bytes);
    fill(&model_input[i], in[i]);
  }
  for (int i = 0; i < model_outputs; i++)
    out[i] = malloc(model_output[i].bytes);
  int32_t status = model((const void *const *)in, out, memory, NULL);
  if (status) fprintf(stderr, "the model returned %d\n", status);
  for (int i = 0; i < model_outputs && !status; i++)
    print_sum(&model_output[i], out[i]);
  for (int i = 0; i < model_inputs; i++) free(in[i]);
  for (int i = 0; i < model_outputs; i++) free(out[i]);
  free(memory);
  return status != 0;
}
