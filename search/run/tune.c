/* SPDX-License-Identifier: Apache-2.0
 * The tuning loop: a strategy proposes a batch, which is measured; each result
 * is stored and learned; strategy and cost model observe the batch.  At the
 * end the best candidates are timed again, interleaved (finals.c). */
#include "ir/query.h"
#include "search/run/loop.h"
#include "search/strategy/strategy.h"

#include <math.h>

/* Batches in a row without a proposal, and proposals in a row of measured
 * programs, that end a run. */
enum { MAX_EMPTY = 3, MAX_IDLE = 1024 };

/* ---- setting up --------------------------------------------------------- */

static tess_status open_strategy(tune *t) {
  const tess_tune_options *o = &t->set->o;
  if (o->custom_strategy) {
    t->strategy = *o->custom_strategy;
    return TESS_OK;
  }
  return strategy_open(&t->s, o->strategy, &t->strategy);
}

/* The result owns it. */
static tess_status open_model(tune *t) {
  const tess_tune_options *o = &t->set->o;
  tess_status s = TESS_OK;
  if (o->custom_cost_model) {
    t->model = *o->custom_cost_model;
    return TESS_OK;
  }
  if (o->model)
    t->r->model = model_hold(o->model);
  else
    s = model_new(t->c, o->cost_model, &t->r->model);
  return s == TESS_OK ? model_attach(t->r->model, &t->s, &t->model) : s;
}

/* Allocates the tables of a run; in the frame of the context's heap. */
static tess_status make_tables(void *ud) {
  tune *t = ud;
  mem_heap *h = &t->c->heap;
  uint32_t n = t->set->nsketch, batch = t->set->o.batch;
  t->r = mem_new(h, tess_result);
  *t->r = (tess_result){.c = t->c, .refs = 1};
  str_init(&t->r->funnel, h);
  str_init(&t->r->ledger, h);
  str_init(&t->r->classes, h);
  str_init(&t->r->note, h);
  str_init(&t->r->failure, h);
  t->r->program = program_hold(t->set->program);
  t->r->kernel_threads = t->set->o.kernel_threads;
  t->r->target = tess_target_hold(t->set->target);
  t->sketch = mem_resize(h, NULL, 0, n * sizeof *t->sketch);
  t->sketch_hash = mem_resize(h, NULL, 0, n * sizeof *t->sketch_hash);
  t->batch.out = mem_resize(h, NULL, 0, batch * sizeof *t->batch.out);
  t->batch.trial = mem_resize(h, NULL, 0, batch * sizeof *t->batch.trial);
  t->batch.equal = mem_resize(h, NULL, 0, batch * sizeof *t->batch.equal);
  t->batch.view = mem_resize(h, NULL, 0, batch * sizeof *t->batch.view);
  t->batch.predicted =
      mem_resize(h, NULL, 0, batch * sizeof *t->batch.predicted);
  return TESS_OK;
}

static tess_status tune_set_up(tune *t) {
  const tune_setup *set = t->set;
  for (int i = 0; i < TUNE_SEATS; i++)
    str_init(&t->best.finalist[i].code, &t->c->heap);
  tess_status s = mem_protect(&t->c->heap, make_tables, t);
  if (s == TESS_OK) s = setup_session(set, &t->s, t->sketch);
  for (uint32_t i = 0; s == TESS_OK && i < set->nsketch; i++)
    t->sketch_hash[i] = vm_trace_hash(t->sketch[i]);
  if (s == TESS_OK) s = open_model(t);
  t->s.model = &t->model;
  if (s == TESS_OK) s = open_strategy(t);
  return s == TESS_OK ? tune_open_database(t) : s;
}

