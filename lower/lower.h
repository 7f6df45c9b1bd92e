/* SPDX-License-Identifier: Apache-2.0
 * Lowering: a scheduled program becomes plain loops over flat memory.
 *
 * The passes of passes.def run over the program in place (callers lower a
 * copy), one a file, in that order.  After all of them:
 *   - no blocks but the root of each function (which has no iterations,
 *     predicate, regions, allocations), no block variables, no init;
 *   - every buffer has one dimension and no strides; an IR_ALLOCATE is the
 *     lifetime of a local one; indices are element offsets, and with vectors
 *     RAMP, BROADCAST or any vector of int64;
 *   - loops are serial, parallel or thread-bound; unrolled ones are gone,
 *     vectorised ones are vector operations (masked where guarded), except
 *     that a loop too large to unroll stays serial;
 *   - annotations left: "pragma_..." hints that code generation may use;
 *   - calls: only those that fn.def marks "made by lowering", sqrt, abs,
 *     floor, ceil, round, fma (one instruction everywhere) and externals;
 *   - what a tensor intrinsic's call implements is guarded by `instead`
 *     (lower_tensor_calls.c), which is false where a backend emits the call;
 *   - float16 and bfloat16 arithmetic is done in float32 and rounded after
 *     every operation by explicit casts.
 * The interpreter runs the program after any prefix of the passes.
 */
#ifndef LOWER_LOWER_H
#define LOWER_LOWER_H

#include "base/error.h"
#include "base/str.h"
#include "ir/ir.h"

typedef struct lower_options {
  uint32_t vector_bytes;    /* widest vector register of the target */
  bool keep_math;           /* leave exp, tanh, ... as calls (residue runs) */
  bool no_threads;          /* the target has none: serialize_threads */
  bool open_fragments;      /* which lane has which element of an accumulator
                             * is known: it is computed with in registers */
  bool mark_vthreads;       /* loops that vthreads are sunk to: LOWER_VTHREAD */
  uint32_t stop_after;      /* run only this many passes; 0: all */
  strbuf *note;             /* what the schedule asked for and is not so is
                             * appended, in one line; NULL: unsaid */
} lower_options;

/* Lowers the entry function.  Errors: TESS_UNSUPPORTED (named), TESS_LIMIT
 * (an unroll above the byte cap); `e` gets message and place. */
tess_status lower_program(ir_program *p, arena *scratch,
                          const lower_options *o, err_state *e);
/* Parameters that are converted before a kernel runs: which, and the bytes
 * that they take then. */
enum { LOWER_MAX_PREPARED = 16 };
typedef struct lower_prepared {
  uint32_t n;
  uint32_t param[LOWER_MAX_PREPARED];
  uint64_t bytes[LOWER_MAX_PREPARED];
} lower_prepared;
/* Outlines layout conversions: where such root nests are the only readers of a
 * layout-free parameter, their result becomes the parameter, and *convert,
 * initialized, the program that computes it, whose parameters are source and
 * result alternately.  Before lowering; false: nothing is converted. */
bool lower_split_prepare(ir_program *p, arena *scratch, ir_program *convert,
                         lower_prepared *out);
/* The passes of passes.def in their order, and which of them is where. */
typedef struct lower_pass {
  const char *name, *summary;
  tess_status (*run)(ir_program *p, arena *scratch, const lower_options *o,
                     err_state *e);
} lower_pass;
extern const lower_pass lower_passes[];
enum {
#define PASS(name, summary) LOWER_AT_##name,
#define ALIAS(other, name)
#include "lower/passes.def"
#undef PASS
#undef ALIAS
  LOWER_NPASSES
};
/* Which pass is called so, here or in TVM ("UnrollLoop"), where case and
 * underscores do not count; LOWER_NPASSES: none is. */
uint32_t lower_find_pass(const char *name);

/* The annotation of the innermost loop of what transpose_copies found: how many
 * iterations are one transposition of as many lanes.  unroll leaves it alone;
 * a backend without such code runs it as a loop. */
#define LOWER_TRANSPOSE "pragma_transpose"

/* The annotation of the loops that a loop bound to vthread is sunk to, where
 * the option mark_vthreads is given: a backend that hides latency by virtual
 * threads keeps their iterations apart. */
#define LOWER_VTHREAD "pragma_vthread"

/* Is the loop bound to threadIdx, and does it drive a reduce iter of the block?
 * Its iterations conflict, which lower_cross_thread_reduction resolves. */
bool lower_is_cross(const ir_program *p, ir_stmt loop, ir_stmt block);

#endif
