/* SPDX-License-Identifier: Apache-2.0
 * Searching a space: strategies, cost models, many tasks.  Included by
 * tessera.h, whose first page holds for this part, too. */
#ifndef TESSERA_TUNE_H
#define TESSERA_TUNE_H

#include <tessera/option.h>
#include <tessera/space.h>
#include <tessera/trace.h>
#include <tessera/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- search ------------------------------------------------------------- */

/* A batch of candidates, as a plugged-in strategy, model or postprocessor
 * sees them; valid during the call. */
typedef struct tess_candidate {
  uint32_t sketch;              /* from 0 */
  uint32_t ndecisions;
  const int64_t *decisions;     /* each preceded by its length */
  double seconds;               /* observed; +inf when it failed */
  tess_status status;           /* observed class, TESS_OK when it ran */
} tess_candidate;

typedef struct tess_session tess_session;  /* what a strategy may ask */
/* Sketches are numbered from 0. */
TESS_API uint32_t tess_session_nsketches(tess_session *s);
/* Draw, mutate (parent), cross: a new valid candidate in *out (its storage
 * belongs to the session until the batch ends); TESS_NOT_FOUND after bounded
 * tries; TESS_INVALID for a parent of no sketch that there is, or whose
 * decisions are not entries preceded by their lengths, one for each sampling
 * instruction of its sketch. */
TESS_API tess_status tess_session_draw(tess_session *s, tess_candidate *out);
TESS_API tess_status tess_session_mutate(tess_session *s,
    const tess_candidate *parent, tess_candidate *out);
TESS_API tess_status tess_session_cross(tess_session *s,
    const tess_candidate *a, const tess_candidate *b, tess_candidate *out);
TESS_API double tess_session_unit(tess_session *s);   /* random in [0,1) */
/* What the cost model says of n candidates, higher being better; and whether
 * one was measured already. */
TESS_API tess_status tess_session_predict(tess_session *s, uint32_t n,
    const tess_candidate *c, double *score);
TESS_API int tess_session_seen(tess_session *s, const tess_candidate *c);
/* For functions of the host's that a run calls, which then return `status`: why
 * they failed, in one line, for the result's message.  Gives the status. */
TESS_API tess_status tess_session_fail(tess_session *s, tess_status status,
                                       const char *why);
/* INVALID, with what is wrong, unless the candidate's sketch exists and has as
 * many decisions; whether it replays is not asked. */
TESS_API tess_status tess_session_check(tess_session *s,
                                        const tess_candidate *c);
/* The schedule of a candidate: its trace with the decisions in it, also of one
 * that does not replay unless postprocessors of the host's change schedules;
 * and the program that it makes, REFUSED where it does not replay. */
TESS_API tess_status tess_session_trace(tess_session *s,
    const tess_candidate *c, TESS_GIVE tess_trace **out);
TESS_API tess_status tess_session_program(tess_session *s,
    const tess_candidate *c, TESS_GIVE tess_program **out);

/* Rows of numbers that describe candidates to a model.  What a column means
 * does not change within a version; docs/searching.md lists the columns. */
typedef struct tess_features {
  uint32_t struct_size;         /* sizeof(tess_features) */
  uint32_t version, nrows, ncolumns;
  const uint32_t *first;        /* of candidate i: rows first[i] up to, but
                                 * not with, first[i + 1] */
  const float *value;           /* row by row */
} tess_features;
enum { TESS_MAX_COLUMN = 64 };  /* bytes of a column's name, with its NUL */
/* Kinds: "per_store" (a row a store), "context" (a row a loop), "tree" (a row
 * a loop or store), "traffic" (a row a store), "decisions" (one row); INVALID
 * for others, and for a candidate that does not replay.  What out points to
 * lives until the next question of the session's. */
TESS_API tess_status tess_session_features(tess_session *s, uint32_t n,
    const tess_candidate *c, const char *kind, tess_features *out);
