/* SPDX-License-Identifier: Apache-2.0
 * The finals of a run: the fastest candidates are checked and timed again,
 * interleaved, to choose the winner; then the result is filled. */
#include "ir/query.h"
#include "search/run/loop.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double tune_gflops(const tune *t, double seconds) {
  return seconds > 0 && isfinite(seconds) && t->flops > 0
             ? (double)t->flops / seconds * 1e-9
             : 0;
}

void tune_abort(tune *t, tess_status s) {
  err_state *broke = &t->r->broke;
  if (broke->code != TESS_OK) return;
  if (t->c->err.code == s)
    *broke = t->c->err;
  else
    err_ran_out(broke, &t->c->heap, s, "tuning");
}

void tune_enter_finals(tune *t, uint32_t trial, search_outcome *o) {
  uint32_t at = t->best.n;
  while (at > 0 && t->best.finalist[at - 1].seconds > o->seconds) at--;
  if (at == TUNE_FINALISTS) return;
  if (t->best.n < TUNE_FINALISTS) t->best.n++;
  finalist last = t->best.finalist[t->best.n - 1];
  for (uint32_t k = t->best.n - 1; k > at; k--)
    t->best.finalist[k] = t->best.finalist[k - 1];
  str_free(&last.code);
  t->best.finalist[at] =
      (finalist){trial, o->seconds, o->code, t->resume.recalling};
  str_init(&o->code, t->best.finalist[at].code.heap);
}

static int ignore_result(void *ud, uint32_t i) {
  (void)ud, (void)i;
  return 0;
}

/* The winner where no finals take place: the fastest checked candidate of the
 * history. */
static bool best_checked(const tune *t, uint32_t *winner, double *seconds) {
  *seconds = INFINITY;
  for (uint32_t i = 0; i < t->s.history.n; i++) {
    const search_trial *h = &t->s.history.v[i];
    if (h->status != TESS_OK || !h->checked || h->seconds >= *seconds) continue;
    *seconds = h->seconds;
    *winner = i;
  }
  return isfinite(*seconds);
}

/* A candidate that turned out to be wrong becomes a failure in the history,
 * with those that learnt from it, and in the counts.  One of an earlier run was
 * never counted in this one. */
static tess_status fail_trial(tune *t, uint32_t trial,
                              const search_outcome *o) {
  uint64_t program = t->s.history.v[trial].program;
  for (uint32_t i = 0; i < t->s.history.n; i++) {
    search_trial *h = &t->s.history.v[i];
    if (i != trial && !(h->equal && h->program == program)) continue;
    h->status = o->status;
    h->seconds = INFINITY;
  }
  t->budget.failed++;
  if (trial >= t->budget.before) t->results.count[TESS_OK]--;
  uint32_t best;
  if (!best_checked(t, &best, &t->best.seconds)) t->best.seconds = 0;
  return tune_count_result(t, o);
}

/* Applies the outcome of a late comparison to history and record.  Only OK and
 * WRONG_RESULT concern the candidate; any other status may be the machine's
 * fault.  The finals continue if the database cannot be written. */
static tess_status apply_comparison(tune *t, uint32_t trial,
                                    const search_outcome *o) {
  search_trial *h = &t->s.history.v[trial];
  bool news = o->checked ? !h->checked : o->status == TESS_WRONG_RESULT;
  if (!news) return TESS_OK;
  h->checked = o->checked;
  tess_status s = tune_store_compared(t, trial, o);
  if (s != TESS_OK) tune_abort(t, s);
  if (!o->checked) return fail_trial(t, trial, o);
  tune_note_best(t, h->seconds);
  return TESS_OK;
}

static tess_status compare_finalist(tune *t, const finalist *f) {
  const search_measurer *m = &t->set->measurer;
  search_outcome o;
  outcome_init(&o, &t->c->heap);
  tess_status s = m->compare(m->ud, &f->code, &o);
  if (s == TESS_OK) s = apply_comparison(t, f->trial, &o);
  outcome_free(&o);
  return s;
}

/* Compares the finalists that were not checked when they were measured, being
 * slower than the best at that time, and drops those that are not correct. */
static tess_status compare_finalists(tune *t) {
  tess_status s = TESS_OK;
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->best.n; k++) {
    const bool *checked = &t->s.history.v[t->best.finalist[k].trial].checked;
    if (s == TESS_OK && !*checked)
      s = compare_finalist(t, &t->best.finalist[k]);
    finalist f = t->best.finalist[k];
    str_init(&t->best.finalist[k].code, f.code.heap);
    if (*checked)
      t->best.finalist[n++] = f;
    else
      str_free(&f.code);
  }
  t->best.n = n;
  return s;
}

