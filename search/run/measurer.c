/* SPDX-License-Identifier: Apache-2.0
 * Measures a batch of candidates with worker processes: part by part, each is
 * built in parallel, then run one candidate at a time.  While something is
 * timed the next parts are built on the cores that it leaves alone; where it
 * leaves none building and timing take turns. */
#include "search/run/tune.h"

#include <math.h>

typedef struct measurer {
  tess_context *c;
  measure_pool *pool;
  measure_task *task;
  measure_check check;
  int (*compiling)(void *ud, uint32_t built, uint32_t n);
  void *compiling_ud;
} measurer;

void outcome_init(search_outcome *o, mem_heap *heap) {
  *o = (search_outcome){.status = TESS_CANCELLED};
  str_init(&o->message, heap);
  str_init(&o->code, heap);
}

void outcome_free(search_outcome *o) {
  if (o->sample)
    mem_free(o->message.heap, o->sample, o->nsample * sizeof *o->sample);
  str_free(&o->message);
  str_free(&o->code);
  o->sample = NULL;
  o->nsample = 0;
}

static void take_samples(search_outcome *o, const measure_result *r) {
  size_t bytes = r->sample.n * sizeof *r->sample.v;
  o->sample = bytes ? mem_try_resize(o->message.heap, NULL, 0, bytes) : NULL;
  if (!o->sample) return;
  memcpy(o->sample, r->sample.v, bytes);
  o->nsample = r->sample.n;
}

/* Copies a build's status to the outcome, which takes over the code. */
static void take_build(search_outcome *o, measure_build *b) {
  o->status = b->status;
  if (b->program_hash) o->program_hash = b->program_hash;
  o->replay = b->replay;
  o->lower = b->lower;
  o->compile = b->compile;
  if (b->status != TESS_OK) {
    str_puts(&o->message, str_or(&b->message, ""));
    return;
  }
  str_free(&o->code);
  o->code = b->code;
  str_init(&b->code, o->code.heap);
}

static void measure_one(measurer *m, search_outcome *o, double best) {
  measure_result r;
  measure_request q = {.code = &o->code, .check = m->check, .best = best};
  o->status = measure_run(m->pool, m->task, &q, &r);
  o->seconds = r.median;
  o->checked = o->status == TESS_OK && r.checked;
  if (o->status == TESS_OK)
    take_samples(o, &r);
  else
    str_puts(&o->message, str_or(&r.message, ""));
  measure_result_free(&r);
}

/* A batch on its way. */
typedef struct batch {
  measurer *m;
  uint32_t n;
  double best;
  const measure_candidate *candidate;
  measure_build *build;
  measure_building *building;
  search_outcome *out;
  int (*done)(void *ud, uint32_t i);
  void *done_ud;
  bool ended;
} batch;

/* Runs candidates at .. end-1. */
static void run_part(batch *b, uint32_t at, uint32_t end) {
  for (uint32_t i = at; i < end && !b->ended; i++) {
    search_outcome *o = &b->out[i];
    take_build(o, &b->build[i]);
    if (o->status == TESS_OK) measure_one(b->m, o, b->best);
    if (o->checked && (b->best == 0 || o->seconds < b->best))
      b->best = o->seconds;
    b->ended = o->status == TESS_CANCELLED || b->done(b->done_ud, i);
  }
}

static tess_status build_part(batch *b, uint32_t at, uint32_t end) {
  measurer *m = b->m;
  err_state e;
  b->ended = m->compiling && m->compiling(m->compiling_ud, at, b->n);
  if (b->ended) return TESS_OK;
  tess_status s = measure_build_until(b->building, end);
  if (s != TESS_OK) return s;
  s = measure_report_unresponsive(m->pool, &e);
  return s ? ctx_fail(m->c, s, "%s", e.message) : TESS_OK;
}

static tess_status run_parts(batch *b) {
  measurer *m = b->m;
  tess_status s = measure_build_begin(m->pool, m->task, b->n, b->candidate,
                                      b->build, &b->building);
  for (uint32_t at = 0; s == TESS_OK && at < b->n && !b->ended;) {
    uint32_t end = measure_build_part(b->building, at);
    s = build_part(b, at, end);
    if (s == TESS_OK) run_part(b, at, end);
    at = end;
  }
  measure_build_end(b->building);
  return s;
}

static void list_candidates(uint32_t n, const search_trial *trial,
                            measure_candidate *out) {
  for (uint32_t i = 0; i < n; i++)
    out[i] = (measure_candidate){.decisions = trial[i].c.d,
                                 .ndecisions = trial[i].c.n,
                                 .trace = trial[i].trace};
}