/* A strategy or model of the host's is freed by tess_tune. */
static void tune_tear_down(tune *t) {
  mem_heap *h = &t->c->heap;
  uint32_t n = t->set->nsketch, batch = t->set->o.batch;
  const tess_tune_options *o = &t->set->o;
  if (!o->custom_strategy && t->strategy.free) t->strategy.free(t->strategy.ud);
  if (t->r && t->r->model) model_wait(t->r->model);
  for (int i = 0; i < TUNE_SEATS; i++) str_free(&t->best.finalist[i].code);
  for (int i = 0; i < TUNE_CLASSES; i++)
    tess_text_free(t->c, t->results.message[i]);
  tess_database_free(t->records.db);
  if (t->s.c) session_free(&t->s);
  if (t->sketch) mem_free(h, t->sketch, n * sizeof *t->sketch);
  if (t->sketch_hash) mem_free(h, t->sketch_hash, n * sizeof *t->sketch_hash);
  if (t->batch.out) mem_free(h, t->batch.out, batch * sizeof *t->batch.out);
  if (t->batch.trial)
    mem_free(h, t->batch.trial, batch * sizeof *t->batch.trial);
  if (t->batch.equal)
    mem_free(h, t->batch.equal, batch * sizeof *t->batch.equal);
  if (t->batch.view) mem_free(h, t->batch.view, batch * sizeof *t->batch.view);
  if (t->batch.predicted)
    mem_free(h, t->batch.predicted, batch * sizeof *t->batch.predicted);
  vec_free(h, &t->resume.trial);
  vec_free(h, &t->foreign.c);
  str_free(&t->line);
}

/* ---- a batch ------------------------------------------------------------ */

/* The deadline's alarm raises the same flag as tess_stop. */
void tune_check_stop(tune *t) {
  const tess_tune_options *o = &t->set->o;
  thread_alarm *alarm = t->set->deadline;
  if (alarm ? thread_alarm_rang(alarm)
            : o->deadline > 0 && clock_now() - t->time.started > o->deadline) {
    t->status.late = true;
    t->status.ended = TESS_TIMEOUT;
  } else if (thread_flag_is_raised(&t->c->stop)) {
    t->status.ended = TESS_CANCELLED;
  }
}

void tune_note_best(tune *t, double seconds) {
  if (t->best.seconds == 0 || seconds < t->best.seconds)
    t->best.seconds = seconds;
}

typedef struct say_work {
  tune *t;
  const search_outcome *o;
} say_work;

static tess_status keep_message(void *ud) {
  say_work *w = ud;
  w->t->results.message[w->o->status] = ctx_text_of(w->t->c, &w->o->message);
  return TESS_OK;
}

tess_status tune_count_result(tune *t, const search_outcome *o) {
  say_work w = {t, o};
  t->results.count[o->status]++;
  if (t->results.first_failure == TESS_OK) t->results.first_failure = o->status;
  if (t->results.message[o->status] || !o->message.n) return TESS_OK;
  return mem_protect(&t->c->heap, keep_message, &w);
}

static tess_status push_curve(void *ud) {
  tune *t = ud;
  vec_push(&t->c->heap, &t->r->curve,
           t->best.seconds > 0 ? t->best.seconds : INFINITY);
  t->budget.trials++;
  return TESS_OK;
}

tess_status tune_count_trial(tune *t) {
  return mem_protect(&t->c->heap, push_curve, t);
}

tess_status tune_learn_result(tune *t, uint32_t i, search_outcome *o) {
  search_trial *x = &t->batch.trial[i];
  bool ok = o->status == TESS_OK;
  trial_end(x, o->status, o->seconds, o->checked);
  x->message = str_get(&o->message);
  if (!ok) t->budget.failed++;
  tess_status s = tune_count_result(t, o);
  if (s == TESS_OK && !measure_is_machine_fault(o->status))
    s = session_learn(&t->s, x);
  x->message = NULL; /* the outcome's ends with the batch */
  if (s == TESS_OK && ok) {
    if (o->checked) tune_note_best(t, o->seconds);
    tune_enter_finals(t, t->s.history.n - 1, o);
  }
  return s == TESS_OK ? tune_count_trial(t) : s;
}

/* Handles the result of candidate i as soon as it is measured: stores it, so
 * that a killed process loses none, learns it, and reports the progress.
 * Called by the measurer in order; non-zero ends the batch. */
