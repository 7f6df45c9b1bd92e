/* SPDX-License-Identifier: Apache-2.0
 * The agent's loop: claim a batch, have it measured, report each job.
 *
 * While a batch is measured a thread renews its lease.  Results that the server
 * could not take wait until it is back; those whose lease was lost meanwhile
 * are dropped, as the jobs are others' then. */
#include "base/clock.h"
#include "fleet/agent.h"
#include "base/rng.h"
#include "base/vec.h"
#include "fleet/content.h"
#include "fleet/keeper.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef enum report_kind {
  REPORT_RESULT, /* text: its JSON */
  REPORT_FAILED, /* of the machinery; text: why */
  REPORT_BUILT   /* text: what is known of the build; and its code */
} report_kind;

typedef struct report {
  report_kind kind;
  char job[24], signature[FLEET_SIGNATURE];
  strbuf text, code;
} report;

typedef struct agent {
  const fleet_agent *o;
  mem_heap *heap;
  fleet_link *link;
  char id[40];
  double lease;
  rng random;
  char rest[256]; /* why it rests; "": it does not */
  bool drain;
  const fleet_batch *batch; /* that it is at */
  double reference;
  keeper keeper;
  uint32_t reported; /* jobs of the batch */
  double pause;      /* between claims, while there is nothing */
  double retry;      /* when the server that is away is asked again; 0: it is
                      * there */
  VEC(report) report;
} agent;

static void say(const agent *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const agent *a, const char *fmt, ...) {
  char line[1024];
  va_list ap;
  if (!a->o->say) return;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  a->o->say(a->o->say_ud, line);
}

static bool is_stopping(const agent *a) {
  return a->drain || thread_flag_is_raised(a->o->stop);
}

/* Agents do not come all at once: half of it to one and a half. */
static double jittered(agent *a, double seconds) {
  return seconds * (0.5 + rng_unit(&a->random));
}

static double poll_of(const agent *a) {
  const double most = 2, t = a->lease / 4;
  return t < most ? t : most;
}

static fleet_answer new_answer(const agent *a) {
  fleet_answer x = {.is_null = true};
  str_init(&x.text, a->heap);
  return x;
}

/* ---- hello -------------------------------------------------------------- */

static const char *const roles[] = {"both", "build", "run"};

static tess_status write_hello(const fleet_agent *o, strbuf *out) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  json_t *v = json_pack("{ss ss ss ss ss ss si sO}", "device", o->name, "key",
                        o->key, "role", roles[o->role], "target", o->target,
                        "version", tess_version(), "host", host, "pid",
                        o->pid ? o->pid : (int)getpid(), "env", o->env);
  js_write(out, v);
  json_decref(v);
  return str_status(out);
}

static tess_status take_welcome(agent *a, const strbuf *text, err_state *e) {
  json_t *v = js_read(str_get(text), text->n, js_default_limits, e);
  const char *id = json_string_value(json_object_get(v, "agent"));
  const char *channel = json_string_value(json_object_get(v, "channel"));
  a->lease = json_number_value(json_object_get(v, "lease"));
  bool whole = id && channel && a->lease > 0;
  if (whole) {
    snprintf(a->id, sizeof a->id, "%s", id);
    if (!a->o->poll) fleet_listen(a->link, channel);
    fleet_set_patience(a->link, a->lease < 10 ? a->lease * 0.5 + 1 : 10);
  }
  json_decref(v);
  return whole ? TESS_OK
               : err_set(e, TESS_INVALID, "the fleet's welcome is malformed");
}

static tess_status say_hello(agent *a, char state[6], err_state *e) {
  strbuf hello;
  fleet_answer x = new_answer(a);
  str_init(&hello, a->heap);
  tess_status s = write_hello(a->o, &hello);
  if (s == TESS_OK)
    s = fleet_call(a->link, &x, e, "SELECT fleet.hello($1)", str_get(&hello));
  if (s == TESS_OK) s = take_welcome(a, &x.text, e);
  memcpy(state, x.state, sizeof x.state);
  str_free(&x.text);
  str_free(&hello);
  return s;
}

/* One that was killed has the name until its lease is over. */
static tess_status begin(agent *a, err_state *e) {
  enum { TRIES = 12 };
  char state[6];
  tess_status s = say_hello(a, state, e);
  for (int i = 0; i < TRIES && s != TESS_OK; i++) {
    if (strcmp(state, FLEET_NAME_TAKEN) || is_stopping(a)) break;
    if (i == 0) say(a, "%s; waiting for it to end", e->message);
    fleet_sleep(jittered(a, a->lease > 0 ? a->lease : 0.3), a->o->stop);
    s = say_hello(a, state, e);
  }
  return s;
}

