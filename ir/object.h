/* SPDX-License-Identifier: Apache-2.0
 * The public program object, for the api.c of the layers above.  Programs are
 * immutable and reference-counted. */
#ifndef IR_OBJECT_H
#define IR_OBJECT_H

#include "base/context.h"
#include "ir/build/describe.h"
#include "ir/ir.h"

struct tess_builder {
  tess_context *c;
  ir_builder b;
};

/* The status of a public call that got NULL where it needs a value, with a
 * message unless that is the builder. */
tess_status builder_null(tess_builder *b);

struct tess_program {
  tess_context *c;
  uint32_t refs;
  bool holds_constants;    /* that its program has */
  tess_program *origin;    /* a reference to the description it was made of, if
                            * that has sizes; else NULL */
  int64_t *extent;         /* cached extents of its parameters, concatenated;
                            * NULL: not computed yet */
  uint32_t nextents;
  ir_program p;
};

/* A new program that is a copy of p, made of `from` (NULL: of none), sharing
 * its constants; unwinds. */
tess_program *program_new(tess_context *c, const ir_program *p,
                          tess_program *from);
/* A new empty program, to be filled; unwinds. */
tess_program *program_empty(tess_context *c);
/* Loads what ir_save wrote into an empty program, which then owns all of its
 * memory; may unwind. */
tess_status program_restore(tess_program *p, arena *scratch, const void *bytes,
                            size_t n, strbuf *why);
/* Holds the contents of p's constants, which another program or a builder
 * holds. */
void program_hold_constants(tess_program *p);
tess_program *program_hold(tess_program *p);   /* tess_program_free drops it */

#endif
