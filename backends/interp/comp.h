/* SPDX-License-Identifier: Apache-2.0
 * State of the bytecode compiler, shared by expressions (emit.c), accesses
 * (access.c) and statements (compile.c). */
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
  ir_stmt warp;            /* open loop executed once per warp; 0: none */
  /* Registers of values: a node has as many, consecutive, as it has lanes. */
  uint32_t *reg;           /* node -> first one, 0: none yet */
  uint32_t *var_reg;       /* var -> first one */
  uint32_t *buf_index;     /* buf -> in k->bufs */
  ir_buf atomically;       /* the current statement updates it so; 0: none */
  bool keep;               /* values computed now stay valid */
  bool acts;               /* calls are also made for their side effects */
  ir_unconditional must;   /* evaluated on both sides of choices */
} comp;

/* ---- registers and instructions (emit.c) -------------------------------- */

uint32_t comp_regs(comp *c, uint32_t n);
code_insn *comp_op(comp *c, code_op op, uint32_t d, uint32_t a, uint32_t b);
static inline uint32_t comp_here(const comp *c) { return c->k->insn.n; }
/* A register preloaded with integer v. */
uint32_t comp_const(comp *c, int64_t v);
/* Invalidates the values computed since the mark was taken; 0: all but those
 * hoisted to their scope. */
static inline uint32_t comp_mark(const comp *c) { return c->k->undo.n; }
void comp_undo(comp *c, uint32_t mark);

/* The register with lane `lane` of e, emitting its computation unless a valid
 * one exists. */
uint32_t comp_lane(comp *c, ir_expr e, uint32_t lane);
static inline uint32_t comp_index(comp *c, ir_expr e) {
  return comp_lane(c, e, 0);
}
/* Emits the expressions that are hoisted to the start of statement s. */
void comp_hoisted(comp *c, ir_stmt s);

/* ---- accesses (access.c) ------------------------------------------------ */

/* The access to buf at the n indices in registers idx. */
uint32_t comp_access(comp *c, ir_buf buf, uint32_t n, const uint32_t *idx,
                     bool store);
/* The k->bufs entry of a buffer. */
uint32_t comp_buf(comp *c, ir_buf buf);

#endif
