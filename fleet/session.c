/* SPDX-License-Identifier: Apache-2.0
 * Sessions: candidates are submitted in batches, and what came of them is
 * collected by polling, so that nobody is woken by agents. */
#include "base/clock.h"
#include "fleet/session.h"
#include "base/hash.h"
#include "base/vec.h"
#include "fleet/content.h"
#include "ir/query.h"
#include "vm/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Contents that are known to be there, by a hash of the bytes. */
typedef struct stored {
  uint64_t hash;
  char name[FLEET_HASH];
} stored;

struct fleet_session {
  mem_heap *heap;
  fleet_link *link;
  char id[24], secret[40];
  uint32_t agents; /* at work, as far as is known */
  uint64_t nonce;
  json_t *task;
  VEC(stored) stored;
  uint64_t env; /* hash of the first result's environment; 0: none yet */
  uint32_t reused, others;
  char note[256];
};

/* Asks again while the server is away, for a minute. */
static tess_status ask_fleet(fleet_link *l, fleet_answer *a,
                             const thread_flag *stop, err_state *e,
                             const char *sql, const char *p1, const char *p2,
                             const char *p3) {
  const double patience = 60, pause = 0.2;
  double until = clock_now() + patience;
  for (;;) {
    tess_status s = fleet_call(l, a, e, sql, p1, p2, p3);
    if (s != TESS_INFRA || clock_now() > until) return s;
    if (stop && thread_flag_is_raised(stop)) return TESS_CANCELLED;
    fleet_sleep(pause, stop);
  }
}

/* ---- contents ----------------------------------------------------------- */

typedef struct storing {
  fleet_session *s;
  const void *bytes;
  size_t n;
  const char *name; /* valid until the next one is stored */
  err_state *e;
} storing;

static tess_status store_content(void *ud) {
  storing *w = ud;
  fleet_session *s = w->s;
  stored x = {.hash = hash_bytes(w->bytes, w->n)};
  for (uint32_t i = 0; i < s->stored.n; i++)
    if (s->stored.v[i].hash == x.hash)
      return w->name = s->stored.v[i].name, TESS_OK;
  vec_reserve(s->heap, &s->stored, 1);
  tess_status st = fleet_put(s->link, w->bytes, w->n, x.name, w->e);
  if (st != TESS_OK) return st;
  vec_push(s->heap, &s->stored, x);
  w->name = s->stored.v[s->stored.n - 1].name;
  return TESS_OK;
}

static tess_status store_bytes(fleet_session *s, const strbuf *bytes,
                               const char **name, err_state *e) {
  storing w = {s, bytes->v, bytes->n, NULL, e};
  if (bytes->bad) return err_ran_out(e, s->heap, str_status(bytes), "a fleet");
  tess_status st = mem_protect(s->heap, store_content, &w);
  *name = w.name;
  return err_unwound(e, s->heap, st);
}

/* ---- opening ------------------------------------------------------------ */

tess_status fleet_find_target(mem_heap *heap, const char *url, const char *key,
                              strbuf *out, err_state *e) {
  fleet_link *l;
  fleet_answer a = {.is_null = true, .text = *out};
  tess_status s = fleet_link_open(heap, url, false, &l, e);
  if (s != TESS_OK) return s;
  s = fleet_call(l, &a, e, "SELECT fleet.target_of($1)", key);
  *out = a.text;
  if (!strcmp(a.state, FLEET_NOBODY)) s = e->code = TESS_NOT_FOUND;
  fleet_link_close(l);
  return s;
}

static tess_status take_session(fleet_session *s, const strbuf *text,
                                err_state *e) {
  json_t *v = js_read(str_get(text), text->n, js_default_limits, e);
  const char *secret = json_string_value(json_object_get(v, "secret"));
  json_int_t id = json_integer_value(json_object_get(v, "session"));
  s->agents = (uint32_t)json_integer_value(json_object_get(v, "agents"));
  if (secret) {
    snprintf(s->id, sizeof s->id, "%lld", (long long)id);
    snprintf(s->secret, sizeof s->secret, "%s", secret);
  }
  bool whole = secret && id > 0;
  json_decref(v);
  return whole ? TESS_OK
               : err_set(e, TESS_INVALID, "the fleet's session is malformed");
}