/* Builds and measures a trial of the history anew, which also checks it. */
static tess_status measure_anew(tune *t, uint32_t trial, search_outcome *o) {
  const search_measurer *m = &t->set->measurer;
  search_trial x = t->s.history.v[trial];
  tess_status s = session_finish_trial(&t->s, &x);
  if (s == TESS_OK)
    s = m->measure(m->ud, &t->s, 1, &x, 0, o, ignore_result, NULL);
  return s == TESS_OK ? apply_comparison(t, trial, o) : s;
}

static tess_status rebuild_trial(tune *t, uint32_t trial) {
  search_outcome o;
  outcome_init(&o, &t->c->heap);
  tess_status s = measure_anew(t, trial, &o);
  if (s == TESS_OK && o.checked) tune_enter_finals(t, trial, &o);
  outcome_free(&o);
  return s;
}

/* Finalists from before a run was broken off have no code in this process: they
 * are built again; their times stay those that were stored. */
static tess_status rebuild_finalist(tune *t, finalist *f) {
  search_outcome o;
  outcome_init(&o, &t->c->heap);
  tess_status s = measure_anew(t, f->trial, &o);
  if (s == TESS_OK && o.status == TESS_OK) {
    str_free(&f->code);
    f->code = o.code;
    str_init(&o.code, f->code.heap);
    f->recalled = false;
  }
  outcome_free(&o);
  return s;
}

/* Those that cannot be built any more are out. */
static tess_status rebuild_finalists(tune *t) {
  tess_status s = TESS_OK;
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->best.n; k++) {
    if (s == TESS_OK && t->best.finalist[k].recalled)
      s = rebuild_finalist(t, &t->best.finalist[k]);
    finalist f = t->best.finalist[k];
    str_init(&t->best.finalist[k].code, f.code.heap);
    if (f.recalled)
      str_free(&f.code);
    else
      t->best.finalist[n++] = f;
  }
  t->best.n = n;
  return s;
}

static bool is_finalist(const tune *t, uint32_t trial) {
  for (uint32_t k = 0; k < t->best.n; k++)
    if (t->best.finalist[k].trial == trial) return true;
  return false;
}

/* The best of earlier runs has no code in this process: it is built and
 * measured again, which also checks it.  If it is wrong the next one follows,
 * up to TUNE_FINALISTS of them. */
static tess_status rebuild_best(tune *t) {
  uint32_t i;
  for (uint32_t k = 0; k < TUNE_FINALISTS; k++) {
    if (!session_best(&t->s, 1, &i) || is_finalist(t, i)) return TESS_OK;
    tess_status s = rebuild_trial(t, i);
    bool is_wrong = t->s.history.v[i].status != TESS_OK;
    if (s != TESS_OK || !is_wrong) return s;
  }
  return TESS_OK;
}

/* The ratio of two times of one kernel that an idle machine stays below. */
static const double time_spread = 1.5;

/* The trial of the draft, if its program has no seat and it may be the best. */
static bool find_draft(const tune *t, uint32_t *trial) {
  const search_trial *h = t->s.history.v;
  uint32_t i = 0;
  while (i < t->s.history.n && h[i].c.hash != t->best.draft) i++;
  if (!t->best.draft || i == t->s.history.n || h[i].status != TESS_OK)
    return false;
  for (uint32_t k = 0; k < t->best.n; k++) {
    uint32_t seated = t->best.finalist[k].trial;
    if (seated == i || (h[i].program && h[seated].program == h[i].program))
      return false;
  }
  *trial = i;
  return h[i].seconds <= time_spread * t->best.seconds;
}

/* What is taken without measuring is timed beside the best, whose readings may
 * be the luckiest of many: so tuning does not end with a slower kernel. */
static tess_status seat_draft(tune *t) {
  uint32_t i;
  if (t->best.n == 0 || !find_draft(t, &i)) return TESS_OK;
  search_outcome o;
  outcome_init(&o, &t->c->heap);
  tess_status s = measure_anew(t, i, &o);
  if (s == TESS_OK && o.checked) {
    finalist *f = &t->best.finalist[t->best.n++];
    *f = (finalist){.trial = i, .seconds = o.seconds, .code = o.code};
    str_init(&o.code, f->code.heap);
  }
  outcome_free(&o);
  return s;
}

static uint32_t least_of(uint32_t n, const double *time) {
  uint32_t best = 0;
  for (uint32_t k = 1; k < n; k++)
    if (time[k] < time[best]) best = k;
  return best;
}

static tess_status time_finalists(tune *t, double *time) {
  const search_measurer *m = &t->set->measurer;
  const strbuf *code[TUNE_SEATS];
  for (uint32_t k = 0; k < t->best.n; k++) {
    code[k] = &t->best.finalist[k].code;
    time[k] = t->best.finalist[k].seconds;
  }
  return t->best.n > 1 ? m->rematch(m->ud, t->best.n, code, time) : TESS_OK;
}