/* The name of a column, from 0; NOT_FOUND past the last. */
TESS_API tess_status tess_session_column(tess_session *s, const char *kind,
    uint32_t column, char name[TESS_MAX_COLUMN]);

typedef struct tess_strategy {
  uint32_t struct_size;         /* sizeof(tess_strategy) */
  const char *name;
  /* Proposes up to n new candidates.  Three consecutive batches without a new
   * one end the search; more than n candidates end it with TESS_INVALID.
   * Candidates that were measured before, are proposed twice or do not replay
   * are rejected and counted in the funnel.  Those whose program was measured
   * under other decisions, before or in the batch, are not measured: they have
   * its result, follow what is measured of the batch in `observe`, and 1024 of
   * them in a row end the search.  The database's results of earlier
   * runs are observed before the first proposal, in batches, oldest first. */
  tess_status (*propose)(void *ud, tess_session *s, uint32_t n,
                         tess_candidate *out, uint32_t *got);
  tess_status (*observe)(void *ud, tess_session *s, uint32_t n,
                         const tess_candidate *c); /* NULL: does not look */
  void (*free)(void *ud);       /* NULL: nothing to free */
  void *ud;
} tess_strategy;

/* The built-in strategies, from 0: name and one line; NULL past the last. */
TESS_API const char *tess_strategy_name(uint32_t i);
TESS_API const char *tess_strategy_summary(uint32_t i);
/* An option of one, which is written behind its name, as in
 * "annealing:chains=64,steps=200". */
typedef struct tess_strategy_option {
  uint32_t struct_size;         /* sizeof(tess_strategy_option) */
  int32_t integer;              /* it takes no fractions */
  const char *name, *help;
  const char *words;            /* it takes one of these, "ei|lcb"; "": any
                                 * text, which must be given, as the last;
                                 * NULL: a number from least to most */
  double initial, least, most;  /* initial of words: which, from 0 */
} tess_strategy_option;
/* Option k of strategy i, from 0; NOT_FOUND where there is none. */
TESS_API tess_status tess_strategy_option_get(tess_context *c, uint32_t i,
    uint32_t k, tess_strategy_option *out);

/* A mutator of the strategy "evolutionary" beside its own: what it gives is
 * repaired where it does not fit, and may be of another sketch. */
typedef struct tess_mutator {
  uint32_t struct_size;         /* sizeof(tess_mutator) */
  const char *name;
  double probability;           /* up to a factor, as those of the built-in */
  /* A child of the parent; its decisions live until the next call.
   * TESS_NOT_FOUND: it has none. */
  tess_status (*mutate)(void *ud, tess_session *s,
                        const tess_candidate *parent, tess_candidate *out);
  void *ud;
} tess_mutator;

/* A postprocessor of the host's: called for each candidate that replays and
 * that the space's postprocessors accept, on the thread that tunes, before any
 * strategy or cost model sees it.  TESS_OK: it is kept; TESS_REFUSED: it is
 * counted in the funnel by the name.  TESS_NOMEM and TESS_CANCELLED end the
 * run; after anything else the candidate is refused with a warning, once for
 * each reason, or the run ends where tess_tune_options.on_error says so. */
typedef struct tess_postproc {
  uint32_t struct_size;         /* sizeof(tess_postproc) */
  const char *name;
  /* NULL: accepts all.  tess_session_trace and tess_session_program give the
   * candidate as the postprocessors before have left it. */
  tess_status (*accepts)(void *ud, tess_session *s, const tess_candidate *c);
  void *ud;
  /* NULL: changes nothing; called after `accepts`, where there is one.
   * Schedules the candidate, `sch`, further, in place: whatever primitive it
   * calls, but for those that sample, ends the candidate's trace, behind
   * enter_postproc, so that the trace with its decisions is the whole kernel.
   * Mutation and crossover see the decisions only, and the function is called
   * anew for what they make; it may be called more than once for a candidate
   * and must do the same each time.  `sch` is borrowed.  *why, which is NULL
   * before: a reason, which lives until the next call. */
  tess_status (*apply)(void *ud, tess_session *s, tess_schedule *sch,
                       const char **why);
} tess_postproc;

