/* SPDX-License-Identifier: Apache-2.0
 * The parts of Bayesian optimisation: surrogates (surrogate.c), the pool of
 * candidates that the acquisition function chooses from (bayesian_pool.c), and
 * batches (bayesian.c).  The strategy "hybrid" begins with it (hybrid.c). */
#ifndef SEARCH_STRATEGY_BAYESIAN_H
#define SEARCH_STRATEGY_BAYESIAN_H

#include "search/model/forest.h"
#include "search/model/gsl_library.h"
#include "search/strategy/strategy.h"

/* ---- surrogates (surrogate.c) ------------------------------------------- */

/* AUTO: both in turns while few are known; then or without plug-in a forest. */
typedef enum surrogate_kind {
  SURROGATE_AUTO, SURROGATE_GP, SURROGATE_FOREST
} surrogate_kind;

/* What is thought of the logarithm of throughput over rows of numbers, or by a
 * forest that classes of whether it is in the best tenth; and of whether a
 * candidate runs at all.  Before a few have run `mean` is all that is said of
 * the former. */
typedef struct surrogate {
  surrogate_kind kind;
  bool classes;
  const gsl_plugin *gsl;     /* not of SURROGATE_FOREST */
  double mean;
  arena a;                   /* all below, until the next fit */
  gsl_gp *gp;
  uint32_t dims, scaled;     /* of it; points when its scales were fitted */
  forest *f;
  forest *runs;              /* NULL: too little failed */
  uint32_t n;                /* columns that are not all the same */
  const uint32_t *column;
} surrogate;

/* UNSUPPORTED where "gp" lacks the plug-in of GSL. */
tess_status surrogate_init(surrogate *g, tess_context *c, surrogate_kind kind);
void surrogate_free(surrogate *g);
/* From n rows of `width` numbers and their values, NAN where one failed; false:
 * too little to learn from.  Unwinds. */
bool surrogate_fit(surrogate *g, uint32_t n, uint32_t width,
                   const float *const *row, const double *value,
                   uint64_t seed);
typedef struct belief {
  double mean, sd;
  double runs;               /* probability that it runs */
} belief;
belief surrogate_ask(const surrogate *g, const float *row);
/* The mean, by the process as long as there is one, so on one scale; NAN: that
 * has seen other columns. */
double surrogate_expect(const surrogate *g, const float *row);
/* Posterior covariances of n rows with one; gives the variance of the noise.
 * Unwinds. */
double surrogate_covary(const surrogate *g, arena *spare, const float *at,
                        uint32_t n, const float *const *row, double *out);

/* ---- the pool (bayesian_pool.c) ----------------------------------------- */

/* A candidate with its row of decisions. */
typedef struct bayes_point {
  search_cand c;
  const float *row;
  belief b;
  double gain;               /* of the acquisition function */
} bayes_point;

enum { BAYES_BATCH, BAYES_INITIAL, BAYES_SURROGATE, BAYES_ACQUISITION,
       BAYES_KAPPA, BAYES_POOL, BAYES_CLIMBS, BAYES_EPS, BAYES_DESIGN,
       BAYES_OPTIONS };
enum { BAYES_EI, BAYES_LCB, BAYES_CLASS };
enum { BAYES_LEVELS, BAYES_SOBOL, BAYES_HALTON, BAYES_RANDOM };

typedef struct bayes {
  mem_heap *heap;
  double option[BAYES_OPTIONS]; /* without those that say "choose" */
  strategy_batch *batch;
  strategy_sweep *sweep;     /* of a space that is being counted, or NULL */
  const gsl_plugin *gsl;     /* of quasi-random designs only */
  surrogate g;
  uint32_t width;            /* of a row */
  arena rows;                /* of what was measured */
  VEC(const float *) seen;   /* by number in the session's history */
  VEC(double) value;         /* the same: log2 of throughput; NAN: it failed */
  arena keep, spare;         /* decisions and rows of the pool */
  VEC(bayes_point) pool;
  map in;                    /* hashes of what is in it */
  strategy_pool near;        /* all one step aside of the best measured, */
  uint64_t centre;           /* which has this hash */
  double best;               /* of the values */
  bool spent;                /* nothing is left that the class speaks for */
  double effort;             /* for this batch, of that for a usual one */
  bool fitted;               /* the surrogate says something, */
  uint32_t learnt;           /* of so many of the history */
  double fresh, climbed;     /* share of the neighbours made last that were
                              * new, and of the steps aside */
  uint32_t last;             /* draws to be made at once, at most */
  uint32_t repeated;         /* of what was made last: in the pool already */
  bool counted, whole;       /* enumerating the space was tried; the pool is
                              * all of it that is not measured */
} bayes;

/* The acquisition function is a confidence bound, which may be negative: by
 * choice, or as what is left of a class is told apart by times. */
bool bayes_bounds(const bayes *b);
/* The acquisition function. */
double bayes_gain(const bayes *b, const belief *x);
/* Brings rows and values up to the session's history. */
tess_status bayes_look(bayes *b, tess_session *s);
enum { BAYES_ANY = UINT32_MAX }; /* sketches */
/* The sketch of which too little is known; BAYES_ANY: there is one sketch, or
 * all fail. */
uint32_t bayes_explored(bayes *b, const tess_session *s);
/* Adds draws, of which a bandit chooses the sketches, neighbours of the best
 * measured, and some of the sketch that is to be explored; then climbs from the
 * best in it. */
tess_status bayes_fill(bayes *b, tess_session *s, uint32_t explored);

/* Of the pool, sorted: whether there is something left that the class speaks
 * for.  If not, times guide until something better than the best is found. */
void bayes_notice_spent(bayes *b);

/* Fits the surrogate to the history, for a batch of n; unwinds, as the next.
 * Nothing else lies in b->spare. */
tess_status bayes_learn(bayes *b, tess_session *s, uint32_t n);
/* What the surrogate expects of candidates; NAN: nothing. */
tess_status bayes_expect(bayes *b, tess_session *s, uint32_t n,
                         const tess_candidate *c, double *score);

/* ---- the first points (bayesian_design.c, bayesian_quasi.c) ------------- */

enum { BAYES_DRAWS = 16 }; /* for each of them */
/* Fills out[*got .. n) with draws that have few decisions in common with what
 * was measured and with each other, or that are near to quasi-random points, by
 * the option "design". */
tess_status bayes_design(bayes *b, tess_session *s, uint32_t n,
                         tess_candidate *out, uint32_t *got);

/* Rows nearest to the points `skip` and following of a sequence; how many of n
 * there are. */
uint32_t bayes_nearest(bayes *b, gsl_sequence kind, uint64_t skip,
                       const search_rows *r, uint32_t n, uint32_t *out);

extern const search_option bayes_options[BAYES_OPTIONS];
extern const search_strategy search_strategy_bayesian, search_strategy_hybrid;

#endif
