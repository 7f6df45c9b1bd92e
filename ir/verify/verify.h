/* SPDX-License-Identifier: Apache-2.0
 * State of the verifier, and its parts.  They run in the order given here; each
 * relies on what the earlier ones checked. */
#ifndef IR_VERIFY_VERIFY_H
#define IR_VERIFY_VERIFY_H

#include "ir/edit.h"

/* Deeper nesting is refused, which bounds recursion everywhere. */
enum {
  IR_MAX_VALUE_DEPTH = 64,
  IR_MAX_VALUE_SIZE = 1 << 20
};

typedef struct verifier {
  const ir_program *p;
  arena *scratch;
  strbuf *why;
  uint8_t *reached;   /* by statement: 1 if it is in a function's tree */
  uint8_t *annotated; /* by annotation: some statement has it */
  ir_stmt *keyed;     /* by name: the last statement with such a key */
  ir_expr *live;      /* by expression: nonzero if used; NULL: unknown */
} verifier;

/* Writes what is wrong; always false. */
bool verify_fail(verifier *v, const char *fmt,
                 ...) __attribute__((format(printf, 2, 3)));
/* The same, with the statement's head after the message. */
bool verify_fail_at(verifier *v, ir_stmt s, const char *fmt,
                    ...) __attribute__((format(printf, 3, 4)));

/* Every index is in range of its table, and references that must go backwards
 * do. */
bool verify_tables(verifier *v);
/* The trees: links are consistent, no statement is dead, shared or too deep. */
bool verify_links(verifier *v);
/* References of blocks whose length depends on the shape of a buffer. */
bool verify_blocks(verifier *v);
/* Marks the expressions that are used. */
void verify_mark_live(verifier *v);
/* Operands have the types that their node requires: of nodes that are used, or
 * of all if that is unknown. */
bool verify_nodes(verifier *v);
/* The cached facts of nodes (bounds, flags) are what follows from them. */
bool verify_facts(verifier *v);
/* For loaded tables, in which the cached facts have not been computed yet:
 * checks enough to compute them. */
bool verify_untrusted(const ir_program *p, arena *scratch, strbuf *why);
/* The expressions of each statement have the right kind and type; variables and
 * buffers are bound where they are used; block names are unique. */
bool verify_scopes(verifier *v);
/* Accesses are inside the regions that their blocks declare. */
bool verify_regions(verifier *v);
/* No instance of an access whose guards hold is out of bounds, as far as can be
 * decided (verify_instance.c); v->p is well-formed. */
bool verify_instances(verifier *v);

#endif
