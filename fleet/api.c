/* SPDX-License-Identifier: Apache-2.0
 * The public functions of fleets: agents, and what steers a fleet. */
#include "fleet/doctor.h"
#include "fleet/measuring.h"
#include "fleet/place.h"
#include "fleet/schema.h"

#include <stdio.h>
#include <string.h>

/* ---- steering ----------------------------------------------------------- */

/* What SQL answers; $1: the arguments. */
static const struct {
  const char *name, *sql;
} commands[] = {
    {"target", "SELECT to_jsonb(fleet.target_of($1::jsonb->>'key'))"},
    {"status", "SELECT fleet.status()"},
    {"metrics", "SELECT fleet.metrics()"},
    {"check", "SELECT coalesce(jsonb_agg(x), '[]') FROM fleet.check() x"},
    {"add", "SELECT fleet.add($1::jsonb)"},
    {"pause", "SELECT fleet.pause($1::jsonb)"},
    {"drain", "SELECT fleet.drain($1::jsonb)"},
    {"retry", "SELECT fleet.retry($1::jsonb)"},
    {"gc", "SELECT fleet.gc($1::jsonb)"}};

typedef struct commanding {
  tess_context *c;
  const char *url, *command, *args;
  strbuf text;
  char **out;
} commanding;

static tess_status init_fleet(commanding *w) {
  tess_context *c = w->c;
  fleet_link *l;
  json_t *v = js_read(w->args, strlen(w->args), js_default_limits, &c->err);
  tess_status made = TESS_OK;
  if (!v) return c->err.code;
  double lease = json_number_value(json_object_get(v, "lease"));
  const char *keys = json_string_value(json_object_get(v, "keys"));
  if (keys) made = fleet_make_keys(&c->heap, keys, &c->err);
  json_decref(v);
  if (made != TESS_OK) return made;
  if (lease != 0 && !(lease >= 0.1 && lease <= 86400))
    return ctx_fail(c, TESS_INVALID,
                    "a lease of %g s is outside of 0.1 .. 86400", lease);
  tess_status s = fleet_link_open(&c->heap, w->url, true, &l, &c->err);
  if (s != TESS_OK) return s;
  s = fleet_init(l, lease, &c->err);
  fleet_link_close(l);
  str_printf(&w->text, "{\"schema\": %d}", FLEET_SCHEMA);
  return s;
}

static tess_status examine_fleet(commanding *w) {
  tess_context *c = w->c;
  json_t *v = js_read(w->args, strlen(w->args), js_default_limits, &c->err);
  const char *key = json_string_value(json_object_get(v, "key"));
  if (key) {
    json_t *hops = fleet_doctor(c, w->url, key);
    js_write(&w->text, hops);
    json_decref(hops);
  }
  json_decref(v);
  return key ? str_status(&w->text)
             : ctx_fail(c, TESS_INVALID, "the doctor needs a key");
}

static tess_status call_fleet(commanding *w, const char *sql) {
  tess_context *c = w->c;
  fleet_link *l;
  tess_status s = fleet_link_open(&c->heap, w->url, false, &l, &c->err);
  if (s != TESS_OK) return s;
  fleet_answer a = {.text = w->text};
  s = fleet_call(l, &a, &c->err, sql, w->args);
  w->text = a.text;
  fleet_link_close(l);
  return s;
}

static tess_status run_fleet_command(commanding *w) {
  if (!strcmp(w->command, "init")) return init_fleet(w);
  if (!strcmp(w->command, "doctor")) return examine_fleet(w);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (!strcmp(w->command, commands[i].name))
      return call_fleet(w, commands[i].sql);
  return ctx_fail(
      w->c, TESS_NOT_FOUND,
      "a fleet has no command '%.40s'; it has init, doctor, "
      "target, status, metrics, check, add, pause, drain, retry and gc",
      w->command);
}

static tess_status give_text(void *ud) {
  commanding *w = ud;
  *w->out = ctx_text_of(w->c, &w->text);
  return TESS_OK;
}

tess_status tess_fleet_call(tess_context *c, const char *fleet,
                            const char *command, const char *json, char **out) {
  commanding w = {c, fleet, command, json ? json : "{}", {0}, out};
  *out = NULL;
  ctx_clear(c);
  ctx_begin_work(c);
  str_init(&w.text, &c->heap);
  tess_status s = run_fleet_command(&w);
  if (s == TESS_OK) s = mem_protect(&c->heap, give_text, &w);
  if (s != TESS_OK && c->err.code != s) ctx_ran_out(c, s, "a fleet");
  str_free(&w.text);
  ctx_end_work(c);
  return s;
}

/* ---- agents ------------------------------------------------------------- */

typedef struct agent_run {
  tess_context *c;
  tess_agent_options o;
  fleet_agent a;
  char name[160], runner[4096];
  tess_target *target;
  fleet_place place;
  fleet_link *link;
  fleet_signer signer;
  measuring *measuring;
} agent_run;

static tess_status find_role(agent_run *r) {
  static const char *const names[] = {"both", "build", "run"};
  const char *role = r->o.role;
  for (int i = 0; i < 3; i++)
    if (!role || !strcmp(role, names[i]))
      return r->a.role = (fleet_role)i, TESS_OK;
  return ctx_fail(r->c, TESS_INVALID,
                  "there is no role '%.40s'; there are both, build and run",
                  role);
}

