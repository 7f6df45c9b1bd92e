/* SPDX-License-Identifier: Apache-2.0
 * The strategy "process": a process that speaks JSON on its standard streams
 * proposes.  What it proposes is checked as any trace is; a proposal that is
 * none, an answer that is none or is not given in time, and its end cost a
 * trial each.  One that is gone is started again; where that happens several
 * times in a row the run ends. */
#include "search/strategy/process.h"

#include "base/clock.h"
#include "base/hash.h"
#include "vm/text/text.h"

#include <stdio.h>

enum { PROCESS_TIMEOUT, PROCESS_COMMAND, PROCESS_OPTIONS };
enum { MOST_LOSSES = 3 }; /* in a row */

typedef struct process {
  const double *option;
  const char *command;
  strategy_batch *batch;
  process_pipe pipe;
  strbuf text;   /* of the request */
  strbuf told;   /* what of the last answer was of no use */
  json_t *whole; /* the answer */
  arena own;     /* decisions in it */
  uint32_t from; /* of the history, that it was told of */
  uint32_t losses;
} process;

/* A batch that is asked for. */
typedef struct asking {
  process *p;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
} asking;

/* ---- what is of no use -------------------------------------------------- */

/* A refusal with its place, as "(at line 3, instruction 1)", in one line. */
static void put_refusal(const char *message, const char *place, char *line,
                        size_t room) {
  char text[400];
  snprintf(text, sizeof text, *place ? "%.280s (at %.100s)" : "%.280s", message,
           place);
  err_one_line(text, line, room);
}

static void tell(process *p, const char *line) {
  str_puts(&p->told, p->told.n ? "," : "");
  vm_write_string(&p->told, line, strlen(line));
}

/* A trial is lost; the host is told of the first.  `whose` it is, as
 * "candidate 3: ", or "". */
static tess_status waste(asking *a, const char *whose, const char *why) {
  char line[512], told[560];
  err_one_line(why, line, sizeof line);
  snprintf(told, sizeof told, "%s%s", whose, line);
  tell(a->p, told);
  if (!a->s->wasted.n)
    ctx_warn(a->s->c, hash_bytes(a->p->command, strlen(a->p->command)),
             "the proposing process '%s': %s; this and its like cost a trial "
             "each",
             a->p->command, told);
  return session_waste(a->s, line);
}

/* The process is gone, or is now. */
static tess_status lose(asking *a, const char *what) {
  char why[256];
  process_end(&a->p->pipe, 0, NULL, 0);
  snprintf(why, sizeof why, "%s", what);
  tess_status st = waste(a, "", why);
  if (st != TESS_OK || ++a->p->losses < MOST_LOSSES) return st;
  return ctx_fail(a->s->c, TESS_INFRA,
                  "the proposing process '%s' was lost %d times in a row: %s",
                  a->p->command, MOST_LOSSES, why);
}

static tess_status lose_ended(asking *a) {
  char how[64], why[128];
  process_end(&a->p->pipe, 0.1, how, sizeof how);
  snprintf(why, sizeof why, "it %s before it answered", how);
  return lose(a, why);
}

/* ---- candidates --------------------------------------------------------- */

static bool is_proposed_before(const asking *a, const search_cand *c) {
  return session_knows(a->s, c) ||
         map_get(&a->p->batch->taken, c->hash) != MAP_NONE;
}

/* Why the candidate does not replay, which is found by trying it alone. */
static void find_refusal(asking *a, const search_cand *c, char *why, size_t n) {
  tess_candidate view;
  tess_program *p = NULL;
  session_to_public(c, &view);
  snprintf(why, n, "the target's checks refuse it");
  if (tess_session_program(a->s, &view, &p) != TESS_OK)
    put_refusal(tess_error(a->s->c)->message, tess_error(a->s->c)->place, why,
                n);
  tess_program_free(p);
  ctx_clear(a->s->c);
}

static tess_status count_known(asking *a, uint32_t i) {
  char line[64];
  snprintf(line, sizeof line, "candidate %u was proposed before", i + 1);
  tell(a->p, line);
  funnel_add(&a->s->total, &a->s->c->heap, FUNNEL_DUPLICATE, "", "", 0);
  return TESS_OK;
}

static tess_status waste_candidate(asking *a, uint32_t i, const char *why) {
  char whose[32];
  snprintf(whose, sizeof whose, "candidate %u: ", i + 1);
  return waste(a, whose, why);
}

/* What was measured is no trial, and nothing else. */
static tess_status take_wish(asking *a, uint32_t i, process_wish *w) {
  char why[400];
  search_order o = {.how = w->repair ? SEARCH_REPAIR : SEARCH_GIVEN,
                    .a = &w->c};
  search_cand made;
  w->c.hash = search_hash(w->c.sketch, w->c.n, w->c.d);
  if (is_proposed_before(a, &w->c)) return count_known(a, i);
  tess_status st = session_make(a->s, 1, &o, &made);
  if (st != TESS_OK) return st;
  if (!made.d) {
    find_refusal(a, &w->c, why, sizeof why);
    return waste_candidate(a, i, why);
  }
  if (is_proposed_before(a, &made)) return count_known(a, i);
  map_put(&a->p->batch->taken, made.hash, 1);
  session_to_public(&made, &a->out[(*a->got)++]);
  return TESS_OK;
}

