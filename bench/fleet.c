/* SPDX-License-Identifier: Apache-2.0
 * A fleet of stand-in agents on a PostgreSQL server of its own.
 *   build/bench/fleet speed          candidates a second, 1 agent against 4
 *   build/bench/fleet flood [JOBS]   10,000 jobs through 8 agents, of which one
 *                                    is stopped or killed at random each second
 *   build/bench/fleet claims [AGENTS [SECONDS]]
 *                                    1,000 agents through PgBouncer with 8
 *                                    connections, without and with a
 *                                    transaction that holds vacuum back
 * A line of JSON each; the exit status is 1 where the history is wrong. */
#include "base/clock.h"
#include "fleet/link.h"
#include "support/fleet.h"
#include "support/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static postgres pg;

static void start_agents(pid_t *pid, int n, double nap) {
  static char names[8][16];
  for (int i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "agent%d", i);
    standin s = {.url = pg.url, .key = "k", .name = names[i], .nap = nap};
    pid[i] = standin_start(&s, NULL);
  }
  standin_await(&pg, "k", n);
}

static void end_agents(pid_t *pid, int n) {
  for (int i = 0; i < n; i++) kill(pid[i], SIGCONT);
  for (int i = 0; i < n; i++) standin_end(pid[i], SIGTERM);
}

/* ---- speed -------------------------------------------------------------- */

/* A candidate that waits for a slow device, for 0.25 s. */
static double rate_of(int agents) {
  enum { EACH = 32 };
  const double nap = 0.25;
  pid_t pid[8];
  postgres_start(&pg, 5);
  start_agents(pid, agents, nap);
  double start = clock_now();
  standin_session(pg.url, "k", EACH * (uint32_t)agents, 16);
  double rate = EACH * agents / (clock_now() - start);
  end_agents(pid, agents);
  postgres_check(&pg);
  postgres_end(&pg);
  return rate;
}

static int bench_speed(void) {
  double one = rate_of(1), four = rate_of(4);
  printf("{\"bench\": \"fleet speed\", \"one\": %.2f, \"four\": %.2f, "
         "\"ratio\": %.2f}\n",
         one, four, four / one);
  return 0;
}

/* ---- flood -------------------------------------------------------------- */

static int rows_in(const char *rows) {
  return atoi(postgres_ask(&pg, "SELECT count(*) FROM fleet.%s", rows));
}

static int bench_flood(uint32_t jobs) {
  enum { AGENTS = 8 };
  pid_t pid[AGENTS];
  int status = 0, hit = 0;
  postgres_start(&pg, 1);
  start_agents(pid, AGENTS, 0.002);
  double start = clock_now();
  pid_t session = fork();
  if (session == 0) _exit(standin_session(pg.url, "k", jobs, 2000) < 0);
  srand(1);
  while (waitpid(session, &status, WNOHANG) == 0) {
    int i = rand() % AGENTS;
    fleet_sleep(1, NULL);
    hit++;
    if (rand() % 2) { /* past its lease */
      kill(pid[i], SIGSTOP);
      fleet_sleep(1.5, NULL);
      kill(pid[i], SIGCONT);
    } else {
      char name[16];
      standin_end(pid[i], SIGKILL);
      snprintf(name, sizeof name, "agent%d", i);
      standin s = {.url = pg.url, .key = "k", .name = name, .nap = 0.002};
      pid[i] = standin_start(&s, NULL);
    }
  }
  double seconds = clock_now() - start;
  end_agents(pid, AGENTS);
  postgres_check(&pg);
  printf("{\"bench\": \"fleet flood\", \"jobs\": %u, \"results\": %d, "
         "\"seconds\": %.1f, \"hit\": %d, \"lost\": %d, \"stale\": %d, "
         "\"blamed\": %d}\n",
         jobs, rows_in("result WHERE true"), seconds, hit,
         rows_in("event WHERE what = 'lost'"),
         rows_in("event WHERE what = 'stale'"),
         rows_in("result WHERE status <> 'OK'"));
  postgres_end(&pg);
  return status != 0;
}

/* ---- claims ------------------------------------------------------------- */

typedef struct claimer {
  pthread_t thread;
  char url[192];
  int number;
  double until;
  double *wait; /* seconds of each claim that gave a batch */
  int n, cap;
} claimer;

