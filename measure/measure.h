/* SPDX-License-Identifier: Apache-2.0
 * Compiles and measures candidates, in worker processes or in this one.
 *
 * A task is what the candidates of a workload share: the unscheduled program,
 * the target and the policy of timing.  A candidate is a trace with its
 * decisions, or a scheduled program.  Building gives object code; running times
 * it, on tensors between guard pages, and compares its outputs with those of
 * the unscheduled program, the reference.
 *
 * A pool owns the workers: any number compile at once, one times, alone.
 * If a candidate ends its worker (crash, hang, exit) that is its result; a
 * worker that is lost for another reason is replaced, the job is retried once,
 * and if it is lost again its class is TESS_INFRA.
 *
 * The classes of results are statuses: OK, BUILD_ERROR, LAUNCH_ERROR,
 * TIMEOUT, CRASHED, WRONG_RESULT, INFRA; and CANCELLED.
 *
 * In process (measure_config.in_process) the same code runs in the host: there
 * is then no time-out, and a candidate that crashes, hangs or causes a fatal
 * error of LLVM ends the host.
 *
 * A pool is used by one thread at a time.  Functions that return a
 * tess_status catch exhausted memory themselves. */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include "backends/form.h"
#include "base/context.h"
#include "vm/vm.h"

/* Failures of the machinery, which are not results of a candidate. */
static inline bool measure_is_machine_fault(tess_status s) {
  return s == TESS_INFRA || s == TESS_NOMEM || s == TESS_LIMIT;
}

/* ---- how to time -------------------------------------------------------- */

typedef struct measure_policy {
  double min_time;      /* seconds that the samples of a kernel last, at
                         * least */
  uint32_t repeats;     /* samples, at least */
  double timeout;       /* seconds that a launch, or all samples together,
                         * may last; samples end early enough for a kernel
                         * that is merely slow */
  double build_timeout; /* seconds that one may compile */
  double cutoff;        /* a kernel that is this many times slower than the
                         * best at first gets no further samples; 0: all do */
  double margin;        /* sampling ends early for a kernel whose least of k
                         * samples is above (1 + margin / k) times the best, or
                         * further above it than those of the task that were
                         * sampled whole were above their medians, or where
                         * most samples are above the best; 0: never */
  uint32_t threads;     /* of the kernel, each on a core of its own */
  uint64_t seed;        /* of the inputs' contents */
  uint64_t inputs;      /* key of contents that are given; 0: they are drawn */
  bool warm_cache;      /* a device's caches keep what the run before left */
} measure_policy;

measure_policy measure_default_policy(uint32_t threads);
/* The policy as a stable text, "v2 min-time=0.1 ...": times under equal texts
 * are comparable. */
void measure_policy_text(const measure_policy *p, strbuf *out);
/* Whether a text is that of a policy, of this version or an earlier one. */
bool measure_is_policy(const char *text);

/* ---- pools -------------------------------------------------------------- */

typedef struct measure_pool measure_pool;
typedef struct measure_task measure_task;

typedef struct measure_config {
  bool in_process;
  const char *worker_path; /* NULL: looked for (worker.h) */
  uint32_t workers;        /* that compile at once; 0: as many as cores */
  uint32_t recycle;        /* jobs after which a worker is replaced; 0:
                            * the default */
  const char *externs;     /* a shared object with the functions that
                            * IR_FN_EXTERN names, loaded by workers; NULL:
                            * the one of TESSERA_EXTERNS.  Tests' way to make
                            * candidates that misbehave */
  bool sandboxed;          /* workers have no network, start nothing and
                            * remove no files (sandbox.h) */
  const char *via;         /* a command that starts the program `runner`, a
                            * tessera-run, on the device that code is for
                            * ("ssh board"); NULL: workers of this machine
                            * run it.  References are computed here */
  const char *runner;      /* via: its path there */
  double patience;         /* seconds until a worker must have begun a job; 0:
                            * the default */
  double preparation;      /* seconds that allocating and filling tensors may
                            * take; 0: the default, five minutes */
  double reference;        /* seconds that each step of computing the reference
                            * may take; 0: the default, ten minutes */
  thread_flag *cancel;     /* work stops when it is raised; may be NULL */
  void (*log)(void *ud, int level, const char *text); /* may be NULL */
  void *log_ud;
} measure_config;

/* The path of the tessera-run for a target's processor: beside the worker, as
 * "tessera-run-aarch64".  INFRA: it is not there. */
tess_status measure_find_runner(const char *worker_path, const char *target,
                                char *out, size_t n, err_state *e);
/* Workers start when they are first needed. */
tess_status measure_pool_new(mem_heap *heap, const measure_config *o,
                             measure_pool **out, err_state *e);
