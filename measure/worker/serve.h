/* SPDX-License-Identifier: Apache-2.0
 * The worker's side of a pool's messages: what the programs share that perform
 * jobs for one, tessera-worker and tessera-run.
 *
 * Like their mains this is of programs, not of the library: what a signal
 * handler needs is static. */
#ifndef MEASURE_WORKER_SERVE_H
#define MEASURE_WORKER_SERVE_H

#include "measure/worker/frame.h"
#include "measure/worker/wire.h"

typedef struct server {
  int in, out; /* descriptors */
  mem_heap heap;
  arena scratch;
  strbuf body;
  frame_head head;
  job_state *state;
  /* Performs the requests that only some programs know; false: it does not know
   * it, or the request is malformed.  NULL: there are none. */
  bool (*more)(struct server *s);
} server;

/* Handles signals that kernels cause, ends the process with its host, even in
 * the middle of a kernel, and keeps what is written to a host that is gone from
 * ending it. */
void serve_begin(server *s, int in, int out);
/* Greets the host, with a problem or NULL, and serves its requests until it
 * ends the connection or sends an invalid one.  `note`: to be told, or "".
 * Returns what main returns. */
int serve_host(server *s, const char *problem, const char *note);
bool serve_send(server *s, frame_type type, const void *body, size_t n);
/* Frees the body. */
bool serve_send_body(server *s, frame_type type, strbuf *body);
/* The same for the result of a job.  One that is too long, or for which memory
 * ran out, is refused: the host learns that in its place. */
bool serve_answer(server *s, frame_type type, strbuf *body);

#endif