static int handle_result(void *ud, uint32_t i) {
  tune *t = ud;
  i += t->batch.first;
  search_outcome *o = &t->batch.out[i];
  double start = clock_now();
  tess_status stored = tune_store(t, i);
  t->time.ledger.database += clock_now() - start;
  if (stored != TESS_OK) {
    tune_abort(t, stored);
    t->status.ended = stored;
  }
  if (o->status != TESS_OK && t->set->o.on_error &&
      t->status.ended == TESS_OK) {
    t->status.ended = o->status;
    str_puts(&t->r->failure, str_or(&o->message, err_status_text(o->status)));
  }
  tess_status learned = tune_learn_result(t, i, o);
  if (learned != TESS_OK) {
    tune_abort(t, learned);
    t->status.ended = learned;
  }
  t->batch.handled = i + 1;
  return tune_report_trial(t, o);
}

/* Measures the batch from candidate `first` on; handle_result sees each
 * result. */
static tess_status measure_all(tune *t, uint32_t first, uint32_t n) {
  const search_measurer *m = &t->set->measurer;
  double start = clock_now(), stored = t->time.ledger.database;
  t->batch.handled = t->batch.first = first;
  if (m->on_compile) m->on_compile(m->ud, tune_report_compiling, t);
  tess_status s =
      m->measure(m->ud, &t->s, n - first, t->batch.trial + first,
                 t->best.seconds, t->batch.out + first, handle_result, t);
  if (m->on_compile) m->on_compile(m->ud, NULL, NULL);
  t->time.ledger.measure +=
      clock_now() - start - (t->time.ledger.database - stored);
  if (s != TESS_OK) tune_abort(t, s);
  return t->r->broke.code;
}

/* What others see of trials. */
static void show_trials(tune *t, uint32_t n, const search_trial *x) {
  for (uint32_t i = 0; i < n; i++) trial_to_public(&x[i], &t->batch.view[i]);
}

/* Strategy and cost model observe n trials, of which so many are measured, and
 * the others equal to such. */
static tess_status observe_trials(tune *t, uint32_t n, const search_trial *x,
                                  uint32_t measured) {
  tess_status s = TESS_OK;
  double start = clock_now();
  show_trials(t, n, x);
  if (t->strategy.observe)
    s = session_blame(
        &t->s, t->strategy.observe(t->strategy.ud, &t->s, n, t->batch.view),
        "the strategy's 'observe'");
  if (s == TESS_OK && t->model.update)
    s = session_blame(&t->s,
                      t->model.update(t->model.ud, &t->s, n, t->batch.view),
                      "the cost model's 'update'");
  t->time.ledger.model += clock_now() - start;
  const tess_tune_options *o = &t->set->o;
  if (s == TESS_OK && o->measured && measured)
    s = session_blame(
        &t->s, o->measured(o->measured_ud, &t->s, measured, t->batch.view),
        "the function 'measured'");
  return s;
}

/* Strategy and cost model observe the history from `at` on, in batches. */
static tess_status observe_history(tune *t, uint32_t at) {
  uint32_t end = t->s.history.n, batch = t->set->o.batch, n;
  tess_status s = TESS_OK;
  for (; s == TESS_OK && at < end; at += n) {
    n = end - at < batch ? end - at : batch;
    s = observe_trials(t, n, t->s.history.v + at, n);
  }
  return s;
}

/* What the model thinks of the batch before it is measured: for its quality,
 * whether the strategy asks it or not, and for the record.  It is asked about
 * stored batches, too, since it trains when it is asked. */
static void predict_batch(tune *t, uint32_t n) {
  bool knows = false;
  tess_model *m = t->r->model;
  show_trials(t, n, t->batch.trial);
  if (m && m->nmember)
    if (model_predict(m, &t->s, n, t->batch.view, t->batch.predicted, NULL,
                      &knows))
      knows = false;
  for (uint32_t i = 0; i < n && !knows; i++) t->batch.predicted[i] = NAN;
}

