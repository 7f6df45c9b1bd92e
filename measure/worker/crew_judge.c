/* SPDX-License-Identifier: Apache-2.0
 * What a worker's end says of the job that it was at. */
#include "measure/worker/crew.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static bool is_fault(int sig) {
  return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
         sig == SIGABRT || sig == SIGTRAP || sig == SIGSYS;
}

static const char *signal_name(int sig) {
  const char *name = sigabbrev_np(sig);
  return name ? name : "?";
}

/* ": 4 bytes behind 'C'" */
static void describe_hit(const wire_crash *c, char *out, size_t n) {
  const char *bytes = c->distance == 1 ? "byte" : "bytes";
  unsigned long long d = (unsigned long long)c->distance;
  out[0] = '\0';
  switch ((guard_hit)c->hit) {
  case GUARD_MISSED: break;
  case GUARD_BEFORE:
    snprintf(out, n, ": %llu %s before '%s' (guard page)", d, bytes, c->name);
    break;
  case GUARD_BEHIND:
    snprintf(out, n, ": %llu %s past the end of '%s' (guard page)", d, bytes,
             c->name);
    break;
  case GUARD_INSIDE:
    snprintf(out, n, ": it wrote to '%s', an input, at byte %llu", c->name, d);
  }
}

static tess_status classify_fault(const worker *w, int sig, char *why,
                                  size_t n) {
  char where[160] = "";
  if (w->has_crash) describe_hit(&w->crash, where, sizeof where);
  switch (w->phase) {
  case JOB_BUILDING:
    snprintf(why, n, "the compiler crashed: SIG%s", signal_name(sig));
    return TESS_BUILD_ERROR;
  case JOB_LOADING:
    snprintf(why, n, "loading the kernel crashed: SIG%s", signal_name(sig));
    return TESS_LAUNCH_ERROR;
  case JOB_RUNNING:
  case JOB_SAMPLING:
    snprintf(why, n, "the kernel crashed: SIG%s%s", signal_name(sig), where);
    return TESS_CRASHED;
  default:
    snprintf(why, n, "the worker crashed: SIG%s", signal_name(sig));
    return TESS_INFRA;
  }
}

static tess_status classify_exit(const worker *w, int status, char *why,
                                 size_t n) {
  char words[256];
  worker_last_words(w, words, sizeof words);
  const char *colon = words[0] ? ": " : "";
  switch (w->phase) {
  case JOB_BUILDING:
    snprintf(why, n, "fatal error of the compiler%s%s", colon, words);
    return TESS_BUILD_ERROR;
  case JOB_LOADING:
    snprintf(why, n, "loading the kernel ended its process%s%s", colon, words);
    return TESS_LAUNCH_ERROR;
  case JOB_RUNNING:
  case JOB_SAMPLING:
    snprintf(why, n, "the kernel ended its process with status %d", status);
    return TESS_CRASHED;
  default:
    snprintf(why, n, "the %s ended with status %d%s%s",
             w->remote ? "runner" : "worker", status, colon, words);
    return TESS_INFRA;
  }
}

tess_status crew_judge(const worker *w, int status, char *why, size_t n) {
  const char *fatal = w->fatal.n ? str_get(&w->fatal) : NULL;
  if (fatal && (w->phase == JOB_BUILDING || w->phase == JOB_LOADING)) {
    snprintf(why, n, "LLVM: %s", fatal);
    return TESS_BUILD_ERROR;
  }
  if (fatal && crew_is_running(w->phase)) {
    snprintf(why, n, "%s", fatal);
    return TESS_CRASHED;
  }
  int sig = status != -1 && WIFSIGNALED(status) ? WTERMSIG(status)
            : w->has_crash                      ? (int)w->crash.signal
                                                : 0;
  if (is_fault(sig)) return classify_fault(w, sig, why, n);
  if (sig) {
    snprintf(why, n, "the worker was killed: SIG%s", signal_name(sig));
    return TESS_INFRA;
  }
  if (status != -1 && WIFEXITED(status))
    return classify_exit(w, WEXITSTATUS(status), why, n);
  snprintf(why, n, "the worker was lost");
  return TESS_INFRA;
}