/* ---- health ------------------------------------------------------------- */

/* The reference kernel, which says how fast the device is now, and whether it
 * computes what others do. */
static void check_health(agent *a) {
  char seconds[40] = "", digest[32] = "";
  err_state e, ignored;
  err_clear(&e);
  fleet_answer x = new_answer(a);
  const fleet_measurer *m = a->o->measurer;
  tess_status s = m->health(m->ud, &a->reference, digest, &e);
  if (a->reference > 0)
    snprintf(seconds, sizeof seconds, "%.17g", a->reference);
  fleet_call(a->link, &x, &ignored, "SELECT fleet.health($1, $2, $3, $4)",
             a->id, *seconds ? seconds : NULL, *digest ? digest : NULL,
             s == TESS_OK ? NULL : e.message);
  str_free(&x.text);
}

/* ---- reporting ---------------------------------------------------------- */

static void free_report(report *r) {
  str_free(&r->text);
  str_free(&r->code);
}

static void forget_reports(agent *a) {
  for (uint32_t i = 0; i < a->report.n; i++) free_report(&a->report.v[i]);
  vec_clear(&a->report);
}

/* The code goes first, so that the queue names only what is there. */
static tess_status send_built(agent *a, const report *r, fleet_answer *x,
                              err_state *e) {
  const fleet_batch *b = a->batch;
  char name[FLEET_HASH];
  tess_status s = fleet_put(a->link, r->code.v, r->code.n, name, e);
  if (s != TESS_OK) return s;
  return fleet_call(a->link, x, e,
                    "SELECT fleet.built($1, $2, $3, $4, decode($5, 'hex'), "
                    "decode($6, 'hex'), $7::jsonb)",
                    a->id, b->id, b->token, r->job, name, r->signature,
                    str_get(&r->text));
}

static tess_status send_report(agent *a, const report *r, fleet_answer *x,
                               err_state *e) {
  const fleet_batch *b = a->batch;
  if (r->kind == REPORT_BUILT) return send_built(a, r, x, e);
  return fleet_call(a->link, x, e,
                    r->kind == REPORT_FAILED
                        ? "SELECT fleet.fail($1, $2, $3, $4, $5)"
                        : "SELECT fleet.finish($1, $2, $3, $4, $5)",
                    a->id, b->id, b->token, r->job, str_get(&r->text));
}

/* Sends what is not sent yet.  INFRA: the server is away. */
static tess_status send_reports(agent *a, err_state *e) {
  uint32_t sent = 0;
  tess_status s = TESS_OK;
  for (; sent < a->report.n; sent++) {
    fleet_answer x = new_answer(a);
    s = send_report(a, &a->report.v[sent], &x, e);
    bool stale = s == TESS_OK && !strcmp(str_get(&x.text), "stale");
    bool unknown = !strcmp(x.state, FLEET_UNKNOWN_AGENT);
    str_free(&x.text);
    if (stale) keeper_give_up(&a->keeper);
    if (unknown && (s = say_hello(a, x.state, e)) == TESS_OK) sent--;
    if (s == TESS_INFRA) break;
    if (s != TESS_OK) say(a, "job %s: %s", a->report.v[sent].job, e->message);
  }
  for (uint32_t i = 0; i < sent && i < a->report.n; i++)
    free_report(&a->report.v[i]);
  if (sent) {
    memmove(a->report.v, a->report.v + sent,
            (a->report.n - sent) * sizeof *a->report.v);
    a->report.n -= sent;
  }
  return s == TESS_INFRA ? s : TESS_OK;
}

static void note_away(agent *a, const err_state *e, const char *meanwhile) {
  if (!a->retry) say(a, "%s; %s", e->message, meanwhile);
  a->retry = clock_now() + jittered(a, poll_of(a));
}

static void note_back(agent *a) {
  if (a->retry) say(a, "the fleet's database is back");
  a->retry = 0;
}

/* Measuring does not wait for a server that is away. */
static void try_sending(agent *a) {
  err_state e;
  if (a->retry > clock_now()) return;
  if (send_reports(a, &e) == TESS_OK)
    note_back(a);
  else
    note_away(a, &e, "the results wait");
}