enum { MOST_IN_FLIGHT = 4096 };

static tess_status register_session(fleet_session *s, const char *key,
                                    const char *name, err_state *e) {
  strbuf text;
  fleet_answer a = {.is_null = true};
  str_init(&text, s->heap);
  str_init(&a.text, s->heap);
  json_t *v = json_pack("{ss ss si}", "key", key, "program", name, "most",
                        MOST_IN_FLIGHT);
  js_write(&text, v);
  json_decref(v);
  tess_status st = str_status(&text);
  if (st == TESS_OK)
    st = fleet_call(s->link, &a, e, "SELECT fleet.open_session($1)",
                    str_get(&text));
  if (!strcmp(a.state, FLEET_NOBODY)) st = e->code = TESS_NOT_FOUND;
  if (!strcmp(a.state, FLEET_STOPPED)) st = e->code = TESS_INFRA;
  if (st == TESS_OK) st = take_session(s, &a.text, e);
  str_free(&text);
  str_free(&a.text);
  return st;
}

typedef struct task_making {
  fleet_session *s;
  const ir_program *base;
  strbuf *program;
} task_making;

static tess_status save_base(void *ud) {
  const task_making *w = ud;
  ir_save(w->base, w->program);
  return str_status(w->program);
}

static tess_status make_fleet_task(fleet_session *s, const ir_program *base,
                                   fleet_task *t, const strbuf *inputs,
                                   err_state *e) {
  strbuf program;
  str_init(&program, s->heap);
  task_making w = {s, base, &program};
  char name[FLEET_HASH];
  const char *at;
  tess_status st = mem_protect(s->heap, save_base, &w);
  if (st == TESS_OK) st = store_bytes(s, &program, &at, e);
  if (st == TESS_OK) memcpy(name, at, sizeof name);
  t->program = name;
  if (st == TESS_OK && t->policy.inputs)
    st = store_bytes(s, inputs, &t->inputs, e);
  str_free(&program);
  if (st != TESS_OK) return err_unwound(e, s->heap, st);
  s->task = fleet_task_json(t);
  return s->task ? TESS_OK
                 : err_set(e, TESS_NOMEM, "a fleet's task: out of memory");
}

tess_status fleet_session_open(mem_heap *heap, const char *url, const char *key,
                               const char *name, const ir_program *base,
                               const char *target, const measure_policy *policy,
                               bool check_all, const strbuf *inputs,
                               fleet_session **out, err_state *e) {
  fleet_task t = {.version = tess_version(),
                  .target = target,
                  .policy = *policy,
                  .check_all = check_all};
  *out = NULL;
  fleet_session *s = mem_try_resize(heap, NULL, 0, sizeof *s);
  if (!s) return err_ran_out(e, heap, mem_refusal(heap), "a fleet's session");
  *s = (fleet_session){.heap = heap};
  tess_status st = fleet_link_open(heap, url, false, &s->link, e);
  if (st == TESS_OK) st = register_session(s, key, name, e);
  if (st == TESS_OK) st = make_fleet_task(s, base, &t, inputs, e);
  if (st == TESS_OK)
    *out = s;
  else
    fleet_session_close(s);
  return st;
}

void fleet_session_close(fleet_session *s) {
  err_state e;
  fleet_answer a = {.is_null = true};
  if (!s) return;
  if (s->id[0])
    fleet_call(s->link, &a, &e, "SELECT fleet.close_session($1, $2)", s->id,
               s->secret);
  fleet_link_close(s->link);
  json_decref(s->task);
  vec_free(s->heap, &s->stored);
  mem_free(s->heap, s, sizeof *s);
}

