/* SPDX-License-Identifier: Apache-2.0
 * Cost models that learn: what they are taught, how one is trained, and the
 * object around them.
 *
 * A learner is a pair of functions: fit trains on data, on any thread, into a
 * fit that nobody changes any more; score asks a fit about candidates.  The
 * object (model.c) gathers data, trains in the background and swaps fits at
 * points that depend on what it was taught and asked, never on time. */
#ifndef SEARCH_MODEL_MODEL_H
#define SEARCH_MODEL_MODEL_H

#include "search/candidate/rows.h"

/* ---- data --------------------------------------------------------------- */

typedef struct model_sample {
  uint32_t group;            /* index in group: times of one are compared */
  tess_status status;
  double seconds;            /* +inf where it failed */
} model_sample;

/* Rows of samples, one after the other: those of sample i are first[i] ..
 * first[i + 1] - 1. */
typedef struct model_rows {
  uint32_t width;            /* 0: none yet */
  VEC(uint32_t) first;       /* one more than there are samples */
  VEC(float) v;
} model_rows;

typedef struct model_data {
  mem_heap *heap;
  VEC(model_sample) sample;
  VEC(uint64_t) group;       /* hash of workload and space */
  VEC(double) best;          /* least seconds of each; +inf: none ran */
  uint32_t kinds;            /* bit k: rows of feature_kind k are kept */
  model_rows rows[FEATURE_KINDS];
} model_data;

/* Unwind. */
void data_init(model_data *d, mem_heap *heap, uint32_t kinds);
void data_free(model_data *d);
/* Copies the samples of one group, or those of all others. */
void data_pick(model_data *to, const model_data *from, uint64_t group,
               bool others);
/* How many samples of the group there are. */
uint32_t data_count(const model_data *d, uint64_t group);
uint32_t data_group(model_data *d, uint64_t hash);
/* A sample; its rows are those of candidate `at` in each of the kinds kept. */
void data_add(model_data *d, model_sample s, const search_rows *rows,
              uint32_t at);
/* Seconds as throughput relative to the group's best, in (0, 1]; 0 where it
 * failed. */
double data_label(const model_data *d, uint32_t i);
static inline bool data_is_ok(const model_data *d, uint32_t i) {
  return d->sample.v[i].status == TESS_OK;
}
static inline uint32_t data_nrows(const model_data *d, feature_kind k,
                                  uint32_t i) {
  const uint32_t *first = d->rows[k].first.v + i;
  return first[1] - first[0];
}
static inline const float *data_rows(const model_data *d, feature_kind k,
                                     uint32_t i) {
  const model_rows *r = &d->rows[k];
  return r->v.v + (size_t)r->first.v[i] * r->width;
}
/* Held out of training, to tell when to stop: one in five. */
bool data_is_held_out(uint32_t i);

/* ---- learners ----------------------------------------------------------- */

/* What candidates run on, and with. */
typedef struct model_machine {
  double threads;
  double lanes;              /* of float32, of a vector register */
  double registers;          /* of vectors; infinite for a device's threads */
  double cache[3];           /* bytes: of data, a core's and all cores' */
} model_machine;

/* What was trained: all of it lies in the arena, but for what drop knows. */
typedef struct model_fit {
  mem_heap heap;
  arena a;
  uint64_t seed;
  model_machine machine;
  void *state;
  char why[256];             /* of a failure of a library */
} model_fit;

typedef struct learner {
  const char *name;
  uint32_t kinds;            /* bits of the features it needs */
  bool untaught;             /* it knows as much without samples */
  /* Whether what it needs is there; else the error says what is missing.
   * NULL: it needs nothing. */
  tess_status (*ready)(tess_context *c);
  /* TESS_NOT_FOUND: too little to learn from.  May unwind through f->heap. */
  tess_status (*fit)(const model_data *d, model_fit *f);
  /* Scores, higher is better, as throughput relative to the best known where
   * `scaled`; and how unsure it is of each (sd may be NULL; 0: it does not
   * say).  rows[k]: of kind k, of n candidates. */
  tess_status (*score)(const model_fit *f, uint32_t n, const search_rows *rows,
                       double *mean, double *sd);
  void (*drop)(model_fit *f);    /* NULL: nothing outside of the arena */
  /* Adds how much each column of the first kind matters; NULL: not known. */
  tess_status (*importance)(const model_fit *f, uint32_t n, double *out);
  bool scaled;
} learner;
extern const learner *const learners[];
extern const uint32_t nlearners;
extern const learner learner_xgb, learner_xgb_rank, learner_forest,
    learner_gp, learner_treegru, learner_analytic;
const learner *learner_find(const char *name, size_t n);

/* ---- what learners share (summary.c) ------------------------------------ */

/* One row a candidate from its per-store rows: the one with most arithmetic,
 * then the sums of all columns. */
uint32_t summary_width(uint32_t width);
void summary_make(const float *rows, uint32_t n, uint32_t width, float *out);

#endif
