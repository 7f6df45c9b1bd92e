/* SPDX-License-Identifier: Apache-2.0
 * The strategy "hybrid": Bayesian optimisation for the first trials, where few
 * are known and each counts, then evolutionary search on the scores of the
 * session's cost model, which by then has learnt. */
#include "search/strategy/bayesian.h"

enum { FIRST, HYBRID_SURROGATE, HYBRID_BATCH, HYBRID_OPTIONS };
enum { AUTO, GP, FOREST };

typedef struct hybrid {
  uint32_t first;
  tess_strategy early, then;
} hybrid;

static tess_status hybrid_propose(void *ud, tess_session *s, uint32_t n,
                                  tess_candidate *out, uint32_t *got) {
  hybrid *h = ud;
  uint32_t known = s->history.n;
  if (known >= h->first) return h->then.propose(h->then.ud, s, n, out, got);
  if (n > h->first - known) n = h->first - known;
  return h->early.propose(h->early.ud, s, n, out, got);
}

static void hybrid_end(void *state) {
  const hybrid *h = state;
  if (h->early.free) h->early.free(h->early.ud);
  if (h->then.free) h->then.free(h->then.ud);
}

/* Without the plug-in of GSL a forest does; who asks for "gp" is refused. */
static surrogate_kind pick_surrogate(double word) {
  char why[256];
  if (word == AUTO) return gsl_load(why) ? SURROGATE_GP : SURROGATE_FOREST;
  return word == GP ? SURROGATE_GP : SURROGATE_FOREST;
}

/* Neither of the two observes anything: the session has the history. */
static tess_status hybrid_begin(void *state, tess_session *s,
                                const double *value, strategy_batch *b) {
  hybrid *h = state;
  double option[BAYES_OPTIONS];
  (void)b;
  h->first = (uint32_t)value[FIRST];
  for (int i = 0; i < BAYES_OPTIONS; i++) option[i] = bayes_options[i].initial;
  option[BAYES_SURROGATE] = pick_surrogate(value[HYBRID_SURROGATE]);
  option[BAYES_BATCH] = value[HYBRID_BATCH];
  tess_status st =
      strategy_start(s, &search_strategy_bayesian, option, &h->early);
  return st == TESS_OK ? strategy_open(s, "evolutionary", &h->then) : st;
}

static const search_option hybrid_options[HYBRID_OPTIONS] = {
    {"first", "trials of Bayesian optimisation", SEARCH_COUNT, 100, 0, 1u << 20,
     NULL},
    {"surrogate",
     "a random forest, or a Gaussian process; auto: that where its plug-in is",
     SEARCH_WORD, FOREST, 0, 0, "auto|gp|forest"},
    {"batch", "candidates of a batch while it lasts, at most", SEARCH_COUNT, 4,
     1, 4096, NULL}};

const search_strategy search_strategy_hybrid = {
    .name = "hybrid",
    .summary = "Bayesian optimisation first, then evolution on the model",
    .bytes = sizeof(hybrid),
    .begin = hybrid_begin,
    .propose = hybrid_propose,
    .end = hybrid_end,
    .option = hybrid_options,
    .noption = HYBRID_OPTIONS};
