/* SPDX-License-Identifier: Apache-2.0
 * The strategy "hybrid": Bayesian optimisation, and evolutionary search on the
 * scores of the session's cost model where that tells the fast from the slow
 * better than the surrogate does.  Both say what they expect of each proposal
 * before it is measured; how well they ranked the last ones decides who
 * proposes next. */
#include "search/strategy/bayesian.h"
#include "search/strategy/judging.h"

#include <math.h>

enum { FIRST, HYBRID_SURROGATE, HYBRID_BATCH, HYBRID_OPTIONS };
enum { BY_SURROGATE, BY_MODEL }; /* judges */
enum { OF_TIMES, OF_CLASS };     /* scales of what the surrogate says */

typedef struct hybrid {
  uint32_t first;
  tess_strategy early, then;
  arena own; /* what is asked about at once */
  judging judged;
  bool trusts; /* the model */
} hybrid;

/* ---- judging ------------------------------------------------------------ */

/* As before while too little is known of one of them. */
static bool trusts_model(hybrid *h, const tess_session *s) {
  double model = judging_accuracy(&h->judged, BY_MODEL),
         own = judging_accuracy(&h->judged, BY_SURROGATE);
  if (!isnan(model) && !isnan(own)) h->trusts = model > own;
  return h->trusts && s->history.n >= h->first;
}

static tess_status note_expected(hybrid *h, tess_session *s, uint32_t n,
                                 const tess_candidate *c) {
  arena_reset(&h->own);
  double *score = arena_array(&h->own, double, 3 * (size_t)n + 1);
  double *model = score + n, *sd = model + n;
  bool knows = false;
  bayes *b = strategy_state(&h->early);
  tess_status st = bayes_expect(b, s, n, c, score);
  /* Probabilities of a class cannot be ranked among means of times. */
  bool of_class = b->g.classes && !b->g.gp;
  judging_scale(&h->judged, BY_SURROGATE, of_class ? OF_CLASS : OF_TIMES);
  if (st == TESS_OK) st = session_predict_spread(s, n, c, model, sd, &knows);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    const double said[JUDGES] = {score[i], knows ? model[i] : NAN};
    judging_note(&h->judged, session_from_public(&c[i]).hash, said);
  }
  return st;
}

/* ---- proposing ---------------------------------------------------------- */

static tess_status hybrid_propose(void *ud, tess_session *s, uint32_t n,
                                  tess_candidate *out, uint32_t *got) {
  hybrid *h = ud;
  const tess_strategy *who = trusts_model(h, s) ? &h->then : &h->early;
  tess_status st = who->propose(who->ud, s, n, out, got);
  return st == TESS_OK && *got ? note_expected(h, s, *got, out) : st;
}

static tess_status hybrid_observe(void *ud, tess_session *s, uint32_t n,
                                  const tess_candidate *c) {
  hybrid *h = ud;
  (void)s;
  for (uint32_t i = 0; i < n; i++) {
    double seconds = c[i].status == TESS_OK ? c[i].seconds : INFINITY;
    judging_see(&h->judged, session_from_public(&c[i]).hash, seconds);
  }
  return TESS_OK;
}

static void hybrid_end(void *state) {
  hybrid *h = state;
  if (h->early.free) h->early.free(h->early.ud);
  if (h->then.free) h->then.free(h->then.ud);
  arena_free(&h->own);
}

/* ---- life --------------------------------------------------------------- */

/* Neither of the two observes anything: the session has the history. */
static tess_status hybrid_begin(void *state, tess_session *s,
                                const double *value, strategy_batch *b) {
  hybrid *h = state;
  double option[BAYES_OPTIONS];
  (void)b;
  h->first = (uint32_t)value[FIRST];
  arena_init(&h->own, &s->c->heap);
  for (int i = 0; i < BAYES_OPTIONS; i++) option[i] = bayes_options[i].initial;
  option[BAYES_SURROGATE] = value[HYBRID_SURROGATE];
  option[BAYES_BATCH] = value[HYBRID_BATCH];
  option[BAYES_ACQUISITION] = BAYES_CLASS;
  tess_status st =
      strategy_start(s, &search_strategy_bayesian, option, NULL, &h->early);
  return st == TESS_OK ? strategy_open(s, "evolutionary", &h->then) : st;
}

static const search_option hybrid_options[HYBRID_OPTIONS] = {
    {"first", "trials of Bayesian optimisation before its surrogate competes",
     SEARCH_COUNT, 50, 0, 1u << 20, NULL},
    {"surrogate", "as strategy bayesian has it", SEARCH_WORD, SURROGATE_AUTO, 0,
     0, "auto|gp|forest"},
    {"batch",
     "candidates of a batch of it, at most; 0: as strategy bayesian has it",
     SEARCH_COUNT, 0, 0, 4096, NULL}};

const search_strategy search_strategy_hybrid = {
    .name = "hybrid",
    .summary = "Bayesian optimisation, and evolution on the model",
    .bytes = sizeof(hybrid),
    .begin = hybrid_begin,
    .propose = hybrid_propose,
    .observe = hybrid_observe,
    .end = hybrid_end,
    .option = hybrid_options,
    .noption = HYBRID_OPTIONS};
