/* SPDX-License-Identifier: Apache-2.0
 * Random testing at scale: random programs under random schedules.  Cases run
 * in child processes, so that a crash or a hang ends only that case; any case
 * is reproducible by its seed and number. */
#include "backends/backend.h"
#include "fuzz/describe.h"
#include "fuzz/faults.h"
#include "fuzz/shrink.h"
#include "support/bench.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

enum { MAX_JOBS = 64, CASE_SECONDS = 120, REPORTS = 5 };

typedef struct fuzz_args {
  uint64_t seed, count, only, first;
  uint32_t jobs, fault, depth, seconds;
  bool one, every_step, no_llvm, coverage, faults, describe;
  const char *target;
} fuzz_args;

/* Progress that a child shares with its parent. */
typedef struct progress {
  uint64_t number;         /* the current case */
  uint64_t reports, wrong; /* how many; the number of the first */
  uint64_t leaked;         /* at its end: bytes, or what LSan counts as one */
  fuzz_counts counts;
  bool done;
} progress;

/* Shared memory: idle children take the next case, since some take long. */
typedef struct team {
  uint64_t next, kernels;
  progress of[MAX_JOBS];
} team;

_Noreturn static void usage(const char *program, int status) {
  fprintf(
      status ? stderr : stdout,
      "usage: %s [--quick] [--count N] [--seed S] [--first K] [--only K]\n"
      "  [--depth D] [--fault F] [--every-step] [--no-llvm] [--threads N]\n"
      "  [--coverage] [--faults [--seconds S]] [--target T] [--describe]\n"
      "Checks random schedules of random programs.\n"
      "  --only K      one case, compared after every step\n"
      "  --depth D     as many primitives are applied at most (40)\n"
      "  --fault F     with a fault made on purpose: 1 to %d damage each\n"
      "                program, those above and names of refusals change\n"
      "                the scheduler\n"
      "  --target T    until N schedules that bind threads were compiled\n"
      "                for \"opencl\" and run, or for \"cuda -arch=...\" and\n"
      "                emulated: the bits that the interpreter computes\n"
      "  --faults      looks for all faults, or for that of --fault, S\n"
      "                seconds each of the processor's time (10), and\n"
      "                says which are found\n"
      "  --describe    prints programs in Lua instead, with extents and\n"
      "                types that accelerators take\n"
      "  --coverage    says how often each primitive applied, and how\n"
      "                often each reason to refuse was given\n",
      program, FUZZ_FAULTS);
  exit(status);
}

static uint64_t parse_count(const char *program, const char *text) {
  char *end;
  uint64_t v = strtoull(text, &end, 10);
  if (!*text || *end) usage(program, 2);
  return v;
}

/* Kernels for it can be compiled, and run here or be emulated; else the process
 * ends, which children that find it out one by one would not. */
static void check_fuzz_target(const char *text) {
  target t;
  err_state e;
  err_clear(&e);
  tess_status s = target_parse(&t, text, &e);
  if (!s && strcmp(t.kind, "opencl") && strcmp(t.kind, "cuda"))
    s = err_set(&e, TESS_INVALID, "'%s' has no threads to bind loops to",
                t.kind);
  if (!s && !strcmp(t.kind, "opencl"))
    s = backend_find(t.kind)->runs_here(&t, &e);
  if (!s) return;
  bench_say("--target \"%s\": %s", text, e.message);
  exit(2);
}

