/* SPDX-License-Identifier: Apache-2.0
 * What the files of the verifier share.  They run in the order given here;
 * each may rely on what those before it have made sure of. */
#ifndef IR_VERIFY_VERIFY_H
#define IR_VERIFY_VERIFY_H

#include "ir/edit.h"

/* Deeper nesting is refused: everything may then recurse. */
enum {
  IR_MAX_VALUE_DEPTH = 64,
  IR_MAX_VALUE_SIZE = 1 << 20
};

typedef struct verifier {
  const ir_program *p;
  arena *scratch;
  strbuf *why;
  uint8_t *reached;   /* by statement: 1 when it stands in a function */
  uint8_t *annotated; /* by annotation: it is some statement's */
  ir_stmt *keyed;     /* by name: the last statement with such a key */
  ir_expr *live;      /* by expression: not 0 when used; NULL: not known */
} verifier;

/* Says what is wrong; always false. */
bool verify_fail(verifier *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, with the statement's head after the message. */
bool verify_fail_at(verifier *v, ir_stmt s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Every index lies in its table, and what must refer backwards does. */
bool verify_tables(verifier *v);
/* The trees: links agree, nothing dead or shared, not too deep. */
bool verify_links(verifier *v);
/* What blocks refer to by the shape of a buffer. */
bool verify_blocks(verifier *v);
/* Finds out which expressions are used. */
void verify_mark_live(verifier *v);
/* Operands have the types that their node needs: where it is used, or
 * everywhere when that is not known. */
bool verify_nodes(verifier *v);
/* What is kept about nodes (bounds, flags) is what follows from them. */
bool verify_facts(verifier *v);
/* For tables from elsewhere, in which what is kept about nodes has not been
 * worked out yet: enough for working it out. */
bool verify_untrusted(const ir_program *p, arena *scratch, strbuf *why);
/* What each statement holds is of the right kind and type; variables and
 * buffers are bound where they are used; names of blocks. */
bool verify_scopes(verifier *v);
/* Accesses lie in the regions that their blocks declare. */
bool verify_regions(verifier *v);

#endif