typedef struct tess_cost_model {
  uint32_t struct_size;         /* sizeof(tess_cost_model) */
  const char *name;
  /* Higher is better; a NaN counts as the worst, with a warning.  It is updated
   * whenever the strategy has observed. */
  tess_status (*predict)(void *ud, tess_session *s, uint32_t n,
                         const tess_candidate *c, double *score);
  tess_status (*update)(void *ud, tess_session *s, uint32_t n,
                        const tess_candidate *c);  /* NULL: does not learn */
  void (*free)(void *ud);       /* NULL: nothing to free */
  void *ud;
} tess_cost_model;

/* A built-in cost model that learns, apart from a run: it keeps what it was
 * taught, over several runs, and in a file.  Of names there are "random",
 * "xgb", "xgb_rank", "forest", "gp", "treegru" and "analytic", which is taught
 * nothing; names joined by "+" are an ensemble, whose members vote. */
typedef struct tess_model tess_model;
/* NOT_FOUND where there is none of the name; UNSUPPORTED where a library that
 * it needs is not there, with its name. */
TESS_API tess_status tess_model_new(tess_context *c, const char *name,
                                    TESS_GIVE tess_model **out);
/* A file holds what the model was taught, with which it is trained again when
 * it is asked first.  IO; INVALID for what is no such file or is damaged, and
 * for features of another version. */
TESS_API tess_status tess_model_save(tess_model *m, const char *path);
TESS_API tess_status tess_model_load(tess_context *c, const char *path,
                                     TESS_GIVE tess_model **out);
TESS_API const char *tess_model_name(tess_model *m);
/* How many measured candidates it was taught. */
TESS_API uint32_t tess_model_samples(tess_model *m);
/* The k-th of the columns of its features by how much they matter, from 0, and
 * the share that it has; NOT_FOUND past the last that matters, and while it is
 * not trained; UNSUPPORTED where no model of these names tells, as "xgb",
 * "xgb_rank" and "forest" do. */
TESS_API tess_status tess_model_importance(tess_model *m, uint32_t k,
    char name[TESS_MAX_COLUMN], double *share);
TESS_API void tess_model_free(TESS_TAKE tess_model *m);

/* How well a model told a batch before it was taught the batch. */
typedef struct tess_quality {
  uint32_t trials, n;           /* taught before; in the batch */
  double rmse;                  /* of throughput relative to the best; NaN of a
                                 * model that only ranks */
  double rank_accuracy;         /* share of pairs in the right order */
  double top_k_recall;          /* share of the fastest quarter that is among as
                                 * many of the best predicted */
} tess_quality;

/* Told after each trial, and while a batch is compiled, between its parts. */
typedef struct tess_progress {
  uint32_t struct_size;         /* of this library */
  uint32_t trials, max_trials, failed;  /* so far, at most, of them failed */
  double best_seconds, gflops, elapsed;
  double eta;                   /* seconds left; INFINITY until some trials are
                                 * there to judge by */
  const char *text;             /* one line for people */
  uint32_t compiled, compiling; /* of a batch of so many; 0, 0: this is told
                                 * after a trial, whose are */
  tess_status status;           /* how it ended */
  double seconds;               /* and its time, INFINITY where it has none */
} tess_progress;

/* tess_tune_options and tess_tasks_options. */
#include <tessera/options.h>

/* Searches the space for the fastest schedule of p; target NULL: "llvm", space
 * NULL: that of tess_space_default, options NULL: the defaults.  NOT_FOUND when
 * the space has no sketch, or there is no strategy or cost model of that name;
 * INVALID with the option named; NOMEM when there is no room for the program's
 * tensors; TIMEOUT when filling them takes too long; UNSUPPORTED when this
 * machine cannot run what is made for the target, sizes of the program are
 * known only when it is called, or the default space is not installed.
 * Custom strategies and models are borrowed for the call; `free`, where they
 * have one, is called once at its end, with `ud` whatever that is and however
 * the call ended, unless struct_size is refused. */
