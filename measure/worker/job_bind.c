/* SPDX-License-Identifier: Apache-2.0
 * Binds the loops of an unscheduled program to blocks of threads, one result a
 * thread, so that a device computes the reference of large programs: a product
 * of 4096 would take one core of the host minutes.
 *
 * What is bound are spatial loops of nests that hold a single block, which an
 * unscheduled program has; its semantics is that each iteration computes
 * elements of its own, in the order of the unscheduled program. */
#include "ir/query.h"
#include "measure/worker/job_builder.h"

/* MIN_THREADS: from which on a device is faster than the host. */
enum { MIN_THREADS = 4096, MOST_BLOCKS_Y = 65535 };

typedef struct nest {
  ir_stmt loop[16];
  int64_t extent[16];
  uint32_t n; /* the outer spatial loops */
  int64_t results;
} nest;

static bool is_spatial(const ir_program *p, const ir_block_rec *b, ir_var v) {
  for (uint32_t i = 0; i < b->iters.n; i++) {
    const ir_iter *x = &p->iter.v[b->iters.at + i];
    const ir_node *bind = ir_at(p, x->bind);
    if (bind->op == IR_VAR && (ir_var)bind->a == v)
      return x->kind == IR_SPATIAL;
  }
  return false;
}

/* Does it read what other instances write? */
static bool reads_own(const ir_program *p, const ir_block_rec *b) {
  for (uint32_t i = 0; i < b->reads.n; i++)
    for (uint32_t k = 0; k < b->writes.n; k++)
      if (p->region.v[b->reads.at + i].buf == p->region.v[b->writes.at + k].buf)
        return true;
  return false;
}

/* The statements from s on are loops around one block. */
static bool read_nest(const ir_program *p, ir_stmt s, nest *out) {
  ir_stmt at = s;
  while (ir_st(p, at)->kind == IR_LOOP) {
    at = ir_st(p, at)->body;
    if (!at || ir_st(p, at)->next) return false;
  }
  if (ir_st(p, at)->kind != IR_BLOCK) return false;
  const ir_block_rec *b = ir_blk(p, at);
  if (!b->reducer && reads_own(p, b)) return false;
  *out = (nest){.results = 1};
  for (ir_stmt l = s; l != at && out->n < 16; l = ir_st(p, l)->body) {
    const ir_stmt_rec *r = ir_st(p, l);
    int64_t lo = 0, extent = 0;
    if (r->loop_kind != IR_SERIAL || !is_spatial(p, b, r->var)) break;
    if (!ir_const_int(p, r->lo, &lo) || lo) break;
    if (!ir_const_int(p, r->extent, &extent) || extent < 1) break;
    out->loop[out->n] = l;
    out->extent[out->n++] = extent;
    out->results *= extent;
  }
  return true;
}

static void bind_loop(ir_program *p, ir_stmt s, ir_thread axis) {
  ir_stmt_rec *r = &p->stmt.v[s];
  r->loop_kind = IR_THREAD;
  r->thread = (uint8_t)axis;
}

/* The innermost loop that makes a block of at most 1024 threads; the longest
 * others are blocks. */
static void bind_nest(ir_program *p, const nest *x) {
  static const ir_thread axes[] = {IR_BLOCKIDX_X, IR_BLOCKIDX_Y};
  uint32_t used = 0, threads = x->n;
  for (uint32_t i = x->n; i-- > 0 && threads == x->n;)
    if (x->extent[i] >= 32 && x->extent[i] <= 1024) threads = i;
  if (threads < x->n) bind_loop(p, x->loop[threads], IR_THREADIDX_X);
  for (uint32_t i = 0; i < x->n && used < 2; i++) {
    if (i == threads || (used && x->extent[i] > MOST_BLOCKS_Y)) continue;
    bind_loop(p, x->loop[i], axes[used++]);
  }
}

bool job_bind_reference(ir_program *p, int64_t operations) {
  nest x;
  if (ir_flops_guess(p) < operations) return false;
  ir_stmt first = ir_st(p, ir_entry(p)->root)->body;
  for (ir_stmt s = first; s; s = ir_st(p, s)->next)
    if (!read_nest(p, s, &x) || x.results < MIN_THREADS) return false;
  for (ir_stmt s = first; s; s = ir_st(p, s)->next)
    if (read_nest(p, s, &x)) bind_nest(p, &x);
  return first != 0;
}
