/* SPDX-License-Identifier: Apache-2.0
 * The public object around learners: one, or several that vote. */
#ifndef SEARCH_MODEL_OBJECT_H
#define SEARCH_MODEL_OBJECT_H

#include "search/model/model.h"

enum {
  MODEL_MEMBERS = 8,
  MODEL_NAME = 128,
  /* With fewer samples training takes a moment, and the next prediction waits
   * for it; with more, predictions go on with what there is, and what was
   * trained is taken when the model is taught the next time. */
  MODEL_FRESH = 512
};

/* What was trained at one time, from a copy of the data. */
typedef struct model_fits {
  mem_heap heap;
  model_data data;
  uint32_t n;
  const learner *learner[MODEL_MEMBERS];
  model_fit member[MODEL_MEMBERS];
  tess_status status[MODEL_MEMBERS]; /* NOT_FOUND: it knows nothing yet */
  model_fit feasible;
  bool judges;               /* there were failures to learn from */
} model_fits;

struct tess_model {
  tess_context *c;
  uint32_t refs;
  char name[MODEL_NAME];
  uint32_t nmember;          /* 0: "random" */
  const learner *member[MODEL_MEMBERS];
  uint32_t kinds;            /* bits of the features that members need */
  uint64_t seed;
  model_machine machine;     /* of the session */
  uint64_t group;            /* of the session: hash of workload and space */
  model_data data;
  uint32_t own;              /* samples of that group */
  model_fits *now, *next;    /* predicting; in training: by own samples */
  model_fits *base;          /* by those of other groups; NULL: none */
  bool based;                /* base was trained, or tried to be */
  thread_task task;
  bool training;
  uint32_t started;          /* `own` when the newest training began */
  VEC(tess_quality) quality; /* of the run at work */
  /* Of the candidates that are predicted or learnt from: their features, and
   * room for what is computed of them. */
  search_rows rows[FEATURE_KINDS];
  VEC(uint32_t) first[FEATURE_KINDS];
  VEC(float) number[FEATURE_KINDS];
  VEC(search_cand) own_of;
  VEC(double) part, seen;
};

/* ---- life (model.c) ----------------------------------------------------- */

/* "xgb", or several: "xgb+forest".  NOT_FOUND, or what a member lacks. */
tess_status model_new(tess_context *c, const char *name, tess_model **out);
tess_model *model_hold(tess_model *m);     /* tess_model_free drops */
/* The functions of a model for a session, which owns neither. */
tess_status model_attach(tess_model *m, tess_session *s,
                         tess_cost_model *out);
/* Enters measured candidates, and how well they were predicted; does not begin
 * to train. */
tess_status model_teach(tess_model *m, tess_session *s, uint32_t n,
                        const tess_candidate *c);
/* Scores of candidates, ready to be ranked, mean and sd as learner.score: where
 * failures were seen those that may fail are worse; sd may be NULL.  FALSE in
 * *knows: nothing is known, and the scores are noise. */
tess_status model_predict(tess_model *m, tess_session *s, uint32_t n,
                          const tess_candidate *c, double *mean, double *sd,
                          bool *knows);
/* The same by what was learnt from other workloads alone, which stays as it is
 * while the session lasts, on a logarithmic scale where it is scaled; FALSE in
 * *knows: nothing was, or by members of different scales.  Unwinds. */
tess_status model_prior(tess_model *m, tess_session *s, uint32_t n,
                        const search_cand *c, double *mean, bool *knows);
bool model_is_scaled(const tess_model *m);
/* The group's samples are own ones from now on. */
void model_join(tess_model *m, uint64_t group);
/* For strategies: model_predict of the session's own model.  A model of the
 * host's has sd 0 and knows. */
tess_status session_predict_spread(tess_session *s, uint32_t n,
                                   const tess_candidate *c, double *mean,
                                   double *sd, bool *knows);
/* Whether the session's model has learnt something that says more than noise,
 * which a host's is taken to have. */
bool session_model_knows(tess_session *s);

/* ---- training (train.c) ------------------------------------------------- */

/* What predictions by other workloads' samples weigh beside those by own ones,
 * which weigh the rest: halved with each 64 of those, as in AutoTVM (Chen et
 * al., 2018), and 0 at last. */
double model_trust(const tess_model *m);
/* Trains on other workloads' samples, where there are enough. */
void model_begin_base(tess_model *m);
/* Called when the model is asked, and when it was taught. */
void model_train_due(tess_model *m);
void model_taught(tess_model *m);
/* Waits for what is in training: nothing goes on behind a run that has ended,
 * nor while its best are timed again. */
void model_wait(tess_model *m);
/* Waits for what is in training and forgets all fits. */
void model_forget(tess_model *m);

/* ---- parts -------------------------------------------------------------- */

/* How well n scores tell the seconds that were measured, +inf where it failed;
 * `best`: least seconds known (quality.c). */
tess_quality quality_of(uint32_t n, const double *score, const double *seconds,
                        double best, bool scaled);
/* Whether candidates run at all, from their decisions (feasible.c).  false:
 * there is too little to learn from. */
bool feasible_fit(const model_data *d, model_fit *f);
/* Probability that a candidate runs. */
double feasible_score(const model_fit *f, const search_rows *r, uint32_t i);

#endif