typedef struct collecting {
  fleet_session *s;
  uint32_t n, next; /* results that `done` was given */
  int64_t *job;
  json_t *jobs;    /* what was submitted */
  json_t **result; /* by job; NULL: not there yet */
  json_t *device;  /* that measured what is submitted again; NULL: unknown */
  const thread_flag *stop;
  fleet_done done;
  void *done_ud;
  bool ended;
} collecting;

/* ---- submitting --------------------------------------------------------- */

static tess_status store_trace(fleet_session *s, const vm_trace *t,
                               const char **name, err_state *e) {
  strbuf json;
  *name = NULL;
  if (!t) return TESS_OK;
  str_init(&json, s->heap);
  vm_write_json(t, NULL, &json);
  tess_status st = store_bytes(s, &json, name, e);
  str_free(&json);
  return st;
}

/* The candidate that a result's code tells of; *device: who measured it. */
static json_t *job_of_code(const strbuf *code, json_t **device, err_state *e) {
  json_t *v = js_read(str_get(code), code->n, js_default_limits, e);
  json_t *named = json_object_get(v, "device");
  if (named) {
    json_decref(*device);
    *device = json_incref(named);
    json_object_del(v, "device");
  }
  return v;
}

static tess_status list_jobs(collecting *w, const fleet_candidate *c,
                             err_state *e) {
  const vm_trace *last = NULL;
  const char *name = NULL;
  for (uint32_t i = 0; i < w->n; i++) {
    tess_status st = TESS_OK;
    json_t *job;
    if (!c[i].code && (i == 0 || c[i].trace != last))
      st = store_trace(w->s, c[i].trace, &name, e);
    last = c[i].trace;
    if (st != TESS_OK) return st;
    job = c[i].code ? job_of_code(c[i].code, &w->device, e)
                    : fleet_job_json(name, c[i].decisions, c[i].n);
    if (json_array_append_new(w->jobs, job))
      return err_set(e, TESS_NOMEM, "a fleet's jobs: out of memory");
  }
  return TESS_OK;
}

/* Small batches, so that devices end together; but one batch of those that are
 * compared with each other. */
static uint32_t chunk_of(const fleet_session *s, fleet_kind kind, uint32_t n) {
  enum { EACH = 2, MOST = 16 };
  if (kind == FLEET_REMATCH) return n;
  uint32_t chunk = n / (EACH * (s->agents ? s->agents : 1));
  return chunk < 1 ? 1 : chunk > MOST ? MOST : chunk;
}

static tess_status write_submission(collecting *w, fleet_kind kind, double best,
                                    strbuf *out) {
  fleet_session *s = w->s;
  json_t *v =
      json_pack("{sI sO ss sf si sO sb}", "nonce", (json_int_t)++s->nonce,
                "task", s->task, "kind", fleet_kind_name(kind), "best", best,
                "chunk", (int)chunk_of(s, kind, w->n), "jobs", w->jobs,
                "checked", json_is_true(json_object_get(s->task, "check_all")));
  if (w->device && kind == FLEET_COMPARE)
    js_set(&v, "excluded", json_pack("[O]", w->device));
  js_write(out, v);
  json_decref(v);
  return str_status(out);
}

/* The answer is an array of SQL's: {1,2,3}. */
static tess_status submit(collecting *w, fleet_kind kind, double best,
                          strbuf *ids, err_state *e) {
  fleet_session *s = w->s;
  strbuf text;
  str_init(&text, s->heap);
  tess_status st = write_submission(w, kind, best, &text);
  if (st == TESS_OK) {
    fleet_answer a = {.text = *ids};
    st = ask_fleet(s->link, &a, w->stop, e, "SELECT fleet.submit($1, $2, $3)",
                   s->id, s->secret, str_get(&text));
    *ids = a.text;
  }
  str_free(&text);
  return st;
}

/* ---- collecting --------------------------------------------------------- */

