/* SPDX-License-Identifier: Apache-2.0
 * Kernels: every block of threads in turn, its threads round by round.  A
 * round runs each thread from where it stands to its next barrier, or the
 * end; blocks race with each other, threads with those of the same round. */
#include "backends/interp/machine.h"

/* A kernel while it runs.  A thread is its registers and its place. */
typedef struct launch {
  machine *m;
  const code_kernel *g;
  uint32_t nregs, start;
  int64_t blocks, threads;
  interp_word *regs;       /* of all threads */
  uint32_t *pc;
  uint8_t *done;
  uint32_t nown;           /* buffers that each thread has of its own */
  uint32_t *own;           /* which, in code.bufs */
  machine_buf *mine;       /* of all threads */
} launch;

static bool counts(const code_kernel *g, bool grid, int64_t *n) {
  *n = 1;
  for (unsigned i = 0; i < IR_THREAD_COUNT; i++)
    if (g->extent[i] && (i <= IR_BLOCKIDX_Z) == grid &&
        __builtin_mul_overflow(*n, g->extent[i], n))
      return false;
  return *n < INT64_C(1) << 31;
}

/* Writes number `k` of a block or thread as its indices, .x fastest. */
static void set_indices(const code_kernel *g, bool grid, int64_t k,
                        interp_word *R) {
  for (unsigned i = 0; i < IR_THREAD_COUNT; i++)
    if (g->extent[i] && (i <= IR_BLOCKIDX_Z) == grid) {
      R[g->index[i]].i = k % g->extent[i];
      k /= g->extent[i];
    }
}

static bool prepare(launch *x) {
  machine *m = x->m;
  const code_unit *k = m->k;
  uint64_t n = (uint64_t)x->threads;
  x->own = machine_memory(m, k->bufs.n * sizeof *x->own, 0, x->g->stmt);
  if (!x->own)
    return false;
  for (uint32_t i = 1; i < k->bufs.n; i++)
    if (k->bufs.v[i].is_private && &k->kernels.v[k->bufs.v[i].kernel] == x->g)
      x->own[x->nown++] = i;
  x->regs = machine_memory(m, n * x->nregs * sizeof *x->regs, 0, x->g->stmt);
  x->pc = machine_memory(m, n * sizeof *x->pc, 0, x->g->stmt);
  x->done = machine_memory(m, n, 0, x->g->stmt);
  x->mine = machine_memory(m, n * x->nown * sizeof *x->mine, 0, x->g->stmt);
  return x->regs && x->pc && x->done && x->mine;
}

/* Shared buffers come to life with the block of threads. */
static bool start_block(launch *x, int64_t block, const interp_word *R) {
  const code_unit *k = x->m->k;
  for (uint32_t i = 1; i < k->bufs.n; i++)
    if (k->bufs.v[i].is_shared && &k->kernels.v[k->bufs.v[i].kernel] == x->g &&
        !machine_alloc(x->m, i, R, x->g->stmt))
      return false;
  for (int64_t t = 0; t < x->threads; t++) {
    interp_word *mine = x->regs + (uint64_t)t * x->nregs;
    memcpy(mine, R, x->nregs * sizeof *R);
    set_indices(x->g, true, block, mine);
    set_indices(x->g, false, t, mine);
    x->pc[t] = x->start;
    x->done[t] = 0;
  }
  return true;
}

static machine_stop run_thread(launch *x, int64_t t) {
  machine *m = x->m;
  machine_buf *mine = x->mine + (uint64_t)t * x->nown;
  for (uint32_t i = 0; i < x->nown; i++)
    m->buf[x->own[i]] = mine[i];
  machine_stop stop =
      machine_exec(m, x->regs + (uint64_t)t * x->nregs, &x->pc[t]);
  for (uint32_t i = 0; i < x->nown; i++)
    mine[i] = m->buf[x->own[i]];
  return stop;
}

/* Thread t stopped differently than thread 0 did. */
static void diverged(launch *x, int64_t t) {
  ir_stmt s = x->m->k->origin.v[x->pc[x->done[0] ? t : 0] - 1];
  machine_fault(x->m, (interp_error){.code = TESS_RACE,
                                     .fault = INTERP_DIVERGENCE, .stmt = s,
                                     .element = -1, .loop = x->g->stmt,
                                     .iter = {0, t}});
}

/* One round; *more: all threads stand at the same barrier. */
static bool run_round(launch *x, bool *more) {
  machine *m = x->m;
  if (!machine_enter(m, x->g->stmt, 0))
    return false;
  m->level[m->depth - 1].group = INTERP_THREADS;
  for (int64_t t = 0; t < x->threads; t++) {
    if (!machine_iterate(m))
      return false;
    machine_stop stop = run_thread(x, t);
    if (stop == MACHINE_FAULT)
      return false;
    x->done[t] = stop == MACHINE_END;
    if (x->done[t] != x->done[0] || (!x->done[0] && x->pc[t] != x->pc[0])) {
      diverged(x, t);
      return false;
    }
  }
  machine_leave(m);
  *more = !x->done[0];
  return true;
}

static bool run_blocks(launch *x, const interp_word *R) {
  machine *m = x->m;
  if (!machine_enter(m, x->g->stmt, 0))
    return false;
  m->level[m->depth - 1].group = INTERP_BLOCKS;
  for (int64_t b = 0; b < x->blocks; b++) {
    if (!machine_iterate(m) || !start_block(x, b, R))
      return false;
    for (bool more = true; more;) {
      if (m->steps < (uint64_t)x->threads) {
        machine_limit(m, x->g->stmt, 0, "steps");
        return false;
      }
      m->steps -= (uint64_t)x->threads;
      if (!run_round(x, &more))
        return false;
    }
  }
  machine_leave(m);
  return true;
}

machine_stop machine_kernel(machine *m, const code_kernel *g,
                            const interp_word *R, uint32_t pc) {
  launch x = {.m = m, .g = g, .nregs = m->k->init.n, .start = pc};
  if (!counts(g, true, &x.blocks) || !counts(g, false, &x.threads)) {
    machine_limit(m, g->stmt, 0, "threads");
    return MACHINE_FAULT;
  }
  arena_mark mark = arena_get_mark(m->memory);
  uint64_t bytes = m->bytes;
  if (!prepare(&x) || !run_blocks(&x, R))
    return MACHINE_FAULT;
  for (uint32_t i = 0; i < x.nown; i++)
    m->buf[x.own[i]] = (machine_buf){0};
  for (uint32_t i = 1; i < m->k->bufs.n; i++)
    if (m->k->bufs.v[i].is_shared &&
        &m->k->kernels.v[m->k->bufs.v[i].kernel] == g)
      m->buf[i] = (machine_buf){0};
  arena_reset_to(m->memory, mark);
  m->bytes = bytes;
  return MACHINE_END;
}
