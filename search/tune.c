/* SPDX-License-Identifier: Apache-2.0
 * The search loop: propose, measure, learn, store; then the best few meet
 * again before the winner is named. */
#include "search/loop.h"

#include <math.h>
#include <time.h>

#define MAX_EMPTY 3 /* batches without a proposal end the run */

double tune_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- setting up --------------------------------------------------------- */

static tess_status open_strategy(tune *t) {
  const tess_tune_options *o = t->set->o;
  if (o->custom_strategy) {
    t->strategy = *o->custom_strategy;
    return TESS_OK;
  }
  for (uint32_t i = 0; i < search_nstrategies; i++)
    if (!strcmp(search_strategies[i]->name, o->strategy))
      return search_strategies[i]->open(&t->s, &t->strategy);
  return ctx_fail(t->c, TESS_NOT_FOUND, "there is no strategy '%s'",
                  o->strategy);
}

static tess_status open_model(tune *t) {
  const tess_tune_options *o = t->set->o;
  if (o->custom_cost_model) {
    t->model = *o->custom_cost_model;
    return TESS_OK;
  }
  for (uint32_t i = 0; i < search_nmodels; i++)
    if (!strcmp(search_models[i]->name, o->cost_model))
      return search_models[i]->open(&t->s, &t->model);
  return ctx_fail(t->c, TESS_NOT_FOUND, "there is no cost model '%s'",
                  o->cost_model);
}

/* In the frame of the context's heap. */
static tess_status make_tables(void *ud) {
  tune *t = ud;
  mem_heap *h = &t->c->heap;
  uint32_t n = t->set->nsketch, batch = t->set->o->batch;
  t->r = mem_new(h, tess_result);
  *t->r = (tess_result){.c = t->c};
  str_init(&t->r->funnel, h);
  str_init(&t->r->ledger, h);
  str_init(&t->r->classes, h);
  str_init(&t->r->note, h);
  str_init(&t->r->failure, h);
  t->r->program = program_hold(t->set->program);
  t->r->target = ctx_text(t->c, t->set->target, strlen(t->set->target));
  t->sketch = mem_resize(h, NULL, 0, n * sizeof *t->sketch);
  t->sketch_hash = mem_resize(h, NULL, 0, n * sizeof *t->sketch_hash);
  for (uint32_t i = 0; i < n; i++) {
    t->sketch[i] = &t->set->sketch[i]->t;
    t->sketch_hash[i] = vm_trace_hash(t->sketch[i]);
  }
  t->out = mem_resize(h, NULL, 0, batch * sizeof *t->out);
  t->proposed = mem_resize(h, NULL, 0, batch * sizeof *t->proposed);
  return TESS_OK;
}

static tess_status set_up(tune *t) {
  const tune_setup *set = t->set;
  for (int i = 0; i < TUNE_FINALISTS; i++)
    str_init(&t->best[i].code, &t->c->heap);
  tess_status s = mem_protect(&t->c->heap, make_tables, t);
  if (s == TESS_OK)
    s = session_init(&t->s, t->c, &set->program->p, set->nsketch, t->sketch,
                     set->o->seed, set->o->threads);
  if (s == TESS_OK) s = open_model(t);
  t->s.model = &t->model;
  if (s == TESS_OK) s = open_strategy(t);
  return s == TESS_OK ? tune_open_database(t) : s;
}

/* What the host plugged in is for who took it in to free. */
static void tear_down(tune *t) {
  mem_heap *h = &t->c->heap;
  uint32_t n = t->set->nsketch, batch = t->set->o->batch;
  const tess_tune_options *o = t->set->o;
  if (!o->custom_strategy && t->strategy.free) t->strategy.free(t->strategy.ud);
  if (!o->custom_cost_model && t->model.free) t->model.free(t->model.ud);
  for (int i = 0; i < TUNE_FINALISTS; i++) str_free(&t->best[i].code);
  for (int i = 0; i < TUNE_CLASSES; i++) tess_text_free(t->c, t->said[i]);
  tess_database_free(t->db);
  if (t->s.c) session_free(&t->s);
  if (t->sketch) mem_free(h, t->sketch, n * sizeof *t->sketch);
  if (t->sketch_hash) mem_free(h, t->sketch_hash, n * sizeof *t->sketch_hash);
  if (t->out) mem_free(h, t->out, batch * sizeof *t->out);
  if (t->proposed) mem_free(h, t->proposed, batch * sizeof *t->proposed);
  str_free(&t->line);
}

