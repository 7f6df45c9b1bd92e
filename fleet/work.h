/* SPDX-License-Identifier: Apache-2.0
 * Tasks, batches and results, and their JSON, which sessions and agents
 * exchange.  It is data of strangers: reading trusts nothing. */
#ifndef FLEET_WORK_H
#define FLEET_WORK_H

#include "base/json.h"
#include "measure/measure.h"

enum { FLEET_HASH = 65 }; /* bytes of a content's name, NUL included */

/* What the jobs of a workload share. */
typedef struct fleet_task {
  int64_t id;          /* of the fleet; 0: not known yet */
  const char *version; /* of the submitter's engine */
  const char *target;
  const char *program; /* names of contents: bytes of ir_save */
  const char *inputs;  /*   of tensors; NULL: they are drawn */
  measure_policy policy;
  bool check_all;
} fleet_task;

/* A candidate. */
typedef struct fleet_job {
  int64_t id;
  const char *trace; /* name of its JSON; NULL: the unscheduled program */
  bool given;        /* with these decisions, else the trace's own */
  const int64_t *decisions;
  uint32_t n;
  const char *object, *signature; /* of a build agent; NULL: not built yet */
  uint64_t program_hash;          /*   and what it said */
  double replay, lower, compile;
} fleet_job;

typedef enum fleet_kind {
  FLEET_MEASURE, /* build, time, check where it is the best */
  FLEET_COMPARE, /* build, check */
  FLEET_REMATCH  /* build all, time them interleaved */
} fleet_kind;
const char *fleet_kind_name(fleet_kind kind);

enum { FLEET_MOST_JOBS = 64 }; /* of a batch */

typedef struct fleet_batch {
  mem_heap *heap;
  json_t *json; /* has the texts */
  char id[24];
  const char *token;
  fleet_kind kind;
  double best; /* seconds, of a device as fast as the key's first; 0: none */
  double baseline; /* its reference kernel's seconds; 0: unknown */
  fleet_task task;
  uint32_t n;
  fleet_job job[FLEET_MOST_JOBS];
} fleet_batch;

/* INVALID: it is none, and e says what is wrong.  fleet_batch_free it whatever
 * is returned. */
tess_status fleet_read_batch(mem_heap *heap, const char *text, size_t n,
                             fleet_batch *out, err_state *e);
void fleet_batch_free(fleet_batch *b);

/* New references; NULL: out of memory. */
json_t *fleet_task_json(const fleet_task *t);
json_t *fleet_job_json(const char *trace, const int64_t *decisions,
                       uint32_t n);

/* What came of a job. */
typedef struct fleet_result {
  tess_status status;
  strbuf message;
  double seconds; /* median; as measured, or in a session normalised */
  bool checked;
  uint64_t program_hash;
  double replay, lower, compile;
  double *sample;
  uint32_t nsample;
  strbuf code;          /* of a build alone; not in the JSON */
  char device[128];     /* which measured it; "" where nobody knows */
  json_t *env;          /*   and its environment; NULL; borrowed */
} fleet_result;

/* Told of the result of job i of several; non-zero: no further ones. */
typedef int (*fleet_done)(void *ud, uint32_t i, fleet_result *r);

void fleet_result_init(fleet_result *r, mem_heap *heap);
void fleet_result_free(fleet_result *r);
/* Appends it; `reference`: seconds of the reference kernel, 0: unknown. */
tess_status fleet_write_result(const fleet_result *r, double reference,
                               strbuf *out);
/* The member of fleet.collect(); INVALID.  `v` lives as long as the result. */
tess_status fleet_read_result(const json_t *v, fleet_result *out, int64_t *job,
                              err_state *e);

#endif
