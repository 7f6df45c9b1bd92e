/* SPDX-License-Identifier: Apache-2.0
 * Shared by the built-in strategies: storage for candidates of a batch,
 * deduplication, ranking by the cost model, and the best of many. */
#ifndef SEARCH_STRATEGY_STRATEGY_H
#define SEARCH_STRATEGY_STRATEGY_H

#include "search/model/object.h"

/* ---- strategies (strategy/) --------------------------------------------- */

/* An option of a strategy: a number within bounds, or one of several words,
 * whose number is the value. */
typedef enum search_kind {
  SEARCH_COUNT,              /* an integer */
  SEARCH_REAL,
  SEARCH_WORD,
  SEARCH_TEXT                /* any text but an empty one, to the end of all
                              * options; must be given; at most one, the last */
} search_kind;
typedef struct search_option {
  const char *name, *help;
  search_kind kind;
  double initial, least, most;
  const char *words;         /* SEARCH_WORD: "ei|lcb|ucb"; SEARCH_TEXT: "" */
} search_option;

/* A built-in strategy.  Each call of its functions is made in a frame of the
 * context's heap (frame.c), so they unwind where memory runs out. */
typedef struct strategy_batch strategy_batch;
typedef struct search_strategy {
  const char *name, *summary;
  size_t bytes;              /* of its state, which is zero at first */
  /* The values of its options, in the order in which they are declared, and the
   * batch live as long as the state. */
  tess_status (*begin)(void *state, tess_session *s, const double *option,
                       strategy_batch *b);
  tess_status (*propose)(void *state, tess_session *s, uint32_t n,
                         tess_candidate *out, uint32_t *got); /* 0 so far */
  /* NULL: the session's history is enough. */
  tess_status (*observe)(void *state, tess_session *s, uint32_t n,
                         const tess_candidate *c);
  void (*end)(void *state);  /* also where `begin` failed; NULL: no need */
  const search_option *option;
  uint32_t noption;
} search_strategy;
enum { SEARCH_MOST_OPTIONS = 32 };
/* Opens the strategy that a text describes, "annealing" or
 * "annealing:chains=64,steps=100" (strategy/options.c): NOT_FOUND where there
 * is none of the name, INVALID with what is wrong with an option. */
tess_status strategy_open(tess_session *s, const char *text,
                          tess_strategy *out);
/* The same with the values of all its options (frame.c); text: of the one that
 * is a text (copied; NULL: it has none). */
tess_status strategy_start(tess_session *s, const search_strategy *of,
                           const double *option, const char *text,
                           tess_strategy *out);
/* Whether it has an option that is a text, and so must be given. */
bool strategy_takes_text(const search_strategy *of);
/* The state of a built-in one. */
void *strategy_state(const tess_strategy *s);
extern const search_strategy *const search_strategies[];
extern const uint32_t search_nstrategies;

/* ---- a batch (strategy.c) ----------------------------------------------- */

/* These, and all below, unwind. */
typedef struct strategy_sweep strategy_sweep;
struct strategy_batch {
  mem_heap *heap;
  search_order *order;
  search_cand *made;
  double *score;
  map taken;               /* hashes given out in this batch */
  uint32_t cap;            /* room for that many */
  arena scratch;           /* of one call */
  const char *text;        /* the strategy's option that is one; NULL: none */
  strategy_sweep *sweep;   /* NULL: none began yet */
};

void batch_init(strategy_batch *b, mem_heap *heap);
void batch_free(strategy_batch *b);
/* Room for n candidates; forgets what was taken. */
void strategy_begin(strategy_batch *b, tess_session *s, uint32_t n);
/* Appends those of the n made, in order, that are valid, not measured and
 * not taken, to out[have ..max); returns how many there are then. */
uint32_t strategy_unique(strategy_batch *b, tess_session *s, uint32_t n,
                         uint32_t max, tess_candidate *out, uint32_t have);
/* made[] in descending order of the model's score (ties: as they were);
 * those that are invalid, known or twice are dropped; *n becomes what is
 * left. */
tess_status strategy_rank(strategy_batch *b, tess_session *s, uint32_t *n);

