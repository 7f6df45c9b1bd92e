/* SPDX-License-Identifier: Apache-2.0
 * Marks double buffers: a block annotated double_buffer_scope = i fills its
 * i-th written buffer one iteration ahead of its use.  The annotation moves to
 * the loop that is the buffer's lifetime scope; software_pipeline makes two
 * stages of it or, in a pipeline, a buffer of at least two versions. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

#define KEY "double_buffer_scope"

/* The loop in each of whose iterations the buffer is allocated; 0: none. */
static ir_stmt loop_of(const ir_program *p, ir_stmt block, ir_buf b) {
  ir_stmt s = block;
  while (s && !(ir_st(p, s)->kind == IR_ALLOCATE && ir_st(p, s)->alloc == b))
    s = ir_st(p, s)->parent;
  while (s && ir_st(p, s)->kind == IR_ALLOCATE) s = ir_st(p, s)->parent;
  return s && ir_is_loop(p, s) ? s : 0;
}

static void mark_loop(ir_program *p, arena *scratch, ir_stmt loop, ir_buf b) {
  const ir_anno *old = ir_anno_get(p, loop, LOWER_DOUBLED);
  ir_value v = {.tag = IR_VAL_LIST};
  if (old) v = p->value.v[old->val];
  uint32_t *elems = arena_array(scratch, uint32_t, v.n + 1);
  if (v.n) memcpy(elems, p->arg.v + v.at, v.n * sizeof *elems);
  elems[v.n++] = ir_value_int(p, b);
  v.at = 0;
  ir_anno_set(p, loop, ir_name(p, LOWER_DOUBLED), ir_value_add(p, v, elems));
}

static tess_status refuse_index(const ir_program *p, ir_stmt block,
                                err_state *e) {
  return err_set(e, TESS_UNSUPPORTED,
                 "block %s: " KEY " is not the number of "
                 "one of its %u written buffers",
                 ir_text(p, ir_blk(p, block)->name),
                 (unsigned)ir_blk(p, block)->writes.n);
}

LOWER_PASS(mark_double_buffer) {
  (void)o;
  LOWER_EACH(p, s) {
    const ir_anno *a = ir_is_block(p, s) ? ir_anno_get(p, s, KEY) : NULL;
    if (!a) continue;
    ir_value v = p->value.v[a->val];
    ir_span writes = ir_blk(p, s)->writes;
    if (v.tag != IR_VAL_INT || v.i < 0 || v.i >= writes.n)
      return refuse_index(p, s, e);
    ir_buf b = p->region.v[writes.at + v.i].buf;
    ir_stmt loop = loop_of(p, s, b);
    if (loop) mark_loop(p, scratch, loop, b);
  }
  return TESS_OK;
}