static tess_status measure_batch(tune *t, uint32_t n) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < n; i++) {
    outcome_init(&t->batch.out[i], &t->c->heap);
    t->batch.out[i].program_hash = t->batch.trial[i].program;
  }
  if (n) predict_batch(t, n);
  tess_status s = tune_recall(t, n, &known);
  t->batch.handled = known;
  if (s == TESS_OK && known < n) s = measure_all(t, known, n);
  t->batch.round++;
  uint32_t learned = t->batch.handled;
  if (s == TESS_OK) s = tune_learn_equal(t, &learned);
  if (s == TESS_OK)
    s = observe_trials(t, learned, t->batch.trial, t->batch.handled);
  if (s == TESS_OK) s = tune_store_quality(t);
  if (s == TESS_OK && known < n) s = tune_store_run(t, "");
  for (uint32_t i = 0; i < n; i++) outcome_free(&t->batch.out[i]);
  return s;
}

/* The batch is dropped: the strategy learns what is stored, and proposes
 * anew. */
static tess_status go_on_anew(tune *t) {
  uint32_t at = t->s.history.n;
  tess_status s = tune_give_up_stored(t);
  return s == TESS_OK ? observe_history(t, at) : s;
}

/* One batch.  *more: the search may go on. */
static tess_status run_batch(tune *t, bool *more) {
  const tess_tune_options *o = &t->set->o;
  *more = false;
  tune_check_stop(t);
  if (t->budget.trials >= t->budget.limit || t->status.ended != TESS_OK)
    return TESS_OK;
  uint32_t n = t->budget.limit - t->budget.trials, got = 0;
  uint32_t wasted = t->budget.wasted;
  if (n > o->batch) n = o->batch;
  double start = clock_now(), waited = t->s.waited;
  session_forget(&t->s, 0);
  tess_status s = tune_propose(t, n, &got);
  if (s != TESS_OK) return s;
  waited = t->s.waited - waited;
  t->time.ledger.process += waited;
  t->time.ledger.propose += clock_now() - start - waited;
  tune_check_stop(t);
  if (t->status.ended != TESS_OK) return TESS_OK;
  bool some = got || t->batch.nequal;
  bool cost = some || t->budget.wasted > wasted;
  t->budget.empty = cost ? 0 : t->budget.empty + 1;
  t->budget.idle = got ? 0 : t->budget.idle + t->batch.nequal;
  t->r->exhausted = t->budget.empty == MAX_EMPTY || t->budget.idle >= MAX_IDLE;
  *more = !t->r->exhausted;
  if (some && tune_recalls(t) && !tune_matches_stored(t, got))
    return go_on_anew(t);
  return some ? measure_batch(t, got) : TESS_OK;
}

/* The draft as a batch, where nothing is known of it. */
static tess_status run_draft(tune *t, bool *more) {
  uint32_t got = 0;
  *more = false;
  tune_check_stop(t);
  if (t->status.ended != TESS_OK) return TESS_OK;
  session_forget(&t->s, 0);
  tess_status s = tune_propose_draft(t, &got);
  t->budget.limit += got;
  return s == TESS_OK && (got || t->batch.nequal) ? measure_batch(t, got) : s;
}

/* ---- the run ------------------------------------------------------------ */

/* The pool's ledger accumulates over runs; what a step adds is this run's. */
static measure_ledger pool_so_far(const tune *t) {
  const measure_ledger none = {0};
  return t->set->ledger ? *t->set->ledger : none;
}

static void add_spent(tune *t, const measure_ledger *start) {
  measure_ledger now = pool_so_far(t);
  t->time.pool.build_wall += now.build_wall - start->build_wall;
  t->time.pool.run_wall += now.run_wall - start->run_wall;
}

/* At once: other tasks may go on and have errors of their own. */
static void keep_search_error(tune *t) {
  if (t->r && t->status.search != TESS_OK && t->status.search != TESS_CANCELLED)
    tune_abort(t, t->status.search);
}

