/* SPDX-License-Identifier: Apache-2.0
 * Databases of measured schedules.  Included by tessera.h, whose first page
 * holds for this part, too. */
#ifndef TESSERA_DATABASE_H
#define TESSERA_DATABASE_H

#include <tessera/tune.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a database; one that is not there is made, one that may not be
 * written can be read.  IO, with the path, where that fails. */
TESS_API tess_status tess_database_open(tess_context *c, const char *path,
                                        TESS_GIVE tess_database **out);
/* The same for reading only: no lock of a writer's is ever taken, so it watches
 * a run that stores.  IO where it is not there, INVALID where it has no tables
 * yet; what would store something is IO, too. */
TESS_API tess_status tess_database_open_readonly(tess_context *c,
                                                 const char *path,
                                                 TESS_GIVE tess_database **out);
TESS_API void tess_database_free(TESS_TAKE tess_database *d);
typedef struct tess_record {
  uint32_t struct_size; /* sizeof(tess_record) */
  uint32_t nsample;
  int64_t id;
  uint64_t workload;
  const char *workload_name, *target, *policy, *engine, *status;
  double seconds; /* +inf where it failed or is damaged */
  uint64_t program_hash;
  int32_t checked; /* compared with the unscheduled program, and agreed */
  int32_t damaged; /* trace or decisions cannot be read, or are of two
                    * candidates */
  const char *message; /* why it failed; else "" */
  const double *sample; /* nsample seconds, as measured; of a success */
  const char *shapes;   /* of the program's parameters, as "A: float32[8, 4],
                         * B: out float32[8]", "?" where symbolic; "" where the
                         * stored program is damaged */
  int64_t run;          /* that made it (tess_database_run); 0: unknown */
  uint32_t round, slot; /* its batch of the run, and its place there */
  double elapsed;       /* seconds since the run began; NaN: unknown */
  double predicted;     /* score of the cost model before it was measured; NaN:
                         * it knew nothing, or there was none */
  uint64_t sketch;      /* hash of the trace without decisions */
  const int64_t *decisions; /* as of tess_candidate; NULL: damaged */
  uint32_t ndecisions;
  uint32_t reserved;
  const char *stored_at; /* UTC, "2026-01-31T12:00:00Z" */
} tess_record;
/* Which records: those for which all that is given holds. */
typedef struct tess_record_filter {
  uint32_t struct_size;         /* sizeof(tess_record_filter) */
  int32_t checked;              /* non-zero: only successes that agreed with
                                 * the unscheduled program */
  tess_program *program;        /* this one, by its hash; NULL: any */
  const char *workload_name;    /* each NULL: any */
  const char *target;           /* as tess_target_text gives it */
  const char *policy;
  const char *before;           /* stored before: UTC, "2026-01-31", to which
                                 * "T12:00:00Z" may be added; NULL: ever */
  const uint64_t *sketch;       /* of other sketches than these nsketch, of
                                 * tess_space_postprocessed, by their
                                 * tess_trace_hash; NULL: of any */
  uint32_t nsketch;
  int32_t failed;               /* non-zero: only failures */
} tess_record_filter;
/* From now on rows are of these records only; NULL: of all.  INVALID where
 * `before` is no time. */
TESS_API tess_status tess_database_filter(tess_database *d,
                                          const tess_record_filter *f);
/* How many rows there are, damaged ones included. */
TESS_API tess_status tess_database_count(tess_database *d, uint64_t *n);
/* Among which records the best is: those whose times say the same. */
typedef struct tess_best_filter {
  uint32_t struct_size;         /* sizeof(tess_best_filter) */
  int32_t measure;              /* non-zero: times that a function `measure`
                                 * gave; 0: measured ones */
  const char *measure_name;     /* of the function; NULL: any */
  const char *target;           /* as tess_target_text gives it; NULL: any */
  const char *policy;           /* measured just so, and nothing else is asked;
                                 * NULL: any that the others allow */
  tess_tensor *const *inputs;   /* measured on these, as the option of
                                 * tess_tune; NULL: on drawn ones */
  uint32_t ninputs, reserved;
} tess_best_filter;
/* The fastest record of the program that agreed with the unscheduled one.
 * Where such records are of several targets or policies, whose times are not
 * comparable, it is the best of those that are measured as the newest of them
 * is; its fields say how.  NULL: an empty filter.  NOT_FOUND if there is none;
 * INVALID for a policy with inputs or `measure`, and as tess_tune for inputs
 * that are not the program's.  Sets the rows' filter to what it searched
 * for. */
TESS_API tess_status tess_database_best_of(tess_database *d, tess_program *p,
                                           const tess_best_filter *f,
                                           tess_record *out);
/* The same with a target only, which may be NULL. */
TESS_API tess_status tess_database_best(tess_database *d, tess_program *p,
                                        const char *target, tess_record *out);
/* Best first.  Of the records of one workload, target and policy the first was
 * compared with the unscheduled program when it was stored; others may not have
 * been (`checked`).  Damaged records come last and are ignored by tuning.  A
 * success with an impossible time is left out with a warning.  Row k counted
 * from 0; TESS_NOT_FOUND past the last.  What a record points to lives until
 * the next call on the database. */
