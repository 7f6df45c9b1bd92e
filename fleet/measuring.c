/* SPDX-License-Identifier: Apache-2.0
 * How an agent measures: programs and traces come by their names, candidates
 * are built and run by a pool of workers. */
#include "fleet/measuring.h"
#include "base/hash.h"
#include "fleet/content.h"
#include "fleet/kernel.h"
#include "fleet/place.h"
#include "ir/query.h"
#include "measure/machine_facts.h"
#include "vm/text/text.h"
#include "vm/vm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct known_trace {
  char name[FLEET_HASH];
  vm_trace trace;
} known_trace;

struct measuring {
  tess_context *c;
  fleet_link *link;
  measure_pool *pool;
  thread_flag lost;
  measuring_options o;
  uint32_t cores; /* of what runs code */
  arena scratch;
  /* The task that it was at last. */
  measure_task *task; /* NULL: none */
  int64_t task_id;
  VEC(known_trace *) traces;
  /* The reference kernel. */
  strbuf health;
};

/* ---- the reference kernel ----------------------------------------------- */

static tess_status build_health(measuring *m, const tess_program *p,
                                err_state *e) {
  measure_policy policy = measure_default_policy(1);
  measure_candidate whole = {.trace = NULL};
  measure_task *task;
  measure_build b;
  tess_status s =
      measure_task_new(m->pool, &p->p, m->o.target, &policy, &task, e);
  if (s != TESS_OK) return s;
  s = measure_build_batch(m->pool, task, 1, &whole, &b);
  const char *why =
      s ? err_status_text(s) : str_or(&b.message, "out of memory");
  if (s == TESS_OK) s = b.status;
  if (s == TESS_OK) {
    str_write(&m->health, b.code.v, b.code.n);
    s = str_status(&m->health);
    why = err_status_text(s);
  }
  if (s != TESS_OK) err_set(e, s, "building: %s", why);
  measure_build_free(&b);
  measure_task_free(task);
  return s;
}

/* Devices' unscheduled programs run on the host only. */
static bool has_health(const measuring *m) {
  return m->o.role != FLEET_BUILD && !strncmp(m->o.target, "llvm", 4);
}

static tess_status prepare_health(measuring *m, err_state *e) {
  tess_program *p;
  if (m->health.n) return TESS_OK;
  if (fleet_kernel_new(m->c, &p) != TESS_OK) return *e = m->c->err, e->code;
  tess_status s = build_health(m, p, e);
  tess_program_free(p);
  return s;
}

static tess_status run_health(measuring *m, double *seconds, char digest[32],
                              err_state *e) {
  static const bool written[] = {false, false, true};
  static const uint64_t resident[3];
  float a[FLEET_KERNEL_ELEMENTS], b[FLEET_KERNEL_ELEMENTS];
  float c[FLEET_KERNEL_ELEMENTS] = {0};
  void *const args[] = {a, b, c};
  const size_t bytes[] = {sizeof a, sizeof b, sizeof c};
  const measure_call call = {.target = m->o.target,
                             .code = &m->health,
                             .n = 3,
                             .args = args,
                             .bytes = bytes,
                             .resident = resident,
                             .written = written,
                             .min_time = 0.004,
                             .repeats = 3,
                             .threads = 1};
  measure_result r;
  fleet_kernel_fill(a, b);
  tess_status s = measure_call_kernel(m->pool, &call, &r);
  if (s == TESS_OK) {
    *seconds = r.min;
    snprintf(digest, 32, "%016llx",
             (unsigned long long)hash_bytes(c, sizeof c));
  } else {
    err_set(e, s, "%s", str_or(&r.message, err_status_text(s)));
  }
  measure_result_free(&r);
  return s;
}

static tess_status health_of(void *ud, double *seconds, char digest[32],
                             err_state *e) {
  measuring *m = ud;
  *seconds = 0;
  digest[0] = '\0';
  if (!has_health(m)) return TESS_OK;
  tess_status s = prepare_health(m, e);
  return s == TESS_OK ? run_health(m, seconds, digest, e) : s;
}

/* ---- the task ----------------------------------------------------------- */

static void drop_traces(measuring *m) {
  for (uint32_t i = 0; i < m->traces.n; i++) {
    vm_trace_free(&m->traces.v[i]->trace);
    mem_delete(&m->c->heap, m->traces.v[i]);
  }
  vec_clear(&m->traces);
}