void measure_pool_free(measure_pool *pool);
/* The context's pool, configured by its options; created on first use, freed
 * with the context. */
tess_status measure_context_pool(tess_context *c, measure_pool **out);

/* Seconds by activity, summed over workers; `build_wall` and `run_wall` are the
 * time that the caller waited. */
typedef struct measure_ledger {
  double replay, lower, compile; /* in workers, of builds */
  double build_wall, run_wall;
  double prepare;  /* tensors and references */
  double kernel;   /* inside kernels, all launches */
  double check;    /* comparing outputs */
  double transfer; /* encoding, sending, receiving */
  double idle;     /* workers waiting while others build */
  double spawn;    /* starting workers */
  uint64_t builds, runs, started, lost, retried;
} measure_ledger;
const measure_ledger *measure_get_ledger(const measure_pool *pool);
/* The worker's path, if repeated starts of it gave no handshake, so that it is
 * not started any more; NULL: all is well.  A new task tries it again. */
const char *measure_pool_unresponsive(const measure_pool *pool);
/* Sets that error, INFRA, where there is such a path; else TESS_OK, and *e is
 * as it was. */
tess_status measure_report_unresponsive(const measure_pool *pool, err_state *e);

/* ---- tasks -------------------------------------------------------------- */

/* Whether this machine can run code for the target: UNSUPPORTED says why not.
 * To be called before measuring. */
tess_status measure_runs_here(const char *target, err_state *e);
/* INVALID: the policy asks for what makes no difference on that target. */
tess_status measure_check_policy(const char *target, const measure_policy *p,
                                 err_state *e);
/* `target` is its text.  The program is copied.  The policy's seed and
 * threads hold for the life of the task. */
tess_status measure_task_new(measure_pool *pool, const ir_program *base,
                             const char *target, const measure_policy *policy,
                             measure_task **out, err_state *e);
void measure_task_free(measure_task *t);
/* The contents of p's parameters that are no outputs, one after the other, from
 * tensors as in tess_tune_options, appended to *out, and their key.  Sets the
 * context's error.  May unwind. */
tess_status measure_take_inputs(tess_program *p, uint32_t n,
                                tess_tensor *const *tensors, strbuf *out,
                                uint64_t *key);
/* Moves such contents, of the policy's key, to the task, before anything is
 * measured. */
void measure_task_give_inputs(measure_task *t, strbuf *contents);
/* Notes about the quality of the reference, "" for none: for example that it
 * could not be checked against the interpreter. */
const char *measure_task_note(const measure_task *t);
/* Seconds of the unscheduled program's one run for the reference, or that it
 * would have taken, by a part; 0 while there is no reference. */
double measure_task_launch(const measure_task *t);
/* Whether a task of the program fits this machine: NOMEM says how much memory
 * its tensors need; LIMIT, of one with workers, how much its reference does;
 * UNSUPPORTED for a symbolic extent. */
tess_status measure_task_fits(const ir_program *base, bool in_process,
                              err_state *e);
/* Can tensors be drawn for p?  UNSUPPORTED with the index that leaves its
 * buffer and the input that it depends on. */
tess_status measure_check_drawn(tess_program *p);
/* Why no candidate of the task can be measured, and the status: preparing the
 * tensors or the reference timed out, and would again, or the program reads
 * what nobody wrote (UNWRITTEN).  NULL: they can. */
const char *measure_task_stuck(const measure_task *t, tess_status *s);

/* ---- building ----------------------------------------------------------- */

typedef struct measure_candidate {
  const vm_trace *trace;    /* replayed over the task's program */
  const int64_t *decisions; /* a vm_decisions' content; NULL: the trace's
                             * own */
  uint32_t ndecisions;
  const ir_program *program; /* trace NULL: a scheduled program; NULL: the
                              * task's own, unscheduled */
  backend_form form;
} measure_candidate;

typedef struct measure_build {
  tess_status status;
  strbuf message;                /* when OK what of the schedule is not so, "":
                                  * all is */
  strbuf code;                   /* object code, or a text */
  uint64_t program_hash;         /* of the scheduled program */
  double replay, lower, compile; /* seconds */
} measure_build;

/* Candidates that are being built, in order. */
typedef struct measure_building measure_building;
/* Begins with n candidates, which live until measure_build_end; out[i] is the
 * result of c[i], initialised here.  Building goes on during the pool's
 * measure_run and measure_compare, on cores that these leave alone (four at
 * most); where they leave none it waits. */
tess_status measure_build_begin(measure_pool *pool, const measure_task *t,
                                uint32_t n, const measure_candidate *c,
                                measure_build *out, measure_building **b);
/* Up to which candidate to build before number `at` runs: to a few of the first
 * where building goes on meanwhile; else to many, so that builders seldom wait
 * for each other. */
