/* SPDX-License-Identifier: Apache-2.0
 * The connection to a fleet's database: calls of its functions with a time
 * limit, reconnecting, waiting to be woken.
 *
 * Several threads may call at once; one call is on its way at a time.  No call
 * waits for ever: a server that does not answer is TESS_INFRA, as one that
 * cannot be reached, and the next call connects anew. */
#ifndef FLEET_LINK_H
#define FLEET_LINK_H

#include "base/error.h"
#include "base/str.h"
#include "base/thread.h"

typedef struct fleet_link fleet_link;

/* A parameter: a text, or bytes where `bytes` is not NULL; both NULL: NULL. */
typedef struct fleet_param {
  const char *text;
  const void *bytes;
  size_t n;
} fleet_param;

/* What a call gave: the first column of the first row. */
typedef struct fleet_answer {
  strbuf text;   /* the caller's; heap NULL: it is not wanted */
  bool is_null;  /* or there is no row */
  char state[6]; /* SQLSTATE of a refusal; "": none, or no answer */
} fleet_answer;

/* What the functions of schema.sql refuse with. */
#define FLEET_NAME_TAKEN "TF002"
#define FLEET_UNKNOWN_AGENT "TF003"
#define FLEET_NOBODY "TF004"
#define FLEET_STOPPED "TF005"

/* Connects and looks whether the schema is one that this program knows.
 * UNSUPPORTED: there is no libpq, or no such schema; INFRA; INVALID: the server
 * refuses (a password, an address).  `bare`: there need be no schema. */
tess_status fleet_link_open(mem_heap *heap, const char *url, bool bare,
                            fleet_link **out, err_state *e);
void fleet_link_close(fleet_link *l);
mem_heap *fleet_heap(const fleet_link *l);

/* Seconds that a call may take; at first 10. */
void fleet_set_patience(fleet_link *l, double seconds);

/* Runs one statement.  INFRA: the server is away or did not answer; whether it
 * did what it was asked is not known.  Else what it refused is INVALID, with
 * its message and a->state.  `binary`: the answer is bytes. */
tess_status fleet_call_as(fleet_link *l, bool binary, const char *sql,
                          uint32_t n, const fleet_param *params,
                          fleet_answer *a, err_state *e);
/* The same with texts, NULL behind the last; answers text. */
tess_status fleet_call(fleet_link *l, fleet_answer *a, err_state *e,
                       const char *sql, ...);

/* From now on whoever waits is woken by notifications of that channel. */
void fleet_listen(fleet_link *l, const char *channel);
/* Waits until a notification, `seconds`, or `stop` is raised. */
void fleet_wait(fleet_link *l, double seconds, const thread_flag *stop);
/* Waits that long, or until `stop` is raised; NULL: never. */
void fleet_sleep(double seconds, const thread_flag *stop);

#endif
