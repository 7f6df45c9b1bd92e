/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a message between a pool and a worker: refused, or parsed to a
 * message that serializes to the same bytes.  The first byte selects the
 * message. */
#include "fuzz/fuzz.h"

#include "measure/worker/frame.h"
#include "measure/worker/wire.h"

#include <string.h>

typedef struct input {
  const uint8_t *at;
  size_t n;
  mem_heap heap;
  arena scratch;
  strbuf again;
} input;

static void wire_same(const input *x) {
  FUZZ_ASSERT(x->again.n == x->n);
  FUZZ_ASSERT(!memcmp(x->again.v, x->at, x->n));
}

static void requests(input *x, unsigned which) {
  static job_run run;
  wire_put put;
  job_build build;
  job_bench bench;
  if (which == FRAME_PUT && wire_read_put(x->at, x->n, &put)) {
    wire_write_put(&x->again, &put);
    wire_same(x);
  }
  if (which == FRAME_BUILD &&
      wire_read_build(x->at, x->n, &x->scratch, &build)) {
    wire_write_build(&x->again, &build);
    wire_same(x);
  }
  if (which == FRAME_REFERENCE && wire_read_bench(x->at, x->n, &bench)) {
    wire_write_bench(&x->again, &bench);
    wire_same(x);
  }
  if (which == FRAME_RUN && wire_read_run(x->at, x->n, &run)) {
    wire_write_run(&x->again, &run);
    wire_same(x);
  }
}

static void built(input *x) {
  measure_build b = {.status = TESS_OK};
  str_init(&b.message, &x->heap);
  str_init(&b.code, &x->heap);
  if (wire_read_built(x->at, x->n, &b)) {
    wire_write_built(&x->again, &b);
    wire_same(x);
  }
  measure_build_free(&b);
}

static void referred(input *x) {
  job_reference r = {.status = TESS_OK};
  str_init(&r.message, &x->heap);
  str_init(&r.note, &x->heap);
  str_init(&r.outputs, &x->heap);
  if (wire_read_reference(x->at, x->n, &r)) {
    wire_write_reference(&x->again, &r);
    wire_same(x);
  }
  job_reference_free(&r);
}

static void ran(input *x) {
  measure_result r = {.status = TESS_OK};
  job_times t;
  str_init(&r.message, &x->heap);
  if (wire_read_ran(x->at, x->n, &x->heap, 1, &r, &t)) {
    wire_write_ran(&x->again, 1, &r, &t);
    wire_same(x);
  }
  measure_result_free(&r);
}

static void notices(input *x, unsigned which) {
  wire_hello hello;
  wire_crash crash;
  wire_refusal refusal;
  job_phase phase;
  if (which == FRAME_HELLO && wire_read_hello(x->at, x->n, &hello))
    FUZZ_ASSERT(strlen(hello.version) < x->n);
  if (which == FRAME_PHASE && wire_read_phase(x->at, x->n, &phase))
    FUZZ_ASSERT(phase <= JOB_CHECKING);
  if (which == FRAME_REFUSED && wire_read_refused(x->at, x->n, &refusal))
    FUZZ_ASSERT(refusal.status != TESS_OK && strlen(refusal.why) < x->n);
  if (which == FRAME_CRASH && wire_read_crash(x->at, x->n, &crash))
    FUZZ_ASSERT(strlen(crash.name) < sizeof crash.name);
}

static tess_status read_all(void *ud) {
  input *x = ud;
  unsigned which = *x->at++ % FRAME_TYPES;
  x->n--;
  frame_head h;
  if (x->n >= FRAME_HEAD && frame_get_head(x->at, &h))
    FUZZ_ASSERT(h.type < FRAME_TYPES && h.length <= FRAME_MAX);
  requests(x, which);
  notices(x, which);
  if (which == FRAME_BUILT) built(x);
  if (which == FRAME_REFERRED) referred(x);
  if (which == FRAME_RAN) ran(x);
  return TESS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input x = {.at = data, .n = size};
  if (!size) return 0;
  mem_heap_init(&x.heap, mem_default_allocator, 0);
  arena_init(&x.scratch, &x.heap);
  str_init(&x.again, &x.heap);
  mem_protect(&x.heap, read_all, &x);
  str_free(&x.again);
  arena_free(&x.scratch);
  FUZZ_ASSERT(x.heap.used == 0);
  return 0;
}