static uint32_t index_of_job(const collecting *w, int64_t job) {
  for (uint32_t i = 0; i < w->n; i++)
    if (w->job[i] == job) return i;
  return w->n;
}

/* Times of one run are of one environment, or a note says that they are
 * not. */
static void note_env(fleet_session *s, const fleet_result *r, const json_t *v) {
  strbuf text;
  if (!json_is_null(json_object_get(v, "reused"))) s->reused++;
  if (!r->env || r->status != TESS_OK) return;
  str_init(&text, s->heap);
  js_write(&text, r->env);
  uint64_t env = text.n ? hash_bytes(text.v, text.n) | 1 : 0;
  if (!s->env) s->env = env;
  if (env != s->env) s->others++;
  str_free(&text);
}

static void write_note(fleet_session *s) {
  int n = 0;
  s->note[0] = '\0';
  if (s->others)
    n = snprintf(s->note, sizeof s->note,
                 "%u times are of devices in another environment (clock, "
                 "governor, driver, version) than the first",
                 s->others);
  if (s->reused)
    snprintf(s->note + n, sizeof s->note - (size_t)n,
             "%s%u results were the fleet's from earlier sessions",
             n ? "; " : "", s->reused);
}

/* Which candidate it is, and who measured it. */
static void write_code(const collecting *w, fleet_result *r) {
  json_t *v = json_copy(json_array_get(w->jobs, w->next));
  js_set(&v, "device",
         json_stringn(r->device, str_utf8(r->device, strlen(r->device))));
  js_write(&r->code, v);
  json_decref(v);
}

static tess_status give_result(collecting *w, const json_t *v, err_state *e) {
  fleet_result r;
  int64_t job;
  fleet_result_init(&r, w->s->heap);
  tess_status st = fleet_read_result(v, &r, &job, e);
  if (st == TESS_OK && r.status == TESS_UNSUPPORTED)
    st = err_set(e, TESS_UNSUPPORTED, "no device of the key can do it: %s",
                 str_get(&r.message));
  if (st == TESS_OK) {
    note_env(w->s, &r, v);
    write_code(w, &r);
    w->ended = w->done(w->done_ud, w->next, &r) != 0;
  }
  fleet_result_free(&r);
  return st;
}

/* Gives those that are next in order. */
static tess_status give_results(collecting *w, err_state *e) {
  tess_status st = TESS_OK;
  while (st == TESS_OK && !w->ended && w->next < w->n && w->result[w->next]) {
    st = give_result(w, w->result[w->next], e);
    if (st == TESS_OK) w->next++;
  }
  return st;
}

/* The jobs without a result, as an array of SQL's. */
static void write_missing(const collecting *w, strbuf *out) {
  const char *between = "{";
  str_clear(out);
  for (uint32_t i = w->next; i < w->n; i++) {
    if (w->result[i]) continue;
    str_printf(out, "%s%lld", between, (long long)w->job[i]);
    between = ",";
  }
  str_puts(out, "}");
}

static tess_status take_collected(collecting *w, const strbuf *text, bool *news,
                                  err_state *e) {
  json_t *v = js_read(str_get(text), text->n, js_default_limits, e), *x;
  size_t i;
  if (!v) return e->code;
  const char *stopped = json_string_value(json_object_get(v, "stopped"));
  tess_status st = TESS_OK;
  w->s->agents = (uint32_t)json_integer_value(json_object_get(v, "agents"));
  json_array_foreach (json_object_get(v, "results"), i, x) {
    uint32_t at =
        index_of_job(w, json_integer_value(json_object_get(x, "job")));
    if (at == w->n || w->result[at]) continue;
    w->result[at] = json_incref(x);
    *news = true;
  }
  if (!*news && stopped)
    st = err_set(e, TESS_INFRA, "the fleet's key has stopped: %s", stopped);
  json_decref(v);
  return st;
}

