/* SPDX-License-Identifier: Apache-2.0
 * Kernels in lockstep: blocks of threads serially, their threads in rounds.  A
 * round runs each thread from its program counter to its next barrier, or the
 * end; blocks race with each other, threads with those of the same round. */
#include "backends/interp/machine.h"

/* Grids of any size, also none, are known now; without blocks nothing runs. */
static void read_extents(machine_launch *x, const interp_word *R) {
  for (unsigned i = 0; i < IR_THREAD_COUNT; i++)
    if (x->g->extent[i]) x->extent[i] = R[x->g->extent[i]].i;
}

static bool has_blocks(const machine_launch *x) {
  for (unsigned i = 0; i <= IR_BLOCKIDX_Z; i++)
    if (x->g->extent[i] && x->extent[i] < 1) return false;
  return true;
}

static bool counts(const machine_launch *x, bool grid, int64_t *n) {
  *n = 1;
  for (unsigned i = 0; i < IR_THREAD_COUNT; i++)
    if (x->extent[i] && (i <= IR_BLOCKIDX_Z) == grid &&
        __builtin_mul_overflow(*n, x->extent[i], n))
      return false;
  return *n < INT64_C(1) << 31;
}

/* Decomposes the linear number `k` of a block or thread into its indices, .x
 * fastest. */
static void set_indices(const machine_launch *x, bool grid, int64_t k,
                        interp_word *R) {
  for (unsigned i = 0; i < IR_THREAD_COUNT; i++)
    if (x->extent[i] && (i <= IR_BLOCKIDX_Z) == grid) {
      R[x->g->index[i]].i = k % x->extent[i];
      k /= x->extent[i];
    }
}

static bool prepare_launch(machine_launch *x) {
  machine *m = x->m;
  const code_unit *k = m->k;
  uint64_t n = (uint64_t)x->threads;
  uint64_t warps = (n + IR_WARP_LANES - 1) / IR_WARP_LANES;
  x->own = machine_memory(m, k->bufs.n * sizeof *x->own, 0, x->g->stmt);
  x->held = machine_memory(m, k->bufs.n * sizeof *x->held, 0, x->g->stmt);
  if (!x->own || !x->held) return false;
  for (uint32_t i = 1; i < k->bufs.n; i++) {
    if (&k->kernels.v[k->bufs.v[i].kernel] != x->g) continue;
    if (k->bufs.v[i].is_private) x->own[x->nown++] = i;
    if (k->bufs.v[i].is_warp) x->held[x->nheld++] = i;
  }
  x->regs = machine_memory(m, n * x->nregs * sizeof *x->regs, 0, x->g->stmt);
  x->pc = machine_memory(m, n * sizeof *x->pc, 0, x->g->stmt);
  x->stop = machine_memory(m, n, 0, x->g->stmt);
  x->copies = machine_memory(m, n * sizeof *x->copies, 0, x->g->stmt);
  x->mine = machine_memory(m, n * x->nown * sizeof *x->mine, 0, x->g->stmt);
  x->ours =
      machine_memory(m, warps * x->nheld * sizeof *x->ours, 0, x->g->stmt);
  return x->regs && x->pc && x->stop && x->copies && x->mine && x->ours;
}

/* Allocates the buffers private to each warp. */
static bool start_warps(machine_launch *x, const interp_word *R) {
  machine_buf *ours = x->ours;
  for (int64_t t = 0; t < x->threads; t += IR_WARP_LANES)
    for (uint32_t i = 0; i < x->nheld; i++, ours++) {
      x->m->buf[x->held[i]] = *ours;
      if (!machine_alloc(x->m, x->held[i], R, x->g->stmt)) return false;
      *ours = x->m->buf[x->held[i]];
    }
  return true;
}

/* Allocates the shared buffers of a block of threads. */
static bool start_block(machine_launch *x, int64_t block,
                        const interp_word *R) {
  const code_unit *k = x->m->k;
  for (uint32_t i = 1; i < k->bufs.n; i++)
    if (k->bufs.v[i].is_shared && &k->kernels.v[k->bufs.v[i].kernel] == x->g &&
        !machine_alloc(x->m, i, R, x->g->stmt))
      return false;
  for (int64_t t = 0; t < x->threads; t++) {
    interp_word *mine = machine_regs(x, t);
    memcpy(mine, R, x->nregs * sizeof *R);
    set_indices(x, true, block, mine);
    set_indices(x, false, t, mine);
    x->pc[t] = x->start;
    machine_copies *c = &x->copies[t];
    *c = (machine_copies){.thread = (uint32_t)t, .room = c->room, .v = c->v};
  }
  return start_warps(x, R);
}

