/* SPDX-License-Identifier: Apache-2.0
 * The connection to a fleet's database. */
#include "base/clock.h"
#include "fleet/link.h"
#include "base/thread.h"
#include "fleet/pq_library.h"
#include "fleet/schema.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fleet_link {
  mem_heap *heap;
  pq_library pq;
  char *url;
  PGconn *conn; /* NULL: not connected */
  thread_mutex lock;
  double patience;
  char channel[64]; /* "": it does not listen */
  bool listens;     /* on this connection */
};

static void drop_connection(fleet_link *l) {
  if (l->conn) l->pq.finish(l->conn);
  l->conn = NULL;
  l->listens = false;
}

/* Whether the socket is ready before the time `until`. */
static bool await_socket(fleet_link *l, short events, double until) {
  struct pollfd p = {.fd = l->pq.socket(l->conn), .events = events};
  for (;;) {
    double left = until - clock_now();
    int got = poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
    if (got > 0) return true;
    if (got == 0 && left <= 0) return false;
    if (got < 0 && errno != EINTR) return false;
  }
}

/* ---- connecting --------------------------------------------------------- */

/* libpq's messages are of several lines and name the host. */
static tess_status tell_away(fleet_link *l, const char *what, err_state *e) {
  char line[512];
  const char *said = l->conn ? l->pq.error_message(l->conn) : "";
  err_one_line(*said ? said : "it does not answer", line, sizeof line);
  drop_connection(l);
  return err_set(e, TESS_INFRA, "%s the fleet's database: %s", what, line);
}

/* A server that refuses the user or the database will do so again. */
static bool refuses(const char *said) {
  static const char *const words[] = {"authentication failed",
                                      "does not exist",
                                      "no password",
                                      "invalid connection",
                                      "missing \"=\"",
                                      "pg_hba.conf",
                                      "invalid URI",
                                      "certificate",
                                      "invalid sslmode",
                                      "invalid port",
                                      "could not translate host",
                                      "is not permitted"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(said, words[i])) return true;
  return false;
}

/* libpq's own prints them. */
static void ignore_notice(void *ud, const char *text) { (void)ud, (void)text; }

static tess_status finish_connecting(fleet_link *l, err_state *e) {
  double until = clock_now() + l->patience;
  PostgresPollingStatusType p = PGRES_POLLING_WRITING;
  while (p != PGRES_POLLING_OK) {
    if (l->pq.status(l->conn) == CONNECTION_BAD) p = PGRES_POLLING_FAILED;
    short events = p == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (p == PGRES_POLLING_FAILED || !await_socket(l, events, until)) {
      bool no = refuses(l->pq.error_message(l->conn));
      tess_status s = tell_away(l, "connecting to", e);
      return no ? e->code = TESS_INVALID : s;
    }
    p = l->pq.connect_poll(l->conn);
  }
  l->pq.set_nonblocking(l->conn, 1);
  l->pq.set_notices(l->conn, ignore_notice, NULL);
  return TESS_OK;
}

/* What the address says stands above what is said here. */
static tess_status reconnect(fleet_link *l, err_state *e) {
  static const char *const keywords[] = {"application_name",
                                         "keepalives_idle",
                                         "keepalives_interval",
                                         "keepalives_count",
                                         "tcp_user_timeout",
                                         "dbname",
                                         NULL};
  const char *const values[] = {"tessera", "10",   "5", "3",
                                "15000",   l->url, NULL};
  if (l->conn && l->pq.status(l->conn) == CONNECTION_OK) return TESS_OK;
  drop_connection(l);
  l->conn = l->pq.connect_start(keywords, values, 1);
  if (!l->conn) return err_set(e, TESS_NOMEM, "connecting: out of memory");
  return finish_connecting(l, e);
}

/* ---- calling ------------------------------------------------------------ */

static bool send_all(fleet_link *l, double until) {
  int left;
  while ((left = l->pq.flush(l->conn)) == 1)
    if (!await_socket(l, POLLOUT | POLLIN, until) || !l->pq.consume(l->conn))
      return false;
  return left == 0;
}

/* The last result of what was sent; NULL: there was none in time. */
static PGresult *receive(fleet_link *l, double until) {
  PGresult *last = NULL, *r;
  for (;;) {
    while (l->pq.is_busy(l->conn)) {
      if (!await_socket(l, POLLIN, until) || !l->pq.consume(l->conn)) {
        if (last) l->pq.clear(last);
        return NULL;
      }
    }
    r = l->pq.get_result(l->conn);
    if (!r) return last;
    if (last) l->pq.clear(last);
    last = r;
  }
}

/* States that say that the server goes away, or has no room now. */
static bool is_away(const char *state) {
  static const char *const classes[] = {"08", "57P", "53", "40", "55P03"};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (!strncmp(state, classes[i], strlen(classes[i]))) return true;
  return false;
}