static tess_status measurer_measure(void *ud, tess_session *s, uint32_t n,
                                    const search_trial *trial, double best,
                                    search_outcome *out,
                                    int (*done)(void *, uint32_t),
                                    void *done_ud) {
  measurer *m = ud;
  mem_heap *h = &m->c->heap;
  size_t csize = n * sizeof(measure_candidate);
  size_t bsize = n * sizeof(measure_build);
  measure_candidate *list = mem_try_resize(h, NULL, 0, csize);
  measure_build *b = mem_try_resize(h, NULL, 0, bsize);
  tess_status st = list && b ? TESS_OK : mem_refusal(h);
  (void)s;
  if (st == TESS_OK) {
    list_candidates(n, trial, list);
    memset(b, 0, bsize);
    batch all = {.m = m,
                 .n = n,
                 .best = best,
                 .candidate = list,
                 .build = b,
                 .out = out,
                 .done = done,
                 .done_ud = done_ud};
    st = run_parts(&all);
    tess_status as;
    const char *stuck = measure_task_stuck(m->task, &as);
    if (st == TESS_OK && stuck) st = ctx_fail(m->c, as, "%s", stuck);
    for (uint32_t i = 0; i < n; i++) measure_build_free(&b[i]);
  }
  if (list) mem_free(h, list, csize);
  if (b) mem_free(h, b, bsize);
  return st == TESS_CANCELLED ? TESS_OK : st;
}

static tess_status measurer_compare(void *ud, const strbuf *code,
                                    search_outcome *o) {
  measurer *m = ud;
  measure_result r;
  o->status = measure_compare(m->pool, m->task, code, &r);
  o->checked = o->status == TESS_OK && r.checked;
  str_puts(&o->message, str_or(&r.message, ""));
  measure_result_free(&r);
  return str_status(&o->message);
}

static tess_status measurer_rematch(void *ud, uint32_t n,
                                    const strbuf *const *code,
                                    double *seconds) {
  measurer *m = ud;
  mem_heap *h = &m->c->heap;
  size_t size = n * sizeof(measure_result);
  measure_result *r = mem_try_resize(h, NULL, 0, size);
  if (!r) return mem_refusal(h);
  measure_rematch(m->pool, m->task, n, code, r);
  for (uint32_t i = 0; i < n; i++) {
    seconds[i] = r[i].status == TESS_OK ? r[i].median : INFINITY;
    measure_result_free(&r[i]);
  }
  mem_free(h, r, size);
  return TESS_OK;
}

/* Whether one cold run of `once` seconds proves a kernel slower than `best`.
 * Very short runs prove nothing. */
static bool is_clearly_slower(double once, double best) {
  enum { TIMES = 2 };
  return once > TIMES * best + 1e-3;
}

/* The unscheduled program ran once for the reference, so its time is known
 * roughly, where that was long, before it is built again for the comparison. */
static double measurer_reference(void *ud, double best) {
  double once = measure_task_launch(((measurer *)ud)->task);
  return once > 0 && is_clearly_slower(once, best) ? once : 0;
}

static tess_status measurer_unscheduled(void *ud, double best, strbuf *code) {
  measurer *m = ud;
  if (measure_task_launch(m->task) <= 0 || measurer_reference(ud, best) > 0)
    return TESS_OK;
  measure_candidate c = {.trace = NULL};
  measure_build b;
  tess_status s = measure_build_batch(m->pool, m->task, 1, &c, &b);
  if (s == TESS_OK && b.status == TESS_OK) str_write(code, b.code.v, b.code.n);
  measure_build_free(&b);
  return s == TESS_OK ? str_status(code) : s;
}

static const char *get_note(void *ud) {
  return measure_task_note(((measurer *)ud)->task);
}

static void set_on_compile(void *ud, int (*f)(void *, uint32_t, uint32_t),
                           void *f_ud) {
  measurer *m = ud;
  m->compiling = f;
  m->compiling_ud = f_ud;
}

static void close_measurer(void *ud) {
  measurer *m = ud;
  measure_task_free(m->task);
  mem_free(&m->c->heap, m, sizeof *m);
}

tess_status measurer_open(tess_context *c, tess_program *p, const char *target,
                          const measure_policy *policy, bool check_all,
                          strbuf *inputs, search_measurer *out) {
  measurer *m = mem_try_resize(&c->heap, NULL, 0, sizeof *m);
  if (!m) return ctx_ran_out(c, mem_refusal(&c->heap), "measuring");
  *m = (measurer){.c = c,
                  .check =
                      check_all ? MEASURE_CHECK_ALWAYS : MEASURE_CHECK_IF_BEST};
  tess_status s = measure_task_fits(&p->p, c->in_process, &c->err);
  if (s == TESS_OK && !policy->inputs) s = measure_check_drawn(p);
  if (s == TESS_OK) s = measure_context_pool(c, &m->pool);
  if (s == TESS_OK)
    s = measure_task_new(m->pool, &p->p, target, policy, &m->task, &c->err);
  if (s != TESS_OK) {
    mem_free(&c->heap, m, sizeof *m);
    return s;
  }
  if (policy->inputs) measure_task_give_inputs(m->task, inputs);
  *out = (search_measurer){.measure = measurer_measure,
                           .compare = measurer_compare,
                           .rematch = measurer_rematch,
                           .reference = measurer_reference,
                           .unscheduled = measurer_unscheduled,
                           .note = get_note,
                           .on_compile = set_on_compile,
                           .free = close_measurer,
                           .ud = m};
  return TESS_OK;
}
