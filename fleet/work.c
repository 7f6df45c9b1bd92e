/* SPDX-License-Identifier: Apache-2.0
 * Tasks, batches and results as JSON. */
#include "fleet/work.h"
#include "base/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"measure", "compare", "rematch"};
enum { NKINDS = sizeof kinds / sizeof *kinds };

const char *fleet_kind_name(fleet_kind kind) { return kinds[kind]; }

/* ---- reading members ---------------------------------------------------- */

static const char *text_of(const json_t *o, const char *key) {
  return json_string_value(json_object_get(o, key));
}

static double number_of(const json_t *o, const char *key) {
  double x = json_number_value(json_object_get(o, key));
  return isfinite(x) ? x : 0;
}

/* A content's name: 64 hexadecimal digits. */
static bool is_name(const char *s) {
  return s && strlen(s) == FLEET_HASH - 1 &&
         strspn(s, "0123456789abcdef") == FLEET_HASH - 1;
}

/* 64 bits do not fit a number of JSON. */
static uint64_t bits_of(const json_t *o, const char *key) {
  const char *s = text_of(o, key);
  return s ? strtoull(s, NULL, 16) : 0;
}

static json_t *bits_json(uint64_t x) {
  return json_sprintf("%016llx", (unsigned long long)x);
}

/* ---- tasks -------------------------------------------------------------- */

json_t *fleet_task_json(const fleet_task *t) {
  const measure_policy *p = &t->policy;
  json_t *policy = json_pack(
      "{sf sI sf sf sf sf sI so so sb}", "min_time", p->min_time, "repeats",
      (json_int_t)p->repeats, "timeout", p->timeout, "build_timeout",
      p->build_timeout, "cutoff", p->cutoff, "margin", p->margin, "threads",
      (json_int_t)p->threads, "seed", bits_json(p->seed), "inputs",
      bits_json(p->inputs), "warm_cache", p->warm_cache);
  json_t *v = json_pack("{ss ss ss so sb}", "version", t->version, "target",
                        t->target, "program", t->program, "policy", policy,
                        "check_all", t->check_all);
  if (t->inputs) js_set(&v, "inputs", json_string(t->inputs));
  return v;
}

static bool read_policy(const json_t *v, measure_policy *p) {
  double repeats = number_of(v, "repeats"), threads = number_of(v, "threads");
  *p = (measure_policy){.min_time = number_of(v, "min_time"),
                        .timeout = number_of(v, "timeout"),
                        .build_timeout = number_of(v, "build_timeout"),
                        .cutoff = number_of(v, "cutoff"),
                        .margin = number_of(v, "margin"),
                        .seed = bits_of(v, "seed"),
                        .inputs = bits_of(v, "inputs"),
                        .warm_cache =
                            json_is_true(json_object_get(v, "warm_cache"))};
  if (!(repeats >= 1 && repeats <= 1e6 && threads >= 1 && threads <= 1024))
    return false;
  p->repeats = (uint32_t)repeats;
  p->threads = (uint32_t)threads;
  return p->min_time >= 0 && p->timeout > 0 && p->build_timeout > 0;
}

static tess_status read_task(const json_t *v, fleet_task *t, err_state *e) {
  *t = (fleet_task){.id = json_integer_value(json_object_get(v, "id")),
                    .version = text_of(v, "version"),
                    .target = text_of(v, "target"),
                    .program = text_of(v, "program"),
                    .inputs = text_of(v, "inputs"),
                    .check_all = json_is_true(json_object_get(v, "check_all"))};
  bool fits = t->version && t->target && is_name(t->program) &&
              (!t->inputs || is_name(t->inputs)) &&
              read_policy(json_object_get(v, "policy"), &t->policy) &&
              !t->policy.inputs == !t->inputs;
  return fits ? TESS_OK : err_set(e, TESS_INVALID, "its task is malformed");
}

/* ---- jobs --------------------------------------------------------------- */

json_t *fleet_job_json(const char *trace, const int64_t *decisions,
                       uint32_t n) {
  json_t *v = json_object();
  if (trace) js_set(&v, "trace", json_string(trace));
  if (!decisions) return v;
  json_t *list = json_array();
  for (uint32_t i = 0; i < n; i++) js_add(&list, json_integer(decisions[i]));
  js_set(&v, "decisions", list);
  return v;
}

static tess_status read_decisions(mem_heap *heap, const json_t *list,
                                  fleet_job *j) {
  j->n = (uint32_t)json_array_size(list);
  j->given = json_is_array(list);
  if (!j->n) return TESS_OK;
  int64_t *d = mem_try_resize(heap, NULL, 0, j->n * sizeof *d);
  if (!d) return mem_refusal(heap);
  for (uint32_t i = 0; i < j->n; i++)
    d[i] = json_integer_value(json_array_get(list, i));
  j->decisions = d;
  return TESS_OK;
}

static tess_status read_job(mem_heap *heap, const json_t *v, fleet_job *j,
                            err_state *e) {
  const json_t *built = json_object_get(v, "built");
  *j = (fleet_job){.id = json_integer_value(json_object_get(v, "id")),
                   .trace = text_of(v, "trace"),
                   .object = text_of(v, "object"),
                   .signature = text_of(v, "signature"),
                   .program_hash = bits_of(built, "program_hash"),
                   .replay = number_of(built, "replay"),
                   .lower = number_of(built, "lower"),
                   .compile = number_of(built, "compile")};
  if (j->id <= 0 || (j->trace && !is_name(j->trace)) ||
      (j->object && !is_name(j->object)))
    return err_set(e, TESS_INVALID, "a job of it is malformed");
  tess_status s = read_decisions(heap, json_object_get(v, "decisions"), j);
  return s ? err_ran_out(e, heap, s, "a batch") : TESS_OK;
}

