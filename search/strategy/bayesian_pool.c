/* SPDX-License-Identifier: Apache-2.0
 * The pool that Bayesian optimisation chooses from: draws, neighbours of the
 * best measured, and what climbing on the acquisition function comes by.  The
 * good ones stay from batch to batch, so that few are made anew. */
#include "search/strategy/bayesian.h"

#include <math.h>
#include <stdlib.h>

enum {
  PARENTS = 16,     /* best measured whose neighbours are looked at, */
  NEIGHBOURS = 16,  /* so many of each */
  TOPS = 32,        /* from which climbing starts, */
  STEPS_OF_ONE = 4, /* so many steps aside of each */
  ROUNDS = 8        /* of draws for the pool, at most */
};

/* ---- rows --------------------------------------------------------------- */

/* Rows of decisions; where the session's model has learnt from other workloads
 * what it says by that is one more column, which the surrogate heeds as far as
 * own times agree.  A record whose decisions no longer replay has zeros. */
static tess_status make_rows(bayes *b, tess_session *s, uint32_t n,
                             const search_cand *c, const float **row) {
  double *prior = arena_array(&b->spare, double, n + 1);
  bool primed = false;
  search_rows r;
  tess_status st =
      s->learns ? model_prior(s->learns, s, n, c, prior, &primed) : TESS_OK;
  if (st == TESS_OK) st = session_rows(s, FEATURE_DECISIONS, n, c, &r);
  if (st != TESS_OK) return st;
  b->width = r.width + primed;
  for (uint32_t i = 0; i < n; i++) {
    float *v = arena_zalloc(&b->spare, (b->width + 1) * sizeof *v);
    row[i] = v;
    if (r.first[i] == r.first[i + 1]) continue;
    memcpy(v, r.v + (size_t)r.first[i] * r.width, r.width * sizeof *v);
    if (primed) v[r.width] = (float)prior[i];
  }
  return TESS_OK;
}

static const float *keep_row(arena *a, uint32_t width, const float *v) {
  float *row = arena_array(a, float, width + 1);
  memcpy(row, v, width * sizeof *row);
  return row;
}

static const float *find_in_pool(const bayes *b, uint64_t hash) {
  uint32_t i = map_get(&b->in, hash);
  return i == MAP_NONE ? NULL : b->pool.v[i].row;
}

static double value_of(const search_trial *h) {
  if (h->status != TESS_OK || !(h->seconds > 0)) return NAN;
  return -log2(h->seconds);
}

static tess_status look_at_one(bayes *b, tess_session *s, uint32_t i) {
  const search_cand *c = &s->history.v[i].c;
  const float *row = find_in_pool(b, c->hash);
  tess_status st = row ? TESS_OK : make_rows(b, s, 1, c, &row);
  if (st != TESS_OK) return st;
  row = keep_row(&b->rows, b->width, row);
  vec_push(b->heap, &b->seen, row);
  vec_push(b->heap, &b->value, NAN);
  return TESS_OK;
}

/* The finals and later records may change what became of a candidate, so
 * values are read anew. */
tess_status bayes_look(bayes *b, tess_session *s) {
  tess_status st = TESS_OK;
  double before = b->best;
  while (st == TESS_OK && b->seen.n < s->history.n)
    st = look_at_one(b, s, b->seen.n);
  b->best = -INFINITY;
  for (uint32_t i = 0; i < b->seen.n; i++) {
    double v = b->value.v[i] = value_of(&s->history.v[i]);
    if (v > b->best) b->best = v;
  }
  if (b->best > before) b->spent = false; /* there may be others near it */
  return st;
}

/* ---- making ------------------------------------------------------------- */