/* Memory that runs out is the run's fault and ends it, as an interruption. */
static bool ends_the_run(tess_status st) {
  return st == TESS_NOMEM || st == TESS_CANCELLED;
}

static tess_status take_candidate(asking *a, uint32_t i, const json_t *v) {
  process_wish w;
  tess_status st = process_take(a->s, v, &a->p->own, &w);
  if (ends_the_run(st)) return st;
  if (st == TESS_OK) return take_wish(a, i, &w);
  char why[400];
  put_refusal(tess_error(a->s->c)->message, tess_error(a->s->c)->place, why,
              sizeof why);
  ctx_clear(a->s->c);
  return waste_candidate(a, i, why);
}

static void drop_answer(process *p) {
  json_decref(p->whole);
  p->whole = NULL;
}

/* Those behind the first n are not looked at. */
static tess_status take_answer(asking *a) {
  err_state e;
  char why[512];
  const json_t *list = process_read(&a->p->pipe.in, &a->p->whole, &e);
  if (!list) {
    snprintf(why, sizeof why, "its answer is of no use: ");
    size_t at = strlen(why);
    put_refusal(e.message, e.place, why + at, sizeof why - at);
    return waste(a, "", why);
  }
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && i < json_array_size(list) && i < a->n;
       i++)
    st = take_candidate(a, i, json_array_get(list, i));
  return st;
}

/* ---- proposals ---------------------------------------------------------- */

/* Starts the process where none runs; *bad: an errno. */
static tess_status greet(asking *a, int *bad) {
  process *p = a->p;
  *bad = 0;
  if (p->pipe.pid) return TESS_OK;
  *bad = process_start(&p->pipe, p->command);
  p->from = 0;
  return *bad ? TESS_OK : process_put_task(a->s, &p->text);
}

static tess_status ask_process(asking *a, process_event *event) {
  process *p = a->p;
  tess_status st = process_put_request(a->s, a->n, p->from, &p->told, &p->text);
  if (st != TESS_OK) return st;
  str_clear(&p->told);
  p->from = a->s->history.n;
  double start = clock_now();
  *event = process_ask(&p->pipe, &p->text, p->option[PROCESS_TIMEOUT],
                       &a->s->c->stop);
  a->s->waited += clock_now() - start;
  return TESS_OK;
}

static tess_status take_event(asking *a, process_event event) {
  char why[128];
  switch (event) {
  case PROCESS_LINE: a->p->losses = 0; return take_answer(a);
  case PROCESS_LATE:
    snprintf(why, sizeof why, "it did not answer within %g s",
             a->p->option[PROCESS_TIMEOUT]);
    return lose(a, why);
  case PROCESS_ENDED: return lose_ended(a);
  case PROCESS_LONG:
    snprintf(why, sizeof why, "its answer is longer than %d bytes",
             PROCESS_MOST_LINE);
    return lose(a, why);
  case PROCESS_STOPPED: return TESS_OK; /* the run sees that */
  case PROCESS_NOMEM: break;
  }
  return mem_refusal(&a->s->c->heap);
}

static tess_status process_propose(void *state, tess_session *s, uint32_t n,
                                   tess_candidate *out, uint32_t *got) {
  process *p = state;
  asking a = {p, s, n, got, out};
  process_event event = PROCESS_LINE;
  int bad;
  strategy_begin(p->batch, s, n);
  arena_reset(&p->own);
  str_clear(&p->text);
  drop_answer(p);
  tess_status st = greet(&a, &bad);
  if (bad) return lose(&a, strerror(bad));
  if (st == TESS_OK) st = ask_process(&a, &event);
  return st == TESS_OK ? take_event(&a, event) : st;
}

/* ---- life --------------------------------------------------------------- */

static void process_close(void *state) {
  process *p = state;
  process_free(&p->pipe);
  drop_answer(p);
  str_free(&p->text);
  str_free(&p->told);
  arena_free(&p->own);
}

static tess_status process_begin(void *state, tess_session *s,
                                 const double *option, strategy_batch *b) {
  process *p = state;
  mem_heap *h = &s->c->heap;
  *p = (process){.option = option, .command = b->text, .batch = b};
  process_init(&p->pipe, h);
  str_init(&p->text, h);
  str_init(&p->told, h);
  arena_init(&p->own, h);
  return TESS_OK;
}

static const search_option process_options[PROCESS_OPTIONS] = {
    {"timeout", "seconds that it has for an answer", SEARCH_REAL, 60, 0.01,
     86400, NULL},
    {"command", "what /bin/sh runs, the last of the options", SEARCH_TEXT, 0, 0,
     0, ""}};

const search_strategy search_strategy_process = {
    .name = "process",
    .summary = "a process of yours proposes, in JSON",
    .bytes = sizeof(process),
    .begin = process_begin,
    .propose = process_propose,
    .end = process_close,
    .option = process_options,
    .noption = PROCESS_OPTIONS};
