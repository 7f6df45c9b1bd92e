/* SPDX-License-Identifier: Apache-2.0
 * The parts of the strategy "process", whose candidates a process proposes that
 * speaks JSON on its standard streams, a line each: the process
 * (process_pipe.c), what it is told (process_ask.c), what its answers hold
 * (process_answer.c), and the strategy (process.c). */
#ifndef SEARCH_STRATEGY_PROCESS_H
#define SEARCH_STRATEGY_PROCESS_H

#include "base/json.h"
#include "search/strategy/strategy.h"

#include <sys/types.h>

enum { PROCESS_MOST_LINE = 4 << 20 }; /* bytes of an answer */

/* ---- the process (process_pipe.c) --------------------------------------- */

typedef struct process_pipe {
  pid_t pid;                 /* 0: it does not run */
  int fd;                    /* of both its standard streams; -1: none */
  strbuf in;                 /* what it said */
} process_pipe;

typedef enum process_event {
  PROCESS_LINE,              /* `in` is a line, without its end */
  PROCESS_LATE,              /* it said none in time */
  PROCESS_ENDED,             /* it is gone, or reads nothing more */
  PROCESS_LONG,              /* it says more than a line may hold */
  PROCESS_STOPPED,           /* the flag was raised */
  PROCESS_NOMEM
} process_event;

void process_init(process_pipe *p, mem_heap *heap);
/* By /bin/sh, as the leader of a group of its own; 0, or the errno that says
 * why not. */
int process_start(process_pipe *p, const char *command);
/* Drops what was said before, sends the text and waits for a line. */
process_event process_ask(process_pipe *p, const strbuf *text, double seconds,
                          const thread_flag *stop);
/* Ends it, with those that it started; before, it has so many seconds to do so
 * itself, since its input has ended.  "ended with status 1", "was killed by
 * signal 9", "closed its streams" (n 0: not asked). */
void process_end(process_pipe *p, double patience, char *how, size_t n);
void process_free(process_pipe *p);

/* ---- what it is told (process_ask.c) ------------------------------------ */

/* Appends the line that a process is greeted with: the task, and the space. */
tess_status process_put_task(tess_session *s, strbuf *out);
/* Appends the line that asks for n candidates: what is known, of the history
 * from number `from` on what came of each.  `told`: members of a list, what of
 * the last answer was of no use. */
tess_status process_put_request(tess_session *s, uint32_t n, uint32_t from,
                                const strbuf *told, strbuf *out);

/* ---- what it says (process_answer.c) ------------------------------------ */

/* A candidate of an answer; its decisions are in the arena. */
typedef struct process_wish {
  search_cand c;
  bool repair;               /* decisions that do not fit are mended */
} process_wish;

/* The list of candidates in a line; NULL: it is no answer, *e says why.  To be
 * freed by json_decref(*whole). */
json_t *process_read(const strbuf *line, json_t **whole, err_state *e);
/* The candidate; else the error of the context says what is wrong. */
tess_status process_take(tess_session *s, const json_t *v, arena *to,
                         process_wish *out);

extern const search_strategy search_strategy_process;

#endif
