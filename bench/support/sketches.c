/* SPDX-License-Identifier: Apache-2.0
 * Runs bench/sketches.lua and loads the sketches it writes. */
#include "bench/support/sketches.h"

#include "base/file.h"
#include "bench/support/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void fail_sketch(const char *what, tess_context *c) {
  bench_say("sketches: %s%s%s", what, c ? ": " : "",
            c ? tess_error(c)->message : "");
  exit(1);
}

static void write_all(const char *folder, const char *source_dir,
                      const char *space, const char *workload) {
  char exe[2048], line[8192];
  ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (len < 0) fail_sketch("where is this program?", NULL);
  exe[len] = '\0';
  for (int up = 0; up < 2; up++) *strrchr(exe, '/') = '\0';
  snprintf(line, sizeof line, "'%s/bin/tessera' '%s/sketches.lua' '%s' %s %s",
           exe, source_dir, folder, space, workload);
  if (system(line) != 0) fail_sketch("they could not be written", NULL);
}

static bool read_one(sketches *s, const char *path) {
  strbuf text;
  err_state err = {0};
  str_init(&text, &s->c->heap);
  bool there = file_read(path, 1 << 24, &text, &err) == TESS_OK;
  if (there && tess_trace_from_json(s->c, str_get(&text), s->p,
                                    &s->sketch[s->n]) != TESS_OK)
    fail_sketch(path, s->c);
  str_free(&text);
  unlink(path);
  return there;
}

static void read_seconds(sketches *s, const char *folder) {
  char path[256];
  snprintf(path, sizeof path, "%s/seconds", folder);
  FILE *f = fopen(path, "r");
  if (!f || fscanf(f, "%lf", &s->seconds) != 1) fail_sketch(path, NULL);
  fclose(f);
  unlink(path);
}

void sketches_load(sketches *s, const char *source_dir, const char *space,
                   int n) {
  char workload[16];
  snprintf(workload, sizeof workload, "%d", n);
  sketches_load_named(s, source_dir, space, workload);
}

void sketches_free(sketches *s) {
  for (uint32_t i = 0; i < s->n; i++) tess_trace_free(s->sketch[i]);
  tess_program_free(s->p);
  tess_context_free(s->c);
}

void sketches_load_named(sketches *s, const char *source_dir, const char *space,
                         const char *workload) {
  char folder[] = "/tmp/tessera-bench-XXXXXX", path[256];
  *s = (sketches){0};
  if (!mkdtemp(folder)) fail_sketch("no temporary folder", NULL);
  write_all(folder, source_dir, space, workload);
  if (tess_context_new(NULL, &s->c) != TESS_OK) fail_sketch("no context", NULL);
  snprintf(path, sizeof path, "%s/matmul.program", folder);
  if (tess_program_load(s->c, path, &s->p) != TESS_OK) fail_sketch(path, s->c);
  unlink(path);
  for (s->n = 0; s->n < 16; s->n++) {
    snprintf(path, sizeof path, "%s/matmul.%u.json", folder, s->n + 1);
    if (!read_one(s, path)) break;
  }
  read_seconds(s, folder);
  rmdir(folder);
  if (!s->n) fail_sketch("there are none", NULL);
}
