/* SPDX-License-Identifier: Apache-2.0
 * A host whose threads run one saved model at once, each in memory of its own:
 * all give what one gave alone, and where the memory is the caller's no more is
 * asked for. */
#include "model.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, RUNS = 50 };

static void *in[model_inputs], *want[model_outputs];

static void *give_none(void *ud, uint64_t bytes, uint64_t align) {
  (void)ud, (void)bytes, (void)align;
  return NULL;
}

static void take_none(void *ud, void *ptr) { (void)ud, (void)ptr; }

static int run(void *const *out, void *memory) {
  const tess_runtime none = {
      .struct_size = sizeof none, .alloc = give_none, .free = take_none};
  for (int i = 0; i < model_outputs; i++)
    memset(out[i], 0, model_output[i].bytes);
  return model((const void *const *)in, out, memory, memory ? &none : NULL);
}

static void allocate(void **out) {
  for (int i = 0; i < model_outputs; i++)
    out[i] = malloc(model_output[i].bytes);
}

/* Memory is the caller's in one half of the runs. */
static void *run_often(void *ud) {
  void *out[model_outputs];
  void *memory = aligned_alloc(64, (model_memory + 64) / 64 * 64);
  long wrong = 0;
  (void)ud;
  allocate(out);
  for (int r = 0; r < RUNS; r++) {
    wrong += run(out, r % 2 ? memory : NULL) != 0;
    for (int i = 0; i < model_outputs; i++)
      wrong += memcmp(out[i], want[i], model_output[i].bytes) != 0;
  }
  for (int i = 0; i < model_outputs; i++) free(out[i]);
  free(memory);
  return (void *)wrong;
}

int main(void) {
  pthread_t thread[THREADS];
  long wrong = 0;
  for (int i = 0; i < model_inputs; i++) {
    in[i] = malloc(model_input[i].bytes);
    memset(in[i], 0x3e, model_input[i].bytes); /* 0.186 in float32 */
  }
  allocate(want);
  if (run(want, NULL)) return 1;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, run_often, NULL)) return 1;
  for (int i = 0; i < THREADS; i++) {
    void *result;
    pthread_join(thread[i], &result);
    wrong += (long)result;
  }
  if (wrong) printf("%ld are wrong\n", wrong);
  for (int i = 0; i < model_inputs; i++) free(in[i]);
  for (int i = 0; i < model_outputs; i++) free(want[i]);
  return wrong != 0;
}
