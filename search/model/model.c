/* SPDX-License-Identifier: Apache-2.0
 * Cost models by name, and what a session asks of them. */
#include "search/model/object.h"

#include "base/hash.h"
#include "measure/measure.h"
#include <math.h>
#include <stdio.h>

const learner *const learners[] = {&learner_xgb,     &learner_xgb_rank,
                                   &learner_forest,  &learner_gp,
                                   &learner_treegru, &learner_analytic};
const uint32_t nlearners = sizeof learners / sizeof *learners;

const learner *learner_find(const char *name, size_t n) {
  for (uint32_t i = 0; i < nlearners; i++)
    if (strlen(learners[i]->name) == n && !strncmp(learners[i]->name, name, n))
      return learners[i];
  return NULL;
}

/* ---- life --------------------------------------------------------------- */

static tess_status no_such_model(tess_context *c, const char *name, size_t n) {
  char known[256] = "random";
  for (uint32_t i = 0; i < nlearners; i++) {
    size_t at = strlen(known);
    snprintf(known + at, sizeof known - at, ", %s", learners[i]->name);
  }
  return ctx_fail(c, TESS_NOT_FOUND,
                  "there is no cost model '%.*s'; the built-in ones are %s",
                  (int)n, name, known);
}

static tess_status add_member(tess_model *m, const char *name, size_t n) {
  const learner *l = learner_find(name, n);
  if (!l) return no_such_model(m->c, name, n);
  if (m->nmember == MODEL_MEMBERS)
    return ctx_fail(m->c, TESS_LIMIT,
                    "a cost model has at most %d members: '%s'", MODEL_MEMBERS,
                    m->name);
  m->member[m->nmember++] = l;
  m->kinds |= l->kinds;
  return l->ready ? l->ready(m->c) : TESS_OK;
}

/* "a+b" */
static tess_status add_members(tess_model *m) {
  const char *at = m->name;
  if (!strcmp(at, "random")) return TESS_OK;
  for (;;) {
    size_t n = strcspn(at, "+");
    tess_status st = add_member(m, at, n);
    if (st != TESS_OK || !at[n]) return st;
    at += n + 1;
  }
}

static tess_status begin_data(void *ud) {
  tess_model *m = ud;
  data_init(&m->data, &m->c->heap, m->kinds | 1u << FEATURE_DECISIONS);
  return TESS_OK;
}

tess_status model_new(tess_context *c, const char *name, tess_model **out) {
  mem_heap *h = &c->heap;
  *out = NULL;
  if (strlen(name) >= MODEL_NAME) return no_such_model(c, name, strlen(name));
  tess_model *m = mem_try_resize(h, NULL, 0, sizeof *m);
  if (!m) return ctx_ran_out(c, mem_refusal(h), "a cost model");
  *m = (tess_model){.c = c, .refs = 1, .data.heap = h};
  strcpy(m->name, name);
  tess_status st = add_members(m);
  if (st == TESS_OK && mem_protect(h, begin_data, m) != TESS_OK)
    st = ctx_ran_out(c, mem_refusal(h), "a cost model");
  if (st == TESS_OK)
    *out = m;
  else
    tess_model_free(m);
  return st;
}

tess_model *model_hold(tess_model *m) {
  m->refs++;
  return m;
}

void tess_model_free(tess_model *m) {
  if (!m || --m->refs) return;
  mem_heap *h = &m->c->heap;
  model_forget(m);
  data_free(&m->data);
  for (int k = 0; k < FEATURE_KINDS; k++) {
    vec_free(h, &m->first[k]);
    vec_free(h, &m->number[k]);
  }
  vec_free(h, &m->part);
  vec_free(h, &m->seen);
  vec_free(h, &m->own_of);
  vec_free(h, &m->quality);
  mem_free(h, m, sizeof *m);
}

/* ---- features of what is asked ------------------------------------------ */

/* The session's rows are gone with the next question of it. */
static void keep_rows(tess_model *m, feature_kind k, const search_rows *r) {
  mem_heap *h = &m->c->heap;
  size_t numbers = (size_t)r->first[r->n] * r->width;
  vec_clear(&m->first[k]);
  vec_clear(&m->number[k]);
  (void)vec_extend(h, &m->first[k], r->n + 1);
  (void)vec_extend(h, &m->number[k], numbers + 1);
  memcpy(m->first[k].v, r->first, (r->n + 1) * sizeof *r->first);
  if (numbers) memcpy(m->number[k].v, r->v, numbers * sizeof *r->v);
  m->rows[k] = *r;
  m->rows[k].first = m->first[k].v;
  m->rows[k].v = m->number[k].v;
}