/* ---- a batch ------------------------------------------------------------ */

/* The deadline's alarm raises the same flag as whoever wants a stop. */
void tune_heed_stop(tune *t) {
  const tess_tune_options *o = t->set->o;
  thread_alarm *alarm = t->set->deadline;
  if (alarm ? thread_alarm_rang(alarm)
            : o->deadline > 0 && tune_now() - t->started > o->deadline) {
    t->late = true;
    t->ended = TESS_TIMEOUT;
  } else if (thread_flag_is_raised(&t->c->stop)) {
    t->ended = TESS_CANCELLED;
  }
}

/* Tells the progress; non-zero: stop. */
static int tell(tune *t, uint32_t trials) {
  const tess_tune_options *o = t->set->o;
  double elapsed = tune_now() - t->started;
  uint32_t done = trials - t->before;
  tess_progress p = {.trials = trials,
                     .max_trials = o->trials,
                     .failed = t->failed,
                     .best_seconds =
                         t->best_seconds > 0 ? t->best_seconds : INFINITY,
                     .gflops = tune_gflops(t, t->best_seconds),
                     .elapsed = elapsed,
                     .eta = done ? elapsed / done * (o->trials - trials) : 0};
  tune_heed_stop(t);
  if (o->progress) {
    str_clear(&t->line);
    tune_progress_line(&p, &t->line);
    p.text = str_get(&t->line) ? str_get(&t->line) : "";
    if (o->progress(o->progress_ud, &p)) t->ended = TESS_CANCELLED;
  }
  return t->ended != TESS_OK;
}

void tune_note_best(tune *t, double seconds) {
  if (t->best_seconds == 0 || seconds < t->best_seconds)
    t->best_seconds = seconds;
}

/* Called by the measurer after each candidate of the batch, which is stored
 * at once: a process that is killed loses none that was measured. */
static int told(void *ud, uint32_t i) {
  tune *t = ud;
  const search_outcome *o = &t->out[i];
  double start = tune_now();
  tess_status s = tune_store(t, i);
  t->time.database += tune_now() - start;
  if (s != TESS_OK) {
    tune_break_off(t, s);
    t->ended = s;
  }
  if (o->status != TESS_OK)
    t->failed++;
  else if (o->checked)
    tune_note_best(t, o->seconds);
  if (o->status != TESS_OK && t->set->o->on_error && t->ended == TESS_OK) {
    t->ended = o->status;
    str_puts(&t->r->failure, str_get(&o->message));
  }
  return tell(t, t->first + i + 1);
}

typedef struct say_work {
  tune *t;
  const search_outcome *o;
} say_work;

static tess_status say(void *ud) {
  say_work *w = ud;
  w->t->said[w->o->status] = ctx_text_of(w->t->c, &w->o->message);
  return TESS_OK;
}

tess_status tune_count_result(tune *t, const search_outcome *o) {
  say_work w = {t, o};
  t->count[o->status]++;
  if (t->said[o->status] || !o->message.n) return TESS_OK;
  return mem_protect(&t->c->heap, say, &w);
}

static tess_status push_curve(void *ud) {
  tune *t = ud;
  vec_push(&t->c->heap, &t->r->curve,
           t->best_seconds > 0 ? t->best_seconds : INFINITY);
  t->trials++;
  return TESS_OK;
}

tess_status tune_count_trial(tune *t) {
  return mem_protect(&t->c->heap, push_curve, t);
}

static tess_status learn_one(tune *t, tess_candidate *proposed,
                             search_outcome *o) {
  search_cand c = session_from_public(proposed);
  bool ok = o->status == TESS_OK;
  proposed->status = o->status;
  proposed->seconds = ok ? o->seconds : INFINITY;
  tess_status s = tune_count_result(t, o);
  if (s == TESS_OK && !measure_is_no_ones(o->status))
    s = session_learn(&t->s, &c, o->seconds, o->status, o->checked);
  if (s == TESS_OK && ok) {
    if (o->checked) tune_note_best(t, o->seconds);
    tune_enter_finals(t, t->s.history.n - 1, o);
  }
  return s == TESS_OK ? tune_count_trial(t) : s;
}

