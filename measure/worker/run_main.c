/* SPDX-License-Identifier: Apache-2.0
 * tessera-run: runs and times kernels that were compiled elsewhere, on a device
 * that has nothing else of Tessera; a static program.
 *
 *   tessera-run
 *
 * Standard input and output speak frames (measure/worker/frame.h), so whatever
 * starts a program on the device and carries its standard streams drives it:
 * ssh, adb, an emulator.  It always works in the sandbox, where the system has
 * one, and ends when its input does.
 *
 * Below is what it has in the place of files that need libraries. */
#include "backends/elf/elf.h"
#include "measure/cores.h"
#include "measure/worker/job_state.h"
#include "measure/worker/sandbox.h"
#include "measure/worker/serve.h"
#include <unistd.h>

const backend *const backend_table[] = {&elf_backend, NULL};

void job_builder_start(job_state *j) { (void)j; }
void job_builder_free(job_state *j) { (void)j; }
tess_status job_put_trace(job_state *j, uint32_t at, job_bytes b) {
  (void)b;
  return j->trace_is[at] =
             err_set(&j->err, TESS_UNSUPPORTED, "this program builds nothing");
}

/* The first of the allowed processors. */
bool cores_pin(uint32_t threads, const cpu_set_t *allowed) {
  cpu_set_t some;
  CPU_ZERO(&some);
  for (uint32_t i = 0; i < CPU_SETSIZE && threads; i++) {
    if (!CPU_ISSET(i, allowed)) continue;
    CPU_SET(i, &some);
    threads--;
  }
  return !sched_setaffinity(0, sizeof some, threads ? allowed : &some) &&
         !threads;
}

int main(void) {
  static server host;
  const char *unable = "";
  /* What a kernel prints is no message. */
  int out = dup(STDOUT_FILENO);
  if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 2;
  serve_begin(&host, STDIN_FILENO, out);
  if (sandbox_enter(&unable)) unable = "";
  return serve_host(&host, NULL, unable);
}