/* The features of n candidates, in m->rows. */
static tess_status find_rows(tess_model *m, tess_session *s, uint32_t kinds,
                             uint32_t n, const search_cand *c) {
  tess_status st = TESS_OK;
  search_rows r;
  for (int k = 0; st == TESS_OK && k < FEATURE_KINDS; k++) {
    if (!(kinds >> k & 1)) continue;
    st = session_rows(s, k, n, c, &r);
    if (st == TESS_OK) keep_rows(m, k, &r);
  }
  return st;
}

/* Candidates as the session knows them, until the next call. */
static const search_cand *own_of(tess_model *m, uint32_t n,
                                 const tess_candidate *c) {
  vec_clear(&m->own_of);
  vec_reserve(&m->c->heap, &m->own_of, n + 1);
  for (uint32_t i = 0; i < n; i++) m->own_of.v[i] = session_from_public(&c[i]);
  return m->own_of.v;
}

/* ---- scores ------------------------------------------------------------- */

bool model_is_scaled(const tess_model *m) {
  for (uint32_t i = 0; i < m->nmember; i++)
    if (!m->member[i]->scaled) return false;
  return m->nmember > 0;
}

/* To a mean of 0 and a spread of 1, for members of different scales. */
static void standardise(uint32_t n, double *v, double *sd) {
  double sum = 0, square = 0;
  for (uint32_t i = 0; i < n; i++) sum += v[i];
  for (uint32_t i = 0; i < n; i++)
    square += (v[i] - sum / n) * (v[i] - sum / n);
  double spread = n ? sqrt(square / n) : 0;
  if (!(spread > 0)) spread = 1;
  for (uint32_t i = 0; i < n; i++) {
    v[i] = (v[i] - sum / n) / spread;
    if (sd) sd[i] /= spread;
  }
}

/* One more vote: sums of means, of their squares, and of variances. */
static void add_vote(uint32_t n, const double *mean, const double *sd,
                     double *sum, double *variance) {
  for (uint32_t i = 0; i < n; i++) {
    sum[i] += mean[i];
    if (variance) variance[i] += mean[i] * mean[i] + sd[i] * sd[i];
  }
}

static bool judges(const tess_model *m) { return m->now && m->now->judges; }

static uint32_t count_members(const model_fits *x) {
  uint32_t k = 0;
  for (uint32_t i = 0; x && i < x->n; i++) k += x->status[i] == TESS_OK;
  return k;
}

static uint32_t count_votes(const tess_model *m) {
  return count_members(m->now) +
         (model_trust(m) > 0 ? count_members(m->base) : 0);
}

static void make_room(tess_model *m, uint32_t n) {
  vec_clear(&m->part);
  (void)vec_extend(&m->c->heap, &m->part, 5 * (size_t)n + 1);
}

/* Of the members of one fit, each with a vote; `one` and `unsure` are room. */
static tess_status score_fits(const tess_model *m, const model_fits *x,
                              uint32_t n, double *one, double *unsure,
                              double *mean, double *sd) {
  bool scaled = model_is_scaled(m);
  uint32_t k = count_members(x);
  memset(mean, 0, n * sizeof *mean);
  memset(sd, 0, n * sizeof *sd);
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->status[i] != TESS_OK) continue;
    tess_status st =
        x->learner[i]->score(&x->member[i], n, m->rows, one, unsure);
    if (st != TESS_OK)
      return ctx_fail(m->c, st, "cost model \"%s\" cannot predict",
                      x->learner[i]->name);
    if (!scaled && k > 1) standardise(n, one, unsure);
    add_vote(n, one, unsure, mean, sd);
  }
  for (uint32_t i = 0; i < n; i++) {
    mean[i] /= k;
    sd[i] = sqrt(fmax(0, sd[i] / k - mean[i] * mean[i]));
  }
  return TESS_OK;
}

/* What own samples say and what those of others do, by how far the latter are
 * trusted. */
static void blend(const tess_model *m, uint32_t n, double *mean, double *sd,
                  double *other, double *other_sd) {
  double trust = model_trust(m);
  if (!model_is_scaled(m)) {
    standardise(n, mean, sd);
    standardise(n, other, other_sd);
  }
  for (uint32_t i = 0; i < n; i++) {
    mean[i] += trust * (other[i] - mean[i]);
    sd[i] += trust * (other_sd[i] - sd[i]);
  }
}

static tess_status score_both(tess_model *m, uint32_t n, double *mean,
                              double *sd) {
  double *one = m->part.v, *unsure = one + n;
  bool own = count_members(m->now) > 0;
  bool others = model_trust(m) > 0 && count_members(m->base) > 0;
  tess_status st = TESS_OK;
  if (own) st = score_fits(m, m->now, n, one, unsure, mean, sd);
  if (st != TESS_OK || !others) return st;
  if (!own) return score_fits(m, m->base, n, one, unsure, mean, sd);
  double *other = unsure + n, *other_sd = other + n;
  st = score_fits(m, m->base, n, one, unsure, other, other_sd);
  if (st == TESS_OK) blend(m, n, mean, sd, other, other_sd);
  return st;
}