tess_status tune_begin(tune *t, const tune_setup *setup) {
  *t = (tune){.set = setup,
              .c = setup->c,
              .flops = ir_flops(&setup->program->p),
              .budget.limit = setup->o.trials,
              .time.started = clock_now(),
              .time.ledger.sketches = setup->sketch_seconds,
              .status.ended = setup->cancelled ? TESS_CANCELLED : TESS_OK};
  str_init(&t->line, &t->c->heap);
  tess_status s = tune_set_up(t);
  if (s == TESS_OK) s = tune_draft(t);
  if (s == TESS_OK) t->status.search = observe_history(t, 0);
  keep_search_error(t);
  t->time.ledger.active = clock_now() - t->time.started;
  return s;
}

/* A part of the search, and what it spent. */
static bool take_step(tune *t, tess_status (*step)(tune *t, bool *more)) {
  bool more = false;
  double start = clock_now();
  measure_ledger before = pool_so_far(t);
  if (t->status.search == TESS_OK) t->status.search = step(t, &more);
  keep_search_error(t);
  add_spent(t, &before);
  t->time.ledger.active += clock_now() - start;
  return more && t->status.search == TESS_OK && t->status.ended == TESS_OK;
}

bool tune_advance(tune *t) { return take_step(t, run_batch); }

void tune_add_draft(tune *t) {
  bool had_batch = t->budget.trials > t->budget.before;
  if (!had_batch && t->s.history.n) take_step(t, run_draft);
}

/* The deadline ends the search only: the finals still run, until tess_stop. */
void tune_end_search(tune *t) {
  if (t->status.search == TESS_CANCELLED) {
    t->status.ended = TESS_CANCELLED;
    t->status.search = TESS_OK;
  }
  if (t->set->deadline) thread_alarm_put_off(t->set->deadline);
  tune_check_stop(t);
  if (t->status.late) thread_flag_clear(&t->c->stop);
}

/* A run that was ended early goes on where it is when it is asked for again;
 * what has come to its end is history. */
static tess_status store_end(tune *t) {
  bool whole = t->status.ended == TESS_OK && t->r->broke.code == TESS_OK;
  tess_status s =
      tune_store_run(t, whole ? tess_status_name(t->r->info.status) : "");
  if (s != TESS_OK && t->r->broke.code == TESS_OK) {
    tune_abort(t, s);
    t->r->info.status = s;
  }
  return TESS_OK;
}

/* A failure after the first valid result ends the run with that result. */
tess_status tune_conclude(tune *t) {
  uint32_t best;
  double start = clock_now();
  measure_ledger before = pool_so_far(t);
  if (t->status.search != TESS_OK) tune_abort(t, t->status.search);
  const err_state *broke = &t->r->broke;
  bool alone = !t->set->shares;
  if (alone && broke->code != TESS_OK && !session_best(&t->s, 1, &best))
    return ctx_fail(t->c, broke->code, "%s", broke->message);
  if (t->r->model) model_wait(t->r->model);
  tess_status s = tune_fill_result(t);
  t->time.ledger.active += clock_now() - start;
  t->time.ledger.total = t->time.ledger.active + t->time.ledger.sketches;
  add_spent(t, &before);
  tune_report_ledger(&t->time.ledger, t->set->ledger ? &t->time.pool : NULL,
                     t->budget.trials - t->budget.before, &t->r->ledger);
  return s == TESS_OK ? store_end(t) : s;
}

/* What the model says of itself in this run. */
static void take_quality(tess_result *r) {
  tess_model *m = r->model;
  if (!m) return;
  r->quality.v = m->quality.v;
  r->quality.n = m->quality.n;
  r->quality.cap = m->quality.cap;
  m->quality.v = NULL;
  m->quality.n = m->quality.cap = 0;
}

void tune_end(tune *t, tess_status s, tess_result **out) {
  *out = NULL;
  if (s == TESS_OK) take_quality(t->r);
  tune_tear_down(t);
  if (s == TESS_OK)
    *out = t->r;
  else
    tess_result_free(t->r);
}

tess_status tune_run(const tune_setup *setup, tess_result **out) {
  tune t;
  tess_status s = tune_begin(&t, setup);
  if (s == TESS_OK) {
    while (tune_advance(&t)) continue;
    tune_end_search(&t);
    s = tune_conclude(&t);
  }
  tune_end(&t, s, out);
  return s;
}
