/* SPDX-License-Identifier: Apache-2.0
 * Stand-in agents and their sessions. */
#include "support/fleet.h"
#include "fleet/agent.h"
#include "support/measured.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

double standin_time(const int64_t *decisions, uint32_t n) {
  double t = 1e-3;
  for (uint32_t i = 0; i < n; i++)
    t += 1e-6 * (double)((uint64_t)(decisions[i] * (i + 7)) % 97);
  return t;
}

/* ---- the process -------------------------------------------------------- */

typedef struct standin_state {
  const standin *s;
  thread_flag lost;
} standin_state;

static thread_flag standin_stop;

static void stop_standin(int signal) {
  (void)signal;
  thread_flag_raise(&standin_stop);
}

static tess_status standin_health(void *ud, double *seconds, char digest[32],
                                  err_state *e) {
  const standin *s = ((standin_state *)ud)->s;
  (void)e;
  *seconds = s->reference > 0 ? s->reference : 1e-3;
  snprintf(digest, 32, "%s", s->digest ? s->digest : "right");
  return TESS_OK;
}

static tess_status standin_measure(void *ud, const fleet_batch *b,
                                   fleet_done done, void *done_ud,
                                   err_state *e) {
  standin_state *x = ud;
  const standin *s = x->s;
  if (s->refuses) return err_set(e, TESS_UNSUPPORTED, "it cannot do that");
  for (uint32_t i = 0; i < b->n; i++) {
    const fleet_job *j = &b->job[i];
    fleet_result r;
    int64_t first = j->n ? j->decisions[0] : 0;
    if (s->deadly && first == s->deadly) _exit(1);
    if (s->nap > 0) fleet_sleep(s->nap, NULL);
    fleet_result_init(&r, b->heap);
    r.status = s->faulty && first == s->faulty ? TESS_INFRA : TESS_OK;
    r.seconds = standin_time(j->decisions, j->n) *
                (s->reference > 0 ? s->reference / 1e-3 : 1);
    r.checked = true;
    int ends = done(done_ud, i, &r);
    fleet_result_free(&r);
    if (ends) break;
  }
  return TESS_OK;
}

static void say_line(void *ud, const char *line) {
  dprintf(*(int *)ud, "%s\n", line);
}

static int run_standin(const standin *s, int said) {
  tess_context *c;
  fleet_link *l;
  err_state e;
  standin_state x = {.s = s};
  fleet_measurer m = {.health = standin_health,
                      .measure = standin_measure,
                      .lost = &x.lost,
                      .ud = &x};
  if (tess_context_new(NULL, &c) != TESS_OK) return 2;
  tess_status st = fleet_link_open(&c->heap, s->url, false, &l, &e);
  fleet_agent a = {
      .key = s->key,
      .name = s->name,
      .target = "llvm",
      .env = json_pack("{ss}", "version", s->version ? s->version : "1"),
      .pid = s->twin,
      .poll = s->poll,
      .measurer = &m,
      .stop = &standin_stop,
      .say = say_line,
      .say_ud = &said};
  if (st == TESS_OK) st = fleet_agent_run(&c->heap, &a, l, &e);
  if (st != TESS_OK) dprintf(said, "%s\n", e.message);
  json_decref(a.env);
  fleet_link_close(l);
  tess_context_free(c);
  return st != TESS_OK;
}

pid_t standin_start(const standin *s, const char *dir) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid) return pid;
  char path[256] = "/dev/null";
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (dir) snprintf(path, sizeof path, "%s/%s.said", dir, s->name);
  signal(SIGTERM, stop_standin);
  _exit(run_standin(s, open(path, O_WRONLY | O_CREAT | O_APPEND, 0600)));
}

pid_t agent_start(const postgres *p, const char *dir, const char *name,
                  const char *before, const char *options) {
  char command[2048];
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  snprintf(command, sizeof command,
           "%s '" TESS_BUILD_DIR "/bin/tessera' agent --fleet '%s' "
           "--name %s --share-cores %s 2>%s/%s.said",
           before, p->url, name, options, dir, name);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

int standin_end(pid_t pid, int sig) {
  int status = -1;
  kill(pid, sig);
  waitpid(pid, &status, 0);
  return status;
}

void standin_await(const postgres *p, const char *key, int n) {
  postgres_await(
      p, "t", "SELECT count(*) >= %d FROM fleet.at_work('%s', 'run')", n, key);
}

void agent_await_words(const char *dir, const char *name, const char *words) {
  char command[512];
  snprintf(command, sizeof command, "grep -qF -- \"%s\" %s/%s.said", words, dir,
           name);
  for (int i = 0; i < 1200; i++) {
    if (!system(command)) return;
    fleet_sleep(0.05, NULL);
  }
  fail_msg("%s did not say '%s'", name, words);
}

/* ---- sessions ----------------------------------------------------------- */

typedef struct expecting {
  const int64_t *first;
  uint32_t next;
  int odd;
  bool wrong;
} expecting;

static int expect_result(void *ud, uint32_t i, fleet_result *r) {
  expecting *x = ud;
  double wanted = standin_time(&x->first[i], 1);
  bool near = r->seconds > wanted * 0.999 && r->seconds < wanted * 1.001;
  if (r->status != TESS_OK) x->odd++;
  if (i != x->next || (r->status == TESS_OK && !near)) x->wrong = true;
  x->next++;
  return 0;
}

static tess_status submit_jobs(fleet_session *s, fleet_kind kind, uint32_t from,
                               uint32_t n, expecting *x, err_state *e) {
  thread_flag stop = {false};
  int64_t *d = malloc(n * sizeof *d);
  fleet_candidate *c = malloc(n * sizeof *c);
  for (uint32_t i = 0; i < n; i++) {
    d[i] = from + i + 1;
    c[i] = (fleet_candidate){.decisions = &d[i], .n = 1};
  }
  x->first = d;
  x->next = 0;
  tess_status st =
      fleet_session_measure(s, kind, n, c, 0, &stop, expect_result, x, e);
  x->wrong = x->wrong || (st == TESS_OK && x->next != n);
  free(d);
  free(c);
  return st;
}

int standin_session(const char *url, const char *key, uint32_t n,
                    uint32_t at_once) {
  return standin_session_of(url, key, FLEET_MEASURE, n, at_once);
}

int standin_session_of(const char *url, const char *key, fleet_kind kind,
                       uint32_t n, uint32_t at_once) {
  measured m;
  fleet_session *s;
  err_state e;
  expecting x = {0};
  measured_start(&m, true, NULL);
  tess_program *p = measured_matmul(m.c, 4);
  tess_status st = fleet_session_open(&m.c->heap, url, key, "test", &p->p,
                                      "llvm", &m.policy, false, NULL, &s, &e);
  for (uint32_t at = 0; st == TESS_OK && at < n; at += at_once)
    st = submit_jobs(s, kind, at, n - at < at_once ? n - at : at_once, &x, &e);
  if (st != TESS_OK) fprintf(stderr, "a session: %s\n", e.message);
  if (x.wrong) fprintf(stderr, "a session: a result is wrong\n");
  fleet_session_close(s);
  tess_program_free(p);
  measured_end(&m);
  return st != TESS_OK || x.wrong ? -1 : x.odd;
}
