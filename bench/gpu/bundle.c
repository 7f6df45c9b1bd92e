/* SPDX-License-Identifier: Apache-2.0
 * Compiles programs to PTX and records what the host program launches, by a
 * device driver that does nothing else. */
#include "bench/gpu/bundle.h"
#include "backends/backend.h"
#include "backends/cuda/kernel.h"
#include "backends/device/device.h"
#include "bench/support/bench.h"
#include "ir/object.h"
#include "lower/lower.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- recording ---------------------------------------------------------- */

typedef struct recording {
  FILE *out;
  uint64_t buffers;
} recording;

/* Memory is its number, from 1 on. */
static int32_t record_alloc(void *ud, uint64_t bytes, device_memory *out) {
  recording *r = ud;
  *out = (device_memory)(uintptr_t)++r->buffers;
  fprintf(r->out, "buffer %llu %llu\n", (unsigned long long)r->buffers,
          (unsigned long long)bytes);
  return 0;
}

static void record_release(void *ud, device_memory m) { (void)ud, (void)m; }

static int32_t record_to_device(void *ud, device_memory to, const void *from,
                                uint64_t bytes) {
  (void)ud, (void)to, (void)from, (void)bytes;
  return 0;
}

static int32_t record_to_host(void *ud, void *to, device_memory from,
                              uint64_t bytes) {
  (void)ud, (void)to, (void)from, (void)bytes;
  return 0;
}

static int32_t record_launch(void *ud, const device_launch *l) {
  recording *r = ud;
  fprintf(r->out, "launch %u %lld %lld %lld %lld %lld %lld %u %u",
          (unsigned)l->kernel, (long long)l->grid[0], (long long)l->grid[1],
          (long long)l->grid[2], (long long)l->block[0], (long long)l->block[1],
          (long long)l->block[2], (unsigned)l->nbuf, (unsigned)l->nvar);
  for (uint32_t i = 0; i < l->nbuf; i++)
    fprintf(r->out, " %llu", (unsigned long long)(uintptr_t)l->buf[i]);
  for (uint32_t i = 0; i < l->nvar; i++)
    fprintf(r->out, " %lld", (long long)l->var[i]);
  fputc('\n', r->out);
  return 0;
}

static int32_t record_begin(void *ud) { return (void)ud, 0; }

static int32_t record_end(void *ud, double *seconds) {
  (void)ud;
  *seconds = 0;
  return 0;
}

static const device_driver recorder = {.alloc = record_alloc,
                                       .release = record_release,
                                       .to_device = record_to_device,
                                       .to_host = record_to_host,
                                       .launch = record_launch,
                                       .begin = record_begin,
                                       .end = record_end};

/* ---- a program ---------------------------------------------------------- */

static bool write_file(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  if (!f) return false;
  bool ok = fputs(text, f) >= 0;
  return fclose(f) == 0 && ok;
}

/* The payload of CUDA's code: the entry's name, bytes of dynamic shared memory
 * of each kernel, the PTX. */
static bool record_kernels(recording *r, const device_program *d,
                           const char *ptx_path) {
  const char *at = d->payload;
  char name[CUDA_NAME];
  uint64_t shared;
  size_t skip = strlen(at) + 1;
  for (uint32_t i = 0; i < d->nkernel; i++) {
    cuda_kernel_name(at, i, name);
    memcpy(&shared, at + skip + i * sizeof shared, sizeof shared);
    fprintf(r->out, "kernel %u %s %llu\n", (unsigned)i, name,
            (unsigned long long)shared);
  }
  return write_file(ptx_path, at + skip + d->nkernel * sizeof shared);
}

static tess_status record_code(mem_heap *heap, const strbuf *code,
                               const char *path, err_state *e) {
  char file[512], ptx[512];
  device_program d;
  void *args[DEVICE_MOST_ARGS] = {NULL};
  double seconds;
  snprintf(file, sizeof file, "%s.launch", path);
  snprintf(ptx, sizeof ptx, "%s.ptx", path);
  recording r = {.out = fopen(file, "w")};
  if (!r.out) return err_set(e, TESS_IO, "%s: %s", file, strerror(errno));
  tess_status s = device_load(&d, heap, code->v + CUDA_HEAD,
                              code->n - CUDA_HEAD, &recorder, &r, e);
  if (!s && !record_kernels(&r, &d, ptx))
    s = err_set(e, TESS_IO, "%s: %s", ptx, strerror(errno));
  if (!s) s = (tess_status)device_call(&d, args, NULL, NULL, 1, &seconds);
  device_unload(&d);
  if (fclose(r.out) && !s) s = err_set(e, TESS_IO, "%s", file);
  return s;
}

