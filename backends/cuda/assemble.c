/* SPDX-License-Identifier: Apache-2.0
 * Assembles PTX for the card of this machine by ptxas, where that is found.
 *
 * The driver would assemble a kernel when it is loaded, one after the other in
 * the worker that times, and a kernel of tensor cores takes it tenths of a
 * second; workers that compile run ptxas side by side.  What ptxas does not
 * take is left to the driver, which says why. */
#include "backends/cuda/kernel.h"
#include "backends/cuda/cuda.h"
#include "base/spawn.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_executable(char *out, size_t n, const char *folder, int length) {
  int m = snprintf(out, n, "%.*s%sptxas", length, folder, length ? "/" : "");
  return m > 0 && (size_t)m < n && access(out, X_OK) == 0;
}

/* TESSERA_PTXAS, which may be "" for none; else that of the PATH or of the
 * toolkit's usual folder. */
static void find_ptxas(char *out, size_t n) {
  const char *given = getenv("TESSERA_PTXAS"), *path = getenv("PATH");
  if (given) {
    if (snprintf(out, n, "%s", given) >= (int)n) out[0] = '\0';
    return;
  }
  for (const char *at = path ? path : ""; *at;) {
    size_t length = strcspn(at, ":");
    if (length && is_executable(out, n, at, (int)length)) return;
    at += length + (at[length] == ':');
  }
  static const char usual[] = "/usr/local/cuda/bin";
  if (!is_executable(out, n, usual, sizeof usual - 1)) out[0] = '\0';
}

static char assembler[512];

static void find_once(void) { find_ptxas(assembler, sizeof assembler); }

static const char *get_ptxas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_once);
  return assembler[0] ? assembler : NULL;
}

/* The exit status of ptxas, or -1. */
static int run_ptxas(const char *path, const char *arch, int ptx, int code) {
  char option[32];
  snprintf(option, sizeof option, "-arch=%s", arch);
  const char *const argv[] = {
      path, option, "-o", "/proc/self/fd/4", "/proc/self/fd/3", NULL};
  const spawn_order o = {.argv = argv,
                         .nfd = 5,
                         .fd = {SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, ptx, code}};
  pid_t pid;
  if (spawn_start(&o, &pid)) return -1;
  int status = spawn_reap(pid);
  return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool write_all(int fd, const char *text, size_t n) {
  while (n > 0) {
    ssize_t put = write(fd, text, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text += put;
    n -= (size_t)put;
  }
  return true;
}

static bool read_all(int fd, strbuf *out) {
  char chunk[1 << 14];
  off_t at = 0;
  for (;;) {
    ssize_t got = pread(fd, chunk, sizeof chunk, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    str_write(out, chunk, (size_t)got);
    at += got;
  }
}

void cuda_assemble(const target *t, const char *ptx, size_t n, strbuf *out) {
  const char *path = cuda_is_card_here(t) ? get_ptxas() : NULL;
  if (!path) return;
  int from = spawn_move_up(memfd_create("ptx", MFD_CLOEXEC));
  int to = spawn_move_up(memfd_create("cubin", MFD_CLOEXEC));
  bool ok = from >= 0 && to >= 0 && write_all(from, ptx, n) &&
            run_ptxas(path, t->cpu, from, to) == 0 && read_all(to, out);
  if (from >= 0) close(from);
  if (to >= 0) close(to);
  if (!ok) str_clear(out);
}