/* What the fits say; mean and sd as learner.score; sd may be NULL. */
static tess_status score_rows(tess_model *m, uint32_t n, double *mean,
                              double *sd) {
  make_room(m, n);
  return score_both(m, n, mean, sd ? sd : m->part.v + 4 * (size_t)n);
}

/* Noise of the session's seed, so that runs repeat. */
static void score_at_random(const tess_session *s, uint32_t n,
                            const search_cand *c, double *score) {
  for (uint32_t i = 0; i < n; i++) {
    rng r;
    rng_init(&r, s->seed, c[i].hash);
    score[i] = rng_unit(&r);
  }
}

/* What fails more likely than not is worse than anything that does not. */
static void heed_failures(tess_model *m, uint32_t n, double *mean) {
  double least = INFINITY, most = -INFINITY;
  for (uint32_t i = 0; i < n; i++) {
    least = fmin(least, mean[i]);
    most = fmax(most, mean[i]);
  }
  for (uint32_t i = 0; i < n; i++)
    mean[i] -= 2 *
               (1 - feasible_score(&m->now->feasible,
                                   &m->rows[FEATURE_DECISIONS], i)) *
               (most - least);
}

static tess_status predict_all(tess_model *m, tess_session *s, uint32_t n,
                               const search_cand *c, double *mean, double *sd,
                               bool *knows) {
  model_train_due(m);
  *knows = count_votes(m) > 0;
  if (sd) memset(sd, 0, n * sizeof *sd);
  if (!*knows) {
    score_at_random(s, n, c, mean);
    return TESS_OK;
  }
  uint32_t kinds = m->kinds;
  if (judges(m)) kinds |= 1u << FEATURE_DECISIONS;
  tess_status st = find_rows(m, s, kinds, n, c);
  if (st == TESS_OK) st = score_rows(m, n, mean, sd);
  if (st == TESS_OK && judges(m)) heed_failures(m, n, mean);
  return st;
}

typedef struct prediction {
  tess_model *m;
  tess_session *s;
  uint32_t n;
  const tess_candidate *c;
  double *mean, *sd;
  bool *knows;
} prediction;

static tess_status predict_framed(void *ud) {
  const prediction *w = ud;
  return predict_all(w->m, w->s, w->n, own_of(w->m, w->n, w->c), w->mean, w->sd,
                     w->knows);
}

tess_status model_predict(tess_model *m, tess_session *s, uint32_t n,
                          const tess_candidate *c, double *mean, double *sd,
                          bool *knows) {
  prediction w = {m, s, n, c, mean, sd, knows};
  return mem_protect(&m->c->heap, predict_framed, &w);
}

tess_status session_predict_spread(tess_session *s, uint32_t n,
                                   const tess_candidate *c, double *mean,
                                   double *sd, bool *knows) {
  if (s->learns) return model_predict(s->learns, s, n, c, mean, sd, knows);
  memset(sd, 0, n * sizeof *sd);
  *knows = true;
  return tess_session_predict(s, n, c, mean);
}

tess_status model_prior(tess_model *m, tess_session *s, uint32_t n,
                        const search_cand *c, double *mean, bool *knows) {
  const double least = 1e-6;
  bool scaled = model_is_scaled(m);
  model_begin_base(m);
  *knows = count_members(m->base) > 0 && (scaled || m->nmember == 1);
  if (!*knows) return TESS_OK;
  tess_status st = find_rows(m, s, m->kinds, n, c);
  if (st != TESS_OK) return st;
  make_room(m, n);
  double *one = m->part.v, *sd = one + 2 * (size_t)n;
  st = score_fits(m, m->base, n, one, one + n, mean, sd);
  for (uint32_t i = 0; scaled && i < n; i++)
    mean[i] = log2(fmax(mean[i], least));
  return st;
}

bool session_model_knows(tess_session *s) {
  if (!s->learns) return true;
  model_train_due(s->learns);
  return count_votes(s->learns) > 0;
}

static tess_status do_model_predict(void *ud, tess_session *s, uint32_t n,
                                    const tess_candidate *c, double *score) {
  bool knows;
  return model_predict(ud, s, n, c, score, NULL, &knows);
}

/* ---- teaching ----------------------------------------------------------- */

typedef struct lesson {
  tess_model *m;
  tess_session *s;
  uint32_t n;
  const tess_candidate *c;
} lesson;