static fuzz_args parse(int argc, char **argv) {
  static const struct option options[] = {
      {"quick", no_argument, NULL, 'q'},
      {"count", required_argument, NULL, 'n'},
      {"seed", required_argument, NULL, 's'},
      {"first", required_argument, NULL, '1'},
      {"only", required_argument, NULL, 'o'},
      {"depth", required_argument, NULL, 'd'},
      {"fault", required_argument, NULL, 'f'},
      {"threads", required_argument, NULL, 't'},
      {"every-step", no_argument, NULL, 'e'},
      {"no-llvm", no_argument, NULL, 'l'},
      {"coverage", no_argument, NULL, 'c'},
      {"faults", no_argument, NULL, 'F'},
      {"seconds", required_argument, NULL, 'S'},
      {"target", required_argument, NULL, 'T'},
      {"describe", no_argument, NULL, 'D'},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  fuzz_args a = {.seed = 1,
                 .count = 200000,
                 .seconds = 10,
                 .jobs = cpus > 0 && cpus < MAX_JOBS ? (uint32_t)cpus : 1};
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
    switch (c) {
    case 'q': a.count = 2000; break;
    case 'n': a.count = parse_count(argv[0], optarg); break;
    case 's': a.seed = parse_count(argv[0], optarg); break;
    case '1': a.first = parse_count(argv[0], optarg); break;
    case 'o':
      a.only = parse_count(argv[0], optarg);
      a.one = true;
      break;
    case 'd': a.depth = (uint32_t)parse_count(argv[0], optarg); break;
    case 'f': a.fault = faults_find(argv, optarg); break;
    case 'F': faults_here(argv), a.faults = true; break;
    case 'S': a.seconds = (uint32_t)parse_count(argv[0], optarg); break;
    case 't': a.jobs = (uint32_t)parse_count(argv[0], optarg); break;
    case 'T': a.target = optarg; break;
    case 'D': a.describe = true; break;
    case 'e': a.every_step = true; break;
    case 'l': a.no_llvm = true; break;
    case 'c': a.coverage = true; break;
    default: usage(argv[0], c == 'h' ? 0 : 2);
    }
  if (optind < argc || a.fault > faults_count() || !a.jobs || a.jobs > MAX_JOBS)
    usage(argv[0], 2);
  if (a.target) check_fuzz_target(a.target);
  return a;
}

static fuzz_options options_of(const fuzz_args *a) {
  fuzz_options o = {.max_depth = a->depth,
                    .every_step = a->one || a->every_step,
                    .through_llvm = !a->no_llvm && !a->fault && !a->target,
                    .device = a->target};
  static uint64_t hits;
  faults_arm(a->fault, &hits, &o);
  return o;
}

/* ---- children ----------------------------------------------------------- */

static void report_fuzz(const fuzz *f) {
  fputs(str_get(&f->report), stderr);
  fprintf(stderr, "again: bench/fuzz --seed %llu --only %llu%s\n\n",
          (unsigned long long)f->seed, (unsigned long long)f->number,
          f->o->fault || f->o->hits ? ", with the same fault"
          : f->o->device            ? ", with the same target"
                                    : "");
}

/* Ends the process after that much CPU time, or after ten times as long in wall
 * time if it only waits; 0: cancels the limit. */
static void limit(unsigned seconds) {
  struct itimerval work = {.it_value.tv_sec = seconds};
  setitimer(ITIMER_PROF, &work, NULL);
  alarm(10 * seconds);
}

static bool was_late(int status) {
  return WIFSIGNALED(status) &&
         (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
}

/* Leaked bytes of the engine's heap; for LLVM's and isl's only LSan has the
 * number, which does not check children at their end. */
static uint64_t leaked(const fuzz *f) {
  uint64_t n = f->heap.used;
#ifdef __SANITIZE_ADDRESS__
  n += __lsan_do_recoverable_leak_check() != 0;
#endif
  return n;
}

/* For a device, only cases that are compiled, until there are kernels enough.
 */
static bool take_case(const fuzz_args *a, team *t, progress *p) {
  uint64_t step = a->target ? FUZZ_COMPILED : 1;
  p->number = __atomic_fetch_add(&t->next, step, __ATOMIC_RELAXED);
  return a->target ? __atomic_load_n(&t->kernels, __ATOMIC_RELAXED) < a->count
                   : p->number < a->first + a->count;
}

static void run_cases(const fuzz_args *a, team *t, progress *p) {
  fuzz_options o = options_of(a);
  fuzz f;
  fuzz_init(&f);
  f.counts = p->counts;
  while (take_case(a, t, p)) {
    limit(CASE_SECONDS);
    tess_status st = fuzz_case(&f, &o, a->seed, p->number);
    if (st && !a->fault && !p->reports) p->wrong = p->number;
    if (st && !a->fault && p->reports++ < REPORTS) report_fuzz(&f);
    __atomic_fetch_add(&t->kernels,
                       f.counts.through_device - p->counts.through_device,
                       __ATOMIC_RELAXED);
    p->counts = f.counts;
  }
  limit(0);
  fuzz_free(&f);
  p->leaked += leaked(&f);
  p->done = true;
}

static pid_t spawn_team(const fuzz_args *a, team *t, progress *p) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    run_cases(a, t, p);
    _exit(0);
  }
  if (pid < 0) {
    bench_say("cannot start a process");
    exit(1);
  }
  return pid;
}