static double expected_improvement(double mean, double sd, double best) {
  double more = mean - best;
  if (!(sd > 0)) return fmax(0, more);
  double z = more / sd;
  return more * 0.5 * erfc(-z * M_SQRT1_2) +
         sd * exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

bool bayes_bounds(const bayes *b) {
  int by = (int)b->option[BAYES_ACQUISITION];
  return by == BAYES_LCB || (by == BAYES_CLASS && b->g.f && !b->g.classes);
}

/* Of what is maximised; LCB is the name of the same for what is minimised. */
double bayes_gain(const bayes *b, const belief *x) {
  if (b->g.classes && b->g.f) return x->mean + x->sd;
  if (!bayes_bounds(b))
    return x->runs * expected_improvement(x->mean, x->sd, b->best);
  return x->mean + b->option[BAYES_KAPPA] * x->sd + log2(fmax(1e-6, x->runs));
}

static void ask(bayes *b, bayes_point *p) {
  p->b = surrogate_ask(&b->g, p->row);
  p->gain = bayes_gain(b, &p->b);
}

static tess_status add_made(bayes *b, tess_session *s, uint32_t n,
                            const search_cand *made) {
  search_cand *fresh = arena_array(&b->spare, search_cand, n + 1);
  const float **row = arena_array(&b->spare, const float *, n + 1);
  uint32_t k = 0;
  b->repeated = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!made[i].d || session_knows(s, &made[i])) continue;
    if (map_get(&b->in, made[i].hash) != MAP_NONE) {
      b->repeated++;
      continue;
    }
    map_put(&b->in, made[i].hash, b->pool.n + k);
    fresh[k++] = made[i];
  }
  if (!k) return TESS_OK;
  tess_status st = make_rows(b, s, k, fresh, row);
  if (st != TESS_OK) return st;
  for (uint32_t i = 0; i < k; i++) {
    bayes_point p = {.c = fresh[i]};
    int64_t *d = arena_array(&b->keep, int64_t, p.c.n + 1);
    if (p.c.n) memcpy(d, p.c.d, p.c.n * sizeof *d);
    p.c.d = d;
    p.row = keep_row(&b->keep, b->width, row[i]);
    ask(b, &p);
    vec_push(b->heap, &b->pool, p);
  }
  return TESS_OK;
}

/* Parents lie in the history or in the pool, not in what the session made. */
static tess_status make(bayes *b, tess_session *s, uint32_t n,
                        const search_order *order) {
  search_cand *made = arena_array(&b->spare, search_cand, n + 1);
  session_begin_batch(s);
  tess_status st = session_want_decisions(s, true);
  if (st == TESS_OK) st = session_make(s, n, order, made);
  if (st == TESS_OK) st = add_made(b, s, n, made);
  (void)session_want_decisions(s, false);
  return st;
}

/* ---- sketches as arms --------------------------------------------------- */

/* What was measured of a sketch; n of those tried did not fail. */
typedef struct arm {
  uint32_t tried, n, at; /* at: which of the history is its best */
  double sum, square, best;
} arm;

