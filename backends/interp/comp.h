/* SPDX-License-Identifier: Apache-2.0
 * The compiler's state, shared by what compiles expressions (emit.c),
 * accesses (access.c) and statements (compile.c). */
#ifndef BACKENDS_INTERP_COMP_H
#define BACKENDS_INTERP_COMP_H

#include "backends/interp/code.h"
#include "backends/interp/plan.h"
#include "ir/analysis/unconditional.h"
#include "ir/edit.h"

typedef struct comp {
  code_unit *k;
  const ir_program *p;
  plan plan;
  arena *memory;
  interp_error *e;
  bool residue, checks;
  ir_stmt stmt;            /* being compiled */
  uint32_t kernel;         /* open one, counted from 1; 0: none */
  uint16_t kernel_level;
  ir_stmt warp;            /* open loop of a warp's own; 0: none */
  /* Registers of values: a node has as many, in a row, as it has lanes. */
  uint32_t *reg;           /* node -> first one, 0: none yet */
  uint32_t *var_reg;       /* var -> first one */
  uint32_t *buf_index;     /* buf -> in k->bufs */
  bool keep;               /* what is computed now stays valid */
  bool acts;               /* calls are made now for what they do, too */
  ir_unconditional sure;            /* what both sides of choices compute */
} comp;

/* ---- registers and instructions (emit.c) -------------------------------- */

uint32_t comp_regs(comp *c, uint32_t n);
code_insn *comp_op(comp *c, code_op op, uint32_t d, uint32_t a, uint32_t b);
static inline uint32_t comp_here(const comp *c) { return c->k->insn.n; }
/* A register that holds integer v from the start. */
uint32_t comp_const(comp *c, int64_t v);
/* What was computed since the mark was taken is not valid any more; 0: all
 * that was not to stay valid. */
static inline uint32_t comp_mark(const comp *c) { return c->k->undo.n; }
void comp_undo(comp *c, uint32_t mark);

/* The register with lane `lane` of e, computing it where need be. */
uint32_t comp_lane(comp *c, ir_expr e, uint32_t lane);
static inline uint32_t comp_index(comp *c, ir_expr e) {
  return comp_lane(c, e, 0);
}
/* The expressions that are computed at the start of statement s. */
void comp_hoisted(comp *c, ir_stmt s);

/* ---- accesses (access.c) ------------------------------------------------ */

/* The access to buf at the n indices in registers idx. */
uint32_t comp_access(comp *c, ir_buf buf, uint32_t n, const uint32_t *idx,
                     bool store);
/* The k->bufs entry of a buffer. */
uint32_t comp_buf(comp *c, ir_buf buf);

#endif
