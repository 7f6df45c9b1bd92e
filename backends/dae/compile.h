/* SPDX-License-Identifier: Apache-2.0
 * Compiling a lowered program to streams: the program's loops are executed at
 * compile time, down to nests that are one copy, one product or one operation
 * on vectors, which become instructions.  What uses no on-chip memory is left
 * to the host, which is called between streams. */
#ifndef BACKENDS_DAE_COMPILE_H
#define BACKENDS_DAE_COMPILE_H

#include "backends/backend.h"
#include "backends/dae/depend.h"
#include "base/map.h"

/* A stream, after which the host is called. */
typedef struct dae_item {
  dae_stream s;
  uint64_t cycles;       /* it takes, whatever the data are */
  uint32_t host;         /* number of the call's function plus 1; 0: none */
  int64_t *value;        /* of its sizes, in the arena */
} dae_item;

/* A run of sibling statements that the host executes, as a function of buffers
 * and of the variables around it. */
typedef struct dae_host {
  ir_stmt first, last;
  uint32_t nbuf, nvar;
  ir_buf *buf;
  ir_var *var;
  strbuf code;           /* compiled, for the host's processor */
} dae_host;

typedef struct dae_compile {
  ir_program *p;
  arena *scratch;
  mem_heap *heap;
  const dae_machine *m;
  err_state *e;
  bool failed;           /* e says why */
  uint8_t *on_machine;   /* statement -> has parts that the machine does */
  int64_t *value;        /* of variables that are bound */
  bool *bound;
  uint64_t *dram;        /* byte address of buffers in memory, plus 1 */
  uint64_t dram_bytes;
  uint32_t *sram;        /* first entry of buffers on the chip */
  uint32_t top[DAE_NBUFFERS]; /* entries allocated */
  bool *clobbered;       /* accumulators that hold something else than their
                          * buffer: an operation was done in place */
  VEC(dae_item) item;
  VEC(dae_host) host;
  ir_program apart;      /* the program of one of them */
  map host_at;           /* statement -> number in host */
  /* Micro-operations (uops.c): */
  map uop_known;         /* hash -> number in uop_run */
  VEC(struct dae_uop_run) uop_run;
  VEC(uint32_t) uop;     /* those of the runs */
  uint32_t uop_top, uop_era;
} dae_compile;

/* Micro-operations that were loaded together. */
typedef struct dae_uop_run {
  uint32_t first, n;     /* in dae_compile.uop */
  uint32_t at, era;      /* on the chip, while era is that of now */
} dae_uop_run;

/* Sets c->failed and UNSUPPORTED with the function's name, and the statement
 * (0: none). */
void dae_refuse(dae_compile *c, ir_stmt at, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));

/* ---- evaluation (evaluate.c) ------------------------------------------- */

/* The value of an integer expression over bound variables; false: it has
 * others, or loads. */
bool dae_evaluate(const dae_compile *c, ir_expr e, int64_t *out);

/* ---- nests (nest.c) ----------------------------------------------------- */

enum { DAE_MAX_LOOPS = 16 };

/* An affine form over a nest's loops, counted from 0. */
typedef struct dae_form {
  int64_t base, step[DAE_MAX_LOOPS];
} dae_form;

/* Loops around one leaf, no virtual thread among them: a store, or a tensor
 * intrinsic's call. */
typedef struct dae_nest {
  uint32_t n;
  ir_var var[DAE_MAX_LOOPS];
  int64_t lo[DAE_MAX_LOOPS], extent[DAE_MAX_LOOPS];
  ir_stmt leaf;
  bool is_call, is_empty; /* empty: it has no iterations */
} dae_nest;

/* false: the statement is no such nest, for the bound variables' values. */
bool dae_find_nest(dae_compile *c, ir_stmt s, dae_nest *out);
/* false: the index is not affine in the nest's loops. */
bool dae_find_form(dae_compile *c, const dae_nest *n, ir_expr e,
                   dae_form *out);
/* Restricts one loop each to the iterations for which a conjunction of
 * comparisons holds: [from, to) of loop i.  false: it is no such. */
bool dae_find_limits(dae_compile *c, const dae_nest *n, ir_expr cond,
                     int64_t *from, int64_t *to);

/* Loops over elements or entries, with what they step in each operand.  What is
 * outside of [from, to) of a loop is zero, not read. */