/* ---- candidates over several calls (pool.c) ----------------------------- */

/* Candidates of a strategy's own, with scores: what the session made lives
 * until it makes the next. */
typedef struct strategy_pool {
  arena keep;              /* decisions */
  VEC(search_cand) c;
  VEC(double) score;
  VEC(search_order) order; /* of neighbours */
} strategy_pool;

void pool_init(strategy_pool *p, mem_heap *heap);
void pool_free(strategy_pool *p);
/* Empty; the decisions of what was in it are gone. */
void pool_clear(strategy_pool *p);
/* Appends a copy. */
void pool_add(strategy_pool *p, const search_cand *c, double score);
/* In descending order of scores (ties: as they were). */
void pool_sort(strategy_pool *p);
/* Makes what is ordered and appends a copy of each that is valid, with score
 * 0; at[i] (may be NULL): where that of order i is, UINT32_MAX: there is none.
 * Scores are asked of the model by pool_score at once after. */
tess_status pool_make(strategy_pool *p, tess_session *s, uint32_t n,
                      const search_order *order, uint32_t *at);
/* Predicts the scores of all from number `from` on; what is no number counts
 * as -infinity.  *knows: the model has learnt something. */
tess_status pool_score(strategy_pool *p, tess_session *s, uint32_t from,
                       bool *knows);
/* Appends the best measured, at most n, best first, with score 0; how many. */
uint32_t pool_add_measured(strategy_pool *p, const tess_session *s,
                           uint32_t n);
/* The neighbours of a candidate on the lattice of its decisions (neighbours.c),
 * `step` steps away: one decision differs, those after it are repaired.  The
 * candidate may not be in this pool. */
tess_status pool_add_neighbours(strategy_pool *p, tess_session *s,
                                const search_cand *c, uint32_t step);

/* ---- the best of many (top.c) ------------------------------------------- */

/* The best n by score that were not measured, each once. */
typedef struct strategy_top {
  strategy_pool *of;       /* where their decisions are copied to */
  uint32_t n;
  map in;                  /* hashes of what is in it */
  VEC(uint32_t) heap;      /* numbers in `of`, the worst at the top */
  uint64_t changes;        /* how often something entered */
} strategy_top;

void top_init(strategy_top *t, strategy_pool *of);
void top_free(strategy_top *t);
/* Empty again, for the best n. */
void top_begin(strategy_top *t, uint32_t n);
void top_offer(strategy_top *t, const tess_session *s, const search_cand *c,
               double score);
/* The pool becomes what is in it, best first. */
void top_end(strategy_top *t);

/* ---- batches of draws (draws.c) ----------------------------------------- */

/* A draw of each sketch in turn, so that each is sampled early. */
search_order strategy_draw(const tess_session *s, uint64_t i);
/* Fills out[*got .. n) with draws that are new, a bounded number of tries; then
 * with what an enumeration of the space comes by, so that of a small one
 * nothing is left out. */
tess_status strategy_draws(strategy_batch *b, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got);

/* The same with what was good for other workloads, repaired; each once. */
tess_status strategy_hints(strategy_batch *b, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got);

/* ---- the whole space (sweep.c) ------------------------------------------ */

/* Where it unwinds what is in *out then is to be freed, too. */
void sweep_new(mem_heap *h, const tess_session *s, strategy_sweep **out);
void sweep_free(strategy_sweep *w);
/* Fills out[*got .. n) with the next candidates that are new, after so many
 * tries at most.  Their decisions live until the next call. */
void sweep_on(strategy_sweep *w, strategy_batch *b, tess_session *s,
              uint64_t tries, uint32_t n, tess_candidate *out, uint32_t *got);
bool sweep_is_done(const strategy_sweep *w);
/* The same of the batch's own, which goes on from batch to batch. */
void batch_sweep(strategy_batch *b, tess_session *s, uint64_t tries, uint32_t n,
                 tess_candidate *out, uint32_t *got);

extern const search_strategy search_strategy_replay,
    search_strategy_evolutionary, search_strategy_annealing,
    search_strategy_genetic, search_strategy_droplet, search_strategy_grid;

#endif
