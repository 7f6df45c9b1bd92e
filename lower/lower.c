/* SPDX-License-Identifier: Apache-2.0
 * The order of the passes. */
#include "ir/edit.h"
#include "lower/pass.h"

const lower_pass lower_passes[] = {
    {"auto_copy", "blocks that copy are told how", lower_auto_copy},
    {"warps", "what warps do together is bound to them", lower_warps},
    {"loops", "where there are no threads they take turns", lower_loops},
    {"cross", "reductions across threads meet in one", lower_cross},
    {"allocate", "local buffers go where they live", lower_allocate},
    {"calls", "what a tensor intrinsic's call can do is marked", lower_calls},
    {"init", "the init of a reduction becomes a condition", lower_init},
    {"double", "double buffers are noted where they live", lower_double},
    {"blocks", "blocks give way to their bodies", lower_blocks},
    {"starts", "starts of loops that change below are kept", lower_starts},
    {"compact", "local buffers shrink to what is used", lower_compact},
    {"pipeline", "loops run several iterations at a time", lower_pipeline},
    {"vthreads", "virtual threads take turns", lower_vthreads},
    {"kernels", "thread loops become kernels with barriers", lower_kernels},
    {"narrow", "what is a thread's own shrinks to its part", lower_narrow},
    {"flatten", "buffers become one-dimensional", lower_flatten},
    {"vectorize", "vectorised loops become vector operations", lower_vectorize},
    {"tidy", "what does nothing goes", lower_tidy},
    {"half", "16-bit floats compute in float32", lower_half},
    {"math", "functions become arithmetic", lower_math},
    {"unroll", "unrolled loops are written out", lower_unroll},
    {"first", "what only starts a loop goes before it", lower_first},
    {"registers", "what a loop adds to is kept in registers", lower_registers},
};
const uint32_t lower_npasses = sizeof lower_passes / sizeof *lower_passes;

tess_status lower_program(ir_program *p, arena *scratch, const lower_options *o,
                          err_state *e) {
  uint32_t n = o->stop_after && o->stop_after < lower_npasses ? o->stop_after
                                                              : lower_npasses;
  for (uint32_t i = 0; i < n; i++) {
    arena_mark mark = arena_get_mark(scratch);
    mem_note(p->heap, "lowering pass", lower_passes[i].name);
    tess_status s = lower_passes[i].run(p, scratch, o, e);
    mem_note(p->heap, NULL, NULL);
    arena_reset_to(scratch, mark);
    if (s != TESS_OK) return s;
  }
  return TESS_OK;
}

void lower_splice(ir_program *p, ir_stmt s) {
  while (ir_st(p, s)->body) {
    ir_stmt child = ir_st(p, s)->body;
    ir_detach(p, child);
    ir_insert_before(p, s, child);
  }
  ir_detach(p, s);
  ir_kill(p, s);
}

bool lower_has_constant_shape(const ir_program *p, ir_buf b) {
  int64_t n;
  for (uint32_t d = 0; d < ir_ndim(p, b); d++)
    if (!ir_const_int(p, ir_dim(p, b, d), &n)) return false;
  return true;
}

bool lower_ints(const ir_program *p, ir_val v, uint32_t n, int64_t *out) {
  const ir_value *x = &p->value.v[v];
  if (x->tag != IR_VAL_LIST || x->n != n) return false;
  for (uint32_t i = 0; i < n; i++) {
    const ir_value *e = &p->value.v[p->arg.v[x->at + i]];
    if (e->tag != IR_VAL_INT) return false;
    out[i] = e->i;
  }
  return true;
}