/* If all finalists are far slower than in the search the machine may be busy:
 * they are timed again, and the least time of each counts.  A finalist that
 * fails once is out. */
static tess_status time_until_stable(tune *t, double *time) {
  enum { MORE = 3 };
  double now[TUNE_SEATS];
  tess_status s = time_finalists(t, time);
  for (int i = 0; i < MORE && s == TESS_OK; i++) {
    double least = time[least_of(t->best.n, time)];
    if (!isfinite(least) || least <= time_spread * t->best.seconds) break;
    s = time_finalists(t, now);
    for (uint32_t k = 0; k < t->best.n && s == TESS_OK; k++)
      if (!isfinite(now[k]) || now[k] < time[k])
        time[k] = isfinite(time[k]) ? now[k] : INFINITY;
  }
  return s;
}

void tune_note(tune *t, const char *text) {
  if (*text) str_printf(&t->r->note, "%s%s", t->r->note.n ? "; " : "", text);
}

/* Times the winner and the unscheduled program interleaved, so that both see
 * the same load, and adds a note if the winner is clearly slower. */
static void time_unscheduled(tune *t, const finalist *best,
                             const strbuf *code) {
  static const double far = 1.1;
  const strbuf *both[] = {&best->code, code};
  double time[2] = {INFINITY, INFINITY};
  char text[160];
  const search_measurer *m = &t->set->measurer;
  if (m->rematch(m->ud, 2, both, time) != TESS_OK) return;
  if (isfinite(time[1])) t->best.unscheduled = time[1];
  if (isinf(time[0]) || time[0] <= far * time[1]) return;
  snprintf(text, sizeof text,
           "the best is slower than the unscheduled program: timed "
           "interleaved, they took %.4g ms and %.4g ms",
           time[0] * 1e3, time[1] * 1e3);
  tune_note(t, text);
}

/* Only tells: failures of it are ignored. */
static void compare_with_unscheduled(tune *t, uint32_t best, double seconds) {
  const search_measurer *m = &t->set->measurer;
  strbuf code;
  if (!m->unscheduled) return;
  str_init(&code, &t->c->heap);
  tess_status s = m->unscheduled(m->ud, seconds, &code);
  if (s == TESS_OK && code.n)
    time_unscheduled(t, &t->best.finalist[best], &code);
  str_free(&code);
}

/* Of many tasks past their deadline none is timed again: together they would
 * take a multiple of what one does. */
static tess_status take_fastest(const tune *t, uint32_t *winner,
                                double *seconds) {
  *winner = t->best.finalist[0].trial;
  *seconds = t->best.finalist[0].seconds;
  return TESS_OK;
}

static tess_status name_winner(tune *t, uint32_t *winner, double *seconds) {
  double time[TUNE_SEATS];
  if (t->set->shares && t->status.late) return take_fastest(t, winner, seconds);
  tess_status s = seat_draft(t);
  if (s == TESS_OK) s = time_until_stable(t, time);
  if (s != TESS_OK) return s;
  uint32_t best = least_of(t->best.n, time);
  *winner = t->best.finalist[best].trial;
  *seconds = isfinite(time[best]) ? time[best] : t->best.finalist[best].seconds;
  compare_with_unscheduled(t, best, *seconds);
  return TESS_OK;
}

/* Adds the classes of measured results to the funnel and prints it. */
static tess_status fill_funnel(void *ud) {
  tune *t = ud;
  for (int i = 0; i < TUNE_CLASSES; i++)
    if (t->results.count[i])
      funnel_measured(&t->s.total, &t->c->heap, err_status_text((tess_status)i),
                      t->results.message[i] ? t->results.message[i] : "",
                      t->results.count[i]);
  funnel_print(&t->s.total, &t->r->funnel);
  return TESS_OK;
}

static void fill_classes(tune *t) {
  strbuf *b = &t->r->classes;
  bool first = true;
  str_putc(b, '{');
  for (int i = 0; i < TUNE_CLASSES; i++) {
    if (!t->results.count[i]) continue;
    str_printf(b, "%s\"%s\": %u", first ? "" : ", ",
               err_status_name((tess_status)i), t->results.count[i]);
    first = false;
  }
  str_putc(b, '}');
}

/* Chooses the winner by timing the checked finalists again; after tess_stop or
 * a failure, by the times that were measured in the search. */