/* Asks at once at first, then ever more seldom while nothing comes. */
static tess_status collect(collecting *w, strbuf *missing, err_state *e) {
  const double least = 0.01, growth = 1.2, most = 0.25, patience = 120;
  double pause = least, alone = clock_now();
  tess_status st = TESS_OK;
  while (st == TESS_OK && !w->ended && w->next < w->n) {
    bool news = false;
    fleet_answer a = {.is_null = true};
    str_init(&a.text, w->s->heap);
    write_missing(w, missing);
    if (missing->bad)
      return err_ran_out(e, w->s->heap, str_status(missing), "a fleet's jobs");
    st = ask_fleet(w->s->link, &a, w->stop, e,
                   "SELECT fleet.collect($1, $2, $3)", w->s->id, w->s->secret,
                   str_get(missing));
    if (st == TESS_OK) st = take_collected(w, &a.text, &news, e);
    str_free(&a.text);
    if (st == TESS_OK) st = give_results(w, e);
    if (news || w->s->agents) alone = clock_now();
    if (st == TESS_OK && clock_now() - alone > patience)
      st = err_set(e, TESS_INFRA,
                   "no agent of the fleet's key was at work for %.0f s",
                   patience);
    if (thread_flag_is_raised(w->stop)) st = TESS_CANCELLED;
    if (w->ended || st != TESS_OK || w->next == w->n) break;
    pause = news ? least : pause * growth < most ? pause * growth : most;
    fleet_sleep(pause, w->stop);
  }
  return st;
}

static tess_status read_ids(collecting *w, const strbuf *ids, err_state *e) {
  const char *at = ids->n ? str_get(ids) : "";
  char *end;
  uint32_t n = 0;
  for (; *at && n < w->n; at = end) {
    at++; /* the brace or comma before it */
    w->job[n++] = strtoll(at, &end, 10);
    if (end == at) break;
  }
  return n == w->n ? TESS_OK
                   : err_set(e, TESS_INVALID, "the fleet's jobs are malformed");
}

typedef struct session_call {
  collecting *w;
  fleet_kind kind;
  const fleet_candidate *c;
  double best;
  strbuf ids;
  err_state *e;
} session_call;

static tess_status submit_and_collect(void *ud) {
  session_call *m = ud;
  collecting *w = m->w;
  mem_heap *heap = w->s->heap;
  w->job = mem_resize(heap, NULL, 0, w->n * sizeof *w->job);
  w->result = mem_resize(heap, NULL, 0, w->n * sizeof *w->result);
  memset((void *)w->result, 0, w->n * sizeof *w->result);
  tess_status st = list_jobs(w, m->c, m->e);
  if (st == TESS_OK) st = submit(w, m->kind, m->best, &m->ids, m->e);
  if (st == TESS_OK) st = read_ids(w, &m->ids, m->e);
  return st == TESS_OK ? collect(w, &m->ids, m->e) : st;
}

tess_status fleet_session_measure(fleet_session *s, fleet_kind kind, uint32_t n,
                                  const fleet_candidate *c, double best,
                                  const thread_flag *stop, fleet_done done,
                                  void *done_ud, err_state *e) {
  collecting w = {.s = s,
                  .n = n,
                  .jobs = json_array(),
                  .stop = stop,
                  .done = done,
                  .done_ud = done_ud};
  session_call m = {&w, kind, c, best, {0}, e};
  str_init(&m.ids, s->heap);
  err_clear(e);
  tess_status st = mem_protect(s->heap, submit_and_collect, &m);
  for (uint32_t i = 0; w.result && i < n; i++) json_decref(w.result[i]);
  if (w.result) mem_free(s->heap, (void *)w.result, n * sizeof *w.result);
  if (w.job) mem_free(s->heap, w.job, n * sizeof *w.job);
  json_decref(w.jobs);
  json_decref(w.device);
  str_free(&m.ids);
  write_note(s);
  return st == TESS_OK ? st : err_unwound(e, s->heap, st);
}

const char *fleet_session_note(const fleet_session *s) { return s->note; }