enum { DAE_MAX_OPERANDS = 3 };
typedef struct dae_loops {
  uint32_t n, operands;
  int64_t extent[DAE_MAX_LOOPS], from[DAE_MAX_LOOPS], to[DAE_MAX_LOOPS];
  int64_t step[DAE_MAX_OPERANDS][DAE_MAX_LOOPS];
  int64_t base[DAE_MAX_OPERANDS];
} dae_loops;

/* Of loops over elements, those that run through the `entry` elements of one
 * entry are taken away: operands step by entries then.  false: not all operands
 * run through it alike, or they do not begin at entries. */
bool dae_take_lanes(dae_loops *l, int64_t entry);

/* ---- instructions ------------------------------------------------------- */

/* Appends to the stream; gives the number. */
uint32_t dae_emit(dae_compile *c, const dae_insn *i);
/* What a nest's leaf does.  RETRY: not as one; the outermost loop is executed,
 * and what is in it is tried. */
typedef enum dae_tried { DAE_DONE, DAE_RETRY, DAE_REFUSED } dae_tried;
dae_tried dae_emit_copy(dae_compile *c, const dae_nest *n);     /* copy.c */
dae_tried dae_emit_product(dae_compile *c, const dae_nest *n);  /* matrix.c */
dae_tried dae_emit_vector(dae_compile *c, const dae_nest *n);   /* vector.c */
dae_tried dae_emit_store(dae_compile *c, const dae_nest *n);    /* store.c */
/* Operations that leave the value of `e` in the accumulators of an access to
 * `b` by index form `at`; *changed: some were needed (vector.c). */
dae_tried dae_emit_tree(dae_compile *c, const dae_nest *n, ir_expr e, ir_buf b,
                        const dae_form *at, bool *changed);
/* The load of accumulators that the expression is, or is but for a cast of
 * bytes to int32, as which they are loaded; 0: something else. */
ir_expr dae_acc_load(const dae_compile *c, ir_expr e);
/* dst = dst op imm. */
dae_tried dae_emit_imm(dae_compile *c, const dae_nest *n, dae_alu op,
                       int64_t imm, ir_buf b, const dae_form *at);
/* Sets the nest's loops, and operand k as the access of `b` at the form:
 * absolute, in elements (loops.c). */
void dae_set_loops(const dae_nest *n, dae_loops *l);
void dae_set_operand(dae_compile *c, dae_loops *l, uint32_t k, ir_buf b,
                     const dae_form *at);
/* The only index of a load or store of a flat buffer. */
static inline ir_expr dae_index(const dae_compile *c, const ir_node *load) {
  return c->p->arg.v[load->b];
}
static inline uint32_t dae_memory_of(const dae_compile *c, ir_buf b) {
  return dae_of_scope(c->p->buf.v[b].scope);
}

/* Emits an instruction of the matrix or the vector unit (`i` without loops and
 * micro-operations) for all iterations (loops.c). */
dae_tried dae_emit_loops(dae_compile *c, const dae_insn *i,
                         const dae_loops *l);
/* Puts micro-operations on the chip: *at is the first (uops.c). false: there
 * are too many. */
bool dae_place_uops(dae_compile *c, uint32_t n, const uint32_t *word,
                    uint32_t *at);
/* Marks accumulators as clobbered or not; or asks: is one? */
void dae_set_clobbered(dae_compile *c, const dae_loops *l, uint32_t operand,
                       bool to);
bool dae_is_clobbered(dae_compile *c, const dae_loops *l, uint32_t operand);

/* ---- transfers (transfer.c) --------------------------------------------- */

/* Moves a box: operand 0 of the loops is on the chip, operand 1 in memory, both
 * in entries.  RETRY: no sequence of 2-D transfers does it. */
dae_tried dae_emit_transfer(dae_compile *c, dae_op op, dae_memory mem,
                            const dae_loops *l);

/* ---- the whole ---------------------------------------------------------- */

/* Compiles the parts of the host (host.c). */
tess_status dae_compile_hosts(dae_compile *c);
/* The function for the siblings first .. last (host.c). */
uint32_t dae_host_of(dae_compile *c, ir_stmt first, ir_stmt last);

/* Everything but the hosts' code.  Unwinds; to be freed in any case. */
tess_status dae_compile_program(dae_compile *c, ir_program *p, arena *scratch,
                                const dae_machine *m, err_state *e);
void dae_compile_free(dae_compile *c);

#endif
