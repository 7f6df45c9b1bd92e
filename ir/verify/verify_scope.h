/* SPDX-License-Identifier: Apache-2.0
 * Binders and scopes: state of the verifier's fourth part. */
#ifndef IR_VERIFY_VERIFY_SCOPE_H
#define IR_VERIFY_VERIFY_SCOPE_H

#include "ir/verify/verify.h"

/* Serial numbers of binders; 0 means "not bound" for a variable or buffer and
 * "requires nothing" for an expression. */
enum { ALWAYS = 1 };
#define NEVER UINT32_MAX
#define CLASH UINT32_MAX

typedef struct need {
  uint32_t latest; /* the last binder required */
  ir_stmt level;   /* the block whose loops are used; 0: no loop */
  uint32_t formal; /* the reducer whose formals are used */
} need;

typedef struct scopes {
  verifier *v;
  uint32_t serials;    /* assigned so far */
  uint32_t *var, *buf; /* the binder of each */
  ir_stmt *var_level;  /* of a loop variable: the block around its loop */
  uint32_t *formal;    /* of a formal: its reducer */
  uint32_t *stmt;      /* the serial of each statement */
  ir_stmt *level_of;   /* the block around each statement */
  uint8_t *active;     /* by serial: it encloses the current place */
  need *need;          /* by expression */
} scopes;

bool scopes_init(scopes *x, verifier *v);

#endif
