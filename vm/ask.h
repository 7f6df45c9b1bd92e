/* SPDX-License-Identifier: Apache-2.0
 * What queries about schedules share: a question of a random variable, and the
 * statement or region that it refers to. */
#ifndef TESS_VM_ASK_H
#define TESS_VM_ASK_H
#include "schedule/sch.h"
#include "vm/api.h"

typedef struct ask_question {
  tess_schedule *s;
  tess_rv rv;
  ir_stmt stmt; /* the statement it refers to, if any */
  const char *key;
  int write;
  uint32_t index;
  int64_t *value, most, least;
  int *flag;
  tess_rv around, *var;
  uint64_t *mask;
  char **text;
  tess_loop_info *loop;
  tess_block_info *block;
  tess_access_info *access;
} ask_question;

/* A failure that names the variable. */
tess_status ask_fail(ask_question *q, tess_status st, const char *what);
/* The live statement that q->rv refers to, of that kind (IR_DEAD: any), goes
 * to q->stmt. */
tess_status ask_find_stmt(ask_question *q, ir_kind kind);
/* The region of the access that is asked about, and its block to q->stmt. */
tess_status ask_find_region(ask_question *q, ir_region *out);
/* Analyses allocate from the machine's scratch. */
sch_state *ask_analysis(ask_question *q);
#endif