static double normal(rng *r) {
  double u = 1 - rng_unit(r), v = rng_unit(r);
  return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static arm *count_arms(bayes *b, const tess_session *s) {
  arm *a = arena_array(&b->spare, arm, s->nsketch + 1);
  for (uint32_t i = 0; i < s->nsketch; i++) a[i] = (arm){.best = -INFINITY};
  for (uint32_t i = 0; i < b->seen.n; i++) {
    arm *x = &a[s->history.v[i].c.sketch];
    double v = b->value.v[i];
    x->tried++;
    if (isnan(v)) continue;
    x->n++;
    x->sum += v;
    x->square += v * v;
    if (v > x->best) x->at = i;
    x->best = fmax(x->best, v);
  }
  return a;
}

/* The standard deviation of all that was measured. */
static double spread_of_all(const arm *a, uint32_t narms, uint32_t *n) {
  double sum = 0, square = 0;
  *n = 0;
  for (uint32_t i = 0; i < narms; i++) {
    *n += a[i].n;
    sum += a[i].sum;
    square += a[i].square;
  }
  double mean = *n ? sum / *n : 0;
  return *n ? sqrt(fmax(0, square / *n - mean * mean)) : 0;
}

/* By upper confidence bounds (UCB1, Auer et al. 2002) on the best of each: a
 * surrogate that saw a poor draw or two of a sketch never comes back to it.
 * What failed again and again is left. */
uint32_t bayes_explored(bayes *b, const tess_session *s) {
  enum { FAILURES = 3 };
  const arm *a = count_arms(b, s);
  uint32_t all, best = BAYES_ANY;
  double most = -INFINITY, spread = spread_of_all(a, s->nsketch, &all);
  if (s->nsketch < 2) return BAYES_ANY;
  for (uint32_t i = 0; i < s->nsketch; i++) {
    if (!a[i].n && a[i].tried >= FAILURES) continue;
    double x = a[i].n ? a[i].best + spread * sqrt(log(all) / a[i].n) : INFINITY;
    if (x > most || best == BAYES_ANY) {
      most = x;
      best = i;
    }
  }
  return best;
}

/* Thompson sampling: what the best of a sketch may be is its best, less than
 * its spread unsure the more often it was measured. */
static uint32_t pick_arm(const arm *a, tess_session *s) {
  uint32_t best = 0;
  double most = -INFINITY;
  for (uint32_t i = 0; i < s->nsketch; i++) {
    double mean = a[i].n ? a[i].sum / a[i].n : 0;
    double spread =
        a[i].n ? sqrt(fmax(0, a[i].square / a[i].n - mean * mean)) : 0;
    double x = a[i].n < 2 ? INFINITY
                          : a[i].best + fmax(spread, 0.05) / sqrt(a[i].n) *
                                            normal(&s->random);
    if (x == INFINITY) x = 1e300 * rng_unit(&s->random);
    if (x > most) {
      most = x;
      best = i;
    }
  }
  return best;
}

static tess_status add_draws(bayes *b, tess_session *s, uint32_t n) {
  const arm *a = count_arms(b, s);
  search_order *order = arena_array(&b->spare, search_order, n + 1);
  for (uint32_t i = 0; i < n; i++)
    order[i] =
        (search_order){.how = SEARCH_DRAW, .sketch = (int32_t)pick_arm(a, s)};
  return make(b, s, n, order);
}

/* Draws of the sketch that is to be explored, and steps from its best. */
static tess_status add_explored(bayes *b, tess_session *s, uint32_t sketch) {
  enum { DRAWS = 24, STEPS = 16 };
  const arm *a = &count_arms(b, s)[sketch];
  search_order order[DRAWS + STEPS];
  uint32_t n = 0;
  while (n < DRAWS)
    order[n++] = (search_order){.how = SEARCH_DRAW, .sketch = (int32_t)sketch};
  for (uint32_t i = 0; a->n && i < STEPS; i++)
    order[n++] = (search_order){
        .how = SEARCH_MUTATE, .steps = 1 + i % 2, .a = &s->history.v[a->at].c};
  return make(b, s, n, order);
}

/* How many of so many to make where that share was new the last time: in a
 * small space most are in the pool already. */
static uint32_t as_fresh(uint32_t most, double share) {
  double n = ceil(most * fmin(1, 2 * share));
  return n > 1 ? (uint32_t)n : 1;
}

/* A batch of few is worth so much less. */
static uint32_t part_of(const bayes *b, uint32_t most) {
  return (uint32_t)ceil(most * b->effort);
}

static tess_status add_neighbours(bayes *b, tess_session *s) {
  uint32_t best[PARENTS], n = 0, before = b->pool.n;
  uint32_t k = session_best(s, as_fresh(PARENTS, 2 * b->fresh), best);
  uint32_t each = as_fresh(part_of(b, NEIGHBOURS), b->fresh);
  search_order *order =
      arena_array(&b->spare, search_order, PARENTS * NEIGHBOURS);
  for (uint32_t i = 0; i < k; i++)
    for (uint32_t j = 0; j < each; j++)
      order[n++] = (search_order){.how = SEARCH_MUTATE,
                                  .steps = 1 + j % 2,
                                  .a = &s->history.v[best[i]].c};
  if (!n) return TESS_OK;
  tess_status st = make(b, s, n, order);
  b->fresh = (double)(b->pool.n - before) / n;
  return st;
}

/* All that are one step aside of the best measured, as coordinate descent
 * would measure them. */
static tess_status add_steps(bayes *b, tess_session *s) {
  uint32_t best;
  tess_status st = TESS_OK;
  if (!session_best(s, 1, &best)) return st;
  const search_cand *c = &s->history.v[best].c;
  if (c->hash != b->centre) {
    pool_clear(&b->near);
    st = pool_add_neighbours(&b->near, s, c, 1);
    b->centre = c->hash;
  }
  return st == TESS_OK ? add_made(b, s, b->near.c.n, b->near.c.v) : st;
}

/* Others may have proposed since it was fitted. */
tess_status bayes_expect(bayes *b, tess_session *s, uint32_t n,
                         const tess_candidate *c, double *score) {
  tess_status st =
      b->learnt < s->history.n ? bayes_learn(b, s, UINT32_MAX) : TESS_OK;
  search_cand *made = arena_array(&b->spare, search_cand, n + 1);
  const float **row = arena_array(&b->spare, const float *, n + 1);
  for (uint32_t i = 0; i < n; i++) made[i] = session_from_public(&c[i]);
  if (st == TESS_OK) st = make_rows(b, s, n, made, row);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++)
    score[i] = b->fitted ? surrogate_expect(&b->g, row[i]) : NAN;
  return st;
}

