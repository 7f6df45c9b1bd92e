/* SPDX-License-Identifier: Apache-2.0
 * The pool's side of a worker process: starting, messages, ending.
 *
 * It is the leader of a process group of its own, so that the host's
 * terminal does not interrupt it, and ending it ends what it may have
 * started.  Nothing here waits, but worker_send for a reader that is busy and
 * worker_end for a process that was killed. */
#ifndef MEASURE_WORKER_WORKER_H
#define MEASURE_WORKER_WORKER_H

#include "measure/worker/frame.h"
#include "measure/worker/wire.h"
#include <sys/types.h>

typedef struct worker {
  mem_heap *heap;
  pid_t pid;                 /* 0: not running */
  int fd, log;               /* its socket; what it wrote to stderr */
  bool greeted;              /* the handshake is complete */
  bool remote;               /* it is a tessera-run */
  double started;            /* when, by clock_now() */
  uint32_t jobs;             /* done since then */
  bool confined;             /* to the cores that are not timed on */
  uint32_t residents;        /* tensors on devices that it has, of numbers */
  uint64_t first_resident;   /*   from this on, as the host counts; 0: none */
  job_ring programs, traces; /* the worker's caches */
  uint64_t inputs;           /* key of the contents that it has, or 0 */
  uint64_t reference;        /* key of the bench whose reference it has, or 0 */
  job_phase phase;
  bool has_crash;
  wire_crash crash; /* has_crash: the signal that ends it */
  uint64_t too_long; /* bytes of the job's message that worker_send refused; or
                      * 0 */
  strbuf fatal;     /* LLVM's last words */
  strbuf in;        /* a frame's head and body, as far as read */
} worker;

/* How one is started. */
typedef struct worker_program {
  const char *path;    /* of tessera-worker */
  const char *externs; /* NULL: none */
  bool sandboxed;
  const char *via; /* a command of the shell that starts tessera-run, whose
                    * standard streams are the connection; NULL: `path` is
                    * started */
} worker_program;

void worker_init(worker *w, mem_heap *heap);
/* INFRA when it cannot be started. */
tess_status worker_start(worker *w, const worker_program *how, err_state *e);
/* Kills its process group and reaps it; returns its wait status, or -1 where
 * the host reaps children itself.  Received messages are kept. */
int worker_kill(worker *w);
/* The same, and resets the state: it can be started again. */
void worker_end(worker *w);
/* The same, for good. */
void worker_free(worker *w);

/* Sends a frame; INFRA: the worker has stopped reading.  NOMEM, LIMIT: memory
 * ran out while the body was serialized, or, where w->too_long is set, it is
 * too long for a frame; nothing was sent. */
tess_status worker_send(worker *w, frame_type type, const strbuf *body);

typedef enum worker_event {
  WORKER_WAITING, /* nothing complete is there */
  WORKER_FRAME,   /* *head, and its body behind it: worker_body() */
  WORKER_GONE,    /* its end of the socket is closed */
  WORKER_NOMEM,   /* there is no memory for what it sent */
  WORKER_BROKEN   /* it sent an invalid frame */
} worker_event;
/* Reads on. A frame must be dropped before the next call. */
worker_event worker_receive(worker *w, frame_head *head);
static inline const void *worker_body(const worker *w) {
  return w->in.v + FRAME_HEAD;
}
void worker_drop_frame(worker *w);

/* What it sent in the place of a frame, as far as it is a line of text; "": it
 * is none. */
void worker_nonsense(const worker *w, char *out, size_t n);
/* The last line that it wrote to stderr; "" when it wrote none. */
void worker_last_words(const worker *w, char *out, size_t n);

/* The path of the worker's executable: the option worker_path, else the
 * environment variable TESSERA_WORKER, else the first that exists beside the
 * library (or the program that contains it) or at the configured place of
 * installation.  TESS_INFRA: there is none, and the error names the paths that
 * were tried. */
tess_status worker_find(const char *given, char *out, size_t n, err_state *e);

#endif
