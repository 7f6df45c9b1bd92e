/* SPDX-License-Identifier: Apache-2.0
 * The public functions of tuning: tess_tune and tess_result_*. */
#include "search/run/tune.h"

/* ---- tune --------------------------------------------------------------- */

static tess_status run_tune(tune_setup *set, tess_result **out) {
  thread_alarm deadline = {0};
  double seconds = set->o.deadline;
  if (seconds > 0 && thread_alarm_set(&deadline, seconds, &set->c->stop))
    set->deadline = &deadline;
  tess_status s = setup_prepare(set);
  if (s == TESS_OK) s = tune_run(set, out);
  thread_alarm_put_off(&deadline);
  set->deadline = NULL;
  return s;
}

/* Calls `free` of the host's strategy and model, however the run ended. */
static void free_plugged_in(const tess_tune_options *o) {
  const tess_strategy *strategy = o->custom_strategy;
  const tess_cost_model *model = o->custom_cost_model;
  if (strategy && strategy->free) strategy->free(strategy->ud);
  if (model && model->free) model->free(model->ud);
}

tess_status tess_tune(tess_program *p, tess_target *target, tess_space *space,
                      const tess_tune_options *o, tess_result **out) {
  tune_setup set = {.program = p, .target = target, .space = space};
  *out = NULL;
  ctx_clear(p->c);
  ctx_begin_work(p->c);
  tess_status s = setup_begin(&set, o);
  if (s == TESS_OK)
    s = set.o.frozen ? tune_frozen(&set, out) : run_tune(&set, out);
  ctx_end_work(set.c);
  setup_end(&set);
  if (s != TESS_OK && set.c->err.code != s) ctx_ran_out(set.c, s, "tuning");
  free_plugged_in(&set.o);
  return s;
}

/* ---- results ------------------------------------------------------------ */

static const char *strbuf_text(const strbuf *b) {
  const char *s = str_get(b);
  return s ? s : "";
}

tess_status tess_result_get(tess_result *r, tess_result_info *out) {
  tess_result_info i = r->info;
  i.ncurve = r->curve.n;
  i.curve = r->curve.v;
  i.funnel = strbuf_text(&r->funnel);
  i.ledger = strbuf_text(&r->ledger);
  i.classes = strbuf_text(&r->classes);
  i.message = r->broke.code ? r->broke.message : strbuf_text(&r->failure);
  i.note = strbuf_text(&r->note);
  i.nquality = r->quality.n;
  i.quality = r->quality.v;
  return ctx_give(r->c, tess_result_info, &i, out);
}

static tess_status no_winner(tess_result *r) {
  if (!r->broke.code && r->failure.n)
    return ctx_fail(r->c, TESS_NOT_FOUND, "nothing valid was found: %s",
                    strbuf_text(&r->failure));
  return ctx_fail(r->c, TESS_NOT_FOUND,
                  "nothing valid was found: every candidate was rejected or "
                  "failed; the result's funnel has the reasons%s%s",
                  r->note.n ? "; " : "",
                  r->note.n ? strbuf_text(&r->note) : "");
}

tess_status tess_result_trace(tess_result *r, tess_trace **out) {
  *out = NULL;
  if (!r->best) return no_winner(r);
  *out = trace_hold(r->best);
  return TESS_OK;
}

tess_status tess_result_schedule(tess_result *r, tess_schedule **out) {
  *out = NULL;
  if (!r->best) return no_winner(r);
  return tess_trace_replay(r->best, r->program, NULL, out);
}

tess_status tess_result_kernel(tess_result *r, tess_kernel **out) {
  tess_schedule *sch;
  tess_program *p = NULL;
  *out = NULL;
  tess_status s = tess_result_schedule(r, &sch);
  if (s != TESS_OK) return s;
  s = tess_schedule_program(sch, &p);
  if (s == TESS_OK) s = tess_build(p, r->target, out);
  if (s == TESS_OK) tess_kernel_set_threads(*out, r->kernel_threads);
  tess_schedule_free(sch);
  tess_program_free(p);
  return s;
}

tess_status tess_result_model(tess_result *r, tess_model **out) {
  *out = NULL;
  if (!r->model)
    return ctx_fail(r->c, TESS_NOT_FOUND,
                    "the run's cost model was a custom one");
  *out = model_hold(r->model);
  return TESS_OK;
}

tess_result *result_hold(tess_result *r) {
  r->refs++;
  return r;
}

void tess_result_free(tess_result *r) {
  if (!r || --r->refs) return;
  tess_context *c = r->c;
  tess_model_free(r->model);
  vec_free(&c->heap, &r->quality);
  tess_trace_free(r->best);
  tess_program_free(r->program);
  tess_target_free(r->target);
  vec_free(&c->heap, &r->curve);
  str_free(&r->funnel);
  str_free(&r->ledger);
  str_free(&r->classes);
  str_free(&r->note);
  str_free(&r->failure);
  mem_free(&c->heap, r, sizeof *r);
}