static void note_wait(claimer *x, double t) {
  if (x->n == x->cap) {
    x->cap = x->cap ? 2 * x->cap : 64;
    x->wait = realloc(x->wait, (size_t)x->cap * sizeof *x->wait);
  }
  x->wait[x->n++] = t;
}

/* Claims a batch and finishes its jobs, in one round trip each. */
static void *claim_on(void *ud) {
  static const char hello[] =
      "SELECT fleet.hello(jsonb_build_object('device', $1::text, 'key', 'k', "
      "'role', "
      "'both', 'target', 'llvm', 'env', '{}'::jsonb, 'version', '1', 'host', "
      "'h', 'pid', $2::int))->>'agent'";
  static const char finish[] =
      "SELECT count(fleet.finish($1, ($2::jsonb->>'batch')::bigint, "
      "($2::jsonb->>'token')::uuid, (j->>'id')::bigint, "
      "'{\"status\": \"OK\", \"seconds\": 0.1}'))::text FROM "
      "jsonb_array_elements($2::jsonb->'jobs') j";
  claimer *x = ud;
  mem_heap heap;
  fleet_link *l;
  err_state e;
  char name[24], pid[16], id[40] = "";
  mem_heap_init(&heap, mem_default_allocator, 0);
  snprintf(name, sizeof name, "agent%d", x->number);
  snprintf(pid, sizeof pid, "%d", x->number + 1);
  while (fleet_link_open(&heap, x->url, false, &l, &e)) { /* they queue up */
    if (clock_now() > x->until) return NULL;
    fleet_sleep(0.2, NULL);
  }
  fleet_set_patience(l, 120);
  fleet_answer a = {.is_null = true};
  str_init(&a.text, &heap);
  if (fleet_call(l, &a, &e, hello, name, pid))
    fprintf(stderr, "%s\n", e.message);
  else
    snprintf(id, sizeof id, "%s", str_get(&a.text));
  while (id[0] && clock_now() < x->until) {
    double start = clock_now();
    str_clear(&a.text);
    if (fleet_call(l, &a, &e, "SELECT fleet.claim($1)", id)) {
      fprintf(stderr, "%s\n", e.message);
      break;
    }
    if (a.is_null) break; /* the queue is empty */
    note_wait(x, clock_now() - start);
    strbuf batch = a.text;
    str_init(&a.text, &heap);
    fleet_call(l, &a, &e, finish, id, str_get(&batch));
    str_free(&batch);
    fleet_sleep(0.5 + 0.001 * (x->number % 1000), NULL); /* it measures */
  }
  str_free(&a.text);
  fleet_link_close(l);
  return NULL;
}

static int by_time(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* All claims of all agents; prints them. */
static void claim_for(const char *url, int agents, double seconds,
                      const char *how) {
  claimer *all = calloc((size_t)agents, sizeof *all);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 1 << 18);
  double start = clock_now(), *wait = NULL;
  size_t n = 0;
  for (int i = 0; i < agents; i++) {
    all[i].number = i;
    all[i].until = start + seconds;
    snprintf(all[i].url, sizeof all[i].url, "%s", url);
    pthread_create(&all[i].thread, &attr, claim_on, &all[i]);
  }
  for (int i = 0; i < agents; i++) {
    pthread_join(all[i].thread, NULL);
    wait = realloc(wait, (n + (size_t)all[i].n + 1) * sizeof *wait);
    for (int k = 0; k < all[i].n; k++) wait[n++] = all[i].wait[k];
    free(all[i].wait);
  }
  double took = clock_now() - start;
  qsort(wait, n, sizeof *wait, by_time);
  printf("{\"bench\": \"fleet claims\", \"transaction\": \"%s\", \"agents\": "
         "%d, \"claims\": %zu, \"a_second\": %.1f, \"median_ms\": %.1f, "
         "\"p99_ms\": %.1f}\n",
         how, agents, n, (double)n / took, n ? wait[n / 2] * 1e3 : 0,
         n ? wait[n - 1 - n / 100] * 1e3 : 0);
  fflush(stdout);
  free(wait);
  free(all);
  pthread_attr_destroy(&attr);
}