static bool find_winner(tune *t, uint32_t *winner, double *seconds) {
  if (t->status.ended == TESS_CANCELLED || (t->status.late && t->best.n == 0))
    return best_checked(t, winner, seconds);
  tess_status s = rebuild_finalists(t);
  if (s == TESS_OK) s = compare_finalists(t);
  if (s == TESS_OK) s = rebuild_best(t);
  if (s == TESS_OK && t->best.n > 0) s = name_winner(t, winner, seconds);
  if (s == TESS_OK && t->best.n > 0) return true;
  if (s != TESS_OK) tune_abort(t, s);
  return best_checked(t, winner, seconds);
}

static void compare_with_trials(tune *t, double seconds) {
  char text[256];
  double then = t->best.seconds;
  if (seconds <= time_spread * then && then <= time_spread * seconds) return;
  snprintf(text, sizeof text,
           "the best trial took %.4g ms; when the best few were timed again "
           "at the end, the best of them took %.4g ms: was the machine busy?",
           then * 1e3, seconds * 1e3);
  tune_note(t, text);
}

/* Where the winner leaves to the host what modules are for: why. */
static void note_host(tune *t) {
  const vm_trace *best = &t->r->best->t;
  char text[400];
  for (uint32_t i = 0; i < best->inst.n; i++) {
    const vm_inst *in = &best->inst.v[i];
    const vm_value *v = &best->val.v[in->operand];
    if (strcmp(in->prim->name, "annotate") || v[1].tag != VM_STR ||
        v[2].tag != VM_STR || strcmp(best->text.v + v[1].str, IR_ON_HOST))
      continue;
    snprintf(text, sizeof text, "on the host: %s", best->text.v + v[2].str);
    tune_note(t, text);
  }
}

static void note_deadline(tune *t) {
  char text[128];
  snprintf(text, sizeof text,
           "the deadline of %g s ended the search after %u of %u trials",
           t->set->o.deadline, t->budget.trials, t->budget.limit);
  tune_note(t, text);
}

/* Where nothing valid was found: how the first candidate failed. */
static void note_first_failure(tune *t) {
  tess_status class = t->results.first_failure;
  char text[600], why[400] = "";
  if (class == TESS_OK) return;
  if (t->results.message[class])
    err_one_line(t->results.message[class], why, sizeof why);
  snprintf(text, sizeof text, "the first that failed: %s%s%s",
           err_status_name(class), *why ? ": " : "", why);
  tune_note(t, text);
}

/* Where no candidate was one: what was wrong with the first proposal. */
static void note_wasted(tune *t) {
  char text[600];
  if (!t->s.wasted.why.n || t->s.history.n) return;
  snprintf(text, sizeof text, "the first that was no candidate: %s",
           t->s.wasted.why.v[0]);
  tune_note(t, text);
}

/* Where a strategy named nothing that could be measured. */
static void tell_no_proposals(tune *t) {
  const char *name = t->strategy.name ? t->strategy.name : "custom";
  if (!t->r->exhausted || t->s.history.n || t->r->failure.n || t->s.wasted.n)
    return;
  str_printf(&t->r->failure,
             "the strategy '%s' proposed no candidate, or none that is valid, "
             "when it was asked %u times",
             name, t->budget.empty);
}

static tess_status status_of(const tune *t, bool found) {
  if (t->r->broke.code != TESS_OK) return t->r->broke.code;
  if (t->status.ended == TESS_CANCELLED || thread_flag_is_raised(&t->c->stop))
    return TESS_CANCELLED;
  return found ? TESS_OK : TESS_NOT_FOUND;
}

tess_status tune_fill_result(tune *t) {
  uint32_t winner = 0;
  double seconds = INFINITY;
  tess_status s = TESS_OK;
  bool found = find_winner(t, &winner, &seconds);
  if (found) {
    const search_measurer *m = &t->set->measurer;
    if (t->best.unscheduled <= 0 && m->reference)
      t->best.unscheduled = m->reference(m->ud, seconds);
    compare_with_trials(t, seconds);
    s = tune_decided(t, t->s.history.v[winner], &t->r->best);
    if (s == TESS_OK) note_host(t);
  }
  const search_measurer *m = &t->set->measurer;
  if (m->note) tune_note(t, m->note(m->ud));
  if (t->status.late && !t->set->shares) note_deadline(t);
  tune_note_space(t);
  if (!found) note_first_failure(t);
  if (!found) note_wasted(t);
  if (!found) tell_no_proposals(t);
  if (s == TESS_OK) s = mem_protect(&t->c->heap, fill_funnel, t);
  fill_classes(t);
  t->r->info = (tess_result_info){.status = status_of(t, found),
                                  .latency = seconds,
                                  .gflops = tune_gflops(t, seconds),
                                  .trials = t->budget.trials,
                                  .failed = t->budget.failed,
                                  .unscheduled = t->best.unscheduled,
                                  .exhausted = t->r->exhausted};
  return s;
}