TESS_API tess_status tess_tune(tess_program *p, tess_target *target,
    tess_space *space, const tess_tune_options *o,
    TESS_GIVE tess_result **out);
/* From any thread or a signal handler: what this context is doing ends, a run
 * of tess_tune with the best so far; tess_build, tess_kernel_source,
 * tess_kernel_time, tess_interpret, tess_equivalent and tess_tensor_intrin with
 * CANCELLED.  A kernel that runs is not broken off; nor is a later call. */
TESS_API void tess_stop(tess_context *c);

/* A result is given even when nothing valid was found: status says so.  What
 * it names as the best computed what the unscheduled program does.  A run
 * that breaks off (its database cannot be written, memory runs out, a strategy
 * fails) gives the best so far where there is one: status and message are
 * then the failure's. */
typedef struct tess_result_info {
  uint32_t struct_size;         /* sizeof(tess_result_info) */
  tess_status status;           /* TESS_OK, TESS_NOT_FOUND, TESS_CANCELLED,
                                 * or what broke the run off */
  double latency;               /* seconds, median when the best few were timed
                                 * again at the end */
  double gflops;
  uint32_t trials, failed;      /* those of the database included */
  uint32_t ncurve;              /* as many as there were trials */
  int32_t exhausted;            /* it ended before its trials: the strategy had
                                 * nothing new three times in a row, or 1024
                                 * times in a row a measured program; the funnel
                                 * says what became of what it drew */
  const double *curve;          /* best seconds after each of them; +inf while
                                 * nothing valid is known */
  /* Of this run alone, without the records that the database had before it:
   * the rejection funnel, and where the time went, as text; the classes of
   * results and their counts, as JSON. */
  const char *funnel;
  const char *ledger;
  const char *classes;
  const char *message;          /* why the run broke off, or was ended by a
                                 * candidate that failed; else "" */
  const char *note;             /* one line, where latency is far from the time
                                 * of the best trial, the best is slower than
                                 * the unscheduled program, the check of
                                 * results sees little, no module applied, or
                                 * most of what was drawn was refused since a
                                 * step gave another number of results than in
                                 * the sketch; else "" */
  uint32_t nquality;            /* of the cost model, batch by batch, once it
                                 * knew something */
  const tess_quality *quality;
  double unscheduled;           /* seconds of the unscheduled program: of its
                                 * one run, or by the part that was run, or,
                                 * where that is not clearly slower, timed
                                 * interleaved with the best; 0: not known */
} tess_result_info;
/* Facts of a run; texts and the curve live as long as the result. */
TESS_API tess_status tess_result_get(tess_result *r, tess_result_info *out);
/* The best that was found, as its trace, its schedule and its kernel (built
 * now: errors of tess_build); NOT_FOUND when nothing valid was. */
TESS_API tess_status tess_result_trace(tess_result *r,
                                       TESS_GIVE tess_trace **out);
TESS_API tess_status tess_result_schedule(tess_result *r,
                                          TESS_GIVE tess_schedule **out);
TESS_API tess_status tess_result_kernel(tess_result *r,
                                        TESS_GIVE tess_kernel **out);
/* The cost model of the run, which goes on from what it learnt; NOT_FOUND when
 * it was a custom one. */
TESS_API tess_status tess_result_model(tess_result *r,
                                       TESS_GIVE tess_model **out);
TESS_API void tess_result_free(TESS_TAKE tess_result *r);

/* ---- many tasks --------------------------------------------------------- */

/* A program to tune together with others.  Programs that are structurally
 * equal (tess_program_hash) and have the same space are one task: its weight
 * is the sum of theirs, and it is named after the first.  Another strategy or
 * cost model than that of the first is INVALID. */