static void fill_queue(int batches) {
  postgres_ask(
      &pg,
      "SELECT fleet.hello('{\"device\": \"first\", \"key\": \"k\", \"role\": "
      "\"both\", \"target\": \"llvm\", \"env\": {}, \"version\": \"1\", "
      "\"host\": \"h\", \"pid\": 1}');"
      "UPDATE fleet.setting SET value = 1e6 WHERE name = 'patience';"
      "CREATE TEMP TABLE s AS SELECT fleet.open_session('{\"key\": \"k\", "
      "\"program\": \"p\", \"most\": 10000000}') s;"
      "SELECT count(fleet.submit((s->>'session')::bigint, "
      "(s->>'secret')::uuid, jsonb_build_object('nonce', g, 'task', "
      "'{}'::jsonb, 'kind', 'measure', 'best', 0, 'chunk', 2, 'checked', "
      "false, 'jobs', (SELECT jsonb_agg(jsonb_build_object('decisions', "
      "jsonb_build_array(%d + 1000 * g + i))) FROM generate_series(1, 1000) "
      "i)))) FROM s, generate_series(1, %d) g;",
      rand(), batches / 500 + 1);
}

static void start_pooler(char *url, size_t n) {
  char path[128];
  snprintf(path, sizeof path, "%s/pooler.ini", pg.dir);
  FILE *f = fopen(path, "w");
  fprintf(f,
          "[databases]\npostgres = host=%s port=%d user=postgres\n"
          "[pgbouncer]\nlisten_addr =\nunix_socket_dir = %s\n"
          "listen_port = %d\nauth_type = any\npool_mode = transaction\n"
          "default_pool_size = 8\nmax_client_conn = 2000\n"
          "ignore_startup_parameters = extra_float_digits\n"
          "listen_backlog = 2048\n"
          "pidfile = %s/pooler.pid\nlogfile = %s/pooler.log\n",
          pg.dir, pg.port, pg.dir, pg.port + 1, pg.dir, pg.dir);
  fclose(f);
  char command[400];
  snprintf(command, sizeof command,
           "chown -R postgres %s; setpriv --reuid=postgres --regid=postgres "
           "--clear-groups pgbouncer -d %s >/dev/null",
           pg.dir, path);
  if (system(command)) fail_msg("no pgbouncer");
  snprintf(url, n, "host=%s port=%d user=postgres dbname=postgres", pg.dir,
           pg.port + 1);
}

static void end_pooler(void) {
  char command[160];
  snprintf(command, sizeof command, "kill $(cat %s/pooler.pid)", pg.dir);
  if (system(command)) fprintf(stderr, "the pooler did not end\n");
}

/* A transaction of another session that sees the rows of its beginning. */
static pid_t hold_vacuum(void) {
  char hold[300];
  pid_t pid = fork();
  if (pid) return fleet_sleep(0.5, NULL), pid;
  snprintf(hold, sizeof hold,
           "exec psql -XAtq '%s' -c 'BEGIN ISOLATION LEVEL REPEATABLE READ; "
           "SELECT count(*) FROM fleet.batch; SELECT pg_sleep(100000)' "
           ">/dev/null",
           pg.url);
  execl("/bin/sh", "sh", "-c", hold, (char *)NULL);
  _exit(127);
}

static int bench_claims(int agents, double seconds) {
  char url[192];
  postgres_start(&pg, 30);
  start_pooler(url, sizeof url);
  fill_queue((int)(agents * seconds / 2));
  claim_for(url, agents, seconds, "none");
  postgres_ask(&pg, "UPDATE fleet.batch SET state = 'dropped' WHERE state = "
                    "'queued'; UPDATE fleet.session SET closed = true;"
                    "UPDATE fleet.agent SET gone = true;"
                    "VACUUM ANALYZE fleet.batch; VACUUM ANALYZE fleet.job");
  pid_t holder = hold_vacuum();
  fill_queue((int)(agents * seconds / 2));
  claim_for(url, agents, seconds, "held");
  kill(holder, SIGKILL);
  waitpid(holder, NULL, 0);
  postgres_check(&pg);
  end_pooler();
  postgres_end(&pg);
  return 0;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  int n = argc > 2 ? atoi(argv[2]) : 0, seconds = argc > 3 ? atoi(argv[3]) : 0;
  if (!strcmp(what, "speed")) return bench_speed();
  if (!strcmp(what, "flood")) return bench_flood(n > 0 ? (uint32_t)n : 10000);
  if (!strcmp(what, "claims"))
    return bench_claims(n > 0 ? n : 1000, seconds > 0 ? seconds : 30);
  fprintf(stderr, "usage: fleet speed | flood [JOBS] | claims [AGENTS "
                  "[SECONDS]]\n");
  return 2;
}
