/* SPDX-License-Identifier: Apache-2.0
 * Test case reduction.  Each attempt runs in a process of its own, so that one
 * that crashes is reduced like any other. */
#include "fuzz/shrink.h"
#include "support/bench.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  NOTE = 1 << 20,
  MAX_LINES = 4096,
  ATTEMPT_SECONDS = 10,
  SHRINK_SECONDS = 60
};

/* The outcome of an attempt. */
typedef enum showing { NOTHING, WRONG, DIES } showing;

typedef struct shrinking {
  fuzz_options o;
  uint64_t seed, number;
  double end;
  char *text, *trial;    /* the trace so far, and a candidate */
  char *line[MAX_LINES]; /* of the trace, split into lines */
  bool gone[MAX_LINES], was[MAX_LINES];
  uint32_t n;
  showing how; /* the failure to be preserved */
} shrinking;

static showing wait_for(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) < 0) return NOTHING;
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? NOTHING : DIES;
  return WEXITSTATUS(status) == 1 ? WRONG : NOTHING;
}

static showing attempt(const shrinking *x, const fuzz_options *o,
                       const char *trace) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    fuzz f;
    (void)!freopen("/dev/null", "w", stderr);
    alarm(ATTEMPT_SECONDS);
    fuzz_init(&f);
    tess_status st = fuzz_again(&f, o, x->seed, x->number, trace);
    _exit(st == TESS_MISMATCH);
  }
  return wait_for(pid);
}

/* ---- the trace ---------------------------------------------------------- */

static void cut_lines(shrinking *x) {
  x->n = 0;
  memset(x->gone, 0, sizeof x->gone);
  for (char *s = x->text; *s && x->n < MAX_LINES;) {
    x->line[x->n++] = s;
    s += strcspn(s, "\n");
    if (*s) *s++ = '\0';
  }
}

static void join_lines(const shrinking *x, char *to) {
  for (uint32_t i = 0; i < x->n; i++)
    if (!x->gone[i]) to += sprintf(to, "%s\n", x->line[i]);
  *to = '\0';
}

static bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '[' || c == ']';
}

static bool uses_name(const char *line, const char *name, size_t n) {
  for (const char *s = line; (s = strstr(s, name)); s += n)
    if ((s == line || !is_name(s[-1])) && !is_name(s[n])) return true;
  return false;
}

static bool is_instruction(const char *line) {
  return strstr(line, "sch:") != NULL;
}

/* Removes line k and those that depend on its outputs. */
static void remove_line(shrinking *x, uint32_t k) {
  const char *end = strstr(x->line[k], " = sch:");
  if (x->gone[k] || !is_instruction(x->line[k])) return;
  x->gone[k] = true;
  const char *s = x->line[k];
  if (!strncmp(s, "local ", 6)) s += 6;
  while (end && s < end) {
    char name[32];
    size_t n = strcspn(s, ", ");
    if (n >= sizeof name || s + n > end) return;
    snprintf(name, sizeof name, "%.*s", (int)n, s);
    for (uint32_t i = k + 1; i < x->n; i++)
      if (uses_name(x->line[i], name, n)) remove_line(x, i);
    s += n + strspn(s + n, ", ");
  }
}

static void without_lines(shrinking *x) {
  for (uint32_t step = x->n ? x->n : 1; step; step /= 2)
    for (uint32_t at = x->n; at > 0 && bench_now() < x->end;) {
      at -= at < step ? at : step;
      memcpy(x->was, x->gone, sizeof x->gone);
      for (uint32_t i = at; i < at + step && i < x->n; i++) remove_line(x, i);
      if (!memcmp(x->was, x->gone, sizeof x->gone)) continue;
      join_lines(x, x->trial);
      if (attempt(x, &x->o, x->trial) != x->how)
        memcpy(x->gone, x->was, sizeof x->gone);
    }
  join_lines(x, x->trial);
  char *t = x->text;
  x->text = x->trial;
  x->trial = t;
}

/* ---- the program -------------------------------------------------------- */

static void keep_if(shrinking *x, const fuzz_options *o) {
  if (bench_now() < x->end && attempt(x, o, x->text) == x->how) x->o = *o;
}

static void smaller_program(shrinking *x) {
  for (uint32_t k = 5; k > 0; k--) {
    fuzz_options o = x->o;
    o.gen.stages = k;
    keep_if(x, &o);
  }
  for (uint32_t k = 0; k < 12; k++) {
    fuzz_options o = x->o;
    o.gen.without |= UINT64_C(1) << k;
    keep_if(x, &o);
  }
  for (uint32_t k = 16; k > 0; k -= k > 8 ? 4 : k > 4 ? 2 : 1) {
    fuzz_options o = x->o;
    o.gen.max_extent = k;
    keep_if(x, &o);
  }
}

/* ---- the reduced case --------------------------------------------------- */

static void print_script(const shrinking *x) {
  fuzz f;
  strbuf lua;
  fuzz_options o = x->o;
  fuzz_init(&f);
  str_init(&lua, &f.heap);
  o.gen.lua = &lua;
  /* Only the program is shown: no trace is read. */
  (void)fuzz_again(&f, &o, x->seed, x->number, "");
  if (strstr(x->text, "tensorize")) fuzz_write_intrins(&f, &lua);
  fprintf(stderr,
          "-- again: bench/fuzz --seed %llu --only %llu\n"
          "local ts = require \"tessera\"\n%s"
          "local sch = ts.schedule(program, { seed = %llu })\n",
          (unsigned long long)x->seed, (unsigned long long)x->number,
          str_get(&lua), (unsigned long long)x->number);
  for (const char *s = x->text; *s; s += strcspn(s, "\n"), s += *s != 0)
    if (strncmp(s, "local ts =", 10) != 0)
      fprintf(stderr, "%.*s\n", (int)strcspn(s, "\n"), s);
  fprintf(stderr, "print(sch:program())\n"
                  "print(ts.equivalent(sch, program))\n\n");
  str_free(&lua);
  fuzz_free(&f);
}

/* The trace of the case: reproduces the failure on replay. */
static bool find_trace(shrinking *x) {
  x->o.note = x->text;
  x->o.note_size = NOTE;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    fuzz f;
    (void)!freopen("/dev/null", "w", stderr);
    alarm(10 * ATTEMPT_SECONDS);
    fuzz_init(&f);
    tess_status st = fuzz_case(&f, &x->o, x->seed, x->number);
    _exit(st == TESS_MISMATCH);
  }
  x->how = wait_for(pid);
  x->o.note = NULL;
  return x->how && attempt(x, &x->o, x->text) == x->how;
}

void shrink(const fuzz_options *o, uint64_t seed, uint64_t number) {
  static shrinking x;
  char *memory = mmap(NULL, 2 * NOTE, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  x = (shrinking){.o = *o,
                  .seed = seed,
                  .number = number,
                  .end = bench_now() + SHRINK_SECONDS,
                  .text = memory,
                  .trial = memory + NOTE};
  if (!find_trace(&x)) {
    bench_say("case %llu does not show itself when its trace is replayed",
              (unsigned long long)number);
  } else {
    smaller_program(&x);
    for (int round = 0; round < 2; round++) {
      cut_lines(&x);
      without_lines(&x);
      smaller_program(&x);
    }
    print_script(&x);
  }
  munmap(memory, 2 * NOTE);
}