/* Until all are there, the lease is lost, or there is no time left. */
static void send_all_reports(agent *a) {
  while (a->report.n && !keeper_has_lost(&a->keeper)) {
    try_sending(a);
    if (!a->report.n || is_stopping(a)) break;
    fleet_sleep(jittered(a, poll_of(a)), a->o->stop);
  }
}

typedef struct adding {
  agent *a;
  uint32_t i;
  const fleet_result *r;
} adding;

static report_kind kind_of(const agent *a, const fleet_result *r) {
  if (measure_is_machine_fault(r->status)) return REPORT_FAILED;
  bool built = a->o->role == FLEET_BUILD && r->status == TESS_OK;
  return built ? REPORT_BUILT : REPORT_RESULT;
}

static tess_status fill_built(const adding *w, report *r) {
  const fleet_batch *b = w->a->batch;
  err_state e;
  fleet_result facts = *w->r; /* without samples, as there are none */
  str_write(&r->code, w->r->code.v, w->r->code.n);
  if (r->code.bad) return str_status(&r->code);
  tess_status s = fleet_write_result(&facts, 0, &r->text);
  return s == TESS_OK ? fleet_sign(w->a->o->signer, &b->task, &b->job[w->i],
                                   &r->code, r->signature, &e)
                      : s;
}

static tess_status add_report(void *ud) {
  const adding *w = ud;
  agent *a = w->a;
  vec_reserve(a->heap, &a->report, 1);
  report *r = &a->report.v[a->report.n];
  *r = (report){.kind = kind_of(a, w->r)};
  snprintf(r->job, sizeof r->job, "%lld", (long long)a->batch->job[w->i].id);
  str_init(&r->text, a->heap);
  str_init(&r->code, a->heap);
  a->report.n++;
  if (r->kind == REPORT_BUILT) return fill_built(w, r);
  if (r->kind == REPORT_RESULT)
    return fleet_write_result(w->r, a->reference, &r->text);
  str_puts(&r->text, w->r->message.n ? str_get(&w->r->message)
                                     : err_status_text(w->r->status));
  return str_status(&r->text);
}

/* A machinery that failed gives the rest of the batch back, as does this one
 * where there is no memory for a report. */
static int take_done(void *ud, uint32_t i, fleet_result *r) {
  agent *a = ud;
  if (r->status == TESS_CANCELLED) return 1;
  adding w = {a, i, r};
  uint32_t whole = a->report.n;
  if (mem_protect(a->heap, add_report, &w) != TESS_OK) {
    if (a->report.n > whole) free_report(&a->report.v[--a->report.n]);
    return 1;
  }
  a->reported++;
  try_sending(a);
  return is_stopping(a) || keeper_has_lost(&a->keeper) ||
         measure_is_machine_fault(r->status);
}

/* ---- a batch ------------------------------------------------------------ */

static void begin_batch(agent *a, const fleet_batch *b) {
  a->batch = b;
  a->reported = 0;
}

/* The batch as a whole went wrong, at the job that is not reported yet. */
static void tell_trouble(agent *a, tess_status s, const char *why) {
  err_state e;
  tess_status told;
  fleet_answer x = new_answer(a);
  const fleet_batch *b = a->batch;
  char job[24];
  snprintf(job, sizeof job, "%lld", (long long)b->job[a->reported].id);
  say(a, "batch %s: %s", b->id, why);
  if (s == TESS_UNSUPPORTED)
    told = fleet_call(a->link, &x, &e, "SELECT fleet.refuse($1, $2, $3, $4)",
                      a->id, b->id, b->token, why);
  else
    told =
        fleet_call(a->link, &x, &e,
                   s == TESS_INVALID ? "SELECT fleet.reject($1, $2, $3, $4, $5)"
                                     : "SELECT fleet.fail($1, $2, $3, $4, $5)",
                   a->id, b->id, b->token, job, why);
  if (told != TESS_OK) say(a, "batch %s: %s", b->id, e.message);
  str_free(&x.text);
}

/* All that could be built is there: a device may run it. */
static void pass_on(agent *a) {
  err_state e;
  fleet_answer x = {.is_null = true};
  const fleet_batch *b = a->batch;
  fleet_call(a->link, &x, &e, "SELECT fleet.pass_on($1, $2, $3)", a->id, b->id,
             b->token);
}