/* Waits for all children, replacing those that crashed. */
static uint64_t supervise(const fuzz_args *a, team *t, pid_t *pid) {
  progress *p = t->of;
  uint64_t crashed = 0;
  for (uint32_t left = a->jobs; left;) {
    int status = 0;
    pid_t died = wait(&status);
    for (uint32_t i = 0; i < a->jobs; i++) {
      if (pid[i] != died) continue;
      if (p[i].done) {
        left--;
        continue;
      }
      crashed++;
      bench_say("case %llu of seed %llu %s\nagain: bench/fuzz --seed %llu "
                "--only %llu%s\n",
                (unsigned long long)p[i].number, (unsigned long long)a->seed,
                was_late(status) ? "ran too long" : "crashed",
                (unsigned long long)a->seed, (unsigned long long)p[i].number,
                a->fault    ? ", with the same fault"
                : a->target ? ", with the same target"
                            : "");
      if (!p[i].reports++) p[i].wrong = p[i].number;
      p[i].counts.schedules++;
      pid[i] = spawn_team(a, t, &p[i]);
    }
  }
  return crashed;
}

/* ---- figures ------------------------------------------------------------ */

/* The struct has only counters. */
static void sum_counts(fuzz_counts *sum, const fuzz_counts *c) {
  uint64_t *to = (uint64_t *)sum;
  const uint64_t *from = (const uint64_t *)c;
  _Static_assert(sizeof *c % sizeof *to == 0, "counts are uint64_t");
  for (size_t i = 0; i < sizeof *c / sizeof *to; i++) to[i] += from[i];
}

/* How often each primitive applied and each refusal reason occurred. */
static void coverage(const fuzz_counts *c) {
  uint32_t prims = 0, reasons = 0;
  for (uint32_t i = 0; i < sch_nprims && i < FUZZ_MAX_PRIMS; i++) {
    fprintf(stderr, "%-26s %9llu applied %9llu declined\n", sch_prims[i]->name,
            (unsigned long long)c->applied[i],
            (unsigned long long)c->declined[i]);
    prims += c->applied[i] != 0;
  }
  for (uint32_t i = 1; i < SCH_R_COUNT; i++) {
    fprintf(stderr, "%-26s %9llu\n", sch_reason_name((sch_reason)i),
            (unsigned long long)c->reason[i]);
    reasons += c->reason[i] != 0;
  }
  for (uint32_t i = 0; i < FUZZ_TVM_REASONS; i++)
    fprintf(stderr, "not in TVM's JSON: %-28s %9llu\n", fuzz_tvm_reasons[i],
            (unsigned long long)c->not_tvm[i]);
  bench_figure("primitives_applied", prims, "count",
               json_pack("{s:i}", "of", (int)sch_nprims));
  bench_figure("reasons_given", reasons, "count",
               json_pack("{s:i}", "of", (int)SCH_R_COUNT - 1));
}

/* Comparisons that were skipped, by reason. */
static void not_compared(const fuzz_counts *c) {
  double sum = 0;
  json_t *why = json_object();
  for (uint32_t i = 0; i < FUZZ_SKIPS; i++) {
    sum += (double)c->skipped[i];
    json_object_set_new(why, fuzz_skip_names[i],
                        json_real((double)c->skipped[i]));
  }
  bench_figure("not_compared", sum, "count", why);
}