static tess_status take_refusal(fleet_link *l, const PGresult *r,
                                fleet_answer *a, err_state *e) {
  const char *state = l->pq.error_field(r, PG_DIAG_SQLSTATE);
  const char *said = l->pq.error_field(r, PG_DIAG_MESSAGE_PRIMARY);
  if (!state || is_away(state)) {
    tess_status s = err_set(e, TESS_INFRA, "the fleet's database: %s",
                            said ? said : "the connection was lost");
    drop_connection(l);
    return s;
  }
  snprintf(a->state, sizeof a->state, "%s", state);
  return err_set(e, TESS_INVALID, "the fleet: %s", said ? said : state);
}

static tess_status take_result(fleet_link *l, const PGresult *r,
                               fleet_answer *a, err_state *e) {
  ExecStatusType got = l->pq.result_status(r);
  if (got != PGRES_TUPLES_OK && got != PGRES_COMMAND_OK)
    return take_refusal(l, r, a, e);
  a->is_null = l->pq.ntuples(r) == 0 || l->pq.is_null(r, 0, 0);
  if (a->is_null || !a->text.heap) return TESS_OK;
  str_write(&a->text, l->pq.value(r, 0, 0), (size_t)l->pq.length(r, 0, 0));
  return a->text.bad ? err_ran_out(e, a->text.heap, str_status(&a->text),
                                   "an answer of the fleet")
                     : TESS_OK;
}

enum { MOST_PARAMS = 8 };

static tess_status call_now(fleet_link *l, bool binary, const char *sql,
                            uint32_t n, const fleet_param *params,
                            fleet_answer *a, err_state *e) {
  const char *value[MOST_PARAMS];
  int length[MOST_PARAMS], format[MOST_PARAMS];
  double until = clock_now() + l->patience;
  for (uint32_t i = 0; i < n; i++) {
    format[i] = params[i].bytes != NULL;
    value[i] = params[i].bytes ? params[i].bytes : params[i].text;
    length[i] = (int)params[i].n;
  }
  if (!l->pq.send(l->conn, sql, (int)n, NULL, value, length, format, binary) ||
      !send_all(l, until))
    return tell_away(l, "asking", e);
  PGresult *r = receive(l, until);
  if (!r) return tell_away(l, "waiting for", e);
  tess_status s = take_result(l, r, a, e);
  l->pq.clear(r);
  return s;
}

static tess_status listen_again(fleet_link *l, err_state *e) {
  char sql[96];
  fleet_answer a = {.is_null = true};
  if (!l->channel[0] || l->listens) return TESS_OK;
  snprintf(sql, sizeof sql, "LISTEN \"%s\"", l->channel);
  tess_status s = call_now(l, false, sql, 0, NULL, &a, e);
  l->listens = s == TESS_OK;
  return s;
}

/* A connection that was lost while nothing was asked is found only now. */
static tess_status call_locked(fleet_link *l, bool binary, const char *sql,
                               uint32_t n, const fleet_param *params,
                               fleet_answer *a, err_state *e) {
  tess_status s = reconnect(l, e);
  if (s == TESS_OK) s = listen_again(l, e);
  return s == TESS_OK ? call_now(l, binary, sql, n, params, a, e) : s;
}

tess_status fleet_call_as(fleet_link *l, bool binary, const char *sql,
                          uint32_t n, const fleet_param *params,
                          fleet_answer *a, err_state *e) {
  a->is_null = true;
  a->state[0] = '\0';
  err_clear(e);
  thread_lock(&l->lock);
  tess_status s = call_locked(l, binary, sql, n, params, a, e);
  thread_unlock(&l->lock);
  return s;
}

tess_status fleet_call(fleet_link *l, fleet_answer *a, err_state *e,
                       const char *sql, ...) {
  fleet_param params[MOST_PARAMS];
  uint32_t n = 0;
  va_list ap;
  va_start(ap, sql);
  /* A parameter of the statement a text; NULL is SQL's. */
  for (const char *at = strchr(sql, '$'); at; at = strchr(at + 1, '$')) {
    uint32_t number = (uint32_t)strtoul(at + 1, NULL, 10);
    if (number <= n || number > MOST_PARAMS) continue;
    params[n++] = (fleet_param){.text = va_arg(ap, const char *)};
  }
  va_end(ap);
  return fleet_call_as(l, false, sql, n, params, a, e);
}

/* ---- opening ------------------------------------------------------------ */