typedef struct tess_task {
  uint32_t struct_size;         /* sizeof(tess_task) */
  uint32_t reserved;
  tess_program *program;
  tess_space *space;            /* NULL: that of tess_space_default */
  double weight;                /* how often it runs, say; 1 when 0 */
  const char *name;             /* NULL: the program's */
  /* Of this task alone, instead of those that the options name; borrowed until
   * tess_tune_tasks returns, and not freed by it. */
  const tess_strategy *strategy;
  const tess_cost_model *cost_model;
} tess_task;

/* A task as it stands; name and shapes live until the next progress. */
typedef struct tess_task_state {
  uint32_t struct_size;         /* of this library */
  uint32_t entries;             /* equal programs that it stands for */
  const char *name, *shapes;    /* shapes: "64x64 64x64 -> 64x64" */
  double weight;
  uint32_t trials, failed;
  double best_seconds, gflops;  /* +inf, 0 while nothing valid is known */
  double gain;                  /* seconds of weighted latency that a minute of
                                 * its batches gained, over the last
                                 * window_size; NaN before there are two */
  double seconds;               /* that it was worked on */
  int32_t live;                 /* it may get further batches */
} tess_task_state;

/* Told after each trial, while a batch is compiled, and after each batch. */
typedef struct tess_tasks_progress {
  uint32_t struct_size;         /* of this library */
  uint32_t ntask;
  const tess_task_state *task;
  uint32_t current;             /* the task at work, from 0 */
  uint32_t trials, max_trials;  /* of all tasks; 0: no limit of trials */
  uint32_t failed;
  int32_t round;                /* a batch has ended, and `trial` is NULL */
  double latency;               /* weighted sum of the best times; +inf until
                                 * each task has one */
  double elapsed, eta;          /* eta: as of tess_progress */
  const tess_progress *trial;   /* of the current task */
  const char *text, *table;     /* a line, and a table, for people */
} tess_tasks_progress;

typedef struct tess_tasks tess_tasks;  /* the results of many tasks */
typedef struct tess_tasks_info {
  uint32_t struct_size;         /* sizeof(tess_tasks_info) */
  tess_status status;           /* OK; CANCELLED; else of the first task that
                                 * has no valid result or broke off */
  uint32_t ntask, nentry;       /* different programs, and those given */
  uint32_t trials, failed;      /* of all tasks */
  double latency;               /* weighted sum; +inf where one has none */
  double seconds;
  const char *funnel, *ledger;  /* of all tasks together */
  const char *table;            /* of the tasks, at the end */
  const char *note, *message;   /* one line each, or "" */
} tess_tasks_info;

/* Tunes n programs under one budget: the scheduler gives batch after batch to
 * one task or another.  Each task keeps its records in the one database, has a
 * strategy and a cost model of its own, and ends with finals of its own; one
 * that breaks off leaves the others going.  Errors are those of tess_tune, with
 * the task named, before anything is measured.  INVALID for no task at all and
 * for what the options do not allow; NOT_FOUND for an unknown scheduler. */
TESS_API tess_status tess_tune_tasks(tess_context *c, uint32_t n,
    const tess_task *task, tess_target *target, const tess_tasks_options *o,
    TESS_GIVE tess_tasks **out);
TESS_API tess_status tess_tasks_get(tess_tasks *t, tess_tasks_info *out);
/* The result of the i-th of the programs given, from 0; equal ones share it.
 * NOT_FOUND past the last. */
TESS_API tess_status tess_tasks_result(tess_tasks *t, uint32_t i,
                                       TESS_GIVE tess_result **out);
/* Which task, from 0, the i-th of the programs given became. */
TESS_API uint32_t tess_tasks_index(tess_tasks *t, uint32_t i);
TESS_API void tess_tasks_free(TESS_TAKE tess_tasks *t);

#ifdef __cplusplus
}
#endif

#endif
