/* SPDX-License-Identifier: Apache-2.0
 * Shared libraries of objects, and of C, by the system's compiler driver. */
#include "measure/link.h"
#include "base/file.h"
#include "base/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first line of what the linker said. */
static void first_line(int fd, char *out, size_t n) {
  ssize_t got = pread(fd, out, n - 1, 0);
  out[got > 0 ? got : 0] = '\0';
  out[strcspn(out, "\r\n")] = '\0';
}

/* Runs a command with its words on stderr in `said`: its exit status, or -1
 * where there is none such. */
static int run_command(const char *const *words, int said) {
  const spawn_order o = {
      .argv = words, .search = true, .nfd = 3, .fd = {SPAWN_NULL, said, said}};
  pid_t pid;
  if (spawn_start(&o, &pid)) return -1;
  int status = spawn_reap(pid);
  if (status == -1) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

typedef struct linking {
  tess_context *c;
  const char *path;         /* as the caller names it */
  const char *const *words; /* the command; where `to` is in it */
  const char **to;
  int said;
} linking;

static tess_status link_objects(linking *l) {
  char why[400];
  int status = run_command(l->words, l->said);
  if (status == 0) return TESS_OK;
  if (status == -1 || status == 127)
    return ctx_fail(l->c, TESS_UNSUPPORTED,
                    "'%s' needs the system's C compiler 'cc' to link it, and "
                    "there is none: save a .o instead",
                    l->path);
  first_line(l->said, why, sizeof why);
  return ctx_fail(l->c, TESS_BUILD_ERROR, "cc could not link '%s': %s", l->path,
                  why);
}

/* A library that a process has loaded is replaced, not changed. */
static tess_status link_beside(linking *l) {
  file_writer f;
  err_state *err = &l->c->err;
  tess_status s = file_create(&f, l->path, err);
  *l->to = file_place(&f);
  if (s == TESS_OK) s = link_objects(l);
  return file_commit(&f, s, err);
}

tess_status link_shared(tess_context *c, const char *path, uint32_t n,
                        const char *const *objects) {
  /* With the threads of C libraries that have them apart. */
  static const char *const head[] = {"cc",  "-shared",  "-fPIC",
                                     "-O2", "-pthread", "-o"};
  enum { HEAD = sizeof head / sizeof *head };
  uint32_t nwords = HEAD + 1 + n + 2;
  const char **words = mem_resize(&c->heap, NULL, 0, nwords * sizeof *words);
  for (uint32_t i = 0; i < HEAD; i++) words[i] = head[i];
  for (uint32_t i = 0; i < n; i++) words[HEAD + 1 + i] = objects[i];
  words[nwords - 2] = "-lm";
  words[nwords - 1] = NULL;
  linking l = {c, path, words, &words[HEAD],
               spawn_move_up(memfd_create("tessera-cc", MFD_CLOEXEC))};
  tess_status s =
      l.said < 0 ? ctx_fail(c, TESS_IO, "memfd: %s", strerror(errno)) : TESS_OK;
  if (s == TESS_OK) s = link_beside(&l);
  if (l.said >= 0) close(l.said);
  mem_free(&c->heap, words, nwords * sizeof *words);
  return s;
}