static tess_status check_schema(fleet_link *l, err_state *e) {
  fleet_answer a = {.is_null = true};
  str_init(&a.text, l->heap);
  tess_status s = fleet_call(l, &a, e, "SELECT fleet.schema_version()");
  long version = s == TESS_OK ? strtol(str_get(&a.text), NULL, 10) : 0;
  bool missing = !strcmp(a.state, "3F000") || !strcmp(a.state, "42883");
  str_free(&a.text);
  if (missing)
    return err_set(e, TESS_UNSUPPORTED,
                   "there is no fleet in this database; `tessera fleet init` "
                   "makes one");
  if (s != TESS_OK || version == FLEET_SCHEMA) return s;
  return err_set(e, TESS_UNSUPPORTED,
                 version > FLEET_SCHEMA
                     ? "the fleet's schema is version %ld, newer than %d, "
                       "which this program knows: bring the program up to date"
                     : "the fleet's schema is version %ld, older than %d, "
                       "which this program needs: `tessera fleet init` brings "
                       "it up to date",
                 version, FLEET_SCHEMA);
}

static tess_status connect_first(fleet_link *l, bool bare, err_state *e) {
  thread_lock(&l->lock);
  tess_status s = reconnect(l, e);
  thread_unlock(&l->lock);
  return s == TESS_OK && !bare ? check_schema(l, e) : s;
}

tess_status fleet_link_open(mem_heap *heap, const char *url, bool bare,
                            fleet_link **out, err_state *e) {
  enum { SECONDS = 10 };
  char why[256];
  *out = NULL;
  err_clear(e);
  fleet_link *l = mem_try_resize(heap, NULL, 0, sizeof *l);
  if (!l) return err_ran_out(e, heap, mem_refusal(heap), "a fleet");
  *l = (fleet_link){.heap = heap, .patience = SECONDS};
  thread_mutex_init(&l->lock);
  l->url = mem_try_resize(heap, NULL, 0, strlen(url) + 1);
  tess_status s = TESS_OK;
  if (!l->url)
    s = err_ran_out(e, heap, mem_refusal(heap), "a fleet");
  else if (!pq_load(&l->pq, why))
    s = err_set(e, TESS_UNSUPPORTED,
                "a fleet needs PostgreSQL's client library: %s", why);
  if (s == TESS_OK) {
    strcpy(l->url, url);
    s = connect_first(l, bare, e);
  }
  if (s == TESS_OK)
    *out = l;
  else
    fleet_link_close(l);
  return s;
}

void fleet_link_close(fleet_link *l) {
  if (!l) return;
  mem_heap *heap = l->heap;
  drop_connection(l);
  thread_mutex_free(&l->lock);
  if (l->url) mem_free(heap, l->url, strlen(l->url) + 1);
  mem_free(heap, l, sizeof *l);
}

mem_heap *fleet_heap(const fleet_link *l) { return l->heap; }

void fleet_set_patience(fleet_link *l, double seconds) {
  thread_lock(&l->lock);
  l->patience = seconds;
  thread_unlock(&l->lock);
}

/* ---- migrating ---------------------------------------------------------- */

tess_status fleet_execute(fleet_link *l, const char *sql, err_state *e) {
  fleet_answer a = {.is_null = true};
  thread_lock(&l->lock);
  tess_status s = reconnect(l, e);
  if (s == TESS_OK) {
    l->pq.set_nonblocking(l->conn, 0);
    PGresult *r = l->pq.exec(l->conn, sql);
    s = take_result(l, r, &a, e);
    l->pq.clear(r);
    if (l->conn) l->pq.set_nonblocking(l->conn, 1);
  }
  thread_unlock(&l->lock);
  return s;
}

/* ---- waiting ------------------------------------------------------------ */

void fleet_listen(fleet_link *l, const char *channel) {
  thread_lock(&l->lock);
  snprintf(l->channel, sizeof l->channel, "%s", channel);
  l->listens = false;
  thread_unlock(&l->lock);
}

/* Whether a notification came; forgets all that did. */
static bool is_woken(fleet_link *l) {
  PGnotify *note;
  bool woken = false;
  thread_lock(&l->lock);
  if (l->conn && !l->pq.consume(l->conn)) drop_connection(l);
  while (l->conn && (note = l->pq.notifies(l->conn))) {
    woken = true;
    l->pq.freemem(note);
  }
  thread_unlock(&l->lock);
  return woken;
}

static double slice_of(double seconds) {
  const double slice = 0.05; /* until a stop is noticed */
  return seconds < slice ? seconds : slice;
}

void fleet_sleep(double seconds, const thread_flag *stop) {
  double until = clock_now() + seconds, left;
  while ((left = until - clock_now()) > 0 &&
         !(stop && thread_flag_is_raised(stop))) {
    double t = slice_of(left);
    struct timespec ts = {(time_t)t, (long)((t - (double)(time_t)t) * 1e9)};
    nanosleep(&ts, NULL);
  }
}

void fleet_wait(fleet_link *l, double seconds, const thread_flag *stop) {
  double until = clock_now() + seconds, left;
  while ((left = until - clock_now()) > 0 && !is_woken(l)) {
    if (stop && thread_flag_is_raised(stop)) return;
    if (l->conn && l->listens)
      await_socket(l, POLLIN, clock_now() + slice_of(left));
    else
      fleet_sleep(slice_of(left), stop);
  }
}
