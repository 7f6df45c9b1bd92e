/* SPDX-License-Identifier: Apache-2.0
 * The public objects of this floor, for the api.c of the floors above.
 * Programs are immutable once made and shared by counting references. */
#ifndef IR_OBJECT_H
#define IR_OBJECT_H

#include "base/context.h"
#include "ir/build/describe.h"
#include "ir/ir.h"

struct tess_builder {
  tess_context *c;
  uint32_t refs;           /* programs with constants hold one each */
  ir_builder b;
};

struct tess_program {
  tess_context *c;
  uint32_t refs;
  tess_builder *constants; /* whose memory its constants are; NULL: none */
  tess_program *origin;    /* held: what was described, where this was made
                            * of it and has sizes; else NULL */
  int64_t *extent;         /* of its parameters, one after the other; NULL: */
  uint32_t nextents;       /* nobody has asked for them */
  ir_program p;
};

/* A new program that is a copy of p, which was made of `from` (NULL: of
 * none), and shares its constants; unwinds. */
tess_program *program_new(tess_context *c, const ir_program *p,
                          tess_program *from);
/* An empty one to be filled; unwinds. */
tess_program *program_empty(tess_context *c);
/* The program that ir_save wrote, into an empty one that then owns all of its
 * memory; may unwind. */
tess_status program_restore(tess_program *p, arena *scratch,
                            const void *bytes, size_t n, strbuf *why);
/* Copies the contents of p's constants, wherever they lie, into memory that p
 * keeps alive; unwinds. */
void program_own_constants(tess_program *p);
tess_program *program_hold(tess_program *p);   /* tess_program_free drops */

#endif
