/* SPDX-License-Identifier: Apache-2.0
 * Searches for seeded faults: each in a process of its own, until a case
 * detects it or time is up. */
#include "fuzz/faults.h"

#include "fuzz/faulty.h"
#include "support/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_FAULTS = 512, MAX_JOBS = 64, CASE_SECONDS = 10 };

typedef enum outcome { SEARCHING, WRONG, CRASHED, HANGS, UNSEEN } outcome;

/* The state of one search; shared with its process. */
typedef struct finding {
  uint64_t cases, hits, applied;
  uint64_t before; /* hits when the current case began */
  double spent;    /* CPU seconds of finished cases */
  double seconds;
  uint32_t outcome;
  pid_t pid;
  char what[160];
} finding;

/* Redundant checks and the reason why.  With a number: so many calls that only
 * this check refuses were let through, and their results were equal after each
 * step, replayed, and lowered. */
static const struct unfindable {
  const char *name, *why;
} unfindables[] = {
    {"BLOCK_BETWEEN", "what stands between goes into the block, too, and is "
                      "divided like the rest (161)"},
    {"BUFFER_STRIDED", "lowering leaves out an alignment that does not fit, "
                       "and only it chooses strides (29)"},
    {"COPY_NO_BOX", "who relies on a box asks whether all of it is written "
                    "(6)"},
    {"INIT_HEIGHT", "INIT_LATE asks of each run of the loop whether what it "
                    "meets begins there (11)"},
    {"INIT_NOT_IDENTITY", "RACE asks the same of the accesses (40)"},
    {"ITER_NOT_SPATIAL", "RACE asks the same of the accesses"},
    {"NOT_A_COPY", "behind it fuse_reduction_epilogue's checks let through "
                   "what that would do (2)"},
    {"ORDER_OPAQUE", "what the order changes is refused by ORDER_DEPENDS"},
    {"PAD_MISSING", "nothing reads the elements that are new (558)"},
    {"PAD_MISSING_SOME", "nothing reads the elements that are new (436)"},
    {"PAD_TYPE", "nothing reads the elements that are new (21)"},
    {"PRODUCER_UNFINISHED", "what is made too early is made again (415)"},
    {"REGION_NO_BOX", "who relies on a box asks whether all of it is written "
                      "(75)"},
    {"ROLLING_NO_OVERLAP", "a window that shares nothing skips nothing (66)"},
    {"SCOPE_SHARED", "lowering moves to shared memory what threads share (96)"},
    {"STORAGE_INSIDE", "lowering gives each thread its own of what they would "
                       "not write alike (2350)"},
    {"THREAD_TAKEN", "one in the other both loops run, and lowering spreads or "
                     "repeats the inner one (219)"},
    {NULL, NULL}};

/* Why the fault was not found; NULL: it should have been. */
static const char *why_not(uint32_t fault, const finding *x) {
  for (const struct unfindable *u = unfindables; u->name; u++)
    if (!strcmp(u->name, faults_text(fault))) return u->why;
  /* A wrong rewrite that is never executed: its source text has changed. */
  if (faults_row(fault)) return NULL;
  return !x->hits      ? "never reached"
         : !x->applied ? "all those calls are refused by another check, too"
                       : NULL;
}

/* The first line that says something. */
static void keep_reason(const fuzz *f, finding *x) {
  const char *s = strchr(str_get(&f->report), '\n');
  s = s ? s + 1 : "";
  snprintf(x->what, sizeof x->what, "%.*s", (int)strcspn(s, "\n"), s);
}

/* Does the case, with the same draws, fail without the fault, too? */
static bool is_wrong_anyway(fuzz *f, const fuzz_options *with, uint64_t seed,
                            uint64_t number) {
  fuzz_options o = {.every_step = true};
  uint64_t hits = 0;
  faults_arm(0, &hits, &o);
  o.reason = with->reason;
  o.about = with->about;
  return fuzz_case(f, &o, seed, number) == TESS_MISMATCH;
}