static void drop_task(measuring *m) {
  drop_traces(m);
  measure_task_free(m->task);
  m->task = NULL;
}

/* Of a device that is driven from here nobody knows which processors' code it
 * runs besides that of its target. */
static tess_status runs_there(const measuring *m, const char *target,
                              err_state *e) {
  if (!m->o.via) return measure_runs_here(target, e);
  if (!strcmp(target, m->o.target)) return TESS_OK;
  return err_set(e, TESS_UNSUPPORTED,
                 "the target is '%.400s', and that of this agent's device "
                 "'%.400s'",
                 target, m->o.target);
}

/* What this device cannot honour, with the reason. */
static tess_status check_task(const measuring *m, const fleet_task *t,
                              err_state *e) {
  if (strcmp(t->version, tess_version()))
    return err_set(e, TESS_UNSUPPORTED,
                   "the session's engine is %s, and this agent's %s",
                   t->version, tess_version());
  if (m->o.role == FLEET_BUILD) return TESS_OK;
  if (t->policy.threads > m->cores)
    return err_set(e, TESS_UNSUPPORTED,
                   "kernels of %u threads, and this agent has %u cores",
                   t->policy.threads, m->cores);
  tess_status s = runs_there(m, t->target, e);
  if (s == TESS_OK) s = measure_check_policy(t->target, &t->policy, e);
  return s ? e->code = TESS_UNSUPPORTED : s;
}

typedef struct opening {
  measuring *m;
  const fleet_task *t;
  const strbuf *bytes;
  ir_program program;
  err_state *e;
} opening;

static tess_status restore_program(void *ud) {
  opening *w = ud;
  measuring *m = w->m;
  strbuf why;
  str_init(&why, &m->c->heap);
  ir_program_init(&w->program, &m->c->heap);
  tess_status s =
      ir_restore(&w->program, &m->scratch, w->bytes->v, w->bytes->n, &why);
  if (s != TESS_OK)
    err_set(w->e, TESS_UNSUPPORTED, "its program is malformed: %s",
            why.n ? str_get(&why) : err_status_text(s));
  str_free(&why);
  return s;
}

static tess_status make_measure_task(opening *w) {
  measuring *m = w->m;
  tess_status s = measure_task_fits(&w->program, m->c->in_process, w->e);
  if (s != TESS_OK) return w->e->code = TESS_UNSUPPORTED;
  return measure_task_new(m->pool, &w->program, w->t->target, &w->t->policy,
                          &m->task, w->e);
}

static tess_status give_inputs(measuring *m, const fleet_task *t,
                               err_state *e) {
  strbuf contents;
  if (!t->inputs) return TESS_OK;
  str_init(&contents, &m->c->heap);
  tess_status s = fleet_get(m->link, t->inputs, &contents, e);
  if (s == TESS_OK) measure_task_give_inputs(m->task, &contents);
  str_free(&contents);
  return s;
}

static tess_status open_new_task(measuring *m, const fleet_task *t,
                                 err_state *e) {
  strbuf bytes;
  opening w = {.m = m, .t = t, .bytes = &bytes, .e = e};
  str_init(&bytes, &m->c->heap);
  tess_status s = fleet_get(m->link, t->program, &bytes, e);
  if (s == TESS_OK) {
    err_clear(e);
    s = mem_protect(&m->c->heap, restore_program, &w);
    if (s == TESS_OK) s = make_measure_task(&w);
    if (s != TESS_OK && e->code == TESS_OK) err_unwound(e, &m->c->heap, s);
    ir_program_free(&w.program);
    arena_reset(&m->scratch);
    if (s != TESS_OK) s = e->code;
  }
  str_free(&bytes);
  if (s == TESS_OK) s = give_inputs(m, t, e);
  m->task_id = t->id;
  return s;
}

static tess_status open_measure_task(measuring *m, const fleet_task *t,
                                     err_state *e) {
  enum { MANY_TRACES = 256 };
  if (m->traces.n > MANY_TRACES) drop_traces(m);
  if (m->task && m->task_id == t->id) return TESS_OK;
  drop_task(m);
  tess_status s = check_task(m, t, e);
  if (s == TESS_OK) s = open_new_task(m, t, e);
  if (s != TESS_OK) drop_task(m);
  return s;
}