/* What was measured goes into the session; `n` candidates of the batch. */
static tess_status learn(tune *t, uint32_t n, double best_before) {
  tess_status s = TESS_OK;
  t->best_seconds = best_before;
  for (uint32_t i = 0; s == TESS_OK && i < n; i++)
    s = learn_one(t, &t->proposed[i], &t->out[i]);
  return s;
}

/* How many candidates of the batch were measured before it was ended. */
static uint32_t measured(const tune *t, uint32_t n) {
  uint32_t k = 0;
  while (k < n && t->out[k].status != TESS_CANCELLED) k++;
  return k;
}

/* Measures the batch, and stores what was measured. */
static tess_status measure_all(tune *t, uint32_t n, const search_cand *c) {
  const search_measurer *m = t->set->measurer;
  double start = tune_now(), stored = t->time.database;
  tess_status s =
      m->measure(m->ud, &t->s, n, c, t->best_seconds, t->out, told, t);
  t->time.measure += tune_now() - start - (t->time.database - stored);
  if (s != TESS_OK) tune_break_off(t, s);
  return t->r->broke.code;
}

/* The strategy and the cost model see the first n of t->proposed, measured. */
static tess_status teach(tune *t, uint32_t n) {
  tess_status s = TESS_OK;
  double start = tune_now();
  if (t->strategy.observe)
    s = session_blame(
        &t->s, t->strategy.observe(t->strategy.ud, &t->s, n, t->proposed),
        "the strategy's 'observe'");
  if (s == TESS_OK && t->model.update)
    s = session_blame(&t->s,
                      t->model.update(t->model.ud, &t->s, n, t->proposed),
                      "the cost model's 'update'");
  t->time.model += tune_now() - start;
  return s;
}

/* What earlier runs measured, as if this one had: in batches. */
static tess_status teach_earlier(tune *t) {
  uint32_t end = t->s.history.n, batch = t->set->o->batch, n;
  tess_status s = TESS_OK;
  for (uint32_t at = 0; s == TESS_OK && at < end; at += n) {
    n = end - at < batch ? end - at : batch;
    for (uint32_t i = 0; i < n; i++) {
      const search_seen *h = &t->s.history.v[at + i];
      session_to_public(&h->c, &t->proposed[i]);
      t->proposed[i].status = h->status;
      t->proposed[i].seconds = h->seconds;
    }
    s = teach(t, n);
  }
  return s;
}

static tess_status measure_batch(tune *t, uint32_t n) {
  size_t size = n * sizeof(search_cand);
  search_cand *c = mem_try_resize(&t->c->heap, NULL, 0, size);
  if (!c) return mem_refusal(&t->c->heap);
  for (uint32_t i = 0; i < n; i++) {
    c[i] = session_from_public(&t->proposed[i]);
    outcome_init(&t->out[i], &t->c->heap);
  }
  double before = t->best_seconds;
  tess_status broke = measure_all(t, n, c);
  mem_free(&t->c->heap, c, size);
  uint32_t k = measured(t, n);
  tess_status s = learn(t, k, before);
  if (s == TESS_OK) s = broke;
  if (s == TESS_OK) s = teach(t, k);
  for (uint32_t i = 0; i < n; i++) outcome_free(&t->out[i]);
  return s;
}

static tess_status count_duplicate(void *ud) {
  tune *t = ud;
  funnel_add(&t->s.total, &t->c->heap, FUNNEL_DUPLICATE, "", "", 0);
  return TESS_OK;
}

/* Whether it was measured, or is among the first n of this batch. */
static bool is_duplicate(const tune *t, uint32_t n, const search_cand *c) {
  for (uint32_t i = 0; i < n; i++)
    if (session_from_public(&t->proposed[i]).hash == c->hash) return true;
  return session_knows(&t->s, c);
}

/* Proposals of a strategy from outside are looked at: sketch numbers, and
 * vectors that replay, each once.  What does not fit is dropped. */
