/* SPDX-License-Identifier: Apache-2.0
 * State of software pipelining: a loop whose statements are assigned to
 * stages.
 *
 *     for k: { A(k); B(k) }          stages 0, 1
 * becomes
 *     A(lo);  for k: { A(k + 1); B(k) }  B(last)
 *
 * Statement i of iteration k runs at time k + stage[i]; at one time, in the
 * order of order[i]. */
#ifndef LOWER_PIPELINE_PIPELINE_H
#define LOWER_PIPELINE_PIPELINE_H

#include "lower/pass.h"

/* An access by a statement to a buffer that is allocated outside of it. */
typedef struct pipe_access {
  uint32_t by;             /* which of the statements */
  bool writes;
  ir_stmt at;              /* the statement with it */
  ir_buf buf;
  ir_span idx;
} pipe_access;

/* A private buffer of an iteration, of which several versions are live. */
typedef struct pipe_buffer {
  ir_buf buf, made;        /* made: with a dimension for the versions */
  int64_t versions;
} pipe_buffer;

typedef struct pipe {
  ir_program *p;
  arena *scratch;
  err_state *e;
  ir_stmt loop;
  uint32_t n;              /* statements */
  ir_stmt *stmt;
  int64_t *stage, *order;
  uint32_t *in_order;      /* position -> statement */
  int64_t last;            /* the greatest stage */
  bool *async;             /* statement -> is a copy that goes on while others
                            * run; NULL: there is none */
  uint32_t nbuf;
  pipe_buffer *buf;
  uint32_t naccess;
  pipe_access *access;
} pipe;

/* Finds the accesses of its statements (pipeline_deps.c). */
void lower_pipe_accesses(pipe *x);
/* Does the order preserve all dependences?  Else x->e names one that is
 * reversed. */
bool lower_pipe_allowed(pipe *x);
/* How many versions of a private buffer are live at once. */
int64_t lower_pipe_versions(const pipe *x, ir_buf b);

/* Is the buffer one of those of the pipeline? */
bool lower_pipe_owns(const pipe *x, ir_buf b);

/* Can the statement be asynchronous (pipeline_async.c): does it only copy to
 * shared memory? */
bool lower_pipe_is_copy(const pipe *x, uint32_t i);
/* How many groups of copies may be in flight when statement i runs in the loop:
 * those committed after the last one it depends on; -1: it depends on none. */
int64_t lower_pipe_in_flight(const pipe *x, uint32_t i);
/* Is a buffer that is live after the loop copied asynchronously? */
bool lower_pipe_async_escapes(const pipe *x);
/* Statement i of one iteration runs before j of one `distance` later. */
bool lower_pipe_runs_before(const pipe *x, uint32_t i, uint32_t j,
                            int distance);

/* The loop becomes prologue, loop and epilogue (pipeline_emit.c). */
void lower_pipe_emit(pipe *x);

#endif