static tess_status check_agent(agent_run *r) {
  const tess_agent_options *o = &r->o;
  if (!o->fleet || !o->key || !*o->key)
    return ctx_fail(r->c, TESS_INVALID, "an agent needs a fleet and a key");
  tess_status s = find_role(r);
  if (s != TESS_OK || !o->via) return s;
  if (r->a.role != FLEET_BUILD && !o->device && o->target) return TESS_OK;
  return ctx_fail(r->c, TESS_INVALID,
                  "an agent whose device is driven by a command (--via) runs "
                  "code (--role), of a processor's target (--target, and no "
                  "--device)");
}

/* "cuda:1" -> "cuda -device=1" */
static tess_status find_agent_target(agent_run *r) {
  char text[96];
  const char *device = r->o.device;
  if (r->o.target) return tess_target_new(r->c, r->o.target, &r->target);
  const char *colon = device ? strchr(device, ':') : NULL;
  if (device && (!colon || strlen(device) > 40))
    return ctx_fail(r->c, TESS_INVALID, "'%.40s' is no device, as cuda:0",
                    device);
  if (device)
    snprintf(text, sizeof text, "%.*s -device=%s", (int)(colon - device),
             device, colon + 1);
  else
    snprintf(text, sizeof text, "llvm -num-cores=%u", thread_cpus());
  return tess_target_new(r->c, text, &r->target);
}

/* The program's path is said, or it lies beside the worker. */
static tess_status find_runner(agent_run *r) {
  const tess_agent_options *o = &r->o;
  if (!o->via) return TESS_OK;
  if (!o->runner)
    return measure_find_runner(r->c->worker_path, tess_target_text(r->target),
                               r->runner, sizeof r->runner, &r->c->err);
  snprintf(r->runner, sizeof r->runner, "%s", o->runner);
  return TESS_OK;
}

/* Build agents sign with the fleet's private key, run agents trust its
 * public one. */
static tess_status find_keys(agent_run *r) {
  tess_context *c = r->c;
  bool builds = r->a.role == FLEET_BUILD;
  const char *path = builds ? r->o.sign : r->o.trust;
  if (r->a.role == FLEET_BOTH) return TESS_OK;
  if (!path)
    return ctx_fail(c, TESS_INVALID,
                    "an agent that only %s needs %s of its fleet",
                    builds ? "builds" : "runs",
                    builds ? "the private key (--sign fleet.key)"
                           : "the public key (--trust fleet.pub)");
  r->a.signer = &r->signer;
  return fleet_signer_open(&c->heap, path, builds, &r->signer, &c->err);
}

/* What no other agent of this machine has; NULL: its cores. */
static const char *device_of(const agent_run *r) {
  return r->o.via ? r->o.via : r->o.device;
}

static tess_status prepare_agent(agent_run *r) {
  tess_context *c = r->c;
  tess_status s = check_agent(r);
  if (s == TESS_OK) s = find_keys(r);
  if (s == TESS_OK)
    s = fleet_place_take(r->o.cores, device_of(r), r->o.share_cores, &r->place,
                         &c->err);
  if (s == TESS_OK) s = find_agent_target(r);
  if (s == TESS_OK) s = find_runner(r);
  if (s == TESS_OK)
    s = fleet_link_open(&c->heap, r->o.fleet, false, &r->link, &c->err);
  measuring_options m = {.target = s ? NULL : tess_target_text(r->target),
                         .role = r->a.role,
                         .trust = &r->signer,
                         .via = r->o.via,
                         .runner = r->runner};
  if (s == TESS_OK) s = measuring_open(c, r->link, &m, &r->measuring, &c->err);
  if (s == TESS_OK && !(r->a.env = measuring_env(r->measuring, &c->err)))
    s = c->err.code;
  return s;
}

static tess_status run_agent(agent_run *r) {
  tess_status s = prepare_agent(r);
  if (s != TESS_OK) return s;
  fleet_measurer face = measuring_face(r->measuring);
  fleet_place_name(device_of(r), r->name, sizeof r->name);
  r->a.key = r->o.key;
  r->a.name = r->o.name ? r->o.name : r->name;
  r->a.target = tess_target_text(r->target);
  r->a.poll = r->o.poll != 0;
  r->a.measurer = &face;
  r->a.stop = &r->c->stop;
  r->a.say = r->o.say;
  r->a.say_ud = r->o.say_ud;
  return fleet_agent_run(&r->c->heap, &r->a, r->link, &r->c->err);
}

tess_status tess_agent_run(tess_context *c, const tess_agent_options *o) {
  agent_run r = {.c = c, .o = {.struct_size = sizeof r.o}};
  ctx_clear(c);
  tess_status s = ctx_take(c, tess_agent_options, o, &r.o);
  if (s != TESS_OK) return s;
  ctx_begin_work(c);
  s = run_agent(&r);
  if (s != TESS_OK && c->err.code != s) ctx_ran_out(c, s, "an agent");
  err_state kept = c->err;
  measuring_close(r.measuring);
  fleet_link_close(r.link);
  json_decref(r.a.env);
  fleet_place_leave(&r.place);
  tess_target_free(r.target);
  ctx_end_work(c);
  c->err = kept;
  return s;
}