static tess_status check_proposals(tune *t, uint32_t *n) {
  uint32_t kept = 0;
  tess_status s = TESS_OK;
  if (!t->set->o->custom_strategy) return s;
  for (uint32_t i = 0; s == TESS_OK && i < *n; i++) {
    search_cand c = session_from_public(&t->proposed[i]);
    bool fits = false;
    if (is_duplicate(t, kept, &c))
      s = mem_protect(&t->c->heap, count_duplicate, t);
    else
      s = session_look_at(&t->s, &c, &fits);
    if (fits) t->proposed[kept++] = t->proposed[i];
  }
  *n = kept;
  return s;
}

/* Up to n proposals.  What a strategy says to have written and has not is
 * found zeroed, and is then no candidate. */
static tess_status propose(tune *t, uint32_t n, uint32_t *got) {
  memset(t->proposed, 0, n * sizeof *t->proposed);
  tess_status s =
      t->strategy.propose(t->strategy.ud, &t->s, n, t->proposed, got);
  if (s != TESS_OK) return session_blame(&t->s, s, "the strategy's 'propose'");
  if (*got > n)
    return ctx_fail(t->c, TESS_INVALID,
                    "the strategy proposed %u candidates where at most %u "
                    "were asked for",
                    *got, n);
  return check_proposals(t, got);
}

static tess_status run_batches(tune *t) {
  const tess_tune_options *o = t->set->o;
  for (;;) {
    tune_heed_stop(t);
    if (t->trials >= o->trials || t->ended != TESS_OK) break;
    uint32_t n = o->trials - t->trials, got = 0;
    if (n > o->batch) n = o->batch;
    double start = tune_now();
    tess_status s = propose(t, n, &got);
    if (s != TESS_OK) return s;
    t->time.propose += tune_now() - start;
    tune_heed_stop(t);
    if (t->ended != TESS_OK) break;
    t->empty = got ? 0 : t->empty + 1;
    if (t->empty == MAX_EMPTY) {
      t->r->exhausted = true;
      break;
    }
    if (!got) continue;
    t->first = t->trials;
    s = measure_batch(t, got);
    if (s != TESS_OK) return s;
  }
  return TESS_OK;
}

/* ---- the run ------------------------------------------------------------ */

/* The deadline is the search's: who is best is still found out, unless that is
 * stopped, too. */
static void end_search(tune *t) {
  if (t->set->deadline) thread_alarm_put_off(t->set->deadline);
  tune_heed_stop(t);
  if (t->late) thread_flag_clear(&t->c->stop);
}

/* Batch by batch; what was found before a failure is given all the same. */
static tess_status search(tune *t) {
  uint32_t best;
  tess_status s = teach_earlier(t);
  if (s == TESS_OK) s = run_batches(t);
  if (s == TESS_CANCELLED) {
    t->ended = s;
    s = TESS_OK;
  }
  end_search(t);
  if (s != TESS_OK) tune_break_off(t, s);
  const err_state *broke = &t->r->broke;
  if (broke->code != TESS_OK && !session_best(&t->s, 1, &best))
    return ctx_fail(t->c, broke->code, "%s", broke->message);
  return tune_fill_result(t);
}

tess_status tune_run(const tune_setup *setup, tess_result **out) {
  tune t = {.set = setup,
            .c = setup->c,
            .started = tune_now(),
            .ended = setup->cancelled ? TESS_CANCELLED : TESS_OK,
            .time.sketches = setup->sketch_seconds};
  *out = NULL;
  str_init(&t.line, &t.c->heap);
  /* The workers' ledger goes on from run to run. */
  measure_ledger start = {0};
  if (setup->ledger) start = *setup->ledger;
  tess_status s = set_up(&t);
  if (s == TESS_OK) s = search(&t);
  if (s == TESS_OK) {
    measure_ledger spent = {0};
    if (setup->ledger) {
      spent = *setup->ledger;
      spent.build_wall -= start.build_wall;
      spent.run_wall -= start.run_wall;
    }
    tune_report_ledger(&t.time, setup->ledger ? &spent : NULL,
                       t.trials - t.before, &t.r->ledger);
  }
  tear_down(&t);
  if (s == TESS_OK)
    *out = t.r;
  else
    tess_result_free(t.r);
  return s;
}