machine_stop machine_thread(machine_launch *x, int64_t t) {
  machine *m = x->m;
  machine_buf *mine = x->mine + (uint64_t)t * x->nown;
  for (uint32_t i = 0; i < x->nown; i++) m->buf[x->own[i]] = mine[i];
  m->copies = &x->copies[t];
  machine_stop stop = machine_exec(m, machine_regs(x, t), &x->pc[t]);
  m->copies = NULL;
  for (uint32_t i = 0; i < x->nown; i++) mine[i] = m->buf[x->own[i]];
  x->stop[t] = (uint8_t)stop;
  return stop;
}

/* ---- rounds ------------------------------------------------------------- */

void machine_diverged(machine_launch *x, int64_t first, int64_t t) {
  int64_t waits = x->stop[first] == MACHINE_END ? t : first;
  ir_stmt s = x->m->k->origin.v[x->pc[waits] - 1];
  machine_fault(x->m, (interp_error){.code = TESS_RACE,
                                     .fault = INTERP_DIVERGENCE,
                                     .stmt = s,
                                     .element = -1,
                                     .loop = x->g->stmt,
                                     .iter = {first, t}});
}

/* Runs all threads to their next barrier, those of a warp serially. */
static bool run_threads(machine_launch *x, bool warps) {
  int64_t step = warps ? IR_WARP_LANES : 1;
  for (int64_t t = 0; t < x->threads; t += step)
    if (!machine_iterate(x->m) ||
        (warps ? !machine_warp(x, t / IR_WARP_LANES)
               : machine_thread(x, t) == MACHINE_FAULT))
      return false;
  return true;
}

/* One round; *more: all threads reached the same barrier. */
static bool run_round(machine_launch *x, bool *more) {
  machine *m = x->m;
  bool warps = m->k->has_warps;
  if (!machine_enter(m, x->g->stmt, 0)) return false;
  m->level[m->depth - 1].group = warps ? INTERP_WARPS : INTERP_THREADS;
  if (!run_threads(x, warps)) return false;
  *more = x->stop[0] == MACHINE_BARRIER;
  for (int64_t t = 1; t < x->threads; t++)
    if (x->stop[t] != x->stop[0] || (*more && x->pc[t] != x->pc[0])) {
      machine_diverged(x, 0, t);
      return false;
    }
  machine_leave(m);
  return true;
}

static bool run_blocks(machine_launch *x, const interp_word *R) {
  machine *m = x->m;
  if (!machine_enter(m, x->g->stmt, 0)) return false;
  m->level[m->depth - 1].group = INTERP_BLOCKS;
  for (int64_t b = 0; b < x->blocks; b++) {
    if (!machine_iterate(m) || !start_block(x, b, R)) return false;
    for (bool more = true; more;) {
      if (!machine_steps(m, (uint64_t)x->threads, x->g->stmt) ||
          !run_round(x, &more))
        return false;
    }
  }
  machine_leave(m);
  return true;
}

machine_stop machine_kernel(machine *m, const code_kernel *g,
                            const interp_word *R, uint32_t pc) {
  machine_launch x = {.m = m, .g = g, .nregs = m->k->init.n, .start = pc};
  read_extents(&x, R);
  if (!has_blocks(&x)) return MACHINE_END;
  if (!counts(&x, true, &x.blocks) || !counts(&x, false, &x.threads)) {
    machine_limit(m, g->stmt, 0, "threads");
    return MACHINE_FAULT;
  }
  arena_mark mark = arena_get_mark(m->memory);
  uint64_t bytes = m->bytes;
  if (!prepare_launch(&x) || !run_blocks(&x, R)) return MACHINE_FAULT;
  for (uint32_t i = 0; i < x.nown; i++) m->buf[x.own[i]] = (machine_buf){0};
  for (uint32_t i = 0; i < x.nheld; i++) m->buf[x.held[i]] = (machine_buf){0};
  for (uint32_t i = 1; i < m->k->bufs.n; i++) {
    if (m->k->bufs.v[i].is_shared &&
        &m->k->kernels.v[m->k->bufs.v[i].kernel] == g)
      m->buf[i] = (machine_buf){0};
    /* Of a kernel that is over all is ordered, and these are its memory. */
    m->buf[i].atomic = NULL;
    m->buf[i].in_flight = NULL;
  }
  arena_reset_to(m->memory, mark);
  m->bytes = bytes;
  return MACHINE_END;
}