/* ---- candidates --------------------------------------------------------- */

static const vm_trace *find_known(const measuring *m, const char *name) {
  for (uint32_t i = 0; i < m->traces.n; i++)
    if (!strcmp(m->traces.v[i]->name, name)) return &m->traces.v[i]->trace;
  return NULL;
}

typedef struct tracing {
  measuring *m;
  const char *name;
  const strbuf *json;
  err_state *e;
} tracing;

static tess_status add_known(void *ud) {
  const tracing *w = ud;
  mem_heap *heap = &w->m->c->heap;
  vec_reserve(heap, &w->m->traces, 1);
  known_trace *k = mem_new(heap, known_trace);
  snprintf(k->name, sizeof k->name, "%s", w->name);
  vm_trace_init(&k->trace, heap);
  w->m->traces.v[w->m->traces.n++] = k;
  tess_status s =
      vm_read_json(&k->trace, str_get(w->json), w->json->n, NULL, w->e);
  if (s != TESS_OK) k->name[0] = '\0';
  return s;
}

/* A trace that cannot be read is of a program that knows more. */
static tess_status learn_trace(measuring *m, const char *name, err_state *e) {
  strbuf json;
  if (find_known(m, name)) return TESS_OK;
  str_init(&json, &m->c->heap);
  tracing w = {m, name, &json, e};
  tess_status s = fleet_get(m->link, name, &json, e);
  if (s == TESS_OK) {
    err_clear(e);
    s = mem_protect(&m->c->heap, add_known, &w);
    err_unwound(e, &m->c->heap, s);
    if (s != TESS_OK && !measure_is_machine_fault(s))
      s = e->code = TESS_UNSUPPORTED;
  }
  str_free(&json);
  return s;
}

static tess_status list_candidates_of(measuring *m, const fleet_batch *b,
                                      measure_candidate *out, err_state *e) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; i < b->n && s == TESS_OK; i++)
    if (b->job[i].trace) s = learn_trace(m, b->job[i].trace, e);
  for (uint32_t i = 0; i < b->n && s == TESS_OK; i++) {
    const fleet_job *j = &b->job[i];
    static const int64_t none[1];
    out[i] = (measure_candidate){
        .trace = j->trace ? find_known(m, j->trace) : NULL,
        .decisions = j->given ? (j->n ? j->decisions : none) : NULL,
        .ndecisions = j->n};
  }
  return s;
}

/* ---- performing --------------------------------------------------------- */

/* A batch on its way. */
typedef struct performing {
  measuring *m;
  const fleet_batch *b;
  measure_candidate candidate[FLEET_MOST_JOBS];
  measure_build build[FLEET_MOST_JOBS];
  measure_building *building; /* NULL: they were built elsewhere */
  fleet_done done;
  void *done_ud;
  double best;
} performing;

static void take_message(fleet_result *r, const strbuf *from) {
  str_clear(&r->message);
  str_puts(&r->message, str_or(from, ""));
}

static void take_built_job(fleet_result *r, const measure_build *b) {
  r->status = b->status;
  r->program_hash = b->program_hash;
  r->replay = b->replay;
  r->lower = b->lower;
  r->compile = b->compile;
  if (b->status != TESS_OK) take_message(r, &b->message);
}

static void take_times(fleet_result *r, const measure_result *from) {
  size_t bytes = from->sample.n * sizeof *from->sample.v;
  r->status = from->status;
  r->seconds = from->median;
  r->checked = from->checked && from->status == TESS_OK;
  take_message(r, &from->message);
  if (from->status != TESS_OK || !bytes) return;
  r->sample = mem_try_resize(r->message.heap, NULL, 0, bytes);
  if (!r->sample) return;
  memcpy(r->sample, from->sample.v, bytes);
  r->nsample = from->sample.n;
}

/* Of a comparison nothing is timed, and a result that is OK has a time. */
static void compare_job(performing *w, const measure_build *b,
                        fleet_result *r) {
  measure_result got;
  measure_compare(w->m->pool, w->m->task, &b->code, &got);
  take_times(r, &got);
  if (r->status == TESS_OK) r->seconds = 1;
  measure_result_free(&got);
}