uint32_t measure_build_part(const measure_building *b, uint32_t at);
/* Builds in parallel until the candidates below `end` have their results; the
 * status is that of measure_build_batch. */
tess_status measure_build_until(measure_building *b, uint32_t end);
/* Ends what is being built; NULL is allowed. */
void measure_build_end(measure_building *b);

/* Builds n candidates in parallel; out[i] is the result of c[i] and initialised
 * here (measure_build_free it whatever is returned).  TESS_OK; CANCELLED, with
 * the remaining results of that class; NOMEM; LIMIT. */
tess_status measure_build_batch(measure_pool *pool, const measure_task *t,
                                uint32_t n, const measure_candidate *c,
                                measure_build *out);
void measure_build_free(measure_build *b);

/* ---- running ------------------------------------------------------------ */

typedef enum measure_check {
  MEASURE_CHECK_NEVER,
  MEASURE_CHECK_IF_BEST, /* when its median is below `best` */
  MEASURE_CHECK_ALWAYS
} measure_check;

typedef struct measure_request {
  const strbuf *code; /* of measure_build */
  measure_check check;
  double best; /* seconds of the best so far; 0: none yet */
} measure_request;

typedef struct measure_result {
  tess_status status;
  strbuf message;                        /* "" when OK */
  double median, min, max, mean, stddev; /* seconds a run */
  double first;                          /* seconds of the first launch, where
                                          * that tells how long a run takes; 0:
                                          * it does not */
  VEC(double) sample;                    /* seconds a run, in order */
  uint64_t runs;                         /* launches that were timed */
  bool cut_off;                          /* too slow: only one sample, or, of
                                          * what was ended, what it ran for or
                                          * would have */
  bool checked;        /* outputs were compared, and agree if status is OK */
  double error, bound; /* greatest difference found, and allowed, as a
                        * fraction of |reference| + rms of the output; both
                        * 0 where outputs must be equal exactly */
} measure_result;

/* Always initialises *out; returns out->status. */
tess_status measure_run(measure_pool *pool, measure_task *t,
                        const measure_request *r, measure_result *out);
void measure_result_free(measure_result *r);

/* Compares the outputs of built code with the reference, without timing it:
 * sets `checked` and the fields after it.  Always initialises *out; returns
 * out->status. */
tess_status measure_compare(measure_pool *pool, measure_task *t,
                            const strbuf *code, measure_result *out);

/* ---- calls, and tensors on devices -------------------------------------- */

/* Makes a tensor on the device ("opencl:0") with these contents, which the
 * pool's worker for calls holds until it ends or the tensor is dropped.
 * NOT_FOUND, UNSUPPORTED: there is no such device; NOMEM; INFRA. */
tess_status measure_resident_new(measure_pool *pool, const char *device,
                                 const void *contents, size_t bytes,
                                 uint64_t *id, err_state *e);
/* Contents to it and from it.  INFRA: the worker that held it has ended, and
 * they are lost. */
tess_status measure_resident_write(measure_pool *pool, uint64_t id,
                                   const void *from, size_t bytes,
                                   err_state *e);
tess_status measure_resident_read(measure_pool *pool, uint64_t id, void *to,
                                  size_t bytes, err_state *e);
void measure_resident_free(measure_pool *pool, uint64_t id);

/* Appends the device's limits to *out, as options of a target's text. */
tess_status measure_device_facts(measure_pool *pool, const char *device,
                                 strbuf *out, err_state *e);
/* Appends what the times of the machine that runs code depend on: lines of a
 * name, a tab and a text (machine_facts.h). */
tess_status measure_machine_facts(measure_pool *pool, strbuf *out,
                                  err_state *e);

/* A launch of a kernel that only workers may load, on the caller's memory,
 * which is copied to the worker and, where it is written, back, or on tensors
 * that are there. */
typedef struct measure_call {
  const char *target;
  const strbuf *code;
  uint32_t n;
  void *const *args;
  const size_t *bytes;
  const uint64_t *resident; /* by argument: the tensor on the device that it
                             * is, as measure_resident gives it; 0: args */
  const bool *written;
  uint32_t nsizes; /* at most 64 */
  const int64_t *sizes;
  double min_time; /* 0: it runs once, and is not timed */
  uint32_t repeats, threads;
} measure_call;

/* Always initialises *out, whose samples are the times; returns
 * out->status. */
tess_status measure_call_kernel(measure_pool *pool, const measure_call *call,
                                measure_result *out);

/* Times k kernels interleaved, so that changes of the machine's load affect all
 * of them; each result is as of measure_run, not checked.  TESS_OK when all
 * have times. */
tess_status measure_rematch(measure_pool *pool, measure_task *t, uint32_t k,
                            const strbuf *const *code, measure_result *out);

#endif
