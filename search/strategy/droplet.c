/* SPDX-License-Identifier: Apache-2.0
 * The strategy "droplet": coordinate descent on measured times, after AutoTVM's
 * tuner of that name (Canesche et al., "The Droplet Search Algorithm for Kernel
 * Scheduling", 2024).  All neighbours of the best are measured, and where a
 * batch has room those some steps further on; one that is faster is the next
 * centre.  Where none is the descent begins anew at the best of some draws. The
 * model is not asked. */
#include "search/strategy/strategy.h"

#include <math.h>

enum { GAIN, SPECULATION, DROPLET_DRAWS, DROPLET_OPTIONS };

typedef struct droplet {
  const double *option;
  strategy_batch *batch;
  strategy_pool centre;  /* one candidate, or none: at the next start */
  strategy_pool waiting; /* its neighbours, those from `used` on are to come */
  uint32_t used, step;   /* of them; how far the last ones are */
  double seconds;        /* of the centre */
  bool first;            /* it starts at the best measured */
  bool stale;            /* the waiting ones are of another centre */
} droplet;

typedef struct drop {
  droplet *d;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
} drop;

/* The waiting ones stay, since those that were proposed are used until the next
 * proposal, which clears them. */
static void begin_at(droplet *d, const search_cand *c, double seconds) {
  search_cand copy = *c;
  pool_clear(&d->centre);
  pool_add(&d->centre, &copy, 0);
  d->stale = true;
  d->seconds = seconds;
}

/* ---- results ------------------------------------------------------------ */

static tess_status droplet_observe(void *ud, tess_session *s, uint32_t n,
                                   const tess_candidate *seen) {
  droplet *d = ud;
  (void)s;
  double limit = d->centre.c.n ? d->seconds * (1 - d->option[GAIN]) : INFINITY;
  const tess_candidate *best = NULL;
  for (uint32_t i = 0; i < n; i++) {
    const tess_candidate *c = &seen[i];
    if (c->status != TESS_OK || !(c->seconds < limit)) continue;
    limit = c->seconds;
    best = c;
  }
  if (!best) return TESS_OK;
  search_cand c = session_from_public(best);
  begin_at(d, &c, best->seconds);
  return TESS_OK;
}

/* ---- proposals ---------------------------------------------------------- */

static bool is_new(const drop *w, const search_cand *c) {
  return !session_knows(w->s, c) &&
         map_get(&w->d->batch->taken, c->hash) == MAP_NONE;
}

static void take_waiting(drop *w) {
  droplet *d = w->d;
  while (d->used < d->waiting.c.n && *w->got < w->n) {
    const search_cand *c = &d->waiting.c.v[d->used++];
    if (!is_new(w, c)) continue;
    map_put(&d->batch->taken, c->hash, 1);
    session_to_public(c, &w->out[(*w->got)++]);
  }
}

/* The neighbours, and while there is room those further on. */
static tess_status descend(drop *w) {
  droplet *d = w->d;
  uint32_t most = (uint32_t)d->option[SPECULATION];
  tess_status st = TESS_OK;
  if (d->stale) {
    pool_clear(&d->waiting);
    d->used = d->step = 0;
    d->stale = false;
  }
  take_waiting(w);
  while (st == TESS_OK && *w->got < w->n && d->step < most) {
    st = pool_add_neighbours(&d->waiting, w->s, &d->centre.c.v[0], ++d->step);
    if (st == TESS_OK) take_waiting(w);
  }
  return st;
}

/* A start: at the best measured, then at the best of some draws, first of what
 * was good for other workloads, too. */
static tess_status start(drop *w) {
  droplet *d = w->d;
  uint32_t best, n = (uint32_t)d->option[DROPLET_DRAWS];
  bool resumes = d->first && session_best(w->s, 1, &best);
  if (n > w->n) n = w->n;
  d->first = false;
  if (resumes) {
    const search_trial *x = &w->s->history.v[best];
    begin_at(d, &x->c, x->seconds);
    return descend(w);
  }
  session_begin_batch(w->s);
  tess_status st = strategy_hints(d->batch, w->s, n, w->out, w->got);
  return st == TESS_OK ? strategy_draws(d->batch, w->s, n, w->out, w->got) : st;
}

static tess_status drop_on(drop *w) {
  droplet *d = w->d;
  tess_status st = d->centre.c.n ? descend(w) : TESS_OK;
  if (st != TESS_OK || *w->got) return st;
  pool_clear(&d->centre);
  pool_clear(&d->waiting);
  d->used = d->step = 0;
  d->stale = false;
  return start(w);
}

static tess_status droplet_propose(void *ud, tess_session *s, uint32_t n,
                                   tess_candidate *out, uint32_t *got) {
  droplet *d = ud;
  drop w = {.d = d, .s = s, .n = n, .got = got, .out = out};
  strategy_begin(d->batch, s, n);
  return drop_on(&w);
}

/* ---- life --------------------------------------------------------------- */

static void droplet_end(void *state) {
  droplet *d = state;
  pool_free(&d->centre);
  pool_free(&d->waiting);
}

static tess_status droplet_begin(void *state, tess_session *s,
                                 const double *option, strategy_batch *b) {
  droplet *d = state;
  *d = (droplet){.option = option, .batch = b, .first = true};
  pool_init(&d->centre, &s->c->heap);
  pool_init(&d->waiting, &s->c->heap);
  return TESS_OK;
}

static const search_option droplet_options[] = {
    {"gain", "share by which a neighbour must be faster to be the next centre",
     SEARCH_REAL, 0.01, 0, 1, NULL},
    {"speculation", "how many steps away neighbours may be", SEARCH_COUNT, 3, 1,
     30, NULL},
    {"draws", "of which the best is where a descent begins, a batch at most",
     SEARCH_COUNT, 16, 1, 4096, NULL}};

const search_strategy search_strategy_droplet = {
    .name = "droplet",
    .summary = "coordinate descent on measured times",
    .bytes = sizeof(droplet),
    .begin = droplet_begin,
    .propose = droplet_propose,
    .observe = droplet_observe,
    .end = droplet_end,
    .option = droplet_options,
    .noption = DROPLET_OPTIONS};