/* ---- the best of the pool ----------------------------------------------- */

static int by_gain(const void *x, const void *y) {
  const bayes_point *a = x, *b = y;
  if (a->gain != b->gain) return a->gain > b->gain ? -1 : 1;
  return a->c.hash < b->c.hash ? -1 : a->c.hash > b->c.hash;
}

static void sort_pool(bayes *b) {
  if (b->pool.n) qsort(b->pool.v, b->pool.n, sizeof *b->pool.v, by_gain);
  map_clear(&b->in);
  for (uint32_t i = 0; i < b->pool.n; i++)
    map_put(&b->in, b->pool.v[i].c.hash, i);
}

/* Once all the good that lie together are measured, what is left is in the
 * class of the best less likely than any that was drawn, and nearly all alike:
 * which is the better of two the class says no more, but times do. */
void bayes_notice_spent(bayes *b) {
  enum { CLASS = 10 }; /* one in so many is in it */
  if (b->g.f && b->g.classes && b->pool.n)
    b->spent = CLASS * b->pool.v[0].b.mean < 1;
}

/* Steps aside from the best, as long as that finds better ones. */
static tess_status climb(bayes *b, tess_session *s) {
  tess_status st = TESS_OK;
  for (int k = 0; st == TESS_OK && k < (int)b->option[BAYES_CLIMBS]; k++) {
    if (!b->pool.n || thread_flag_is_raised(&s->c->stop)) break;
    sort_pool(b);
    uint64_t best = b->pool.v[0].c.hash;
    uint32_t before = b->pool.n;
    uint32_t from = as_fresh(part_of(b, TOPS), 2 * b->climbed), n = 0;
    uint32_t each = as_fresh(STEPS_OF_ONE, b->climbed);
    if (from > b->pool.n) from = b->pool.n;
    search_cand *parent = arena_array(&b->spare, search_cand, TOPS);
    search_order *order =
        arena_array(&b->spare, search_order, TOPS * STEPS_OF_ONE);
    for (uint32_t i = 0; i < from; i++) {
      parent[i] = b->pool.v[i].c;
      for (uint32_t j = 0; j < each; j++)
        order[n++] =
            (search_order){.how = SEARCH_MUTATE, .steps = 1, .a = &parent[i]};
    }
    st = make(b, s, n, order);
    b->climbed = (double)(b->pool.n - before) / n;
    sort_pool(b);
    if (b->pool.n == before || (b->pool.v[0].c.hash == best && k)) break;
  }
  return st;
}