static void time_job(performing *w, const measure_build *b, fleet_result *r) {
  measure_result got;
  bool all = w->b->task.check_all;
  measure_request q = {.code = &b->code,
                       .check =
                           all ? MEASURE_CHECK_ALWAYS : MEASURE_CHECK_IF_BEST,
                       .best = w->best};
  measure_run(w->m->pool, w->m->task, &q, &got);
  take_times(r, &got);
  if (r->checked && (w->best == 0 || r->seconds < w->best))
    w->best = r->seconds;
  measure_result_free(&got);
}

/* Candidates up to `end` are built: here, or were by a build agent. */
static tess_status until_built(performing *w, uint32_t end) {
  return w->building ? measure_build_until(w->building, end) : TESS_OK;
}

static void take_code(fleet_result *r, const measure_build *b) {
  str_write(&r->code, b->code.v, b->code.n);
  r->status = str_status(&r->code);
}

static bool perform_job(performing *w, uint32_t i) {
  measure_build *b = &w->build[i];
  fleet_result r;
  fleet_result_init(&r, &w->m->c->heap);
  take_built_job(&r, b);
  if (r.status == TESS_OK && w->m->o.role == FLEET_BUILD)
    take_code(&r, b);
  else if (r.status == TESS_OK && w->b->kind == FLEET_COMPARE)
    compare_job(w, b, &r);
  else if (r.status == TESS_OK)
    time_job(w, b, &r);
  bool ends = w->done(w->done_ud, i, &r) != 0;
  fleet_result_free(&r);
  return !ends;
}

static tess_status perform_each(performing *w) {
  uint32_t n = w->b->n, end = w->building ? 0 : n;
  tess_status s = TESS_OK;
  for (uint32_t i = 0; i < n && s == TESS_OK; i++) {
    if (i == end) s = until_built(w, end = measure_build_part(w->building, i));
    if (s == TESS_OK && !perform_job(w, i)) return TESS_OK;
  }
  return s;
}

/* Interleaved; those that were not built are out. */
static tess_status perform_rematch(performing *w) {
  uint32_t n = w->b->n, built = 0, at[FLEET_MOST_JOBS];
  const strbuf *code[FLEET_MOST_JOBS];
  measure_result got[FLEET_MOST_JOBS];
  bool ends = false;
  tess_status s = until_built(w, n);
  if (s != TESS_OK) return s;
  for (uint32_t i = 0; i < n; i++) {
    if (w->build[i].status != TESS_OK) continue;
    at[built] = i;
    code[built++] = &w->build[i].code;
  }
  if (built) measure_rematch(w->m->pool, w->m->task, built, code, got);
  for (uint32_t i = 0, k = 0; i < n; i++) {
    fleet_result r;
    fleet_result_init(&r, &w->m->c->heap);
    take_built_job(&r, &w->build[i]);
    if (k < built && at[k] == i) take_times(&r, &got[k++]);
    ends = ends || w->done(w->done_ud, i, &r);
    fleet_result_free(&r);
  }
  for (uint32_t k = 0; k < built; k++) measure_result_free(&got[k]);
  return TESS_OK;
}

/* An object that was altered on the way, or is another's, is not run. */
static tess_status take_object(performing *w, uint32_t i, err_state *e) {
  measuring *m = w->m;
  const fleet_job *j = &w->b->job[i];
  measure_build *b = &w->build[i];
  *b = (measure_build){.program_hash = j->program_hash,
                       .replay = j->replay,
                       .lower = j->lower,
                       .compile = j->compile};
  str_init(&b->message, &m->c->heap);
  str_init(&b->code, &m->c->heap);
  if (!j->object)
    return err_set(e, TESS_INVALID, "job %lld was not built", (long long)j->id);
  tess_status s = fleet_get(m->link, j->object, &b->code, e);
  if (s == TESS_NOT_FOUND) return e->code = TESS_INVALID;
  return s == TESS_OK ? fleet_verify(m->o.trust, &w->b->task, j, &b->code, e)
                      : s;
}

static tess_status take_objects(performing *w, err_state *e) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; i < w->b->n && s == TESS_OK; i++)
    s = take_object(w, i, e);
  return s;
}

