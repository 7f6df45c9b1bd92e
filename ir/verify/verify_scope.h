/* SPDX-License-Identifier: Apache-2.0
 * Who binds what, and what expressions need, while verifying. */
#ifndef IR_VERIFY_VERIFY_SCOPE_H
#define IR_VERIFY_VERIFY_SCOPE_H

#include "ir/verify/verify.h"

/* Serial numbers of binders; 0 means "bound nowhere" for a variable or
 * buffer and "needs nothing" for an expression. */
enum { ALWAYS = 1 };
#define NEVER UINT32_MAX
#define CLASH UINT32_MAX

typedef struct need {
  uint32_t latest; /* the last binder needed */
  ir_stmt level;   /* the block whose loops are used; 0: no loop */
  uint32_t formal; /* the reducer whose formals are used */
} need;

typedef struct scopes {
  verifier *v;
  uint32_t serials;    /* given out so far */
  uint32_t *var, *buf; /* the binder of each */
  ir_stmt *var_level;  /* of a loop variable: the block around its loop */
  uint32_t *formal;    /* of a formal: its reducer */
  uint32_t *stmt;      /* the serial of each statement */
  ir_stmt *level_of;   /* the block each statement stands in */
  uint8_t *active;     /* by serial: it encloses the place looked at */
  need *need;          /* by expression */
} scopes;

bool scopes_init(scopes *x, verifier *v);

#endif