/* FOLDER/NAME.program to FOLDER/NAME.ptx and FOLDER/NAME.launch. */
static tess_status bundle_program(tess_context *c, const char *path,
                                  const target *t) {
  char from[512];
  tess_program *p = NULL;
  arena scratch;
  strbuf code;
  snprintf(from, sizeof from, "%s.program", path);
  tess_status s = tess_program_load(c, from, &p);
  if (s) return s;
  arena_init(&scratch, &c->heap);
  str_init(&code, &c->heap);
  lower_options o = {.vector_bytes = (uint32_t)t->vector_bytes,
                     .open_fragments = target_opens_fragments(t)};
  s = lower_program(&p->p, &scratch, &o, &c->err);
  if (!s)
    s = backend_find(t->kind)->compile(&p->p, &scratch, t, BACKEND_CODE, &code,
                                       &c->err);
  if (!s) s = record_code(&c->heap, &code, path, &c->err);
  str_free(&code);
  arena_free(&scratch);
  tess_program_free(p);
  return s;
}

/* ---- the folder --------------------------------------------------------- */

static const char script[] =
    "#!/bin/sh\n"
    "# Needs a C compiler, libc and NVIDIA's driver; cuBLAS where it is "
    "there.\n"
    "cd \"$(dirname \"$0\")\" && cc -std=gnu11 -O2 -o run run.c -ldl -lm &&\n"
    "exec ./run *.launch\n";

static int write_programs(const char *to, const char *text, unsigned count) {
  static const char *const sizes[] = {"1024", "2048", "4096"};
  char tessera[512], number[16];
  snprintf(tessera, sizeof tessera, "%s/../bin/tessera", BENCH_BINARY_DIR);
  snprintf(number, sizeof number, "%u", count);
  pid_t pid = fork();
  if (!pid) {
    execl(tessera, tessera, BENCH_SOURCE_DIR "/gpu/programs.lua", to, text,
          number, sizes[0], sizes[1], sizes[2], (char *)NULL);
    _exit(127);
  }
  int status = 1;
  if (pid > 0) waitpid(pid, &status, 0);
  return status ? 1 : 0;
}

static bool copy_runner(const char *to) {
  char command[1200], path[512];
  snprintf(path, sizeof path, "%s/run.sh", to);
  snprintf(command, sizeof command, "cp '%s/gpu/run/run.c' '%s/run.c'",
           BENCH_SOURCE_DIR, to);
  return write_file(path, script) && !system(command);
}

static bool is_program(const char *name, size_t *stem) {
  static const char end[] = ".program";
  size_t n = strlen(name), m = sizeof end - 1;
  *stem = n - m;
  return n > m && !strcmp(name + n - m, end);
}

/* Those that the target cannot have are left out, and named. */
static int bundle_all(tess_context *c, const char *to, const target *t) {
  DIR *d = opendir(to);
  unsigned n = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[512], file[600];
    size_t stem;
    if (!is_program(e->d_name, &stem)) continue;
    snprintf(path, sizeof path, "%s/%.*s", to, (int)stem, e->d_name);
    tess_status s = bundle_program(c, path, t);
    if (s)
      bench_say("gpu: %s: %s", path, tess_error(c)->message);
    else
      n++;
    snprintf(file, sizeof file, "%s.program", path);
    (void)unlink(file);
    if (!s) continue;
    snprintf(file, sizeof file, "%s.launch", path);
    (void)unlink(file);
  }
  if (d) closedir(d);
  bench_figure("programs", n, "count", json_pack("{s:s}", "folder", to));
  return n ? 0 : 1;
}

int gpu_bundle_folder(const char *to, const char *text) {
  tess_context *c = NULL;
  target t;
  if (tess_context_new(NULL, &c)) return 1;
  int rc = 1;
  if (target_parse(&t, text, &c->err))
    bench_say("gpu: %s", c->err.message);
  else
    rc = bundle_all(c, to, &t);
  tess_context_free(c);
  return rc;
}

int gpu_bundle(const char *to, const char *text, unsigned count) {
  if (mkdir(to, 0777) && errno != EEXIST) {
    bench_say("gpu: %s: %s", to, strerror(errno));
    return 1;
  }
  if (write_programs(to, text, count) || !copy_runner(to)) {
    bench_say("gpu: %s cannot be written", to);
    return 1;
  }
  return gpu_bundle_folder(to, text);
}
