/* SPDX-License-Identifier: Apache-2.0
 * An empty job from end to end: library, server, schema, rights, an agent, a
 * result. */
#include "fleet/doctor.h"
#include "fleet/kernel.h"
#include "fleet/session.h"

#include <stdio.h>
#include <string.h>

typedef struct examining {
  tess_context *c;
  const char *url, *key;
  json_t *hops;
  strbuf target;
  fleet_session *session;
  fleet_result *result;
} examining;

/* false: the hop failed. */
static bool pass(examining *x, const char *hop, tess_status s,
                 const char *why) {
  json_t *v = json_pack("{ss sb}", "hop", hop, "ok", s == TESS_OK);
  if (s != TESS_OK) js_set(&v, "why", json_string(why));
  js_add(&x->hops, v);
  return s == TESS_OK;
}

static bool reach_server(examining *x) {
  fleet_link *l;
  err_state e;
  tess_status s = fleet_link_open(&x->c->heap, x->url, true, &l, &e);
  fleet_link_close(s == TESS_OK ? l : NULL);
  return pass(x, "the database answers", s, e.message);
}

static bool find_schema(examining *x) {
  fleet_link *l;
  err_state e;
  tess_status s = fleet_link_open(&x->c->heap, x->url, false, &l, &e);
  fleet_link_close(s == TESS_OK ? l : NULL);
  return pass(x, "the schema is known", s, e.message);
}

static bool find_agent(examining *x) {
  err_state e;
  tess_status s =
      fleet_find_target(&x->c->heap, x->url, x->key, &x->target, &e);
  return pass(x, "an agent of the key is at work", s, e.message);
}

static bool open_session_of(examining *x) {
  err_state e;
  tess_program *p;
  measure_policy policy = measure_default_policy(1);
  policy.min_time = 0.001;
  tess_status s = fleet_kernel_new(x->c, &p);
  if (s != TESS_OK) return pass(x, "a session opens", s, x->c->err.message);
  s = fleet_session_open(&x->c->heap, x->url, x->key, "doctor", &p->p,
                         str_get(&x->target), &policy, false, NULL, &x->session,
                         &e);
  tess_program_free(p);
  return pass(x, "a session opens", s, e.message);
}

static int note_result(void *ud, uint32_t i, fleet_result *r) {
  examining *x = ud;
  char text[512];
  (void)i;
  snprintf(text, sizeof text, "on %s: %s", r->device,
           r->message.n ? str_get(&r->message) : err_status_text(r->status));
  pass(x, "a device measures", r->status, text);
  return 0;
}

/* A comparison is never answered from records. */
static bool measure_empty(examining *x) {
  err_state e;
  fleet_candidate whole = {.trace = NULL};
  tess_status s = fleet_session_measure(x->session, FLEET_COMPARE, 1, &whole, 0,
                                        &x->c->stop, note_result, x, &e);
  return s == TESS_OK || pass(x, "a result comes", s, e.message);
}

json_t *fleet_doctor(tess_context *c, const char *url, const char *key) {
  examining x = {.c = c, .url = url, .key = key, .hops = json_array()};
  str_init(&x.target, &c->heap);
  if (x.hops && reach_server(&x) && find_schema(&x) && find_agent(&x) &&
      open_session_of(&x))
    measure_empty(&x);
  fleet_session_close(x.session);
  str_free(&x.target);
  return x.hops;
}
