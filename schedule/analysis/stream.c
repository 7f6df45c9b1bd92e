/* SPDX-License-Identifier: Apache-2.0
 * How many instructions of an access-execute machine a nest takes at least.  An
 * instruction does all iterations of loops that are around one statement alone;
 * those around several are executed by the compiler. */
#include "ir/query.h"
#include "schedule/analysis/gpu.h"

static bool uses_chip(const ir_program *p, ir_span regions) {
  for (uint32_t i = regions.at; i < regions.at + regions.n; i++) {
    if (sch_is_on_chip(p->buf.v[p->region.v[i].buf].scope)) return true;
  }
  return false;
}

static ir_stmt block_around(const ir_program *p, ir_stmt st) {
  while (!ir_is_block(p, st)) st = ir_st(p, st)->parent;
  return st;
}

static bool is_virtual_thread(const ir_stmt_rec *r) {
  return ir_is_thread_loop(r) && r->thread >= IR_VTHREAD_X &&
         r->thread <= IR_VTHREAD_Z;
}

/* The outermost statement up to `nest` that may be one instruction with it. */
static ir_stmt whole_of(const ir_program *p, ir_stmt st, ir_stmt nest) {
  while (st != nest) {
    ir_stmt up = ir_st(p, st)->parent;
    const ir_stmt_rec *r = ir_st(p, up);
    if (r->alt || sch_only_child(p, up) != st || is_virtual_thread(r)) break;
    st = up;
  }
  return st;
}

/* Do iters of a block around the statement, below the loop, depend on it? */
static bool varies_by(const ir_program *p, ir_stmt st, ir_stmt loop) {
  for (; st != loop; st = ir_st(p, st)->parent) {
    ir_span it = {0};
    if (ir_is_block(p, st)) it = ir_blk(p, st)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (ir_uses_var(p, p->iter.v[i].bind, ir_st(p, loop)->var)) return true;
  }
  return false;
}

/* How often the statement is executed, by loops above `whole`; 0: that is not
 * known.  What is the same for virtual threads is done once for them. */
static int64_t count_times(const ir_program *p, ir_stmt st, ir_stmt whole,
                           ir_stmt nest) {
  int64_t n = 1, extent;
  for (ir_stmt up = whole; up != nest;) {
    up = ir_st(p, up)->parent;
    const ir_stmt_rec *r = ir_st(p, up);
    if (r->kind == IR_BLOCK && ir_blk(p, up)->pred) return 0;
    if (r->kind == IR_BLOCK) continue;
    if (r->kind != IR_LOOP || !ir_const_int(p, r->extent, &extent)) return 0;
    if (is_virtual_thread(r) && !varies_by(p, st, up)) continue;
    if (__builtin_mul_overflow(n, extent, &n)) return INT64_MAX;
  }
  return n;
}

int64_t sch_least_instructions(const ir_program *p, ir_stmt nest) {
  int64_t all = 0;
  for (ir_stmt st = nest; st; st = ir_next(p, st, nest)) {
    if (ir_st(p, st)->kind != IR_STORE) continue;
    const ir_block_rec *b = ir_blk(p, block_around(p, st));
    /* The host's blocks cut the stream. */
    if (!uses_chip(p, b->reads) && !uses_chip(p, b->writes)) return 0;
    if (b->pred) continue;
    int64_t n = count_times(p, st, whole_of(p, st, nest), nest);
    if (__builtin_add_overflow(all, n, &all)) return INT64_MAX;
  }
  return all;
}