/* CPU time, since other processes may compete. */
static double time_used(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void give_time(void) {
  struct itimerval t = {.it_value = {.tv_sec = CASE_SECONDS}};
  (void)setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static void look_for(uint32_t fault, uint64_t seed, finding *x) {
  fuzz_options o = {.max_depth = 0};
  double before = x->spent;
  fuzz f;
  fuzz_init(&f);
  while (!x->outcome && x->spent < x->seconds) {
    uint64_t number = x->cases++;
    give_time();
    faults_arm(fault, &x->hits, &o);
    x->before = x->hits;
    f.counts.faults = 0;
    tess_status st = fuzz_case(&f, &o, seed, number);
    x->spent = before + time_used();
    x->applied += f.counts.faults;
    if (o.fault) x->hits = x->applied;
    if (st != TESS_MISMATCH || (o.hits && x->hits == x->before)) continue;
    keep_reason(&f, x);
    x->outcome = is_wrong_anyway(&f, &o, seed, number) ? SEARCHING : WRONG;
  }
  if (!x->outcome) x->outcome = UNSEEN;
  _exit(0);
}

static void begin_hunt(uint32_t fault, uint64_t seed, finding *x) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    /* A fault may make the code print anything. */
    (void)!freopen("/dev/null", "w", stderr);
    look_for(fault, seed, x);
  }
  if (pid < 0) {
    bench_say("cannot start a process");
    exit(1);
  }
  x->pid = pid;
}

/* false: it ended for another reason, and is to be resumed. */
static bool settle_exit(finding *x, int status) {
  if (x->outcome) return true;
  bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGVTALRM;
  if (x->hits == x->before && x->spent < x->seconds) return false;
  x->outcome = x->hits == x->before ? UNSEEN : late ? HANGS : CRASHED;
  return true;
}

static void show(uint32_t fault, const finding *x) {
  static const char *const how[] = {"?", "wrong", "crash", "hang", "no"};
  const char *why = x->outcome == UNSEEN ? why_not(fault, x) : NULL;
  fprintf(stderr,
          "%3u %-50.50s %-5s %8llu cases %8llu hits %6llu "
          "applied  %s\n",
          fault, faults_text(fault), how[x->outcome],
          (unsigned long long)x->cases, (unsigned long long)x->hits,
          (unsigned long long)x->applied,
          why                    ? why
          : x->outcome == UNSEEN ? "should be found"
                                 : x->what);
  bench_figure("fault", (double)x->cases, "cases",
               json_pack("{s:i, s:s, s:s, s:f, s:f}", "fault", (int)fault,
                         "what", faults_text(fault), "found", how[x->outcome],
                         "hits", (double)x->hits, "applied",
                         (double)x->applied));
}

/* Waits for one to end; 0: none has. */
static uint32_t next_end(finding *x, uint32_t n, uint64_t seed) {
  int status = 0;
  pid_t died = wait(&status);
  for (uint32_t i = 1; i <= n; i++)
    if (x[i].pid == died) {
      if (settle_exit(&x[i], status)) return i;
      begin_hunt(i, seed, &x[i]);
    }
  return 0;
}

int faults_hunt(uint64_t seed, uint32_t jobs, uint32_t seconds, uint32_t only) {
  uint32_t n = faults_count(), running = 0, found = 0, excused = 0;
  uint32_t first = only ? only : 1, last = only ? only : n;
  finding *x = mmap(NULL, (MAX_FAULTS + 1) * sizeof *x, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (x == MAP_FAILED || n > MAX_FAULTS || jobs > MAX_JOBS) {
    bench_say("cannot keep %u faults", n);
    return 1;
  }
  for (uint32_t next = first; next <= last || running;) {
    if (next <= last && running < jobs) {
      x[next].seconds = seconds;
      begin_hunt(next, seed, &x[next]);
      next++, running++;
      continue;
    }
    uint32_t i = next_end(x, n, seed);
    if (i) running--, show(i, &x[i]);
  }
  for (uint32_t i = first; i <= last; i++) {
    found += x[i].outcome != UNSEEN;
    excused += x[i].outcome == UNSEEN && why_not(i, &x[i]);
  }
  n = last - first + 1;
  bench_figure("faults", n, "count", NULL);
  bench_figure("faults_found", found, "count",
               json_pack("{s:i}", "explained", (int)excused));
  bench_figure("seed", (double)seed, "number", NULL);
  return found + excused < n;
}
