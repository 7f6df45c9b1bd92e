/* SPDX-License-Identifier: Apache-2.0
 * Training in the background.  When it begins and when its outcome is used are
 * functions of how many samples there are and of what the model is called for,
 * so that a run repeats whatever the machine does meanwhile. */
#include "search/model/object.h"

#include <math.h>

#define FIT_CAP ((size_t)4 << 30)

/* ---- one training ------------------------------------------------------- */

typedef struct fitting {
  const learner *l; /* NULL: of what is feasible */
  const model_data *d;
  model_fit *f;
  bool judges;
} fitting;

static tess_status fit_one(void *ud) {
  fitting *w = ud;
  if (w->l) return w->l->fit(w->d, w->f);
  w->judges = feasible_fit(w->d, w->f);
  return TESS_OK;
}

/* On the thread of the training. */
static void train(void *ud) {
  model_fits *x = ud;
  for (uint32_t i = 0; i < x->n; i++) {
    fitting w = {x->learner[i], &x->data, &x->member[i], false};
    x->status[i] = mem_protect(&x->member[i].heap, fit_one, &w);
  }
  fitting w = {NULL, &x->data, &x->feasible, false};
  mem_protect(&x->feasible.heap, fit_one, &w);
  x->judges = w.judges;
}

static void begin_fit(model_fit *f, const tess_model *m) {
  *f = (model_fit){.seed = m->seed, .machine = m->machine};
  mem_heap_init(&f->heap, m->c->heap.alloc, FIT_CAP);
  f->heap.owner = "for training a cost model";
}

typedef struct starting {
  tess_model *m;
  model_fits *made;
  bool others;
} starting;

static tess_status copy_data(void *ud) {
  starting *w = ud;
  model_fits *x = w->made;
  data_init(&x->data, &x->heap, w->m->data.kinds);
  data_pick(&x->data, &w->m->data, w->m->group, w->others);
  return TESS_OK;
}

static void free_fits(tess_model *m, model_fits *x) {
  if (!x) return;
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->learner[i]->drop) x->learner[i]->drop(&x->member[i]);
    arena_free(&x->member[i].a);
  }
  arena_free(&x->feasible.a);
  data_free(&x->data);
  mem_free(&m->c->heap, x, sizeof *x);
}

/* With a copy of own samples or of the others; NULL: no memory. */
static model_fits *make_fits(tess_model *m, bool others) {
  model_fits *x = mem_try_resize(&m->c->heap, NULL, 0, sizeof *x);
  if (!x) return NULL;
  *x = (model_fits){.n = m->nmember};
  mem_heap_init(&x->heap, m->c->heap.alloc, FIT_CAP);
  for (uint32_t i = 0; i < m->nmember; i++) {
    x->learner[i] = m->member[i];
    begin_fit(&x->member[i], m);
    arena_init(&x->member[i].a, &x->member[i].heap);
  }
  begin_fit(&x->feasible, m);
  arena_init(&x->feasible.a, &x->feasible.heap);
  starting w = {m, x, others};
  if (mem_protect(&x->heap, copy_data, &w) == TESS_OK) return x;
  free_fits(m, x);
  return NULL;
}

/* Without memory for it the model stays as it is. */
static void train_start(tess_model *m) {
  model_fits *x = make_fits(m, false);
  if (!x) return;
  m->started = m->own;
  m->next = x;
  m->training = true;
  thread_task_start(&m->task, train, x);
}

/* A member that failed is told of, and does not vote. */
static void tell_failures(tess_model *m, const model_fits *x) {
  for (uint32_t i = 0; i < x->n; i++) {
    const model_fit *f = &x->member[i];
    if (x->status[i] == TESS_OK || x->status[i] == TESS_NOT_FOUND) continue;
    ctx_warn(m->c, 0x6d6f64656cu + i,
             "cost model \"%s\" could not be trained: %s", x->learner[i]->name,
             f->why[0] ? f->why : err_status_text(x->status[i]));
  }
}

static void train_finish(tess_model *m) {
  if (!m->training) return;
  thread_task_join(&m->task);
  m->training = false;
  tell_failures(m, m->next);
  free_fits(m, m->now);
  m->now = m->next;
  m->next = NULL;
}

/* ---- other workloads ---------------------------------------------------- */

double model_trust(const tess_model *m) {
  const double half = 64, least = 0.05;
  double trust = exp2(-(double)m->own / half);
  return m->base && trust >= least ? trust : 0;
}

/* Of decisions in other spaces nothing can be learnt for this one. */
static void drop_decisions(model_fits *x) {
  for (uint32_t i = 0; i < x->n; i++)
    if (x->learner[i]->kinds >> FEATURE_DECISIONS & 1)
      x->status[i] = TESS_NOT_FOUND;
}

void model_begin_base(tess_model *m) {
  enum { FEW = 32 };
  if (m->based || !m->nmember || m->data.sample.n - m->own < FEW) return;
  m->based = true;
  m->base = make_fits(m, true);
  if (!m->base) return;
  train(m->base);
  tell_failures(m, m->base);
  drop_decisions(m->base);
}

void model_join(tess_model *m, uint64_t group) {
  if (m->group != group) model_forget(m);
  m->group = group;
  m->own = data_count(&m->data, group);
}

/* ---- when --------------------------------------------------------------- */

static bool has_untaught(const tess_model *m) {
  for (uint32_t i = 0; i < m->nmember; i++)
    if (m->member[i]->untaught) return true;
  return false;
}

/* There is a tenth more to learn from than the last time. */
static bool is_due(const tess_model *m) {
  uint32_t more = m->own - m->started;
  if (!m->now && has_untaught(m)) return true;
  return m->nmember && more > 0 && more >= m->started / 10;
}

void model_train_due(tess_model *m) {
  model_begin_base(m);
  if (m->training && (m->started < MODEL_FRESH || !m->now)) train_finish(m);
  bool waits = m->own < MODEL_FRESH || !m->now;
  if (!m->training && waits && is_due(m)) {
    train_start(m);
    train_finish(m);
  }
}

void model_taught(tess_model *m) {
  if (m->training && m->started >= MODEL_FRESH) train_finish(m);
  if (!m->training && is_due(m)) train_start(m);
}

void model_wait(tess_model *m) { train_finish(m); }

void model_forget(tess_model *m) {
  train_finish(m);
  free_fits(m, m->now);
  free_fits(m, m->base);
  m->now = m->base = NULL;
  m->based = false;
  m->started = 0;
}
