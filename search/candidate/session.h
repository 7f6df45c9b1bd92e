/* SPDX-License-Identifier: Apache-2.0
 * The session: makes candidates in parallel, and knows which were measured.
 * Candidate number i draws from the stream (seed, i) alone, so the result does
 * not depend on the number of threads. */
#ifndef SEARCH_CANDIDATE_SESSION_H
#define SEARCH_CANDIDATE_SESSION_H

#include "search/candidate/funnel.h"
#include "search/candidate/memo.h"
#include "search/candidate/trial.h"
#include "vm/space.h"

/* ---- the session -------------------------------------------------------- */

/* A thread's state; reused, so that nothing is allocated once warm. */
typedef struct search_worker {
  mem_heap heap;
  vm_machine m;
  vm_decisions made, spare;
  arena out;                 /* decisions of the candidates it made */
  arena rows;                /* features, until the next question */
  arena kept_rows;           /* and those made with this batch's candidates */
  map kept_at;               /* hash -> index in kept */
  VEC(feature_rows) kept;
  VEC(float) row;            /* of decisions, as the replay at hand has them */
  search_memo own, *memo;    /* the one in use: own, or a caller's */
  bool skipped;              /* the last replay ended with its decisions: the
                              * memo knows the candidate */
  funnel tally;              /* rejections by this thread */
  bool ready;                /* it must be freed */
} search_worker;

/* What the host says of a run, and plugs into it; set behind session_init. */
typedef struct session_host {
  const tess_mutator *mutator;
  uint32_t nmutator;
  const tess_postproc *postproc;
  uint32_t npostproc;
  bool measures;             /* by a function: nothing is built, and many
                              * candidates at once are not faster than one */
  bool strict;               /* one that fails ends the run */
  tess_target *target;       /* of the schedules that they see; NULL: none */
  uint32_t kernel_threads;   /* that candidates run with; 0: nobody said */
  uint32_t trials;           /* that there may be; 0: nobody said */
} session_host;

/* Features of candidates (rows.c). */
typedef struct session_features {
  bool wanted;               /* candidates get them when they are made, */
  bool decides;              /*   or now their decisions instead, */
  feature_kind want;         /* of this kind */
  VEC(uint32_t) first;       /* what session_rows gave out */
  VEC(float) v;
  VEC(feature_rows) part;
  uint32_t nsketch;          /* that have columns: those of the space */
  uint32_t **slot, nslot;    /* columns of "decisions" (decisions.c), */
  struct search_derived *derived; /*   and those computed from others */
} session_features;

/* A candidate that the host's postprocessors have seen. */
typedef struct session_finished {
  uint64_t hash;
  vm_trace *trace;           /* NULL: they changed nothing */
} session_finished;

/* The host's postprocessors (finish.c). */
typedef struct session_finish_state {
  bool works;                /* one of them is at work, */
  tess_schedule *schedule;   /* on this schedule (NULL: on none) */
  uint64_t hash;             /*   of the candidate of this hash */
  map at;                    /* hash -> index in made */
  VEC(session_finished) made;
  VEC(const char *) reason;  /* of refusals, in keep */
} session_finish_state;

/* What was proposed from outside and is no candidate, and yet a trial. */
typedef struct session_wasted {
  uint32_t n;
  VEC(const char *) why;     /* how they were none, in keep; the first of each
                              * kind, while there are not too many */
} session_wasted;

struct tess_session {
  tess_context *c;
  const ir_program *base;
  tess_program *program;     /* what base is of; NULL: nobody said */
  uint32_t nsketch, nworker;
  const vm_trace *const *sketch;
  VEC(vm_trace *) added;     /* of them, behind those of the space */
  session_host host;
  search_worker *worker;
  uint64_t seed, next;       /* number of the next candidate */
  arena keep;                /* decisions of what was measured */
  map known;                 /* hash -> index in history */
  map known_program;         /* hash of a program -> index of its first */
  VEC(search_trial) history;  /* in the order of measuring */
  VEC(search_cand) hint;     /* good elsewhere; to be repaired */
  uint32_t hinted;           /* of them, that were proposed */
  const tess_cost_model *model;
  tess_model *learns;        /* the same where it is a built-in one (model/) */
  rng random;                /* for strategies: the stream (seed, 2^63) */
  funnel total;
  session_wasted wasted;
  double waited;             /* seconds, for what a process outside proposes */
  session_features features;
  session_finish_state finish;
  tess_status broken;        /* a function of the host's failed so: it ends the
                              * run */
};