TESS_API tess_status tess_database_row(tess_database *d, uint64_t k,
                                       tess_record *out);
/* The trace of a row, with its decisions; NOT_FOUND when there is no such
 * id.  It is replayed once: if that is refused or gives another program than
 * the one that was measured, as it may after a change of the engine or of the
 * file, a warning says so. */
TESS_API tess_status tess_database_trace(tess_database *d, int64_t id,
                                         TESS_GIVE tess_trace **out);
/* The records of one workload, target and policy, whose times are
 * comparable. */
typedef struct tess_record_group {
  uint32_t struct_size; /* sizeof(tess_record_group) */
  uint32_t reserved;
  uint64_t workload;
  const char *workload_name, *target, *policy;
  const char *shapes;   /* as of tess_record */
  uint64_t count, failed;
  int64_t best;         /* the fastest that agreed with the unscheduled program;
                         * 0: none.  Whether it is damaged is not looked at. */
  double seconds;       /* of that; +inf */
} tess_record_group;
/* The k-th group, from 0, of the records that the filter lets by; NOT_FOUND
 * past the last.  It counts in the tables and reads no trace, so that asking
 * often costs little.  What it points to lives until the next call on the
 * database. */
TESS_API tess_status tess_database_group(tess_database *d, uint64_t k,
                                         tess_record_group *out);
/* A run that is in the database. */
typedef struct tess_run {
  uint32_t struct_size;         /* sizeof(tess_run) */
  uint32_t batch;
  int64_t id;
  uint64_t workload, seed;
  const char *target, *policy, *strategy, *model, *engine, *started_at;
  const char *ended;            /* its status; "" where it goes on */
  double seconds;               /* that it took so far */
  const char *funnel, *ledger;  /* as of tess_result_info, at the last batch */
  const char *quality;          /* of its cost model: JSON, a list of [trials,
                                 * n, rmse, rank_accuracy, top_k_recall], null
                                 * for what it has not */
  int32_t transfer;             /* whether other workloads' records might teach
                                 * it (no_transfer of tess_tune_options), 0 or
                                 * 1; -1: not known */
  uint32_t reserved;
  double unscheduled;           /* as of tess_result_info; 0: not known */
} tess_run;
/* The k-th run, from 0; NOT_FOUND past the last.  What it points to lives until
 * the next call. */
TESS_API tess_status tess_database_run(tess_database *d, uint64_t k,
                                       tess_run *out);
/* Looks for damage that reading records does not show: pages of the file that
 * are inconsistent (SQLite's integrity_check), programs of workloads that
 * cannot be restored or are others, and values outside of their column's
 * domain in any table, as impossible times, unknown statuses, texts that are no
 * target or policy, and rows that belong to no workload or run.  found(ud,
 * what) is called for each, `what` one line that lives until it returns
 * ("record 3: seconds is -1.0, not a time from ..."); it may not use the
 * database.  Whether records replay `damaged` of a tess_record and
 * tess_database_trace tell.  The filter ends. */
TESS_API tess_status tess_database_verify(
    tess_database *d, void (*found)(void *ud, const char *what), void *ud);
/* Stores a success that was measured elsewhere, n samples in seconds, of which
 * the median counts; policy: how it was measured, in any words, since times
 * under other policies are not compared with it.  The target's text is
 * completed, as by tess_target_new, whose errors are given.  The trace, bound
 * to its program, is replayed: REFUSED where it does not apply.  INVALID for
 * times that are none, and for an empty policy. */
TESS_API tess_status tess_database_add(tess_database *d, tess_trace *t,
    const char *target, const char *policy, uint32_t n, const double *sample);
/* Adds the workloads and records of another file that this one has not: the
 * same candidate with the same result and time is there once.  All or nothing;
 * the filter ends, as with the next two. */
TESS_API tess_status tess_database_merge(tess_database *d, const char *path,
                                         uint64_t *added);
/* Keeps the best `keep` records of each workload, target and policy, and the
 * best one that was compared with the unscheduled program; damaged ones are the
 * worst. */
TESS_API tess_status tess_database_prune(tess_database *d, uint32_t keep,
                                         uint64_t *removed);
/* Removes the records that the filter lets by (NULL: all), except for those
 * that tess_database_prune would keep; `keep` 0: none is kept, and a filter
 * that says nothing, as one whose fields were left out by mistake, is
 * INVALID.  What is known
 * of runs goes with the last record of their workload, target and policy; those
 * that lack some cannot be taken up again.  `dry`, if non-zero: they are
 * counted, and nothing is removed. */
TESS_API tess_status tess_database_remove(tess_database *d,
                                          const tess_record_filter *f,
                                          uint32_t keep, int dry,
                                          uint64_t *removed);
/* Everything as JSON, an object a line: "type": "workload" or "record"; and
 * from such a file, in which PARSE names the line that is wrong, as one whose
 * workload is neither in the database nor in a line before, or whose time is
 * impossible.  Records
 * that are there already are not added.  All or nothing. */
TESS_API tess_status tess_database_export(tess_database *d, const char *path);
TESS_API tess_status tess_database_import(tess_database *d, const char *path,
                                          uint64_t *added);

#ifdef __cplusplus
}
#endif

#endif