/* ---- batches ------------------------------------------------------------ */

static bool read_kind(const char *name, fleet_kind *out) {
  for (int i = 0; name && i < NKINDS; i++)
    if (!strcmp(kinds[i], name)) return *out = (fleet_kind)i, true;
  return false;
}

static tess_status read_jobs(const json_t *list, fleet_batch *b, err_state *e) {
  size_t n = json_array_size(list);
  tess_status s = TESS_OK;
  if (n == 0 || n > FLEET_MOST_JOBS)
    return err_set(e, TESS_INVALID, "it has %zu jobs, not 1 .. %d", n,
                   FLEET_MOST_JOBS);
  for (; s == TESS_OK && b->n < n; b->n++)
    s = read_job(b->heap, json_array_get(list, b->n), &b->job[b->n], e);
  return s;
}

tess_status fleet_read_batch(mem_heap *heap, const char *text, size_t n,
                             fleet_batch *b, err_state *e) {
  memset(b, 0, sizeof *b);
  b->heap = heap;
  b->json = js_read(text, n, js_default_limits, e);
  if (!b->json) return e->code;
  int64_t id = json_integer_value(json_object_get(b->json, "batch"));
  snprintf(b->id, sizeof b->id, "%lld", (long long)id);
  b->token = text_of(b->json, "token");
  b->best = number_of(b->json, "best");
  b->baseline = number_of(b->json, "baseline");
  if (!b->token || !read_kind(text_of(b->json, "kind"), &b->kind))
    return err_set(e, TESS_INVALID, "its kind is not known");
  tess_status s = read_task(json_object_get(b->json, "task"), &b->task, e);
  return s == TESS_OK ? read_jobs(json_object_get(b->json, "jobs"), b, e) : s;
}

void fleet_batch_free(fleet_batch *b) {
  for (uint32_t i = 0; i < FLEET_MOST_JOBS; i++) {
    fleet_job *j = &b->job[i];
    if (j->decisions)
      mem_free(b->heap, (void *)(uintptr_t)j->decisions,
               j->n * sizeof *j->decisions);
  }
  json_decref(b->json);
  memset(b, 0, sizeof *b);
}

/* ---- results ------------------------------------------------------------ */

void fleet_result_init(fleet_result *r, mem_heap *heap) {
  *r = (fleet_result){.status = TESS_CANCELLED};
  str_init(&r->message, heap);
  str_init(&r->code, heap);
}

void fleet_result_free(fleet_result *r) {
  if (!r->message.heap) return;
  if (r->sample)
    mem_free(r->message.heap, r->sample, r->nsample * sizeof *r->sample);
  str_free(&r->message);
  str_free(&r->code);
  r->sample = NULL;
  r->nsample = 0;
}

tess_status fleet_write_result(const fleet_result *r, double reference,
                               strbuf *out) {
  const char *said = str_get(&r->message);
  json_t *v =
      json_pack("{ss so sf sf sf}", "status", err_status_name(r->status),
                "program_hash", bits_json(r->program_hash), "replay", r->replay,
                "lower", r->lower, "compile", r->compile);
  json_t *list = json_array();
  for (uint32_t i = 0; i < r->nsample; i++)
    js_add(&list, json_real(r->sample[i]));
  js_set(&v, "samples", list);
  if (r->status == TESS_OK) {
    js_set(&v, "seconds", json_real(r->seconds));
    js_set(&v, "checked", json_boolean(r->checked));
  }
  if (said && *said)
    js_set(&v, "message", json_stringn(said, str_utf8(said, r->message.n)));
  if (reference > 0) js_set(&v, "reference", json_real(reference));
  js_write(out, v);
  json_decref(v);
  return str_status(out);
}

static bool read_status(const char *name, tess_status *out) {
#define STATUS(code, value, text) \
  if (name && !strcmp(name, #code)) return *out = (tess_status)(value), true;
#include <tessera/status.def>
#undef STATUS
  return false;
}

static tess_status read_samples(const json_t *list, fleet_result *r) {
  size_t n = json_array_size(list);
  mem_heap *heap = r->message.heap;
  if (n == 0 || n > 1u << 20) return TESS_OK;
  r->sample = mem_try_resize(heap, NULL, 0, n * sizeof *r->sample);
  if (!r->sample) return mem_refusal(heap);
  r->nsample = (uint32_t)n;
  for (size_t i = 0; i < n; i++)
    r->sample[i] = json_number_value(json_array_get(list, i));
  return TESS_OK;
}

tess_status fleet_read_result(const json_t *v, fleet_result *r, int64_t *job,
                              err_state *e) {
  const char *device = text_of(v, "device"), *said = text_of(v, "message");
  *job = json_integer_value(json_object_get(v, "job"));
  r->env = json_object_get(v, "env");
  r->seconds = number_of(v, "normal");
  r->checked = json_is_true(json_object_get(v, "checked"));
  r->program_hash = bits_of(v, "program_hash");
  r->replay = number_of(v, "replay");
  r->lower = number_of(v, "lower");
  r->compile = number_of(v, "compile");
  snprintf(r->device, sizeof r->device, "%s", device ? device : "");
  if (!read_status(text_of(v, "status"), &r->status) ||
      (r->status == TESS_OK && r->seconds <= 0))
    return err_set(e, TESS_INVALID, "a result of the fleet is malformed");
  str_puts(&r->message, said ? said : "");
  tess_status s = str_status(&r->message);
  if (s == TESS_OK) s = read_samples(json_object_get(v, "samples"), r);
  return s ? err_ran_out(e, r->message.heap, s, "a result") : TESS_OK;
}
