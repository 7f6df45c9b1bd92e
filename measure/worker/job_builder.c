/* SPDX-License-Identifier: Apache-2.0
 * The state that compiling needs between jobs: traces, and the machine that
 * replays them. */
#include "measure/worker/job_builder.h"
#include "vm/text/text.h"
#include <string.h>

void job_builder_start(job_state *j) {
  job_builder *b = j->builder = mem_new(&j->heap, job_builder);
  memset(b, 0, sizeof *b);
  for (int i = 0; i < JOB_KEPT; i++) vm_trace_init(&b->trace[i], &j->heap);
  vm_machine_init(&b->machine, &j->heap);
  ir_program_init(&b->convert, &j->heap);
}

void job_builder_free(job_state *j) {
  job_builder *b = j->builder;
  if (!b) return;
  for (int i = 0; i < JOB_KEPT; i++) vm_trace_free(&b->trace[i]);
  ir_program_free(&b->convert);
  vm_machine_free(&b->machine);
  mem_delete(&j->heap, b);
}

tess_status job_put_trace(job_state *j, uint32_t at, job_bytes b) {
  j->trace_is[at] = TESS_NOMEM; /* if it unwinds */
  tess_status s = vm_read_json(&j->builder->trace[at], b.v, b.n, NULL, &j->err);
  return j->trace_is[at] = s;
}

const vm_trace *job_trace(job_state *j, uint64_t key) {
  uint32_t at = job_ring_find(&j->traces, key);
  if (at < JOB_KEPT && !j->trace_is[at]) return &j->builder->trace[at];
  job_set_missing(j, at, j->trace_is, "trace");
  return NULL;
}