/* What was predicted before the times were known, against them. */
static tess_status look_back(const lesson *w, const model_data *d,
                             uint32_t group) {
  tess_model *m = w->m;
  if (!count_votes(m)) return TESS_OK;
  double best = d->best.v[group];
  vec_clear(&m->seen);
  vec_reserve(&m->c->heap, &m->seen, 2 * w->n);
  double *seconds = m->seen.v, *score = seconds + w->n;
  for (uint32_t i = 0; i < w->n; i++) {
    bool ok = w->c[i].status == TESS_OK;
    seconds[i] = ok ? w->c[i].seconds : INFINITY;
    best = fmin(best, seconds[i]);
  }
  tess_status st = score_rows(m, w->n, score, NULL);
  if (st != TESS_OK) return st;
  tess_quality q = quality_of(w->n, score, seconds, best, model_is_scaled(m));
  q.trials = m->own;
  vec_push(&m->c->heap, &m->quality, q);
  return TESS_OK;
}

/* It was no trial of its own. */
static bool is_equal(const tess_session *s, const search_cand *c) {
  uint32_t at = map_get(&s->known, c->hash);
  return at != MAP_NONE && s->history.v[at].equal;
}

static tess_status learn_framed(void *ud) {
  const lesson *w = ud;
  tess_model *m = w->m;
  const search_cand *own = own_of(m, w->n, w->c);
  tess_status st = find_rows(m, w->s, m->data.kinds, w->n, own);
  if (st != TESS_OK) return st;
  uint32_t group = data_group(&m->data, m->group);
  st = look_back(w, &m->data, group);
  for (uint32_t i = 0; st == TESS_OK && i < w->n; i++) {
    if (measure_is_machine_fault(w->c[i].status)) continue;
    bool ok = w->c[i].status == TESS_OK;
    data_add(
        &m->data,
        (model_sample){group, w->c[i].status, ok ? w->c[i].seconds : INFINITY},
        m->rows, i);
    m->own += !is_equal(w->s, &own[i]);
  }
  return st;
}

tess_status model_teach(tess_model *m, tess_session *s, uint32_t n,
                        const tess_candidate *c) {
  lesson w = {m, s, n, c};
  return m->nmember && n ? mem_protect(&m->c->heap, learn_framed, &w) : TESS_OK;
}

static tess_status update(void *ud, tess_session *s, uint32_t n,
                          const tess_candidate *c) {
  tess_status st = model_teach(ud, s, n, c);
  if (st == TESS_OK) model_taught(ud);
  return st;
}

/* ---- sessions ----------------------------------------------------------- */

/* What is compared: a program, and the space of its schedules. */
static uint64_t group_of(tess_session *s) {
  search_worker *w = &s->worker[0];
  uint64_t h = ir_hash(s->base, &w->m.scratch);
  for (uint32_t i = 0; i < s->nsketch; i++)
    h = hash_mix(h, vm_sketch_hash(s->sketch[i]));
  return h;
}

static tess_status find_group(void *ud) {
  void **w = ud;
  *(uint64_t *)w[1] = group_of(w[0]);
  return TESS_OK;
}

/* What the target says, or what most processors have. */
static double fact_of(const tess_session *s, const char *field, double usual) {
  int64_t v = s->host.target ? tess_target_int(s->host.target, field) : 0;
  return v > 0 ? (double)v : usual;
}

/* Vector registers: AVX-512 and NEON have 32, SSE and AVX 16. */
static double registers_of(const tess_session *s) {
  if (fact_of(s, "max-threads-per-block", 0) > 0) return INFINITY;
  tess_target *t = s->host.target;
  bool arm = t && strstr(tess_target_text(t), "aarch64");
  return arm || fact_of(s, "vector-bytes", 32) >= 64 ? 32 : 16;
}

static model_machine machine_of(const tess_session *s) {
  return (model_machine){
      .threads = s->host.kernel_threads ? s->host.kernel_threads : 1,
      .lanes = fact_of(s, "vector-bytes", 32) / 4,
      .registers = registers_of(s),
      .cache = {fact_of(s, "l1", 32 << 10), fact_of(s, "l2", 1 << 20),
                fact_of(s, "l3", 32 << 20)}};
}

tess_status model_attach(tess_model *m, tess_session *s, tess_cost_model *out) {
  uint64_t group = 0;
  void *ud[2] = {s, &group};
  tess_status st = mem_protect(&s->worker[0].heap, find_group, ud);
  if (st != TESS_OK) return ctx_ran_out(m->c, st, "a cost model");
  model_join(m, group);
  m->seed = s->seed;
  m->machine = machine_of(s);
  s->learns = m;
  vec_clear(&m->quality);
  for (int k = 0; k < FEATURE_DECISIONS; k++)
    if (m->kinds >> k & 1) {
      session_want(s, k);
      break;
    }
  *out = (tess_cost_model){
      .name = m->name, .predict = do_model_predict, .update = update, .ud = m};
  return TESS_OK;
}
