/* SPDX-License-Identifier: Apache-2.0
 * Searching: what the files of this floor share.
 *
 * A candidate is (sketch, decisions).  The session makes candidates, many at
 * a time on several threads: candidate number i draws from the stream
 * (seed, i) alone, so what is made does not depend on how many threads make
 * it.  A strategy proposes batches and observes results, in index order; a
 * measurer turns batches into times; tune.c is the loop around them.
 */
#ifndef SEARCH_SEARCH_H
#define SEARCH_SEARCH_H

#include "base/map.h"
#include "search/feature/feature.h"
#include "search/funnel.h"
#include "vm/object.h"
#include "vm/space.h"

/* ---- candidates --------------------------------------------------------- */

/* One candidate as the engine keeps it; its decisions lie in an arena of the
 * session's and are encoded as vm_decisions are. */
typedef struct search_cand {
  uint32_t sketch, n;
  const int64_t *d;
  uint64_t hash;             /* of sketch and decisions */
} search_cand;

uint64_t search_hash(uint32_t sketch, uint32_t n, const int64_t *d);

/* How to make one. */
typedef enum search_how {
  SEARCH_DRAW,               /* all decisions afresh, a sketch at random */
  SEARCH_MUTATE,             /* `steps` neighbours from parent a */
  SEARCH_CROSS,              /* each decision from parent a or b, mended */
  SEARCH_GIVEN               /* the decisions of a, exactly */
} search_how;
typedef struct search_order {
  search_how how;
  uint32_t steps;
  const search_cand *a, *b;
  int32_t sketch;            /* SEARCH_DRAW: this one; -1: any */
} search_order;

/* ---- the session -------------------------------------------------------- */

/* What one thread needs; reused, so that nothing is allocated once warm. */
typedef struct search_worker {
  mem_heap heap;
  vm_machine m;
  vm_decisions made, spare;
  arena out;                 /* decisions of the candidates it made */
  arena rows;                /* features, until the next question */
  arena kept_rows;           /* and those made with this batch's candidates */
  map kept_at;               /* hash -> index in kept */
  VEC(feature_rows) kept;
  funnel tally;              /* of what this thread refused */
  bool ready;                /* there is something to free */
} search_worker;

/* One measured candidate. */
typedef struct search_seen {
  search_cand c;
  double seconds;            /* +inf when it failed */
  tess_status status;
  bool checked;              /* it computes what the reference does */
} search_seen;

struct tess_session {
  tess_context *c;
  const ir_program *base;
  uint32_t nsketch, nworker;
  const vm_trace *const *sketch;
  search_worker *worker;
  uint64_t seed, next;       /* number of the next candidate */
  arena keep;                /* decisions of what was measured */
  map known;                 /* hash -> index in history */
  VEC(search_seen) history;  /* in the order of measuring */
  const tess_cost_model *model;
  rng random;                /* for strategies: the stream (seed, 2^63) */
  funnel total;
  tess_program *program;     /* what base is of; NULL: nobody said */
  bool wants;                /* candidates get features when they are made, */
  feature_kind want;         /* of this kind */
  VEC(uint32_t) row_first;   /* what session_rows gave out */
  VEC(float) row;
  VEC(feature_rows) part;
  uint32_t **slot, nslot;    /* columns of "decisions" (decisions.c) */
};

tess_status session_init(tess_session *s, tess_context *c,
                         const ir_program *base, uint32_t nsketch,
                         const vm_trace *const *sketch, uint64_t seed,
                         uint32_t threads);
void session_free(tess_session *s);
/* Makes n candidates, out[i] by order[i] (its d is NULL where bounded tries
 * gave nothing valid).  Their decisions stay until session_begin_batch. */
tess_status session_make(tess_session *s, uint32_t n,
                         const search_order *order, search_cand *out);
void session_begin_batch(tess_session *s);
/* Replays a candidate and leaves its program in worker 0's machine. */
tess_status session_replay(tess_session *s, const search_cand *c);
/* Whether a candidate from outside is of a sketch that there is, and replays;
 * what is wrong with it goes into the funnel. */
tess_status session_look_at(tess_session *s, const search_cand *c,
                            bool *fits);
/* Enters a measured candidate (its decisions are copied). */
tess_status session_learn(tess_session *s, const search_cand *c,
                          double seconds, tess_status status, bool checked);
/* What a function that is plugged in gave: where it failed without words, for
 * want of memory apart, the error says that `who` failed.  Returns st. */
tess_status session_blame(tess_session *s, tess_status st, const char *who);
static inline bool session_knows(const tess_session *s,
                                 const search_cand *c) {
  return map_get(&s->known, c->hash) != MAP_NONE;
}
/* The best n measured so far, best first; returns how many. */
uint32_t session_best(const tess_session *s, uint32_t n, uint32_t *out);
void session_to_public(const search_cand *c, tess_candidate *out);
search_cand session_from_public(const tess_candidate *c);

/* ---- postprocessors (postproc/) ----------------------------------------- */

/* Looks at a replayed program, which was `given`; may change it; false:
 * rejected, with a reason (static text) and the number that broke a limit. */
typedef struct search_postproc {
  const char *name;
  bool (*run)(sch_state *s, const ir_program *given, const char **why,
              int64_t *number);
} search_postproc;
extern const search_postproc *const search_postprocs[];
extern const uint32_t search_npostprocs;

/* ---- strategies (strategy/) ---------------------------------------------- */

/* A built-in strategy: its state is made by `open`. */
typedef struct search_strategy {
  const char *name, *summary;
  tess_status (*open)(tess_session *s, tess_strategy *out);
} search_strategy;
extern const search_strategy *const search_strategies[];
extern const uint32_t search_nstrategies;

#endif