static tess_status begin_building_of(performing *w, err_state *e) {
  measuring *m = w->m;
  if (m->o.role == FLEET_RUN) return take_objects(w, e);
  tess_status s = list_candidates_of(m, w->b, w->candidate, e);
  if (s != TESS_OK) return s;
  s = measure_build_begin(m->pool, m->task, w->b->n, w->candidate, w->build,
                          &w->building);
  return s == TESS_OK ? s : err_set(e, s, "%s", err_status_text(s));
}

static tess_status perform_batch(performing *w, err_state *e) {
  measuring *m = w->m;
  bool together = w->b->kind == FLEET_REMATCH && m->o.role != FLEET_BUILD;
  tess_status s = together ? perform_rematch(w) : perform_each(w);
  if (s == TESS_OK || s == TESS_CANCELLED) return s;
  tess_status stuck = measure_report_unresponsive(m->pool, e);
  return stuck ? stuck : err_ran_out(e, &m->c->heap, s, "measuring a batch");
}

static tess_status measure_batch_of(void *ud, const fleet_batch *b,
                                    fleet_done done, void *done_ud,
                                    err_state *e) {
  measuring *m = ud;
  performing w = {
      .m = m, .b = b, .done = done, .done_ud = done_ud, .best = b->best};
  tess_status s = open_measure_task(m, &b->task, e);
  if (s != TESS_OK) return s;
  s = begin_building_of(&w, e);
  if (s == TESS_OK) s = perform_batch(&w, e);
  measure_build_end(w.building);
  for (uint32_t i = 0; i < b->n; i++) measure_build_free(&w.build[i]);
  return s;
}

/* ---- the device --------------------------------------------------------- */

/* The cores of what runs code: those of this process, or the device's. */
static tess_status count_cores(measuring *m, err_state *e) {
  static const char option[] = "-num-cores=";
  strbuf facts;
  m->cores = thread_cpus();
  if (!m->o.via) return TESS_OK;
  str_init(&facts, &m->c->heap);
  tess_status s = measure_device_facts(m->pool, "llvm:0", &facts, e);
  const char *at = s ? NULL : strstr(str_get(&facts), option);
  if (at) m->cores = (uint32_t)strtoul(at + strlen(option), NULL, 10);
  str_free(&facts);
  return s;
}

json_t *measuring_env(measuring *m, err_state *e) {
  json_t *v = NULL;
  strbuf facts;
  str_init(&facts, &m->c->heap);
  tess_status s = TESS_OK;
  if (m->o.via)
    s = measure_machine_facts(m->pool, &facts, e);
  else
    machine_facts(&facts);
  if (s == TESS_OK && !(v = fleet_place_env(&facts)))
    err_set(e, TESS_NOMEM, "an agent: out of memory");
  str_free(&facts);
  return v;
}

/* ---- opening ------------------------------------------------------------ */

tess_status measuring_open(tess_context *c, fleet_link *link,
                           const measuring_options *o, measuring **out,
                           err_state *e) {
  *out = NULL;
  measuring *m = mem_try_resize(&c->heap, NULL, 0, sizeof *m);
  if (!m) return err_ran_out(e, &c->heap, mem_refusal(&c->heap), "an agent");
  *m = (measuring){.c = c, .link = link, .o = *o};
  arena_init(&m->scratch, &c->heap);
  str_init(&m->health, &c->heap);
  measure_config config = {.worker_path = c->worker_path,
                           .in_process = c->in_process,
                           .cancel = &m->lost,
                           .sandboxed = o->role == FLEET_RUN,
                           .via = o->via,
                           .runner = o->runner,
                           .log = c->log,
                           .log_ud = c->log_ud};
  tess_status s = measure_pool_new(&c->heap, &config, &m->pool, e);
  if (s == TESS_OK) s = count_cores(m, e);
  if (s == TESS_OK)
    *out = m;
  else
    measuring_close(m);
  return s;
}

void measuring_close(measuring *m) {
  if (!m) return;
  mem_heap *heap = &m->c->heap;
  drop_task(m);
  vec_free(heap, &m->traces);
  measure_pool_free(m->pool);
  arena_free(&m->scratch);
  str_free(&m->health);
  mem_free(heap, m, sizeof *m);
}

fleet_measurer measuring_face(measuring *m) {
  return (fleet_measurer){.health = health_of,
                          .measure = measure_batch_of,
                          .lost = &m->lost,
                          .ud = m};
}