/* What was measured meanwhile goes, and so does the worse half of a pool that
 * is full; then all are asked about anew. */
static void renew(bayes *b, const tess_session *s) {
  uint32_t n = 0;
  uint32_t most = (uint32_t)(b->option[BAYES_POOL] * (1 - 0.5 * b->effort));
  arena other = b->spare;
  sort_pool(b);
  arena_reset(&other);
  if (b->whole) most = b->pool.n;
  for (uint32_t i = 0; i < b->pool.n && n < most; i++) {
    bayes_point p = b->pool.v[i];
    if (session_knows(s, &p.c)) continue;
    int64_t *d = arena_array(&other, int64_t, p.c.n + 1);
    if (p.c.n) memcpy(d, p.c.d, p.c.n * sizeof *d);
    p.c.d = d;
    p.row = keep_row(&other, b->width, p.row);
    ask(b, &p);
    b->pool.v[n++] = p;
  }
  b->pool.n = n;
  b->spare = b->keep;
  b->keep = other;
  arena_reset(&b->spare);
  sort_pool(b);
}

/* The space, if it is small: all of it is the pool then.  Of a large one what
 * the enumeration began with is no fair sample, and left out.  What a
 * constraint refuses is passed over far faster than what is new is made. */
static tess_status add_enumerated(bayes *b, tess_session *s, uint32_t n,
                                  const tess_candidate *c) {
  search_cand *made = arena_array(&b->spare, search_cand, n + 1);
  for (uint32_t i = 0; i < n; i++) made[i] = session_from_public(&c[i]);
  return add_made(b, s, n, made);
}

static tess_status enumerate_space(bayes *b, tess_session *s) {
  enum { TRIES = 65536 }; /* at least: as many as a mold's constraint reads */
  uint32_t room = 2 * (uint32_t)b->option[BAYES_POOL], n = 0;
  uint64_t tries = 2ull * room < TRIES ? TRIES : 2ull * room;
  tess_candidate *c = arena_array(&b->spare, tess_candidate, room);
  tess_status st = TESS_OK;
  b->counted = true;
  session_begin_batch(s);
  sweep_new(b->heap, s, &b->sweep);
  sweep_on(b->sweep, b->batch, s, tries, room, c, &n);
  map_clear(&b->batch->taken);
  if (sweep_is_done(b->sweep)) {
    st = add_enumerated(b, s, n, c);
    b->whole = st == TESS_OK;
  }
  sweep_free(b->sweep);
  b->sweep = NULL;
  return st;
}

tess_status bayes_fill(bayes *b, tess_session *s, uint32_t explored) {
  uint32_t most = (uint32_t)b->option[BAYES_POOL];
  renew(b, s);
  tess_status st = TESS_OK;
  if (b->whole) return st;
  for (int k = 0; st == TESS_OK && k < ROUNDS; k++) {
    uint32_t before = b->pool.n, n = (most - before + 1) / 2;
    if (before >= most || thread_flag_is_raised(&s->c->stop)) break;
    if (b->last < n) n = b->last;
    st = add_draws(b, s, n);
    /* Next time as many again as were new: a small space is soon exhausted. */
    b->last = 2 * (b->pool.n - before) + ROUNDS;
    uint32_t fresh = b->pool.n - before;
    bool most_repeat = b->repeated > n / 4,
         most_fail = fresh + b->repeated < n / 4;
    if (st == TESS_OK && !b->counted && (most_repeat || most_fail))
      st = enumerate_space(b, s);
    if (b->whole || fresh < n / 4) break;
  }
  if (st == TESS_OK && !b->whole) st = add_neighbours(b, s);
  if (st == TESS_OK && !b->whole) st = add_steps(b, s);
  if (st == TESS_OK && !b->whole && explored != BAYES_ANY)
    st = add_explored(b, s, explored);
  if (st == TESS_OK && !b->whole) st = climb(b, s);
  sort_pool(b);
  return st;
}