static void figures(const fuzz_args *a, const fuzz_counts *c, uint64_t crashed,
                    uint64_t lost) {
  double n = c->schedules ? (double)c->schedules : 1;
  bench_figure("schedules", (double)c->schedules, "count", NULL);
  bench_figure("legal_applications", (double)c->legal, "count",
               json_pack("{s:f}", "refused", (double)c->refused));
  bench_figure("mean_depth", (double)c->legal / n, "primitives", NULL);
  bench_figure("comparisons", (double)c->comparisons, "count",
               json_pack("{s:f, s:f}", "lowered", (double)c->lowered,
                         "with_16_bit_floats", (double)c->halves));
  not_compared(c);
  bench_figure("through_llvm", (double)c->through_llvm, "count",
               json_pack("{s:f, s:f}", "with_any_integers",
                         (double)c->any_integers, "rounding",
                         (double)c->to_the_bit));
  if (a->target)
    bench_figure("kernels", (double)c->through_device, "count",
                 json_pack("{s:s}", "target", a->target));
  bench_figure(
      "round_trips", (double)c->round_trips, "count",
      json_pack("{s:f}", "whole_traces_through_tvm", (double)c->through_tvm));
  /* With a fault, a case that ended its process counts as detected, too. */
  bench_figure("wrong", (double)(c->wrong + (a->fault ? crashed : 0)), "count",
               a->fault ? json_pack("{s:i, s:s, s:f}", "fault", (int)a->fault,
                                    "what", faults_text(a->fault), "damaged",
                                    (double)c->faults)
                        : NULL);
  bench_figure("crashed", (double)crashed, "count", NULL);
  bench_figure("leaked", (double)lost, "bytes", NULL);
  bench_figure("seed", (double)a->seed, "number", NULL);
  if (a->coverage) coverage(c);
}

static int one_case(const fuzz_args *a) {
  fuzz_options o = options_of(a);
  fuzz f;
  fuzz_init(&f);
  tess_status st = fuzz_case(&f, &o, a->seed, a->only);
  if (st) report_fuzz(&f);
  fuzz_counts counts = f.counts;
  fuzz_free(&f);
  figures(a, &counts, 0, leaked(&f));
  if (st == TESS_MISMATCH) shrink(&o, a->seed, a->only);
  return st != TESS_OK;
}

/* Kernels are small, and there are as many processes as cores: OpenMP threads
 * that spin for the next parallel loop would take half of the time.  Read
 * before main begins, hence the re-exec. */
static void let_threads_sleep(char **argv) {
  if (getenv("OMP_WAIT_POLICY") || setenv("OMP_WAIT_POLICY", "passive", 1))
    return;
  execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
  let_threads_sleep(argv);
  fuzz_args a = parse(argc, argv);
  if (a.faults) return faults_hunt(a.seed, a.jobs, a.seconds, a.fault);
  if (a.describe) return describe_cases(a.seed, a.first, a.count);
  if (a.one) return one_case(&a);
  team *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (t == MAP_FAILED) {
    bench_say("out of memory");
    return 1;
  }
  progress *p = t->of;
  pid_t pid[MAX_JOBS];
  t->next = a.target ? a.first / FUZZ_COMPILED * FUZZ_COMPILED : a.first;
  for (uint32_t i = 0; i < a.jobs; i++) pid[i] = spawn_team(&a, t, &p[i]);
  fuzz_counts sum = {0};
  uint64_t crashed = supervise(&a, t, pid), lost = 0;
  for (uint32_t i = 0; i < a.jobs; i++) {
    sum_counts(&sum, &p[i].counts);
    lost += p[i].leaked;
  }
  figures(&a, &sum, crashed, lost);
  if (a.target) bench_figure("next", (double)t->next, "case", NULL);
  fuzz_options o = options_of(&a);
  for (uint32_t i = 0; i < a.jobs; i++)
    if (p[i].reports) shrink(&o, a.seed, p[i].wrong);
  return a.fault ? sum.wrong == 0 : sum.wrong + crashed + lost != 0;
}
