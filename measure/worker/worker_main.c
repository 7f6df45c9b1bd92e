/* SPDX-License-Identifier: Apache-2.0
 * tessera-worker: compiles and runs candidates for a pool, so that a crash or
 * hang of a candidate ends this process and not the host's.
 *
 *   tessera-worker [EXTERNS [sandbox]]
 *
 * File descriptor 3 is a socket that speaks frames (measure/worker/frame.h).
 * EXTERNS, or where it is absent or empty the environment's TESSERA_EXTERNS, is
 * a shared object whose functions programs may call by name.  With `sandbox`
 * the worker gives up what candidates do not need (measure/worker/sandbox.h).
 * It ends when the other end of the socket does. */
#include "backends/backend.h"
#include "measure/externs.h"
#include "measure/worker/sandbox.h"
#include "measure/worker/serve.h"
#include <string.h>

enum { SOCKET = 3 };

static server host;

static void on_fatal(const char *message) {
  serve_send(&host, FRAME_FATAL, message, strlen(message));
}

static bool do_build(server *s) {
  job_build r;
  measure_build out;
  strbuf body;
  if (!wire_read_build(s->body.v, s->body.n, &s->scratch, &r)) return false;
  job_do_build(s->state, &r, &out);
  str_init(&body, &s->heap);
  wire_write_built(&body, &out);
  measure_build_free(&out);
  return serve_answer(s, FRAME_BUILT, &body);
}

static bool do_reference(server *s) {
  job_bench r;
  job_reference out;
  strbuf body;
  if (!wire_read_bench(s->body.v, s->body.n, &r)) return false;
  job_do_reference(s->state, &r, &out);
  str_init(&body, &s->heap);
  wire_write_reference(&body, &out);
  job_reference_free(&out);
  return serve_answer(s, FRAME_REFERRED, &body);
}

static bool do_compiling(server *s) {
  switch (s->head.type) {
  case FRAME_BUILD: return do_build(s);
  case FRAME_REFERENCE: return do_reference(s);
  default: return false;
  }
}

int main(int argc, char **argv) {
  const char *unable;
  if (argc > 3) return 2;
  serve_begin(&host, SOCKET, SOCKET);
  host.more = do_compiling;
  backend_on_fatal(on_fatal);
  const char *problem = externs_load(argc > 1 && *argv[1] ? argv[1] : NULL);
  if (argc == 3 && !sandbox_enter(&unable)) problem = unable;
  return serve_host(&host, problem, "");
}