tess_status session_init(tess_session *s, tess_context *c,
                         const ir_program *base, uint32_t nsketch,
                         const vm_trace *const *sketch, uint64_t seed,
                         uint32_t threads);
void session_free(tess_session *s);
/* Makes n candidates, out[i] by order[i] (d NULL: no valid one after a bounded
 * number of tries).  Their decisions live until session_begin_batch. */
tess_status session_make(tess_session *s, uint32_t n,
                         const search_order *order, search_cand *out);
void session_begin_batch(tess_session *s);
/* A copy of the trace becomes one more sketch, with open decisions; LIMIT:
 * there are too many. */
tess_status session_add_sketch(tess_session *s, const vm_trace *t,
                               uint32_t *sketch);
/* One more trial is lost, for this reason (in one line, which is copied), and
 * counted in the funnel. */
tess_status session_waste(tess_session *s, const char *why);
/* vm_replay_numbered by worker 0, whose `made` has the decisions; where the
 * postprocessors accept it the memo knows the candidate then.  A refusal is
 * counted in the funnel. */
tess_status session_replay_numbered(tess_session *s, uint32_t sketch,
                                    const uint64_t *index, uint64_t *count,
                                    uint32_t *reached);
/* Checks what was replayed so, and counts it in the funnel. */
tess_status session_check_numbered(tess_session *s, const search_cand *c,
                                   bool *fits);
/* Replays a candidate and leaves its program in worker 0's machine. */
tess_status session_replay(tess_session *s, const search_cand *c);
/* Validates a candidate of a host's strategy: its sketch exists and it replays.
 * A rejection is counted in the funnel. */
tess_status session_check_proposal(tess_session *s, const search_cand *c,
                            bool *fits);
/* Whether a host's candidate is of a sketch that there is, and its decisions
 * are entries, as many as the sketch samples; else the error says what is
 * wrong. */
tess_status session_check_decisions(tess_session *s, const tess_candidate *c);
/* The hash of a candidate's program; 0 where it does not replay. */
uint64_t session_program_of(tess_session *s, const search_cand *c);
/* Enters a trial; the decisions are copied. */
tess_status session_learn(tess_session *s, const search_trial *t);
/* Completes the error of a plugged-in function `who` that returned st: if it
 * set no message the error names the function.  Returns st. */
tess_status session_blame(tess_session *s, tess_status st, const char *who);
/* Of the programs that were measured the one of this hash; NULL: none is. */
static inline const search_trial *session_find_program(const tess_session *s,
                                                      uint64_t program) {
  uint32_t at = program ? map_get(&s->known_program, program) : MAP_NONE;
  return at == MAP_NONE ? NULL : &s->history.v[at];
}
static inline bool session_knows(const tess_session *s,
                                 const search_cand *c) {
  return map_get(&s->known, c->hash) != MAP_NONE;
}
/* The best n measured so far, best first; returns how many. */
uint32_t session_best(const tess_session *s, uint32_t n, uint32_t *out);
void session_to_public(const search_cand *c, tess_candidate *out);
search_cand session_from_public(const tess_candidate *c);

/* ---- the host's postprocessors (finish.c) ------------------------ */

/* Asks them about a candidate that replays; one that they refuse is counted in
 * the funnel.  Of one that they change, the features that are kept are those of
 * the program that it becomes. */
tess_status session_ask(tess_session *s, const search_cand *c,
                        funnel_stage stage, bool *fits);
/* Is there one that may change candidates? */
bool session_reschedules(const tess_session *s);
/* The trace that, with the candidate's decisions, is its kernel: its sketch, or
 * a longer one, which lives until session_begin_batch.  REFUSED: by one of
 * them. */
tess_status session_finish(tess_session *s, const search_cand *c,
                           const vm_trace **out);
/* The same of a trial, whose `trace` it is then. */
tess_status session_finish_trial(tess_session *s, search_trial *t);
/* Drops all such traces but the first n. */
void session_forget(tess_session *s, uint32_t n);
/* A copy of the trace `from` with the candidate's decisions. */
tess_status session_decided(tess_session *s, const vm_trace *from,
                            const search_cand *c, tess_trace **out);

#endif