static void work_on(agent *a, fleet_batch *b) {
  const fleet_measurer *m = a->o->measurer;
  err_state e;
  err_clear(&e);
  begin_batch(a, b);
  thread_flag_clear(m->lost);
  keeper_start(&a->keeper, a->link, a->id, b->id, b->token, a->lease, m->lost);
  char digest[32];
  tess_status s = m->health(m->ud, &a->reference, digest, &e);
  if (b->baseline > 0 && a->reference > 0)
    b->best *= a->reference / b->baseline;
  if (s == TESS_OK) s = m->measure(m->ud, b, take_done, a, &e);
  send_all_reports(a);
  if (s != TESS_OK && s != TESS_CANCELLED && a->reported < b->n &&
      !keeper_has_lost(&a->keeper))
    tell_trouble(a, s, e.message);
  else if (s == TESS_OK && a->reported == b->n && a->o->role == FLEET_BUILD)
    pass_on(a);
  if (keeper_has_lost(&a->keeper))
    say(a, "batch %s: its lease was lost, and what is left of it is others'",
        b->id);
  keeper_stop(&a->keeper);
  forget_reports(a);
  a->batch = NULL;
}

/* A batch that cannot be read is of a newer program, which may be elsewhere. */
static void take_batch(agent *a, const strbuf *text) {
  fleet_batch b;
  err_state e;
  tess_status s = fleet_read_batch(a->heap, str_get(text), text->n, &b, &e);
  if (s == TESS_OK) {
    work_on(a, &b);
  } else if (b.token) {
    begin_batch(a, &b);
    tell_trouble(a, TESS_UNSUPPORTED, e.message);
    a->batch = NULL;
  }
  fleet_batch_free(&b);
}

/* {"rest": why} instead of a batch. */
static bool is_rest(agent *a, const strbuf *text) {
  err_state e;
  char why[sizeof a->rest] = "";
  if (text->n > 4096 || strncmp(str_get(text), "{\"rest\"", 7)) return false;
  json_t *v = js_read(str_get(text), text->n, js_default_limits, &e);
  const char *said = json_string_value(json_object_get(v, "rest"));
  snprintf(why, sizeof why, "%s", said ? said : "");
  json_decref(v);
  a->drain = !strcmp(why, "drain");
  if (strcmp(why, a->rest)) say(a, "at rest: %s", why);
  memcpy(a->rest, why, sizeof why);
  return true;
}

/* One claim; false: there was nothing to do. */
static bool claim(agent *a) {
  err_state e;
  bool busy = false;
  fleet_answer x = new_answer(a);
  tess_status s = fleet_call(a->link, &x, &e, "SELECT fleet.claim($1)", a->id);
  if (s == TESS_INFRA)
    note_away(a, &e, "waiting for it");
  else
    note_back(a);
  if (!strcmp(x.state, FLEET_UNKNOWN_AGENT))
    busy = say_hello(a, x.state, &e) == TESS_OK;
  else if (s == TESS_INVALID)
    say(a, "%s", e.message);
  if (s == TESS_OK && !x.is_null && !is_rest(a, &x.text)) {
    a->rest[0] = '\0';
    take_batch(a, &x.text);
    busy = true;
  }
  str_free(&x.text);
  return busy;
}

static void say_bye(agent *a) {
  err_state e;
  fleet_answer x = {.is_null = true};
  fleet_call(a->link, &x, &e, "SELECT fleet.bye($1)", a->id);
}

/* Claims, and waits where there was nothing: for a moment at first, as a
 * session soon has its next candidates, then ever longer. */
static void claim_or_wait(agent *a) {
  const double least = 0.02, growth = 1.6, most = poll_of(a);
  if (claim(a)) {
    a->pause = least;
  } else if (!is_stopping(a)) {
    fleet_wait(a->link, jittered(a, a->pause), a->o->stop);
    a->pause = a->pause * growth < most ? a->pause * growth : most;
  }
}

tess_status fleet_agent_run(mem_heap *heap, const fleet_agent *o,
                            fleet_link *link, err_state *e) {
  agent a = {.o = o, .heap = heap, .link = link};
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  rng_init(&a.random, (uint64_t)t.tv_nsec ^ (uint64_t)getpid() << 32, 0);
  keeper_init(&a.keeper);
  tess_status s = begin(&a, e);
  if (s != TESS_OK) return s;
  say(&a, "agent of '%s' for key '%s'", o->name, o->key);
  check_health(&a);
  a.pause = poll_of(&a);
  while (!is_stopping(&a)) claim_or_wait(&a);
  say_bye(&a);
  vec_free(heap, &a.report);
  say(&a, "drained");
  return TESS_OK;
}
